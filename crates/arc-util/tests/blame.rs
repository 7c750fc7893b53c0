//! A panic about a mistake has the place of the caller that made it, and not a line of arc's.

use arc::runtime::Runtime;
use arc_util::io::duplex;
use arc_util::net::{TcpListener, TcpSocket};
use arc_util::sync::{Semaphore, mpsc, oneshot};
use arc_util::task::{LocalSet, spawn_local};
use arc_util::{task_local, time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

task_local! {
    static KEY: u32;
}

/// Returns the file that the panic of a call blames.
fn blamed(call: impl FnOnce()) -> Option<String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);

    // With the feature `hint`, the first runtime of a process puts a hook of its own before the one
    // that is there. That must not come between the two lines below.
    drop(Runtime::new());

    let file = Arc::new(Mutex::new(None));
    let kept = file.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        *kept.lock().unwrap() = info.location().map(|place| place.file().to_owned());
    }));
    let result = catch_unwind(AssertUnwindSafe(call));
    std::panic::set_hook(before);
    assert!(result.is_err(), "it must panic");
    file.lock().unwrap().take()
}

#[track_caller]
fn blames_this_file(call: impl FnOnce()) {
    assert_eq!(blamed(call).as_deref(), Some(file!()));
}

#[test]
fn task_locals_blame_their_caller() {
    blames_this_file(|| KEY.with(|_| ()));
    blames_this_file(|| _ = KEY.get());
    blames_this_file(|| KEY.sync_scope(1, || KEY.with(|_| KEY.sync_scope(2, || ()))));
}

#[test]
fn shutdowns_inside_a_task_blame_their_caller() {
    const LIMIT: Duration = Duration::from_secs(10);
    let outer = Runtime::new().unwrap();
    let core = Runtime::new().unwrap();
    blames_this_file(|| outer.block_on(async { core.shutdown(LIMIT) }));
    let lists = arc_util::runtime::Runtime::new().unwrap();
    blames_this_file(|| outer.block_on(async { drop(lists.shutdown(LIMIT)) }));
    let lists_none = arc_util::runtime::Runtime::new().unwrap();
    blames_this_file(|| outer.block_on(async { lists_none.shutdown_timeout(LIMIT) }));
}

#[test]
fn local_sets_blame_their_caller() {
    let runtime = Runtime::new().unwrap();
    let handle = runtime.handle();
    blames_this_file(|| runtime.block_on(async { LocalSet::new().block_on(handle, async {}) }));
    blames_this_file(|| drop(spawn_local(async {})));
}

#[test]
fn channels_and_permits_blame_their_caller() {
    blames_this_file(|| drop(mpsc::channel::<()>(0)));
    blames_this_file(|| _ = Semaphore::new(usize::MAX));
    blames_this_file(|| Semaphore::new(1).add_permits(usize::MAX));

    let runtime = Runtime::new().unwrap();
    let (sender, mut receiver) = mpsc::channel(1);
    blames_this_file(|| runtime.block_on(async { _ = sender.blocking_send(1) }));
    blames_this_file(|| runtime.block_on(async { _ = receiver.blocking_recv() }));
    let (_sender, receiver) = oneshot::channel::<()>();
    blames_this_file(|| runtime.block_on(async { _ = receiver.blocking_recv() }));
}

#[test]
fn sockets_outside_a_runtime_blame_their_caller() {
    blames_this_file(|| drop(TcpSocket::new_v4().unwrap().listen(1)));

    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    // The connection is there by now, but the runtime is not.
    let context = &mut Context::from_waker(Waker::noop());
    blames_this_file(|| _ = listener.poll_accept(context));
}

#[cfg(unix)]
#[test]
fn unix_sockets_outside_a_runtime_blame_their_caller() {
    use arc_util::net::{UnixListener, UnixSocket};

    let folder = std::env::temp_dir().join(format!("arc-blame-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = UnixSocket::new_stream().unwrap();
    socket.bind(folder.join("listens")).unwrap();
    blames_this_file(|| drop(socket.listen(1)));
    blames_this_file(|| drop(UnixSocket::new_datagram().unwrap().datagram()));

    let runtime = Runtime::new().unwrap();
    let path = folder.join("accepts");
    let listener = runtime.block_on(async { UnixListener::bind(&path) }).unwrap();
    let _client = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    blames_this_file(|| _ = listener.poll_accept(context));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn pipes_and_intervals_blame_their_caller() {
    blames_this_file(|| drop(duplex(0)));
    blames_this_file(|| drop(time::interval(Duration::ZERO)));
}
