//! A future whose life is watched: made, polled by one thread at a time, dropped once, and
//! joined as what it was.

use super::census::Census;
use crate::account::{ACCOUNT, OnPurpose, fault};
use arc::task::{JoinError, JoinHandle};
use fastrand::Rng;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// What a task does. An error is a fault, unless the task was aborted or its runtime ends.
pub trait Doing: Future<Output = io::Result<()>> + Send + 'static {}

impl<F: Future<Output = io::Result<()>> + Send + 'static> Doing for F {}

/// The same, of any type.
pub type Act = Pin<Box<dyn Doing>>;

/// What is known of a task while it lives, and when it is joined.
pub struct Ticket {
    pub serial: u64,
    census: Arc<Census>,
    /// Who spawned it.
    parent: Option<Arc<Ticket>>,
    state: Mutex<State>,
}

#[derive(Default, Clone, Debug)]
struct State {
    polled: bool,
    /// Somebody has asked for its end, or is about to.
    aborted: bool,
    finished: bool,
    /// It has panicked on purpose, or is about to.
    panics: bool,
    dropped: bool,
    /// A job of `spawn_blocking`: its function goes on when its task is gone.
    job: bool,
}

impl Ticket {
    pub fn new(census: &Arc<Census>, parent: Option<Arc<Ticket>>) -> Arc<Self> {
        let serial = ACCOUNT.tasks.next();
        census.made();
        Arc::new(Ticket { serial, census: census.clone(), parent, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called before the abort itself.
    pub fn will_abort(&self) {
        self.state().aborted = true;
    }

    /// Panics, as planned.
    pub fn panic(&self) -> ! {
        self.state().panics = true;
        panic_any(OnPurpose)
    }

    /// Whether what it waits for may be taken from it: it and its family end.
    pub fn may_fail(&self) -> bool {
        let parent_may = || self.parent.as_ref().is_some_and(|parent| parent.may_fail());
        self.census.is_stopping() || self.state().aborted || parent_may()
    }

    fn fault(&self, what: &str) {
        fault(format_args!("{what}: task {} of {}: {:?}", self.serial, self.census, self.state()));
    }

    fn drop_once(&self) {
        let again = std::mem::replace(&mut self.state().dropped, true);
        if again {
            self.fault("a future was dropped twice");
        }
        ACCOUNT.dropped.add(1);
        self.census.dropped();
    }

    fn finish(&self, result: io::Result<()>) {
        self.state().finished = true;
        if let Err(error) = result
            && !self.may_fail()
        {
            self.fault(&format!("a task failed: {error}"));
        }
    }

    /// Whether a handle has told what was due.
    fn judge(&self, result: Result<Output, JoinError>) {
        let state = self.state().clone();
        let stopping = self.census.is_stopping();
        match result {
            Ok(mut output) => {
                ACCOUNT.finished.add(1);
                output.fragile = false;
                if output.serial != self.serial {
                    self.fault(&format!("a handle told the output of {}", output.serial));
                }
                if !state.finished || state.panics || !state.dropped {
                    self.fault("a handle told an output that was not due");
                }
            }
            Err(error) if error.is_panic() => {
                ACCOUNT.panicked.add(1);
                let is_planned = error.into_panic().is::<OnPurpose>() && state.panics;
                if !is_planned {
                    self.fault("a handle told a panic that was not due");
                }
            }
            Err(_) => {
                ACCOUNT.aborted.add(1);
                if !(state.aborted || stopping) {
                    self.fault("a task was cancelled by nobody");
                }
                if !state.job && (!state.dropped || (state.finished && !stopping)) {
                    self.fault("a handle told a cancellation that was not due");
                }
                if state.panics && !stopping {
                    self.fault("a handle told nothing of a panic");
                }
            }
        }
    }
}

/// What a task gives. One that is fragile and that nobody reads panics when it is dropped.
pub struct Output {
    serial: u64,
    fragile: bool,
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.fragile && !std::thread::panicking() {
            panic_any(OnPurpose);
        }
    }
}

/// A task's future.
pub struct Tracked {
    ticket: Arc<Ticket>,
    act: Option<Act>,
    /// It panics when it is dropped.
    bomb: bool,
    fragile: bool,
}

impl Tracked {
    pub fn new(ticket: Arc<Ticket>, rng: &mut Rng, act: Act) -> Self {
        let (bomb, fragile) = (rng.u8(..) < 4, rng.u8(..) < 8);
        Tracked { ticket, act: Some(act), bomb, fragile }
    }

    /// For `block_on`: a panic is the caller's, and so is one that is planned.
    pub fn without_bomb(mut self) -> Self {
        (self.bomb, self.fragile) = (false, false);
        self
    }
}

impl Future for Tracked {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Output> {
        let ticket = self.ticket.clone();
        let before = ticket.state().clone();
        if before.polled || before.dropped || before.finished {
            ticket.fault("a future was polled that must not be");
        }
        ticket.state().polled = true;
        let act = self.act.as_mut().expect("it is there until it is dropped");
        let polled = catch_unwind(AssertUnwindSafe(|| act.as_mut().poll(context)));
        ticket.state().polled = false;
        let Poll::Ready(result) = polled.unwrap_or_else(|payload| resume_unwind(payload)) else {
            return Poll::Pending;
        };
        ticket.finish(result);
        Poll::Ready(Output { serial: ticket.serial, fragile: self.fragile })
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if self.ticket.state().polled {
            self.ticket.fault("a future was dropped in its poll");
        }
        drop(self.act.take());
        let bomb = self.bomb && !std::thread::panicking();
        if bomb {
            self.ticket.state().panics = true;
        }
        self.ticket.drop_once();
        if bomb {
            panic_any(OnPurpose);
        }
    }
}

/// The function of a job: run once or given up, dropped once in any case.
pub struct Job(Arc<Ticket>);

impl Job {
    pub fn new(ticket: Arc<Ticket>) -> Self {
        ACCOUNT.jobs.add(1);
        ticket.state().job = true;
        Job(ticket)
    }

    pub fn run(self, panics: bool, work: impl FnOnce()) -> Output {
        work();
        if panics {
            self.0.panic();
        }
        self.0.state().finished = true;
        Output { serial: self.0.serial, fragile: false }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.0.drop_once();
    }
}

/// A task, as whoever spawned it has it.
pub struct Child {
    ticket: Arc<Ticket>,
    handle: Option<JoinHandle<Output>>,
}

impl Child {
    pub fn new(ticket: Arc<Ticket>, handle: JoinHandle<Output>) -> Self {
        Child { ticket, handle: Some(handle) }
    }

    /// Waits for what became of it. May be given up and called again.
    pub async fn join(&mut self) {
        if let Some(handle) = &mut self.handle {
            let result = handle.await;
            self.handle = None;
            self.ticket.judge(result);
        }
    }

    pub fn abort(&self) {
        self.ticket.will_abort();
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }

    /// Something that aborts it, from anywhere.
    pub fn aborter(&self) -> impl FnOnce() + Send + 'static {
        let ticket = self.ticket.clone();
        let handle = self.handle.as_ref().map(JoinHandle::abort_handle);
        move || {
            ticket.will_abort();
            handle.into_iter().for_each(|handle| handle.abort());
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            ACCOUNT.unread.add(1);
            drop(handle);
        }
    }
}

/// Tasks that are aborted when whoever spawned them is.
#[derive(Default)]
pub struct Brood(Vec<Child>);

impl Brood {
    pub fn push(&mut self, child: Child) {
        self.0.push(child);
    }

    pub fn get(&self, index: usize) -> &Child {
        &self.0[index]
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub async fn join(&mut self) {
        for child in &mut self.0 {
            child.join().await;
        }
    }

    /// Takes one out, which then goes on by itself.
    pub fn release(&mut self) {
        drop(self.0.pop());
    }
}

/// All are told before one is aborted: they may depend on each other.
impl Drop for Brood {
    fn drop(&mut self) {
        self.0.iter().for_each(|child| child.ticket.will_abort());
        self.0.iter().for_each(Child::abort);
    }
}
