//! The attribute macro of `arc-sim`, used as `#[arc_sim::test]`.

#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::{Error, Expr, ExprLit, ItemFn, Lit, LitBool, LitStr, Path, parse_quote};

/// Runs an `async fn` as a test, in a simulation for each of many seeds.
///
/// arc-sim re-exports this and describes it.
#[proc_macro_attribute]
pub fn test(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let expanded = expand(options.into(), item.clone().into());
    expanded
        .unwrap_or_else(|error| {
            // Keep the item: without it, each use of its name would be a further error.
            let error = error.into_compile_error();
            let item = TokenStream::from(item);
            quote!(#error #item)
        })
        .into()
}

fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let name = &signature.ident;

    // What the compiler would say of the code below does not say what to do.
    if signature.asyncness.is_none() {
        let text = format!("a simulation runs an async function: write `async fn {name}()`");
        return Err(Error::new(signature.fn_token.span, text));
    }
    if !signature.inputs.is_empty() || !signature.generics.params.is_empty() {
        let text = format!("a test has neither arguments nor generics: write `async fn {name}()`");
        return Err(Error::new_spanned(signature, text));
    }

    let (library, mut settings) = settings(options)?;
    // `cargo test -- --ignored` runs it all the same.
    if function.attrs.iter().any(|attribute| attribute.path().is_ident("ignore")) {
        settings.extend(quote!(.ignored()));
    }

    // The test's name is what the test program calls it, so that a seed can be told for it.
    let attributes = &function.attrs;
    let visibility = &function.vis;
    let body = &function.block;
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #name() {
            #signature #body
            #library::Test::new(
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                ::core::option_env!("CARGO_PKG_NAME"),
            )
            #settings
            .run(#name)
        }
    })
}

/// Returns where arc-sim is, and the calls that the options stand for.
fn settings(options: TokenStream) -> syn::Result<(Path, TokenStream)> {
    let mut library: Path = parse_quote!(::arc_sim);
    let mut settings = TokenStream::new();
    let mut unhandled_panic = None;

    let parser = syn::meta::parser(|option| {
        let key = option.path.to_token_stream().to_string();
        let value = option.value()?;
        match key.as_str() {
            // For a crate that exports arc-sim under another name.
            "crate" => {
                let path = value.parse::<LitStr>()?;
                library = path.parse_with(Path::parse_mod_style)?;
            }
            // Methods of `Test` have the same names.
            "seeds" | "polls" => {
                let method = &option.path;
                let number = value.parse::<Expr>()?;
                if is_zero(&number) {
                    let text = format!("with `{key} = 0` nothing would be tried");
                    return Err(Error::new_spanned(number, text));
                }
                settings.extend(quote!(.#method(#number)));
            }
            "twice" => {
                let yes = value.parse::<LitBool>()?;
                settings.extend(quote!(.twice(#yes)));
            }
            "limit" => {
                let text = value.parse::<LitStr>()?;
                let expected = "a time is a number and its unit: ms, s, min, h or d";
                let millis = millis(&text.value());
                let millis = millis.ok_or_else(|| Error::new(text.span(), expected))?;
                let duration = quote!(::core::time::Duration::from_millis(#millis));
                settings.extend(quote!(.limit(#duration)));
            }
            // tokio's names.
            "unhandled_panic" => {
                let text = value.parse::<LitStr>()?;
                let policy = match text.value().as_str() {
                    "ignore" => quote!(Ignore),
                    "shutdown_runtime" => quote!(ShutdownRuntime),
                    _ => {
                        let expected = "ignore, or shutdown_runtime";
                        return Err(Error::new(text.span(), expected));
                    }
                };
                unhandled_panic = Some(policy);
            }
            // tokio's option for a clock that jumps, as the simulated one always does.
            "start_paused" => {
                value.parse::<LitBool>()?;
            }
            _ => return Err(option.error("there is no such option")),
        }
        Ok(())
    });

    // syn says what is wrong with an option, and here is said which there are.
    parser.parse2(options).map_err(|error| {
        let known = "`seeds = 200`, `twice = true`, `polls = 1_000_000`, `limit = \"1h\"`, \
                     `unhandled_panic = \"ignore\"`, `start_paused = true` and \
                     `crate = \"my_crate::arc_sim\"`";
        Error::new(error.span(), format!("{error}\nthe options are {known}"))
    })?;

    // Behind all others, as it needs the path.
    if let Some(policy) = unhandled_panic {
        settings.extend(quote!(.unhandled_panic(#library::UnhandledPanic::#policy)));
    }
    Ok((library, settings))
}

/// Whether it is the number 0, as far as can be seen here.
fn is_zero(number: &Expr) -> bool {
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = number else { return false };
    number.base10_parse::<u64>().is_ok_and(|number| number == 0)
}

/// Reads a time such as `90s`.
fn millis(text: &str) -> Option<u64> {
    // The unit begins behind the last digit.
    let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);

    let millis = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(millis)
}
