//! Tasks, timers and a socket, in a minute.
//!
//! ```text
//! $ cargo run --example hello
//! the sum of 1,000 tasks: 499500
//! the fastest of three sleeps: 10 ms
//! a sleep of an hour was given up after 20 ms
//! the server says: hello, arc
//! ```

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::sync::mpsc;
use arc::time::{sleep, timeout};
use std::error::Error;
use std::time::Duration;

#[arc::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("the sum of 1,000 tasks: {}", sum().await?);
    println!("the fastest of three sleeps: {} ms", fastest().await.ok_or("no sleep has ended")?);
    let limit = Duration::from_millis(20);
    if timeout(limit, sleep(Duration::from_secs(3600))).await.is_err() {
        println!("a sleep of an hour was given up after 20 ms");
    }
    println!("the server says: {}", greet("arc").await?);
    Ok(())
}

/// Tasks run on all workers; a handle waits for one's output.
async fn sum() -> Result<u32, arc::task::JoinError> {
    let tasks: Vec<_> = (0..1000).map(|number| arc::spawn(async move { number })).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await?;
    }
    Ok(sum)
}

/// They sleep at the same time, not one after the other.
async fn fastest() -> Option<u64> {
    let (sender, mut receiver) = mpsc::channel(1);
    for milliseconds in [500, 10, 250] {
        let sender = sender.clone();
        // Dropping the handle detaches the task.
        drop(arc::spawn(async move {
            sleep(Duration::from_millis(milliseconds)).await;
            sender.send(milliseconds).await
        }));
    }
    receiver.recv().await
}

/// A server and a client in one program.
async fn greet(name: &str) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = arc::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut name = String::new();
        stream.read_to_string(&mut name).await?;
        stream.write_all(format!("hello, {name}").as_bytes()).await
    });
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(name.as_bytes()).await?;
    // The server reads to the end, so it has to see one.
    stream.get_ref().shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    server.await??;
    Ok(answer)
}
