//! What arc-util's public types may be used for without their saying so: sent, shared, moved, and
//! kept when a panic has passed. To compile this is the test.

use crate::core_common::auto_traits::{NotSend, everything, send_and_sync};
use arc_util::io::{DuplexStream, Empty, Interest, Ready, Stderr, Stdin, Stdout};
use arc_util::net::{OwnedReadHalf, OwnedWriteHalf, TcpListener, TcpSocket, TcpStream, UdpSocket};
use arc_util::process::{Child, Command};
use arc_util::runtime::{
    Builder, Dump, Handle, LocalRuntime, Runtime, RuntimeMetrics, Unfinished, WorkerCounts,
};
use arc_util::sync::{
    Barrier, CancellationToken, Mutex, MutexGuard, Notify, RwLock, Semaphore, broadcast, mpsc,
    oneshot, watch,
};
use arc_util::task::{JoinSet, LocalJoinHandle, LocalSet, TaskInfo, TaskState, TaskTracker};
use arc_util::time::{Elapsed, Interval, Timeout};
use arc_util::{fs, task};

const _: fn() = || {
    everything::<Runtime>();
    everything::<Handle>();
    everything::<WorkerCounts>();
    everything::<RuntimeMetrics>();
    everything::<Dump>();
    everything::<Unfinished>();
    send_and_sync::<Builder>();
    <LocalRuntime as NotSend<_>>::check();

    everything::<TaskInfo>();
    everything::<TaskState>();
    everything::<TaskTracker>();
    send_and_sync::<JoinSet<()>>();
    send_and_sync::<task::AbortHandle>();
    <LocalSet as NotSend<_>>::check();
    send_and_sync::<LocalJoinHandle<()>>();

    everything::<CancellationToken>();
    everything::<Notify>();
    everything::<Semaphore>();
    everything::<Barrier>();
    send_and_sync::<Mutex<u8>>();
    send_and_sync::<MutexGuard<'static, u8>>();
    send_and_sync::<RwLock<u8>>();
    send_and_sync::<mpsc::Sender<u8>>();
    send_and_sync::<mpsc::Receiver<u8>>();
    send_and_sync::<oneshot::Sender<u8>>();
    send_and_sync::<oneshot::Receiver<u8>>();
    send_and_sync::<watch::Sender<u8>>();
    send_and_sync::<watch::Receiver<u8>>();
    send_and_sync::<broadcast::Sender<u8>>();
    send_and_sync::<broadcast::Receiver<u8>>();

    everything::<TcpListener>();
    everything::<TcpStream>();
    everything::<OwnedReadHalf>();
    everything::<OwnedWriteHalf>();
    everything::<TcpSocket>();
    everything::<UdpSocket>();
    everything::<Interest>();
    everything::<Ready>();

    everything::<Empty>();
    send_and_sync::<DuplexStream>();
    send_and_sync::<Stdin>();
    send_and_sync::<Stdout>();
    send_and_sync::<Stderr>();
    send_and_sync::<fs::File>();
    send_and_sync::<fs::ReadDir>();
    send_and_sync::<Child>();
    send_and_sync::<Command>();

    everything::<Elapsed>();
    send_and_sync::<Timeout<std::future::Ready<()>>>();
    send_and_sync::<Interval>();
};
