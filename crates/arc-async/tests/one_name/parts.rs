//! A program with one dependency, as somebody would write it who comes from tokio.

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use arc::net::{TcpListener, TcpStream, UdpSocket};
use arc::sync::{Mutex, broadcast, mpsc, oneshot};
use arc::task::JoinSet;
use arc::time::{Duration, interval, sleep, timeout};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

#[arc::main(worker_threads = 2)]
async fn main() -> Result<()> {
    println!("udp: {}", timeout(LIMIT, udp_echo()).await??);
    println!("squares: {}", timeout(LIMIT, squares()).await?);
    println!("lines: {:?}", timeout(LIMIT, lines()).await??);
    println!("select: {}", timeout(LIMIT, select()).await?);
    println!("channels: {}", timeout(LIMIT, channels()).await??);
    Ok(())
}

/// Sends datagrams to a task that sends them back.
async fn udp_echo() -> Result<String> {
    let server = UdpSocket::bind("127.0.0.1:0").await?;
    let address = server.local_addr()?;
    let echo = arc::spawn(async move {
        let mut buffer = [0; 1024];
        while let Ok((length, from)) = server.recv_from(&mut buffer).await {
            server.send_to(&buffer[..length], from).await.expect("the client has a socket");
        }
    });

    let client = UdpSocket::bind("127.0.0.1:0").await?;
    client.connect(address).await?;
    client.send(b"hello").await?;
    let mut buffer = [0; 16];
    let length = client.recv(&mut buffer).await?;
    echo.abort();
    assert!(echo.await.is_err_and(|error| error.is_cancelled()));
    Ok(String::from_utf8(buffer[..length].to_vec())?)
}

/// Adds up what tasks return, and leaves one out that takes too long.
async fn squares() -> u64 {
    let mut tasks = JoinSet::new();
    for number in 1..=10 {
        tasks.spawn(async move { number * number });
    }
    tasks.spawn(async {
        let late = timeout(Duration::from_millis(1), std::future::pending::<u64>()).await;
        late.unwrap_or(0)
    });

    let mut sum = 0;
    while let Some(square) = tasks.join_next().await {
        sum += square.expect("no task panics");
    }
    sum
}

/// Reads lines from a TCP connection.
async fn lines() -> Result<Vec<String>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = arc::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let (_read, mut write) = stream.into_split();
        write.write_all(b"first\nsecond\r\nthird").await?;
        write.shutdown().await
    });

    let mut lines = BufReader::new(TcpStream::connect(address).await?).lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().await? {
        found.push(line);
    }
    server.await??;
    Ok(found)
}

/// Counts ticks until another task has ended.
async fn select() -> &'static str {
    let (done, is_done) = oneshot::channel();
    let work = async move {
        sleep(Duration::from_millis(5)).await;
        done.send("done").expect("somebody waits");
    };
    arc::spawn(work);

    arc::pin!(is_done);
    let mut ticks = interval(Duration::from_millis(1));
    loop {
        arc::select! {
            result = &mut is_done => break result.expect("it is sent"),
            _ = ticks.tick() => {}
        }
    }
}

/// Sends through every kind of channel, and counts under a lock.
async fn channels() -> Result<u32> {
    let count = Arc::new(Mutex::new(0));
    let (jobs, mut queue) = mpsc::channel(1);
    let (news, mut heard) = broadcast::channel(16);
    let worker = {
        let count = count.clone();
        arc::spawn(async move {
            while let Some(job) = queue.recv().await {
                *count.lock().await += job;
            }
            news.send("finished").expect("somebody listens");
        })
    };

    arc::join!(async { jobs.send(1).await.expect("open") }, async {
        jobs.send(2).await.expect("open");
    });
    drop(jobs);
    let (heard, joined) = arc::join!(heard.recv(), worker);
    joined?;
    assert_eq!(heard?, "finished");
    let count = count.lock().await;
    Ok(*count)
}
