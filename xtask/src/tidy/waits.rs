//! Who waits, and who knows neither clock nor lock: the invariants of
//! docs/ARCHITECTURE.md that can be read off single calls and names.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::file::{File, Found};
use super::paths::paths;
use super::repository::Repository;

/// Who calls what waits for the kernel, parks a thread or waits for a condition: the way from the
/// worker that sleeps down to the kernel, and the threads that have nothing to do.
const WAITS: [(&str, &str); 10] = [
    ("driver.wait", "src/scheduler/worker.rs"),
    ("kernel.wait", "src/driver/mod.rs"),
    ("epoll::wait", "src/driver/kernel/epoll.rs"),
    ("poller.wait", "src/driver/kernel/portable.rs"),
    ("thread::park", "src/scheduler/sleep.rs"),
    ("thread::park", "src/runtime/block_on.rs"),
    ("thread::park", "src/scheduler/monitor.rs"),
    ("thread::park_timeout", "src/scheduler/monitor.rs"),
    ("wait_timeout_while", "src/scheduler/pool.rs"),
    ("wait_timeout_while", "src/scheduler/end.rs"),
];

/// The ways to wait for a condition, beside `wait`.
const CONDITIONS: [&str; 3] = ["wait_while", "wait_timeout", "wait_timeout_while"];

/// Only the files that WAITS names wait.
pub fn waits(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Waits(Vec::new());
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_runtime()) {
        visitor.visit_file(syntax);
    }
    let is_allowed = |call: &str| WAITS.contains(&(call, file.name.as_str()));
    visitor.0.retain(|found| !is_allowed(&found.text));
    for found in &mut visitor.0 {
        found.text = format!("`{}` is not for this file: WAITS in tidy says whose", found.text);
    }
    visitor.0
}

struct Waits(Vec<Found>);

impl<'tree> Visit<'tree> for Waits {
    fn visit_expr_method_call(&mut self, node: &'tree syn::ExprMethodCall) {
        let line = node.method.span().start().line;
        let method = node.method.to_string();
        if method == "wait" {
            let receiver = node.receiver.to_token_stream().to_string();
            let last = receiver.split([' ', '.']).next_back().unwrap_or_default();
            self.0.push(Found::new(line, format!("{last}.wait")));
        } else if CONDITIONS.contains(&method.as_str()) {
            self.0.push(Found::new(line, method));
        }
        visit::visit_expr_method_call(self, node);
    }

    fn visit_expr_path(&mut self, node: &'tree syn::ExprPath) {
        let names = node.path.segments.iter().map(|it| it.ident.to_string());
        let names: Vec<_> = names.collect();
        let call = names[names.len().saturating_sub(2)..].join("::");
        let is_parked = ["thread::park", "thread::sleep"].iter().any(|it| call.starts_with(it));
        if call.ends_with("::wait") || is_parked {
            self.0.push(Found::new(node.span().start().line, call));
        }
    }
}

/// The files that have neither a clock nor a lock of their own, and the names that they must
/// not have.
const PURE: [(&str, &[&str]); 2] = [
    ("src/driver/wheel.rs", &["Instant", "SystemTime", "Mutex", "Ordering", "thread"]),
    ("src/scheduler/policy.rs", &["Instant::now", "SystemTime", "Mutex", "thread", "fence"]),
];

/// The orderings by which one thread waits for another, or relies on what it has done.
const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// The wheel and the policy are pure: times go in as values. The mean of the polls, which all
/// workers share, is a number that nothing waits for.
pub fn pure(file: &File, _: &Repository) -> Vec<Found> {
    let rule = PURE.iter().find(|it| it.0 == file.name);
    let (Some((_, foreign)), Some(syntax)) = (rule, &file.syntax) else {
        return Vec::new();
    };

    let mut found = Vec::new();
    for path in paths(syntax.to_token_stream()) {
        let names = format!("::{}::", path.names.join("::"));
        for word in foreign.iter().chain(&STRONG) {
            if names.contains(&format!("::{word}::")) {
                let text = format!("`{word}` in a pure file: take the value as an argument");
                found.push(Found::new(path.line, text));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn only_the_seat_waits() {
        let text = "fn f() {\n    self.kernel.wait(1);\n    thread::park();\n}\n";
        assert_eq!(lines_found(waits, "src/driver/mod.rs", text), [3]);
        assert_eq!(lines_found(waits, "src/scheduler/sleep.rs", text), [2]);
        assert_eq!(lines_found(waits, "tests/a.rs", text), NONE);
        let text = "fn f() { std::thread::sleep(a) }\n";
        assert_eq!(lines_found(waits, "src/scheduler/worker.rs", text), [1]);
    }

    #[test]
    fn only_the_pool_and_the_end_wait_for_a_condition() {
        let text =
            "fn f() {\n    done.wait_timeout_while(a, b, c);\n    done.wait_while(a, b);\n}\n";
        assert_eq!(lines_found(waits, "src/scheduler/end.rs", text), [3]);
        assert_eq!(lines_found(waits, "src/scheduler/worker.rs", text), [2, 3]);
    }

    #[test]
    fn the_wheel_is_pure() {
        assert_eq!(lines_found(pure, "src/driver/wheel.rs", "// Instant\nstruct Wheel;\n"), NONE);
        let text = "\nuse std::time::{Duration, Instant};\n";
        assert_eq!(lines_found(pure, "src/driver/wheel.rs", text), [2]);
        assert_eq!(lines_found(pure, "src/driver/timers.rs", text), NONE);
    }

    #[test]
    fn the_policy_has_times_but_no_clock() {
        let text = "\
use crate::sync::{AtomicU64, Duration, Instant, Ordering};
fn f(mean: &AtomicU64, began: Instant) -> Duration {
    mean.load(Ordering::Relaxed);
    mean.load(Ordering::Acquire);
    Instant::now() - began
}
";
        assert_eq!(lines_found(pure, "src/scheduler/policy.rs", text), [4, 5]);
        let text = "use crate::sync::{Mutex, thread};\n";
        assert_eq!(lines_found(pure, "src/scheduler/policy.rs", text), [1, 1]);
    }
}
