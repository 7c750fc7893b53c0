//! Wakers: none is lost, none wakes twice for nothing, and whatever foreign ones
//! do (panic, re-enter, drop things), the others are woken.

#![allow(clippy::waker_clone_wake, reason = "clones of wakers are what is tested")]

use crate::common::*;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt, Direction};
use arc::runtime::Handle;
use arc::time::{Instant, sleep, sleep_until};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

const WAKES: usize = 1_000_000;

/// The waker fires while the poll is still going on, surely.
#[test]
fn a_wake_in_the_midst_of_the_poll_causes_another_poll() {
    with_each_size(|runtime| {
        let (slot, asked, woken) = (Slot::default(), Counter::new(), Counter::new());
        let leave = slot.clone();
        let start = Instant::now();
        let task = runtime.spawn(poll_fn(move |context| {
            let round = asked.get() + 1;
            if round == 1 {
                leave.leave(context);
            }
            if round > WAKES || (round > 100 && start.elapsed() > *RACE) {
                asked.set(usize::MAX);
                return Poll::Ready(());
            }
            asked.set(round);
            spin_until("the wake", || woken.get() == round);
            Poll::Pending
        }));
        let waker = slot.take();
        for round in 1.. {
            spin_until("the next poll", || asked.get() >= round);
            if asked.get() == usize::MAX {
                break;
            }
            waker.wake_by_ref();
            woken.set(round);
        }
        runtime.block_on(task).unwrap();
    });
}

/// The waker fires some time before or after the poll ends.
#[test]
fn a_wake_just_as_the_poll_ends_causes_another_poll() {
    with_each_size(|runtime| {
        let (slot, polled, stop) = (Slot::default(), Counter::new(), Gate::new());
        let leave = slot.clone();
        let task = runtime.spawn(poll_fn(move |context| {
            if polled.get() == 0 {
                leave.leave(context);
            }
            if stop.is_open() {
                return Poll::Ready(());
            }
            spin(polled.add() % 32);
            Poll::Pending
        }));
        let waker = slot.take();
        let start = Instant::now();
        let mut seen = 0;
        while start.elapsed() < *RACE {
            for _ in 0..100 {
                spin_until("another poll", || polled.get() > seen);
                seen = polled.get();
                spin(seen % 61);
                waker.wake_by_ref();
            }
        }
        spin_until("the last poll", || polled.get() > seen);
        stop.open();
        waker.wake();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn many_threads_that_wake_at_once_cause_a_poll_after_the_last_wake() {
    with_each_size(|runtime| {
        let (slot, value, seen) = (Slot::default(), Counter::new(), Counter::new());
        let leave = slot.clone();
        drop(runtime.spawn(poll_fn(move |context| {
            leave.leave(context);
            seen.set(value.get());
            Poll::<()>::Pending
        })));
        let waker = slot.take();
        for _ in 0..rounds(300) {
            on_threads(3, |_| {
                value.add();
                waker.clone().wake();
            });
            wait_until("the poll", || seen.get() == value.get());
        }
    });
}

#[test]
fn a_task_that_is_queued_is_polled_once_however_often_it_is_woken() {
    on_each([1], |runtime| {
        let (slot, polls) = (Slot::default(), Counter::new());
        drop(runtime.spawn(polls.polls_of(slot.never())));
        let waker = slot.waker();
        let (blocked, pause) = block_worker(&runtime);
        for _ in 0..1000 {
            waker.wake_by_ref();
            let another = waker.clone();
            another.wake_by_ref();
        }
        pause.pass();
        runtime.block_on(blocked).unwrap();
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
        let (finished, waiting, main) = (Slot::default(), Slot::default(), Slot::default());
        runtime.block_on(runtime.spawn(finished.ready_at(1))).unwrap();
        let task = runtime.spawn(waiting.never());
        runtime.block_on(main.ready_at(1));
        let wakers = [finished, waiting, main].map(|slot| slot.take());
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
        let deadline = Instant::now() + millis(50);
        let _guard = runtime.enter();
        let (mut timers, mut counts) = (Vec::new(), Vec::new());
        for breaks in [true, false].repeat(10) {
            let mut timer = Box::pin(sleep_until(deadline));
            let (waker, count) = counting_waker();
            let waker = if breaks { panicking_waker() } else { waker };
            // On a slow machine it may be over.
            if poll_with(timer.as_mut(), &waker).is_pending() {
                timers.push(timer);
                counts.extend((!breaks).then_some(count));
            }
        }
        let task = runtime.spawn(sleep_until(deadline));
        counts.iter().for_each(|count| count.wait_for(1));
        runtime.block_on(task).unwrap();
        // The workers live.
        runtime.block_on(runtime.spawn(sleep(millis(1)))).unwrap();
    });
}

/// Waits for a read to be worth trying.
fn waits_to_read(socket: &Async<Socket>, waker: &Waker) -> bool {
    let context = Context::from_waker(waker);
    let read = |mut socket: &Socket| socket.read(&mut [0]);
    socket.poll_transfer(Direction::Read, &context, 0, read).is_pending()
}

/// Connected sockets. Nothing can be read from the second one, and it is known.
fn drained() -> (Socket, Arc<Async<Socket>>) {
    let (outside, inside) = sockets();
    let inside = Async::new(inside).unwrap();
    assert!(poll_once(&mut (&inside).read(&mut [0]), Waker::noop()).is_pending());
    (outside, Arc::new(inside))
}

#[test]
fn a_socket_one_of_whose_wakers_panics_wakes_its_other_readers() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        let (mut outside, inside) = drained();
        let (waker, wakes) = counting_waker();
        for waker in [panicking_waker(), waker, panicking_waker()] {
            assert!(waits_to_read(&inside, &waker));
        }
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
        let (mut outside, inside) = drained();
        let mut counts = Vec::new();
        for index in 0..200 {
            let (mut waker, count) = counting_waker();
            if index % 3 == 0 {
                waker = panicking_waker();
            } else {
                counts.push(count);
            }
            // Whoever registers must not be hit by the panic of another's waker.
            assert!(waits_to_read(&inside, &waker));
        }
        outside.write_all(b"x").unwrap();
        counts.iter().for_each(|count| count.wait_for(1));
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
    let wake = hook();
    let hooks = Hooks {
        wake: Box::new(move || {
            wake();
            wakes.add();
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
            let (mut outside, inside) = drained();
            let again = inside.clone();
            let (waker, wakes) = reentrant(move || {
                let context = Context::from_waker(Waker::noop());
                let _ = waits_to_read(&again, Waker::noop());
                let _ = again.poll_transfer(Direction::Write, &context, 0, |_| Ok(0));
                let _ = again.try_with(Direction::Read, |_| Ok(()));
            });
            // Another waker between, and the same once more.
            for waker in [&waker, Waker::noop(), &waker] {
                assert!(waits_to_read(&inside, waker));
            }
            outside.write_all(b"x").unwrap();
            wakes.wait_for(1);
        }
    });
}

/// The table of the runtimes is not locked when a timer's waker is dropped, because its runtime has
/// ended.
#[test]
fn a_waker_may_build_and_end_a_runtime_when_it_is_dropped() {
    with_each_size(|runtime| {
        let builds = Hooks { drop: Box::new(|| drop(current_thread())), ..Hooks::default() };
        let waker = waker_with(builds);
        let _guard = runtime.enter();
        let mut timer = Box::pin(sleep(DEADLINE));
        assert!(poll_with(timer.as_mut(), &waker).is_pending());
        let handle = runtime.handle().clone();
        drop(runtime);

        let _guard = handle.enter();
        timer.as_mut().reset(Instant::now() + DEADLINE);
        let mut new = Box::pin(sleep(DEADLINE));
        for timer in [timer.as_mut(), new.as_mut()] {
            let polled = catch_unwind(AssertUnwindSafe(|| poll_with(timer, &waker)));
            assert!(polled.is_err(), "its runtime has ended");
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
            for waker in [&waker, Waker::noop(), &waker] {
                assert!(poll_with(timer.as_mut(), waker).is_pending());
            }
            timer.as_mut().reset(Instant::now() + millis(1));
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
            let deadline = Instant::now() + millis(2);
            // In the same batch as the waker: dropped just as it fires.
            let mut sibling = Box::pin(sleep_until(deadline));
            // Armed, unless this thread was held up for so long.
            let _ = poll_with(sibling.as_mut(), Waker::noop());
            let (outside, inside) = drained();
            let task = runtime.spawn(pending::<()>());
            let prey = Mutex::new(Some((sibling, inside, task, outside)));
            let handle = handle.clone();
            let spawned = Counter::new();
            let (waker, wakes) = reentrant(move || {
                let prey = prey.lock().unwrap().take();
                if let Some((_sibling, _inside, task, _outside)) = prey {
                    task.abort();
                    drop(handle.spawn(async move {
                        spawned.add();
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
        wait_for_no_tasks(&runtime);
    });
}

/// The task's future owns the only handle of another task, which owns a waker of
/// the first: dropping one inside the wake of the other must not deadlock.
#[test]
fn a_future_may_be_dropped_by_its_own_wake() {
    with_each_size(|runtime| {
        for _ in 0..200 {
            let (drops, slot) = (Counter::new(), Slot::default());
            // The future holds its own waker, in a slot that it owns.
            let held = (drops.on_drop(), slot.clone());
            let leaves = slot.never();
            let task = runtime.spawn(async move {
                let _held = held;
                leaves.await;
            });
            slot.waker();
            task.abort();
            drop(task);
            slot.take().wake();
            drops.wait_for(1);
        }
        wait_for_no_tasks(&runtime);
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

fn plant(waker: Waker, dropped: Counter) {
    LAST.with_borrow_mut(|last| last.push(WakeOnDrop(Some(waker), dropped)));
}

#[test]
fn a_wake_from_the_destructor_of_a_thread_local_is_not_lost() {
    with_each_size(|runtime| {
        for round in 0..100 {
            let (slot, dropped) = (Slot::default(), Counter::new());
            let task = runtime.spawn(slot.ready_at(2));
            let waker = slot.take();
            let handle = runtime.handle().clone();
            let thread = thread::spawn(move || {
                let use_arc = || handle.block_on(async { arc::spawn(async {}).await.unwrap() });
                if round % 2 == 0 {
                    // arc's own thread-locals come to life after ours.
                    plant(waker, dropped);
                    use_arc();
                } else {
                    use_arc();
                    plant(waker, dropped);
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
            let (slot, dropped) = (Slot::default(), Counter::new());
            let waiting = runtime.spawn(slot.ready_at(2));
            let waker = slot.take();
            // Not in `block_on`: on one of the workers' own threads.
            let planted = runtime.spawn(async move { plant(waker, dropped) });
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
            let count = self.1;
            assert!(Handle::try_current().is_none());
            drop(self.0.spawn(async move {
                count.add();
            }));
        }
    }
    thread_local!(static SPAWNER: RefCell<Option<SpawnOnDrop>> = const { RefCell::new(None) });
    with_each_size(|runtime| {
        for _ in 0..50 {
            let count = Counter::new();
            let handle = runtime.handle().clone();
            let thread = thread::spawn(move || {
                SPAWNER.set(Some(SpawnOnDrop(handle.clone(), count)));
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
            let (mut stream, mut peer) = pair().await;
            let (sender, receiver) = async_channel::unbounded::<u32>();
            let peer = arc::spawn(async move {
                for round in 0..200 {
                    match round % 2 {
                        0 => peer.write_all(b"x").await.unwrap(),
                        _ => sender.send(round).await.unwrap(),
                    }
                    arc::task::yield_now().await;
                }
            });
            let (mut bytes, mut messages, mut ticks) = (0, 0, 0);
            let mut tick = Box::pin(sleep(micros(100)));
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
                    tick.as_mut().reset(Instant::now() + micros(100));
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
