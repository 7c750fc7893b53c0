//! What to start, and how.

use super::child::Child;
use arc::runtime::Handle;
use std::ffi::OsStr;
use std::future::Future;
use std::io::Result;
use std::path::Path;
use std::process::{Command as StdCommand, ExitStatus, Output, Stdio};

/// Says what process to start, and how: std's [`Command`](StdCommand), whose processes can be
/// awaited.
///
/// It is reusable: each [`spawn`](Self::spawn) starts another process. What std's command inherits
/// by default, this one inherits: environment, folder, and the standard streams.
///
/// std's methods that are not here are called on [`as_std_mut`](Self::as_std_mut).
///
/// # Examples
///
/// ```
/// # #[cfg(unix)] {
/// use arc_util::process::Command;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let output = Command::new("echo").arg("hello").output().await?;
/// assert_eq!(output.stdout, b"hello\n");
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: StdCommand,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command that starts a program, without arguments. See [`StdCommand::new`] for
    /// where the program is looked for.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        Self::from(StdCommand::new(program))
    }

    /// Lends std's command, to ask for what was set.
    pub fn as_std(&self) -> &StdCommand {
        &self.std
    }

    /// Lends std's command, to set what has no method here. Do not start a process by it: arc would
    /// know nothing of that.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::process::Command;
    /// let mut command = Command::new("ls");
    /// command.as_std_mut().arg("-l");
    /// assert_eq!(command.as_std().get_args().count(), 1);
    /// ```
    pub fn as_std_mut(&mut self) -> &mut StdCommand {
        &mut self.std
    }

    /// Returns std's command. What [`kill_on_drop`](Self::kill_on_drop) says is lost.
    pub fn into_std(self) -> StdCommand {
        self.std
    }

    /// Adds one argument. No shell looks at it: quotes and spaces are parts of it.
    pub fn arg<S: AsRef<OsStr>>(&mut self, argument: S) -> &mut Self {
        self.std.arg(argument);
        self
    }

    /// Adds several arguments. See [`arg`](Self::arg).
    pub fn args<I, S>(&mut self, arguments: I) -> &mut Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(arguments);
        self
    }

    /// Sets a variable of the environment, or changes it.
    pub fn env<K: AsRef<OsStr>, V: AsRef<OsStr>>(&mut self, name: K, value: V) -> &mut Self {
        self.std.env(name, value);
        self
    }

    /// Sets several variables of the environment. See [`env`](Self::env).
    pub fn envs<I, K, V>(&mut self, variables: I) -> &mut Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(variables);
        self
    }

    /// Removes a variable of the environment, also one that would be inherited.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, name: K) -> &mut Self {
        self.std.env_remove(name);
        self
    }

    /// Removes all variables of the environment, and has none inherited.
    pub fn env_clear(&mut self) -> &mut Self {
        self.std.env_clear();
        self
    }

    /// Sets the folder in which the process begins.
    pub fn current_dir<P: AsRef<Path>>(&mut self, folder: P) -> &mut Self {
        self.std.current_dir(folder);
        self
    }

    /// Sets what the process reads as its standard input. With [`Stdio::piped`], the child has a
    /// [`ChildStdin`](super::ChildStdin).
    pub fn stdin<T: Into<Stdio>>(&mut self, stream: T) -> &mut Self {
        self.std.stdin(stream);
        self
    }

    /// Sets where the standard output of the process goes. With [`Stdio::piped`], the child has a
    /// [`ChildStdout`](super::ChildStdout).
    pub fn stdout<T: Into<Stdio>>(&mut self, stream: T) -> &mut Self {
        self.std.stdout(stream);
        self
    }

    /// Sets where the standard error of the process goes. With [`Stdio::piped`], the child has a
    /// [`ChildStderr`](super::ChildStderr).
    pub fn stderr<T: Into<Stdio>>(&mut self, stream: T) -> &mut Self {
        self.std.stderr(stream);
        self
    }

    /// Sets whether a process is killed when its [`Child`] is dropped before it has ended, and when
    /// the future of [`status`](Self::status) or [`output`](Self::output) is. It is not by default.
    ///
    /// What the process has started itself is not killed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use arc_util::process::Command;
    /// use arc_util::time::{Duration, timeout};
    /// # #[arc::main]
    /// # async fn main() {
    /// let mut command = Command::new("sleep");
    /// let sleeping = command.arg("1000").kill_on_drop(true).status();
    /// // When the time is over, the future is dropped.
    /// assert!(timeout(Duration::from_millis(1), sleeping).await.is_err());
    /// # }
    /// # main();
    /// # }
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Self {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns what [`kill_on_drop`](Self::kill_on_drop) has set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Starts a process.
    ///
    /// The call blocks for as long as the system takes to start it, which is a millisecond or less.
    ///
    /// # Errors
    ///
    /// Those of std's [`spawn`](StdCommand::spawn). Fails as well when no descriptors are left for
    /// the pipes, or to hear of the end of the process, and when the runtime has ended. If the
    /// process had been started by then, it is killed.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime. No process is started then.
    ///
    /// # Examples
    ///
    /// See [`Child`].
    #[track_caller]
    pub fn spawn(&mut self) -> Result<Child> {
        assert!(
            Handle::try_current().is_some(),
            "a process was started outside an arc runtime: do so in a task, in \
             `Runtime::block_on(async {{ .. }})` or `#[arc::main]`, or while you hold the guard of \
             `Handle::enter`"
        );
        // Before there is a process whose end could be missed.
        #[cfg(unix)]
        super::unix::take_over();
        Child::new(self.std.spawn()?, self.kill_on_drop)
    }

    /// Starts a process, and waits for its end. Ends of pipes that were set are closed.
    ///
    /// The process is started by this call, and not by the first poll of the future.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Self::spawn) and [`Child::wait`].
    ///
    /// # Panics
    ///
    /// The call panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the process goes on, unless
    /// [`kill_on_drop`](Self::kill_on_drop) was set.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use arc_util::process::Command;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let status = Command::new("sh").args(["-c", "exit 7"]).status().await?;
    /// assert_eq!(status.code(), Some(7));
    /// # Ok(())
    /// # }
    /// # main().unwrap();
    /// # }
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = Result<ExitStatus>> + use<> {
        // Not in the future: the process starts also if nobody polls that.
        let child = self.spawn();
        async {
            let mut child = child?;

            // A process that reads or writes them would wait for us, and we for it.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts a process, waits for its end, and returns what it has written to its standard output
    /// and its standard error, which are pipes from now on.
    ///
    /// The process is started by this call, and not by the first poll of the future. All that it
    /// writes is held in memory. As with tokio, it inherits the standard input if nothing else was
    /// set. If that is a pipe, it is closed.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    ///
    /// # Panics
    ///
    /// The call panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, what was read is lost, and the process goes on, unless
    /// [`kill_on_drop`](Self::kill_on_drop) was set.
    ///
    /// # Examples
    ///
    /// See [`Command`].
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = Result<Output>> + use<> {
        self.std.stdout(Stdio::piped());
        self.std.stderr(Stdio::piped());

        // Not in the future: the process starts also if nobody polls that.
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

/// What there is on Unix alone.
#[cfg(unix)]
impl Command {
    /// Sets the user that the process runs as. See std's
    /// [`uid`](std::os::unix::process::CommandExt::uid).
    pub fn uid(&mut self, user: u32) -> &mut Self {
        std::os::unix::process::CommandExt::uid(&mut self.std, user);
        self
    }

    /// Sets the group that the process runs as. See std's
    /// [`gid`](std::os::unix::process::CommandExt::gid).
    pub fn gid(&mut self, group: u32) -> &mut Self {
        std::os::unix::process::CommandExt::gid(&mut self.std, group);
        self
    }

    /// Sets the argument before the first one, by which a program knows its own name.
    pub fn arg0<S: AsRef<OsStr>>(&mut self, name: S) -> &mut Self {
        std::os::unix::process::CommandExt::arg0(&mut self.std, name);
        self
    }

    /// Sets the process group, to which signals may be sent as a whole. 0 stands for a new one,
    /// with the number of the process.
    pub fn process_group(&mut self, group: i32) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(&mut self.std, group);
        self
    }

    /// Calls a function in the child between `fork` and `exec`, after the functions that were set
    /// before. If one of them fails, the process is not started, and
    /// [`spawn`](Self::spawn) returns its error.
    ///
    /// # Safety
    ///
    /// That of std's [`pre_exec`](std::os::unix::process::CommandExt::pre_exec). The child has a
    /// copy of the program's memory and only the thread that forks. Locks of other threads stay
    /// locked, also the allocator's. So the function may only do what a signal handler may: it must
    /// not allocate, not lock, and not use arc.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::process::Command;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut command = Command::new("true");
    /// // SAFETY: `setsid` is a system call, and nothing else is done.
    /// unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    /// assert!(command.status().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    #[expect(unsafe_code, reason = "std's is unsafe, and so is tokio's")]
    pub unsafe fn pre_exec<F>(&mut self, function: F) -> &mut Self
    where
        F: FnMut() -> Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises what std demands.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut self.std, function) };
        self
    }
}

/// What there is on Windows alone.
#[cfg(windows)]
impl Command {
    /// Adds text to the command line as it is, without quotes around it.
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text: S) -> &mut Self {
        std::os::windows::process::CommandExt::raw_arg(&mut self.std, text);
        self
    }

    /// Sets the flags that are given to `CreateProcess`. See std's
    /// [`creation_flags`](std::os::windows::process::CommandExt::creation_flags).
    pub fn creation_flags(&mut self, flags: u32) -> &mut Self {
        std::os::windows::process::CommandExt::creation_flags(&mut self.std, flags);
        self
    }
}

impl From<StdCommand> for Command {
    fn from(std: StdCommand) -> Self {
        Self { std, kill_on_drop: false }
    }
}
