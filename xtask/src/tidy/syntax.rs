//! Rules that need the syntax tree of one file.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Visibility};

use super::file::{File, Found};
use super::repository::Repository;
use crate::count;

/// Functions fit a screen.
pub fn length(file: &File, repository: &Repository) -> Vec<Found> {
    let limit = match file.is_own() {
        true => repository.own_function_lines,
        false => repository.function_lines,
    };
    // Tests are scenarios, told from the beginning to the end.
    if file.syntax.is_none() || file.name.contains("tests/") {
        return Vec::new();
    }
    let syntax = count::syntax(&file.text).unwrap_or_default();
    let long = syntax.functions.iter().filter(|it| it.length > limit);
    long.map(|it| {
        let text = format!("fn {} has {} lines, at most {limit}: split it", it.name, it.length);
        Found::new(it.line, text)
    })
    .collect()
}

/// `unwrap` needs a comment directly above the statement, `expect` a message of
/// several words or a comment.
pub fn panics(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Panics {
        lines: file.text.lines().map(str::trim).collect(),
        statement: 1,
        found: Vec::new(),
    };
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_library()) {
        visitor.visit_file(syntax);
    }
    visitor.found
}

struct Panics<'text> {
    lines: Vec<&'text str>,
    /// The line on which the innermost statement begins.
    statement: usize,
    found: Vec<Found>,
}

impl<'tree> Visit<'tree> for Panics<'_> {
    fn visit_stmt(&mut self, node: &'tree syn::Stmt) {
        let line = node.span().start().line;
        let outer = std::mem::replace(&mut self.statement, line);
        visit::visit_stmt(self, node);
        self.statement = outer;
    }

    fn visit_expr_method_call(&mut self, node: &'tree syn::ExprMethodCall) {
        let line = node.method.span().start().line;
        let is_explained = [line, self.statement].iter().any(|&at| has_comment(&self.lines, at));
        let is_reason = |it: &syn::Expr| match it {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Str(text) => text.value().split_whitespace().count() > 2,
                _ => false,
            },
            _ => false,
        };
        let is_bare = match node.method.to_string().as_str() {
            "unwrap" => node.args.is_empty(),
            "expect" => !node.args.first().is_some_and(is_reason),
            _ => false,
        };
        if is_bare && !is_explained {
            let text = format!("`{}` without a reason: say why it holds", node.method);
            self.found.push(Found::new(line, text));
        }
        visit::visit_expr_method_call(self, node);
    }
}

/// Whether a comment stands directly above a line, attributes left out.
fn has_comment(lines: &[&str], line: usize) -> bool {
    let mut above = lines[..line - 1].iter().rev();
    let nearest = above.find(|it| !it.starts_with("#["));
    nearest.is_some_and(|it| it.starts_with("//") && !it.starts_with("///"))
}

/// Public items are documented: also those that the compiler's lint lets pass
/// because they cannot be reached.
pub fn docs(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Docs(Vec::new());
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_library()) {
        visitor.visit_file(syntax);
    }
    visitor.0
}

struct Docs(Vec<Found>);

impl Docs {
    fn judge(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &syn::Ident) {
        let is_documented = attributes.iter().any(|it| it.path().is_ident("doc"));
        if matches!(visibility, Visibility::Public(_)) && !is_documented {
            let text = format!("`{name}` is public and not documented: say what it does");
            self.0.push(Found::new(name.span().start().line, text));
        }
    }
}

impl<'tree> Visit<'tree> for Docs {
    fn visit_item(&mut self, node: &'tree syn::Item) {
        use syn::Item;
        match node {
            Item::Const(it) => self.judge(&it.vis, &it.attrs, &it.ident),
            Item::Enum(it) => {
                self.judge(&it.vis, &it.attrs, &it.ident);
                for variant in &it.variants {
                    self.judge(&it.vis, &variant.attrs, &variant.ident);
                }
            }
            Item::Fn(it) => self.judge(&it.vis, &it.attrs, &it.sig.ident),
            Item::Static(it) => self.judge(&it.vis, &it.attrs, &it.ident),
            Item::Struct(it) => self.judge(&it.vis, &it.attrs, &it.ident),
            Item::Trait(it) => {
                self.judge(&it.vis, &it.attrs, &it.ident);
                for item in &it.items {
                    if let syn::TraitItem::Fn(function) = item {
                        self.judge(&it.vis, &function.attrs, &function.sig.ident);
                    }
                }
            }
            Item::Type(it) => self.judge(&it.vis, &it.attrs, &it.ident),
            _ => {}
        }
        visit::visit_item(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'tree syn::ImplItemFn) {
        self.judge(&node.vis, &node.attrs, &node.sig.ident);
    }

    fn visit_field(&mut self, node: &'tree syn::Field) {
        if let Some(name) = &node.ident {
            self.judge(&node.vis, &node.attrs, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::repository::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn long_functions_are_found() {
        let text = "fn a() {\n\n}\nfn b() {\n\n\n}\n";
        assert_eq!(lines_found(length, "xtask/src/a.rs", text), [4]);
        assert_eq!(lines_found(length, "tests/a.rs", text), NONE);
        assert_eq!(lines_found(length, "src/a.rs", text), [1, 4]);
    }

    #[test]
    fn a_panic_needs_a_reason() {
        let text = "\
fn f() {
    a.unwrap();
    // It is never empty.
    b.unwrap();
    c.expect(\"oh\");
    d.expect(\"the list is never empty\");
    // It is never empty.
    let e = g()
        .unwrap();
    h.unwrap_or(1);
}
";
        assert_eq!(lines_found(panics, "src/a.rs", text), [2, 5]);
        assert_eq!(lines_found(panics, "tests/a.rs", text), NONE);
    }

    #[test]
    fn public_items_need_docs() {
        let text = "\
pub fn a() {}
/// B.
pub struct B {
    pub field: u8,
    private: u8,
}
pub(crate) fn c() {}
impl B {
    pub fn d() {}
    /// E.
    pub fn e() {}
}
/// F.
pub enum F {
    /// G.
    G,
    H,
}
";
        assert_eq!(lines_found(docs, "src/a.rs", text), [1, 4, 9, 17]);
        assert_eq!(lines_found(docs, "xtask/src/a.rs", text), NONE);
    }
}
