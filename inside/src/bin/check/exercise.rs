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

use crate::build::Builder;
use crate::{Complaints, at_once};
use inside::stage::folder;
use std::fs;
use std::path::PathBuf;

/// An exercise, and its solution.
struct Exercise {
    name: String,
    solution: String,
    text: String,
}

impl Exercise {
    fn file(&self) -> PathBuf {
        folder().join("exercises").join(format!("{}.rs", self.name))
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
        exercises.push(Exercise { name, solution, text });
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
        programs.push((exercise.name.clone(), exercise.text.clone()));
        programs.push((format!("{}__solved", exercise.name), exercise.solution.clone()));
    }
    let built = builder.build_texts(&programs)?;
    let mut complaints = stale()?;
    complaints.extend(at_once(&exercises, |exercise| {
        let name = &exercise.name;
        let unsolved = built.run(name, &[], "");
        let solved = built.run(&format!("{name}__solved"), &[], "");
        println!("exercise {name}: {}", unsolved.stdout.trim());
        if unsolved.success || !unsolved.stdout.starts_with("not yet: ") {
            return Some(format!("exercise {name} does not fail with its message"));
        }
        let is_right = solved.success && solved.stdout.trim() == "solved";
        (!is_right).then(|| format!("the solution of {name} fails:\n{}", solved.all()))
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
}
