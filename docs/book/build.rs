//! Makes the pages of the book into pages of rustdoc: a module for each, whose links lead to the
//! other modules, and whose pictures are part of the page.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=.");
    let book = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));

    let front = page_of(&book, Path::new("README.md"), "")?;
    fs::write(out.join("README.md"), front)?;
    let mut modules = String::new();
    for folder in ["", "answers"] {
        for name in pages_in(&book.join(folder))? {
            let page = Path::new(folder).join(&name);
            let Some(module) = module_of(&page) else { continue };
            let file = out.join(format!("{module}.md"));
            fs::write(&file, page_of(&book, &page, "../")?)?;
            writeln!(modules, "#[doc = include_str!({file:?})]\npub mod {module} {{}}")
                .expect("a String takes all");
        }
    }
    fs::write(out.join("pages.rs"), modules)
}

/// The names of the Markdown files in a folder, sorted.
fn pages_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The module of a chapter or of its answers. None: another page.
fn module_of(page: &Path) -> Option<String> {
    let stem = page.file_stem()?.to_string_lossy().replace('-', "_");
    if !stem.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let is_answers = page.parent().is_some_and(|it| it.ends_with("answers"));
    Some(format!("{}_{stem}", if is_answers { "answers" } else { "chapter" }))
}

/// A page with the links that rustdoc needs. `up` leads from its module to the crate.
fn page_of(book: &Path, page: &Path, up: &str) -> io::Result<String> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let text = fs::read_to_string(book.join(page))?.replace("\r\n", "\n");
    let mut done = String::new();
    for (index, part) in text.split("\n```").enumerate() {
        if index > 0 {
            done += "\n```";
        }
        // A fence begins each odd part, and ends it.
        if index % 2 == 1 {
            done += part;
        } else {
            done += &with_links(part, |target| link_of(book, &folder.join(target), up));
        }
    }
    Ok(done)
}

/// Prose, each of whose links `[text](target)` leads elsewhere, or names the file that it led to.
fn with_links(prose: &str, link_of: impl Fn(&str) -> Result<String, String>) -> String {
    let mut done = String::new();
    let mut rest = prose;
    while let Some((before, behind)) = rest.split_once("](")
        && let Some((target, after)) = behind.split_once(')')
        && let Some((outside, shown)) = before.rsplit_once('[')
    {
        done += outside;
        match link_of(target) {
            Ok(link) => write!(done, "[{shown}]({link})").expect("a String takes all"),
            Err(file) if shown.contains(&file) => done += shown,
            Err(file) => write!(done, "{shown} (`{file}`)").expect("a String takes all"),
        }
        rest = after;
    }
    done + rest
}

/// The file of the runtime that this system does not use. rustdoc has no page for it.
const NOT_BUILT: &str =
    if cfg!(target_os = "linux") { "driver/kernel/portable.rs" } else { "driver/kernel/epoll.rs" };

/// Where a link leads in rustdoc.
///
/// # Errors
/// rustdoc has no page for it. This is the file, as the repository's root sees it.
fn link_of(book: &Path, target: &Path, up: &str) -> Result<String, String> {
    let text = target.to_string_lossy().replace('\\', "/");
    let text = text.strip_prefix("answers/../").unwrap_or(&text);
    if text.contains("://") || text.starts_with('#') {
        return Ok(text.to_owned());
    }
    let (text, place) = text.split_at(text.find('#').unwrap_or(text.len()));
    let file = match (text.strip_prefix("../../"), text.strip_prefix("../")) {
        (Some(file), _) => file.to_owned(),
        (None, Some(page)) => format!("docs/{page}"),
        (None, None) => format!("docs/book/{text}"),
    };
    if text.ends_with(".svg") {
        return fs::read_to_string(book.join(text)).map(|it| data_of(&it)).map_err(|_| file);
    }

    // rustdoc's page for a source file is there if the runtime is documented as well.
    if let Some(source) = text.strip_prefix("../../src/")
        && source.ends_with(".rs")
        && source != NOT_BUILT
    {
        return Ok(format!("{up}../src/arc/{source}.html"));
    }
    if text == "README.md" {
        return Ok(format!("{up}index.html{place}"));
    }
    if text.starts_with("../") || !text.ends_with(".md") {
        return Err(file);
    }
    let module = module_of(Path::new(text)).ok_or(file)?;
    Ok(format!("{up}{module}/index.html{place}"))
}

/// A picture as the address of itself.
fn data_of(picture: &str) -> String {
    let mut data = "data:image/svg+xml,".to_owned();
    for byte in picture.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/:;=,".contains(&byte) {
            data.push(char::from(byte));
        } else {
            write!(data, "%{byte:02X}").expect("a String takes all");
        }
    }
    data
}
