//! What looking, waking and sleeping cost, in nanoseconds.

use crate::machine::Nanos;

/// The same for all policies, as measured on a virtual machine with 2 cores (Xeon, Linux 6.18) that
/// had other work, too; the tick is an estimate. By `default`, nothing costs anything: for
/// comparison with formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct Costs {
    /// CPU of the thread that wakes another one
    #[arg(long, default_value_t = 5_500)]
    pub wake: Nanos,
    /// Until a woken thread runs
    #[arg(long, default_value_t = 3_700)]
    pub delay: Nanos,
    /// CPU of going to sleep and of waking up
    #[arg(long, default_value_t = 4_900)]
    pub sleep: Nanos,
    /// How much longer the first poll after a sleep takes, as the caches are cold
    #[arg(long, default_value_t = 1_000)]
    pub cold: Nanos,
    /// A look at the kernel
    #[arg(long, default_value_t = 330)]
    pub look: Nanos,
    /// Each event of a look
    #[arg(long, default_value_t = 220)]
    pub event: Nanos,
    /// To move tasks from another worker's queue
    #[arg(long, default_value_t = 110)]
    pub steal: Nanos,
    /// To find another worker's queue empty
    #[arg(long, default_value_t = 4)]
    pub search: Nanos,
    /// To push and pop a task, and all else around a poll
    #[arg(long, default_value_t = 40)]
    pub poll: Nanos,
    /// To read the clock
    #[arg(long, default_value_t = 30)]
    pub clock: Nanos,
    /// A tick of the monitor
    #[arg(long, default_value_t = 3_000)]
    pub tick: Nanos,
}
