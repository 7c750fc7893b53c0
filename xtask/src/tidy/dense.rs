//! Rules against text that is packed: what a tool can see of it, in the files of the one count
//! that audit.toml limits.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, Item, Pat, ReturnType, Stmt, Type, UseTree};

use super::file::{File, Found};
use super::repository::Repository;

/// A condition that decides what is done stands in an `if`.
pub fn conditions(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Conditions(Vec::new());
    visit_own(file, &mut visitor);
    visitor.0
}

/// Visits the syntax tree of a file that is part of the one count.
fn visit_own(file: &File, visitor: &mut impl for<'tree> Visit<'tree>) {
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_own()) {
        visitor.visit_file(syntax);
    }
}

struct Conditions(Vec<Found>);

impl Conditions {
    fn judge(&mut self, statement: &Expr) {
        let Expr::MethodCall(call) = inside_of_try(statement) else { return };
        if call.method == "then" || call.method == "then_some" {
            let line = call.method.span().start().line;
            let text = format!("`{}` as a statement: write an `if`", call.method);
            self.0.push(Found::new(line, text));
        }
    }
}

/// What stands before `?`, and in parentheses.
fn inside_of_try(expression: &Expr) -> &Expr {
    match expression {
        Expr::Try(it) => inside_of_try(&it.expr),
        Expr::Paren(it) => inside_of_try(&it.expr),
        _ => expression,
    }
}

impl<'tree> Visit<'tree> for Conditions {
    fn visit_stmt(&mut self, node: &'tree Stmt) {
        match node {
            Stmt::Expr(expression, Some(_)) => self.judge(expression),
            Stmt::Local(local) if matches!(local.pat, Pat::Wild(_)) => {
                if let Some(init) = &local.init {
                    self.judge(&init.expr);
                }
            }
            _ => {}
        }
        visit::visit_stmt(self, node);
    }
}

/// A statement gives one name its value. What a call returns, and what is tested by `if let` or
/// by an `else`, may be taken apart.
pub fn statements(file: &File, _: &Repository) -> Vec<Found> {
    let mut visitor = Statements(Vec::new());
    visit_own(file, &mut visitor);
    visitor.0
}

struct Statements(Vec<Found>);

impl Statements {
    fn found(&mut self, node: &impl Spanned) {
        let text = "several values in one statement: a statement for each";
        self.0.push(Found::new(node.span().start().line, text));
    }
}

/// How many expressions a tuple or an array packs together.
fn packed(expression: &Expr) -> usize {
    match expression {
        Expr::Tuple(it) => it.elems.len(),
        Expr::Array(it) => it.elems.len(),
        Expr::Paren(it) => packed(&it.expr),
        _ => 1,
    }
}

impl<'tree> Visit<'tree> for Statements {
    fn visit_local(&mut self, node: &'tree syn::Local) {
        let pattern = match &node.pat {
            Pat::Type(it) => &*it.pat,
            it => it,
        };
        if let (Pat::Tuple(_) | Pat::Slice(_), Some(init)) = (pattern, &node.init)
            && init.diverge.is_none()
            && packed(&init.expr) > 1
        {
            self.found(node);
        }
        visit::visit_local(self, node);
    }

    fn visit_expr_assign(&mut self, node: &'tree syn::ExprAssign) {
        if packed(&node.left) > 1 && packed(&node.right) > 1 {
            self.found(node);
        }
        visit::visit_expr_assign(self, node);
    }
}

/// A bool is no number. Types are not known here: an expression is taken for a bool by what it
/// does, by its name, or because the file declares it as one.
pub fn bools(file: &File, _: &Repository) -> Vec<Found> {
    let mut names = Names(BTreeSet::new());
    visit_own(file, &mut names);
    let mut visitor = Bools { names: names.0, found: Vec::new() };
    visit_own(file, &mut visitor);
    visitor.found
}

/// How the names of bools, and of what returns one, begin.
const BEGINNINGS: [&str; 8] = ["is_", "has_", "are_", "was_", "any_", "all_", "needs_", "can_"];

/// Methods of others that return a bool, beside those whose names begin so.
const PREDICATES: [&str; 6] = ["contains", "starts_with", "ends_with", "any", "all", "eq"];

const NUMBERS: [&str; 14] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64",
];

/// The names that a file declares as bools.
struct Names(BTreeSet<String>);

fn is_bool_type(of: &Type) -> bool {
    matches!(of, Type::Path(it) if it.path.is_ident("bool"))
}

impl<'tree> Visit<'tree> for Names {
    fn visit_field(&mut self, node: &'tree syn::Field) {
        if let Some(name) = node.ident.as_ref().filter(|_| is_bool_type(&node.ty)) {
            self.0.insert(name.to_string());
        }
    }

    fn visit_pat_type(&mut self, node: &'tree syn::PatType) {
        if let Pat::Ident(it) = &*node.pat
            && is_bool_type(&node.ty)
        {
            self.0.insert(it.ident.to_string());
        }
    }

    fn visit_signature(&mut self, node: &'tree syn::Signature) {
        if matches!(&node.output, ReturnType::Type(_, it) if is_bool_type(it)) {
            self.0.insert(node.ident.to_string());
        }
        visit::visit_signature(self, node);
    }

    fn visit_local(&mut self, node: &'tree syn::Local) {
        if let (Pat::Ident(name), Some(init)) = (&node.pat, &node.init)
            && is_bool(&init.expr, &self.0)
        {
            self.0.insert(name.ident.to_string());
        }
        visit::visit_local(self, node);
    }
}

/// Whether an expression looks like a bool.
fn is_bool(expression: &Expr, names: &BTreeSet<String>) -> bool {
    use syn::{BinOp, Lit, UnOp};
    let is_name = |name: &syn::Ident| {
        let name = name.to_string();
        names.contains(&name) || BEGINNINGS.iter().any(|it| name.starts_with(it))
    };
    match expression {
        Expr::Paren(it) => is_bool(&it.expr, names),
        Expr::Lit(it) => matches!(it.lit, Lit::Bool(_)),
        Expr::Macro(it) => it.mac.path.is_ident("matches"),
        // Of a number, `!` is another number.
        Expr::Unary(it) => {
            matches!(it.op, UnOp::Not(_) | UnOp::Deref(_)) && is_bool(&it.expr, names)
        }
        Expr::Binary(it) => match it.op {
            BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_) => {
                is_bool(&it.left, names) || is_bool(&it.right, names)
            }
            BinOp::And(_) | BinOp::Or(_) | BinOp::Eq(_) | BinOp::Ne(_) => true,
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => true,
            _ => false,
        },
        Expr::MethodCall(it) => {
            is_name(&it.method) || PREDICATES.iter().any(|name| it.method == name)
        }
        Expr::Call(it) => match &*it.func {
            Expr::Path(path) => path.path.segments.last().is_some_and(|it| is_name(&it.ident)),
            _ => false,
        },
        Expr::Path(it) => it.path.segments.last().is_some_and(|it| is_name(&it.ident)),
        Expr::Field(it) => matches!(&it.member, syn::Member::Named(name) if is_name(name)),
        _ => false,
    }
}

struct Bools {
    names: BTreeSet<String>,
    found: Vec<Found>,
}

impl Bools {
    fn judge(&mut self, value: &Expr) {
        if is_bool(value, &self.names) {
            let text = "a bool as a number: write an `if`";
            self.found.push(Found::new(value.span().start().line, text));
        }
    }
}

impl<'tree> Visit<'tree> for Bools {
    fn visit_expr_call(&mut self, node: &'tree syn::ExprCall) {
        let function = node.func.to_token_stream().to_string().replace(' ', "");
        let of = function.strip_suffix("::from");
        if let (Some(of), Some(value)) = (of, node.args.first())
            && NUMBERS.contains(&of)
        {
            self.judge(value);
        }
        visit::visit_expr_call(self, node);
    }

    fn visit_expr_cast(&mut self, node: &'tree syn::ExprCast) {
        let of = node.ty.to_token_stream().to_string();
        if NUMBERS.contains(&of.as_str()) {
            self.judge(&node.expr);
        }
        visit::visit_expr_cast(self, node);
    }
}

/// One `use` for each module: no list reaches into a second one, and none is opened twice.
///
/// `use a::b;` and `use a::c;` are one for each of the modules `b` and `c`. But if there is a list
/// of names from `a`, they belong into it, as does `self` into the list of names from `b`.
pub fn uses(file: &File, _: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some(syntax) = file.syntax.as_ref().filter(|_| file.is_own()) {
        judge_uses(&syntax.items, &mut found);
    }
    found
}

/// One `use`, as far as the rule needs it.
struct Use {
    line: usize,
    /// The module that the names come from.
    module: String,
    /// What hides or shows it: two that differ in this cannot be one.
    around: String,
    kind: Kind,
}

enum Kind {
    /// Several names of the module, or a name that is none of a module.
    Names,
    /// A single name that may be a module's.
    Module(String),
}

fn judge_uses(items: &[Item], found: &mut Vec<Found>) {
    let mut uses: Vec<Use> = Vec::new();
    for item in items {
        match item {
            Item::Use(node) => {
                let line = node.span().start().line;
                match use_of(node) {
                    None => {
                        let text = "a list that reaches into several modules: a `use` for each";
                        found.push(Found::new(line, text));
                    }
                    Some(this) => {
                        if let Some(other) = uses.iter().find(|other| is_same(&this, other)) {
                            let text = format!(
                                "a second `use` of one module, after that in line {}: make one \
                                 of both",
                                other.line
                            );
                            found.push(Found::new(line, text));
                        }
                        uses.push(this);
                    }
                }
            }
            Item::Mod(node) => {
                if let Some((_, items)) = &node.content {
                    judge_uses(items, found);
                }
            }
            _ => {}
        }
    }
}

/// What a `use` imports; none if its list reaches into several modules.
fn use_of(node: &syn::ItemUse) -> Option<Use> {
    let mut names = Vec::new();
    let mut tree = &node.tree;
    while let UseTree::Path(path) = tree {
        names.push(path.ident.to_string());
        tree = &path.tree;
    }

    let kind = match tree {
        UseTree::Group(group) => {
            let is_plain = |it: &UseTree| !matches!(it, UseTree::Path(_) | UseTree::Group(_));
            if !group.items.iter().all(is_plain) {
                return None;
            }
            Kind::Names
        }
        UseTree::Name(name) if name.ident.to_string().starts_with(char::is_lowercase) => {
            Kind::Module(name.ident.to_string())
        }
        _ => Kind::Names,
    };
    let mut around = node.vis.to_token_stream().to_string();
    for attribute in &node.attrs {
        around += &attribute.to_token_stream().to_string();
    }
    Some(Use { line: node.span().start().line, module: names.join("::"), around, kind })
}

/// Whether both open the same module.
fn is_same(one: &Use, other: &Use) -> bool {
    if one.around != other.around {
        return false;
    }
    match (&one.kind, &other.kind) {
        (Kind::Module(_), Kind::Module(_)) => false,
        (Kind::Names, Kind::Names) => one.module == other.module,
        (Kind::Names, Kind::Module(name)) => opens(one, &other.module, name),
        (Kind::Module(name), Kind::Names) => opens(other, &one.module, name),
    }
}

/// Whether names are imported from the module that has `name`, or from `name` itself.
fn opens(names: &Use, module: &str, name: &str) -> bool {
    names.module == module || names.module == format!("{module}::{name}")
}

#[cfg(test)]
mod tests {
    use super::super::repository::Check;
    use super::super::repository::tests::{NONE, lines_found};
    use super::*;

    /// The lines that a rule finds in a function with these statements, one a line.
    fn found(check: Check, body: &str) -> Vec<usize> {
        let text = format!("fn f() {{\n{body}}}\n");
        assert_eq!(lines_found(check, "xtask/src/a.rs", &text), NONE);
        assert_eq!(lines_found(check, "tests/unit/a.rs", &text), NONE);
        let found = lines_found(check, "crates/macros/src/a.rs", &text);
        assert_eq!(lines_found(check, "src/a.rs", &text), found);
        found
    }

    #[test]
    fn a_condition_stands_in_an_if() {
        let body = "\
x.then(|| act());
let _ = x.then(act);
(!x).then_some(())?;
let done = x.then(|| act());
x.map(|it| it.then(act));
then(x);
let _ = act();
if x { y.then(act); }
x.then(act)
";
        assert_eq!(found(conditions, body), [2, 3, 4, 9]);
    }

    #[test]
    fn a_statement_gives_one_value() {
        let body = "\
let (a, b) = (x, y);
let (a, b) = f(x, y);
let (a, _): (u8, u8) = (x, y);
let [a, b] = [x, y];
let [a, b] = [x, y].map(f);
let pair = (x, y);
(a, b) = (b, a);
self.a = (x, y);
let (Some(a), Some(b)) = (x, y) else { return };
if let (Some(a), Some(b)) = (x, y) {}
let (a,) = (x,);
";
        assert_eq!(found(statements, body), [2, 4, 5, 8]);
    }

    #[test]
    fn a_bool_is_no_number() {
        let body = "\
a += usize::from(x < y);
a += u32::from(self.is_long());
a += u64::from(polls);
a += u64::from(!is_long);
a += (x && y) as usize;
a += !mask as u64;
a += polls as usize;
a += usize::from(matches!(x, Y));
let flag = x.contains(y);
a += usize::from(flag);
a += usize::from(true);
a += Duration::from(x == y);
a += u8::from(x & 1);
";
        assert_eq!(found(bools, body), [2, 3, 5, 6, 9, 11, 12]);
    }

    #[test]
    fn what_a_file_declares_as_a_bool_is_one() {
        let text = "\
struct A {
    ending: bool,
    polls: u32,
}
fn ends(late: bool, polls: u32) -> bool {
    f(usize::from(self.ending));
    f(usize::from(late));
    f(u64::from(polls));
    f(usize::from(ends(late, polls)));
    f(u64::from(self.polls));
}
";
        assert_eq!(lines_found(bools, "src/a.rs", text), [6, 7, 9]);
    }

    #[test]
    fn a_list_stays_in_one_module() {
        let text = "\
use a::{b, c};
use d::{e::F, g};
use h::{i, j::{K, L}};
use m::{self, N};
use o::*;
mod p {
    use q::{r::S};
}
";
        assert_eq!(lines_found(uses, "src/a.rs", text), [2, 3, 7]);
        assert_eq!(lines_found(uses, "tests/a.rs", text), NONE);
    }

    #[test]
    fn a_module_is_opened_once() {
        let text = "\
use a::B;
use a::{C, d};
use e::f;
use e::g;
use h::i;
use h::i::J;
use k::{l, m};
use k::n;
pub use o::P;
use o::Q;
#[cfg(unix)]
use r::S;
use r::T;
";
        assert_eq!(lines_found(uses, "src/a.rs", text), [2, 6, 8]);
    }
}
