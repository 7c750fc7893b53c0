//! A gRPC server and client with tonic on arc.
//!
//! The example does not use tonic's `transport`, which needs tokio. Its service and its client
//! are written by hand. tonic-build generates the same two parts if
//! `.build_transport(false)` is set.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example grpc
//! arc says: Hello, gRPC!
//! without a name: InvalidArgument, who are you?
//! ```

use arc::compat::{ArcExecutor, HyperIo, server::serve};
use arc::net::{TcpListener, TcpStream};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::http::uri::PathAndQuery;
use std::convert::Infallible;
use std::error::Error;
use tonic::body::Body;
use tonic::{Request, Response, Status, client, server};
use tonic_prost::ProstCodec;
use tower::service_fn;

#[derive(Clone, PartialEq, prost::Message)]
struct HelloRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HelloReply {
    #[prost(string, tag = "1")]
    message: String,
}

struct SayHello;

impl server::UnaryService<HelloRequest> for SayHello {
    type Response = HelloReply;
    type Future = BoxFuture<'static, Result<Response<HelloReply>, Status>>;

    fn call(&mut self, request: Request<HelloRequest>) -> Self::Future {
        Box::pin(async move {
            let name = request.into_inner().name;
            if name.is_empty() {
                return Err(Status::invalid_argument("who are you?"));
            }
            Ok(Response::new(HelloReply { message: format!("Hello, {name}!") }))
        })
    }
}

/// The server: finds the method for a path.
async fn greeter(request: hyper::Request<Incoming>) -> Result<hyper::Response<Body>, Infallible> {
    Ok(match request.uri().path() {
        "/hello.Greeter/SayHello" => {
            let mut grpc = server::Grpc::new(ProstCodec::<HelloReply, HelloRequest>::default());
            grpc.unary(SayHello, request).await
        }
        _ => Status::unimplemented("there is only SayHello").into_http(),
    })
}

#[arc::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(arc::spawn(async move { serve(listener, service_fn(greeter)).await }));

    let stream = HyperIo::new(TcpStream::connect(address).await?);
    let (sender, connection) = http2::handshake(ArcExecutor, stream).await?;
    drop(arc::spawn(connection));
    // The client: a service whose clones share one connection.
    let channel = service_fn(move |request| sender.clone().send_request(request));
    let mut client = client::Grpc::with_origin(channel, format!("http://{address}").parse()?);
    for name in ["gRPC", ""] {
        client.ready().await?;
        let request = Request::new(HelloRequest { name: name.to_owned() });
        let path = PathAndQuery::from_static("/hello.Greeter/SayHello");
        let codec = ProstCodec::<HelloRequest, HelloReply>::default();
        match client.unary(request, path, codec).await {
            Ok(reply) => println!("arc says: {}", reply.into_inner().message),
            Err(status) => println!("without a name: {:?}, {}", status.code(), status.message()),
        }
    }
    Ok(())
}
