//! The protocol, RESP2: requests are parsed, replies are written. No IO.

use std::ops::Range;

/// The longest argument, and the longest string that there is: 512 MB, as in redis.
pub const BULK_BYTES_MAX: usize = 512 << 20;

/// The longest request: redis ends clients with more than 1 GB of it.
pub const REQUEST_BYTES_MAX: usize = 1 << 30;

/// More than this is not kept between requests.
pub const KEPT_BYTES: usize = 1 << 20;

/// The longest inline command, and far more than the longest number.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The most arguments of a request.
const ARGUMENTS_MAX: i64 = 1 << 20;

/// What is wrong with a request; nobody knows where the next one would begin.
pub type ProtocolError = String;

/// Reads one request after the other, and goes on where it was when more has come.
#[derive(Default)]
pub struct Parser {
    stage: Stage,
    /// Up to where the request is read.
    position: usize,
    /// Where the arguments are: in the input, or in `inline`.
    ranges: Vec<Range<usize>>,
    /// The arguments of an inline command, which may have been quoted.
    inline: Vec<u8>,
    is_inline: bool,
}

#[derive(Clone, Copy, Default)]
enum Stage {
    /// Nothing is known of the request yet.
    #[default]
    Start,
    /// So many arguments are still to come; if none are, the request is complete.
    Arguments(usize),
    /// The bytes of an argument, and so many more of them are to come.
    Bulk { bytes: usize, more: usize },
}

impl Parser {
    /// Reads on in the request at the beginning of `input`, which is what it was, and
    /// more. Gives the length of the request when it is complete, until `finish`.
    pub fn parse(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        loop {
            self.stage = match self.stage {
                Stage::Start => match input.first() {
                    None => return Ok(None),
                    Some(b'*') => match self.number(input, "mbulk count string")? {
                        None => return Ok(None),
                        Some(count) => Stage::Arguments(arguments(count)?),
                    },
                    Some(_) => match self.line(input)? {
                        None => return Ok(None),
                        Some(()) => Stage::Arguments(0),
                    },
                },
                Stage::Arguments(0) => return Ok(Some(self.position)),
                Stage::Arguments(count) => {
                    match input.get(self.position) {
                        None => return Ok(None),
                        Some(b'$') => {}
                        Some(byte) => {
                            let byte = char::from(*byte).escape_default();
                            return Err(format!("expected '$', got '{byte}'"));
                        }
                    }
                    match self.number(input, "bulk count string")? {
                        None => return Ok(None),
                        Some(bytes) => Stage::Bulk { bytes: bulk(bytes)?, more: count - 1 },
                    }
                }
                Stage::Bulk { bytes, more } => {
                    let end = self.position + bytes;
                    if input.len() < end + 2 {
                        return Ok(None);
                    }
                    self.is_inline = false;
                    self.ranges.push(self.position..end);
                    self.position = end + 2;
                    Stage::Arguments(more)
                }
            }
        }
    }

    /// The request that `parse` found complete, in the same input.
    pub fn request<'a>(&'a self, input: &'a [u8]) -> Request<'a> {
        let bytes = if self.is_inline { &self.inline } else { input };
        Request { bytes, ranges: &self.ranges }
    }

    /// The request is done with: from now on the next one is at the beginning of the input.
    pub fn finish(&mut self) {
        (self.stage, self.position) = (Stage::Start, 0);
        match self.ranges.capacity() > KEPT_BYTES / size_of::<Range<usize>>() {
            true => self.ranges = Vec::new(),
            false => self.ranges.clear(),
        }
    }

    /// The number after the byte at the position, to the end of the line. The error
    /// outside: there is no end; None inside: there is no number.
    fn number(&mut self, input: &[u8], what: &str) -> Result<Option<Option<i64>>, ProtocolError> {
        let rest = &input[self.position + 1..];
        let Some(length) = rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\r') else {
            return match rest.len() < LINE_BYTES_MAX {
                true => Ok(None),
                false => Err(format!("too big {what}")),
            };
        };
        if rest.len() < length + 2 {
            return Ok(None);
        }
        self.position += 1 + length + 2;
        Ok(Some(integer(&rest[..length])))
    }

    /// An inline command: words in a line.
    fn line(&mut self, input: &[u8]) -> Result<Option<()>, ProtocolError> {
        let Some(length) = input.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n') else {
            return match input.len() < LINE_BYTES_MAX {
                true => Ok(None),
                false => Err("too big inline request".to_owned()),
            };
        };
        self.position = length + 1;
        self.is_inline = true;
        self.inline.clear();
        let line = &input[..length];
        let mut rest = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii_start();
        while !rest.is_empty() {
            let start = self.inline.len();
            let end = word(rest, &mut self.inline);
            rest = end.ok_or("unbalanced quotes in request")?.trim_ascii_start();
            self.ranges.push(start..self.inline.len());
        }
        Ok(Some(()))
    }
}

fn arguments(count: Option<i64>) -> Result<usize, ProtocolError> {
    match count {
        Some(count @ ..=ARGUMENTS_MAX) => Ok(count.max(0) as usize),
        _ => Err("invalid multibulk length".to_owned()),
    }
}

fn bulk(bytes: Option<i64>) -> Result<usize, ProtocolError> {
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| *bytes <= BULK_BYTES_MAX);
    bytes.ok_or_else(|| "invalid bulk length".to_owned())
}

/// Appends one word of an inline command, without its quotes, and gives what is after
/// it. None: the quotes do not match.
fn word<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    while let Some((&byte, after)) = rest.split_first() {
        if byte.is_ascii_whitespace() {
            break;
        }
        rest = after;
        if !matches!(byte, b'"' | b'\'') {
            word.push(byte);
            continue;
        }
        loop {
            let (&next, after) = rest.split_first()?;
            rest = after;
            match next {
                _ if next == byte => break,
                b'\\' if byte == b'"' => rest = escape(rest, word)?,
                b'\\' if rest.first() == Some(&b'\'') => {
                    word.push(b'\'');
                    rest = &rest[1..];
                }
                next => word.push(next),
            }
        }
        // Nothing but a space may follow the quotes.
        if rest.first().is_some_and(|next| !next.is_ascii_whitespace()) {
            return None;
        }
    }
    Some(rest)
}

/// What a backslash within double quotes stands for.
fn escape<'a>(rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let hexadecimal = |byte: &u8| char::from(*byte).to_digit(16);
    if let [b'x', high, low, rest @ ..] = rest
        && let (Some(high), Some(low)) = (hexadecimal(high), hexadecimal(low))
    {
        word.push((high * 16 + low) as u8);
        return Some(rest);
    }
    let (&next, rest) = rest.split_first()?;
    word.push(match next {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        next => next,
    });
    Some(rest)
}

/// A number as redis takes it: no plus, no spaces, no zeros before it.
pub fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()
}

/// The name of a command, and its arguments.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl<'a> Request<'a> {
    pub fn len(self) -> usize {
        self.ranges.len()
    }

    /// The argument of this number, of which 0 is the command.
    pub fn get(self, number: usize) -> Option<&'a [u8]> {
        self.ranges.get(number).map(|range| &self.bytes[range.clone()])
    }

    /// The arguments from this number on.
    pub fn from(self, number: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let ranges = self.ranges.get(number..).unwrap_or_default();
        ranges.iter().map(move |range| &self.bytes[range.clone()])
    }

    fn bytes(self) -> usize {
        self.from(0).map(<[u8]>::len).sum()
    }

    /// What a copy takes of memory.
    pub fn memory(self) -> usize {
        size_of::<OwnedRequest>() + size_of_val(self.ranges) + self.bytes()
    }

    /// A copy that outlives the input.
    pub fn to_owned(self) -> OwnedRequest {
        let bytes = Vec::with_capacity(self.bytes());
        let mut owned = OwnedRequest { bytes, ranges: Vec::with_capacity(self.len()) };
        for argument in self.from(0) {
            let start = owned.bytes.len();
            owned.bytes.extend_from_slice(argument);
            owned.ranges.push(start..owned.bytes.len());
        }
        owned
    }
}

/// A request that waits for its turn.
pub struct OwnedRequest {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl OwnedRequest {
    pub fn request(&self) -> Request<'_> {
        Request { bytes: &self.bytes, ranges: &self.ranges }
    }
}

/// Replies, one after the other.
#[derive(Default)]
pub struct Reply {
    pub bytes: Vec<u8>,
}

impl Reply {
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// The first word of the text is the kind of the error. It is one line, whatever a
    /// client may have put into it.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.replace(['\r', '\n'], " ").as_bytes());
    }

    pub fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    pub fn length(&mut self, length: usize) {
        self.number(b':', length as i64);
    }

    pub fn bulk(&mut self, bytes: &[u8]) {
        self.number(b'$', bytes.len() as i64);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    pub fn null(&mut self) {
        self.bytes.extend_from_slice(b"$-1\r\n");
    }

    pub fn null_array(&mut self) {
        self.bytes.extend_from_slice(b"*-1\r\n");
    }

    /// So many replies follow that belong together.
    pub fn array(&mut self, length: usize) {
        self.number(b'*', length as i64);
    }

    pub fn bulks<'a>(&mut self, items: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.array(items.len());
        items.for_each(|item| self.bulk(item));
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn number(&mut self, kind: u8, number: i64) {
        self.bytes.push(kind);
        if number < 0 {
            self.bytes.push(b'-');
        }
        // From behind, without the detour over std's formatting.
        let (mut digits, mut start, mut rest) = ([0; 20], 20, number.unsigned_abs());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[start..]);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept after a request with so many arguments.
    fn kept_bytes(arguments: usize) -> usize {
        let mut parser = Parser::default();
        let input = format!("*{arguments}\r\n{}", "$0\r\n\r\n".repeat(arguments));
        assert_eq!(parser.parse(input.as_bytes()), Ok(Some(input.len())));
        assert_eq!(parser.request(input.as_bytes()).len(), arguments);
        parser.finish();
        assert_eq!(parser.parse(b""), Ok(None));
        parser.ranges.capacity() * size_of::<Range<usize>>()
    }

    #[test]
    fn many_arguments_do_not_stay_in_memory() {
        assert!(kept_bytes(ARGUMENTS_MAX as usize) <= KEPT_BYTES);
        // The next request of the same length takes no new memory.
        assert!(kept_bytes(100) > 0);
    }
}
