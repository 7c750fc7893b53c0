//! A file.

use crate::blocking_io::{Ahead, Doing, Shared, Target, Writer, run, written_by_jobs};
use crate::forward::also_reads;
use crate::would_block;
use std::fmt;
use std::fs::{FileTimes, Metadata, Permissions};
use std::future::poll_fn;
use std::io::{Error, IoSlice, Result, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};
use tokio::io::ReadBuf;

impl Target for std::fs::File {
    const HOLDS_BACK: bool = false;

    fn write_all(&self, bytes: &[u8]) -> Result<()> {
        would_block::write_all(&mut &*self, bytes)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn move_back(&self, count: i64) -> Result<()> {
        (&mut &*self).seek(SeekFrom::Current(-count)).map(drop)
    }
}

/// An open file.
///
/// It is read, written and moved in by the traits of [`io`](crate::io). Each operation is a job of
/// [`spawn_blocking`](arc::task::spawn_blocking). A job reads or writes at most 2 MiB, and a read
/// asks the system for no more bytes than its caller does: put a
/// [`BufReader`](crate::io::BufReader) around a file that is read in small pieces.
///
/// # Writing
///
/// A write copies the bytes into a buffer, begins a job that writes them, and returns. The next
/// operation waits for that job. An error of the system is returned, once, by the next `read`,
/// `write`, `seek`, `flush`, `shutdown`, [`sync_all`](Self::sync_all),
/// [`sync_data`](Self::sync_data) or [`set_len`](Self::set_len), whichever is first. The other
/// operations leave it. `flush` and `shutdown` wait until the system has all bytes, which does not
/// mean that they are on the disk: `sync_all` waits for that. `shutdown` closes nothing; the file
/// is closed when it is dropped, and what has begun is done.
///
/// A write that was accepted is not lost. If the file is dropped, the job goes on, and nobody is
/// told of an error: flush the file to see it. If the runtime ends before the job has begun, the
/// end does the write, also if that takes longer than the limit of `shutdown`. Lost is only what no
/// job has written when the process ends: by `std::process::exit`, by a signal, or because `main`
/// returns before the runtime has ended (`shutdown_background`, or a limit that is over).
///
/// A FIFO that was opened non-blocking is read and written as one that blocks: its jobs wait.
///
/// If no thread can be started for a job, the operation returns an error of the kind `Other`. Only
/// a write does not: it is done on the calling thread.
///
/// # Cancellation
///
/// Cancel safe, with one exception: no bytes are lost, and none are written twice. The future of a
/// read may be dropped: the next read returns what the job has read. The future of `write` may be
/// dropped: then nothing was written. But `write_all` and `read_exact` may have done a part, as
/// everywhere. A `seek` whose future is dropped may have been done or not. So seek from the start
/// or from the end next, and not from the current position. A `set_len` may have been done or not,
/// too, but is not done later. The error of a seek whose future was dropped is told to nobody; that
/// of a read only if the next operation is a read.
///
/// # Panics
///
/// Operations panic outside a runtime, and so do the functions of this module. A read of bytes that
/// a cancelled read has left does not. A file may be dropped everywhere.
///
/// # Examples
///
/// ```
/// use arc_util::fs::File;
/// use arc_util::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
/// use std::io::SeekFrom;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create(true).open(&path).await?;
/// file.write_all(b"hello").await?;
/// file.seek(SeekFrom::Start(1)).await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "ello");
/// # arc_util::fs::remove_file(path).await
/// # }
/// ```
pub struct File(Writer<std::fs::File>);

impl File {
    /// Makes a file of std's asynchronous. It needs no runtime.
    pub fn from_std(file: std::fs::File) -> Self {
        Self(Writer::new(Shared::new(file)))
    }

    /// Moves the position, and returns it, in bytes from the start. It waits for what is at work on
    /// the file.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and those of [`std::io::Seek::seek`]. Then the position is
    /// where it was.
    pub async fn seek(&mut self, position: SeekFrom) -> Result<u64> {
        // Also a seek whose future was dropped, which may have been the same: much may have
        // happened since.
        poll_fn(|context| self.0.poll_job(context)).await;
        self.0.check()?;
        poll_fn(|context| futures_io::AsyncSeek::poll_seek(Pin::new(&mut *self), context, position))
            .await
    }

    /// Moves the position to the start, as [`seek`](Self::seek) does.
    ///
    /// # Errors
    ///
    /// Those of [`seek`](Self::seek).
    pub async fn rewind(&mut self) -> Result<()> {
        self.seek(SeekFrom::Start(0)).await.map(drop)
    }

    /// Waits until all jobs on the file are done, and returns std's file. Its position is behind
    /// what was read and written.
    ///
    /// An error of the last write is lost: await [`flush`](crate::io::AsyncWriteExt::flush) first.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Read;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let file = arc_util::fs::File::open("Cargo.toml").await?;
    /// let (mut file, mut text) = (file.into_std().await, String::new());
    /// file.read_to_string(&mut text)?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn into_std(mut self) -> std::fs::File {
        poll_fn(|context| self.0.poll_job(context)).await;
        loop {
            match self.try_into_std() {
                Ok(file) => return file,
                Err(file) => self = file,
            }
            // A job that somebody gave up, such as a `sync_all`, has the file.
            arc::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns std's file, as [`into_std`](Self::into_std) does, if that can be done at once.
    ///
    /// # Errors
    ///
    /// The file itself, if a job is at work on it.
    pub fn try_into_std(self) -> std::result::Result<std::fs::File, Self> {
        // Beside this file only jobs have the other references, and they make no new ones.
        if self.0.is_busy() || Arc::strong_count(&self.0.shared) > 1 {
            return Err(self);
        }
        let shared = self.0.shared.clone();
        drop(self);
        let shared = Arc::into_inner(shared);
        let (file, mut ahead) =
            shared.unwrap_or_else(|| unreachable!("there was no other reference")).into_inner();
        // A file that cannot be moved in has no position that could be wrong.
        let _ = ahead.give_back(&file);
        Ok(file)
    }

    /// Waits for the last write, and makes another `File` of the same file of the system: they
    /// have one position. Their operations do not wait for each other.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::try_clone`]. An error of the write stays for the next operation.
    pub async fn try_clone(&self) -> Result<Self> {
        while self.0.is_busy() {
            // A job of a future that was dropped may not have begun. What it reads is given back.
            arc::time::sleep(Duration::from_millis(1)).await;
        }

        let shared = self.0.shared.clone();
        let file = run(move || {
            shared.settle().give_back(&shared.target)?;
            shared.target.try_clone()
        });

        let mut file = Self::from_std(file.await?);
        file.0.buffer_max = self.0.buffer_max;
        Ok(file)
    }

    /// What the system knows about the file: its length, times and permissions. It waits for the
    /// last write.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::metadata`]. An error of the write stays for the next operation.
    pub async fn metadata(&self) -> Result<Metadata> {
        self.settled(std::fs::File::metadata).await
    }

    /// Cuts the file off at a length in bytes, or makes it longer by zeros. The position stays.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and those of [`std::fs::File::set_len`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::{fs::File, io::AsyncWriteExt};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("arc-doc-len-{}", std::process::id()));
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.set_len(4).await?;
    /// assert_eq!(arc_util::fs::read(&path).await?, b"hell");
    /// # arc_util::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_len(&self, size: u64) -> Result<()> {
        if self.0.is_busy() {
            self.settled(|_| Ok(())).await?;
        }
        self.0.check()?;

        // Goes when this future does. The job looks for it when nobody can get ahead of it.
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        let shared = self.0.shared.clone();
        let done = run(move || {
            let mut ahead = shared.settle();
            if is_wanted.strong_count() > 0 {
                ahead.give_back(&shared.target)?;
                shared.changes.fetch_add(1, Ordering::Relaxed);
                shared.target.set_len(size)?;
            }
            Ok(())
        });

        let done = done.await;
        drop(wanted);
        done
    }

    /// Changes the permissions of the file.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::set_permissions`].
    pub async fn set_permissions(&self, permissions: Permissions) -> Result<()> {
        self.settled(move |file| file.set_permissions(permissions)).await
    }

    /// Changes the times of the file. It waits for the last write, which would change them again.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::set_times`].
    pub async fn set_times(&self, times: FileTimes) -> Result<()> {
        self.settled(move |file| file.set_times(times)).await
    }

    /// Changes the time of the last change, as [`set_times`](Self::set_times) does.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::set_modified`].
    pub async fn set_modified(&self, time: SystemTime) -> Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Waits until all that was written is on the disk, and what the system knows about the file.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and those of [`std::fs::File::sync_all`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::{fs::File, io::AsyncWriteExt};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("arc-doc-sync-{}", std::process::id()));
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.sync_all().await?;
    /// # arc_util::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn sync_all(&self) -> Result<()> {
        let synced = self.settled(std::fs::File::sync_all).await;
        self.0.check()?;
        synced
    }

    /// Waits until all that was written is on the disk, without what a later read does not need,
    /// such as the time of the change.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and those of [`std::fs::File::sync_data`].
    pub async fn sync_data(&self) -> Result<()> {
        let synced = self.settled(std::fs::File::sync_data).await;
        self.0.check()?;
        synced
    }

    /// Sets how many bytes one job reads or writes at most: 2 MiB, if this is not called.
    ///
    /// # Panics
    ///
    /// Panics when the size is 0.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, size: usize) {
        assert!(size > 0, "nothing can be read or written by a buffer of no size");
        self.0.buffer_max = size;
    }

    /// How many bytes one job reads or writes at most.
    pub fn max_buf_size(&self) -> usize {
        self.0.buffer_max
    }

    /// Runs a function on the file after what was written. Later operations do not wait for it.
    async fn settled<R: Send + 'static>(
        &self,
        act: impl FnOnce(&std::fs::File) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let shared = self.0.shared.clone();
        run(move || {
            drop(shared.settle());
            act(&shared.target)
        })
        .await
    }
}

/// A read returns the bytes that one call of the system gives, at most 2 MiB.
impl tokio::io::AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let writer = &mut self.get_mut().0;
        // Such a read tells nothing of the file, not even an error.
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }

        loop {
            // The end that a dropped read has found may be another one by now.
            let changes = writer.shared.changes.load(Ordering::Relaxed);
            if let Some((Doing::Read(before), result)) = ready!(writer.poll_job(context))
                && result? == 0
                && before == changes
            {
                return Poll::Ready(Ok(()));
            }
            writer.check()?;
            if writer.take_ahead(buffer) {
                return Poll::Ready(Ok(()));
            }

            // No more than is asked for: as a rule, nothing has to be given back.
            let limit = buffer.remaining().min(writer.buffer_max);
            writer.begin(Doing::Read(changes), move |file, ahead| {
                ahead.fill(limit, file).map(|count| count as u64)
            })?;
        }
    }
}

also_reads!(File);

written_by_jobs!(File);

/// A seek that fails leaves the position where it was.
impl futures_io::AsyncSeek for File {
    fn poll_seek(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<Result<u64>> {
        let writer = &mut self.get_mut().0;
        let mut is_again = false;

        loop {
            match ready!(writer.poll_job(context)) {
                Some((Doing::Seek(done, again), result)) if done == position => {
                    // Once is enough: a file may grow all the time.
                    if again || !is_stale(&writer.shared.target, position, &result) {
                        return Poll::Ready(result);
                    }
                    is_again = true;
                }
                _ => writer.check()?,
            }
            writer.begin(Doing::Seek(position, is_again), seek_to(position))?;
        }
    }
}

/// A seek that was started is done, also if `poll_complete` is never called, and whatever comes
/// next waits for it. `start_seek` fails as long as nobody has waited for the operation before,
/// such as a write that was not flushed: call `poll_complete` first.
impl tokio::io::AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> Result<()> {
        let writer = &mut self.get_mut().0;
        if writer.has_job() {
            return Err(Error::other(
                "another operation of the file is at work: call poll_complete before start_seek",
            ));
        }
        writer.check()?;
        writer.begin(Doing::StartedSeek, seek_to(position))
    }

    fn poll_complete(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<u64>> {
        match ready!(self.get_mut().0.poll_job(context)) {
            Some((Doing::StartedSeek, result)) => Poll::Ready(result),
            // Whoever seeks asks this first, so that nothing is at work when the seek starts.
            _ => Poll::Ready(Ok(0)),
        }
    }
}

/// The job of a seek.
fn seek_to(position: SeekFrom) -> impl FnOnce(&std::fs::File, &mut Ahead) -> Result<u64> {
    move |mut file, ahead| {
        ahead.give_back(file)?;
        file.seek(position)
    }
}

/// Whether a seek to the end went to another place than the end is at now. It may be the seek of a
/// future that was dropped, and the file longer or shorter since.
fn is_stale(file: &std::fs::File, position: SeekFrom, result: &Result<u64>) -> bool {
    let (SeekFrom::End(offset), Ok(reached)) = (position, result) else { return false };
    // Other files have no length, or not that one.
    let metadata = file.metadata().ok().filter(|it| it.is_file());
    metadata.is_some_and(|it| it.len().checked_add_signed(offset) != Some(*reached))
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        Self::from_std(file)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("File").field(&self.0.shared.target).finish()
    }
}

#[cfg(unix)]
mod unix {
    use super::File;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.shared.target.as_fd()
        }
    }

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.0.shared.target.as_raw_fd()
        }
    }

    impl From<OwnedFd> for File {
        fn from(fd: OwnedFd) -> Self {
            Self::from_std(fd.into())
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::File;
    use std::io::Result;
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle, RawHandle};

    impl File {
        /// Makes a pipe of a child process asynchronous.
        pub(crate) fn of_child(pipe: impl Into<OwnedHandle>) -> Result<Self> {
            Ok(Self::from(pipe.into()))
        }
    }

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            self.0.shared.target.as_handle()
        }
    }

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            self.0.shared.target.as_raw_handle()
        }
    }

    impl From<OwnedHandle> for File {
        fn from(handle: OwnedHandle) -> Self {
            Self::from_std(handle.into())
        }
    }
}
