//! Counts of one source text: lines, uses of `unsafe`, lengths of functions.
//!
//! Everything here is a pure function of the text, so that it can be tested on
//! small inputs. What the limits are, and which files they hold for, is
//! budget.rs's business.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::Safety;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use tokei::{Config, LanguageType};

/// Lines as tokei tells them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lines {
    pub code: usize,
    pub comments: usize,
    pub blanks: usize,
    /// Doc comments: Markdown to tokei, which counts them in a row of their own.
    pub documentation: usize,
}

impl Lines {
    /// The "Lines" column of tokei's Rust row, which the budget is stated in.
    pub fn total(self) -> usize {
        self.code + self.comments + self.blanks
    }
}

impl std::ops::AddAssign for Lines {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.blanks += other.blanks;
        self.documentation += other.documentation;
    }
}

/// Counts the lines of a Rust source text as tokei does.
pub fn lines(source: &str) -> Lines {
    let stats = LanguageType::Rust.parse_from_str(source, &Config::default());
    Lines {
        code: stats.code,
        comments: stats.comments,
        blanks: stats.blanks,
        documentation: stats
            .blobs
            .values()
            .map(|blob| blob.summarise().lines())
            .sum(),
    }
}

/// One `unsafe` in the source.
#[derive(Debug, PartialEq)]
pub struct Unsafe {
    pub line: usize,
    pub kind: &'static str,
    /// Whether a comment directly above says why it holds.
    pub explained: bool,
}

/// One function that has a body.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    /// From the line of `fn` to the line of the closing brace, both included.
    pub length: usize,
}

/// What the syntax tree of one file holds.
#[derive(Debug, Default, PartialEq)]
pub struct Syntax {
    pub unsafes: Vec<Unsafe>,
    pub functions: Vec<Function>,
}

/// Finds every `unsafe` and every function of a Rust source text.
///
/// The arguments of macros are not syntax yet: an `unsafe` in them is found as a
/// bare word, a function in them is not found at all.
///
/// # Errors
/// The text is not Rust; the error names the line.
pub fn syntax(source: &str) -> Result<Syntax, String> {
    let file = syn::parse_file(source)
        .map_err(|error| format!("line {}: {error}", error.span().start().line))?;
    let mut visitor = Visitor {
        source: source.lines().map(str::trim).collect(),
        statement: 1,
        found: Syntax::default(),
    };
    visitor.visit_file(&file);
    Ok(visitor.found)
}

struct Visitor<'source> {
    /// The text, trimmed line by line, for the comments that the tree lacks.
    source: Vec<&'source str>,
    /// The line on which the innermost item or statement begins.
    statement: usize,
    found: Syntax,
}

impl Visitor<'_> {
    fn found_unsafe(&mut self, kind: &'static str, at: Span) {
        let line = at.start().line;
        // rustfmt may break a line between the comment and the word `unsafe`, so
        // a comment above the whole statement counts as well.
        let explained = [line, self.statement]
            .iter()
            .any(|&line| self.is_explained(line));
        self.found.unsafes.push(Unsafe {
            line,
            kind,
            explained,
        });
    }

    /// Whether the comments and attributes directly above `line` hold a reason:
    /// `SAFETY:`, or the `# Safety` section in which a declaration states what
    /// its callers owe.
    fn is_explained(&self, line: usize) -> bool {
        self.source[..line - 1]
            .iter()
            .rev()
            .take_while(|text| text.starts_with("//") || text.starts_with("#["))
            .any(|text| text.contains("SAFETY:") || text.ends_with("# Safety"))
    }

    /// Finds the word `unsafe` in tokens that are not parsed.
    fn search_tokens(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Ident(word) if word == "unsafe" => {
                    self.found_unsafe("in a macro", word.span());
                }
                TokenTree::Group(group) => self.search_tokens(group.stream()),
                _ => {}
            }
        }
    }

    fn found_function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let end = body.brace_token.span.close().end().line;
        let name = signature.ident.to_string();
        self.found.functions.push(Function {
            name,
            line,
            length: end + 1 - line,
        });
    }

    /// Visits what is inside an item or statement that begins where `at` does.
    fn inside(&mut self, at: Span, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.statement, at.start().line);
        visit(self);
        self.statement = outer;
    }
}

impl<'tree> Visit<'tree> for Visitor<'_> {
    fn visit_item(&mut self, node: &'tree syn::Item) {
        self.inside(node.span(), |visitor| visit::visit_item(visitor, node));
    }

    fn visit_impl_item(&mut self, node: &'tree syn::ImplItem) {
        self.inside(node.span(), |visitor| visit::visit_impl_item(visitor, node));
    }

    fn visit_trait_item(&mut self, node: &'tree syn::TraitItem) {
        self.inside(node.span(), |visitor| {
            visit::visit_trait_item(visitor, node)
        });
    }

    fn visit_stmt(&mut self, node: &'tree syn::Stmt) {
        self.inside(node.span(), |visitor| visit::visit_stmt(visitor, node));
    }

    fn visit_expr_unsafe(&mut self, node: &'tree syn::ExprUnsafe) {
        self.found_unsafe("block", node.unsafe_token.span);
        visit::visit_expr_unsafe(self, node);
    }

    fn visit_signature(&mut self, node: &'tree syn::Signature) {
        if let Safety::Unsafe(word) = &node.safety {
            self.found_unsafe("fn", word.span);
        }
        visit::visit_signature(self, node);
    }

    fn visit_item_impl(&mut self, node: &'tree syn::ItemImpl) {
        if let Some(word) = &node.unsafety {
            self.found_unsafe("impl", word.span);
        }
        visit::visit_item_impl(self, node);
    }

    fn visit_item_trait(&mut self, node: &'tree syn::ItemTrait) {
        if let Some(word) = &node.unsafety {
            self.found_unsafe("trait", word.span);
        }
        visit::visit_item_trait(self, node);
    }

    /// An extern block is a promise about foreign code, with or without the word.
    fn visit_item_foreign_mod(&mut self, node: &'tree syn::ItemForeignMod) {
        self.found_unsafe("extern", node.abi.extern_token.span);
        visit::visit_item_foreign_mod(self, node);
    }

    fn visit_attribute(&mut self, node: &'tree syn::Attribute) {
        if node.path().is_ident("unsafe") {
            self.found_unsafe("attribute", node.path().span());
        }
        visit::visit_attribute(self, node);
    }

    fn visit_meta_list(&mut self, node: &'tree syn::MetaList) {
        self.search_tokens(node.tokens.clone());
    }

    fn visit_macro(&mut self, node: &'tree syn::Macro) {
        self.search_tokens(node.tokens.clone());
    }

    fn visit_item_fn(&mut self, node: &'tree syn::ItemFn) {
        self.found_function(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'tree syn::ImplItemFn) {
        self.found_function(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'tree syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.found_function(&node.sig, body);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsafes(source: &str) -> Vec<(usize, &'static str, bool)> {
        let found = syntax(source).unwrap().unsafes;
        found
            .iter()
            .map(|each| (each.line, each.kind, each.explained))
            .collect()
    }

    #[test]
    fn doc_comments_are_not_lines() {
        let source = "\
//! A module.
//!
//! Its story.

/// A function.
fn main() {
    // Why.
    let _ = 1; // not a line of its own

}
";
        let counted = lines(source);
        assert_eq!(
            counted,
            Lines {
                code: 3,
                comments: 1,
                blanks: 2,
                documentation: 4
            }
        );
        assert_eq!(counted.total(), 6);
    }

    #[test]
    fn lines_add_up() {
        let mut sum = Lines::default();
        sum += lines("fn a() {}\n");
        sum += lines("// b\n\n/// c\nfn c() {}\n");
        assert_eq!(
            sum,
            Lines {
                code: 2,
                comments: 1,
                blanks: 1,
                documentation: 1
            }
        );
    }

    #[test]
    fn every_kind_of_unsafe_is_found() {
        let source = r#"
unsafe fn f() { unsafe { g() } }
unsafe impl Send for S {}
unsafe trait T { unsafe fn m(); }
unsafe extern "C" { fn c(); }
#[unsafe(no_mangle)]
fn n() {}
#[cfg_attr(all(), unsafe(no_mangle))]
fn o() {}
impl S { unsafe fn i(&self) {} }
fn q() { quote! { a { unsafe { b() } } }; }
macro_rules! r { () => { unsafe { s() } } }
"#;
        let kinds: Vec<_> = unsafes(source)
            .iter()
            .map(|&(line, kind, _)| (line, kind))
            .collect();
        let expected = [
            (2, "fn"),
            (2, "block"),
            (3, "impl"),
            (4, "trait"),
            (4, "fn"),
            (5, "extern"),
            (6, "attribute"),
            (8, "in a macro"),
            (10, "fn"),
            (11, "in a macro"),
            (12, "in a macro"),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn the_word_alone_is_not_unsafe() {
        let source = "#![forbid(unsafe_code)]\n// unsafe\nfn f() { g(\"unsafe {}\", h) }\n";
        assert_eq!(unsafes(source), []);
    }

    #[test]
    fn a_reason_stands_directly_above() {
        let source = "\
fn f() {
    // SAFETY: it holds
    // for this reason.
    #[allow(unused)]
    unsafe { g() };

    // SAFETY: the statement is broken over two lines.
    let long =
        unsafe { g() };

    // SAFETY: too far away.

    unsafe { g() };
    unsafe { g() }; // SAFETY: beside it.
}
";
        let explained: Vec<_> = unsafes(source)
            .iter()
            .map(|each| (each.0, each.2))
            .collect();
        assert_eq!(explained, [(5, true), (9, true), (13, false), (14, false)]);
    }

    #[test]
    fn a_declaration_is_explained_by_its_safety_section() {
        let source = "\
/// # Safety
/// `p` is valid.
pub unsafe fn f(p: *const u8) {}
/// Does it.
pub unsafe fn g() {}
impl S {
    // SAFETY: S has no state.
    unsafe fn h() {}
}
";
        let explained: Vec<_> = unsafes(source)
            .iter()
            .map(|each| (each.0, each.2))
            .collect();
        assert_eq!(explained, [(3, true), (5, false), (8, true)]);
    }

    #[test]
    fn a_function_is_as_long_as_its_lines() {
        let source = "\
/// Not counted.
#[inline]
pub fn long(
    x: u8,
) {
    fn inner() {}
}
trait T { fn none(); fn one() {} }
impl S {
    async fn two() {
    }
}
";
        let functions = syntax(source).unwrap().functions;
        let lengths: Vec<_> = functions
            .iter()
            .map(|each| (each.name.as_str(), each.line, each.length))
            .collect();
        assert_eq!(
            lengths,
            [
                ("long", 3, 5),
                ("inner", 6, 1),
                ("one", 8, 1),
                ("two", 10, 2)
            ]
        );
    }

    #[test]
    fn what_is_not_rust_is_an_error_with_its_line() {
        assert!(
            syntax("fn f() {}\nfn fn\n")
                .unwrap_err()
                .starts_with("line 2: ")
        );
    }
}
