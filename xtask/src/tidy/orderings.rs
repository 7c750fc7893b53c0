//! Every ordering stronger than Relaxed says what it pairs with.
//!
//! The comment may stand in the function, up to the ordering; in its documentation;
//! in that of its `impl`; or with the field, as "SeqCst, wherever `field` is used".

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::file::{File, Found};
use super::repository::Repository;

/// The orderings that promise something.
const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// Finds strong orderings in the runtime that no comment speaks of.
pub fn orderings(file: &File, _: &Repository) -> Vec<Found> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut visitor = Visitor {
        everywhere: spoken_of_everywhere(&lines),
        lines,
        function: 1..1,
        above: 1..1,
        found: Vec::new(),
    };
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_runtime()) {
        visitor.visit_file(syntax);
    }
    visitor.found
}

struct Visitor<'text> {
    lines: Vec<&'text str>,
    /// The fields of which a comment speaks once for all their uses.
    everywhere: Vec<String>,
    /// The lines from the innermost function's documentation to its end.
    function: std::ops::Range<usize>,
    /// The lines of the documentation of the `impl` around it.
    above: std::ops::Range<usize>,
    found: Vec<Found>,
}

impl Visitor<'_> {
    fn judge(&mut self, name: &syn::Ident) {
        let line = name.span().start().line;
        let text = self.lines[line - 1];
        let has_word = |at: usize| speaks(self.lines[at - 1]);
        let is_near =
            (self.function.start..=line).any(has_word) || self.above.clone().any(has_word);
        let is_field = |it: &String| text.contains(&format!("{it}."));
        if !is_near && !self.everywhere.iter().any(is_field) {
            let text = format!("{name} without a comment that says what it pairs with");
            self.found.push(Found::new(line, text));
        }
    }

    fn inside(&mut self, lines: std::ops::Range<usize>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, lines);
        visit(self);
        self.function = outer;
    }
}

/// Whether a line has a comment, of any kind, about orderings.
fn speaks(line: &str) -> bool {
    let comment = line.find("//").map_or("", |at| &line[at..]);
    comment.contains("pairs with") || STRONG.iter().any(|word| comment.contains(word))
}

/// The names in backticks in comments of the form "SeqCst, wherever `a` and `b`".
fn spoken_of_everywhere(lines: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !(speaks(line) && line.contains("wherever")) {
            continue;
        }
        let next = lines.get(index + 1).filter(|it| it.starts_with("//"));
        for text in [line, next.copied().unwrap_or("")] {
            names.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    names
}

fn span_of(node: &impl Spanned) -> std::ops::Range<usize> {
    let span = node.span();
    span.start().line..span.end().line + 1
}

impl<'tree> Visit<'tree> for Visitor<'_> {
    fn visit_item_impl(&mut self, node: &'tree syn::ItemImpl) {
        let start = node.span().start().line;
        self.above = start..node.impl_token.span.start().line;
        visit::visit_item_impl(self, node);
        self.above = 1..1;
    }

    fn visit_item_fn(&mut self, node: &'tree syn::ItemFn) {
        self.inside(span_of(node), |it| visit::visit_item_fn(it, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'tree syn::ImplItemFn) {
        self.inside(span_of(node), |it| visit::visit_impl_item_fn(it, node));
    }

    fn visit_expr_path(&mut self, node: &'tree syn::ExprPath) {
        let names: Vec<_> = node.path.segments.iter().map(|it| &it.ident).collect();
        if let [.., kind, name] = names[..]
            && kind == "Ordering"
            && STRONG.iter().any(|it| name == it)
        {
            self.judge(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::repository::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn a_strong_ordering_needs_a_word() {
        let text = "\
fn a() {
    x.load(Ordering::SeqCst);
    y.load(Ordering::Relaxed);
}
/// Acquire: pairs with the Release in `c`.
fn b() {
    x.load(Ordering::Acquire);
}
fn c() {
    // Pairs with the Acquire in `b`.
    x.store(1, Ordering::Release);
    fence(Ordering::SeqCst); // Pairs with that in `d`: SeqCst.
}
fn e() {
    x.load(atomic::Ordering::Acquire);
    // Too late: Acquire.
}
";
        assert_eq!(lines_found(orderings, "src/a.rs", text), [2, 15]);
        assert_eq!(lines_found(orderings, "tests/a.rs", text), NONE);
    }

    #[test]
    fn an_impl_or_a_field_may_speak_for_its_functions() {
        let text = "\
/// SeqCst, wherever `woken`
/// and `other` are used: see below.
struct A;
/// SeqCst: see there.
impl Drop for A {
    fn drop(&mut self) {
        x.load(Ordering::SeqCst);
    }
}
impl A {
    fn f(&self) {
        self.woken.load(Ordering::SeqCst);
        self.other.load(Ordering::SeqCst);
        self.third.load(Ordering::SeqCst);
    }
}
";
        assert_eq!(lines_found(orderings, "src/a.rs", text), [14]);
    }
}
