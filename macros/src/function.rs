//! The function that a macro is put on: taken apart, checked, put together again.

use std::slice;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

use crate::options::Options;
use crate::token::{Error, is_group, is_punct, is_word, tokens};

/// The keywords that may stand before `fn`.
const QUALIFIERS: [&str; 6] = ["async", "const", "extern", "gen", "safe", "unsafe"];

/// The tokens of an item that is a function.
pub(crate) struct Function<'a> {
    /// Attributes, visibility, and qualifiers such as `async`.
    prefix: &'a [TokenTree],
    /// `fn name<generics>(arguments) -> returns where ...`, at least three tokens.
    signature: &'a [TokenTree],
    /// The block.
    body: &'a TokenTree,
}

impl<'a> Function<'a> {
    /// Takes `item` apart; `attribute` is the macro's name, for the error.
    pub(crate) fn parse(attribute: &str, item: &'a [TokenTree]) -> Result<Self, Error> {
        let length = item.iter().take_while(|token| is_prefix(token)).count();
        let (prefix, function) = item.split_at(length);
        if let [signature @ .., body] = function
            && signature.len() > 2
            && is_word(&signature[0], &["fn"])
        {
            return Ok(Self {
                prefix,
                signature,
                body,
            });
        }
        let mut words = item
            .iter()
            .filter(|token| matches!(token, TokenTree::Ident(_)));
        let keyword = words.find(|token| !is_word(token, &["pub"]));
        let message =
            format!("#[arc::{attribute}] runs a function: write `async fn {attribute}()`");
        Err(Error::at(keyword.map_or(item, slice::from_ref), message))
    }

    /// Finds what keeps the function from being run by the macro called `attribute`.
    pub(crate) fn check(&self, attribute: &str) -> Result<(), Error> {
        let (keyword, name, third) = (&self.signature[0], &self.signature[1], &self.signature[2]);
        let is_async = self.prefix.iter().any(is_async);
        let find = |is: fn(&TokenTree) -> bool| self.prefix.iter().find(|token| is(token));
        let qualifier = find(|token| is_word(token, &QUALIFIERS[1..]));
        let test = find(is_test_attribute).filter(|_| attribute == "test");
        let arguments = self.arguments();
        let (wrong, reason) = if let Some(qualifier) = qualifier {
            (qualifier, "only `async` may stand before `fn`")
        } else if !is_async {
            (keyword, "an arc runtime runs async functions")
        } else if !is_group(third, Delimiter::Parenthesis) {
            (third, "generics are not possible here")
        } else if self.is_method() {
            (&arguments[0], "a method cannot run by itself")
        } else if let Some(first) = arguments.first() {
            (first, "arguments are not possible here")
        } else if let Some(test) = test {
            (test, "a second `#[test]`, remove this one")
        } else {
            return Ok(());
        };
        let message = format!("{reason}: write `async fn {name}()`");
        Err(Error::at(slice::from_ref(wrong), message))
    }

    /// The function with its body run on a new runtime, as lib.rs shows it.
    pub(crate) fn on_runtime(&self, attribute: &str, options: Options) -> TokenStream {
        let mut block = self.inner();
        block.extend(options.runtime);
        block.extend(tokens(&format!(
            "::runtime::Builder::new_multi_thread(){}.build().unwrap_or_else(|error| {{
                ::core::panic!(\"arc: the runtime could not be started: {{error}}\")
            }}).block_on({}())",
            options.workers, self.signature[1],
        )));
        let mut function = TokenStream::new();
        if attribute == "test" {
            function.extend(tokens("#[::core::prelude::v1::test]"));
        }
        let prefix = self.prefix.iter().filter(|token| !is_async(token));
        function.extend(prefix.chain(self.signature).cloned());
        function.extend([TokenTree::from(Group::new(Delimiter::Brace, block))]);
        function
    }

    /// What stands beside an error, so that it is the only one: a function that can
    /// be called where the user's can, with the user's inside for the compiler to
    /// look at. None for a method, which has to stay as it is.
    pub(crate) fn stand_in(&self) -> Option<TokenStream> {
        let mut block = self.inner();
        block.extend(tokens("loop {}"));
        let mut function = tokens("#[allow(unused)] pub");
        function.extend(self.signature[..2].iter().cloned());
        function.extend(tokens("() -> !"));
        function.extend([TokenTree::from(Group::new(Delimiter::Brace, block))]);
        (!self.is_method()).then_some(function)
    }

    /// The function alone, made async if it is not.
    fn inner(&self) -> TokenStream {
        let mut inner = tokens("async");
        inner.extend(self.signature.iter().chain([self.body]).cloned());
        inner
    }

    /// The tokens in the first parentheses, which are the arguments'.
    fn arguments(&self) -> Vec<TokenTree> {
        let mut signature = self.signature.iter();
        match signature.find(|token| is_group(token, Delimiter::Parenthesis)) {
            Some(TokenTree::Group(arguments)) => arguments.stream().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the first argument is a `self`.
    fn is_method(&self) -> bool {
        let arguments = self.arguments();
        let mut first = arguments.iter().take_while(|token| !is_punct(token, ':'));
        first.any(|token| is_word(token, &["self"]))
    }
}

/// Whether `token` may stand before `fn`: as part of an attribute or a visibility,
/// or as a qualifier, with the string of `extern "C"`.
fn is_prefix(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Ident(_) => is_word(token, &QUALIFIERS) || is_word(token, &["pub"]),
        TokenTree::Punct(_) => is_punct(token, '#'),
        TokenTree::Literal(_) => true,
    }
}

fn is_async(token: &TokenTree) -> bool {
    is_word(token, &["async"])
}

/// Whether `token` is the bracket of `#[test]`, under its short or its full name.
fn is_test_attribute(token: &TokenTree) -> bool {
    let text = token.to_string().replace(' ', "");
    text == "[test]" || text.ends_with("::prelude::v1::test]")
}
