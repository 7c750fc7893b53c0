//! Makes the exercises of their solutions, and sees each fail at first, and pass when it is solved.
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
//! The last exercise is a change of arc. What solves it is a list like that of the bugs of a stage
//! (`stage.rs`): first the change of arc's file, and then bugs in it, which the exercise must find.
//! They are made in copies: arc itself stays as it is.

use crate::build::Builder;
use crate::{Complaints, at_once};
use inside::stage::{self, Bug, folder};
use std::fs;
use std::path::PathBuf;

/// An exercise, and its solution.
struct Exercise {
    name: String,
    solution: String,
    text: String,
    /// Changes of a file of arc: what solves it, and bugs in that.
    changes: Vec<Bug>,
}

/// Where an exercise names a file of arc that it compiles.
const OF_ARC: &str = "#[path = \"../../";

impl Exercise {
    fn file(&self) -> PathBuf {
        folder().join("exercises").join(format!("{}.rs", self.name))
    }

    /// The bugs that it must find in its solution.
    fn bugs(&self) -> impl Iterator<Item = &Bug> {
        self.changes.iter().skip(1)
    }

    /// The programs of which one must fail and the others pass or find a bug, by name and text.
    fn programs(&self) -> Result<Vec<(String, String)>, String> {
        let name = &self.name;
        let Some(change) = self.changes.first() else {
            let solved = (format!("{name}__solution"), self.solution.clone());
            return Ok(vec![(name.clone(), self.text.clone()), solved]);
        };

        let told = |error: String| format!("exercises/solutions/{name}.rs: {error}");
        let (_, rest) =
            self.text.split_once(OF_ARC).ok_or_else(|| told("no file of arc".into()))?;
        let file = rest.split('"').next().unwrap_or_default();
        let root = folder().join("..").to_string_lossy().replace('\\', "/");
        let arc = fs::read_to_string(folder().join("..").join(file));
        let arc = arc.map_err(|error| told(format!("{file}: {error}")))?;
        let solved = change.make(&arc).map_err(told)?;

        let mut programs =
            vec![(name.clone(), self.text.replace(OF_ARC, &format!("#[path = \"{root}/")))];
        let mut add = |change: &Bug, changed: String| {
            let program = format!("{name}__{}", change.name);
            let text = self.text.replace(&format!("../../{file}"), &format!("arc/{program}.rs"));
            programs.push((format!("arc/{program}"), changed));
            programs.push((program, text));
        };
        add(change, solved.clone());
        for bug in self.bugs() {
            add(bug, bug.make(&solved).map_err(told)?);
        }
        Ok(programs)
    }
}

fn read_all() -> Result<Vec<Exercise>, String> {
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
        let text = exercise_of(&solution).map_err(told)?;
        let is_comment = |line| str::strip_prefix(line, "//").filter(|it| !it.starts_with('!'));
        let comments = solution.lines().skip_while(|line| line.trim() != "// SOLUTION");
        let changes = stage::read_bugs(comments.filter_map(is_comment)).map_err(told)?;
        exercises.push(Exercise { name, solution, text, changes });
    }
    Ok(exercises)
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

/// Writes all exercises anew.
pub fn write_all() -> Result<(), String> {
    for exercise in read_all()? {
        let file = exercise.file();
        fs::write(&file, &exercise.text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The exercises that are not what their solutions make of them.
fn stale() -> Result<Complaints, String> {
    let mut complaints = Vec::new();
    for exercise in read_all()? {
        if fs::read_to_string(exercise.file()).unwrap_or_default().replace('\r', "")
            != exercise.text
        {
            complaints.push(format!(
                "exercises/{}.rs is not what its solution makes of it (to write it anew: cargo run \
                 -p arc-inside --bin check -- --write)",
                exercise.name
            ));
        }
    }
    Ok(complaints)
}

/// Sees each exercise fail at first, with a message, and pass with its solution.
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
        if unsolved.success || !unsolved.stdout.starts_with("not yet: ") {
            let printed = unsolved.all();
            return Some(format!("exercise {name} does not fail with its message:\n{printed}"));
        }

        let solved = built.run(&format!("{name}__solution"), &[], "");
        if !solved.success || solved.stdout.trim() != "solved" {
            return Some(format!("the solution of {name} fails:\n{}", solved.all()));
        }
        exercise.bugs().find_map(|bug| {
            let found = built.run(&format!("{name}__{}", bug.name), &[], "");
            let is_found = found.stdout.starts_with(&bug.symptom);
            println!("exercise {name} finds {}: {is_found}", bug.name);
            let told = || format!("{name} does not find {}:\n{}", bug.name, found.all());
            (!is_found).then(told)
        })
    }));
    println!("exercises: {}", exercises.len());
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

    #[test]
    fn change_of_arc_is_made_in_copies_of_its_file() {
        let exercises = read_all().unwrap();
        let exercise = exercises.iter().find(|exercise| !exercise.changes.is_empty()).unwrap();
        let programs = exercise.programs().unwrap();

        // The exercise as it is, and two texts for its solution and for each bug.
        assert_eq!(programs.len(), 1 + 2 * exercise.changes.len());
        assert!(programs[0].1.contains("/../src/scheduler/idle.rs"));
        for pair in programs[1..].chunks(2) {
            let [(file, change), (_, program)] = pair else { panic!("{pair:?}") };
            assert!(program.contains(&format!("{file}.rs")), "{file}");
            assert!(change.contains("fn wait_until_all_asleep"), "{file}");
        }
    }
}
