//! A task-local value is there while its future is polled and dropped, and nowhere else.

use crate::common::soon;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};

arc_util::task_local! {
    static NAME: String;
    pub(crate) static NUMBER: u32
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn tasks_that_run_at_once_see_their_own() {
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            arc::spawn(NUMBER.scope(number, async move {
                for _ in 0..20 {
                    assert_eq!(NUMBER.get(), number);
                    arc::task::yield_now().await;
                }
                let inner = arc::spawn(async { NUMBER.try_get() });
                assert!(inner.await.unwrap().is_err(), "a spawned task has none");
            }))
        })
        .collect();
    for task in tasks {
        soon(task).await.unwrap();
    }
    assert!(NUMBER.try_get().is_err());
}

#[arc::test]
async fn scopes_are_nested() {
    let outer = NAME.scope("outer".to_owned(), async {
        let inner = NAME.sync_scope("inner".to_owned(), || NAME.get());
        let later = NAME.scope("later".to_owned(), async { NAME.get() }).await;
        [inner, later, NAME.get()]
    });
    assert_eq!(outer.await, ["inner", "later", "outer"]);
}

#[test]
fn outside_a_scope_it_is_an_error_or_a_panic() {
    assert!(NAME.try_with(|_| ()).is_err());
    assert!(catch_unwind(|| NAME.with(|_| ())).is_err());
}

#[test]
fn a_panic_in_a_scope_ends_it() {
    let result = catch_unwind(|| NUMBER.sync_scope(1, || panic!("on purpose")));
    assert!(result.is_err() && NUMBER.try_get().is_err());
    let mut future = pin!(NUMBER.scope(1, async { panic!("on purpose") }));
    let mut context = Context::from_waker(Waker::noop());
    let poll = AssertUnwindSafe(|| future.as_mut().poll(&mut context).is_pending());
    assert!(catch_unwind(poll).is_err() && NUMBER.try_get().is_err());
}

#[test]
fn what_is_dropped_with_the_future_sees_the_value() {
    struct SayNumber(mpsc::Sender<Option<u32>>);
    impl Drop for SayNumber {
        fn drop(&mut self) {
            self.0.send(NUMBER.try_get().ok()).unwrap();
        }
    }
    let (sender, said) = mpsc::channel();
    let guard = SayNumber(sender);
    let mut future = Box::pin(NUMBER.scope(7, async move {
        let _guard = guard;
        std::future::pending::<()>().await
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    drop(future);
    assert_eq!(said.recv(), Ok(Some(7)));
    let mut future = Box::pin(NUMBER.scope(8, async {}));
    assert_eq!(future.as_mut().take_value(), Some(8));
    assert_eq!(future.as_mut().take_value(), None);
}
