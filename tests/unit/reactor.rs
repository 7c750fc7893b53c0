//! The reactor over real descriptors, one wait at a time: who is woken by what,
//! and what is left behind.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use crate::driver::kernel::event::Until;
use crate::driver::reactor::*;
use crate::sync::{Arc, Duration, Instant, Mutex, lock, thread};
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
fn turn(reactor: &Reactor, timeout: Duration) -> usize {
    let (deadline, mut wakers) = (Instant::now() + timeout, Vec::new());
    reactor.kernel.set_alarm(deadline).unwrap();
    reactor.wait(Until::Deadline(deadline), &mut wakers).unwrap();
    let count = wakers.len();
    wakers.into_iter().for_each(Waker::wake);
    count
}

/// Turns until it is so.
#[track_caller]
fn turn_until(reactor: &Reactor, what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never happens");
        turn(reactor, Duration::from_millis(10));
    }
}

fn is_ready(
    reactor: &Reactor,
    (source, io): (&Source, &TcpStream),
    direction: Direction,
    waker: &Waker,
) -> bool {
    let poll = reactor.poll_ready(source, io, direction, &Context::from_waker(waker));
    poll.is_ready()
}

/// Says that nothing can be done until an event comes.
fn clear(source: &Source, direction: Direction) {
    let readiness = &source.readiness[direction as usize];
    readiness.clear(readiness.load());
    assert!(!readiness.load().is_ready());
}

/// Registers, as if both directions had been tried in vain.
fn register(reactor: &Reactor, io: &TcpStream) -> Arc<Source> {
    let source = reactor.register(io).unwrap();
    clear(&source, Direction::Read);
    clear(&source, Direction::Write);
    source
}

#[test]
fn event_wakes_who_waits_for_its_direction() {
    let reactor = Reactor::new().unwrap();
    let (mut left, right) = pair();
    let source = register(&reactor, &right);
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    assert!(!is_ready(&reactor, (&source, &right), Direction::Write, &writes));
    turn_until(&reactor, || writers.count() == 1);
    assert!(source.readiness[Direction::Write as usize].load().is_ready());

    clear(&source, Direction::Write);
    clear(&source, Direction::Read);
    assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &reads));
    left.write_all(b"x").unwrap();
    turn_until(&reactor, || readers.count() == 1);
    assert!(source.readiness[Direction::Read as usize].load().is_ready());
    // Nobody is woken twice for one event.
    turn(&reactor, Duration::ZERO);
    assert_eq!((readers.count(), writers.count()), (1, 1));
    reactor.deregister(&source, &right).unwrap();
}

#[test]
fn same_waker_is_kept_once_and_others_beside_it() {
    let reactor = Reactor::new().unwrap();
    let (mut left, right) = pair();
    let source = register(&reactor, &right);
    let wakers: Vec<_> = (0..3).map(|_| counting()).collect();
    for _ in 0..10 {
        for (_, waker) in &wakers {
            assert!(!is_ready(&reactor, (&source, &right), Direction::Read, waker));
        }
    }
    left.write_all(b"x").unwrap();
    let all = || wakers.iter().all(|(counting, _)| counting.count() > 0);
    turn_until(&reactor, all);
    assert!(wakers.iter().all(|(counting, _)| counting.count() == 1));
    reactor.deregister(&source, &right).unwrap();
}

#[test]
fn list_that_was_cleared_out_still_asks_for_the_last_one() {
    // Each number of dropped waits, around every one at which the list is full.
    for given_up in 0..140 {
        let reactor = Reactor::new().unwrap();
        let (mut left, right) = pair();
        let source = register(&reactor, &right);
        for _ in 0..given_up {
            let (_, waker) = counting();
            assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &waker));
        }
        let (last, waker) = counting();
        assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &waker));
        left.write_all(b"x").unwrap();
        turn_until(&reactor, || last.count() == 1);
        reactor.deregister(&source, &right).unwrap();
    }
}

#[test]
fn wakers_of_waits_that_were_given_up_do_not_pile_up() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let source = register(&reactor, &right);
    let kept = || lock(&source.waiting)[Direction::Read as usize].len();
    // One that comes back whenever it is woken.
    let (patient, waker) = counting();
    let mut largest = 0;
    for _ in 0..10_000 {
        let (_, given_up) = counting();
        assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &waker));
        assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &given_up));
        largest = largest.max(kept());
    }
    assert!(patient.count() > 0, "nobody was ever asked to come back");
    // The bound doubles each time that it is reached soon.
    assert!(largest <= 8_192, "{largest} wakers");
    reactor.deregister(&source, &right).unwrap();
}

/// Where waits are given up at leisure, the lists of wakers do not grow for ever. In each direction
/// one is full whenever 120 ms have passed, and the two in turns.
#[test]
fn list_of_wakers_grows_only_if_it_is_soon_full_again() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let source = register(&reactor, &right);
    let room = |direction| lock(&source.waiting)[direction as usize].capacity();
    let kept = |direction| lock(&source.waiting)[direction as usize].len();
    let give_up = |direction| {
        let (_, given_up) = counting();
        assert!(!is_ready(&reactor, (&source, &right), direction, &given_up));
    };
    let mut was_full: [Option<(Instant, Instant)>; 2] = [None; 2];
    for millis in [0, 0, 0, 60, 60, 60, 0] {
        for direction in [Direction::Read, Direction::Write] {
            (kept(direction)..room(direction)).for_each(|_| give_up(direction));
            thread::sleep(Duration::from_millis(millis));
            let (before, old) = (Instant::now(), room(direction));
            give_up(direction);
            let (after, new) = (Instant::now(), room(direction));
            // The time is known but for the microseconds that it takes, or more on a busy machine.
            let soon = Duration::from_millis(100);
            match was_full[direction as usize].replace((before, after)) {
                None => assert_eq!((old, new), (0, 4)),
                Some((_, last)) if before - last >= soon => assert_eq!(new, old),
                Some((first, _)) if after - first < soon => assert_eq!(new, 2 * old),
                Some(_) => {}
            }
        }
    }
    reactor.deregister(&source, &right).unwrap();
}

/// All that are woken come back, one after the other, as a worker polls them.
#[test]
fn those_who_wait_do_not_wake_each_other_for_ever() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let source = register(&reactor, &right);
    let crowd: Vec<_> = (0..100).map(|_| counting()).collect();
    let mut queue: VecDeque<usize> = (0..crowd.len()).collect();
    let mut woken = vec![0; crowd.len()];
    let mut polls = 0;
    while let Some(next) = queue.pop_front() {
        assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &crowd[next].1));
        polls += 1;
        assert!(polls < 10_000, "they wake each other for ever");
        for (index, (counting, _)) in crowd.iter().enumerate() {
            if counting.count() > woken[index] {
                woken[index] = counting.count();
                queue.push_back(index);
            }
        }
    }
    assert_eq!(lock(&source.waiting)[Direction::Read as usize].len(), crowd.len());
    reactor.deregister(&source, &right).unwrap();
}

#[test]
fn event_of_the_last_tenant_is_not_the_next_ones() {
    let reactor = Reactor::new().unwrap();
    let (first_peer, first) = pair();
    let (_second_peer, second) = pair();
    let old = register(&reactor, &first);
    let old_key = old.key;
    reactor.deregister(&old, &first).unwrap();
    let new = register(&reactor, &second);
    assert_eq!(new.key & INDEX_MASK, old_key & INDEX_MASK, "the same place");
    assert_ne!(new.key, old_key);
    // What the kernel still had under way for the one that is gone.
    reactor.kernel.add(&first, old_key).unwrap();
    reactor.kernel.ask_again(&first, polling::Event::all(old_key)).unwrap();
    (&first_peer).write_all(b"x").unwrap();
    let (counting, waker) = counting();
    assert!(!is_ready(&reactor, (&new, &second), Direction::Read, &waker));
    for _ in 0..5 {
        turn(&reactor, Duration::from_millis(2));
    }
    assert_eq!(counting.count(), 0);
    assert!(
        !new.readiness[Direction::Read as usize].load().is_ready() || !cfg!(target_os = "linux")
    );
    reactor.kernel.delete(&first).unwrap();
    reactor.deregister(&new, &second).unwrap();
}

/// Where interests are asked for again: who comes back would else wait for nothing.
#[test]
fn a_refused_interest_is_refused_each_time() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let source = register(&reactor, &right);
    reactor.kernel.delete(&right).unwrap();
    let (_counting, waker) = counting();
    let polls = [(); 3].map(|()| is_ready(&reactor, (&source, &right), Direction::Read, &waker));
    let asks = cfg!(any(not(target_os = "linux"), arc_oneshot, arc_portable));
    assert_eq!(polls, [asks; 3]);
    // Nobody knows it, which Windows takes for done.
    assert!(reactor.deregister(&source, &right).is_err() || cfg!(windows));
}

#[test]
fn keys_are_different_for_a_long_time() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let mut keys = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        let source = reactor.register(&right).unwrap();
        assert!(keys.insert(source.key));
        reactor.deregister(&source, &right).unwrap();
    }
    assert!(!reactor.has_sources());
}

#[cfg(target_os = "linux")]
// poll(2) takes regular files, and tells of hang-ups that nobody asked for.
#[cfg_attr(polling_test_poll_backend, allow(dead_code))]
#[cfg_attr(not(polling_test_poll_backend), test)]
fn failed_registration_leaves_nothing_behind() {
    let reactor = Reactor::new().unwrap();
    let (_left, right) = pair();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    for _ in 0..100 {
        assert!(reactor.register(&file).is_err());
    }
    assert!(!reactor.has_sources());
    let source = reactor.register(&right).unwrap();
    assert!(reactor.register(&right).is_err(), "registered twice");
    assert_eq!(lock(&reactor.sources).slab.len(), 1);
    reactor.deregister(&source, &right).unwrap();
    assert!(!reactor.has_sources());
    // It is not known any more, and that is an error, not a panic.
    assert!(reactor.deregister(&source, &right).is_err());
}

#[test]
fn closed_reactor_wakes_everybody_and_takes_nobody_in() {
    let reactor = Reactor::new().unwrap();
    let (mut left, right) = pair();
    let source = register(&reactor, &right);
    let ((readers, reads), (writers, writes)) = (counting(), counting());
    assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &reads));
    assert!(!is_ready(&reactor, (&source, &right), Direction::Write, &writes));
    let given_up: Vec<_> = (0..20).map(|_| counting()).collect();
    for (_, waker) in &given_up {
        assert!(!is_ready(&reactor, (&source, &right), Direction::Read, waker));
    }
    assert!(!is_ready(&reactor, (&source, &right), Direction::Read, &reads));
    let woken = readers.count();
    let mut wakers = Vec::new();
    reactor.close(&mut wakers);
    wakers.into_iter().for_each(Waker::wake);
    // The socket lives on, and holds no waker any more, which might hold the socket.
    assert!(given_up.iter().all(|(counting, _)| Arc::strong_count(counting) == 2));
    assert_eq!((readers.count(), writers.count()), (woken + 1, 1));
    for direction in [Direction::Read, Direction::Write] {
        assert!(source.readiness[direction as usize].load().is_gone());
        // Cleared or not: whoever comes now is told at once.
        source.readiness[direction as usize].clear(source.readiness[direction as usize].load());
        assert!(is_ready(&reactor, (&source, &right), direction, &reads));
    }
    let (_other, another) = pair();
    let error = reactor.register(&another).err().unwrap();
    assert!(error.to_string().contains("has ended"), "{error}");
    // The socket itself goes on, and can be taken out.
    reactor.deregister(&source, &right).unwrap();
    left.write_all(b"x").unwrap();
    let mut byte = [0];
    while (&right).read(&mut byte).is_err() {}
    assert_eq!(&byte, b"x");
}

#[test]
fn notification_ends_one_wait_before_or_during_it() {
    let reactor = Reactor::new().unwrap();
    let hour = Duration::from_secs(3600);
    for _ in 0..100 {
        // However many, they end one wait at the least.
        reactor.kernel.notify().unwrap();
        reactor.kernel.notify().unwrap();
        assert_eq!(turn(&reactor, hour), 0);
    }
    std::thread::scope(|scope| {
        for _ in 0..100 {
            let notifier = scope.spawn(|| reactor.kernel.notify().unwrap());
            turn(&reactor, hour);
            notifier.join().unwrap();
        }
    });
}

#[test]
fn wait_is_never_shorter_than_its_timeout() {
    let reactor = Reactor::new().unwrap();
    for micros in [1, 999, 1_000, 1_001, 1_500, 2_345] {
        let (timeout, start) = (Duration::from_micros(micros), Instant::now());
        turn(&reactor, timeout);
        assert!(start.elapsed() >= timeout, "{micros} us");
    }
}

#[test]
fn wakers_are_dropped_outside_the_locks() {
    struct Reenters(Arc<(Reactor, Mutex<Option<Arc<Source>>>)>);
    impl Wake for Reenters {
        fn wake(self: Arc<Self>) {
            drop(self);
        }
    }
    impl Drop for Reenters {
        fn drop(&mut self) {
            let (reactor, source) = &*self.0;
            assert!(reactor.sources.try_lock().is_ok(), "dropped under the lock");
            if let Some(source) = &*source.lock().unwrap() {
                assert!(source.waiting.try_lock().is_ok(), "dropped under the lock");
            }
        }
    }
    let shared = Arc::new((Reactor::new().unwrap(), Mutex::new(None)));
    let reactor = &shared.0;
    let (mut left, right) = pair();
    let source = register(reactor, &right);
    *shared.1.lock().unwrap() = Some(source.clone());
    let reenters = || Waker::from(Arc::new(Reenters(shared.clone())));
    // So many that the list is cleared out several times.
    for _ in 0..200 {
        assert!(!is_ready(reactor, (&source, &right), Direction::Read, &reenters()));
    }
    left.write_all(b"x").unwrap();
    turn_until(reactor, || source.readiness[Direction::Read as usize].load().is_ready());
    assert!(is_ready(reactor, (&source, &right), Direction::Read, &reenters()));
    clear(&source, Direction::Read);
    assert!(!is_ready(reactor, (&source, &right), Direction::Read, &reenters()));
    reactor.deregister(&source, &right).unwrap();
    shared.1.lock().unwrap().take();
    drop(source);
}
