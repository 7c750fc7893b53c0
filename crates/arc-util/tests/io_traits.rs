//! tokio's methods of readers and writers: interruptions, errors, what a dropped future leaves.

use crate::common::{all_text, kind, soon, tcp_pair, waits};
use crate::script::{Bytes, Fails, Script, Waits};
use arc_util::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufWriter, Cursor, SeekFrom, copy, copy_bidirectional, copy_buf,
    duplex, split,
};
use futures_util::{StreamExt, TryStreamExt};
use std::io::{Error, ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

fn interrupted() -> Script {
    Script::new([Bytes(b"on"), Bytes(b"e,two\nth"), Bytes(b"ree")]).interrupted()
}

/// Takes at most two bytes at once.
fn interrupted_writer() -> Script {
    Script::new([]).each(2).interrupted()
}

#[arc::test]
async fn an_interrupted_reader_is_read_again() {
    let mut all = Vec::new();
    assert_eq!(interrupted().read_to_end(&mut all).await.unwrap(), 13);
    assert_eq!(all, b"one,two\nthree");
    let mut text = String::from("text: ");
    assert_eq!(interrupted().read_to_string(&mut text).await.unwrap(), 13);
    assert_eq!(text, "text: one,two\nthree");

    let mut exact = [0; 5];
    assert_eq!(interrupted().read_exact(&mut exact).await.unwrap(), 5);
    assert_eq!(&exact, b"one,t");
    assert_eq!(interrupted().read_u32().await.unwrap(), u32::from_be_bytes(*b"one,"));
    assert_eq!(interrupted().read_u8().await.unwrap(), b'o');

    let (mut until, mut line) = (Vec::new(), String::new());
    let mut reader = BufReader::new(interrupted());
    assert_eq!(reader.read_until(b',', &mut until).await.unwrap(), 4);
    assert_eq!(reader.read_line(&mut line).await.unwrap(), 4);
    assert_eq!((&until[..], &line[..]), (&b"one,"[..], "two\n"));

    let lines: Vec<_> = BufReader::new(interrupted()).lines().try_collect().await.unwrap();
    assert_eq!(lines, ["one,two", "three"]);
    let mut parts = BufReader::new(interrupted()).split(b',');
    assert_eq!(parts.next_segment().await.unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(parts.next_segment().await.unwrap().as_deref(), Some(&b"two\nthree"[..]));
    assert_eq!(parts.next_segment().await.unwrap(), None);
}

/// As on tokio: one read or one write is one attempt, and whoever calls it knows best.
#[arc::test]
async fn a_single_read_or_write_tells_that_it_was_interrupted() {
    let mut reader = interrupted();
    assert_eq!(kind(reader.read(&mut [0; 8]).await), ErrorKind::Interrupted);
    assert_eq!(reader.read(&mut [0; 8]).await.unwrap(), 2);
    let mut writer = interrupted_writer();
    assert_eq!(kind(writer.write(b"one").await), ErrorKind::Interrupted);
    assert_eq!(writer.write(b"one").await.unwrap(), 2);
}

#[arc::test]
async fn an_interrupted_writer_is_written_to_again() {
    let mut writer = interrupted_writer();
    writer.write_all(b"hello").await.unwrap();
    writer.write_u16(258).await.unwrap();
    writer.write_i8(-1).await.unwrap();
    writer.flush().await.unwrap();
    writer.shutdown().await.unwrap();
    assert_eq!(writer.taken, b"hello\x01\x02\xff!");

    let mut buffered = BufWriter::with_capacity(4, interrupted_writer());
    buffered.write_all(b"one").await.unwrap();
    buffered.write_all(b"two, and more").await.unwrap();
    buffered.write_all(b"end").await.unwrap();
    buffered.flush().await.unwrap();
    assert_eq!(buffered.into_inner().taken, b"onetwo, and moreend");

    let mut buffered = BufWriter::new(interrupted_writer());
    assert_eq!(copy(&mut interrupted(), &mut buffered).await.unwrap(), 13);
    assert_eq!(buffered.into_inner().taken, b"one,two\nthree");
    let mut writer = interrupted_writer();
    assert_eq!(copy_buf(&mut BufReader::new(interrupted()), &mut writer).await.unwrap(), 13);
    assert_eq!(writer.taken, b"one,two\nthree");
    let (mut one, mut other) = (interrupted(), interrupted());
    assert_eq!(copy_bidirectional(&mut one, &mut other).await.unwrap(), (13, 13));
    assert_eq!([&one.taken, &other.taken], [b"one,two\nthree!"; 2]);
}

#[arc::test]
async fn an_interrupted_writer_is_written_to_again_from_a_buffer() {
    let mut writer = interrupted_writer();
    let mut buffer = &b"hello"[..];
    assert_eq!(kind(writer.write_buf(&mut buffer).await), ErrorKind::Interrupted);
    writer.write_all_buf(&mut buffer).await.unwrap();
    assert_eq!((&writer.taken[..], buffer), (&b"hello"[..], &b""[..]));
}

#[arc::test]
async fn what_cannot_be_read_whole_is_an_error() {
    let error = (&b"abc"[..]).read_exact(&mut [0; 4]).await.unwrap_err();
    assert_eq!((error.kind(), &error.to_string()[..]), (ErrorKind::UnexpectedEof, "early eof"));
    assert_eq!(kind((&b"abc"[..]).read_u32().await), ErrorKind::UnexpectedEof);
    assert_eq!((&b""[..]).read_exact(&mut []).await.unwrap(), 0);
    let mut room = [0; 2];
    let mut full = Cursor::new(&mut room[..]);
    assert_eq!(kind(full.write_all(b"abc").await), ErrorKind::WriteZero);
    assert_eq!(kind(full.write_u8(1).await), ErrorKind::WriteZero);
}

#[arc::test]
async fn what_was_read_before_an_error_is_kept_where_it_can_be() {
    let fails = || Script::new([Bytes(b"ab"), Fails(ErrorKind::Other), Bytes(b"c\nd")]);
    let mut all = b"> ".to_vec();
    assert_eq!(kind(fails().read_to_end(&mut all).await), ErrorKind::Other);
    assert_eq!(all, b"> ab");
    let mut text = String::from("> ");
    assert_eq!(kind(fails().read_to_string(&mut text).await), ErrorKind::Other);
    assert_eq!(text, "> ");

    let mut reader = BufReader::new(fails());
    assert_eq!(kind(reader.read_line(&mut text).await), ErrorKind::Other);
    assert_eq!(text, "> ab");
    assert_eq!(reader.read_line(&mut text).await.unwrap(), 2);
    assert_eq!(text, "> abc\n");
    let mut reader = BufReader::new(fails());
    assert_eq!(kind(reader.read_until(b'\n', &mut all).await), ErrorKind::Other);
    assert_eq!(reader.read_until(b'\n', &mut all).await.unwrap(), 2);
    assert_eq!(all, b"> ababc\n");

    let mut lines = BufReader::new(fails()).lines();
    assert_eq!(kind(lines.next_line().await), ErrorKind::Other);
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("abc"));
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("d"));
    assert_eq!(lines.next_line().await.unwrap(), None);
}

/// The error says where the bytes are that are no text.
#[track_caller]
fn is_not_text<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it must fail") };
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(error.to_string(), "invalid utf-8 sequence of 1 bytes from index 1");
}

#[arc::test]
async fn a_text_that_is_not_utf8_changes_nothing() {
    let mut text = String::from("text: ");
    is_not_text((&b"a\xff"[..]).read_to_string(&mut text).await);
    let mut reader = BufReader::new(&b"a\xff\nnext\r\n"[..]);
    is_not_text(reader.read_line(&mut text).await);
    assert_eq!(text, "text: ");
    assert_eq!(reader.read_line(&mut text).await.unwrap(), 6);
    assert_eq!(text, "text: next\r\n");

    let mut lines = BufReader::new(&b"a\xff\nnext\r\n\nlast\r"[..]).lines();
    is_not_text(lines.next_line().await);
    let rest: Vec<_> = lines.try_collect().await.unwrap();
    assert_eq!(rest, ["next", "", "last\r"]);

    // Of two errors, the reader's is told.
    let mut reader = BufReader::new(Script::new([Bytes(b"\xff"), Fails(ErrorKind::TimedOut)]));
    assert_eq!(kind(reader.read_line(&mut text).await), ErrorKind::TimedOut);
}

#[arc::test]
async fn a_dropped_future_leaves_what_it_promises() {
    let script = || Script::new([Bytes(b"ab"), Waits, Bytes(b"c\n")]);

    let mut all = b"> ".to_vec();
    let mut reader = script();
    assert!(waits(reader.read_to_end(&mut all)));
    assert_eq!(all, b"> ab");
    reader.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"> abc\n");

    let mut reader = BufReader::new(script());
    assert!(waits(reader.read_until(b'\n', &mut all)));
    reader.read_until(b'\n', &mut all).await.unwrap();
    assert_eq!(all, b"> abc\nabc\n");

    let mut text = String::from("> ");
    assert!(waits(script().read_to_string(&mut text)));
    assert!(waits(BufReader::new(script()).read_line(&mut text)));
    assert_eq!(text, "> ");

    let mut lines = BufReader::new(script()).lines();
    assert!(waits(lines.next_line()));
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("abc"));
}

/// All of a large input, by a vector that has had room and by one that has had none.
#[arc::test]
async fn a_reader_is_read_to_its_end_however_large_it_is() {
    let input: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
    for capacity in [0, 1, input.len(), input.len() * 2] {
        let mut all = Vec::with_capacity(capacity);
        assert_eq!((&input[..]).read_to_end(&mut all).await.unwrap(), input.len());
        assert!(all == input);
    }
}

#[arc::test]
async fn what_has_a_position_is_moved_in_and_limited_and_joined() {
    let mut cursor = Cursor::new(b"0123456789".to_vec());
    assert_eq!(cursor.seek(SeekFrom::Start(4)).await.unwrap(), 4);
    assert_eq!(cursor.read_u8().await.unwrap(), b'4');
    assert_eq!(cursor.stream_position().await.unwrap(), 5);
    assert_eq!(kind(cursor.seek(SeekFrom::Current(-6)).await), ErrorKind::InvalidInput);
    cursor.rewind().await.unwrap();

    let mut text = String::new();
    let mut reader = cursor.take(3).chain(&b" and more"[..]);
    reader.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "012 and more");

    let mut reader = BufReader::new(&b"hello"[..]);
    assert_eq!(reader.fill_buf().await.unwrap(), b"hello");
    reader.consume(2);
    assert_eq!(reader.fill_buf().await.unwrap(), b"llo");
}

/// Each method is called where the type of the stream is not known, and the future is sent.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn generic_code_can_send_the_futures() {
    async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send>(mut stream: S) -> Result<u16> {
        stream.write_all(b"line\nmore").await?;
        stream.write_u16(7).await?;
        stream.flush().await?;
        stream.shutdown().await?;
        let mut buffer = [0; 2];
        stream.read_exact(&mut buffer).await?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await?;
        Ok(u16::from_be_bytes(buffer))
    }
    async fn lines<R: AsyncBufRead + Unpin + Send>(mut reader: R) -> Result<String> {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let mut rest = reader.lines();
        while let Some(next) = rest.next_line().await? {
            line.push_str(&next);
        }
        Ok(line)
    }

    let (near, far) = duplex(1024);
    let (reader, mut writer) = split(far);
    let talking = arc::spawn(talk(near));
    let reading = arc::spawn(lines(BufReader::new(reader)));
    writer.write_u16(9).await.unwrap();
    writer.shutdown().await.unwrap();
    assert_eq!(soon(talking).await.unwrap().unwrap(), 9);
    assert_eq!(soon(reading).await.unwrap().unwrap(), "line\nmore\0\u{7}");
}

/// As with tokio's: the buffer is free as soon as the future is ready, although it still exists.
#[arc::test]
async fn a_future_that_is_ready_lends_its_buffer_no_longer() {
    let (mut near, mut far) = duplex(64);
    far.write_all(b"hello").await.unwrap();
    let mut buffer = [0; 8];
    let mut reading = pin!(near.read(&mut buffer));
    let count = soon(reading.as_mut()).await.unwrap();
    assert_eq!(&buffer[..count], b"hello");
}

/// As with tokio's. A future that was not pinned would compile here, and not on tokio.
#[test]
fn the_futures_have_to_be_pinned() {
    trait Answers<A> {
        fn answer(&self) {}
    }
    impl<T> Answers<()> for T {}
    struct IsUnpin;
    impl<T: Unpin> Answers<IsUnpin> for T {}

    // With a type that is `Unpin`, it would not be clear which of the two is meant.
    (&b""[..]).read(&mut []).answer();
    Vec::new().write_all(b"").answer();
    Vec::new().write_u8(1).answer();
}

#[arc::test]
async fn the_halves_of_a_stream_come_together_again() {
    let (near, mut far) = duplex(64);
    let (mut read, mut write) = split(near);
    assert!(read.is_pair_of(&write) && write.is_pair_of(&read));
    write.write_all(b"ping").await.unwrap();
    far.write_all(b"pong").await.unwrap();
    let mut bytes = [0; 4];
    read.read_exact(&mut bytes).await.unwrap();

    let mut near = read.unsplit(write);
    near.write_all(b"!").await.unwrap();
    near.shutdown().await.unwrap();
    assert_eq!(all_text(&mut far).await, "ping!");

    let (one, other) = (split(duplex(1).0), split(duplex(1).0));
    assert!(!one.0.is_pair_of(&other.1) && !one.1.is_pair_of(&other.0));
    let panic = catch_unwind(AssertUnwindSafe(|| one.0.unsplit(other.1))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the two halves are not of one stream"));
}

#[arc::test]
async fn a_socket_is_split_for_one_task_or_for_two() {
    let (mut near, mut far) = tcp_pair().await;
    let (mut read, mut write) = near.split();
    write.write_all(b"ping").await.unwrap();
    assert_eq!(far.read_u32().await.unwrap(), u32::from_be_bytes(*b"ping"));
    far.write_all(b"pong").await.unwrap();
    soon(read.read_exact(&mut [0; 4])).await.unwrap();

    // Both halves are gone: the stream is whole.
    near.write_u8(b'.').await.unwrap();
    let (mut read, write) = near.into_split();
    far.write_u8(b'!').await.unwrap();
    assert_eq!(soon(read.read_u8()).await.unwrap(), b'!');
    drop(write);
    assert_eq!(all_text(&mut far).await, ".");

    // A function that has borrowed the stream can split it, too.
    async fn echo(stream: &mut arc_util::net::TcpStream) -> Result<u8> {
        let (mut read, mut write) = stream.split();
        write.write_u8(1).await?;
        read.read_u8().await
    }
    let (mut near, mut far) = tcp_pair().await;
    far.write_u8(2).await.unwrap();
    assert_eq!(soon(echo(&mut near)).await.unwrap(), 2);
    // With both traits in scope, `split` of a vector and of a slice is std's.
    let fields = b"a,b".to_vec();
    assert_eq!(fields.split(|byte| *byte == b',').count(), 2);
    assert_eq!(fields[..].split(|byte| *byte == b',').count(), 2);
}

#[arc::test]
async fn a_stream_of_lines_gives_its_reader_back() {
    let mut lines = BufReader::new(&b"one\ntwo\nthree"[..]).lines();
    assert_eq!(lines.next().await.unwrap().unwrap(), "one");
    assert_eq!(lines.get_ref().buffer(), b"two\nthree");
    lines.get_mut().consume(4);
    assert_eq!(all_text(lines.into_inner()).await, "three");
    let failed = Script::new([Fails(ErrorKind::Other)]);
    let first = BufReader::new(failed).lines().next().await;
    assert_eq!(kind(first.unwrap_or_else(|| Err(Error::other("none")))), ErrorKind::Other);
}
