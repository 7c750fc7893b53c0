//! Names of files in comments and pages, and links of pages, that lead nowhere.

use std::collections::BTreeSet;

use super::{File, Found, Repository};

/// What the name of a file ends in.
const ENDINGS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// The names of files in comments and pages exist. A name may be the end of a path,
/// and words in capitals, such as `tests/NAME.rs`, stand for any name.
pub fn files(file: &File, repository: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, name) in prose(file).flat_map(|(line, text)| names(text).map(move |it| (line, it))) {
        let end = format!("/{name}");
        let exists = |it: &String| it == name || it.ends_with(&end);
        if !repository.names.iter().any(exists) {
            found.push(Found::new(line, format!("there is no file `{name}`")));
        }
    }
    found
}

/// The lines of a page, or the comments of a source file.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_page = file.name.ends_with(".md");
    file.lines().filter_map(move |(number, line)| {
        let comment = line.trim_start();
        let is_comment = comment.starts_with("//") || comment.starts_with("# ");
        (is_page || is_comment).then_some((number, line))
    })
}

/// The words of a line that look like the name of a file here.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_./-".contains(letter);
    line.split(move |letter| !is_part(letter))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./").trim_start_matches("../"))
        .filter(|word| {
            let ending = ENDINGS.iter().find(|ending| word.ends_with(**ending));
            let Some(path) = ending.map(|ending| &word[..word.len() - ending.len()]) else {
                return false;
            };
            let stem = path.rsplit('/').next().unwrap_or("");
            let is_any = path.split('/').any(|part| !part.is_empty() && part == "NAME");
            !stem.is_empty() && !is_any && !word.starts_with("//")
        })
}

/// The links of pages to files and headings lead somewhere. Links to other hosts are
/// not followed.
pub fn links(file: &File, repository: &Repository) -> Vec<Found> {
    if !file.name.ends_with(".md") {
        return Vec::new();
    }
    let folder = file.name.rsplit_once('/').map_or("", |it| it.0);
    let headings = headings(&file.text);
    let mut found = Vec::new();
    for (line, target) in
        file.lines().flat_map(|(line, text)| targets(text).map(move |it| (line, it)))
    {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let exists = match path {
            "" => headings.contains(heading),
            path if path.contains("://") => true,
            path => is_there(&resolve(folder, path), repository),
        };
        if !exists {
            found.push(Found::new(line, format!("the link to `{target}` leads nowhere")));
        }
    }
    found
}

/// The targets of the links `[text](target)` of a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|it| it.0)
}

/// A file that was read, or a folder that has one.
fn is_there(path: &str, repository: &Repository) -> bool {
    let path = path.trim_end_matches('/');
    let below = format!("{path}/");
    repository.names.iter().any(|it| it == path || it.starts_with(&below))
}

/// `path` seen from `folder`.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings: lower case, hyphens for spaces, no marks.
fn headings(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
            kept.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::lines_found;
    use super::*;

    #[test]
    fn files_that_are_named_exist() {
        let text = "// See `a.rs` and docs/B.md.\n// See gone.rs.\nfn f() { g(\"gone.rs\") }\n";
        assert_eq!(lines_found(files, "src/a.rs", text), [2]);
        let text = "`tests/NAME.rs`, unit/a.rs, https://host/x.md\n`src/gone.rs`\n";
        assert_eq!(lines_found(files, "A.md", text), [2]);
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "# The map!\n[a](../src/a.rs) [b](#the-map)\n[c](gone.md)\n[d](#gone)\n\
                    [e](https://host/page) [f](../src/)\n";
        assert_eq!(lines_found(links, "docs/C.md", text), [3, 4]);
    }
}
