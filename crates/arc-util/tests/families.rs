//! Each stream reads and writes by tokio's traits and by those of futures-io, within one budget.

use crate::common::{Folder, kind, soon, tcp_pair};
use arc_util::fs::File;
use arc_util::io::{AsyncWrite, BufStream, ReadBuf, SeekFrom, duplex, empty, repeat, sink};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::time::Duration;

/// More than the buffers of a socket hold, so that both ends have to wait.
fn pattern() -> Vec<u8> {
    (0..300_000).map(|number| (number % 251) as u8).collect()
}

/// Sends and receives by the names of one family.
macro_rules! family {
    ($family:ident, $library:ident :: $($module:ident)?, $close:ident) => {
        mod $family {
            use $library::$($module::)?{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
            use $library::$($module::)?{AsyncRead, AsyncSeek, AsyncWrite};
            use std::io::SeekFrom;

            pub async fn send(mut stream: impl AsyncWrite + Unpin, bytes: Vec<u8>) {
                for piece in bytes.chunks(70_000) {
                    stream.write_all(piece).await.unwrap();
                }
                stream.flush().await.unwrap();
                stream.$close().await.unwrap();
            }

            pub async fn receive(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.unwrap();
                all
            }

            pub async fn seek(mut file: impl AsyncSeek + Unpin, position: SeekFrom) -> u64 {
                file.seek(position).await.unwrap()
            }

            pub async fn read_without_end(mut reader: impl AsyncRead + Unpin) {
                while reader.read(&mut [0; 8]).await.is_ok() {}
            }

            pub async fn write_without_end(mut writer: impl AsyncWrite + Unpin) {
                while writer.write(&[0; 8]).await.is_ok() {}
            }
        }
    };
}

family!(tokios, tokio::io, shutdown);
family!(futures_ios, futures_util::, close);

/// Makes two ends anew for each of the four ways in which bytes go from one to the other.
macro_rules! all_ways {
    ($name:ident, $ends:expr) => {
        #[arc::test(flavor = "multi_thread", workers = 2)]
        async fn $name() {
            all_ways!(@ $ends, tokios, tokios);
            all_ways!(@ $ends, tokios, futures_ios);
            all_ways!(@ $ends, futures_ios, tokios);
            all_ways!(@ $ends, futures_ios, futures_ios);
        }
    };
    (@ $ends:expr, $send:ident, $receive:ident) => {
        let (writer, reader) = $ends;
        let sent = arc::spawn($send::send(writer, pattern()));
        assert!(soon($receive::receive(reader)).await == pattern());
        soon(sent).await.unwrap();
    };
}

all_ways!(tcp_streams, tcp_pair().await);
all_ways!(pipes_in_memory, duplex(1000));
all_ways!(owned_halves, {
    let (near, far) = tcp_pair().await;
    (near.into_split().1, far.into_split().0)
});
#[cfg(unix)]
all_ways!(unix_streams, arc_util::net::UnixStream::pair().unwrap());
#[cfg(unix)]
all_ways!(unix_pipes, arc_util::net::unix::pipe::pipe().unwrap());
#[cfg(unix)]
all_ways!(pipes_of_a_child, {
    use std::process::Stdio;
    let mut cat = arc_util::process::Command::new("cat");
    let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    (child.stdin.take().unwrap(), child.stdout.take().unwrap())
});

#[arc::test]
async fn files() {
    let folder = Folder::new("families");
    let path = folder.0.join("file");
    soon(tokios::send(File::create(&path).await.unwrap(), pattern())).await;
    assert!(soon(tokios::receive(File::open(&path).await.unwrap())).await == pattern());
    soon(futures_ios::send(File::create(&path).await.unwrap(), pattern())).await;
    assert!(soon(futures_ios::receive(File::open(&path).await.unwrap())).await == pattern());

    // A position that one family has sought is the other's, too.
    let mut file = File::open(&path).await.unwrap();
    assert_eq!(soon(tokios::seek(&mut file, SeekFrom::End(-2))).await, 299_998);
    assert_eq!(soon(futures_ios::receive(&mut file)).await, pattern()[299_998..]);
    assert_eq!(soon(futures_ios::seek(&mut file, SeekFrom::Start(299_999))).await, 299_999);
    assert_eq!(soon(tokios::receive(&mut file)).await, pattern()[299_999..]);
}

/// Whether it was waited for or not, and by which family.
#[arc::test]
async fn a_seek_that_was_started_is_done_once() {
    use tokio::io::{AsyncReadExt, AsyncSeek, AsyncWriteExt};

    let folder = Folder::new("started");
    let path = folder.0.join("file");
    std::fs::write(&path, "0123456789").unwrap();
    let mut file = File::options().read(true).write(true).open(&path).await.unwrap();
    Pin::new(&mut file).start_seek(SeekFrom::Start(6)).unwrap();
    assert_eq!(soon(file.read_u8()).await.unwrap(), b'6');
    assert_eq!(soon(tokios::seek(&mut file, SeekFrom::Current(1))).await, 8);

    // Two of one kind are two, though nobody has waited for the first one.
    Pin::new(&mut file).start_seek(SeekFrom::Current(-1)).unwrap();
    assert_eq!(soon(futures_ios::seek(&mut file, SeekFrom::Current(-1))).await, 6);
    for _ in 0..2 {
        assert_eq!(soon(futures_ios::seek(&mut file, SeekFrom::Current(0))).await, 6);
        assert_eq!(soon(tokios::seek(&mut file, SeekFrom::Current(0))).await, 6);
    }

    // As on tokio, what is at work has to be waited for.
    file.write_all(b"six").await.unwrap();
    assert_eq!(kind(Pin::new(&mut file).start_seek(SeekFrom::Start(0))), ErrorKind::Other);
    soon(file.flush()).await.unwrap();
    Pin::new(&mut file).start_seek(SeekFrom::Start(5)).unwrap();
    file.write_all(b"five").await.unwrap();
    soon(file.flush()).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"01234five9");
}

#[arc::test]
async fn a_buffered_file_seeks() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

    let folder = Folder::new("buffered");
    let mut options = File::options();
    options.read(true).write(true).create(true);
    let file = options.open(folder.0.join("file")).await.unwrap();
    let mut file = BufStream::new(file);
    file.write_all(b"first\nsecond\n").await.unwrap();
    assert_eq!(soon(tokios::seek(&mut file, SeekFrom::Start(6))).await, 6);
    let mut line = String::new();
    file.read_line(&mut line).await.unwrap();
    assert_eq!(line, "second\n");
}

/// Memory that is not initialized has to be filled with zeros before it is read into.
#[arc::test]
async fn a_read_takes_what_is_initialized_and_16_kib_of_what_is_not() {
    use tokio::io::{AsyncRead, AsyncWriteExt};

    let (mut near, mut far) = tcp_pair().await;
    soon(far.write_all(&[1; 40_000])).await.unwrap();
    while soon(near.peek(&mut [0; 40_000])).await.unwrap() < 40_000 {}

    let mut memory = [MaybeUninit::uninit(); 64 << 10];
    let mut fresh = ReadBuf::uninit(&mut memory);
    soon(poll_fn(|context| Pin::new(&mut near).poll_read(context, &mut fresh))).await.unwrap();
    assert_eq!((fresh.filled().len(), fresh.initialized().len()), (16 << 10, 16 << 10));

    let mut memory = [0; 64 << 10];
    let mut initialized = ReadBuf::new(&mut memory);
    let read = poll_fn(|context| Pin::new(&mut near).poll_read(context, &mut initialized));
    soon(read).await.unwrap();
    assert_eq!(initialized.filled().len(), 40_000 - (16 << 10));
}

/// Outside of tokio's runtime its own budget has no limit: over its `sink`, such a loop never ends.
#[arc::test]
async fn what_never_waits_lets_a_time_limit_end_it() {
    async fn ends(endless: impl Future) {
        assert!(arc_util::time::timeout(Duration::from_millis(1), endless).await.is_err());
    }
    ends(tokios::read_without_end(repeat(1))).await;
    ends(futures_ios::read_without_end(repeat(1))).await;
    ends(tokios::read_without_end(empty())).await;
    ends(futures_ios::read_without_end(empty())).await;
    ends(tokios::write_without_end(sink())).await;
    ends(futures_ios::write_without_end(sink())).await;
    ends(arc_util::io::copy(&mut repeat(1), &mut sink())).await;
}

#[arc::test]
async fn what_writes_several_buffers_at_once_says_so() {
    let (stream, _far) = tcp_pair().await;
    assert!(stream.is_write_vectored() && AsyncWrite::is_write_vectored(&&stream));
    assert!(duplex(1).0.is_write_vectored() && sink().is_write_vectored());
    assert!(arc_util::io::stdout().is_write_vectored());
    let (_read, write) = stream.into_split();
    assert!(AsyncWrite::is_write_vectored(&write));
}
