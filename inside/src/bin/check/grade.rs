//! Says whether somebody else has solved the exercises.
//!
//! Only what stands between the marks of an exercise is taken. It goes into the exercise as the
//! repository has it, in a folder of its own. So it does not matter what was changed besides, on
//! purpose or not. And "solved" counts only with a word that is made up anew for each run, and that
//! what stands between the marks cannot know.

use crate::Complaints;
use crate::build::Builder;
use crate::exercise::{self, Exercise, REFUSED, SOLVED};
use crate::marks::taken_over;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// How much of what a program prints is shown.
const SHOWN_MAX: usize = 300;

/// Prints a line for each exercise. That one is not solved is no complaint.
pub fn grade(builder: &Builder, folder: &Path) -> Result<Complaints, String> {
    if !folder.is_dir() {
        return Err(format!("{} is no folder", folder.display()));
    }
    let exercises = exercise::read_all()?;
    let mut solved = 0;
    for exercise in &exercises {
        let result = grade_one(builder, exercise, folder)?;
        solved += usize::from(result == SOLVED);
        println!("{}: {result}", exercise.name);
    }
    println!("solved: {solved} of {}", exercises.len());
    Ok(Vec::new())
}

fn grade_one(builder: &Builder, exercise: &Exercise, folder: &Path) -> Result<String, String> {
    let program = exercise.program("graded");
    let word = format!("solved {:x}", RandomState::new().hash_one(&program));
    let texts = match texts(exercise, folder, &program, &word) {
        Ok(texts) => texts,
        Err(reason) => return Ok(reason),
    };

    let built = match builder.build_one(&program, &texts) {
        Ok(built) => built,
        Err(error) => {
            let first = error.lines().find(|line| line.starts_with("error"));
            return Ok(format!("it does not compile: {}", first.unwrap_or_default()));
        }
    };
    let ran = built.run(&program, &[], "");
    let last = ran.stdout.lines().last().unwrap_or_default();
    if ran.success && last == word {
        return Ok(SOLVED.to_owned());
    }
    let refused = ran.stdout.lines().find(|line| line.starts_with(REFUSED));
    let shown: String = ran.all().trim().chars().take(SHOWN_MAX).collect();
    Ok(refused.map_or_else(|| format!("it ends without a verdict: {shown}"), str::to_owned))
}

/// The program to build, and then the file of arc that it compiles, if it does.
fn texts(
    exercise: &Exercise,
    folder: &Path,
    program: &str,
    word: &str,
) -> Result<Vec<(String, String)>, String> {
    if let Some(file) = exercise.file_of_arc() {
        let name = file.rsplit('/').next().unwrap_or(file);
        let changed = read(&[folder.join(file), folder.join(name)])?;
        let text = with_word(&exercise.over(file, program), word);
        return Ok(vec![(program.to_owned(), text), (format!("arc/{program}"), changed)]);
    }

    let name = format!("{}.rs", exercise.name);
    let below = ["", "exercises", "inside/exercises"];
    let theirs = read(&below.map(|below| folder.join(below).join(&name)))?;
    // The word comes first: what is theirs does not get it.
    let text = taken_over(&with_word(&exercise.text, word), &theirs)?;
    Ok(vec![(program.to_owned(), text)])
}

/// The first of these files that is there.
fn read(files: &[PathBuf]) -> Result<String, String> {
    let mut texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    texts.next().map(|text| text.replace('\r', "")).ok_or("there is no such file".to_owned())
}

/// The program, which prints the word behind its own verdict.
fn with_word(text: &str, word: &str) -> String {
    text.replace("\n    solved();\n}", &format!("\n    solved();\n    println!(\"{word}\");\n}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::between_marks;

    #[test]
    fn every_exercise_prints_the_word_at_its_end() {
        for exercise in exercise::read_all().unwrap() {
            let text = with_word(&exercise.text, "w0rd");
            assert_eq!(text.matches("w0rd").count(), 1, "{}", exercise.name);
            assert!(between_marks(&exercise.text).is_ok_and(|places| !places.is_empty()));
        }
    }
}
