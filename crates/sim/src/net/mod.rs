//! A network between hosts that exist in the simulation only: the seed decides how long each
//! packet takes, and which ones are lost.
//!
//! * A [`Stream`] is as TCP: bytes come in order and none is lost, in pieces of any size. A lost
//!   packet is sent again after 200 ms, and a reader that does not read holds up the writer.
//! * A [`Socket`] is as UDP: a datagram comes late, or not at all, or before one that was sent
//!   earlier.
//! * During a [partition](Net::partition), streams wait and datagrams are lost. Connecting waits
//!   for a minute at most.
//! * By a [crash](Net::crash), every stream of a host breaks, and its listeners and sockets are
//!   gone.
//!
//! The traits for reading and writing are those of `arc::io`, so code that is written for any
//! `AsyncRead` and `AsyncWrite` runs on it.
//!
//! # Examples
//!
//! ```
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::time::Duration;
use inbox::{Address, Inbox};
//! use arc_sim::net::Net;
//!
//! arc_sim::run(1, async {
//!     let net = Net::new();
//!     net.set_delay(Duration::from_millis(10)..Duration::from_millis(80));
//!     net.set_loss(0.1);
//!     let (server, client) = (net.host("server"), net.host("client"));
//!
//!     let listener = server.listen(80)?;
//!     let task = arc::spawn(async move {
//!         let (mut stream, peer) = listener.accept().await?;
//!         stream.write_all(format!("hello, {peer}").as_bytes()).await?;
//!         stream.close().await
//!     });
//!     let mut text = String::new();
//!     client.connect("server", 80).await?.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello, client");
//!     task.await?
//! })?;
//! # std::io::Result::Ok(())
//! ```

mod error;
mod inbox;
mod socket;
mod stream;

pub use socket::Socket;
pub use stream::{Listener, Stream};

use arc::time::Duration;
use inbox::{Address, Inbox};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

/// When a lost packet is sent again.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// A network. Clones are the same network.
#[derive(Clone, Debug)]
pub struct Net(Arc<Mutex<State>>);

/// A host of a network: an address to listen at and to connect from.
#[derive(Clone, Debug)]
pub struct Host {
    net: Net,
    name: Arc<str>,
}

#[derive(Debug)]
struct State {
    delay: Range<Duration>,
    loss: f64,
    /// The pairs of hosts that cannot reach each other. The first name is the lesser one.
    partitions: BTreeSet<(Arc<str>, Arc<str>)>,
    listeners: BTreeMap<Address, Backlog>,
    inboxes: BTreeMap<Address, Weak<Inbox>>,
    pipes: Vec<Weak<stream::Pipe>>,
}

/// The connections that a listener has not accepted, and the task that waits for one.
#[derive(Debug, Default)]
struct Backlog {
    streams: VecDeque<Stream>,
    waker: Option<Waker>,
}

impl Default for Net {
    fn default() -> Self {
        Self::new()
    }
}

impl Net {
    /// Creates a network on which a packet takes 0.1 to 10 ms, and none is lost.
    pub fn new() -> Self {
        let state = State {
            delay: Duration::from_micros(100)..Duration::from_millis(10),
            loss: 0.0,
            partitions: BTreeSet::new(),
            listeners: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            pipes: Vec::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how long a packet takes: some time in this range.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    #[track_caller]
    pub fn set_delay(&self, delay: Range<Duration>) {
        assert!(!delay.is_empty(), "a packet takes some time of a range that is not empty");
        self.lock().delay = delay;
    }

    /// Sets how probable it is that a packet is lost; 0 by default.
    ///
    /// # Panics
    ///
    /// Unless the number is at least 0 and less than 1.
    #[track_caller]
    pub fn set_loss(&self, probability: f64) {
        assert!((0.0..1.0).contains(&probability), "a probability from 0 to less than 1");
        self.lock().loss = probability;
    }

    /// A host of this name, which need not be known before.
    pub fn host(&self, name: &str) -> Host {
        Host { net: self.clone(), name: name.into() }
    }

    /// Cuts the connection between two hosts, in both directions.
    pub fn partition(&self, one: &str, other: &str) {
        self.lock().partitions.insert(pair(one, other));
    }

    /// Takes a [partition](Self::partition) back.
    pub fn heal(&self, one: &str, other: &str) {
        let mut state = self.lock();
        state.partitions.remove(&pair(one, other));
        let pipes = state.pipes();
        drop(state);
        pipes.iter().for_each(|pipe| pipe.wake_reader());
    }

    /// Breaks every stream of a host, and takes its listeners and sockets away. Tasks that use
    /// them get an error. The host can be used again at once, as after a restart.
    pub fn crash(&self, host: &str) {
        let mut state = self.lock();
        let here = |address: &Address| &*address.0 == host;
        let gone: Vec<Address> = state.listeners.keys().filter(|it| here(it)).cloned().collect();
        let backlogs: Vec<_> = gone.iter().map(|it| state.listeners.remove(it)).collect();
        let mut inboxes = Vec::new();
        state.inboxes.retain(|address, inbox| {
            if here(address) {
                inboxes.extend(inbox.upgrade());
            }
            !here(address)
        });
        let pipes = state.pipes();
        drop(state);

        // What is woken or dropped here may be foreign.
        for mut backlog in backlogs.into_iter().flatten() {
            backlog.waker.take().into_iter().for_each(Waker::wake);
        }
        inboxes.iter().for_each(|inbox| inbox.close());
        pipes.iter().filter(|pipe| pipe.is_of(host)).for_each(|pipe| pipe.reset());
    }

    /// How long the next packet takes.
    fn delay(&self) -> Duration {
        let delay = self.lock().delay.clone();
        let nanos = fastrand::u128(delay.start.as_nanos()..delay.end.as_nanos());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn is_lost(&self) -> bool {
        let loss = self.lock().loss;
        fastrand::f64() < loss
    }

    fn is_cut(&self, one: &str, other: &str) -> bool {
        self.lock().partitions.contains(&pair(one, other))
    }
}

impl State {
    /// The pipes that are still in use.
    fn pipes(&mut self) -> Vec<Arc<stream::Pipe>> {
        let pipes: Vec<_> = self.pipes.iter().filter_map(Weak::upgrade).collect();
        self.pipes = pipes.iter().map(Arc::downgrade).collect();
        pipes
    }
}

fn pair(one: &str, other: &str) -> (Arc<str>, Arc<str>) {
    if one < other { (one.into(), other.into()) } else { (other.into(), one.into()) }
}
