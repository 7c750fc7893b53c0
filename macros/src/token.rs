//! Tokens: making them, telling them apart, and pointing at them.

use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

/// A mistake of the user: where it is, and what to write.
pub(crate) struct Error {
    first: Span,
    last: Span,
    message: String,
}

impl Error {
    /// An error at all of `wrong`, or at the attribute if there are no tokens.
    pub(crate) fn at(wrong: &[TokenTree], message: impl Into<String>) -> Self {
        Self {
            first: wrong.first().map_or_else(Span::call_site, TokenTree::span),
            last: wrong.last().map_or_else(Span::call_site, TokenTree::span),
            message: message.into(),
        }
    }

    /// A `compile_error!`. The compiler underlines it from its first to its last
    /// token, which is the group around the message.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let error = tokens(&format!("::core::compile_error! {{ {:?} }}", self.message));
        let locate = |mut token: TokenTree| {
            let is_last = is_group(&token, Delimiter::Brace);
            token.set_span(if is_last { self.last } else { self.first });
            token
        };
        error.into_iter().map(locate).collect()
    }
}

/// The tokens of a piece of Rust that the macros write themselves.
pub(crate) fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the piece is valid Rust")
}

/// Whether `token` is the punctuation `character`.
pub(crate) fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Whether `token` is one of these keywords.
pub(crate) fn is_word(token: &TokenTree, words: &[&str]) -> bool {
    matches!(token, TokenTree::Ident(ident) if words.contains(&&*ident.to_string()))
}

/// Whether `token` is a group in such delimiters.
pub(crate) fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}
