//! A network between hosts that exist in the simulation only: the seed decides how long each
//! packet takes, and which ones are lost.
//!
//! * A [`Stream`] is as TCP: bytes come in order and none is lost, in pieces of any size. A lost
//!   packet is sent again after 200 ms, and a reader that does not read holds up the writer.
//! * A [`Socket`] is as UDP: a datagram comes late, or not at all, or before one that was sent
//!   earlier.
//! * During a [partition](Net::partition), streams wait and datagrams are lost. Connecting waits
//!   for a minute at most. A host gives a stream up when what it sent has not arrived after 15
//!   minutes. A partition may be [one-way](Net::partition_oneway), too.
//! * By a [crash](Net::crash), every stream of a host breaks, and its listeners and sockets are
//!   gone.
//!
//! What the network decides about packets is in the events of a seed that fails.
//!
//! A stream has the traits for reading and writing of futures-io and those of tokio, so code that is
//! written for any `AsyncRead` and `AsyncWrite` runs on it.
//!
//! # Examples
//!
//! ```
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::time::Duration;
//! use arc_sim::net::Net;
//!
//! arc_sim::run(1, async {
//!     let net = Net::new();
//!     net.set_delay(Duration::from_millis(10)..Duration::from_millis(80));
//!     net.set_loss(0.1);
//!     let (server, client) = (net.host("server"), net.host("client"));
//!
//!     let listener = server.listen(80)?;
//!     let task = arc::spawn(async move {
//!         let (mut stream, peer) = listener.accept().await?;
//!         stream.write_all(format!("hello, {peer}").as_bytes()).await?;
//!         stream.close().await
//!     });
//!     let mut text = String::new();
//!     client.connect("server", 80).await?.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello, client");
//!     task.await?
//! })?;
//! # std::io::Result::Ok(())
//! ```

mod backlog;
mod conditions;
mod error;
mod inbox;
mod listener;
mod network;
mod pipe;
mod socket;
mod stream;
mod wakers;

pub use listener::Listener;
pub use network::{Host, Net};
pub use socket::Socket;
pub use stream::Stream;
