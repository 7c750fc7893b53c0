//! Says whether somebody else has solved the exercises.
//!
//! Only what stands between the marks of an exercise is taken. It goes into the exercise as the
//! repository has it, in a folder of its own. So it does not matter what was changed besides, on
//! purpose or not. And "solved" counts only with a word that is made up anew for each run, and that
//! what stands between the marks cannot know.

use crate::Complaints;
use crate::build::Builder;
use crate::exercise::{self, Exercise, REFUSED, SOLVED};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

const FROM_HERE: &str = "// YOURS: from here";
const TO_HERE: &str = "// to here";

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

/// The exercise, with what the other text has between the marks.
fn taken_over(exercise: &str, theirs: &str) -> Result<String, String> {
    let mut written = between_marks(theirs)?.into_iter();
    if written.len() != between_marks(exercise)?.len() {
        return Err("it has not as many marks as the exercise".to_owned());
    }

    let mut text = String::new();
    let mut is_theirs = false;
    for line in exercise.lines() {
        if line.trim() == TO_HERE {
            is_theirs = false;
        }
        if !is_theirs {
            text += line;
            text.push('\n');
        }
        if line.trim() == FROM_HERE {
            is_theirs = true;
            text += &written.next().unwrap_or_default();
        }
    }
    Ok(text)
}

/// What stands between the marks, place by place.
fn between_marks(text: &str) -> Result<Vec<String>, String> {
    let mut places: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        match (line.trim(), is_open) {
            (FROM_HERE, false) => {
                places.push(String::new());
                is_open = true;
            }
            (TO_HERE, true) => is_open = false,
            (FROM_HERE, true) | (TO_HERE, false) => {
                return Err("its marks are not in pairs".to_owned());
            }
            (_, true) => {
                let place = places.last_mut().ok_or("its marks are not in pairs")?;
                *place += line;
                place.push('\n');
            }
            (_, false) => {}
        }
    }
    if is_open { Err("its marks are not in pairs".to_owned()) } else { Ok(places) }
}

/// The program, which prints the word behind its own verdict.
fn with_word(text: &str, word: &str) -> String {
    text.replace("\n    solved();\n}", &format!("\n    solved();\n    println!(\"{word}\");\n}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXERCISE: &str = "fn main() {
    // YOURS: from here
    one();
    // to here
    check();
    // YOURS: from here
    // to here
    solved();
}
";

    #[test]
    fn only_what_stands_between_the_marks_is_taken() {
        let theirs = EXERCISE.replace("one();", "two();").replace("check();", "// no check");
        let expected = EXERCISE.replace("one();", "two();");
        assert_eq!(taken_over(EXERCISE, &theirs), Ok(expected));
    }

    #[test]
    fn marks_that_do_not_fit_are_told() {
        let error = |theirs: &str| taken_over(EXERCISE, theirs).unwrap_err();
        assert!(error("fn main() {}\n").contains("not as many"));
        assert!(error(&EXERCISE.replacen("    // to here\n", "", 1)).contains("in pairs"));
        assert!(error("// to here\n").contains("in pairs"));
        assert!(error("// YOURS: from here\n").contains("in pairs"));
    }

    #[test]
    fn every_exercise_prints_the_word_at_its_end() {
        for exercise in exercise::read_all().unwrap() {
            let text = with_word(&exercise.text, "w0rd");
            assert_eq!(text.matches("w0rd").count(), 1, "{}", exercise.name);
            assert!(between_marks(&exercise.text).is_ok_and(|places| !places.is_empty()));
        }
    }
}
