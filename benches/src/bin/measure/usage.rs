//! What Linux says in /proc about CPU.

use anyhow::Result;
use procfs::process::Process;
use procfs::{CurrentSI, KernelStats};

/// Ticks of CPU until now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Of the server, with all threads that are and were.
    pub server: u64,
    /// Of this program, of its threads that keep cores busy on purpose, and of the load generators
    /// that have ended.
    pub own: u64,
    /// Of the whole machine, with what its host gave to others.
    pub busy: u64,
    /// What the machine could have used.
    pub total: u64,
}

impl Usage {
    pub fn now(server: u32) -> Result<Self> {
        let own = Process::myself()?.stat()?;
        let server = Process::new(server as i32)?.stat()?;
        let machine = KernelStats::current()?.total;
        let interrupts = machine.irq.unwrap_or(0) + machine.softirq.unwrap_or(0);
        let stolen = machine.steal.unwrap_or(0);
        let busy = machine.user + machine.nice + machine.system + interrupts + stolen;
        Ok(Self {
            server: server.utime + server.stime,
            own: own.utime + own.stime + (own.cutime + own.cstime) as u64,
            busy,
            total: busy + machine.idle + machine.iowait.unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_part_of_the_machine() {
        let usage = Usage::now(std::process::id()).unwrap();
        assert!(usage.server <= usage.own && usage.own < usage.busy && usage.busy < usage.total);
    }
}
