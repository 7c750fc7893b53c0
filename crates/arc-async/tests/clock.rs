//! tokio's names for a clock that a test moves.
//! `cargo test -p arc-async --features test-util --test clock`.

use arc_async as arc;

use arc::time::{self, Duration, Instant, sleep, timeout};
use std::panic::catch_unwind;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn clock_stands_until_it_is_moved() {
    arc_sim::run(1, async {
        time::pause();
        let start = Instant::now();
        let sleeper = arc::spawn(sleep(HOUR));
        time::advance(HOUR / 2).await;
        assert!((HOUR / 2..HOUR).contains(&start.elapsed()));
        assert!(!sleeper.is_finished());
        time::advance(HOUR / 2).await;
        sleeper.await.unwrap();
        assert!(start.elapsed() >= HOUR);

        time::resume();
        assert!(timeout(HOUR, std::future::pending::<()>()).await.is_err());
        assert!(start.elapsed() >= 2 * HOUR);
    });
}

#[test]
fn clock_of_the_system_is_not_moved() {
    for moves in [time::pause, time::resume] {
        assert!(catch_unwind(moves).is_err());
    }
    let runtime = arc::runtime::Runtime::new().unwrap();
    let task = runtime.spawn(time::advance(HOUR));
    assert!(runtime.block_on(task).unwrap_err().is_panic());
}

/// Its jobs are the simulation's. So the clock does not jump to the end of the timeout meanwhile,
/// whatever the seed.
#[test]
fn files_are_read_before_the_clock_jumps() {
    for seed in 0..20 {
        arc_sim::run(seed, async {
            let read = timeout(HOUR, arc::fs::read("Cargo.toml")).await;
            assert!(!read.expect("in time").expect("it is there").is_empty());
        });
    }
}

/// By the attribute alone, as in a program for tokio. The clock shows what was slept for, and no
/// more: tests compare times by `assert_eq!`.
#[arc::test(crate = "arc_async", start_paused = true)]
async fn clock_that_starts_paused_jumps_to_the_deadlines() {
    let start = Instant::now();
    sleep(HOUR).await;
    assert_eq!(start.elapsed(), HOUR);
    assert!(timeout(HOUR, std::future::pending::<()>()).await.is_err());
    assert_eq!(start.elapsed(), 2 * HOUR);
    time::advance(HOUR / 2).await;
    assert_eq!(start.elapsed(), 5 * HOUR / 2);
}

/// In the order in which they were spawned, as on tokio's current-thread runtime.
#[arc::test(crate = "arc_async", start_paused = true)]
async fn tasks_have_their_turns_in_order() -> Result<(), arc::task::JoinError> {
    let (sender, mut receiver) = arc::sync::mpsc::unbounded_channel();
    for number in 0..100 {
        let sender = sender.clone();
        arc::spawn(async move {
            sender.send(number).unwrap();
            sleep(HOUR).await;
            sender.send(100 + number).unwrap();
        });
    }
    drop(sender);
    for number in 0..200 {
        assert_eq!(receiver.recv().await, Some(number));
    }
    // A connection of the kernel, beside a clock that jumps.
    let listener = arc::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = arc::spawn(timeout(HOUR, arc::net::TcpStream::connect(address)));
    timeout(HOUR, listener.accept()).await.expect("in time").unwrap();
    client.await?.expect("in time").unwrap();
    Ok(())
}

#[arc::main(crate = "arc_async", flavor = "current_thread", start_paused = true)]
async fn paused() -> Duration {
    let start = Instant::now();
    sleep(HOUR).await;
    start.elapsed()
}

#[test]
fn any_function_can_have_a_clock_that_starts_paused() {
    assert_eq!(paused(), HOUR);
}
