//! The methods that all sockets of datagrams have.

/// Defines the methods that receive, and those that send to the peer.
///
/// Their errors and their cancellation are described once, in the block of `impl`. No datagram is
/// longer than `$longest`.
macro_rules! datagrams {
    ($type:ident, $inner:ty, $address:ty, $longest:expr) => {
        /// Datagrams from anybody, or from the peer if there is one, and to the peer.
        ///
        /// # Errors
        ///
        /// Any error of the system call. These functions fail when the runtime has ended, and may
        /// fail because a datagram that this socket has sent was refused. To send fails also when
        /// there is no peer, and when the datagram is too long. Those whose names begin with `try_`
        /// do not wait: they fail with `WouldBlock`.
        ///
        /// # Cancellation
        ///
        /// Cancel safe: no datagram is lost, and none was sent by a future that was dropped before
        /// it was ready.
        impl $type {
            /// Sends a datagram to the peer. Returns the number of bytes sent, which is the whole
            /// datagram.
            pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
                self.0.write_with(|socket| socket.send(datagram)).await
            }

            /// Sends a datagram to the peer without waiting.
            pub fn try_send(&self, datagram: &[u8]) -> io::Result<usize> {
                self.0.try_with(Direction::Write, |socket| socket.send(datagram))
            }

            /// Polls until a datagram has been sent to the peer.
            pub fn poll_send(
                &self,
                context: &mut Context<'_>,
                datagram: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_transfer(Direction::Write, context, 0, |socket| socket.send(datagram))
            }

            /// Receives a datagram into a buffer, and returns its length.
            pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read_with(|socket| socket.recv(buffer)).await
            }

            /// Receives a datagram without waiting, and returns its length.
            pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.try_with(Direction::Read, |socket| socket.recv(buffer))
            }

            /// Polls for a datagram, and adds it to the buffer.
            pub fn poll_recv(
                &self,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_into(context, buffer, |socket, room| Ok((socket.recv(room)?, ())))
            }

            /// Receives a datagram into a buffer, and returns its length and its sender.
            pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.read_with(|socket| socket.recv_from(buffer)).await
            }

            /// Receives a datagram without waiting, and returns its length and its sender.
            pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.try_with(Direction::Read, |socket| socket.recv_from(buffer))
            }

            /// Polls for a datagram, adds it to the buffer, and returns its sender.
            pub fn poll_recv_from(
                &self,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<$address>> {
                self.poll_into(context, buffer, |socket, room| socket.recv_from(room))
            }

            /// Polls for a datagram, by a call that puts it into the room of the buffer, and
            /// returns its length and something else.
            fn poll_into<R>(
                &self,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
                receive: impl Fn(&$inner, &mut [u8]) -> io::Result<(usize, R)>,
            ) -> Poll<io::Result<R>> {
                let room = buffer.remaining().min($longest);
                let room = buffer.initialize_unfilled_to(room);
                let mut other = None;
                let received = self.poll_transfer(Direction::Read, context, 0, |socket| {
                    let (length, more) = receive(socket, room)?;
                    other = Some(more);
                    Ok(length)
                });
                buffer.advance(ready!(received)?);
                Poll::Ready(Ok(other.expect("an attempt has succeeded")))
            }
        }

        /// Receiving to the end of a buffer, such as a `Vec<u8>` or a `BytesMut`.
        ///
        /// A datagram is received into the room that the buffer has, and cut if it is longer: so
        /// make room first. (A vector without room gets some, but little.) It is received into
        /// memory of its own first. Errors and cancellation are those of `recv`.
        impl $type {
            /// Receives a datagram to the end of a buffer, and returns its length.
            pub async fn recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
                let receive = |socket: &$inner| {
                    append(buffer, $longest, |bytes| Ok((socket.recv(bytes)?, ())))
                };
                self.0.read_with(receive).await.map(|(length, ())| length)
            }

            /// Receives a datagram to the end of a buffer, and returns its length and its sender.
            pub async fn recv_buf_from<B: BufMut>(
                &self,
                buffer: &mut B,
            ) -> io::Result<(usize, $address)> {
                let receive =
                    |socket: &$inner| append(buffer, $longest, |bytes| socket.recv_from(bytes));
                self.0.read_with(receive).await
            }

            /// Receives a datagram to the end of a buffer without waiting.
            pub fn try_recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
                append(buffer, $longest, |bytes| Ok((self.try_recv(bytes)?, ())))
                    .map(|(length, ())| length)
            }

            /// Receives a datagram to the end of a buffer without waiting, and returns its length
            /// and its sender.
            pub fn try_recv_buf_from<B: BufMut>(
                &self,
                buffer: &mut B,
            ) -> io::Result<(usize, $address)> {
                append(buffer, $longest, |bytes| self.try_recv_from(bytes))
            }
        }
    };
}

pub(super) use datagrams;
