//! An exercise that panics, or does not come to its end, says so as well.

use super::verdict::not_yet;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// For how many ticks of the watchdog an exercise may run. They end in a fraction of one.
const TICKS_MAX: usize = 150;

/// From now on, the exercise says so if it panics, or does not come to its end. (What polls, or has
/// another thread act, calls this.)
pub fn set_alarm() {
    static IS_SET: Once = Once::new();

    // The tests of this module panic on purpose.
    if !cfg!(test) {
        IS_SET.call_once(|| {
            panic::set_hook(Box::new(|info| not_yet(&told(info))));
            thread::spawn(ring);
        });
    }
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied());
    let reason = text.unwrap_or("it does not say why");
    match info.location() {
        Some(place) => format!("it panics in {}, line {}: {reason}", place.file(), place.line()),
        None => format!("it panics: {reason}"),
    }
}

fn ring() {
    for _ in 0..TICKS_MAX - 1 {
        crate::tick();
    }
    let steps = STEPS.load(Ordering::Relaxed);
    crate::tick();
    not_yet(what_it_does(POLLS.load(Ordering::SeqCst) > 0, STEPS.load(Ordering::Relaxed) != steps));
}

/// How many steps all threads have taken so far.
pub(super) static STEPS: AtomicUsize = AtomicUsize::new(0);

/// How many polls have begun and not ended.
pub(super) static POLLS: AtomicUsize = AtomicUsize::new(0);

/// Why it does not come to its end. The threads may have taken steps a moment ago.
fn what_it_does(is_in_a_poll: bool, takes_steps: bool) -> &'static str {
    match (is_in_a_poll, takes_steps || is_running()) {
        (true, true) => {
            "it does not come to its end: a poll asks again and again, instead of returning \
             `Pending`"
        }
        (true, false) => {
            "it does not come to its end: the thread waits in the middle of a poll, instead of \
             returning `Pending`"
        }
        (false, true) => {
            "it does not come to its end: a thread does the same again and again, and nothing \
             comes of it"
        }
        (false, false) => {
            "it does not come to its end: a thread waits, and nobody ends its wait (it has parked, \
             or sleeps, or wants what another one has)"
        }
    }
}

/// Whether a thread of this program is at work, but for this one, as far as the system tells.
fn is_running() -> bool {
    let own = fs::read_link("/proc/thread-self").unwrap_or_default();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        // Behind the name, which is in brackets, stands one letter: R is running.
        let told = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = told.rsplit(')').next().unwrap_or_default().trim_start();
        if Some(thread.file_name().as_os_str()) != own.file_name() && state.starts_with('R') {
            return true;
        }
    }
    // Elsewhere nothing is told.
    !cfg!(target_os = "linux")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_waits_is_told_from_what_is_busy() {
        assert!(what_it_does(true, true).contains("again and again, instead of returning"));
        assert!(what_it_does(false, true).contains("does the same again and again"));
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let busy = thread::spawn(|| {
            while !IS_OVER.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        assert!(what_it_does(true, false).contains("again and again"));
        IS_OVER.store(true, Ordering::Relaxed);
        busy.join().unwrap();
    }
}
