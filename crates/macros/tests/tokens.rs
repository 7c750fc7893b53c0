//! The macros are given anything that has the form of tokens: they never panic, lose
//! nothing of the function, and either call it or say what is wrong.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use proptest::prelude::*;
use syn::parse::{Parse, ParseStream};

#[path = "../src/expand.rs"]
mod expand;

/// What macros are likely to stumble over: all that they look for, and its neighbours.
const WORDS: [&str; 52] = [
    "async",
    "fn",
    "main",
    "test",
    "pub",
    "const",
    "unsafe",
    "extern",
    "\"C\"",
    "self",
    "mut",
    "crate",
    "super",
    "where",
    "impl",
    "dyn",
    "struct",
    "mod",
    "use",
    "let",
    "move",
    "await",
    "#",
    "!",
    "->",
    ":",
    "::",
    ",",
    ";",
    "=",
    "=>",
    "<",
    ">",
    "&",
    "'a",
    "?",
    "..",
    "...",
    "|",
    "T",
    "Result",
    "workers",
    "worker_threads",
    "flavor",
    "\"current_thread\"",
    "\"my::arc\"",
    "\"\"",
    "\" a b\"",
    "4",
    "-1",
    "1.5e9",
    "r#type",
];

/// Source text whose brackets are balanced.
fn source() -> impl Strategy<Value = String> {
    let word = prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    let tokens = word.prop_recursive(4, 40, 8, |inner| {
        let brackets = prop::sample::select(vec![("(", ")"), ("[", "]"), ("{", "}")]);
        (brackets, prop::collection::vec(inner, 0..8))
            .prop_map(|((open, close), inside)| format!("{open} {} {close}", inside.join(" ")))
    });
    prop::collection::vec(tokens, 0..12).prop_map(|tokens| tokens.join(" "))
}

/// A function as it should be, with a few pieces put in or left out.
fn almost_a_function() -> impl Strategy<Value = String> {
    const PIECES: [&str; 9] =
        ["#[doc = \"it\"]", "pub", "async", "fn", "main", "( )", "-> u8", "{", "5 }"];
    (prop::collection::vec((0..PIECES.len(), source(), any::<bool>()), 0..3)).prop_map(|changes| {
        let mut pieces = PIECES.map(str::to_owned);
        for (place, text, replace) in changes {
            // The brackets of the body stay balanced.
            if replace && place < 7 {
                pieces[place] = text;
            } else {
                pieces[place].insert_str(0, &(text + " "));
            }
        }
        pieces.join(" ")
    })
}

fn item() -> impl Strategy<Value = String> {
    prop_oneof![1 => source(), 3 => almost_a_function()]
}

/// Options as they should be for one macro or for both, or anything.
fn options() -> impl Strategy<Value = String> {
    let good = prop::sample::select(vec![
        "",
        "workers = 4",
        "worker_threads = 2 + 2,",
        "crate = \"my::arc\"",
        "flavor = \"current_thread\"",
        "flavor = \"multi_thread\", workers = f(1, 2)",
        "worker_threads = 4, flavor = \"current_thread\"",
    ]);
    prop_oneof![2 => good.prop_map(str::to_owned), 1 => source(), 1 => named_option()]
}

fn named_option() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["workers", "worker_threads", "flavor", "crate", "other"]);
    (name, source()).prop_map(|(name, value)| format!("{name} = {value}"))
}

/// What comes out for a function: a head, and one body in braces.
struct Output {
    signature: syn::Signature,
    body: TokenStream,
}

impl Parse for Output {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(syn::Attribute::parse_outer)?;
        input.parse::<syn::Visibility>()?;
        let signature = input.parse()?;
        match input.parse()? {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                Ok(Output { signature, body: body.stream() })
            }
            other => Err(syn::Error::new(other.span(), "no body")),
        }
    }
}

/// How often a word is among the tokens, at any depth.
fn count(word: &str, tokens: TokenStream) -> usize {
    let count = |tree| match tree {
        TokenTree::Ident(name) => usize::from(name == word),
        TokenTree::Group(group) => count(word, group.stream()),
        _ => 0,
    };
    tokens.into_iter().map(count).sum()
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("the strategies make only what can be tokens")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn macros_do_what_they_should_with_any_tokens(
        name in prop::sample::select(vec!["main", "test"]),
        options in options(),
        item in item(),
    ) {
        let (options, item) = (parse(&options), parse(&item));
        let output = expand::expand(name, options, item.clone());
        let text = output.to_string();
        let is_error = count("compile_error", output.clone()) == 1;
        match syn::parse2::<Output>(output) {
            Ok(function) => {
                prop_assert!(function.signature.asyncness.is_none(), "{text}");
                let calls = count("block_on", function.body);
                prop_assert_eq!(calls, usize::from(!is_error), "{}", text);
            }
            // It was no function: all of it is still there, behind the error.
            Err(_) => {
                prop_assert!(is_error, "{text}");
                prop_assert!(text.ends_with(&item.to_string()), "{text}");
            }
        }
    }

    #[test]
    fn macros_do_what_they_should_with_any_options(
        name in prop::sample::select(vec!["main", "test"]),
        options in options(),
    ) {
        let item = quote::quote! { pub async fn main() -> u8 { 5 } };
        let output = expand::expand(name, parse(&options), item);
        let text = output.to_string();
        let is_error = count("compile_error", output.clone()) == 1;
        let function = syn::parse2::<Output>(output);
        prop_assert!(function.is_ok(), "{text}");
        // The function is inside itself: what an editor knows of it does not get lost.
        prop_assert!(text.contains("async fn main () -> u8 { 5 }"), "{text}");
        prop_assert_eq!(count("block_on", function.unwrap().body), usize::from(!is_error));
        let is_good = syn::parse_str::<Options>(&options).is_ok_and(|options| options.fit(name));
        prop_assert_eq!(is_good, !is_error, "{}", text);
    }
}

/// The grammar of the options, written another way.
#[derive(Default)]
struct Options {
    has_workers: bool,
    flavor: Option<String>,
}

impl Options {
    /// A number of workers is for several threads, and a test has one by default.
    fn fit(&self, name: &str) -> bool {
        let has_one_thread = match &self.flavor {
            Some(flavor) => flavor == "current_thread",
            None => name == "test",
        };
        !(has_one_thread && self.has_workers)
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let name: TokenTree = input.parse()?;
            input.parse::<syn::Token![=]>()?;
            let is_good = match name.to_string().as_str() {
                "workers" | "worker_threads" => {
                    options.has_workers = true;
                    input.parse::<syn::Expr>().is_ok()
                }
                "crate" => {
                    let path = input.parse::<syn::LitStr>()?;
                    path.parse_with(syn::Path::parse_mod_style).is_ok()
                }
                "flavor" => {
                    let flavor = input.parse::<syn::LitStr>()?.value();
                    let is_known = flavor == "current_thread" || flavor == "multi_thread";
                    options.flavor = Some(flavor);
                    is_known
                }
                _ => false,
            };
            if !is_good {
                return Err(input.error("no option"));
            }
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(options)
    }
}
