//! Makes a folder of the book that any web server can serve, by mdBook.
//!
//! mdBook leaves out whatever is not below its own folder. So the pages are copied, and with them
//! each file of the repository that they lead to. In a copy, links lead to the copies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::page::Page;
use crate::rules::resolve;
use crate::{FOLDER, files_in, read, write};

/// Where the copies stand, and what mdBook makes of them.
const COPIES: &str = "target/mdbook-pages";
const MADE: &str = "target/mdbook";

/// The files that the pages lead to would hide what the pages say, so nobody finds words in them.
const NOT_SEARCHED: &str = "\n[output.html.search.chapter]\n\"files\" = { enable = false }\n";

/// More backticks than a source file has in a row.
const FENCE: &str = "``````";

/// Copies the pages, has mdBook make a folder of them, and checks where its links lead.
///
/// # Errors
/// A file cannot be read or written, or mdBook cannot be started.
pub fn make(root: &Path, pages: &[Page]) -> Result<Vec<String>, String> {
    for folder in [COPIES, MADE] {
        if root.join(folder).exists() {
            fs::remove_dir_all(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        }
    }
    copy_all(root, pages)?;

    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(root.join(COPIES)).arg("--dest-dir").arg(root.join(MADE));
    match mdbook.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("mdbook fails: {status}")),
        Err(error) => return Err(format!("mdbook: {error}; type: cargo install mdbook")),
    }
    let complaints = dead_links(&root.join(MADE))?;
    println!("{MADE}: serve this folder");
    Ok(complaints)
}

/// Copies the pages, the pictures, and the files that the pages lead to.
fn copy_all(root: &Path, pages: &[Page]) -> Result<(), String> {
    let settings = read(root, &format!("{FOLDER}/book.toml"))?;
    let settings = settings.replace("src = \".\"", "src = \"pages\"");
    put(root, &format!("{COPIES}/book.toml"), &(settings + NOT_SEARCHED))?;
    for picture in files_in(root, &format!("{FOLDER}/pictures"), "svg")? {
        let text = read(root, &format!("{FOLDER}/pictures/{picture}"))?;
        put(root, &format!("{COPIES}/pages/pictures/{picture}"), &text)?;
    }

    // Where each file is in the copy, by its path below the root. mdBook calls a README index, but
    // not in links to it.
    let mut places = BTreeMap::new();
    for page in pages {
        let own = page.name.strip_prefix(FOLDER).unwrap_or_default().trim_start_matches('/');
        places.insert(page.name.clone(), own.replace("README", "index"));
    }
    let files = linked_files(root, pages)?;
    for file in &files {
        let place = file.trim_end_matches(".md").replace("README", "read-me");
        places.insert(file.clone(), format!("files/{place}.md"));
    }

    let mut list = String::from("\n# Files\n\n");
    for file in &files {
        list += &format!("- [{file}]({})\n", places[file]);
        let text = read(root, file)?;
        let copy = match file.strip_suffix(".md") {
            Some(_) => with_links(&text, file, &places),
            None => format!("# {file}\n\n{FENCE}{}\n{text}{FENCE}\n", language_of(file)),
        };
        put(root, &format!("{COPIES}/pages/{}", places[file]), &copy)?;
    }
    for page in pages {
        let mut copy = with_links(&page.text, &page.name, &places);
        if page.name.ends_with("/SUMMARY.md") {
            copy += &list;
        }
        put(root, &format!("{COPIES}/pages/{}", places[&page.name]), &copy)?;
    }
    Ok(())
}

/// The files outside of the book that its pages lead to, and the sources that these lead to.
fn linked_files(root: &Path, pages: &[Page]) -> Result<BTreeSet<String>, String> {
    let mut files = BTreeSet::new();
    for page in pages {
        files.extend(files_linked_in(page));
    }
    let is_page = |file: &String| pages.iter().any(|page| page.name == *file);
    files.retain(|file| is_shown(root, file) && !is_page(file));
    for file in files.clone() {
        if file.ends_with(".md") {
            let page = Page::new(&file, &read(root, &file)?);
            let linked = files_linked_in(&page);
            files.extend(linked.filter(|it| it.ends_with(".rs") && is_shown(root, it)));
        }
    }
    Ok(files)
}

fn files_linked_in(page: &Page) -> impl Iterator<Item = String> {
    let folder = folder_of(&page.name);
    page.links.iter().map(move |link| resolve(folder, path_of(&link.target)))
}

/// Writes a file, and makes its folder.
fn put(root: &Path, name: &str, text: &str) -> Result<(), String> {
    let folder = folder_of(name);
    fs::create_dir_all(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
    write(root, name, text)
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A link's target without the heading.
fn path_of(target: &str) -> &str {
    target.split('#').next().unwrap_or_default()
}

/// Whether a file is text that a page may show.
fn is_shown(root: &Path, file: &str) -> bool {
    let is_text = [".rs", ".md", ".toml"].iter().any(|end| file.ends_with(end));
    is_text && root.join(file).is_file()
}

fn language_of(file: &str) -> &str {
    if file.ends_with(".rs") { "rust" } else { "text" }
}

/// A page whose links lead to the copies. What has no copy is named, and is no link any more. The
/// first line of a code block keeps the language alone.
fn with_links(text: &str, name: &str, places: &BTreeMap<String, String>) -> String {
    let mut done = String::new();
    for (index, part) in text.split("\n```").enumerate() {
        if index > 0 {
            done += "\n```";
        }
        // A fence begins each odd part, and ends it.
        if index % 2 == 1 {
            let (info, body) = part.split_once('\n').unwrap_or((part, ""));
            done += &format!("{}\n{body}", info.split(' ').next().unwrap_or_default());
        } else {
            done += &prose_with_links(part, |target| target_of(target, name, places));
        }
    }
    done
}

/// Prose in which each link `[text](target)` leads elsewhere, or is only its text. The same for
/// targets that stand apart: `[text]: target`.
fn prose_with_links(prose: &str, target_of: impl Fn(&str) -> Option<String>) -> String {
    let mut lines = Vec::new();
    for line in prose.split('\n') {
        match line.split_once("]: ") {
            Some((name, target)) if name.starts_with('[') => {
                lines.extend(target_of(target).map(|target| format!("{name}]: {target}")));
            }
            _ => lines.push(line.to_owned()),
        }
    }

    let prose = lines.join("\n");
    let mut done = String::new();
    let mut rest = prose.as_str();
    while let Some((before, behind)) = rest.split_once("](")
        && let Some((target, after)) = behind.split_once(')')
        && let Some((outside, shown)) = before.rsplit_once('[')
    {
        match target_of(target) {
            Some(target) => done += &format!("{outside}[{shown}]({target})"),
            None => done += &format!("{}{shown}", outside.trim_end_matches('!')),
        }
        rest = after;
    }
    done + rest
}

/// Where a link of the file `name` leads in the copy. None: nowhere.
fn target_of(target: &str, name: &str, places: &BTreeMap<String, String>) -> Option<String> {
    if target.contains("://") || target.starts_with('#') || target.is_empty() {
        return Some(target.to_owned());
    }
    let path = path_of(target);
    let file = resolve(folder_of(name), path);
    if file.starts_with(FOLDER) && file.ends_with(".svg") {
        return Some(target.to_owned());
    }
    let up = "../".repeat(places.get(name)?.matches('/').count());
    let place = places.get(&file)?;
    Some(format!("{up}{place}{}", &target[path.len()..]))
}

/// The links of the pages in a folder that lead to no file of it, or to no heading.
fn dead_links(made: &Path) -> Result<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    read_pages(made, "", &mut pages)?;
    let mut complaints = Vec::new();
    for (name, text) in &pages {
        // The whole book on one page has headings of its own. And whoever serves the page for what
        // is missing may do so anywhere.
        if ["print.html", "404.html", "toc.html"].contains(&name.as_str()) {
            continue;
        }
        for target in targets_in(text) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { name.clone() } else { resolve(folder_of(name), path) };
            let heading = format!("id=\"{heading}\"");
            let has_heading = || pages.get(&file).is_some_and(|text| text.contains(&heading));
            if !made.join(&file).is_file() || (target.contains('#') && !has_heading()) {
                complaints.push(format!("{MADE}/{name}: the link to `{target}` leads nowhere"));
            }
        }
    }
    println!("{} pages for the browser", pages.len());
    Ok(complaints)
}

/// Reads the pages for the browser that stand in a folder and below it.
fn read_pages(
    made: &Path,
    folder: &str,
    pages: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{MADE}/{folder}: {error}");
    for entry in fs::read_dir(made.join(folder)).map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_pages(made, &format!("{name}/"), pages)?;
        } else if name.ends_with(".html") {
            pages.insert(name, fs::read_to_string(entry.path()).map_err(told)?);
        }
    }
    Ok(())
}

/// What the links and pictures of a page for the browser lead to, but for other servers.
fn targets_in(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    for attribute in [" href=\"", " src=\""] {
        for part in text.split(attribute).skip(1) {
            let target = part.split('"').next().unwrap_or_default();
            let is_elsewhere = target.contains(':') || target.starts_with("//");
            if !is_elsewhere && !target.is_empty() {
                targets.push(target);
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> BTreeMap<String, String> {
        let places = [
            ("docs/book/03-a.md", "03-a.md"),
            ("docs/book/answers/03.md", "answers/03.md"),
            ("docs/TOUR.md", "files/docs/TOUR.md"),
            ("src/time.rs", "files/src/time.rs.md"),
        ];
        places.map(|(file, place)| (file.to_owned(), place.to_owned())).into()
    }

    #[test]
    fn links_of_a_copy_lead_to_copies() {
        for (name, text, expected) in [
            ("docs/book/03-a.md", "[`a`](../../src/time.rs)", "[`a`](files/src/time.rs.md)"),
            ("docs/book/03-a.md", "[a](../TOUR.md#b-c)", "[a](files/docs/TOUR.md#b-c)"),
            ("docs/book/03-a.md", "![a](pictures/a.svg)", "![a](pictures/a.svg)"),
            ("docs/book/03-a.md", "[a](../../lab/models) b", "a b"),
            ("docs/book/03-a.md", "[a](https://host/x) [b](#c)", "[a](https://host/x) [b](#c)"),
            ("docs/book/answers/03.md", "[a](../03-a.md)", "[a](../03-a.md)"),
            ("docs/TOUR.md", "[a](../src/time.rs)", "[a](../../files/src/time.rs.md)"),
            ("docs/TOUR.md", "![a](b.svg), [c](book/03-a.md)", "a, [c](../../03-a.md)"),
            (
                "docs/TOUR.md",
                "[`a`]: ../src/time.rs\n[b]: b.rs",
                "[`a`]: ../../files/src/time.rs.md",
            ),
            ("docs/TOUR.md", "a\n```text b c\n[a](b)\n```\n[a](b)", "a\n```text\n[a](b)\n```\na"),
        ] {
            assert_eq!(with_links(text, name, &places()), expected, "{name}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_told() {
        let folder = std::env::temp_dir().join(format!("arc-book-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        let links = "<a href=\"sub/b.html#c\"> <a href=\"#d\"> <img src=\"e.svg\"> \
                     <a href=\"https://host/\"> <a href=\"sub/b.html#f\">";
        fs::write(folder.join("a.html"), links).unwrap();
        fs::write(folder.join("sub/b.html"), "<h2 id=\"c\"> <a href=\"../a.html\">").unwrap();
        let found = dead_links(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let dead = ["#d", "sub/b.html#f", "e.svg"];
        let told = dead.map(|it| format!("{MADE}/a.html: the link to `{it}` leads nowhere"));
        assert_eq!(found.unwrap(), told);
    }
}
