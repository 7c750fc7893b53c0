//! Files and processes, by crates that know no runtime.

#![cfg(unix)]

use crate::common::{Folder, soon};
use arc_util::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use async_process::{Command, Stdio};
use futures_util::{StreamExt, TryStreamExt};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn files_are_written_and_read_by_async_fs() {
    let folder = Folder::new("files");
    let path = folder.0.join("file");
    let mut file = soon(async_fs::File::create(&path)).await.unwrap();
    for number in 0..1000 {
        let line = format!("line {number}\n");
        soon(file.write_all(line.as_bytes())).await.unwrap();
    }
    soon(file.flush()).await.unwrap();
    let file = soon(async_fs::File::open(&path)).await.unwrap();
    let lines = BufReader::new(file).lines().try_collect::<Vec<_>>();
    let lines = soon(lines).await.unwrap();
    assert_eq!((lines.len(), &*lines[999]), (1000, "line 999"));
    soon(async_fs::rename(&path, folder.0.join("other"))).await.unwrap();
    let entries = soon(async_fs::read_dir(&folder.0)).await.unwrap();
    let entries = soon(entries.collect::<Vec<_>>()).await;
    let names: Vec<_> = entries.iter().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["other"]);
    assert!(soon(async_fs::read(&path)).await.is_err());
}

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
