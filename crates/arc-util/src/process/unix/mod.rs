//! Processes on Unix.

mod orphans;
mod watch;

use crate::net::unix::pipe::{Receiver, Sender};
use arc::runtime::Handle;
use std::io::Result;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};
use watch::Watch;

pub(super) use orphans::take_over;

/// What a process reads.
pub(super) type Input = Sender;

/// What a process writes.
pub(super) type Output = Receiver;

/// A process of ours, and how to hear of its end.
#[derive(Debug)]
pub(super) struct Process {
    /// None only while it is dropped.
    parts: Option<(Child, Watch)>,
}

impl Process {
    /// If this fails, the process is killed.
    pub(super) fn new(mut child: Child) -> Result<Self> {
        match Watch::new(&child) {
            Ok(watch) => Ok(Self { parts: Some((child, watch)) }),
            Err(error) => {
                // It may have ended by itself.
                let _ = child.kill();
                orphans::leave(child);
                Err(error)
            }
        }
    }

    /// Lends the two.
    fn parts(&mut self) -> (&mut Child, &mut Watch) {
        match &mut self.parts {
            Some((child, watch)) => (child, watch),
            None => unreachable!("taken out only when it is dropped"),
        }
    }

    pub(super) fn id(&self) -> u32 {
        match &self.parts {
            Some((child, _)) => child.id(),
            None => unreachable!("taken out only when it is dropped"),
        }
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        self.parts().0.kill()
    }

    pub(super) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.parts().0.try_wait()
    }

    pub(super) fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<Result<ExitStatus>> {
        let (child, watch) = self.parts();

        // The runtime that started the process may have ended, or may not be running. In the child
        // of a fork it is one whose threads are in the parent, and so is the process itself: then
        // this fails before it drops the old watch, of which the parent would lose the events.
        if let Some(current) = Handle::try_current()
            && !watch.is_of(&current)
        {
            if let Some(status) = child.try_wait()? {
                return Poll::Ready(Ok(status));
            }
            *watch = Watch::new(child)?;
        }
        watch.poll_end(child, context)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some((child, watch)) = self.parts.take() {
            orphans::adopt(child, watch);
        }
    }
}
