//! What a worker does in its turns, one after the other: whom it helps, and what it looks at. No
//! other thread runs here, so there is one order of steps. Each model of a turn is here because a
//! change that it catches passed all others.

use crate::model;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::sync::Ordering;
use crate::world::{Gate, Socket, block_on, current_thread, frugal, task};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// So many turns that chance leaves nothing out.
const TURNS: usize = 100;

/// The first worker of two, each of which has so many tasks. Nobody runs the other one. The first
/// one gets a new task in each turn, so it always has something to do. Returns whether it polls one
/// of the other's tasks.
fn helps(mine: usize, theirs: usize, is_stuck: bool) -> bool {
    let shared = frugal(2);
    shared.sleepers.begin(1);
    shared.workers[1].is_stuck.store(is_stuck, Ordering::Relaxed);
    let polled = Gate::default();
    for _ in 0..theirs {
        let opens = polled.clone();
        shared.workers[1].queue.push(task(&shared, move || opens.open()));
    }
    for _ in 0..mine {
        shared.workers[0].queue.push(task(&shared, || ()));
    }

    take_turns(&shared, |worker| {
        for _ in 0..TURNS {
            shared.workers[0].queue.push(task(&shared, || ()));
            assert!(worker.run_one(&|| true));
        }
    });
    for worker in &shared.workers {
        std::iter::from_fn(|| worker.queue.pop()).for_each(drop);
    }
    polled.count() > 0
}

/// This thread runs the first worker.
fn take_turns(shared: &Arc<Shared>, act: impl FnOnce(&Worker)) {
    let worker = Rc::new(Worker::new(shared.clone(), 0));
    let _context = context::enter(Role::Polling, shared.clone(), Some(worker.clone()));
    act(&worker);
}

/// Rule 4 of the policy: a worker that never runs out of work takes from one that has far more, or
/// that is stuck, and from no other.
#[test]
fn worker_that_is_always_busy_helps_one_that_has_far_more() {
    model(|| assert!(helps(1, 10, false), "it has far more"));
    model(|| assert!(helps(10, 1, true), "it is stuck"));
    model(|| assert!(!helps(10, 10, false), "it has as many"));
}

/// The monitor may take a worker for stuck that has just moved. It does not take from itself, which
/// would put its first task behind the others.
#[test]
fn worker_polls_its_own_tasks_in_their_order() {
    model(|| {
        let shared = frugal(1);
        shared.workers[0].is_stuck.store(true, Ordering::Relaxed);
        let polled = Arc::new(std::sync::Mutex::new(Vec::new()));
        for number in 0..50 {
            let polled = polled.clone();
            let tells = move || polled.lock().unwrap().push(number);
            shared.workers[0].queue.push(task(&shared, tells));
        }
        take_turns(&shared, |worker| while worker.run_one(&|| true) {});
        assert_eq!(*polled.lock().unwrap(), Vec::from_iter(0..50));
    });
}

/// The future of `block_on` wakes itself in each poll, so the worker beside it never sleeps. It
/// looks at the clock and the kernel all the same, with a timer alone and with a socket alone.
#[test]
fn future_that_wakes_itself_hides_neither_a_timer_nor_a_socket() {
    for has_timer in [false, true] {
        model(move || {
            let shared = current_thread();
            let woken = Gate::default();
            let socket = (!has_timer).then(|| Socket::new(&shared));
            match &socket {
                Some(socket) => {
                    socket.leave_waker(woken.waker());
                    socket.event(false);
                }
                None => {
                    let timers = &shared.driver.timers;
                    assert!(timers.arm(None, timers.epoch, woken.waker()).is_some());
                }
            }

            let mut polls = 0;
            let wakes_itself = poll_fn(|context| {
                polls += 1;
                assert!(polls < 10, "the worker does not look");
                if woken.count() > 0 {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            });
            block_on(&shared, wakes_itself);
        });
    }
}
