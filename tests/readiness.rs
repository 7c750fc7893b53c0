//! Readiness: no event is lost, whoever waits is woken, and nothing spins. Each
//! test moves bytes over real sockets; one that loses an event hangs, and fails
//! at its limit.

use crate::common::timeout;
use crate::net_common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::task::{spawn_blocking, yield_now};
use arc::time::sleep;
use socket2::SockRef;
use std::future::poll_fn;
#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable))))]
use std::io::Read as _;
use std::io::{ErrorKind, Result, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::sync::Arc;
use std::task::Poll;

/// Finds that there is nothing to read.
#[track_caller]
fn expect_nothing(stream: &TcpStream) {
    let nothing = try_read(stream, &mut [0; 8]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
}

#[test]
fn event_that_comes_during_a_read_is_not_wiped_out() {
    /// Asks at every opportunity, so that attempts which find nothing meet events on their way.
    async fn receive(stream: &TcpStream, round: u32) {
        let mut ball = [0; 4];
        loop {
            match try_read(stream, &mut ball) {
                Ok(read) => break assert_eq!((read, ball), (4, round.to_le_bytes())),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            stream.readable().await.unwrap();
        }
    }
    async fn play(mut stream: TcpStream, serves: bool) {
        for round in 0..2_000_u32 {
            if serves {
                stream.write_all(&round.to_le_bytes()).await.unwrap();
                receive(&stream, round).await;
            } else {
                receive(&stream, round).await;
                stream.write_all(&round.to_le_bytes()).await.unwrap();
            }
        }
    }
    run_each(|| async {
        let mut tasks = vec![];
        for _ in 0..4 {
            let (left, right) = pair().await;
            tasks.extend([arc::spawn(play(left, true)), arc::spawn(play(right, false))]);
        }
        join(tasks).await;
    });
}

#[test]
fn bytes_that_come_between_a_short_read_and_the_wait_are_seen() {
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        left.get_ref().set_nodelay(true).unwrap();
        // Bytes without an answer: the reader empties the socket again and again
        // while they come, and a short read is worth nothing if one came since.
        let writer = arc::spawn(async move {
            for number in 0..20_000_u32 {
                left.write_all(&[number as u8]).await.unwrap();
                if number % 64 == 0 {
                    yield_now().await;
                }
            }
            left
        });
        let (mut count, mut buffer) = (0_u32, [0; 100]);
        while count < 20_000 {
            let read = right.read(&mut buffer).await.unwrap();
            assert!(read > 0);
            for byte in &buffer[..read] {
                assert_eq!(*byte, count as u8);
                count += 1;
            }
        }
        drop(writer.await.unwrap());
    });
}

#[test]
fn end_of_stream_behind_a_short_read_is_seen() {
    // Data and the end in one go, then nothing ever again: an end that came with
    // the event of the data has no event of its own.
    run_each(|| async {
        let (listener, address) = listen().await;
        let peers = spawn_blocking(move || {
            for _ in 0..1_500 {
                let mut peer = std::net::TcpStream::connect(address).unwrap();
                peer.write_all(b"short").unwrap();
            }
        });
        for _ in 0..1_500 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = Vec::new();
            stream.read_to_end(&mut text).await.unwrap();
            assert_eq!(text, b"short");
        }
        peers.await.unwrap();
    });
}

#[test]
fn end_of_stream_right_after_the_data_is_seen() {
    run_each(|| async {
        for round in 0..1_000_u32 {
            let (mut left, mut right) = pair().await;
            let writer = arc::spawn(async move {
                left.write_all(b"short").await.unwrap();
                spin(round % 50);
                left.get_ref().shutdown(Shutdown::Write).unwrap();
                left
            });
            let mut text = Vec::new();
            right.read_to_end(&mut text).await.unwrap();
            assert_eq!(text, b"short");
            writer.await.unwrap();
        }
    });
}

#[test]
fn bytes_behind_urgent_ones_are_read() {
    // A read stops short at an urgent byte though there is more behind it, also when the byte
    // has been read and is told of no more.
    run_each(|| async {
        for is_taken in [false, true].repeat(5) {
            let (left, right) = pair().await;
            expect_nothing(&right);
            let mut peer = left.into_inner().unwrap();
            peer.write_all(b"before").unwrap();
            SockRef::from(&peer).send_out_of_band(b"!").unwrap();
            peer.write_all(b"behind").unwrap();
            // All of it has come, and every event of it been told.
            sleep(millis(5)).await;
            if is_taken {
                let mut urgent = [MaybeUninit::uninit()];
                SockRef::from(&right).recv_out_of_band(&mut urgent).unwrap();
            }
            peer.write_all(b"more").unwrap();
            sleep(millis(5)).await;
            let (mut text, mut buffer) = (Vec::new(), [0; 64]);
            while text.len() < 16 {
                let read = (&right).read(&mut buffer).await.unwrap();
                text.extend_from_slice(&buffer[..read]);
            }
            assert_eq!(text, b"beforebehindmore");
        }
    });
}

/// Reads an urgent byte. That there is none yet is an error of another kind than `WouldBlock`.
async fn read_urgent(stream: &TcpStream) -> Result<usize> {
    let mut urgent = [MaybeUninit::uninit()];
    let attempt = |io: &std::net::TcpStream| {
        let read = SockRef::from(io).recv_out_of_band(&mut urgent);
        read.map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => ErrorKind::WouldBlock.into(),
            _ => error,
        })
    };
    stream.read_with(attempt).await
}

#[test]
fn urgent_data_alone_wakes_a_reader() {
    run_each(|| async {
        for _ in 0..10 {
            let (mut left, right) = pair().await;
            let right = Arc::new(right);
            let urgent = right.clone();
            let reading = begun(async move { read_urgent(&urgent).await.unwrap() }).await;
            // One that only asks, too.
            expect_nothing(&right);
            let readable = right.clone();
            let asking = begun(async move { readable.readable().await.unwrap() }).await;

            SockRef::from(&left).send_out_of_band(b"!").unwrap();
            assert_eq!(reading.await.unwrap(), 1);
            asking.await.unwrap();

            // Ordinary bytes go on behind it.
            left.write_all(b"behind").await.unwrap();
            let mut text = [0; 6];
            (&*right).read_exact(&mut text).await.unwrap();
            assert_eq!(&text, b"behind");
        }
    });
}

/// Where arc registers its sockets as oneshot, polling asks for urgent data again and again.
#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable))))]
#[test]
fn reader_that_ignores_urgent_data_does_not_spin() {
    run_each(|| async {
        let (left, right) = pair().await;
        let attempts = Counter::new();
        let reader = arc::spawn(async move {
            let mut buffer = [0; 8];
            let read = right.read_with(|mut io| {
                attempts.add();
                io.read(&mut buffer)
            });
            (read.await.unwrap(), buffer[0])
        });
        attempts.reaches(1).await;
        SockRef::from(&left).send_out_of_band(b"!").unwrap();
        attempts.reaches(2).await;

        // It has tried because of the urgent data, and tries no more without an event.
        for _ in 0..100 {
            arc::task::yield_now().await;
            sleep(micros(50)).await;
        }
        assert!(attempts.get() <= 4, "{} attempts", attempts.get());
        (&left).write_all(b"x").await.unwrap();
        assert_eq!(reader.await.unwrap(), (1, b'x'));
    });
}

#[test]
fn one_direction_waits_while_the_other_is_busy() {
    // One socket, one task per direction, each blocked most of the time; events
    // of one direction must not cost the other its wake-up.
    run_each(|| async {
        let (left, right) = pair().await;
        for stream in [&left, &right] {
            stream.get_ref().set_nodelay(true).unwrap();
            SockRef::from(stream).set_send_buffer_size(1 << 16).unwrap();
            SockRef::from(stream).set_recv_buffer_size(1 << 16).unwrap();
        }
        let mut tasks = vec![];
        for (stream, seed) in [(left, 1), (right, 2)] {
            let reader = Arc::new(stream);
            let writer = reader.clone();
            tasks.push(arc::spawn(async move {
                let mut pattern = Pattern::new(seed);
                for _ in 0..500 {
                    (&*writer).write_all(&pattern.next(3_000)).await.unwrap();
                }
            }));
            tasks.push(arc::spawn(async move {
                let mut pattern = Pattern::new(3 - seed);
                let mut buffer = vec![0; 1_000];
                for _ in 0..1_500 {
                    (&*reader).read_exact(&mut buffer).await.unwrap();
                    assert_eq!(buffer, pattern.next(1_000));
                }
            }));
        }
        join(tasks).await;
    });
}

async fn read_byte(stream: &TcpStream) -> u8 {
    let mut byte = [0];
    (&mut &*stream).read_exact(&mut byte).await.unwrap();
    byte[0]
}

#[test]
fn reader_still_waits_after_the_writer_of_the_same_socket_was_woken() {
    run_each(|| async {
        let (stream, mut peer) = pair().await;
        let stream = Arc::new(stream);
        for round in 0..10 {
            let reads = stream.clone();
            let reader = begun(async move { read_byte(&reads).await }).await;
            // The writer waits, too, until the peer makes room.
            let sent = fill(&stream).await;
            let writes = stream.clone();
            let writer =
                arc::spawn(async move { (&*writes).write_all(&[7; 100_000]).await.unwrap() });
            peer.read_exact(&mut vec![0; sent + 100_000]).await.unwrap();
            writer.await.unwrap();
            assert!(!reader.is_finished());
            peer.write_all(&[round]).await.unwrap();
            assert_eq!(reader.await.unwrap(), round);
        }
    });
}

#[test]
fn all_tasks_that_read_one_socket_are_woken() {
    run_each(|| async {
        for _ in 0..50 {
            let (mut left, right) = pair().await;
            let right = Arc::new(right);
            let mut readers = vec![];
            for _ in 0..10 {
                let right = right.clone();
                readers.push(begun(async move { read_byte(&right).await }).await);
            }
            let sent: Vec<u8> = (0..10).collect();
            left.write_all(&sent).await.unwrap();
            let mut received = join(readers).await;
            received.sort_unstable();
            assert_eq!(received, sent);
        }
    });
}

#[test]
fn all_tasks_that_write_one_socket_are_woken() {
    run_each(|| async {
        let (left, mut right) = pair().await;
        let left = Arc::new(left);
        let sent = fill(&left).await;
        let mut writers = vec![];
        for _ in 0..10 {
            let left = left.clone();
            writers.push(begun(async move { (&*left).write_all(&[1]).await.unwrap() }).await);
        }
        right.read_exact(&mut vec![0; sent + 10]).await.unwrap();
        join(writers).await;
    });
}

#[test]
fn waker_is_replaced_when_another_task_polls() {
    run_each(|| async {
        let (mut left, right) = pair().await;
        expect_nothing(&right);
        // One future, polled by one task first and then awaited by another.
        let mut reading = Box::pin(async move { read_byte(&right).await });
        let polls_it = async move {
            poll_fn(|context| {
                assert!(reading.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            reading
        };
        let second = arc::spawn(arc::spawn(polls_it).await.unwrap());
        left.write_all(&[42]).await.unwrap();
        assert_eq!(second.await.unwrap(), 42);
    });
}

#[test]
fn hang_up_wakes_a_reader() {
    run_each(|| async {
        for resets in [false, true] {
            let (left, mut right) = pair().await;
            let reader = begun(async move { right.read(&mut [0; 16]).await }).await;
            if resets {
                resets_when_dropped(&left);
            }
            drop(left);
            match reader.await.unwrap() {
                Ok(read) => assert_eq!((read, resets), (0, false)),
                Err(error) => {
                    assert_eq!((error.kind(), resets), (ErrorKind::ConnectionReset, true))
                }
            }
        }
    });
}

#[test]
fn reset_wakes_both_directions() {
    run_each(|| async {
        for _ in 0..10 {
            let (stream, peer) = pair().await;
            let stream = Arc::new(stream);
            fill(&stream).await;
            let (reads, writes) = (stream.clone(), stream.clone());
            let reader = begun(async move { (&*reads).read(&mut [0; 16]).await }).await;
            let writer = begun(async move { (&*writes).write_all(&[7; 16]).await }).await;
            resets_when_dropped(&peer);
            drop(peer);
            // One of the two gets the reset, the other whatever is said after it.
            let outcomes = (reader.await.unwrap(), writer.await.unwrap());
            assert!(outcomes.1.is_err(), "{outcomes:?}");
            assert!(!matches!(outcomes.0, Ok(1..)), "{outcomes:?}");
        }
    });
}

#[test]
fn own_shutdown_wakes_the_reader() {
    run_each(|| async {
        let (stream, _peer) = pair().await;
        let stream = Arc::new(stream);
        let reads = stream.clone();
        let reader = begun(async move { (&*reads).read(&mut [0; 16]).await }).await;
        stream.get_ref().shutdown(Shutdown::Both).unwrap();
        assert_eq!(reader.await.unwrap().unwrap(), 0);
    });
}

#[test]
fn half_closed_socket_with_a_full_send_buffer_does_not_spin() {
    run_each(|| async {
        let (stream, peer) = pair().await;
        fill(&stream).await;
        // The peer sends no more, and reads no more.
        peer.get_ref().shutdown(Shutdown::Write).unwrap();
        assert_eq!((&stream).read(&mut [0; 16]).await.unwrap(), 0);
        let polls = Counter::new();
        let writer = polls.polls_of(async {
            (&stream).write_all(&[7; 1 << 20]).await.unwrap();
        });
        assert!(timeout(millis(100), writer).await.is_err());
        assert!(polls.get() <= 20, "{} polls", polls.get());
    });
}

// poll(2) tells of hang-ups that nobody asked for. The time is read from /proc.
#[cfg(target_os = "linux")]
#[cfg_attr(polling_test_poll_backend, allow(dead_code))]
#[cfg_attr(not(polling_test_poll_backend), test)]
fn hung_up_sockets_cost_no_cpu() {
    fn cpu_ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
    in_child("readiness::hung_up_sockets_cost_no_cpu", "", || {
        for workers in [1, 2] {
            runtime(workers).block_on(async {
                // Half-closed, closed and reset ones, which somebody waits to
                // write to, or nobody waits for.
                let mut sockets = vec![];
                for kind in 0..6 {
                    let (stream, peer) = pair().await;
                    let stream = Arc::new(stream);
                    if kind % 2 == 0 {
                        fill(&stream).await;
                        let stream = stream.clone();
                        drop(arc::spawn(async move {
                            let _ = (&*stream).write_all(&[7; 1 << 20]).await;
                        }));
                    }
                    match kind / 2 {
                        0 => peer.get_ref().shutdown(Shutdown::Write).unwrap(),
                        1 => resets_when_dropped(&peer),
                        _ => {}
                    }
                    sockets.push((stream, (kind / 2 == 0).then_some(peer)));
                }
                let before = cpu_ticks();
                sleep(millis(500)).await;
                // A tick is 10 ms: a thread that spins would have 50.
                let ticks = cpu_ticks() - before;
                assert!(ticks < 20, "{ticks} ticks of CPU time in half a second");
            });
        }
    });
}

#[test]
fn readable_is_said_again_until_a_read_finds_nothing() {
    run_each(|| async {
        let (mut left, right) = pair().await;
        left.write_all(b"ab").await.unwrap();
        let mut byte = [0];
        for expected in [b'a', b'b'] {
            loop {
                right.readable().await.unwrap();
                match try_read(&right, &mut byte) {
                    Ok(read) => break assert_eq!((read, byte[0]), (1, expected)),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        }
        // The bytes may have been read before a worker came to hear of them from the kernel. Such
        // an event says "readable" once more: that of the registration, or that of the write.
        for _ in 0..3 {
            let nothing = try_read(&right, &mut byte).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
            if timeout(millis(5), right.readable()).await.is_err() {
                return;
            }
        }
        panic!("readable, though a read has found nothing three times");
    });
}

/// Lets this process open so many files, if it may.
#[cfg(unix)]
fn allow_descriptors(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        let wanted = maximum.map_or(wanted, |most| most.min(wanted));
        let limit = Rlimit { current: Some(wanted), maximum };
        setrlimit(Resource::Nofile, limit).expect("it is allowed as many");
    }
}

#[test]
fn many_sockets_become_ready_at_once() {
    // More than one wait can fetch. (Many a login may open 1,024 files, until it asks for more.)
    #[cfg(unix)]
    allow_descriptors(4_096);
    run_each(|| async {
        let listener = listen().await.0;
        let ready = Counter::new();
        let (mut clients, mut tasks) = (vec![], vec![]);
        for _ in 0..1_200 {
            let (client, server) = connect_to(&listener).await;
            clients.push(client);
            tasks.push(arc::spawn(ready.polls_of(async move { read_byte(&server).await })));
        }
        ready.reaches(1_200).await;
        for (number, client) in clients.iter().enumerate() {
            assert_eq!(try_write(client, &[number as u8]).unwrap(), 1);
        }
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), number as u8);
        }
    });
}
