use arc::io::{AsyncRead, AsyncWrite, ReadBuf, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

pub struct Nothing;

impl AsyncRead for Nothing {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        buffer.put_slice(b"x");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Nothing {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn main() {}
