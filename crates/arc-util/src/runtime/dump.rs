//! What every task does, when a program hangs.

use super::handle::Handle;
#[cfg(unix)]
use crate::signal::unix::SignalKind;
use crate::task::TaskInfo;
use arc::task::Id;
use std::fmt;
#[cfg(unix)]
use std::io;
use std::mem::discriminant;
use std::time::{Duration, Instant};

/// How long a thread takes at most that was woken, as a rule.
const A_MOMENT: Duration = Duration::from_millis(50);

/// What every task of a runtime did at one moment; made by
/// [`Handle::dump`].
///
/// Its `Display` is a report for people: a line for each task with its id, its name, the line that
/// spawned it, how often it was polled, and what it does. [`after`](Self::after) adds since when,
/// and how often it is polled in a second: a task that spins stands out by that.
///
/// With the feature `waits` it also says what each task waits for and for how long it has, who has
/// that lock, and which tasks wait for each other, so that none of them can go on: a deadlock. The
/// futures in `block_on` that wait are listed, too. Without it, arc does not know what a task waits
/// for, and these are not listed. Tasks of a `LocalSet` never are.
#[derive(Clone, Debug)]
pub struct Dump {
    taken: Instant,
    workers: usize,
    /// In the order of their ids.
    tasks: Vec<TaskInfo>,
    /// What they did since an earlier dump, in the same order. Empty if there is none.
    activity: Vec<Activity>,
    waits: Waits,
}

/// What a task did since an earlier dump.
#[derive(Clone, Debug)]
struct Activity {
    /// It is known to have done nothing else since this time.
    unchanged: Option<Instant>,
    /// How often it was polled in a second, if it was.
    rate: Option<f64>,
}

impl Handle {
    /// Describes every unfinished task, for a report of a program that hangs. Unlike tokio's, it
    /// does not wait for the tasks, and has no traces of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::Handle;
    /// # #[arc::main]
    /// # async fn main() {
    /// let task = arc::task::spawn_named("waiter", std::future::pending::<()>());
    /// let dump = Handle::current().dump();
    /// assert!(dump.to_string().contains("\"waiter\", spawned at "));
    /// # task.abort();
    /// # }
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::take(self)
    }

    /// Prints a [`dump`](Self::dump) to standard error whenever the process receives a signal. From
    /// the second one on, the report says since when at least each task has not been polled.
    ///
    /// A thread of its own prints, so that it does so even when all workers hang. The thread, and
    /// the handler of the signal, stay until the process ends: call this once. The system's default
    /// action of the signal is replaced. SIGQUIT, which ctrl-\\ sends, is meant for this.
    ///
    /// # Errors
    ///
    /// Fails when programs cannot listen for the signal, when there is no such signal, and when no
    /// descriptors or threads are left.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::Handle;
    /// use arc_util::signal::unix::SignalKind;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// Handle::current().dump_on_signal(SignalKind::quit())?;
    /// // kill -QUIT
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn dump_on_signal(&self, kind: SignalKind) -> io::Result<()> {
        on_signal::start(self.clone(), kind)
    }
}

impl Dump {
    fn take(handle: &Handle) -> Self {
        let first = Self::look(handle);
        if first.waits.are_sure() {
            return first;
        }

        // A wake-up that was on its way would have come by then.
        std::thread::sleep(A_MOMENT);
        let mut dump = Self::look(handle);
        dump.waits.retain_those_of(&first.waits);
        dump
    }

    fn look(handle: &Handle) -> Self {
        // Before the list of tasks. If a task has had no further poll by then, it still waits for
        // what it waited for here.
        let asked = Asked::now();
        let mut tasks = handle.tasks();
        tasks.sort_unstable_by_key(|task| task.id);
        let waits = Waits::new(asked, &tasks);
        let (taken, workers) = (Instant::now(), handle.workers());
        Self { taken, workers, tasks, activity: Vec::new(), waits }
    }

    /// Returns all tasks that had not ended, in the order of their ids.
    pub fn tasks(&self) -> &[TaskInfo] {
        &self.tasks
    }

    /// Compares this dump with an earlier one of the same runtime, and notes for each task whether
    /// it was polled since. The report then says for how long at least a task has been idle, or has
    /// waited in a queue, and how often each of the others was polled in a second.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::Handle;
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
        let seconds = self.taken.duration_since(earlier.taken).as_secs_f64().max(1e-9);
        self.activity.clear();
        for task in &self.tasks {
            let place = find(&earlier.tasks, task.id);
            let before = place.map(|place| &earlier.tasks[place]);
            let polls = task.polls.saturating_sub(before.map_or(0, |before| before.polls));
            let is_unchanged = before.is_some_and(|before| {
                before.polls == task.polls
                    && discriminant(&before.state) == discriminant(&task.state)
            });
            let since = place.and_then(|place| earlier.activity.get(place)?.unchanged);
            self.activity.push(Activity {
                unchanged: is_unchanged.then(|| since.unwrap_or(earlier.taken)),
                rate: (polls > 0).then_some(polls as f64 / seconds),
            });
        }
        self
    }
}

/// The place of a task in a list that is in the order of the ids.
fn find(tasks: &[TaskInfo], id: Id) -> Option<usize> {
    tasks.binary_search_by(|task| task.id.cmp(&id)).ok()
}

impl fmt::Display for Dump {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, workers) = (self.tasks.len(), self.workers);
        let plural = |count| if count == 1 { "" } else { "s" };
        let (s, t) = (plural(tasks), plural(workers));
        writeln!(formatter, "arc: {tasks} unfinished task{s}, {workers} worker{t}")?;
        for finding in &self.waits.findings {
            writeln!(formatter, "  {}", finding.text)?;
        }
        for (place, task) in self.tasks.iter().enumerate() {
            write!(formatter, "  {task}")?;
            let activity = self.activity.get(place);
            if let Some(since) = activity.and_then(|activity| activity.unchanged) {
                let seconds = self.taken.duration_since(since).as_secs_f64();
                write!(formatter, ", so for at least {seconds:.1} s")?;
            }
            if let Some(rate) = activity.and_then(|activity| activity.rate) {
                write!(formatter, ", {rate:.0} polls a second")?;
            }
            writeln!(formatter)?;
            for wait in self.waits.of_tasks.get(place).into_iter().flatten() {
                writeln!(formatter, "      {wait}")?;
            }
        }
        for main in &self.waits.mains {
            writeln!(formatter, "  {main}")?;
        }
        write!(formatter, "  (not known: {})", Waits::NOT_KNOWN)
    }
}

/// What tasks wait for, in sentences.
#[derive(Clone, Debug, Default)]
struct Waits {
    /// In the order of the list of tasks. Empty if nothing is known.
    of_tasks: Vec<Vec<String>>,
    /// Of the futures in `block_on`, which are in no list of tasks.
    mains: Vec<String>,
    /// Who cannot go on.
    findings: Vec<Finding>,
}

#[cfg(not(feature = "waits"))]
mod waits {
    use super::{TaskInfo, Waits};

    /// Nothing was known of the waits.
    pub(super) struct Asked;

    impl Asked {
        pub(super) fn now() -> Self {
            Self
        }
    }

    /// Nothing is found.
    #[derive(Clone, Debug)]
    pub(super) struct Finding {
        pub(super) text: String,
    }

    impl Waits {
        pub(super) const NOT_KNOWN: &str =
            "what a task waits for, tasks of a LocalSet, futures in block_on";

        pub(super) fn are_sure(&self) -> bool {
            true
        }

        pub(super) fn retain_those_of(&mut self, _first: &Self) {}

        pub(super) fn new(_asked: Asked, _tasks: &[TaskInfo]) -> Self {
            Self::default()
        }
    }
}

#[cfg(feature = "waits")]
mod waits {
    use super::{Id, TaskInfo, Waits, find};
    use crate::task::TaskState;
    pub(super) use arc_trace::waits::Finding;
    use arc_trace::waits::{Program, Waiting, mains, others_go_on, runtimes, waiting};

    /// What was known of the waits before the list of tasks was made.
    pub(super) struct Asked(Vec<Waiting>);

    impl Asked {
        pub(super) fn now() -> Self {
            Self(waiting())
        }
    }

    /// Leaves out those that no longer wait for the same.
    fn retain_unchanged(all: &mut Vec<Waiting>) {
        let now = waiting();
        let count = |waiting: &Waiting| waiting.describe(&|task| task.to_string()).len();
        all.retain(|before| {
            let place = now.binary_search_by_key(&before.task, |it| it.task);
            let after = place.ok().map(|place| &now[place]);
            after.is_some_and(|after| after.step == before.step && count(after) == count(before))
        });
    }

    impl Waits {
        pub(super) const NOT_KNOWN: &str =
            "what futures of other crates wait for, tasks of a LocalSet";

        /// Whether one look is enough.
        pub(super) fn are_sure(&self) -> bool {
            self.findings.iter().all(|finding| finding.unless_polled.is_empty())
        }

        /// What is not sure is so if an earlier look has found the same.
        pub(super) fn retain_those_of(&mut self, first: &Self) {
            let is_so = |finding: &Finding| {
                finding.unless_polled.is_empty() || first.findings.contains(finding)
            };
            self.findings.retain(is_so);
        }

        pub(super) fn new(Asked(mut asked): Asked, tasks: &[TaskInfo]) -> Self {
            let mains = mains();
            let by_id = |id| find(tasks, Id(id)).map(|place| &tasks[place]);
            let label = |id: u64| match by_id(id) {
                Some(TaskInfo { name: Some(name), location, .. }) => {
                    format!("task {id} {name:?} ({location})")
                }
                Some(TaskInfo { location, .. }) => format!("task {id} ({location})"),
                None if mains.contains(&id) => format!("the future {id} of a block_on"),
                None => format!("task {id}"),
            };

            // The future of a `block_on` is in no list. What is kept of it is forgotten when its
            // next poll begins, and its polls begin with steps whose numbers are odd.
            let is_main = |waiting: &Waiting| !waiting.step.is_multiple_of(2);
            asked.retain(|waiting| match by_id(waiting.task) {
                Some(task) => task.state == TaskState::Idle && 2 * task.polls == waiting.step,
                None => is_main(waiting),
            });

            let mut waits = Self::default();
            waits.of_tasks.resize(tasks.len(), Vec::new());
            for waiting in &asked {
                let mut sentences = Vec::new();
                for (time, what) in waiting.describe(&label) {
                    sentences.push(format!("it has waited {:.1} s {what}", time.as_secs_f64()));
                }
                if let Some(place) = find(tasks, Id(waiting.task)) {
                    waits.of_tasks[place] = sentences;
                    continue;
                }
                let main =
                    |sentence| format!("the future {} of a block_on: {sentence}", waiting.task);
                waits.mains.extend(sentences.into_iter().map(main));
            }

            // Nothing else goes on if no future of a `block_on` was polled since, and there is no
            // other runtime and no other thread that goes on by itself.
            let again = waiting();
            let is_still = |main: &u64| {
                let step = |all: &[Waiting]| {
                    all.iter().find(|waiting| waiting.task == *main).map(|waiting| waiting.step)
                };
                step(&asked).is_some() && step(&asked) == step(&again)
            };
            let waits_too =
                |task: &TaskInfo| asked.binary_search_by_key(&task.id.0, |it| it.task).is_ok();
            let all_wait = tasks.iter().all(waits_too);
            let is_settled = !mains.is_empty() && mains.iter().all(is_still) && all_wait;
            let is_all = is_settled && runtimes() == 1 && !others_go_on();

            let has_ended = |id| by_id(id).is_none() && !mains.contains(&id);
            let find = |waiting: &[Waiting], is_all| {
                let (has_ended, label) = (&has_ended, &label);
                Program { waiting, is_all, has_ended, label }.findings()
            };
            waits.findings = find(&asked, is_all);

            // Who has got its lock meanwhile is seen to wait for what it has. It is left out, and
            // so nothing is said of it.
            while !waits.findings.is_empty() {
                let count = asked.len();
                retain_unchanged(&mut asked);
                if asked.len() == count {
                    break;
                }
                waits.findings = find(&asked, false);
            }
            waits
        }
    }
}
use waits::{Asked, Finding};

/// Prints a dump to standard error whenever the process gets a signal.
#[cfg(unix)]
mod on_signal {
    use super::SignalKind;
    use super::{Dump, Handle};
    use crate::signal::unix::register;
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    /// How long the first dump watches the tasks, to say how often they are polled.
    const FIRST: Duration = Duration::from_millis(100);

    /// Starts the thread that prints.
    pub(super) fn start(handle: Handle, kind: SignalKind) -> io::Result<()> {
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
            // The first one has nothing that it could be compared with, but for itself.
            let earlier = last.take().unwrap_or_else(|| {
                let dump = Dump::take(&handle);
                thread::sleep(FIRST);
                dump
            });
            let dump = Dump::take(&handle).after(&earlier);
            // Made before standard error is locked, and written at once. Nobody may be reading any
            // more.
            let text = format!("{dump}\n");
            let _ = io::stderr().write_all(text.as_bytes());
            last = Some(dump);
        }
    }
}
