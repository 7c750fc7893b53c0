//! What tokio-console is told of a task: its span, its polls, who wakes it, and its end; and of
//! locks, channels, and who waits for them.

use arc::task::{spawn_blocking, spawn_named, yield_now};
use arc_util::runtime::{Builder, Handle};
use arc_util::sync::{self, broadcast, mpsc, oneshot, watch};
use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

#[derive(Clone)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    /// A subscriber may use a channel of arc's itself: to tell of that would have no end.
    channel: mpsc::UnboundedSender<()>,
}

thread_local! {
    /// The spans that are entered on this thread, as the console sees them.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The fields of a span or an event.
#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("text takes all");
    }
}

impl Log {
    fn add(&self, what: &str, id: u64, fields: &str) {
        self.lines.lock().unwrap().push(format!("{what} {id}{fields}"));
    }
}

/// The line of what the subscriber uses itself.
const OWN: u32 = line!() + 3;

fn own_channel() -> (mpsc::UnboundedSender<()>, mpsc::UnboundedReceiver<()>) {
    mpsc::unbounded_channel()
}

/// The one log of this process, and who receives what it sends. The first use begins it.
static LOG: LazyLock<(Log, mpsc::UnboundedReceiver<()>)> = LazyLock::new(|| {
    let (channel, receiver) = own_channel();
    let log = Log { lines: Arc::default(), channel };
    tracing::subscriber::set_global_default(registry().with(log.clone())).unwrap();
    arc_compat::console::tell();
    (log, receiver)
});

/// What is told while a function runs. One test after the other does so.
fn told_by(act: impl FnOnce()) -> Vec<String> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    LOG.0.lines.lock().unwrap().clear();
    act();
    let lines = LOG.0.lines.lock().unwrap().clone();
    let own = format!(" loc.line={OWN} ");
    assert!(!lines.iter().any(|it| it.contains(&own)), "its own channels are told of");
    lines
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        // A subscriber may call the runtime: none of its locks is held.
        if let Ok(runtime) = Handle::try_current() {
            runtime.tasks();
        }
        let what = match attributes.metadata().name() {
            "runtime.spawn" => "spawned",
            "runtime.resource" => "resource",
            "runtime.resource.async_op" => "op",
            name => panic!("the console does not know {name}"),
        };
        let entered = ENTERED.with_borrow(|all| format!("{all:?}"));
        self.add(what, id.into_u64(), &format!("{} in {entered}", fields.0));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.channel.send(()).unwrap();
        let target = event.metadata().target();
        let Some(what) = target.strip_prefix("runtime::resource::") else {
            assert_eq!(target, "tokio::task::waker");
            self.lines.lock().unwrap().push(format!("event{}", fields.0));
            return;
        };
        let top = ENTERED.with_borrow(|all| *all.last().expect("it is in a span"));
        self.add(what, top, &fields.0);
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        ENTERED.with_borrow_mut(|all| all.push(id.into_u64()));
        self.add("enter", id.into_u64(), "");
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        assert_eq!(ENTERED.with_borrow_mut(Vec::pop), Some(id.into_u64()));
        self.add("exit", id.into_u64(), "");
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let (sender, receiver) = own_channel();
        sender.send(()).unwrap();
        drop(receiver);
        self.add("close", id.into_u64(), "");
    }
}

/// What is told of the one span with such fields: its first line, and then the words alone.
fn told_of(log: &[String], fields: &str) -> (String, String) {
    let first = log.iter().find(|it| it.contains(fields)).expect("it is told");
    let span = first.split(' ').nth(1).expect("the id comes second");
    // An event names the span at its end, and all else in second place.
    let event = format!(" task.id={span}");
    let is_about = |it: &str| match it.starts_with("event") {
        true => it.ends_with(&event),
        false => it.split(' ').nth(1) == Some(span),
    };
    let about = log.iter().filter(|it| is_about(it));
    let words = about.skip(1).map(|it| it.split(' ').next().expect("there is one"));
    (first.replacen(span, "N", 1), words.collect::<Vec<_>>().join(" "))
}

#[test]
fn each_task_has_a_span_that_is_entered_by_its_polls() {
    let (mut id, line) = (None, line!() + 3);
    let log = told_by(|| {
        let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
        let task = runtime.block_on(async { spawn_named("yields", yield_now()) });
        id = Some(task.id());
        runtime.block_on(task).unwrap();
        let handle = runtime.handle().clone();
        let job = runtime.block_on(async { spawn_blocking(move || handle.block_on(yield_now())) });
        runtime.block_on(job).unwrap();
        // What ends a task may come after its result.
        assert!(runtime.shutdown(Duration::MAX).is_empty());
    });

    let (first, polls) = told_of(&log, "task.name=yields");
    let (id, kind, file) = (id.unwrap(), "kind=task task.name=yields", file!());
    let told = format!("spawned N {kind} task.id={id} loc.file={file:?} loc.line={line} loc.col=");
    assert!(first.starts_with(&told), "{first}");
    assert_eq!(polls, "event enter event exit enter exit close", "it wakes itself in its poll");
    assert_eq!(told_of(&log, "kind=blocking").1, "event enter exit close");
    assert_eq!(told_of(&log, "kind=block_on").1, "event enter exit close");
}

/// Runs a task, and returns the log and the id of its span.
fn told_of_task(task: impl Future<Output = ()> + Send + 'static) -> (Vec<String>, String) {
    let log = told_by(|| {
        let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
        runtime.block_on(async { spawn_named("waits", task).await }).unwrap();
        // What ends a task may come after its result.
        assert!(runtime.shutdown(Duration::MAX).is_empty());
    });
    let spawned = log.iter().find(|it| it.contains("task.name=waits")).expect("it is told");
    let task = between(spawned, "spawned ", " ").to_owned();
    (log, task)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect("it is there");
    rest.split_once(to).expect("it ends").0
}

/// The lines that have the span with this id in second place, in their order.
fn lines_of<'a>(log: &'a [String], span: &str) -> Vec<&'a str> {
    let is_its = |it: &&str| !it.starts_with("event") && it.split(' ').nth(1) == Some(span);
    log.iter().map(String::as_str).filter(is_its).collect()
}

/// A wait of a task, as it was told.
struct Op {
    id: String,
    source: String,
    resource: String,
}

/// The waits of a task in their order. Each was begun inside of the spans of the task and of what
/// it waits for: so the console knows these.
fn ops(log: &[String], task: &str) -> Vec<Op> {
    let entered = format!("in [{task}, ");
    let op = |it: &String| Op {
        id: between(it, "op ", " ").to_owned(),
        source: between(it, "source=\"", "\"").to_owned(),
        resource: between(it, &entered, "]").to_owned(),
    };
    log.iter().filter(|it| it.starts_with("op ") && it.contains(&entered)).map(op).collect()
}

/// What is told of a wait: its begin, whether each poll was ready, and its end.
fn story_of(log: &[String], op: &Op) -> Vec<String> {
    let is_event = |it: &&str| !it.starts_with("enter") && !it.starts_with("exit");
    let word = |it: &str| match it.split_once("is_ready=") {
        Some((_, is_ready)) => is_ready.to_owned(),
        None => it.split(' ').next().unwrap().to_owned(),
    };
    lines_of(log, &op.id).into_iter().filter(is_event).map(word).collect()
}

/// What is told of how many there are of what a task waits for.
fn counts_of<'a>(log: &'a [String], op: &Op) -> Vec<&'a str> {
    let prefix = format!("state_update {} ", op.resource);
    lines_of(log, &op.resource).iter().filter_map(|it| it.strip_prefix(&prefix)).collect()
}

async fn poll<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

/// Polls a future once, and drops it. It has to wait.
async fn waits<F: Future>(future: F) {
    assert!(poll(pin!(future)).await.is_pending());
}

#[test]
fn each_lock_and_channel_is_a_resource_and_each_wait_an_op_of_it() {
    let (log, task) = told_of_task(async {
        let mutex = sync::Mutex::new(());
        let _guard = mutex.lock().await;
        waits(mutex.lock()).await;
        let lock = sync::RwLock::new(());
        let _reader = lock.read().await;
        waits(lock.write()).await;
        waits(sync::Semaphore::new(0).acquire()).await;
        // The last that has this one is its permit.
        drop(Arc::new(sync::Semaphore::new(1)).acquire_owned().await.unwrap());
        waits(sync::Notify::new().notified()).await;
        waits(sync::Barrier::new(2).wait()).await;
        waits(sync::CancellationToken::new().cancelled()).await;
        let (sender, mut receiver) = mpsc::channel(1);
        waits(receiver.recv()).await;
        sender.send(()).await.unwrap();
        waits(sender.send(())).await;
        waits(sender.closed()).await;
        let (_sender, receiver) = oneshot::channel::<()>();
        waits(receiver).await;
        let (_sender, mut receiver) = watch::channel(());
        waits(receiver.changed()).await;
        let (_sender, mut receiver) = broadcast::channel::<()>(1);
        waits(receiver.recv()).await;
    });

    let describe = |op: Op| {
        assert_eq!(story_of(&log, &op), ["op", "false", "close"]);
        let lines = lines_of(&log, &op.resource);
        assert!(lines[0].contains(" kind=\"Sync\" is_internal=false loc.file="), "{}", lines[0]);
        assert_eq!(*lines.last().unwrap(), format!("close {}", op.resource));
        let method = op.source.split(" at ").next().unwrap();
        format!("{}: {method}", between(lines[0], "concrete_type=\"", "\""))
    };
    let told: Vec<_> = ops(&log, &task).into_iter().map(describe).collect();
    let is_semaphore = |it: &&String| it.contains("concrete_type=\"Semaphore\"");
    assert_eq!(log.iter().filter(is_semaphore).count(), 2);
    let all = [
        "Mutex: lock",
        "RwLock: read or write",
        "Semaphore: acquire",
        "Notify: notified",
        "Barrier: wait",
        "CancellationToken: cancelled",
        "mpsc (values): recv",
        "mpsc (room): send",
        "channel (end): closed",
        "oneshot: recv",
        "watch: changed",
        "broadcast: recv",
    ];
    assert_eq!(told, all);
}

#[test]
fn wait_for_a_lock_goes_on_until_the_task_has_it() {
    let line = line!() + 2;
    let (log, task) = told_of_task(async {
        let mutex = sync::Mutex::new(());
        let guard = mutex.lock().await;
        let mut second = pin!(mutex.lock());
        for _ in 0..2 {
            assert!(poll(second.as_mut()).await.is_pending());
            yield_now().await;
        }
        assert!(poll(second.as_mut()).await.is_pending());
        drop(guard);
        assert!(poll(second.as_mut()).await.is_ready());
    });

    let [op] = &ops(&log, &task)[..] else { panic!("one wait is told") };
    assert_eq!(story_of(&log, op), ["op", "false", "false", "false", "true", "close"]);
    let place = format!("lock at {}:{}:", file!(), line + 2);
    assert!(op.source.starts_with(&place), "{}", op.source);
    let resource = lines_of(&log, &op.resource)[0];
    assert!(resource.contains(&format!("loc.file={:?} loc.line={line} ", file!())), "{resource}");
    let [add, sub] = ["holders=1 holders.op=\"add\"", "holders=1 holders.op=\"sub\""];
    let counts = ["holders=0 holders.op=\"override\"", add, sub, add, sub];
    assert_eq!(counts_of(&log, op), counts);
}

#[test]
fn wait_for_a_value_ends_with_it_or_with_a_poll_that_does_not_ask() {
    let (log, task) = told_of_task(async {
        let (sender, mut receiver) = mpsc::channel(2);
        let mut first = Box::pin(receiver.recv());
        assert!(poll(first.as_mut()).await.is_pending());
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
        assert!(poll(first.as_mut()).await.is_ready());
        drop(first);
        assert_eq!(receiver.recv().await, Some(2));

        // All of this is in one poll, and yet this is another wait.
        waits(receiver.recv()).await;
        yield_now().await;
        // The second poll does not ask.
        yield_now().await;
        LOG.0.lines.lock().unwrap().push("the third poll".to_owned());
    });

    let [first, second] = &ops(&log, &task)[..] else { panic!("two waits are told") };
    assert_eq!(first.resource, second.resource);
    assert_eq!(story_of(&log, first), ["op", "false", "true", "close"]);
    assert_eq!(story_of(&log, second), ["op", "false", "close"]);
    let [add, sub] = ["values=1 values.op=\"add\"", "values=1 values.op=\"sub\""];
    let counts = ["values=0 values.op=\"override\"", add, add, sub, sub];
    assert_eq!(counts_of(&log, first), counts);

    // It is given up when the second poll has ended.
    let place = |line: &str| log.iter().position(|it| it == line).expect("it is told");
    let begun = place(&format!("poll_op {} op_name=\"recv\" is_ready=false", second.id));
    let close = place(&format!("close {}", second.id));
    let ends = log[begun..close].iter().filter(|it| **it == format!("exit {task}")).count();
    assert_eq!(ends, 2);
    assert!(close < place("the third poll"));
}
