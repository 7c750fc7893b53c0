//! Requests are cut out of a stream of bytes, and replies are written (chapter 17).
//!
//! The protocol is RESP, redis's own. A request is an array of strings: `*2`, and then a length and
//! as many bytes for each of them, as in `$4 ECHO $5 hello`, with a line break after each part.

use arc::io::AsyncReadExt;
use arc::net::TcpStream;
use std::io;

/// The name of a command, and its arguments.
pub type Request = Vec<Vec<u8>>;

/// What is read at once.
const CHUNK_BYTES: usize = 4 << 10;

/// The longest request. Whoever sends more without coming to its end is sent away: otherwise a
/// client could fill the memory by one request.
pub const REQUEST_BYTES_MAX: usize = 1 << 20;

/// The longest line. It is searched for its end whenever more of it has come.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The most strings in a request.
const STRINGS_MAX: usize = 1 << 10;

/// What was read and is not answered yet.
pub struct Input {
    bytes: Vec<u8>,
    /// Where the first request begins. What is before it is done with.
    start: usize,
    chunk: Box<[u8]>,
}

impl Default for Input {
    fn default() -> Self {
        Input { bytes: Vec::new(), start: 0, chunk: vec![0; CHUNK_BYTES].into() }
    }
}

impl Input {
    /// Waits until something comes, and reads it. Gives how many bytes: none at the end.
    ///
    /// If this is dropped before it is ready, nothing is lost: what was read is in `self`.
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn read_from(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        let count = stream.read(&mut self.chunk).await?;
        // What is done with goes at each read, and not with each request: to move the rest of a
        // buffer for every request in it would take the square of its length.
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(&self.chunk[..count]);
        Ok(count)
    }

    /// Takes the first request out. None: it is not whole yet.
    ///
    /// # Errors
    /// What is there is no request. Nobody knows where the next one would begin.
    pub fn request(&mut self) -> Result<Option<Request>, &'static str> {
        let rest = &self.bytes[self.start..];
        let Some((request, length)) = parse(rest)? else {
            let is_too_long = rest.len() > REQUEST_BYTES_MAX;
            return if is_too_long { Err("a request is too long") } else { Ok(None) };
        };
        self.start += length;
        Ok(Some(request))
    }

    /// Adds bytes that were not read from a socket.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether nothing is left of what was read.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// How many bytes the requests had that were taken out, of what was added.
    pub fn taken(&self) -> usize {
        self.start
    }

    /// Takes the first reply out, as a client does: its first line, and what belongs to that. None:
    /// it is not whole yet.
    pub fn reply(&mut self) -> Option<Vec<u8>> {
        let (first, mut end) = line(&self.bytes, self.start).ok()??;
        if let Some(length) = first.strip_prefix(b"$").and_then(number::<usize>) {
            end += length + 2;
        }
        let reply = self.bytes.get(self.start..end)?.to_vec();
        self.start = end;
        Some(reply)
    }
}

/// The request at the beginning, and how many bytes it has. None: it is not whole yet.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, &'static str> {
    let Some((first, mut at)) = line(bytes, 0)? else { return Ok(None) };
    let Some(count) = first.strip_prefix(b"*") else {
        // Words in a line, as one types them into a terminal.
        let words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        return Ok(Some((words.map(<[u8]>::to_vec).collect(), at)));
    };
    let count = number::<usize>(count).filter(|count| *count <= STRINGS_MAX);

    // Nothing is copied before all of it is there: this runs whenever more of it has come.
    let mut strings = Vec::new();
    for _ in 0..count.ok_or("how many strings?")? {
        let Some((length, start)) = line(bytes, at)? else { return Ok(None) };
        let length = length.strip_prefix(b"$").and_then(number::<usize>);
        let length = length.filter(|length| *length <= REQUEST_BYTES_MAX).ok_or("how long?")?;
        at = start + length + 2;
        if bytes.len() < at {
            return Ok(None);
        }
        strings.push(&bytes[start..start + length]);
    }
    Ok(Some((strings.into_iter().map(<[u8]>::to_vec).collect(), at)))
}

/// The line that begins there, without its break, and where the next one begins. None: its end has
/// not come yet.
fn line(bytes: &[u8], start: usize) -> Result<Option<(&[u8], usize)>, &'static str> {
    let rest = &bytes[start..];
    let Some(length) = rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n') else {
        return if rest.len() < LINE_BYTES_MAX { Ok(None) } else { Err("a line is too long") };
    };
    let line = &rest[..length];
    Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), start + length + 1)))
}

/// The number that a text says.
pub fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Replies, one after the other.
#[derive(Default)]
pub struct Reply {
    /// What is to be written.
    pub bytes: Vec<u8>,
}

impl Reply {
    /// A word, such as OK.
    pub fn simple(&mut self, text: &str) {
        self.line('+', text);
    }

    /// What is wrong, in one line.
    pub fn error(&mut self, text: &str) {
        self.line('-', &format!("ERR {}", text.replace(['\r', '\n'], " ")));
    }

    /// A number.
    pub fn integer(&mut self, number: i64) {
        self.line(':', &number.to_string());
    }

    /// A string, or that there is none.
    pub fn bulk(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.line('$', "-1") };
        self.line('$', &bytes.len().to_string());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A request, as a client writes it.
    pub fn request(&mut self, strings: &[impl AsRef<[u8]>]) {
        self.line('*', &strings.len().to_string());
        strings.iter().for_each(|string| self.bulk(Some(string.as_ref())));
    }

    fn line(&mut self, kind: char, text: &str) {
        self.bytes.push(kind as u8);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(strings: &[&str]) -> Vec<u8> {
        let mut reply = Reply::default();
        reply.request(strings);
        reply.bytes
    }

    #[test]
    fn requests_come_out_wherever_the_bytes_are_cut() {
        let requests = [&["ECHO", "a\r\nb"][..], &["PING"], &["SET", "key", ""]];
        let bytes: Vec<u8> = requests.iter().flat_map(|it| written(it)).collect();
        for first in 0..bytes.len() {
            let mut input = Input::default();
            let mut seen = Vec::new();
            for part in [&bytes[..first], &bytes[first..]] {
                input.add(part);
                while let Some(request) = input.request().unwrap() {
                    seen.push(request);
                }
            }
            let expected = requests.map(|it| it.iter().map(|it| it.as_bytes().to_vec()).collect());
            let expected: [Request; 3] = expected;
            assert_eq!(seen, expected, "cut after {first} bytes");
            assert!(input.is_empty());
        }
    }

    #[test]
    fn what_is_no_request_and_what_is_too_long_is_told() {
        for wrong in
            ["*x\r\n", "*1\r\nPING\r\n", "*1\r\n$-1\r\n", "*2000\r\n", "*1\r\n$9999999\r\n"]
        {
            let mut input = Input::default();
            input.add(wrong.as_bytes());
            assert!(input.request().is_err(), "{wrong}");
        }
        let mut input = Input::default();
        input.add(&[b'a'; LINE_BYTES_MAX]);
        assert_eq!(input.request(), Err("a line is too long"));
        let mut input = Input::default();
        input.add(b"*1024\r\n");
        let string = format!("$2000\r\n{}\r\n", "a".repeat(2000));
        while input.request() == Ok(None) {
            input.add(string.as_bytes());
        }
        assert_eq!(input.request(), Err("a request is too long"));
        let mut typed = Input::default();
        typed.add(b"  echo hello \n");
        assert_eq!(typed.request(), Ok(Some(vec![b"echo".to_vec(), b"hello".to_vec()])));
    }

    #[test]
    fn replies_come_out_whole() {
        let mut reply = Reply::default();
        reply.simple("OK");
        reply.bulk(Some(b"a\nb"));
        reply.bulk(None);
        reply.integer(-7);
        reply.error("no\nline break");
        let mut input = Input::default();
        let mut seen = Vec::new();
        for byte in &reply.bytes {
            input.add(&[*byte]);
            seen.extend(input.reply().map(|it| String::from_utf8(it).unwrap()));
        }
        let expected =
            ["+OK\r\n", "$3\r\na\nb\r\n", "$-1\r\n", ":-7\r\n", "-ERR no line break\r\n"];
        assert_eq!(seen, expected);
    }
}
