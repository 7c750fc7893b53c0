//! What a server does between reading and writing. It knows no runtime and does
//! no IO, so that all of them run the same code.

use std::future::Future;
use std::io;

/// How much an echo connection reads at once.
const ECHO_BYTES: usize = 16 * 1024;

/// One connection's side of a protocol.
pub trait Protocol: Send + 'static {
    /// A connection that has just been accepted.
    fn new() -> Self;

    /// Where to read to; never empty.
    fn space(&mut self) -> &mut [u8];

    /// Takes what was read into the beginning of the space; gives what is to be
    /// written, all of it, before the next read.
    fn answer(&mut self, count: usize) -> &[u8];

    /// Whether the connection goes on after that.
    fn is_open(&self) -> bool {
        true
    }
}

/// A socket of a runtime.
pub trait Socket: Send {
    /// Reads what there is, and waits until there is something; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// Writes everything.
    fn write_all(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// Serves one connection, on any runtime.
///
/// # Errors
///
/// The socket's.
pub async fn serve<P: Protocol>(mut socket: impl Socket) -> io::Result<()> {
    let mut protocol = P::new();
    while protocol.is_open() {
        let count = socket.read(protocol.space()).await?;
        if count == 0 {
            break;
        }
        socket.write_all(protocol.answer(count)).await?;
    }
    Ok(())
}

/// Sends back what it gets.
pub struct Echo {
    buffer: Box<[u8]>,
}

impl Protocol for Echo {
    fn new() -> Self {
        Self { buffer: vec![0; ECHO_BYTES].into_boxed_slice() }
    }

    fn space(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    fn answer(&mut self, count: usize) -> &[u8] {
        &self.buffer[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_what_was_sent() {
        let mut echo = Echo::new();
        echo.space()[..3].copy_from_slice(b"arc");
        assert_eq!(echo.answer(3), b"arc");
        assert!(echo.is_open());
    }
}
