//! A process that was started.

use super::pipes::{ChildStderr, ChildStdin, ChildStdout};
#[cfg(unix)]
use super::unix::Process;
#[cfg(windows)]
use super::windows::Process;
use crate::io::{AsyncRead, AsyncReadExt};
use futures_util::future::try_join3;
use std::future::poll_fn;
use std::io::Result;
use std::process::{Child as StdChild, ExitStatus, Output};

/// A process that was started by [`Command::spawn`](super::Command::spawn).
///
/// If it is dropped, the process goes on, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) was set. See
/// [the module](super#children-that-are-dropped).
///
/// # Examples
///
/// ```
/// # #[cfg(unix)] {
/// use arc_util::io::{AsyncBufReadExt, BufReader};
/// use arc_util::process::Command;
/// use std::process::Stdio;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut command = Command::new("printf");
/// let mut child = command.arg(r"one\ntwo\n").stdout(Stdio::piped()).spawn()?;
/// let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("it printed {line}");
/// }
/// assert!(child.wait().await?.success());
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    state: State,
    /// The pipe that the process reads, if its standard input is one. [`wait`](Self::wait) closes
    /// it.
    pub stdin: Option<ChildStdin>,
    /// The pipe to which the process writes its output, if its standard output is one.
    pub stdout: Option<ChildStdout>,
    /// The pipe to which the process writes its errors, if its standard error is one.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    Running(Running),
    Ended(ExitStatus),
}

/// A process whose end is not known yet. This is apart from [`Child`], so that fields can be moved
/// out of that one.
#[derive(Debug)]
struct Running {
    process: Process,
    kill_on_drop: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Not what has ended, nor what belongs to somebody else: in the child of a fork this may be
        // the copy of a child of its parent, for which this fails.
        if self.kill_on_drop && matches!(self.process.try_wait(), Ok(None)) {
            // There is nobody to be told of an error.
            let _ = self.process.kill();
        }
    }
}

impl Child {
    pub(super) fn new(mut std: StdChild, kill_on_drop: bool) -> Result<Self> {
        let stdin = std.stdin.take();
        let stdout = std.stdout.take();
        let stderr = std.stderr.take();

        // If a pipe cannot be registered, this is dropped, and the process killed.
        let mut running = Running { process: Process::new(std)?, kill_on_drop: true };
        let stdin = stdin.map(ChildStdin::from_std).transpose()?;
        let stdout = stdout.map(ChildStdout::from_std).transpose()?;
        let stderr = stderr.map(ChildStderr::from_std).transpose()?;

        running.kill_on_drop = kill_on_drop;
        Ok(Self { state: State::Running(running), stdin, stdout, stderr })
    }

    /// Returns the number of the process, or `None` if its end has been seen, as by
    /// [`wait`](Self::wait): by then another process may have that number.
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(running) => Some(running.process.id()),
            State::Ended(_) => None,
        }
    }

    /// Returns the handle of the process, or `None` if its end has been seen.
    #[cfg(windows)]
    pub fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        match &self.state {
            State::Running(running) => Some(running.process.raw_handle()),
            State::Ended(_) => None,
        }
    }

    /// Kills the process, by SIGKILL on Unix, and does not wait for its end. Does nothing if its
    /// end has been seen.
    ///
    /// # Errors
    ///
    /// Those of std's [`kill`](StdChild::kill).
    pub fn start_kill(&mut self) -> Result<()> {
        match &mut self.state {
            State::Running(running) => running.process.kill(),
            State::Ended(_) => Ok(()),
        }
    }

    /// Kills the process, and waits for its end.
    ///
    /// # Errors
    ///
    /// Those of [`start_kill`](Self::start_kill) and [`wait`](Self::wait).
    ///
    /// # Cancellation
    ///
    /// Cancel safe: after the first poll the process was killed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use arc_util::process::Command;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// assert!(child.id().is_some());
    /// child.kill().await?;
    /// assert_eq!(child.id(), None);
    /// # Ok(())
    /// # }
    /// # main().unwrap();
    /// # }
    /// ```
    pub async fn kill(&mut self) -> Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits for the end of the process, and returns its status. Called again, it returns the same.
    ///
    /// If [`stdin`](Self::stdin) is a pipe, this closes it first: a process that reads it would
    /// wait for us, and we for it. To write while you wait, take it out before.
    ///
    /// # Errors
    ///
    /// Those of the system. If the program ignores SIGCHLD, which it may have inherited from its
    /// parent, the system keeps no status, and this fails when the process has ended (`ECHILD`).
    /// Fails when the runtime has ended that started the process, but not inside another runtime:
    /// that one goes on. This may take a descriptor, and fails if there is none. On Windows, fails
    /// if the system starts no thread.
    ///
    /// # Cancellation
    ///
    /// Cancel safe, but for `stdin`, which stays closed.
    ///
    /// # Examples
    ///
    /// See [`Child`].
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        drop(self.stdin.take());
        match &mut self.state {
            State::Ended(status) => Ok(*status),
            State::Running(running) => {
                let status = poll_fn(|context| running.process.poll_wait(context)).await?;
                self.state = State::Ended(status);
                Ok(status)
            }
        }
    }

    /// Returns the status if the process has ended, and `None` if it has not. It does not wait, and
    /// does not close [`stdin`](Self::stdin).
    ///
    /// # Errors
    ///
    /// Those of std's [`try_wait`](StdChild::try_wait).
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        match &mut self.state {
            State::Ended(status) => Ok(Some(*status)),
            State::Running(running) => {
                let status = running.process.try_wait()?;
                if let Some(status) = status {
                    self.state = State::Ended(status);
                }
                Ok(status)
            }
        }
    }

    /// Waits for the end of the process, and reads until then what it writes to its pipes. Closes
    /// [`stdin`](Self::stdin) first, as [`wait`](Self::wait) does.
    ///
    /// Only what is a pipe is read, and was not taken out: see
    /// [`Command::stdout`](super::Command::stdout). The pipes are read to their ends. If the
    /// process has started others that have the pipe as well, that takes until they end.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait), and those of reading.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, what was read is lost, and so is the child.
    ///
    /// # Examples
    ///
    /// See [the module](super#examples).
    pub async fn wait_with_output(mut self) -> Result<Output> {
        let (mut out, mut err) = (self.stdout.take(), self.stderr.take());
        let all = try_join3(self.wait(), read_all(&mut out), read_all(&mut err));
        let (status, stdout, stderr) = all.await?;
        Ok(Output { status, stdout, stderr })
    }
}

async fn read_all(pipe: &mut Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
