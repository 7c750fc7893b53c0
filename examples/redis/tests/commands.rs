//! What each command replies, on both runtimes.

#![cfg(unix)]

mod common;

use common::{Server, encoded, wait_until};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_INTEGER: &str = "-ERR value is not an integer or out of range";

fn strings(program: &str) {
    Server::start(program).connect().check(&[
        ("GET a", "nil"),
        ("SET a 1", "+OK"),
        ("get a", "1"),
        ("SET a 2 NX", "nil"),
        ("SET b 2 XX", "nil"),
        ("SET a 3 XX GET", "1"),
        ("SET b 4 NX GET", "nil"),
        ("MGET a b c", "[3 4 nil]"),
        ("SET a 5 NX XX", "-ERR syntax error"),
        ("SET a 5 EX", "-ERR syntax error"),
        ("SET a 5 EX 1 KEEPTTL", "-ERR syntax error"),
        ("SET a 5 EX x", NOT_INTEGER),
        ("SET a 5 EX 0", "-ERR invalid expire time in 'set' command"),
        ("SET a 5 EX 9223372036854775807", "-ERR invalid expire time in 'set' command"),
        ("GETSET a 6", "3"),
        ("GETSET d 7", "nil"),
        ("SETNX a 8", ":0"),
        ("SETNX e 8", ":1"),
        ("MSET a 10 b 20 a 11", "+OK"),
        ("MSET a 10 b", "-ERR wrong number of arguments for 'mset' command"),
        ("MGET a b", "[11 20]"),
        ("APPEND a !!", ":4"),
        ("APPEND new text", ":4"),
        ("GET a", "11!!"),
        ("STRLEN a", ":4"),
        ("STRLEN none", ":0"),
    ]);
}

fn numbers(program: &str) {
    Server::start(program).connect().check(&[
        ("INCR n", ":1"),
        ("INCRBY n 41", ":42"),
        ("DECR n", ":41"),
        ("DECRBY n 50", ":-9"),
        ("GET n", "-9"),
        ("INCRBY n 1.5", NOT_INTEGER),
        ("INCRBY n +1", NOT_INTEGER),
        ("DECRBY n -9223372036854775808", "-ERR decrement would overflow"),
        ("SET n 9223372036854775807", "+OK"),
        ("INCR n", "-ERR increment or decrement would overflow"),
        ("DECR n", ":9223372036854775806"),
        ("SET n 007", "+OK"),
        ("INCR n", NOT_INTEGER),
        ("SET n -0", "+OK"),
        ("INCR n", NOT_INTEGER),
        ("SET n -1 EX 100", "+OK"),
        ("INCR n", ":0"),
        ("TTL n", ":100"),
    ]);
}

fn lists(program: &str) {
    Server::start(program).connect().check(&[
        ("RPUSH l c d", ":2"),
        ("LPUSH l b a", ":4"),
        ("LRANGE l 0 -1", "[a b c d]"),
        ("LRANGE l -2 100", "[c d]"),
        ("LRANGE l 3 1", "[]"),
        ("LRANGE l -100 0", "[a]"),
        ("LRANGE l 9223372036854775807 -9223372036854775808", "[]"),
        ("LRANGE none 0 -1", "[]"),
        ("LLEN l", ":4"),
        ("LPOP l", "a"),
        ("RPOP l", "d"),
        ("LPOP l 0", "[]"),
        ("RPOP l 5", "[c b]"),
        ("EXISTS l", ":0"),
        ("LPOP l", "nil"),
        ("LPOP l 2", "nil[]"),
        ("LPOP l -1", "-ERR value is out of range, must be positive"),
        ("LPOP l 1 2", "-ERR wrong number of arguments for 'lpop' command"),
        ("LLEN l", ":0"),
    ]);
}

fn sets(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("SADD s a b a", ":2"),
        ("SADD s c a", ":1"),
        ("SCARD s", ":3"),
        ("SISMEMBER s b", ":1"),
        ("SISMEMBER s z", ":0"),
        ("SMEMBERS s", "[a b c]"),
        ("SREM s a z", ":1"),
        ("SCARD s", ":2"),
    ]);
    let mut popped = [client.call("SPOP s"), client.call("SPOP s")];
    popped.sort_unstable();
    assert_eq!(popped, ["b", "c"]);
    client.check(&[
        ("EXISTS s", ":0"),
        ("SPOP s", "nil"),
        ("SPOP s 3", "[]"),
        ("SADD s 1", ":1"),
        ("SPOP s 3", "[1]"),
        ("SMEMBERS s", "[]"),
    ]);
}

fn hashes(program: &str) {
    Server::start(program).connect().check(&[
        ("HSET h a 1 b 2", ":2"),
        ("HSET h a 3 c 4", ":1"),
        ("HSET h a", "-ERR wrong number of arguments for 'hset' command"),
        ("HSET h a 1 b", "-ERR wrong number of arguments for 'hset' command"),
        ("HGET h a", "3"),
        ("HGET h z", "nil"),
        ("HGET none a", "nil"),
        ("HGETALL h", "[a 3 b 2 c 4]"),
        ("HLEN h", ":3"),
        ("HDEL h a z b", ":2"),
        ("HGETALL h", "[c 4]"),
        ("HDEL h c", ":1"),
        ("EXISTS h", ":0"),
        ("HGETALL h", "[]"),
    ]);
}

fn sorted_sets(program: &str) {
    Server::start(program).connect().check(&[
        ("ZADD z 2 b 1 a 2.5 c", ":3"),
        ("ZADD z 3 a 9 d", ":1"),
        ("ZADD z CH 4 a 9 d", ":1"),
        ("ZADD z NX 100 a", ":0"),
        ("ZADD z XX 100 e", ":0"),
        ("ZADD z NX XX 1 a", "-ERR XX and NX options at the same time are not compatible"),
        ("ZADD z x a", "-ERR value is not a valid float"),
        ("ZADD z nan a", "-ERR value is not a valid float"),
        ("ZADD z 1 a 2", "-ERR syntax error"),
        ("ZRANGE z 0 -1 WITHSCORES", "[b 2 c 2.5 a 4 d 9]"),
        ("ZRANGE z -2 -1", "[a d]"),
        ("ZSCORE z c", "2.5"),
        ("ZSCORE z none", "nil"),
        ("ZADD z -inf first -0 zero", ":2"),
        ("ZPOPMIN z", "[first -inf]"),
        ("ZPOPMIN z 2", "[zero 0 b 2]"),
        ("ZREM z a none", ":1"),
        ("ZCARD z", ":2"),
        ("ZPOPMIN z 100", "[c 2.5 d 9]"),
        ("EXISTS z", ":0"),
        ("ZPOPMIN z", "[]"),
        ("ZADD z XX 1 a", ":0"),
        ("EXISTS z", ":0"),
    ]);
}

fn keys_of_every_type(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("SET string x", "+OK"),
        ("RPUSH list x", ":1"),
        ("SADD set x", ":1"),
        ("HSET hash f x", ":1"),
        ("ZADD zset 1 x", ":1"),
        ("DBSIZE", ":5"),
        ("EXISTS list set none list", ":3"),
    ]);
    for kind in ["string", "list", "set", "hash", "zset"] {
        client.check(&[(&format!("TYPE {kind}"), &format!("+{kind}"))]);
    }
    for call in [
        "GET list",
        "INCR set",
        "APPEND hash x",
        "STRLEN zset",
        "GETSET list x",
        "SET set x GET",
        "LPUSH string x",
        "LPOP set",
        "LRANGE hash 0 1",
        "LLEN zset",
        "BLPOP string 1",
        "SADD string x",
        "SREM list x",
        "SMEMBERS hash",
        "SPOP zset",
        "SCARD list",
        "HSET string f x",
        "HGET list f",
        "HGETALL set",
        "HDEL zset f",
        "HLEN list",
        "ZADD string 1 x",
        "ZPOPMIN list",
        "ZRANGE set 0 1",
        "ZCARD hash",
        "ZSCORE set x",
    ] {
        client.check(&[(call, WRONG_TYPE)]);
    }
    client.check(&[
        ("MGET string list none", "[x nil nil]"),
        ("TYPE none", "+none"),
        ("DEL string list none", ":2"),
        ("SET set now-a-string", "+OK"),
        ("TYPE set", "+string"),
        ("FLUSHALL now", "-ERR syntax error"),
        ("FLUSHDB", "+OK"),
        ("DBSIZE", ":0"),
    ]);
}

fn patterns_and_scans(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("MSET one 1 two 2 three 3 h*llo 4 hello 5", "+OK"),
        ("KEYS t*", "[two three]"),
        ("KEYS h[a-f]llo", "[hello]"),
        ("KEYS h\\*llo", "[h*llo]"),
        ("KEYS ?*?e?*", "[three]"),
        ("KEYS *?e?*", "[three hello]"),
        ("KEYS [^th]*", "[one]"),
        ("KEYS *e", "[one three]"),
        ("KEYS none*", "[]"),
        ("SCAN 0 COUNT 3", "[2 [three h*llo hello]]"),
        ("SCAN 2 COUNT 3", "[0 [one two]]"),
        ("SCAN 0 MATCH t* TYPE string", "[0 [two three]]"),
        ("SCAN 0 TYPE list", "[0 []]"),
        ("SCAN x", "-ERR invalid cursor"),
        ("SCAN 0 COUNT 0", "-ERR syntax error"),
        ("SCAN 0 COUNT", "-ERR syntax error"),
    ]);
    // What is there all the time is found, whatever comes and goes meanwhile.
    client.call("FLUSHALL");
    for number in 0..100 {
        client.call(&format!("MSET stays:{number} x goes:{number} x"));
    }
    let (mut cursor, mut found, mut round) = ("0".to_owned(), Vec::new(), 0);
    loop {
        let reply = client.call(&format!("SCAN {cursor} MATCH stays:*"));
        let (next, keys) = reply[1..].split_once(' ').expect("a cursor and keys");
        found.extend(keys.trim_matches(['[', ']']).split(' ').map(str::to_owned));
        client.call(&format!("DEL goes:{round} goes:{}", 99 - round));
        client.call(&format!("SET comes:{round} x"));
        (cursor, round) = (next.to_owned(), round + 1);
        if cursor == "0" {
            break;
        }
    }
    found.retain(|key| !key.is_empty());
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 100);
}

fn expiry(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("TTL a", ":-2"),
        ("EXPIRE a 10", ":0"),
        ("SET a x", "+OK"),
        ("TTL a", ":-1"),
        ("PERSIST a", ":0"),
        ("EXPIRE a 100", ":1"),
        ("TTL a", ":100"),
        ("SET a y KEEPTTL", "+OK"),
        ("TTL a", ":100"),
        ("PERSIST a", ":1"),
        ("PTTL a", ":-1"),
        ("PEXPIRE a 100000", ":1"),
        ("TTL a", ":100"),
        ("SET a z", "+OK"),
        ("TTL a", ":-1"),
        ("EXPIRE a -1", ":1"),
        ("EXISTS a", ":0"),
        ("SET a x", "+OK"),
        ("EXPIRE a 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
        ("EXPIRE a -9223372036854775808", "-ERR invalid expire time in 'expire' command"),
        ("EXPIRE a x", NOT_INTEGER),
        ("FLUSHALL", "+OK"),
    ]);
    // DBSIZE looks at no key: it is the timer that removes them, also those that end
    // before what it waited for.
    client.check(&[("SET long x EX 1000", "+OK"), ("SET short x PX 30", "+OK")]);
    client.check(&[("RPUSH list x", ":1"), ("PEXPIRE list 20", ":1")]);
    wait_until("the timer", || client.call("DBSIZE") == ":1");
    client.check(&[("KEYS *", "[long]"), ("GET short", "nil"), ("LLEN list", ":0")]);
    // While others keep everybody out, no time passes.
    let counts = encoded(&["INCR", "n"]).repeat(20_000);
    let (set, get) = (encoded(&["SET", "a", "x", "PX", "1"]), encoded(&["GET", "a"]));
    client.send(&[encoded(&["MULTI"]), set, counts, get, encoded(&["EXEC"])].concat());
    assert_eq!(client.text(), "+OK");
    (0..20_002).for_each(|_| assert_eq!(client.text(), "+QUEUED"));
    let replies = client.text();
    assert!(replies.starts_with("[+OK :1 ") && replies.ends_with(" :20000 x]"), "{replies}");
    // One that was given a later end lives.
    client.check(&[("MULTI", "+OK"), ("SET b x PX 30", "+QUEUED"), ("EXPIRE b 100", "+QUEUED")]);
    client.check(&[("EXEC", "[+OK :1]"), ("SET a x PX 40", "+OK")]);
    wait_until("the timer", || client.call("EXISTS a") == ":0");
    client.check(&[("GET b", "x"), ("TTL b", ":100")]);
}

fn the_server(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("PING", "+PONG"),
        ("PING hello", "hello"),
        ("PING a b", "-ERR wrong number of arguments for 'ping' command"),
        ("ECHO hello", "hello"),
        ("GET", "-ERR wrong number of arguments for 'get' command"),
        ("GET a b", "-ERR wrong number of arguments for 'get' command"),
        ("NOPE", "-ERR unknown command 'NOPE', with args beginning with: "),
        ("nope a b", "-ERR unknown command 'nope', with args beginning with: 'a' 'b' "),
        ("nope a\r\nb", "-ERR unknown command 'nope', with args beginning with: 'a  b' "),
        ("SELECT 0", "+OK"),
        ("SELECT 1", "-ERR DB index is out of range"),
        ("CONFIG GET maxclients", "[maxclients 10000]"),
        ("CONFIG GET SAVE appendonly", "[appendonly no save ]"),
        ("CONFIG GET none*", "[]"),
        ("CONFIG SET save x", "-ERR unknown subcommand 'SET'. Try CONFIG HELP."),
        ("CLIENT GETNAME", "nil"),
        ("CLIENT SETNAME ann", "+OK"),
        ("CLIENT GETNAME", "ann"),
        ("CLIENT ID", ":1"),
        ("HELLO 3", "-NOPROTO unsupported protocol version"),
        ("INFO nothing", ""),
        ("SHUTDOWN never", "-ERR syntax error"),
        ("SHUTDOWN ABORT", "-ERR No shutdown in progress."),
    ]);
    assert!(client.call("HELLO 2").starts_with("[server redis version "));
    assert!(client.call("COMMAND").contains("[get :2 []]"));
    assert!(client.call("COMMAND COUNT").starts_with(':'));
    client.call("SET a x EX 100");
    let info = client.call("INFO");
    for line in ["# Server", "connected_clients:1", "db0:keys=1,expires=1"] {
        assert!(info.contains(&format!("{line}\r\n")), "{info}");
    }
    assert!(!client.call("INFO clients").contains("# Server"));
    assert_eq!(server.connect().call("CLIENT ID"), ":2");
    client.check(&[("RESET", "+RESET"), ("CLIENT GETNAME", "nil"), ("QUIT", "+OK")]);
    assert!(client.is_closed());
}

on_both! {
    strings
    numbers
    lists
    sets
    hashes
    sorted_sets
    keys_of_every_type
    patterns_and_scans
    expiry
    the_server
}
