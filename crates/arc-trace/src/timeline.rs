//! Puts the records of all threads together: which poll began when, on which thread, and who had
//! woken its task.

use crate::event::{Event, Record};
use crate::recorder::{Origin, Recording};
use crate::resource::{ResourceInfo, What};
use crate::sources::Named;
use crate::tell;
use crate::waiting::{On, Waiting};
use crate::waits;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Write;

/// Of a longer name a reader sees so many letters. A program may give any.
const NAME_MAX: usize = 200;

/// So many values may seem to come out of a channel before they were sent. If there are more, the
/// records of those that were sent have been left out.
const EARLY_MAX: u64 = 64;

/// What happened in a program. All times are nanoseconds of the recorder's clock.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Timeline {
    /// When the first event happened.
    pub begin: u64,
    /// When the recording was taken.
    pub end: u64,
    /// The threads.
    pub lanes: Vec<Lane>,
    /// The tasks, the jobs of `spawn_blocking`, and the futures of `block_on`, by their ids.
    pub tasks: BTreeMap<u64, Task>,
    /// In the order in which they began.
    pub polls: Vec<Poll>,
    /// In the order in which they began.
    pub sleeps: Vec<Sleep>,
    /// The looks at the kernel, in the order in which they began.
    pub looks: Vec<Look>,
    /// The steps of a model, in their order. Empty if it is no model that was recorded.
    pub schedule: Vec<ScheduleStep>,
    /// The locks, channels and so on that tasks wait for, by their numbers.
    pub resources: BTreeMap<u64, ResourceInfo>,
    /// Who had a lock or a permit, and when, in the order in which they got it.
    pub holds: Vec<Hold>,
    /// The places of those of each resource.
    pub(crate) holds_of: BTreeMap<u64, Vec<usize>>,
    /// The values that were sent into channels, in that order.
    pub(crate) values: Vec<Value>,
    /// How often each task received from each `watch` channel, and how often anybody sent there.
    pub(crate) seen: BTreeMap<(u64, u64), Seen>,
    pub(crate) sent: BTreeMap<u64, usize>,
    /// What the tasks wait for whose last polls were left out, and since when.
    pub(crate) kept: BTreeMap<u64, (u64, Vec<Wait>)>,
    /// What tasks have asked for before their last polls.
    pub(crate) earlier: BTreeMap<u64, Earlier>,
    /// The step of the last poll of each task that has spawned or sent something.
    pub(crate) moved: HashMap<u64, u64>,
    /// What descriptors are that are no sockets.
    pub(crate) named: Vec<Named>,
    /// A thread that is none of arc's goes on by itself.
    pub(crate) others_go_on: bool,
    /// How many events there are.
    pub events: usize,
    /// How many older events were left out.
    pub left_out: u64,
    /// From when on no thread has left anything out.
    pub(crate) complete_since: u64,
}

/// What a task has asked for, by futures that are still there, and which its last poll has not
/// asked for again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    /// Since when, and what.
    pub(crate) kept: Vec<(u64, Wait)>,
    /// These were given up, as by a `select!` that has borrowed them.
    pub(crate) given_up: Vec<(u64, Wait)>,
    /// There is more.
    pub(crate) is_crowded: bool,
}

/// A thread.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lane {
    /// The thread's name. Of a long one, the beginning.
    pub name: String,
    /// The runtime and the number of the worker that the thread ran last.
    pub worker: Option<(u64, u32)>,
    /// Indices into [`Timeline::polls`], in their order.
    pub polls: Vec<usize>,
    /// The runtimes whose workers it has run.
    pub(crate) runtimes: Vec<u64>,
    /// From when on the thread has left nothing out.
    pub(crate) complete_since: u64,
}

/// A task, a job of `spawn_blocking`, or the future of a `block_on`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Task {
    /// Its name, if it has one. Of a long one, the beginning.
    pub name: Option<String>,
    /// The line that spawned it: file, line and column.
    pub location: String,
    /// The id of its runtime, if that is known.
    pub runtime: Option<u64>,
    /// It is a job of `spawn_blocking`.
    pub is_job: bool,
    /// It is no task but the future of a `block_on`.
    pub is_main: bool,
    /// When it was spawned, and by whom. None: that was before the first event.
    pub spawned: Option<(u64, By)>,
    /// When it ended.
    pub ended: Option<u64>,
    /// When it panicked, which it ended by.
    pub panicked: Option<u64>,
    /// When its runtime ended, and dropped it unfinished.
    pub dropped: Option<u64>,
    /// Indices into [`Timeline::polls`], in their order.
    pub polls: Vec<usize>,
    /// It waits in a queue at the end, or did when it was dropped.
    pub queued: Option<Queued>,
}

/// What a thread did when it spawned or woke a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// It polled a task: an index into [`Timeline::polls`].
    Poll(usize),
    /// It woke what the kernel and the clock had ready: an index into [`Timeline::looks`].
    Look(usize),
    /// Something else: an index into [`Timeline::lanes`].
    Thread(usize),
}

/// Which queue a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// That of the worker which this thread runs: an index into [`Timeline::lanes`].
    Worker(usize),
    /// That of tasks which were spawned or woken outside of the workers.
    Injector,
    /// That of the blocking pool.
    Pool,
}

/// A task was put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queued {
    /// When.
    pub at: u64,
    /// By whom.
    pub by: By,
    /// Into which queue.
    pub place: Place,
    /// Which step of the task that was. The next one takes it out of the queue.
    pub(crate) step: u64,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// A socket or another descriptor, by its number.
    Io {
        /// The number.
        source: i64,
        /// To write. Otherwise it waits to read.
        write: bool,
    },
    /// A time.
    Time {
        /// The time.
        deadline: u64,
    },
    /// The end of a task.
    Task {
        /// The task's id.
        task: u64,
    },
    /// Its next turn: its budget is used up.
    Turn,
    /// A lock, a channel or the like.
    Resource {
        /// Its number in [`Timeline::resources`].
        resource: u64,
        /// The line that waits, by its place in [`ResourceInfo::lines`], from 1. Zero: not known.
        line: u64,
        /// How many permits it waits for. Zero: it waits for something else.
        permits: u64,
    },
}

/// A task had a lock or a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hold {
    /// Its number in [`Timeline::resources`].
    pub resource: u64,
    /// The task that got it. Zero: it was no task.
    pub task: u64,
    /// The line that asked for it, as in [`Wait::Resource`].
    pub line: u64,
    /// When the task got it.
    pub begin: u64,
    /// When it was given back. None: it was not.
    pub end: Option<u64>,
    /// Its guard may be moved to another task.
    pub may_move: bool,
    /// The step by which the poll began that got it.
    pub(crate) step: u64,
}

/// A value that was sent into a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) resource: u64,
    pub(crate) sent: u64,
    /// When it was received, and by which task.
    pub(crate) received: Option<(u64, u64)>,
}

/// How often a task saw values of a `watch` channel, and when first and last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) count: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// One poll of a task, or a job from its beginning to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Poll {
    /// The task's id.
    pub task: u64,
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// How the task came into a queue. None for the future of a `block_on`, or if that was before
    /// the first event.
    pub queued: Option<Queued>,
    /// When it began.
    pub begin: u64,
    /// When it ended. None: it has not ended.
    pub end: Option<u64>,
    /// The number of the step by which it began.
    pub(crate) step: u64,
    /// How many operations of arc's succeeded in it.
    pub operations: u32,
    /// The task has ended with it.
    pub is_last: bool,
    /// What the task waits for after it, as far as arc knows.
    pub waits: Vec<Wait>,
    /// When the drop of the task's future began, if it was dropped in this poll.
    pub(crate) drops: Option<u64>,
    /// It spawned or woke a task.
    pub did_wake: bool,
    /// It did nothing that arc knows of, and the task waits for the same as before.
    pub did_nothing: bool,
}

/// A sleep of a worker.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sleep {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// The runtime of the worker, if that is known.
    pub runtime: Option<u64>,
    /// When it began.
    pub begin: u64,
    /// When it ended. None: it has not ended.
    pub end: Option<u64>,
    /// The worker waited for the kernel, in the driver's seat. Otherwise it was parked.
    pub in_seat: bool,
    /// Who woke it. None: the kernel, or the clock.
    pub woken: Option<(u64, By)>,
}

/// A look at the kernel and the clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Look {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// The runtime for which it asked, if that is known.
    pub runtime: Option<u64>,
    /// When the thread asked.
    pub begin: u64,
    /// When the kernel answered. None: it has not.
    pub end: Option<u64>,
    /// The thread waited for something to happen.
    pub waits: bool,
    /// The sources that the kernel reported, and whether it is worth trying to read and to write.
    pub ready: Vec<(i64, [bool; 2])>,
}

/// A step of a model's schedule: a thread goes on until it touches something that others share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScheduleStep {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// When it began.
    pub at: u64,
    /// What the runtime told of it.
    pub events: Vec<Event>,
}

impl Lane {
    /// Where the thread's row stands: the workers come first, by their runtimes and numbers.
    pub(crate) fn rank(&self) -> (u64, u32) {
        self.worker.unwrap_or((u64::MAX, u32::MAX))
    }

    /// Whether it has run a worker of a runtime. None: of any.
    pub(crate) fn works_for(&self, runtime: Option<u64>) -> bool {
        self.worker.is_some() && runtime.is_none_or(|runtime| self.runtimes.contains(&runtime))
    }

    /// From now on it runs this worker.
    fn runs(&mut self, worker: (u64, u32)) {
        self.worker = Some(worker);
        if !self.runtimes.contains(&worker.0) {
            self.runtimes.push(worker.0);
        }
    }
}

impl Poll {
    /// How long it took, in nanoseconds. A poll that has not ended took until `end`.
    pub fn time(&self, end: u64) -> u64 {
        self.end.unwrap_or(end).saturating_sub(self.begin)
    }

    /// How long the task had waited in the queue, in nanoseconds.
    pub fn waited(&self) -> u64 {
        self.queued.map_or(0, |queued| self.begin.saturating_sub(queued.at))
    }
}

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

    fn by(&self, lane: usize) -> By {
        match (self.polls.last(), self.looked) {
            (Some(&poll), _) => By::Poll(poll),
            (None, Some(look)) => By::Look(look),
            (None, None) => By::Thread(lane),
        }
    }
}

/// So many waits of one task are known.
const WAITS_MAX: usize = 1_024;

/// A timer that has expired so long before the end has woken its task, which has not asked again.
const EXPIRED: u64 = 1_000_000_000;

/// Something that a task has asked for and not got.
struct Open {
    /// The place in memory of the future. Zero: a `poll_` function has asked.
    waiter: u64,
    wait: Wait,
    at: u64,
    since: u64,
    /// The poll that has asked last.
    poll: usize,
    /// How many waits were told of by then.
    told: u64,
    is_given_up: bool,
}

/// The state while the records are read.
struct Reader {
    timeline: Timeline,
    doing: Vec<Doing>,
    /// The last time at which a worker was woken that has not slept since.
    woken: HashMap<(u64, u32), (u64, By)>,
    /// The runtimes that have ended. It is told again and again.
    closed: HashSet<u64>,
    /// What each task has of each resource, as indices into [`Timeline::holds`].
    held: HashMap<(u64, u64), Vec<usize>>,
    channels: HashMap<u64, Channel>,
    /// What each task has asked for, and whether there was more.
    open: HashMap<u64, (Vec<Open>, bool)>,
    /// How many waits each thread has told of.
    told: HashMap<usize, u64>,
    /// When the kernel has reported each source last, to be read and to be written.
    ready: HashMap<i64, [u64; 2]>,
}

/// The values in a channel.
#[derive(Default)]
struct Channel {
    /// Indices into `Timeline::values`.
    sent: VecDeque<usize>,
    /// When values were received that nobody has sent so far, and by which tasks.
    received: VecDeque<(u64, u64)>,
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

    /// Whether the task panicked in a poll, which ended it.
    pub(crate) fn did_panic(&self, poll: &Poll) -> bool {
        poll.is_last && self.tasks[&poll.task].panicked.is_some()
    }

    /// When tasks came into queues (1) and left them (-1), in the order of time.
    pub(crate) fn queue_changes(&self) -> Vec<(u64, i64)> {
        let mut changes = Vec::new();
        for poll in &self.polls {
            if let Some(queued) = poll.queued {
                changes.extend([(queued.at, 1), (poll.begin, -1)]);
            }
        }
        for task in self.tasks.values() {
            let Some(queued) = task.queued else { continue };
            changes.push((queued.at, 1));
            changes.extend(task.dropped.map(|at| (at, -1)));
        }
        changes.sort_unstable();
        changes
    }

    /// The task's id, name and place, for a reader.
    pub fn label(&self, id: u64) -> String {
        let Some(task) = self.tasks.get(&id) else { return format!("task {id}") };
        let kind = match (task.is_main, task.is_job) {
            (true, _) => "block_on",
            (false, true) => "job",
            (false, false) => "task",
        };
        let mut label = format!("{kind} {id}");
        if let Some(name) = &task.name {
            let _ = write!(label, " \"{name}\"");
        }
        if !task.location.is_empty() {
            let _ = write!(label, " ({})", task.location);
        }
        label
    }

    /// The thread's role and name, for a reader.
    pub fn lane_label(&self, lane: usize) -> String {
        let lane = &self.lanes[lane];
        let Some((_, worker)) = lane.worker else { return lane.name.clone() };
        let mut label = format!("worker {worker}");
        // A thread that has run workers of several, one after the other, is of none of them.
        if let [runtime] = lane.runtimes[..]
            && self.lanes.iter().any(|other| other.runtimes.iter().any(|other| *other != runtime))
        {
            let _ = write!(label, " of runtime {runtime}");
        }
        if !lane.name.ends_with(&format!("worker-{worker}")) {
            let _ = write!(label, " ({})", lane.name);
        }
        label
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
        if let Event::Step { task, number } = record.event
            && let Some(&(other, at)) = steps.get(&(task, number.wrapping_sub(1)))
            && other != *lane
            && at > record.at
        {
            earliest = earliest.max(at + 1);
        }
        any_was_early |= record.at < earliest;
        record.at = record.at.max(earliest);
    }
    any_was_early
}

impl Reader {
    fn new(recording: &Recording) -> Self {
        let taken = recording.taken;
        let mut timeline = Timeline { end: taken, ..Timeline::default() };
        let mut doing = Vec::new();
        for thread in &recording.threads {
            let (name, worker) = (cut(&thread.name), thread.worker);
            let first = thread.records.first().map_or(taken, |first| first.at.min(taken));
            let complete_since = if thread.left_out > 0 { first } else { 0 };
            timeline.left_out += thread.left_out;
            timeline.complete_since = timeline.complete_since.max(complete_since);
            let mut lane = Lane { name, complete_since, ..Lane::default() };
            if let Some(worker) = worker {
                lane.runs(worker);
            }
            timeline.lanes.push(lane);
            doing.push(Doing { worker, ..Doing::default() });
        }
        // What ended before the first event says nothing.
        for (&id, origin) in &recording.tasks {
            if origin.ended.is_none_or(|ended| ended > taken) {
                timeline.tasks.insert(id, Task::new(Some(origin)));
            }
        }
        timeline.resources = recording.resources.clone();
        timeline.named = recording.named.clone();
        timeline.others_go_on = recording.others_go_on;
        let mut reader = Self {
            timeline,
            doing,
            woken: HashMap::new(),
            closed: HashSet::new(),
            held: HashMap::new(),
            channels: HashMap::new(),
            open: HashMap::new(),
            told: HashMap::new(),
            ready: HashMap::new(),
        };
        reader.name_tasks(recording);
        reader
    }

    /// Also those that have ended, if some record is about them.
    fn name_tasks(&mut self, recording: &Recording) {
        for record in recording.threads.iter().flat_map(|thread| &thread.records) {
            if let Event::Step { task, .. } | Event::Spawned { task, .. } = record.event {
                let origin = recording.tasks.get(&task);
                self.timeline.tasks.entry(task).or_insert_with(|| Task::new(origin));
            }
        }
        recording.threads.iter().filter_map(|thread| thread.main).for_each(|id| self.is_main(id));
    }

    /// The task is the future of a `block_on`. If nothing else is known of it, it has ended.
    fn is_main(&mut self, id: u64) {
        if let Some(task) = self.timeline.tasks.get_mut(&id) {
            task.is_main = true;
        }
    }

    fn read(&mut self, lane: usize, Record { at, event }: Record) {
        self.timeline.read_schedule(lane, at, event);
        match event {
            Event::Spawned { task, runtime } => {
                let by = self.by(lane);
                self.moves(lane);
                let task = self.task(task);
                (task.spawned, task.runtime) = (Some((at, by)), Some(runtime));
            }
            Event::BlocksOn { task } => self.is_main(task),
            Event::Step { task, number } => self.step(lane, at, task, number),
            Event::Polled { task, operations } => self.end_poll(lane, at, task, operations),
            Event::Ended { task } => self.end_task(lane, at, task),
            Event::Panicked { task } => self.panic(at, task),
            Event::RunsWorker { runtime, worker } => {
                self.doing[lane].worker = Some((runtime, worker));
                self.timeline.lanes[lane].runs((runtime, worker));
            }
            Event::Wakes { runtime, worker } => {
                let by = self.by(lane);
                self.woken.insert((runtime, worker), (at, by));
            }
            Event::Sleeps | Event::Awake => self.sleep(lane, at, event == Event::Sleeps),
            Event::AsksKernel { .. } | Event::KernelTold | Event::Ready { .. } => {
                self.look(lane, at, event);
            }
            Event::WaitsForIo { source, write, waiter } => {
                let source = self.named(source, at);
                self.wait(lane, at, waiter, Wait::Io { source, write });
            }
            Event::WaitsForTime { deadline, waiter } => {
                self.wait(lane, at, waiter, Wait::Time { deadline });
            }
            Event::WaitsForTask { task } => {
                self.wait(lane, at, tell::handle(task), Wait::Task { task });
            }
            Event::WaitsFor { resource, line, waiter, permits } => {
                self.wait(lane, at, waiter, Wait::Resource { resource, line, permits });
            }
            Event::NoLongerWaits { waiter } => self.end_wait(lane, |wait| wait.waiter == waiter),
            Event::NoLongerWaitsForTask { task } => {
                self.end_wait(lane, |wait| wait.waiter == tell::handle(task));
            }
            Event::Got { resource } => self.end_wait(lane, |wait| {
                let is_it =
                    matches!(wait.wait, Wait::Resource { resource: of, .. } if of == resource);
                wait.waiter == 0 && is_it
            }),
            Event::GivesUp { waits } => self.give_up(lane, at, waits),
            Event::Drops { task } => self.drop_future(lane, at, task),
            Event::Holds { resource, line, may_move } => {
                self.hold(lane, at, resource, line, may_move);
            }
            Event::Releases { resource, task } => self.release(at, resource, task),
            Event::Sends { resource } => {
                self.moves(lane);
                self.send(at, resource);
            }
            Event::Receives { resource, count } => self.receive(lane, at, resource, count),
            Event::OutOfBudget => self.wait(lane, at, 0, Wait::Turn),
            Event::RuntimeCloses { runtime } => self.close(at, runtime),
            Event::Scheduled { .. } | Event::Chooses { .. } | Event::Marked => {}
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
        for waiting in &recording.waiting {
            self.keep(waiting);
        }
        for (task, (open, is_crowded)) in std::mem::take(&mut self.open) {
            let earlier = self.earlier(task, open, is_crowded);
            self.timeline.earlier.insert(task, earlier);
        }
    }

    /// What is left of what a task has asked for before its last poll.
    fn earlier(&self, task: u64, open: Vec<Open>, is_crowded: bool) -> Earlier {
        let mut earlier = Earlier { is_crowded, ..Earlier::default() };
        let last = self.timeline.tasks.get(&task).and_then(|task| task.polls.last());
        for Open { waiter, wait, at, since, poll, is_given_up, .. } in open {
            let is_asked = Some(&poll) == last && !is_given_up;
            let is_over = match wait {
                Wait::Turn => true,
                Wait::Time { deadline } => deadline.saturating_add(EXPIRED) < self.timeline.end,
                Wait::Task { task } => {
                    self.timeline.tasks.get(&task).is_none_or(|task| task.ended.is_some())
                }
                Wait::Io { source, write } => {
                    let ready = self.ready.get(&source).map_or(0, |at| at[usize::from(write)]);
                    waiter == 0 && ready > at
                }
                Wait::Resource { resource, .. } => {
                    let info = self.timeline.resources.get(&resource);
                    waiter == 0 && info.is_none_or(|info| info.is_gone)
                }
            };
            match is_given_up {
                _ if is_asked || is_over => {}
                true => earlier.given_up.push((since, wait)),
                false => earlier.kept.push((since, wait)),
            }
        }
        earlier
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
        let waits = |open: &[waits::Open]| open.iter().map(|wait| wait_of(&wait.on)).collect();
        self.timeline.kept.insert(waiting.task, (waiting.since, waits(&waiting.asked)));
        let with_times = |open: &[waits::Open]| {
            open.iter().map(|wait| (wait.since, wait_of(&wait.on))).collect()
        };
        // The record of what it has asked for before is not whole.
        self.open.remove(&waiting.task);
        let earlier = Earlier {
            kept: with_times(&waiting.kept),
            given_up: with_times(&waiting.given_up),
            is_crowded: waiting.is_crowded,
        };
        self.timeline.earlier.insert(waiting.task, earlier);
    }

    /// A runtime ends, and drops the tasks that have not ended.
    fn close(&mut self, at: u64, runtime: u64) {
        if !self.closed.insert(runtime) {
            return;
        }
        for task in self.timeline.tasks.values_mut() {
            let has_begun = task.is_job && !task.polls.is_empty();
            let is_over = task.ended.is_some() || task.dropped.is_some();
            if task.runtime == Some(runtime) && !has_begun && !task.is_main && !is_over {
                task.dropped = Some(at);
            }
        }
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
        let Some(place) = open.iter().rposition(|&index| polls[index].task == task) else {
            return;
        };
        let index = open[place];
        for inner in open.drain(place..) {
            polls[inner].end.get_or_insert(at);
        }
        polls[index].end = Some(at);
        polls[index].operations = operations;
        if let Some((open, _)) = self.open.get(&task) {
            for wait in open.iter().filter(|wait| wait.poll == index && !wait.is_given_up) {
                if !polls[index].waits.contains(&wait.wait) {
                    polls[index].waits.push(wait.wait);
                }
            }
        }

        // The poll before it, if the task has one.
        let all = &self.timeline.tasks[&task].polls;
        let before = all.len().checked_sub(2).map(|before| polls[all[before]].waits.clone());
        let poll = &mut polls[index];
        let waits_for_the_same = before.is_some_and(|before| before == poll.waits);
        poll.did_nothing = waits_for_the_same
            && !poll.is_last
            && !poll.did_wake
            && !poll.waits.is_empty()
            && !poll.waits.contains(&Wait::Turn)
            && operations == 0;
    }

    fn end_task(&mut self, lane: usize, at: u64, id: u64) {
        let is_job = self.task(id).is_job;
        self.task(id).ended = Some(at);
        self.task(id).queued = None;
        self.open.remove(&id);
        let Some(&poll) = self.doing[lane].polls.last() else { return };
        if self.timeline.polls[poll].task == id {
            self.timeline.polls[poll].is_last = true;
            // The poll of a task goes on for a moment. Of a job nothing more is told.
            self.timeline.polls[poll].end = Some(at);
            if is_job {
                self.end_poll(lane, at, id, 0);
            }
        }
    }

    /// The tasks of a `LocalSet` panic as well, but nothing else is told of them.
    fn panic(&mut self, at: u64, id: u64) {
        if let Some(task) = self.timeline.tasks.get_mut(&id) {
            task.panicked = Some(at);
        }
    }

    fn sleep(&mut self, lane: usize, at: u64, begins: bool) {
        let sleeps = &mut self.timeline.sleeps;
        if begins {
            let runtime = self.doing[lane].runtime();
            let sleep = Sleep { lane, runtime, begin: at, end: None, in_seat: false, woken: None };
            self.doing[lane].sleep = Some(sleeps.len());
            self.doing[lane].looked = None;
            sleeps.push(sleep);
        } else if let Some(index) = self.doing[lane].sleep.take() {
            let woken = self.doing[lane].worker.and_then(|worker| self.woken.remove(&worker));
            sleeps[index].end = Some(at);
            sleeps[index].woken = woken.filter(|(when, _)| *when >= sleeps[index].begin);
        }
    }

    fn look(&mut self, lane: usize, at: u64, event: Event) {
        let (looks, doing) = (&mut self.timeline.looks, &mut self.doing[lane]);
        match event {
            Event::AsksKernel { waits } => {
                doing.look = Some(looks.len());
                doing.looked = None;
                if let Some(sleep) = doing.sleep {
                    self.timeline.sleeps[sleep].in_seat = true;
                }
                let runtime = doing.runtime();
                looks.push(Look { lane, runtime, begin: at, end: None, waits, ready: Vec::new() });
            }
            Event::KernelTold => {
                doing.looked = doing.look.take();
                if let Some(look) = doing.looked {
                    looks[look].end = Some(at);
                }
            }
            Event::Ready { source, read, write } => {
                let source = named(&self.timeline.named, source, at);
                let ready = self.ready.entry(source).or_default();
                for (direction, is_ready) in [read, write].into_iter().enumerate() {
                    if is_ready {
                        ready[direction] = at;
                    }
                }
                if let Some(look) = doing.looked {
                    looks[look].ready.push((source, [read, write]));
                }
            }
            _ => {}
        }
    }

    /// The task that a thread polls. Zero: it polls none.
    fn polled(&self, lane: usize) -> u64 {
        let poll = self.doing[lane].polls.last();
        poll.map_or(0, |&poll| self.timeline.polls[poll].task)
    }

    fn hold(&mut self, lane: usize, at: u64, resource: u64, line: u64, may_move: bool) {
        let task = self.polled(lane);
        let step = self.doing[lane].polls.last().map_or(0, |&poll| self.timeline.polls[poll].step);
        let index = self.timeline.holds.len();
        let hold = Hold { resource, task, line, begin: at, end: None, may_move, step };
        self.timeline.holds.push(hold);
        self.timeline.holds_of.entry(resource).or_default().push(index);
        self.held.entry((resource, task)).or_default().push(index);
    }

    fn release(&mut self, at: u64, resource: u64, task: u64) {
        let held = self.held.get_mut(&(resource, task)).and_then(Vec::pop);
        if let Some(hold) = held {
            self.timeline.holds[hold].end = Some(at);
        }
    }

    /// Values come out in the order in which they were sent. Threads tell of them by the times of
    /// their last events, so that a value may seem to have come out before it was sent.
    fn send(&mut self, at: u64, resource: u64) {
        if self.is_watch(resource) {
            *self.timeline.sent.entry(resource).or_default() += 1;
            return;
        }
        let index = self.timeline.values.len();
        let channel = self.channels.entry(resource).or_default();
        let received = channel.received.pop_front();
        if received.is_none() {
            channel.sent.push_back(index);
        }
        self.timeline.values.push(Value { resource, sent: at, received });
    }

    fn receive(&mut self, lane: usize, at: u64, resource: u64, count: u64) {
        let by = self.polled(lane);
        if self.is_watch(resource) {
            let new = Seen { count: 0, first: at, last: at };
            let seen = self.timeline.seen.entry((resource, by)).or_insert(new);
            seen.count += 1;
            seen.last = at;
            return;
        }
        let channel = self.channels.entry(resource).or_default();
        let known = channel.sent.len().min(count as usize);
        for value in channel.sent.drain(..known) {
            self.timeline.values[value].received = Some((at, by));
        }
        // Of the others nothing is known, or nothing yet.
        let early = (count - known as u64).min(EARLY_MAX);
        channel.received.extend((0..early).map(|_| (at, by)));
    }

    /// Values of such a channel are no queue: each receiver sees the last one.
    fn is_watch(&self, resource: u64) -> bool {
        self.timeline.resources.get(&resource).is_some_and(|info| info.what == What::Watch)
    }

    fn wait(&mut self, lane: usize, at: u64, waiter: u64, wait: Wait) {
        let Some(&poll) = self.doing[lane].polls.last() else { return };
        let told = self.told.entry(lane).or_default();
        *told += 1;
        let task = self.timeline.polls[poll].task;
        let (open, is_crowded) = self.open.entry(task).or_default();
        // Its next turn has come.
        open.retain(|wait| wait.poll == poll || !matches!(wait.wait, Wait::Turn));
        let is_it = |open: &&mut Open| open.waiter == waiter && (waiter > 0 || open.wait == wait);
        if let Some(open) = open.iter_mut().find(is_it) {
            if open.wait != wait && !matches!(wait, Wait::Time { .. }) {
                open.since = at;
            }
            (open.wait, open.at, open.poll, open.told) = (wait, at, poll, *told);
            open.is_given_up = false;
        } else if open.len() < WAITS_MAX {
            let (told, is_given_up) = (*told, false);
            open.push(Open { waiter, wait, at, since: at, poll, told, is_given_up });
        } else {
            *is_crowded = true;
        }
    }

    /// Some waits of the task that a thread polls are over.
    fn end_wait(&mut self, lane: usize, is_over: impl Fn(&Open) -> bool) {
        if let Some((open, is_crowded)) = self.open.get_mut(&self.polled(lane)) {
            open.retain(|wait| !is_over(wait));
            *is_crowded &= !open.is_empty();
        }
    }

    /// The last waits that a thread has told of are given up.
    fn give_up(&mut self, lane: usize, at: u64, waits: u64) {
        let told = self.told.get(&lane).copied().unwrap_or(0);
        let Some(&poll) = self.doing[lane].polls.last() else { return };
        let task = self.timeline.polls[poll].task;
        let Some((open, _)) = self.open.get_mut(&task) else { return };
        let is_it = |wait: &&mut Open| match waits {
            0 => matches!(wait.wait, Wait::Task { .. }),
            _ => wait.poll == poll && wait.told + waits > told,
        };
        for wait in open.iter_mut().filter(is_it) {
            wait.is_given_up = true;
            wait.at = at;
        }
    }

    /// The drop of a task's future begins. It may give up things, as the poll before did.
    fn drop_future(&mut self, lane: usize, at: u64, task: u64) {
        if let Some(&poll) = self.doing[lane].polls.last()
            && self.timeline.polls[poll].task == task
        {
            self.timeline.polls[poll].drops = Some(at);
        }
    }

    /// The task that a thread polls has spawned or sent something.
    fn moves(&mut self, lane: usize) {
        if let Some(&poll) = self.doing[lane].polls.last() {
            let poll = &self.timeline.polls[poll];
            self.timeline.moved.insert(poll.task, poll.step);
        }
    }

    /// The number of a source. One with a name gets another one: see [`NAME_BITS`].
    fn named(&self, source: i64, at: u64) -> i64 {
        named(&self.timeline.named, source, at)
    }
}

/// A source with a name has its place among the names above these bits, from 1.
const NAME_BITS: u32 = 40;

fn named(names: &[Named], source: i64, at: u64) -> i64 {
    let is_it = |named: &Named| {
        named.source == source && named.from <= at && named.to.is_none_or(|to| at <= to)
    };
    match names.iter().rposition(is_it) {
        Some(place) => source | (place as i64 + 1) << NAME_BITS,
        None => source,
    }
}

impl Timeline {
    /// The name of a source, if it has one.
    pub(crate) fn name_of(&self, source: i64) -> Option<&str> {
        let place = usize::try_from(source >> NAME_BITS).ok()?.checked_sub(1)?;
        self.named.get(place).map(|named| &*named.name)
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

impl Task {
    fn new(origin: Option<&Origin>) -> Self {
        let Some(origin) = origin else { return Self::default() };
        Self {
            name: origin.name.as_deref().map(cut),
            location: origin.location.to_string(),
            runtime: Some(origin.runtime),
            is_job: origin.is_job,
            ..Self::default()
        }
    }
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
