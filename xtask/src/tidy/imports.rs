//! What imports what: the table of docs/ARCHITECTURE.md, which is the one place
//! where the edges between the modules of `src/` are allowed, and the invariants
//! of that page that can be read off the source.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{File, Found, Repository};
use crate::limits::Remark;

/// The page that says what imports what.
pub const DOCUMENT: &str = "docs/ARCHITECTURE.md";

/// The section of the page that has the table.
const SECTION: &str = "## What imports what";

/// What no table can allow: these modules stay below all that runs tasks.
const LOW: [(&str, &[&str]); 3] =
    [("reactor", &["kernel", "readiness", "sync"]), ("timers", &["wheel", "sync"]), ("wheel", &[])];

/// The table: a row for each module, the upper ones first.
#[derive(Default)]
pub struct Edges {
    /// The modules in the order of their rows.
    order: Vec<String>,
    /// What a module may import, and whether the row marks it as pointing up.
    allowed: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Edges {
    /// Reads the rows "| `module` | `import`, `upward`*, ... |" of the section.
    pub fn parse(document: &str) -> Self {
        let mut edges = Edges::default();
        let section = document.split_once(SECTION).map_or("", |it| it.1);
        let section = section.split("\n## ").next().unwrap_or("");
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let mut parts = row.split('`').skip(1);
            let Some(module) = parts.next() else { continue };
            let rest: Vec<&str> = parts.collect();
            // Names alternate with what stands between them.
            let names = rest[1..].chunks(2).filter(|pair| pair.len() == 2);
            let imports = names.map(|pair| (pair[0].to_owned(), pair[1].starts_with('*')));
            edges.order.push(module.to_owned());
            edges.allowed.insert(module.to_owned(), imports.collect());
        }
        edges
    }

    fn place(&self, module: &str) -> Option<usize> {
        self.order.iter().position(|it| it == module)
    }
}

/// The module of `src/` that a file belongs to; `lib.rs` knows all and is none.
fn module_of(name: &str) -> Option<&str> {
    let path = name.strip_prefix("src/")?;
    let module = path.split('/').next()?;
    Some(module.strip_suffix(".rs").unwrap_or(module)).filter(|it| *it != "lib")
}

/// Modules import what the table allows, and downwards.
pub fn imports(file: &File, repository: &Repository) -> Vec<Found> {
    let edges = &repository.edges;
    let (Some(module), Some(syntax)) = (module_of(&file.name), &file.syntax) else {
        return Vec::new();
    };
    let Some(allowed) = edges.allowed.get(module) else {
        let text = format!("`{module}` has no row in \"{SECTION}\" of {DOCUMENT}: add one");
        return vec![Found::new(1, text)];
    };
    let mut found = Vec::new();
    for (import, line) in imported(syntax.to_token_stream()) {
        let Some(place) = edges.place(&import).filter(|_| import != module) else {
            continue;
        };
        let is_up = edges.place(module).is_some_and(|own| place < own);
        let fixed = LOW.iter().find(|low| low.0 == module);
        let trouble = match allowed.get(&import) {
            _ if fixed.is_some_and(|low| !low.1.contains(&import.as_str())) => {
                "it must know nothing of what runs tasks"
            }
            None => "the table of docs/ARCHITECTURE.md does not have it",
            Some(false) if is_up => "it points up: turn it round, or mark it with a * there",
            _ => continue,
        };
        found.push(Found::new(line, format!("`{module}` imports `{import}`: {trouble}")));
    }
    found
}

/// Rows and entries of the table that nothing in the source needs.
pub fn stale(files: &[File], edges: &Edges) -> Vec<Remark> {
    let mut used = BTreeSet::new();
    for file in files {
        let (Some(module), Some(syntax)) = (module_of(&file.name), &file.syntax) else {
            continue;
        };
        used.insert((module.to_owned(), String::new()));
        for (import, _) in imported(syntax.to_token_stream()) {
            used.insert((module.to_owned(), import));
        }
    }
    let mut remarks = Vec::new();
    for (module, imports) in &edges.allowed {
        let empty = String::new();
        let mut named = std::iter::once(&empty).chain(imports.keys());
        if let Some(import) = named.find(|it| !used.contains(&(module.clone(), (*it).clone()))) {
            remarks.push(Remark::complaint(format!(
                "{DOCUMENT}: `{module}` does not import `{import}`: drop it from the table"
            )));
        }
    }
    remarks
}

/// The names after `crate::` in a file, with their lines. Tokens are searched, so
/// that those in the arguments of macros count; comments are no tokens.
fn imported(tokens: TokenStream) -> Vec<(String, usize)> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (index, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            found.extend(imported(group.stream()));
        }
        let is_crate = matches!(tree, TokenTree::Ident(word) if word == "crate");
        let next = trees.get(index + 1).map(TokenTree::to_string);
        if !is_crate || next.as_deref() != Some(":") {
            continue;
        }
        match trees.get(index + 3) {
            Some(TokenTree::Ident(word)) => {
                found.push((word.to_string(), word.span().start().line));
            }
            Some(TokenTree::Group(group)) => found.extend(first_names(group.stream())),
            _ => {}
        }
    }
    found
}

/// The first name of every entry of `{a, b::c, d::{e, f}}`.
fn first_names(tokens: TokenStream) -> Vec<(String, usize)> {
    let mut is_first = true;
    let mut found = Vec::new();
    for tree in tokens {
        match tree {
            TokenTree::Ident(word) if is_first => {
                found.push((word.to_string(), word.span().start().line));
                is_first = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => is_first = true,
            _ => {}
        }
    }
    found
}

/// Who calls what waits for the kernel or parks a thread: the seat's ways down to
/// the kernel, and the threads that have nothing to do.
const WAITS: [(&str, &str); 11] = [
    ("seat.wait", "src/worker.rs"),
    ("seat.wait", "src/monitor.rs"),
    ("reactor.wait", "src/driver.rs"),
    ("kernel.wait", "src/reactor.rs"),
    ("epoll::wait", "src/kernel.rs"),
    ("0.wait", "src/kernel.rs"),
    ("thread::park", "src/worker.rs"),
    ("thread::park_timeout", "src/guest.rs"),
    ("thread::park", "src/monitor.rs"),
    ("thread::park_timeout", "src/monitor.rs"),
    ("thread::sleep", "nowhere"),
];

/// Only the seat waits for the kernel.
pub fn waits(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Waits(Vec::new());
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_runtime()) {
        visitor.visit_file(syntax);
    }
    let is_allowed = |call: &str| WAITS.contains(&(call, file.name.as_str()));
    visitor.0.retain(|found| !is_allowed(&found.text));
    for found in &mut visitor.0 {
        found.text = format!("`{}` is not for this file: WAITS in tidy says whose", found.text);
    }
    visitor.0
}

struct Waits(Vec<Found>);

impl<'tree> Visit<'tree> for Waits {
    fn visit_expr_method_call(&mut self, node: &'tree syn::ExprMethodCall) {
        if node.method == "wait" {
            let receiver = node.receiver.to_token_stream().to_string();
            let last = receiver.split([' ', '.']).next_back().unwrap_or_default();
            let line = node.method.span().start().line;
            self.0.push(Found::new(line, format!("{last}.wait")));
        }
        visit::visit_expr_method_call(self, node);
    }

    fn visit_expr_path(&mut self, node: &'tree syn::ExprPath) {
        let names = node.path.segments.iter().map(|it| it.ident.to_string());
        let names: Vec<_> = names.collect();
        let call = names[names.len().saturating_sub(2)..].join("::");
        let is_wait = call.ends_with("::wait") || WAITS.iter().any(|it| it.0 == call);
        if is_wait || call.starts_with("thread::park") {
            self.0.push(Found::new(node.span().start().line, call));
        }
    }
}

/// The wheel is a pure structure: ticks in, expired entries out.
pub fn pure(file: &File, _: &Repository) -> Vec<Found> {
    const FOREIGN: [&str; 5] = ["Instant", "SystemTime", "Mutex", "Ordering", "thread"];
    let Some(syntax) = file.syntax.as_ref().filter(|_| file.name == "src/wheel.rs") else {
        return Vec::new();
    };
    let words = words(syntax.to_token_stream());
    let foreign = words.into_iter().filter(|it| FOREIGN.contains(&it.0.as_str()));
    foreign.map(|(word, line)| Found::new(line, format!("`{word}` in a pure structure"))).collect()
}

fn words(tokens: TokenStream) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for tree in tokens {
        match tree {
            TokenTree::Ident(word) => found.push((word.to_string(), word.span().start().line)),
            TokenTree::Group(group) => found.extend(words(group.stream())),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::super::tests::{NONE, lines_found};
    use super::*;

    pub const DOCUMENT_TEXT: &str = "\
## What imports what

| module | imports |
|---|---|
| `net` | `io` |
| `io` | `net`*, `reactor` |
| `reactor` | `sync`, `net` |
| `wheel` | nothing |
| `sync` | nothing |

## Next

| `no` | `row` |
";

    #[test]
    fn imports_follow_the_table() {
        let text = "use crate::reactor::Source;\nuse crate::{net, sync::lock};\n";
        assert_eq!(lines_found(imports, "src/io.rs", text), [2]);
        let text = "use crate::io::Async;\nfn f() { vec![crate::sync::lock()] }\n";
        assert_eq!(lines_found(imports, "src/net/mod.rs", text), [2]);
        assert_eq!(lines_found(imports, "src/lib.rs", text), NONE);
        assert_eq!(lines_found(imports, "src/gone.rs", ""), [1]);
    }

    #[test]
    fn no_table_lets_the_reactor_know_more() {
        let text = "use crate::{net, sync};\n";
        let file = File::of("src/reactor.rs", text);
        let found = imports(&file, &super::super::tests::repository());
        assert_eq!(
            found[0].text,
            "`reactor` imports `net`: it must know nothing of what runs tasks"
        );
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_import_that_points_up_is_marked() {
        let document = DOCUMENT_TEXT.replace("`net`*", "`net`");
        let mut repository = super::super::tests::repository();
        repository.edges = Edges::parse(&document);
        let file = File::of("src/io.rs", "use crate::net;\n");
        assert!(imports(&file, &repository)[0].text.contains("points up"));
    }

    #[test]
    fn the_table_has_no_stale_rows() {
        let edges = Edges::parse(DOCUMENT_TEXT);
        let mut files: Vec<_> = [
            ("src/net/mod.rs", "use crate::io;"),
            ("src/io.rs", "use crate::{net, reactor};"),
            ("src/reactor.rs", "use crate::{sync, net};"),
            ("src/wheel.rs", ""),
            ("src/sync.rs", ""),
        ]
        .map(|(name, text)| File::of(name, text))
        .into();
        assert_eq!(stale(&files, &edges), []);
        files.remove(0);
        assert!(stale(&files, &edges)[0].text.contains("`net`"));
    }

    #[test]
    fn only_the_seat_waits() {
        let text = "fn f() {\n    self.reactor.wait(1);\n    thread::park();\n}\n";
        assert_eq!(lines_found(waits, "src/driver.rs", text), [3]);
        assert_eq!(lines_found(waits, "src/worker.rs", text), [2]);
        assert_eq!(lines_found(waits, "tests/a.rs", text), NONE);
        let text = "fn f() { std::thread::sleep(a) }\n";
        assert_eq!(lines_found(waits, "src/worker.rs", text), [1]);
    }

    #[test]
    fn the_wheel_is_pure() {
        assert_eq!(lines_found(pure, "src/wheel.rs", "// Instant\nstruct Wheel;\n"), NONE);
        assert_eq!(lines_found(pure, "src/wheel.rs", "\nuse std::time::Instant;\n"), [2]);
    }
}
