//! `#[arc::main]` and `#[arc::test]`, used as they should be. How they answer wrong
//! use is in `lab/refused/`.

#![deny(warnings, clippy::all, clippy::pedantic)]
#![allow(
    clippy::missing_const_for_thread_local,
    reason = "it is const; for Windows the lint does not see that"
)]
#![allow(clippy::unused_async, reason = "functions without an await are tested, too")]

use std::cell::Cell;
use std::future::ready;
use std::thread;

/// A user's crate that has the runtime under another name.
mod reexport {
    pub mod deep {
        pub use ::arc as runtime_crate;
    }
}

#[arc::test]
async fn plain() {
    assert_eq!(ready(42).await, 42);
}

#[arc::test]
async fn result_with_question_mark() -> Result<(), std::num::ParseIntError> {
    let number: u32 = ready("42").await.parse()?;
    assert_eq!(number, 42);
    Ok(())
}

#[arc::test]
async fn result_boxed() -> Result<(), Box<dyn std::error::Error>> {
    let number: u32 = "42".parse()?;
    if ready(number).await == 42 {
        return Ok(());
    }
    Err("not 42".into())
}

#[arc::test]
#[should_panic(expected = "as it should")]
async fn panics() {
    ready(()).await;
    panic!("as it should");
}

#[arc::test]
#[ignore = "shows that the attribute is kept"]
async fn ignored() {
    ready(()).await;
    panic!("this test is not to be run");
}

thread_local! {
    static SET_BY_THE_TEST: Cell<u32> = const { Cell::new(0) };
}

#[arc::test]
async fn tasks_of_a_test_see_the_thread_locals_of_its_body() {
    SET_BY_THE_TEST.set(42);
    let seen = arc::spawn(async { SET_BY_THE_TEST.get() });
    assert_eq!(seen.await.unwrap(), 42);
}

#[arc::test(flavor = "multi_thread")]
async fn tasks_of_a_test_with_several_threads_run_on_others() {
    let body = thread::current().id();
    for _ in 0..100 {
        let task = arc::spawn(async { thread::current().id() });
        assert_ne!(task.await.unwrap(), body);
    }
}

#[arc::test(flavor = "multi_thread", workers = 1)]
async fn one_worker() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 1);
}

#[arc::test(flavor = "multi_thread", workers = 4)]
async fn four_workers() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 4);
}

const CORES: usize = 2;

#[arc::test(
    flavor = "multi_thread",
    workers = std::cmp::min(CORES, 8) + 1,
    crate = "::arc"
)]
async fn as_many_as_an_expression_says() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 3);
}

#[arc::test(flavor = "multi_thread", workers = 2 * CORES)]
async fn an_expression_that_begins_with_a_literal() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 4);
}

const fn larger<const FIRST: usize, const SECOND: usize>() -> usize {
    if FIRST > SECOND { FIRST } else { SECOND }
}

#[arc::test(flavor = "multi_thread", workers = usize::min(larger::<2, 5>(), 8), crate = "::arc")]
async fn an_expression_with_commas_in_brackets() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 5);
}

#[arc::test(workers = if CORES == 2 { 6 } else { 7 }, flavor = "multi_thread",)]
async fn an_expression_with_blocks() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 6);
}

#[arc::test(flavor = "multi_thread", workers = CORES - 2)]
#[should_panic(expected = "workers must be in 1..=64, not 0")]
async fn an_expression_out_of_range() {
    ready(()).await;
}

#[arc::test(flavor = "multi_thread", workers = 65)]
#[should_panic(expected = "workers must be in 1..=64, not 65")]
async fn a_literal_out_of_range() {
    ready(()).await;
}

#[arc::test(flavor = "current_thread")]
async fn the_flavor_of_one_thread() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 1);
}

#[arc::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_flavor_of_several_threads() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 3);
}

#[arc::test(flavor = "current_thread", workers = 5, flavor = "multi_thread")]
async fn the_last_flavor_counts() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 5);
}

#[arc::test(flavor = "multi_thread", worker_threads = 1_0)]
async fn as_tokio_spells_it() {
    assert_eq!(ready(arc::runtime::Handle::current().workers()).await, 10);
}

#[arc::test(
    crate = "crate::attributes::reexport::deep::runtime_crate",
    flavor = "multi_thread",
    workers = 1
)]
async fn through_a_reexport() {
    ready(()).await;
}

#[arc::test(crate = "::arc")]
async fn through_an_absolute_path() {
    ready(()).await;
}

#[arc::test]
async fn local_items_and_the_path_of_the_module() {
    use self::reexport::deep;
    const ANSWER: u32 = 42;
    fn answer() -> u32 {
        ANSWER
    }
    #[allow(unused_imports, reason = "the import is there to be resolved, not to be used")]
    use deep::runtime_crate;
    assert_eq!(ready(answer()).await, 42);
}

mod returns_a_result {
    use std::future::ready;

    /// The doc comment, the visibility and the attributes are kept.
    #[arc::main]
    #[must_use]
    pub(super) async fn main() -> Option<u32> {
        let text = ready(Some("42")).await?;
        text.parse().ok()
    }
}

mod returns_an_exit_code {
    use std::future::ready;
    use std::process::ExitCode;

    #[arc::main(workers = 2)]
    pub async fn main() -> ExitCode {
        ready(ExitCode::from(3)).await
    }
}

#[test]
fn main_returns_what_the_body_returns() {
    assert_eq!(returns_a_result::main(), Some(42));
    assert_eq!(returns_an_exit_code::main(), std::process::ExitCode::from(3));
}

/// Options and items that come through another macro carry invisible parentheses.
macro_rules! through_a_macro {
    ($visibility:vis, $name:ident, $workers:literal, $returns:ty, $body:block) => {
        #[arc::main(workers = $workers)]
        $visibility async fn $name() -> $returns $body
    };
    ($item:item) => {
        #[arc::main(workers = 1)]
        $item
    };
}

through_a_macro!(pub(crate), pieces, 2, u32, { ready(42).await });
through_a_macro!(, private_pieces, 2, u32, { ready(42).await });
through_a_macro!(
    async fn whole() -> u32 {
        ready(42).await
    }
);

#[test]
fn macro_rules_can_use_the_macros() {
    assert_eq!((pieces(), private_pieces(), whole()), (42, 42, 42));
}
