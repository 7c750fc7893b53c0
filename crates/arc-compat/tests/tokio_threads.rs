//! What tokio's runtime starts, and when: what the documentation says.

#![cfg(target_os = "linux")]

use arc::runtime::Builder;
use arc_compat::tokio::{BuilderExt, enter};
use std::fs;

/// How many threads of this process have the runtime's name, of which Linux keeps 15 bytes.
fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.flatten().map(|task| fs::read_to_string(task.path().join("comm")));
    names.flatten().filter(|name| name.trim_end() == "arc-compat-toki").count()
}

/// The one test of its file: no other may start the runtime.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn one_thread_is_started_by_the_first_poll() {
    let future = enter(async { tokio::time::sleep(std::time::Duration::from_millis(1)).await });
    drop(enter(std::future::pending::<()>()));
    assert_eq!(threads(), 0);
    future.await;
    assert_eq!(threads(), 1);
    for _ in 0..10 {
        assert_eq!(enter(async { tokio::spawn(async { 1 }).await }).await.unwrap(), 1);
    }
    assert_eq!(threads(), 1);

    // It is the same one for all.
    let runtime = Builder::new_multi_thread().workers(2).enter_tokio().build().unwrap();
    let task = runtime.spawn(async { tokio::spawn(async { 1 }).await });
    assert_eq!(task.await.unwrap().unwrap(), 1);
    runtime.shutdown_background();
    assert_eq!(threads(), 1);
}
