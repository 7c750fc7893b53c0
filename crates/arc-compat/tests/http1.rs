//! HTTP/1 server and client of hyper over arc: as they are used,
//! and with peers that break off, dawdle or talk nonsense.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::time::timeout;
use arc_compat::{ArcExecutor, ArcTimer, FuturesIo, HyperIo};
use arc_util::net::{SocketAddr, TcpListener, TcpStream};
use async_channel::{Receiver, Sender};
use futures_util::FutureExt;
use futures_util::future::{Either, join, select};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Executor, Timer};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Body = BoxBody<Bytes, hyper::Error>;
type Answer = std::result::Result<Response<Body>, Infallible>;
type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
/// An emulator or a sanitizer is many times slower: who builds for one sets the variable.
const DEADLINE: Duration =
    Duration::from_secs(if option_env!("ARC_TEST_SLOWLY").is_some() { 240 } else { 20 });

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// Fails instead of hanging for ever.
async fn in_time<F: Future>(future: F) -> Result<F::Output> {
    Ok(timeout(DEADLINE, future).await?)
}

/// `/echo` sends the body back as it comes, `/chunks` sends a body without a
/// length, `/upgrade` turns into an echo of bytes; the rest is a greeting.
async fn answer(mut request: Request<Incoming>) -> Answer {
    let mut response = Response::new(full("hello"));
    match request.uri().path() {
        "/echo" => *response.body_mut() = request.into_body().boxed(),
        "/chunks" => {
            let chunks = ["one ", "two ", "three"].map(|text| Ok(Frame::data(Bytes::from(text))));
            let stream = futures_util::stream::iter(chunks);
            *response.body_mut() = BodyExt::boxed(StreamBody::new(stream));
        }
        "/upgrade" => {
            drop(arc::spawn(async move {
                let upgraded = hyper::upgrade::on(&mut request).await?;
                let parts = upgraded.downcast::<HyperIo<TcpStream>>();
                let parts = parts.map_err(|_| "not what went in")?;
                let mut stream = parts.io.into_inner();
                stream.write_all(&parts.read_buf).await?;
                let mut buffer = [0; 1024];
                loop {
                    match stream.read(&mut buffer).await? {
                        0 => break Result::Ok(()),
                        count => stream.write_all(&buffer[..count]).await?,
                    }
                }
            }));
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let headers = response.headers_mut();
            headers.insert("connection", "upgrade".parse().expect("a value"));
            headers.insert("upgrade", "echo".parse().expect("a value"));
        }
        _ => {}
    }
    Ok(response)
}

/// Serves for as long as the runtime lives.
async fn serve(builder: Builder) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(arc::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = builder.serve_connection(HyperIo::new(stream), service_fn(answer));
            drop(arc::spawn(connection.with_upgrades()));
        }
    }));
    Ok(address)
}

async fn client(address: SocketAddr) -> Result<SendRequest<Body>> {
    let stream = TcpStream::connect(address).await?;
    let (client, connection) = handshake(HyperIo::new(stream)).await?;
    drop(arc::spawn(connection.with_upgrades()));
    Ok(client)
}

fn request(path: &str, body: Body) -> Result<Request<Body>> {
    Ok(Request::post(path).header("host", "localhost").body(body)?)
}

/// Sends a request when the connection can take one; gives the body of the answer.
async fn fetch(client: &mut SendRequest<Body>, path: &str, body: Body) -> Result<Bytes> {
    let exchange = async {
        client.ready().await?;
        let response = client.send_request(request(path, body)?).await?;
        assert_eq!(response.status(), StatusCode::OK);
        Result::Ok(response.into_body().collect().await?.to_bytes())
    };
    in_time(exchange).await?
}

/// That the server still serves.
async fn is_alive(address: SocketAddr) -> Result {
    let mut client = client(address).await?;
    assert_eq!(fetch(&mut client, "/", full("")).await?, "hello");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 4)]
async fn connections_carry_many_requests() -> Result {
    // With a timer that is set and taken back for each of them.
    let mut builder = Builder::new();
    builder.timer(ArcTimer);
    let address = serve(builder).await?;
    let clients = (0..8).map(|_| {
        arc::spawn(async move {
            let mut client = client(address).await?;
            for number in 0..500 {
                let text = number.to_string();
                let body = fetch(&mut client, "/echo", full(text.clone())).await?;
                assert_eq!(body, text);
            }
            Result::Ok(())
        })
    });
    for client in clients.collect::<Vec<_>>() {
        in_time(client).await???;
    }
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn large_bodies_go_both_ways_at_once() -> Result {
    let address = serve(Builder::new()).await?;
    // No two pieces of it are alike.
    let sent: Bytes = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut client = client(address).await?;
    let got = fetch(&mut client, "/echo", full(sent.clone())).await?;
    assert!(got == sent, "what came back is not what was sent");
    // The connection is good for more.
    assert_eq!(fetch(&mut client, "/", full("")).await?, "hello");
    Ok(())
}

#[arc::test]
async fn chunked_bodies_go_both_ways() -> Result {
    let address = serve(Builder::new()).await?;
    let mut client = client(address).await?;
    assert_eq!(fetch(&mut client, "/chunks", full("")).await?, "one two three");
    let chunks = (0..1000).map(|number| Ok(Frame::data(Bytes::from(format!("{number} ")))));
    let chunks = futures_util::stream::iter(chunks);
    let body = fetch(&mut client, "/echo", BodyExt::boxed(StreamBody::new(chunks))).await?;
    let sent: String = (0..1000).map(|number| format!("{number} ")).collect();
    assert_eq!(body, sent);
    Ok(())
}

#[arc::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() -> Result {
    const REQUESTS: usize = 200;
    let address = serve(Builder::new()).await?;
    let mut stream = TcpStream::connect(address).await?;
    let requests: String = (0..REQUESTS)
        .map(|number| {
            let end = if number == REQUESTS - 1 { "Connection: close\r\n" } else { "" };
            format!("POST /echo HTTP/1.1\r\nContent-Length: 4\r\n{end}\r\n{number:04}")
        })
        .collect();
    stream.write_all(requests.as_bytes()).await?;
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await??;
    let bodies: Vec<_> = text.split("\r\n\r\n").skip(1).map(|part| part[..4].to_owned()).collect();
    let sent: Vec<_> = (0..REQUESTS).map(|number| format!("{number:04}")).collect();
    assert_eq!(bodies, sent);
    Ok(())
}

#[arc::test]
async fn a_client_that_has_sent_everything_is_answered() -> Result {
    let address = serve({
        let mut builder = Builder::new();
        builder.half_close(true);
        builder
    })
    .await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await?;
    stream.close().await?;
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await??;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("hello"), "{text}");
    Ok(())
}

#[arc::test]
async fn an_upgraded_connection_is_the_stream_again() -> Result {
    let address = serve(Builder::new()).await?;
    let mut client = client(address).await?;
    let upgrade = Request::get("/upgrade")
        .header("host", "localhost")
        .header("connection", "upgrade")
        .header("upgrade", "echo")
        .body(full(""))?;
    let response = in_time(client.send_request(upgrade)).await??;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let upgraded = in_time(hyper::upgrade::on(response)).await??;
    let parts = upgraded.downcast::<HyperIo<TcpStream>>().expect("what went in");
    assert_eq!(parts.read_buf, "");
    let mut stream = parts.io.into_inner();
    stream.write_all(b"no longer HTTP").await?;
    stream.close().await?;
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await??;
    assert_eq!(text, "no longer HTTP");
    Ok(())
}

/// Serves one connection, which tells of its request, waits for the word, and is
/// told to end meanwhile.
async fn serve_gracefully(
    listener: TcpListener,
    begun: Sender<()>,
    finish: Receiver<()>,
    ending: Receiver<()>,
) -> Result {
    let (stream, _) = listener.accept().await?;
    let answer_late = service_fn(|_: Request<Incoming>| async {
        begun.send(()).await.expect("the test waits");
        finish.recv().await.expect("the test says when");
        Answer::Ok(Response::new(full("late")))
    });
    let connection = Builder::new().serve_connection(HyperIo::new(stream), answer_late);
    let mut connection = pin!(connection);
    let mut ending = pin!(ending.recv());
    match select(connection.as_mut(), ending.as_mut()).await {
        Either::Left((result, _)) => panic!("it ended by itself: {result:?}"),
        Either::Right((told, _)) => told?,
    }
    connection.as_mut().graceful_shutdown();
    finish.close();
    Ok(connection.await?)
}

#[arc::test(flavor = "multi_thread")]
async fn a_graceful_shutdown_finishes_the_request_in_flight() -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (begun, has_begun) = async_channel::bounded(1);
    let (finish, may_finish) = async_channel::bounded(1);
    let (end, ending) = async_channel::bounded(1);
    let server = arc::spawn(serve_gracefully(listener, begun, may_finish, ending));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await?;
    in_time(has_begun.recv()).await??;
    finish.send(()).await?;
    end.send(()).await?;
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await??;
    assert!(text.ends_with("late"), "{text}");
    in_time(server).await???;
    Ok(())
}

#[arc::test]
async fn a_graceful_shutdown_closes_an_idle_connection() -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (begun, _has_begun) = async_channel::bounded(1);
    let (finish, may_finish) = async_channel::bounded(1);
    let (end, ending) = async_channel::bounded(1);
    let server = arc::spawn(serve_gracefully(listener, begun, may_finish, ending));
    let mut client = client(address).await?;
    finish.send(()).await?;
    assert_eq!(fetch(&mut client, "/", full("")).await?, "late");
    end.send(()).await?;
    in_time(server).await???;
    Ok(())
}

#[arc::test(flavor = "multi_thread")]
async fn clients_that_reset_do_not_end_the_server() -> Result {
    let address = serve(Builder::new()).await?;
    for bytes in [
        &b""[..],
        b"GET / HTTP/1.1\r\nHo",
        b"POST /echo HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nsome of it",
        b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        &b"GET / HTTP/1.1\r\n\r\n".repeat(1000),
    ] {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(bytes).await?;
            // Its drop is a reset.
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        }
    }
    is_alive(address).await
}

#[arc::test(flavor = "multi_thread")]
async fn clients_that_send_garbage_do_not_end_the_server() -> Result {
    let address = serve(Builder::new()).await?;
    for bytes in [
        &b"\0\0\0\0\0\0\0\0\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        &[b'x'; 1_000_000],
    ] {
        let mut stream = TcpStream::connect(address).await?;
        // It may be refused before it is read to its end.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = in_time(stream.read_to_end(&mut answer)).await?;
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    }
    is_alive(address).await
}

#[arc::test(flavor = "multi_thread")]
async fn a_server_that_breaks_off_is_an_error_for_the_client() -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = client(listener.local_addr()?).await?;
    let (mut stream, _) = listener.accept().await?;
    let server = arc::spawn(async move {
        let _ = stream.read(&mut [0; 1024]).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await
    });
    let response = in_time(client.send_request(request("/", full(""))?)).await??;
    assert!(in_time(response.into_body().collect()).await?.is_err());
    in_time(server).await???;
    Ok(())
}

/// Not a socket of arc: it goes through the buffer.
#[arc::test(flavor = "multi_thread")]
async fn any_stream_of_futures_io_serves_and_asks() -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;
    let server = FuturesIo::new(arc::io::BufReader::new(server));
    let connection = Builder::new().serve_connection(server, service_fn(answer));
    drop(arc::spawn(connection));
    let client = FuturesIo::new(arc::io::BufReader::new(client));
    let (mut client, connection) = handshake(client).await?;
    drop(arc::spawn(connection));
    let sent: Bytes = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let got = fetch(&mut client, "/echo", full(sent.clone())).await?;
    assert!(got == sent, "what came back is not what was sent");
    assert_eq!(fetch(&mut client, "/chunks", full("")).await?, "one two three");
    Ok(())
}

#[arc::test]
async fn what_points_to_a_socket_serves_too() -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    for _ in 0..2 {
        let client = TcpStream::connect(listener.local_addr()?).await?;
        let (server, _) = listener.accept().await?;
        let serving = Builder::new().serve_connection(HyperIo::new(&server), service_fn(answer));
        let asking = async {
            let (mut sender, connection) = handshake(HyperIo::new(Box::new(client))).await?;
            drop(arc::spawn(connection));
            let response = sender.send_request(Request::new(Empty::<Bytes>::new())).await?;
            Result::Ok(response.into_body().collect().await?.to_bytes())
        };
        let (served, got) = in_time(join(serving, asking)).await?;
        served?;
        assert_eq!(got?, "hello");
    }
    Ok(())
}

#[arc::test]
async fn the_timer_can_be_set_earlier_and_later() -> Result {
    let start = Instant::now();
    let mut sleep = ArcTimer.sleep(Duration::from_secs(3600));
    // Armed first, so that there is something to disarm.
    assert!(sleep.as_mut().now_or_never().is_none());
    let place = &raw const *sleep;
    ArcTimer.reset(&mut sleep, start + Duration::from_millis(10));
    assert!(std::ptr::addr_eq(place, &raw const *sleep), "a new allocation");
    in_time(sleep.as_mut()).await?;
    assert!(start.elapsed() >= Duration::from_millis(10));

    // After it was over, and later than at first.
    ArcTimer.reset(&mut sleep, start + Duration::from_millis(40));
    in_time(sleep).await?;
    assert!(start.elapsed() >= Duration::from_millis(40));

    // Another timer's sleep is replaced.
    struct Never;
    impl hyper::rt::Sleep for Never {}
    impl Future for Never {
        type Output = ();
        fn poll(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<()> {
            std::task::Poll::Pending
        }
    }
    let mut sleep: std::pin::Pin<Box<dyn hyper::rt::Sleep>> = Box::pin(Never);
    ArcTimer.reset(&mut sleep, ArcTimer.now());
    in_time(sleep).await?;
    Ok(())
}

#[arc::test]
async fn the_executor_spawns() -> Result {
    let (sender, receiver) = async_channel::bounded(1);
    let value = Arc::new(7);
    ArcExecutor.execute(async move { sender.send(value).await });
    assert_eq!(*in_time(receiver.recv()).await??, 7);
    Ok(())
}
