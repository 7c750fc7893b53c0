//! `audit.toml`, the one home of the limits: reading it, and judging counts by it.

use std::path::Path;
use std::{fmt, fs};

use toml::{Table, Value};

use crate::Failure;
use crate::table::number;

/// The file's name, below the workspace's root.
pub const FILE: &str = "audit.toml";

/// The limits that hold.
pub struct Limits(Table);

/// A place where a rule of tidy does not hold, and why.
pub struct Exception {
    pub rule: String,
    pub file: String,
    /// A part of the complaint that is excused, such as the function's name.
    pub text: String,
}

impl Limits {
    /// Reads `audit.toml` of the workspace.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        let fail = |reason: String| Failure(format!("{FILE}: {reason}"));
        let text = fs::read_to_string(root.join(FILE)).map_err(|error| fail(error.to_string()))?;
        Self::parse(&text).map_err(fail)
    }

    /// Reads the limits from a text.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        Ok(Limits(table))
    }

    /// The number at `table.key`.
    ///
    /// # Errors
    /// There is none.
    pub fn number(&self, table: &str, key: &str) -> Result<usize, Failure> {
        self.get(table, key)
            .and_then(Value::as_integer)
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| Failure(format!("{FILE}: no number `{key}` in [{table}]")))
    }

    /// All names and numbers of a table, in the order of the names.
    ///
    /// # Errors
    /// One of them is not a number.
    pub fn numbers(&self, table: &str) -> Result<Vec<(String, usize)>, Failure> {
        let keys = self.0.get(table).and_then(Value::as_table);
        let mut numbers = Vec::new();
        for key in keys.into_iter().flat_map(Table::keys) {
            numbers.push((key.clone(), self.number(table, key)?));
        }
        Ok(numbers)
    }

    /// All names and lists of texts of a table.
    pub fn lists(&self, table: &str) -> Vec<(String, Vec<String>)> {
        let lists = self.0.get(table).and_then(Value::as_table);
        let texts = |value: &Value| {
            let values = value.as_array().into_iter().flatten();
            values.filter_map(|it| it.as_str().map(str::to_owned)).collect()
        };
        let lists = lists.into_iter().flatten();
        lists.map(|(name, list)| (name.clone(), texts(list))).collect()
    }

    /// The `[[exception]]` entries, each of which must give its reason.
    ///
    /// # Errors
    /// A field is missing.
    pub fn exceptions(&self) -> Result<Vec<Exception>, Failure> {
        let entries = self.0.get("exception").and_then(Value::as_array);
        let mut exceptions = Vec::new();
        for entry in entries.into_iter().flatten() {
            let text = |key: &str| {
                let text = entry.get(key).and_then(Value::as_str);
                let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
                text.ok_or_else(|| Failure(format!("{FILE}: an exception has no `{key}`")))
            };
            text("reason")?;
            exceptions.push(Exception {
                rule: text("rule")?,
                file: text("file")?,
                text: text("text")?,
            });
        }
        Ok(exceptions)
    }

    fn get(&self, table: &str, key: &str) -> Option<&Value> {
        self.0.get(table)?.get(key)
    }
}

/// How much is allowed.
#[derive(Clone, Copy)]
pub enum Bound {
    AtMost(usize),
    AtLeast(usize),
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bound::AtMost(most) => write!(formatter, "{}", number(most)),
            Bound::AtLeast(least) => write!(formatter, "at least {}", number(least)),
        }
    }
}

/// A count beside what is allowed.
pub struct Budget {
    /// What is counted, as in "unsafe in src".
    pub what: String,
    pub bound: Bound,
    pub counted: usize,
    /// Where to look, and what to do when it is broken.
    pub remedy: String,
    /// Whether the allowed number shall be lowered as soon as less is counted.
    pub is_ratchet: bool,
}

impl Budget {
    pub fn is_broken(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.counted > most,
            Bound::AtLeast(least) => self.counted < least,
        }
    }

    /// What there is to say, if anything.
    pub fn remark(&self) -> Option<Remark> {
        let Budget { what, bound, counted, remedy, .. } = self;
        if self.is_broken() {
            return Some(Remark::complaint(format!(
                "{what}: {counted}, and {FILE} allows {bound}. {remedy}"
            )));
        }
        match self.bound {
            Bound::AtMost(most) if self.is_ratchet && *counted < most => Some(Remark::note(
                format!("{what}: {counted} now. Lower the {most} in {FILE}, so that it stays so."),
            )),
            _ => None,
        }
    }
}

/// What a check has to say.
#[derive(Debug, PartialEq)]
pub struct Remark {
    /// Whether the check fails for it.
    pub is_complaint: bool,
    pub text: String,
}

impl Remark {
    pub fn complaint(text: String) -> Self {
        Remark { is_complaint: true, text }
    }

    pub fn note(text: String) -> Self {
        Remark { is_complaint: false, text }
    }
}

/// Prints all remarks of the command `name`.
///
/// # Errors
/// There is a complaint among them.
pub fn settle(name: &str, remarks: &[Remark]) -> Result<(), Failure> {
    for remark in remarks {
        let kind = if remark.is_complaint { "" } else { "note: " };
        println!("{kind}{}", remark.text);
    }
    match remarks.iter().filter(|it| it.is_complaint).count() {
        0 => Ok(()),
        count => Err(Failure(format!("complaints of {name}: {count}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
[lines]
src = 3000

[unsafe]
src = 1
\"crates/macros/src\" = 0

[package]
one = [\"a\", \"b\"]

[[exception]]
rule = \"length\"
file = \"a.rs\"
text = \"fn f\"
reason = \"it is a table\"
";

    #[test]
    fn limits_are_read() {
        let limits = Limits::parse(TEXT).unwrap();
        assert_eq!(limits.number("lines", "src"), Ok(3000));
        let expected = [("crates/macros/src".to_owned(), 0), ("src".to_owned(), 1)];
        assert_eq!(limits.numbers("unsafe").unwrap(), expected);
        assert_eq!(limits.lists("package")[0].1, ["a", "b"]);
        assert_eq!(limits.exceptions().unwrap()[0].text, "fn f");
        assert!(limits.number("lines", "gone").is_err());
        assert!(Limits::parse("no toml").is_err());
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let text = TEXT.replace("it is a table", "");
        assert!(Limits::parse(&text).unwrap().exceptions().is_err());
    }

    #[test]
    fn a_ratchet_tells_when_it_can_be_lowered() {
        let budget = |counted| Budget {
            what: "unsafe in src".to_owned(),
            bound: Bound::AtMost(2),
            counted,
            remedy: "Use less.".to_owned(),
            is_ratchet: true,
        };
        assert_eq!(budget(2).remark(), None);
        let lower = budget(1).remark().unwrap();
        assert!(!lower.is_complaint && lower.text.contains("Lower the 2"));
        let broken = "unsafe in src: 3, and audit.toml allows 2. Use less.";
        let broken = Remark::complaint(broken.to_owned());
        assert_eq!(budget(3).remark(), Some(broken));
    }

    #[test]
    fn a_bound_from_below_breaks_when_there_is_less() {
        let budget = |counted| Budget {
            what: "blank lines".to_owned(),
            bound: Bound::AtLeast(2),
            counted,
            remedy: "Add one.".to_owned(),
            is_ratchet: false,
        };
        assert_eq!(budget(2).remark(), None);
        let broken = "blank lines: 1, and audit.toml allows at least 2. Add one.";
        assert_eq!(budget(1).remark(), Some(Remark::complaint(broken.to_owned())));
    }

    #[test]
    fn notes_do_not_fail_a_check() {
        let mut remarks = vec![Remark::note("could be lower".to_owned())];
        assert_eq!(settle("tests", &remarks), Ok(()));
        remarks.push(Remark::complaint("too much".to_owned()));
        assert!(settle("tests", &remarks).is_err());
    }
}
