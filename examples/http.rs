//! An HTTP/1 server: hyper as it is, on arc, by way of `arc::compat`.
//!
//! ```text
//! $ cargo run --release --example http -- --workers 2
//! listening on http://127.0.0.1:8080 with 2 workers
//! try: curl -i http://127.0.0.1:8080/
//! ```
//!
//! In another terminal:
//!
//! ```text
//! $ curl -i http://127.0.0.1:8080/
//! HTTP/1.1 200 OK
//! content-type: text/plain
//! content-length: 13
//! date: Fri, 21 Nov 2025 10:32:00 GMT
//!
//! Hello, World!
//! ```
//!
//! Ctrl-c ends the server: requests that have begun are answered, connections
//! without one are closed.
//!
//! ```text
//! ^Cstopping
//! stopped
//! ```
//!
//! Requests that take longer than 10 s (`--grace SECONDS`) are cut off. The server says so, and
//! ends with exit status 1. A second ctrl-c ends it at once.

mod common;
#[path = "common/host.rs"]
mod host;

use arc::compat::HyperIo;
use arc::net::TcpStream;
use common::{Failure, Options, Server, Stop, say};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::pin::pin;

#[arc::main(workers = Options::parse().workers)]
async fn main() -> Result<(), Failure> {
    let mut server = Server::bind(&Options::parse(), "http").await?;
    say(format_args!("try: curl -i http://{}/", server.address()));
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| connection(stream, stop));
    }
    server.finish().await
}

async fn connection(stream: TcpStream, mut stop: Stop) -> hyper::Result<()> {
    // A server that faces the world adds `.timer(arc::compat::ArcTimer)`: hyper then
    // ends connections whose client takes longer than 30 s for a request's head.
    let connection =
        http1::Builder::new().serve_connection(HyperIo::new(stream), service_fn(hello));
    let mut connection = pin!(connection);
    match stop.or(connection.as_mut()).await {
        Some(result) => result,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // hyper leaves it to its user to look at this header.
    let hosts = request.headers().get_all(HOST).into_iter().map(HeaderValue::as_bytes);
    if !host::is_right(request.version() < Version::HTTP_11, hosts) {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    }

    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Ok(response)
}
