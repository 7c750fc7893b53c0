//! An exercise that panics, or does not come to its end, says so as well.

use super::verdict::not_yet;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::thread;

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
    for _ in 0..TICKS_MAX {
        crate::tick();
    }
    not_yet(
        "it does not come to its end: it asks again and again, or waits, instead of returning \
         `Pending`",
    );
}
