//! How a function is read, checked and wrapped.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Expr, Ident, LitStr, Path};
use syn::{Result, Signature, Visibility, parse_quote};

/// A function, with its body left to the compiler.
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

/// Expands the macro called `name`. The first mistake becomes a `compile_error!` in
/// the place of the call of the runtime, or beside an `item` that is no function.
pub(crate) fn expand(name: &str, options: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<Function>(item.clone()) {
        Ok(function) => {
            let checked = function.check();
            let call = checked.and_then(|()| call(options, &function.signature.ident));
            function.with_call(name, call)
        }
        Err(error) => {
            let message = format!("#[arc::{name}] runs a function: write `async fn {name}()`");
            let error = Error::new(error.span(), message).into_compile_error();
            quote!(#error #item)
        }
    }
}

impl Function {
    /// Finds what keeps the function from being run.
    fn check(&self) -> Result<()> {
        let signature = &self.signature;
        let forbid = |wrong: &dyn ToTokens, reason: &str| {
            let wrong = wrong.to_token_stream();
            if wrong.is_empty() {
                return Ok(());
            }
            let message = format!("{reason}: write `async fn {}()`", signature.ident);
            Err(Error::new_spanned(wrong, message))
        };
        let not_async = signature.asyncness.is_none().then_some(&signature.fn_token);
        forbid(&not_async, "an arc runtime runs async functions")?;
        forbid(&signature.generics, "generics are not possible here")?;
        forbid(&signature.inputs, "arguments are not possible here")
    }

    /// The function as one that is not async, around itself and the call.
    fn with_call(self, name: &str, call: Result<TokenStream>) -> TokenStream {
        let (visibility, body) = (self.visibility, self.body);
        let (mut attributes, mut signature) = (self.attributes, self.signature);
        signature.asyncness.get_or_insert(parse_quote!(async));
        let is_method = signature.receiver().is_some();
        let inner = (!is_method).then(|| quote!(#signature #body));
        signature.asyncness = None;
        if name == "test" {
            attributes.insert(0, parse_quote!(#[::core::prelude::v1::test]));
        }
        if call.is_err() {
            // Nothing that hides the error, as `#[test]` does, or adds one.
            attributes.clear();
            if signature.ident == "main" {
                signature = parse_quote!(fn main());
            }
        }
        let call = call.unwrap_or_else(Error::into_compile_error);
        quote!(#(#attributes)* #visibility #signature { #inner #call })
    }
}

/// The expression that runs `function` with these options.
fn call(options: TokenStream, function: &Ident) -> Result<TokenStream> {
    let (mut workers, mut single, mut runtime) = (None, None, None);
    let parser = syn::meta::parser(|option| {
        let value = option.value()?;
        match option.path.to_token_stream().to_string().as_str() {
            "workers" | "worker_threads" => workers = Some(value.parse::<Expr>()?),
            "crate" => runtime = Some(value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?),
            "flavor" => match value.parse::<LitStr>()?.value().as_str() {
                "current_thread" => single = Some(parse_quote!(1)),
                "multi_thread" => single = None,
                _ => return Err(option.error("write \"current_thread\" or \"multi_thread\"")),
            },
            _ => return Err(option.error("there is no such option")),
        }
        Ok(())
    });
    parser.parse2(options).map_err(|error| {
        let known = "`workers = 4`, `flavor = \"current_thread\"` and `crate = \"my_crate::arc\"`";
        Error::new(error.span(), format!("{error}\nthe options are {known}"))
    })?;
    let workers = single.or(workers).map(|workers| quote!(.workers(#workers)));
    let runtime = runtime.unwrap_or_else(|| parse_quote!(::arc));
    Ok(quote! {
        #runtime::runtime::Builder::new_multi_thread() #workers
            .build()
            .unwrap_or_else(|error| {
                ::core::panic!("arc: the runtime could not be started: {error}")
            })
            .block_on(#function())
    })
}
