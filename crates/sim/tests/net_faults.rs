//! The simulated network where something fails: crashes, partitions, and several tasks at once.

use arc::task::JoinHandle;
use arc::time::{Duration, sleep};
use arc_sim::net::Net;
use std::io::{ErrorKind, Result};
use std::sync::Arc;

/// By then every packet that was sent has arrived.
const SECOND: Duration = Duration::from_secs(1);

#[arc_sim::test(seeds = 100)]
async fn accept_of_a_crashed_host_takes_nothing_from_the_next_listener() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let old = Arc::new(server.listen(80)?);
    let waits = {
        let old = old.clone();
        arc::spawn(async move { old.accept().await.map(drop) })
    };
    sleep(SECOND).await;
    net.crash("server");

    // The task that waits is polled for the first time when the new listener is there.
    let new = server.listen(80)?;
    let accepting = arc::spawn(async move { new.accept().await.map(|(_, peer)| peer) });
    assert_eq!(waits.await?.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(old.accept().await.unwrap_err().kind(), ErrorKind::ConnectionAborted);

    client.connect("server", 80).await?;
    assert_eq!(accepting.await??, "client");
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn drop_of_a_crashed_hosts_listener_leaves_the_next_one_open() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let old = server.listen(80)?;
    net.crash("server");
    let new = server.listen(80)?;
    drop(old);

    client.connect("server", 80).await?;
    assert_eq!(new.accept().await?.1, "client");

    // The new one's own drop closes the port.
    drop(new);
    let refused = client.connect("server", 80).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn every_task_that_accepts_gets_a_connection() -> Result<()> {
    let net = Net::new();
    let listener = Arc::new(net.host("server").listen(80)?);
    let accept = |_| {
        let listener = listener.clone();
        arc::spawn(async move { listener.accept().await.map(drop) })
    };
    let tasks: Vec<JoinHandle<Result<()>>> = (0..3).map(accept).collect();
    sleep(SECOND).await;

    let client = net.host("client");
    for _ in 0..3 {
        client.connect("server", 80).await?;
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn every_task_that_receives_gets_a_datagram() -> Result<()> {
    let net = Net::new();
    let (socket, sender) = (Arc::new(net.host("server").bind(9)?), net.host("client").bind(1)?);
    let receive = |_| {
        let socket = socket.clone();
        arc::spawn(async move { socket.recv_from().await.map(|(bytes, ..)| bytes) })
    };
    let tasks: Vec<JoinHandle<Result<Vec<u8>>>> = (0..3).map(receive).collect();
    sleep(SECOND).await;

    for _ in 0..3 {
        sender.send_to(b"x", "server", 9)?;
    }
    for task in tasks {
        assert_eq!(task.await??, b"x");
    }
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn crash_ends_every_task_that_accepts_or_receives() -> Result<()> {
    let net = Net::new();
    let server = net.host("server");
    let (listener, socket) = (Arc::new(server.listen(80)?), Arc::new(server.bind(9)?));
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let (listener, socket) = (listener.clone(), socket.clone());
        tasks.push(arc::spawn(async move { listener.accept().await.map(drop) }));
        tasks.push(arc::spawn(async move { socket.recv_from().await.map(drop) }));
    }
    sleep(SECOND).await;

    net.crash("server");
    for task in tasks {
        assert_eq!(task.await?.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    }
    Ok(())
}
