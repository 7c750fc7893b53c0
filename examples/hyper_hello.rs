//! hyper's own `hello`, on arc: what is different is the runtime's name, `HyperIo` and
//! `ArcTimer`. `http` is the same with options and a graceful end.
//!
//! ```text
//! $ cargo run --release --example hyper_hello
//! Listening on http://127.0.0.1:3000
//! ```
//!
//! In another terminal:
//!
//! ```text
//! $ curl http://127.0.0.1:3000/
//! Hello World!
//! ```
//!
//! It takes another address as its argument, and `--help`. Ctrl-c ends it at once.

#[path = "common/address.rs"]
mod address;

use arc::compat::{ArcTimer, HyperIo};
use arc::net::TcpListener;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from("Hello World!"))))
}

#[arc::main]
async fn main() -> std::io::Result<()> {
    let address = address::address("127.0.0.1:3000");
    let listener = TcpListener::bind(&*address).await.unwrap_or_else(|error| {
        eprintln!("cannot listen on {address}: {error}");
        std::process::exit(1);
    });
    println!("Listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        arc::spawn(async move {
            let server = http1::Builder::new()
                .timer(ArcTimer)
                .serve_connection(HyperIo::new(stream), service_fn(hello));
            if let Err(error) = server.await {
                println!("Error serving connection: {error:?}");
            }
        });
    }
}
