//! Connections that tell where they were dropped, and need tokio for that.

use super::{DEADLINE, soon};
use arc::task::spawn_blocking;
use std::collections::BTreeSet;
use std::future::pending;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// A connection that is given back to its pool by a task of tokio's, as those of sqlx are.
pub struct Connection {
    pub place: &'static str,
    pub pool: Sender<&'static str>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (place, pool) = (self.place, self.pool.clone());
        drop(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            pool.send(place)
        }));
    }
}

/// Where a program drops its connections.
pub const PLACES: [&str; 7] =
    ["a task", "a job", "the body", "a poll", "another poll", "an abort", "the end of the runtime"];

/// Drops a connection at each place. That of the end is in a task that goes on.
pub async fn drop_connections(pool: Sender<&'static str>) {
    let connect = |place| Connection { place, pool: pool.clone() };
    let in_a_task = connect("a task");
    soon(arc::spawn(async { drop(in_a_task) })).await.unwrap();
    let in_a_job = connect("a job");
    soon(spawn_blocking(|| drop(in_a_job))).await.unwrap();
    drop(connect("the body"));

    let canceled = connect("an abort");
    let at_the_end = connect("the end of the runtime");
    let (polled, other_polled) = (connect("a poll"), connect("another poll"));
    let (sender, receiver) = async_channel::bounded(2);
    let other_sender = sender.clone();
    let canceled = arc::spawn(async move {
        let _canceled = canceled;
        drop(polled);
        sender.send(()).await.unwrap();
        pending::<()>().await;
    });
    drop(arc::spawn(async move {
        let _at_the_end = at_the_end;
        drop(other_polled);
        other_sender.send(()).await.unwrap();
        pending::<()>().await;
    }));
    // Both tasks have begun.
    soon(receiver.recv()).await.unwrap();
    soon(receiver.recv()).await.unwrap();
    canceled.abort();
    assert!(soon(canceled).await.unwrap_err().is_cancelled());
}

/// Each connection has come back once, and no other one first.
#[track_caller]
pub fn expect_all(places: &Receiver<&'static str>, expected: &[&'static str]) {
    let mut expected = BTreeSet::from_iter(expected);
    while !expected.is_empty() {
        let place = places.recv_timeout(DEADLINE);
        let place = place.unwrap_or_else(|_| panic!("nothing came from {expected:?}"));
        assert!(expected.remove(&place), "{place} twice");
    }
}
