//! Who is subscribed to what.

use crate::rt::sync::{CancellationToken, mpsc};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many messages may wait for a client. One that reads more slowly than others
/// publish has to leave.
const QUEUE_MESSAGES: usize = 1024;

/// A message as it is sent, the same for all.
pub type Message = Arc<[u8]>;

/// Where a client's messages come out.
pub struct Feed {
    pub messages: mpsc::Receiver<Message>,
    subscriber: Subscriber,
}

#[derive(Clone)]
struct Subscriber {
    queue: mpsc::Sender<Message>,
    /// Ends the connection where it stands: it may be stuck in a write.
    expel: CancellationToken,
}

impl Feed {
    pub fn new() -> Self {
        let (queue, messages) = mpsc::channel(QUEUE_MESSAGES);
        let subscriber = Subscriber { queue, expel: CancellationToken::new() };
        Self { messages, subscriber }
    }

    /// Cancelled when the client has to leave.
    pub fn expelled(&self) -> &CancellationToken {
        &self.subscriber.expel
    }
}

/// The channels, and the numbers of the clients that are subscribed to them.
#[derive(Default)]
pub struct Hub {
    channels: Mutex<HashMap<Vec<u8>, HashMap<u64, Subscriber>>>,
}

impl Hub {
    fn channels(&self) -> MutexGuard<'_, HashMap<Vec<u8>, HashMap<u64, Subscriber>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn subscribe(&self, channel: &[u8], client: u64, feed: &Feed) {
        let mut channels = self.channels();
        let subscribers = channels.entry(channel.to_owned()).or_default();
        subscribers.insert(client, feed.subscriber.clone());
    }

    pub fn unsubscribe(&self, channel: &[u8], client: u64) {
        let mut channels = self.channels();
        if let Some(subscribers) = channels.get_mut(channel) {
            subscribers.remove(&client);
            if subscribers.is_empty() {
                channels.remove(channel);
            }
        }
    }

    /// Puts a message into every queue of the channel, and says how many there are. The
    /// lock is held meanwhile: all subscribers see the same order.
    pub fn publish(&self, channel: &[u8], message: &Message) -> usize {
        let mut channels = self.channels();
        let Some(subscribers) = channels.get_mut(channel) else {
            return 0;
        };
        let is_full = |subscriber: &Subscriber| subscriber.queue.try_send(message.clone()).is_err();
        let slow: Vec<_> = subscribers
            .iter()
            .filter(|(_, subscriber)| is_full(subscriber))
            .map(|(client, subscriber)| (*client, subscriber.expel.clone()))
            .collect();
        for (client, _) in &slow {
            subscribers.remove(client);
        }
        let count = subscribers.len();
        if count == 0 {
            channels.remove(channel);
        }
        drop(channels);
        slow.iter().for_each(|(_, expel)| expel.cancel());
        count
    }

    pub fn channels_count(&self) -> usize {
        self.channels().len()
    }
}
