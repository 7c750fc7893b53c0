//! tower's layers around a service, without a runtime of tokio's.

use crate::common::{self, Failure, Result, http2_client, listen, soon};
use arc_compat::server;
use arc_compat::tower::TimeoutLayer;
use axum::{Router, error_handling::HandleErrorLayer, routing::get};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::future::{pending, ready};
use std::time::Duration;
use tower::buffer::Buffer;
use tower::load_shed::error::Overloaded;
use tower::{ServiceBuilder, service_fn};

/// What becomes of the errors of a stack.
async fn answer(error: Failure) -> StatusCode {
    if error.is::<Overloaded>() {
        StatusCode::SERVICE_UNAVAILABLE
    } else if error.is::<arc_util::time::Elapsed>() {
        StatusCode::GATEWAY_TIMEOUT
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    }
}

async fn ask(client: &mut SendRequest<Empty<Bytes>>, path: &str) -> Result<(StatusCode, String)> {
    let response = soon(client.send_request(common::get(path)?)).await?;
    let status = response.status();
    let body = soon(response.into_body().collect()).await?.to_bytes();
    Ok((status, String::from_utf8(body.into())?))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_stack_sheds_load_beyond_its_limit_and_recovers() -> Result {
    const LIMIT: usize = 3;
    let (begun, beginnings) = async_channel::unbounded::<()>();
    let (go, gate) = async_channel::bounded::<()>(1);
    let slow = move || async move {
        begun.send(()).await.expect("the test waits for it");
        assert!(gate.recv().await.is_err(), "closed when it may go on");
        "served"
    };
    let stack = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(answer))
        .load_shed()
        .concurrency_limit(LIMIT)
        .layer(TimeoutLayer::new(Duration::from_secs(3600)));
    let router = Router::new().route("/", get(slow)).layer(stack);
    let address = common::start(router, |server| server).await?;
    let client = http2_client(address).await?;
    let mut admitted = Vec::new();
    for _ in 0..LIMIT {
        let mut client = client.clone();
        admitted.push(arc::spawn(async move { ask(&mut client, "/").await }));
        soon(beginnings.recv()).await?;
    }
    let mut client = client;
    assert_eq!(ask(&mut client, "/").await?.0, StatusCode::SERVICE_UNAVAILABLE);
    drop(go);
    let served = (StatusCode::OK, "served".to_owned());
    for task in admitted {
        assert_eq!(soon(task).await??, served);
    }
    // A permit is given back just after its response was sent.
    let again = async {
        loop {
            match ask(&mut client, "/").await? {
                (StatusCode::SERVICE_UNAVAILABLE, _) => {}
                answer => break Result::Ok(answer),
            }
        }
    };
    assert_eq!(soon(again).await?, served);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_timeout_ends_what_never_answers() -> Result {
    let stack = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(answer))
        .layer(TimeoutLayer::new(Duration::from_millis(5)));
    let never = get(pending::<&str>);
    let router = Router::new().route("/", never).route("/soon", get(|| ready("in time")));
    let address = common::start(router.layer(stack), |server| server).await?;
    let mut client = http2_client(address).await?;
    assert_eq!(ask(&mut client, "/").await?.0, StatusCode::GATEWAY_TIMEOUT);
    // Its time may be over before it is polled, on a machine that has other things to do.
    let again = async {
        loop {
            if ask(&mut client, "/soon").await?.0 == StatusCode::OK {
                break Result::Ok(());
            }
        }
    };
    soon(again).await
}

/// `Buffer::new` wants `tokio::spawn`; `Buffer::pair` leaves its worker to the caller.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_buffer_shares_one_service_among_connections() -> Result {
    let mut count = 0;
    let counting = service_fn(move |_: Request<Incoming>| {
        count += 1;
        ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(count.to_string()))))
    });
    let (service, worker) = Buffer::pair(counting, 16);
    let worker = arc::spawn(worker);
    let (listener, address) = listen().await?;
    let server = arc::spawn(async move { server::serve(listener, service).await });
    for expected in 1..=5 {
        let mut client = http2_client(address).await?;
        assert_eq!(ask(&mut client, "/").await?.1, expected.to_string());
    }
    // Without a service that could send it anything, the worker ends.
    server.abort();
    assert!(soon(server).await.is_err_and(|error| error.is_cancelled()));
    soon(worker).await?;
    Ok(())
}
