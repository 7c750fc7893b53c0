//! Files and directories, on the threads of [`spawn_blocking`](arc::task::spawn_blocking).
//!
//! The names, the arguments and the meaning are those of `tokio::fs`, and the IO traits of [`File`]
//! are those of [`io`](crate::io). No system that arc runs on can wait for a regular file as for a
//! socket. So each function here is a job: it costs some microseconds more than the call of
//! [`std::fs`] that it makes. Where many small accesses follow each other, make them by std in one
//! job of `spawn_blocking`.
//!
//! # Errors
//!
//! Errors are the system's, with their kind and their number. If a job was given up because the
//! runtime has ended, or if no thread can be started for it, that is an error of the kind `Other`.
//!
//! # Cancellation
//!
//! A function whose future is dropped goes on if its job has begun, and perhaps if not: it may have
//! had its effect or not, and may have it later. [`File`] and [`ReadDir`] promise more.
//!
//! # Panics
//!
//! Outside a runtime.
//!
//! # Examples
//!
//! ```
//! use arc_util::fs;
//! # #[arc::main]
//! # async fn main() -> std::io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("arc-doc-fs-{}", std::process::id()));
//! fs::write(&path, b"hello").await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello");
//! fs::remove_file(&path).await?;
//! assert!(!fs::try_exists(&path).await?);
//! # Ok(())
//! # }
//! ```

mod dir;
mod file;
mod options;
mod paths;

pub use dir::{DirBuilder, DirEntry, ReadDir, read_dir};
pub use file::File;
pub use options::OpenOptions;
#[cfg(unix)]
pub use paths::symlink;
pub use paths::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, try_exists, write,
};
#[cfg(windows)]
pub use paths::{symlink_dir, symlink_file};
pub use std::fs::{FileTimes, FileType, Metadata, Permissions};
