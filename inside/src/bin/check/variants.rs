//! Makes variants of what solves an exercise, and says which of them the exercise accepts.
//!
//! A list of wrong solutions has what somebody has thought of. This makes the others by rule: a
//! step is left out, two are swapped, a lock is released in between, an ordering is weakened, an
//! atomic step is taken in two, a waker is dropped and not woken, cloned and not taken, forgotten
//! and not dropped, a condition is turned round.
//!
//! Most variants are wrong, and must be refused. One that is accepted must be listed with its
//! reason, in `exercises/solutions/`: among the right ones, or behind a line `ACCEPTED`. There the
//! reason begins with `right:`, or with `wrong:` if the exercise cannot see it. A variant that does
//! not compile says nothing.

use crate::build::Builder;
use crate::exercise::{self, Exercise, SOLVED};
use crate::{Complaints, at_once};
use inside::stage::Bug;
use std::sync::Mutex;

/// A change of the solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What was done to it, in a word.
    pub kind: &'static str,
    /// The first of the lines that are changed, and how many they are.
    pub at: usize,
    pub count: usize,
    pub new: Vec<String>,
}

impl Variant {
    fn text(&self, lines: &[String]) -> String {
        let mut lines = lines.to_vec();
        lines.splice(self.at..self.at + self.count, self.new.iter().cloned());
        lines.join("\n") + "\n"
    }

    /// The change as the lists have it. So many lines come before it that its place is the only
    /// one.
    fn told(&self, lines: &[String]) -> String {
        const LINES_MAX: usize = 9;
        let solved = lines.join("\n") + "\n";
        let mut told = String::new();
        for before in 0..LINES_MAX.min(self.at) {
            let first = self.at - before;
            let trimmed = |line: &String| line.trim().to_owned();
            let same = lines[first..self.at].iter().filter(|line| is_code(line)).map(trimmed);
            let same: Vec<String> = same.collect();
            let old = lines[self.at..self.at + self.count].iter().filter(|line| is_code(line));
            let old: Vec<String> = same.iter().cloned().chain(old.map(trimmed)).collect();
            let new: Vec<String> = same.into_iter().chain(self.new.iter().map(trimmed)).collect();
            let as_lines = |sign: char, lines: &[String]| {
                lines.iter().map(|line| format!("{sign} {line}\n")).collect::<String>()
            };
            told = as_lines('-', &old) + &as_lines('+', &new) + "you see: solved\n";
            let bug = Bug { places: vec![(old, new)], ..Bug::default() };
            let is_made = |made: String| code_of(&made) == code_of(&self.text(lines));
            if bug.make(&solved).is_ok_and(is_made) {
                break;
            }
        }
        told
    }
}

fn is_code(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim().starts_with("//")
}

/// What to write instead of a part of a line.
const INSTEAD: [(&str, &str, &str); 23] = [
    ("weaker", "Ordering::AcqRel", "Ordering::Acquire"),
    ("weaker", "Ordering::AcqRel", "Ordering::Release"),
    ("weaker", "Ordering::AcqRel", "Ordering::Relaxed"),
    ("weaker", "Ordering::Acquire", "Ordering::Relaxed"),
    ("weaker", "Ordering::Release", "Ordering::Relaxed"),
    ("weaker", "Ordering::SeqCst", "Ordering::Relaxed"),
    ("keep", ".take()", ".clone()"),
    ("first-stays", ".replace(waker)", ".get_or_insert(waker)"),
    ("turn", " == ", " != "),
    ("turn", " != ", " == "),
    ("turn", " && ", " || "),
    ("turn", ".is_some()", ".is_none()"),
    ("turn", ".is_none()", ".is_some()"),
    ("turn", "(!", "("),
    ("turn", "if !", "if "),
    ("edge", " > ", " >= "),
    ("edge", " < ", " <= "),
    ("edge", " >= ", " > "),
    ("edge", " + 1", ""),
    ("edge", "+= 1", "+= 2"),
    ("other-end", "pop_front", "pop_back"),
    ("other-end", "push_back", "push_front"),
    ("other", "true", "false"),
];

/// The variants of a solution, given by its lines and those of them that solve the exercise.
pub fn variants_of(lines: &[String], is_yours: &[bool]) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    let mut add = |kind, at: usize, count, new: Vec<String>| {
        let variant = Variant { kind, at, count, new };
        if lines[at..at + count] != variant.new {
            variants.push(variant);
        }
    };
    let mut guard: Option<(String, String)> = None;
    for at in (0..lines.len()).filter(|at| is_yours[*at]) {
        let line = &lines[at];
        let code = line.trim();
        if !is_code(line) {
            continue;
        }
        for (kind, new) in variants_of_line(line) {
            add(kind, at, 1, new);
        }

        let is_step = is_step(line);
        // The next line of code, if the two can be swapped.
        let next = (at + 1..lines.len()).find(|next| is_code(&lines[*next]));
        if let Some(next) = next.filter(|next| is_yours[*next]) {
            let both = [line, &lines[next]];
            // The order of two items means nothing, and behind a `return` nothing runs.
            let is_free = |line: &str| {
                let code = line.trim();
                ["const ", "use ", "return"].iter().any(|word| code.starts_with(word))
            };
            let is_next_step =
                lines[next].trim().ends_with(';') && !both.iter().any(|it| is_free(it));
            let is_same_depth = depth(line) == depth(&lines[next]);
            if is_step && is_next_step && is_same_depth {
                add("swapped", at, next + 1 - at, vec![both[1].clone(), both[0].clone()]);
            }
        }

        // A lock is released behind this step, and taken again.
        if let Some(rest) = code.strip_prefix("let mut ")
            && let Some((name, lock)) = rest.split_once(" = ")
            && lock.ends_with(".lock();")
        {
            guard = Some((name.to_owned(), lock.to_owned()));
        } else if let Some((name, lock)) = &guard {
            if code == format!("drop({name});") {
                guard = None;
            } else if is_step && !code.starts_with("return") {
                let new = format!("drop({name}); let mut {name} = {lock}");
                add("released", at, 1, vec![line.clone(), new]);
            }
        }
    }
    variants
}

/// What one line may be instead.
fn variants_of_line(line: &str) -> Vec<(&'static str, Vec<String>)> {
    let code = line.trim();
    let mut variants = Vec::new();
    let mut add = |kind, new: Vec<String>| variants.push((kind, new));
    for (kind, old, new) in INSTEAD {
        for (place, _) in line.match_indices(old) {
            let (before, rest) = line.split_at(place);
            add(kind, vec![format!("{before}{new}{}", &rest[old.len()..])]);
        }
    }

    if is_step(line) && !code.starts_with("let ") {
        add("left-out", Vec::new());
    }
    if let Some(waker) = code.strip_suffix(".wake();") {
        add("not-woken", vec![format!("drop({waker});")]);
    }
    if let Some(rest) = code.strip_prefix("drop(") {
        add("forgotten", vec![format!("std::mem::forget({rest}")]);
    }
    if let Some((condition, _)) = code.strip_prefix("if ").and_then(|it| it.split_once(" {"))
        && !condition.contains("let ")
        && code.ends_with('{')
    {
        for constant in ["true", "false"] {
            let new = format!("if ({condition}, {constant}).1 {{");
            add("decided", vec![new]);
        }
    }
    for new in torn(line) {
        add("torn", vec![new]);
    }

    variants
}

/// Whether the line is a whole statement.
fn is_step(line: &str) -> bool {
    line.trim().ends_with(';') && !line.trim().starts_with('}')
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The line with an atomic step taken in two: first it is read, and then it is written.
fn torn(line: &str) -> Vec<String> {
    const READ: &str = "std::sync::atomic::Ordering::Acquire";
    const WRITE: &str = "std::sync::atomic::Ordering::AcqRel";
    let mut torn = Vec::new();
    for name in [".compare_exchange(", ".fetch_update(", ".swap(", ".fetch_add(", ".fetch_sub("] {
        let Some(place) = line.find(name) else { continue };
        let (before, rest) = line.split_at(place);
        let rest = &rest[name.len()..];
        let Some(end) = closing(rest) else { continue };
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        let arguments: Vec<&str> = inside.split(", ").collect();
        let begin = before.rfind([' ', '(', '!']).map_or(0, |place| place + 1);
        let (before, atomic) = before.split_at(begin);
        let step = match (name, arguments.as_slice()) {
            (".compare_exchange(", [old, new, ..]) => format!(
                "(if {atomic}.load({READ}) == {old} {{ {atomic}.swap({new}, {WRITE}); Ok({old}) }} \
                 else {{ Err({atomic}.load({READ})) }})"
            ),
            (".fetch_update(", [_, _, next]) => format!(
                "({{ let old = {atomic}.load({READ}); match {next}(old) {{ Some(new) => {{ \
                 {atomic}.swap(new, {WRITE}); Ok(old) }} None => Err(old) }} }})"
            ),
            (".swap(", [new, _]) => format!(
                "({{ let old = {atomic}.load({READ}); {atomic}.swap({new}, {WRITE}); old }})"
            ),
            (".fetch_add(" | ".fetch_sub(", [by, _]) => {
                let sign = if name == ".fetch_add(" { '+' } else { '-' };
                format!(
                    "({{ let old = {atomic}.load({READ}); {atomic}.swap(old {sign} {by}, {WRITE}); \
                     old }})"
                )
            }
            _ => continue,
        };
        torn.push(format!("{before}{step}{after}"));
    }
    torn
}

/// Where the bracket closes that was opened just before this text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(place);
        }
    }
    None
}

/// What came of the variants of the exercises.
#[derive(Default)]
struct Counts {
    refused: usize,
    right: usize,
    wrong: usize,
    not_compiled: usize,
}

/// Makes the variants of the exercises whose names begin so, or of all. Of the variants of each,
/// every `stride`th is made. Complains of those that are accepted and not listed.
pub fn check(builder: &Builder, names: &[&str], stride: usize) -> Result<Complaints, String> {
    let mut exercises = exercise::read_all()?;
    exercises.retain(|it| names.is_empty() || names.iter().any(|name| it.name.starts_with(name)));

    let mut made = Vec::new();
    let mut programs = Vec::new();
    for exercise in &exercises {
        let (lines, is_yours) = exercise.solved_lines()?;
        let variants = variants_of(&lines, &is_yours).into_iter().enumerate();
        for (number, variant) in variants.skip(stride / 2).step_by(stride) {
            let program = exercise.program(&format!("{number:03}"));
            programs.extend(exercise.program_of(&program, &variant.text(&lines)));
            made.push((exercise, variant, program, lines.clone()));
        }
    }

    let built = builder.build_what_compiles(&programs)?;
    let counts = Mutex::new(Counts::default());
    let complaints = at_once(&made, |(exercise, variant, program, lines)| {
        let count = |change: fn(&mut Counts)| change(&mut counts.lock().expect("nobody panics"));
        if !built.is_built(program) {
            count(|counts| counts.not_compiled += 1);
            return None;
        }
        let ran = built.run(program, &[], "");
        if !ran.success || ran.stdout.trim() != SOLVED {
            count(|counts| counts.refused += 1);
            let said = ran.stdout.lines().next().unwrap_or("it ends without a verdict");
            println!("{program}, {}: {said}", variant.kind);
            return None;
        }
        let Some(listed) = listed(exercise, lines, &variant.text(lines)) else {
            return Some(format!(
                "{program}, {}, line {} between the marks: it is accepted, and \
                 exercises/solutions/{}.diff does not list it with a reason:\n{}",
                variant.kind,
                variant.at + 1,
                exercise.name,
                variant.told(lines)
            ));
        };
        if listed.reason.starts_with("wrong:") {
            count(|counts| counts.wrong += 1);
        } else {
            count(|counts| counts.right += 1);
        }
        println!("{program}, {}: accepted. {}: {}", variant.kind, listed.name, listed.reason);
        None
    });

    let counts = counts.into_inner().expect("nobody panics");
    println!(
        "variants: {}. refused: {}, right: {}, wrong and listed as accepted: {}, not compiled: {}",
        made.len(),
        counts.refused,
        counts.right,
        counts.wrong,
        counts.not_compiled
    );
    Ok(complaints)
}

/// The solution among those that are listed as accepted that has this text.
fn listed<'a>(exercise: &'a Exercise, lines: &[String], text: &str) -> Option<&'a Bug> {
    let solved = lines.join("\n") + "\n";
    let is_same = |bug: &&Bug| bug.make(&solved).is_ok_and(|it| code_of(&it) == code_of(text));
    exercise.accepted().find(is_same)
}

/// The code, without what does not matter to it.
fn code_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    // A trailing comma says nothing, and lines may be broken elsewhere.
    let words = code.flat_map(|line| line.split_whitespace().map(str::to_owned));
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Vec<(&'static str, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let variants = variants_of(&lines, &vec![true; lines.len()]);
        variants.iter().map(|it| (it.kind, it.new.join("\n"))).collect()
    }

    #[test]
    fn steps_are_left_out_and_swapped_and_wakers_dropped() {
        let variants = made("drop(state);\n// why\nwaker.wake();");
        assert!(variants.contains(&("left-out", String::new())));
        assert!(variants.contains(&("swapped", "waker.wake();\ndrop(state);".to_owned())));
        assert!(variants.contains(&("not-woken", "drop(waker);".to_owned())));
        assert!(variants.contains(&("forgotten", "std::mem::forget(state);".to_owned())));
    }

    #[test]
    fn lock_is_released_in_between() {
        let variants = made("let mut state = self.0.lock();\nstate.push(1);\ndrop(state);\nend();");
        let released: Vec<_> = variants.iter().filter(|it| it.0 == "released").collect();
        let [(_, text)] = released[..] else { panic!("{released:?}") };
        assert_eq!(text, "state.push(1);\ndrop(state); let mut state = self.0.lock();");
    }

    #[test]
    fn atomic_step_is_taken_in_two() {
        let [torn] = &torn("if self.0.swap(AGAIN, Ordering::AcqRel) != QUIET {")[..] else {
            panic!("one step")
        };
        assert!(torn.starts_with("if ({ let old = self.0.load("), "{torn}");
        assert!(torn.ends_with(
            "self.0.swap(AGAIN, std::sync::atomic::Ordering::AcqRel); old }) != QUIET {"
        ));
    }

    #[test]
    fn orderings_are_weakened_one_at_a_time() {
        let variants = made("let a = (Ordering::AcqRel, Ordering::Acquire);");
        let weaker: Vec<_> = variants.iter().filter(|it| it.0 == "weaker").collect();
        assert_eq!(weaker.len(), 4);
        assert_eq!(weaker[3].1, "let a = (Ordering::AcqRel, Ordering::Relaxed);");
    }
}
