//! The simulated network: what arrives, when, and what does not.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::time::{Duration, Instant, sleep};
use arc_sim::net::{Listener, Net, Stream};
use arc_util::time::timeout;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Result};

const MINUTE: Duration = Duration::from_secs(60);

/// Connects the host "client" to the host "server". Returns the client's end first.
async fn connection(net: &Net) -> Result<(Stream, Stream)> {
    let listener = net.host("server").listen(7)?;
    let stream = net.host("client").connect("server", 7).await?;
    Ok((stream, listener.accept().await?.0))
}

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
    let (mut stream, mut accepted) = connection(&net).await?;
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
    let (mut stream, mut accepted) = connection(&net).await?;
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

#[arc_sim::test(seeds = 20)]
async fn port_zero_is_one_that_is_free() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let taken = server.listen(49_152)?;
    let (one, two) = (server.listen(0)?, server.listen(0)?);
    assert!(one.port() > taken.port() && two.port() > one.port());
    assert_eq!(two.local_addr(), ("server", two.port()));
    client.connect("server", two.port()).await?;
    assert_eq!(two.accept().await?.1, "client");
    assert_eq!(client.connect("server", 0).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);

    let (one, two) = (server.bind(0)?, server.bind(0)?);
    assert!(one.port() > 0 && two.port() > one.port());
    assert_eq!(two.local_addr(), ("server", two.port()));
    one.send_to(b"hello", "server", two.port())?;
    assert_eq!(two.recv_from().await?, (b"hello".to_vec(), "server".to_owned(), one.port()));

    // What was dropped is free again.
    let port = one.port();
    drop(one);
    assert_eq!(server.bind(0)?.port(), port);
    Ok(())
}

/// Whether a socket has the port counts when the datagram arrives, and not when it is sent.
#[arc_sim::test(seeds = 20)]
async fn datagram_arrives_at_the_socket_that_is_there_then() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client").bind(1)?);
    net.set_delay(MINUTE..2 * MINUTE);
    client.send_to(b"early", "server", 9)?;
    let late = server.bind(9)?;
    assert_eq!(late.recv_from().await?.0, b"early");

    // The next socket of the port gets what arrives when it is there, also after a crash.
    client.send_to(b"to the next one", "server", 9)?;
    drop(late);
    let next = server.bind(9)?;
    assert_eq!(next.recv_from().await?.0, b"to the next one");
    client.send_to(b"after the crash", "server", 9)?;
    net.crash("server");
    assert_eq!(next.recv_from().await.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(next.send_to(b"", "server", 9).unwrap_err().kind(), ErrorKind::ConnectionAborted);
    let after = server.bind(9)?;
    drop(next);
    assert_eq!(after.recv_from().await?.0, b"after the crash");

    // What arrives while nobody is there is gone, and what was not received as well.
    client.send_to(b"not received", "server", 9)?;
    sleep(2 * MINUTE).await;
    drop(after);
    client.send_to(b"nobody is there", "server", 9)?;
    sleep(2 * MINUTE).await;
    let last = server.bind(9)?;
    assert!(timeout(5 * MINUTE, last.recv_from()).await.is_err());
    Ok(())
}

#[arc_sim::test(seeds = 3)]
async fn datagram_that_is_too_long_is_refused() -> Result<()> {
    let net = Net::new();
    let (receiver, sender) = (net.host("server").bind(9)?, net.host("client").bind(1)?);
    let error = sender.send_to(&[0; 65_508], "server", 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("at most 65507 bytes"), "{error}");
    sender.send_to(&[0; 65_507], "server", 9)?;
    assert_eq!(receiver.recv_from().await?.0.len(), 65_507);
    Ok(())
}
