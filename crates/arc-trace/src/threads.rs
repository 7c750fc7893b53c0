//! Threads that are none of arc's: one that goes on by itself may wake a task at any time.
//!
//! arc knows of its own threads: those that run workers and jobs, the monitor, and whoever is in a
//! `block_on`. Of all others it hears nothing. On Linux the kernel says what each of them does. One
//! that waits on a futex waits for another thread of the program, and so does not go on by itself.
//! One that sleeps, reads or computes does.

use crate::lock::lock;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;

/// The threads of this crate and of arc-util that belong to no runtime. They wake no task.
const HELPERS: [&str; 3] = ["arc-dump", "arc-report", "arc-trace"];

/// The ids of arc's threads.
static OURS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

thread_local! {
    static MINE: Mine = Mine { id: own_id(), roles: Cell::new(0), is_ours: Cell::new(false) };
}

/// What a thread does for arc.
struct Mine {
    /// None: the system does not tell.
    id: Option<u64>,
    /// How many `block_on`s it is in, and how many workers it runs.
    roles: Cell<usize>,
    /// A runtime has started it.
    is_ours: Cell<bool>,
}

impl Mine {
    fn note(&self) {
        let Some(id) = self.id else { return };
        if self.is_ours.get() || self.roles.get() > 0 {
            lock(&OURS).insert(id);
        } else {
            lock(&OURS).remove(&id);
        }
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        // The system gives the number to another thread.
        if let Some(id) = self.id {
            lock(&OURS).remove(&id);
        }
    }
}

/// The thread runs a worker from now on, or is in a `block_on`.
pub(crate) fn begins() {
    let _ = MINE.try_with(|mine| {
        mine.roles.set(mine.roles.get() + 1);
        mine.note();
    });
}

/// It does so no more.
pub(crate) fn ends() {
    let _ = MINE.try_with(|mine| {
        mine.roles.set(mine.roles.get().saturating_sub(1));
        mine.note();
    });
}

/// A runtime has started the thread.
pub(crate) fn is_ours() {
    let _ = MINE.try_with(|mine| {
        if !mine.is_ours.replace(true) {
            mine.note();
        }
    });
}

/// The number by which the kernel knows the thread.
fn own_id() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let place = fs::read_link("/proc/thread-self").ok()?;
    place.file_name()?.to_str()?.parse().ok()
}

/// Whether a thread goes on by itself that is none of arc's, or one of arc's is awake. The thread
/// that asks does not count.
///
/// Only Linux tells, on the processors that are known here. Elsewhere this is `false`.
pub fn others_go_on() -> bool {
    let Ok(own) = MINE.try_with(|mine| mine.id) else { return false };
    // Where the system gives a thread no such number, it tells nothing of the others either.
    let Some(own) = own else { return false };
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return false };
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let others = threads.flatten().filter_map(id).filter(|&thread| thread != own);
    let others: Vec<u64> = others.collect();

    // Looked at behind the list: a thread that has come meanwhile is not in it.
    let ours = lock(&OURS).clone();
    others.into_iter().any(|thread| goes_on(thread, ours.contains(&thread)))
}

fn goes_on(thread: u64, is_ours: bool) -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{name}"));
    // A thread that has ended meanwhile has no files any more.
    let (Ok(name), Ok(call)) = (read("comm"), read("syscall")) else { return false };

    // Somebody may have woken a thread of arc's a moment ago, and have ended since.
    if is_ours {
        return call.starts_with("running");
    }
    let is_main = u64::from(std::process::id()) == thread;
    !HELPERS.contains(&name.trim_end()) && !waits_for_another(&call, is_main)
}

/// Whether a thread waits for another one, by the number and the arguments of its system call.
fn waits_for_another(call: &str, is_main: bool) -> bool {
    let mut words = call.split_whitespace();
    if FUTEX.is_none() || words.next() != FUTEX {
        return false;
    }
    // The fourth argument is the time after which it goes on: it may be one that does something
    // every second. But the main thread of a test program waits so for its tests.
    let limit = words.nth(3);
    is_main || limit == Some("0x0")
}

/// The number of the system call by which threads wait for each other.
const FUTEX: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("202")
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    Some("98")
} else {
    None
};

#[cfg(test)]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn limit_of_a_wait_is_its_fourth_argument() {
        let futex = FUTEX.unwrap();
        // As Linux writes it: the number of the call, six arguments, and two registers.
        let forever = format!("{futex} 0x55d0 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7ffb\n");
        let a_second = format!("{futex} 0x55d0 0x189 0x0 0x7ffd6a 0x0 0xffffffff 0x7ffd 0x7ffb\n");
        assert!(waits_for_another(&forever, false));
        assert!(waits_for_another(&forever, true));
        assert!(!waits_for_another(&a_second, false));
        assert!(waits_for_another(&a_second, true));
        for other in ["running\n", "-1 0x7ffd 0x7ffb\n", "9999 0x0 0x0 0x0 0x0\n", ""] {
            assert!(!waits_for_another(other, true), "{other:?}");
        }
    }

    /// Waits until a thread of this number does so.
    fn wait_until(thread: u64, goes_on_then: bool) {
        while goes_on(thread, false) != goes_on_then {
            thread::yield_now();
        }
    }

    #[test]
    fn thread_that_sleeps_goes_on_and_one_that_waits_for_another_does_not() {
        let (tell, told) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let waits = thread::spawn(move || {
            tell.send(own_id().unwrap()).unwrap();
            let _ = ends.recv();
            loop {
                // A wait with an end: it goes on by itself, if only in an hour.
                thread::park_timeout(Duration::from_secs(3600));
            }
        });
        let id = told.recv().unwrap();
        wait_until(id, false);
        drop(end);
        wait_until(id, true);
        assert!(others_go_on());
        drop(waits);
    }

    #[test]
    fn thread_is_ours_as_long_as_it_has_a_role_or_for_ever() {
        let id = own_id().unwrap();
        let is_known = || lock(&OURS).contains(&id);
        begins();
        begins();
        ends();
        // It has one role left.
        assert!(is_known());
        ends();
        assert!(!is_known());
        // What a runtime has started is its own, whether it runs a worker or not.
        is_ours();
        begins();
        ends();
        assert!(is_known());
    }
}
