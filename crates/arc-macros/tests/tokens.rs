//! The macros are given anything that has the form of tokens: they never panic, lose
//! nothing of the function, and either run its body or say what is wrong.

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
        "with = my::hook::<u8>",
        "start_paused = true, flavor = \"current_thread\"",
        "start_paused = true, with = my::hook",
        "start_paused = false, with = my::hook",
    ]);
    prop_oneof![2 => good.prop_map(str::to_owned), 1 => source(), 1 => named_option()]
}

fn named_option() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "workers",
        "worker_threads",
        "flavor",
        "start_paused",
        "with",
        "crate",
        "other",
    ]);
    (name, source()).prop_map(|(name, value)| format!("{name} = {value}"))
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
        let is_good = syn::parse_str::<Options>(&options).is_ok_and(|options| options.fit(name));
        let (options, item) = (parse(&options), parse(&item));
        let mut head: Vec<String> = item.clone().into_iter().map(|it| it.to_string()).collect();
        let body = head.pop();
        let keyword = head.windows(2).position(|it| {
            it[0] == "async" && matches!(it[1].as_str(), "fn" | "unsafe" | "extern")
        });

        let output = expand::expand(name, options, item.clone());
        let text = output.to_string();
        let is_error = count("compile_error", output.clone()) == 1;
        let Some(keyword) = keyword else {
            // It was no function: all of it is still there, behind the error.
            prop_assert!(is_error, "{text}");
            prop_assert!(text.ends_with(&item.to_string()), "{text}");
            return Ok(());
        };
        prop_assert_eq!(is_good, !is_error, "{}", text);

        // The head has lost one word, and a test has got its attribute.
        let mut output: Vec<TokenTree> = output.into_iter().collect();
        let new_body = output.pop().expect("it is not empty");
        let mut wanted = head;
        wanted.remove(keyword);
        if name == "test" && is_good {
            wanted.splice(0..0, ["#".to_owned(), "[:: core :: prelude :: v1 :: test]".to_owned()]);
        }
        let output: Vec<String> = output.iter().map(TokenTree::to_string).collect();
        prop_assert_eq!(output, wanted);

        // The body is the last thing in the block that the runtime runs.
        let TokenTree::Group(new_body) = new_body else { panic!("no body: {text}") };
        prop_assert_eq!(new_body.delimiter(), Delimiter::Brace);
        let runs = count("block_on", new_body.stream());
        prop_assert_eq!(runs, usize::from(is_good), "{}", text);
        if is_good {
            let end = format!("{} }})", body.expect("the keyword stands before it"));
            prop_assert!(new_body.stream().to_string().ends_with(&end), "{text}");
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
        let is_good = syn::parse_str::<Options>(&options).is_ok_and(|options| options.fit(name));
        prop_assert_eq!(is_good, !is_error, "{}", text);
        prop_assert!(text.contains("pub fn main () -> u8 {"), "{text}");
        prop_assert_eq!(count("block_on", output), usize::from(is_good));
    }
}

/// The grammar of the options, written another way.
#[derive(Default)]
struct Options {
    has_workers: bool,
    is_paused: bool,
    flavor: Option<String>,
}

impl Options {
    /// A number of workers is for several threads, and a test has one by default. A clock that is
    /// paused is for one thread.
    fn fit(&self, name: &str) -> bool {
        let default = if name == "test" { "current_thread" } else { "multi_thread" };
        match self.flavor.as_deref().unwrap_or(default) {
            "multi_thread" => !self.is_paused,
            "current_thread" => !self.has_workers,
            _ => false,
        }
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let name: TokenTree = input.parse()?;
            input.parse::<syn::Token![=]>()?;
            let mut value = TokenStream::new();
            while !input.is_empty() && !input.peek(syn::Token![,]) {
                if input.peek(syn::Token![;]) {
                    return Err(input.error("it is a statement"));
                }
                value.extend([input.parse::<TokenTree>()?]);
            }

            let is_good = match name.to_string().as_str() {
                "workers" | "worker_threads" => {
                    options.has_workers = true;
                    !value.is_empty()
                }
                "with" => !value.is_empty(),
                "start_paused" => {
                    options.is_paused = syn::parse2::<syn::LitBool>(value)?.value();
                    true
                }
                "crate" => {
                    let path = syn::parse2::<syn::LitStr>(value)?;
                    path.parse_with(syn::Path::parse_mod_style).is_ok()
                }
                "flavor" => {
                    options.flavor = Some(syn::parse2::<syn::LitStr>(value)?.value());
                    true
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
