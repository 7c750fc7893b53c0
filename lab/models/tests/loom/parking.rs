//! Falling asleep and being woken: workers that park or wait for the kernel, and the monitor.

use crate::scheduler::context::{self, Role};
use crate::scheduler::monitor;
use crate::scheduler::queue;
use crate::scheduler::shared::Shared;
use crate::scheduler::sleep::Doorbell;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering, fence, thread};
use crate::world::{self, Crew, Gate, block_on, frugal, make_polls_short, shared, task};
use crate::{model, model_within};
use std::future::poll_fn;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// The sleep protocol: `Worker::sleep` against `Shared::inject`, while polls are short and nobody
/// is called for another reason. A thread from outside injects tasks, and each of them is polled.
/// Of two workers the first that falls asleep has the seat, and the other one parks.
#[test]
fn injected_task_is_polled() {
    for (workers, tasks, preemptions) in [(1, 2, 4), (2, 1, 2)] {
        model_within(preemptions, move || {
            let shared = shared(workers);
            make_polls_short(&shared);
            let crew = Crew::start(&shared);
            let polled = Gate::default();
            for _ in 0..tasks {
                let opens = polled.clone();
                let _ = shared.inject(task(&shared, move || opens.open()));
            }
            polled.wait(tasks);
            crew.stop();
        });
    }
}

/// The same beside a worker whose thread has left it: that one neither sleeps nor comes by.
#[test]
fn injected_task_is_polled_beside_a_worker_that_nobody_runs() {
    model_within(3, || {
        let shared = frugal(2);
        shared.sleepers.begin(0);
        shared.sleepers.end(0);
        let crew = Crew::start_from(&shared, 1);
        let polled = Gate::default();
        let opens = polled.clone();
        let _ = shared.inject(task(&shared, move || opens.open()));
        polled.wait(1);
        crew.stop();
    });
}

/// The same with a worker that asks for nothing else before it sleeps. (What others ask for is a
/// `SeqCst` load, which has a fence before it.)
#[test]
fn injected_task_is_polled_by_a_worker_that_never_stops() {
    model_within(4, || {
        let shared = shared(1);
        make_polls_short(&shared);
        let polled = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let crew = {
            let (shared, polled) = (shared.clone(), polled.clone());
            thread::spawn(move || {
                let worker = Worker::new(shared, 0);
                while !polled.load(Ordering::Relaxed) {
                    worker.run_one(&|| false);
                }
            })
        };
        let _ = shared.inject(task(&shared, move || polled.store(true, Ordering::Relaxed)));
        crew.join().unwrap();
    });
}

/// Calls for helpers: a worker is stuck in a poll, and polls are long. Each task that is injected
/// is polled by the other worker, which is called, or is on its way, or about to sleep.
#[test]
fn task_that_is_injected_beside_a_long_poll_is_polled() {
    for is_known_to_be_stuck in [false, true] {
        model_within(3, move || {
            let shared = shared(2);
            if is_known_to_be_stuck {
                make_polls_short(&shared);
                shared.any_stuck.store(true, Ordering::Relaxed);
            }
            let crew = Crew::start_all_but(&shared, 1);
            let polled = Gate::default();
            for times in 1..=2 {
                let opens = polled.clone();
                let _ = shared.inject(task(&shared, move || opens.open()));
                polled.wait(times);
            }
            crew.stop();
        });
    }
}

/// A runtime of two workers, of which nobody runs any, and which has something to wait for.
fn shared_with_a_source() -> (Arc<Shared>, usize) {
    let shared = shared(2);
    make_polls_short(&shared);
    let source = shared.driver.register(std::io::stderr().as_fd()).unwrap();
    (shared, source.key)
}

/// A busy worker looks at the kernel while another one falls asleep: never both at once.
#[test]
fn look_of_a_busy_worker_does_not_meet_the_wait_of_another_one() {
    model_within(3, || {
        let (shared, _) = shared_with_a_source();
        let worker = Rc::new(Worker::new(shared.clone(), 0));
        let _context = context::enter(Role::Polling, shared.clone(), Some(worker.clone()));

        // A stretch is over after one poll, as the models' builder says.
        shared.workers[0].queue.push(task(&shared, || ()));
        worker.run_one(&|| true);
        let crew = Crew::start_all_but(&shared, 1);
        worker.run_one(&|| true);
        crew.stop();
    });
}

/// The monitor looks at the kernel, as no worker seems to move, while the last worker falls asleep.
/// The event that comes after both is seen.
#[test]
fn look_of_the_monitor_leaves_the_kernel_watched() {
    model_within(3, || {
        let shared = shared(1);
        make_polls_short(&shared);
        let socket = world::Socket::new(&shared);
        let crew = Crew::start(&shared);
        let looks = {
            let shared = shared.clone();
            thread::spawn(move || monitor::watch_kernel(&shared))
        };
        let woken = Gate::default();
        socket.leave_waker(woken.waker());
        looks.join().unwrap();
        socket.event(false);
        woken.wait(1);
        crew.stop();
    });
}

/// The same when what the monitor's look has collected is a waker that blocks the monitor until the
/// event comes.
#[test]
fn waker_that_blocks_the_monitor_leaves_the_kernel_watched() {
    struct Blocks {
        monitor: thread::ThreadId,
        begun: Gate,
        woken: Gate,
    }

    impl Wake for Blocks {
        fn wake(self: Arc<Self>) {
            self.begun.open();
            if thread::current().id() == self.monitor {
                self.woken.wait(1);
            }
        }
    }

    model_within(2, || {
        let shared = shared(1);
        make_polls_short(&shared);
        let [first, second] = [(); 2].map(|()| world::Socket::new(&shared));
        let crew = Crew::start(&shared);
        let looks = {
            let shared = shared.clone();
            thread::spawn(move || monitor::watch_kernel(&shared))
        };
        let (begun, woken) = (Gate::default(), Gate::default());
        let monitor = looks.thread().id();
        let blocks = Blocks { monitor, begun: begun.clone(), woken: woken.clone() };
        first.leave_waker(Waker::from(Arc::new(blocks)));
        first.event(false);
        begun.wait(1);
        second.leave_waker(woken.waker());
        second.event(false);
        woken.wait(1);
        looks.join().unwrap();
        crew.stop();
    });
}

/// The monitor falls asleep while a thread begins to poll. It does not sleep on while that thread
/// polls.
#[test]
fn monitor_does_not_sleep_while_a_future_is_polled() {
    model_within(4, || {
        let shared = shared(1);
        let _watched = world::watch(&shared);
        let is_awake = Gate::default();
        let monitor = {
            let (shared, is_awake) = (shared.clone(), is_awake.clone());
            thread::spawn(move || {
                shared.monitor.thread.get_or_init(thread::current);
                monitor::sleep(&shared);
                is_awake.open();
            })
        };
        // It goes on as soon as the monitor does not sleep.
        let until_it_is_awake = poll_fn(|_| {
            is_awake.wait(1);
            Poll::Ready(())
        });
        block_on(&shared, until_it_is_awake);
        monitor.join().unwrap();
    });
}

/// The same with a worker, which is woken and polls a task.
#[test]
fn monitor_does_not_sleep_while_a_task_is_polled() {
    model_within(2, || {
        let shared = shared(1);
        make_polls_short(&shared);
        let crew = Crew::start(&shared);
        let is_awake = Gate::default();
        let monitor = {
            let (shared, is_awake) = (shared.clone(), is_awake.clone());
            thread::spawn(move || {
                shared.monitor.thread.get_or_init(thread::current);
                monitor::sleep(&shared);
                is_awake.open();
            })
        };
        let polled = Gate::default();
        let ends = polled.clone();
        let _ = shared.inject(task(&shared, move || {
            is_awake.wait(1);
            ends.open();
        }));
        polled.wait(1);
        crew.stop();
        monitor.join().unwrap();
    });
}

/// What `Doorbell::ring` promises, whatever its thread did before. In the other models a stronger
/// step comes before it, which would hide that its fence is gone.
#[test]
fn doorbell_is_heard_or_the_poll_is_seen() {
    model(|| {
        let shared = Arc::new((Doorbell::default(), AtomicBool::new(false)));
        let ringer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (doorbell, polls) = &*shared;
                polls.store(true, Ordering::Relaxed);
                doorbell.ring();
            })
        };

        // As the monitor falls asleep.
        let (doorbell, polls) = &*shared;
        doorbell.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let sees = polls.load(Ordering::Relaxed);
        ringer.join().unwrap();
        assert!(sees || !doorbell.asleep.load(Ordering::Relaxed));
    });
}
