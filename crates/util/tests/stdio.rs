//! Standard input and output, in processes of their own.

use crate::common::{child, ended, few_threads, fill_the_pool, soon};
use arc_util::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stderr, stdin, stdout};
use futures_util::TryStreamExt;
use std::io::{Read, Write};

#[test]
fn lines_of_standard_input_are_answered() {
    let Some(mut child) = child("stdio::lines_of_standard_input_are_answered", "") else {
        let runtime = arc::runtime::Runtime::new().unwrap();
        return runtime.block_on(async {
            let (mut lines, mut out) = (BufReader::new(stdin()).lines(), stdout());
            while let Some(line) = lines.try_next().await.unwrap() {
                let answer = format!("<{line}>\n");
                out.write_all(answer.as_bytes()).await.unwrap();
            }
            out.flush().await.unwrap();
            let mut err = stderr();
            err.write_all(b"the end\n").await.unwrap();
            err.close().await.unwrap();
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
        let runtime = arc::runtime::Runtime::new().unwrap();
        return runtime.block_on(async {
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
        let runtime = arc::runtime::Runtime::new().unwrap();
        return runtime.block_on(async {
            stdout().write_all(b"\nprompt>").await.unwrap();
            stdout().flush().await.unwrap();
            let mut lines = BufReader::new(stdin()).lines();
            assert_eq!(soon(lines.try_next()).await.unwrap().as_deref(), Some("answer"));
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
        let runtime = arc::runtime::Runtime::new().unwrap();
        return runtime.block_on(async {
            let mut lines = BufReader::new(stdin()).lines();
            let first = lines.try_next().await.unwrap();
            assert_eq!(first.as_deref(), Some("one"));
            let mut next = lines.try_next();
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(std::pin::Pin::new(&mut next).poll(context))
            });
            assert!(polled.await.is_pending());
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
#[test]
fn writing_to_who_has_left_is_a_broken_pipe() {
    let lines = "folder=$(mktemp -d); mkfifo \"$folder/pipe\"
        (exec 4<\"$folder/pipe\") &
        exec 2>\"$folder/pipe\"; wait; rm -r \"$folder\"";
    let Some(child) = child("stdio::writing_to_who_has_left_is_a_broken_pipe", lines) else {
        let runtime = arc::runtime::Runtime::new().unwrap();
        return runtime.block_on(async {
            let mut err = stderr();
            for _ in 0..2 {
                let written = async {
                    // The thread that writes lags behind.
                    while err.write(b"nobody reads this\n").await? > 0 {}
                    Ok::<_, std::io::Error>(())
                };
                let error = written.await.unwrap_err();
                assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
            }
        });
    };
    ended(child);
}
