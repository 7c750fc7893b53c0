//! System calls that fail or are slow, and limits that are reached.
//!
//! strace makes the calls of a fixed amount of work fail (`lab/trials/src/workload/`), which
//! must come out right all the same, or end with a clear error. What comes of each fault
//! is a line of a table; docs/RELIABILITY.md has it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::tool::{self, Tool, row};
use crate::workspace_root;
use crate::{Outcome, Trial, network};

const WORKLOAD: &str = "target/release/workload";
const CALLS: &str = "target/trust/faults.strace";
/// What no run takes: a second or so is usual.
const LIMIT: Duration = Duration::from_secs(40);

pub fn trials() -> Vec<Trial> {
    vec![
        Trial {
            name: "faults",
            what: "system calls that fail or are slow, limits that are reached",
            on_demand: false,
            missing: || {
                tool::missing(&["strace", "prlimit", "unshare", "setpriv"]).or_else(tool::not_root)
            },
            run,
        },
        network::trial(),
    ]
}

/// A fault, what is promised when it happens, and how it is brought about.
struct Fault {
    name: &'static str,
    promised: &'static str,
    /// The call, and what strace makes of it.
    inject: (&'static str, &'static str),
    /// For the workload.
    options: &'static str,
    /// 3: the runtime is not built.
    code: i32,
    /// What the workload must say.
    says: &'static str,
}

const RETRIED: &str = "tried again; nobody gets to know of it";
const FORGOTTEN: &str = "an error for whoever asked; what is tried again comes out right; a \
     descriptor that the kernel refuses to forget stays open";
const REPORTED: &str = "an error for whoever asked; what is tried again comes out right";
const PAUSED: &str = "an error after 50 ms; the connection waits, and none is lost";
const REFUSED: &str = "no runtime, and an error that says what was missing";
const LATE: &str = "nothing but delay";
const WAITS: &str = "the job waits for a thread that there is";

/// What the system says, by its number: that is what a build returns.
const NO_FILE: &str = "Too many open files (os error 24)";
const NO_THREAD: &str = "Resource temporarily unavailable (os error 11)";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    come_right("epoll_pwait: EINTR", RETRIED, ("epoll_pwait", "error=EINTR:when=2+2")),
    come_right("recvfrom: EINTR", RETRIED, ("recvfrom", "error=EINTR:when=2+3")),
    come_right("sendto: EINTR", RETRIED, ("sendto", "error=EINTR:when=2+3")),
    come_right("write to the eventfd: EINTR", RETRIED, ("write", "error=EINTR:when=1+2")),
    come_right("accept4: EINTR", RETRIED, ("accept4", "error=EINTR:when=2+3")),
    come_right("accept4: ECONNABORTED", "passed over; none of the others is lost",
        ("accept4", "error=ECONNABORTED:when=2+3")),
    Fault { says: "accept: Too many open files (os error 24)",
        ..come_right("accept4: EMFILE", PAUSED, ("accept4", "error=EMFILE:when=2+5")) },
    Fault { says: "accept: Too many open files in system",
        ..come_right("accept4: ENFILE", PAUSED, ("accept4", "error=ENFILE:when=2+5")) },
    Fault { says: "accept: No buffer space",
        ..come_right("accept4: ENOBUFS", PAUSED, ("accept4", "error=ENOBUFS:when=2+5")) },
    Fault { says: "accept: Cannot allocate memory",
        ..come_right("accept4: ENOMEM", PAUSED, ("accept4", "error=ENOMEM:when=2+5")) },
    Fault { options: "--tries 9 --leaks 40", says: "Cannot allocate memory",
        ..come_right("epoll_ctl: ENOMEM", FORGOTTEN, ("epoll_ctl", "error=ENOMEM:when=8+7")) },
    Fault { options: "--tries 9 --leaks 40", says: "No space left",
        ..come_right("epoll_ctl: ENOSPC", FORGOTTEN, ("epoll_ctl", "error=ENOSPC:when=8+7")) },
    Fault { options: "--tries 9", says: "Too many open files",
        ..come_right("socket: EMFILE", REPORTED, ("socket", "error=EMFILE:when=4+5")) },
    Fault { options: "--tries 9", says: "Network is unreachable",
        ..come_right("connect: ENETUNREACH", REPORTED,
            ("connect", "error=ENETUNREACH:when=4+5")) },
    Fault { options: "--connections 0", says: "a datagram: No buffer space",
        ..come_right("sendto of a datagram: ENOBUFS", REPORTED,
            ("sendto", "error=ENOBUFS:when=2+3")) },
    not_built("epoll_create1: EMFILE", NO_FILE, ("epoll_create1", "error=EMFILE:when=1")),
    not_built("eventfd2: EMFILE", NO_FILE, ("eventfd2", "error=EMFILE:when=2")),
    not_built("timerfd_create: EMFILE", NO_FILE,
        ("timerfd_create", "error=EMFILE:when=2")),
    not_built("epoll_ctl: ENOMEM at the start", "Cannot allocate memory (os error 12)",
        ("epoll_ctl", "error=ENOMEM:when=3")),
    not_built("clone3: EAGAIN, first worker", NO_THREAD, ("clone3", "error=EAGAIN:when=1")),
    not_built("clone3: EAGAIN, second worker", NO_THREAD, ("clone3", "error=EAGAIN:when=2")),
    not_built("clone3: EAGAIN, monitor", NO_THREAD, ("clone3", "error=EAGAIN:when=3")),
    // strace counts the calls of each thread by themselves: with one worker it is the main
    // thread that starts those for jobs, after the worker's and the monitor.
    Fault { options: "--wakes 0 --workers 1",
        ..come_right("clone3: EAGAIN, second thread for jobs", WAITS,
            ("clone3", "error=EAGAIN:when=4")) },
    Fault { options: "--wakes 0 --workers 1",
        ..come_right("clone3: EAGAIN, all threads for jobs but one", WAITS,
            ("clone3", "error=EAGAIN:when=4+1")) },
    come_right("epoll_pwait: 3 ms late, before", LATE, ("epoll_pwait", "delay_enter=3ms")),
    come_right("epoll_pwait: 3 ms late, after", LATE, ("epoll_pwait", "delay_exit=3ms")),
    come_right("epoll_ctl: 3 ms late", LATE, ("epoll_ctl", "delay_exit=3ms")),
    come_right("accept4: 3 ms late", LATE, ("accept4", "delay_exit=3ms")),
    come_right("connect: 3 ms late", LATE, ("connect", "delay_exit=3ms")),
    come_right("recvfrom: 3 ms late, before", LATE, ("recvfrom", "delay_enter=3ms:when=1+3")),
    come_right("recvfrom: 3 ms late, after", LATE, ("recvfrom", "delay_exit=3ms:when=2+3")),
    come_right("sendto: 3 ms late", LATE, ("sendto", "delay_exit=3ms:when=1+2")),
    come_right("futex: 2 ms late, before", LATE, ("futex", "delay_enter=2ms")),
    come_right("futex: 2 ms late, after", LATE, ("futex", "delay_exit=2ms")),
    come_right("timerfd_settime: 3 ms late", LATE, ("timerfd_settime", "delay_exit=3ms")),
    come_right("write to the eventfd: 3 ms late, before", LATE, ("write", "delay_enter=3ms")),
    come_right("write to the eventfd: 3 ms late, after", LATE, ("write", "delay_exit=3ms")),
];

/// All of the work is done.
const fn come_right(
    name: &'static str,
    promised: &'static str,
    inject: (&'static str, &'static str),
) -> Fault {
    Fault { name, promised, inject, options: "", code: 0, says: "OK" }
}

/// The runtime is not built.
const fn not_built(
    name: &'static str,
    says: &'static str,
    inject: (&'static str, &'static str),
) -> Fault {
    Fault { name, promised: REFUSED, inject, options: "", code: 3, says }
}

fn run() -> Result<Outcome, String> {
    Tool::new("cargo build --release -p arc-trials").run()?;
    tool::note("| fault | promised | seen |\n|---|---|---|");
    let usual = usual()?;
    let mut injected = 0;
    for fault in FAULTS {
        injected += inject(fault, &usual)?;
    }
    let limits = limits()?;
    clocks()?;
    children()?;
    Ok(Outcome {
        tried: format!(
            "{} faults, {injected} injections; {limits} limits; 2 clocks; processes forked",
            FAULTS.len()
        ),
        found: String::new(),
    })
}

/// What strace is told besides: of the calls of `write` only those to an eventfd.
fn traced(calls: &str) -> String {
    let only = if calls == "write" { " -P anon_inode:[eventfd]" } else { "" };
    format!("strace -f -qq -o {CALLS} -e trace={calls}{only}")
}

/// How often each call is made when nothing fails.
fn usual() -> Result<BTreeMap<String, usize>, String> {
    let mut usual = BTreeMap::new();
    let names: Vec<_> =
        FAULTS.iter().map(|fault| fault.inject.0).filter(|&it| it != "write").collect();
    for calls in [names.join(",").as_str(), "write"] {
        Tool::new(&format!("{} {WORKLOAD}", traced(calls))).limit(LIMIT).run()?;
        for line in calls_made()? {
            *usual.entry(line.0).or_default() += 1;
        }
    }
    Ok(usual)
}

/// The calls that were made: their names, and whether strace had a hand in them. Those
/// that another thread came between are told in two lines.
fn calls_made() -> Result<Vec<(String, bool)>, String> {
    let path = workspace_root().join(CALLS);
    let text = fs::read_to_string(path).map_err(|error| format!("{CALLS}: {error}"))?;
    let calls = text.lines().filter_map(|line| {
        let rest = line.trim_start_matches(|it: char| it.is_ascii_digit()).trim_start();
        let had = rest.contains("(INJECTED)") || rest.contains("(DELAYED)");
        let name = match rest.strip_prefix("<... ") {
            Some(resumed) if had => resumed.split(' ').next()?,
            Some(_) => return None,
            None => rest.split_once('(')?.0,
        };
        Some((name.to_owned(), had))
    });
    Ok(calls.collect())
}

/// Brings a fault about. Tells how often strace did.
fn inject(fault: &Fault, usual: &BTreeMap<String, usize>) -> Result<usize, String> {
    let (call, inject) = fault.inject;
    let line = format!("{} -e inject={call}:{inject} {WORKLOAD} {}", traced(call), fault.options);
    let printed = Tool::new(&line).limit(LIMIT).codes(&[fault.code]).run()?;
    let wrong = |what: String| Err(format!("{}: {what}: {line}", fault.name));
    if !printed.contains(fault.says) || (fault.code == 0 && !printed.contains("\nOK\n")) {
        return wrong(format!("it did not say {:?}, and OK", fault.says));
    }
    let calls = calls_made()?;
    let injected = calls.iter().filter(|call| call.1).count();
    if injected == 0 {
        return wrong("nothing was injected".to_owned());
    }
    // What spins makes a hundred thousand calls while the others take their time.
    let most = 4 * usual.get(call).copied().unwrap_or(0) + 10 * injected + 200;
    if calls.len() > most {
        return wrong(format!("{} calls, more than {most}", calls.len()));
    }
    let told = printed.lines().filter_map(|line| line.strip_prefix("told: "));
    let told: Vec<_> =
        told.chain(printed.lines().filter(|line| line.starts_with("NO RUNTIME"))).collect();
    let told =
        if told.is_empty() { "no error".to_owned() } else { format!("`{}`", told.join("`, `")) };
    row(fault.name, fault.promised, &format!("{injected} of {} calls: {told}", calls.len()));
    Ok(injected)
}

/// Runs the work within limits of what a process may have: it comes out right, or it is
/// not begun.
fn limits() -> Result<usize, String> {
    let mut tried = 0;
    let mut seen = BTreeMap::new();
    for descriptors in (4..40).step_by(3) {
        let options = "--tries 20 --patience-ms 100 --at-once 2 --connections 6 --jobs 5";
        let line = format!("prlimit --nofile={descriptors} {WORKLOAD} {options}");
        *seen.entry(within(&line, &[RIGHT, NOT_BUILT, TOLD, REFUSED_ALL])?).or_insert(0) += 1;
        tried += 1;
    }
    row("4 to 37 descriptors", "an error, or all comes out right", &summary(&seen));
    seen.clear();
    for mebibytes in [8, 16, 24, 32, 64, 128, 256, 1024] {
        let line =
            format!("prlimit --as={} {WORKLOAD} --tries 9 --jobs 0 --wakes 0", mebibytes << 20);
        *seen.entry(within(&line, &[RIGHT, NOT_BUILT, ABORTED, UNLOADED])?).or_insert(0) += 1;
        tried += 1;
    }
    let promised = "no runtime, or all comes out right; Rust aborts when it gets no memory";
    row("8 to 1024 MiB of addresses", promised, &summary(&seen));
    seen.clear();
    // Root has no such limit; and of whoever has no name, nobody else runs a process.
    for threads in 1..7 {
        let user = "setpriv --reuid=61234 --regid=61234 --clear-groups";
        let line = format!("prlimit --nproc={threads} {user} {WORKLOAD} --jobs 0 --wakes 0");
        *seen.entry(within(&line, &[RIGHT, NOT_BUILT])?).or_insert(0) += 1;
        tried += 1;
    }
    row("1 to 6 threads", "no runtime, or all comes out right", &summary(&seen));
    Ok(tried)
}

fn summary(seen: &BTreeMap<&str, usize>) -> String {
    let parts: Vec<_> = seen.iter().map(|(what, often)| format!("{often} x {what}")).collect();
    parts.join(", ")
}

/// What may come of a limit: what the program says, and what that is called.
type End = (&'static str, &'static str);
const RIGHT: End = ("\nOK\n", "all right");
const NOT_BUILT: End = ("NO RUNTIME", "no runtime");
const TOLD: End = ("told: ", "an error");
const REFUSED_ALL: End = ("\nFAILED: ", "an error");
const ABORTED: End = ("memory allocation of", "aborted for want of memory");
const UNLOADED: End = ("error while loading shared libraries", "not loaded by the system");

/// What came of it, if it is one of what may.
fn within(line: &str, ends: &[End]) -> Result<&'static str, String> {
    let printed = Tool::new(line).limit(LIMIT).codes(&[0, 1, 3, 127, 134]).run()?;
    let end = ends.iter().find(|(text, _)| printed.contains(text));
    let is_begun = printed.contains("account: ");
    let is_clean = printed.contains("wrong=0") && printed.contains("descriptors_left=0");
    let is_wrong = printed.contains("\nWRONG\n") || (is_begun && !is_clean);
    match end {
        Some((_, what)) if !is_wrong => Ok(what),
        _ => Err(format!("`{line}`: it neither came right nor told why")),
    }
}

/// Only the clock that never jumps is used. In a time namespace it stands elsewhere.
fn clocks() -> Result<(), String> {
    let calls = "timerfd_create,timerfd_settime,futex,epoll_pwait,clock_nanosleep,clock_gettime";
    Tool::new(&format!("{} {WORKLOAD}", traced(calls))).limit(LIMIT).run()?;
    let text = fs::read_to_string(workspace_root().join(CALLS)).map_err(|it| it.to_string())?;
    let waits = text.lines().count();
    // To join a thread glibc names that clock, and waits for ever by it.
    let timed = |line: &&str| line.contains("REALTIME") && !line.contains(", NULL, FUTEX");
    if let Some(line) = text.lines().find(timed) {
        return Err(format!("a clock is waited for that may jump: {line}"));
    }
    if !text.contains("timerfd_create(CLOCK_MONOTONIC") {
        return Err("there is no timer of CLOCK_MONOTONIC".to_owned());
    }
    for days in [1_000_u64, 30_000] {
        let seconds = days * 86_400;
        let line = format!("unshare --time --monotonic {seconds} --boottime {seconds} {WORKLOAD}");
        Tool::new(&line).limit(LIMIT).run()?;
    }
    let seen = format!("{waits} waits, none for CLOCK_REALTIME; right in 2 time namespaces");
    row("the clock is set", "no timer notices: only CLOCK_MONOTONIC is used", &seen);
    Ok(())
}

/// Processes are forked off and executed while the work goes on.
fn children() -> Result<(), String> {
    let line = format!("{WORKLOAD} --children 100 --connections 200");
    let printed = Tool::new(&line).limit(LIMIT).run()?;
    if !printed.contains("children=100 ") {
        return Err(format!("`{line}`: too few processes"));
    }
    let promised = "no descriptor of arc's is inherited";
    row("fork and exec in the midst of it", promised, "100 processes, all right");
    Ok(())
}
