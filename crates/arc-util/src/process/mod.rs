//! Processes that are started, written to, read from and waited for. Names are tokio's.
//!
//! A [`Command`] says what to start, as std's does, on which it is built. A [`Child`] is a process
//! that was started. Its pipes have the traits of [`io`](crate::io).
//!
//! | system | how the end of a process is heard of |
//! |---|---|
//! | Linux since 5.3 | by a descriptor of the process, a *pidfd* |
//! | other Unix systems, and where pidfds are refused | by SIGCHLD, with two descriptors a child |
//! | Windows | by a thread for each child that is waited for |
//!
//! # Children that are dropped
//!
//! A [`Child`] that is dropped goes on, unless [`kill_on_drop`](Command::kill_on_drop) was set.
//! Either way no zombie is left on Unix, the entry that an ended process has until its parent asks
//! for its status. The runtime asks when the process ends, without a task or a thread of its own.
//! If the runtime has ended by then, the next process that is started does it.
//!
//! # After a fork
//!
//! The child of a `fork` can build a runtime of its own, and run processes there. It cannot wait
//! for the processes of its parent: that is an error of the system, and no hang.
//!
//! # Examples
//!
//! ```
//! # #[cfg(unix)] {
//! use arc_util::io::{AsyncReadExt, AsyncWriteExt};
//! use arc_util::process::Command;
//! use std::process::Stdio;
//! # #[arc::main]
//! # async fn main() -> std::io::Result<()> {
//! let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let mut input = child.stdin.take().expect("it is a pipe");
//! input.write_all(b"to and fro").await?;
//! drop(input); // the end of what `cat` reads
//!
//! let output = child.wait_with_output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"to and fro");
//! # Ok(())
//! # }
//! # main().unwrap();
//! # }
//! ```

mod child;
mod command;
mod pipes;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
