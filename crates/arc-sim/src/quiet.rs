//! Runs without the texts of panics: those of a run that is made only to see whether it repeats.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `act`. A panic meanwhile runs no panic hook on this thread.
///
/// The hook belongs to the process. So the first call puts one before it that passes on what other
/// threads, and later panics, have to say.
pub(crate) fn quietly<R>(act: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();

    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that is being torn down is not quiet.
            if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });

    IS_QUIET.set(true);
    let _until = Quiet;
    act()
}

/// It is quiet until this is dropped.
struct Quiet;

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(false);
    }
}
