//! What the runtime calls, one function for each event. A program has no use for them.
//!
//! The macro `tell!` of arc asks [`is_on`](crate::is_on) before it calls one of them, except for
//! what a recording that begins later must know, too: then the function asks.

use crate::environment::is_on;
use crate::event::Event;
use crate::listen;
use crate::now;
use crate::recorder::{self, clock, keep, keep_also, keep_now};
use crate::recording::Origin;
use crate::resource::{Holder, Resource};
use crate::sources;
use crate::switch::is_recording;
use crate::waiting::{On, handle};
use crate::waits;
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// How many operations have succeeded on this thread since the last poll ended.
    static OPERATIONS: Cell<u32> = const { Cell::new(0) };
}

/// A task was spawned, or a thread begins a `block_on`. The kind is 1 for a job of
/// `spawn_blocking`, 2 for a `block_on`, and otherwise 0.
pub fn spawned(
    task: u64,
    runtime: u64,
    name: &Option<Arc<str>>,
    location: &'static Location<'static>,
    kind: u8,
) {
    // The new task may have taken a guard along.
    now::moves();

    let kinds = ["task", "blocking", "block_on"];
    let text = name.as_deref().unwrap_or_default();
    listen::tell(|it| it.spawned(task, kinds[usize::from(kind)], text, location));

    if is_recording() {
        let is_job = kind == 1;
        let name = name.clone();
        // Before the event, so that whoever reads that knows the task.
        recorder::remember(task, Origin { name, location, runtime, is_job, ended: None });
        keep(Event::Spawned { task, runtime });
    }
}

/// The thread is in `block_on`. A recording that begins later must know it, too.
pub fn blocks_on(task: u64) {
    recorder::blocks_on(task);
    waits::blocks_on(task);
    if is_on() {
        keep(Event::BlocksOn { task });
    }
}

/// A task made a step: into a queue, or out of it.
pub fn step(task: u64, number: u64) {
    if !is_on() {
        return;
    }

    let is_even = number.is_multiple_of(2);
    match recorder::main() == Some(task) {
        // The future of a `block_on` is polled from an odd step to an even one.
        true if is_even => {
            listen::tell(|it| it.ends(task));
            now::ends_main(task);
            keep(Event::Polled { task, operations: OPERATIONS.replace(0) });
            keep(Event::Step { task, number });
        }
        true => {
            listen::tell(|it| it.begins(task));
            keep_now(Event::Step { task, number });
            now::begins_main(task, number);
        }
        // Any other task enters a queue at an odd step, and is polled from an even one on.
        false if is_even => begins(task, number),
        false => queued(task, number),
    }
}

/// A poll of a task begins, which is no future of a `block_on`.
pub fn begins(task: u64, number: u64) {
    OPERATIONS.set(0);
    listen::tell(|it| it.begins(task));
    keep(Event::Step { task, number });
    now::begins(task, number);
}

/// A task enters a queue.
pub fn queued(task: u64, number: u64) {
    // At its first step it has not been woken.
    if number > 1 {
        listen::tell(|it| it.woken(task));
    }
    keep(Event::Step { task, number });
}

/// A poll has ended.
pub fn polled(task: u64) {
    listen::tell(|it| it.ends(task));
    now::ends();
    keep(Event::Polled { task, operations: OPERATIONS.replace(0) });
}

/// The future of a task is dropped from now on.
pub fn drops(task: u64) {
    keep(Event::Drops { task });
}

/// A task has panicked.
pub fn panicked(task: u64) {
    if is_on() {
        keep(Event::Panicked { task });
    }
}

/// A task has ended.
pub fn ended(task: u64) {
    listen::tell(|it| it.ended(task));
    waits::forget(task);
    now::ended(task);

    // The `block_on` in which this thread is ends.
    if recorder::main() == Some(task) {
        waits::main_ended(task);
    }
    if is_recording() {
        recorder::forget(task);
        keep(Event::Ended { task });
    }
}

/// A runtime ends, and none of its tasks is polled any more.
pub fn runtime_closes(runtime: u64) {
    waits::forget_runtime(runtime);
    if is_recording() {
        // Told again and again: see `keep_place`.
        recorder::closes(runtime);
        keep(Event::RuntimeCloses { runtime });
    }
}

/// The thread runs a worker. A recording that begins later must know it, too.
pub fn runs_worker(runtime: u64, worker: usize) {
    let worker = worker as u32;
    recorder::runs_worker(runtime, worker);
    waits::runtime_works(runtime);
    if is_on() {
        keep(Event::RunsWorker { runtime, worker });
    }
}

/// The worker falls asleep.
pub fn sleeps() {
    keep(Event::Sleeps);
}

/// The worker is awake again.
pub fn awake() {
    keep(Event::Awake);
}

/// The thread wakes a worker.
pub fn wakes(runtime: u64, worker: usize) {
    keep(Event::Wakes { runtime, worker: worker as u32 });
}

/// The thread asks the kernel.
pub fn asks_kernel(waits: bool) {
    keep(Event::AsksKernel { waits });
}

/// The kernel has answered, and reports these sources. The flags are those of reading and writing.
pub fn kernel_told(sources: &[(i64, [bool; 2])]) {
    keep(Event::KernelTold);
    // After the record, whose time it takes.
    waits::ready(sources);
    let ready = sources.iter().map(|&(source, [read, write])| Event::Ready { source, read, write });
    keep_also(ready);
}

/// The task waits for a source. `direction` is 0 for reading and 1 for writing. A future gives its
/// place in memory, and a `poll_` function gives 0.
pub fn waits_for_io(waiter: usize, source: i64, direction: usize) {
    let (waiter, write) = (waiter as u64, direction == 1);
    now::waits_for(waiter, On::Io { source, write });
    keep(Event::WaitsForIo { source, write, waiter });
}

/// The task waits until this much time has passed, by a timer at this place in memory.
pub fn waits_for_time(timer: usize, left: Duration) {
    let waiter = timer as u64;
    let left = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
    let deadline = clock().saturating_add(left);
    now::waits_for(waiter, On::Time { deadline });
    keep(Event::WaitsForTime { deadline, waiter });
}

/// The task waits for another one.
pub fn waits_for_task(task: u64) {
    now::waits_for(handle(task), On::Task { task });
    keep(Event::WaitsForTask { task });
}

/// The future at this place in memory is ready, or is dropped: nobody waits by it any more.
pub fn no_longer_waits(waiter: usize) {
    let waiter = waiter as u64;
    now::no_longer_waits(waiter);
    keep(Event::NoLongerWaits { waiter });
}

/// The handle of a task has given its output, or is dropped.
pub fn no_longer_waits_for_task(task: u64) {
    now::no_longer_waits(handle(task));
    keep(Event::NoLongerWaitsForTask { task });
}

/// A future that has others, of which it may give up some, is polled.
pub fn begins_choice() {
    now::begins_choice();
}

/// Its poll has ended. If it is ready, it has given up what it polled and what was pending.
pub fn ends_choice(is_ready: bool) {
    let waits = now::ends_choice(is_ready);
    if waits > 0 {
        keep(Event::GivesUp { waits });
    }
}

/// The task no longer awaits any of the handles that it has polled, so far as is told: it has
/// joined one of a set.
pub fn gives_up_handles() {
    now::gives_up_handles();
    keep(Event::GivesUp { waits: 0 });
}

/// A source that was registered is no socket. The name is the end of a sentence after "for".
pub fn names_source(source: i64, name: &str) {
    sources::name(source, name, clock());
}

/// A source with a name is closed.
pub fn forgets_source(source: i64) {
    sources::forget(source, clock());
}

/// The task waits for a lock, a channel or the like, perhaps by a line of its own, for so many
/// permits. The waiter is the place in memory of its future; a `poll_` function gives 0.
pub fn waits_for(
    resource: &Arc<Resource>,
    line: Option<&'static Location<'static>>,
    waiter: usize,
    permits: u32,
) {
    listen::tell(|it| it.waits(now::task(), resource, line));

    let (waiter, permits) = (waiter as u64, permits.into());
    now::waits_for(waiter, On::Resource { resource, line, permits });

    // A line is told of by its number: an event has no room for it.
    if is_recording() {
        resource.make_known();
        let line = resource.number_of(line);
        keep(Event::WaitsFor { resource: resource.id, line, waiter, permits });
    }
}

/// The task has got what it asked for, perhaps by a line of its own.
pub fn got(resource: &Resource, line: Option<&'static Location<'static>>) {
    listen::tell(|it| it.got(now::task(), resource, line));
}

/// What the task has waited for by a `poll_` function has come.
pub fn came(resource: &Resource) {
    now::has(|on| matches!(on, On::Resource { resource: of, .. } if of.id == resource.id));
    keep(Event::Got { resource: resource.id });
}

/// The lock or the channel was dropped.
pub fn dropped(resource: &Resource) {
    resource.set_gone();
    listen::tell(|it| it.dropped(resource));
}

/// The task has got a lock or a permit, by a guard that may be moved to another task or not.
/// Returns its id, which [`releases`] asks for.
pub fn holds(
    resource: &Arc<Resource>,
    line: Option<&'static Location<'static>>,
    may_move: bool,
) -> u64 {
    made_progress();
    let (task, step) = (now::task(), now::step());
    listen::tell(|it| it.changes(resource, 1));
    // Also while nothing is recorded, for a list of the tasks that asks who has it.
    resource.add_holder(Holder { task, line, may_move, step });

    if is_recording() {
        resource.make_known();
        let line = resource.number_of(line);
        keep(Event::Holds { resource: resource.id, line, may_move });
    }
    task
}

/// A semaphore has so many permits in all from now on. They were added, or some were forgotten.
pub fn resizes(resource: &Resource, permits: usize, is_refilled: bool) {
    resource.set_size(permits, is_refilled);
}

/// So many tasks have come to a barrier.
pub fn come_to(resource: &Resource, tasks: usize) {
    resource.set_come_to(tasks);
}

/// The task makes or uses a sender of this number.
pub fn uses_sender(resource: &Resource, sender: u64) {
    resource.set_sender(sender, now::task());
}

/// A sender is dropped.
pub fn drops_sender(resource: &Resource, sender: u64) {
    resource.remove_sender(sender);
}

/// The task has lost so many values, as it was too slow.
pub fn lags(resource: &Arc<Resource>, count: u64) {
    if is_recording() {
        resource.make_known();
        resource.add_to_lag(count, clock(), now::task());
    }
}

/// A lock or a permit that a task had got was given back, by that task or by another one.
pub fn releases(resource: &Arc<Resource>, task: u64) {
    resource.remove_holder(task);
    listen::tell(|it| it.changes(resource, -1));
    if is_recording() {
        keep(Event::Releases { resource: resource.id, task });
    }
}

/// The task did something that may end the wait of another one: it received or notified.
pub fn provides(resource: &Arc<Resource>) {
    resource.set_provider(now::task(), now::step());
}

/// The task has sent a value into a channel.
pub fn sends(resource: &Arc<Resource>) {
    made_progress();
    // The value may be a guard.
    now::moves();
    provides(resource);
    listen::tell(|it| it.changes(resource, 1));

    if is_recording() {
        resource.make_known();
        keep(Event::Sends { resource: resource.id });
    }
}

/// The task has taken values out of a channel.
pub fn receives(resource: &Arc<Resource>, count: usize) {
    // Who takes values out of an unbounded channel is asked when that grows.
    resource.set_receiver(now::task());
    listen::tell(|it| it.changes(resource, -(count as i64)));

    if is_recording() {
        resource.make_known();
        keep(Event::Receives { resource: resource.id, count: count as u64 });
    }
}

/// A notification has come to the task.
pub fn comes(resource: &Arc<Resource>) {
    resource.set_come();
}

/// So much is in a channel or in a `JoinSet`, and nobody has taken it so far.
pub fn piles(resource: &Arc<Resource>, count: usize) {
    if is_recording() {
        resource.make_known();
        resource.add_to_pile(count, clock(), now::task());
    }
}

/// A `select!` of the task takes one of its branches, from 1, and drops the others.
pub fn chooses(resource: &Arc<Resource>, branch: usize, branches: usize) {
    if is_recording() {
        resource.make_known();
        let (branch, branches) = (branch as u16, branches as u16);
        keep(Event::Chooses { resource: resource.id, branch, branches });
    }
}

/// A simulation has noted something in its log.
pub fn marked() {
    keep(Event::Marked);
}

/// An operation of arc's has succeeded.
pub fn made_progress() {
    OPERATIONS.set(OPERATIONS.get().saturating_add(1));
}

/// The task has used up its budget.
pub fn out_of_budget() {
    now::waits_for(0, On::Turn);
    keep(Event::OutOfBudget);
}

/// The next step of a model is this thread's.
pub fn scheduled(thread: usize) {
    recorder::forget_thread();
    keep(Event::Scheduled { thread: thread as u32 });
}

/// The threads of a runtime have ended. If the environment asked for a timeline, it is written now.
pub fn runtime_ended() {
    crate::environment::write();
}
