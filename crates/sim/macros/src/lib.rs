//! The attribute macro of `arc-sim`, used as `#[arc_sim::test]`.

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::{Error, Expr, ItemFn, LitBool, LitStr, Path, parse_quote};

/// Runs an `async fn` as a test, in a simulation for each of many seeds.
///
/// arc-sim re-exports this and describes it.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = expand(options.into(), item.clone().into());
    expanded
        .unwrap_or_else(|error| {
            // Keep the item: without it, each use of its name would be a further error.
            let (error, item) = (error.into_compile_error(), proc_macro2::TokenStream::from(item));
            quote!(#error #item)
        })
        .into()
}

fn expand(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> syn::Result<proc_macro2::TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let name = &signature.ident;
    if signature.asyncness.is_none() {
        let text = format!("a simulation runs an async function: write `async fn {name}()`");
        return Err(Error::new(signature.fn_token.span, text));
    }
    if !signature.inputs.is_empty() || !signature.generics.params.is_empty() {
        let text = format!("a test has neither arguments nor generics: write `async fn {name}()`");
        return Err(Error::new_spanned(signature, text));
    }

    let mut library: Path = parse_quote!(::arc_sim);
    let mut settings = proc_macro2::TokenStream::new();
    let parser = syn::meta::parser(|option| {
        let key = option.path.to_token_stream().to_string();
        let value = option.value()?;
        match key.as_str() {
            "crate" => library = value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?,
            "seeds" | "polls" => {
                let (method, number) = (&option.path, value.parse::<Expr>()?);
                settings.extend(quote!(.#method(#number)));
            }
            "twice" => {
                let yes = value.parse::<LitBool>()?;
                settings.extend(quote!(.twice(#yes)));
            }
            // tokio's option for a clock that jumps, as the simulated one always does.
            "start_paused" => {
                value.parse::<LitBool>()?;
            }
            _ => return Err(option.error("there is no such option")),
        }
        Ok(())
    });
    parser.parse2(options).map_err(|error| {
        let known = "`seeds = 200`, `twice = true`, `polls = 1_000_000`, `start_paused = true` and \
                     `crate = \"my_crate::arc_sim\"`";
        Error::new(error.span(), format!("{error}\nthe options are {known}"))
    })?;

    let (attributes, visibility, body) = (&function.attrs, &function.vis, &function.block);
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
