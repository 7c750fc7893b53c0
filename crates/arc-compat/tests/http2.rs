//! hyper's HTTP/2 server and client, both on arc.

use crate::common::{self, Result, http2_client, listen, soon};
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc_compat::{ArcExecutor, ArcTimer, HyperIo};
use arc_util::net::SocketAddr;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use std::time::Duration;

/// Each request waits for all of them: were they answered one after the other, none would
/// ever be.
const STREAMS: usize = 20;

/// Far beyond the windows of a stream (64 KiB) and of a connection (1 MiB): without
/// updates, which each side has to send while it reads, the body does not arrive.
const LARGE_BYTES: usize = 5 << 20;

/// Serves by one handler for as long as the runtime lives.
async fn serve<H, F>(handler: H) -> Result<SocketAddr>
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>>> + Send + 'static,
{
    let (listener, address) = listen().await?;
    drop(arc::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut builder = Builder::new(ArcExecutor);
            builder.timer(ArcTimer);
            let service = service_fn(handler.clone());
            drop(arc::spawn(builder.serve_connection(HyperIo::new(stream), service)));
        }
    }));
    Ok(address)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn streams_of_one_connection_are_concurrent() -> Result {
    let (arrived, arrivals) = async_channel::unbounded();
    let (go, gate) = async_channel::bounded::<()>(1);
    let address = serve(move |request| {
        let (arrived, gate) = (arrived.clone(), gate.clone());
        async move {
            assert_eq!(request.version(), Version::HTTP_2);
            arrived.send(()).await?;
            // Closed when all have arrived.
            assert!(gate.recv().await.is_err());
            let path = request.uri().path().to_owned();
            Ok(Response::new(Full::new(path.into())))
        }
    });
    let client = http2_client(address.await?).await?;
    let requests = (0..STREAMS).map(|number| {
        let mut client = client.clone();
        async move {
            let response = client.send_request(common::get(&format!("/{number}"))?).await?;
            let body = response.into_body().collect().await?.to_bytes();
            assert_eq!(body, format!("/{number}"));
            Result::Ok(())
        }
    });
    let requests = arc::spawn(try_join_all(requests));
    for _ in 0..STREAMS {
        soon(arrivals.recv()).await?;
    }
    drop(go);
    soon(requests).await??;
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn bodies_beyond_the_windows_arrive_both_ways() -> Result {
    let address = serve(async |request: Request<Incoming>| {
        let body = request.into_body().collect().await?.to_bytes();
        Ok(Response::new(Full::new(body)))
    });
    let client = http2_client(address.await?).await?;
    let sent = Bytes::from_iter((0..LARGE_BYTES).map(|at| (at % 251) as u8));
    let requests = (0..3).map(|_| {
        let (mut client, sent) = (client.clone(), sent.clone());
        async move {
            let request = Request::post("http://localhost/").body(Full::new(sent.clone()))?;
            let response = client.send_request(request).await?;
            let got = response.into_body().collect().await?.to_bytes();
            assert!(got == sent, "{} bytes came back", got.len());
            Result::Ok(())
        }
    });
    soon(try_join_all(requests)).await?;
    Ok(())
}

// On one thread, because hyper's client ends in two steps: the task with the socket drops its end
// of a channel first, and the error of the connection comes after it. A thread that polls
// `connection` in between sees an ordinary end.
#[arc::test(flavor = "current_thread")]
async fn a_server_that_has_fallen_silent_is_noticed_by_arcs_timer() -> Result {
    let (listener, address) = listen().await?;
    let silent = arc::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        // An empty SETTINGS frame, which opens the connection. No ping is answered.
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
        stream.read_to_end(&mut Vec::new()).await
    });
    let stream = HyperIo::new(arc_util::net::TcpStream::connect(address).await?);
    let mut builder = hyper::client::conn::http2::Builder::new(ArcExecutor);
    builder.timer(ArcTimer).keep_alive_while_idle(true);
    builder.keep_alive_interval(Duration::from_millis(5));
    builder.keep_alive_timeout(Duration::from_millis(5));
    let (client, connection) = soon(builder.handshake::<_, Empty<Bytes>>(stream)).await?;
    let error = soon(connection).await.expect_err("nobody answers");
    assert!(error.is_timeout(), "{error:?}");
    drop(client);
    soon(silent).await??;
    Ok(())
}
