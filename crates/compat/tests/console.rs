//! What tokio-console is told of a task: its span, its polls, who wakes it, and its end.

use arc::runtime::{Builder, Handle};
use arc::task::{spawn_blocking, spawn_named, yield_now};
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

/// The fields of a span or an event.
#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("text takes all");
    }
}

impl Log {
    fn add(&self, what: &str, id: &Id, fields: &str) {
        self.0.lock().unwrap().push(format!("{what} {}{fields}", id.into_u64()));
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        assert_eq!(attributes.metadata().name(), "runtime.spawn");
        // A subscriber may call the runtime: none of its locks is held.
        if let Ok(runtime) = Handle::try_current() {
            runtime.tasks();
        }
        self.add("spawned", id, &fields.0);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        assert_eq!(event.metadata().target(), "tokio::task::waker");
        self.0.lock().unwrap().push(format!("event{}", fields.0));
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.add("enter", id, "");
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.add("exit", id, "");
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.add("close", &id, "");
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
    let log = Log::default();
    tracing::subscriber::set_global_default(registry().with(log.clone())).unwrap();
    arc_compat::console::tell();
    let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
    let line = line!() + 1;
    let task = runtime.block_on(async { spawn_named("yields", yield_now()) });
    let id = task.id();
    runtime.block_on(task).unwrap();
    let handle = runtime.handle().clone();
    let job = runtime.block_on(async { spawn_blocking(move || handle.block_on(yield_now())) });
    runtime.block_on(job).unwrap();
    // What ends a task may come after its result.
    assert!(runtime.shutdown(Duration::MAX).is_empty());

    let log = log.0.lock().unwrap();
    let (first, polls) = told_of(&log, "task.name=yields");
    let (kind, file) = ("kind=task task.name=yields", file!());
    let told = format!("spawned N {kind} task.id={id} loc.file={file:?} loc.line={line} loc.col=");
    assert!(first.starts_with(&told), "{first}");
    assert_eq!(polls, "event enter event exit enter exit close", "it wakes itself in its poll");
    assert_eq!(told_of(&log, "kind=blocking").1, "event enter exit close");
    assert_eq!(told_of(&log, "kind=block_on").1, "event enter exit close");
}
