//! Programs without a mistake: nothing of their waits stands out.

use crate::{record, timeline};
use arc::time::{Duration, sleep};
use arc_trace::Format;
use arc_util::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use arc_util::net::{TcpListener, TcpStream};
use arc_util::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use arc_util::task::JoinSet;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// How the findings about waits begin.
const KINDS: [&str; 9] = [
    "deadlock: ",
    "lock: ",
    "missed: ",
    "nobody is left",
    "piles up: ",
    "spins: ",
    "starved: ",
    "unanswered: ",
    "wake-ups that did nothing",
];

/// Nothing of the waits stands out in a program that does nothing wrong.
#[track_caller]
fn nothing_of_the_waits_stands_out() {
    let timeline = timeline();
    for kind in KINDS {
        let found = timeline.findings().into_iter().find(|it| it.text.starts_with(kind));
        // A machine that stands still for a moment makes everybody wait, for no fault of theirs.
        let found = found.filter(|it| it.cost > 20_000_000);
        let text = Format::Text.render(&timeline);
        assert!(found.is_none(), "a false finding:\n{text}");
    }
}

/// Runs a program, of whose waits nothing stands out.
#[track_caller]
fn healthy(program: impl Future<Output = ()>) {
    let (_recorder, runtime) = record(2);
    runtime.block_on(program);
    nothing_of_the_waits_stands_out();
}

/// Many tasks, which share a lock and a counter, and speak over channels.
#[test]
fn healthy_workers_behind_a_channel() {
    healthy(async {
        let total = Arc::new(Mutex::new(0));
        let permits = Arc::new(Semaphore::new(4));
        let (sender, receiver) = mpsc::channel(16);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut workers = Vec::new();
        for _ in 0..8 {
            let (total, permits) = (total.clone(), permits.clone());
            let receiver = receiver.clone();
            workers.push(arc::spawn(async move {
                loop {
                    let next = receiver.lock().await.try_recv();
                    match next {
                        Ok(number) => {
                            let _permit = permits.acquire().await.unwrap();
                            *total.lock().await += number;
                        }
                        Err(mpsc::error::TryRecvError::Empty) => {
                            sleep(Duration::from_micros(200)).await;
                        }
                        Err(mpsc::error::TryRecvError::Disconnected) => return,
                    }
                }
            }));
        }
        for number in 0..2_000 {
            sender.send(number).await.unwrap();
        }
        drop(sender);
        for worker in workers {
            worker.await.unwrap();
        }
        assert_eq!(*total.lock().await, 1_999_000);
    });
}

/// A server that greets its clients, which come one after the other and all at once.
#[test]
fn healthy_server() {
    healthy(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let greeted = Arc::new(Mutex::new(0));
        let count = greeted.clone();
        let server = arc::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let count = count.clone();
                arc::spawn(async move {
                    let mut name = [0; 4];
                    while stream.read_exact(&mut name).await.is_ok() {
                        *count.lock().await += 1;
                        stream.write_all(&name).await.unwrap();
                    }
                });
            }
        });
        let mut clients = Vec::new();
        for _ in 0..16 {
            clients.push(arc::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                for _ in 0..100 {
                    stream.write_all(b"name").await.unwrap();
                    stream.read_exact(&mut [0; 4]).await.unwrap();
                }
            }));
        }
        for client in clients {
            client.await.unwrap();
        }
        server.abort();
        assert_eq!(*greeted.lock().await, 1_600);
    });
}

/// A room in which what one says goes to all, through a channel for each.
#[test]
fn healthy_chat() {
    healthy(async {
        let mut members = Vec::new();
        let mut tasks = Vec::new();
        for _ in 0..10 {
            let (sender, mut lines) = mpsc::channel::<usize>(8);
            members.push(sender);
            tasks.push(arc::spawn(async move {
                let mut sum = 0;
                while let Some(line) = lines.recv().await {
                    sum += line;
                }
                sum
            }));
        }
        for line in 0..300 {
            for member in &members {
                member.send(line).await.unwrap();
            }
        }
        drop(members);
        for task in tasks {
            assert_eq!(task.await.unwrap(), 299 * 150);
        }
    });
}

/// Each of these has a moment in which it looks like a mistake.
#[test]
fn what_looks_like_a_mistake_is_none() {
    let (_recorder, runtime) = record(2);
    runtime.block_on(async {
        // Notified too early, but once in time as well.
        let notify = Arc::new(Notify::new());
        let notified = notify.clone();
        notify.notify_waiters();
        let waits = arc::spawn(async move {
            loop {
                notified.notified().await;
            }
        });
        notify.notify_one();

        // A burst, and many tasks, of which nothing is left.
        let (sender, mut receiver) = mpsc::unbounded_channel();
        (0..10_000).for_each(|number| sender.send(number).unwrap());
        for number in 0..10_000 {
            assert_eq!(receiver.recv().await, Some(number));
        }
        let mut set: JoinSet<()> = (0..10_000).map(|_| async {}).collect();
        while set.join_next().await.is_some() {}

        // A value that is seen as often as it changes.
        let (state, mut changes) = watch::channel(0);
        for number in 1..3_000 {
            state.send(number).unwrap();
            changes.changed().await.unwrap();
        }

        // Answers that all take long.
        let waiting: Vec<_> = (0..5).map(|_| oneshot::channel()).collect();
        let (answers, answered): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        let asks = answered.into_iter().map(|answered| arc::spawn(answered));
        let asks: Vec<_> = asks.collect();
        for answer in answers {
            sleep(Duration::from_millis(60)).await;
            answer.send(()).unwrap();
        }
        for ask in asks {
            ask.await.unwrap().unwrap();
        }
        nothing_of_the_waits_stands_out();
        waits.abort();
    });
}

/// A small store: readers and writers over sockets, answers by oneshot channels, news for those who
/// look on, and a log that one task writes.
#[test]
fn healthy_store() {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 50;
    healthy(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let values = Arc::new(RwLock::new(HashMap::new()));
        let (news, mut looks_on) = broadcast::channel(CLIENTS * REQUESTS);
        let (log, mut lines) = mpsc::unbounded_channel::<(String, oneshot::Sender<usize>)>();
        let (size, mut sizes) = watch::channel(0);

        let logger = arc::spawn(async move {
            let mut count = 0;
            while let Some((_, answer)) = lines.recv().await {
                count += 1;
                let _ = answer.send(count);
                size.send_replace(count);
            }
            count
        });
        let seen = arc::spawn(async move {
            while sizes.changed().await.is_ok() {
                let _size = *sizes.borrow_and_update();
            }
        });
        let server = arc::spawn(async move {
            let mut connections = JoinSet::new();
            for _ in 0..CLIENTS {
                let (stream, _) = listener.accept().await.unwrap();
                let store = Store { values: values.clone(), news: news.clone(), log: log.clone() };
                connections.spawn(store.serve(stream));
            }
            while let Some(served) = connections.join_next().await {
                served.unwrap().unwrap();
            }
        });

        let begin = Arc::new(Barrier::new(CLIENTS));
        let all_done = Arc::new(Notify::new());
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let (begin, all_done) = (begin.clone(), all_done.clone());
            clients.spawn(async move {
                let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
                begin.wait().await;
                for number in 0..REQUESTS {
                    let request = format!("set {client} {number}\nget {client}\n");
                    stream.get_mut().write_all(request.as_bytes()).await.unwrap();
                    let mut answer = String::new();
                    stream.read_line(&mut answer).await.unwrap();
                    stream.read_line(&mut answer).await.unwrap();
                    assert!(answer.ends_with(&format!("\n{number}\n")), "{answer:?}");
                }
                if client == 0 {
                    all_done.notify_one();
                }
            });
        }
        all_done.notified().await;
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
        server.await.unwrap();
        assert_eq!(logger.await.unwrap(), CLIENTS * REQUESTS);
        seen.await.unwrap();
        for _ in 0..CLIENTS * REQUESTS {
            looks_on.recv().await.unwrap();
        }
    });
}

struct Store {
    values: Arc<RwLock<HashMap<String, String>>>,
    news: broadcast::Sender<String>,
    log: mpsc::UnboundedSender<(String, oneshot::Sender<usize>)>,
}

impl Store {
    async fn serve(self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 0 {
            let answer = self.answer(line.trim()).await;
            stream.get_mut().write_all(format!("{answer}\n").as_bytes()).await?;
            line.clear();
        }
        Ok(())
    }

    async fn answer(&self, request: &str) -> String {
        let words: Vec<&str> = request.split(' ').collect();
        match words[..] {
            ["get", key] => self.values.read().await.get(key).cloned().unwrap_or_default(),
            ["set", key, value] => {
                self.values.write().await.insert(key.to_owned(), value.to_owned());
                let (answer, answered) = oneshot::channel();
                self.log.send((request.to_owned(), answer)).unwrap();
                self.news.send(key.to_owned()).unwrap();
                answered.await.unwrap().to_string()
            }
            _ => "what?".to_owned(),
        }
    }
}
