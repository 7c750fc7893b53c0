//! An HTTP server that sends back what is posted to it: hyper, and bodies that are
//! streamed. The same as coio's `http-echo-server`, with its options `-b ADDR` and
//! `-t THREADS`.
//!
//! ```text
//! $ cargo run --release --example http_echo -- -b 127.0.0.1:8080 -t 2
//! listening on http://127.0.0.1:8080 with 2 workers
//! try: curl -d hello http://127.0.0.1:8080/echo
//! ```
//!
//! In another terminal:
//!
//! ```text
//! $ curl -d hello http://127.0.0.1:8080/echo
//! hello
//! $ curl http://127.0.0.1:8080/
//! Try POST /echo
//! ```
//!
//! Any other path is not found: 404. Ctrl-c ends the server, as in `http`.

mod common;
#[path = "common/host.rs"]
mod host;

use arc::compat::HyperIo;
use arc::net::TcpStream;
use common::{Failure, Options, Server, Stop, say};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::pin::pin;

#[arc::main(workers = Options::parse().workers)]
async fn main() -> Result<(), Failure> {
    let mut server = Server::bind(&Options::parse(), "http").await?;
    say(format_args!("try: curl -d hello http://{}/echo", server.address()));
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| connection(stream, stop));
    }
    server.finish().await
}

async fn connection(stream: TcpStream, mut stop: Stop) -> hyper::Result<()> {
    let connection = http1::Builder::new().serve_connection(HyperIo::new(stream), service_fn(echo));
    let mut connection = pin!(connection);
    match stop.or(connection.as_mut()).await {
        Some(result) => result,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

type Body = BoxBody<Bytes, hyper::Error>;

async fn echo(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let never = |error: Infallible| match error {};
    // hyper leaves it to its user to look at this header.
    let hosts = request.headers().get_all(HOST).into_iter().map(HeaderValue::as_bytes);
    if !host::is_right(request.version() < Version::HTTP_11, hosts) {
        let mut response = Response::new(Empty::new().map_err(never).boxed());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    }

    let response = match (request.method(), request.uri().path()) {
        (&Method::GET, "/" | "/echo") => {
            Response::new(Full::from("Try POST /echo").map_err(never).boxed())
        }
        // Each part goes out as it comes in.
        (&Method::POST, "/echo") => Response::new(request.into_body().boxed()),
        _ => {
            let mut response = Response::new(Empty::new().map_err(never).boxed());
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    };
    Ok(response)
}
