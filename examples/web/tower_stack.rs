//! tower's layers on arc: a service that handles two requests at a time, rejects further ones,
//! and cancels those that take too long.
//!
//! No layer needs a tokio runtime, because the timeout is that of `arc::compat`.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example tower_stack
//! quick: quick is done
//! endless: deadline has elapsed
//! another endless: deadline has elapsed
//! one too many: service overloaded
//! ```

use arc::compat::tower::TimeoutLayer;
use std::error::Error;
use std::time::Duration;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

type Failure = Box<dyn Error + Send + Sync>;

#[arc::main]
async fn main() -> Result<(), Failure> {
    let mut stack = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(2)
        .layer(TimeoutLayer::new(Duration::from_millis(100)))
        .service(service_fn(work));
    say("quick", stack.ready().await?.call("quick").await);
    // `call` starts a request. Each response is awaited in a task of its own.
    let names = ["endless", "another endless", "one too many"];
    let mut responses = Vec::new();
    for name in names {
        responses.push(arc::spawn(stack.ready().await?.call(name)));
    }
    for (name, response) in names.into_iter().zip(responses) {
        say(name, response.await?);
    }
    Ok(())
}

async fn work(name: &'static str) -> Result<String, Failure> {
    if name != "quick" {
        std::future::pending::<()>().await;
    }
    Ok(format!("{name} is done"))
}

fn say(name: &str, result: Result<String, Failure>) {
    match result {
        Ok(text) => println!("{name}: {text}"),
        Err(error) => println!("{name}: {error}"),
    }
}
