//! The simulated network: what arrives, when, and what does not.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::time::{Duration, Instant, sleep, timeout};
use arc_sim::net::{Listener, Net};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Result};

const MINUTE: Duration = Duration::from_secs(60);

/// Sends back what comes, until the peer closes.
async fn echo(listener: Listener) -> Result<()> {
    let (mut stream, peer) = listener.accept().await?;
    assert_eq!(peer, "client");
    let mut buffer = [0; 1000];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return stream.close().await;
        }
        stream.write_all(&buffer[..count]).await?;
    }
}

#[arc_sim::test(seeds = 20, twice = true)]
async fn bytes_come_in_order_however_many_packets_are_lost() -> Result<()> {
    let net = Net::new();
    net.set_delay(Duration::from_millis(1)..Duration::from_millis(100));
    net.set_loss(0.3);
    let server = arc::spawn(echo(net.host("server").listen(7)?));
    let (mut read, mut write) = net.host("client").connect("server", 7).await?.split();

    // More than fits into the windows: both directions have to flow.
    let sent: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
    let bytes = sent.clone();
    let writer = arc::spawn(async move {
        write.write_all(&bytes).await?;
        write.close().await
    });
    let mut received = Vec::new();
    read.read_to_end(&mut received).await?;
    assert!(received == sent);
    writer.await??;
    server.await?
}

#[arc_sim::test(seeds = 50, twice = true)]
async fn stream_waits_until_a_partition_is_healed() -> Result<()> {
    let net = Net::new();
    let server = arc::spawn(echo(net.host("server").listen(7)?));
    let mut stream = net.host("client").connect("server", 7).await?;
    net.partition("server", "client");
    stream.write_all(b"hello").await?;
    let mut text = [0; 5];
    assert!(timeout(MINUTE, stream.read_exact(&mut text)).await.is_err());

    net.heal("client", "server");
    timeout(MINUTE, stream.read_exact(&mut text)).await??;
    assert_eq!(&text, b"hello");
    stream.close().await?;
    server.await?
}

#[arc_sim::test(seeds = 50)]
async fn connecting_fails_where_nobody_listens_or_nobody_can_be_reached() -> Result<()> {
    let net = Net::new();
    let client = net.host("client");
    let refused = client.connect("server", 7).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

    let _listener = net.host("server").listen(7)?;
    assert_eq!(net.host("server").listen(7).unwrap_err().kind(), ErrorKind::AddrInUse);
    net.partition("client", "server");
    let start = Instant::now();
    assert_eq!(client.connect("server", 7).await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() >= MINUTE);

    // A partition that is healed in time is only late.
    let later = net.clone();
    let healer = arc::spawn(async move {
        sleep(MINUTE / 2).await;
        later.heal("client", "server");
    });
    client.connect("server", 7).await?;
    healer.await?;
    Ok(())
}

#[arc_sim::test(seeds = 50)]
async fn crash_breaks_streams_and_listeners() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let listener = server.listen(7)?;
    let socket = server.bind(9)?;
    let mut stream = client.connect("server", 7).await?;
    let (mut accepted, _) = listener.accept().await?;
    let reader = arc::spawn(async move { accepted.read(&mut [0; 9]).await });
    let acceptor = arc::spawn(async move { listener.accept().await.map(drop) });
    let receiver = arc::spawn(async move { socket.recv_from().await.map(drop) });
    sleep(MINUTE).await;

    net.crash("server");
    assert_eq!(reader.await?.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(acceptor.await?.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(receiver.await?.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(stream.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(stream.write(b"hello").await.unwrap_err().kind(), ErrorKind::ConnectionReset);

    // The host comes back.
    let again = server.listen(7)?;
    let accepting = arc::spawn(async move { again.accept().await.map(drop) });
    client.connect("server", 7).await?;
    accepting.await?
}

#[arc_sim::test(seeds = 50)]
async fn dropped_stream_ends_for_its_peer() -> Result<()> {
    let net = Net::new();
    let listener = net.host("server").listen(7)?;
    let mut stream = net.host("client").connect("server", 7).await?;
    let (mut accepted, _) = listener.accept().await?;
    accepted.write_all(b"bye").await?;
    drop(accepted);
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    assert_eq!(text, "bye");
    assert_eq!(stream.read(&mut [0; 9]).await?, 0);
    assert_eq!(stream.write(b"hello").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    Ok(())
}

/// A reader that does not read holds up the writer.
#[arc_sim::test(seeds = 20)]
async fn writer_waits_for_a_reader_that_is_behind() -> Result<()> {
    let net = Net::new();
    let listener = net.host("server").listen(7)?;
    let mut stream = net.host("client").connect("server", 7).await?;
    let (mut accepted, _) = listener.accept().await?;
    let bytes = vec![1; 100_000];
    let mut writing = std::pin::pin!(stream.write_all(&bytes));
    assert!(timeout(MINUTE, &mut writing).await.is_err());

    let reader = arc::spawn(async move {
        let mut buffer = vec![0; 100_000];
        accepted.read_exact(&mut buffer).await.map(|()| buffer)
    });
    timeout(MINUTE, writing).await??;
    assert!(reader.await?? == bytes);
    Ok(())
}

/// What came of ten datagrams, in the order in which they came.
async fn datagrams(loss: f64) -> Result<Vec<u8>> {
    let net = Net::new();
    net.set_loss(loss);
    let (receiver, sender) = (net.host("server").bind(9)?, net.host("client").bind(1)?);
    assert_eq!(net.host("server").bind(9).unwrap_err().kind(), ErrorKind::AddrInUse);
    for number in 0..10 {
        sender.send_to(&[number], "server", 9)?;
    }
    sender.send_to(b"nobody is there", "server", 10)?;
    let mut order = Vec::new();
    while let Ok(received) = timeout(MINUTE, receiver.recv_from()).await {
        let (bytes, host, port) = received?;
        assert_eq!((host.as_str(), port), ("client", 1));
        order.extend(bytes);
    }
    Ok(order)
}

#[test]
fn datagrams_overtake_each_other_and_get_lost() {
    let orders = |loss| (0..50).map(move |seed| arc_sim::run(seed, datagrams(loss)).unwrap());
    let all: BTreeSet<_> = orders(0.0).collect();
    assert!(all.len() > 40);
    assert!(all.iter().all(|order| BTreeSet::from_iter(order).len() == 10));

    let lost: BTreeSet<_> = orders(0.5).map(|order| order.len()).collect();
    assert!(lost.len() > 3 && lost.iter().all(|count| *count < 10), "{lost:?}");
}

#[arc_sim::test(seeds = 20)]
async fn partition_loses_datagrams() -> Result<()> {
    let net = Net::new();
    let (receiver, sender) = (net.host("server").bind(9)?, net.host("client").bind(1)?);
    net.partition("client", "server");
    sender.send_to(b"lost", "server", 9)?;
    net.heal("client", "server");
    sender.send_to(b"arrives", "server", 9)?;
    assert_eq!(receiver.recv_from().await?.0, b"arrives");
    assert!(timeout(MINUTE, receiver.recv_from()).await.is_err());
    Ok(())
}
