//! The protocol, RESP2: requests are parsed, replies are written. No IO.

/// The longest request, and so the longest string that there is: 512 MB.
const REQUEST_BYTES_MAX: usize = 512 << 20;

/// The longest inline command, and far more than the longest number.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The most arguments of a request. It is parsed from its beginning whenever more of it has come,
/// which takes a while if it has many.
const ARGUMENTS_MAX: i64 = 64 << 10;

/// Why there is no request.
#[derive(Debug, PartialEq)]
pub enum Stop {
    /// Only a part of it has come.
    More,
    /// What is wrong with it; nobody knows where the next one would begin.
    Wrong(&'static str),
}

/// The request at the beginning of the input, which is the name of a command and its arguments, and
/// its length in bytes.
pub fn parse(input: &[u8]) -> Result<(Vec<&[u8]>, usize), Stop> {
    let (first, mut position) = line(input, 0)?;
    let Some(count) = first.strip_prefix(b"*") else {
        // An inline command: words in a line.
        let words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        return Ok((words.collect(), position));
    };
    let count = integer(count).filter(|count| *count <= ARGUMENTS_MAX);
    let count = count.ok_or(Stop::Wrong("invalid multibulk length"))?;

    let mut arguments = Vec::new();
    for _ in 0..count {
        let (length, start) = line(input, position)?;
        let length = length.strip_prefix(b"$").ok_or(Stop::Wrong("expected '$'"))?;
        let length = integer(length).and_then(|length| usize::try_from(length).ok());
        let end = length.and_then(|length| start.checked_add(length));
        let end = end.filter(|end| *end <= REQUEST_BYTES_MAX);
        let end = end.ok_or(Stop::Wrong("invalid bulk length"))?;

        position = end + 2;
        if input.len() < position {
            return Err(Stop::More);
        }
        arguments.push(&input[start..end]);
    }
    Ok((arguments, position))
}

/// The line that begins there, without its end, and where the next one begins.
fn line(input: &[u8], start: usize) -> Result<(&[u8], usize), Stop> {
    let rest = &input[start..];
    match rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n') {
        Some(length) => {
            let line = &rest[..length];
            Ok((line.strip_suffix(b"\r").unwrap_or(line), start + length + 1))
        }
        None if rest.len() < LINE_BYTES_MAX => Err(Stop::More),
        None => Err(Stop::Wrong("a line is too long")),
    }
}

/// The number that a text says.
pub fn integer(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Replies, one after the other.
#[derive(Default)]
pub struct Reply {
    pub bytes: Vec<u8>,
}

impl Reply {
    pub fn simple(&mut self, text: &str) {
        self.line('+', text);
    }

    /// The first word of the text is the kind of the error. It is one line, whatever a client may
    /// have put into it.
    pub fn error(&mut self, text: &str) {
        self.line('-', &text.replace(['\r', '\n'], " "));
    }

    pub fn integer(&mut self, number: impl ToString) {
        self.line(':', &number.to_string());
    }

    pub fn bulk(&mut self, bytes: &[u8]) {
        self.line('$', &bytes.len().to_string());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.line('$', "-1"),
        }
    }

    pub fn null_array(&mut self) {
        self.line('*', "-1");
    }

    /// So many replies follow that belong together.
    pub fn array(&mut self, length: usize) {
        self.line('*', &length.to_string());
    }

    pub fn bulks<'a>(&mut self, items: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.array(items.len());
        for item in items {
            self.bulk(item);
        }
    }

    fn line(&mut self, kind: char, text: &str) {
        self.bytes.push(kind as u8);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }
}
