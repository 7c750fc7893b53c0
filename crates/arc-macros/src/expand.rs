//! Reads the options of a macro, and writes the new function.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

/// Where a mistake is, and what is said of it.
type Mistake = (Span, &'static str);

/// Expands the macro called `name`.
///
/// A mistake becomes a `compile_error!`. It stands before `item` if that is no async function, and
/// otherwise in the place of the body.
pub(crate) fn expand(name: &str, options: TokenStream, item: TokenStream) -> TokenStream {
    // The last token is the body, in its braces. The compiler alone reads what is in it.
    let mut head = Vec::from_iter(item.clone());
    let body = head.pop();

    let Some(place) = head.windows(2).position(begins_function) else {
        let message = format!("`#[arc::{name}]` is for an `async fn`");

        // Keep the item: without it, each use of its name would be a further error.
        return quote!(::core::compile_error! { #message } #item);
    };

    // Without this word it is an ordinary function.
    head.remove(place);

    // Only what has no mistake gets `#[test]`: that takes away the whole function where no tests
    // are built, and the error with it.
    let test = (name == "test").then(|| quote!(#[::core::prelude::v1::test]));
    match runtime(name, options) {
        Ok(runtime) => {
            let block_on = block_on(body);
            quote!(#test #(#head)* { #runtime #block_on })
        }
        Err((span, message)) => {
            let error = quote_spanned!(span=> ::core::compile_error! { #message });
            quote!(#(#head)* { #error })
        }
    }
}

/// Whether these two begin an async function, and no block or bound. What is in brackets is one
/// token, and is not read.
fn begins_function(tokens: &[TokenTree]) -> bool {
    let next = tokens[1].to_string();
    tokens[0].to_string() == "async" && ["fn", "unsafe", "extern"].contains(&next.as_str())
}

/// What is said of any other option.
const NAMES: &str = "write flavor, workers, worker_threads, start_paused, with or crate";

/// What is said of any other flavor.
const FLAVORS: &str = "write \"multi_thread\", or \"current_thread\" and no workers";

/// What is said of a clock that is paused beside another flavor.
const PAUSED: &str = "write `flavor = \"current_thread\"` beside it, and no workers";

/// What stands in the attribute's brackets, each with its place.
struct Options {
    flavor: (Span, String),
    workers: Vec<TokenStream>,
    with: Vec<TokenStream>,
    /// Where it asks for a clock that is paused.
    paused: Option<Span>,
    /// The path of the crate.
    arc: TokenStream,
}

fn read(name: &str, options: TokenStream) -> Result<Options, Mistake> {
    // As in tokio, a test has one thread unless it asks for several.
    let default = if name == "test" { "current_thread" } else { "multi_thread" };
    let mut flavor = (Span::call_site(), format!("{default:?}"));
    let mut workers = Vec::new();
    let mut with = Vec::new();
    let mut paused = None;
    let mut arc = quote!(::arc);

    // If an option is given twice, the last one counts.
    let mut tokens = options.into_iter();
    while let Some(option) = tokens.next() {
        let missing = (option.span(), "write an option as `name = value`");
        let (span, value) = value(&mut tokens).ok_or(missing)?;

        // A value is not read here: the compiler does that, where it stands in the function.
        match option.to_string().as_str() {
            "flavor" => flavor = (span, value.to_string()),
            "workers" | "worker_threads" => workers = vec![value],
            "with" => with = vec![quote_spanned!(span=> (#value))],
            // But for these two, which decide what is written.
            "start_paused" => {
                let is_paused = value.to_string().parse::<bool>();
                paused = is_paused.map_err(|_| (span, "write true or false"))?.then_some(span);
            }
            "crate" => arc = path(value).ok_or((span, "write a path in quotes"))?,
            _ => return Err((option.span(), NAMES)),
        }
    }
    Ok(Options { flavor, workers, with, paused, arc })
}

/// Returns the lines that build the runtime.
fn runtime(name: &str, options: TokenStream) -> Result<TokenStream, Mistake> {
    let Options { flavor, workers, with, paused, arc } = read(name, options)?;

    // The calling thread of the flavor "current_thread" runs everything. A runtime whose clock is
    // paused is a simulation, which has one thread, and a builder of its own. Where the crate has
    // none, the compiler shows the name of its module, which says what is missing.
    let new = match (flavor.1.as_str(), paused) {
        ("\"multi_thread\"", None) => quote!(runtime::Builder::new_multi_thread),
        ("\"current_thread\"", None) if workers.is_empty() => {
            quote!(runtime::Builder::new_current_thread)
        }
        ("\"current_thread\"", Some(span)) if workers.is_empty() => {
            quote_spanned!(span=> needs_test_util_of_arc_async::PausedBuilder::new)
        }
        (_, Some(span)) => return Err((span, PAUSED)),
        _ => return Err((flavor.0, FLAVORS)),
    };

    Ok(quote_spanned! { Span::mixed_site() =>
        let mut builder = #arc::#new();
        // What it returns is dropped after the runtime.
        #(let _with = #with(&mut builder);)*
        // If it is no expression, the compiler says so once here, and twice in a call.
        #(let workers: usize = #workers;
          builder.workers(workers);)*
        let runtime = builder.build();
        let runtime = runtime.expect("arc: the runtime could not be started");
    })
}

/// Takes a value, and the comma behind it. A comma of its own is in brackets, which are one token.
fn value(tokens: &mut impl Iterator<Item = TokenTree>) -> Option<(Span, TokenStream)> {
    tokens.next().filter(|token| token.to_string() == "=")?;
    let value = Vec::from_iter(tokens.take_while(|token| token.to_string() != ","));
    if value.iter().any(|token| token.to_string() == ";") {
        return None;
    }
    Some((value.first()?.span(), TokenStream::from_iter(value)))
}

/// Returns the path that is written in quotes, if that is what the value is.
fn path(value: TokenStream) -> Option<TokenStream> {
    let text = value.to_string();
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    // Only what a path consists of: anything else would be taken for code.
    let is_odd = |letter: char| !letter.is_alphanumeric() && !"_:".contains(letter);
    if text.is_empty() || text.contains(is_odd) { None } else { text.parse().ok() }
}

/// Returns the lines that run the body.
fn block_on(body: Option<TokenTree>) -> TokenStream {
    // With this span, names are the macro's own: the body does not see them.
    quote_spanned! { Span::mixed_site() =>
        // The compiler takes the type of a block's output from the first `return` in it. These
        // lines, which are never reached, take it from the function.
        let never = ::core::option::Option::None;
        #[allow(unreachable_code, reason = "the type may have no values")]
        if let ::core::option::Option::Some(output) = never {
            return output;
        }

        runtime.block_on(async move {
            #[allow(unreachable_code, reason = "the type may have no values")]
            if let ::core::option::Option::Some(output) = never {
                return output;
            }

            // A body of one line is told to do without its braces.
            #[allow(unused_braces, reason = "they are those of the function")]
            #body
        })
    }
}
