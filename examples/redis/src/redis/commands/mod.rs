//! What each command does, and what is said when it cannot be done: redis's words.

mod lists;
mod server;
mod strings;

use super::client::Client;
use super::resp::{Reply, integer};
use super::store::{Db, List};
use std::borrow::Cow;

/// What a client is told when a command cannot be done; the first word is its kind.
#[derive(Debug)]
pub struct Error(pub Cow<'static, str>);

impl Error {
    pub const WRONG_TYPE: Self =
        Self(Cow::Borrowed("WRONGTYPE Operation against a key holding the wrong kind of value"));
    const NOT_INTEGER: Self = Self(Cow::Borrowed("ERR value is not an integer or out of range"));
    const SYNTAX: Self = Self(Cow::Borrowed("ERR syntax error"));

    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    fn arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }
}

pub type Done = Result<(), Error>;

/// What does what a command is for. What is wrong becomes the reply.
pub type Run = fn(&mut Call<'_>) -> Done;

/// A command and its table entry.
pub struct Command {
    pub name: &'static str,
    /// How many arguments it takes, its name among them; negative: so many at least.
    arity: isize,
    pub run: Run,
}

const fn command(name: &'static str, arity: isize, run: Run) -> Command {
    Command { name, arity, run }
}

#[rustfmt::skip]
static COMMANDS: &[Command] = &[
    command("get", 2, strings::get),
    command("incr", 2, strings::incr),
    command("set", -3, strings::set),

    command("dbsize", 1, strings::dbsize),
    command("del", -2, strings::del),
    command("expire", 3, strings::expire),
    command("flushall", 1, strings::flush_all),
    command("ttl", 2, strings::ttl),

    command("blpop", -3, lists::blpop),
    command("llen", 2, lists::llen),
    command("lpop", 2, |call| lists::pop(call, List::pop_front)),
    command("lpush", -3, |call| lists::push(call, List::push_front)),
    command("lrange", 4, lists::lrange),
    command("rpop", 2, |call| lists::pop(call, List::pop_back)),
    command("rpush", -3, |call| lists::push(call, List::push_back)),

    command("publish", 3, server::publish),
    command("subscribe", -2, server::subscribe),
    command("unsubscribe", -1, server::unsubscribe),

    command("command", -1, server::command),
    command("config", -3, server::config),
    command("info", 1, server::info),
    command("ping", -1, server::ping),
    command("quit", 1, server::quit),
    command("shutdown", -1, server::shutdown),
];

/// The command that a request calls.
pub fn find(request: &[&[u8]]) -> Result<&'static Command, Error> {
    const SHOWN_BYTES_MAX: usize = 128;

    let name = request.first().copied().unwrap_or_default();
    let Some(command) = COMMANDS.iter().find(|command| is(name, command.name)) else {
        let shown = String::from_utf8_lossy(&name[..name.len().min(SHOWN_BYTES_MAX)]);
        return Err(Error::new(format!("ERR unknown command '{shown}'")));
    };
    let count = request.len() as isize;
    match count == command.arity || command.arity < 0 && count >= -command.arity {
        true => Ok(command),
        false => Err(Error::arity(command.name)),
    }
}

/// Whether an argument is this word, in any case.
pub fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// A command that is being run.
pub struct Call<'a> {
    pub db: &'a mut Db,
    pub client: &'a mut Client,
    /// The command's name and its arguments, as many as it needs.
    pub request: &'a [&'a [u8]],
    pub reply: &'a mut Reply,
}

impl Call<'_> {
    fn integer(&self, number: usize) -> Result<i64, Error> {
        integer(self.request[number]).ok_or(Error::NOT_INTEGER)
    }
}
