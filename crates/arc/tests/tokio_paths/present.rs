//! The paths of tokio that are here, in the order of the alphabet.

use arc::fs as _;
use arc::fs::DirBuilder as _;
use arc::fs::DirEntry as _;
use arc::fs::File as _;
use arc::fs::FileTimes as _;
use arc::fs::OpenOptions as _;
use arc::fs::ReadDir as _;
use arc::fs::canonicalize as _;
use arc::fs::copy as _;
use arc::fs::create_dir as _;
use arc::fs::create_dir_all as _;
use arc::fs::hard_link as _;
use arc::fs::metadata as _;
use arc::fs::read as _;
use arc::fs::read_dir as _;
use arc::fs::read_link as _;
use arc::fs::read_to_string as _;
use arc::fs::remove_dir as _;
use arc::fs::remove_dir_all as _;
use arc::fs::remove_file as _;
use arc::fs::rename as _;
use arc::fs::set_permissions as _;
use arc::fs::symlink_metadata as _;
use arc::fs::try_exists as _;
use arc::fs::write as _;
use arc::io as _;
use arc::io::AsyncBufRead as _;
use arc::io::AsyncBufReadExt as _;
use arc::io::AsyncRead as _;
use arc::io::AsyncReadExt as _;
use arc::io::AsyncSeek as _;
use arc::io::AsyncSeekExt as _;
use arc::io::AsyncWrite as _;
use arc::io::AsyncWriteExt as _;
use arc::io::BufReader as _;
use arc::io::BufStream as _;
use arc::io::BufWriter as _;
use arc::io::Chain as _;
use arc::io::DuplexStream as _;
use arc::io::Empty as _;
use arc::io::Error as _;
use arc::io::ErrorKind as _;
use arc::io::Interest as _;
use arc::io::Join as _;
use arc::io::Lines as _;
use arc::io::ReadHalf as _;
use arc::io::Ready as _;
use arc::io::Repeat as _;
use arc::io::Result as _;
use arc::io::SeekFrom as _;
use arc::io::SimplexStream as _;
use arc::io::Sink as _;
use arc::io::Split as _;
use arc::io::Stderr as _;
use arc::io::Stdin as _;
use arc::io::Stdout as _;
use arc::io::Take as _;
use arc::io::WriteHalf as _;
use arc::io::copy as _;
use arc::io::copy_bidirectional as _;
use arc::io::copy_bidirectional_with_sizes as _;
use arc::io::copy_buf as _;
use arc::io::duplex as _;
use arc::io::empty as _;
use arc::io::join as _;
use arc::io::repeat as _;
use arc::io::simplex as _;
use arc::io::sink as _;
use arc::io::split as _;
use arc::io::stderr as _;
use arc::io::stdin as _;
use arc::io::stdout as _;
#[cfg(unix)]
use arc::io::unix as _;
#[cfg(unix)]
use arc::io::unix::AsyncFd as _;
#[cfg(unix)]
use arc::io::unix::AsyncFdReadyGuard as _;
#[cfg(unix)]
use arc::io::unix::AsyncFdReadyMutGuard as _;
#[cfg(unix)]
use arc::io::unix::AsyncFdRegisterError as _;
#[cfg(unix)]
use arc::io::unix::TryIoError as _;
use arc::join as _;
use arc::main as _;
use arc::net as _;
use arc::net::TcpListener as _;
use arc::net::TcpSocket as _;
use arc::net::TcpStream as _;
use arc::net::ToSocketAddrs as _;
use arc::net::UdpSocket as _;
#[cfg(unix)]
use arc::net::UnixDatagram as _;
#[cfg(unix)]
use arc::net::UnixListener as _;
#[cfg(unix)]
use arc::net::UnixSocket as _;
#[cfg(unix)]
use arc::net::UnixStream as _;
use arc::net::lookup_host as _;
use arc::net::tcp as _;
use arc::net::tcp::OwnedReadHalf as _;
use arc::net::tcp::OwnedWriteHalf as _;
use arc::net::tcp::ReadHalf as _;
use arc::net::tcp::ReuniteError as _;
use arc::net::tcp::WriteHalf as _;
#[cfg(unix)]
use arc::net::unix as _;
#[cfg(unix)]
use arc::net::unix::OwnedReadHalf as _;
#[cfg(unix)]
use arc::net::unix::OwnedWriteHalf as _;
#[cfg(unix)]
use arc::net::unix::ReadHalf as _;
#[cfg(unix)]
use arc::net::unix::ReuniteError as _;
#[cfg(unix)]
use arc::net::unix::SocketAddr as _;
#[cfg(target_os = "linux")]
use arc::net::unix::UCred as _;
#[cfg(unix)]
use arc::net::unix::WriteHalf as _;
#[cfg(unix)]
use arc::net::unix::gid_t as _;
#[cfg(unix)]
use arc::net::unix::pid_t as _;
#[cfg(unix)]
use arc::net::unix::pipe as _;
#[cfg(unix)]
use arc::net::unix::pipe::OpenOptions as _;
#[cfg(unix)]
use arc::net::unix::pipe::Receiver as _;
#[cfg(unix)]
use arc::net::unix::pipe::Sender as _;
#[cfg(unix)]
use arc::net::unix::pipe::pipe as _;
#[cfg(unix)]
use arc::net::unix::uid_t as _;
use arc::pin as _;
use arc::process as _;
use arc::process::Child as _;
use arc::process::ChildStderr as _;
use arc::process::ChildStdin as _;
use arc::process::ChildStdout as _;
use arc::process::Command as _;
use arc::runtime as _;
use arc::runtime::Builder as _;
use arc::runtime::EnterGuard as _;
use arc::runtime::Handle as _;
use arc::runtime::Id as _;
use arc::runtime::LocalOptions as _;
use arc::runtime::LocalRuntime as _;
use arc::runtime::Runtime as _;
use arc::runtime::RuntimeFlavor as _;
use arc::runtime::RuntimeMetrics as _;
use arc::runtime::TryCurrentError as _;
use arc::runtime::is_rt_shutdown_err as _;
use arc::runtime::worker_index as _;
use arc::select as _;
#[cfg(unix)]
use arc::signal as _;
#[cfg(unix)]
use arc::signal::ctrl_c as _;
#[cfg(unix)]
use arc::signal::unix as _;
#[cfg(unix)]
use arc::signal::unix::Signal as _;
#[cfg(unix)]
use arc::signal::unix::SignalKind as _;
#[cfg(unix)]
use arc::signal::unix::signal as _;
use arc::spawn as _;
use arc::sync as _;
use arc::sync::AcquireError as _;
use arc::sync::Barrier as _;
use arc::sync::BarrierWaitResult as _;
use arc::sync::MappedMutexGuard as _;
use arc::sync::Mutex as _;
use arc::sync::MutexGuard as _;
use arc::sync::Notify as _;
use arc::sync::OnceCell as _;
use arc::sync::OwnedMappedMutexGuard as _;
use arc::sync::OwnedMutexGuard as _;
use arc::sync::OwnedRwLockMappedWriteGuard as _;
use arc::sync::OwnedRwLockReadGuard as _;
use arc::sync::OwnedRwLockWriteGuard as _;
use arc::sync::OwnedSemaphorePermit as _;
use arc::sync::RwLock as _;
use arc::sync::RwLockMappedWriteGuard as _;
use arc::sync::RwLockReadGuard as _;
use arc::sync::RwLockWriteGuard as _;
use arc::sync::Semaphore as _;
use arc::sync::SemaphorePermit as _;
use arc::sync::SetError as _;
use arc::sync::SetOnce as _;
use arc::sync::SetOnceError as _;
use arc::sync::TryAcquireError as _;
use arc::sync::TryLockError as _;
use arc::sync::broadcast as _;
use arc::sync::broadcast::Receiver as _;
use arc::sync::broadcast::Sender as _;
use arc::sync::broadcast::WeakSender as _;
use arc::sync::broadcast::channel as _;
use arc::sync::broadcast::error as _;
use arc::sync::broadcast::error::RecvError as _;
use arc::sync::broadcast::error::SendError as _;
use arc::sync::broadcast::error::TryRecvError as _;
use arc::sync::futures as _;
use arc::sync::futures::Notified as _;
use arc::sync::futures::OwnedNotified as _;
use arc::sync::mpsc as _;
use arc::sync::mpsc::OwnedPermit as _;
use arc::sync::mpsc::Permit as _;
use arc::sync::mpsc::PermitIterator as _;
use arc::sync::mpsc::Receiver as _;
use arc::sync::mpsc::Sender as _;
use arc::sync::mpsc::UnboundedReceiver as _;
use arc::sync::mpsc::UnboundedSender as _;
use arc::sync::mpsc::WeakSender as _;
use arc::sync::mpsc::WeakUnboundedSender as _;
use arc::sync::mpsc::channel as _;
use arc::sync::mpsc::error as _;
use arc::sync::mpsc::error::SendError as _;
use arc::sync::mpsc::error::SendTimeoutError as _;
use arc::sync::mpsc::error::TryRecvError as _;
use arc::sync::mpsc::error::TrySendError as _;
use arc::sync::mpsc::unbounded_channel as _;
use arc::sync::oneshot as _;
use arc::sync::oneshot::Receiver as _;
use arc::sync::oneshot::Sender as _;
use arc::sync::oneshot::channel as _;
use arc::sync::oneshot::error as _;
use arc::sync::oneshot::error::RecvError as _;
use arc::sync::oneshot::error::TryRecvError as _;
use arc::sync::watch as _;
use arc::sync::watch::Receiver as _;
use arc::sync::watch::Ref as _;
use arc::sync::watch::Sender as _;
use arc::sync::watch::channel as _;
use arc::sync::watch::error as _;
use arc::sync::watch::error::RecvError as _;
use arc::sync::watch::error::SendError as _;
use arc::task as _;
use arc::task::AbortHandle as _;
use arc::task::Id as _;
use arc::task::JoinError as _;
use arc::task::JoinHandle as _;
use arc::task::JoinSet as _;
use arc::task::LocalEnterGuard as _;
use arc::task::LocalKey as _;
use arc::task::LocalSet as _;
use arc::task::coop as _;
use arc::task::coop::Unconstrained as _;
use arc::task::coop::consume_budget as _;
use arc::task::coop::cooperative as _;
use arc::task::coop::has_budget_remaining as _;
use arc::task::coop::unconstrained as _;
use arc::task::futures as _;
use arc::task::futures::TaskLocalFuture as _;
use arc::task::id as _;
use arc::task::spawn as _;
use arc::task::spawn_blocking as _;
use arc::task::spawn_local as _;
use arc::task::try_id as _;
use arc::task::yield_now as _;
use arc::task_local as _;
use arc::test as _;
use arc::time as _;
use arc::time::Duration as _;
use arc::time::Instant as _;
use arc::time::Interval as _;
use arc::time::MissedTickBehavior as _;
use arc::time::Sleep as _;
use arc::time::Timeout as _;
use arc::time::error as _;
use arc::time::error::Elapsed as _;
use arc::time::interval as _;
use arc::time::interval_at as _;
use arc::time::sleep as _;
use arc::time::sleep_until as _;
use arc::time::timeout as _;
use arc::time::timeout_at as _;
use arc::try_join as _;
