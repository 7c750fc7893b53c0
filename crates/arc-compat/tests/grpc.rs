//! gRPC by tonic, over arc's HTTP/2: the parts of tonic that know no runtime. What
//! tonic-build would generate is written out here.

use crate::common::{Failure, Result, http2_client, listen, soon};
use arc_compat::server::serve;
use arc_util::net::SocketAddr;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::http::uri::PathAndQuery;
use std::convert::Infallible;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::client::Grpc as Client;
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Service;

/// A text and how often it is to be said.
#[derive(Clone, PartialEq, prost::Message)]
struct Saying {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(uint32, tag = "2")]
    times: u32,
}

fn saying(text: impl Into<String>, times: u32) -> Saying {
    Saying { text: text.into(), times }
}

/// The server's side: `arc.Echo/Once` and `arc.Echo/Stream`.
#[derive(Clone)]
struct Echo;

struct Once;

impl UnaryService<Saying> for Once {
    type Response = Saying;
    type Future = BoxFuture<'static, Result2<Response<Saying>>>;

    fn call(&mut self, request: Request<Saying>) -> Self::Future {
        Box::pin(async move {
            let shout = request.metadata().get("shout").is_some();
            let Saying { text, times } = request.into_inner();
            if times == 0 {
                return Err(Status::invalid_argument("not even once"));
            }
            let text = if shout { text.to_uppercase() } else { text };
            Ok(Response::new(saying(text.repeat(times as usize), 1)))
        })
    }
}

type Result2<T> = std::result::Result<T, Status>;

struct Stream;

impl StreamingService<Saying> for Stream {
    type Response = Saying;
    type ResponseStream = BoxStream<'static, Result2<Saying>>;
    type Future = BoxFuture<'static, Result2<Response<Self::ResponseStream>>>;

    /// Answers each as it comes.
    fn call(&mut self, request: Request<Streaming<Saying>>) -> Self::Future {
        let answers = request.into_inner().map(|it| it.map(|it| saying(it.text, it.times + 1)));
        Box::pin(async move { Ok(Response::new(answers.boxed())) })
    }
}

impl Service<hyper::Request<Incoming>> for Echo {
    type Response = hyper::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, std::result::Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Incoming>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<Saying, Saying>::default());
            Ok(match request.uri().path() {
                "/arc.Echo/Once" => grpc.unary(Once, request).await,
                "/arc.Echo/Stream" => grpc.streaming(Stream, request).await,
                _ => Status::unimplemented("arc.Echo has it not").into_http(),
            })
        })
    }
}

/// The client's side: a connection as a service of tower.
#[derive(Clone)]
struct Channel(SendRequest<Body>);

impl Service<hyper::Request<Body>> for Channel {
    type Response = hyper::Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, hyper::Result<Self::Response>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: hyper::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

async fn start() -> Result<SocketAddr> {
    let (listener, address) = listen().await?;
    drop(arc::spawn(async move { serve(listener, Echo).await }));
    Ok(address)
}

async fn client() -> Result<Client<Channel>> {
    let address = start().await?;
    let channel = Channel(http2_client(address).await?);
    Ok(Client::with_origin(channel, format!("http://{address}").parse()?))
}

async fn once(
    client: &mut Client<Channel>,
    path: &'static str,
    request: Request<Saying>,
) -> Result<Result2<Saying>> {
    soon(client.ready()).await?;
    let codec = ProstCodec::<Saying, Saying>::default();
    let answer = soon(client.unary(request, PathAndQuery::from_static(path), codec)).await;
    Ok(answer.map(Response::into_inner))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_call_is_answered_and_an_error_is_told() -> Result {
    let mut client = client().await?;
    let answer = once(&mut client, "/arc.Echo/Once", Request::new(saying("arc ", 3))).await??;
    assert_eq!(answer, saying("arc arc arc ", 1));
    let mut request = Request::new(saying("arc", 1));
    request.metadata_mut().insert("shout", "yes".parse()?);
    let answer = once(&mut client, "/arc.Echo/Once", request).await??;
    assert_eq!(answer, saying("ARC", 1));
    let large = saying("x".repeat(3 << 20), 1);
    let answer = once(&mut client, "/arc.Echo/Once", Request::new(large.clone())).await??;
    assert!(answer == large, "{} bytes came back", answer.text.len());
    let error = once(&mut client, "/arc.Echo/Once", Request::new(saying("arc", 0))).await?;
    let error = error.expect_err("it has no answer");
    assert_eq!((error.code(), error.message()), (Code::InvalidArgument, "not even once"));
    let error = once(&mut client, "/arc.Echo/Other", Request::new(saying("arc", 1))).await?;
    assert_eq!(error.expect_err("there is none").code(), Code::Unimplemented);
    Ok(())
}

/// Each message is sent when the last has been answered: neither side collects them.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn messages_stream_both_ways_at_once() -> Result {
    let mut client = client().await?;
    let (sender, receiver) = async_channel::bounded(1);
    sender.send(saying("to and fro", 0)).await?;
    soon(client.ready()).await?;
    let path = PathAndQuery::from_static("/arc.Echo/Stream");
    let codec = ProstCodec::<Saying, Saying>::default();
    let answers = soon(client.streaming(Request::new(receiver), path, codec)).await?;
    let mut answers = answers.into_inner();
    for times in 1..100 {
        let answer = soon(answers.message()).await?.expect("not at its end");
        assert_eq!(answer, saying("to and fro", times));
        sender.send(answer).await?;
    }
    drop(sender);
    assert_eq!(soon(answers.message()).await?.expect("the last").times, 100);
    assert_eq!(soon(answers.message()).await?, None);
    let status = soon(answers.trailers()).await?;
    assert!(status.is_some(), "the trailers have come");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn calls_of_one_connection_run_at_once() -> Result {
    let client = client().await?;
    let calls = (1..=50).map(|times| {
        let mut client = Client::clone(&client);
        async move {
            let request = Request::new(saying("a", times));
            let answer = once(&mut client, "/arc.Echo/Once", request).await??;
            Result::Ok(answer.text.len())
        }
    });
    let lengths: Vec<_> = stream::iter(calls).buffer_unordered(50).collect().await;
    let sum = lengths.into_iter().sum::<std::result::Result<usize, Failure>>()?;
    assert_eq!(sum, 50 * 51 / 2);
    Ok(())
}
