//! What stands between the marks of an exercise.

pub const FROM_HERE: &str = "// YOURS: from here";
pub const TO_HERE: &str = "// to here";

/// The exercise, with what the other text has between the marks.
pub fn taken_over(exercise: &str, theirs: &str) -> Result<String, String> {
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
pub fn between_marks(text: &str) -> Result<Vec<String>, String> {
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
}
