//! A fixed amount of work, which must come out right under faults: connections whose every
//! byte is compared, datagrams, timers, blocking jobs, processes.

mod echo;
mod ledger;
mod options;

pub use options::Options;

use crate::account::Counter;
use crate::{bytes, process};
use arc::runtime::{Builder, Runtime};
use arc::task::spawn_blocking;
use arc::time::{Instant, sleep};
use arc_util::net::TcpListener;
use arc_util::net::UdpSocket;
use arc_util::sync::oneshot;
use arc_util::task::JoinSet;
use ledger::LEDGER;
use std::io;
use std::process::{Command, ExitCode};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Does the work. Exit codes: 0, all came out as it should; 1, it did not; 3, no runtime
/// was built.
pub fn run(options: Options) -> ExitCode {
    let before = process::descriptors();
    let in_child = if options.children > 0 { descriptors_of_child().unwrap_or(0) } else { 0 };
    let runtime = match Builder::new_multi_thread().workers(options.workers).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            println!("NO RUNTIME: {error}");
            return ExitCode::from(3);
        }
    };
    let expected =
        [options.timers, options.jobs, options.wakes, options.datagrams, options.children];
    let (connections, leaks) = (options.connections, options.leaks);
    let worked = work(&runtime, Arc::new(options), in_child);
    drop(runtime);
    // The thread of a job, which is no thread of the runtime, may drop its last handle.
    let start = Instant::now();
    while process::descriptors() > before && start.elapsed() < Duration::from_secs(5) {
        // Under strace, a thread that asks all the time keeps the other one from its end.
        std::thread::sleep(Duration::from_millis(1));
    }
    let left = process::descriptors().saturating_sub(before);
    if left > leaks {
        println!("open at the end: {:?}", process::descriptor_names());
    }
    for error in LEDGER.errors.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("told: {error}");
    }
    let it = &LEDGER;
    println!("account: {} descriptors_left={left}", it.line());
    let done = [&it.timers, &it.jobs, &it.wakes, &it.datagrams, &it.children].map(Counter::get);
    let ended = it.whole.get() + it.given_up.get();
    let is_right = done == expected && ended == connections && it.wrong.get() == 0 && left <= leaks;
    match worked {
        Ok(()) if is_right && it.given_up.get() == 0 => {
            println!("OK");
            ExitCode::SUCCESS
        }
        Ok(()) if is_right => {
            println!("ENDED: not all connections were whole");
            ExitCode::SUCCESS
        }
        Ok(()) => {
            println!("WRONG");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(runtime: &Runtime, options: Arc<Options>, in_child: usize) -> io::Result<()> {
    runtime.block_on(async move {
        let address = match (&options.listen, &options.connect) {
            (Some(address), _) => {
                let listener = TcpListener::bind(address.as_str()).await?;
                println!("listening on {}", listener.local_addr()?);
                echo::serve(listener).await;
                unreachable!("it serves until it is killed")
            }
            (None, Some(address)) => address.clone(),
            (None, None) => {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let address = listener.local_addr()?.to_string();
                drop(arc::spawn(echo::serve(listener)));
                address
            }
        };
        let mut tasks = JoinSet::new();
        for _ in 0..options.timers {
            tasks.spawn(timers());
        }
        for job in 0..options.jobs {
            tasks.spawn(one_job(job));
        }
        for _ in 0..options.children {
            tasks.spawn(child(in_child));
        }
        if options.wakes > 0 {
            tasks.spawn(wakes(options.wakes));
        }
        if options.datagrams > 0 {
            tasks.spawn(datagrams(options.datagrams));
        }
        *echo::AT_HALF.lock().unwrap_or_else(PoisonError::into_inner) = options.at_half.clone();
        let next = Arc::new(Counter::new());
        for _ in 0..options.at_once {
            let (next, address, options) = (next.clone(), address.clone(), options.clone());
            tasks.spawn(async move {
                loop {
                    let seed = next.next();
                    if seed >= options.connections {
                        return Ok(());
                    }
                    echo::client(address.clone(), seed, &options).await;
                }
            });
        }
        while let Some(joined) = tasks.join_next().await {
            joined.map_err(io::Error::from)??;
        }
        Ok(())
    })
}

async fn timers() -> io::Result<()> {
    for millis in [1, 3, 7] {
        let deadline = Instant::now() + Duration::from_millis(millis);
        sleep(Duration::from_millis(millis)).await;
        if Instant::now() < deadline {
            return Err(io::Error::other("a timer fired early"));
        }
    }
    LEDGER.timers.add(1);
    Ok(())
}

async fn one_job(job: u64) -> io::Result<()> {
    let told = spawn_blocking(move || {
        std::thread::sleep(Duration::from_millis(1));
        job
    });
    if told.await? == job {
        LEDGER.jobs.add(1);
    }
    Ok(())
}

/// A thread that is in no runtime wakes a task, again and again: the thread that waits for
/// the kernel has to be notified.
async fn wakes(count: u64) -> io::Result<()> {
    let (ask, asked) = std::sync::mpsc::channel::<oneshot::Sender<()>>();
    std::thread::spawn(move || {
        for answer in asked {
            // Meanwhile the workers fall asleep.
            std::thread::sleep(Duration::from_micros(500));
            let _ = answer.send(());
        }
    });
    for _ in 0..count {
        let (sender, receiver) = oneshot::channel();
        ask.send(sender).map_err(io::Error::other)?;
        receiver.await.map_err(io::Error::other)?;
        LEDGER.wakes.add(1);
    }
    Ok(())
}

/// How many descriptors a process has that this one starts.
fn descriptors_of_child() -> io::Result<usize> {
    let output = Command::new("ls").arg("/proc/self/fd").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}

/// A process is forked off and executed in the midst of it all. It has as many
/// descriptors as one that was started before.
async fn child(before: usize) -> io::Result<()> {
    let descriptors = spawn_blocking(descriptors_of_child).await??;
    if descriptors == before {
        LEDGER.children.add(1);
    } else {
        LEDGER.tell(format!("a child had {descriptors} descriptors, not {before}"));
    }
    Ok(())
}

/// Datagrams there and back, one by one. The kernel may have no room for one: then it is
/// sent again.
async fn datagrams(count: u64) -> io::Result<()> {
    let left = UdpSocket::bind("127.0.0.1:0").await?;
    let right = UdpSocket::bind("127.0.0.1:0").await?;
    left.connect(right.local_addr()?).await?;
    right.connect(left.local_addr()?).await?;
    let mut buffer = [0; 1024];
    for seed in 0..count {
        let mut datagram = [0; 1000];
        bytes::fill(seed, 0, &mut datagram);
        send(&left, &datagram).await?;
        let length = right.recv(&mut buffer).await?;
        send(&right, &buffer[..length]).await?;
        let length = left.recv(&mut buffer).await?;
        if buffer[..length] == datagram {
            LEDGER.datagrams.add(1);
        }
    }
    Ok(())
}

async fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    for _ in 0..100 {
        match socket.send(datagram).await {
            Ok(_) => return Ok(()),
            Err(error) => LEDGER.error(&LEDGER.resent, "a datagram", &error),
        }
    }
    Err(io::Error::other("a datagram could not be sent"))
}
