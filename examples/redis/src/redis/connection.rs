//! One client's connection: reads, has its requests answered, writes.
//!
//! All requests that one read brings are answered by one write.

use super::blocking::Blocked;
use super::client::{Client, Next};
use super::pubsub::{Feed, Message};
use super::resp::{Reply, Stop, parse};
use super::shared::{Shared, until};
use crate::rt::io::*;
use crate::rt::net::*;
use crate::rt::select;
use crate::rt::sync::CancellationToken;
use crate::rt::time::timeout;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What is read at once.
const CHUNK_BYTES: usize = 16 << 10;

/// When there is as much to be written, it is not made more.
const OUTPUT_BYTES: usize = 64 << 10;

/// More memory than this is not kept between requests.
const KEPT_BYTES: usize = 1 << 20;

/// For how long the client of a connection that had to be closed may go on sending: a close before
/// that would destroy the answer on its way.
const LINGER: Duration = Duration::from_millis(500);

pub struct Connection {
    stream: TcpStream,
    chunk: Box<[u8]>,
    input: Input,
    client: Client,
    reply: Reply,
    stop: CancellationToken,
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
            chunk: vec![0; CHUNK_BYTES].into(),
            input: Input::default(),
            stop: shared.stop.clone(),
            client: Client::new(shared),
            reply: Reply::default(),
        }
    }

    /// To its end: that of the client, of the server, or an error. Requests that were read are
    /// answered.
    pub async fn run(mut self) -> io::Result<()> {
        loop {
            match self.answer().await? {
                Flow::On => {}
                Flow::Close => return self.close().await,
                Flow::Gone => return Ok(()),
            }
            if self.read().await? == Flow::Gone {
                return Ok(());
            }
        }
    }

    /// Answers all requests that are in the input.
    async fn answer(&mut self) -> io::Result<Flow> {
        loop {
            let (request, length) = match parse(self.input.unanswered()) {
                Ok(request) => request,
                Err(Stop::More) => break,
                Err(Stop::Wrong(mistake)) => {
                    self.reply.error(&format!("ERR Protocol error: {mistake}"));
                    self.write().await?;
                    return Ok(Flow::Close);
                }
            };
            let next = self.client.execute(&request, &mut self.reply);
            self.input.answered += length;

            if !matches!(next, Next::Continue) || self.reply.bytes.len() >= OUTPUT_BYTES {
                self.write().await?;
            }
            match next {
                Next::Continue => {}
                Next::Close => return Ok(Flow::Close),
                Next::Block(blocked) => {
                    if self.wait(blocked).await? == Flow::Gone {
                        return Ok(Flow::Gone);
                    }
                }
            }
        }
        self.write().await?;
        Ok(Flow::On)
    }

    /// Waits for more to be read, and passes on messages until it comes.
    async fn read(&mut self) -> io::Result<Flow> {
        loop {
            select! {
                biased;
                count = self.stream.read(&mut self.chunk) => {
                    return Ok(self.input.add(&self.chunk[..count?]));
                }
                message = next(&mut self.client.feed) => match message {
                    Some(message) => self.reply.bytes.extend_from_slice(&message),
                    // It has to leave.
                    None => return Ok(Flow::Gone),
                },
                () = self.stop.cancelled() => return Ok(Flow::Gone),
            }
            // Those that are there already go out by the same write.
            self.client.hear(&mut self.reply);
            self.write().await?;
        }
    }

    /// Waits for an element of a list.
    async fn wait(&mut self, blocked: Blocked) -> io::Result<Flow> {
        loop {
            // Unless this reads what is sent ahead, it does not see who left.
            select! {
                biased;
                () = blocked.waiter.is_served.notified() => break,
                () = until(blocked.deadline) => break,
                () = self.stop.cancelled() => return Ok(Flow::Gone),
                count = self.stream.read(&mut self.chunk) => {
                    if self.input.add(&self.chunk[..count?]) == Flow::Gone {
                        return Ok(Flow::Gone);
                    }
                }
            }
        }
        match blocked.take() {
            None => self.reply.null_array(),
            Some((key, element)) => self.reply.bulks([&*key, &*element].into_iter()),
        }
        Ok(Flow::On)
    }

    /// Writes all there is to be written.
    async fn write(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.reply.bytes).await?;
        self.reply.bytes.clear();
        self.reply.bytes.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// Ends the sending direction, and lets the client see what was sent.
    async fn close(self) -> io::Result<()> {
        let Self { stream, mut chunk, client, .. } = self;
        // It hears no more of what is published.
        drop(client);
        let (mut read, write) = stream.into_split();
        drop(write);
        let drain = async {
            while read.read(&mut chunk).await? > 0 {}
            Ok(())
        };
        // Whether it is over by then or not, the connection ends.
        timeout(LINGER, drain).await.unwrap_or(Ok(()))
    }
}

/// The next message for a client; None when it has to leave.
async fn next(feed: &mut Option<Feed>) -> Option<Message> {
    match feed {
        Some(feed) => feed.recv().await,
        None => pending().await,
    }
}

/// What was read.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// How many of the bytes are done with.
    answered: usize,
}

impl Input {
    fn unanswered(&self) -> &[u8] {
        &self.bytes[self.answered..]
    }

    /// Adds what came; the client is gone if that is nothing.
    fn add(&mut self, chunk: &[u8]) -> Flow {
        self.bytes.drain(..self.answered);
        self.answered = 0;
        if self.bytes.len() < CHUNK_BYTES {
            self.bytes.shrink_to(KEPT_BYTES);
        }
        self.bytes.extend_from_slice(chunk);
        if chunk.is_empty() { Flow::Gone } else { Flow::On }
    }
}
