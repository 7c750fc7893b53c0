//! One client's connection: reads, has its requests answered, writes.
//!
//! All requests that one read brings are answered by one write.

use super::blocking::Blocked;
use super::client::{Client, Next};
use super::pubsub::Feed;
use super::resp::{KEPT_BYTES, Parser, REQUEST_BYTES_MAX, Reply};
use super::shared::{Shared, until};
use crate::rt::io::*;
use crate::rt::net::*;
use crate::rt::select;
use crate::rt::time::timeout;
use std::future::{Future, pending};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

/// What is read at once, as long as requests are short.
const INPUT_BYTES: usize = 16 << 10;

/// When there is as much to be written, it is not made more.
const OUTPUT_BYTES: usize = 64 << 10;

/// For how long the client of a connection that had to be closed may go on sending: a
/// close before that would destroy the answer on its way.
const LINGER: Duration = Duration::from_millis(500);

pub struct Connection {
    stream: TcpStream,
    input: Input,
    parser: Parser,
    client: Client,
    reply: Reply,
    shared: Arc<Shared>,
}

/// Whether the connection goes on.
#[derive(PartialEq)]
enum Flow {
    On,
    /// After what the client is still to be told.
    Close,
    /// The client is gone, or the server ends.
    Gone,
}

impl Connection {
    pub fn new(stream: TcpStream, shared: Arc<Shared>) -> Self {
        Self {
            stream,
            input: Input::default(),
            parser: Parser::default(),
            client: Client::new(shared.clone()),
            reply: Reply::default(),
            shared,
        }
    }

    /// To its end: that of the client, of the server, or an error. Requests that were
    /// read are answered.
    pub async fn run(mut self) -> io::Result<()> {
        let stop = self.shared.stop.clone();
        let mut stopped = pin!(stop.cancelled());
        loop {
            match self.answer(stopped.as_mut()).await? {
                Flow::On => {}
                Flow::Close => return self.close().await,
                Flow::Gone => return Ok(()),
            }
            if self.read(stopped.as_mut()).await? == Flow::Gone {
                return Ok(());
            }
        }
    }

    /// Answers all requests that are in the input.
    async fn answer(
        &mut self,
        mut stopped: Pin<&mut impl Future<Output = ()>>,
    ) -> io::Result<Flow> {
        loop {
            let input = self.input.filled();
            let length = match self.parser.parse(input) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                Err(error) => {
                    self.reply.error(&format!("ERR Protocol error: {error}"));
                    self.write().await?;
                    return Ok(Flow::Close);
                }
            };
            let next =
                self.client.execute(&self.shared, self.parser.request(input), &mut self.reply);
            self.parser.finish();
            self.input.consume(length);
            match next {
                Next::Continue => {}
                Next::Close => {
                    self.write().await?;
                    return Ok(Flow::Close);
                }
                Next::Block(blocked) => {
                    self.write().await?;
                    if self.wait(blocked, stopped.as_mut()).await? == Flow::Gone {
                        return Ok(Flow::Gone);
                    }
                }
            }
            if self.reply.bytes.len() >= OUTPUT_BYTES {
                self.write().await?;
            }
        }
        self.write().await?;
        Ok(Flow::On)
    }

    /// Waits for more to be read, and passes on messages until it comes.
    async fn read(&mut self, mut stopped: Pin<&mut impl Future<Output = ()>>) -> io::Result<Flow> {
        loop {
            let is_subscribed = self.client.feed.is_some();
            let room = self.input.room()?;
            select! {
                biased;
                count = self.stream.read(room) => return Ok(self.input.add(count?)),
                message = next(&mut self.client.feed), if is_subscribed => match message {
                    Some(message) => self.reply.bytes.extend_from_slice(&message),
                    // It has to leave.
                    None => return Ok(Flow::Gone),
                },
                () = stopped.as_mut() => return Ok(Flow::Gone),
            }
            // Those that are there already go out by the same write.
            while let Some(feed) = &mut self.client.feed
                && self.reply.bytes.len() < OUTPUT_BYTES
                && let Ok(message) = feed.messages.try_recv()
            {
                self.reply.bytes.extend_from_slice(&message);
            }
            self.write().await?;
        }
    }

    /// Waits for an element of a list.
    async fn wait(
        &mut self,
        blocked: Blocked,
        mut stopped: Pin<&mut impl Future<Output = ()>>,
    ) -> io::Result<Flow> {
        loop {
            // Who sends ahead without end goes: unless this reads, it does not see who left.
            let room = self.input.room()?;
            select! {
                biased;
                () = blocked.served() => break,
                () = until(blocked.deadline) => break,
                () = stopped.as_mut() => return Ok(Flow::Gone),
                count = self.stream.read(room) => {
                    if self.input.add(count?) == Flow::Gone {
                        return Ok(Flow::Gone);
                    }
                }
            }
        }
        match blocked.take() {
            None => self.reply.null_array(),
            Some((key, element)) => {
                self.reply.array(2);
                self.reply.bulk(&key);
                self.reply.bulk(&element);
            }
        }
        Ok(Flow::On)
    }

    /// Writes all there is to be written.
    async fn write(&mut self) -> io::Result<()> {
        if self.reply.bytes.is_empty() {
            return Ok(());
        }
        let written = self.stream.write_all(&self.reply.bytes);
        match &self.client.feed {
            None => written.await?,
            Some(feed) => {
                feed.expelled().run_until_cancelled(written).await.unwrap_or_else(|| {
                    Err(io::Error::other("the client does not keep up with what is published"))
                })?
            }
        }
        match self.reply.bytes.capacity() > KEPT_BYTES {
            true => self.reply = Reply::default(),
            false => self.reply.bytes.clear(),
        }
        Ok(())
    }

    /// Ends the sending direction, and lets the client see what was sent.
    async fn close(self) -> io::Result<()> {
        let Self { stream, input, client, .. } = self;
        // It hears no more of what is published.
        drop(client);
        let (mut read, write) = stream.into_split();
        drop(write);
        let mut rest = input.bytes;
        let drain = async {
            while read.read(&mut rest).await? > 0 {}
            Ok(())
        };
        // Whether it is over by then or not, the connection ends.
        timeout(LINGER, drain).await.unwrap_or(Ok(()))
    }
}

/// The next message for a client; None when it was expelled.
async fn next(feed: &mut Option<Feed>) -> Option<super::pubsub::Message> {
    let Some(feed) = feed else {
        return pending().await;
    };
    let expelled = feed.expelled().clone();
    select! {
        biased;
        () = expelled.cancelled() => None,
        message = feed.messages.recv() => message,
    }
}

/// What was read and is not answered yet.
struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { bytes: vec![0; INPUT_BYTES], start: 0, end: 0 }
    }
}

impl Input {
    fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where the next read goes. The error: the request becomes too long.
    fn room(&mut self) -> io::Result<&mut [u8]> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // The long request is over, even if the beginning of another has come.
        if self.end < INPUT_BYTES && self.bytes.len() > KEPT_BYTES {
            self.bytes.truncate(INPUT_BYTES);
            self.bytes.shrink_to_fit();
        }
        if self.end == self.bytes.len() {
            if self.end >= REQUEST_BYTES_MAX {
                return Err(io::Error::other("the request is too long"));
            }
            self.bytes.resize(2 * self.end, 0);
        }
        Ok(&mut self.bytes[self.end..])
    }

    fn add(&mut self, count: usize) -> Flow {
        self.end += count;
        if count == 0 { Flow::Gone } else { Flow::On }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_long_request_goes_with_it() {
        for rest in [&b""[..], b"*1"] {
            let mut input = Input::default();
            let sent = [&vec![b'x'; 3 * KEPT_BYTES], rest].concat();
            let mut unread = &*sent;
            while !unread.is_empty() {
                let room = input.room().expect("it is not too long");
                let (part, after) = unread.split_at(room.len().min(unread.len()));
                room[..part.len()].copy_from_slice(part);
                input.add(part.len());
                unread = after;
            }
            assert!(input.filled() == sent, "it is not what was sent");
            input.consume(3 * KEPT_BYTES);
            assert_eq!(input.room().expect("it is short").len(), INPUT_BYTES - rest.len());
            assert_eq!(input.filled(), rest);
            assert!(input.bytes.capacity() <= KEPT_BYTES);
        }
    }
}
