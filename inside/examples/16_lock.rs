//! Stage 16: a lock and a channel, from inside.
//!
//! A lock has one place, and a channel as many as it has room for messages. A task that finds no
//! place free gets a number, leaves its waker in a row, and waits. Whoever gives a place back does
//! not set it free: it goes to the first in the row. So nobody who comes later can take it away,
//! and all have their turn.
//!
//! Between the moment in which a task is given the place and its next poll, the place belongs to a
//! future that does not know it yet. If that future is dropped just then, the place would be lost,
//! and with it the wake-up. So it hands the place on.
//!
//! # Break it
//!
//! ```text
//! not-handed-on: the place was given to a future that goes away
//!     - if was_given {
//!     - self.places.give_back();
//!     - }
//!     + let _ = was_given;
//!     you see: hung: nobody will wake carl
//!
//! not-removed: a future goes away, and its number stays in the row
//!     - let left = state.row.remove(&number);
//!     + let left: Option<Waker> = None;
//!     you see: hung: nobody will wake carl
//!
//! overtaken: the place is set free, and the first in the row is only woken
//!     - match &first {
//!     - Some((number, _)) => drop(state.given.insert(*number)),
//!     - None => state.free += 1,
//!     - }
//!     + state.free += 1;
//!     you see: main: the order is dora, anna, bert, carl
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Places that tasks take and give back.
#[derive(Default)]
struct Places(Mutex<State>);

#[derive(Default)]
struct State {
    /// Places that nobody has. If there are any, the row is empty.
    free: usize,
    /// Who waits, by number: the first has waited longest.
    row: BTreeMap<u64, Waker>,
    /// Who was given a place, and does not know it yet.
    given: BTreeSet<u64>,
    next_number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    fn new(free: usize) -> Self {
        Places(Mutex::new(State { free, ..State::default() }))
    }

    fn take(&self) -> Take<'_> {
        Take { places: self, number: None }
    }

    /// Gives a place to the first in the row. If nobody waits, it is free.
    fn give_back(&self) {
        let mut state = lock(&self.0);
        let first = state.row.pop_first();
        match &first {
            Some((number, _)) => drop(state.given.insert(*number)),
            None => state.free += 1,
        }

        // Waking runs code that is not ours.
        drop(state);
        if let Some((_, waker)) = first {
            waker.wake();
        }
    }
}

/// Waits for a place.
struct Take<'a> {
    places: &'a Places,
    /// None: it does not wait.
    number: Option<u64>,
}

impl Future for Take<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut state = lock(&self.places.0);
        if let Some(number) = self.number
            && state.given.remove(&number)
        {
            drop(state);
            self.number = None;
            return Poll::Ready(());
        }
        if state.free > 0 {
            state.free -= 1;
            return Poll::Ready(());
        }

        // It keeps its number, however often it is polled. The newest waker counts.
        let number = self.number.unwrap_or(state.next_number);
        state.next_number = state.next_number.max(number + 1);
        let old = state.row.insert(number, waker);
        drop(state);
        drop(old);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Take<'_> {
    /// It waited, and does no more: nobody must give it a place, and what it was given goes on.
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = lock(&self.places.0);
        let left = state.row.remove(&number);
        let was_given = state.given.remove(&number);
        drop(state);
        drop(left);
        if was_given {
            self.places.give_back();
        }
    }
}

/// A lock: one place. (What it guards is left out.)
struct Lock(Places);

struct Guard<'a>(&'a Lock);

impl Lock {
    async fn lock(&self) -> Guard<'_> {
        self.0.take().await;
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.0.give_back();
    }
}

/// A channel: a place for each message that it has room for. It has one receiver.
struct Channel<T> {
    room: Places,
    inside: Mutex<(VecDeque<T>, Option<Waker>)>,
}

impl<T> Channel<T> {
    fn new(room: usize) -> Self {
        Channel { room: Places::new(room), inside: Mutex::default() }
    }

    async fn send(&self, message: T) {
        self.room.take().await;

        // There is no await from here on. So nobody can drop this while it has a place and has not
        // sent its message.
        let mut inside = lock(&self.inside);
        inside.0.push_back(message);
        let receiver = inside.1.take();
        drop(inside);
        receiver.into_iter().for_each(Waker::wake);
    }

    async fn recv(&self) -> T {
        let message = poll_fn(|context| {
            let waker = context.waker().clone();
            let mut inside = lock(&self.inside);
            if let Some(message) = inside.0.pop_front() {
                return Poll::Ready(message);
            }
            let old = inside.1.replace(waker);
            drop(inside);
            drop(old);
            Poll::Pending
        })
        .await;
        self.room.give_back();
        message
    }
}

/// A future that `run` polls when it was woken.
struct Task<'a> {
    name: &'static str,
    /// None: it is done, or went away.
    future: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    /// No ordering is needed: there is one thread.
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Task<'a> {
    fn new(name: &'static str, future: impl Future<Output = ()> + 'a) -> Self {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Task { name, future: Some(Box::pin(future)), woken }
    }

    fn poll_if_woken(&mut self) {
        let is_woken = self.woken.0.swap(false, Ordering::Relaxed);
        if let Some(future) = &mut self.future
            && is_woken
        {
            let waker = Waker::from(self.woken.clone());
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.future = None;
            }
        }
    }

    fn can_go_on(&self) -> bool {
        self.future.is_some() && self.woken.0.load(Ordering::Relaxed)
    }
}

/// Polls whoever was woken, in their order, until nobody is.
fn run(tasks: &mut [Task<'_>]) {
    while tasks.iter().any(Task::can_go_on) {
        tasks.iter_mut().for_each(Task::poll_if_woken);
    }
}

/// The same, and nobody may be left who waits.
fn run_to_the_end(tasks: &mut [Task<'_>]) {
    run(tasks);
    let waiting = tasks.iter().filter(|task| task.future.is_some());
    let names: Vec<&str> = waiting.map(|task| task.name).collect();
    if !names.is_empty() {
        println!("hung: nobody will wake {}", names.join(", "));
        std::process::exit(1);
    }
}

/// Has the lock once, and notes it.
async fn have_a_turn(name: &'static str, door: &Lock, order: &Mutex<Vec<&'static str>>) {
    let _guard = door.lock().await;
    lock(order).push(name);
}

/// Takes a lock that nobody else has.
fn taken(door: &Lock) -> Guard<'_> {
    let mut lock = pin!(door.lock());
    match lock.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(guard) => guard,
        Poll::Pending => panic!("somebody has the lock"),
    }
}

fn main() {
    let (door, order) = (Lock(Places::new(1)), Mutex::new(Vec::new()));
    let turn = |name| Task::new(name, have_a_turn(name, &door, &order));

    // Three wait, and the first of them is given the lock. Then dora comes, and is polled first.
    let guard = taken(&door);
    let mut tasks = vec![turn("anna"), turn("bert"), turn("carl")];
    run(&mut tasks);
    drop(guard);
    tasks.insert(0, turn("dora"));
    run_to_the_end(&mut tasks);
    println!("main: the order is {}", lock(&order).join(", "));

    // Anna goes away while she waits. Bert is given the lock, and goes away before he knows it.
    let guard = taken(&door);
    let mut tasks = vec![turn("anna"), turn("bert"), turn("carl")];
    run(&mut tasks);
    tasks[0].future = None;
    drop(guard);
    tasks[1].future = None;
    run_to_the_end(&mut tasks);
    println!("main: anna and bert went away, and {} had the lock", lock(&order)[4]);

    // A channel with room for two messages.
    let channel = Channel::new(2);
    let sender = async {
        for number in 1..=4 {
            channel.send(number).await;
            println!("sender: has sent {number}");
        }
    };
    let receiver = async {
        for _ in 1..=4 {
            println!("receiver: has received {}", channel.recv().await);
        }
    };
    run_to_the_end(&mut [Task::new("sender", sender), Task::new("receiver", receiver)]);
}
