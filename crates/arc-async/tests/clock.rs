//! tokio's names for a clock that a test moves.
//! `cargo test -p arc-async --features sim --test clock`.

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
