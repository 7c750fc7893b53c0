//! What Linux says in /proc about the server, the load and the machine.

use std::fs;
use std::path::Path;

use crate::Failure;

/// Ticks per second in /proc: what the kernel calls USER_HZ, 100 on every platform
/// that Rust's std knows.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds of CPU, of all threads that are and were.
    pub user: f64,
    pub system: f64,
    /// Context switches, voluntary or not, of all threads that there are.
    pub switches: u64,
    /// Those of them that were not.
    pub involuntary: u64,
}

/// What the machine has done so far, in seconds summed over its cores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Time {
    pub busy: f64,
    pub stolen: f64,
    pub total: f64,
}

/// What a process has used.
///
/// # Errors
///
/// It is gone.
pub fn usage(pid: u32) -> Result<Usage, Failure> {
    let folder = format!("/proc/{pid}");
    let (user, system) = cpu(&read(&format!("{folder}/stat"))?, FIELD_UTIME)?;
    let mut usage = Usage { user, system, ..Usage::default() };
    for thread in fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten() {
        // A thread that ends meanwhile has no status any more.
        if let Ok(status) = fs::read_to_string(thread.path().join("status")) {
            let involuntary = field(&status, "nonvoluntary_ctxt_switches").unwrap_or(0);
            let voluntary = field(&status, "voluntary_ctxt_switches").unwrap_or(0);
            usage.switches += voluntary + involuntary;
            usage.involuntary += involuntary;
        }
    }
    Ok(usage)
}

/// Seconds of CPU of this process and of its children that have ended.
pub fn own_cpu() -> Result<f64, Failure> {
    let stat = read("/proc/self/stat")?;
    let (user, system) = cpu(&stat, FIELD_UTIME)?;
    let (children_user, children_system) = cpu(&stat, FIELD_CUTIME)?;
    Ok(user + system + children_user + children_system)
}

/// The most memory a process has had, in KiB.
pub fn peak_kib(pid: u32) -> Result<u64, Failure> {
    status(pid, "VmHWM")
}

/// What the machine has done.
pub fn time() -> Result<Time, Failure> {
    machine_time(&read("/proc/stat")?).ok_or_else(|| strange("/proc/stat"))
}

/// Numbered as in proc_pid_stat(5); those of ended children follow.
const FIELD_UTIME: usize = 14;
const FIELD_CUTIME: usize = 16;

/// User and system time, in seconds: two fields that are neighbours.
fn cpu(stat: &str, field: usize) -> Result<(f64, f64), Failure> {
    // The second field is the program's name, which may hold anything. The one
    // after its closing parenthesis is the third.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = fields.split_whitespace().skip(field - 3);
    let mut next = || fields.next()?.parse::<u64>().ok();
    match (next(), next()) {
        (Some(user), Some(system)) => {
            Ok((user as f64 / TICKS_PER_SECOND, system as f64 / TICKS_PER_SECOND))
        }
        _ => Err(strange("/proc/PID/stat")),
    }
}

fn machine_time(stat: &str) -> Option<Time> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks = line.split_whitespace().map(|it| it.parse::<f64>().ok());
    let ticks = ticks.collect::<Option<Vec<_>>>()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
    let [user, nice, system, idle, wait, irq, soft_irq, steal] = *ticks.first_chunk()?;
    let seconds = |ticks: f64| ticks / TICKS_PER_SECOND;
    Some(Time {
        busy: seconds(user + nice + system + irq + soft_irq),
        stolen: seconds(steal),
        total: seconds(user + nice + system + idle + wait + irq + soft_irq + steal),
    })
}

fn status(pid: u32, name: &str) -> Result<u64, Failure> {
    let path = format!("/proc/{pid}/status");
    field(&read(&path)?, name).ok_or_else(|| strange(&path))
}

/// The number of a line such as `VmHWM: 1234 kB`.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.into_iter().find(|(key, _)| *key == name)?;
    value.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(Path::new(path))
        .map_err(|error| Failure(format!("{path} cannot be read: {error}")))
}

fn strange(path: &str) -> Failure {
    Failure(format!("{path} does not look as it should"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "1 (a) b (c)) S 1 1 1 0 -1 4 5 0 0 0 150 25 300 50 20 0";
        assert_eq!(cpu(stat, FIELD_UTIME), Ok((1.5, 0.25)));
        assert_eq!(cpu(stat, FIELD_CUTIME), Ok((3.0, 0.5)));
        assert!(cpu("1 (a) S 1", FIELD_UTIME).is_err());
    }

    #[test]
    fn the_machine_is_busy_or_idle_or_stolen() {
        let stat = "cpu  100 100 200 1000 100 50 50 400 7 7\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let expected = Time { busy: 5.0, stolen: 4.0, total: 20.0 };
        assert_eq!(machine_time(stat), Some(expected));
        assert_eq!(machine_time("intr 1 2\n"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = "nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t2\nVmHWM:  8 kB\n";
        assert_eq!(field(status, "voluntary_ctxt_switches"), Some(2));
        assert_eq!(field(status, "VmHWM"), Some(8));
        assert_eq!(field(status, "VmRSS"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_found() {
        let pid = std::process::id();
        assert!(usage(pid).unwrap().switches > 0);
        assert!(peak_kib(pid).unwrap() > 0);
        assert!(time().unwrap().total > own_cpu().unwrap());
    }
}
