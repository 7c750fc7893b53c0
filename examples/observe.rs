//! Who has spawned what, how long did each task wait in queues, and how long was it polled? An
//! observer hears of all that a runtime does, as arc's own list of tasks and its timeline do.
//!
//! ```text
//! $ cargo run --example observe
//! task 2 of main waited 0 ms and was polled 0 ms (examples/observe.rs:75:1)
//! task 3 of task 2 waited 0 ms and was polled 100 ms (examples/observe.rs:77:16)
//! task 4 of task 3 waited 100 ms and was polled 0 ms (examples/observe.rs:78:20)
//! ```

use arc::observe::{Note, Observer, attach};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

struct Task {
    spawner: Option<u64>,
    line: &'static Location<'static>,
    queued: Option<Instant>,
    waited: Duration,
    polled: Duration,
}

static TASKS: Mutex<BTreeMap<u64, Task>> = Mutex::new(BTreeMap::new());
thread_local!(static POLLS: RefCell<Vec<(u64, Instant)>> = const { RefCell::new(Vec::new()) });

/// Of a task that was spawned before the observer was attached nothing is known.
fn change(id: u64, change: impl FnOnce(&mut Task)) {
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    tasks.get_mut(&id).map(change);
}

struct Times;

impl Observer for Times {
    fn spawned(&self, id: u64, _runtime: u64, note: &Note) {
        // What this thread polls has spawned it.
        let spawner = POLLS.with_borrow(|polls| polls.last().map(|(id, _)| *id));
        let (line, waited, polled) = (note.location(), Duration::ZERO, Duration::ZERO);
        let task = Task { spawner, line, queued: None, waited, polled };
        TASKS.lock().unwrap_or_else(PoisonError::into_inner).insert(id, task);
    }

    fn queued(&self, id: u64, _note: &Note) {
        change(id, |task| task.queued = Some(Instant::now()));
    }

    fn begins(&self, id: u64, _note: &Note) {
        change(id, |task| {
            task.waited += task.queued.take().map_or(Duration::ZERO, |it| it.elapsed())
        });
        POLLS.with_borrow_mut(|polls| polls.push((id, Instant::now())));
    }

    fn ends(&self, _id: u64) {
        if let Some((id, begin)) = POLLS.with_borrow_mut(Vec::pop) {
            change(id, |task| task.polled += begin.elapsed());
        }
    }
}

fn main() {
    attach(Times);
    count_sheep();
    for (id, Task { spawner, line, waited, polled, .. }) in &*TASKS.lock().unwrap() {
        let spawner = spawner.map_or("main".to_owned(), |id| format!("task {id}"));
        let (waited, polled) = (waited.as_millis(), polled.as_millis());
        println!("task {id} of {spawner} waited {waited} ms and was polled {polled} ms ({line})");
    }
}

#[arc::main(flavor = "current_thread")]
async fn count_sheep() {
    let slow = arc::spawn(async {
        let late = arc::spawn(async {});
        // It should use `spawn_blocking`.
        thread::sleep(Duration::from_millis(100));
        late.await
    });
    slow.await.unwrap().unwrap();
}
