//! The end of a runtime, while other threads are in the middle of something: of waking a task, of
//! ending the runtime as well, of a poll, or of dropping their thread-locals.

use crate::common::*;
use arc::runtime::Handle;
use arc::time::sleep;
use std::future::{pending, poll_fn};
use std::mem::take;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

/// A future's drop finds its runtime also if the task is woken too late for the queues.
#[test]
fn a_task_that_is_woken_at_the_end_is_dropped_in_its_runtime() {
    /// Wants a runtime when it is dropped.
    struct Spawns(Counter);

    impl Drop for Spawns {
        fn drop(&mut self) {
            let id = Handle::try_current().map(|handle| handle.id());
            assert!(id.is_some() && !arc::runtime::may_block(), "it is dropped as all others are");
            self.0.add();
        }
    }

    within_deadline(|| {
        for workers in SIZES {
            for _ in 0..rounds(300) {
                let (runtime, dropped) = (runtime(workers), Counter::new());
                let wakers = Arc::new(Mutex::new(Vec::new()));
                for _ in 0..4 {
                    let (spawns, wakers) = (Spawns(dropped), wakers.clone());
                    drop(runtime.spawn(async move {
                        let _spawns = spawns;
                        poll_fn(|context| {
                            wakers.lock().unwrap().push(context.waker().clone());
                            Poll::<()>::Pending
                        })
                        .await;
                    }));
                }
                wait_until("all wait", || wakers.lock().unwrap().len() >= 4);
                let waking = thread::spawn({
                    let wakers = wakers.clone();
                    move || take(&mut *wakers.lock().unwrap()).into_iter().for_each(Waker::wake)
                });
                drop(runtime);
                waking.join().unwrap();
                dropped.wait_for(4);
            }
        }
    });
}

/// A thread that is none of the runtime's has begun the end, and still drops the futures.
#[test]
fn a_runtime_that_another_thread_takes_apart_has_ended_when_its_drop_returns() {
    struct OnDrop<F: FnMut()>(F);

    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    within_deadline(|| {
        let (runtime, begun) = (current_thread(), Counter::new());
        let (returned, hears) = mpsc::channel();
        let (early, tells) = mpsc::channel();
        let dropped_slowly = OnDrop(move || {
            begun.add();
            // Nobody sends anything, if the drop of the runtime waits for this one.
            early.send(hears.recv_timeout(millis(50))).unwrap();
        });
        let task = runtime.spawn(async move {
            let _dropped_slowly = dropped_slowly;
            pending::<()>().await;
        });

        let handle = runtime.handle().clone();
        let ends = thread::spawn(move || handle.shutdown_background());
        begun.wait_for(1);
        drop(runtime);
        assert!(task.is_finished());
        let _ = returned.send(());
        assert!(tells.recv().unwrap().is_err(), "it was still dropped after that");
        ends.join().unwrap();
    });
}

/// The thread in the loop is in the poll of its own future, and the runtime ends: nobody but the
/// monitor is left to look at the clock and the kernel.
#[test]
fn what_another_block_on_waits_for_comes_while_the_end_waits_for_a_poll() {
    within_deadline(|| {
        let runtime = current_thread();
        let (in_poll, ending) = (Counter::new(), Counter::new());
        let (over, waits) = mpsc::channel();
        let handle = runtime.handle().clone();
        let long_poll = thread::spawn(move || {
            handle.block_on(async move {
                in_poll.add();
                waits.recv().unwrap();
            });
        });
        in_poll.wait_for(1);
        let handle = runtime.handle().clone();
        let other = thread::spawn(move || {
            handle.block_on(async move {
                ending.wait_for(1);
                sleep(millis(30)).await;
                over.send(()).unwrap();
            });
        });
        runtime.handle().shutdown_background();
        ending.add();
        drop(runtime);
        for thread in [long_poll, other] {
            thread.join().unwrap();
        }
    });
}

/// Its destructor runs after the thread has signed off, and std panics if a thread joins itself.
#[cfg(unix)]
#[test]
fn a_worker_whose_thread_local_has_the_runtime_does_not_join_itself() {
    use arc::runtime::Runtime;
    use std::cell::RefCell;

    std::thread_local! {
        static HELD: RefCell<Option<(Runtime, Dropped)>> = const { RefCell::new(None) };
    }
    let name = "ending::a_worker_whose_thread_local_has_the_runtime_does_not_join_itself";
    in_child(name, ":", || {
        let (told, panics) = (Counter::new(), Counter::new());
        std::panic::set_hook(Box::new(move |_| _ = panics.add()));
        let runtime = runtime(1);
        let handle = runtime.handle().clone();
        let holds = handle.spawn(async move { HELD.set(Some((runtime, told.on_drop()))) });
        handle.block_on(holds).unwrap();
        handle.shutdown_background();

        // The runtime is dropped before what is beside it.
        told.wait_for(1);
        assert_eq!(panics.get(), 0);
    });
}
