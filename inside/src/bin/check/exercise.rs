//! Each exercise must fail at first, pass when it is solved, refuse the wrong solutions that are
//! listed with it, and accept other right ones.
//!
//! What solves `exercises/02_oneshot.rs` stands in `exercises/solutions/02_oneshot.diff`. First
//! comes what belongs between the marks, with some lines around it. Then, behind a line `WRONG`,
//! comes what the exercise must refuse. These are written as the bugs of a stage (`stage.rs`), and
//! each is a change of the solved exercise:
//!
//! ```text
//!  the function, as the exercise has it
//!      // YOURS: from here
//! +    what solves it
//!      // to here
//!
//! WRONG
//!
//! name: what is wrong, in a sentence
//! - a line of the solution
//! + what stands there instead
//! you see: not yet: what the exercise says to it
//! ```
//!
//! Behind them, after a line `RIGHT`, stand other solutions that are right. They are written in the
//! same way, and `you see: solved`.
//!
//! Behind these, after a line `ACCEPTED`, stand the variants that `variants.rs` makes by rule and
//! that the exercise accepts, each with its reason.
//!
//! Exercises 15 and 16 are changes of arc. What solves one is one more such change, of arc's file.
//! The other solutions are changes of that again. All are made in copies: arc itself stays as it
//! is.

use crate::build::Builder;
use crate::marks::{FROM_HERE, TO_HERE, taken_over};
use crate::{Complaints, at_once};
use inside::stage::{self, Bug, folder};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// An exercise, and its solutions.
pub struct Exercise {
    pub name: String,
    /// The exercise, which nobody has solved yet.
    pub text: String,
    solution: Solution,
    /// What it must refuse: changes of the solution, or of the changed file of arc.
    wrong: Vec<Bug>,
    /// Other solutions that it must accept, as such changes.
    right: Vec<Bug>,
    /// Variants that it accepts.
    accepted: Vec<Bug>,
}

/// What solves an exercise.
#[derive(Debug)]
enum Solution {
    /// The exercise, with something else between its marks.
    Text(String),
    /// A change of the file of arc that it compiles.
    OfArc(Bug),
}

/// Where an exercise names a file of arc that it compiles.
const OF_ARC: &str = "#[path = \"../../";

/// How a wrong solution begins to print.
pub const REFUSED: &str = "not yet: ";

/// What a right one prints.
pub const SOLVED: &str = "solved";

/// How many wrong solutions and how many right ones there must be at least, in all.
const WRONG_MIN: usize = 150;
const RIGHT_MIN: usize = 30;

impl Exercise {
    /// The file of arc that it compiles, if what solves it is a change of that.
    pub fn file_of_arc(&self) -> Option<&str> {
        file_of_arc(&self.text)
    }

    /// The name of a program in which a change is made.
    pub fn program(&self, change: &str) -> String {
        format!("{}__{change}", self.name)
    }

    /// The wrong solutions, and then the right ones.
    fn variants(&self) -> impl Iterator<Item = &Bug> {
        self.wrong.iter().chain(&self.right)
    }

    /// The solutions that it accepts, each with a reason.
    pub fn accepted(&self) -> impl Iterator<Item = &Bug> {
        self.right.iter().chain(&self.accepted)
    }

    /// The lines of the solved exercise, or of the changed file of arc, and which of them solve it.
    pub fn solved_lines(&self) -> Result<(Vec<String>, Vec<bool>), String> {
        let to_lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let change = match &self.solution {
            Solution::Text(text) => {
                let lines = to_lines(text);
                let is_yours = are_between_marks(&lines);
                return Ok((lines, is_yours));
            }
            Solution::OfArc(change) => change,
        };
        let file = self.file_of_arc().ok_or("it compiles no file of arc")?;
        let arc = fs::read_to_string(folder().join("..").join(file));
        let arc = arc.map_err(|error| format!("{file}: {error}"))?;
        let lines = to_lines(&change.make(&arc)?);
        let is_new = |line: &String| !arc.lines().any(|it| it.trim() == line.trim());
        let is_yours = lines.iter().map(is_new).collect();
        Ok((lines, is_yours))
    }

    /// The program by name and text that this solution makes of the exercise, and the file of arc
    /// that it compiles, if it does.
    pub fn program_of(&self, program: &str, solution: &str) -> Vec<(String, String)> {
        match self.file_of_arc() {
            None => vec![(program.to_owned(), solution.to_owned())],
            Some(file) => vec![
                (program.to_owned(), self.over(file, program)),
                (format!("arc/{program}"), solution.to_owned()),
            ],
        }
    }

    /// The programs by name and text: the exercise as it is, its solution, and the wrong ones.
    fn programs(&self) -> Result<Vec<(String, String)>, String> {
        let told = |error: String| format!("exercises/solutions/{}.diff: {error}", self.name);
        let solution = match &self.solution {
            Solution::Text(text) => text,
            Solution::OfArc(change) => return self.programs_of_arc(change).map_err(told),
        };

        let mut programs = vec![(self.name.clone(), self.text.clone())];
        programs.push((self.program("solution"), solution.clone()));
        for bug in self.variants() {
            programs.push((self.program(&bug.name), bug.make(solution).map_err(told)?));
        }
        Ok(programs)
    }

    /// The same, if what solves it is a change of a file of arc.
    fn programs_of_arc(&self, change: &Bug) -> Result<Vec<(String, String)>, String> {
        let file = self.file_of_arc().ok_or("it compiles no file of arc")?;
        let root = folder().join("..").to_string_lossy().replace('\\', "/");
        let arc = fs::read_to_string(folder().join("..").join(file));
        let arc = arc.map_err(|error| format!("{file}: {error}"))?;
        let solved = change.make(&arc)?;

        let text = self.text.replace(OF_ARC, &format!("#[path = \"{root}/"));
        let mut programs = vec![(self.name.clone(), text)];
        programs.extend(self.program_of(&self.program("solution"), &solved));
        for bug in self.variants() {
            programs.extend(self.program_of(&self.program(&bug.name), &bug.make(&solved)?));
        }
        Ok(programs)
    }

    /// The text of a program that compiles a copy of a file of arc.
    pub fn over(&self, file: &str, program: &str) -> String {
        self.text.replace(&format!("../../{file}"), &format!("arc/{program}.rs"))
    }
}

/// Which lines stand between the marks.
fn are_between_marks(lines: &[String]) -> Vec<bool> {
    let mut is_between = false;
    let mut are_between = Vec::new();
    for line in lines {
        is_between &= line.trim() != TO_HERE;
        are_between.push(is_between);
        is_between |= line.trim() == FROM_HERE;
    }
    are_between
}

fn file_of_arc(exercise: &str) -> Option<&str> {
    let (_, rest) = exercise.split_once(OF_ARC)?;
    rest.split('"').next()
}

pub fn read_all() -> Result<Vec<Exercise>, String> {
    let folder = folder().join("exercises");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "rs"));
    files.sort();

    let mut exercises = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text(&file)?;
        let solutions = folder.join("solutions").join(format!("{name}.diff"));
        let told = |error: String| format!("{}: {error}", solutions.display());
        exercises.push(read(name, text, &read_text(&solutions)?).map_err(told)?);
    }
    Ok(exercises)
}

fn read_text(file: &Path) -> Result<String, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.replace('\r', ""))
}

/// Reads an exercise and the text of its solutions.
fn read(name: String, text: String, solutions: &str) -> Result<Exercise, String> {
    let hints = text.lines().filter(|line| line.starts_with("// Hint ")).count();
    if hints != 3 {
        return Err(format!("the exercise has {hints} hints, and should have three"));
    }

    let (solution, list) = solutions.split_once("\nWRONG\n").ok_or("it has no list `WRONG`")?;
    let (list, accepted) = list.split_once("\nACCEPTED\n").unwrap_or((list, ""));
    let (wrong, right) = list.split_once("\nRIGHT\n").unwrap_or((list, ""));
    let (wrong, right) = (stage::read_bugs(wrong.lines())?, stage::read_bugs(right.lines())?);
    let accepted = stage::read_bugs(accepted.lines())?;
    if wrong.is_empty() {
        return Err("no wrong solution stands behind `WRONG`".to_owned());
    }
    if let Some(bug) = wrong.iter().find(|bug| !bug.symptom.starts_with(REFUSED)) {
        return Err(format!("{}: what one sees must begin with `{REFUSED}`", bug.name));
    }
    let all = wrong.iter().chain(&right).chain(&accepted);
    let names: BTreeSet<&str> = all.map(|bug| bug.name.as_str()).collect();
    if names.len() < wrong.len() + right.len() + accepted.len() {
        return Err("two solutions have the same name".to_owned());
    }
    let has_verdict =
        |bug: &&Bug| bug.reason.starts_with("right: ") || bug.reason.starts_with("wrong: ");
    if let Some(bug) = accepted.iter().find(|bug| !has_verdict(bug)) {
        return Err(format!("{}: its reason must begin with `right:` or `wrong:`", bug.name));
    }
    if let Some(bug) = right.iter().chain(&accepted).find(|bug| bug.symptom != SOLVED) {
        return Err(format!("{}: what one sees must be `{SOLVED}`", bug.name));
    }

    let solution = solution_of(&text, solution)?;
    Ok(Exercise { name, text, solution, wrong, right, accepted })
}

/// What solves an exercise. The first line of its text is a title.
fn solution_of(exercise: &str, text: &str) -> Result<Solution, String> {
    let mut lines = text.lines().skip(1);
    if file_of_arc(exercise).is_some() {
        let change = stage::read_bugs(lines)?.pop();
        return Ok(Solution::OfArc(change.ok_or("no change of arc stands at its beginning")?));
    }

    // A line that is not of the exercise would tell its reader something wrong.
    let is_known = |line: &str| exercise.lines().any(|it| it == line);
    let strange = lines.find(|line| line.strip_prefix(' ').is_some_and(|line| !is_known(line)));
    if let Some(line) = strange {
        return Err(format!("the exercise has no line `{}`", line.trim()));
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix(['+', ' ']));
    let solved = taken_over(exercise, &lines.collect::<Vec<_>>().join("\n"))?;
    Ok(Solution::Text(solved))
}

/// Sees each exercise fail at first, with a message, pass with its solution, and refuse the wrong
/// ones.
/// Only those whose names begin with one of these, if there are any.
pub fn check(builder: &Builder, names: &[&str]) -> Result<Complaints, String> {
    let mut exercises = read_all()?;
    exercises.retain(|it| names.is_empty() || names.iter().any(|name| it.name.starts_with(name)));
    let mut programs = Vec::new();
    for exercise in &exercises {
        programs.extend(exercise.programs()?);
    }
    let built = builder.build_texts(&programs)?;
    let mut complaints = at_once(&exercises, |exercise| {
        let name = &exercise.name;
        let unsolved = built.run(name, &[], "");
        println!("exercise {name}: {}", unsolved.stdout.trim());
        if unsolved.success || !unsolved.stdout.starts_with(REFUSED) {
            let printed = unsolved.all();
            return Some(format!(
                "exercise {name} does not fail with its message (if you have solved it: this \
                 command checks the repository's own exercises):\n{printed}"
            ));
        }

        let solved = built.run(&exercise.program("solution"), &[], "");
        if !solved.success || solved.stdout.trim() != "solved" {
            return Some(format!("the solution of {name} fails:\n{}", solved.all()));
        }
        None
    });

    let mut variants = Vec::new();
    for exercise in &exercises {
        variants.extend(exercise.variants().map(|bug| (exercise, bug)));
    }
    complaints.extend(at_once(&variants, |(exercise, bug)| {
        let program = exercise.program(&bug.name);
        let ran = built.run(&program, &[], "");
        let is_right = bug.symptom == SOLVED;
        if ran.success == is_right && ran.stdout.starts_with(&bug.symptom) {
            println!("{program}: {}", bug.symptom);
            return None;
        }
        let printed = ran.all();
        Some(format!("{program} should say `{}`. It printed:\n{printed}", bug.symptom))
    }));

    let right = exercises.iter().map(|exercise| exercise.right.len()).sum::<usize>();
    let wrong = variants.len() - right;
    println!("exercises: {}, {wrong} wrong solutions, {right} other right ones", exercises.len());
    if names.is_empty() && (wrong < WRONG_MIN || right < RIGHT_MIN) {
        complaints.push(format!(
            "there are {wrong} wrong solutions and {right} other right ones, and there should be \
             {WRONG_MIN} and {RIGHT_MIN}"
        ));
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXERCISE: &str = "fn main() {
    // YOURS: from here
    // to here
}

// Hint 1: a
// Hint 2: b
// Hint 3: c
";

    const SOLUTIONS: &str = "What solves it.

 fn main() {
     // YOURS: from here
+    one();
+    two();
     // to here

WRONG

no-two: the second is missing
- one();
- two();
+ one();
you see: not yet: two

no-one: the first is missing
- one();
you see: not yet: one

RIGHT

other-way-round: nobody cares
- one();
- two();
+     two();
+     one();
you see: solved
";

    fn exercise(solutions: &str) -> Result<Exercise, String> {
        read("01".to_owned(), EXERCISE.to_owned(), solutions)
    }

    #[test]
    fn programs_are_made_of_an_exercise_and_its_solutions() {
        let mut between = Vec::new();
        for (name, text) in exercise(SOLUTIONS).unwrap().programs().unwrap() {
            let (_, rest) = text.split_once("from here\n").unwrap();
            let (inner, rest) = rest.split_once("    // to here").unwrap();
            assert!(rest.ends_with("// Hint 3: c\n"), "{name}");
            between.push((name, inner.to_owned()));
        }
        let expected = [
            ("01", ""),
            ("01__solution", "    one();\n    two();\n"),
            ("01__no-two", "one();\n"),
            ("01__no-one", "    two();\n"),
            ("01__other-way-round", "    two();\n    one();\n"),
        ];
        let expected = expected.map(|(name, inner)| (name.to_owned(), inner.to_owned()));
        assert_eq!(between, expected);
    }

    #[test]
    fn list_that_refuses_nothing_is_told() {
        let error = |text: &str| exercise(text).err().unwrap();
        let (without, _) = SOLUTIONS.split_once("WRONG").unwrap();
        assert_eq!(error(without), "it has no list `WRONG`");
        assert!(error(&SOLUTIONS.replace("no-one:", "no-two:")).contains("the same name"));
        assert!(error(&format!("{without}WRONG\n")).starts_with("no wrong solution"));
        assert!(error(&SOLUTIONS.replace("not yet: one", "solved")).starts_with("no-one: "));
        assert!(error(&SOLUTIONS.replace("- one();\nyou", "you")).contains("`-`"));

        let stale = SOLUTIONS.replace("- one();\nyou", "- three();\nyou");
        let programs = exercise(&stale).unwrap().programs();
        assert!(programs.unwrap_err().ends_with("no-one: `three();` is not there"));
    }

    #[test]
    fn exercise_that_does_not_fit_its_solution_is_told() {
        let error = |text: &str| exercise(text).err().unwrap();
        let renamed = SOLUTIONS.replace(" fn main() {", " fn solve() {");
        assert_eq!(error(&renamed), "the exercise has no line `fn solve() {`");
        assert!(error(&SOLUTIONS.replace("     // to here\n", "")).contains("in pairs"));
        let hints = read("01".to_owned(), EXERCISE.replace("// Hint 3", "// "), SOLUTIONS);
        assert!(hints.err().unwrap().contains("2 hints"));
    }

    #[test]
    fn change_of_arc_is_made_in_copies_of_its_file() {
        let exercises = read_all().unwrap();
        let of_arc = exercises.iter().filter_map(|exercise| exercise.file_of_arc());
        let of_arc: Vec<&str> = of_arc.collect();
        assert_eq!(of_arc, ["src/scheduler/sleep.rs", "inside/src/hierarchical_wheel.rs"]);

        let methods = ["fn wait_until_all_asleep", "fn reset"];
        let changed = exercises.iter().filter(|it| matches!(it.solution, Solution::OfArc(_)));
        for ((exercise, file_of_arc), method) in changed.zip(of_arc).zip(methods) {
            // The exercise as it is, and two texts for its solution and for each other one.
            let programs = exercise.programs().unwrap();
            assert_eq!(programs.len(), 1 + 2 * (1 + exercise.variants().count()));
            assert!(programs[0].1.contains(&format!("/../{file_of_arc}")));
            for pair in programs[1..].chunks(2) {
                let [(_, program), (file, change)] = pair else { panic!("{pair:?}") };
                assert!(program.contains(&format!("{file}.rs")), "{file}");
                assert!(change.contains(method), "{file}");
            }
        }
    }
}
