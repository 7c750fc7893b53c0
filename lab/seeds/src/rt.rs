//! What the redis server takes from its runtime: arc's, but for a simulated network, and signals
//! that never come.

pub use arc::{io, select, sync, task, time};

/// Signals that never come.
pub mod signal {
    /// The names that the server uses.
    pub mod unix {
        use std::future::pending;

        /// The kinds of signal.
        #[derive(Debug)]
        pub struct SignalKind(());

        impl SignalKind {
            /// Ctrl-c.
            pub fn interrupt() -> Self {
                Self(())
            }

            /// What `kill` sends.
            pub fn terminate() -> Self {
                Self(())
            }
        }

        /// Waits for a signal.
        #[derive(Debug)]
        pub struct Signal(());

        /// Makes one. It does not fail.
        ///
        /// # Errors
        ///
        /// None.
        pub fn signal(_: SignalKind) -> std::io::Result<Signal> {
            Ok(Signal(()))
        }

        impl Signal {
            /// Waits for ever.
            pub async fn recv(&mut self) -> Option<()> {
                pending().await
            }
        }
    }
}

/// Sockets of the simulated network, with the methods that the server uses.
pub mod net {
    use arc::io::{AsyncRead, AsyncWrite, ReadBuf};
    use arc_sim::net::{Listener, Net, Stream};
    use std::cell::RefCell;
    use std::io::{Error, Result};
    use std::net::SocketAddr;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::task::{Context, Poll, Waker};

    thread_local! {
        static NET: RefCell<Option<Net>> = const { RefCell::new(None) };
    }

    /// Sets the network that the server listens on, as the host "server".
    pub fn set(net: &Net) {
        NET.set(Some(net.clone()));
    }

    /// A listener, by the name that it has in programs.
    #[derive(Debug)]
    pub struct TcpListener {
        listener: Listener,
        address: SocketAddr,
    }

    impl TcpListener {
        /// Listens on the network of [`set`].
        ///
        /// # Errors
        ///
        /// When no network is set, or something listens there.
        pub async fn bind((_, port): (&str, u16)) -> Result<Self> {
            let net = NET.with_borrow(Option::clone);
            let net = net.ok_or_else(|| Error::other("no network is set"))?;
            let listener = net.host("server").listen(port)?;
            Ok(Self { listener, address: ([127, 0, 0, 1], port).into() })
        }

        /// The address, whose host means nothing.
        ///
        /// # Errors
        ///
        /// None.
        pub fn local_addr(&self) -> Result<SocketAddr> {
            Ok(self.address)
        }

        /// Waits for a connection.
        ///
        /// # Errors
        ///
        /// When the host has crashed.
        pub async fn accept(&self) -> Result<(TcpStream, SocketAddr)> {
            let (stream, _) = self.listener.accept().await?;
            Ok((TcpStream(Arc::new(Mutex::new(stream))), self.address))
        }
    }

    /// A connection, or a half of it.
    #[derive(Debug)]
    pub struct TcpStream(Arc<Mutex<Stream>>);

    /// The half that writes. Its drop closes the direction to the peer.
    #[derive(Debug)]
    pub struct OwnedWriteHalf(TcpStream);

    impl TcpStream {
        /// Does nothing.
        ///
        /// # Errors
        ///
        /// None.
        pub fn set_nodelay(&self, _: bool) -> Result<()> {
            Ok(())
        }

        /// Splits it into a half that reads and one that writes.
        pub fn into_split(self) -> (Self, OwnedWriteHalf) {
            let write = OwnedWriteHalf(Self(self.0.clone()));
            (self, write)
        }

        fn with<R>(&self, act: impl FnOnce(Pin<&mut Stream>) -> R) -> R {
            act(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    impl Drop for OwnedWriteHalf {
        fn drop(&mut self) {
            let mut context = Context::from_waker(Waker::noop());
            let _ = self.0.with(|stream| stream.poll_shutdown(&mut context));
        }
    }

    impl AsyncRead for TcpStream {
        fn poll_read(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            self.with(|stream| stream.poll_read(context, buffer))
        }
    }

    impl AsyncWrite for TcpStream {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &[u8],
        ) -> Poll<Result<usize>> {
            self.with(|stream| stream.poll_write(context, buffer))
        }

        fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
            self.with(|stream| stream.poll_flush(context))
        }

        fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
            self.with(|stream| stream.poll_shutdown(context))
        }
    }
}
