//! Standard input and output, in processes of their own.

use crate::common::{child, ended};
use arc_util::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stderr, stdin, stdout};
use futures_util::TryStreamExt;
use std::io::Write;

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
