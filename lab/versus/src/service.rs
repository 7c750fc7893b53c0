//! The hyper service: the same on every runtime that hyper runs on.

use crate::work;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;

/// Serves one connection; no timer, as hyper does by default.
///
/// # Errors
///
/// hyper's: the client breaks off, or what it sends is not HTTP.
pub async fn serve(io: impl Read + Write + Unpin) -> hyper::Result<()> {
    let connection = http1::Builder::new().serve_connection(io, service_fn(answer));
    connection.await
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    work::for_path(request.uri().path());
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Ok(response)
}
