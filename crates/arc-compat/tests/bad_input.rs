//! Senseless input to every constructor and option of arc-compat: each is refused by an
//! error or a panic that says what is wrong, or does what its documentation says.

use crate::bad_input_common::{fails, goes, panicked, panics, refuses};
use crate::common::{self, Result, listen, soon};
use arc::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use arc::runtime::Runtime;
use arc_compat::axum::{Response, Serve, WebSocketUpgrade, serve};
use arc_compat::tokio::Compat;
use arc_compat::tower::TimeoutLayer;
use arc_compat::{ArcExecutor, ArcTimer, FuturesIo, server};
use arc_util::net::{SocketAddr, TcpStream};
use async_tungstenite::tungstenite::protocol::WebSocketConfig;
use axum::{Router, routing::get};
use futures_util::FutureExt;
use hyper::rt::{Executor, Timer};
use std::future::{pending, ready};
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tower::{Layer, ServiceExt, service_fn};

#[arc::test(flavor = "multi_thread", workers = 1)]
async fn timeouts_of_any_length() {
    let never = || service_fn(|()| pending::<io::Result<()>>());
    let at_once = || service_fn(|()| ready(io::Result::Ok(())));
    let layer = TimeoutLayer::new(Duration::ZERO);
    let error = soon(layer.layer(never()).oneshot(())).await.unwrap_err();
    assert!(error.is::<arc_util::time::Elapsed>());
    soon(layer.layer(at_once()).oneshot(())).await.unwrap();
    goes("TimeoutLayer::new", "ZERO", "Elapsed, unless the answer is there at once");
    let layer = TimeoutLayer::new(Duration::MAX);
    let mut waits = pin!(layer.layer(never()).oneshot(()));
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    soon(layer.layer(at_once()).oneshot(())).await.unwrap();
    goes("TimeoutLayer::new", "MAX", "waits");
}

#[arc::test(flavor = "multi_thread", workers = 1)]
async fn timers_of_hyper_go_to_any_instant() {
    let poll = |sleep: Pin<&mut dyn hyper::rt::Sleep>| {
        sleep.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    };
    let mut sleep = ArcTimer.sleep(Duration::MAX);
    assert!(!poll(sleep.as_mut()));
    goes("ArcTimer::sleep", "MAX", "waits");
    let past = Instant::now().checked_sub(Duration::from_secs(3600));
    let past = past.unwrap_or_else(Instant::now);
    ArcTimer.reset(&mut sleep, past);
    assert!(poll(sleep.as_mut()));
    assert!(poll(ArcTimer.sleep_until(past).as_mut()));
    goes("ArcTimer::sleep_until, reset", "an hour ago", "is over at once");
}

#[test]
fn what_is_spawned_and_slept_needs_a_runtime() {
    let text = "outside an arc runtime";
    let execute = || ArcExecutor.execute(ready(()));
    panics("ArcExecutor::execute", "outside a runtime", text, execute);
    let sleep = || {
        let mut sleep = ArcTimer.sleep(Duration::MAX);
        sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    };
    panics("ArcTimer::sleep", "outside a runtime", text, sleep);
}

/// The listener belongs to the runtime that has ended, the server to another.
#[test]
fn a_listener_of_a_runtime_that_has_ended_is_an_error_of_serve() {
    let ended = Runtime::new().unwrap();
    let (listener, _) = ended.block_on(listen()).unwrap();
    drop(ended);
    let served =
        Runtime::new().unwrap().block_on(soon(serve(listener, Router::new()).into_future()));
    fails("axum::serve", "a listener of a runtime that has ended", served);
}

/// What a server answers to a request by HTTP/1, until it ends the connection.
async fn ask(address: SocketAddr, head: &[u8]) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(head).await?;
    let mut answer = Vec::new();
    // It may be reset.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// hyper says so by a panic in each connection; the server itself goes on.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_time_limit_without_a_timer_ends_each_connection() -> Result {
    let mut builder = server::Builder::new(ArcExecutor);
    builder.http1().header_read_timeout(Duration::from_secs(5));
    let router = Router::new().route("/", get(|| ready("hello")));
    let address = common::start(router, |server| server.with_builder(builder)).await?;
    for _ in 0..3 {
        assert_eq!(ask(address, GET).await?, "");
    }
    let outcome = "each connection panics, and is closed; the server goes on";
    goes("Serve::with_builder", "header_read_timeout without a timer", outcome);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn limits_of_a_server_of_any_size() -> Result {
    let router = || Router::new().route("/", get(|| ready("hello")));
    let limited = |server: Serve<Router>, limit| {
        let server = server.with_first_bytes_timeout(limit).with_write_timeout(limit);
        server.with_header_timeout(limit).with_shutdown_timeout(limit)
    };
    let address = common::start(router(), |server| {
        let server = limited(server, Duration::MAX).with_max_connections(usize::MAX);
        server.with_http2_keep_alive(Duration::MAX, Duration::MAX)
    })
    .await?;
    assert!(ask(address, GET).await?.starts_with("HTTP/1.1 200"));
    // Without keep-alive no time is added to an instant, which would panic.
    drop(soon(crate::common::silent_http2(address)).await?);
    goes("Serve::with_..", "MAX", "no limits");

    let zero = |server| limited(server, Duration::ZERO);
    let (address, ended, server) = common::start_ending(router(), zero).await?;
    // What is not there at once comes too late.
    let answer = ask(address, GET).await?;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(ask(address, b"").await?, "");
    drop(ended);
    soon(server).await??;
    goes("Serve::with_..", "ZERO", "what is not there at once comes too late");

    let (listener, _) = listen().await?;
    let text = "at least one connection";
    let none = || serve(listener, router()).with_max_connections(0);
    panics("Serve::with_max_connections", "0", text, none);
    let (listener, _) = listen().await?;
    let text = "some time between two pings";
    let always = || serve(listener, router()).with_http2_keep_alive(Duration::ZERO, Duration::ZERO);
    panics("Serve::with_http2_keep_alive", "ZERO", text, always);
    Ok(())
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.protocols(["", "grüß", "plain"]);
    upgrade.on_upgrade(|_| ready(()))
}

/// A header is bytes, which need not be ASCII; and a list can have empty elements.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn protocols_of_websockets_are_any_text() -> Result {
    let router = Router::new().route("/", get(upgrade));
    let address = common::start(router, |server| server).await?;
    for (asked, input, selected) in [
        ("grüß, plain", "not ASCII", Some("grüß")),
        (", plain,,", "empty ones", Some("plain")),
        ("other", "one that is not known", None),
        (",", "only empty ones", None),
    ] {
        let head = format!(
            "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\
             sec-websocket-protocol: {asked}\r\n\r\n"
        );
        let answer = ask(address, head.as_bytes()).await?;
        assert!(answer.starts_with("HTTP/1.1 101"), "{input}: {answer}");
        let header = "sec-websocket-protocol: ";
        let answered = answer.lines().find_map(|line| line.strip_prefix(header));
        assert_eq!(answered, selected, "{input}");
        goes("WebSocketUpgrade::protocols", input, format!("selects {selected:?}"));
    }
    Ok(())
}

async fn narrow(upgrade: WebSocketUpgrade) {
    let config = WebSocketConfig::default().write_buffer_size(9).max_write_buffer_size(9);
    let text = "max_write_buffer_size must be more than 9, not 9";
    panics("WebSocketUpgrade::config", "a largest buffer that is not larger", text, || {
        upgrade.config(config)
    });
}

/// Before the client is told that there is a WebSocket.
#[arc::test(flavor = "multi_thread", workers = 1)]
async fn buffers_of_websockets_that_cannot_be_are_refused() -> Result {
    let router = Router::new().route("/ws", get(narrow));
    let address = common::start(router, |server| server).await?;
    let answer = ask(address, common::UPGRADE.as_bytes()).await?;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Ok(())
}

/// A stream that says it has read more than there was room for.
struct Liar;

impl AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buffer.len() + 1))
    }
}

#[arc::test(flavor = "multi_thread", workers = 1)]
async fn a_stream_that_claims_too_much_panics() {
    let input = "a stream that claims to have read too much";
    let mut bytes = [0; 8];
    let mut buffer = hyper::rt::ReadBuf::new(&mut bytes);
    let mut context = Context::from_waker(Waker::noop());
    let read =
        || hyper::rt::Read::poll_read(pin!(FuturesIo::new(Liar)), &mut context, buffer.unfilled());
    panics("FuturesIo::new", input, "out of range", read);
    let mut bytes = [0; 8];
    let read = async { tokio::io::AsyncReadExt::read(&mut Compat::new(Liar), &mut bytes).await };
    let payload = AssertUnwindSafe(read).catch_unwind().await.unwrap_err();
    panicked("tokio::Compat::new", input, "filled", &*payload);
}

/// tokio's runtime cannot be started; once it can, it is.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_tokio_is_not_entered() {
    let name = "bad_input::without_threads_tokio_is_not_entered";
    crate::thread_limit::with_limited_threads(name, || {
        let runtime = Runtime::new().unwrap();
        crate::thread_limit::allow_threads(0);
        // The error of the system itself does not say what is missing.
        let text = "thread";
        let input = "there are no threads left";
        panics("tokio::handle", input, text, arc_compat::tokio::handle);
        let enter = || runtime.block_on(arc_compat::tokio::enter(ready(())));
        panics("tokio::enter", input, text, enter);
        crate::thread_limit::allow_threads(1000);
        let answer = arc_compat::tokio::enter(async { tokio::spawn(ready(42)).await });
        assert_eq!(runtime.block_on(answer).unwrap(), 42);
    });
}

/// tokio's runtime, which the first one of arc-util's needs, has three threads. Of these the system
/// starts none, or the first alone, or two. For want of the second, tokio's own builder panics.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_for_tokio_no_runtime_is_built() {
    let name = "bad_input::without_threads_for_tokio_no_runtime_is_built";
    crate::thread_limit::with_limited_threads(name, || {
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let at_first = threads();
        let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::Other, io::ErrorKind::WouldBlock];
        for (left, kind) in kinds.into_iter().enumerate() {
            crate::thread_limit::allow_threads(left);
            let built = arc_util::runtime::Runtime::new();
            let input = format!("{left} threads are left");
            let text = "Resource temporarily unavailable";
            refuses("runtime::Builder::build", &input, built, kind, text);

            // What was started ends in the background, and must not be counted by the next limit.
            while threads() > at_first {
                std::thread::yield_now();
            }
        }

        crate::thread_limit::allow_threads(1000);
        let runtime = arc_util::runtime::Runtime::new().unwrap();
        let task = async { tokio::spawn(ready(42)).await };
        assert_eq!(runtime.block_on(task).unwrap(), 42);
    });
}
