//! HTTP/1 by httparse: what the example `tinyhttp` does, as a [`Protocol`].
//!
//! All requests that one read brings are answered by one write. Bodies are
//! skipped if they have a length; without one the connection ends.

use crate::protocol::Protocol;
use crate::work;
use std::mem::MaybeUninit;

/// What is read at once, and the longest head of a request.
const INPUT_BYTES: usize = 8 * 1024;

const HEADERS_MAX: usize = 64;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n\
    Hello, World!";

const JSON: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
    Content-Length: 27\r\n\r\n{\"message\":\"Hello, World!\"}";

const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\
    Content-Length: 0\r\n\r\n";

/// One connection.
pub struct Tiny {
    input: Box<[u8]>,
    /// How much of the input there is: the beginning of a request at most.
    filled: usize,
    /// How much of a request's body is still to be skipped.
    body_left: u64,
    output: Vec<u8>,
    is_open: bool,
}

impl Protocol for Tiny {
    fn new() -> Self {
        Self {
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            filled: 0,
            body_left: 0,
            output: Vec::new(),
            is_open: true,
        }
    }

    fn space(&mut self) -> &mut [u8] {
        &mut self.input[self.filled..]
    }

    fn answer(&mut self, count: usize) -> &[u8] {
        self.filled += count;
        self.output.clear();
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
                    self.body_left = request.body_bytes;
                    self.is_open = request.keep_alive;
                    self.output.extend_from_slice(request.response);
                }
                Ok(None) if input.len() < INPUT_BYTES => break,
                // Where the next request would begin nobody knows.
                Ok(None) | Err(()) => {
                    self.output.extend_from_slice(BAD_REQUEST);
                    self.is_open = false;
                }
            }
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        &self.output
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

struct Request {
    response: &'static [u8],
    head_bytes: usize,
    body_bytes: u64,
    keep_alive: bool,
}

/// The request at the beginning of the input, and does its work; None if its head
/// is not complete.
fn parse(input: &[u8]) -> Result<Option<Request>, ()> {
    let mut headers = [MaybeUninit::uninit(); HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut []);
    let head_bytes = match parsed.parse_with_uninit_headers(input, &mut headers) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(()),
    };
    let path = parsed.path.unwrap_or_default();
    work::for_path(path);
    let mut request = Request {
        response: if path == "/json" { JSON } else { HELLO },
        head_bytes,
        body_bytes: 0,
        // Under HTTP/1.0 it would have to be asked for and answered.
        keep_alive: parsed.version == Some(1),
    };
    for header in &*parsed.headers {
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = str::from_utf8(header.value).ok();
            request.body_bytes = length.and_then(|it| it.parse().ok()).ok_or(())?;
        } else if header.name.eq_ignore_ascii_case("connection") {
            request.keep_alive &= !header.value.eq_ignore_ascii_case(b"close");
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(());
        }
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out when the parts are read one after the other.
    fn answers(parts: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut tiny = Tiny::new();
        let mut output = Vec::new();
        for part in parts {
            tiny.space()[..part.len()].copy_from_slice(part);
            output.extend_from_slice(tiny.answer(part.len()));
        }
        (output, tiny.is_open())
    }

    #[test]
    fn pipelined_requests_are_all_answered() {
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(answers(&[&request.repeat(3)]), (HELLO.repeat(3), true));
    }

    #[test]
    fn a_request_may_come_in_parts_and_have_a_body() {
        let post = b"POST /json HTTP/1.1\r\nContent-Length: 5\r\n\r\n";
        let parts: [&[u8]; 4] = [&post[..9], &post[9..], b"12", b"345GET / HTTP/1.1\r\n\r\n"];
        assert_eq!(answers(&parts), ([JSON, HELLO].concat(), true));
    }

    #[test]
    fn what_is_not_http_ends_the_connection() {
        assert_eq!(answers(&[b"\x01\r\n\r\n"]), (BAD_REQUEST.into(), false));
    }

    #[test]
    fn lengths_are_right() {
        for page in [HELLO, JSON] {
            let page = str::from_utf8(page).unwrap();
            let (head, body) = page.split_once("\r\n\r\n").unwrap();
            let length = format!("Content-Length: {}", body.len());
            assert!(head.ends_with(&length), "{page}");
        }
    }
}
