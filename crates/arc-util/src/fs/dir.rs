//! Directories: what is in them, and how they are made.

use crate::blocking_io::{given_up, inside, no_thread, run};
use arc::task::{JoinHandle, try_spawn_blocking};
use futures_core::Stream;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How many entries a job reads at most.
const CHUNK: usize = 64;

/// Reads the entries of a directory, in no order. Jobs read up to 64 at once.
///
/// # Errors
///
/// Those of [`std::fs::read_dir`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut entries = arc_util::fs::read_dir("src").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.contains(&"lib.rs".into()));
/// # Ok(())
/// # }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let chunk = run(move || Ok(Chunk::read(Box::new(std::fs::read_dir(path)?)))).await?;
    Ok(ReadDir { state: State::Has(chunk) })
}

/// The entries of a directory; made by [`read_dir`]. It is also a stream of them.
///
/// # Cancellation
///
/// Cancel safe: no entry is lost.
///
/// # Examples
///
/// ```
/// use futures_util::TryStreamExt;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let entries: Vec<_> = arc_util::fs::read_dir("src").await?.try_collect().await?;
/// assert!(entries.iter().any(|entry| entry.file_name() == "lib.rs"));
/// # Ok(())
/// # }
/// ```
pub struct ReadDir {
    state: State,
}

enum State {
    Has(Chunk),
    Reads(JoinHandle<Chunk>),
}

/// Entries that a job has read, and where the next ones come from, if there may be more.
#[derive(Default)]
struct Chunk {
    entries: VecDeque<Result<DirEntry>>,
    /// In a box, as it has 600 bytes on Windows.
    rest: Option<Box<std::fs::ReadDir>>,
}

impl Chunk {
    /// Reads entries up to an error.
    fn read(mut rest: Box<std::fs::ReadDir>) -> Self {
        let mut entries = VecDeque::with_capacity(CHUNK);
        while entries.len() < CHUNK {
            let Some(entry) = rest.next() else {
                return Self { entries, rest: None };
            };

            // std's goes on after most errors. The user decides whether to.
            let failed = entry.is_err();
            entries.push_back(entry.map(DirEntry::new));
            if failed {
                break;
            }
        }
        Self { entries, rest: Some(rest) }
    }
}

impl ReadDir {
    /// Returns the next entry, and `None` at the end.
    ///
    /// # Errors
    ///
    /// Those of std's [`ReadDir`](std::fs::ReadDir). More entries may follow, but for the kind
    /// `Other`: then no thread could be started, or the runtime has ended.
    pub async fn next_entry(&mut self) -> Result<Option<DirEntry>> {
        poll_fn(|context| self.poll_next_entry(context)).await
    }

    /// Polls for the next entry: see [`next_entry`](Self::next_entry). Only the waker of the last
    /// call is woken.
    pub fn poll_next_entry(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<DirEntry>>> {
        loop {
            match &mut self.state {
                State::Has(chunk) => {
                    if let Some(entry) = chunk.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }

                    let Some(rest) = chunk.rest.take() else {
                        return Poll::Ready(Ok(None));
                    };

                    // It panics outside a runtime.
                    let _ = inside();
                    let job = try_spawn_blocking(move || Chunk::read(rest));
                    self.state = State::Reads(job.map_err(no_thread)?);
                }
                State::Reads(job) => {
                    let read = ready!(Pin::new(job).poll(context));
                    // After an error there is nothing more.
                    self.state = State::Has(Chunk::default());
                    self.state = State::Has(read.map_err(given_up)?);
                }
            }
        }
    }
}

impl Stream for ReadDir {
    type Item = Result<DirEntry>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_next_entry(context).map(Result::transpose)
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReadDir")
    }
}

/// An entry of a directory; see [`read_dir`].
#[derive(Clone)]
pub struct DirEntry {
    entry: Arc<std::fs::DirEntry>,
    /// Most systems tell it with the name.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(entry: std::fs::DirEntry) -> Self {
        let file_type = entry.file_type().ok();
        Self { entry: Arc::new(entry), file_type }
    }

    /// The path of the entry: that of the directory, as it was given, and the name.
    pub fn path(&self) -> PathBuf {
        self.entry.path()
    }

    /// The name of the entry, without a path.
    pub fn file_name(&self) -> OsString {
        self.entry.file_name()
    }

    /// What the system knows about the entry. A symbolic link is not followed.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::DirEntry::metadata`].
    pub async fn metadata(&self) -> Result<Metadata> {
        let entry = self.entry.clone();
        run(move || entry.metadata()).await
    }

    /// Whether the entry is a file, a directory, a symbolic link or something else. A symbolic
    /// link is not followed.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::DirEntry::file_type`].
    pub async fn file_type(&self) -> Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let entry = self.entry.clone();
        run(move || entry.file_type()).await
    }

    /// The number that the entry has in its file system.
    #[cfg(unix)]
    pub fn ino(&self) -> u64 {
        std::os::unix::fs::DirEntryExt::ino(&*self.entry)
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DirEntry").field(&self.path()).finish()
    }
}

/// Makes directories, with options.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-builder-{}", std::process::id()));
/// let mut builder = arc_util::fs::DirBuilder::new();
/// # #[cfg(unix)]
/// builder.mode(0o700);
/// builder.recursive(true).create(path.join("one/two")).await?;
/// # arc_util::fs::remove_dir_all(path).await
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// Options of which none is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The directories above are made as well, if they do not exist. It is no error if the
    /// directory itself exists.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// The permissions of the directory, such as `0o700`, less those that the process's umask
    /// takes away.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Makes the directory.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::DirBuilder::create`].
    pub fn create<P: AsRef<Path>>(&self, path: P) -> impl Future<Output = Result<()>> + use<P> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }

        async move {
            let owned = path.as_ref().to_owned();
            let created = run(move || builder.create(owned)).await;
            // As what `OpenOptions::open` was given.
            drop(path);
            created
        }
    }
}
