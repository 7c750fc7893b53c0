//! What belongs into a code block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inside::stage::{self, Bug, Stage};

use crate::items::Items;
use crate::page::{Page, spoken};

/// The forms of a block's first line, for whoever wrote another one.
const FORMS: &str = "`rust FILE.rs::ITEM`, the same with ` nodoc`, `text inside STAGE`, \
                     `text inside STAGE BUG`, `text`, `sh`";

/// Where the list of the chapters is written.
const CONTENTS: (&str, &str) = ("<!-- contents -->\n", "<!-- end of contents -->\n");

/// What the first line of a code block asks for.
pub enum Form<'a> {
    /// An item of a source file.
    Item { file: &'a str, item: &'a str, with_docs: bool },
    /// What a stage prints.
    Transcript { stage: &'a str },
    /// What a bug makes a stage print.
    Symptom { stage: &'a str, bug: &'a str },
    /// Commands.
    Shell,
    /// What is written by hand.
    Text,
}

/// Reads the first line of a code block.
pub fn form(info: &str) -> Option<Form<'_>> {
    if let Some(place) = info.strip_prefix("rust ") {
        let (place, with_docs) = match place.strip_suffix(" nodoc") {
            Some(place) => (place, false),
            None => (place, true),
        };
        let (stem, item) = place.split_once(".rs::")?;
        let file = &place[..stem.len() + ".rs".len()];
        return Some(Form::Item { file, item, with_docs });
    }

    let words: Vec<&str> = info.split_whitespace().collect();
    Some(match words[..] {
        ["text", "inside", stage] => Form::Transcript { stage },
        ["text", "inside", stage, bug] => Form::Symptom { stage, bug },
        ["text"] => Form::Text,
        ["sh"] => Form::Shell,
        _ => return None,
    })
}

/// The page with all of its blocks filled, and what is wrong with them.
pub fn fill(page: &Page, pages: &[Page], sources: &mut Sources) -> (String, Vec<String>) {
    let mut complaints = Vec::new();
    let mut filled = String::new();
    let mut copied = 0;
    for block in &page.blocks {
        let mut complain = |what: String| {
            complaints.push(format!("{}:{}: {what}", page.name, block.line));
        };
        if !block.is_whole {
            complain("a code block begins at the margin with ``` and ends so".to_owned());
            continue;
        }
        let Some(form) = form(&block.info) else {
            complain(format!("`{}` is none of {FORMS}", block.info));
            continue;
        };
        match sources.body(&form) {
            Ok(Some(body)) => {
                filled += &page.text[copied..block.body.start];
                filled += &body;
                copied = block.body.end;
            }
            Ok(None) => {}
            Err(error) => complain(error),
        }
    }
    filled += &page.text[copied..];
    (with_contents(&filled, pages), complaints)
}

/// The text with the list of the chapters in its place, if it has one.
fn with_contents(text: &str, pages: &[Page]) -> String {
    let (first, last) = CONTENTS;
    let Some((before, rest)) = text.split_once(first) else { return text.to_owned() };
    let Some((_, after)) = rest.split_once(last) else { return text.to_owned() };

    let mut list = String::new();
    for page in pages.iter().filter(|page| page.chapter().is_some()) {
        let file = page.name.rsplit('/').next().unwrap_or_default();
        list += &format!("- [{}]({file})\n", page.title());
    }
    list += "- [Answers](answers/index.md)\n";
    for number in pages.iter().filter_map(|page| page.chapter()) {
        list += &format!("  - [Chapter {}](answers/{number}.md)\n", spoken(number));
    }
    format!("{before}{first}\n{list}\n{last}{after}")
}

/// The files that blocks are taken from.
pub struct Sources {
    root: PathBuf,
    stages: Vec<Stage>,
    /// The source files that were read so far.
    files: BTreeMap<String, Items>,
}

impl Sources {
    /// # Errors
    /// The stages cannot be read.
    pub fn new(root: &Path) -> Result<Self, String> {
        let stages = stage::read_below(&root.join("inside"))?;
        Ok(Sources { root: root.to_owned(), stages, files: BTreeMap::new() })
    }

    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The source of an item, as it stands in its file.
    ///
    /// # Errors
    /// There is no such file, or no such item.
    pub fn item(&mut self, file: &str, item: &str, with_docs: bool) -> Result<String, String> {
        if !self.files.contains_key(file) {
            let text = self.read(file)?;
            let items = Items::read(&text).map_err(|error| format!("{file}: {error}"))?;
            self.files.insert(file.to_owned(), items);
        }
        let source = self.files[file].source(item, with_docs);
        source.map_err(|error| format!("{file} {error}"))
    }

    /// What a block holds. None: what stands there.
    fn body(&mut self, form: &Form<'_>) -> Result<Option<String>, String> {
        let body = match *form {
            Form::Item { file, item, with_docs } => self.item(file, item, with_docs)?,
            Form::Transcript { stage } => self.transcript(stage)?,
            Form::Symptom { stage, bug } => format!("{}\n", self.bug(stage, bug)?.symptom),
            Form::Shell | Form::Text => return Ok(None),
        };
        Ok(Some(body))
    }

    fn bug(&self, stage: &str, name: &str) -> Result<&Bug, String> {
        let stage = &self.stages[self.position(stage)?];
        let bug = stage.bugs.iter().find(|bug| bug.name == name);
        bug.ok_or_else(|| {
            let names: Vec<&str> = stage.bugs.iter().map(|bug| bug.name.as_str()).collect();
            format!("{} has no bug `{name}`, but `{}`", stage.name, names.join("`, `"))
        })
    }

    /// What a stage prints: the file of that name, or the first whose name begins so.
    fn transcript(&self, name: &str) -> Result<String, String> {
        let exact = format!("inside/transcripts/{name}.txt");
        if self.root.join(&exact).is_file() {
            return self.read(&exact);
        }
        let index = self.position(name)?;
        self.read(&format!("inside/transcripts/{}.txt", self.stages[index].name))
    }

    /// Where the stage is that has this name, or the first one whose name begins so.
    fn position(&self, name: &str) -> Result<usize, String> {
        let exact = self.stages.iter().position(|stage| stage.name == name);
        let first = || self.stages.iter().position(|stage| stage.name.starts_with(name));
        exact.or_else(first).ok_or(format!("there is no stage {name} in inside/examples"))
    }

    fn read(&self, file: &str) -> Result<String, String> {
        crate::read(&self.root, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        Sources::new(&crate::root()).expect("the stages of this repository can be read")
    }

    /// What comes of a page of these blocks.
    fn filled(blocks: &[(&str, &str)]) -> (String, Vec<String>) {
        let text: String =
            blocks.iter().map(|(info, body)| format!("```{info}\n{body}```\n")).collect();
        fill(&Page::new("docs/book/01-a.md", &text), &[], &mut sources())
    }

    #[test]
    fn blocks_are_filled_from_the_sources() {
        let (text, complaints) = filled(&[
            ("rust inside/examples/03_queue.rs::impl Wake for Task nodoc", "stale\n"),
            ("text inside 03", ""),
            ("text inside 03 no-notify", ""),
            ("text", "as it is\n"),
        ]);
        assert_eq!(complaints, [""; 0]);
        assert!(text.contains("impl Wake for Task {\n"), "{text}");
        assert!(text.contains("```text inside 03\nmain: One thread polls"), "{text}");
        assert!(text.contains("\nis pending, the queue is not empty\n"), "{text}");
        assert!(text.contains("```text\nas it is\n```\n") && !text.contains("stale"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_told_with_its_line() {
        let gone = "inside/examples/03_queue.rs has no item `Task::pol`";
        for (info, expected) in [
            ("rust inside/examples/03_queue.rs::Task::pol", gone),
            ("rust inside/examples/gone.rs::main", "inside/examples/gone.rs: "),
            ("text inside 03 gone", "03_queue has no bug `gone`, but `no-flag`"),
            ("text inside 33", "there is no stage 33"),
            ("c", "`c` is none of"),
        ] {
            let (_, complaints) = filled(&[("text", "\n"), (info, "")]);
            let start = format!("docs/book/01-a.md:4: {expected}");
            assert!(complaints.len() == 1 && complaints[0].starts_with(&start), "{complaints:?}");
        }
    }

    #[test]
    fn contents_are_the_chapters_and_their_answers() {
        let first = Page::new("docs/book/00-future.md", "# 0. A future\n");
        let chapter = Page::new("docs/book/03-queue.md", "# 3. A queue\n");
        let other = Page::new("docs/book/README.md", "# The book\n");
        let text = "a\n<!-- contents -->\nold\n<!-- end of contents -->\nb\n";
        let expected = "a\n<!-- contents -->\n\n- [0. A future](00-future.md)\n- [3. A \
                        queue](03-queue.md)\n- [Answers](answers/index.md)\n  - [Chapter \
                        0](answers/00.md)\n  - [Chapter 3](answers/03.md)\n\n<!-- end \
                        of contents -->\nb\n";
        assert_eq!(with_contents(text, &[first, chapter, other]), expected);
        assert_eq!(with_contents("none", &[]), "none");
    }

    #[test]
    fn a_block_that_cannot_be_filled_is_refused() {
        let told = "docs/book/01-a.md:3: a code block begins at the margin with ``` and ends so";
        for block in ["  ```text inside 01\n  ```\n", "```text inside 01\n", "    indented\n"] {
            let page = Page::new("docs/book/01-a.md", &format!("a\n\n{block}"));
            let (filled, complaints) = fill(&page, &[], &mut sources());
            assert_eq!((filled, complaints), (page.text, vec![told.to_owned()]));
        }
    }
}
