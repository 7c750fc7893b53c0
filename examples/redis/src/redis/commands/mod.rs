//! What each command does, and what is said when it cannot be done: redis's words.

mod hashes;
mod keys;
mod lists;
mod server;
mod sets;
mod sorted;
mod strings;
mod transactions;

use super::client::Client;
use super::glob;
use super::resp::{Reply, Request, integer};
use super::store::Db;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a client is told when a command cannot be done; the first word is its kind.
#[derive(Debug)]
pub struct Error(pub Cow<'static, str>);

impl Error {
    pub const WRONG_TYPE: Self =
        Self::new("WRONGTYPE Operation against a key holding the wrong kind of value");
    const NOT_INTEGER: Self = Self::new("ERR value is not an integer or out of range");
    const NOT_FLOAT: Self = Self::new("ERR value is not a valid float");
    const NOT_POSITIVE: Self = Self::new("ERR value is out of range, must be positive");
    const SYNTAX: Self = Self::new("ERR syntax error");
    const TOO_LONG: Self =
        Self::new("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

    const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    fn arity(name: &str) -> Self {
        Self(format!("ERR wrong number of arguments for '{name}' command").into())
    }

    fn expire_time(name: &str) -> Self {
        Self(format!("ERR invalid expire time in '{name}' command").into())
    }
}

impl From<&'static str> for Error {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

pub type Done = Result<(), Error>;

/// A command and its table entry.
pub struct Command {
    pub name: &'static str,
    /// How many arguments it takes, its name among them; negative: so many at least.
    pub arity: i64,
    pub place: Place,
    /// Whether it can be called by a client that is subscribed to something.
    pub is_for_subscribers: bool,
    run: fn(&mut Call<'_>) -> Done,
}

/// Where a command may stand.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// After MULTI it waits for EXEC.
    Anywhere,
    /// After MULTI it is done at once.
    AtOnce,
    /// Not after MULTI.
    Outside,
}

impl Command {
    const fn new(name: &'static str, arity: i64, run: fn(&mut Call<'_>) -> Done) -> Self {
        Self { name, arity, place: Place::Anywhere, is_for_subscribers: false, run }
    }

    const fn at_once(self) -> Self {
        Self { place: Place::AtOnce, ..self }
    }

    const fn outside(self) -> Self {
        Self { place: Place::Outside, ..self }
    }

    const fn for_subscribers(self) -> Self {
        Self { is_for_subscribers: true, ..self }
    }
}

#[rustfmt::skip]
static COMMANDS: &[Command] = &[
    Command::new("append", 3, strings::append),
    Command::new("decr", 2, strings::decr),
    Command::new("decrby", 3, strings::decrby),
    Command::new("get", 2, strings::get),
    Command::new("getset", 3, strings::getset),
    Command::new("incr", 2, strings::incr),
    Command::new("incrby", 3, strings::incrby),
    Command::new("mget", -2, strings::mget),
    Command::new("mset", -3, strings::mset),
    Command::new("set", -3, strings::set),
    Command::new("setnx", 3, strings::setnx),
    Command::new("strlen", 2, strings::strlen),

    Command::new("dbsize", 1, keys::dbsize),
    Command::new("del", -2, keys::del),
    Command::new("exists", -2, keys::exists),
    Command::new("expire", 3, keys::expire),
    Command::new("flushall", -1, keys::flush),
    Command::new("flushdb", -1, keys::flush),
    Command::new("keys", 2, keys::keys),
    Command::new("persist", 2, keys::persist),
    Command::new("pexpire", 3, keys::pexpire),
    Command::new("pttl", 2, keys::pttl),
    Command::new("scan", -2, keys::scan),
    Command::new("ttl", 2, keys::ttl),
    Command::new("type", 2, keys::type_of),

    Command::new("blpop", -3, lists::blpop),
    Command::new("llen", 2, lists::llen),
    Command::new("lpop", -2, lists::lpop),
    Command::new("lpush", -3, lists::lpush),
    Command::new("lrange", 4, lists::lrange),
    Command::new("rpop", -2, lists::rpop),
    Command::new("rpush", -3, lists::rpush),

    Command::new("sadd", -3, sets::sadd),
    Command::new("scard", 2, sets::scard),
    Command::new("sismember", 3, sets::sismember),
    Command::new("smembers", 2, sets::smembers),
    Command::new("spop", -2, sets::spop),
    Command::new("srem", -3, sets::srem),

    Command::new("hdel", -3, hashes::hdel),
    Command::new("hget", 3, hashes::hget),
    Command::new("hgetall", 2, hashes::hgetall),
    Command::new("hlen", 2, hashes::hlen),
    Command::new("hset", -4, hashes::hset),

    Command::new("zadd", -4, sorted::zadd),
    Command::new("zcard", 2, sorted::zcard),
    Command::new("zpopmin", -2, sorted::zpopmin),
    Command::new("zrange", -4, sorted::zrange),
    Command::new("zrem", -3, sorted::zrem),
    Command::new("zscore", 3, sorted::zscore),

    Command::new("client", -2, server::client),
    Command::new("command", -1, server::command),
    Command::new("config", -2, server::config),
    Command::new("echo", 2, server::echo),
    Command::new("hello", -1, server::hello),
    Command::new("info", -1, server::info),
    Command::new("ping", -1, server::ping).for_subscribers(),
    Command::new("publish", 3, server::publish),
    Command::new("quit", -1, server::quit).at_once().for_subscribers(),
    Command::new("reset", 1, server::reset).at_once().for_subscribers(),
    Command::new("select", 2, server::select),
    Command::new("shutdown", -1, server::shutdown).outside(),
    Command::new("subscribe", -2, server::subscribe).outside().for_subscribers(),
    Command::new("unsubscribe", -1, server::unsubscribe).outside().for_subscribers(),

    Command::new("discard", 1, transactions::discard).at_once(),
    Command::new("exec", 1, transactions::exec).at_once(),
    Command::new("multi", 1, transactions::multi).at_once(),
];

/// The longest name of a command.
const NAME_BYTES_MAX: usize = 16;

/// The command that a request calls.
pub fn find(request: Request<'_>) -> Result<&'static Command, Error> {
    static BY_NAME: LazyLock<HashMap<&'static [u8], &'static Command>> =
        LazyLock::new(|| COMMANDS.iter().map(|it| (it.name.as_bytes(), it)).collect());
    let name = request.get(0).unwrap_or_default();
    let mut lower = [0; NAME_BYTES_MAX];
    let command = lower.get_mut(..name.len()).and_then(|lower| {
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        BY_NAME.get(&*lower)
    });
    let command = command.ok_or_else(|| unknown(request))?;
    let count = request.len() as i64;
    match count == command.arity || command.arity < 0 && count >= -command.arity {
        true => Ok(command),
        false => Err(Error::arity(command.name)),
    }
}

/// Whether this is a line of an HTTP request: a page in somebody's browser may have sent it,
/// with commands in what follows. As in redis, nothing of that is done, and nothing replied.
pub fn is_http(request: Request<'_>) -> bool {
    let name = request.get(0).unwrap_or_default();
    is(name, "post") || is(name, "host:")
}

fn unknown(request: Request<'_>) -> Error {
    const SHOWN_BYTES_MAX: usize = 128;
    let shown = |bytes: &[u8]| {
        let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
        String::from_utf8_lossy(shown).into_owned()
    };
    let mut arguments = String::new();
    for argument in request.from(1) {
        if arguments.len() >= SHOWN_BYTES_MAX {
            break;
        }
        arguments.push_str(&format!("'{}' ", shown(argument)));
    }
    let name = shown(request.get(0).unwrap_or_default());
    Error(format!("ERR unknown command '{name}', with args beginning with: {arguments}").into())
}

/// A command that is being run.
pub struct Call<'a> {
    pub db: &'a mut Db,
    pub client: &'a mut Client,
    pub request: Request<'a>,
    pub reply: &'a mut Reply,
    /// EXEC runs it: it must not wait.
    pub is_queued: bool,
}

impl<'a> Call<'a> {
    /// Runs the command; what is wrong becomes the reply.
    pub fn run(&mut self, command: &Command) {
        if let Err(error) = (command.run)(self) {
            self.reply.error(&error.0);
        }
    }

    /// An argument that the arity promises; the empty one otherwise.
    fn argument(&self, number: usize) -> &'a [u8] {
        self.request.get(number).unwrap_or_default()
    }

    fn integer(&self, number: usize) -> Result<i64, Error> {
        integer(self.argument(number)).ok_or(Error::NOT_INTEGER)
    }

    /// An argument that says how many, if it is there.
    fn count(&self, number: usize) -> Result<Option<usize>, Error> {
        let Some(text) = self.request.get(number) else {
            return Ok(None);
        };
        let count = integer(text).ok_or(Error::NOT_POSITIVE)?;
        Ok(Some(usize::try_from(count).map_err(|_| Error::NOT_POSITIVE)?))
    }

    /// Not more arguments than these.
    fn at_most(&self, count: usize) -> Done {
        match self.request.len() <= count {
            true => Ok(()),
            false => Err(Error::SYNTAX),
        }
    }
}

/// Whether an argument is this word, in any case.
fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// A range from `start` to `stop`, both included, and counted from behind if they are
/// negative, as far as it lies within `length`.
fn range(start: i64, stop: i64, length: usize) -> std::ops::Range<usize> {
    let length = length as i64;
    let from_front = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    let start = from_front(start).clamp(0, length);
    let end = from_front(stop).saturating_add(1).clamp(start, length);
    start as usize..end as usize
}
