//! The reactor over real descriptors, one wait at a time: who is woken by what,
//! and what is left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use crate::driver::Driver;
use crate::driver::reactor::*;
use crate::sync::{Arc, Duration, Instant, Mutex, lock};
use polling::AsSource;
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

fn readiness(source: &Source, direction: Direction) -> Readiness {
    lock(&source.sides)[direction as usize].readiness
}

/// Says that nothing can be done until an event comes.
#[track_caller]
fn clear(source: &Source, direction: Direction) {
    let side = &mut lock(&source.sides)[direction as usize];
    assert!(side.record_block(side.readiness));
}

/// One that has looked, and tried in vain.
fn waiter(source: &Source, direction: Direction, kind: WaiterKind) -> Waiter<'_> {
    Waiter { source, direction, seen: readiness(source, direction), kind }
}

/// A socket that is registered, as if both directions had been tried in vain, and its peer.
struct Registered {
    driver: Driver,
    source: Arc<Source>,
    io: TcpStream,
    peer: TcpStream,
}

impl Registered {
    fn new() -> Self {
        let (driver, (peer, io)) = (Driver::new(1).unwrap(), pair());
        let source = driver.register(io.source()).unwrap();
        let registered = Self { driver, source, io, peer };
        registered.clear(Direction::Read);
        registered.clear(Direction::Write);
        registered
    }

    /// Says that nothing can be done until an event comes.
    fn clear(&self, direction: Direction) {
        clear(&self.source, direction);
    }

    fn is_marked_ready(&self, direction: Direction) -> bool {
        !readiness(&self.source, direction).would_block
    }

    /// Polls by a waker, which is left there if it is not ready.
    fn is_ready(&self, direction: Direction, waker: &Waker) -> bool {
        self.poll(&mut waiter(&self.source, direction, WaiterKind::Poll), waker)
    }

    /// As a task that has nothing to try, if nothing is known to be there.
    fn poll(&self, waiter: &mut Waiter<'_>, waker: &Waker) -> bool {
        let seen = waiter.see();
        if seen.is_gone || !seen.would_block {
            return true;
        }
        let context = Context::from_waker(waker);
        self.driver.poll_ready(self.io.source(), waiter, &context).is_ready()
    }

    /// Leaves a waker that waits to read.
    #[track_caller]
    fn leave(&self, waker: &Waker) {
        assert!(!self.is_ready(Direction::Read, waker));
    }

    /// A future that waits to read, and has not waited yet.
    fn reader(&self) -> Waiter<'_> {
        waiter(&self.source, Direction::Read, WaiterKind::Future(None))
    }

    /// Lets it wait by this waker.
    #[track_caller]
    fn wait(&self, waiter: &mut Waiter<'_>, waker: &Waker) {
        assert!(!self.poll(waiter, waker));
    }

    /// How many wakers wait for a direction.
    fn waiting(&self, direction: Direction) -> usize {
        let side = &lock(&self.source.sides)[direction as usize];
        side.futures.len() + side.polls.len()
    }

    /// Has the peer write, and turns until that has woken somebody so often.
    #[track_caller]
    fn wakes(&self, counting: &Counting, times: usize) {
        (&self.peer).write_all(b"x").unwrap();
        turn_until(&self.driver, || counting.count() == times);
    }

    fn deregister(self) {
        self.driver.deregister(&self.source, &self.io).unwrap();
    }
}

#[test]
fn event_wakes_who_waits_for_its_direction() {
    let it = Registered::new();
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    assert!(!it.is_ready(Direction::Write, &writes));
    turn_until(&it.driver, || writers.count() == 1);
    assert!(it.is_marked_ready(Direction::Write));

    it.clear(Direction::Write);
    it.clear(Direction::Read);
    it.leave(&reads);
    it.wakes(&readers, 1);
    assert!(it.is_marked_ready(Direction::Read));
    // Nobody is woken twice for one event.
    turn(&it.driver, Duration::ZERO);
    assert_eq!((readers.count(), writers.count()), (1, 1));
    it.deregister();
}

#[test]
fn same_waker_is_kept_once_and_others_beside_it() {
    let it = Registered::new();
    let wakers = [(); 3].map(|()| counting());
    for _ in 0..10 {
        wakers.iter().for_each(|(_, waker)| it.leave(waker));
    }
    (&it.peer).write_all(b"x").unwrap();
    turn_until(&it.driver, || wakers.iter().all(|(counting, _)| counting.count() > 0));
    assert!(wakers.iter().all(|(counting, _)| counting.count() == 1));
    it.deregister();
}

#[test]
fn list_that_was_cleared_out_still_asks_for_the_last_one() {
    // Each number of dropped waits, around every one at which the list is full.
    for given_up in 0..140 {
        let it = Registered::new();
        (0..given_up).for_each(|_| it.leave(&counting().1));
        let (last, waker) = counting();
        it.leave(&waker);
        it.wakes(&last, 1);
        it.deregister();
    }
}

/// The futures take their wakers out, however many there were.
#[test]
fn waits_that_were_given_up_do_not_keep_one_that_goes_on_from_being_woken() {
    for given_up in [1, 2, 31, 32, 33, 34, 64, 65, 66, 100, 300] {
        let it = Registered::new();
        (0..given_up).for_each(|_| it.wait(&mut it.reader(), &counting().1));
        let ((last, waker), mut goes_on) = (counting(), it.reader());
        it.wait(&mut goes_on, &waker);
        assert_eq!(it.waiting(Direction::Read), 1);
        it.wakes(&last, 1);
        drop(goes_on);
        it.deregister();
    }
}

#[test]
fn wakers_of_polls_that_were_given_up_do_not_pile_up() {
    let it = Registered::new();
    // One that comes back whenever it is woken.
    let (patient, waker) = counting();
    for _ in 0..10_000 {
        it.leave(&waker);
        it.leave(&counting().1);
        assert!(it.waiting(Direction::Read) <= POLLS_MAX);
    }
    assert!(patient.count() > 0, "it was pushed out, and nobody asked it to come back");
    assert_eq!(it.waiting(Direction::Write), 0);
    it.deregister();
}

/// A task may have another waker in each poll. If each that comes pushed one out, it would be
/// polled for ever.
#[test]
fn wakers_are_pushed_out_all_at_once_and_seldom() {
    let it = Registered::new();
    let (mut crowd, mut times) = (Vec::new(), 0);
    for _ in 0..4 * POLLS_MAX {
        let woken = |crowd: &[Arc<Counting>]| crowd.iter().map(|one| one.count()).sum::<usize>();
        let before = woken(&crowd);
        let (counting, waker) = counting();
        it.leave(&waker);
        crowd.push(counting);
        times += usize::from(woken(&crowd) > before);
    }
    assert_eq!(times, 3);
    it.deregister();
}

/// As many as there is room for: nobody is pushed out.
#[test]
fn those_who_poll_do_not_wake_each_other() {
    let it = Registered::new();
    let crowd: Vec<_> = (0..POLLS_MAX).map(|_| counting()).collect();
    for _ in 0..3 {
        crowd.iter().for_each(|(_, waker)| it.leave(waker));
    }
    assert!(crowd.iter().all(|(counting, _)| counting.count() == 0));
    assert_eq!(it.waiting(Direction::Read), crowd.len());
    it.deregister();
}

#[test]
fn a_future_that_is_dropped_takes_its_waker_out() {
    let it = Registered::new();
    let ((first, waker_1), (second, waker_2)) = (counting(), counting());
    let (mut stays, mut goes) = (it.reader(), it.reader());
    it.wait(&mut stays, &waker_1);
    it.wait(&mut goes, &waker_2);
    assert_eq!(it.waiting(Direction::Read), 2);
    drop(goes);
    assert_eq!(it.waiting(Direction::Read), 1);
    assert_eq!(Arc::strong_count(&second), 2, "the waker was dropped, but for the test's own");
    it.wakes(&first, 1);
    assert_eq!(second.count(), 0);
    drop(stays);
    it.deregister();
}

/// A future that is polled again, perhaps by another task, has one waker: the last one.
#[test]
fn a_future_has_one_waker() {
    let it = Registered::new();
    let ((former, waker_1), (last, waker_2)) = (counting(), counting());
    let mut waiter = it.reader();
    for _ in 0..100 {
        it.wait(&mut waiter, &waker_1);
        it.wait(&mut waiter, &waker_2);
        assert_eq!(it.waiting(Direction::Read), 1);
    }
    it.wakes(&last, 1);
    assert_eq!(former.count(), 0);
    drop(waiter);
    it.deregister();
}

/// After an event only the others are there.
#[test]
fn a_future_that_an_event_has_woken_takes_out_nobody_elses_waker() {
    let it = Registered::new();
    let ((first, waker_1), (second, waker_2)) = (counting(), counting());
    let (mut old, mut new) = (it.reader(), it.reader());
    it.wait(&mut old, &waker_1);
    it.wakes(&first, 1);
    it.clear(Direction::Read);

    it.wait(&mut new, &waker_2);
    drop(old);
    assert_eq!(it.waiting(Direction::Read), 1);
    it.wakes(&second, 1);
    drop(new);
    it.deregister();
}

/// What the kernel still had under way when a source has gone is no harm to the next one: it is
/// tried in vain, and waits on.
#[test]
fn event_of_the_last_tenant_is_one_attempt_in_vain_for_the_next_one() {
    let mut it = Registered::new();
    let old_key = it.source.key;
    it.driver.deregister(&it.source, &it.io).unwrap();
    let ((next_peer, next), first) = (pair(), it.io);
    it.source = it.driver.register(next.source()).unwrap();
    let first_peer = std::mem::replace(&mut it.peer, next_peer);
    it.io = next;
    it.clear(Direction::Read);
    assert_eq!(it.source.key, old_key, "the same place");
    it.driver.kernel.add(&first, old_key).unwrap();
    it.driver.kernel.ask_again(&first, polling::Event::all(old_key)).unwrap();
    (&first_peer).write_all(b"x").unwrap();
    let (counting, waker) = counting();
    it.leave(&waker);
    turn_until(&it.driver, || counting.count() == 1);
    it.driver.kernel.delete(&first).unwrap();

    // Its own event is not lost by that.
    it.clear(Direction::Read);
    it.leave(&waker);
    it.wakes(&counting, 2);
    it.deregister();
}

/// Else a short read would be followed by another one for as long as the socket lives.
#[test]
fn hang_up_of_the_last_tenant_is_forgotten_with_the_attempt_in_vain() {
    let it = Registered::new();
    it.source.collect([true, false], true, &mut Vec::new());
    assert!(readiness(&it.source, Direction::Read).is_hung_up);
    it.clear(Direction::Read);
    assert!(!readiness(&it.source, Direction::Read).is_hung_up);
    it.source.collect([true, false], false, &mut Vec::new());
    assert!(!readiness(&it.source, Direction::Read).is_hung_up);
    it.deregister();
}

#[test]
fn what_is_known_of_a_new_source_is_that_it_is_worth_a_try() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    let source = driver.register(right.source()).unwrap();
    for direction in [Direction::Read, Direction::Write] {
        let Readiness { would_block, is_hung_up, is_gone, .. } = readiness(&source, direction);
        assert!(!would_block && !is_hung_up && !is_gone);
    }
    driver.deregister(&source, &right).unwrap();
}

/// Word for word the same as before the events, but for their number.
#[test]
fn event_after_the_look_stands() {
    let it = Registered::new();
    let [read, write] = [Direction::Read, Direction::Write];
    let before = readiness(&it.source, read);
    for events in 1..4 {
        it.source.collect([true, false], false, &mut Vec::new());
        assert!(!lock(&it.source.sides)[read as usize].record_block(before), "{events}");
        assert!(it.is_marked_ready(read) && !it.is_marked_ready(write));
        it.clear(read);
        assert!(!it.is_marked_ready(read));
    }
    it.deregister();
}

/// Where interests are asked for again: who comes back would else wait for nothing.
#[test]
fn a_refused_interest_is_refused_each_time() {
    let it = Registered::new();
    it.driver.kernel.delete(&it.io).unwrap();
    let (_counting, waker) = counting();
    let polls = [(); 3].map(|()| it.is_ready(Direction::Read, &waker));
    let asks = cfg!(any(not(target_os = "linux"), arc_oneshot, arc_portable));
    assert_eq!(polls, [asks; 3]);
    // Nobody knows it, which Windows takes for done.
    assert!(it.driver.deregister(&it.source, &it.io).is_err() || cfg!(windows));
}

/// As many sources as there are at once, and not as there ever were.
#[test]
fn places_are_used_again() {
    let driver = Driver::new(1).unwrap();
    let (_left, right) = pair();
    for _ in 0..1_000 {
        let source = driver.register(right.source()).unwrap();
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
        assert!(driver.register(file.source()).is_err());
    }
    assert!(!driver.has_sources());
    let source = driver.register(right.source()).unwrap();
    assert!(driver.register(right.source()).is_err(), "registered twice");
    assert_eq!(lock(&driver.sources).slab.len(), 1);
    driver.deregister(&source, &right).unwrap();
    assert!(!driver.has_sources());
    // It is not known any more, and that is an error, not a panic.
    assert!(driver.deregister(&source, &right).is_err());
}

#[test]
fn closed_reactor_wakes_everybody_and_takes_nobody_in() {
    let it = Registered::new();
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    it.leave(&reads);
    assert!(!it.is_ready(Direction::Write, &writes));
    let given_up = [(); 20].map(|()| counting());
    given_up.iter().for_each(|(_, waker)| it.leave(waker));
    it.leave(&reads);
    let woken = readers.count();
    let mut wakers = Vec::new();
    it.driver.close(&mut wakers);
    wakers.into_iter().for_each(Waker::wake);
    // The socket lives on, and holds no waker any more, which might hold the socket.
    assert!(given_up.iter().all(|(counting, _)| Arc::strong_count(counting) == 2));
    assert_eq!((readers.count(), writers.count()), (woken + 1, 1));
    for direction in [Direction::Read, Direction::Write] {
        assert!(readiness(&it.source, direction).is_gone);
        // Cleared or not: whoever comes now is told at once.
        it.clear(direction);
        assert!(it.is_ready(direction, &reads));
    }
    let (_other, another) = pair();
    let error = it.driver.register(another.source()).err().unwrap();
    assert!(error.to_string().contains("has ended"), "{error}");
    // The socket itself goes on, and can be taken out.
    it.driver.deregister(&it.source, &it.io).unwrap();
    (&it.peer).write_all(b"x").unwrap();
    let mut byte = [0];
    while (&it.io).read(&mut byte).is_err() {}
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
                assert!(source.sides.try_lock().is_ok(), "dropped under the lock");
            }
        }
    }
    let shared = Arc::new((Driver::new(1).unwrap(), Mutex::new(None)));
    let driver = &shared.0;
    let (mut left, right) = pair();
    let source = driver.register(right.source()).unwrap();
    *shared.1.lock().unwrap() = Some(source.clone());
    let read = Direction::Read;
    let poll = || {
        let waker = Waker::from(Arc::new(Reenters(shared.clone())));
        let mut waiter = waiter(&source, read, WaiterKind::Poll);
        driver.poll_ready(right.source(), &mut waiter, &Context::from_waker(&waker)).is_ready()
    };
    // So many that the list is cleared out several times.
    (0..2 * POLLS_MAX).for_each(|_| assert!(!poll()));

    // The waker of a future is exchanged, and goes with the future.
    let mut future = waiter(&source, read, WaiterKind::Future(None));
    for _ in 0..2 {
        let waker = Waker::from(Arc::new(Reenters(shared.clone())));
        let context = Context::from_waker(&waker);
        assert!(driver.poll_ready(right.source(), &mut future, &context).is_pending());
    }
    drop(future);

    left.write_all(b"x").unwrap();
    turn_until(driver, || !readiness(&source, read).would_block);
    assert!(!poll());
    driver.deregister(&source, &right).unwrap();
    shared.1.lock().unwrap().take();
}
