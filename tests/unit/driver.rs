//! The driver alone: who waits, who looks, and what ends a wait. A wait that does not end is found
//! by the time limit of `ends`.

use std::cell::Cell;
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use crate::driver::Driver;
use crate::driver::kernel::is_shared;
use crate::sync::{Instant, Ordering};

const LONG: Duration = Duration::from_secs(20);

fn driver() -> Arc<Driver> {
    Arc::new(Driver::new(2).unwrap())
}

/// Waits on another thread. Returns what tells how many wakers the wait has collected.
fn wait(driver: &Arc<Driver>) -> mpsc::Receiver<usize> {
    let (sender, receiver) = mpsc::channel();
    let driver = driver.clone();
    thread::spawn(move || {
        let mut wakers = Vec::new();
        driver.sleep(&mut wakers);
        driver.is_notified.store(false, Ordering::SeqCst);
        let _ = sender.send(wakers.len());
    });
    receiver
}

fn ends(wait: &mpsc::Receiver<usize>) -> usize {
    wait.recv_timeout(LONG).expect("the wait ends")
}

fn arm(driver: &Driver, deadline: Instant) {
    if driver.timers.arm(Some(0), deadline, Waker::noop().clone()).1 {
        driver.move_alarm();
    }
}

#[test]
fn notification_ends_a_wait_and_after_it_was_taken_another_one_does() {
    let driver = driver();
    for _ in 0..100 {
        driver.notify();
        driver.notify();
        assert_eq!(ends(&wait(&driver)), 0);
    }
    for _ in 0..100 {
        let waiting = wait(&driver);
        driver.notify();
        assert_eq!(ends(&waiting), 0);
    }
}

/// A timer is there, or a look would have nothing to look at.
#[test]
fn look_passes_on_a_notification_that_was_for_somebody_else() {
    let driver = driver();
    arm(&driver, Instant::now() + 1000 * LONG);
    let look = |answers: [bool; 2]| {
        let asked = Cell::new(0);
        driver.look(&mut Vec::new(), || {
            asked.set(asked.get() + 1);
            answers[asked.get() - 1]
        });
        asked.get()
    };
    for _ in 0..100 {
        // A worker sits down during the look, and is notified.
        driver.notify();
        assert_eq!(look([false, true]), 2);
        assert_eq!(ends(&wait(&driver)), 0);
    }
    assert_eq!(look([false, true]), 2);
    let is_notified = driver.is_notified.load(Ordering::SeqCst);
    assert_eq!(is_notified, !is_shared(), "there was nothing to pass on");
    driver.notify();
    assert_eq!(look([true, true]), 1, "no look while somebody sits");
    assert_eq!(ends(&wait(&driver)), 0);

    // Nobody sits: the notification is over.
    driver.notify();
    assert_eq!(look([false, false]), 2);
    let waiting = wait(&driver);
    driver.notify();
    assert_eq!(ends(&waiting), 0);
}

/// The time of the alarm is over, and that was told. A timer that shares it comes later.
#[test]
fn wait_for_a_deadline_that_has_been_told_ends_at_once() {
    let driver = driver();
    let deadline = Instant::now() + Duration::from_millis(2);
    for _ in 0..3 {
        arm(&driver, deadline);
        assert_eq!(ends(&wait(&driver)), 1);
        assert!(Instant::now() >= deadline);
    }
}

#[test]
fn timer_that_is_armed_during_a_wait_ends_it_in_time() {
    let driver = driver();
    arm(&driver, Instant::now() + 1000 * LONG);
    let waiting = wait(&driver);
    let deadline = Instant::now() + Duration::from_millis(5);
    arm(&driver, deadline);
    // Where only one thread can wait, it is notified, and sees itself when it must wake up.
    let woken = match ends(&waiting) {
        0 if !is_shared() => ends(&wait(&driver)),
        woken => woken,
    };
    assert_eq!(woken, 1);
    assert!(Instant::now() >= deadline);
}

#[test]
fn each_of_those_who_wait_can_be_woken() {
    if !is_shared() {
        return;
    }
    let driver = driver();
    let (sender, receiver) = mpsc::channel();
    for _ in 0..8 {
        let (driver, sender) = (driver.clone(), sender.clone());
        thread::spawn(move || {
            driver.sleep(&mut Vec::new());
            driver.is_notified.store(false, Ordering::SeqCst);
            let _ = sender.send(());
        });
    }
    for _ in 0..8 {
        driver.notify();
        receiver.recv_timeout(LONG).expect("one of them comes back");
    }
}
