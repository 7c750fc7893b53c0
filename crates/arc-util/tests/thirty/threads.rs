//! Programs in which a thread of std's takes part, of which arc hears nothing: most are healthy.

use crate::{Line, healthy, planted};
use arc::time::{Duration, sleep};
use arc_util::runtime::Handle;
use arc_util::select;
use arc_util::sync::{
    Barrier, CancellationToken, Mutex, Notify, RwLock, Semaphore, mpsc, oneshot, watch,
};
use std::sync::Arc;
use std::thread;

/// So long nothing else goes on. A dump needs 50 ms of that to be sure, and a lock that a thread
/// has for 200 ms is told of with reason.
const LONG: Duration = Duration::from_millis(80);

macro_rules! programs {
    ($($name:ident $program:block)*) => {$(
        #[test]
        fn $name() {
            healthy(stringify!($name), || Box::pin(async $program));
        }
    )*};
}

programs! {
    lock_that_a_thread_takes {
        let lock = Arc::new(Mutex::new(0));
        let (shared, (taken, is_taken)) = (lock.clone(), oneshot::channel());
        let thread = thread::spawn(move || {
            let mut guard = shared.blocking_lock();
            taken.send(()).unwrap();
            thread::sleep(LONG);
            *guard += 1;
        });
        is_taken.await.unwrap();
        assert_eq!(*lock.lock().await, 1);
        thread.join().unwrap();
    }

    guard_that_goes_to_a_thread {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.clone().lock_owned().await;
        let thread = thread::spawn(move || {
            thread::sleep(LONG);
            drop(guard);
        });
        drop(lock.lock().await);
        thread.join().unwrap();
    }

    permit_that_goes_to_a_thread {
        let limit = Arc::new(Semaphore::new(1));
        let permit = limit.clone().acquire_owned().await.unwrap();
        let thread = thread::spawn(move || {
            thread::sleep(LONG);
            drop(permit);
        });
        drop(limit.acquire().await.unwrap());
        thread.join().unwrap();
    }

    reader_in_a_thread {
        let table = Arc::new(RwLock::new(7));
        let (shared, (taken, is_taken)) = (table.clone(), oneshot::channel());
        let thread = thread::spawn(move || {
            let guard = shared.blocking_read();
            taken.send(()).unwrap();
            thread::sleep(LONG);
            assert_eq!(*guard, 7);
        });
        is_taken.await.unwrap();
        *table.write().await += 1;
        thread.join().unwrap();
    }

    answer_of_a_thread {
        let (answer, answered) = oneshot::channel();
        let thread = thread::spawn(move || {
            thread::sleep(LONG);
            answer.send(7).unwrap();
        });
        assert_eq!(answered.await, Ok(7));
        thread.join().unwrap();
    }

    values_of_a_thread {
        let (sender, mut receiver) = mpsc::channel(1);
        let thread = thread::spawn(move || {
            for number in 0..3 {
                thread::sleep(LONG);
                sender.blocking_send(number).unwrap();
            }
        });
        let mut sum = 0;
        while let Some(number) = receiver.recv().await {
            sum += number;
        }
        assert_eq!(sum, 3);
        thread.join().unwrap();
    }

    requests_to_a_thread {
        let (requests, mut requested) = mpsc::channel::<oneshot::Sender<u32>>(1);
        let thread = thread::spawn(move || {
            while let Some(answer) = requested.blocking_recv() {
                thread::sleep(LONG);
                answer.send(1).unwrap();
            }
        });
        for _ in 0..3 {
            let (answer, answered) = oneshot::channel();
            requests.send(answer).await.unwrap();
            answered.await.unwrap();
        }
        drop(requests);
        thread.join().unwrap();
    }

    notification_of_a_thread {
        let ready = Arc::new(Notify::new());
        let tells = ready.clone();
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                thread::sleep(LONG);
                tells.notify_one();
            }
        });
        ready.notified().await;
        ready.notified().await;
        thread.join().unwrap();
    }

    token_that_a_thread_cancels {
        let token = CancellationToken::new();
        let cancels = token.clone();
        let thread = thread::spawn(move || {
            thread::sleep(LONG);
            cancels.cancel();
        });
        let waits = arc::spawn(async move { token.cancelled().await });
        waits.await.unwrap();
        thread.join().unwrap();
    }

    configuration_of_a_thread {
        let (config, mut changes) = watch::channel(0);
        let thread = thread::spawn(move || {
            for number in 1..3 {
                thread::sleep(LONG);
                config.send(number).unwrap();
            }
        });
        while changes.changed().await.is_ok() {}
        thread.join().unwrap();
    }

    thread_that_blocks_on_now_and_then {
        let barrier = Arc::new(Barrier::new(2));
        let (comes, handle) = (barrier.clone(), Handle::current());
        let thread = thread::spawn(move || {
            for _ in 0..3 {
                thread::sleep(LONG);
                handle.block_on(comes.wait());
            }
        });
        for _ in 0..3 {
            barrier.wait().await;
        }
        thread.join().unwrap();
    }

    // It waits for a lock, while a task has asked for the same and given up.
    thread_that_waits_for_a_lock {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.lock().await;
        let mut asks = Box::pin(lock.lock());
        let shared = lock.clone();
        let thread = thread::spawn(move || {
            let _guard = shared.blocking_lock();
            thread::sleep(LONG);
        });
        select! {
            _ = &mut asks => {}
            () = sleep(LONG / 5) => drop(guard),
        }
        drop(asks.await);
        thread.join().unwrap();
    }

    guards_beside_other_tasks {
        let beats = arc::spawn(async {
            loop {
                sleep(LONG / 10).await;
            }
        });
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.clone().lock_owned().await;
        let thread = thread::spawn(move || {
            thread::sleep(LONG);
            drop(guard);
        });
        drop(lock.lock().await);
        thread.join().unwrap();
        beats.abort();
    }
}

/// A thread that waits for another one will not wake anybody.
#[test]
fn thread_that_waits_for_ever() {
    const NOBODY: &str = "nobody is left who could wake it";
    planted("thread_that_waits_for_ever", Line(NOBODY, NOBODY), || async {
        let (_end, ends) = std::sync::mpsc::channel::<()>();
        thread::spawn(move || ends.recv());
        let (_answer, answered) = oneshot::channel::<()>();
        answered.await.unwrap();
    });
}

/// The timeline does not say that nobody receives.
#[test]
fn thread_that_is_a_slow_receiver() {
    let line = Line("", "full: .. ; a thread receives");
    planted("thread_that_is_a_slow_receiver", line, || async {
        let (sender, mut receiver) = mpsc::channel(1);
        thread::spawn(move || {
            while receiver.blocking_recv().is_some() {
                thread::sleep(LONG / 10);
            }
        });
        while sender.send(()).await.is_ok() {}
    });
}
