//! What tasks do at random, but for sockets: wait, spawn, abort, panic, block, talk.

use super::sockets;
use super::task::{Act, Brood};
use super::world::Me;
use crate::account::{ACCOUNT, fault};
use arc::task::yield_now;
use arc_util::sync::{mpmc, oneshot};
use arc_util::time::interval;
use arc_util::time::{Duration, Instant, sleep, sleep_until, timeout};
use std::future::{Future, pending};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

/// How deep tasks spawn tasks that spawn tasks.
const DEPTH_MAX: u32 = 3;

/// Anything, in a task of its own.
pub fn any(me: Me) -> Act {
    let mut me = me;
    match me.rng.u8(..if me.depth < DEPTH_MAX { 26 } else { 18 }) {
        0 | 1 => Box::pin(yields(me)),
        2..=4 => Box::pin(sleeps(me)),
        5 => Box::pin(timeouts(me)),
        6 => Box::pin(ticks(me)),
        7 => Box::pin(panics(me)),
        8 => Box::pin(blocks(me)),
        9 | 10 => Box::pin(channel(me)),
        11 => Box::pin(woken_from_outside(me)),
        12 => Box::pin(dropped_outside(me)),
        13..=17 => sockets::any(me),
        18..=20 => Box::pin(family(me)),
        21 | 22 => Box::pin(infanticide(me)),
        23 => Box::pin(detaches(me)),
        24 => Box::pin(elsewhere(me)),
        _ => sockets::server(me),
    }
}

async fn yields(mut me: Me) -> io::Result<()> {
    for _ in 0..me.rng.u32(..200) {
        yield_now().await;
    }
    Ok(())
}

fn not_early(deadline: Instant) {
    ACCOUNT.timers.add(1);
    if Instant::now() < deadline {
        fault("a timer fired early");
    }
}

/// Sleeps, some of them set to another time before or after they are over.
async fn sleeps(mut me: Me) -> io::Result<()> {
    for _ in 0..me.rng.u32(1..6) {
        let mut deadline = Instant::now() + me.micros(3_000);
        let mut pause = pin!(sleep_until(deadline));
        for _ in 0..me.rng.u32(..3) {
            match me.rng.u8(..3) {
                0 => pause.as_mut().await,
                1 => drop(futures_lite::future::poll_once(pause.as_mut()).await),
                _ => {}
            }
            deadline = Instant::now() + me.micros(2_000);
            pause.as_mut().reset(deadline);
        }
        pause.await;
        not_early(deadline);
    }
    Ok(())
}

async fn timeouts(mut me: Me) -> io::Result<()> {
    for _ in 0..me.rng.u32(1..10) {
        let limit = me.micros(1_000);
        let deadline = Instant::now() + limit;
        if timeout(limit, pending::<()>()).await.is_ok() {
            fault("a timeout said that what never ends had ended");
        }
        not_early(deadline);
        if timeout(Duration::from_secs(600), yield_now()).await.is_err() {
            fault("a timeout of ten minutes was over at once");
        }
    }
    Ok(())
}

async fn ticks(mut me: Me) -> io::Result<()> {
    let period = Duration::from_micros(me.rng.u64(50..2_000));
    let start = Instant::now();
    let mut interval = interval(period);
    for tick in 0..me.rng.u32(1..20) {
        interval.tick().await;
        not_early(start + period * tick);
    }
    Ok(())
}

async fn panics(mut me: Me) -> io::Result<()> {
    if me.rng.bool() {
        sleep(me.micros(500)).await;
    }
    me.ticket.panic()
}

/// Jobs, some of them aborted before or after they began.
async fn blocks(mut me: Me) -> io::Result<()> {
    let mut jobs = Brood::default();
    for _ in 0..me.rng.u32(1..5) {
        jobs.push(me.spawn_job());
    }
    if me.rng.u8(..4) == 0 {
        jobs.get(0).abort();
    }
    if me.rng.u8(..8) == 0 {
        jobs.release();
    }
    jobs.join().await;
    Ok(())
}

/// Several tasks send, one or more receive; nothing is lost, and nothing overtakes.
async fn channel(mut me: Me) -> io::Result<()> {
    let (senders, each) = (me.rng.usize(1..4), me.rng.u64(1..100));
    let (sender, receiver) = mpmc::bounded::<(usize, u64)>(me.rng.usize(1..20));
    let mut brood = Brood::default();
    for number in 0..senders {
        let sender = sender.clone();
        brood.push(me.spawn(move |mut me| async move {
            for value in 0..each {
                if me.rng.u8(..64) == 0 {
                    sleep(me.micros(200)).await;
                }
                sender.send((number, value)).await.map_err(io::Error::other)?;
            }
            // Its bomb, if it has one, goes off when all has been sent.
            Ok(())
        }));
    }
    drop(sender);
    let mut next = vec![0; senders];
    while let Ok((number, value)) = receiver.recv().await {
        ACCOUNT.messages.add(1);
        if std::mem::replace(&mut next[number], value + 1) != value && !me.ticket.may_fail() {
            fault("a message was lost, doubled, or out of order");
        }
    }
    if next.iter().any(|&next| next != each) && !me.ticket.may_fail() {
        fault("a message did not arrive");
    }
    brood.join().await;
    Ok(())
}

/// A thread that is in no runtime wakes it.
async fn woken_from_outside(mut me: Me) -> io::Result<()> {
    for number in 0..me.rng.u64(1..5) {
        let (sender, receiver) = oneshot::channel();
        let micros = me.rng.u64(..100);
        me.world.round.outside(micros, move || _ = sender.send(number));
        if receiver.await != Ok(number) {
            fault("what came from outside is not what was sent");
        }
        ACCOUNT.messages.add(1);
    }
    Ok(())
}

/// Timers that are armed here are disarmed by a thread that is in no runtime.
async fn dropped_outside(mut me: Me) -> io::Result<()> {
    let mut pause = Box::pin(sleep(Duration::from_secs(1_000) + me.micros(1_000)));
    let polled = Pin::new(&mut pause).poll(&mut Context::from_waker(Waker::noop()));
    if polled.is_ready() {
        fault("a sleep of 1,000 s was over at once");
    }
    let micros = me.rng.u64(..100);
    me.world.round.outside(micros, move || drop(pause));
    Ok(())
}

async fn family(mut me: Me) -> io::Result<()> {
    let mut brood = Brood::default();
    for _ in 0..me.rng.u32(1..7) {
        brood.push(me.spawn(any));
        if me.rng.u8(..4) == 0 {
            yield_now().await;
        }
    }
    brood.join().await;
    Ok(())
}

/// Spawns, and aborts at random moments what it spawned. Some of it never ends by itself.
async fn infanticide(mut me: Me) -> io::Result<()> {
    let mut brood = Brood::default();
    for _ in 0..me.rng.u32(1..7) {
        let child = match me.rng.u8(..4) {
            0 => me.spawn(|_| Box::pin(pending())),
            1 => me.spawn(|_| async {
                loop {
                    yield_now().await;
                }
            }),
            2 => me.spawn(|_| async {
                sleep(Duration::from_secs(5_000)).await;
                Ok(())
            }),
            _ => me.spawn(any),
        };
        brood.push(child);
    }
    for index in 0..brood.len() {
        match me.rng.u8(..4) {
            0 => yield_now().await,
            1 => sleep(me.micros(300)).await,
            _ => {}
        }
        if me.rng.u8(..4) == 0 {
            let (micros, abort) = (me.rng.u64(..100), brood.get(index).aborter());
            me.world.round.outside(micros, abort);
        } else {
            brood.get(index).abort();
        }
    }
    brood.join().await;
    Ok(())
}

/// What it spawned goes on without it.
async fn detaches(mut me: Me) -> io::Result<()> {
    for _ in 0..me.rng.u32(1..4) {
        drop(me.spawn(any));
    }
    Ok(())
}

/// Spawns on another runtime of the round, which may have ended.
async fn elsewhere(mut me: Me) -> io::Result<()> {
    let worlds = me.world.round.worlds();
    let world = worlds[me.rng.usize(..worlds.len())].clone();
    drop(worlds);
    let mut rng = me.rng.fork();
    let mut child = world.spawn(&mut rng, Some(&me), any);
    match me.rng.u8(..3) {
        0 => child.abort(),
        1 => return Ok(()),
        _ => {}
    }
    child.join().await;
    Ok(())
}
