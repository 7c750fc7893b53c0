//! What a load generator sends, and how it knows the end of the answer.

/// How long a message of the echo load is.
pub const MESSAGE_BYTES: usize = 64;

const MESSAGE: [u8; MESSAGE_BYTES] = [b'm'; MESSAGE_BYTES];

const HEADERS_MAX: usize = 32;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An answer at once.
    Plain,
    /// An answer after 2 ms of computing.
    Slow,
    /// An answer after its thread was blocked for 1 s.
    Block,
}

/// A protocol, from the client's side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exchange {
    /// HTTP/1.1 with keep-alive.
    Http,
    /// The message comes back.
    Echo,
}

impl Exchange {
    /// The bytes of a request.
    pub fn request(self, kind: Kind) -> &'static [u8] {
        match (self, kind) {
            (Self::Echo, _) => &MESSAGE,
            (Self::Http, Kind::Plain) => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            (Self::Http, Kind::Slow) => b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n",
            (Self::Http, Kind::Block) => b"GET /block HTTP/1.1\r\nHost: localhost\r\n\r\n",
        }
    }

    /// Whether what has come is the whole answer.
    ///
    /// # Errors
    ///
    /// It is not an answer, or not a good one: a status other than 200, or more
    /// bytes than were asked for.
    pub fn is_complete(self, input: &[u8]) -> Result<bool, String> {
        let length = match self {
            Self::Echo => MESSAGE_BYTES,
            Self::Http => match http_length(input)? {
                Some(length) => length,
                None => return Ok(false),
            },
        };
        if input.len() > length {
            return Err("more than one answer to a request".to_owned());
        }
        Ok(input.len() == length)
    }
}

/// How long the answer is; None until its head is complete.
fn http_length(input: &[u8]) -> Result<Option<usize>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(input).map_err(|error| error.to_string())? {
        httparse::Status::Complete(head) => head,
        httparse::Status::Partial => return Ok(None),
    };
    match response.code {
        Some(200) => {}
        code => return Err(format!("status {}", code.unwrap_or(0))),
    }
    let mut headers = response.headers.iter();
    let length = headers
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| str::from_utf8(header.value).ok()?.parse::<usize>().ok())
        .ok_or("an answer without a length")?;
    Ok(Some(head + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_http_answer_has_its_length() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        for end in 0..answer.len() {
            assert_eq!(Exchange::Http.is_complete(&answer[..end]), Ok(false));
        }
        assert_eq!(Exchange::Http.is_complete(answer), Ok(true));
        assert!(Exchange::Http.is_complete(&answer.repeat(2)).is_err());
    }

    #[test]
    fn other_answers_are_errors() {
        for answer in [
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "SSH-2.0-server\r\n",
        ] {
            assert!(Exchange::Http.is_complete(answer.as_bytes()).is_err());
        }
    }

    #[test]
    fn an_echo_is_as_long_as_the_message() {
        assert_eq!(Exchange::Echo.is_complete(&[0; 63]), Ok(false));
        assert_eq!(Exchange::Echo.is_complete(&[0; 64]), Ok(true));
        assert!(Exchange::Echo.is_complete(&[0; 65]).is_err());
    }
}
