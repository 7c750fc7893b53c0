//! What a runtime tells of itself.

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
    },
    /// The task that is being polled waits for a time.
    WaitsForTime {
        /// The time, in nanoseconds of the recorder's clock.
        deadline: u64,
    },
    /// The task that is being polled waits for another one, if that has not ended.
    WaitsForTask {
        /// The id of the other one.
        task: u64,
    },
    /// The task that is being polled has used up its budget, and lets others run.
    OutOfBudget,
}

/// An event, and when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the recorder's clock.
    pub at: u64,
    /// What happened.
    pub event: Event,
}
