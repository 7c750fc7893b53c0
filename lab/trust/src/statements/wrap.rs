//! Finds the statements of a source, and wraps them, so that a run can leave one of them out.
//!
//! `step();` becomes `if crate::keeps(17) { step(); }`. And what is kept until its block ends,
//! `let _guard = enter();`, becomes `let _guard = if crate::keeps(18) { Some(enter()) } else { None
//! };`. So one build has them all, and each run of it leaves out another one.
//!
//! Not tried is what stands in a macro's own text: `syn` does not read that.

use std::cmp::Reverse;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprConst, ImplItemFn, ItemConst, ItemFn, ItemMod, ItemStatic};
use syn::{Local, Pat, Stmt};

/// How many letters of a statement are told at the most.
const TOLD_MAX: usize = 72;

/// The macros that are not tried. Those of `src/hooks.rs` tell observers, or stand for a
/// simulation. The others are ways out.
const NOT_TRIED: [&str; 5] = ["tell", "observed", "sim", "panic", "unreachable"];

/// A statement that may be left out.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What is wrapped: the statement itself, or the value that it holds.
    place: Range<usize>,
    /// It holds a value until its block ends.
    is_held: bool,
    pub line: usize,
    /// It in one line, perhaps without its end.
    pub text: String,
}

/// The statements of a source that give no value and bind no name that is used.
///
/// # Errors
/// It is no Rust.
pub fn statements(source: &str) -> Result<Vec<Statement>, syn::Error> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder { source, found: Vec::new() };
    finder.visit_file(&file);
    let mut found = finder.found;

    // A statement comes before those in it.
    found.sort_by_key(|it| (it.place.start, Reverse(it.place.end)));
    Ok(found)
}

struct Finder<'text> {
    source: &'text str,
    found: Vec<Statement>,
}

impl Finder<'_> {
    fn add(&mut self, whole: Range<usize>, place: Range<usize>, is_held: bool) {
        let line = 1 + self.source[..whole.start].matches('\n').count();
        self.found.push(Statement { place, is_held, line, text: told(&self.source[whole]) });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_block(&mut self, block: &'ast Block) {
        for (index, statement) in block.stmts.iter().enumerate() {
            let is_last = index + 1 == block.stmts.len();
            let whole = statement.span().byte_range();
            if is_step(statement, is_last) {
                self.add(whole, statement.span().byte_range(), false);
            } else if let Some(value) = held(statement) {
                self.add(whole, value.span().byte_range(), true);
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        // The compiler runs it, and has no variables of the environment.
        if item.sig.constness.is_none() {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if item.sig.constness.is_none() {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_const(&mut self, _: &'ast ExprConst) {}

    fn visit_item_const(&mut self, _: &'ast ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast ItemStatic) {}

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {
        // Tests.
    }
}

/// Whether a statement does something, and gives nothing to those behind it.
fn is_step(statement: &Stmt, is_last: bool) -> bool {
    match statement {
        // Whether to leave is decided by the `if` around it, which is tried.
        Stmt::Expr(it, Some(_)) => !is_way_out(it),
        // The last one may be the value of its block. Without an `else` it is none, nor is a loop
        // that ends by itself.
        Stmt::Expr(Expr::If(it), None) if is_last => it.else_branch.is_none(),
        Stmt::Expr(Expr::ForLoop(_) | Expr::While(_), None) => true,
        Stmt::Expr(_, None) => !is_last,
        Stmt::Macro(it) => {
            let is_tried = !NOT_TRIED.iter().any(|name| it.mac.path.is_ident(name));
            it.semi_token.is_some() && is_tried
        }
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}

fn is_way_out(it: &Expr) -> bool {
    matches!(it, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_))
}

/// The value of a `let _` or `let _name`: it is made for what it does, and for its drop.
fn held(statement: &Stmt) -> Option<&Expr> {
    let Stmt::Local(Local { pat, init: Some(init), .. }) = statement else { return None };
    let is_unused = match pat {
        Pat::Wild(_) => true,
        Pat::Ident(it) => it.ident.to_string().starts_with('_'),
        _ => false,
    };
    (is_unused && init.diverge.is_none()).then_some(&init.expr)
}

/// A text in one line, without comments. A long one breaks off.
fn told(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words: Vec<_> = code.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    match line.char_indices().nth(TOLD_MAX) {
        None => line,
        Some((end, _)) => format!("{} …", line[..end].trim_end()),
    }
}

/// A source with wrapped statements, and where each of these stands in it.
pub struct Wrapped {
    pub text: String,
    places: Vec<(Range<usize>, usize)>,
}

/// Wraps statements, each with its number. They come in the order of `statements`.
pub fn wrap(source: &str, statements: &[(usize, &Statement)]) -> Wrapped {
    // What closes comes before what opens at the same place, and an inner one closes first.
    let mut marks = Vec::new();
    for (order, (_, statement)) in statements.iter().enumerate() {
        let closes_at = statements.len() - order;
        marks.push((statement.place.start, true, order, order));
        marks.push((statement.place.end, false, closes_at, order));
    }
    marks.sort_unstable();

    let mut wrapped = Wrapped { text: String::new(), places: Vec::new() };
    let mut began = vec![0; statements.len()];
    let mut done = 0;
    for (at, opens, _, order) in marks {
        wrapped.text.push_str(&source[done..at]);
        done = at;
        let (number, statement) = statements[order];
        if opens {
            began[order] = wrapped.text.len();
            let value = if statement.is_held { "Some(" } else { "" };
            wrapped.text.push_str(&format!("if crate::keeps({number}) {{ {value}"));
        } else {
            let end = if statement.is_held { ") } else { None }" } else { " }" };
            wrapped.text.push_str(end);
            wrapped.places.push((began[order]..wrapped.text.len(), number));
        }
    }
    wrapped.text.push_str(&source[done..]);
    wrapped
}

impl Wrapped {
    /// The number of the innermost statement around a place.
    pub fn around(&self, place: &Range<usize>) -> Option<usize> {
        let around = self.places.iter().filter(|(it, _)| is_in(place, it));
        Some(around.min_by_key(|(it, _)| it.len())?.1)
    }

    /// The number of the last statement in a place, such as a block that has to give a value.
    pub fn last_in(&self, place: &Range<usize>) -> Option<usize> {
        let within = self.places.iter().filter(|(it, _)| is_in(it, place));
        Some(within.max_by_key(|(it, _)| it.end)?.1)
    }
}

fn is_in(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The function that each wrapped statement asks. `count` is the greatest number.
///
/// It is of std's parts, also in a model of threads. It tells each statement that is run, once, in
/// the file that `ARC_RUN` names.
pub fn keeps(count: usize) -> String {
    const FUNCTION: &str = r#"
/// Whether this run has the statement of this number. ARC_WITHOUT names the one that it has not.
pub(crate) fn keeps(number: usize) -> bool {
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static WITHOUT: OnceLock<Option<usize>> = OnceLock::new();
    static IS_TOLD: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

    let is_told = &IS_TOLD[number];
    if !is_told.load(Ordering::Relaxed) && !is_told.swap(true, Ordering::Relaxed) {
        if let Some(path) = std::env::var_os("ARC_RUN") {
            // In a test of a lack of descriptors it cannot be told. Others tell it.
            let file = std::fs::File::options().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes()));
        }
    }
    let without = WITHOUT.get_or_init(|| std::env::var("ARC_WITHOUT").ok()?.parse().ok());
    *without != Some(number)
}
"#;
    FUNCTION.replace("COUNT", &(count + 1).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        statements(source).unwrap().into_iter().map(|it| it.text).collect()
    }

    fn all_wrapped(source: &str) -> String {
        let found = statements(source).unwrap();
        let numbered: Vec<_> = found.iter().enumerate().collect();
        wrap(source, &numbered).text
    }

    #[test]
    fn steps_are_found_and_no_names_or_values() {
        let source = "fn f() -> u8 { let a = 1; g(a); if a > 0 { h(); } for _ in 0..a {} a }";
        assert_eq!(texts(source), ["g(a);", "if a > 0 { h(); }", "h();", "for _ in 0..a {}"]);
        let source = "fn f() -> u8 { match a { _ => {} } if a { 1 } else { 2 } }";
        assert_eq!(texts(source), ["match a { _ => {} }"]);
    }

    #[test]
    fn what_is_held_is_found_and_what_is_used_is_not() {
        let source = "fn f() { let _ = g(); let _guard = h(); let used = i(); let _late; }";
        assert_eq!(texts(source), ["let _ = g();", "let _guard = h();"]);
        let source = "fn f() { let _guard = h() else { return }; }";
        assert!(texts(source).is_empty());
    }

    #[test]
    fn macros_are_found_but_for_hooks_ways_out_and_values() {
        let source = "fn f() -> u8 { assert!(a); tell!(b); ready!(c); panic!(d); sim!(e) }";
        assert_eq!(texts(source), ["assert!(a);", "ready!(c);"]);
    }

    #[test]
    fn neither_ways_out_nor_what_the_compiler_runs_is_found() {
        assert!(
            texts("fn f() { loop { match a { 1 => { return; } _ => { break; } } } }").is_empty()
        );
        assert!(texts("const fn f() { g(); } const A: () = { g(); };").is_empty());
        assert!(texts("impl A { const fn f() { g(); } } mod tests { fn f() { g(); } }").is_empty());
        assert_eq!(texts("impl A { fn f() { const { g(); } h(); } }"), ["const { g(); }", "h();"]);
    }

    #[test]
    fn comments_and_ends_of_long_statements_are_not_told() {
        assert_eq!(
            texts("fn f() {\n    if a {\n        // why\n        return;\n    }\n}"),
            ["if a { return; }"]
        );
        let long = format!("fn f() {{ g(\"{}\"); }}", "é".repeat(100));
        let told = &texts(&long)[0];
        assert!(told.ends_with("é …") && told.chars().count() == TOLD_MAX + 2, "{told}");
    }

    #[test]
    fn statements_are_wrapped_with_those_in_them() {
        assert_eq!(
            all_wrapped("fn f() { if a { b(); } }"),
            "fn f() { if crate::keeps(0) { if a { if crate::keeps(1) { b(); } } } }"
        );
        assert_eq!(
            all_wrapped("fn f() { let _a = b(); c(|| { d(); }); }"),
            "fn f() { let _a = if crate::keeps(0) { Some(b()) } else { None }; \
             if crate::keeps(1) { c(|| { if crate::keeps(2) { d(); } }); } }"
        );
    }

    #[test]
    fn lines_stay_where_they_are() {
        let source = "fn f() {\n    a();\n\n    // why\n    b(\n        c,\n    );\n}\n";
        assert_eq!(statements(source).unwrap()[1].line, 5);
        assert_eq!(all_wrapped(source).lines().count(), source.lines().count());
    }

    #[test]
    fn what_is_wrong_is_of_the_innermost_statement() {
        let source = "fn f() { if a { b(); } }";
        let found = statements(source).unwrap();
        let wrapped = wrap(source, &[(7, &found[0]), (9, &found[1])]);
        let place = |text: &str| {
            let start = wrapped.text.find(text).unwrap();
            start..start + text.len()
        };
        assert_eq!(wrapped.around(&place("b()")), Some(9));
        assert_eq!(wrapped.around(&place("if a")), Some(7));
        assert_eq!(wrapped.around(&place("keeps(9)")), Some(9));
        assert_eq!(wrapped.around(&place("fn f")), None);
        assert_eq!(wrapped.last_in(&place("fn f")), None);
        assert_eq!(wrapped.last_in(&(0..wrapped.text.len())), Some(7));
    }

    #[test]
    fn what_is_asked_is_rust() {
        let text = keeps(3);
        assert!(text.contains("[AtomicBool; 4]"));
        syn::parse_file(&text).unwrap();
    }
}
