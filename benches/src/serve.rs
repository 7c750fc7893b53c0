//! The servers: their command line, and what they do with a connection.

use crate::Runtime;
use crate::work::{self, Work};
use clap::Parser;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::io::{self, Write};

/// How much a connection of an echo server reads at once.
const ECHO_BYTES: usize = 16 * 1024;

/// What an HTTP server answers.
pub const HELLO: &[u8] = b"Hello, World!";

/// A server for measurements: HTTP/1 by hyper
#[derive(Parser)]
struct Options {
    /// How many workers run tasks at once
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Where to listen, HOST:PORT; port 0 is any free one
    #[arg(long = "addr", default_value = "127.0.0.1:8080")]
    address: String,
    /// Send back what comes, instead of HTTP
    #[arg(long)]
    echo: bool,
    /// Hold a worker up for that long in every handler, by computing until its thread has used as
    /// much CPU time: 300us; with 2ms/100 in one request of 100
    #[arg(long, value_name = "TIME")]
    work: Option<Work>,
    /// Sleep in the kernel for that long instead: the worker is blocked and the core is not, so
    /// that one core plays many
    #[arg(long, requires = "work")]
    work_sleeps: bool,
}

/// The `main` of a server.
///
/// # Errors
///
/// The listener's.
pub fn main<R: Runtime>() -> io::Result<()> {
    let options = Options::parse();
    if let Some(work) = options.work {
        work.begin(options.work_sleeps);
    }
    let runtime = R::start_without_timers(options.workers);
    runtime.block_on(async {
        let (listener, address) = R::listen(&options.address).await?;
        println!("listening on {address}");
        // Whoever started this waits for the line. A pipe is not flushed by its end alone.
        io::stdout().flush()?;
        loop {
            let stream = R::accept(&listener).await?;
            // What a connection fails with is the client's business.
            if options.echo {
                R::spawn_detached(echo::<R>(stream));
            } else {
                R::spawn_detached(async move { drop(http::<R>(stream).await) });
            }
        }
    })
}

async fn echo<R: Runtime>(mut stream: R::Stream) {
    let mut buffer = vec![0; ECHO_BYTES];
    while let Ok(count @ 1..) = R::read(&mut stream, &mut buffer).await {
        if R::write_all(&mut stream, &buffer[..count]).await.is_err() {
            break;
        }
    }
}

/// hyper, without a timer, as it is by default.
async fn http<R: Runtime>(stream: R::Stream) -> hyper::Result<()> {
    let connection = http1::Builder::new();
    connection.serve_connection(R::hyper_io(stream), service_fn(answer)).await
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    work::perform();
    let mut response = Response::new(Full::new(Bytes::from_static(HELLO)));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Ok(response)
}
