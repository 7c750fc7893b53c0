//! The budget of a task, around futures that know nothing of it.

mod common;

use arc_util::task::cooperative;
use common::soon;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[arc::test(workers = 1)]
async fn a_channel_that_is_always_full_lets_others_run() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let busy = arc::spawn(async move {
        let (sender, receiver) = async_channel::bounded(1);
        let mut rounds = 0_u64;
        while !stopped.load(Ordering::SeqCst) {
            sender.try_send(()).unwrap();
            cooperative(receiver.recv()).await.unwrap();
            rounds += 1;
            assert!(rounds < 1_000_000_000, "nobody else was let run");
        }
    });
    let other = arc::spawn(async move { stop.store(true, Ordering::SeqCst) });
    soon(other).await.unwrap();
    soon(busy).await.unwrap();
}
