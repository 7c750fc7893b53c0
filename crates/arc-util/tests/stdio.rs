//! Standard input and output, in processes of their own.

use crate::common::{all_text, child, ended, few_threads, fill_the_pool, soon};
use arc::runtime::Runtime;
use arc_util::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use arc_util::io::{stderr, stdin, stdout};
use arc_util::task::unconstrained;
use futures_util::FutureExt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn run(inside: impl Future<Output = ()>) {
    Runtime::new().unwrap().block_on(inside);
}

/// What a child tells by its standard error, line by line.
struct Told {
    errors: BufReader<ChildStderr>,
    text: String,
}

impl Told {
    fn by(child: &mut Child) -> Self {
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { errors, text: String::new() }
    }

    /// Waits until it has told this.
    fn until(&mut self, end: &str) {
        self.text.clear();
        while !self.text.ends_with(end) {
            let count = self.errors.read_line(&mut self.text).unwrap();
            assert!(count > 0, "{}", self.text);
        }
    }

    /// Waits until the child has ended well.
    fn ends_well(mut self, child: &mut Child) {
        self.errors.read_to_string(&mut self.text).unwrap();
        assert!(child.wait().unwrap().success(), "{}", self.text);
    }
}

#[test]
fn lines_of_standard_input_are_answered() {
    let Some(mut child) = child("stdio::lines_of_standard_input_are_answered", "") else {
        return run(async {
            let (mut lines, mut out) = (arc_util::io::BufReader::new(stdin()).lines(), stdout());
            while let Some(line) = lines.next_line().await.unwrap() {
                let answer = format!("<{line}>\n");
                out.write_all(answer.as_bytes()).await.unwrap();
            }
            out.flush().await.unwrap();
            let mut err = stderr();
            err.write_all(b"the end\n").await.unwrap();
            err.shutdown().await.unwrap();
            // Closing the handle has not closed the stream of the process.
            eprintln!("it is open");
        });
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one\ntwo\nthree").unwrap();
    drop(input);
    let (out, err) = ended(child);
    assert!(out.contains("<one>\n<two>\n<three>\n"), "{out}");
    assert!(err.contains("the end\nit is open\n"), "{err}");
}

/// The numbers of the lines that a child printed, in their order.
fn numbers(text: &str) -> Vec<usize> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("line "));
    lines.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn a_handle_for_each_line_loses_no_line() {
    let Some(child) = child("stdio::a_handle_for_each_line_loses_no_line", "") else {
        return run(async {
            println!();
            for number in 0..100 {
                let line = format!("line {number}\n");
                stdout().write_all(line.as_bytes()).await.unwrap();
                stderr().write_all(line.as_bytes()).await.unwrap();
            }
        });
    };
    let (out, err) = ended(child);
    assert!(numbers(&out).into_iter().eq(0..100), "{out}");
    assert!(numbers(&err).into_iter().eq(0..100), "{err}");
}

#[test]
fn lines_that_wait_for_the_pool_come_out_at_the_end() {
    let test = "stdio::lines_that_wait_for_the_pool_come_out_at_the_end";
    let Some(child) = child(test, "") else {
        let [runtime, _] = few_threads();
        return runtime.block_on(async {
            println!();
            fill_the_pool();
            for number in 0..100 {
                let line = format!("line {number}\n");
                stdout().write_all(line.as_bytes()).await.unwrap();
            }
        });
    };
    let (out, _) = ended(child);
    assert!(numbers(&out).into_iter().eq(0..100), "{out}");
}

/// A line that has not ended is flushed by whichever handle, as with `print!`.
#[test]
fn another_handle_flushes_what_was_written() {
    let Some(mut child) = child("stdio::another_handle_flushes_what_was_written", "") else {
        return run(async {
            stdout().write_all(b"\nprompt>").await.unwrap();
            stdout().flush().await.unwrap();
            let mut lines = arc_util::io::BufReader::new(stdin()).lines();
            assert_eq!(soon(lines.next_line()).await.unwrap().as_deref(), Some("answer"));
        });
    };
    let mut seen = Vec::new();
    let mut out = child.stdout.take().unwrap();
    while !seen.ends_with(b"prompt>") {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    child.stdin.take().unwrap().write_all(b"answer\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
}

/// tokio differs here.
#[test]
fn a_read_that_waits_does_not_hold_up_the_end() {
    let Some(mut child) = child("stdio::a_read_that_waits_does_not_hold_up_the_end", "") else {
        return run(async {
            let mut lines = arc_util::io::BufReader::new(stdin()).lines();
            let first = lines.next_line().await.unwrap();
            assert_eq!(first.as_deref(), Some("one"));
            assert!(lines.next_line().now_or_never().is_none());
        });
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one\n").unwrap();
    // The input stays open.
    ended(child);
    drop(input);
}

/// Standard error is a pipe that no one reads any more.
#[cfg(unix)]
const NOBODY_READS: &str = "folder=$(mktemp -d); mkfifo \"$folder/pipe\"
    (exec 4<\"$folder/pipe\") &
    exec 2>\"$folder/pipe\"; wait; rm -r \"$folder\"";

#[cfg(unix)]
fn is_broken_pipe<T: std::fmt::Debug>(result: std::io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[cfg(unix)]
#[test]
fn writing_to_who_has_left_is_a_broken_pipe() {
    let test = "stdio::writing_to_who_has_left_is_a_broken_pipe";
    let Some(child) = child(test, NOBODY_READS) else {
        return run(async {
            let mut err = stderr();
            for _ in 0..2 {
                let written = async {
                    // The thread that writes lags behind.
                    while err.write(b"nobody reads this\n").await? > 0 {}
                    Ok::<_, std::io::Error>(())
                };
                is_broken_pipe(written.await);
            }
        });
    };
    ended(child);
}

/// An error that its writer was not told, as it was gone, is told to the next one.
#[cfg(unix)]
#[test]
fn a_handle_for_each_line_hears_that_the_reader_has_left() {
    let test = "stdio::a_handle_for_each_line_hears_that_the_reader_has_left";
    let Some(child) = child(test, NOBODY_READS) else {
        let mut builder = arc::runtime::Builder::new_multi_thread();
        let runtime = builder.max_blocking_threads(1).build().unwrap();
        return runtime.block_on(async {
            let mut written = Ok(());
            while written.is_ok() {
                written = stderr().write_all(b"nobody reads this\n").await;
            }
            is_broken_pipe(written);
            // Until nothing is left to be written, or to be told.
            while stderr().flush().await.is_err() {}

            // The only thread for jobs is busy, so the writer is gone before its write is done.
            let (go_on, gate) = std::sync::mpsc::channel::<()>();
            let job = arc::task::spawn_blocking(move || _ = gate.recv());
            stderr().write_all(b"nor this\n").await.unwrap();
            drop(go_on);
            job.await.unwrap();
            is_broken_pipe(stderr().flush().await);

            // The write is done, and then the writer goes.
            let mut writer = stderr();
            writer.write_all(b"nor this\n").await.unwrap();
            arc::task::spawn_blocking(|| ()).await.unwrap();
            drop(writer);
            is_broken_pipe(stderr().flush().await);
        });
    };
    ended(child);
}

/// Nobody reads, so that the writers have to wait. They are woken when somebody does.
#[test]
fn handles_for_each_line_wait_while_nobody_reads() {
    const LINE: usize = 1000;
    let test = "stdio::handles_for_each_line_wait_while_nobody_reads";
    let Some(mut child) = child(test, "") else {
        let threads = Arc::new(AtomicUsize::new(0));
        let started = threads.clone();
        let start = move || _ = started.fetch_add(1, Ordering::SeqCst);
        let mut builder = arc_util::runtime::Builder::new_multi_thread();
        builder.workers(1).on_thread_start(start);
        // A busy machine may take long for the poll below, and a report of that is no line of ours.
        let runtime = builder.long_poll_limit(std::time::Duration::MAX).build().unwrap();
        return runtime.block_on(async {
            println!();
            let line = [&[b'x'; LINE - 1][..], b"\n"].concat();
            let mut lines = 0;
            // Its budget would have it yield as well.
            while let Some(written) =
                unconstrained(async { stdout().write_all(&line).await }).now_or_never()
            {
                written.unwrap();
                lines += 1;
            }
            // What waits in the queue, and what fits into the pipe and buffers.
            assert!((128..600).contains(&lines), "{lines}");
            // A worker, the monitor, and a thread for each of 128 jobs. Some more, as a thread that
            // is done with its job may not wait for the next one yet.
            let threads = threads.load(Ordering::SeqCst);
            assert!(threads < 300, "{threads}");
            eprintln!("{lines} lines");
            stdout().write_all(b"the last\n").await.unwrap();
            stdout().flush().await.unwrap();
        });
    };
    let mut told = Told::by(&mut child);
    told.until("\n");
    let lines = told.text.trim_end_matches(" lines\n").parse::<usize>().unwrap_or_else(|_| {
        // Its output is read by nobody, so it would not end.
        child.kill().unwrap();
        told.errors.read_to_string(&mut told.text).unwrap();
        panic!("{}", told.text)
    });
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    told.ends_well(&mut child);
    assert_eq!(out.matches(&"x".repeat(LINE - 1)).count(), lines);
    assert!(out.contains("x\nthe last\n"), "{out}");
}

/// The budget of a task counts writes that need not wait.
#[test]
fn a_task_that_writes_without_end_lets_others_run() {
    let test = "stdio::a_task_that_writes_without_end_lets_others_run";
    let Some(child) = child(test, "") else {
        let runtime = arc::runtime::Builder::new_current_thread().build().unwrap();
        return runtime.block_on(async {
            let writes = arc::spawn(async {
                loop {
                    stdout().write_all(b".").await.unwrap();
                }
            });
            arc::spawn(async {}).await.unwrap();
            writes.abort();
            println!();
        });
    };
    ended(child);
}

/// Only what is ready takes a unit of the budget: many that wait starve nobody beside them.
#[test]
fn reads_that_wait_take_nothing_of_the_budget() {
    let test = "stdio::reads_that_wait_take_nothing_of_the_budget";
    let Some(mut child) = child(test, "") else {
        return run(async {
            assert!((0..1000).all(|_| crate::common::waits(stdin().read(&mut [0]))));
            assert!(arc::task::has_budget_remaining());
        });
    };
    // It stays open meanwhile, and nothing comes.
    let _input = child.stdin.take();
    ended(child);
}

/// A write is done on the calling thread. Others get an error, and the next ones work.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_there_are_errors() {
    let name = "stdio::without_threads_there_are_errors";
    crate::net_common::within_limit(move || {
        crate::thread_limit::with_limited_threads(name, || {
            let folder = crate::common::Folder::new("no-threads");
            let path = folder.0.join("file");
            let runtime = arc::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                crate::thread_limit::allow_threads(0);
                let error = arc_util::fs::read(&path).await.unwrap_err();
                assert!(error.to_string().contains("no thread could be started"), "{error}");
                let file = std::fs::File::create(&path).unwrap();
                let mut file = arc_util::fs::File::from_std(file);
                file.write_all(b"written").await.unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), b"written");
                let error = file.seek(std::io::SeekFrom::Start(0)).await.unwrap_err();
                assert_eq!(error.kind(), std::io::ErrorKind::Other);
                stderr().write_all(b"").await.unwrap();
                let error = stdin().read(&mut [0]).await.unwrap_err();
                assert!(error.to_string().contains("no thread could be started"), "{error}");

                crate::thread_limit::allow_threads(1000);
                assert_eq!(arc_util::fs::read(&path).await.unwrap(), b"written");
                assert_eq!(file.seek(std::io::SeekFrom::Start(1)).await.unwrap(), 1);
            });
        });
    });
}

/// What one handle has left is there for the next one, and the end comes to each that asks.
#[test]
fn handles_of_standard_input_share_what_was_read() {
    let test = "stdio::handles_of_standard_input_share_what_was_read";
    let Some(mut child) = child(test, "") else {
        return run(async {
            let mut two = [0; 2];
            soon(stdin().read_exact(&mut two)).await.unwrap();
            assert_eq!(&two, b"ab");
            assert_eq!(all_text(stdin()).await, "cd");
            for _ in 0..3 {
                assert_eq!(soon(stdin().read(&mut two)).await.unwrap(), 0);
            }
        });
    };
    child.stdin.take().unwrap().write_all(b"abcd").unwrap();
    ended(child);
}

/// Somebody who shares a stream with this process, such as node or ssh, has made it non-blocking.
#[cfg(unix)]
mod non_blocking {
    use super::*;
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::fd::AsFd;

    const BYTES: usize = 300_000;

    fn set(stream: &impl AsFd, is_non_blocking: bool) {
        let mut flags = fcntl_getfl(stream).unwrap();
        flags.set(OFlags::NONBLOCK, is_non_blocking);
        fcntl_setfl(stream, flags).unwrap();
    }

    #[test]
    fn output_waits_for_its_reader_and_loses_nothing() {
        let test = "stdio::non_blocking::output_waits_for_its_reader_and_loses_nothing";
        let Some(mut child) = child(test, "") else {
            return run(async {
                println!();
                set(&std::io::stdout(), true);
                let mut out = stdout();
                out.write_all(&[b'X'; BYTES]).await.unwrap();
                // More than a pipe holds has begun to be written, and nobody reads it yet.
                let mut line = std::pin::pin!(out.write_all(b"the end"));
                assert!((&mut line).now_or_never().is_none());
                eprintln!("it waits");
                line.await.unwrap();
                // A part of a line, which a buffer of std's holds back.
                out.flush().await.unwrap();
                set(&std::io::stdout(), false);
            });
        };
        let mut told = Told::by(&mut child);
        told.until("it waits\n");
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        told.ends_well(&mut child);
        assert!(out.contains(&format!("{}the end", "X".repeat(BYTES))), "{} bytes", out.len());
    }

    /// Many rounds, as a byte that comes before the thread looks for it is no test.
    #[test]
    fn input_waits_for_its_writer() {
        const ROUNDS: usize = 200;
        let test = "stdio::non_blocking::input_waits_for_its_writer";
        let Some(mut child) = child(test, "") else {
            return run(async {
                set(&std::io::stdin(), true);
                let (mut input, mut byte) = (stdin(), [0]);
                for _ in 0..ROUNDS {
                    let mut read = std::pin::pin!(input.read(&mut byte));
                    assert!(read.as_mut().now_or_never().is_none());
                    eprintln!("it waits");
                    assert_eq!(soon(read).await.unwrap(), 1);
                }
                assert_eq!(soon(input.read(&mut byte)).await.unwrap(), 0);
            });
        };
        let mut input = child.stdin.take().unwrap();
        let mut told = Told::by(&mut child);
        for _ in 0..ROUNDS {
            told.until("it waits\n");
            // An error of the child is told by what it has written.
            let _ = input.write_all(b"!");
        }
        drop(input);
        told.ends_well(&mut child);
    }
}
