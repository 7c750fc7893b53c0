//! The life of one runtime of a round: built, set to work, and ended in one way or another.

use super::acts;
use super::census::Census;
use super::task::Child;
use super::world::{Round, World};
use crate::account::{ACCOUNT, fault};
use arc_util::runtime::{Builder, Runtime};
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What the threads of all runtimes are called.
pub const THREADS: &str = "of-arc";

/// How a runtime ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// When all of its tasks have ended by themselves.
    Complete,
    Drop,
    Shutdown(Duration),
    Background,
    /// From inside one of its own tasks.
    Inside,
}

impl Ending {
    fn any(rng: &mut Rng) -> Self {
        match rng.u8(..10) {
            0 => Ending::Drop,
            1 => Ending::Shutdown(Duration::from_micros(rng.u64(..20_000))),
            2 => Ending::Background,
            3 => Ending::Inside,
            _ => Ending::Complete,
        }
    }
}

/// Builds a runtime, lets tasks loose in it, and ends it.
pub fn run(round: Arc<Round>, number: usize, mut rng: Rng) {
    let runtime = Builder::new_multi_thread()
        .workers(rng.usize(1..=4))
        .thread_name(THREADS)
        .event_interval([1, 7, 61][rng.usize(..3)])
        .on_long_poll(|_| ACCOUNT.long_polls.add(1))
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fault(format_args!("a runtime was not built: {error}")),
    };
    ACCOUNT.runtimes.add(1);
    let world = Arc::new(World {
        round: round.clone(),
        census: Arc::new(Census::new(round.number, number)),
        handle: runtime.handle().clone(),
    });
    round.enter(&world);
    let roots = rng.usize(1..60);
    let mut children: Vec<Child> =
        (0..roots).map(|_| world.spawn(&mut rng, None, acts::any)).collect();
    for child in &children {
        if rng.u8(..6) == 0 {
            let abort = child.aborter();
            round.outside(rng.u64(..2_000), abort);
        }
    }
    for _ in 0..rng.usize(..roots.div_ceil(4).max(1)) {
        drop(children.pop());
    }
    let guests: Vec<_> = (0..rng.usize(..3)).map(|_| guest(&world, rng.fork())).collect();
    end(runtime, &world, &mut children, &mut rng);
    for guest in guests {
        if guest.join().is_err() {
            fault(format_args!("a thread in block_on panicked, in {}", world.census));
        }
    }
    for mut child in children {
        futures_lite::future::block_on(child.join());
    }
}

/// A thread in `block_on`. When the runtime ends, its timers panic.
fn guest(world: &Arc<World>, mut rng: Rng) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        for _ in 0..rng.usize(1..4) {
            let (_ticket, tracked) = world.tracked(&mut rng, None, acts::any);
            let run = || drop(world.handle.block_on(tracked.without_bomb()));
            drop(catch_unwind(AssertUnwindSafe(run)));
        }
    })
}

fn end(runtime: Runtime, world: &Arc<World>, children: &mut Vec<Child>, rng: &mut Rng) {
    let ending = Ending::any(rng);
    if let Ending::Complete = ending {
        if rng.bool() {
            runtime.block_on(async {
                for child in &mut *children {
                    child.join().await;
                }
            });
        }
        world.census.wait_until_empty();
        world.census.stop();
        return drop(runtime);
    }
    // In the midst of it: when so many of its futures are gone.
    let some = rng.u64(..200);
    world.census.wait_until(|futures| futures.dropped >= some.min(futures.made));
    ACCOUNT.endings_early.add(1);
    world.census.stop();
    match ending {
        Ending::Complete | Ending::Drop => drop(runtime),
        Ending::Shutdown(limit) => drop(runtime.shutdown(limit)),
        Ending::Background => runtime.shutdown_background(),
        Ending::Inside => {
            let handle = runtime.handle().clone();
            drop(handle.spawn(async move { runtime.shutdown_background() }));
        }
    }
}
