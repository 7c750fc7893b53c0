//! The example chat, over real sockets of the loopback interface: the kernel is asked before the
//! clock jumps.

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use arc::net::{SocketAddr, TcpStream};
use arc::time::{Duration, Instant, sleep};
use arc_seeds::chat::{Options, Server, serve};

async fn server() -> SocketAddr {
    let options = Options {
        workers: 1,
        address: "127.0.0.1:0".to_owned(),
        grace: Duration::from_secs(10),
        verbose: true,
    };
    let server = Server::bind(&options, "tcp").await.unwrap();
    let address = server.address();
    drop(arc::task::spawn_named("server", async { serve(server).await.unwrap() }));
    address
}

struct Client(BufReader<TcpStream>);

impl Client {
    /// Connects, and tells its name.
    async fn enter(address: SocketAddr, name: &str) -> Self {
        let mut client = Self(BufReader::new(TcpStream::connect(address).await.unwrap()));
        assert_eq!(client.line().await, "* what is your name?");
        client.say(name).await;
        assert!(client.line().await.starts_with(&format!("* welcome, {name}")));
        client
    }

    async fn say(&mut self, text: &str) {
        self.0.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }
}

/// Each hears what the others say, in the order in which each of them said it.
#[arc_sim::test(seeds = 10)]
async fn everybody_hears_everybody_else() {
    let address = server().await;
    let mut clients = Vec::new();
    for name in ["ann", "bob", "cleo"] {
        clients.push((name, Client::enter(address, name).await));
        for (_, other) in clients.iter_mut().rev().skip(1) {
            assert_eq!(other.line().await, format!("* {name} joined"));
        }
    }
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|(name, mut client)| {
            arc::spawn(async move {
                for number in 0..3 {
                    sleep(Duration::from_millis(fastrand::u64(0..3))).await;
                    client.say(&number.to_string()).await;
                }
                let mut heard = Vec::new();
                while heard.len() < 6 {
                    heard.push(client.line().await);
                }
                for other in ["ann", "bob", "cleo"].iter().filter(|other| **other != name) {
                    let said = heard.iter().filter(|line| line.starts_with(other));
                    let expected = (0..3).map(|number| format!("{other}: {number}"));
                    assert!(said.cloned().eq(expected), "{heard:?}");
                }
                client
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Five minutes pass at once, but not before what was said is heard.
#[arc_sim::test(seeds = 10)]
async fn quiet_client_has_to_leave_after_five_minutes() {
    let start = Instant::now();
    let address = server().await;
    let mut ann = Client::enter(address, "ann").await;
    let mut bob = Client::enter(address, "bob").await;
    assert_eq!(ann.line().await, "* bob joined");
    for _ in 0..3 {
        sleep(Duration::from_secs(200)).await;
        bob.say("still here").await;
        if let "* you have been quiet for too long: good-bye" = ann.line().await.as_str() {
            break;
        }
    }
    assert_eq!(bob.line().await, "* ann left");
    assert!((300..420).contains(&start.elapsed().as_secs()));
}

/// A write to it waits for five seconds, which pass at once.
#[arc_sim::test(seeds = 2)]
async fn who_does_not_read_has_to_leave() {
    let start = Instant::now();
    let address = server().await;
    let slow = Client::enter(address, "slow").await;
    let mut bob = Client::enter(address, "bob").await;
    // More than the sockets take.
    let line = "x".repeat(4000);
    for _ in 0..4000 {
        bob.say(&line).await;
    }
    assert_eq!(bob.line().await, "* slow left");
    assert!((5..60).contains(&start.elapsed().as_secs()));
    drop(slow);
}
