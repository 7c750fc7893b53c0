//! A buffer in front of a writer, and writes of several parts.

use crate::common::poll_once;
use arc_util::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream, BufWriter, duplex};
use std::future::Future;
use std::io::{IoSlice, Result};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn waits(future: impl Future) -> bool {
    poll_once(pin!(future), Waker::noop()).is_pending()
}

/// Takes one part of a write at a time, as most writers do that are not sockets.
#[derive(Default)]
struct Parts {
    writes: Vec<Vec<u8>>,
    is_full: bool,
}

impl AsyncWrite for Parts {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if self.is_full {
            return Poll::Pending;
        }
        self.writes.push(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[arc::test]
async fn small_parts_of_a_write_go_through_the_buffer() {
    let [one, two, three] = [b"1111", b"2222", b"3333"].map(|part| IoSlice::new(part));
    let mut writer = BufWriter::with_capacity(8, Parts::default());

    // All that fits is taken at once, also if that fills the buffer.
    assert_eq!(writer.write_vectored(&[one, two]).await.unwrap(), 8);
    assert_eq!(writer.buffer(), b"11112222");
    assert!(writer.get_ref().writes.is_empty());

    // Without room for the first part, the buffer goes out. What does not fit any more waits.
    assert_eq!(writer.write_vectored(&[IoSlice::new(b""), three, one, two]).await.unwrap(), 8);
    assert_eq!(writer.buffer(), b"33331111");
    assert_eq!(writer.get_ref().writes, [b"11112222"]);

    // A full writer takes nothing, and keeps what it has.
    writer.get_mut().is_full = true;
    assert!(waits(writer.write_vectored(&[two, three])));
    assert_eq!(writer.buffer(), b"33331111");
    writer.get_mut().is_full = false;

    // A large part goes past the buffer, after what is in it.
    assert_eq!(writer.write_vectored(&[IoSlice::new(b"a large part"), one]).await.unwrap(), 12);
    writer.flush().await.unwrap();
    let writes = writer.into_inner().writes;
    assert_eq!(writes, [&b"11112222"[..], b"33331111", b"a large part"]);
}

#[arc::test]
async fn a_buffered_stream_and_a_buffer_without_room_write_parts_as_well() {
    let (near, mut far) = duplex(64);
    let mut near = BufStream::with_capacity(8, 8, near);
    let parts = [b"1111", b"2222"].map(|part| IoSlice::new(part));
    assert_eq!(near.write_vectored(&parts).await.unwrap(), 8);
    near.flush().await.unwrap();
    let mut bytes = [0; 8];
    far.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"11112222");

    let mut writer = BufWriter::with_capacity(0, Parts::default());
    assert_eq!(writer.write_vectored(&parts).await.unwrap(), 4);
    assert_eq!(writer.into_inner().writes, [b"1111"]);
}
