//! Where the repository is: Cargo.toml says it, and all other places say the same.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::file::{EXTENSIONS, File, Found, Repository};
use crate::source;

/// What comes before the URL where it is written, and what comes behind it. (In two halves, for
/// this file is checked as well.)
const PLACES: [(&str, &str); 2] =
    [(concat!(" git", " = \""), "\""), (concat!("]: ", "https:"), "/blob/HEAD/")];

/// Every dependency on git names the repository, every link to a file of it begins so, and each
/// package that is published takes it from the workspace.
pub fn repository(file: &File, repository: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        for url in urls(text).filter(|it| *it != repository.url) {
            let text = format!("`{url}` is not where Cargo.toml says that the repository is");
            found.push(Found::new(line, text));
        }
    }
    let is_package = file.name.ends_with("Cargo.toml") && file.text.contains("\n[package]");
    let is_published = is_package && !file.text.contains("publish = false");
    if is_published && !file.text.contains("\nrepository.workspace = true\n") {
        found.push(Found::new(1, "write `repository.workspace = true`"));
    }
    found
}

/// The URLs of a line that ought to be the repository's.
fn urls(line: &str) -> impl Iterator<Item = &str> {
    PLACES.iter().flat_map(move |(before, behind)| {
        line.match_indices(before).filter_map(move |(at, _)| {
            let start = at + before.len() - if before.ends_with(':') { "https:".len() } else { 0 };
            let length = line[start..].find(behind)?;
            Some(&line[start..start + length])
        })
    })
}

/// The URL that a workspace's manifest has.
pub fn url_of(manifest: &str) -> Result<String> {
    let table: toml::Table = manifest.parse().context("Cargo.toml")?;
    let url = table["workspace"]["package"].get("repository").and_then(|it| it.as_str());
    Ok(url.context("Cargo.toml says no `repository`")?.to_owned())
}

/// Runs `cargo xtask repository`: writes a URL in the place of the one before, wherever that is.
pub fn fill(root: &Path, url: &str) -> Result<()> {
    ensure!(url.starts_with("https://") && !url.ends_with('/'), "not like https://host/owner/name");
    let before = url_of(&source::read(root, "Cargo.toml")?.text)?;
    for name in source::names(root)? {
        let is_text = EXTENSIONS.iter().any(|it| name.ends_with(it));
        if !is_text {
            continue;
        }
        let text = source::read(root, &name)?.text;
        if text.contains(&before) {
            fs::write(root.join(&name), text.replace(&before, url))?;
            println!("{name}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn all_places_name_the_same_repository() {
        let (git, quote) = PLACES[0];
        let text = format!("arc = {{{git}https://host/a{quote} }}\narc = {{{git}...{quote} }}\n");
        assert_eq!(lines_found(repository, "A.md", &text), [2]);
        let link = |it: &str| format!("[a{}//host/{it}/blob/HEAD/b.md\n", PLACES[1].0);
        assert_eq!(lines_found(repository, "A.md", &(link("a") + &link("c"))), [2]);
        assert_eq!(lines_found(repository, "A.md", "[d]: https://host/c\n"), NONE);
    }

    #[test]
    fn what_is_published_says_where_it_is_from() {
        let package = "# A.\n[package]\nname = \"a\"\n";
        assert_eq!(lines_found(repository, "a/Cargo.toml", package), [1]);
        let text = format!("{package}publish = false\n");
        assert_eq!(lines_found(repository, "a/Cargo.toml", &text), NONE);
        let text = format!("{package}repository.workspace = true\n");
        assert_eq!(lines_found(repository, "a/Cargo.toml", &text), NONE);
    }

    #[test]
    fn the_manifest_says_the_url() {
        let text = "[workspace.package]\nrepository = \"https://host/a\"\n";
        assert_eq!(url_of(text).unwrap(), "https://host/a");
        assert!(url_of("[workspace.package]\n").is_err());
        assert!(fill(Path::new("."), "host/a").is_err());
    }
}
