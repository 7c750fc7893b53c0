//! How a task, or anybody else who has a waker, hears of the end of a process.

use crate::signal::unix::{Signal, SignalKind, signal};
#[cfg(target_os = "linux")]
use crate::sync::told::Named;
#[cfg(target_os = "linux")]
use arc::io::{Async, Direction};
use arc::runtime::{Handle, Id};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::{ErrorKind, Result};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll, ready};

/// Hears of the end of one process, by the reactor of one runtime.
#[derive(Debug)]
pub(super) struct Watch {
    runtime: Id,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A descriptor of the process, which can be read when the process has ended.
    #[cfg(target_os = "linux")]
    Pidfd {
        /// Dropped first.
        _named: Named,
        pidfd: Async<OwnedFd>,
    },
    /// SIGCHLD, which is sent when any child has ended. It says not which, and several that come at
    /// once count as one. So each child is asked for each time.
    Signal(Signal),
}

impl Source {
    fn new(child: &Child) -> Result<Self> {
        // Not there before Linux 5.3, and some sandboxes refuse it. If no descriptors are left, the
        // other way fails as well. As nobody has asked for the child's status, its number is not
        // that of another process, even if the child has ended. Should the system have given the
        // number away all the same, because the program ignores SIGCHLD, asking fails at once.
        #[cfg(all(target_os = "linux", not(arc_portable)))]
        if let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
            let name = || format!("the end of the child process {}", child.id());
            let _named = Named::new(&pidfd, name);
            return Async::new_nonblocking(pidfd).map(|pidfd| Self::Pidfd { _named, pidfd });
        }
        // Elsewhere nothing is asked of the child itself.
        let _ = child;
        Self::by_signal()
    }

    fn by_signal() -> Result<Self> {
        signal(SignalKind::child()).map(Self::Signal)
    }
}

impl Watch {
    /// By the current runtime. There must be one.
    pub(super) fn new(child: &Child) -> Result<Self> {
        Ok(Self { runtime: Handle::current().id(), source: Source::new(child)? })
    }

    pub(super) fn is_of(&self, runtime: &Handle) -> bool {
        self.runtime == runtime.id()
    }

    /// Ready when the process has ended, and then std has kept its status. Or with an error: asking
    /// for it has failed, or the runtime has ended.
    pub(super) fn poll_end(
        &self,
        child: &mut Child,
        context: &mut Context<'_>,
    ) -> Poll<Result<ExitStatus>> {
        // A new watch asks at once, so that it does not matter what came before it. An event that
        // comes after the question is not lost: see `Async::try_with`.
        let mut status = None;
        let ask = || {
            status = child.try_wait()?;
            if status.is_some() { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) }
        };
        ready!(self.source.poll_asking(context, ask))?;
        Poll::Ready(Ok(status.unwrap_or_else(|| unreachable!("it ends with a status"))))
    }
}

impl Source {
    /// Asks each time that the process may have ended, until the answer is not `WouldBlock`.
    fn poll_asking(
        &self,
        context: &mut Context<'_>,
        ask: impl FnMut() -> Result<usize>,
    ) -> Poll<Result<usize>> {
        match self {
            // An end that the process's tracer sees first may be told twice.
            #[cfg(target_os = "linux")]
            Self::Pidfd { pidfd, .. } => {
                let mut ask = ask;
                pidfd.poll_transfer(Direction::Read, context, 0, |_| ask())
            }
            Self::Signal(signals) => signals.poll_with(context, ask),
        }
    }
}

/// The way by SIGCHLD, where Linux would take the other.
#[cfg(test)]
mod tests {
    use super::{Handle, Source, Watch};
    use arc::time::timeout;
    use std::future::poll_fn;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A process that runs until its standard input ends.
    fn start(line: &str) -> Child {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).stdin(Stdio::piped()).spawn().expect("a shell is there")
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn each_signal_asks_for_each_child() {
        let (mut ours, mut other) = (start("read line; exit 3"), start("read line"));
        let source = Source::by_signal().expect("there are descriptors");
        let watch = Watch { runtime: Handle::current().id(), source };
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        let mut poll = |context: &mut Context<'_>| watch.poll_end(&mut ours, context);
        assert!(poll(&mut Context::from_waker(&waker)).is_pending());

        // Another one ends: somebody is woken, and goes on waiting.
        drop(other.stdin.take());
        other.wait().expect("it has a status");
        let limit = Duration::from_secs(20);
        let is_woken = async {
            while !woken.0.load(Ordering::Relaxed) {
                arc::time::sleep(Duration::from_micros(100)).await;
            }
        };
        timeout(limit, is_woken).await.expect("a signal is heard");
        assert!(poll(&mut Context::from_waker(&waker)).is_pending());

        drop(ours.stdin.take());
        let end = poll_fn(|context| watch.poll_end(&mut ours, context));
        let end = timeout(limit, end).await.expect("a signal is heard");
        assert_eq!(end.expect("it has a status").code(), Some(3));
    }
}
