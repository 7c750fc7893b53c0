//! hyper on arc: its IO, executor and timer traits for arc's sockets, tasks and
//! timers, on arc's public API alone.
//!
//! | hyper asks for | arc-compat has |
//! |---|---|
//! | `Read + Write`, of one of arc's sockets | [`HyperIo`] |
//! | `Read + Write`, of any stream with futures-io's traits, such as TLS | [`FuturesIo`] |
//! | `Executor` | [`ArcExecutor`] |
//! | `Timer` | [`ArcTimer`] |
//!
//! Libraries with tokio's IO traits take an arc socket by way of tokio-util's
//! `compat` feature, which needs no runtime.
//!
//! # Examples
//!
//! A server and a client of hyper, and one request between them:
//!
//! ```
//! use arc::net::{TcpListener, TcpStream};
//! use arc_compat::{ArcTimer, HyperIo};
//! use http_body_util::{BodyExt, Empty, Full};
//! use hyper::body::{Bytes, Incoming};
//! use hyper::service::service_fn;
//! use hyper::{Request, Response};
//! use std::convert::Infallible;
//!
//! async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
//!     Ok(Response::new(Full::new(Bytes::from("Hello, World!"))))
//! }
//!
//! #[arc::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     arc::spawn(async move {
//!         while let Ok((stream, _)) = listener.accept().await {
//!             let server = hyper::server::conn::http1::Builder::new()
//!                 .timer(ArcTimer)
//!                 .serve_connection(HyperIo::new(stream), service_fn(hello));
//!             arc::spawn(server);
//!         }
//!     });
//!
//!     let stream = HyperIo::new(TcpStream::connect(address).await?);
//!     let (mut client, connection) = hyper::client::conn::http1::handshake(stream).await?;
//!     arc::spawn(connection);
//!     let request = Request::get("/").header("host", "localhost");
//!     let response = client.send_request(request.body(Empty::<Bytes>::new())?).await?;
//!     assert_eq!(response.status(), 200);
//!     assert_eq!(response.into_body().collect().await?.to_bytes(), "Hello, World!");
//!     Ok(())
//! }
//! ```

mod io;
mod rt;

pub use io::{FuturesIo, HyperIo, ReadUninit};
pub use rt::{ArcExecutor, ArcSleep, ArcTimer};
