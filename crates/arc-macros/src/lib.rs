//! The attribute macros of the `arc` runtime, used as `#[arc::main]` and
//! `#[arc::test]`.
//!
//! Both turn an `async fn` into an ordinary function that builds a runtime and
//! blocks on the body:
//!
//! ```text
//! async fn main(arguments) -> R { body }
//!
//! fn main(arguments) -> R {
//!     let runtime = arc::runtime::Builder::new_multi_thread().workers(N).build();  // or panic
//!     runtime.block_on(async move { body })
//! }
//! ```
//!
//! With `flavor = "current_thread"`, the default of `#[arc::test]`, the builder is
//! `new_current_thread()`.
//!
//! There is one function, with the user's own signature. So it may have arguments, generics and
//! `self`, and the compiler and clippy say what they have against the signature once.
//!
//! The compiler does not know what an `async` block returns before it has read the block. So two
//! further lines of the expansion, which are never reached, give the block the type of the
//! function. So `?`, `return`, conversions such as that into a `Box<dyn Error>`, and
//! `-> impl Trait` mean in the body what they mean in an async function, and mistakes are reported
//! at their places in the body.
//!
//! A wrong option causes one error message, at the token to change. It takes the place of the body.
//! Without the function, a second message ("main function not found") would draw attention away
//! from the first.
#![forbid(unsafe_code)]

mod expand;
use proc_macro::TokenStream;

/// Runs an `async fn main` on an arc runtime.
///
/// The function becomes an ordinary `fn` that builds a runtime, blocks on the
/// body, and returns the body's value: `()`, a `Result`, an `ExitCode` or `!`, and
/// any other type if the function is not the program's `main`. Attributes, doc
/// comments and visibility are kept.
///
/// Any async function can be made synchronous in this way, also one with arguments or generics,
/// and a method. Each call builds a runtime. The program's own `main` has no arguments.
///
/// The runtime shuts down when the body returns. Tasks that have not finished by
/// then are dropped.
///
/// # Options
///
/// - `workers = N`: the number of worker threads, from 1 to 64. The value is a
///   literal, or an expression of type `usize` that is evaluated before the runtime
///   is built. Default: the default of `arc::runtime::Builder`. The body itself runs on
///   the calling thread. So `workers = 1` is one worker thread for the tasks, beside
///   the calling thread. Only the flavor `"multi_thread"` has worker threads.
/// - `worker_threads = N`: the same option under tokio's name.
/// - `flavor = "current_thread"`: the body and all tasks run on the calling thread, as
///   in tokio. Default: `"multi_thread"`.
/// - `with = path`: a function that is called with the builder, `&mut arc::runtime::Builder`,
///   before the runtime is built, and may set further options. A closure has to name that type.
///   What the function returns is dropped when the runtime has ended. For example,
///   `arc_compat::tokio::everywhere` puts tokio's context on all threads that tasks run on, which
///   the builder of arc-async does by itself, with the feature `tokio-rt`.
/// - `start_paused = true`: the body runs in a simulation of one seed, whose clock stands still,
///   but jumps to the next deadline whenever nothing can run. The flavor is `"current_thread"`, as
///   in tokio. There is no `with`, as the builder is another one. It needs the crate `arc-async`
///   and its feature `test-util`.
/// - `crate = "path"`: the path of the runtime crate, for crates that re-export it.
///   Default: `"::arc"`.
///
/// If an option is given twice, the last one counts. A value ends at a comma that is in no
/// brackets: write `with = (path::<T, U>)`.
///
/// # Panics
///
/// The function panics if the runtime cannot be started, for example because the
/// process is out of threads or file descriptors, and if the value of `workers` is
/// out of range. The message gives the reason. To handle these cases, use
/// `arc::runtime::Builder`.
///
/// # Errors
///
/// A compile-time error points out:
///
/// - an item that is not an `async fn`;
/// - an option or a flavor that is not listed above;
/// - a number of workers for the flavor `"current_thread"`, as in tokio;
/// - `start_paused = true` beside another flavor, as in tokio.
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
/// A synchronous function:
///
/// ```
/// /// Counts on a runtime of its own.
/// #[arc::main(flavor = "current_thread")]
/// async fn count<T>(items: impl IntoIterator<Item = T>) -> usize {
///     let items: Vec<T> = items.into_iter().collect();
///     arc::task::yield_now().await;
///     items.len()
/// }
///
/// assert_eq!(count("abc".chars()), 3);
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
/// With the number of worker threads from the command line:
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
/// Everything on the calling thread:
///
/// ```
/// #[arc::main(flavor = "current_thread")]
/// async fn main() {
///     // No other thread runs this task.
///     arc::spawn(async { println!("hello from the calling thread") }).await.unwrap();
/// }
/// ```
///
/// With a function that sees the builder, and something that outlives the runtime:
///
/// ```
/// use std::time::Instant;
///
/// struct Stopwatch(Instant);
///
/// impl Drop for Stopwatch {
///     fn drop(&mut self) {
///         println!("all tasks have ended after {:?}", self.0.elapsed());
///     }
/// }
///
/// fn stopwatch(_: &mut arc::runtime::Builder) -> Stopwatch {
///     Stopwatch(Instant::now())
/// }
///
/// #[arc::main(with = stopwatch)]
/// async fn main() {
///     arc::task::yield_now().await;
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
/// The macro does the same as [`main`](macro@main), and adds `#[test]`. The options,
/// the panics and the errors are described there. `#[should_panic]`, `#[ignore]` and
/// tests that return a `Result` work as they do for ordinary tests.
///
/// One default differs, as in tokio: the flavor is `"current_thread"`. The body and all
/// tasks run on the test's own thread, so the tasks see the thread-locals that the body
/// has set, for example a logger's. A task that blocks its thread also blocks the body
/// and all other tasks. For a test that needs several threads, write
/// `flavor = "multi_thread"`, and beside it `workers = N` for a number of your own.
///
/// # Errors
///
/// Those of [`main`](macro@main). `workers` without `flavor = "multi_thread"` is one of
/// them. The compiler says that a test has no arguments. Do not put this macro on a function that
/// is already a `#[test]`: the test would run twice.
///
/// # Examples
///
/// ```
/// #[arc::test]
/// async fn adds() {
///     assert_eq!(async { 40 + 2 }.await, 42);
/// }
///
/// #[arc::test(flavor = "multi_thread", workers = 2)]
/// #[should_panic(expected = "on two threads")]
/// async fn panics() {
///     panic!("on two threads");
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand("test", options.into(), item.into()).into()
}
