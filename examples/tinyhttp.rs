//! An HTTP/1 server by hand, with httparse and no framework: how little stands
//! between the runtime and a response.
//!
//! It answers mioco's `http-server`, which has httparse read the heads as well, and
//! may's `http`.
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
//! All requests that one read brings are answered by one write. Bodies are
//! skipped. Ctrl-c ends the server: requests that have begun are answered,
//! connections without one are closed.
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

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::time::timeout;
use common::{Failure, Options, Server, Stop, say};
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// What is read at once, and the longest head of a request.
const INPUT_BYTES: usize = 8 * 1024;

const HEADERS_MAX: usize = 64;

/// For how long the client of a connection that had to be closed may go on
/// sending: a close before that would destroy the answer on its way.
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
    let mut connection = Connection::new();
    while connection.is_open {
        let is_idle = connection.is_idle();
        let read = stream.read(&mut connection.input[connection.filled..]);
        let count = match is_idle {
            true => stop.or(read).await.unwrap_or(Ok(0))?,
            false => read.await?,
        };
        if count == 0 {
            return Ok(());
        }
        connection.filled += count;
        connection.answer();
        stream.write_all(&connection.output).await?;
        connection.output.clear();
    }
    stream.close().await?;
    let drain = async {
        while stream.read(&mut connection.input).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether it is over by then or not, the connection ends.
    timeout(LINGER, drain).await.unwrap_or(Ok(()))
}

/// What is between the two directions of a connection: no IO.
struct Connection {
    input: Box<[u8]>,
    /// How much of the input there is; the beginning of a request at most, except
    /// between a read and `answer`.
    filled: usize,
    /// How much of a request's body is still to be skipped.
    body_left: u64,
    output: Vec<u8>,
    is_open: bool,
}

impl Connection {
    fn new() -> Self {
        Self {
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            filled: 0,
            body_left: 0,
            output: Vec::new(),
            is_open: true,
        }
    }

    /// Between two requests.
    fn is_idle(&self) -> bool {
        self.filled == 0 && self.body_left == 0
    }

    /// Answers all requests whose heads are in the input, and removes them.
    fn answer(&mut self) {
        let mut start = 0;
        while self.is_open && start < self.filled {
            let input = &self.input[start..self.filled];
            if self.body_left > 0 {
                let skipped = self.body_left.min(input.len() as u64);
                self.body_left -= skipped;
                start += skipped as usize;
                continue;
            }
            match parse(input) {
                Ok(Some(request)) => {
                    start += request.head_bytes;
                    self.body_left = request.body_bytes.unwrap_or(0);
                    self.is_open = request.stays_open();
                    request.respond(&mut self.output);
                }
                Ok(None) if input.len() < INPUT_BYTES => break,
                Ok(None) => self.refuse(&TOO_LARGE),
                Err(page) => self.refuse(page),
            }
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
    }

    /// Where the next request would begin nobody knows, so this is the end.
    fn refuse(&mut self, page: &Page) {
        page.write(&mut self.output, "Connection: close\r\n", true);
        self.is_open = false;
    }
}

struct Request {
    page: &'static Page,
    head_bytes: usize,
    /// None: the headers have not said it.
    body_bytes: Option<u64>,
    is_head: bool,
    is_http_1_0: bool,
    /// None: as the version has it.
    keep_alive: Option<bool>,
    expects_continue: bool,
}

impl Request {
    fn stays_open(&self) -> bool {
        self.keep_alive.unwrap_or(!self.is_http_1_0)
    }

    fn respond(&self, output: &mut Vec<u8>) {
        let connection = match (self.stays_open(), self.is_http_1_0) {
            (true, true) => "Connection: keep-alive\r\n",
            (true, false) => "",
            (false, _) => "Connection: close\r\n",
        };
        if self.expects_continue {
            output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.page.write(output, connection, !self.is_head);
    }

    /// Takes notice of a header; what is wrong with it is the error.
    fn header(&mut self, name: &str, value: &[u8]) -> Result<(), &'static Page> {
        if name.eq_ignore_ascii_case("content-length") {
            let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let text = str::from_utf8(value).ok().filter(|_| is_number);
            let length = text.and_then(|text| text.parse().ok()).ok_or(&BAD_REQUEST)?;
            if *self.body_bytes.get_or_insert(length) != length {
                return Err(&BAD_REQUEST);
            }
        } else if name.eq_ignore_ascii_case("connection") {
            for option in value.split(|&byte| byte == b',') {
                let option = option.trim_ascii();
                if option.eq_ignore_ascii_case(b"close") {
                    self.keep_alive = Some(false);
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    // Close wins, whichever comes first.
                    self.keep_alive.get_or_insert(true);
                }
            }
        } else if name.eq_ignore_ascii_case("expect") {
            // HTTP/1.0 knows no such response.
            let is_asked = value.eq_ignore_ascii_case(b"100-continue");
            self.expects_continue = is_asked && !self.is_http_1_0;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(&NOT_IMPLEMENTED);
        }
        Ok(())
    }
}

/// The path of a request's target, which may be a whole URL.
fn path(target: &str) -> &str {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
            rest.find(['/', '?']).map_or("/", |start| &rest[start..])
        }
        _ => target,
    };
    target.split_once('?').map_or(target, |(path, _)| path)
}

/// The request at the beginning of the input; None if its head is not complete.
fn parse(input: &[u8]) -> Result<Option<Request>, &'static Page> {
    let mut headers = [MaybeUninit::uninit(); HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut []);
    let head_bytes = match parsed.parse_with_uninit_headers(input, &mut headers) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(&TOO_LARGE),
        Err(_) => return Err(&BAD_REQUEST),
    };
    let is_http_1_0 = parsed.version == Some(0);
    let mut request = Request {
        page: match path(parsed.path.unwrap_or_default()) {
            "/plaintext" => &PLAINTEXT,
            "/json" => &JSON,
            _ => &NOT_FOUND,
        },
        head_bytes,
        body_bytes: None,
        is_head: parsed.method == Some("HEAD"),
        is_http_1_0,
        keep_alive: None,
        expects_continue: false,
    };
    for header in &*parsed.headers {
        request.header(header.name, header.value)?;
    }
    let hosts = parsed.headers.iter().filter(|it| it.name.eq_ignore_ascii_case("host"));
    if !host::is_right(is_http_1_0, hosts.map(|header| header.value)) {
        return Err(&BAD_REQUEST);
    }
    Ok(Some(request))
}

/// A response, ready to be copied.
struct Page {
    head: &'static str,
    body: &'static str,
}

impl Page {
    fn write(&self, output: &mut Vec<u8>, connection: &str, with_body: bool) {
        let body = if with_body { self.body } else { "" };
        for part in [self.head, connection, "\r\n", body] {
            output.extend_from_slice(part.as_bytes());
        }
    }
}

/// The length is a literal, because it becomes part of a constant; the compiler
/// checks it.
macro_rules! page {
    ($name:ident, $status:literal, $kind:literal, $length:literal, $body:literal) => {
        static $name: Page = {
            assert!($body.len() == $length, "the Content-Length is wrong");
            Page {
                head: concat!(
                    "HTTP/1.1 ",
                    $status,
                    "\r\nContent-Type: ",
                    $kind,
                    "\r\nContent-Length: ",
                    $length,
                    "\r\n"
                ),
                body: $body,
            }
        };
    };
}

page!(PLAINTEXT, "200 OK", "text/plain", 13, "Hello, World!");
page!(JSON, "200 OK", "application/json", 27, "{\"message\":\"Hello, World!\"}");
page!(BAD_REQUEST, "400 Bad Request", "text/plain", 19, "this is not HTTP/1\n");
page!(NOT_FOUND, "404 Not Found", "text/plain", 31, "there are /plaintext and /json\n");
page!(TOO_LARGE, "431 Request Header Fields Too Large", "text/plain", 21, "the head is too long\n");
page!(NOT_IMPLEMENTED, "501 Not Implemented", "text/plain", 30, "a body needs a Content-Length\n");
