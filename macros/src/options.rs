//! The options in the parentheses of `#[arc::main(..)]` and `#[arc::test(..)]`.

use proc_macro::{TokenStream, TokenTree};

use crate::token::{Error, is_punct, tokens};

/// More threads than anyone has a use for; what is above is a typing error.
const WORKERS_MAX: u32 = 65_535;

const TWICE: &str = "this option is given twice: remove one";
const FLAVOR: &str = "arc has one kind of runtime: write `workers = 1` for \"current_thread\", \
                      and no `flavor` for \"multi_thread\"";

/// The options of one macro call.
pub(crate) struct Options {
    /// The call `.workers(N)` of the builder, or nothing.
    pub(crate) workers: String,
    /// The path of the runtime crate.
    pub(crate) runtime: TokenStream,
}

impl Options {
    /// Reads `name = value, ...` for the macro called `attribute`.
    pub(crate) fn parse(attribute: &str, options: TokenStream) -> Result<Self, Error> {
        let options: Vec<TokenTree> = options.into_iter().collect();
        let (mut workers, mut runtime) = (None, None);
        for option in options.split_inclusive(|token| is_punct(token, ',')) {
            let name = &option[..1];
            let option = match option {
                [option @ .., comma] if is_punct(comma, ',') => option,
                option => option,
            };
            let (wrong, message) = match name[0].to_string().as_str() {
                "workers" | "worker_threads" if workers.is_none() => {
                    workers = Some(parse_workers(option)?);
                    continue;
                }
                "crate" if runtime.is_none() => {
                    runtime = Some(parse_crate(option)?);
                    continue;
                }
                "workers" | "worker_threads" | "crate" => (name, TWICE.to_owned()),
                "flavor" => (option, FLAVOR.to_owned()),
                unknown => {
                    let known = "write `workers = 4` or `crate = \"my_crate::arc\"`";
                    let start = format!("#[arc::{attribute}] has no option `{unknown}`");
                    (name, format!("{start}: {known}"))
                }
            };
            return Err(Error::at(wrong, message));
        }
        let runtime = runtime.unwrap_or_else(|| tokens("::arc"));
        let workers = workers.map_or(String::new(), |workers| format!(".workers({workers})"));
        Ok(Self { workers, runtime })
    }
}

/// `workers = N`, a decimal literal in range.
fn parse_workers(option: &[TokenTree]) -> Result<u32, Error> {
    let usage = format!("expected an integer from 1 to {WORKERS_MAX}: write `workers = 4`");
    parse_value(option, &usage, |value| {
        let digits = value.to_string().replace('_', "");
        let workers = digits.parse().ok()?;
        (1..=WORKERS_MAX).contains(&workers).then_some(workers)
    })
}

/// `crate = "path"`, as tokens at the place of the literal.
fn parse_crate(option: &[TokenTree]) -> Result<TokenStream, Error> {
    let usage = "expected the runtime crate's path: write `crate = \"my_crate::arc\"`";
    parse_value(option, usage, |value| {
        let text = value.to_string();
        let path = text.strip_prefix('"')?.strip_suffix('"')?;
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric());
        let locate = |mut token: TokenTree| {
            token.set_span(value.span());
            token
        };
        let mut names = path.strip_prefix("::").unwrap_or(path).split("::");
        let path = names.all(is_name).then(|| path.parse::<TokenStream>());
        Some(path?.ok()?.into_iter().map(locate).collect())
    })
}

/// Reads the value of `name = value` with `read`, which gives None for a wrong one.
fn parse_value<T>(
    option: &[TokenTree],
    usage: &str,
    read: impl Fn(&TokenTree) -> Option<T>,
) -> Result<T, Error> {
    match option {
        [_, equals, value, rest @ ..] if is_punct(equals, '=') => match read(value) {
            None => Err(Error::at(&option[2..], usage)),
            Some(_) if !rest.is_empty() => Err(Error::at(rest, "expected `,` before this")),
            Some(value) => Ok(value),
        },
        _ => Err(Error::at(option, usage)),
    }
}
