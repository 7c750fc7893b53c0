//! Which task runs, where and when: nothing is stuck behind a long poll, nothing
//! starves, and nothing is lost as the workers go to sleep.

use crate::common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::runtime::{Handle, Runtime};
use arc::task::{JoinHandle, yield_now};
use arc::time::sleep;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = micros(100);

// Long polls.

/// Long enough that every thread of the runtime sleeps, the monitor included.
/// Nothing is asserted that needs it to be long enough.
fn let_everything_sleep() {
    thread::sleep(millis(40));
}

/// Spawns, in this task, so many that count.
fn spawn_that_count(count: usize, ran: Counter) {
    for _ in 0..count {
        drop(arc::spawn(async move { _ = ran.add() }));
    }
}

#[test]
fn tasks_queued_behind_a_long_poll_are_run_by_others() {
    on_each([2, 4], |runtime| {
        // A thousand are more than a worker's own queue holds.
        for (count, many, sleeps) in
            [(1, 100, false), (10, 50, false), (1000, 10, false), (1, 5, true), (5, 5, true)]
        {
            for _ in 0..rounds(many) {
                if sleeps {
                    let_everything_sleep();
                }
                tasks_behind_a_long_poll_run(&runtime, count);
            }
        }
    });
}

/// However many there are: none has its turn twice while another waits for one. (When polls become
/// long, those that wait in the worker's own queue and those in the injector mix.)
#[test]
fn tasks_take_turns() {
    // Not so many polls that the machine always takes the core away in one of them.
    with_short_polls(1, |runtime| {
        take_turns::<100>(runtime, 10) && take_turns::<10>(runtime, 1_000)
    });
}

/// Returns whether polls were short all the while. Then all tasks were in the worker's own queue.
fn take_turns<const TURNS: usize>(runtime: &Runtime, tasks: usize) -> bool {
    let handle = runtime.handle().clone();
    let (long, unfair) = (Counter::new(), Counter::new());
    // How many tasks have had their first turn, their second ...
    let had: [Counter; TURNS] = [(); TURNS].map(|()| Counter::new());

    let turns = move |_| {
        let handle = handle.clone();
        async move {
            for turn in 0..TURNS {
                // While polls are long, tasks wait in the injector.
                if handle.global_queue_depth() > 0 {
                    long.add();
                }
                // All have had the turn before the last.
                if turn >= 2 && had[turn - 2].get() < tasks {
                    unfair.add();
                }
                had[turn].add();
                yield_now().await;
            }
        }
    };
    // All in the worker's own queue: a task from outside waits for a look there.
    let all = async move { join((0..tasks).map(turns).map(arc::spawn).collect()).await };
    runtime.block_on(runtime.spawn(all)).unwrap();

    let are_short = long.get() == 0;
    assert!(!are_short || unfair.get() == 0, "some had two turns of {tasks}");
    are_short
}

#[test]
fn tasks_behind_a_long_poll_of_block_on_are_run_by_others() {
    on_each([2, 4], |runtime| {
        for round in 0..rounds(30) {
            if round % 10 == 0 {
                let_everything_sleep();
            }
            runtime.block_on(async {
                for count in [1, 10] {
                    let ran = Counter::new();
                    spawn_that_count(count, ran);
                    ran.wait_for(count);
                }
            });
        }
    });
}

/// All workers but one are stuck, and what each has queued is run.
#[test]
fn one_free_worker_serves_those_behind_all_the_stuck_ones() {
    on_each([4], |runtime| {
        for _ in 0..20 {
            let (ran, gate, all) = (Counter::new(), Gate::new(), Arc::new(Barrier::new(3)));
            let stuck = spawn_each(&runtime, 3, |_| {
                let all = all.clone();
                async move {
                    all.wait();
                    spawn_that_count(4, ran);
                    gate.wait();
                }
            });
            ran.wait_for(12);
            gate.open();
            join_all(&runtime, stuck);
        }
    });
}

/// An echo over a socket, and a timer, by tasks.
async fn echo_and_sleep(rounds: u8) {
    let (listener, address) = listen().await;
    let server = arc::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            stream.write_all(&byte).await.unwrap();
        }
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    for round in 0..rounds {
        sleep(TICK).await;
        client.write_all(&[round]).await.unwrap();
        let mut byte = [0];
        client.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, [round]);
    }
    drop(client);
    server.await.unwrap();
}

/// Whoever waited in the kernel may be the one that begins the long poll: then
/// another has to wait in its place.
#[test]
fn sockets_and_timers_go_on_while_a_worker_is_in_a_long_poll() {
    on_each([2, 4], |runtime| {
        for round in 0..rounds(30) {
            if round % 10 == 0 {
                let_everything_sleep();
            }
            let pause = Pause::new();
            // Woken by the driver, so polled by the one that waited.
            let long = runtime.spawn(async move {
                sleep(TICK).await;
                pause.here();
            });
            let traffic = runtime.spawn(echo_and_sleep(10));
            pause.reached();
            // This thread does not help: it only looks on.
            wait_until("the traffic", || traffic.is_finished());
            pause.pass();
            join_all(&runtime, [long, traffic]);
        }
    });
}

/// What is no task, but waits for a timer, is served even so.
#[test]
fn timers_fire_while_all_workers_are_in_long_polls() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        let workers = runtime.handle().workers();
        for round in 0..rounds(10) {
            if round % 5 == 0 {
                let_everything_sleep();
            }
            let pause = Pause::new();
            let stuck = spawn_each(&runtime, workers, |_| pause.stops());
            pause.reached_by(workers);
            let mut timer = Box::pin(sleep(millis(1)));
            let (waker, wakes) = counting_waker();
            // Over already only if this thread was held up for so long.
            if poll_with(timer.as_mut(), &waker).is_pending() {
                wakes.wait_for(1);
                assert!(poll_with(timer.as_mut(), &waker).is_ready());
            }
            pause.pass();
            join_all(&runtime, stuck);
        }
    });
}

// Tasks that leave no room for others.

/// Two tasks that wake each other until they are told to stop.
fn ping_pong(runtime: &Runtime, stop: &Arc<AtomicBool>) {
    let (ping, pong) = (async_channel::bounded::<()>(1), async_channel::bounded::<()>(1));
    let player = |mine: async_channel::Receiver<()>, other: async_channel::Sender<()>| {
        let stop = stop.clone();
        async move {
            while !stop.load(Ordering::SeqCst) && mine.recv().await.is_ok() {
                if other.send(()).await.is_err() {
                    break;
                }
            }
        }
    };
    ping.0.try_send(()).unwrap();
    drop(runtime.spawn(player(ping.1, pong.0.clone())));
    drop(runtime.spawn(player(pong.1, ping.0)));
}

/// Twenty tasks that only yield.
fn yielders(runtime: &Runtime, stop: &Arc<AtomicBool>) {
    drop(spawn_each(runtime, 20, |_| {
        let stop = stop.clone();
        async move {
            while !stop.load(Ordering::SeqCst) {
                yield_now().await;
            }
        }
    }));
}

/// Eight tasks, each of which spawns its successor: the queue is never empty.
fn successors(runtime: &Runtime, stop: &Arc<AtomicBool>) {
    fn successor(stop: Arc<AtomicBool>) {
        drop(arc::spawn(async move {
            if !stop.load(Ordering::SeqCst) {
                successor(stop);
            }
        }));
    }
    runtime.block_on(async { (0..8).for_each(|_| successor(stop.clone())) });
}

#[test]
fn tasks_that_go_on_for_ever_let_others_sockets_and_timers_on() {
    for begin in [ping_pong, yielders, successors] {
        with_each_size(move |runtime| {
            let stop = Arc::new(AtomicBool::new(false));
            begin(&runtime, &stop);
            // Queued by a worker, from outside, and woken again and again.
            let third = runtime.spawn(async {
                for _ in 0..rounds(50) {
                    arc::spawn(async {}).await.unwrap();
                    yield_now().await;
                }
            });
            wait_until("the third", || third.is_finished());
            for _ in 0..rounds(50) {
                let outside = runtime.spawn(async {});
                wait_until("the one from outside", || outside.is_finished());
            }
            let some = rounds(20) as u8;
            let traffic = runtime.spawn(echo_and_sleep(some));
            wait_until("the traffic", || traffic.is_finished());
            // The same from within `block_on`.
            runtime.block_on(echo_and_sleep(some));
            stop.store(true, Ordering::SeqCst);
            runtime.block_on(traffic).unwrap();
        });
    }
}

// Going to sleep.

/// Submits to a runtime just as it goes to sleep, again and again.
fn submit_as_the_workers_park(runtime: &Runtime, threads: usize) {
    on_threads(threads, |thread| {
        let (start, done) = (Instant::now(), Counter::new());
        let mut round = 0;
        while start.elapsed() < *RACE {
            for _ in 0..64 {
                round += 1;
                drop(runtime.spawn(async move { done.set(round) }));
                spin_until("the task that was submitted", || done.get() == round);
                // The worker is on its way to sleep now.
                spin((round * 7 + thread) % 257);
            }
        }
    });
}

#[test]
fn a_task_submitted_just_as_the_last_worker_parks_is_run() {
    with_each_size(|runtime| submit_as_the_workers_park(&runtime, 1));
}

#[test]
fn tasks_submitted_by_several_threads_as_the_workers_park_are_run() {
    with_each_size(|runtime| submit_as_the_workers_park(&runtime, 3));
}

/// A task is woken, not spawned, as the last worker parks or gives up searching.
#[test]
fn a_task_woken_just_as_the_last_worker_parks_is_run() {
    with_each_size(|runtime| {
        let (slot, polls) = (Slot::default(), Counter::new());
        let leave = slot.clone();
        drop(runtime.spawn(poll_fn(move |context| {
            leave.leave(context);
            polls.add();
            Poll::<()>::Pending
        })));
        spin_until("the first poll", || polls.get() == 1);
        let waker = slot.waker();
        let start = Instant::now();
        let mut round = 1;
        while start.elapsed() < *RACE {
            for _ in 0..64 {
                round += 1;
                waker.wake_by_ref();
                spin_until("the poll", || polls.get() >= round);
                spin(round * 11 % 509);
            }
        }
        assert_eq!(polls.get(), round);
    });
}

/// The same while a thread enters and leaves `block_on`.
#[test]
fn a_task_submitted_as_a_thread_leaves_block_on_is_run() {
    with_each_size(|runtime| {
        let runtime = Arc::new(runtime);
        let used = runtime.clone();
        let mut round = 0_u64;
        let guest = Background::repeat(move || {
            round += 1;
            match round % 4 {
                0 => used.block_on(sleep(micros(20))),
                1 => used.block_on(async {}),
                2 => used.block_on(yield_now()),
                _ => used.block_on(async { arc::spawn(async {}).await.unwrap() }),
            }
        });
        submit_as_the_workers_park(&runtime, 2);
        drop(guest);
    });
}

/// Several threads enter and leave, each waits for what the others submit.
#[test]
fn threads_that_enter_and_leave_block_on_lose_no_wake_up() {
    with_each_size(|runtime| {
        let start = Instant::now();
        on_threads(3, |index| {
            let mut round = 0;
            while start.elapsed() < *RACE {
                round += 1;
                let task = runtime.spawn(async move {
                    if round % 3 == index {
                        yield_now().await;
                    }
                    round
                });
                assert_eq!(runtime.block_on(task).unwrap(), round);
                if round % 16 == 0 {
                    runtime.block_on(sleep(micros(30)));
                }
            }
        });
    });
}

/// Timers armed by threads outside just as whoever waits goes to sleep.
#[test]
fn a_timer_armed_from_outside_as_the_workers_park_fires() {
    with_each_size(|runtime| {
        let _guard = runtime.enter();
        let (waker, wakes) = counting_waker();
        let start = Instant::now();
        let mut round = 0;
        while start.elapsed() < *RACE {
            let mut timer = Box::pin(sleep(micros(round as u64 % 90)));
            if poll_with(timer.as_mut(), &waker).is_ready() {
                // Over at once: no wake will come.
                waker.wake_by_ref();
            }
            round += 1;
            spin_until("the timer", || wakes.get() == round);
        }
    });
}

/// Bursts wake all, and all go back to sleep.
#[test]
fn bursts_of_work_between_pauses_are_done_each_time() {
    with_each_size(|runtime| {
        for burst in 0..rounds(200) {
            let (count, done) = (1 + burst % 50, Counter::new());
            drop(spawn_each(&runtime, count, |_| async move {
                yield_now().await;
                done.add();
            }));
            done.wait_for(count);
            if burst % 50 == 0 {
                let_everything_sleep();
            }
        }
    });
}

/// More than a worker's own queue holds, from inside and from outside.
#[test]
fn a_flood_of_tasks_overflows_no_queue() {
    with_each_size(|runtime| {
        let done = Counter::new();
        runtime.block_on(runtime.spawn(async move { spawn_that_count(5000, done) })).unwrap();
        let _guard = runtime.enter();
        spawn_that_count(5000, done);
        done.wait_for(10_000);
        wait_for_no_tasks(&runtime);
        assert_eq!(done.get(), 10_000);
    });
}

// Helpers.

/// Tasks that all wait, in their polls, until as many as there are workers do.
fn spawn_that_meet(count: usize) -> Vec<JoinHandle<()>> {
    let all = Arc::new(Barrier::new(count));
    spawn_each(&Handle::current(), count, |_| {
        let all = all.clone();
        async move { _ = all.wait() }
    })
}

async fn join(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// Whoever spawns them, all of the workers come, whether or not polls are known to be short.
#[test]
fn tasks_that_wait_for_each_other_in_their_polls_run_on_all_workers() {
    on_each([2, 8], |runtime| {
        let workers = runtime.handle().workers();
        for are_short in [false, true] {
            for _ in 0..10 {
                if are_short {
                    make_polls_short(&runtime);
                }
                let from_a_task = async move { join(spawn_that_meet(workers)).await };
                runtime.block_on(runtime.spawn(from_a_task)).unwrap();

                runtime.block_on(async { join(spawn_that_meet(workers)).await });

                let _guard = runtime.enter();
                wait_for_all(&spawn_that_meet(workers));
            }
        }
    });
}

/// All workers but one are in polls that last until a task from outside has run.
#[test]
fn a_task_from_outside_begins_while_the_others_are_in_long_polls() {
    on_each([2, 4], |runtime| {
        let stuck = runtime.handle().workers() - 1;
        for round in 0..rounds(40) {
            if round % 10 == 0 {
                let_everything_sleep();
            }
            let pause = Pause::new();
            let tasks = spawn_each(&runtime, stuck, |_| pause.stops());
            pause.reached_by(stuck);
            let outside = runtime.spawn(async move { pause.pass() });
            wait_until("it runs", || outside.is_finished());
            join_all(&runtime, tasks);
        }
    });
}

/// A waker that belongs to no runtime may take as long as it likes: the monitor sees to it that
/// somebody else waits for the kernel, or does so itself.
#[test]
fn a_foreign_waker_that_blocks_holds_up_nobody_else() {
    with_each_size(|runtime| {
        let workers = runtime.handle().workers();
        let _guard = runtime.enter();
        for round in 0..rounds(10) {
            // After the long one the monitor sleeps, too. (Nothing is asserted that needs it to.)
            let time = millis(if round % 5 == 0 { 100 } else { 1 });
            let pause = Pause::new();
            let blocks = waker_that(move || pause.here());
            let mut timer = Box::pin(sleep(time));
            if poll_with(timer.as_mut(), &blocks).is_ready() {
                continue; // this thread was held up for so long
            }
            pause.reached();

            // Who waits for another timer is no task, and it is somebody else's.
            let (waker, wakes) = counting_waker();
            let mut other = Box::pin(sleep(millis(1)));
            if poll_with(other.as_mut(), &waker).is_pending() {
                wakes.wait_for(1);
            }
            if workers > 1 {
                let task = runtime.spawn(echo_and_sleep(3));
                wait_until("the other workers go on", || task.is_finished());
            }
            pause.pass();
        }
    });
}

/// Takes a core for a time.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Workers whose queues are never empty look for tasks from outside, for sockets and for timers by
/// time, whatever the number of polls says.
#[test]
fn busy_workers_look_outside_by_time() {
    for lasts in [Duration::ZERO, micros(400)] {
        with_sizes(move |workers| {
            let runtime = builder(workers).event_interval(u32::MAX).build().unwrap();
            let stop = Gate::new();
            let busy = spawn_each(&runtime, 2 * workers, |_| async move {
                while !stop.is_open() {
                    compute(lasts);
                    yield_now().await;
                }
            });
            for _ in 0..10 {
                let outside = runtime.spawn(async {});
                wait_until("the one from outside", || outside.is_finished());
            }
            let traffic = runtime.spawn(echo_and_sleep(3));
            wait_until("the traffic", || traffic.is_finished());
            stop.open();
            join_all(&runtime, busy);
        });
    }
}

/// A wake from a thread outside while the only thing to wait for is that wake.
#[test]
fn an_idle_runtime_answers_after_a_long_pause() {
    with_each_size(|runtime| {
        let (sender, receiver) = async_channel::bounded::<mpsc::Sender<()>>(1);
        drop(runtime.spawn(async move {
            while let Ok(reply) = receiver.recv().await {
                reply.send(()).unwrap();
            }
        }));
        for _ in 0..rounds(5) {
            let_everything_sleep();
            let (reply, answer) = mpsc::channel();
            sender.send_blocking(reply).unwrap();
            answer.recv_timeout(DEADLINE).unwrap();
        }
        // And one that is in `block_on` with nothing to do.
        let (sender, receiver) = async_channel::bounded::<()>(1);
        let thread = thread::spawn(move || {
            let_everything_sleep();
            sender.send_blocking(()).unwrap();
        });
        runtime.block_on(receiver.recv()).unwrap();
        thread.join().unwrap();
    });
}

/// The tasks in the worker's queue were put there while polls were short. They are long, so the
/// worker looks outside after each. What it finds there must not always be the next.
#[test]
fn a_stream_of_tasks_from_outside_does_not_starve_the_queue() {
    const TASKS: usize = 2_000;
    const LONG: Duration = millis(1);
    on_each([1], |runtime| {
        make_polls_short(&runtime);
        let (ended, pause) = (Gate::new(), Pause::new());
        let in_queue = runtime.spawn(async move {
            let tasks = (0..200).map(|_| arc::spawn(async { compute(LONG) })).collect();
            pause.here();
            join(tasks).await;
            ended.open();
        });
        pause.reached();

        let (begun, begins) = mpsc::channel();
        let spawn = || {
            let begun = begun.clone();
            drop(runtime.spawn(async move {
                begun.send(()).unwrap();
                compute(LONG);
            }));
        };
        (0..3).for_each(|_| spawn());
        pause.pass();
        let spawned = (0..TASKS).take_while(|_| !ended.is_open()).map(|_| {
            begins.recv().unwrap();
            spawn();
        });
        assert!(spawned.count() < TASKS, "the 200 tasks in the queue are not done");
        runtime.block_on(in_queue).unwrap();
    });
}
