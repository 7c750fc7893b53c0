//! Large futures: whoever takes one boxes it before it is moved about. In a debug build each
//! function and each block that a future is moved through needs its size on the stack.

use arc::runtime::{Builder, Runtime};
use arc::task::yield_now;
use arc_util::runtime::LocalRuntime;
use arc_util::sync::CancellationToken;
use arc_util::task::{
    self, JoinSet, LocalSet, TaskTracker, cooperative, scope, spawn_local, unconstrained,
};
use arc_util::time::{Duration, timeout};
use std::hint::black_box;
use std::thread;

/// What Rust gives a thread, and tokio's workers.
const STACK: usize = 2 << 20;
const SIZE: usize = 512 << 10;

async fn large() -> usize {
    let bytes = [1_u8; SIZE];
    yield_now().await;
    black_box(&bytes).len()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Runs it on a thread with the usual stack. If that is too small, the program ends.
fn on_a_thread(act: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(act).unwrap().join().unwrap();
}

#[test]
fn a_runtime_takes_large_futures() {
    on_a_thread(|| assert_eq!(runtime().block_on(large()), SIZE));
    on_a_thread(|| assert_eq!(LocalRuntime::new().unwrap().block_on(large()), SIZE));
    on_a_thread(|| {
        runtime().block_on(async { assert_eq!(arc::spawn(large()).await.unwrap(), SIZE) })
    });
    on_a_thread(|| {
        let runtime = runtime();
        let task = runtime.spawn(large());
        assert_eq!(runtime.block_on(task).unwrap(), SIZE);
    });
    on_a_thread(|| {
        runtime().block_on(async {
            task::Builder::new().name("a").spawn(large()).unwrap().await.unwrap()
        });
    });
    on_a_thread(|| {
        let runtime = Builder::new_multi_thread().workers(2).build().unwrap();
        let _guard = runtime.enter();
        scope(|scope| {
            scope.spawn(async {
                large().await;
            });
        });
    });
}

#[test]
fn local_sets_take_large_futures() {
    fn within(act: impl AsyncFnOnce(&LocalSet) -> usize + Send + 'static) {
        on_a_thread(|| {
            let set = LocalSet::new();
            assert_eq!(runtime().block_on(set.run_until(act(&set))), SIZE);
        });
    }
    on_a_thread(|| assert_eq!(runtime().block_on(LocalSet::new().run_until(large())), SIZE));
    on_a_thread(|| {
        let runtime = LocalRuntime::new().unwrap();
        let task = runtime.spawn_local(large());
        assert_eq!(runtime.block_on(task).unwrap(), SIZE);
    });
    within(async |_| spawn_local(large()).await.unwrap());
    within(async |set| set.spawn_local(large()).await.unwrap());
}

#[test]
fn groups_take_large_futures() {
    fn within(act: impl AsyncFnOnce(&LocalSet) -> usize + Send + 'static) {
        on_a_thread(|| {
            let set = LocalSet::new();
            assert_eq!(runtime().block_on(set.run_until(act(&set))), SIZE);
        });
    }
    async fn join(mut tasks: JoinSet<usize>) -> usize {
        tasks.join_next().await.unwrap().unwrap()
    }
    let new = JoinSet::new;
    within(async move |_| {
        let mut tasks = new();
        tasks.spawn(large());
        join(tasks).await
    });
    within(async move |_| {
        let mut tasks = new();
        tasks.build_task().name("a").spawn(large()).unwrap();
        join(tasks).await
    });
    within(async move |_| {
        let mut tasks = new();
        tasks.spawn_local(large());
        join(tasks).await
    });
    within(async move |set| {
        let mut tasks = new();
        tasks.spawn_local_on(large(), set);
        join(tasks).await
    });
    within(async |_| TaskTracker::new().spawn(large()).await.unwrap());
    within(async |_| {
        let handle = arc::runtime::Handle::current();
        TaskTracker::new().spawn_on(large(), &handle).await.unwrap()
    });
    within(async |_| TaskTracker::new().spawn_local(large()).await.unwrap());
    within(async |set| TaskTracker::new().spawn_local_on(large(), set).await.unwrap());
}

/// An `async fn` would keep it twice: as its argument, and while it is awaited.
#[test]
fn what_is_around_a_future_keeps_it_once() {
    async fn large() {
        let bytes = [1_u8; 1 << 14];
        yield_now().await;
        black_box(&bytes);
    }
    let once = size_of_val(&large());
    arc_util::task_local! { static NUMBER: u8; }
    let (set, token, tracker) = (LocalSet::new(), CancellationToken::new(), TaskTracker::new());
    for (size, what) in [
        (size_of_val(&cooperative(large())), "cooperative"),
        (size_of_val(&unconstrained(large())), "unconstrained"),
        (size_of_val(&set.run_until(large())), "run_until"),
        (size_of_val(&token.run_until_cancelled(large())), "run_until_cancelled"),
        (size_of_val(&tracker.track_future(large())), "track_future"),
        (size_of_val(&timeout(Duration::ZERO, large())), "timeout"),
        (size_of_val(&NUMBER.scope(1, large())), "scope"),
    ] {
        assert!(size < once + 1024, "{what}: {size} bytes for a future of {once}");
    }
}
