//! Reads the options of a macro, and writes the new function.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::meta::{ParseNestedMeta, parser};
use syn::parse::Parser;
use syn::{Error, Expr, LitStr, Path, Result, parse_quote};

/// Expands the macro called `name`.
///
/// A mistake becomes a `compile_error!`. It stands before `item` if that is no async function, and
/// otherwise in the place of the body.
pub(crate) fn expand(name: &str, options: TokenStream, item: TokenStream) -> TokenStream {
    // The last token is the body, in its braces. The compiler alone reads what is in it.
    let mut head = Vec::from_iter(item.clone());
    let body = head.pop();

    // The word stands before `fn`, and nowhere else: what is in brackets is one token.
    let Some(place) = head.iter().position(|token| token.to_string() == "async") else {
        let message = format!("`#[arc::{name}]` is for an `async fn`");

        // Keep the item: without it, each use of its name would be a further error.
        return quote!(::core::compile_error! { #message } #item);
    };
    head.remove(place);

    // Only what has no mistake gets `#[test]`: that takes away the whole function where no tests
    // are built, and the error with it.
    let test = (name == "test").then(|| quote!(#[::core::prelude::v1::test]));
    match runtime(name, options) {
        Ok(runtime) => {
            let block_on = block_on(body);
            quote!(#test #(#head)* { #runtime #block_on })
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#(#head)* { #error })
        }
    }
}

/// What is said of any other flavor.
const FLAVORS: &str = "write \"multi_thread\", or \"current_thread\" and no workers";

/// Returns the lines that build the runtime.
fn runtime(name: &str, options: TokenStream) -> Result<TokenStream> {
    // As in tokio, a test has one thread unless it asks for several.
    let default = if name == "test" { "current_thread" } else { "multi_thread" };
    let mut flavor = LitStr::new(default, Span::call_site());
    let mut workers: Vec<Expr> = Vec::new();
    let mut with: Vec<Path> = Vec::new();
    let mut arc: Path = parse_quote!(::arc);

    // If an option is given twice, the last one counts.
    let read = |option: ParseNestedMeta<'_>| {
        let value = option.value()?;
        match option.path.to_token_stream().to_string().as_str() {
            "flavor" => flavor = value.parse()?,
            "workers" | "worker_threads" => workers = vec![value.parse()?],
            "with" => with = vec![value.parse()?],
            "crate" => arc = value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?,
            _ => return Err(option.error("write flavor, workers, with or crate")),
        }
        Ok(())
    };

    // With one option at least, as syn before 2.0.18 fails if there is none. This one comes first,
    // so that any other flavor counts.
    parser(read).parse2(quote!(flavor = #default, #options))?;

    // The calling thread of the flavor "current_thread" runs everything.
    let new = match flavor.value().as_str() {
        "multi_thread" => quote!(new_multi_thread),
        "current_thread" if workers.is_empty() => quote!(new_current_thread),
        _ => return Err(Error::new(flavor.span(), FLAVORS)),
    };

    Ok(quote_spanned! { Span::mixed_site() =>
        let mut builder = #arc::runtime::Builder::#new();
        // What it returns is dropped after the runtime.
        #(let _with = #with(&mut builder);)*
        let runtime = builder #(.workers(#workers))* .build();
        let runtime = runtime.expect("arc: the runtime could not be started");
    })
}

/// Returns the lines that run the body.
fn block_on(body: Option<TokenTree>) -> TokenStream {
    // With this span, names are the macro's own: the body does not see them.
    quote_spanned! { Span::mixed_site() =>
        // The compiler takes the type of a block's output from the first `return` in it. So the
        // type comes from the function by this, which is never reached.
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
