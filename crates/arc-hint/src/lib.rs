//! What to do about a panic of tokio's.

#![forbid(unsafe_code)]

use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::panicking;

/// What panics say where tokio is missing, those of tokio and those of crates that use it: "there
/// is no reactor running, must be called from the context of a Tokio 1.x runtime", "A Tokio 1.x
/// context was found, but it is being shutdown", "this functionality requires a Tokio context" ...
const TEXTS: [&str; 4] = ["Tokio 1.x", "Tokio context", "Tokio runtime", "no reactor running"];

const HINT: &str = "\
arc: a crate in this program calls tokio, and there is no runtime of tokio's. \
Turn on the feature `tokio-rt` of arc-async. With the package arc-runtime alone, write \
`#[arc::main(with = arc_compat::tokio::everywhere)]` as well, \
and the same in `#[arc::test]`. \
On a thread of your own, call `arc::compat::tokio::handle().enter()` \
and keep what it returns. docs/TOKIO.md says more. (This is told once.)";

/// Explains tokio's panics about a runtime that is missing, such as "there is no reactor running,
/// must be called from the context of a Tokio 1.x runtime".
///
/// After the panic itself has been reported, a line on standard error says what to do. It comes
/// once in a process. The panic goes on as it would without it.
///
/// The explanation is added to the panic hook of the process, which is called first. In a program
/// that has arc-compat, whichever part of it, each runtime of arc that is built does so. A hook
/// that is set later and does not call the one before it takes the explanation away, and this
/// function does not bring it back.
///
/// # Examples
///
/// In a program that has no runtime of arc's yet:
///
/// ```
/// arc_compat::explain_tokio_panics();
/// ```
pub fn explain_tokio_panics() {
    static IS_SET: Once = Once::new();

    // While it panics, a thread may not change the hook. The next call will.
    if panicking() {
        return;
    }
    IS_SET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            before(panic);
            explain(panic);
        }));
    });
}

fn explain(panic: &PanicHookInfo<'_>) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);

    // `panic!` with arguments makes a `String`, and without any a `&str`.
    let text = panic.payload().downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.payload().downcast_ref::<&str>().copied());
    let text = text.unwrap_or_default();

    let is_tokios = TEXTS.iter().any(|part| text.contains(part));
    if is_tokios && !IS_TOLD.swap(true, Ordering::Relaxed) {
        // Not by `eprintln!`: if nothing can be written there, that panics, and a panic in a panic
        // hook ends the process.
        let _ = writeln!(stderr(), "{HINT}");
    }
}
