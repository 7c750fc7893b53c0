//! A client of `store`: sets keys from many connections, and publishes to a subscriber.

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use arc::net::TcpStream;
use arc::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use arc::sync::oneshot;
use arc::time::{Duration, sleep, timeout};
use std::io;

struct Client {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Client {
    async fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        Ok(Self { lines: BufReader::new(reader).lines(), writer })
    }

    async fn ask(&mut self, command: &str) -> io::Result<String> {
        self.writer.write_all(format!("{command}\n").as_bytes()).await?;
        self.line().await
    }

    async fn line(&mut self) -> io::Result<String> {
        let line = timeout(Duration::from_secs(60), self.lines.next_line()).await??;
        line.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[arc::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).expect("the address of the store");
    let (ready, subscribed) = oneshot::channel();
    let mut subscriber = Client::connect(&address).await?;
    let subscription = arc::spawn(async move {
        assert_eq!(subscriber.ask("SUBSCRIBE news").await?, "OK");
        ready.send(()).expect("main waits for it");
        let news = [subscriber.line().await?, subscriber.line().await?];
        io::Result::Ok(news.join(", "))
    });

    let writers: Vec<_> =
        (0..20).map(|number| arc::spawn(write(address.clone(), number))).collect();
    for writer in writers {
        writer.await??;
    }
    let mut client = Client::connect(&address).await?;
    println!("key 19: {}", client.ask("GET key19").await?);

    assert_eq!(client.ask("SET short value PX 1").await?, "OK");
    while client.ask("GET short").await? != "NONE" {
        sleep(Duration::from_millis(1)).await;
    }
    println!("the short one has expired");

    subscribed.await.expect("the subscriber says so");
    println!("subscribers: {}", client.ask("PUBLISH news one").await?);
    client.ask("PUBLISH news two").await?;
    println!("news: {}", subscription.await??);
    println!("mistake: {}", client.ask("GUT key").await?);
    Ok(())
}

/// Sets a key of its own, and reads it.
async fn write(address: String, number: u32) -> io::Result<()> {
    let mut client = Client::connect(&address).await?;
    assert_eq!(client.ask(&format!("SET key{number} {}", number * number)).await?, "OK");
    assert_eq!(client.ask(&format!("GET key{number}")).await?, (number * number).to_string());
    Ok(())
}
