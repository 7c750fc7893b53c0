//! Processes on Windows.
//!
//! The driver waits for sockets alone. So pipes are read and written by jobs, as files are, and the
//! end of a process that somebody waits for is waited for by a thread of its own. It is no job: a
//! runtime need not wait for it when it ends. Without anybody who waits there is no thread. Nothing
//! is left of a process that nobody waits for, so there are no orphans.

use crate::blocking_io::no_thread;
use crate::fs::File;
use crate::wake::wake_all;
use arc::task::consume_budget;
use shared_child::SharedChild;
use std::future::Future;
use std::io::Result;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle, RawHandle};
use std::pin::pin;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread;

/// What a process reads.
pub(super) type Input = File;

/// What a process writes.
pub(super) type Output = File;

/// A process of ours, and how to hear of its end.
#[derive(Debug)]
pub(super) struct Process {
    child: Arc<SharedChild>,
    handle: OwnedHandle,
    /// Whom the thread wakes, if it was started.
    waiting: Option<Arc<Waiting>>,
}

/// The task that waits for the end.
#[derive(Debug, Default)]
struct Waiting(Mutex<Option<Waker>>);

impl Waiting {
    /// Returns the waker that was there. Whoever drops or wakes it does not hold the lock.
    fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, waker)
    }
}

impl Process {
    /// If this fails, the process is killed.
    pub(super) fn new(mut child: Child) -> Result<Self> {
        let handle = child.as_handle().try_clone_to_owned().inspect_err(|_| {
            // It may have ended by itself.
            let _ = child.kill();
        })?;
        Ok(Self { child: Arc::new(SharedChild::new(child)?), handle, waiting: None })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn raw_handle(&self) -> RawHandle {
        self.handle.as_raw_handle()
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()
    }

    pub(super) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<Result<ExitStatus>> {
        let waker = context.waker().clone();
        let before = self.waiting()?.replace(Some(waker));
        drop(before);

        // Asked after the waker was left. So if the thread has come and gone before, this sees it.
        match self.child.try_wait()? {
            Some(status) => {
                ready!(pin!(consume_budget()).poll(context));
                Poll::Ready(Ok(status))
            }
            None => Poll::Pending,
        }
    }

    /// Starts the thread if there is none.
    fn waiting(&mut self) -> Result<Arc<Waiting>> {
        if let Some(waiting) = &self.waiting {
            return Ok(waiting.clone());
        }
        let waiting = Arc::new(Waiting::default());
        let (child, theirs) = (self.child.clone(), waiting.clone());
        let until_its_end = move || {
            // If this fails, asking fails as well.
            let _ = child.wait();
            wake_all(theirs.replace(None));
        };
        let thread = thread::Builder::new().name("arc-process".into());
        thread.spawn(until_its_end).map_err(no_thread)?;
        self.waiting = Some(waiting.clone());
        Ok(waiting)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The thread goes on until the process ends, and wakes nobody.
        if let Some(waiting) = &self.waiting {
            drop(waiting.replace(None));
        }
    }
}
