//! Everything at random for a while, from a seed: rounds of runtimes, each of which must
//! leave nothing behind.

mod acts;
mod census;
mod life;
mod outsider;
mod sockets;
mod task;
mod world;

use crate::account::{ACCOUNT, fault, hush};
use crate::process;
use fastrand::Rng;
use outsider::Outsider;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use world::Round;

/// For how long nothing may come to its end.
const PATIENCE: Duration = Duration::from_secs(30);
/// By how much the memory may be larger at the end than it was after the first tenth.
const ROOM_KIB: u64 = 16 * 1024;

/// Runs everything that arc does at random for a while, and keeps an account of it
#[derive(clap::Parser)]
pub struct Options {
    /// For how long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// What is chosen is chosen by it; a new one, which is printed. Only who overtakes whom is new
    /// in each run
    #[arg(long, default_value_t = fastrand::u64(..1 << 32), hide_default_value = true)]
    seed: u64,
    /// Begin with this round of the seed
    #[arg(long = "round", value_name = "ROUND", default_value_t = 0)]
    first: u64,
}

/// The round that is on, for the watchdog.
static CURRENT: Mutex<Option<Arc<Round>>> = Mutex::new(None);

/// Runs, prints the account, and tells whether nothing was wrong.
pub fn run(options: &Options) -> bool {
    println!("soak: --seconds {} --seed {}", options.seconds, options.seed);
    hush();
    let seed = options.seed;
    thread::spawn(move || watch(seed));
    let outsider = Outsider::start();
    let (start, limit) = (Instant::now(), Duration::from_secs(options.seconds));
    let mut record = Record::default();
    for number in options.first.. {
        if start.elapsed() >= limit || ACCOUNT.faults.get() > 0 {
            break;
        }
        round(seed, number, &outsider);
        ACCOUNT.rounds.add(1);
        record.add(start.elapsed() >= limit / 10, number, &outsider);
    }
    record.judge();
    ACCOUNT.print();
    println!("{:>14} tasks lost", ACCOUNT.tasks.get() - ACCOUNT.dropped.get());
    if ACCOUNT.faults.get() > 0 {
        println!("FAILED: to repeat it: --seconds {} --seed {seed}", options.seconds);
        return false;
    }
    println!("OK after {} s", start.elapsed().as_secs());
    true
}

fn round(seed: u64, number: u64, outsider: &Outsider) {
    let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let round = Round::new(number, outsider);
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(round.clone());
    let worlds: Vec<_> = (0..rng.usize(1..4))
        .map(|world| {
            let (round, rng) = (round.clone(), rng.fork());
            thread::spawn(move || life::run(round, world, rng))
        })
        .collect();
    for world in worlds {
        if world.join().is_err() {
            fault(format_args!("a thread of round {number} panicked"));
        }
    }
    // Errands may still spawn or abort, and what ends in the background does so soon.
    outsider.settle();
    for world in round.worlds() {
        world.census.wait_until_empty();
        wait_for(|| world.handle.tasks().is_empty());
    }
    outsider.settle();
    wait_for(|| process::threads(life::THREADS) == 0);
    round.leave();
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Waits for what nobody tells of. The watchdog has the patience.
fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_micros(200));
    }
}

/// What the process had between rounds, when it had warmed up and later.
#[derive(Default)]
struct Record {
    descriptors: Option<usize>,
    early_kib: u64,
    late_kib: Vec<u64>,
    last_kib: u64,
    early_rounds: u32,
}

/// The last so many rounds, of which the least counts: memory goes up and down.
const LAST_ROUNDS: usize = 50;

impl Record {
    fn add(&mut self, is_late: bool, round: u64, outsider: &Outsider) {
        // The last thing that ends may still close what it had.
        let before = *self.descriptors.get_or_insert_with(process::descriptors);
        let start = Instant::now();
        while process::descriptors() > before && start.elapsed() < PATIENCE / 3 {
            outsider.settle();
        }
        if process::descriptors() > before {
            let names = process::descriptor_names().join(" ");
            fault(format_args!("round {round} left descriptors open, {before} before: {names}"));
        }
        self.last_kib = process::resident_kib();
        if !is_late {
            self.early_rounds += 1;
            self.early_kib = self.early_kib.max(self.last_kib);
            return;
        }
        self.late_kib.push(self.last_kib);
        if self.late_kib.len() > LAST_ROUNDS {
            self.late_kib.remove(0);
        }
    }

    fn judge(&self) {
        let least = self.late_kib.iter().min().copied().unwrap_or(self.last_kib);
        println!(
            "{:>14} KiB resident at most in the first {} rounds, {least} in the last {}",
            self.early_kib,
            self.early_rounds,
            self.late_kib.len(),
        );
        let descriptors = self.descriptors.unwrap_or(0);
        println!("{descriptors:>14} descriptors at first, {} at last", process::descriptors());
        if self.early_rounds > 20 && least > self.early_kib + ROOM_KIB {
            fault("the memory has grown");
        }
    }
}

/// Ends the process when nothing comes to its end any more, and tells what waits.
fn watch(seed: u64) {
    let progress = || {
        let account = &ACCOUNT;
        [account.dropped.get(), account.rounds.get(), account.messages.get(), account.bytes.get()]
    };
    let (mut before, mut since) = (progress(), Instant::now());
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = progress();
        if now != before {
            (before, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            break;
        }
    }
    eprintln!("FAULT: nothing has ended for {} s, with --seed {seed}", PATIENCE.as_secs());
    let round = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for world in round.iter().flat_map(|round| round.worlds()) {
        eprintln!("{}, {}:", world.census, world.census.state());
        for task in world.handle.tasks().iter().take(100) {
            eprintln!("  {task}");
        }
    }
    ACCOUNT.print();
    std::process::abort();
}
