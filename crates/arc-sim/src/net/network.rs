//! The hosts of a network, and what listens and waits at them.

use super::backlog::Backlog;
use super::conditions::Conditions;
use super::error::no_free_port;
use super::inbox::{Address, Inbox};
use super::pipe::Pipe;
use crate::lock::lock;
use crate::story::tell;
use arc::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The ports that a host chooses from if a program asks for any.
const FREE_PORTS: RangeInclusive<u16> = 49_152..=u16::MAX;

/// A network. Clones are the same network.
#[derive(Clone, Debug)]
pub struct Net {
    pub(super) conditions: Conditions,
    state: Arc<Mutex<State>>,
}

/// A host of a network: an address to listen at and to connect from.
#[derive(Clone, Debug)]
pub struct Host {
    pub(super) net: Net,
    pub(super) name: Arc<str>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) listeners: BTreeMap<Address, Arc<Backlog>>,
    pub(super) inboxes: BTreeMap<Address, Arc<Inbox>>,
    pipes: Vec<Weak<Pipe>>,
    /// How often a host has crashed.
    pub(super) crashes: BTreeMap<Arc<str>, u64>,
}

impl Default for Net {
    fn default() -> Self {
        Self::new()
    }
}

impl Net {
    /// Creates a network on which a packet takes 0.1 to 10 ms, and none is lost.
    pub fn new() -> Self {
        Self { conditions: Conditions::default(), state: Arc::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sets how long a packet takes: some time in this range.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    #[track_caller]
    pub fn set_delay(&self, delay: Range<Duration>) {
        assert!(!delay.is_empty(), "a packet takes some time of a range that is not empty");
        self.conditions.lock().delay = delay;
    }

    /// Sets how probable it is that a packet is lost; 0 by default.
    ///
    /// # Panics
    ///
    /// Unless the number is at least 0 and less than 1.
    #[track_caller]
    pub fn set_loss(&self, probability: f64) {
        assert!((0.0..1.0).contains(&probability), "a probability from 0 to less than 1");
        self.conditions.lock().loss = probability;
    }

    /// A host of this name, which need not be known before.
    pub fn host(&self, name: &str) -> Host {
        Host { net: self.clone(), name: name.into() }
    }

    /// Cuts the connection between two hosts, in both directions.
    ///
    /// Streams between them wait, and give up after 15 minutes in which something that was sent
    /// does not arrive. Bytes that have arrived can still be read.
    pub fn partition(&self, one: &str, other: &str) {
        self.partition_oneway(one, other);
        self.partition_oneway(other, one);
    }

    /// Takes a [partition](Self::partition) back, in both directions.
    pub fn heal(&self, one: &str, other: &str) {
        self.heal_oneway(one, other);
        self.heal_oneway(other, one);
    }

    /// Cuts the way from one host to another, and not the way back.
    ///
    /// Nothing that `from` sends arrives at `to`: neither bytes nor the end of a stream, nor that
    /// its end was dropped. To connect takes both ways. One thing is not simulated: that the
    /// acknowledgements of `from` are lost, too. So whoever only writes at `to` notices nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # arc_sim::run(1, async {
    /// let net = arc_sim::net::Net::new();
    /// let (leader, follower) = (net.host("leader").bind(1)?, net.host("follower").bind(1)?);
    /// net.partition_oneway("leader", "follower");
    /// leader.send_to(b"I am alive", "follower", 1)?;
    /// follower.send_to(b"I was elected", "leader", 1)?;
    /// assert_eq!(leader.recv_from().await?.0, b"I was elected");
    /// # std::io::Result::Ok(())
    /// # })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn partition_oneway(&self, from: &str, to: &str) {
        tell(|| format!("network: {from} -> {to}: cut"));
        self.conditions.lock().partitions.insert((from.into(), to.into()));
        let pipes = self.lock().pipes();
        let there = pipes.iter().filter(|pipe| pipe.is_from_to(from, to));
        there.for_each(|pipe| pipe.cut());
    }

    /// Takes back one direction of a partition.
    pub fn heal_oneway(&self, from: &str, to: &str) {
        tell(|| format!("network: {from} -> {to}: healed"));
        self.conditions.lock().partitions.remove(&(from.into(), to.into()));
        let pipes = self.lock().pipes();
        let there = pipes.iter().filter(|pipe| pipe.is_from_to(from, to));
        there.for_each(|pipe| pipe.heal());

        // Those who write on the way back may hear of their peer now.
        let back = pipes.iter().filter(|pipe| pipe.is_from_to(to, from));
        back.for_each(|pipe| pipe.wake_both());
    }

    /// Breaks every stream of a host, and takes its listeners and sockets away. Tasks that use
    /// them get an error. The host can be used again at once, as after a restart.
    pub fn crash(&self, host: &str) {
        tell(|| format!("network: {host} crashes"));
        // Whoever connects meanwhile compares this number with the one before.
        let mut state = self.lock();
        *state.crashes.entry(host.into()).or_default() += 1;

        // A listener is known by its place in the table, which a new one may take at once. An inbox
        // stays: it knows which of its sockets is the present one.
        let here = |address: &Address| &*address.0 == host;
        let listeners = state.listeners.keys().filter(|it| here(it));
        let gone: Vec<Address> = listeners.cloned().collect();
        let backlogs: Vec<_> = gone.iter().map(|it| state.listeners.remove(it)).collect();
        let inboxes = state.inboxes.iter().filter(|(address, _)| here(address));
        let inboxes: Vec<_> = inboxes.map(|(_, inbox)| inbox.clone()).collect();
        let pipes = state.pipes();
        drop(state);

        // What is woken or dropped here may be foreign.
        backlogs.iter().flatten().for_each(|backlog| backlog.close());
        inboxes.iter().for_each(|inbox| inbox.close());
        pipes.iter().filter(|pipe| pipe.is_of(host)).for_each(|pipe| pipe.reset());
    }
}

impl Host {
    /// This port or, if it is 0, the first free one of those that are for that.
    pub(super) fn port_or_free(
        &self,
        port: u16,
        is_used: impl Fn(&Address) -> bool,
    ) -> io::Result<u16> {
        if port > 0 {
            return Ok(port);
        }

        // The first one: it stands in the log, and must be the same in each run.
        let mut free = FREE_PORTS.filter(|port| !is_used(&(self.name.clone(), *port)));
        free.next().ok_or_else(no_free_port)
    }
}

impl State {
    pub(super) fn add_pipes(&mut self, pipes: [&Arc<Pipe>; 2]) {
        // Before the list grows, forget those that are no longer in use.
        if self.pipes.len() + pipes.len() > self.pipes.capacity() {
            self.pipes.retain(|pipe| pipe.strong_count() > 0);
        }
        self.pipes.extend(pipes.map(Arc::downgrade));
    }

    /// The pipes that are still in use.
    fn pipes(&mut self) -> Vec<Arc<Pipe>> {
        let pipes: Vec<_> = self.pipes.iter().filter_map(Weak::upgrade).collect();
        self.pipes = pipes.iter().map(Arc::downgrade).collect();
        pipes
    }
}
