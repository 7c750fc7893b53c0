//! A small store of keys and values, after the manner of mini-redis: commands are lines, values can
//! expire, and channels can be subscribed to. Ctrl-c ends it when all connections have ended.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::sync::{Notify, broadcast, mpsc};
use arc::time::{Duration, Instant, sleep_until};
use bytes::{Buf, BytesMut};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Default)]
struct Store {
    state: Mutex<State>,
    /// Notified when another key expires first.
    expires_earlier: Notify,
}

#[derive(Default)]
struct State {
    values: HashMap<String, String>,
    expirations: BTreeSet<(Instant, String)>,
    channels: HashMap<String, broadcast::Sender<String>>,
}

#[arc::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let store = Arc::new(Store::default());
    arc::spawn(expire(store.clone()));

    let (stop, _) = broadcast::channel::<()>(1);
    // Each connection holds a sender, and drops it when it has ended.
    let (connection, mut all_ended) = mpsc::channel::<()>(1);
    loop {
        let stream = arc::select! {
            accepted = listener.accept() => accepted?.0,
            _ = arc::signal::ctrl_c() => break,
        };
        let (store, mut stopped) = (store.clone(), stop.subscribe());
        let connection = connection.clone();
        arc::spawn(async move {
            arc::select! {
                result = serve(stream, &store) => if let Err(error) = result {
                    eprintln!("{error}");
                },
                _ = stopped.recv() => {}
            }
            drop(connection);
        });
    }
    drop((stop, connection));
    assert!(all_ended.recv().await.is_none());
    println!("stopped");
    Ok(())
}

/// Answers the commands of one client.
async fn serve(mut stream: TcpStream, store: &Store) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    while let Some(line) = read_line(&mut stream, &mut buffer).await? {
        let words: Vec<_> = line.split(' ').collect();
        let answer = match words[..] {
            ["SUBSCRIBE", channel] => return pass_on(stream, store.subscribe(channel)).await,
            ["PUBLISH", channel, text] => store.publish(channel, text).to_string(),
            ["SET", key, value] => store.set(key, value, None),
            ["SET", key, value, "PX", milliseconds] => match milliseconds.parse() {
                Ok(limit) => store.set(key, value, Some(Duration::from_millis(limit))),
                Err(_) => "ERROR not a number".to_owned(),
            },
            ["GET", key] => store.get(key).unwrap_or_else(|| "NONE".to_owned()),
            _ => format!("ERROR unknown command {line:?}"),
        };
        stream.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Reads one line, or returns `None` at the end.
async fn read_line(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Option<String>> {
    loop {
        if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
            buffer.advance(end + 1);
            return Ok(Some(line));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Sends what is published on a channel.
async fn pass_on(
    mut stream: TcpStream,
    mut channel: broadcast::Receiver<String>,
) -> io::Result<()> {
    stream.write_all(b"OK\n").await?;
    loop {
        match channel.recv().await {
            Ok(text) => stream.write_all(format!("{text}\n").as_bytes()).await?,
            Err(broadcast::error::RecvError::Lagged(count)) => {
                stream.write_all(format!("LOST {count}\n").as_bytes()).await?;
            }
            Err(broadcast::error::RecvError::Closed) => return Ok(()),
        }
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }

    fn get(&self, key: &str) -> Option<String> {
        self.lock().values.get(key).cloned()
    }

    fn set(&self, key: &str, value: &str, limit: Option<Duration>) -> String {
        let mut state = self.lock();
        state.values.insert(key.to_owned(), value.to_owned());
        state.expirations.retain(|(_, other)| other != key);
        if let Some(limit) = limit {
            state.expirations.insert((Instant::now() + limit, key.to_owned()));
        }
        drop(state);
        self.expires_earlier.notify_one();
        "OK".to_owned()
    }

    fn subscribe(&self, channel: &str) -> broadcast::Receiver<String> {
        let mut state = self.lock();
        let sender = state.channels.entry(channel.to_owned());
        sender.or_insert_with(|| broadcast::channel(1024).0).subscribe()
    }

    /// Returns how many subscribers there are.
    fn publish(&self, channel: &str, text: &str) -> usize {
        let sender = self.lock().channels.get(channel).cloned();
        sender.map_or(0, |sender| sender.send(text.to_owned()).unwrap_or(0))
    }
}

/// Removes keys when their time is over.
async fn expire(store: Arc<Store>) {
    loop {
        let now = Instant::now();
        let next = {
            let mut state = store.lock();
            while let Some((when, key)) = state.expirations.first().cloned() {
                if when > now {
                    break;
                }
                state.values.remove(&key);
                state.expirations.pop_first();
            }
            state.expirations.first().map(|(when, _)| *when)
        };
        match next {
            Some(when) => arc::select! {
                _ = sleep_until(when) => {}
                _ = store.expires_earlier.notified() => {}
            },
            None => store.expires_earlier.notified().await,
        }
    }
}
