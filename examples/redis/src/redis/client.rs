//! What is remembered of a client, and what it may call.

use super::blocking::Blocked;
use super::commands::{self, Call, Error, Run};
use super::pubsub::Feed;
use super::resp::Reply;
use super::shared::Shared;
use std::collections::BTreeSet;
use std::mem;
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
    pub shared: Arc<Shared>,
    /// What it is subscribed to.
    pub channels: BTreeSet<Vec<u8>>,
    /// Where the messages come out, from its first subscription on.
    pub feed: Option<Feed>,
    pub next: Next,
}

impl Client {
    pub fn new(shared: Arc<Shared>) -> Self {
        let number = shared.with(|db| {
            db.connected += 1;
            db.came += 1;
            db.came
        });
        Self { number, shared, channels: BTreeSet::new(), feed: None, next: Next::Continue }
    }

    /// Answers a request.
    pub fn execute(&mut self, request: &[&[u8]], reply: &mut Reply) -> Next {
        let Some(name) = request.first() else { return Next::Continue };
        // A line of an HTTP request: a page in somebody's browser may have sent it, with commands
        // in what follows. As in redis, nothing of that is done, and nothing replied.
        if commands::is(name, "post") || commands::is(name, "host:") {
            return Next::Close;
        }

        // Nearly all that was published comes before others are kept out.
        self.hear(reply);
        let shared = self.shared.clone();
        shared.with(|db| {
            self.hear(reply);
            let done = match self.admit(request) {
                Ok(run) => run(&mut Call { db, client: self, request, reply }),
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                reply.error(&error.0);
            }
        });
        mem::take(&mut self.next)
    }

    /// What was published before comes before the answer, for nobody expects it afterwards, and
    /// whether more requests come or not.
    pub fn hear(&mut self, reply: &mut Reply) {
        while let Some(feed) = &mut self.feed
            && let Ok(message) = feed.try_recv()
        {
            reply.bytes.extend_from_slice(&message);
        }
    }

    /// What runs the command, if there is one, it has as many arguments as it needs, and a
    /// subscriber may call it.
    fn admit(&self, request: &[&[u8]]) -> Result<Run, Error> {
        const FOR_SUBSCRIBERS: [&str; 4] = ["subscribe", "unsubscribe", "ping", "quit"];

        let command = commands::find(request)?;
        let name = command.name;
        if !self.channels.is_empty() && !FOR_SUBSCRIBERS.contains(&name) {
            return Err(Error::new(format!(
                "ERR Can't execute '{name}': only SUBSCRIBE / UNSUBSCRIBE / PING / QUIT are \
                 allowed in this context"
            )));
        }
        Ok(command.run)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.with(|db| {
            for channel in &self.channels {
                db.hub.unsubscribe(channel, self.number);
            }
            db.hub.leave(self.number);
            db.connected -= 1;
        });
    }
}
