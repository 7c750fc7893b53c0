//! Makes the exercises of their solutions. Each must fail at first, pass when it is solved, and
//! refuse the wrong solutions that are listed with it.
//!
//! A solution holds what the exercise has in its place, in comments:
//!
//! ```text
//! // SOLUTION
//! what solves it
//! // INSTEAD
//! //~ what the exercise begins with
//! // END
//! ```
//!
//! The wrong solutions stand at the end, behind a line `// WRONG`. They are written as the bugs of
//! a stage (`stage.rs`), and each is a change of the solution. The exercise has no line of this:
//!
//! ```text
//! // WRONG
//! //
//! // ```text
//! // name: what is wrong, in a sentence
//! //     - a line of the solution
//! //     + what stands there instead
//! //     you see: not yet: what the exercise says to it
//! // ```
//! ```
//!
//! Behind them, after a line `// RIGHT`, stand other solutions that are right. They are written in
//! the same way, and `you see: solved`.
//!
//! Exercises 15 and 16 are changes of arc. What solves one is one more such change, of arc's file.
//! The other solutions are changes of that again. All are made in copies: arc itself stays as it
//! is.

use crate::build::Builder;
use crate::{Complaints, at_once};
use inside::stage::{self, Bug, folder};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// An exercise, and its solution.
pub struct Exercise {
    pub name: String,
    /// What solves it, without the wrong solutions.
    solution: String,
    /// The exercise as it is when nobody has solved it.
    pub text: String,
    /// What solves it, if that is a change of a file of arc.
    change: Option<Bug>,
    /// What it must refuse: changes of the solution, or of the changed file of arc.
    wrong: Vec<Bug>,
    /// Other solutions that it must accept, as such changes.
    right: Vec<Bug>,
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
    fn file(&self) -> PathBuf {
        folder().join("exercises").join(format!("{}.rs", self.name))
    }

    /// The file of arc that it compiles, if what solves it is a change of that.
    pub fn file_of_arc(&self) -> Option<&str> {
        let (_, rest) = self.text.split_once(OF_ARC)?;
        rest.split('"').next()
    }

    /// The name of a program in which a change is made.
    pub fn program(&self, change: &str) -> String {
        format!("{}__{change}", self.name)
    }

    /// The wrong solutions, and then the right ones.
    fn variants(&self) -> impl Iterator<Item = &Bug> {
        self.wrong.iter().chain(&self.right)
    }

    /// The programs by name and text: the exercise as it is, its solution, and the wrong ones.
    fn programs(&self) -> Result<Vec<(String, String)>, String> {
        let told = |error: String| format!("exercises/solutions/{}.rs: {error}", self.name);
        if let Some(change) = &self.change {
            return self.programs_of_arc(change).map_err(told);
        }

        let mut programs = vec![(self.name.clone(), self.text.clone())];
        programs.push((self.program("solution"), self.solution.clone()));
        for bug in self.variants() {
            programs.push((self.program(&bug.name), bug.make(&self.solution).map_err(told)?));
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
        let mut add = |change: &str, changed: String| {
            let program = self.program(change);
            programs.push((program.clone(), self.over(file, &program)));
            programs.push((format!("arc/{program}"), changed));
        };
        add("solution", solved.clone());
        for bug in self.variants() {
            add(&bug.name, bug.make(&solved)?);
        }
        Ok(programs)
    }

    /// The text of a program that compiles a copy of a file of arc.
    pub fn over(&self, file: &str, program: &str) -> String {
        self.text.replace(&format!("../../{file}"), &format!("arc/{program}.rs"))
    }
}

pub fn read_all() -> Result<Vec<Exercise>, String> {
    let folder = folder().join("exercises/solutions");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();

    let mut exercises = Vec::new();
    for file in files {
        let told = |error: String| format!("{}: {error}", file.display());
        let solution = fs::read_to_string(&file).map_err(|error| told(error.to_string()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        exercises.push(read(name, &solution).map_err(told)?);
    }
    Ok(exercises)
}

/// Reads an exercise out of the text of its solution.
fn read(name: String, text: &str) -> Result<Exercise, String> {
    let (solution, list) = text.split_once("\n// WRONG\n").ok_or("it has no list `// WRONG`")?;
    let solution = format!("{}\n", solution.trim_end());
    let (wrong, right) = list.split_once("\n// RIGHT\n").unwrap_or((list, ""));

    let (wrong, right) = (bugs_in_comments(wrong)?, bugs_in_comments(right)?);
    if wrong.is_empty() {
        return Err("no wrong solution stands behind `// WRONG`".to_owned());
    }
    if let Some(bug) = wrong.iter().find(|bug| !bug.symptom.starts_with(REFUSED)) {
        return Err(format!("{}: what one sees must begin with `{REFUSED}`", bug.name));
    }
    let names: BTreeSet<&str> = wrong.iter().chain(&right).map(|bug| bug.name.as_str()).collect();
    if names.len() < wrong.len() + right.len() {
        return Err("two solutions have the same name".to_owned());
    }
    if let Some(bug) = right.iter().find(|bug| bug.symptom != SOLVED) {
        return Err(format!("{}: what one sees must be `{SOLVED}`", bug.name));
    }

    let change = match solution.split_once("// SOLUTION\n") {
        Some((_, rest)) => bugs_in_comments(rest)?.pop(),
        None => None,
    };
    Ok(Exercise { name, text: exercise_of(&solution)?, solution, change, wrong, right })
}

/// The bugs in the first block of text among the comments.
fn bugs_in_comments(text: &str) -> Result<Vec<Bug>, String> {
    stage::read_bugs(text.lines().filter_map(|line| line.strip_prefix("//")))
}

/// The exercise that is made of a solution.
fn exercise_of(solution: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut is_solved_here = false;
    let mut places = 0;
    for line in solution.lines() {
        let (indent, trimmed) = line.split_at(line.len() - line.trim_start().len());
        match trimmed {
            "// SOLUTION" => {
                is_solved_here = true;
                places += 1;
                text += &format!("{indent}// YOURS: from here\n");
            }
            "// INSTEAD" => is_solved_here = false,
            "// END" => text += &format!("{indent}// to here\n"),
            _ if is_solved_here => {}
            _ => match trimmed.strip_prefix("//~ ") {
                Some(instead) => text += &format!("{indent}{instead}\n"),
                None => text += &format!("{line}\n"),
            },
        }
    }

    let hints = text.lines().filter(|line| line.starts_with("// Hint ")).count();
    match (places, hints) {
        (0, _) => Err("there is nothing to solve".to_owned()),
        (_, 3) => Ok(text),
        _ => Err(format!("it has {hints} hints, and should have three")),
    }
}

/// Writes all exercises anew. Without `overwrites`, it leaves those alone that somebody has changed
/// and not committed: they may be solved, and nobody else has them.
pub fn write_all(overwrites: bool) -> Result<Complaints, String> {
    let mut complaints = Vec::new();
    for exercise in read_all()? {
        let file = exercise.file();
        let now = fs::read_to_string(&file).ok().map(|text| text.replace('\r', ""));
        if now.as_ref() == Some(&exercise.text) {
            continue;
        }
        if now.is_some() && !overwrites && committed(&exercise.name) != now {
            complaints.push(format!(
                "exercises/{}.rs has changes that are not committed, and stays as it is. (If you \
                 have solved it: commit or copy it first. To take the changes away: cargo run -p \
                 arc-inside --bin check -- --write --overwrite)",
                exercise.name
            ));
            continue;
        }
        fs::write(&file, &exercise.text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(complaints)
}

/// An exercise as git's last commit has it. None: it has no such file, or there is no git.
fn committed(name: &str) -> Option<String> {
    let file = format!("HEAD:./exercises/{name}.rs");
    let output = Command::new("git").args(["show", &file]).current_dir(folder()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.replace('\r', ""))
}

/// The exercises that are not what their solutions make of them.
fn stale() -> Result<Complaints, String> {
    let mut complaints = Vec::new();
    for exercise in read_all()? {
        if fs::read_to_string(exercise.file()).unwrap_or_default().replace('\r', "")
            != exercise.text
        {
            complaints.push(format!(
                "exercises/{}.rs is not what its solution makes of it (if you have solved it: \
                 commit or copy it first, as this takes your solution away. To write it anew: \
                 cargo run -p arc-inside --bin check -- --write)",
                exercise.name
            ));
        }
    }
    Ok(complaints)
}

/// Sees each exercise fail at first, with a message, pass with its solution, and refuse the wrong
/// ones.
pub fn check(builder: &Builder) -> Result<Complaints, String> {
    let exercises = read_all()?;
    let mut programs = Vec::new();
    for exercise in &exercises {
        programs.extend(exercise.programs()?);
    }
    let built = builder.build_texts(&programs)?;
    let mut complaints = stale()?;
    complaints.extend(at_once(&exercises, |exercise| {
        let name = &exercise.name;
        let unsolved = built.run(name, &[], "");
        println!("exercise {name}: {}", unsolved.stdout.trim());
        if unsolved.success || !unsolved.stdout.starts_with(REFUSED) {
            let printed = unsolved.all();
            return Some(format!("exercise {name} does not fail with its message:\n{printed}"));
        }

        let solved = built.run(&exercise.program("solution"), &[], "");
        if !solved.success || solved.stdout.trim() != "solved" {
            return Some(format!("the solution of {name} fails:\n{}", solved.all()));
        }
        None
    }));

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
    if wrong < WRONG_MIN || right < RIGHT_MIN {
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

    #[test]
    fn exercise_is_made_of_its_solution() {
        let hints = "// Hint 1: a\n// Hint 2: b\n// Hint 3: c\n";
        let solution =
            format!("a\n    // SOLUTION\n    b\n    // INSTEAD\n    //~ c\n    // END\n{hints}");
        let expected = format!("a\n    // YOURS: from here\n    c\n    // to here\n{hints}");
        assert_eq!(exercise_of(&solution), Ok(expected));
        assert!(exercise_of(hints).is_err());
        assert!(exercise_of("// SOLUTION\n// END\n").is_err());
    }

    const SOLUTION: &str = "fn main() {
    // SOLUTION
    one();
    two();
    // INSTEAD
    // END
}

// Hint 1: a
// Hint 2: b
// Hint 3: c

// WRONG
//
// ```text
// no-two: the second is missing
//     - one();
//     - two();
//     + one();
//     you see: not yet: two
//
// no-one: the first is missing
//     - one();
//     you see: not yet: one
// ```

// RIGHT
//
// ```text
// other-way-round: nobody cares
//     - one();
//     - two();
//     + two();
//     + one();
//     you see: solved
// ```
";

    #[test]
    fn wrong_solutions_are_made_of_the_solution() {
        let exercise = read("01".to_owned(), SOLUTION).unwrap();
        let programs = exercise.programs().unwrap();
        let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["01", "01__solution", "01__no-two", "01__no-one", "01__other-way-round"]
        );
        assert!(programs[1].1.contains("one();") && programs[1].1.contains("two();"));
        assert!(programs[2].1.contains("one();") && !programs[2].1.contains("two();"));
        assert!(!programs[3].1.contains("one();") && programs[3].1.contains("two();"));
        assert!(programs[4].1.contains("two();\none();"));

        // Nobody sees the list.
        for (name, text) in &programs {
            assert!(text.ends_with("// Hint 3: c\n") && !text.contains("WRONG"), "{name}");
        }
    }

    #[test]
    fn list_that_refuses_nothing_is_told() {
        let error = |text: &str| read("01".to_owned(), text).err().unwrap();
        let (without, _) = SOLUTION.split_once("// WRONG").unwrap();
        assert_eq!(error(without), "it has no list `// WRONG`");
        assert!(error(&SOLUTION.replace("no-one:", "no-two:")).contains("the same name"));
        assert!(error(&format!("{without}// WRONG\n//\n")).starts_with("no wrong solution"));
        assert!(error(&SOLUTION.replace("not yet: one", "solved")).starts_with("no-one: "));
        assert!(
            error(&SOLUTION.replace("//     - one();\n//     you", "//     you")).contains("`-`")
        );

        let stale =
            SOLUTION.replace("//     - one();\n//     you", "//     - three();\n//     you");
        let programs = read("01".to_owned(), &stale).unwrap().programs();
        assert!(programs.unwrap_err().ends_with("no-one: `three();` is not there"));
    }

    #[test]
    fn change_of_arc_is_made_in_copies_of_its_file() {
        let exercises = read_all().unwrap();
        let of_arc = exercises.iter().filter_map(|exercise| exercise.file_of_arc());
        let of_arc: Vec<&str> = of_arc.collect();
        assert_eq!(of_arc, ["src/scheduler/sleep.rs", "src/driver/wheel.rs"]);

        let methods = ["fn wait_until_all_asleep", "fn reset"];
        let changed = exercises.iter().filter(|exercise| exercise.change.is_some());
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
