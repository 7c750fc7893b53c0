//! Runs crates that were written for another runtime on arc.
//!
//! Its features add adapters for hyper, axum, tower, tonic and crates that require tokio. It uses
//! only arc's public API.
//!
//! | crate | requires | arc-compat provides | feature |
//! |---|---|---|---|
//! | hyper | `Read + Write`, for an arc socket | [`HyperIo`] | `hyper` |
//! | hyper | `Read + Write`, for a stream with futures-io's traits | [`FuturesIo`] | `hyper` |
//! | hyper | `Executor` | [`ArcExecutor`] | `hyper` |
//! | hyper | `Timer` | [`ArcTimer`] | `hyper` |
//! | tower, axum, tonic | an HTTP server for a tower service | `server::serve` | `server` |
//! | axum | WebSockets | `axum::WebSocketUpgrade` | `axum` |
//! | tower | a timeout | `tower::TimeoutLayer` | `tower` |
//! | tokio-rustls ... | tokio's IO traits, and the reverse | `tokio::Compat` | `tokio-io` |
//! | tracing | a span that is entered at each poll | `tracing::spawn` | `tracing` |
//! | tokio-console | the spans of tasks, locks, channels | `console::tell` | `console` |
//! | axum | a `Listener` for its own `serve` | `axum::listener` | `axum`, `tokio-rt` |
//! | reqwest, sqlx ... | a tokio runtime | the feature alone, on arc-util's | `tokio-rt` |
//! | the same, with arc's own `Builder` | | `tokio::everywhere`, `tokio::enter` | `tokio-rt` |
//!
//! Only `hyper` is on by default. `full` enables all but `console`. Only what needs `tokio-rt`
//! starts threads. The README describes these threads, and lists an example and a test for each row
//! of this table.
//!
//! # Examples
//!
//! A hyper server, a hyper client, and one request between them:
//!
//! ```
//! use arc_util::net::{TcpListener, TcpStream};
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

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "console")]
pub mod console;
#[cfg(any(feature = "hyper", feature = "tokio-io"))]
mod delegate;
#[cfg(feature = "hyper")]
mod io;
#[cfg(feature = "hyper")]
mod rt;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "tokio-io", feature = "tokio-rt"))]
pub mod tokio;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "tracing")]
pub mod tracing;

pub use arc_hint::explain_tokio_panics;
#[cfg(feature = "hyper")]
pub use io::{FuturesIo, HyperIo, ReadUninit};
#[cfg(feature = "hyper")]
pub use rt::{ArcExecutor, ArcSleep, ArcTimer};
