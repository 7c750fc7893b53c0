//! Wakers: none is lost, none wakes twice for nothing, and whatever foreign ones
//! do (panic, re-enter, drop things), the others are woken.

#![allow(clippy::waker_clone_wake, reason = "clones of wakers are what is tested")]

use crate::common::*;
use crate::net_common::spin;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt, Direction};
use arc::net::TcpListener;
use arc::runtime::Handle;
use arc::time::{Instant, sleep, sleep_until};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const WAKES: usize = 1_000_000;

/// The waker fires while the poll is still going on, surely.
#[test]
fn a_wake_in_the_midst_of_the_poll_causes_another_poll() {
    with_each_size(|runtime| {
        let slot = Slot::default();
        let (asked, woken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (ask, wait, leave) = (asked.clone(), woken.clone(), slot.clone());
        let start = Instant::now();
        let task = runtime.spawn(poll_fn(move |context| {
            let round = ask.load(Ordering::Relaxed) + 1;
            if round == 1 {
                leave.leave(context);
            }
            if round > WAKES || (round > 100 && start.elapsed() > *RACE) {
                ask.store(usize::MAX, Ordering::SeqCst);
                return Poll::Ready(());
            }
            ask.store(round, Ordering::SeqCst);
            spin_until("the wake", || wait.load(Ordering::SeqCst) == round);
            Poll::Pending
        }));
        let waker = slot.take();
        let mut round = 0;
        loop {
            spin_until("the next poll", || asked.load(Ordering::SeqCst) > round);
            round += 1;
            if asked.load(Ordering::SeqCst) == usize::MAX {
                break;
            }
            waker.wake_by_ref();
            woken.store(round, Ordering::SeqCst);
        }
        runtime.block_on(task).unwrap();
    });
}

/// The waker fires some time before or after the poll ends.
#[test]
fn a_wake_just_as_the_poll_ends_causes_another_poll() {
    with_each_size(|runtime| {
        let slot = Slot::default();
        let polled = Arc::new(AtomicUsize::new(0));
        let (count, leave) = (polled.clone(), slot.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let task = runtime.spawn(poll_fn(move |context| {
            let polls = count.load(Ordering::Relaxed) + 1;
            if polls == 1 {
                leave.leave(context);
            }
            if stopped.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            count.store(polls, Ordering::SeqCst);
            spin(polls % 32);
            Poll::Pending
        }));
        let waker = slot.take();
        let start = Instant::now();
        let mut seen = 0;
        while start.elapsed() < *RACE {
            for _ in 0..100 {
                spin_until("another poll", || polled.load(Ordering::SeqCst) > seen);
                seen = polled.load(Ordering::SeqCst);
                spin(seen % 61);
                waker.wake_by_ref();
            }
        }
        spin_until("the last poll", || polled.load(Ordering::SeqCst) > seen);
        stop.store(true, Ordering::SeqCst);
        waker.wake();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn many_threads_that_wake_at_once_cause_a_poll_after_the_last_wake() {
    with_each_size(|runtime| {
        let slot = Slot::default();
        let (value, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (read, note, leave) = (value.clone(), seen.clone(), slot.clone());
        drop(runtime.spawn(poll_fn(move |context| {
            leave.leave(context);
            note.store(read.load(Ordering::SeqCst), Ordering::SeqCst);
            Poll::<()>::Pending
        })));
        let waker = slot.take();
        for _ in 0..300 {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (waker, value) = (waker.clone(), value.clone());
                    thread::spawn(move || {
                        value.fetch_add(1, Ordering::SeqCst);
                        waker.wake();
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            let last = value.load(Ordering::SeqCst);
            wait_until("the poll", || seen.load(Ordering::SeqCst) == last);
        }
    });
}

#[test]
fn a_task_that_is_queued_is_polled_once_however_often_it_is_woken() {
    within_deadline(|| {
        let runtime = runtime(1);
        let slot = Slot::default();
        let polls = Counter::new();
        let (leave, count) = (slot.clone(), polls.clone());
        drop(runtime.spawn(poll_fn(move |context| {
            leave.leave(context);
            count.add();
            Poll::<()>::Pending
        })));
        polls.wait_for(1);
        let waker = slot.waker();
        let blocked = block_worker(&runtime);
        for _ in 0..1000 {
            waker.wake_by_ref();
            let another = waker.clone();
            another.wake_by_ref();
        }
        blocked.gate.open();
        runtime.block_on(blocked.task).unwrap();
        // What is spawned now is polled after what was queued.
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!(polls.get(), 2);
    });
}

#[test]
fn wakers_of_one_task_know_each_other_and_not_those_of_another() {
    with_each_size(|runtime| {
        let task = || {
            let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
            let keep = wakers.clone();
            let task = runtime.spawn(poll_fn(move |context| {
                let mut wakers = keep.lock().unwrap();
                wakers.push(context.waker().clone());
                context.waker().wake_by_ref();
                match wakers.len() {
                    3 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            }));
            runtime.block_on(task).unwrap();
            std::mem::take(&mut *wakers.lock().unwrap())
        };
        let (one, other) = (task(), task());
        assert!(one.iter().all(|waker| waker.will_wake(&one[0])));
        assert!(!one[0].will_wake(&other[0]));
    });
}

#[test]
fn wakers_may_outlive_their_task_and_their_runtime() {
    with_each_size(|runtime| {
        let keep = |slot: &Slot, ready: bool| {
            let leave = slot.clone();
            poll_fn(move |context| {
                leave.leave(context);
                if ready { Poll::Ready(()) } else { Poll::Pending }
            })
        };
        let (finished, waiting, main) = (Slot::default(), Slot::default(), Slot::default());
        runtime.block_on(runtime.spawn(keep(&finished, true))).unwrap();
        let task = runtime.spawn(keep(&waiting, false));
        runtime.block_on(keep(&main, true));
        let wakers: Vec<_> = [finished, waiting, main].iter().map(|slot| slot.take()).collect();
        wakers[0].wake_by_ref();
        wakers[2].wake_by_ref();
        runtime.block_on(async {});
        drop(runtime);
        for waker in wakers {
            waker.wake_by_ref();
            let another = waker.clone();
            drop(waker);
            another.wake();
        }
        assert!(task.is_finished());
    });
}

// A batch of wakers with one that panics.

#[test]
fn a_timer_whose_waker_panics_does_not_keep_others_of_its_batch_from_firing() {
    with_each_size(|runtime| {
        let deadline = Instant::now() + Duration::from_millis(100);
        let _guard = runtime.enter();
        let mut timers = Vec::new();
        let mut counts = Vec::new();
        for index in 0..20 {
            let mut timer = Box::pin(sleep_until(deadline));
            let (waker, count) = counting_waker();
            let breaks = index % 2 == 0;
            let waker = if breaks { panicking_waker() } else { waker };
            // On a slow machine it may be over.
            if poll_with(timer.as_mut(), &waker).is_pending() {
                timers.push(timer);
                counts.extend((!breaks).then_some(count));
            }
        }
        let task = runtime.spawn(sleep_until(deadline));
        for count in counts {
            count.wait_for(1);
        }
        runtime.block_on(task).unwrap();
        // The workers live.
        runtime.block_on(runtime.spawn(sleep(Duration::from_millis(1)))).unwrap();
    });
}

/// Waits for a read to be worth trying.
fn poll_readable(socket: &Async<Socket>, context: &Context<'_>) -> Poll<io::Result<usize>> {
    socket.poll_transfer(Direction::Read, context, 0, |_| Ok(0))
}

fn pair() -> (Socket, Arc<Async<Socket>>) {
    let (outside, inside) = sockets();
    let inside = Async::new(inside).unwrap();
    // Used up: it is ready at first.
    let drained = poll_with(Pin::new(&mut (&inside).read(&mut [0])), Waker::noop());
    assert!(drained.is_pending());
    (outside, Arc::new(inside))
}

#[test]
fn a_socket_one_of_whose_wakers_panics_wakes_its_other_readers() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        let (mut outside, inside) = pair();
        let waits = |waker: &Waker| {
            let context = Context::from_waker(waker);
            poll_readable(&inside, &context).is_pending()
        };
        assert!(waits(&panicking_waker()));
        let (waker, wakes) = counting_waker();
        assert!(waits(&waker));
        assert!(waits(&panicking_waker()));
        let reader = inside.clone();
        let task = runtime.spawn(async move { reader.readable().await });
        outside.write_all(b"x").unwrap();
        wakes.wait_for(1);
        runtime.block_on(task).unwrap().unwrap();
    });
}

/// So many wait that the socket wakes those that came first: a safeguard against
/// wakers that pile up.
#[test]
fn a_reader_among_many_whose_wakers_panic_is_woken() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        let (mut outside, inside) = pair();
        let mut counts = Vec::new();
        for index in 0..200 {
            let waker = if index % 3 == 0 {
                panicking_waker()
            } else {
                let (waker, count) = counting_waker();
                counts.push(count);
                waker
            };
            let context = Context::from_waker(&waker);
            // Whoever registers must not be hit by the panic of another's waker.
            assert!(poll_readable(&inside, &context).is_pending());
        }
        outside.write_all(b"x").unwrap();
        for count in counts {
            count.wait_for(1);
        }
    });
}

// Wakers that come back to what called them.

/// What each of the three functions of the waker does.
fn reentrant(action: impl Fn() + Send + Sync + 'static) -> (Waker, Counter) {
    let action = Arc::new(action);
    let wakes = Counter::new();
    let hook = || {
        let action = action.clone();
        move || action()
    };
    let (count, wake) = (wakes.clone(), hook());
    let hooks = Hooks {
        wake: Box::new(move || {
            wake();
            count.add();
        }),
        clone: Box::new(hook()),
        drop: Box::new(hook()),
    };
    (waker_with(hooks), wakes)
}

#[test]
fn a_waker_may_use_the_socket_that_wakes_clones_or_drops_it() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        for _ in 0..50 {
            let (mut outside, inside) = pair();
            let again = inside.clone();
            let (waker, wakes) = reentrant(move || {
                let context = Context::from_waker(Waker::noop());
                let _ = poll_readable(&again, &context);
                let _ = again.poll_transfer(Direction::Write, &context, 0, |_| Ok(0));
                let _ = again.try_with(Direction::Read, |_| Ok(()));
            });
            let context = Context::from_waker(&waker);
            assert!(poll_readable(&inside, &context).is_pending());
            // Another waker, and the same once more.
            assert!(poll_readable(&inside, &Context::from_waker(Waker::noop())).is_pending());
            assert!(poll_readable(&inside, &context).is_pending());
            outside.write_all(b"x").unwrap();
            wakes.wait_for(1);
        }
    });
}

#[test]
fn a_waker_may_use_the_timer_that_wakes_clones_or_drops_it() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let _guard = runtime.enter();
        for _ in 0..50 {
            let other = Arc::new(Mutex::new(Box::pin(sleep(DEADLINE))));
            let handle = handle.clone();
            let (waker, wakes) = reentrant(move || {
                let _guard = handle.enter();
                // Arms, rearms and drops timers of the same wheels.
                let mut new = Box::pin(sleep(DEADLINE));
                assert!(poll_with(new.as_mut(), Waker::noop()).is_pending());
                if let Ok(mut other) = other.try_lock() {
                    other.as_mut().reset(Instant::now() + DEADLINE);
                    assert!(poll_with(other.as_mut(), Waker::noop()).is_pending());
                }
            });
            let mut dropped = Box::pin(sleep(DEADLINE));
            assert!(poll_with(dropped.as_mut(), &waker).is_pending());
            drop(dropped);
            let mut timer = Box::pin(sleep(DEADLINE));
            assert!(poll_with(timer.as_mut(), &waker).is_pending());
            assert!(poll_with(timer.as_mut(), Waker::noop()).is_pending());
            assert!(poll_with(timer.as_mut(), &waker).is_pending());
            timer.as_mut().reset(Instant::now() + Duration::from_millis(1));
            if poll_with(timer.as_mut(), &waker).is_pending() {
                wakes.wait_for(1);
            }
        }
    });
}

#[test]
fn a_waker_may_spawn_abort_and_drop_tasks_timers_and_sockets() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let _guard = runtime.enter();
        for round in 0..50 {
            let deadline = Instant::now() + Duration::from_millis(2);
            // In the same batch as the waker: dropped just as it fires.
            let mut sibling = Box::pin(sleep_until(deadline));
            // Armed, unless this thread was held up for so long.
            let _ = poll_with(sibling.as_mut(), Waker::noop());
            let (outside, inside) = pair();
            let task = runtime.spawn(pending::<()>());
            let prey = Mutex::new(Some((sibling, inside, task, outside)));
            let handle = handle.clone();
            let spawned = Counter::new();
            let count = spawned.clone();
            let (waker, wakes) = reentrant(move || {
                let count = count.clone();
                let prey = prey.lock().unwrap().take();
                if let Some((_sibling, _inside, task, _outside)) = prey {
                    task.abort();
                    drop(handle.spawn(async move {
                        count.add();
                    }));
                }
            });
            let mut timer = Box::pin(sleep_until(deadline));
            // The first clone does it, else the wake does.
            if round % 2 == 0 && poll_with(timer.as_mut(), &waker).is_pending() {
                wakes.wait_for(1);
            } else {
                waker.wake();
            }
            spawned.wait_for(1);
        }
        wait_until("all tasks are gone", || runtime.handle().tasks().is_empty());
    });
}

/// The task's future owns the only handle of another task, which owns a waker of
/// the first: dropping one inside the wake of the other must not deadlock.
#[test]
fn a_future_may_be_dropped_by_its_own_wake() {
    with_each_size(|runtime| {
        for _ in 0..200 {
            let drops = Counter::new();
            let slot = Slot::default();
            let (leave, held) = (slot.clone(), drops.on_drop());
            let task = runtime.spawn(async move {
                let _held = held;
                // The future holds its own waker, in a slot that it owns.
                poll_fn(|context| {
                    leave.leave(context);
                    Poll::<()>::Pending
                })
                .await;
            });
            slot.waker();
            task.abort();
            drop(task);
            slot.take().wake();
            drops.wait_for(1);
        }
        wait_until("all tasks are gone", || runtime.handle().tasks().is_empty());
    });
}

// Wakes from the destructors of thread-locals.

struct WakeOnDrop(Option<Waker>, Counter);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        // Whatever arc keeps in thread-locals may be gone already.
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
        self.1.add();
    }
}

thread_local!(static LAST: RefCell<Vec<WakeOnDrop>> = const { RefCell::new(Vec::new()) });

/// A task that is ready at its second poll.
fn second_poll(slot: &Slot) -> impl Future<Output = ()> + Send + 'static {
    let (leave, mut polls) = (slot.clone(), 0);
    poll_fn(move |context| {
        polls += 1;
        leave.leave(context);
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    })
}

#[test]
fn a_wake_from_the_destructor_of_a_thread_local_is_not_lost() {
    with_each_size(|runtime| {
        for round in 0..100 {
            let slot = Slot::default();
            let task = runtime.spawn(second_poll(&slot));
            let waker = Some(slot.take());
            let handle = runtime.handle().clone();
            let dropped = Counter::new();
            let count = dropped.clone();
            let thread = thread::spawn(move || {
                if round % 2 == 0 {
                    // arc's own thread-locals come to life after ours.
                    LAST.with_borrow_mut(|last| last.push(WakeOnDrop(waker, count)));
                    handle.block_on(async { arc::spawn(async {}).await.unwrap() });
                } else {
                    handle.block_on(async { arc::spawn(async {}).await.unwrap() });
                    LAST.with_borrow_mut(|last| last.push(WakeOnDrop(waker, count)));
                }
            });
            thread.join().unwrap();
            runtime.block_on(task).unwrap();
            assert_eq!(dropped.get(), 1);
        }
    });
}

#[test]
fn a_worker_whose_thread_locals_wake_tasks_ends_quietly() {
    with_sizes(|workers| {
        for _ in 0..30 {
            let runtime = runtime(workers);
            let dropped = Counter::new();
            let slot = Slot::default();
            let waiting = runtime.spawn(second_poll(&slot));
            let (waker, count) = (Some(slot.take()), dropped.clone());
            // Not in `block_on`: on one of the workers' own threads.
            let planted = runtime.spawn(async move {
                LAST.with_borrow_mut(|last| last.push(WakeOnDrop(waker, count)));
            });
            wait_until("it is planted", || planted.is_finished());
            drop(runtime);
            // The runtime waits for its threads. But what one of them wakes just as the
            // last one drops the tasks is dropped a little later, by another.
            assert_eq!(dropped.get(), 1);
            wait_until("the task is dropped", || waiting.is_finished());
        }
    });
}

#[test]
fn spawning_from_the_destructor_of_a_thread_local_works_by_handle() {
    struct SpawnOnDrop(Handle, Counter);
    impl Drop for SpawnOnDrop {
        fn drop(&mut self) {
            let count = self.1.clone();
            assert!(Handle::try_current().is_err());
            drop(self.0.spawn(async move {
                count.add();
            }));
        }
    }
    thread_local!(static SPAWNER: RefCell<Option<SpawnOnDrop>> = const { RefCell::new(None) });
    with_each_size(|runtime| {
        for _ in 0..50 {
            let count = Counter::new();
            let (handle, counter) = (runtime.handle().clone(), count.clone());
            let thread = thread::spawn(move || {
                SPAWNER.set(Some(SpawnOnDrop(handle.clone(), counter)));
                handle.block_on(async {});
            });
            thread.join().unwrap();
            count.wait_for(1);
        }
    });
}

// A task woken by everything at once.

#[test]
fn a_task_that_waits_for_a_timer_a_socket_and_a_channel_hears_of_each() {
    with_each_size(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (sender, receiver) = async_channel::unbounded::<u32>();
            let peer = arc::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                for round in 0..200 {
                    match round % 2 {
                        0 => stream.write_all(b"x").await.unwrap(),
                        _ => sender.send(round).await.unwrap(),
                    }
                    arc::task::yield_now().await;
                }
            });
            let mut stream = arc::net::TcpStream::connect(address).await.unwrap();
            let (mut bytes, mut messages, mut ticks) = (0, 0, 0);
            let mut tick = Box::pin(sleep(Duration::from_micros(100)));
            let mut buffer = [0];
            let mut receive = Box::pin(receiver.recv());
            poll_fn(|context| {
                let mut read = stream.read(&mut buffer);
                while let Poll::Ready(Ok(1)) = Pin::new(&mut read).poll(context) {
                    bytes += 1;
                    read = stream.read(&mut buffer);
                }
                while let Poll::Ready(Ok(_)) = receive.as_mut().poll(context) {
                    messages += 1;
                    receive = Box::pin(receiver.recv());
                }
                while tick.as_mut().poll(context).is_ready() {
                    ticks += 1;
                    tick.as_mut().reset(Instant::now() + Duration::from_micros(100));
                }
                if bytes == 100 && messages == 100 && ticks > 0 {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
            peer.await.unwrap();
        });
    });
}
