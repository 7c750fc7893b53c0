//! Counts of one source text: lines, uses of `unsafe`, lengths of functions, and the air
//! in them and at the ends of lines.
//!
//! Everything here is a pure function of the text, so that it can be tested on
//! small inputs. Which files are counted, and what the limits are, is the business
//! of `audit.rs` and `loc.rs`.

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::Safety;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Lines as the line counter tokei tells them apart.
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

/// Counts the lines of a Rust source text by tokei's rules. tokei itself would bring a hundred
/// crates, a quarter of all that CI builds, and passes over some lines of some files.
pub fn lines(source: &str) -> Lines {
    let kinds = kinds(source);
    let count = |kind| kinds.iter().filter(|it| **it == kind).count();
    Lines {
        code: count(Line::Code),
        comments: count(Line::Comment),
        blanks: count(Line::Blank),
        documentation: count(Line::Documentation),
    }
}

/// So many columns make a line wide.
pub const WIDE: usize = 90;

/// The wide lines of code: their numbers and columns.
pub fn wide_lines(source: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (index, (line, kind)) in source.lines().zip(kinds(source)).enumerate() {
        let columns = line.chars().count();
        if kind == Line::Code && columns >= WIDE {
            found.push((index + 1, columns));
        }
    }
    found
}

/// How many lines of documentation a source text begins with.
pub fn head(source: &str) -> usize {
    source.lines().take_while(|line| line.starts_with("//!")).count()
}

#[derive(Clone, Copy, PartialEq)]
enum Line {
    Code,
    Comment,
    Blank,
    Documentation,
}

/// What each line is.
fn kinds(source: &str) -> Vec<Line> {
    // A line on which no token stands is a comment, or blank.
    let of = |line: &str| if line.trim().is_empty() { Line::Blank } else { Line::Comment };
    let mut kinds: Vec<Line> = source.lines().map(of).collect();
    match source.parse() {
        Ok(tokens) => mark_lines(tokens, &mut kinds),
        Err(_) => mark(1, kinds.len(), Line::Code, &mut kinds),
    }
    kinds
}

/// Marks the lines on which tokens stand.
fn mark_lines(tokens: TokenStream, kinds: &mut [Line]) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        let (start, end) = (tree.span().start(), tree.span().end());
        match tree {
            // A doc comment is an attribute whose tokens are each as long as the comment.
            TokenTree::Punct(_) if end != after(start) => {
                mark(start.line, end.line, Line::Documentation, kinds);
                while tokens.next_if(|it| it.span().start() == start).is_some() {}
            }
            TokenTree::Group(group) => {
                let (open, close) = (group.span_open().start(), group.span_close().start());
                mark(open.line, open.line, Line::Code, kinds);
                mark_lines(group.stream(), kinds);
                mark(close.line, close.line, Line::Code, kinds);
            }
            _ => mark(start.line, end.line, Line::Code, kinds),
        }
    }
}

/// The place behind a token of one letter.
fn after(start: LineColumn) -> LineColumn {
    LineColumn { column: start.column + 1, ..start }
}

/// Marks lines, both included, that are not blank. What has code is a line of code.
fn mark(first: usize, last: usize, kind: Line, kinds: &mut [Line]) {
    for line in &mut kinds[first - 1..last] {
        if !matches!(line, Line::Blank | Line::Code) {
            *line = kind;
        }
    }
}

/// One `unsafe` in the source.
#[derive(Debug, PartialEq)]
pub struct Unsafe {
    pub line: usize,
    /// One of [`KINDS`].
    pub kind: &'static str,
    /// Why it holds, as the comment directly above says.
    pub reason: Option<String>,
}

/// The kinds of `unsafe` that are counted apart. The arguments of macros are not
/// syntax yet, so an `unsafe` in them is a bare word; so it is in a file that
/// syn cannot parse.
pub const KINDS: [&str; 8] =
    ["block", "fn", "impl", "trait", "extern", "attribute", "in macros", "unparsed"];

/// How many of each of [`KINDS`] there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally(pub [usize; KINDS.len()]);

impl Tally {
    /// Counts a source text, and says whether syn could parse it. If not, it is
    /// only searched for the word.
    pub fn of(source: &str) -> (Self, bool) {
        let mut tally = Tally::default();
        let syntax = syntax(source);
        match &syntax {
            Ok(found) => found.unsafes.iter().for_each(|each| tally.add(each.kind)),
            Err(_) => tally.0[KINDS.len() - 1] = bare_words(source),
        }
        (tally, syntax.is_ok())
    }

    /// Counts what the compiler prints of a crate when all macros are expanded.
    pub fn of_expanded(source: &str) -> Self {
        let mut tally = Tally::default();
        // std's `pin!` expands to this, which is no syntax of others yet.
        match syntax_of(&source.replace("super let ", "let "), true) {
            Ok(found) => found.unsafes.iter().for_each(|each| tally.add(each.kind)),
            Err(_) => tally.0[KINDS.len() - 1] = bare_words(source),
        }
        tally
    }

    pub fn total(self) -> usize {
        self.0.iter().sum()
    }

    fn add(&mut self, kind: &str) {
        let index = KINDS.iter().position(|&each| each == kind);
        self.0[index.expect("every kind that is found is in KINDS")] += 1;
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine += more;
        }
    }
}

/// The word `unsafe` in a text that syn cannot parse: as a token if the text can
/// at least be cut into tokens, and anywhere if it cannot.
fn bare_words(source: &str) -> usize {
    fn in_tokens(tokens: TokenStream) -> usize {
        let count = |tree| match tree {
            TokenTree::Ident(word) => usize::from(word == "unsafe"),
            TokenTree::Group(group) => in_tokens(group.stream()),
            _ => 0,
        };
        tokens.into_iter().map(count).sum()
    }
    match source.parse() {
        Ok(tokens) => in_tokens(tokens),
        Err(_) => matches(source).words,
    }
}

/// What ripgrep finds of `unsafe` in a text, comments and strings included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Matches {
    /// `rg unsafe`, which also matches a part of a word.
    pub anywhere: usize,
    /// `rg --word-regexp unsafe`.
    pub words: usize,
}

impl std::ops::AddAssign for Matches {
    fn add_assign(&mut self, other: Self) {
        self.anywhere += other.anywhere;
        self.words += other.words;
    }
}

/// Counts `unsafe` in a text as ripgrep does.
pub fn matches(source: &str) -> Matches {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_word = |&(at, found): &(usize, &str)| {
        let before = source[..at].chars().next_back();
        let after = source[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    Matches {
        anywhere: source.matches("unsafe").count(),
        words: source.match_indices("unsafe").filter(is_word).count(),
    }
}

/// One function that has a body.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    /// From the line of `fn` to the line of the closing brace, both included.
    pub length: usize,
}

/// Functions shorter than this need neither paragraphs nor comments inside.
pub const SHORTEST_WITH_AIR: usize = 8;

/// How much of the longer functions is blank or has a comment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Air {
    pub functions: usize,
    pub lines: usize,
    pub blanks: usize,
    /// Lines with a comment, alone or behind code; documentation is none.
    pub comments: usize,
}

impl std::ops::AddAssign for Air {
    fn add_assign(&mut self, other: Self) {
        self.functions += other.functions;
        self.lines += other.lines;
        self.blanks += other.blanks;
        self.comments += other.comments;
    }
}

/// Finds the longer functions of a Rust source text, and counts the air in each. A function
/// inside another one is a part of it, and not counted again.
///
/// # Errors
/// The text is not Rust; the error names the line.
pub fn air(source: &str) -> Result<Vec<(Function, Air)>, String> {
    let lines: Vec<&str> = source.lines().collect();
    let tokens = source.parse().map_err(|error: proc_macro2::LexError| error.to_string())?;
    let mut literals = Vec::new();
    find_literals(tokens, &mut literals);

    let mut found = Vec::new();
    let mut counted_up_to = 0;
    for function in syntax(source)?.functions {
        let end = function.line + function.length;
        if function.length < SHORTEST_WITH_AIR || function.line < counted_up_to {
            continue;
        }
        counted_up_to = end;

        let mut air = Air { functions: 1, lines: function.length, ..Air::default() };
        for number in function.line..end {
            let line = lines[number - 1];
            if line.trim().is_empty() {
                air.blanks += 1;
            }
            if has_comment(line, number, &literals) {
                air.comments += 1;
            }
        }
        found.push((function, air));
    }
    Ok(found)
}

/// Finds the places of all literals; those of doc comments are among them.
fn find_literals(tokens: TokenStream, found: &mut Vec<Span>) {
    for tree in tokens {
        match tree {
            TokenTree::Literal(literal) => found.push(literal.span()),
            TokenTree::Group(group) => find_literals(group.stream(), found),
            _ => {}
        }
    }
}

/// Whether two slashes stand on a line outside of all literals.
fn has_comment(line: &str, number: usize, literals: &[Span]) -> bool {
    for (at, _) in line.match_indices("//") {
        // Columns of spans count characters.
        let place = LineColumn { line: number, column: line[..at].chars().count() };
        let is_inside = |it: &Span| it.start() <= place && place < it.end();
        if !literals.iter().any(is_inside) {
            return true;
        }
    }
    false
}

/// What the syntax tree of one file holds.
#[derive(Debug, Default, PartialEq)]
pub struct Syntax {
    pub unsafes: Vec<Unsafe>,
    pub functions: Vec<Function>,
}

/// Finds every `unsafe` and every function of a Rust source text.
///
/// In the arguments of macros an `unsafe` is found as a bare word, a function is not
/// found at all.
///
/// # Errors
/// The text is not Rust; the error names the line.
pub fn syntax(source: &str) -> Result<Syntax, String> {
    syntax_of(source, false)
}

fn syntax_of(source: &str, is_expanded: bool) -> Result<Syntax, String> {
    let file = syn::parse_file(source)
        .map_err(|error| format!("line {}: {error}", error.span().start().line))?;
    let mut visitor = Visitor {
        source: source.lines().map(str::trim).collect(),
        statement: 1,
        is_expanded,
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
    /// The compiler has printed it: what it derives and the definitions of macros do not count.
    is_expanded: bool,
    found: Syntax,
}

impl Visitor<'_> {
    fn found_unsafe(&mut self, kind: &'static str, at: Span) {
        let line = at.start().line;
        // rustfmt may break a line between the comment and the word `unsafe`, so
        // a comment above the whole statement counts as well.
        let mut places = [line, self.statement].into_iter();
        let reason = places.find_map(|line| self.reason_above(line));
        self.found.unsafes.push(Unsafe { line, kind, reason });
    }

    /// The reason in the comments directly above `line`, attributes left out:
    /// `SAFETY:`, or the `# Safety` section in which a declaration states what
    /// its callers owe.
    fn reason_above(&self, line: usize) -> Option<String> {
        let above = &self.source[..line - 1];
        let is_part = |text: &&&str| text.starts_with("//") || text.starts_with("#[");
        let length = above.iter().rev().take_while(is_part).count();
        let comments = above[above.len() - length..]
            .iter()
            .filter_map(|text| text.strip_prefix("//"))
            .map(|text| text.trim_start_matches(['/', '!']).trim());
        let text = comments.collect::<Vec<_>>().join(" ");
        let (_, reason) = text.split_once("SAFETY:").or_else(|| text.split_once("# Safety"))?;
        Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
    }

    /// Finds the word `unsafe` in tokens that are not parsed.
    fn search_tokens(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Ident(word) if word == "unsafe" => {
                    self.found_unsafe("in macros", word.span());
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
        self.found.functions.push(Function { name, line, length: end + 1 - line });
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
        self.inside(node.span(), |visitor| visit::visit_trait_item(visitor, node));
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
        let is_derived = node.attrs.iter().any(|it| it.path().is_ident("automatically_derived"));
        if self.is_expanded && is_derived {
            return;
        }
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

    fn visit_item_macro(&mut self, node: &'tree syn::ItemMacro) {
        if !self.is_expanded {
            visit::visit_item_macro(self, node);
        }
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
mod tests;
