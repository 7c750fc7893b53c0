//! The methods that all sockets of datagrams have.

/// Defines the methods that receive, and those that send to the peer.
///
/// Their errors and their cancellation are described once, in the block of `impl`.
macro_rules! datagrams {
    ($type:ident, $inner:ty, $address:ty) => {
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

            /// Polls for a datagram, and returns its length. tokio's takes a `ReadBuf`.
            pub fn poll_recv(
                &self,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_transfer(Direction::Read, context, 0, |socket| socket.recv(buffer))
            }

            /// Receives a datagram into a buffer, and returns its length and its sender.
            pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.read_with(|socket| socket.recv_from(buffer)).await
            }

            /// Receives a datagram without waiting, and returns its length and its sender.
            pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.try_with(Direction::Read, |socket| socket.recv_from(buffer))
            }

            /// Polls for a datagram, and returns its length and its sender. tokio's takes a
            /// `ReadBuf`, and returns only the sender.
            pub fn poll_recv_from(
                &self,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<(usize, $address)>> {
                let mut sender = None;
                let received = self.poll_transfer(Direction::Read, context, 0, |socket| {
                    let (length, from) = socket.recv_from(buffer)?;
                    sender = Some(from);
                    Ok(length)
                });
                let length = ready!(received)?;
                Poll::Ready(Ok((length, sender.expect("a datagram has a sender"))))
            }
        }

        /// Receiving to the end of a buffer, such as a `Vec<u8>` or a `BytesMut`.
        ///
        /// A datagram is received into the room that the buffer has, and cut if it is longer: so
        /// make room first. (A vector without room gets some, but little.) It is received into
        /// memory of its own first. Errors and cancellation are those of `recv`.
        #[cfg(feature = "bytes")]
        impl $type {
            /// Receives a datagram to the end of a buffer, and returns its length.
            pub async fn recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
                let receive = |socket: &$inner| {
                    append(buffer, DATAGRAM_MAX, |bytes| Ok((socket.recv(bytes)?, ())))
                };
                self.0.read_with(receive).await.map(|(length, ())| length)
            }

            /// Receives a datagram to the end of a buffer, and returns its length and its sender.
            pub async fn recv_buf_from<B: BufMut>(
                &self,
                buffer: &mut B,
            ) -> io::Result<(usize, $address)> {
                let receive =
                    |socket: &$inner| append(buffer, DATAGRAM_MAX, |bytes| socket.recv_from(bytes));
                self.0.read_with(receive).await
            }

            /// Receives a datagram to the end of a buffer without waiting.
            pub fn try_recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
                append(buffer, DATAGRAM_MAX, |bytes| Ok((self.try_recv(bytes)?, ())))
                    .map(|(length, ())| length)
            }

            /// Receives a datagram to the end of a buffer without waiting, and returns its length
            /// and its sender.
            pub fn try_recv_buf_from<B: BufMut>(
                &self,
                buffer: &mut B,
            ) -> io::Result<(usize, $address)> {
                append(buffer, DATAGRAM_MAX, |bytes| self.try_recv_from(bytes))
            }
        }
    };
}

pub(super) use datagrams;
