//! Reads the function and the options of a macro, checks both, and writes the new function.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Expr, Ident, LitStr, Path};
use syn::{Result, Signature, Visibility, parse_quote};

/// A function. Its body is kept as tokens, which only the compiler parses.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

/// Expands the macro called `name`.
///
/// The first mistake becomes a `compile_error!`. It takes the place of the call of the
/// runtime, or stands before `item` if that is not a function.
pub(crate) fn expand(name: &str, options: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<Function>(item.clone()) {
        Ok(function) => {
            let checked = function.check();
            let call = checked.and_then(|()| call(name, options, &function.signature.ident));
            function.with_call(name, call)
        }
        Err(error) => {
            let message = format!("#[arc::{name}] runs a function: write `async fn {name}()`");
            let error = Error::new(error.span(), message).into_compile_error();
            // Keep the item: without it, each use of its name would be a further error.
            quote!(#error #item)
        }
    }
}

impl Function {
    /// Refuses a function that a runtime cannot run.
    fn check(&self) -> Result<()> {
        let signature = &self.signature;
        if signature.asyncness.is_none() {
            let token = &signature.fn_token;
            return Err(self.refuse(token, "an arc runtime runs async functions"));
        }
        if !signature.generics.params.is_empty() {
            return Err(self.refuse(&signature.generics, "generics are not possible here"));
        }
        if !signature.inputs.is_empty() {
            return Err(self.refuse(&signature.inputs, "arguments are not possible here"));
        }
        Ok(())
    }

    /// Returns an error at the part of the signature that is wrong.
    fn refuse(&self, wrong: impl ToTokens, reason: &str) -> Error {
        let message = format!("{reason}: write `async fn {}()`", self.signature.ident);
        Error::new_spanned(wrong, message)
    }

    /// Returns a function that is not async and contains this function and the call.
    fn with_call(self, name: &str, call: Result<TokenStream>) -> TokenStream {
        let Self { mut attributes, visibility, mut signature, body } = self;

        // A function that is not async is an error already. Make its copy async all the same,
        // so that no `.await` of the body is another error.
        signature.asyncness.get_or_insert(parse_quote!(async));
        // A method cannot be moved into a function: only an `impl` may have a `self`.
        let is_method = signature.receiver().is_some();
        let inner = if is_method { TokenStream::new() } else { quote!(#signature #body) };

        signature.asyncness = None;
        if name == "test" {
            attributes.insert(0, parse_quote!(#[::core::prelude::v1::test]));
        }
        let call = call.unwrap_or_else(|error| {
            // An attribute could hide the error, as `#[test]` does, or add another one.
            attributes.clear();
            // The program's `main` with any other signature could be another error, too.
            if signature.ident == "main" {
                signature = parse_quote!(fn main());
            }
            error.into_compile_error()
        });
        quote!(#(#attributes)* #visibility #signature { #inner #call })
    }
}

/// Returns the expression by which the macro called `name` runs `function`.
fn call(name: &str, options: TokenStream, function: &Ident) -> Result<TokenStream> {
    // As in tokio, a test has one thread unless it asks for several.
    let mut flavor = if name == "test" { "current_thread" } else { "multi_thread" };
    let mut workers: Option<(TokenStream, Expr)> = None;
    let mut runtime: Path = parse_quote!(::arc);

    // If an option is given twice, the last one counts.
    let parser = syn::meta::parser(|option| {
        let value = option.value()?;
        let key = option.path.to_token_stream();
        match key.to_string().as_str() {
            "workers" | "worker_threads" => workers = Some((key, value.parse()?)),
            "crate" => runtime = value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?,
            "flavor" => match value.parse::<LitStr>()?.value().as_str() {
                "current_thread" => flavor = "current_thread",
                "multi_thread" => flavor = "multi_thread",
                _ => return Err(option.error("write \"current_thread\" or \"multi_thread\"")),
            },
            "start_paused" => return Err(option.error("use `#[arc_sim::test(seeds = 1)]`")),
            key => return Err(option.error(format!("there is no option `{key}`"))),
        }
        Ok(())
    });
    parser.parse2(options).map_err(|error| {
        let known = "`workers = 4` (or `worker_threads = 4`), `flavor = \"current_thread\"` and \
                     `crate = \"my_crate::arc\"`";
        Error::new(error.span(), format!("{error}\nthe options are {known}"))
    })?;

    // The calling thread runs everything, so there is no number to set.
    if let ("current_thread", Some((key, _))) = (flavor, &workers) {
        let message = format!("`{key}` is for several threads: write `flavor = \"multi_thread\"`");
        return Err(Error::new_spanned(key, message));
    }

    let builder = format_ident!("new_{flavor}");
    let workers = workers.map(|(_, number)| quote!(.workers(#number)));
    Ok(quote! {
        #runtime::runtime::Builder::#builder()
            #workers
            .build()
            .unwrap_or_else(|error| {
                ::core::panic!("arc: the runtime could not be started: {error}")
            })
            .block_on(#function())
    })
}
