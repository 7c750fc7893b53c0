//! What a page must have, and where its links lead.

use std::collections::BTreeSet;
use std::path::Path;

use crate::commands::Workspace;
use crate::fill::{Form, Sources, form};
use crate::page::{Block, Link, List, Page, spoken};
use crate::{FOLDER, files, read};

/// The most words that a chapter may have. What is longer is not read at one sitting.
const WORDS_MAX: usize = 1_800;

/// How many questions a chapter ends with.
const QUESTIONS: usize = 5;

/// What is wrong with a page.
pub fn check(
    page: &Page,
    pages: &[Page],
    root: &Path,
    workspace: &Workspace,
    sources: &mut Sources,
) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut complain = |line: usize, what: String| {
        complaints.push(format!("{}:{line}: {what}", page.name));
    };
    for link in &page.links {
        if let Err(what) = check_link(link, page, pages, root, sources) {
            complain(link.line, what);
        }
    }
    for (line, code) in page.codes.iter().filter(|_| names_items(&page.name)) {
        if let Some((file, item)) = code.split_once(".rs::")
            && let Err(what) = sources.item(&format!("src/{file}.rs"), item, true)
        {
            complain(*line, what);
        }
    }
    if page.name == TOUR
        && let Err(what) = check_tour(&page.text)
    {
        complain(1, what);
    }
    if !page.is_of_book() {
        return complaints;
    }
    for block in &page.blocks {
        match form(&block.info) {
            Some(Form::Shell) => {
                for (index, command) in page.text[block.body.clone()].lines().enumerate() {
                    if let Err(what) = workspace.check(command) {
                        complain(block.line + 1 + index, what);
                    }
                }
            }
            Some(Form::Transcript { .. }) if !is_folded(&page.text, block) => {
                complain(block.line, format!("fold what a program prints: {FOLDED}"));
            }
            _ => {}
        }
    }
    if let Some(number) = page.chapter() {
        for what in check_chapter(page, number, pages) {
            complain(1, what);
        }
    }
    complaints
}

/// The page that has its reader read some items in the source.
const TOUR: &str = "docs/TOUR.md";

/// How many these are. README.md, too, says that they are twenty.
const BOLD_ITEMS: usize = 20;

/// The tour has as many items in bold as it says. One that is there twice counts once.
fn check_tour(text: &str) -> Result<(), String> {
    let bold = text.split("**[`").skip(1).filter_map(|rest| rest.split_once("`]**"));
    let items: BTreeSet<&str> = bold.map(|(item, _)| item).collect();
    if items.len() == BOLD_ITEMS {
        return Ok(());
    }
    Err(format!("{} items are printed in bold, and should be {BOLD_ITEMS}", items.len()))
}

/// Whether a page names items by their files below `src/`, as in `task/mod.rs::JoinHandle::abort`.
/// The list of changes may name what is gone.
fn names_items(page: &str) -> bool {
    let is_doc = page.starts_with("docs/") && !page.starts_with(FOLDER);
    page != "CHANGELOG.md" && (is_doc || !page.contains('/'))
}

/// How a block is folded.
const FOLDED: &str = "`<details>`, a `<summary>`, an empty line, the block, an empty line, \
                      `</details>`";

/// Whether a block is folded, so that one predicts what is in it before one looks.
fn is_folded(text: &str, block: &Block) -> bool {
    let before = text[..block.body.start].rsplit_once("\n\n```").map_or("", |(before, _)| before);
    let after = &text[block.body.end..];
    let last = before.lines().next_back().unwrap_or_default();
    last.ends_with("</summary>") && after.starts_with("```\n\n</details>\n")
}

/// What a chapter has too much or too little of.
fn check_chapter(page: &Page, number: &str, pages: &[Page]) -> Vec<String> {
    let mut complaints = Vec::new();
    if page.words > WORDS_MAX {
        complaints.push(format!("{} words, at most {WORDS_MAX}: tell less", page.words));
    }
    let start = format!("{}. ", spoken(number));
    if !page.title().starts_with(&start) {
        complaints.push(format!("the first heading must begin with `{start}`"));
    }
    if page.headings.iter().filter(|heading| heading.level == 1).count() != 1 {
        complaints.push("a chapter has one heading of the first level".to_owned());
    }

    let asked = page.lists.iter().find(|list| list.heading == "Questions");
    let asked = asked.map_or(&[][..], |list| &list.items);
    let are_questions = asked.iter().all(|item| item.ends_with('?'));
    if asked.len() != QUESTIONS || !are_questions {
        complaints.push(format!(
            "`## Questions` needs a numbered list of {QUESTIONS} that end with a question mark"
        ));
    }

    let file = format!("answers/{number}.md");
    let answers = pages.iter().find(|it| it.name == format!("{FOLDER}/{file}"));
    let lists: &[List] = answers.map_or(&[], |page| &page.lists);
    if lists.len() != 1 || lists[0].items.len() != QUESTIONS {
        complaints.push(format!("{file} needs a numbered list of {QUESTIONS} answers"));
    }
    if !page.links.iter().any(|link| link.target == file) {
        complaints.push(format!("no link leads to {file}"));
    }
    complaints
}

/// A link leads to a file, an item or a heading that exists.
fn check_link(
    link: &Link,
    page: &Page,
    pages: &[Page],
    root: &Path,
    sources: &mut Sources,
) -> Result<(), String> {
    let target = link.target.as_str();
    if target.contains("://") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = if path.is_empty() { page.name.clone() } else { resolve(folder, path) };
    if !path.is_empty() && !root.join(&name).exists() {
        return Err(format!("the link to `{target}` leads nowhere"));
    }

    if !anchor.is_empty() {
        if !name.ends_with(".md") {
            return Err(format!("`{target}`: lines move, so name the item and not the line"));
        }
        if !pages.iter().any(|it| it.name == name && it.has_anchor(anchor)) {
            return Err(format!("`{path}` has no heading `#{anchor}`"));
        }
    }
    if link.is_picture && link.text.trim().is_empty() {
        return Err(format!("the picture `{target}` needs a text for those who do not see it"));
    }

    // Code in the book that links to a source file is an item in it, or the name of a file.
    if page.is_of_book() && link.is_code && name.ends_with(".rs") && !link.text.ends_with(".rs") {
        let item = link.text.rsplit(".rs::").next().unwrap_or_default();
        sources.item(&name, item, true)?;
    }
    Ok(())
}

/// `path` seen from `folder`.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What is wrong with the pictures.
///
/// # Errors
/// A picture cannot be read.
pub fn pictures(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for name in files(root, &format!("{FOLDER}/pictures/*.svg"))? {
        let text = read(root, &name)?;
        complaints.extend(picture(&text).into_iter().map(|what| format!("{name}: {what}")));
    }
    Ok(complaints)
}

/// What is wrong with a picture.
fn picture(text: &str) -> Vec<&'static str> {
    let Ok(document) = roxmltree::Document::parse(text) else {
        return vec!["this is not well-formed XML"];
    };
    let root = document.root_element();
    let title =
        root.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")));
    let is_titled = title.and_then(|node| node.text()).is_some_and(|text| !text.trim().is_empty());

    let mut complaints = Vec::new();
    if !root.has_tag_name(("http://www.w3.org/2000/svg", "svg")) || !root.has_attribute("viewBox") {
        complaints.push("it must be an <svg> in SVG's namespace with a viewBox");
    }
    if !is_titled {
        complaints.push("it needs a <title>, which says what is to be seen");
    }
    let mut styles = root.descendants().filter(|node| node.tag_name().name() == "style");
    let has_both = |text: &str| text.contains("prefers-color-scheme");
    if !styles.any(|style| style.text().is_some_and(has_both)) {
        complaints
            .push("its <style> must ask for prefers-color-scheme: it is read in the dark too");
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAPTER: &str = "docs/book/03-queue.md";

    /// A chapter to which nothing is to be said, and its answers.
    fn chapter() -> String {
        let questions: String = (1..=5).map(|number| format!("{number}. Why?\n")).collect();
        format!("# 3. A queue\n\n## Questions\n\n{questions}\n[Answers](answers/03.md)\n")
    }

    fn answers(count: usize) -> Page {
        let list: String = (1..=count).map(|number| format!("{number}. So.\n\n")).collect();
        Page::new("docs/book/answers/03.md", &format!("# Answers\n\n{list}"))
    }

    fn found_in(chapter: &str, answers: Page) -> Vec<String> {
        check_chapter(&Page::new(CHAPTER, chapter), "03", &[answers])
    }

    #[test]
    fn items_of_the_tour_are_counted_once() {
        let tour = |count: usize| {
            let items = (0..count).map(|it| format!("**[`a.rs::f{it}`]** and **[`a.rs::f0`]**\n"));
            items.collect::<String>()
        };
        assert_eq!(check_tour(&tour(20)), Ok(()));
        assert!(check_tour(&tour(19)).unwrap_err().starts_with("19 items"));
        assert!(check_tour(&tour(21)).is_err());
    }

    #[test]
    fn a_chapter_has_five_questions_and_answers() {
        let chapter = chapter();
        assert_eq!(found_in(&chapter, answers(5)), [""; 0]);
        let needs = "`## Questions` needs a numbered list of 5 that end with a question mark";
        assert_eq!(found_in(&chapter.replace("5. Why?\n", ""), answers(5)), [needs]);
        assert_eq!(found_in(&chapter.replace("5. Why?", "5. Why."), answers(5)), [needs]);
        assert_eq!(found_in(&chapter.replace("## Questions", "## Other"), answers(5)), [needs]);
        let needs = "answers/03.md needs a numbered list of 5 answers";
        assert_eq!(found_in(&chapter, answers(4)), [needs]);
        assert_eq!(found_in(&chapter, Page::new("docs/book/answers/04.md", "")), [needs]);
        let unlinked = chapter.replace("](answers/03.md)", "]()");
        assert_eq!(found_in(&unlinked, answers(5)), ["no link leads to answers/03.md"]);
    }

    #[test]
    fn a_chapter_is_short_and_has_its_number() {
        let at_limit = Page::new(CHAPTER, &chapter()).words;
        let long = |words: usize| chapter() + "\n" + &"word ".repeat(words);
        assert_eq!(found_in(&long(WORDS_MAX - at_limit), answers(5)), [""; 0]);
        let found = found_in(&long(WORDS_MAX - at_limit + 1), answers(5));
        assert_eq!(found, ["1801 words, at most 1800: tell less"]);
        let found = found_in(&chapter().replace("# 3.", "# 4."), answers(5));
        assert_eq!(found, ["the first heading must begin with `3. `"]);
        let found = found_in(&(chapter() + "\n# More\n"), answers(5));
        assert_eq!(found, ["a chapter has one heading of the first level"]);
    }

    #[test]
    fn links_lead_somewhere() {
        let root = crate::root();
        let mut sources = Sources::new(&root).unwrap();
        let queue = "../../inside/examples/03_queue.rs";
        for (text, expected) in [
            (format!("[`Task::wake`]({queue})"), ""),
            (format!("[`inside/examples/03_queue.rs`]({queue}) [stage]({queue})"), ""),
            ("[a](https://host/page) [b](../../src/) [c](#here)\n\n# Here".to_owned(), ""),
            ("[a](../TOUR.md#here)".to_owned(), ""),
            ("[a](gone.md)".to_owned(), "the link to `gone.md` leads nowhere"),
            ("[a](#gone)".to_owned(), "`` has no heading `#gone`"),
            ("[a](../TOUR.md#gone)".to_owned(), "`../TOUR.md` has no heading `#gone`"),
            (format!("[a]({queue}#L7)"), "`../../inside/examples/03_queue.rs#L7`: lines move"),
            (format!("[`gone`]({queue})"), "inside/examples/03_queue.rs has no item `gone`"),
            ("![](../TOUR.md)".to_owned(), "the picture `../TOUR.md` needs a text"),
        ] {
            let tour = Page::new("docs/TOUR.md", "# Here");
            let pages = [Page::new(CHAPTER, &text), tour];
            let page = &pages[0];
            let check = |it| check_link(it, page, &pages, &root, &mut sources).err();
            let found: String = page.links.iter().filter_map(check).collect();
            assert!(
                found.starts_with(expected) && found.is_empty() == expected.is_empty(),
                "{found}"
            );
        }
    }

    #[test]
    fn what_is_printed_is_folded() {
        let good =
            "<details>\n<summary>What?</summary>\n\n```text inside 03\na\n```\n\n</details>\n";
        for (old, new, expected) in [
            ("\na\n", "\nb\n", true),
            ("</summary>\n\n", "</summary>\n", false),
            ("<summary>What?</summary>", "What?", false),
            ("```\n\n</details>", "```\n</details>", false),
            ("</details>", "", false),
        ] {
            let page = Page::new(CHAPTER, &good.replace(old, new));
            let found = page.blocks.first().is_some_and(|block| is_folded(&page.text, block));
            assert_eq!(found, expected, "{}", page.text);
        }
    }

    #[test]
    fn pictures_are_read_in_the_dark_and_have_a_title() {
        let good = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"><title>A</title>\
                    <style>@media (prefers-color-scheme: dark) {}</style></svg>";
        assert_eq!(picture(good), [""; 0]);
        for (old, new, expected) in [
            ("</svg>", "", "well-formed"),
            ("<title>A</title>", "", "<title>"),
            ("<title>A", "<title> ", "<title>"),
            ("prefers-color-scheme", "width", "prefers-color-scheme"),
            (" viewBox=\"0 0 1 1\"", "", "viewBox"),
        ] {
            let found = picture(&good.replace(old, new));
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
    }
}
