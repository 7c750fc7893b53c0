//! A listener of arc-util pauses when the system has no descriptors: a loop that reports the error
//! and goes on takes no core, and loses no connection.

use crate::net_common::{Counter, in_child, join, runtime};
use arc_util::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// Either kind of listener.
trait Accepts: Send + Sync + 'static {
    /// Accepts a connection, and writes a byte to it.
    fn serve(&self) -> impl Future<Output = io::Result<()>> + Send;
}

impl Accepts for TcpListener {
    async fn serve(&self) -> io::Result<()> {
        let (stream, _): (TcpStream, _) = self.accept().await?;
        stream.get_ref().write_all(b"x")
    }
}

impl Accepts for UnixListener {
    async fn serve(&self) -> io::Result<()> {
        let (stream, _): (UnixStream, _) = self.accept().await?;
        stream.get_ref().write_all(b"x")
    }
}

/// Opens files until there is no descriptor left. Returns them, and the number of the error.
fn hoard() -> (Vec<File>, Option<i32>) {
    let mut files = Vec::new();
    loop {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => return (files, error.raw_os_error()),
        }
    }
}

/// Six clients have connected, which wait in the kernel.
async fn starve(listener: impl Accepts, clients: Vec<impl Read + AsFd>) {
    let listener = Arc::new(listener);
    let (files, code) = hoard();

    // Two servers that report errors and go on, as servers do.
    let (errors, polls, served) = (Counter::new(), Counter::new(), Counter::new());
    let start = Instant::now();
    let servers = [(); 2].map(|()| {
        let listener = listener.clone();
        let serving = async move {
            for _ in 0..3 {
                while let Err(error) = listener.serve().await {
                    assert_eq!(error.raw_os_error(), code);
                    errors.add();
                }
                served.add();
            }
        };
        arc::spawn(polls.polls_of(serving))
    });
    errors.reaches(6).await;
    let (elapsed, polls) = (start.elapsed(), polls.get());
    assert_eq!(served.get(), 0);

    // A pause is 50 ms, and no timer is early: so many at the most fit in. Each costs a server two
    // polls or three.
    let pauses = (elapsed.as_millis() / 50 + 1) as usize;
    assert!(errors.get() <= 2 * pauses, "{} errors in {elapsed:?}", errors.get());
    assert!(polls <= 10 * pauses, "{polls} polls in {elapsed:?}");

    // With room again, every connection that waited is served by one of them.
    drop(files);
    join(servers).await;
    for mut client in clients {
        client.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn want_of_descriptors_is_an_error_that_does_not_spin() {
    let name = "accept::want_of_descriptors_is_an_error_that_does_not_spin";
    in_child(name, "ulimit -n 64", || {
        for workers in [1, 2] {
            runtime(workers).block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let connect = || std::net::TcpStream::connect(address).unwrap();
                let clients = Vec::from_iter((0..6).map(|_| connect()));
                starve(listener, clients).await;
            });
        }
    });
}

#[test]
fn so_it_is_with_a_listener_of_the_unix_domain() {
    in_child("accept::so_it_is_with_a_listener_of_the_unix_domain", "ulimit -n 64", || {
        let folder = std::env::temp_dir().join(format!("arc-accept-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for workers in [1, 2] {
            let path = folder.join(workers.to_string());
            runtime(workers).block_on(async {
                let listener = UnixListener::bind(&path).unwrap();
                let connect = || std::os::unix::net::UnixStream::connect(&path).unwrap();
                let clients = Vec::from_iter((0..6).map(|_| connect()));
                starve(listener, clients).await;
            });
        }
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
