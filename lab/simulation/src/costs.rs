//! What looking, waking and sleeping cost, in nanoseconds.

use crate::machine::Nanos;

/// The costs, one for all policies. They are options of `simulate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// CPU of the thread that wakes another one.
    pub wake: Nanos,
    /// Until a woken thread runs, on a core that was idle.
    pub delay: Nanos,
    /// Until a woken thread is ready to run, on a core that is busy.
    pub queue: Nanos,
    /// CPU of going to sleep and of waking up.
    pub sleep: Nanos,
    /// How much longer the first poll after a sleep takes, as the caches are cold.
    pub cold: Nanos,
    /// A look at the kernel, and each event that it brings.
    pub look: Nanos,
    /// Each event of a look.
    pub event: Nanos,
    /// To move tasks from another worker's queue.
    pub steal: Nanos,
    /// To find another worker's queue empty.
    pub search: Nanos,
    /// To push and pop a task, and all else around a poll.
    pub poll: Nanos,
    /// To read the clock.
    pub clock: Nanos,
    /// A tick of the monitor.
    pub tick: Nanos,
}

impl Default for Costs {
    /// Of a virtual machine with 2 cores (Xeon, Linux 6.18) that had other work, too: the
    /// medians of four runs of `costs`. The queue and the tick are estimates.
    fn default() -> Self {
        Self {
            wake: 5_500,
            delay: 3_700,
            queue: 1_000,
            sleep: 4_900,
            cold: 1_000,
            look: 330,
            event: 220,
            steal: 110,
            search: 4,
            poll: 40,
            clock: 30,
            tick: 3_000,
        }
    }
}

impl Costs {
    /// Nothing costs anything: for comparison with formulas.
    pub const NONE: Self = Self {
        wake: 0,
        delay: 0,
        queue: 0,
        sleep: 0,
        cold: 0,
        look: 0,
        event: 0,
        steal: 0,
        search: 0,
        poll: 0,
        clock: 0,
        tick: 0,
    };

    /// The cost with this name; None: there is none.
    pub fn named(&mut self, name: &str) -> Option<&mut Nanos> {
        Some(match name {
            "wake" => &mut self.wake,
            "delay" => &mut self.delay,
            "queue" => &mut self.queue,
            "sleep" => &mut self.sleep,
            "cold" => &mut self.cold,
            "look" => &mut self.look,
            "event" => &mut self.event,
            "steal" => &mut self.steal,
            "search" => &mut self.search,
            "poll" => &mut self.poll,
            "clock" => &mut self.clock,
            "tick" => &mut self.tick,
            _ => return None,
        })
    }
}
