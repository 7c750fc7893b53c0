//! The attribute macros of the `arc` runtime, used as `#[arc::main]` and
//! `#[arc::test]`.
//!
//! Both turn an `async fn` into an ordinary one that builds a runtime and blocks
//! on the body:
//!
//! ```text
//! async fn main() -> R { body }
//!
//! fn main() -> R {
//!     async fn main() -> R { body }
//!     arc::runtime::Builder::new_multi_thread().workers(N).build()  // or panic
//!         .block_on(main())
//! }
//! ```
//!
//! The body stays an `async fn` with the written return type, so `?`, `return`
//! and `-> impl Trait` mean what they mean elsewhere, and the compiler's messages
//! point at what the user wrote. Wrong use is answered by one message at the token
//! to change. It takes the place of the runtime, so that the function is still there
//! and no second message ("main function not found") draws attention away from the
//! first.

use proc_macro::TokenStream;

mod expand;

/// Runs an `async fn main` on an arc runtime.
///
/// The function becomes an ordinary `fn` that builds a runtime, blocks on the
/// body, and hands back what the body returned: `()`, a `Result`, an `ExitCode`,
/// `!`, or anything else if the function is not the program's `main`. Its
/// attributes, doc comments and visibility are kept. The runtime is shut down
/// when the body has returned: tasks that are still running then are dropped.
///
/// # Options
///
/// - `workers = N`: the number of worker threads, from 1 to 64; 1 is the
///   single-threaded runtime. It is a literal, or an expression of type `usize`
///   that is evaluated before the runtime is built. Default: what
///   `arc::runtime::Builder` chooses.
/// - `worker_threads = N`: the same, as tokio spells it.
/// - `flavor = "current_thread"`: one worker, whatever `workers` says. The default is
///   `"multi_thread"`. Of an option that is given twice the last counts.
/// - `crate = "path"`: where the runtime crate is found, for crates that re-export
///   it. Default: `"::arc"`.
///
/// # Panics
///
/// The function panics with the reason if the runtime cannot be started, for
/// example because the process is out of threads or file descriptors, or if the
/// value of `workers` turns out to be out of range. Use `arc::runtime::Builder`
/// to handle these cases.
///
/// # Errors
///
/// It is a compile-time error to put this on anything but an `async fn` without
/// arguments, generics and `Self`, or to give an option, or a flavor, that is not in the list.
///
/// # Examples
///
/// ```
/// #[arc::main]
/// async fn main() -> Result<(), std::num::ParseIntError> {
///     let answer: u32 = "42".parse()?;
///     assert_eq!(answer, 42);
///     Ok(())
/// }
/// ```
///
/// With two worker threads:
///
/// ```
/// #[arc::main(workers = 2)]
/// async fn main() {
///     println!("hello from arc");
/// }
/// ```
///
/// With as many as the command line says:
///
/// ```
/// fn workers() -> usize {
///     let argument = std::env::args().nth(1);
///     argument.and_then(|text| text.parse().ok()).unwrap_or(2)
/// }
///
/// #[arc::main(workers = workers())]
/// async fn main() {
///     println!("hello from {} workers", arc::runtime::Handle::current().workers());
/// }
/// ```
///
/// From a crate that re-exports the runtime:
///
/// ```
/// mod prelude {
///     pub use arc as runtime_crate;
/// }
///
/// #[arc::main(crate = "crate::prelude::runtime_crate")]
/// async fn main() {}
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand("main", options.into(), item.into()).into()
}

/// Runs an `async fn` as a test, on an arc runtime of its own.
///
/// The same as [`main`](macro@main), with `#[test]` added: the options, the panic
/// and the errors are described there. `#[should_panic]`, `#[ignore]` and tests
/// that return a `Result` work as they do for ordinary tests. The runtime has as
/// many workers as one of [`main`](macro@main): write `workers = 1` for a test
/// that is to run on a single thread.
///
/// # Errors
///
/// Those of [`main`](macro@main). Do not put it on a function that is already a
/// `#[test]`: it would run twice.
///
/// # Examples
///
/// ```
/// #[arc::test]
/// async fn adds() {
///     assert_eq!(async { 40 + 2 }.await, 42);
/// }
///
/// #[arc::test(workers = 1)]
/// #[should_panic(expected = "on one thread")]
/// async fn panics() {
///     panic!("on one thread");
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand("test", options.into(), item.into()).into()
}
