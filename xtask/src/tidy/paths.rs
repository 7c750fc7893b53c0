//! The paths of a source text, such as `crate::driver::Seat`. Tokens are searched, so that
//! paths in the arguments of macros are found; comments are no tokens.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One path. The entries of `use a::{b, c}` are two paths, `a::b` and `a::c`. A name that
/// stands alone is a path, too.
pub struct Path {
    pub names: Vec<String>,
    pub line: usize,
    /// The modules with braces in which it stands.
    pub inside: Vec<String>,
}

/// Finds all paths.
pub fn paths(tokens: TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    find(tokens, &[], &[], &mut found);
    found
}

/// Finds the paths of tokens that stand behind `start::` and within the modules `inside`.
fn find(tokens: TokenStream, start: &[String], inside: &[String], found: &mut Vec<Path>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            // A visibility such as `pub(in crate::driver)` imports nothing.
            TokenTree::Group(_) if at > 0 && is_word(&trees[at - 1], "pub") => at += 1,
            TokenTree::Group(group) => {
                let mut inside = inside.to_owned();
                if at > 1 && is_word(&trees[at - 2], "mod") {
                    inside.push(trees[at - 1].to_string());
                }
                find(group.stream(), &[], &inside, found);
                at += 1;
            }
            // `$crate` is the crate of whoever defines the macro, which imports it by no file.
            TokenTree::Ident(_) if at > 0 && is_dollar(&trees[at - 1]) => at += 1,
            // Behind `::` stands the rest of a path that began with `::` or `<T as U>`.
            TokenTree::Ident(_) if at < 2 || !are_colons(&trees, at - 2) => {
                at = find_one(&trees, at, start, inside, found);
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that begins with the name `at`, and returns where it ends.
fn find_one(
    trees: &[TokenTree],
    mut at: usize,
    start: &[String],
    inside: &[String],
    found: &mut Vec<Path>,
) -> usize {
    let line = trees[at].span().start().line;
    let mut names = start.to_owned();
    names.push(trees[at].to_string());
    at += 1;

    while are_colons(trees, at) {
        match trees.get(at + 2) {
            Some(TokenTree::Ident(name)) => {
                names.push(name.to_string());
                at += 3;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                find(group.stream(), &names, inside, found);
                return at + 3;
            }
            // The path ends in `*` or in `<..>`.
            _ => break,
        }
    }

    found.push(Path { names, line, inside: inside.to_owned() });
    at
}

fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(it) if it == word)
}

fn is_dollar(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(it) if it.as_char() == '$')
}

/// Whether `::` stands at a place.
fn are_colons(trees: &[TokenTree], at: usize) -> bool {
    let Some([TokenTree::Punct(first), TokenTree::Punct(second)]) = trees.get(at..at + 2) else {
        return false;
    };
    first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of a text that have more than one name.
    fn found(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for path in paths(text.parse().unwrap()) {
            if path.names.len() > 1 {
                found.push([path.inside, path.names].concat().join("::"));
            }
        }
        found
    }

    #[test]
    fn every_entry_of_a_use_is_a_path() {
        let text = "use a::{self, b, c::{d, e::*}};";
        assert_eq!(found(text), ["a::self", "a::b", "a::c::d", "a::c::e"]);
    }

    #[test]
    fn paths_are_found_in_macros_generics_and_modules() {
        let text = "f!(a::b); x::<c::d>::y(); mod m { super::e(); }";
        assert_eq!(found(text), ["a::b", "c::d", "m::super::e"]);
    }

    #[test]
    fn comments_visibilities_and_the_rest_of_a_path_are_none() {
        let text = "/// a::b\npub(in a::b) fn f(x: T, y: ::c::d) { <T as U>::e::g() } // a::b\n";
        assert_eq!(found(text), [""; 0]);
        assert_eq!(found("macro_rules! m { () => { $crate::a::B } }"), [""; 0]);
    }
}
