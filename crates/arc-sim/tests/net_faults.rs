//! The simulated network where something fails: crashes, partitions, and several tasks at once.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::task::JoinHandle;
use arc::time::{Duration, Instant, sleep};
use arc_sim::net::{Net, Stream};
use arc_util::time::timeout;
use std::io::{ErrorKind, Result};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

/// By then every packet that was sent has arrived.
const SECOND: Duration = Duration::from_secs(1);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

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
    assert_eq!(kind(waits.await?), ErrorKind::ConnectionAborted);
    assert_eq!(kind(old.accept().await), ErrorKind::ConnectionAborted);

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
    assert_eq!(kind(client.connect("server", 80).await), ErrorKind::ConnectionRefused);
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn every_task_that_accepts_or_receives_gets_one() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let (listener, socket) = (Arc::new(server.listen(80)?), Arc::new(server.bind(9)?));
    let mut tasks: Vec<JoinHandle<Result<Vec<u8>>>> = Vec::new();
    for _ in 0..3 {
        let (listener, socket) = (listener.clone(), socket.clone());
        tasks.push(arc::spawn(async move { listener.accept().await.map(|_| b"x".to_vec()) }));
        tasks.push(arc::spawn(async move { socket.recv_from().await.map(|(bytes, ..)| bytes) }));
    }
    sleep(SECOND).await;

    let sender = client.bind(1)?;
    for _ in 0..3 {
        client.connect("server", 80).await?;
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
        assert_eq!(kind(task.await?), ErrorKind::ConnectionAborted);
    }
    Ok(())
}

/// What a failed task or operation has ended with.
#[track_caller]
fn kind<T>(ended: Result<T>) -> ErrorKind {
    match ended {
        Ok(_) => panic!("it must fail"),
        Err(error) => error.kind(),
    }
}

struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[arc_sim::test(seeds = 20)]
async fn task_that_looks_often_is_woken_once() -> Result<()> {
    let net = Net::new();
    let listener = net.host("server").listen(80)?;
    let counter = Arc::new(Counter(AtomicUsize::new(0)));
    let waker = Waker::from(counter.clone());
    let mut context = Context::from_waker(&waker);
    let mut accepting = pin!(listener.accept());
    for _ in 0..3 {
        assert!(accepting.as_mut().poll(&mut context).is_pending());
    }
    net.host("client").connect("server", 80).await?;
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    assert!(accepting.as_mut().poll(&mut context).is_ready());
    Ok(())
}

/// Connects the host "client" to the host "server". Returns the client's end first.
async fn connection(net: &Net) -> Result<(Stream, Stream)> {
    let listener = net.host("server").listen(80)?;
    let stream = net.host("client").connect("server", 80).await?;
    Ok((stream, listener.accept().await?.0))
}

#[arc_sim::test(seeds = 50)]
async fn connections_that_nobody_has_accepted_end_with_the_listener() -> Result<()> {
    let net = Net::new();
    let listener = net.host("server").listen(80)?;
    let mut stream = net.host("client").connect("server", 80).await?;
    drop(listener);
    let error = stream.read(&mut [0; 9]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    Ok(())
}

#[arc_sim::test(seeds = 100)]
async fn connecting_fails_when_one_of_the_hosts_crashes_meanwhile() -> Result<()> {
    let net = Net::new();
    // It takes ten seconds to the server, and ten back.
    net.set_delay(10 * SECOND..11 * SECOND);
    let listener = net.host("server").listen(80)?;
    let connect = || {
        let client = net.host("client");
        arc::spawn(async move { client.connect("server", 80).await })
    };
    let on_the_way = connect();
    sleep(SECOND).await;
    net.crash("client");
    assert_eq!(kind(on_the_way.await?), ErrorKind::ConnectionAborted);

    let on_the_way_back = connect();
    let accepted = listener.accept().await?;
    net.crash("server");
    assert_eq!(kind(on_the_way_back.await?), ErrorKind::ConnectionRefused);
    drop(accepted);

    // Both are as new after that.
    let listener = net.host("server").listen(80)?;
    let again = connect();
    listener.accept().await?;
    again.await??;
    Ok(())
}

#[arc_sim::test(seeds = 50)]
async fn connecting_fails_when_the_answer_does_not_get_through() -> Result<()> {
    let net = Net::new();
    net.set_delay(10 * SECOND..11 * SECOND);
    let (listener, client) = (net.host("server").listen(80)?, net.host("client"));
    let connecting = arc::spawn(async move { client.connect("server", 80).await });
    let _accepted = listener.accept().await?;
    net.partition("server", "client");
    assert_eq!(kind(connecting.await?), ErrorKind::TimedOut);
    Ok(())
}

#[arc_sim::test(seeds = 50)]
async fn reader_learns_of_a_crash_before_the_packet_that_it_waits_for() -> Result<()> {
    let net = Net::new();
    let (mut client, mut server) = connection(&net).await?;
    net.set_delay(100 * SECOND..101 * SECOND);
    client.write_all(b"late").await?;
    let start = Instant::now();
    let reader = arc::spawn(async move { server.read(&mut [0; 9]).await });
    sleep(SECOND).await;
    net.crash("client");
    assert_eq!(kind(reader.await?), ErrorKind::ConnectionReset);
    assert!(start.elapsed() < 10 * SECOND);
    Ok(())
}

#[arc_sim::test(seeds = 50)]
async fn what_has_arrived_is_read_during_a_partition() -> Result<()> {
    let net = Net::new();
    let (mut client, mut server) = connection(&net).await?;
    client.write_all(b"there").await?;
    sleep(SECOND).await;
    net.partition("client", "server");
    client.write_all(b"held").await?;
    let mut text = [0; 5];
    timeout(MINUTE, server.read_exact(&mut text)).await??;
    assert_eq!(&text, b"there");
    assert!(timeout(MINUTE, server.read(&mut text)).await.is_err());

    // What arrived between two partitions stays.
    net.heal("client", "server");
    sleep(SECOND).await;
    net.partition("client", "server");
    timeout(MINUTE, server.read_exact(&mut text[..4])).await??;
    assert_eq!(&text[..4], b"held");
    Ok(())
}

#[arc_sim::test(seeds = 50)]
async fn drop_of_a_stream_is_not_known_beyond_a_partition() -> Result<()> {
    let net = Net::new();
    let (client, mut server) = connection(&net).await?;
    net.partition("client", "server");
    drop(client);
    server.write_all(b"hello").await?;
    // It does not fit, and is told so when the partition ends.
    let writer = arc::spawn(async move { server.write_all(&[0; 100_000]).await });
    sleep(MINUTE).await;
    assert!(!writer.is_finished());
    net.heal("client", "server");
    assert_eq!(kind(writer.await?), ErrorKind::BrokenPipe);
    Ok(())
}

/// The reader waits already when its host sends what does not arrive.
#[arc_sim::test(seeds = 100, twice = true)]
async fn stream_gives_up_when_a_partition_does_not_end() -> Result<()> {
    let net = Net::new();
    let (client, server) = connection(&net).await?;
    let (mut read, mut write) = client.split();
    let reader = arc::spawn(async move { read.read(&mut [0; 9]).await });
    sleep(SECOND).await;
    net.partition("client", "server");
    sleep(HOUR).await;
    // Nothing was under way until now.
    assert!(!reader.is_finished());
    let start = Instant::now();
    write.write_all(b"hello").await?;
    assert_eq!(kind(reader.await?), ErrorKind::TimedOut);
    assert!((10 * MINUTE..30 * MINUTE).contains(&start.elapsed()));
    assert_eq!(kind(write.write(b"hello").await), ErrorKind::TimedOut);

    // The peer has sent nothing, and waits as long as it sends nothing.
    let (mut peer_read, mut peer_write) = server.split();
    let peer_reader = arc::spawn(async move { peer_read.read(&mut [0; 9]).await });
    net.heal("client", "server");
    sleep(HOUR).await;
    assert!(!peer_reader.is_finished());
    assert!(peer_write.write(b"hello").await? > 0);
    assert_eq!(kind(peer_reader.await?), ErrorKind::ConnectionReset);
    Ok(())
}

/// The packet was on its way already, and its sender waits for the answer.
#[arc_sim::test(seeds = 50)]
async fn stream_gives_up_what_was_on_its_way_when_the_partition_began() -> Result<()> {
    let net = Net::new();
    let (mut client, _server) = connection(&net).await?;
    client.write_all(b"hello").await?;
    let reader = arc::spawn(async move { client.read(&mut [0; 9]).await });
    net.partition("client", "server");
    assert_eq!(kind(reader.await?), ErrorKind::TimedOut);
    Ok(())
}

/// A peer that does not read holds the writer up for ever, but one that cannot be reached does not.
#[arc_sim::test(seeds = 50)]
async fn writer_that_waits_for_room_gives_up_when_a_partition_does_not_end() -> Result<()> {
    let net = Net::new();
    let (client, _server) = connection(&net).await?;
    let (mut read, mut write) = client.split();
    let reader = arc::spawn(async move { read.read(&mut [0; 9]).await });
    let writer = arc::spawn(async move { write.write_all(&[0; 100_000]).await });
    sleep(HOUR).await;
    assert!(!writer.is_finished());
    net.partition("client", "server");
    assert_eq!(kind(writer.await?), ErrorKind::TimedOut);
    assert_eq!(kind(reader.await?), ErrorKind::TimedOut);
    Ok(())
}

/// A crash during the partition is what breaks the stream, and stays the reason.
#[arc_sim::test(seeds = 20)]
async fn crash_during_a_partition_stays_the_reason() -> Result<()> {
    let net = Net::new();
    let (mut client, _server) = connection(&net).await?;
    net.partition("client", "server");
    client.write_all(b"hello").await?;
    net.crash("server");
    sleep(HOUR).await;
    assert_eq!(client.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    Ok(())
}

/// Nobody looks at the stream during the partition: its host gives up all the same.
#[arc_sim::test(seeds = 50)]
async fn partition_that_ends_too_late_has_broken_the_stream() -> Result<()> {
    let net = Net::new();
    let (mut client, mut server) = connection(&net).await?;
    net.partition("client", "server");
    client.write_all(b"late").await?;
    sleep(10 * MINUTE).await;
    net.heal("client", "server");
    let mut text = [0; 4];
    timeout(MINUTE, server.read_exact(&mut text)).await??;
    assert_eq!(&text, b"late");

    net.partition("client", "server");
    client.write_all(b"too late").await?;
    sleep(20 * MINUTE).await;
    net.heal("client", "server");
    assert!(timeout(MINUTE, server.read(&mut text)).await.is_err());
    assert_eq!(kind(client.read(&mut text).await), ErrorKind::TimedOut);
    Ok(())
}

/// The number of tries has a bound, too: this took for ever on every clock.
#[arc_sim::test(seeds = 20)]
async fn stream_gives_up_when_nearly_every_packet_is_lost() -> Result<()> {
    let net = Net::new();
    let (mut client, mut server) = connection(&net).await?;
    net.set_loss(1.0 - f64::EPSILON);
    client.write_all(b"hello").await?;
    let reader = arc::spawn(async move { server.read(&mut [0; 9]).await.map(drop) });
    assert_eq!(client.read(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(!reader.is_finished());
    Ok(())
}

/// One direction ends, the other goes on.
#[arc_sim::test(seeds = 50)]
async fn closed_direction_leaves_the_other_one_open() -> Result<()> {
    let net = Net::new();
    let (mut client, mut server) = connection(&net).await?;
    client.write_all(b"request").await?;
    client.close().await?;
    assert_eq!(kind(client.write(b"more").await), ErrorKind::BrokenPipe);
    let mut text = String::new();
    server.read_to_string(&mut text).await?;
    assert_eq!(text, "request");
    sleep(HOUR).await;

    server.write_all(b"answer").await?;
    drop(server);
    text.clear();
    client.read_to_string(&mut text).await?;
    assert_eq!(text, "answer");
    Ok(())
}

/// Reads that are cancelled while bytes are on their way take none of them.
#[arc_sim::test(seeds = 50)]
async fn cancelled_reads_lose_no_byte() -> Result<()> {
    let net = Net::new();
    net.set_loss(0.2);
    let (mut client, mut server) = connection(&net).await?;
    let sent: Vec<u8> = (0..200).collect();
    let bytes = sent.clone();
    let writer = arc::spawn(async move {
        for piece in bytes.chunks(3) {
            client.write_all(piece).await?;
            sleep(Duration::from_millis(7)).await;
        }
        client.close().await
    });
    let mut received: Vec<u8> = Vec::new();
    let mut buffer = [0; 2];
    loop {
        match timeout(Duration::from_millis(3), server.read(&mut buffer)).await {
            Ok(Ok(0)) => break,
            Ok(count) => received.extend(&buffer[..count?]),
            Err(_) => {}
        }
    }
    assert!(received == sent);
    writer.await?
}

/// The server hears the client, which does not hear the server.
#[arc_sim::test(seeds = 100)]
async fn one_direction_is_cut_and_the_other_one_is_not() -> Result<()> {
    let net = Net::new();
    let (server, client) = (net.host("server"), net.host("client"));
    let (listener, there, here) = (server.listen(80)?, server.bind(1)?, client.bind(1)?);
    let mut stream = client.connect("server", 80).await?;
    let (mut accepted, _) = listener.accept().await?;
    net.partition_oneway("server", "client");

    there.send_to(b"lost", "client", 1)?;
    here.send_to(b"there", "server", 1)?;
    assert_eq!(there.recv_from().await?.0, b"there");
    stream.write_all(b"there").await?;
    accepted.read_exact(&mut [0; 5]).await?;
    accepted.write_all(b"late").await?;
    assert!(timeout(MINUTE, stream.read(&mut [0])).await.is_err());
    assert_eq!(kind(client.connect("server", 80).await), ErrorKind::TimedOut);
    assert_eq!(kind(server.connect("client", 80).await), ErrorKind::TimedOut);
    // Nobody tells the client that the other end is gone.
    drop(accepted);
    sleep(SECOND).await;
    stream.write_all(b"in vain").await?;

    // A partition of both directions is not over before both are healed.
    net.partition("server", "client");
    net.heal_oneway("client", "server");
    here.send_to(b"again", "server", 1)?;
    assert_eq!(there.recv_from().await?.0, b"again");
    there.send_to(b"lost", "client", 1)?;
    net.heal_oneway("server", "client");
    there.send_to(b"back", "client", 1)?;
    assert_eq!(here.recv_from().await?.0, b"back");
    stream.read_exact(&mut [0; 4]).await?;
    assert_eq!(kind(stream.write(b"in vain").await), ErrorKind::BrokenPipe);
    Ok(())
}

/// A writer that waits for room hears that its reader is gone when the way back is healed.
#[arc_sim::test(seeds = 100)]
async fn writer_hears_of_its_reader_when_the_way_back_is_healed() -> Result<()> {
    let net = Net::new();
    let (mut stream, accepted) = connection(&net).await?;
    net.partition_oneway("server", "client");
    drop(accepted);
    let writing = arc::spawn(async move { stream.write_all(&[0; 1 << 20]).await });
    sleep(SECOND).await;
    assert!(!writing.is_finished());
    net.heal_oneway("server", "client");
    assert_eq!(kind(writing.await?), ErrorKind::BrokenPipe);
    Ok(())
}

/// What a seed has decided about the packets is in the log, beside the polls.
#[test]
fn log_tells_what_the_network_does() {
    let run = arc_sim::simulate(1, async {
        let net = Net::new();
        let (server, client) = (net.host("server"), net.host("client"));
        let (listener, socket) = (server.listen(80)?, client.bind(0)?);
        let mut stream = client.connect("server", 80).await?;
        let (mut accepted, _) = listener.accept().await?;
        net.set_loss(0.9);
        stream.write_all(b"h").await?;
        net.set_loss(0.0);
        accepted.read_exact(&mut [0]).await?;

        net.set_loss(1.0 - f64::EPSILON);
        socket.send_to(b"lost", "server", 5)?;
        net.set_loss(0.0);
        socket.send_to(b"late", "server", 5)?;
        net.partition("server", "client");
        socket.send_to(b"no", "server", 5)?;
        stream.write_all(b"h").await?;
        sleep(HOUR).await;
        assert_eq!(kind(stream.write(b"h").await), ErrorKind::TimedOut);
        net.heal("client", "server");
        drop((stream, listener));
        assert_eq!(kind(client.connect("server", 80).await), ErrorKind::ConnectionRefused);
        net.crash("server");
        drop(accepted);
        Result::Ok(())
    });
    run.outcome.unwrap().unwrap();

    let events = run.log.events().iter().map(|event| run.log.describe(event).to_string());
    let told: Vec<String> =
        events.filter_map(|it| Some(it.split_once("network: ")?.1.to_owned())).collect();
    let expected = [
        ("client -> server: connects to port 80", ""),
        ("client -> server: 1 B, ", "x"),
        ("client -> server: a datagram of 4 B, lost", ""),
        ("client -> server: a datagram of 4 B, ", "ms on the way"),
        ("server -> client: cut", ""),
        ("client -> server: cut", ""),
        ("client -> server: a datagram of 2 B, lost in the partition", ""),
        ("client -> server: 1 B, held up by the partition", ""),
        ("client -> server: given up, as nothing arrives", ""),
        ("client -> server: healed", ""),
        ("server -> client: healed", ""),
        ("client -> server: the end of the stream, ", "on the way"),
        ("client -> server: connects to port 80", ""),
        ("client is refused: nobody listens at port 80", ""),
        ("server crashes", ""),
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, (begin, end)) in told.iter().zip(expected) {
        assert!(told.starts_with(begin) && told.ends_with(end), "{told} is not {begin}...{end}");
    }
}
