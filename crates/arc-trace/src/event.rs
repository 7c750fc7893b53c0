//! What a runtime tells of itself.

/// A kind is that many bits. It leaves 56 for a small number.
const KIND_BITS: u32 = 8;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;

/// A small number may be a line and a place in memory, which has 47 bits.
const LINE_BITS: u32 = 8;
const LINE_MASK: u64 = (1 << LINE_BITS) - 1;

/// A large number may be a resource and how many permits of it are meant.
const RESOURCE_BITS: u32 = 40;
const PERMITS_MAX: u64 = (1 << (64 - RESOURCE_BITS)) - 1;

/// Something that happened on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The thread spawned a task.
    Spawned {
        /// The task's id.
        task: u64,
        /// The id of its runtime.
        runtime: u64,
    },
    /// The thread is in `block_on` from now on. The future has an id as tasks have.
    BlocksOn {
        /// The future's id.
        task: u64,
    },
    /// A task entered a queue (the number of its step is odd) or left it to be polled (even). The
    /// future of a `block_on` is polled after an odd step, until an even one.
    Step {
        /// The task's id.
        task: u64,
        /// Which step of the task it was, from 1.
        number: u64,
    },
    /// A poll has ended.
    Polled {
        /// The task's id.
        task: u64,
        /// How many operations of arc's succeeded in the poll.
        operations: u32,
    },
    /// A task has ended: it finished, panicked, or was aborted.
    Ended {
        /// The task's id.
        task: u64,
    },
    /// The future of a task is dropped from now on: it is ready, or was aborted.
    Drops {
        /// The task's id.
        task: u64,
    },
    /// A task has panicked, in its poll or in the drop of its future. It ends next.
    Panicked {
        /// The task's id.
        task: u64,
    },
    /// The thread runs a worker from now on.
    RunsWorker {
        /// The id of the runtime.
        runtime: u64,
        /// The number of the worker, from 0.
        worker: u32,
    },
    /// The worker of this thread falls asleep.
    Sleeps,
    /// The worker of this thread is awake again.
    Awake,
    /// The thread ends the sleep of a worker.
    Wakes {
        /// The id of the runtime.
        runtime: u64,
        /// The number of the worker, from 0.
        worker: u32,
    },
    /// The thread asks the kernel what has happened.
    AsksKernel {
        /// Whether it waits until something has happened.
        waits: bool,
    },
    /// The kernel has answered.
    KernelTold,
    /// The kernel says that it is worth trying to read or to write.
    Ready {
        /// The number of the descriptor, or of the socket on Windows.
        source: i64,
        /// Whether it is worth trying to read.
        read: bool,
        /// Whether it is worth trying to write.
        write: bool,
    },
    /// The task that is being polled waits until it can read or write.
    WaitsForIo {
        /// The number of the descriptor, or of the socket on Windows.
        source: i64,
        /// Whether it waits to write. Otherwise it waits to read.
        write: bool,
        /// The place in memory of the future that waits. Zero: a `poll_` function waits.
        waiter: u64,
    },
    /// The task that is being polled waits for a time.
    WaitsForTime {
        /// The place in memory of the timer.
        waiter: u64,
        /// The time, in nanoseconds of the recorder's clock.
        deadline: u64,
    },
    /// The task that is being polled waits for another one, if that has not ended.
    WaitsForTask {
        /// The id of the other one.
        task: u64,
    },
    /// The task that is being polled waits for a lock, a channel or the like.
    WaitsFor {
        /// The number of that resource: see [`Recording::resources`](crate::Recording::resources).
        resource: u64,
        /// The line that waits, by its place among those of the resource, from 1. Zero: not known.
        line: u64,
        /// The place in memory of the future that waits. Zero: a `poll_` function waits.
        waiter: u64,
        /// How many permits it waits for. Zero: it waits for something else.
        permits: u64,
    },
    /// The future at a place in memory is ready, or was dropped: nobody waits by it any more.
    NoLongerWaits {
        /// The place.
        waiter: u64,
    },
    /// The handle of a task has given its output, or was dropped.
    NoLongerWaitsForTask {
        /// The id of the task whose handle it is.
        task: u64,
    },
    /// A `poll_` function has given what it waited for.
    Got {
        /// The number of the resource.
        resource: u64,
    },
    /// A future of the task that is being polled has ended, and has given up what it waited for.
    GivesUp {
        /// How many of the waits that were told last these are. Zero: all those for the ends of
        /// tasks.
        waits: u64,
    },
    /// The task that is being polled has got a lock or a permit.
    Holds {
        /// It may be moved to another task.
        may_move: bool,
        /// The number of the resource.
        resource: u64,
        /// The line that asked for it, as in `WaitsFor`.
        line: u64,
    },
    /// A lock or a permit was given back.
    Releases {
        /// The number of the resource.
        resource: u64,
        /// The task that had got it, if it was one. Otherwise zero.
        task: u64,
    },
    /// The thread has sent a value into a channel.
    Sends {
        /// The number of the resource.
        resource: u64,
    },
    /// The thread has taken values out of a channel.
    Receives {
        /// The number of the resource.
        resource: u64,
        /// How many.
        count: u64,
    },
    /// A `select!` of the task that is being polled takes a branch, and drops the others.
    Chooses {
        /// The number of the `select!`, as of other resources.
        resource: u64,
        /// Which branch, from 1.
        branch: u16,
        /// How many branches there are.
        branches: u16,
    },
    /// The task that is being polled has used up its budget, and lets others run.
    OutOfBudget,
    /// A runtime ends. From now on none of its tasks is polled, and those that have not ended are
    /// dropped. Jobs that have begun go on.
    RuntimeCloses {
        /// The id of the runtime.
        runtime: u64,
    },
    /// A simulation has noted something in its log. Only simulations tell this.
    Marked,
    /// The next step is this thread's. Only models tell this, whose threads take turns.
    Scheduled {
        /// The number of the thread, from 0.
        thread: u32,
    },
}

/// An event, and when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the recorder's clock. To read the clock is most of what an event costs, so
    /// what only adds to the event before it has the time of that one: `Ready`, `OutOfBudget`, what
    /// a task waits for, gets and gives back, and values that are sent and received. So has what a
    /// worker does right after a poll (it begins the next one, asks the kernel or falls asleep),
    /// and the step by which a task is woken because of what the kernel has told.
    pub at: u64,
    /// What happened.
    pub event: Event,
}

impl Event {
    /// The event as two numbers: its kind, with a small number above it, and a large number.
    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; 2] {
        let (kind, small, large) = match self {
            // The life of a task.
            Self::Spawned { task, runtime } => (1, runtime, task),
            Self::BlocksOn { task } => (2, 0, task),
            Self::Step { task, number } => (3, number, task),
            Self::Polled { task, operations } => (4, operations.into(), task),
            Self::Ended { task } => (5, 0, task),

            // The workers and the kernel.
            Self::RunsWorker { runtime, worker } => (6, worker.into(), runtime),
            Self::Sleeps => (7, 0, 0),
            Self::Awake => (8, 0, 0),
            Self::Wakes { runtime, worker } => (9, worker.into(), runtime),
            Self::AsksKernel { waits } => (10, waits.into(), 0),
            Self::KernelTold => (11, 0, 0),
            Self::Ready { source, read, write } => {
                let directions = u64::from(read) | u64::from(write) << 1;
                (12, directions, source as u64)
            }

            // What a task waits for.
            Self::WaitsForIo { source, write, waiter } => {
                (13, u64::from(write) | waiter << 1, source as u64)
            }
            Self::WaitsForTime { deadline, waiter } => (14, waiter, deadline),
            Self::WaitsForTask { task } => (15, 0, task),
            Self::OutOfBudget => (16, 0, 0),

            // A kind keeps its number, so those that came later stand in the order of that.
            Self::Scheduled { thread } => (17, 0, thread.into()),
            Self::RuntimeCloses { runtime } => (18, 0, runtime),
            Self::Panicked { task } => (19, 0, task),
            Self::WaitsFor { resource, line, waiter, permits } => {
                // Nobody waits for so many permits. If somebody does, some are not shown.
                let permits = permits.min(PERMITS_MAX);
                let small = line | waiter << LINE_BITS;
                (20, small, resource | permits << RESOURCE_BITS)
            }
            Self::Holds { resource, line, may_move } => {
                (21, line | u64::from(may_move) << LINE_BITS, resource)
            }
            Self::Releases { resource, task } => (22, task, resource),
            Self::Sends { resource } => (23, 0, resource),
            Self::Receives { resource, count } => (24, count, resource),
            Self::Chooses { resource, branch, branches } => {
                (25, u64::from(branch) | u64::from(branches) << 16, resource)
            }
            Self::Marked => (26, 0, 0),
            Self::NoLongerWaits { waiter } => (27, 0, waiter),
            Self::NoLongerWaitsForTask { task } => (28, 0, task),
            Self::Got { resource } => (29, 0, resource),
            Self::GivesUp { waits } => (30, 0, waits),
            Self::Drops { task } => (31, 0, task),
        };
        [kind | small << KIND_BITS, large]
    }

    /// The opposite of `to_words`.
    pub(crate) fn from_words([kind, large]: [u64; 2]) -> Self {
        let small = kind >> KIND_BITS;
        match kind & KIND_MASK {
            // The life of a task.
            1 => Self::Spawned { task: large, runtime: small },
            2 => Self::BlocksOn { task: large },
            3 => Self::Step { task: large, number: small },
            4 => Self::Polled { task: large, operations: small as u32 },
            5 => Self::Ended { task: large },

            // The workers and the kernel.
            6 => Self::RunsWorker { runtime: large, worker: small as u32 },
            7 => Self::Sleeps,
            8 => Self::Awake,
            9 => Self::Wakes { runtime: large, worker: small as u32 },
            10 => Self::AsksKernel { waits: small == 1 },
            11 => Self::KernelTold,
            12 => {
                let (read, write) = (small & 1 > 0, small & 2 > 0);
                Self::Ready { source: large as i64, read, write }
            }

            // What a task waits for.
            13 => {
                let (write, waiter) = (small & 1 > 0, small >> 1);
                Self::WaitsForIo { source: large as i64, write, waiter }
            }
            14 => Self::WaitsForTime { deadline: large, waiter: small },
            15 => Self::WaitsForTask { task: large },
            16 => Self::OutOfBudget,

            // Those that came later.
            17 => Self::Scheduled { thread: large as u32 },
            18 => Self::RuntimeCloses { runtime: large },
            19 => Self::Panicked { task: large },
            20 => Self::WaitsFor {
                resource: large & !(PERMITS_MAX << RESOURCE_BITS),
                line: small & LINE_MASK,
                waiter: small >> LINE_BITS,
                permits: large >> RESOURCE_BITS,
            },
            21 => Self::Holds {
                resource: large,
                line: small & LINE_MASK,
                may_move: small >> LINE_BITS == 1,
            },
            22 => Self::Releases { resource: large, task: small },
            23 => Self::Sends { resource: large },
            24 => Self::Receives { resource: large, count: small },
            25 => Self::Chooses {
                resource: large,
                branch: small as u16,
                branches: (small >> 16) as u16,
            },
            26 => Self::Marked,
            27 => Self::NoLongerWaits { waiter: large },
            28 => Self::NoLongerWaitsForTask { task: large },
            29 => Self::Got { resource: large },
            30 => Self::GivesUp { waits: large },
            31 => Self::Drops { task: large },
            // A ring gives back only what was put into it.
            other => unreachable!("no event has the kind {other}"),
        }
    }

    /// The id of the task that it is about, if it is about one.
    pub(crate) fn task_mut(&mut self) -> Option<&mut u64> {
        match self {
            Self::Spawned { task, .. }
            | Self::BlocksOn { task }
            | Self::Step { task, .. }
            | Self::Polled { task, .. }
            | Self::Ended { task }
            | Self::Drops { task }
            | Self::Panicked { task }
            | Self::WaitsForTask { task }
            | Self::NoLongerWaitsForTask { task }
            | Self::Releases { task, .. } => Some(task),
            // The others are about threads, sources and resources.
            _ => None,
        }
    }

    /// What time it gets.
    #[inline(always)]
    pub(crate) fn time(self) -> Time {
        match self {
            // These add to the event before them.
            Self::Ready { .. }
            | Self::WaitsForIo { .. }
            | Self::WaitsForTime { .. }
            | Self::WaitsForTask { .. }
            | Self::WaitsFor { .. }
            | Self::NoLongerWaits { .. }
            | Self::NoLongerWaitsForTask { .. }
            | Self::Got { .. }
            | Self::GivesUp { .. }
            | Self::Holds { .. }
            | Self::Releases { .. }
            | Self::Sends { .. }
            | Self::Receives { .. }
            | Self::Chooses { .. }
            | Self::Marked
            | Self::OutOfBudget => Time::Before,

            // The future of a `block_on` is the other way round: it comes by `keep_now`.
            Self::Step { number, .. } if number.is_multiple_of(2) => Time::BeginOfPoll,
            Self::Step { .. } => Time::Wake,
            Self::AsksKernel { .. } | Self::Sleeps => Time::AfterPoll,
            _ => Time::Now,
        }
    }

    /// What it is for those after it that may get the same time.
    #[inline(always)]
    pub(crate) fn last(self) -> Last {
        match self {
            Self::Polled { .. } => Last::Polled,
            Self::KernelTold => Last::KernelTold,
            _ => Last::Other,
        }
    }
}

/// What time an event gets. To read the clock is most of what an event costs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    /// That of the event before it.
    Before,
    /// The clock is read.
    Now,
    /// The clock is read, unless the thread has just ended another poll.
    BeginOfPoll,
    /// The same, and the thread runs nothing of the program in between.
    AfterPoll,
    /// The clock is read, unless the thread wakes one task after the other because of what the
    /// kernel has told.
    Wake,
}

/// For which event a thread has read the clock last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Polled,
    KernelTold,
    Other,
}
