//! arc: a multi-threaded async/await runtime that one person can read in an afternoon and run in
//! production.
//!
//! ```
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::net::{TcpListener, TcpStream};
//!
//! #[arc::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = arc::spawn(async move {
//!         let (mut stream, _) = listener.accept().await?;
//!         stream.write_all(b"hello").await
//!     });
//!     let mut text = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!     server.await?
//! }
//! ```
//!
//! Names and meaning are tokio's wherever tokio has the thing. The IO traits are futures-io's.

pub mod io;
pub mod net;
pub mod runtime;
pub mod task;
pub mod time;

mod config;
mod driver;
mod panic;
mod scheduler;
mod sync;

use arc_tasks as registry;

pub use arc_macros::{main, test};
pub use task::spawn;
