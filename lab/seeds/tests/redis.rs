//! The redis server on a network that loses packets: no answer is lost, and none comes twice.

use arc::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use arc::time::{Duration, sleep};
use arc_seeds::redis::{Options, run};
use arc_seeds::rt;
use arc_sim::net::{Net, Stream};
use std::collections::BTreeSet;

const PORT: u16 = 6379;

/// Serves on a network that is slow and loses packets.
async fn serve() -> (Net, arc::task::JoinHandle<()>) {
    let net = Net::new();
    net.set_delay(Duration::from_millis(1)..Duration::from_millis(20));
    net.set_loss(0.05);
    rt::net::set(&net);
    let server = arc::task::spawn_named("server", async {
        let options = Options {
            port: PORT,
            host: "server".to_owned(),
            workers: 1,
            grace: Duration::from_secs(10),
        };
        assert_eq!(run(&options).await, std::process::ExitCode::SUCCESS);
    });
    arc::task::yield_now().await;
    (net, server)
}

struct Client(BufReader<Stream>);

impl Client {
    async fn connect(net: &Net, name: &str) -> Self {
        // The server may not listen yet.
        loop {
            match net.host(name).connect("server", PORT).await {
                Ok(stream) => return Self(BufReader::new(stream)),
                Err(_) => sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Sends a request, whose arguments have spaces between them.
    async fn send(&mut self, request: &str) {
        let words: Vec<_> = request.split(' ').collect();
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.0.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// Reads a reply: its words, with a space between them.
    async fn reply(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        let line = line.trim_end().to_owned();
        let Some((kind, number)) = line.split_at_checked(1) else { panic!("no reply") };
        match (kind, number.parse::<i64>()) {
            ("$", Ok(-1)) | ("*", Ok(-1)) => "nil".to_owned(),
            ("$", Ok(length)) => {
                let mut bytes = vec![0; length as usize + 2];
                self.0.read_exact(&mut bytes).await.unwrap();
                String::from_utf8_lossy(&bytes).trim_end().to_owned()
            }
            ("*", Ok(count)) => {
                let mut words = Vec::new();
                for _ in 0..count {
                    words.push(Box::pin(self.reply()).await);
                }
                words.join(" ")
            }
            _ => number.to_owned(),
        }
    }

    async fn call(&mut self, request: &str) -> String {
        self.send(request).await;
        self.reply().await
    }
}

/// Ends the server, and waits for it.
async fn shut_down(net: &Net, server: arc::task::JoinHandle<()>) {
    Client::connect(net, "admin").await.send("SHUTDOWN").await;
    server.await.unwrap();
}

#[arc_sim::test(seeds = 10, twice = true)]
async fn every_increment_counts_once() {
    let (net, server) = serve().await;
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let net = net.clone();
            arc::spawn(async move {
                let mut client = Client::connect(&net, &format!("client {number}")).await;
                let mut counts = Vec::new();
                for _ in 0..5 {
                    counts.push(client.call("INCR count").await.parse::<u32>().unwrap());
                }
                assert!(counts.is_sorted());
                counts
            })
        })
        .collect();
    let mut counts = BTreeSet::new();
    for client in clients {
        counts.extend(client.await.unwrap());
    }
    assert!(counts.into_iter().eq(1..=20));
    shut_down(&net, server).await;
}

#[arc_sim::test(seeds = 10, twice = true)]
async fn every_element_goes_to_one_of_those_who_wait() {
    let (net, server) = serve().await;
    let consumers: Vec<_> = (0..3)
        .map(|number| {
            let net = net.clone();
            arc::spawn(async move {
                let mut client = Client::connect(&net, &format!("consumer {number}")).await;
                let mut taken = Vec::new();
                loop {
                    // Some of these waits are over just when an element comes.
                    let reply = client.call("BLPOP jobs 0.05").await;
                    match reply.strip_prefix("jobs ") {
                        Some("end") => return taken,
                        Some(job) => taken.push(job.parse::<u32>().unwrap()),
                        None => assert_eq!(reply, "nil"),
                    }
                }
            })
        })
        .collect();
    let mut producer = Client::connect(&net, "producer").await;
    for job in 0..10 {
        sleep(Duration::from_millis(fastrand::u64(0..60))).await;
        producer.call(&format!("RPUSH jobs {job}")).await;
    }
    producer.call("RPUSH jobs end end end").await;
    let mut taken = Vec::new();
    for consumer in consumers {
        taken.extend(consumer.await.unwrap());
    }
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..10));
    shut_down(&net, server).await;
}

/// Seventy minutes, of which none passes.
#[arc_sim::test(seeds = 10, twice = true)]
async fn keys_expire_when_they_are_told_to() {
    let (net, server) = serve().await;
    let mut client = Client::connect(&net, "client").await;
    assert_eq!(client.call("SET short 1 EX 600").await, "OK");
    assert_eq!(client.call("SET long 2 EX 7200").await, "OK");
    sleep(Duration::from_secs(580)).await;
    assert_eq!(client.call("GET short").await, "1");
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(client.call("GET short").await, "nil");
    assert_eq!(client.call("GET long").await, "2");
    assert_eq!(client.call("DBSIZE").await, "1");
    shut_down(&net, server).await;
}

/// A client that is cut off for a minute has what was published meanwhile, in order.
#[arc_sim::test(seeds = 10, twice = true)]
async fn subscriber_behind_a_partition_gets_everything_later() {
    let (net, server) = serve().await;
    let mut subscriber = Client::connect(&net, "subscriber").await;
    assert_eq!(subscriber.call("SUBSCRIBE news").await, "subscribe news 1");
    let mut publisher = Client::connect(&net, "publisher").await;
    net.partition("subscriber", "server");
    for number in 0..5 {
        assert_eq!(publisher.call(&format!("PUBLISH news {number}")).await, "1");
        sleep(Duration::from_secs(12)).await;
    }
    net.heal("subscriber", "server");
    for number in 0..5 {
        assert_eq!(subscriber.reply().await, format!("message news {number}"));
    }
    shut_down(&net, server).await;
}
