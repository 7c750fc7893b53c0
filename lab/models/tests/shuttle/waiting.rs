//! Sockets and timers, and the workers that wait for them.

use crate::common::{
    Signal, eager_runtime, frugal_runtime, model, model_with_monitor, read_a_byte, runtime, wait,
    write_a_byte,
};
use crate::io::{Async, AsyncReadExt};
use crate::sync::{Arc, Duration, Instant};
use crate::{model_kernel as kernel, time};
use shuttle::thread::spawn;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

const HOUR: Duration = Duration::from_secs(3600);
/// How late a timer may be: deadlines that are this near to each other share a wake-up.
const SLACK: Duration = Duration::from_nanos((1 << 17) - 1);

/// A socket that a test can write to while the model runs.
fn pair() -> (UnixStream, UnixStream) {
    UnixStream::pair().unwrap()
}

/// A byte comes while the task that reads it tries, leaves its waker, or waits.
#[test]
fn byte_wakes_the_task_that_reads_it() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let (mut far, near) = pair();
            let registered = Signal::default();
            let task = runtime.spawn(read_a_byte(near, registered.clone()));
            let other = runtime.spawn(async { 2 });
            wait(registered.sent(1));
            far.write_all(&[7]).unwrap();
            kernel::event(0, [true, false], false);
            assert_eq!(wait(task).unwrap(), 7);
            assert_eq!(wait(other).unwrap(), 2);
        });
    }
}

/// The same for the future of `block_on`, while a worker sits.
#[test]
fn byte_wakes_the_main_future() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let (far, near) = pair();
            let registered = Signal::default();
            let writer = write_a_byte(far, registered.clone());
            let byte = runtime.block_on(read_a_byte(near, registered));
            assert_eq!(byte, 7);
            writer.join().unwrap();
        });
    }
}

/// The same, while a worker is stuck in a poll until the main future has its byte. Perhaps nobody
/// has the seat. Then the monitor calls the other worker, or looks at the kernel itself.
#[test]
fn byte_wakes_the_main_future_beside_a_worker_that_is_stuck() {
    for workers in [1, 2] {
        model_with_monitor(move || {
            let runtime = runtime(workers);
            let (far, near) = pair();
            let [registered, read, blocks] = [(); 3].map(|()| Signal::default());
            let (is_in_poll, is_read) = (blocks.clone(), read.clone());
            let stuck = runtime.spawn(async move {
                is_in_poll.send();
                wait(is_read.sent(1));
            });
            wait(blocks.sent(1));
            let writer = write_a_byte(far, registered.clone());
            assert_eq!(runtime.block_on(read_a_byte(near, registered)), 7);
            read.send();
            wait(stuck).unwrap();
            writer.join().unwrap();
        });
    }
}

/// An event is on its way while its socket is closed, and another socket gets the entry.
#[test]
fn event_of_a_closed_socket_hits_nobody() {
    model(|| {
        let runtime = runtime(2);
        let ((_far, near), (mut other_far, other_near)) = (pair(), pair());
        let (registered, again) = (Signal::default(), Signal::default());
        let (tells, tells_again) = (registered.clone(), again.clone());
        let task = runtime.spawn(async move {
            let near = Async::new(near).unwrap();
            tells.send();
            drop(near);
            let mut near = Async::new(other_near).unwrap();
            tells_again.send();
            let mut byte = [0];
            near.read_exact(&mut byte).await.unwrap();
            byte[0]
        });
        wait(registered.sent(1));
        kernel::event(0, [true, true], true);
        wait(again.sent(1));
        other_far.write_all(&[7]).unwrap();
        kernel::event(1, [true, false], false);
        assert_eq!(wait(task).unwrap(), 7);
    });
}

/// A socket that is read fails when the runtime ends.
#[test]
fn socket_fails_when_its_runtime_ends() {
    model(|| {
        let runtime = runtime(1);
        let (_far, near) = pair();
        let socket = Arc::new(Mutex::new(None));
        let kept = socket.clone();
        let task = runtime.spawn(async move {
            *kept.lock().unwrap() = Some(Async::new(near).unwrap());
        });
        wait(task).unwrap();
        let mut socket = socket.lock().unwrap().take().unwrap();
        let reader = spawn(move || wait(socket.read(&mut [0])).unwrap_err());
        drop(runtime);
        assert_eq!(reader.join().unwrap().kind(), std::io::ErrorKind::Other);
    });
}

/// Two tasks sleep, and the clock is moved once both timers are armed. Each task wakes when it is
/// time, whichever worker sits.
#[test]
fn timers_are_not_slept_through() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let armed = Signal::default();
            let sleepers = [2, 1].map(|hours| {
                let armed = armed.clone();
                runtime.spawn(async move {
                    let mut sleep = std::pin::pin!(time::sleep(hours * HOUR));
                    let first = std::future::poll_fn(|context| {
                        std::task::Poll::Ready(sleep.as_mut().poll(context).is_ready())
                    });
                    assert!(!first.await);
                    armed.send();
                    sleep.await;
                    Instant::now()
                })
            });
            wait(armed.sent(2));
            let [late, early] = sleepers;
            kernel::set_time(HOUR + SLACK);
            wait(early).unwrap();
            kernel::set_time(2 * HOUR + SLACK);
            wait(late).unwrap();
        });
    }
}

/// Both workers sleep while polls are long. The alarm wakes the one in the seat, for a task that
/// then blocks it until another timer has expired: before that poll it calls the other worker,
/// which takes the seat.
#[test]
fn timer_expires_beside_a_poll_that_waits_for_it() {
    model(|| {
        let runtime = eager_runtime(2);
        let [armed, blocks, is_late] = [0; 3].map(|_| Signal::default());
        let (tells, tells_too, goes_on) = (armed.clone(), armed.clone(), is_late.clone());
        let is_in_poll = blocks.clone();
        let early = runtime.spawn(async move {
            let sleep = time::sleep(HOUR);
            tells.send();
            sleep.await;
            is_in_poll.send();
            wait(goes_on.sent(1));
        });
        let late = runtime.spawn(async move {
            let sleep = time::sleep(2 * HOUR);
            tells_too.send();
            sleep.await;
            is_late.send();
        });
        wait(armed.sent(2));
        kernel::set_time(HOUR + SLACK);
        wait(blocks.sent(1));
        kernel::set_time(2 * HOUR + SLACK);
        wait(early).unwrap();
        wait(late).unwrap();
    });
}

/// A thread that does not belong to the runtime arms a timer while all workers sleep.
#[test]
fn timer_from_outside_is_watched() {
    model(|| {
        let runtime = runtime(2);
        let sleep = {
            let _guard = runtime.enter();
            let armed = Signal::default();
            let mut sleep = Box::pin(time::sleep(HOUR));
            let tells = armed.clone();
            let sleeper = {
                let handle = runtime.handle().clone();
                spawn(move || {
                    let _guard = handle.enter();
                    wait(std::future::poll_fn(|context| {
                        let polled = sleep.as_mut().poll(context);
                        tells.send();
                        polled
                    }));
                })
            };
            wait(armed.sent(1));
            sleeper
        };
        kernel::set_time(HOUR + SLACK);
        sleep.join().unwrap();
    });
}

/// A worker sleeps for hours. That is no part of what its polls take: they stay short.
#[test]
fn sleep_of_a_worker_does_not_make_polls_long() {
    model(|| {
        let runtime = frugal_runtime(1);
        let shared = &runtime.handle().shared;
        let until_it_sleeps = || {
            while !shared.sleepers.is_asleep(0) {
                shuttle::thread::yield_now();
            }
        };
        for hours in 1..=2 {
            until_it_sleeps();
            kernel::set_time(hours * HOUR);
            wait(runtime.spawn(async {})).unwrap();
        }
        until_it_sleeps();
        assert!(!shared.mean_poll.is_long());
    });
}
