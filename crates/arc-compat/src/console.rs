//! Tells tokio-console of arc's tasks: their polls, who is woken how often, and what they wait for.

use ::tracing::{Dispatch, Id, Level, Span, span, trace};
use arc_trace::{Listener, Resource, What, listen};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// Tells tokio-console of all tasks that are spawned from now on, and of the locks and channels of
/// arc-util, by the spans and events of `tracing` that its part in the program, the crate
/// console-subscriber, looks for.
///
/// Call it right after `console_subscriber::init()`. That crate asks for tokio's unstable flag,
/// unless it is built with `RUSTFLAGS="--cfg console_without_tokio_unstable"`. It starts a thread
/// of its own, and `tokio-console` connects to that.
///
/// Each task, each job of `spawn_blocking` and each future of a `block_on` has a span, which is
/// entered at each poll. The spans have the level TRACE and the target `tokio::task`. So another
/// layer of the subscriber needs a filter, if its log is not to name them.
///
/// A lock, a semaphore, a `Notify`, a `Barrier`, a `CancellationToken` or a channel is a resource,
/// from its first use on. An async op of it is a wait of one task: it begins with a poll that does
/// not get what it asks for, and ends when the task gets it, or with a poll that does not ask
/// again. What locks and channels a layer uses while it is told of all this is not told of. The
/// spans of all this have the target `tokio::sync`, and the events targets that begin with
/// `runtime::`.
///
/// # Examples
///
/// ```
/// #[arc::main]
/// async fn main() {
///     // console_subscriber::init();
///     arc_compat::console::tell();
///     arc::task::spawn_named("adds", async { 1 + 1 }).await.unwrap();
/// }
/// ```
pub fn tell() {
    listen(&Console);
}

struct Console;

type Line = Option<&'static Location<'static>>;

/// A task that has not ended. To clone a span would call the subscriber, under a lock: so what is
/// cloned is the `Arc`.
struct Task {
    span: Arc<Span>,
    /// How many of its polls have begun.
    polls: u64,
    waits: Vec<Wait>,
}

/// What a task has asked for, and has not got so far.
struct Wait {
    resource: u64,
    line: Line,
    span: Arc<Span>,
    /// The last poll that has asked.
    poll: u64,
}

impl Wait {
    fn is_for(&self, resource: &Resource, line: Line) -> bool {
        self.resource == resource.id && self.line == line
    }
}

static TASKS: LazyLock<Mutex<HashMap<u64, Task>>> = LazyLock::new(Mutex::default);

/// The spans of locks and channels. Each is made outside of this lock: that calls the subscriber.
static RESOURCES: LazyLock<Mutex<HashMap<u64, Arc<OnceLock<Span>>>>> =
    LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A poll of a task on this thread.
struct Polled {
    task: u64,
    poll: u64,
    span: Arc<Span>,
}

thread_local! {
    /// The polls of this thread that have not ended.
    static POLLED: RefCell<Vec<Polled>> = const { RefCell::new(Vec::new()) };
    /// This thread is in a call of the subscriber.
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Calls the subscriber. What it does with locks and channels meanwhile is not told of: there would
/// be no end to it.
fn call_subscriber<R>(call: impl FnOnce() -> R) -> R {
    /// The subscriber may panic.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            IS_TELLING.set(self.0);
        }
    }

    let _restore = Restore(IS_TELLING.replace(true));
    call()
}

/// What the subscriber does with a span.
fn act(span: &Span, what: impl FnOnce(&Dispatch, &Id)) {
    span.with_subscriber(|(id, dispatch)| what(dispatch, id));
}

fn tell_of_waker(span: &Span, op: &str) {
    if let Some(id) = span.id() {
        trace!(target: "tokio::task::waker", op, task.id = id.into_u64());
    }
}

/// The type of what a task waits for, and the method that waits.
fn names(what: What) -> (&'static str, &'static str) {
    match what {
        What::Mutex => ("Mutex", "lock"),
        What::RwLock => ("RwLock", "read or write"),
        What::Semaphore => ("Semaphore", "acquire"),
        What::Notify => ("Notify", "notified"),
        What::Barrier => ("Barrier", "wait"),
        What::Value => ("mpsc (values)", "recv"),
        What::Room => ("mpsc (room)", "send"),
        What::Oneshot => ("oneshot", "recv"),
        What::Watch => ("watch", "changed"),
        What::Broadcast => ("broadcast", "recv"),
        What::Closed => ("channel (end)", "closed"),
        What::Token => ("CancellationToken", "cancelled"),
        _ => ("other", "wait"),
    }
}

/// Whether tasks have it, or values are in it, so that these can be counted.
fn is_counted(what: What) -> bool {
    matches!(what, What::Mutex | What::RwLock | What::Semaphore | What::Value)
}

/// Tells how many there are, or how many more or fewer: `op` says which.
fn tell_of_count(span: &Span, what: What, count: u64, op: &str) {
    const TARGET: &str = "runtime::resource::state_update";
    span.in_scope(|| match what {
        What::Value => trace!(target: TARGET, values = count, values.op = op),
        _ => trace!(target: TARGET, holders = count, holders.op = op),
    });
}

/// The span of a lock or a channel. The first call makes it.
fn span_of(resource: &Resource) -> Span {
    let place = lock(&RESOURCES).entry(resource.id).or_default().clone();
    let make = || {
        let span = span!(
            target: "tokio::sync",
            parent: None,
            Level::TRACE,
            "runtime.resource",
            concrete_type = names(resource.what).0,
            kind = "Sync",
            is_internal = false,
            loc.file = resource.location.file(),
            loc.line = resource.location.line(),
            loc.col = resource.location.column(),
        );
        if is_counted(resource.what) {
            tell_of_count(&span, resource.what, 0, "override");
        }
        span
    };
    place.get_or_init(make).clone()
}

/// The span of what a poll waits for. If the poll before did not ask, it is made here, inside of
/// the span of the resource: so the console knows of which resource it is.
fn span_of_wait(task: u64, resource: &Resource, line: Line) -> Arc<Span> {
    if let Some(task) = lock(&TASKS).get_mut(&task)
        && let Some(wait) = task.waits.iter_mut().find(|it| it.is_for(resource, line))
    {
        wait.poll = task.polls;
        return wait.span.clone();
    }

    let method = names(resource.what).1;
    let source = match line {
        Some(line) => format!("{method} at {line}"),
        None => method.to_owned(),
    };
    let span = Arc::new(span!(
        target: "tokio::sync",
        Level::TRACE,
        "runtime.resource.async_op",
        source = source.as_str(),
    ));
    if let Some(task) = lock(&TASKS).get_mut(&task) {
        let (span, poll) = (span.clone(), task.polls);
        task.waits.push(Wait { resource: resource.id, line, span, poll });
    }
    span
}

/// Takes a wait out of those of its task.
fn take_wait(task: u64, resource: &Resource, line: Line) -> Option<Wait> {
    let mut tasks = lock(&TASKS);
    let waits = &mut tasks.get_mut(&task)?.waits;
    let place = waits.iter().position(|it| it.is_for(resource, line))?;
    Some(waits.swap_remove(place))
}

/// Tells of a poll that waits. The task's span and the resource's one are entered.
fn tell_of_poll(wait: &Span, what: What, is_ready: bool) {
    let op_name = names(what).1;
    wait.in_scope(|| trace!(target: "runtime::resource::poll_op", op_name, is_ready));
}

impl Listener for Console {
    fn spawned(&self, task: u64, kind: &str, name: &str, location: &'static Location<'static>) {
        let tell = || {
            let span = span!(
                target: "tokio::task",
                parent: None,
                Level::TRACE,
                "runtime.spawn",
                kind = %kind,
                task.name = %name,
                task.id = task,
                loc.file = location.file(),
                loc.line = location.line(),
                loc.col = location.column(),
            );
            // The console warns of a task that has no waker. How many there are is not told.
            tell_of_waker(&span, "waker.clone");
            Arc::new(span)
        };
        let span = call_subscriber(tell);
        lock(&TASKS).insert(task, Task { span, polls: 0, waits: Vec::new() });
    }

    fn woken(&self, task: u64) {
        let span = lock(&TASKS).get(&task).map(|task| task.span.clone());
        if let Some(span) = span {
            call_subscriber(|| tell_of_waker(&span, "waker.wake_by_ref"));
        }
    }

    fn begins(&self, task: u64) {
        let begin = |it: &mut Task| {
            it.polls += 1;
            Polled { task, poll: it.polls, span: it.span.clone() }
        };
        let polled = lock(&TASKS).get_mut(&task).map(begin);
        let Some(polled) = polled else { return };
        call_subscriber(|| act(&polled.span, Dispatch::enter));
        // A thread that is being torn down polls nothing any more.
        let _ = POLLED.try_with(|all| all.borrow_mut().push(polled));
    }

    fn ends(&self, task: u64) {
        let pop = |all: &RefCell<Vec<Polled>>| all.borrow_mut().pop_if(|top| top.task == task);
        // Out of the list first: the subscriber may spawn.
        let Ok(Some(polled)) = POLLED.try_with(pop) else { return };
        call_subscriber(|| act(&polled.span, Dispatch::exit));

        // Another thread may be in the next poll already, and what that has asked for goes on.
        let is_given_up = |wait: &mut Wait| wait.poll < polled.poll;
        let give_up = |it: &mut Task| it.waits.extract_if(.., is_given_up).collect::<Vec<_>>();
        let given_up = lock(&TASKS).get_mut(&task).map(give_up);
        // Without the lock: the subscriber closes the spans.
        call_subscriber(|| drop(given_up));
    }

    fn ended(&self, task: u64) {
        self.ends(task);
        let task = lock(&TASKS).remove(&task);
        call_subscriber(|| drop(task));
    }

    fn waits(&self, task: u64, resource: &Resource, line: Line) {
        // One that was spawned before the console was told of any is not known.
        if IS_TELLING.get() || !lock(&TASKS).contains_key(&task) {
            return;
        }
        call_subscriber(|| {
            span_of(resource).in_scope(|| {
                let wait = span_of_wait(task, resource, line);
                tell_of_poll(&wait, resource.what, false);
            });
        });
    }

    fn got(&self, task: u64, resource: &Resource, line: Line) {
        if IS_TELLING.get() {
            return;
        }
        let Some(wait) = take_wait(task, resource, line) else { return };
        call_subscriber(|| {
            span_of(resource).in_scope(|| tell_of_poll(&wait.span, resource.what, true));
            drop(wait);
        });
    }

    fn changes(&self, resource: &Resource, by: i64) {
        if IS_TELLING.get() || !is_counted(resource.what) {
            return;
        }
        let op = if by > 0 { "add" } else { "sub" };
        call_subscriber(|| tell_of_count(&span_of(resource), resource.what, by.unsigned_abs(), op));
    }

    fn dropped(&self, resource: &Resource) {
        let span = lock(&RESOURCES).remove(&resource.id);
        call_subscriber(|| drop(span));
    }
}
