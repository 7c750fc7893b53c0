//! The driver alone: what ends a wait. A wait that does not end is found by the time limit of
//! `ends`.

use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use crate::driver::Driver;
use crate::sync::Instant;

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
        driver.wait(&mut wakers, || false);
        let _ = sender.send(wakers.len());
    });
    receiver
}

fn ends(wait: &mpsc::Receiver<usize>) -> usize {
    wait.recv_timeout(LONG).expect("the wait ends")
}

/// As `Sleep` does while somebody has the seat.
fn arm(driver: &Driver, deadline: Instant) {
    if driver.timers.arm(Some(0), deadline, Waker::noop().clone()).unwrap().1 {
        driver.notify();
    }
}

/// Some systems refuse a timeout of years, or take it for none.
#[test]
fn a_far_deadline_is_waited_for() {
    let driver = driver();
    arm(&driver, Instant::now() + Duration::from_secs(200 * 365 * 86_400));
    let waiting = wait(&driver);
    assert!(waiting.recv_timeout(Duration::from_millis(20)).is_err());
    driver.notify();
    assert_eq!(ends(&waiting), 0);
}

#[test]
fn a_notification_ends_a_wait_or_the_next_one() {
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

#[test]
fn a_worker_that_was_called_before_it_had_the_seat_does_not_wait() {
    let driver = driver();
    let mut wakers = Vec::new();
    driver.wait(&mut wakers, || true);
    arm(&driver, Instant::now() + 1000 * LONG);
    driver.wait(&mut wakers, || true);
    assert!(wakers.is_empty());
}

/// The time of the alarm is over, and that was told. A timer that shares it comes later.
#[test]
fn wait_for_a_deadline_that_has_been_told_ends_at_once() {
    let driver = driver();
    let deadline = Instant::now() + Duration::from_millis(2);
    for round in 0..3 {
        driver.timers.arm(Some(0), deadline, Waker::noop().clone());
        assert_eq!(ends(&wait(&driver)), 1, "{round}");
        assert!(Instant::now() >= deadline);
    }
}

#[test]
fn timer_that_is_armed_during_a_wait_ends_it_in_time() {
    let driver = driver();
    driver.timers.arm(Some(0), Instant::now() + 1000 * LONG, Waker::noop().clone());
    let waiting = wait(&driver);
    let deadline = Instant::now() + Duration::from_millis(5);
    arm(&driver, deadline);

    // It is notified unless it saw the timer itself, and sees then when it must wake up.
    let mut woken = ends(&waiting);
    while woken == 0 {
        woken = ends(&wait(&driver));
    }
    assert_eq!(woken, 1);
    assert!(Instant::now() >= deadline);
}

#[test]
fn a_look_does_not_wait_and_finds_what_is_due() {
    let driver = driver();
    let mut wakers = Vec::new();
    driver.look(&mut wakers);
    driver.timers.arm(Some(0), Instant::now() + 1000 * LONG, Waker::noop().clone());
    driver.look(&mut wakers);
    assert!(wakers.is_empty());
    driver.timers.arm(Some(1), Instant::now(), Waker::noop().clone());
    driver.look(&mut wakers);
    assert_eq!(wakers.len(), 1);
}
