//! The reactor over real descriptors, one wait at a time: who is woken by what,
//! and what is left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use crate::driver::Driver;
use crate::driver::reactor::*;
use crate::sync::{Arc, Duration, Instant, Mutex, lock};
use std::task::{Context, Waker};

/// Counts how often it is woken.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counting {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn counting() -> (Arc<Counting>, Waker) {
    let counting = Arc::new(Counting::default());
    (counting.clone(), Waker::from(counting))
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let left = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let right = listener.accept().unwrap().0;
    for stream in [&left, &right] {
        stream.set_nonblocking(true).unwrap();
    }
    (left, right)
}

/// Waits for what comes within the time, and wakes.
fn turn(driver: &Driver, timeout: Duration) -> usize {
    let (deadline, mut wakers) = (Instant::now() + timeout, Vec::new());
    driver.collect(Some(deadline), &mut wakers);
    let count = wakers.len();
    wakers.into_iter().for_each(Waker::wake);
    count
}

/// Turns until it is so.
#[track_caller]
fn turn_until(driver: &Driver, what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never happens");
        turn(driver, Duration::from_millis(10));
    }
}

fn is_ready(
    driver: &Driver,
    (source, io): (&Source, &TcpStream),
    direction: Direction,
    waker: &Waker,
) -> bool {
    let context = Context::from_waker(waker);
    let mut waiter = Waiter { source, direction, kind: WaiterKind::Poll };
    driver.poll_ready(io, &mut waiter, &context).is_ready()
}

/// Says that nothing can be done until an event comes.
fn clear(source: &Source, direction: Direction) {
    let readiness = &source.readiness[direction as usize];
    readiness.clear(readiness.load());
    assert!(!readiness.load().is_ready());
}

/// Registers, as if both directions had been tried in vain.
fn register(driver: &Driver, io: &TcpStream) -> Arc<Source> {
    let source = driver.register(io).unwrap();
    clear(&source, Direction::Read);
    clear(&source, Direction::Write);
    source
}

#[test]
fn event_wakes_who_waits_for_its_direction() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    assert!(!is_ready(&driver, (&source, &right), Direction::Write, &writes));
    turn_until(&driver, || writers.count() == 1);
    assert!(source.readiness[Direction::Write as usize].load().is_ready());

    clear(&source, Direction::Write);
    clear(&source, Direction::Read);
    assert!(!is_ready(&driver, (&source, &right), Direction::Read, &reads));
    left.write_all(b"x").unwrap();
    turn_until(&driver, || readers.count() == 1);
    assert!(source.readiness[Direction::Read as usize].load().is_ready());
    // Nobody is woken twice for one event.
    turn(&driver, Duration::ZERO);
    assert_eq!((readers.count(), writers.count()), (1, 1));
    driver.deregister(&source, &right).unwrap();
}

#[test]
fn same_waker_is_kept_once_and_others_beside_it() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let wakers: Vec<_> = (0..3).map(|_| counting()).collect();
    for _ in 0..10 {
        for (_, waker) in &wakers {
            assert!(!is_ready(&driver, (&source, &right), Direction::Read, waker));
        }
    }
    left.write_all(b"x").unwrap();
    let all = || wakers.iter().all(|(counting, _)| counting.count() > 0);
    turn_until(&driver, all);
    assert!(wakers.iter().all(|(counting, _)| counting.count() == 1));
    driver.deregister(&source, &right).unwrap();
}

#[test]
fn list_that_was_cleared_out_still_asks_for_the_last_one() {
    // Each number of dropped waits, around every one at which the list is full.
    for given_up in 0..140 {
        let driver = Driver::new(1).unwrap();
        let (mut left, right) = pair();
        let source = register(&driver, &right);
        for _ in 0..given_up {
            let (_, waker) = counting();
            assert!(!is_ready(&driver, (&source, &right), Direction::Read, &waker));
        }
        let (last, waker) = counting();
        assert!(!is_ready(&driver, (&source, &right), Direction::Read, &waker));
        left.write_all(b"x").unwrap();
        turn_until(&driver, || last.count() == 1);
        driver.deregister(&source, &right).unwrap();
    }
}

/// How many wakers wait for a direction.
fn waiting(source: &Source, direction: Direction) -> usize {
    lock(&source.waiting)[direction as usize].len()
}

#[test]
fn wakers_of_polls_that_were_given_up_do_not_pile_up() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    let source = register(&driver, &right);
    // One that comes back whenever it is woken.
    let (patient, waker) = counting();
    for _ in 0..10_000 {
        let (_, given_up) = counting();
        assert!(!is_ready(&driver, (&source, &right), Direction::Read, &waker));
        assert!(!is_ready(&driver, (&source, &right), Direction::Read, &given_up));
        assert!(waiting(&source, Direction::Read) <= POLLS_MAX);
    }
    assert!(patient.count() > 0, "it was pushed out, and nobody asked it to come back");
    assert_eq!(waiting(&source, Direction::Write), 0);
    driver.deregister(&source, &right).unwrap();
}

/// As many as there is room for: nobody is pushed out.
#[test]
fn those_who_poll_do_not_wake_each_other() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    let source = register(&driver, &right);
    let crowd: Vec<_> = (0..POLLS_MAX).map(|_| counting()).collect();
    for _ in 0..3 {
        for (_, waker) in &crowd {
            assert!(!is_ready(&driver, (&source, &right), Direction::Read, waker));
        }
    }
    assert!(crowd.iter().all(|(counting, _)| counting.count() == 0));
    assert_eq!(waiting(&source, Direction::Read), crowd.len());
    driver.deregister(&source, &right).unwrap();
}

/// A future that waits to read, and has not waited yet.
fn reader(source: &Source) -> Waiter<'_> {
    Waiter { source, direction: Direction::Read, kind: WaiterKind::Future(None) }
}

/// Polls it.
fn wait(driver: &Driver, io: &TcpStream, waiter: &mut Waiter<'_>, waker: &Waker) {
    let context = Context::from_waker(waker);
    assert!(driver.poll_ready(io, waiter, &context).is_pending());
}

#[test]
fn a_future_that_is_dropped_takes_its_waker_out() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let (first, waker_1) = counting();
    let (second, waker_2) = counting();
    let mut stays = reader(&source);
    let mut goes = reader(&source);
    wait(&driver, &right, &mut stays, &waker_1);
    wait(&driver, &right, &mut goes, &waker_2);
    assert_eq!(waiting(&source, Direction::Read), 2);
    drop(goes);
    assert_eq!(waiting(&source, Direction::Read), 1);
    assert_eq!(Arc::strong_count(&second), 2, "the waker was dropped, but for the test's own");
    left.write_all(b"x").unwrap();
    turn_until(&driver, || first.count() == 1);
    assert_eq!(second.count(), 0);
    driver.deregister(&source, &right).unwrap();
}

/// A future that is polled again, perhaps by another task, has one waker: the last one.
#[test]
fn a_future_has_one_waker() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let (former, waker_1) = counting();
    let (last, waker_2) = counting();
    let mut waiter = reader(&source);
    for _ in 0..100 {
        wait(&driver, &right, &mut waiter, &waker_1);
        wait(&driver, &right, &mut waiter, &waker_2);
        assert_eq!(waiting(&source, Direction::Read), 1);
    }
    left.write_all(b"x").unwrap();
    turn_until(&driver, || last.count() == 1);
    assert_eq!(former.count(), 0);
    driver.deregister(&source, &right).unwrap();
}

/// After an event only the others are there.
#[test]
fn a_future_that_an_event_has_woken_takes_out_nobody_elses_waker() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let (first, waker_1) = counting();
    let (second, waker_2) = counting();
    let mut old = reader(&source);
    wait(&driver, &right, &mut old, &waker_1);
    left.write_all(b"x").unwrap();
    turn_until(&driver, || first.count() == 1);
    clear(&source, Direction::Read);

    let mut new = reader(&source);
    wait(&driver, &right, &mut new, &waker_2);
    drop(old);
    assert_eq!(waiting(&source, Direction::Read), 1);
    left.write_all(b"x").unwrap();
    turn_until(&driver, || second.count() == 1);
    driver.deregister(&source, &right).unwrap();
}

/// What the kernel still had under way when a source has gone is no harm to the next one: it is
/// tried in vain, and waits on.
#[test]
fn event_of_the_last_tenant_is_one_attempt_in_vain_for_the_next_one() {
    let driver = Driver::new(1).unwrap();
    let (first_peer, first) = pair();
    let (mut second_peer, second) = pair();
    let old = register(&driver, &first);
    let old_key = old.key;
    driver.deregister(&old, &first).unwrap();
    let new = register(&driver, &second);
    assert_eq!(new.key, old_key, "the same place");
    driver.kernel.add(&first, old_key).unwrap();
    driver.kernel.ask_again(&first, polling::Event::all(old_key)).unwrap();
    (&first_peer).write_all(b"x").unwrap();
    let (counting, waker) = counting();
    assert!(!is_ready(&driver, (&new, &second), Direction::Read, &waker));
    turn_until(&driver, || counting.count() == 1);
    driver.kernel.delete(&first).unwrap();

    // Its own event is not lost by that.
    clear(&new, Direction::Read);
    assert!(!is_ready(&driver, (&new, &second), Direction::Read, &waker));
    second_peer.write_all(b"y").unwrap();
    turn_until(&driver, || counting.count() == 2);
    driver.deregister(&new, &second).unwrap();
}

/// Where interests are asked for again: who comes back would else wait for nothing.
#[test]
fn a_refused_interest_is_refused_each_time() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    let source = register(&driver, &right);
    driver.kernel.delete(&right).unwrap();
    let (_counting, waker) = counting();
    let polls = [(); 3].map(|()| is_ready(&driver, (&source, &right), Direction::Read, &waker));
    let asks = cfg!(any(not(target_os = "linux"), arc_oneshot, arc_portable));
    assert_eq!(polls, [asks; 3]);
    // Nobody knows it, which Windows takes for done.
    assert!(driver.deregister(&source, &right).is_err() || cfg!(windows));
}

/// As many sources as there are at once, and not as there ever were.
#[test]
fn places_are_used_again() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    for _ in 0..1_000 {
        let source = driver.register(&right).unwrap();
        assert_eq!(source.key, 0);
        driver.deregister(&source, &right).unwrap();
    }
    assert!(!driver.has_sources());
}

#[cfg(target_os = "linux")]
// poll(2) takes regular files, and tells of hang-ups that nobody asked for.
#[cfg_attr(polling_test_poll_backend, allow(dead_code))]
#[cfg_attr(not(polling_test_poll_backend), test)]
fn failed_registration_leaves_nothing_behind() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    for _ in 0..100 {
        assert!(driver.register(&file).is_err());
    }
    assert!(!driver.has_sources());
    let source = driver.register(&right).unwrap();
    assert!(driver.register(&right).is_err(), "registered twice");
    assert_eq!(lock(&driver.sources).slab.len(), 1);
    driver.deregister(&source, &right).unwrap();
    assert!(!driver.has_sources());
    // It is not known any more, and that is an error, not a panic.
    assert!(driver.deregister(&source, &right).is_err());
}

#[test]
fn closed_reactor_wakes_everybody_and_takes_nobody_in() {
    let driver = Driver::new(1).unwrap();
    let (mut left, right) = pair();
    let source = register(&driver, &right);
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    assert!(!is_ready(&driver, (&source, &right), Direction::Read, &reads));
    assert!(!is_ready(&driver, (&source, &right), Direction::Write, &writes));
    let given_up: Vec<_> = (0..20).map(|_| counting()).collect();
    for (_, waker) in &given_up {
        assert!(!is_ready(&driver, (&source, &right), Direction::Read, waker));
    }
    assert!(!is_ready(&driver, (&source, &right), Direction::Read, &reads));
    let woken = readers.count();
    let mut wakers = Vec::new();
    driver.close(&mut wakers);
    wakers.into_iter().for_each(Waker::wake);
    // The socket lives on, and holds no waker any more, which might hold the socket.
    assert!(given_up.iter().all(|(counting, _)| Arc::strong_count(counting) == 2));
    assert_eq!((readers.count(), writers.count()), (woken + 1, 1));
    for direction in [Direction::Read, Direction::Write] {
        assert!(source.readiness[direction as usize].load().is_gone());
        // Cleared or not: whoever comes now is told at once.
        source.readiness[direction as usize].clear(source.readiness[direction as usize].load());
        assert!(is_ready(&driver, (&source, &right), direction, &reads));
    }
    let (_other, another) = pair();
    let error = driver.register(&another).err().unwrap();
    assert!(error.to_string().contains("has ended"), "{error}");
    // The socket itself goes on, and can be taken out.
    driver.deregister(&source, &right).unwrap();
    left.write_all(b"x").unwrap();
    let mut byte = [0];
    while (&right).read(&mut byte).is_err() {}
    assert_eq!(&byte, b"x");
}

#[test]
fn wait_is_never_shorter_than_its_timeout() {
    let driver = Driver::new(1).unwrap();
    for micros in [1, 999, 1_000, 1_001, 1_500, 2_345] {
        let (timeout, start) = (Duration::from_micros(micros), Instant::now());
        turn(&driver, timeout);
        assert!(start.elapsed() >= timeout, "{micros} us");
    }
}

#[test]
fn wakers_are_dropped_outside_the_locks() {
    struct Reenters(Arc<(Driver, Mutex<Option<Arc<Source>>>)>);
    impl Wake for Reenters {
        fn wake(self: Arc<Self>) {
            drop(self);
        }
    }
    impl Drop for Reenters {
        fn drop(&mut self) {
            let (driver, source) = &*self.0;
            assert!(driver.sources.try_lock().is_ok(), "dropped under the lock");
            if let Some(source) = &*source.lock().unwrap() {
                assert!(source.waiting.try_lock().is_ok(), "dropped under the lock");
            }
        }
    }
    let shared = Arc::new((Driver::new(1).unwrap(), Mutex::new(None)));
    let driver = &shared.0;
    let (mut left, right) = pair();
    let source = register(driver, &right);
    *shared.1.lock().unwrap() = Some(source.clone());
    let reenters = || Waker::from(Arc::new(Reenters(shared.clone())));
    // So many that the list is cleared out several times.
    for _ in 0..200 {
        assert!(!is_ready(driver, (&source, &right), Direction::Read, &reenters()));
    }
    left.write_all(b"x").unwrap();
    turn_until(driver, || source.readiness[Direction::Read as usize].load().is_ready());
    assert!(is_ready(driver, (&source, &right), Direction::Read, &reenters()));
    clear(&source, Direction::Read);
    assert!(!is_ready(driver, (&source, &right), Direction::Read, &reenters()));
    driver.deregister(&source, &right).unwrap();
    shared.1.lock().unwrap().take();
    drop(source);
}
