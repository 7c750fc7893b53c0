//! Receiving to the end of a buffer that grows.
//!
//! The memory at the end of a `BufMut` is not initialized, and nobody but unsafe code can receive
//! into that. So it is received into memory of its own first.

use bytes::BufMut;
use std::io::Result;

/// How much of a stream is read at once at most.
pub(super) const READ_MAX: usize = 8 << 10;

/// No datagram of UDP is longer: its head counts its bytes in 16 bits.
pub(super) const UDP_MAX: usize = 64 << 10;

/// Receives as much as fits into the next piece of a buffer, and adds it. An attempt returns how
/// many bytes it has received, and something else.
pub(super) fn append<B: BufMut, R>(
    buffer: &mut B,
    limit: usize,
    receive: impl FnOnce(&mut [u8]) -> Result<(usize, R)>,
) -> Result<(usize, R)> {
    let room = buffer.chunk_mut().len().min(limit);
    let mut bytes = vec![0; room];
    let (length, other) = receive(&mut bytes)?;

    // A buffer grows by what has come, and by nothing after an error.
    buffer.put_slice(&bytes[..length]);
    Ok((length, other))
}
