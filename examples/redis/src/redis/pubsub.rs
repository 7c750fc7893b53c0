//! Who is subscribed to what.

use crate::rt::sync::mpsc::{Receiver, Sender, channel};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// How many messages may wait for a client. One that reads more slowly than others publish has to
/// leave.
const QUEUE_MESSAGES: usize = 1024;

/// A message as it is sent, the same for all.
pub type Message = Arc<[u8]>;

/// Where a client's messages come out. It ends if the client has to leave.
pub type Feed = Receiver<Message>;

#[derive(Default)]
pub struct Hub {
    /// The clients by number.
    queues: HashMap<u64, Sender<Message>>,
    /// Who is subscribed to each channel. None is empty.
    channels: HashMap<Vec<u8>, BTreeSet<u64>>,
}

impl Hub {
    /// How many channels somebody is subscribed to.
    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// The client's feed is made at its first subscription.
    pub fn subscribe(&mut self, channel_name: &[u8], client: u64, feed: &mut Option<Feed>) {
        if feed.is_none() {
            let (queue, messages) = channel(QUEUE_MESSAGES);
            self.queues.insert(client, queue);
            *feed = Some(messages);
        }
        self.channels.entry(channel_name.to_owned()).or_default().insert(client);
    }

    pub fn unsubscribe(&mut self, channel: &[u8], client: u64) {
        if let Some(subscribers) = self.channels.get_mut(channel) {
            subscribers.remove(&client);
            if subscribers.is_empty() {
                self.channels.remove(channel);
            }
        }
    }

    /// The client is gone, and has unsubscribed from all channels.
    pub fn leave(&mut self, client: u64) {
        self.queues.remove(&client);
    }

    /// Puts a message into the queues of those who are subscribed, and says how many there are.
    /// Without its queue, a client comes to the end of its feed.
    pub fn publish(&mut self, channel: &[u8], message: &Message) -> usize {
        let mut count = 0;
        for client in self.channels.get(channel).into_iter().flatten() {
            let queue = self.queues.get(client);
            match queue.is_some_and(|queue| queue.try_send(message.clone()).is_ok()) {
                true => count += 1,
                false => drop(self.queues.remove(client)),
            }
        }
        count
    }
}
