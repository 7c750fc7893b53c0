//! Processes.

#![cfg(unix)]

#[cfg(target_os = "linux")]
use crate::common;
use crate::common::{Woken, kind, poll_once, soon, until, waiting, waits};
use arc::runtime::{Builder, Runtime};
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use arc_util::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use arc_util::task::{JoinSet, unconstrained};
use rustix::process::{Pid, test_kill_process};
use std::future::poll_fn;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::task::Poll;

const SIGKILL: Option<i32> = Some(9);

/// The system has no child of that number: not even a zombie.
#[cfg(target_os = "linux")]
const ECHILD: Option<i32> = Some(10);

/// The process has no descriptors left.
#[cfg(target_os = "linux")]
const EMFILE: Option<i32> = Some(24);

/// A line of shell.
fn sh(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// A process that runs until its standard input ends.
fn waits_for_input() -> Command {
    let mut command = sh("read line; exit 3");
    command.stdin(Stdio::piped());
    command
}

/// Runs a line of shell whose three streams are pipes.
fn with_pipes(line: &str) -> Child {
    let mut command = sh(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether there is no such process. An ended one that nobody has asked for its status is there.
fn is_gone(id: u32) -> bool {
    let id = Pid::from_raw(id.try_into().unwrap()).unwrap();
    test_kill_process(id).is_err()
}

fn number(child: &Child) -> u32 {
    child.id().expect("its end has not been seen")
}

#[arc::test]
async fn the_status_is_the_same_each_time_and_the_number_is_gone() {
    let mut child = sh("exit 2").spawn().unwrap();
    let id = number(&child);
    assert!(id > 0);
    let status = soon(child.wait()).await.unwrap();
    assert_eq!(status.code(), Some(2));
    assert_eq!(child.id(), None);
    assert!(is_gone(id));
    assert_eq!(soon(child.wait()).await.unwrap(), status);
    assert_eq!(child.try_wait().unwrap(), Some(status));
}

#[arc::test]
async fn who_tries_to_wait_is_told_whether_it_runs() {
    let mut child = waits_for_input().spawn().unwrap();
    let id = number(&child);
    assert_eq!(child.try_wait().unwrap(), None);
    assert_eq!(child.id(), Some(id));
    assert!(child.stdin.is_some(), "that closes nothing");
    drop(child.stdin.take());
    let ended = async {
        while child.try_wait().unwrap().is_none() {
            arc::task::yield_now().await;
        }
    };
    soon(ended).await;
    assert_eq!(child.id(), None);
    assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(3));
    assert_eq!(soon(child.wait()).await.unwrap().code(), Some(3));
}

#[arc::test]
async fn a_wait_closes_the_input() {
    let mut child = waits_for_input().spawn().unwrap();
    assert_eq!(soon(child.wait()).await.unwrap().code(), Some(3));
    assert!(child.stdin.is_none());
    // `status` closes its ends of all three. What is written to nobody is an error of the process.
    let mut command = sh("read line; echo to nobody || exit 5");
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert!(!soon(pipes.status()).await.unwrap().success());
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_wait_that_is_dropped_loses_nothing() {
    let mut child = waits_for_input().spawn().unwrap();
    let input = child.stdin.take();
    let (woken, waker) = Woken::new();
    for _ in 0..3 {
        assert!(poll_once(pin!(child.wait()), &waker).is_pending());
    }
    assert_eq!(woken.count(), 0);
    drop(input);
    until(|| woken.count() > 0).await;
    assert_eq!(soon(child.wait()).await.unwrap().code(), Some(3));
}

#[arc::test]
async fn a_process_is_killed() {
    let mut child = waits_for_input().spawn().unwrap();
    soon(child.kill()).await.unwrap();
    assert_eq!(child.id(), None);
    assert_eq!(soon(child.wait()).await.unwrap().signal(), SIGKILL);

    // What has ended, whether or not somebody has seen it, is killed without an error.
    let mut child = sh("exit 2").stdout(Stdio::piped()).spawn().unwrap();
    let mut nothing = Vec::new();
    let mut output = child.stdout.take().unwrap();
    soon(output.read_to_end(&mut nothing)).await.unwrap();
    child.start_kill().unwrap();
    soon(child.wait()).await.unwrap();
    child.start_kill().unwrap();
    soon(child.kill()).await.unwrap();
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn large_streams_go_both_ways_at_once() {
    let mut child = with_pipes("cat");
    let sent: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    let mut input = child.stdin.take().unwrap();
    let bytes = sent.clone();
    let writer = arc::spawn(async move { input.write_all(&bytes).await });
    let output = soon(child.wait_with_output()).await.unwrap();
    soon(writer).await.unwrap().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == sent, "{} bytes came back", output.stdout.len());
}

#[arc::test]
async fn both_outputs_are_read_while_the_end_is_waited_for() {
    // Each is more than a pipe holds: whoever read one after the other would wait for ever.
    let line = "head -c 300000 /dev/zero >&2; head -c 400000 /dev/zero; exit 4";
    let output = soon(sh(line).stdin(Stdio::null()).output()).await.unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!((output.stdout.len(), output.stderr.len()), (400_000, 300_000));

    // What is no pipe is not read.
    let child = sh("exit 0").spawn().unwrap();
    let output = soon(child.wait_with_output()).await.unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0));
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn many_processes_end_at_once() {
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        tasks.spawn(async {
            let children = (0..10).map(|code| {
                let mut child = sh(&format!("exit {code}")).kill_on_drop(true).spawn().unwrap();
                async move { child.wait().await.unwrap().code() }
            });
            arc_util::task::JoinSet::from_iter(children).join_all().await
        });
    }
    for mut codes in soon(tasks.join_all()).await {
        codes.sort();
        assert_eq!(codes, (0..10).map(Some).collect::<Vec<_>>());
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn who_is_dropped_is_killed_if_that_was_asked_for() {
    let mut command = waits_for_input();
    assert!(!command.get_kill_on_drop());
    assert!(command.kill_on_drop(true).get_kill_on_drop());
    let mut child = command.spawn().unwrap();
    let (id, input) = (number(&child), child.stdin.take());
    drop(child);
    // Its input is still open: it has not ended by itself. And no zombie is left.
    until(|| is_gone(id)).await;
    drop(input);

    // What it has started is not killed.
    let mut command = sh("exec 3<&0; (read line <&3; echo it ran) & echo $!; wait");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut first = [0];
    soon(output.read_exact(&mut first)).await.unwrap();
    drop(child);
    input.write_all(b"go\n").await.unwrap();
    let mut text = String::new();
    soon(output.read_to_string(&mut text)).await.unwrap();
    assert!(text.ends_with("it ran\n"), "{text}");
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn who_is_dropped_goes_on_and_leaves_no_zombie() {
    let mut inputs = Vec::new();
    let mut ids = Vec::new();
    for round in 0..20 {
        let mut child = waits_for_input().spawn().unwrap();
        inputs.push(child.stdin.take());
        ids.push(number(&child));
        if round % 2 == 0 {
            // Somebody has waited for it before.
            assert!(waits(child.wait()));
        }
        drop(child);
    }
    // No task is seen of them.
    assert_eq!(arc_util::runtime::Handle::current().tasks().len(), 0);
    for (id, input) in ids.into_iter().zip(inputs) {
        assert!(!is_gone(id), "it goes on");
        drop(input);
        until(|| is_gone(id)).await;
    }
}

#[arc::test]
async fn who_is_dropped_without_a_budget_leaves_no_zombie() {
    let mut child = waits_for_input().spawn().unwrap();
    let (id, input) = (number(&child), child.stdin.take());
    while arc::task::has_budget_remaining() {
        arc::task::consume_budget().await;
    }
    drop(child);
    drop(input);
    until(|| is_gone(id)).await;
}

#[test]
fn a_future_of_status_that_is_dropped_leaves_no_zombie() {
    let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
    runtime.block_on(async {
        let mut command = Command::new("sleep");
        command.arg("1000").kill_on_drop(true).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let status = command.status();
        drop((child, status));
        // All have gone that could write to the pipe.
        let mut nothing = Vec::new();
        soon(output.read_to_end(&mut nothing)).await.unwrap();
    });
}

#[test]
fn what_outlives_its_runtime_is_asked_for_by_the_next_process() {
    let runtime = Runtime::new().unwrap();
    let mut children =
        runtime.block_on(async { [(); 3].map(|()| waits_for_input().spawn().unwrap()) });
    let ids = children.each_ref().map(number);
    let inputs = children.each_mut().map(|child| child.stdin.take());

    // One is dropped before the end of its runtime, one by it, and one after it.
    let [early, held, late] = children;
    drop(early);
    runtime.spawn(async move {
        std::future::pending::<()>().await;
        drop(held);
    });
    drop(runtime);
    drop(late);
    Runtime::new().unwrap().block_on(soon(async {
        sh("exit 0").status().await.unwrap();
        assert!(!ids.iter().any(|id| is_gone(*id)), "they go on");
        drop(inputs);
        while !ids.iter().all(|id| is_gone(*id)) {
            sh("exit 0").status().await.unwrap();
        }
    }));
}

#[test]
fn a_process_is_waited_for_in_another_runtime() {
    for ends_before in [true, false] {
        let first = Builder::new_current_thread().build().unwrap();
        let mut child = first.block_on(async {
            let mut child = waits_for_input().spawn().unwrap();
            assert!(!waits(child.wait()) || child.stdin.is_none());
            child
        });
        // A runtime that is not running, and one that has ended.
        let first = Some(first).filter(|_| !ends_before);
        let waited = Runtime::new().unwrap().block_on(soon(child.wait()));
        assert_eq!(waited.unwrap().code(), Some(3));
        drop(first);
    }
}

#[test]
fn outside_a_runtime_nothing_is_started() {
    let panic = std::panic::catch_unwind(|| Command::new("/no such program").spawn());
    let message = panic.expect_err("to start it would only be an error");
    let message = message.downcast_ref::<&str>().expect("a text");
    assert!(message.contains("outside an arc runtime"), "{message}");
}

#[arc::test]
async fn what_cannot_be_started_is_an_error() {
    let error = Command::new("/no such program").spawn().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(kind(soon(Command::new("/no such program").output()).await), ErrorKind::NotFound);
}

/// Reads the first part while the process waits for a line, and the second one after it.
async fn read_in_two_parts(reader: &mut (impl AsyncReadExt + Unpin), input: &mut ChildStdin) {
    let mut part = [0; 4];
    soon(reader.read_exact(&mut part)).await.unwrap();
    assert_eq!(&part, b"one\n");
    assert!(waits(reader.read(&mut part)));
    input.write_all(b"go on\n").await.unwrap();
    soon(reader.read_exact(&mut part)).await.unwrap();
    assert_eq!(&part, b"two\n");
    // Until here the process was there: the event was that of bytes, and not that of an end.
    input.write_all(b"end\n").await.unwrap();
    assert_eq!(soon(reader.read(&mut part)).await.unwrap(), 0);
}

#[arc::test]
async fn what_is_written_before_the_end_is_heard_of() {
    let mut child = with_pipes("echo one; read line; echo two; read line");
    let mut input = child.stdin.take().unwrap();
    read_in_two_parts(child.stdout.as_mut().unwrap(), &mut input).await;
    assert!(soon(child.wait()).await.unwrap().success());

    let mut child = with_pipes("echo one >&2; read line; echo two >&2; read line");
    let mut input = child.stdin.take().unwrap();
    read_in_two_parts(child.stderr.as_mut().unwrap(), &mut input).await;
    assert!(soon(child.wait()).await.unwrap().success());
}

/// Writes until the pipe is full, and returns how much that was.
async fn fill(input: &mut ChildStdin) -> usize {
    let mut written = 0;
    // Without a budget, so that pending means full.
    unconstrained(poll_fn(|context| {
        use arc_util::io::AsyncWrite;
        loop {
            match Pin::new(&mut *input).poll_write(context, &[b'x'; 8192]) {
                Poll::Ready(count) => written += count.expect("somebody has the other end"),
                Poll::Pending => break Poll::Ready(()),
            }
        }
    }))
    .await;
    written
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_full_pipe_has_room_again() {
    let (gate, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut gate = arc_util::io::Async::new(gate).unwrap();
    let mut command = sh("read line <&2; wc -c");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let theirs = Stdio::from(std::os::fd::OwnedFd::from(theirs));
    let mut child = command.stderr(theirs).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = fill(&mut input).await;
    assert!(written > 0);
    futures_util::AsyncWriteExt::write_all(&mut gate, b"read\n").await.unwrap();
    soon(input.write_all(b"x")).await.unwrap();
    drop(input);
    let output = soon(child.wait_with_output()).await.unwrap();
    let counted = String::from_utf8(output.stdout).unwrap();
    assert_eq!(counted.trim().parse(), Ok(written + 1));
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn who_writes_hears_of_the_end() {
    let mut command = Command::new("sleep");
    let mut child = command.arg("1000").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    fill(&mut input).await;
    let writer = arc::spawn(async move { input.write_all(&[0; 8192]).await });
    soon(child.kill()).await.unwrap();
    assert_eq!(kind(soon(writer).await.unwrap()), ErrorKind::BrokenPipe);
}

#[arc::test]
async fn one_process_reads_what_another_writes() {
    let mut first = sh("echo from the first").stdout(Stdio::piped()).spawn().unwrap();
    let pipe: Stdio = first.stdout.take().unwrap().try_into().unwrap();
    let output = soon(Command::new("cat").stdin(pipe).output()).await.unwrap();
    assert_eq!(output.stdout, b"from the first\n");
    assert!(soon(first.wait()).await.unwrap().success());

    // A descriptor that is given away blocks, as its next user expects.
    let mut child = with_pipes("read line; echo $line");
    let output = child.stdout.take().unwrap().into_owned_fd().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::from(output).read_to_string(&mut text).map(|_| text)
    });
    let mut input = child.stdin.take().unwrap();
    assert!(input.as_fd().try_clone_to_owned().is_ok());
    input.write_all(b"it blocks\n").await.unwrap();
    assert!(soon(child.wait()).await.unwrap().success());
    assert_eq!(reader.join().unwrap().unwrap(), "it blocks\n");
}

#[arc::test]
async fn the_settings_are_those_of_std() {
    let mut command = sh("echo $0 $ONE $TWO $THREE$PATH; pwd; ps -o pgid= -p $$");
    command
        .arg0("another-name")
        .env_clear()
        .env("ONE", "1")
        .envs([("TWO", 2), ("THREE", 3)].map(|(name, value)| (name, value.to_string())));
    command.env_remove("THREE").env("PATH", "/bin:/usr/bin").current_dir("/").process_group(0);
    assert_eq!(command.as_std().get_program(), "sh");
    command.as_std_mut().env("ONE", "one");
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let id = number(&child);
    let output = soon(child.wait_with_output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(lines, ["another-name one 2 /bin:/usr/bin", "/", &id.to_string()]);

    let std = Command::from(std::process::Command::new("true")).into_std();
    assert_eq!(std.get_program(), "true");
}

#[test]
fn all_of_it_may_be_sent_and_shared() {
    fn may<T: Send + Sync + Unpin>() {}
    may::<Command>();
    may::<Child>();
    may::<ChildStdin>();
    may::<ChildStdout>();
    may::<ChildStderr>();
}

/// The numbers of this process's children, zombies included.
#[cfg(target_os = "linux")]
fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    let parent_of = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before it may have anything in it.
        stat.rsplit(')').next()?.split_whitespace().nth(1).map(str::to_owned)
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| parent_of(*id).as_ref() == Some(&own)).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn without_descriptors_there_are_errors_and_nothing_is_left() {
    let name = "process::without_descriptors_there_are_errors_and_nothing_is_left";
    if let Some(child) = common::child(name, "ulimit -n 40") {
        return drop(common::ended(child));
    }
    Runtime::new().unwrap().block_on(async {
        let mut taken = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        // Without pipes the process is started, and then there is no descriptor to hear of its end.
        let error = Command::new("sleep").arg("1000").spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), EMFILE, "{error}");

        // With one descriptor more each time, until there are enough.
        let mut command = waits_for_input();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = loop {
            match command.spawn() {
                Ok(child) => break child,
                Err(error) => assert_eq!(error.raw_os_error(), EMFILE, "{error}"),
            }
            taken.pop().expect("there are enough at some time");
        };
        assert_eq!(soon(child.wait()).await.unwrap().code(), Some(3));
        drop(taken);
        let reaped = async {
            // Each start begins with a look at those that were left.
            while !children().is_empty() {
                sh("exit 0").status().await.unwrap();
            }
        };
        soon(reaped).await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn no_thread_is_needed() {
    let name = "process::no_thread_is_needed";
    crate::thread_limit::with_limited_threads(name, || {
        Builder::new_current_thread().build().unwrap().block_on(async {
            soon(sh("exit 0").status()).await.unwrap();
            crate::thread_limit::allow_threads(0);
            let error = sh("exit 0").spawn().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
            // The process itself is the one.
            crate::thread_limit::allow_threads(1);
            assert!(soon(Command::new("true").status()).await.unwrap().success());
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let (id, input) = (number(&child), child.stdin.take());
            drop((child, input));
            until(|| is_gone(id)).await;
        });
    });
}

#[cfg(target_os = "linux")]
#[test]
fn where_sigchld_is_ignored_nothing_hangs() {
    let name = "process::where_sigchld_is_ignored_nothing_hangs";
    if let Some(child) = common::child(name, r#"exec env --ignore-signal=CHLD "$0" "$@""#) {
        return drop(common::ended(child));
    }
    Runtime::new().unwrap().block_on(async {
        // Who hears of the end by the signal does not ignore it any more, and gets the status.
        if let Err(error) = soon(sh("exit 0").status()).await {
            assert_eq!(error.raw_os_error(), ECHILD, "{error}");
        }
        drop(waits_for_input().kill_on_drop(true).spawn().unwrap());
    });
}

/// What is tried in the child of a fork.
#[cfg(target_os = "linux")]
fn after_the_fork(of_the_parent: &mut Child, spared: Child) {
    // The copy of a child of its parent's is not killed.
    drop(spared);
    for runtime in [Runtime::new(), Builder::new_current_thread().build()] {
        runtime.unwrap().block_on(async {
            assert_eq!(soon(arc::task::spawn_blocking(|| 5)).await.unwrap(), 5);
            let (mut client, mut server) = common::tcp_pair().await;
            client.write_all(b"sent").await.unwrap();
            let mut text = [0; 4];
            soon(server.read_exact(&mut text)).await.unwrap();
            for code in 0..3 {
                let status = soon(sh(&format!("exit {code}")).status()).await.unwrap();
                assert_eq!(status.code(), Some(code));
            }
            let mut child = waits_for_input().kill_on_drop(true).spawn().unwrap();
            let (id, input) = (number(&child), child.stdin.take());
            drop(child);
            until(|| is_gone(id)).await;
            drop(input);
            let error = soon(of_the_parent.wait()).await.unwrap_err();
            assert_eq!(error.raw_os_error(), ECHILD, "{error}");
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_of_a_fork_runs_processes() {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use std::os::unix::process::CommandExt;

    let name = "process::the_child_of_a_fork_runs_processes";
    if let Some(child) = common::child(name, "") {
        return drop(common::ended(child));
    }
    // A runtime that runs, with a child that does; and a child that has outlived its runtime.
    let runtime = Builder::new_multi_thread().workers(2).build().unwrap();
    let mut child = runtime.block_on(async { waits_for_input().spawn().unwrap() });
    let input = child.stdin.take();
    // From now on the event alone tells of its end.
    assert!(runtime.block_on(async { waits(child.wait()) }));
    let mut left = Runtime::new().unwrap().block_on(async { waits_for_input().spawn().unwrap() });
    let left_input = left.stdin.take();
    let mut command = waits_for_input();
    command.kill_on_drop(true);
    let mut spared = Runtime::new().unwrap().block_on(async { command.spawn().unwrap() });
    let spared_input = spared.stdin.take();
    let left_id = number(&left);
    drop(left);

    // SAFETY: The other threads wait in the kernel, and hold no lock that the child could need. The
    // child ends by `exec`, so that nothing of the parent's is dropped.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let tried = std::panic::catch_unwind(move || {
                after_the_fork(&mut child, spared);
                // Not dropped, which the parent would notice: they share an epoll instance.
                std::mem::forget(child);
            });
            let program = if tried.is_ok() { "true" } else { "false" };
            let error = std::process::Command::new(program).exec();
            unreachable!("{error}");
        }
        ForkResult::Parent { child: forked } => {
            assert_eq!(waitpid(forked, None).unwrap(), WaitStatus::Exited(forked, 0));
        }
    }

    // The parent has noticed nothing.
    runtime.block_on(async {
        assert_eq!(spared.try_wait().unwrap(), None);
        drop((input, left_input, spared_input));
        assert_eq!(soon(spared.wait()).await.unwrap().code(), Some(3));
        assert_eq!(soon(child.wait()).await.unwrap().code(), Some(3));
        assert!(soon(sh("exit 0").status()).await.unwrap().success());
        until(|| is_gone(left_id)).await;
    });
}

#[arc::test]
async fn an_end_that_is_polled_by_hand_is_heard_of() {
    let mut child = waits_for_input().spawn().unwrap();
    let input = child.stdin.take();
    let ends = waiting(child.wait());
    drop(input);
    // Another waker than before: this one is woken.
    assert_eq!(soon(ends).await.unwrap().code(), Some(3));
}
