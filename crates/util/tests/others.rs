//! Processes, by a crate that knows no runtime.

#![cfg(unix)]

use crate::common::soon;
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use async_process::{Command, Stdio};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn processes_are_run_by_async_process() {
    let mut children = arc_util::task::JoinSet::new();
    for number in 0..5 {
        children.spawn(async move {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("cat; exit {number}"));
            let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = pipes.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"to and fro").await.unwrap();
            drop(input);
            let (mut text, mut output) = (String::new(), child.stdout.take().unwrap());
            output.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "to and fro");
            child.status().await.unwrap().code().unwrap()
        });
    }
    let mut codes = soon(children.join_all()).await;
    codes.sort();
    assert_eq!(codes, [0, 1, 2, 3, 4]);
}

#[arc::test]
async fn a_process_is_killed() {
    let mut command = Command::new("sleep");
    let mut child = command.arg("1000").kill_on_drop(true).spawn().unwrap();
    assert!(child.try_status().unwrap().is_none(), "it runs");
    child.kill().unwrap();
    let status = soon(child.status()).await.unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}
