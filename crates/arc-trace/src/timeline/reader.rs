//! Puts the records of all threads together, and reads them in the order of time.
//!
//! The oldest records may have been left out, of each thread up to another time. So nothing is
//! taken for granted: a poll may end that has not begun, or a task be polled that was in no queue.

use super::open::{Asking, OpenWaits};
use super::things::Things;
use super::{By, Earlier, Hold, Lane, Look, Place, Poll, Queued, Sleep, Task, Timeline, Wait, cut};
use crate::event::{Event, Record};
use crate::recording::{Recording, Thread};
use crate::sources;
use crate::waiting::{self, On, Waiting, handle};
use std::collections::{HashMap, HashSet};

/// What a thread is doing, while its records are read.
#[derive(Default)]
struct Doing {
    /// The polls that have not ended, the last one innermost: a job may be in a `block_on`.
    polls: Vec<usize>,
    look: Option<usize>,
    /// The thread wakes what this look has brought.
    looked: Option<usize>,
    sleep: Option<usize>,
    worker: Option<(u64, u32)>,
}

impl Doing {
    fn runtime(&self) -> Option<u64> {
        self.worker.map(|(runtime, _)| runtime)
    }

    /// Who spawns or wakes something on this thread now.
    fn by(&self, lane: usize) -> By {
        match (self.polls.last(), self.looked) {
            (Some(&poll), _) => By::Poll(poll),
            (None, Some(look)) => By::Look(look),
            (None, None) => By::Thread(lane),
        }
    }
}

/// The state while the records are read.
struct Reader {
    timeline: Timeline,
    doing: Vec<Doing>,
    /// The last time at which a worker was woken that has not slept since.
    woken: HashMap<(u64, u32), (u64, By)>,
    /// The runtimes that have ended. It is told again and again.
    closed: HashSet<u64>,
    things: Things,
    open: OpenWaits,
}

impl Timeline {
    /// Puts the records of all threads together.
    pub fn new(recording: &Recording) -> Self {
        let mut records: Vec<(usize, Record)> = Vec::new();
        for (lane, thread) in recording.threads.iter().enumerate() {
            // The threads go on while the recording is taken.
            let in_time = thread.records.iter().filter(|record| record.at <= recording.taken);
            records.extend(in_time.map(|record| (lane, *record)));
        }

        while delay_early_steps(&mut records) {}
        // Stable: the records of one thread keep their order.
        records.sort_by_key(|(_, record)| record.at);

        let mut reader = Reader::new(recording);
        reader.timeline.events = records.len();
        reader.timeline.begin = records.first().map_or(recording.taken, |(_, first)| first.at);
        for (lane, record) in records {
            reader.read(lane, record);
        }
        reader.amend(recording);
        reader.timeline
    }
}

/// A task's steps come one after the other, also on different threads. But a step may have the time
/// of the event before it on its thread, which is a little too early. So it is delayed until the
/// step before it, and so is what follows on its thread. The records are in the order of their
/// threads. Returns whether there was such a step.
fn delay_early_steps(records: &mut [(usize, Record)]) -> bool {
    let mut steps = HashMap::new();
    for (lane, Record { at, event }) in &*records {
        if let Event::Step { task, number } = event {
            steps.insert((*task, *number), (*lane, *at));
        }
    }

    let mut any_was_early = false;
    let (mut thread, mut earliest) = (0, 0);
    for (lane, record) in records {
        if thread != *lane {
            (thread, earliest) = (*lane, 0);
        }

        // On one thread the order of the records is right already.
        if let Event::Step { task, number } = record.event
            && let Some(&(other, at)) = steps.get(&(task, number.wrapping_sub(1)))
            && other != *lane
            && at > record.at
        {
            earliest = earliest.max(at + 1);
        }
        any_was_early |= record.at < earliest;
        // What follows on the thread must not come before it.
        record.at = record.at.max(earliest);
    }
    any_was_early
}

impl Reader {
    fn new(recording: &Recording) -> Self {
        let taken = recording.taken;
        let mut reader = Self {
            timeline: Timeline { end: taken, ..Timeline::default() },
            doing: Vec::new(),
            woken: HashMap::new(),
            closed: HashSet::new(),
            things: Things::default(),
            open: OpenWaits::default(),
        };
        reader.timeline.resources = recording.resources.clone();
        reader.timeline.named = recording.named.clone();
        reader.timeline.others_go_on = recording.others_go_on;

        for thread in &recording.threads {
            reader.add_lane(thread, taken);
        }

        // What ended before the first event says nothing.
        for (&id, origin) in &recording.tasks {
            if origin.ended.is_none_or(|ended| ended > taken) {
                reader.timeline.tasks.insert(id, Task::new(Some(origin)));
            }
        }
        reader.name_tasks(recording);
        reader
    }

    fn add_lane(&mut self, thread: &Thread, taken: u64) {
        let timeline = &mut self.timeline;
        // If nothing was left out, the thread did nothing before its first record.
        let first = thread.records.first().map_or(taken, |first| first.at.min(taken));
        let complete_since = if thread.left_out > 0 { first } else { 0 };
        timeline.left_out += thread.left_out;
        timeline.complete_since = timeline.complete_since.max(complete_since);

        let mut lane = Lane { name: cut(&thread.name), complete_since, ..Lane::default() };
        if let Some(worker) = thread.worker {
            lane.runs(worker);
        }
        timeline.lanes.push(lane);
        self.doing.push(Doing { worker: thread.worker, ..Doing::default() });
    }

    /// Also those that have ended, if some record is about them.
    fn name_tasks(&mut self, recording: &Recording) {
        for record in recording.threads.iter().flat_map(|thread| &thread.records) {
            if let Event::Step { task, .. } | Event::Spawned { task, .. } = record.event {
                let origin = recording.tasks.get(&task);
                self.timeline.tasks.entry(task).or_insert_with(|| Task::new(origin));
            }
        }
        // A thread says which `block_on` it is in, also if the record of that was left out.
        recording.threads.iter().filter_map(|thread| thread.main).for_each(|id| self.is_main(id));
    }

    /// The task is the future of a `block_on`. If nothing else is known of it, it has ended.
    fn is_main(&mut self, id: u64) {
        if let Some(task) = self.timeline.tasks.get_mut(&id) {
            task.is_main = true;
        }
    }

    fn read(&mut self, lane: usize, record: Record) {
        let Record { at, event } = record;
        self.timeline.read_schedule(lane, at, event);
        match event {
            // The life of a task.
            Event::Spawned { task, runtime } => self.spawn(lane, at, task, runtime),
            Event::BlocksOn { task } => self.is_main(task),
            Event::Step { task, number } => self.step(lane, at, task, number),
            Event::Polled { task, operations } => self.end_poll(lane, at, task, operations),
            Event::Drops { task } => self.drop_future(lane, at, task),
            Event::Panicked { task } => self.panic(at, task),
            Event::Ended { task } => self.end_task(lane, at, task),

            // The workers, and what they sleep for.
            Event::RunsWorker { runtime, worker } => self.run_worker(lane, (runtime, worker)),
            // Whether the worker slept by then is known when it wakes up.
            Event::Wakes { runtime, worker } => {
                let by = self.by(lane);
                self.woken.insert((runtime, worker), (at, by));
            }
            Event::Sleeps => self.fall_asleep(lane, at),
            Event::Awake => self.wake_up(lane, at),
            Event::AsksKernel { waits } => self.ask_kernel(lane, at, waits),
            Event::KernelTold => self.kernel_told(lane, at),
            Event::Ready { source, read, write } => self.ready(lane, at, source, [read, write]),
            Event::RuntimeCloses { runtime } => self.close(at, runtime),

            // Locks and channels.
            Event::Holds { resource, line, may_move } => {
                self.hold(lane, at, resource, line, may_move);
            }
            Event::Releases { resource, task } => {
                self.things.release(&mut self.timeline, at, resource, task);
            }
            Event::Sends { resource } => {
                // The value may be a guard.
                self.moves(lane);
                self.things.send(&mut self.timeline, at, resource);
            }
            Event::Receives { resource, count } => {
                let by = self.polled(lane);
                self.things.receive(&mut self.timeline, at, by, resource, count);
            }

            // These tell a reader of a schedule what happened, and change nothing else.
            Event::Scheduled { .. } | Event::Chooses { .. } | Event::Marked => {}

            // What the task that is polled waits for.
            Event::WaitsForIo { .. }
            | Event::WaitsForTime { .. }
            | Event::WaitsForTask { .. }
            | Event::WaitsFor { .. }
            | Event::OutOfBudget
            | Event::NoLongerWaits { .. }
            | Event::NoLongerWaitsForTask { .. }
            | Event::Got { .. }
            | Event::GivesUp { .. } => self.read_wait(lane, at, event),
        }
    }

    /// What the task that is polled asks for, gets, and gives up.
    fn read_wait(&mut self, lane: usize, at: u64, event: Event) {
        match event {
            // The system uses the numbers of descriptors again. So the name of this time goes
            // along.
            Event::WaitsForIo { source, write, waiter } => {
                let source = sources::number_in(&self.timeline.named, source, at);
                self.ask(lane, at, waiter, Wait::Io { source, write });
            }
            Event::WaitsForTime { deadline, waiter } => {
                self.ask(lane, at, waiter, Wait::Time { deadline });
            }
            Event::WaitsForTask { task } => {
                self.ask(lane, at, handle(task), Wait::Task { task });
            }
            Event::WaitsFor { resource, line, waiter, permits } => {
                self.ask(lane, at, waiter, Wait::Resource { resource, line, permits });
            }
            Event::OutOfBudget => self.ask(lane, at, 0, Wait::Turn),

            Event::NoLongerWaits { waiter } => {
                self.open.end(self.polled(lane), |wait| wait.waiter == waiter);
            }
            Event::NoLongerWaitsForTask { task } => {
                self.open.end(self.polled(lane), |wait| wait.waiter == handle(task));
            }
            // Only a `poll_` function tells this, which has no place in memory.
            Event::Got { resource } => self.open.end(self.polled(lane), |wait| {
                wait.waiter == 0
                    && matches!(wait.wait, Wait::Resource { resource: of, .. } if of == resource)
            }),
            Event::GivesUp { waits } => {
                if let Some(asking) = self.asking(lane) {
                    self.open.give_up(asking, at, waits);
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self, lane: usize, at: u64, waiter: u64, wait: Wait) {
        if let Some(asking) = self.asking(lane) {
            self.open.ask(asking, at, waiter, wait);
        }
    }

    /// The innermost poll that a thread is in.
    fn asking(&self, lane: usize) -> Option<Asking> {
        let &poll = self.doing[lane].polls.last()?;
        Some(Asking { lane, task: self.timeline.polls[poll].task, poll })
    }

    /// The task that a thread polls. Zero: it polls none.
    fn polled(&self, lane: usize) -> u64 {
        self.asking(lane).map_or(0, |asking| asking.task)
    }

    fn task(&mut self, id: u64) -> &mut Task {
        self.timeline.tasks.entry(id).or_default()
    }

    /// Who spawns or wakes something on this thread. A poll that does so did something.
    fn by(&mut self, lane: usize) -> By {
        if let Some(&poll) = self.doing[lane].polls.last() {
            self.timeline.polls[poll].did_wake = true;
        }
        self.doing[lane].by(lane)
    }

    fn spawn(&mut self, lane: usize, at: u64, task: u64, runtime: u64) {
        let by = self.by(lane);
        self.moves(lane);
        let task = self.task(task);
        task.spawned = Some((at, by));
        task.runtime = Some(runtime);
    }

    /// The task that a thread polls has spawned or sent something.
    fn moves(&mut self, lane: usize) {
        if let Some(&poll) = self.doing[lane].polls.last() {
            let poll = &self.timeline.polls[poll];
            self.timeline.moved.insert(poll.task, poll.step);
        }
    }

    /// A task enters a queue at an odd step, and leaves it at an even one. The future of a
    /// `block_on` is in no queue: it is polled from an odd step to an even one.
    fn step(&mut self, lane: usize, at: u64, id: u64, number: u64) {
        let is_main = self.task(id).is_main;
        let is_odd = !number.is_multiple_of(2);
        match (is_main, is_odd) {
            (true, true) | (false, false) => self.begin_poll(lane, at, id, number),
            (true, false) => self.end_poll(lane, at, id, 0),
            // The end wakes all tasks, and polls none: they wait for what they waited for before.
            (false, true) if self.was_dropped(id) => {}
            (false, true) => {
                let place = self.place(lane, id);
                let by = self.by(lane);
                self.task(id).queued = Some(Queued { at, by, place, step: number });
            }
        }
    }

    /// Whether the end of its runtime has dropped a task. If it is not known which runtime that is,
    /// it is taken for one that has ended.
    fn was_dropped(&mut self, id: u64) -> bool {
        let any_has_ended = !self.closed.is_empty();
        let task = self.task(id);
        task.dropped.is_some() || (any_has_ended && task.runtime.is_none())
    }

    /// Which queue a thread puts a task into.
    fn place(&mut self, lane: usize, id: u64) -> Place {
        let task = self.task(id);
        if task.is_job {
            return Place::Pool;
        }
        let runtime = task.runtime;
        // Only a worker of the same runtime puts it into its own queue.
        match self.doing[lane].worker {
            Some((of, _)) if runtime.is_none_or(|runtime| runtime == of) => Place::Worker(lane),
            _ => Place::Injector,
        }
    }

    fn begin_poll(&mut self, lane: usize, at: u64, task: u64, number: u64) {
        let index = self.timeline.polls.len();
        // If steps between the two were left out, the task was in another queue meanwhile.
        let is_next = |queued: &Queued| queued.step + 1 == number;
        let queued = self.task(task).queued.take().filter(is_next);
        self.task(task).polls.push(index);
        self.timeline.lanes[lane].polls.push(index);

        // Nobody knew that a task was a job, which has ended.
        let polls = &self.timeline.polls;
        self.doing[lane].polls.retain(|&open| polls[open].end.is_none());
        self.doing[lane].polls.push(index);
        // What the look has brought was woken before this.
        self.doing[lane].looked = None;

        self.timeline.polls.push(Poll {
            task,
            lane,
            queued,
            begin: at,
            end: None,
            step: number,
            operations: 0,
            is_last: false,
            waits: Vec::new(),
            drops: None,
            did_wake: false,
            did_nothing: false,
        });
    }

    fn end_poll(&mut self, lane: usize, at: u64, task: u64, operations: u32) {
        let polls = &mut self.timeline.polls;
        let open = &mut self.doing[lane].polls;
        // If there is none, the record of its begin was left out.
        let Some(place) = open.iter().rposition(|&index| polls[index].task == task) else {
            return;
        };

        // The polls inside of this one are over, even if the records of their ends are missing.
        let index = open[place];
        for inner in open.drain(place..) {
            polls[inner].end.get_or_insert(at);
        }

        // The poll before it, if the task has one.
        let all = &self.timeline.tasks[&task].polls;
        let before = all.len().checked_sub(2).map(|before| polls[all[before]].waits.clone());

        let poll = &mut polls[index];
        poll.end = Some(at);
        poll.operations = operations;
        poll.waits.extend(self.open.asked_by(task, index));

        // Such a wake-up was for nothing, as far as arc can see. A poll without any wait may have
        // done something that arc does not see, and one that is out of budget was cut off.
        let waits_for_the_same = before.is_some_and(|before| before == poll.waits);
        poll.did_nothing = waits_for_the_same
            && !poll.is_last
            && !poll.did_wake
            && !poll.waits.is_empty()
            && !poll.waits.contains(&Wait::Turn)
            && operations == 0;
    }

    /// The drop of a task's future begins. It may give up things, as the poll before did.
    fn drop_future(&mut self, lane: usize, at: u64, task: u64) {
        if let Some(asking) = self.asking(lane)
            && asking.task == task
        {
            self.timeline.polls[asking.poll].drops = Some(at);
        }
    }

    /// The tasks of a `LocalSet` panic as well, but nothing else is told of them.
    fn panic(&mut self, at: u64, id: u64) {
        if let Some(task) = self.timeline.tasks.get_mut(&id) {
            task.panicked = Some(at);
        }
    }

    fn end_task(&mut self, lane: usize, at: u64, id: u64) {
        let task = self.task(id);
        let is_job = task.is_job;
        task.ended = Some(at);
        task.queued = None;
        self.open.forget(id);

        // It ends in a poll of its own, or was aborted by another thread.
        let Some(asking) = self.asking(lane).filter(|asking| asking.task == id) else { return };
        let poll = &mut self.timeline.polls[asking.poll];
        poll.is_last = true;
        // The poll of a task goes on for a moment. Of a job nothing more is told.
        poll.end = Some(at);
        if is_job {
            self.end_poll(lane, at, id, 0);
        }
    }

    fn run_worker(&mut self, lane: usize, worker: (u64, u32)) {
        self.doing[lane].worker = Some(worker);
        self.timeline.lanes[lane].runs(worker);
    }

    fn fall_asleep(&mut self, lane: usize, at: u64) {
        let sleeps = &mut self.timeline.sleeps;
        let runtime = self.doing[lane].runtime();
        let sleep = Sleep { lane, runtime, begin: at, end: None, in_seat: false, woken: None };
        self.doing[lane].sleep = Some(sleeps.len());
        self.doing[lane].looked = None;
        sleeps.push(sleep);
    }

    fn wake_up(&mut self, lane: usize, at: u64) {
        let Some(index) = self.doing[lane].sleep.take() else { return };
        let sleep = &mut self.timeline.sleeps[index];
        sleep.end = Some(at);

        // A worker that was woken before it fell asleep has slept for another reason.
        let woken = self.doing[lane].worker.and_then(|worker| self.woken.remove(&worker));
        sleep.woken = woken.filter(|(when, _)| *when >= sleep.begin);
    }

    fn ask_kernel(&mut self, lane: usize, at: u64, waits: bool) {
        let looks = &mut self.timeline.looks;
        let doing = &mut self.doing[lane];
        doing.look = Some(looks.len());
        doing.looked = None;

        // A worker that asks while it sleeps waits for the kernel, and is not parked.
        if let Some(sleep) = doing.sleep {
            self.timeline.sleeps[sleep].in_seat = true;
        }
        let runtime = doing.runtime();
        looks.push(Look { lane, runtime, begin: at, end: None, waits, ready: Vec::new() });
    }

    fn kernel_told(&mut self, lane: usize, at: u64) {
        let doing = &mut self.doing[lane];
        doing.looked = doing.look.take();
        if let Some(look) = doing.looked {
            self.timeline.looks[look].end = Some(at);
        }
    }

    fn ready(&mut self, lane: usize, at: u64, source: i64, directions: [bool; 2]) {
        let source = sources::number_in(&self.timeline.named, source, at);
        self.open.ready(source, directions, at);
        if let Some(look) = self.doing[lane].looked {
            self.timeline.looks[look].ready.push((source, directions));
        }
    }

    fn hold(&mut self, lane: usize, at: u64, resource: u64, line: u64, may_move: bool) {
        let poll = self.doing[lane].polls.last().map(|&poll| &self.timeline.polls[poll]);
        // A thread that polls no task has it as well, under the id zero.
        let (task, step) = poll.map_or((0, 0), |poll| (poll.task, poll.step));
        let hold = Hold { resource, task, line, begin: at, end: None, may_move, step };
        self.things.hold(&mut self.timeline, hold);
    }

    /// A runtime ends, and drops the tasks that have not ended.
    fn close(&mut self, at: u64, runtime: u64) {
        // It is told again and again, and the first time counts.
        if !self.closed.insert(runtime) {
            return;
        }
        for task in self.timeline.tasks.values_mut() {
            // A job that has begun goes on, and a `block_on` is on the stack of a thread.
            let goes_on = task.is_main || (task.is_job && !task.polls.is_empty());
            let is_over = task.ended.is_some() || task.dropped.is_some();
            if task.runtime == Some(runtime) && !goes_on && !is_over {
                task.dropped = Some(at);
            }
        }
    }

    /// Corrects what the records that are left suggest of tasks whose other records are not.
    fn amend(&mut self, recording: &Recording) {
        let complete_since = self.timeline.complete_since;
        for (id, task) in &mut self.timeline.tasks {
            let ended = recording.tasks.get(id).and_then(|origin| origin.ended);
            task.ended = task.ended.or(ended.filter(|ended| *ended <= recording.taken));

            // The poll that took it out of the queue may be among what was left out.
            let is_waiting = |queued: &Queued| queued.at >= complete_since;
            task.queued = task.queued.filter(is_waiting).filter(|_| task.ended.is_none());
        }

        // Behind the loop above: what has ended waits for nothing.
        for waiting in &recording.waiting {
            self.keep(waiting);
        }
        let earlier = self.open.earlier(&self.timeline);
        self.timeline.earlier.extend(earlier);
    }

    /// What a task waits for whose last poll was left out.
    fn keep(&mut self, waiting: &Waiting) {
        let Some(task) = self.timeline.tasks.get(&waiting.task) else { return };
        let is_over = task.ended.is_some() || task.dropped.is_some() || task.queued.is_some();

        // What is in the record is known better, unless that is of a time in which there are gaps.
        let last = task.polls.last().map(|&last| &self.timeline.polls[last]);
        let is_known = last.is_some_and(|last| {
            let goes_on = last.step == waiting.step && last.end.is_none();
            goes_on || last.step > waiting.step
        });
        if is_over || is_known || waiting.since >= self.timeline.complete_since {
            return;
        }

        let asked = waiting.asked.iter().map(|wait| wait_of(&wait.on)).collect();
        self.timeline.kept.insert(waiting.task, (waiting.since, asked));

        // The record of what it has asked for before is not whole.
        self.open.forget(waiting.task);
        let with_times = |open: &[waiting::Open]| {
            open.iter().map(|wait| (wait.since, wait_of(&wait.on))).collect()
        };
        let earlier = Earlier {
            kept: with_times(&waiting.kept),
            given_up: with_times(&waiting.given_up),
            is_crowded: waiting.is_crowded,
        };
        self.timeline.earlier.insert(waiting.task, earlier);
    }
}

/// What was kept of a wait, as a timeline says it.
fn wait_of(on: &On) -> Wait {
    match on {
        On::Io { source, write } => Wait::Io { source: *source, write: *write },
        On::Time { deadline } => Wait::Time { deadline: *deadline },
        On::Task { task } => Wait::Task { task: *task },
        On::Turn => Wait::Turn,
        On::Resource { resource, line, permits } => Wait::Resource {
            resource: resource.id,
            line: resource.number_of(*line),
            permits: *permits,
        },
    }
}
