//! The paths of tokio that are here, by module, in the order of the alphabet.

macro_rules! present {
    ($($(#[$condition:meta])? $($module:ident)::+: $($name:ident)+;)+) => {$(
        $(#[$condition])?
        use $($module)::+::{$($name as _),+};
    )+};
}

present! {
    arc: fs io join main net pin process runtime select spawn sync task task_local test time
        try_join;
    #[cfg(unix)]
    arc: signal;
    arc::fs: DirBuilder DirEntry File FileTimes OpenOptions ReadDir canonicalize copy create_dir
        create_dir_all hard_link metadata read read_dir read_link read_to_string remove_dir
        remove_dir_all remove_file rename set_permissions symlink_metadata try_exists write;
    arc::io: AsyncBufRead AsyncBufReadExt AsyncRead AsyncReadExt AsyncSeek AsyncSeekExt AsyncWrite
        AsyncWriteExt BufReader BufStream BufWriter Chain DuplexStream Empty Error ErrorKind
        Interest Join Lines ReadBuf ReadHalf Ready Repeat Result SeekFrom SimplexStream Sink Split
        Stderr Stdin Stdout Take WriteHalf copy copy_bidirectional copy_bidirectional_with_sizes
        copy_buf duplex empty join repeat simplex sink split stderr stdin stdout;
    #[cfg(unix)]
    arc::io: unix;
    #[cfg(unix)]
    arc::io::unix: AsyncFd AsyncFdReadyGuard AsyncFdReadyMutGuard AsyncFdRegisterError
        TryIoError;
    arc::net: TcpListener TcpSocket TcpStream ToSocketAddrs UdpSocket lookup_host tcp;
    #[cfg(unix)]
    arc::net: UnixDatagram UnixListener UnixSocket UnixStream unix;
    arc::net::tcp: OwnedReadHalf OwnedWriteHalf ReadHalf ReuniteError WriteHalf;
    #[cfg(target_os = "linux")]
    arc::net::unix: UCred;
    #[cfg(unix)]
    arc::net::unix: OwnedReadHalf OwnedWriteHalf ReadHalf ReuniteError SocketAddr WriteHalf
        gid_t pid_t pipe uid_t;
    #[cfg(unix)]
    arc::net::unix::pipe: OpenOptions Receiver Sender pipe;
    arc::process: Child ChildStderr ChildStdin ChildStdout Command;
    arc::runtime: Builder EnterGuard Handle Id LocalOptions LocalRuntime Runtime RuntimeFlavor
        RuntimeMetrics TryCurrentError is_rt_shutdown_err worker_index;
    #[cfg(unix)]
    arc::signal: ctrl_c unix;
    #[cfg(unix)]
    arc::signal::unix: Signal SignalKind signal;
    arc::sync: AcquireError Barrier BarrierWaitResult MappedMutexGuard Mutex MutexGuard Notify
        OnceCell OwnedMappedMutexGuard OwnedMutexGuard OwnedRwLockMappedWriteGuard
        OwnedRwLockReadGuard OwnedRwLockWriteGuard OwnedSemaphorePermit RwLock
        RwLockMappedWriteGuard RwLockReadGuard RwLockWriteGuard Semaphore SemaphorePermit
        SetError SetOnce SetOnceError TryAcquireError TryLockError broadcast futures mpsc
        oneshot watch;
    arc::sync::broadcast: Receiver Sender WeakSender channel error;
    arc::sync::broadcast::error: RecvError SendError TryRecvError;
    arc::sync::futures: Notified OwnedNotified;
    arc::sync::mpsc: OwnedPermit Permit PermitIterator Receiver Sender UnboundedReceiver
        UnboundedSender WeakSender WeakUnboundedSender channel error unbounded_channel;
    arc::sync::mpsc::error: SendError SendTimeoutError TryRecvError TrySendError;
    arc::sync::oneshot: Receiver Sender channel error;
    arc::sync::oneshot::error: RecvError TryRecvError;
    arc::sync::watch: Receiver Ref Sender channel error;
    arc::sync::watch::error: RecvError SendError;
    arc::task: AbortHandle Id JoinError JoinHandle JoinSet LocalEnterGuard LocalKey LocalSet
        coop futures id spawn spawn_blocking spawn_local try_id yield_now;
    arc::task::coop: Unconstrained consume_budget cooperative has_budget_remaining
        unconstrained;
    arc::task::futures: TaskLocalFuture;
    arc::time: Duration Instant Interval MissedTickBehavior Sleep Timeout error interval
        interval_at sleep sleep_until timeout timeout_at;
    arc::time::error: Elapsed;
}
