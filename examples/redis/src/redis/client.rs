//! What is remembered of a client, MULTI, and who may call what.

use super::blocking::Blocked;
use super::commands::{self, Call, Command, Error, Place};
use super::pubsub::Feed;
use super::resp::{OwnedRequest, REQUEST_BYTES_MAX, Reply, Request};
use super::shared::Shared;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the connection has to do after a request.
#[derive(Default)]
pub enum Next {
    #[default]
    Continue,
    Close,
    Block(Blocked),
}

pub struct Client {
    pub number: u64,
    pub name: Vec<u8>,
    pub shared: Arc<Shared>,
    /// What it is subscribed to.
    pub channels: BTreeSet<Vec<u8>>,
    /// Where the messages come out, from its first subscription on.
    pub feed: Option<Feed>,
    /// Since MULTI.
    pub transaction: Option<Transaction>,
    pub next: Next,
}

/// The requests since MULTI.
#[derive(Default)]
pub struct Transaction {
    pub requests: Vec<OwnedRequest>,
    bytes: usize,
    /// One of them was refused: EXEC will not run the others.
    pub is_spoilt: bool,
}

impl Client {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            number: shared.next_client(),
            name: Vec::new(),
            shared,
            channels: BTreeSet::new(),
            feed: None,
            transaction: None,
            next: Next::Continue,
        }
    }

    /// Answers a request.
    pub fn execute(&mut self, shared: &Shared, request: Request<'_>, reply: &mut Reply) -> Next {
        if request.len() == 0 {
            return Next::Continue;
        }
        if commands::is_http(request) {
            return Next::Close;
        }
        let command = match self.admit(request) {
            Ok(command) => command,
            Err(error) => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.is_spoilt = true;
                }
                reply.error(&error.0);
                return Next::Continue;
            }
        };
        match &mut self.transaction {
            Some(transaction) if command.place != Place::AtOnce => {
                transaction.bytes += request.memory();
                if transaction.bytes > REQUEST_BYTES_MAX {
                    return Next::Close;
                }
                transaction.requests.push(request.to_owned());
                reply.simple("QUEUED");
            }
            _ => {
                // Nearly all of it before others are kept out.
                self.hear(reply);
                shared.with(|db| {
                    self.hear(reply);
                    let mut call = Call { db, client: self, request, reply, is_queued: false };
                    call.run(command);
                });
            }
        }
        std::mem::take(&mut self.next)
    }

    /// What was published before comes before the answer, for nobody expects it afterwards,
    /// and whether more requests come or not.
    pub fn hear(&mut self, reply: &mut Reply) {
        while let Some(feed) = &mut self.feed
            && let Ok(message) = feed.messages.try_recv()
        {
            reply.bytes.extend_from_slice(&message);
        }
    }

    /// The command, if there is one, it has as many arguments as it needs, and this is
    /// the time for it.
    fn admit(&self, request: Request<'_>) -> Result<&'static Command, Error> {
        let command = commands::find(request)?;
        if !self.channels.is_empty() && !command.is_for_subscribers {
            return Err(Error(
                format!(
                    "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / \
                     QUIT / RESET are allowed in this context",
                    command.name
                )
                .into(),
            ));
        }
        if self.transaction.is_some() && command.place == Place::Outside {
            return Err(Error::from("ERR Command not allowed inside a transaction"));
        }
        Ok(command)
    }

    /// As it was when it came.
    pub fn reset(&mut self) {
        for channel in std::mem::take(&mut self.channels) {
            self.shared.hub.unsubscribe(&channel, self.number);
        }
        self.feed = None;
        self.transaction = None;
        self.name.clear();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reset();
    }
}
