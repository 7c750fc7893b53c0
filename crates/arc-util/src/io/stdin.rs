//! Standard input, read by a thread of its own.

use crate::blocking_io::no_thread;
use crate::forward::{also_reads, move_front};
use crate::wake::Wakers;
use crate::would_block;
use arc::task::consume_budget;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Result};
use std::mem::take;
use std::pin::{Pin, pin};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};

/// How much the thread reads at once, in bytes, at most.
const BUFFER: usize = 64 << 10;

/// How long the thread waits for the next read before it ends.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Returns the standard input of the process, which a thread of its own reads.
///
/// The thread begins with the first read. It ends when it has not been asked for more for 10 s, but
/// not while it waits for the system to give it input, even if the handle that asked is gone. It
/// reads up to 64 KiB at once, which all handles share: a `stdin()` gets what another one has left.
/// A read that waits does not delay the end of the program, nor that of a runtime. It waits also if
/// somebody has made the input non-blocking, as a program does that shares the terminal.
///
/// # Errors
///
/// A read returns the errors of the system. If the system starts no thread, that is an error of the
/// kind `Other`, and the next read tries again.
///
/// # Examples
///
/// ```no_run
/// use arc_util::io::{AsyncBufReadExt, BufReader, stdin};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = BufReader::new(stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{} bytes", line.len());
/// }
/// # Ok(())
/// # }
/// ```
pub fn stdin() -> Stdin {
    let mut state = INPUT.lock();
    state.handles += 1;
    Stdin(state.handles)
}

/// Reads the standard input; made by [`stdin`].
///
/// # Cancellation
///
/// A read that is dropped loses nothing: the next one returns the bytes that came.
pub struct Stdin(u64);

impl Drop for Stdin {
    fn drop(&mut self) {
        // In a variable, so that the lock is released before the waker is dropped.
        let waker = INPUT.lock().readers.remove(self.0);
        drop(waker);
    }
}

/// What has been read, and who waits for more.
struct Input {
    state: Mutex<State>,
    /// Somebody wants more.
    wanted: Condvar,
}

struct State {
    /// What the thread has read, and nobody has taken yet.
    bytes: VecDeque<u8>,
    /// The end or an error, behind these bytes. It is told once.
    last: Option<Result<()>>,
    is_wanted: bool,
    /// The process in which the thread runs. A fork has no thread of its parent's.
    process: Option<u32>,
    /// Who waits, by the numbers of the handles.
    readers: Wakers,
    /// How many handles there have been.
    handles: u64,
}

impl State {
    /// Whether there is nothing to be told, for now.
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.last.is_none()
    }
}

static INPUT: Input = Input {
    state: Mutex::new(State {
        bytes: VecDeque::new(),
        last: None,
        is_wanted: false,
        process: None,
        readers: Wakers::new(),
        handles: 0,
    }),
    wanted: Condvar::new(),
};

impl Input {
    /// A poisoned lock is not an error here: what it guards is valid at each step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does.
    fn serve(&self) {
        let mut buffer = vec![0; BUFFER];
        while self.is_asked() {
            // Without the lock: this may take for ever.
            let read = would_block::read(&mut io::stdin(), &mut buffer);

            let mut state = self.lock();
            match read {
                Ok(0) => state.last = Some(Ok(())),
                Ok(count) => state.bytes.extend(&buffer[..count]),
                Err(error) => state.last = Some(Err(error)),
            }

            // It reads on only when somebody asks again.
            state.is_wanted = false;
            let readers = take(&mut state.readers);
            drop(state);
            readers.wake();
        }
    }

    /// Waits until somebody wants more. False: nobody does for a while, and the thread ends.
    fn is_asked(&self) -> bool {
        let nobody = |state: &mut State| !state.is_wanted;
        let waited = self.wanted.wait_timeout_while(self.lock(), KEEP_ALIVE, nobody);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;

        // Under the lock: whoever asks from now on starts another thread.
        if !state.is_wanted {
            state.process = None;
        }
        state.is_wanted
    }

    /// Asks the thread for more, and starts it if it does not run.
    fn ask(&'static self, state: &mut State) -> Result<()> {
        // A process that was forked has not got the thread.
        let process = Some(std::process::id());
        if state.process != process {
            let thread = std::thread::Builder::new().name("arc-stdin".into());
            thread.spawn(|| self.serve()).map_err(no_thread)?;
            state.process = process;
        }

        state.is_wanted = true;
        self.wanted.notify_one();
        Ok(())
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        // Only a read that need not wait takes a unit of the budget. It does so without the lock,
        // as the task may be woken here.
        let has_to_wait = buffer.remaining() > 0 && INPUT.lock().is_empty();
        if !has_to_wait {
            ready!(pin!(consume_budget()).poll(context));
        }

        // A waker is foreign code: it is cloned, woken and dropped without the lock.
        let waker = context.waker().clone();
        let mut state = INPUT.lock();
        if buffer.remaining() == 0 || !state.bytes.is_empty() {
            move_front(&mut state.bytes, buffer);
            return Poll::Ready(Ok(()));
        }
        if let Some(last) = state.last.take() {
            return Poll::Ready(last);
        }

        INPUT.ask(&mut state)?;
        let before = state.readers.insert(self.0, waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

also_reads!(Stdin);

impl fmt::Debug for Stdin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Stdin")
    }
}
