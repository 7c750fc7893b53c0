//! What the tests of senseless input share. Each input is printed with what becomes of it,
//! on a line of its own: `--nocapture` shows them, and who counts them knows what was tried.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::any::Any;
use std::fmt::Display;
use std::io::{ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an item of the API does with an input, which the caller has asserted.
pub fn goes(item: &str, input: &str, outcome: impl Display) {
    // A null byte would end the line for some.
    let shown = |text: &str| text.replace('\0', "\\0");
    let outcome = shown(&outcome.to_string());
    let head: String = outcome.chars().take(100).collect();
    let dots = if head.len() < outcome.len() { " ..." } else { "" };
    println!("bad input | {item} | {} | {head}{dots}", shown(input));
}

/// It is an error of this kind, and says this.
#[track_caller]
pub fn refuses<T>(item: &str, input: &str, result: Result<T>, kind: ErrorKind, text: &str) {
    let Err(error) = result else {
        panic!("{item} takes {input}");
    };
    assert_eq!(error.kind(), kind, "{item}, {input}: {error}");
    assert!(error.to_string().contains(text), "{item}, {input}: {error}");
    goes(item, input, format!("error {kind:?}: {error}"));
}

/// It is an error, of a kind that depends on the system.
#[track_caller]
pub fn fails<T>(item: &str, input: &str, result: Result<T>) {
    let Err(error) = result else {
        panic!("{item} takes {input}");
    };
    goes(item, input, format!("the system's error: {error}"));
}

/// It panics, and says this.
#[track_caller]
pub fn panics<R>(item: &str, input: &str, text: &str, act: impl FnOnce() -> R) {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(_) => panic!("{item} takes {input}"),
        Err(payload) => panicked(item, input, text, &*payload),
    }
}

/// It panicked elsewhere, such as in a task, with this payload.
#[track_caller]
pub fn panicked(item: &str, input: &str, text: &str, payload: &(dyn Any + Send)) {
    let said = payload.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("");
    assert!(said.contains(text), "{item}, {input}: {said}");
    goes(item, input, format!("panics: {said}"));
}
