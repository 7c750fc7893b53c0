//! Code that the scenario tests share.

#![allow(dead_code, reason = "each test file uses a part of it")]

use crate::this_program;
use arc::runtime::{Builder, Runtime};
use arc_util::io::{AsyncRead, AsyncReadExt};
use arc_util::net::{TcpListener, TcpStream};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// The time limit of a test, far more than any test takes on a loaded machine.
/// Emulators and sanitizers are many times slower: a build for one sets the variable.
pub const DEADLINE: Duration =
    Duration::from_secs(if option_env!("ARC_TEST_SLOWLY").is_some() { 240 } else { 20 });

/// Awaits a future that must be ready within `DEADLINE`.
///
/// There are hundreds of futures and a few outputs: boxed, they compile faster.
#[track_caller]
pub fn soon<'a, T>(future: impl Future<Output = T> + 'a) -> Soon<'a, T> {
    let place = std::panic::Location::caller();
    Soon { future: Box::pin(future), limit: Box::pin(arc::time::sleep(DEADLINE)), place }
}

pub struct Soon<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    limit: Pin<Box<arc::time::Sleep>>,
    place: &'static std::panic::Location<'static>,
}

impl<T> Future for Soon<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let polled = self.future.as_mut().poll(context);
        let is_over = polled.is_pending() && self.limit.as_mut().poll(context).is_ready();
        assert!(!is_over, "waited in vain at {}", self.place);
        polled
    }
}

/// Waits until other tasks have made the condition true.
#[track_caller]
pub fn until<'a>(condition: impl Fn() -> bool + 'a) -> Soon<'a, ()> {
    soon(async move {
        while !condition() {
            arc::time::sleep(Duration::from_micros(100)).await;
        }
    })
}

/// A waker that counts its wakes.
#[derive(Default)]
pub struct Woken(AtomicUsize);

impl Woken {
    pub fn new() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (woken.clone(), woken.into())
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls a future once.
pub fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Whether a future has to wait. It is polled once and dropped.
pub fn waits(future: impl Future) -> bool {
    poll_once(pin!(future), Waker::noop()).is_pending()
}

/// The output of a future that need not wait. It is polled once.
#[track_caller]
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    match poll_once(pin!(future), Waker::noop()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// A future that is polled by hand, and counts its wakes.
///
/// Whatever the future is, this is one type for each output: the tests compile faster so.
pub struct Polled<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    woken: Arc<Woken>,
}

/// Polls a future for the first time. It must wait.
#[track_caller]
pub fn waiting<'a, T>(future: impl Future<Output = T> + 'a) -> Polled<'a, T> {
    let mut polled = Polled { future: Box::pin(future), woken: Arc::default() };
    assert!(polled.waits(), "it does not wait");
    polled
}

impl<T> Polled<'_, T> {
    /// Polls it again, and tells whether it has to wait.
    pub fn waits(&mut self) -> bool {
        poll_once(self.future.as_mut(), &self.woken.clone().into()).is_pending()
    }

    /// Polls it again. It must not have to wait any more.
    #[track_caller]
    pub fn ready(&mut self) -> T {
        match poll_once(self.future.as_mut(), &self.woken.clone().into()) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it still waits"),
        }
    }

    pub fn wakes(&self) -> usize {
        self.woken.count()
    }
}

/// Whoever awaits it from now on is woken in place of the counter.
impl<T> Future for Polled<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.future.as_mut().poll(context)
    }
}

/// Counts up when it is dropped.
pub struct CountDrop(pub Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many threads for jobs the runtimes of [`few_threads`] have.
const THREADS: usize = 4;

/// Runtimes of both flavors, for [`fill_the_pool`].
pub fn few_threads() -> [Runtime; 2] {
    [Builder::new_multi_thread(), Builder::new_current_thread()]
        .map(|mut builder| builder.max_blocking_threads(THREADS).build().expect("it is built"))
}

/// Spawns jobs that wait until the end of the runtime, more than its pool has threads for.
pub fn fill_the_pool() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    for _ in 0..2 * THREADS {
        let released = released.clone();
        drop(arc::task::spawn_blocking(move || {
            // An error is the end that it waits for.
            let _ = released.lock().unwrap().recv();
        }));
    }
    // The end drops the task, and what it has.
    arc::spawn(async move {
        std::future::pending::<()>().await;
        drop(release);
    });
}

/// The two ends of a connection over the loopback interface.
pub async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("the address it listens on");
    let client = TcpStream::connect(address).await.expect("connect");
    // It may be awaited in a task, to which `soon` cannot be sent.
    let accepted = arc::time::timeout(DEADLINE, listener.accept()).await;
    let (server, _) = accepted.expect("a connection in time").expect("accept");
    (client, server)
}

/// All that comes, to the end.
pub async fn all_text(mut reader: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    soon(reader.read_to_string(&mut text)).await.expect("a text, and its end");
    text
}

/// As many bytes as are wanted.
pub async fn exactly<const N: usize>(mut reader: impl AsyncRead + Unpin) -> [u8; N] {
    let mut bytes = [0; N];
    soon(reader.read_exact(&mut bytes)).await.expect("so many bytes");
    bytes
}

/// What kind of error it has failed with.
#[track_caller]
pub fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    match result {
        Ok(_) => panic!("it must fail"),
        Err(error) => error.kind(),
    }
}

/// A new folder, which is removed when this is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("arc-util-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("make a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the test of that name in a child process, after a line of shell such as `ulimit -n 64`.
/// Returns `None` in the child.
pub fn child(test: &str, shell: &str) -> Option<Child> {
    let mut command = this_program::own_process(test, shell)?;
    Some(command.spawn().expect("it starts"))
}

/// Waits for a child, up to a time limit, and returns what it printed.
#[track_caller]
pub fn ended(child: Child) -> (String, String) {
    this_program::expect_passed(child, DEADLINE + DEADLINE)
}
