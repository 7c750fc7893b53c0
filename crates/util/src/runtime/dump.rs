//! What every task does, when a program hangs.

use arc::runtime::Handle;
use arc::task::{Id, TaskInfo};
use std::collections::HashMap;
use std::fmt;
use std::mem::discriminant;
use std::time::Instant;

/// What every task of a runtime did at one moment; made by
/// [`HandleExt::dump`](super::HandleExt::dump).
///
/// Its `Display` is a report for people: a line for each task with its id, its name, the line that
/// spawned it, how often it was polled, and what it does. [`after`](Self::after) adds since when.
///
/// arc does not know what a task waits for. Tasks of a `LocalSet`, and the futures in `block_on`,
/// are not listed.
#[derive(Clone, Debug)]
pub struct Dump {
    taken: Instant,
    workers: usize,
    /// In the order of their ids.
    tasks: Vec<TaskInfo>,
    /// The tasks that are known to have done nothing else since this time.
    unchanged: HashMap<Id, Instant>,
}

impl Dump {
    pub(super) fn take(handle: &Handle) -> Self {
        let mut tasks = handle.tasks();
        tasks.sort_by_key(|task| task.id);
        Self { taken: Instant::now(), workers: handle.workers(), tasks, unchanged: HashMap::new() }
    }

    /// Returns all tasks that had not ended, in the order of their ids.
    pub fn tasks(&self) -> &[TaskInfo] {
        &self.tasks
    }

    /// Compares this dump with an earlier one of the same runtime, and notes for each task whether
    /// it was polled since. The report then says for how long at least a task has been idle, or has
    /// waited in a queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::{Handle, HandleExt};
    /// # #[arc::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let task = arc::spawn(std::future::pending::<()>());
    /// # arc::task::yield_now().await;
    /// let earlier = Handle::current().dump();
    /// // Some time later, when the program seems to hang:
    /// let dump = Handle::current().dump().after(&earlier);
    /// assert!(dump.to_string().contains("so for at least"));
    /// # task.abort();
    /// # }
    /// ```
    #[must_use]
    pub fn after(mut self, earlier: &Self) -> Self {
        let before: HashMap<Id, &TaskInfo> =
            earlier.tasks.iter().map(|task| (task.id, task)).collect();
        for task in &self.tasks {
            let is_unchanged = before.get(&task.id).is_some_and(|before| {
                before.polls == task.polls
                    && discriminant(&before.state) == discriminant(&task.state)
            });
            if is_unchanged {
                let since = earlier.unchanged.get(&task.id).unwrap_or(&earlier.taken);
                self.unchanged.insert(task.id, *since);
            }
        }
        self
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, workers) = (self.tasks.len(), self.workers);
        let plural = |count| if count == 1 { "" } else { "s" };
        let (s, t) = (plural(tasks), plural(workers));
        writeln!(formatter, "arc: {tasks} unfinished task{s}, {workers} worker{t}")?;
        for task in &self.tasks {
            write!(formatter, "  {task}")?;
            if let Some(since) = self.unchanged.get(&task.id) {
                let seconds = self.taken.duration_since(*since).as_secs_f64();
                write!(formatter, ", so for at least {seconds:.1} s")?;
            }
            writeln!(formatter)?;
        }
        write!(
            formatter,
            "  (not known: what a task waits for, tasks of a LocalSet, futures in block_on)"
        )
    }
}

/// Prints a dump to standard error whenever the process gets a signal.
#[cfg(unix)]
pub(super) mod on_signal {
    use super::Dump;
    use crate::signal::unix::{SignalKind, register};
    use arc::runtime::Handle;
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// Starts the thread that prints.
    pub(crate) fn start(handle: Handle, kind: SignalKind) -> io::Result<()> {
        let (reader, writer) = UnixStream::pair()?;
        // Not a task: the workers may be what hangs.
        thread::Builder::new().name("arc-dump".to_owned()).spawn(|| print_each(handle, reader))?;
        register(kind, writer)?;
        Ok(())
    }

    /// Prints a dump for each byte that the signal handler writes.
    fn print_each(handle: Handle, mut reader: UnixStream) {
        let mut last: Option<Dump> = None;
        while reader.read_exact(&mut [0]).is_ok() {
            let mut dump = Dump::take(&handle);
            if let Some(last) = &last {
                dump = dump.after(last);
            }
            // Nobody may be reading any more.
            let _ = writeln!(io::stderr(), "{dump}");
            last = Some(dump);
        }
    }
}
