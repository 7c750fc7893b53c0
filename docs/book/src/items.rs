//! Finds an item in a source file, by a path such as `Task::wake` or `impl Wake for Task`.

use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::{ImplItem, Item, TraitItem, Type};

/// The items of a source file.
pub struct Items {
    lines: Vec<String>,
    entries: Vec<Entry>,
}

struct Entry {
    path: String,
    /// From its first doc comment or attribute to its end. They count from 1.
    lines: RangeInclusive<usize>,
}

impl Items {
    /// # Errors
    /// The text is not Rust.
    pub fn read(text: &str) -> Result<Self, String> {
        let syntax = syn::parse_file(text)
            .map_err(|error| format!("line {}: {error}", error.span().start().line))?;
        let mut entries = Vec::new();
        find(&syntax.items, "", &mut entries);
        Ok(Items { lines: text.lines().map(str::to_owned).collect(), entries })
    }

    /// The source of an item at the margin, with or without its own documentation.
    ///
    /// # Errors
    /// There is no such item, or more than one.
    pub fn source(&self, path: &str, with_docs: bool) -> Result<String, String> {
        let mut found = self.entries.iter().filter(|entry| entry.path == path);
        let Some(entry) = found.next() else {
            return Err(format!("has no item `{path}`"));
        };
        if found.next().is_some() {
            return Err(format!("has more than one item `{path}`"));
        }

        let lines = &self.lines[entry.lines.start() - 1..*entry.lines.end()];
        let indent = lines[0].len() - lines[0].trim_start().len();
        let mut source = String::new();
        let mut is_at_start = true;
        for line in lines {
            is_at_start &= line.trim_start().starts_with("///");
            if with_docs || !is_at_start {
                source += line.get(indent..).unwrap_or_default();
                source.push('\n');
            }
        }
        Ok(source)
    }
}

/// Finds the items of a module whose path, up to the last `::`, is `before`.
fn find(items: &[Item], before: &str, found: &mut Vec<Entry>) {
    for item in items {
        let name = match item {
            Item::Const(it) => it.ident.to_string(),
            Item::Enum(it) => it.ident.to_string(),
            Item::Fn(it) => it.sig.ident.to_string(),
            Item::Impl(it) => name_of_impl(it),
            Item::Macro(it) => it.ident.as_ref().map_or(String::new(), |it| it.to_string()),
            Item::Mod(it) => it.ident.to_string(),
            Item::Static(it) => it.ident.to_string(),
            Item::Struct(it) => it.ident.to_string(),
            Item::Trait(it) => it.ident.to_string(),
            Item::Type(it) => it.ident.to_string(),
            _ => continue,
        };
        if name.is_empty() {
            continue;
        }
        let path = format!("{before}{name}");
        match item {
            Item::Impl(it) => {
                let owner = format!("{before}{}", name_of_type(&it.self_ty));
                for member in &it.items {
                    let name = match member {
                        ImplItem::Const(it) => &it.ident,
                        ImplItem::Fn(it) => &it.sig.ident,
                        ImplItem::Type(it) => &it.ident,
                        _ => continue,
                    };
                    found.push(entry(format!("{owner}::{name}"), member));
                }
            }
            Item::Enum(it) => {
                for variant in &it.variants {
                    found.push(entry(format!("{path}::{}", variant.ident), variant));
                }
            }
            Item::Trait(it) => {
                for member in &it.items {
                    if let TraitItem::Fn(function) = member {
                        found.push(entry(format!("{path}::{}", function.sig.ident), member));
                    }
                }
            }
            Item::Mod(it) => {
                let items = it.content.as_ref().map_or(&[][..], |(_, items)| items);
                find(items, &format!("{path}::"), found);
            }
            _ => {}
        }
        found.push(entry(path, item));
    }
}

fn entry(path: String, tokens: &impl Spanned) -> Entry {
    let span = tokens.span();
    Entry { path, lines: span.start().line..=span.end().line }
}

/// `impl Wake for Task` or `impl Task`, without what is in angle brackets.
fn name_of_impl(item: &syn::ItemImpl) -> String {
    let owner = name_of_type(&item.self_ty);
    let segments = item.trait_.as_ref().map(|(path, _)| &path.segments);
    match segments.and_then(|it| it.last()) {
        Some(name) => format!("impl {} for {owner}", name.ident),
        None => format!("impl {owner}"),
    }
}

/// The last name of a type, without references and what is in angle brackets.
fn name_of_type(of: &Type) -> String {
    match of {
        Type::Path(it) => it.path.segments.last().map_or(String::new(), |it| it.ident.to_string()),
        Type::Reference(it) => name_of_type(&it.elem),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
/// A task.
#[derive(Clone)]
pub struct Task<T>(T);

impl<T> Task<T> {
    // No part of the next one.

    /// Polls.
    ///
    /// Twice.
    #[inline]
    fn poll(&self) {
        // Once more.

        f();
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {}
}

impl Drop for &Other {
    fn drop(&mut self) {}
}

enum State {
    Idle,
}

mod inner {
    /// One.
    fn one() {}
    fn one() {}
}
";

    #[test]
    fn items_are_found() {
        let items = Items::read(TEXT).unwrap();
        for (path, source) in [
            ("Task", "/// A task.\n#[derive(Clone)]\npub struct Task<T>(T);\n"),
            ("Task::drop", "fn drop(&mut self) {}\n"),
            ("State::Idle", "Idle,\n"),
            ("impl Drop for Task", "impl<T> Drop for Task<T> {\n    fn drop(&mut self) {}\n}\n"),
            ("impl Drop for Other", "impl Drop for &Other {\n    fn drop(&mut self) {}\n}\n"),
        ] {
            assert_eq!(items.source(path, true).as_deref(), Ok(source), "{path}");
        }
    }

    #[test]
    fn an_item_stands_at_the_margin_and_may_leave_its_documentation() {
        let items = Items::read(TEXT).unwrap();
        let code = "#[inline]\nfn poll(&self) {\n    // Once more.\n\n    f();\n}\n";
        assert_eq!(items.source("Task::poll", false).unwrap(), code);
        let whole = format!("/// Polls.\n///\n/// Twice.\n{code}");
        assert_eq!(items.source("Task::poll", true).unwrap(), whole);
    }

    #[test]
    fn what_is_missing_or_not_clear_is_told() {
        let items = Items::read(TEXT).unwrap();
        let told = |path| items.source(path, true).unwrap_err();
        assert_eq!(told("Task::pol"), "has no item `Task::pol`");
        assert_eq!(told("inner::one"), "has more than one item `inner::one`");
        assert!(Items::read("fn f( {").is_err_and(|error| error.starts_with("line 1")));
    }
}
