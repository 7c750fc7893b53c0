//! What Linux says in /proc about the server, the load and the machine, in seconds.

use anyhow::Result;
use procfs::process::Process;
use procfs::{CurrentSI, KernelStats};

/// What the machine has done so far, summed over its cores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Time {
    pub busy: f64,
    pub stolen: f64,
    pub total: f64,
}

/// CPU that a process has used, with all threads that are and were.
///
/// # Errors
///
/// It is gone.
pub fn cpu(pid: u32) -> Result<f64> {
    let stat = Process::new(pid as i32)?.stat()?;
    Ok(seconds(stat.utime + stat.stime))
}

/// The same of this process and of its children that have ended.
pub fn own_cpu() -> Result<f64> {
    let stat = Process::myself()?.stat()?;
    let children = stat.cutime + stat.cstime;
    Ok(seconds(stat.utime + stat.stime) + seconds(children as u64))
}

/// What the machine has done.
pub fn time() -> Result<Time> {
    let it = KernelStats::current()?.total;
    let interrupts = it.irq.unwrap_or(0) + it.softirq.unwrap_or(0);
    let busy = it.user + it.nice + it.system + interrupts;
    let stolen = it.steal.unwrap_or(0);
    let total = busy + it.idle + it.iowait.unwrap_or(0) + stolen;
    Ok(Time { busy: seconds(busy), stolen: seconds(stolen), total: seconds(total) })
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_part_of_the_machine() {
        assert!(cpu(std::process::id()).unwrap() <= own_cpu().unwrap());
        assert!(time().unwrap().total > own_cpu().unwrap());
    }
}
