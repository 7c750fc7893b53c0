//! Small names of tokio's that moved programs call: to compile is most of the test.

#![cfg(unix)]

extern crate arc_async as arc;

use arc::io::{Interest, ReadHalf, Ready, WriteHalf};
use arc::net::unix::pipe;
use arc::net::{
    TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixSocket,
    UnixStream,
};
use arc::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use arc::runtime::Builder;
use arc::sync::{CancellationToken, Notify, Semaphore, watch};
use arc::task::JoinSet;
use arc::time::Duration;
use std::hash::Hash;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::thread;

fn has_descriptor<T: AsFd + AsRawFd>() {}
fn is_hash<T: Hash + Eq>() {}

const _: fn() = || {
    has_descriptor::<TcpListener>();
    has_descriptor::<TcpStream>();
    has_descriptor::<TcpSocket>();
    has_descriptor::<UdpSocket>();
    has_descriptor::<UnixDatagram>();
    has_descriptor::<UnixListener>();
    has_descriptor::<UnixStream>();
    has_descriptor::<UnixSocket>();
    has_descriptor::<pipe::Sender>();
    has_descriptor::<pipe::Receiver>();
    has_descriptor::<ChildStdin>();
    has_descriptor::<ChildStdout>();
    has_descriptor::<ChildStderr>();
    has_descriptor::<arc::fs::File>();
    has_descriptor::<arc::io::Stdin>();
    has_descriptor::<arc::io::Stdout>();
    has_descriptor::<arc::io::Stderr>();
    has_descriptor::<arc::io::unix::AsyncFd<std::fs::File>>();
    is_hash::<CancellationToken>();
};

/// Never called: the types alone matter.
#[allow(dead_code, reason = "to compile is the test")]
async fn methods(
    ready: Ready,
    (tcp, mut udp, unix): (&TcpStream, UdpSocket, &UnixStream),
    descriptor: arc::io::unix::AsyncFd<std::fs::File>,
    halves: (ReadHalf<TcpStream>, WriteHalf<TcpStream>),
    semaphore: Arc<Semaphore>,
) -> std::io::Result<()> {
    let _ = (ready.is_read_closed(), ready.is_write_closed(), ready.is_error());
    let _ = Interest::ERROR;
    #[cfg(target_os = "linux")]
    let _ = (ready.is_priority(), Interest::PRIORITY);
    let _: TcpStream = halves.0.unsplit(halves.1);

    let mut bytes = Vec::<u8>::new();
    let _ = tcp.try_read_buf(&mut bytes)?;
    let _ = unix.try_read_buf(&mut bytes)?;
    tcp.set_zero_linger()?;
    let _ = udp.recv_buf(&mut bytes).await?;
    let _ = udp.recv_buf_from(&mut bytes).await?;
    let _ = (udp.try_recv_buf(&mut bytes)?, udp.try_recv_buf_from(&mut bytes)?);
    let _ = (udp.peek_sender().await?, udp.try_peek_sender()?);
    udp = UdpSocket::from_std(udp.into_std()?)?;
    #[cfg(target_os = "linux")]
    {
        let (device, socket) = (Some(&b"lo"[..]), TcpSocket::new_v4()?);
        udp.bind_device(device)?;
        socket.bind_device(device)?;
        let _ = (udp.device()?, socket.device()?, socket.tos_v4()?);
        socket.set_tos_v4(16)?;
        udp.set_tos_v4(udp.tos_v4()?)?;
    }

    let mut guard = descriptor.readable().await?;
    guard.clear_ready_matching(Ready::READABLE);
    drop(guard);

    let _ = semaphore.blocking_acquire().map(drop);
    let _ = semaphore.blocking_acquire_many(2).map(drop);
    let _ = semaphore.clone().blocking_acquire_owned().map(drop);
    let _ = semaphore.blocking_acquire_many_owned(2).map(drop);
    Command::new("sh").arg0("another");
    let _ = std::future::poll_fn(|context| listener().poll_accept(context)).await;
    Ok(())
}

fn listener() -> TcpListener {
    unreachable!("never called")
}

/// What this program prints when it runs that test alone, with a variable set.
fn printed(variable: &str, value: &str) -> String {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "the_environment", "--nocapture"]).env(variable, value);
    let output = program.env("TOLD", "no").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat()
}

/// tokio's variables change nothing. arc's own says whether long polls are reported.
#[test]
fn the_environment() {
    let runtime = Builder::new_multi_thread().long_poll_limit(Duration::from_millis(20)).build();
    let runtime = runtime.unwrap();
    if std::env::var_os("TOLD").is_some() {
        println!("workers: {}", runtime.handle().workers());
        let long = Duration::from_millis(300);
        return runtime
            .block_on(async { arc::spawn(async move { thread::sleep(long) }).await.unwrap() });
    }
    let workers = runtime.handle().workers();
    let same = format!("workers: {workers}\n");
    assert!(printed("TOKIO_WORKER_THREADS", &(workers + 1).to_string()).contains(&same));
    for (value, is_told) in [("report", true), ("off", false)] {
        let text = printed("ARC_LONG_POLLS", value);
        assert_eq!(text.contains("has been blocking worker"), is_told, "{text}");
        assert!(!text.contains("must be report or off"), "{text}");
    }

    // Any other value is a mistake, which is told once.
    let text = printed("ARC_LONG_POLLS", "yes");
    let told = "arc: ARC_LONG_POLLS must be report or off, not \"yes\"\n";
    assert_eq!(text.matches(told).count(), 1, "{text}");
}

#[test]
fn standard_streams_have_their_numbers() {
    let all = [
        arc::io::stdin().as_raw_fd(),
        arc::io::stdout().as_raw_fd(),
        arc::io::stderr().as_raw_fd(),
    ];
    assert_eq!(all, [0, 1, 2]);
}

#[arc::test(crate = "arc_async")]
async fn small_methods_of_channels_and_tasks() {
    let (sender, receiver) = watch::channel(1);
    assert!(!receiver.borrow().has_changed());
    assert!(sender.same_channel(&sender.clone()));
    assert_eq!(sender.sender_count(), 1);
    drop(sender);
    assert!(receiver.is_closed());

    Notify::new().notify_last();
    let mut set = JoinSet::new();
    set.build_task().name("named").spawn(async { 1 }).unwrap();
    assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
}

/// Programs compare these.
#[arc::test(crate = "arc_async")]
async fn texts_of_errors_are_tokios() {
    let late = arc::time::timeout(Duration::ZERO, std::future::pending::<()>()).await;
    assert_eq!(late.unwrap_err().to_string(), "deadline has elapsed");

    let task = arc::spawn(std::future::pending::<()>());
    let id = task.id();
    task.abort();
    assert_eq!(task.await.unwrap_err().to_string(), format!("task {id} was cancelled"));
    let task = arc::spawn(async { std::panic::resume_unwind(Box::new("a reason")) });
    let id = task.id();
    let text = task.await.map(|()| "").unwrap_err().to_string();
    assert_eq!(text, format!("task {id} panicked with message \"a reason\""));
}
