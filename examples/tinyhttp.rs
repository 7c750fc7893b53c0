//! An HTTP/1 server by hand, with httparse and no framework: how little stands between the runtime
//! and a response.
//!
//! It answers mioco's `http-server`, which has httparse read the heads as well, and may's `http`.
//!
//! ```text
//! $ cargo run --release --example tinyhttp -- --workers 2
//! listening on http://127.0.0.1:8080 with 2 workers
//! try: curl -i http://127.0.0.1:8080/plaintext http://127.0.0.1:8080/json
//! ```
//!
//! In another terminal:
//!
//! ```text
//! $ curl -i http://127.0.0.1:8080/plaintext http://127.0.0.1:8080/json
//! HTTP/1.1 200 OK
//! Content-Type: text/plain
//! Content-Length: 13
//!
//! Hello, World!HTTP/1.1 200 OK
//! Content-Type: application/json
//! Content-Length: 27
//!
//! {"message":"Hello, World!"}
//! ```
//!
//! All requests that one read brings are answered by one write. What it does not know it refuses,
//! and closes the connection: methods other than GET, and bodies. Ctrl-c ends the server as in
//! `http`.

mod common;
#[path = "common/host.rs"]
mod host;

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::time::timeout;
use common::{Failure, Options, Server, Stop, say};
use std::io::{self, Write};
use std::time::Duration;

/// What is read at once, and the longest head of a request.
const INPUT_BYTES: usize = 8 * 1024;

const HEADERS_MAX: usize = 64;

/// For how long the client of a connection that had to be closed may go on sending: a close before
/// that would destroy the answer on its way.
const LINGER: Duration = Duration::from_millis(500);

#[arc::main(workers = Options::parse().workers)]
async fn main() -> Result<(), Failure> {
    let mut server = Server::bind(&Options::parse(), "http").await?;
    let url = format!("http://{}", server.address());
    say(format_args!("try: curl -i {url}/plaintext {url}/json"));
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| serve(stream, stop));
    }
    server.finish().await
}

async fn serve(mut stream: TcpStream, mut stop: Stop) -> io::Result<()> {
    let mut input = vec![0; INPUT_BYTES];
    let mut filled = 0;
    let mut is_open = true;
    while is_open {
        let is_between_requests = filled == 0;
        let read = stream.read(&mut input[filled..]);
        let count = match is_between_requests {
            true => stop.or(read).await.unwrap_or(Ok(0))?,
            false => read.await?,
        };
        if count == 0 {
            return Ok(());
        }
        filled += count;

        let mut output = Vec::new();
        let answered;
        (answered, is_open) = answer(&input[..filled], &mut output)?;
        stream.write_all(&output).await?;
        input.copy_within(answered..filled, 0);
        filled -= answered;
    }

    stream.shutdown().await?;
    let drain = async {
        while stream.read(&mut input).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether it is over by then or not, the connection ends.
    timeout(LINGER, drain).await.unwrap_or(Ok(()))
}

/// Answers all requests that are whole in the input. Gives how long they are, and whether the
/// connection stays open.
fn answer(input: &[u8], output: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    let mut answered = 0;
    loop {
        let rest = &input[answered..];
        let request = match parse(rest) {
            Ok(Some(request)) => request,
            Ok(None) if rest.len() < INPUT_BYTES => return Ok((answered, true)),
            // Where the next request would begin nobody knows, so this is the end.
            Ok(None) => Request { page: &TOO_LARGE, head_bytes: 0, stays_open: false },
            Err(page) => Request { page, head_bytes: 0, stays_open: false },
        };
        let Page { status, kind, body } = request.page;
        let length = body.len();
        let close = if request.stays_open { "" } else { "Connection: close\r\n" };
        write!(
            output,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{close}\r\n\
             {body}"
        )?;
        answered += request.head_bytes;
        if !request.stays_open {
            return Ok((answered, false));
        }
    }
}

struct Request {
    page: &'static Page,
    head_bytes: usize,
    stays_open: bool,
}

/// The request at the beginning of the input; None if its head is not complete. The error: why it
/// is refused.
fn parse(input: &[u8]) -> Result<Option<Request>, &'static Page> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let head_bytes = match parsed.parse(input) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(&TOO_LARGE),
        Err(_) => return Err(&BAD_REQUEST),
    };
    let values = |name: &'static str| {
        let headers = parsed.headers.iter();
        headers.filter(move |it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
    };

    let is_http_1_0 = parsed.version == Some(0);
    if !host::is_right(is_http_1_0, values("host")) {
        return Err(&BAD_REQUEST);
    }
    // It would be taken for the next request.
    let has_body = values("content-length").any(|length| length != b"0");
    if has_body || values("transfer-encoding").next().is_some() {
        return Err(&NO_BODIES);
    }
    if parsed.method != Some("GET") {
        return Err(&ONLY_GET);
    }

    let target = parsed.path.unwrap_or_default();
    let page = match target.split_once('?').map_or(target, |(path, _)| path) {
        "/plaintext" => &PLAINTEXT,
        "/json" => &JSON,
        _ => &NOT_FOUND,
    };
    let mut options = values("connection").flat_map(|value| value.split(|&byte| byte == b','));
    let closes = options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
    Ok(Some(Request { page, head_bytes, stays_open: !closes && !is_http_1_0 }))
}

struct Page {
    status: &'static str,
    kind: &'static str,
    body: &'static str,
}

const fn page(status: &'static str, kind: &'static str, body: &'static str) -> Page {
    Page { status, kind, body }
}

static PLAINTEXT: Page = page("200 OK", "text/plain", "Hello, World!");
static JSON: Page = page("200 OK", "application/json", "{\"message\":\"Hello, World!\"}");
static BAD_REQUEST: Page = page("400 Bad Request", "text/plain", "this is not HTTP/1\n");
static NOT_FOUND: Page = page("404 Not Found", "text/plain", "there are /plaintext and /json\n");
static ONLY_GET: Page = page("405 Method Not Allowed", "text/plain", "only GET\n");
static NO_BODIES: Page = page("413 Content Too Large", "text/plain", "no bodies\n");
static TOO_LARGE: Page = page("431 Request Header Fields Too Large", "text/plain", "too long\n");
