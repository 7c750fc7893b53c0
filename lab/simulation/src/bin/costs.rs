//! Measures what looking, waking and sleeping cost on this machine, and prints it as the
//! options of `simulate`.

#[cfg(target_os = "linux")]
fn main() {
    on_linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("Error: this program measures epoll, which only Linux has");
    std::process::exit(1);
}

#[cfg(target_os = "linux")]
mod on_linux {
    use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
    use rustix::time::{ClockId, clock_gettime};
    use std::collections::VecDeque;
    use std::hint::black_box;
    use std::os::fd::OwnedFd;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// How often a thread is woken, and how long it has slept by then.
    const WAKES: usize = 2_000;
    const PAUSE: Duration = Duration::from_micros(300);

    /// How often what takes less than a microsecond is repeated, and of how many such
    /// series the median is taken.
    const REPEATS: u32 = 20_000;
    const SERIES: usize = 9;

    /// A working set that another one displaces: what a poll finds in the first two caches.
    const LINES: usize = 512;
    const LINE_BYTES: usize = 64;
    const DISPLACED_BYTES: usize = 4 << 20;

    pub fn main() {
        let futex = wakes();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
        let descriptors: Vec<OwnedFd> = (0..64).map(|index| ready(&epoll, index)).collect();
        let all = each(|| look(&epoll, 64));
        for descriptor in &descriptors[1..] {
            epoll::delete(&epoll, descriptor).expect("it was added");
        }
        let one = each(|| look(&epoll, 64));
        epoll::delete(&epoll, &descriptors[0]).expect("it was added");
        let none = each(|| look(&epoll, 64));
        let event = (all - one) / 63.0;

        let mut queue = VecDeque::new();
        let poll = each(|| {
            queue.push_back(black_box(1));
            black_box(queue.pop_front());
        });
        let lock = AtomicU64::new(0);
        let exchange = each(|| {
            black_box(lock.swap(1, Ordering::SeqCst));
        });
        let clock = each(|| {
            black_box(Instant::now());
        });
        let cold = cold();

        println!("median of each, in nanoseconds; as options of simulate:\n");
        println!(
            "--wake {:.0} --delay {:.0} --sleep {:.0} --cold {cold:.0} --look {none:.0} \
             --event {event:.0} --steal {:.0} --search {:.0} \
             --poll {:.0} --clock {clock:.0}",
            futex.wake,
            futex.delay,
            futex.sleep,
            // Two ends of a queue that another core has written, and its items.
            6.0 * exchange + cold / 16.0,
            // The length of such a queue.
            cold / LINES as f64 * 2.0,
            // A push and a pop: two exchanges each.
            4.0 * exchange + poll,
        );
    }

    /// The median time of one call, in nanoseconds.
    fn each(mut act: impl FnMut()) -> f64 {
        let series = (0..SERIES).map(|_| {
            let start = Instant::now();
            for _ in 0..REPEATS {
                act();
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(REPEATS)
        });
        median(series.collect())
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// A descriptor that always has an event.
    fn ready(epoll: &OwnedFd, index: u64) -> OwnedFd {
        let descriptor = eventfd(1, EventfdFlags::CLOEXEC).expect("eventfd");
        let data = epoll::EventData::new_u64(index);
        epoll::add(epoll, &descriptor, data, epoll::EventFlags::IN).expect("epoll_ctl");
        descriptor
    }

    fn look(epoll: &OwnedFd, most: usize) {
        let mut events = Vec::with_capacity(most);
        let spare = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(epoll, spare, Some(&Timespec::default())).expect("epoll_wait");
        black_box(&events);
    }

    struct Wakes {
        wake: f64,
        delay: f64,
        sleep: f64,
    }

    /// One thread unparks another one, again and again.
    fn wakes() -> Wakes {
        let start = Instant::now();
        let nanos = move || start.elapsed().as_nanos() as u64;
        let (woken, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let before = cpu_time();
                while !ends.load(Ordering::Acquire) {
                    thread::park();
                    woken.store(nanos(), Ordering::Release);
                }
                (cpu_time() - before).as_secs_f64() * 1e9 / WAKES as f64
            });
            let (mut wake, mut delay) = (Vec::new(), Vec::new());
            for _ in 0..WAKES {
                // Not by a sleep: this core must be awake when it wakes the other one.
                let pause = Instant::now();
                while pause.elapsed() < PAUSE {
                    std::hint::spin_loop();
                }
                woken.store(0, Ordering::Release);
                let begin = nanos();
                sleeper.thread().unpark();
                wake.push((nanos() - begin) as f64);
                while woken.load(Ordering::Acquire) == 0 {
                    std::hint::spin_loop();
                }
                delay.push((woken.load(Ordering::Acquire) - begin) as f64);
            }
            ends.store(true, Ordering::Release);
            sleeper.thread().unpark();
            let sleep = sleeper.join().expect("it only sleeps");
            Wakes { wake: median(wake), delay: median(delay), sleep }
        })
    }

    fn cpu_time() -> Duration {
        clock_gettime(ClockId::ThreadCPUTime).try_into().expect("it is not negative")
    }

    /// How much longer it takes to read some lines after others have displaced them.
    fn cold() -> f64 {
        let mut set = vec![0_u8; LINES * LINE_BYTES];
        let mut other = vec![0_u8; DISPLACED_BYTES];
        let touch = |bytes: &mut [u8]| {
            for line in bytes.chunks_mut(LINE_BYTES) {
                line[0] = line[0].wrapping_add(1);
            }
        };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..200 {
            touch(black_box(&mut other));
            for times in &mut times {
                let start = Instant::now();
                touch(black_box(&mut set));
                times.push(start.elapsed().as_secs_f64() * 1e9);
            }
        }
        let [cold, warm] = times.map(median);
        (cold - warm).max(0.0)
    }
}
