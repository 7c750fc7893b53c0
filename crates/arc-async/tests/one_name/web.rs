//! The web application: a JSON API, a chat by WebSockets, and a graceful end.

use super::packages::Package;
use super::{arc, checked};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What the application depends on beside arc and axum. With tokio it has two more than these.
const DEPENDENCIES: &str = "serde = { version = \"1.0\", features = [\"derive\"] }\n";

/// The line for axum that the page for users of tokio says.
pub fn axum() -> String {
    let page = include_str!("../../../../docs/TOKIO.md");
    let line = page.lines().find(|line| line.starts_with("axum = "));
    format!("{}\n", line.expect("the page has it"))
}

/// A connection that speaks HTTP/1.1 or, after an upgrade, WebSocket.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("it reads");
    }

    /// Sends a request, and returns the status and the body of its response.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> (String, String) {
        let length = body.len();
        self.send(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        );
        self.response()
    }

    fn response(&mut self) -> (String, String) {
        let (mut status, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a line in time");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
            match status.is_empty() {
                true => status = line.strip_prefix("http/1.1 ").expect("a status").to_owned(),
                false if line.is_empty() => break,
                false => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("a body in time");
        (status, String::from_utf8(body).expect("it is text"))
    }

    fn upgrade(&mut self, path: &str) {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        self.send(request.as_bytes());
        assert_eq!(self.response().0, "101 switching protocols");
    }

    /// Sends a text in one frame. The key that it is masked with is zero, and leaves it as it is.
    fn say(&mut self, text: &str) {
        let length = u8::try_from(text.len()).expect("it is short");
        self.send(&[&[0x81, 0x80 | length, 0, 0, 0, 0][..], text.as_bytes()].concat());
    }

    /// Receives a text in one frame, which is short.
    fn hear(&mut self) -> String {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).expect("a frame in time");
        assert_eq!((head[0], head[1] < 126), (0x81, true), "a short text");
        let mut text = vec![0; head[1].into()];
        self.0.read_exact(&mut text).expect("the rest of the frame");
        String::from_utf8(text).expect("it is text")
    }
}

#[test]
fn a_web_application_has_three_dependencies() {
    let app = ("app", checked(include_str!("app.rs")));
    let dependencies = arc("\"axum\"") + &axum() + DEPENDENCIES;
    let server = Package::build("web", &dependencies, &[app]).start("app", &[]);
    let address = server.address();

    let mut client = Client::connect(&address);
    let note = "{\"title\":\"one\",\"stars\":3}";
    assert_eq!(client.ask("POST", "/notes", note), ("201 created".to_owned(), "0".to_owned()));
    assert_eq!(client.ask("GET", "/notes/0", "").1, note);
    assert_eq!(client.ask("GET", "/notes/1", "").0, "404 not found");
    assert_eq!(client.ask("POST", "/notes", "{\"title\":1}").0, "422 unprocessable entity");
    assert_eq!(client.ask("GET", "/notes", "").1, format!("[{note}]"));

    let mut chat = [(); 2].map(|()| Client::connect(&address));
    for (number, one) in chat.iter_mut().enumerate() {
        one.upgrade("/chat");
        // It hears itself: from now on it is subscribed.
        one.say(&format!("I am {number}"));
        assert_eq!(one.hear(), format!("I am {number}"));
    }
    assert_eq!(chat[0].hear(), "I am 1");
    chat[1].say("hello");
    assert_eq!(chat.each_mut().map(Client::hear), ["hello", "hello"]);

    // A request that has begun is answered after ctrl-c, and the server ends after that.
    let mut late = Client::connect(&address);
    late.send(b"GET /notes/0 HTTP/1.1\r\n");
    assert_eq!(client.ask("GET", "/notes/0", "").1, note);
    server.interrupt();
    // It closes connections without a request, so that it has taken notice when this one ends.
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).expect("it is closed");
    late.send(b"host: localhost\r\n\r\n");
    assert_eq!(late.response().1, note);
    drop((client, chat, late));
    assert_eq!(server.end(), ["stopped"]);
}
