//! What the macros are put on: functions with arguments and generics, methods, and outputs of all
//! kinds. No lint fires in what they write. (`attributes` has what they say in their brackets.)

#![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery)]

mod attributes;

use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::future::ready;
use std::rc::Rc;

#[arc::main]
async fn sum(first: u8, mut rest: Vec<u8>) -> u8 {
    rest.push(first);
    ready(rest.iter().sum()).await
}

#[arc::main(workers = count)]
async fn workers(count: usize) -> usize {
    ready(arc::runtime::Handle::current().workers()).await
}

#[arc::main(flavor = "current_thread")]
async fn longest<'a, T, const N: usize>(words: [&'a T; N], none: impl Fn() -> &'a T) -> &'a T
where
    T: AsRef<str> + ?Sized,
{
    let longest = words.into_iter().max_by_key(|word| word.as_ref().len());
    ready(longest).await.unwrap_or_else(none)
}

/// The names of what the macro writes belong to the function.
#[arc::main]
async fn names(builder: u8, runtime: u8, outer: u8, inner: u8, output: u8) -> [u8; 5] {
    ready([builder, runtime, outer, inner, output]).await
}

#[arc::main]
async fn without_await(word: &str) -> usize {
    word.len()
}

#[test]
fn functions_with_arguments_become_synchronous() {
    assert_eq!(sum(1, vec![2, 3]), 6);
    assert_eq!(workers(3), 3);
    assert_eq!(longest(["a", "bcd", "ef"], || "none"), "bcd");
    assert_eq!(longest([], || "none"), "none");
    assert_eq!(names(1, 2, 3, 4, 5), [1, 2, 3, 4, 5]);
    assert_eq!(without_await("four"), 4);
}

#[test]
fn an_argument_that_the_body_uses_is_dropped_inside_the_runtime() {
    struct Guard(Rc<Cell<bool>>);

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(arc::runtime::Handle::try_current().is_some());
        }
    }

    #[arc::main]
    async fn keep(guard: Guard) {
        let _guard = guard;
        ready(()).await;
    }

    let was_inside = Rc::new(Cell::new(false));
    keep(Guard(was_inside.clone()));
    assert!(was_inside.get());
}

struct Counter {
    count: u8,
}

impl Counter {
    #[arc::main(flavor = "current_thread")]
    async fn get(&self) -> &u8 {
        ready(&self.count).await
    }

    #[arc::main(flavor = "current_thread")]
    async fn get_mut(&mut self) -> &mut u8 {
        ready(&mut self.count).await
    }

    #[arc::main]
    async fn add(mut self, more: u8) -> Option<Self> {
        self.count = ready(self.count.checked_add(more)).await?;
        Some(self)
    }
}

#[test]
fn methods_can_be_run_as_well() {
    let mut counter = Counter { count: 1 };
    *counter.get_mut() += 1;
    assert_eq!(*counter.get(), 2);
    let counter = counter.add(3).unwrap();
    assert_eq!(counter.count, 5);
    assert!(counter.add(255).is_none());
}

/// Both outputs are converted into the boxes, as in an async function.
#[arc::main]
async fn boxes(text: &str) -> Result<Box<dyn Debug>, Box<dyn Error>> {
    if text.is_empty() {
        return Ok(Box::new("nothing"));
    }
    let number: u8 = ready(text).await.parse()?;
    Ok(Box::new(number))
}

#[arc::main]
async fn hidden(text: &str) -> Result<impl Iterator<Item = u8> + Clone, impl Error + use<>> {
    text.parse::<u8>().map(|end| 0..end)
}

#[arc::main]
async fn function() -> fn(u8) -> u8 {
    if ready(true).await {
        return |number| number + 1;
    }
    |number| number + 2
}

#[arc::main]
async fn never() -> ! {
    std::panic::panic_any(ready(4).await)
}

#[rustfmt::skip]
#[arc::main]
async fn one_line(number: u8) -> u8 { number }

#[arc::main]
async fn with_an_inner_attribute() -> u8 {
    #![allow(unused_variables, reason = "it shows that the attribute is kept")]
    let unused = 1;
    ready(2).await
}

#[test]
fn outputs_are_those_of_async_functions() {
    assert_eq!(format!("{:?}", boxes("").unwrap()), "\"nothing\"");
    assert_eq!(format!("{:?}", boxes("4").unwrap()), "4");
    assert!(boxes("four").is_err());
    let numbers = hidden("3").unwrap();
    assert!(numbers.clone().eq([0, 1, 2]));
    assert_eq!(numbers.count(), 3);
    assert!(hidden("three").is_err());
    assert_eq!(function()(1), 2);
    assert_eq!(*std::panic::catch_unwind(|| never()).unwrap_err().downcast::<i32>().unwrap(), 4);
    assert_eq!(one_line(1), 1);
    assert_eq!(with_an_inner_attribute(), 2);
}

#[arc::test]
async fn a_test_may_wait_for_nothing() {}

thread_local! {
    static LOG: Cell<Vec<&'static str>> = const { Cell::new(Vec::new()) };
}

fn log(line: &'static str) {
    let mut lines = LOG.take();
    lines.push(line);
    LOG.set(lines);
}

/// What `with` names is called before the runtime is built, and what it returns is dropped when
/// the runtime has ended.
struct Around;

impl Around {
    fn new<T, U>(builder: &mut arc::runtime::Builder) -> Self {
        let _: &mut arc::runtime::Builder = builder;
        log(std::any::type_name::<T>());
        log(std::any::type_name::<U>());
        Self
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        log("after");
    }
}

struct Task;

impl Drop for Task {
    fn drop(&mut self) {
        log("the end of the runtime");
    }
}

#[arc::main(flavor = "current_thread", with = (Around::new::<u8, ()>))]
async fn surrounded() {
    let task = Task;
    drop(arc::spawn(async {
        let _task = task;
        std::future::pending::<()>().await;
    }));
    // The task is polled before this goes on.
    arc::task::yield_now().await;
    log("body");
}

#[test]
fn with_surrounds_the_runtime() {
    surrounded();
    assert_eq!(LOG.take(), ["u8", "()", "body", "the end of the runtime", "after"]);
}

#[arc::test(with = |builder: &mut arc::runtime::Builder| {
    builder.thread_name_fn(|purpose| format!("closure-{purpose}"));
})]
async fn with_is_a_closure() {
    let name = arc::task::spawn_blocking(|| std::thread::current().name().map(str::to_owned));
    assert_eq!(name.await.unwrap().as_deref(), Some("closure-blocking"));
}
