//! Crates that need a tokio runtime: reqwest sends a request to an axum server, and arc runs
//! both.
//!
//! The feature `tokio-rt` of arc-async is on. So each runtime of arc's is in the context of a tokio
//! runtime, which has one worker thread, and no line here says so.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example in_tokio
//! reqwest got: 200 OK, Hello, reqwest!
//! tokio::spawn gave: 42
//! ```

use arc::compat::axum::serve;
use arc::net::TcpListener;
use axum::{Router, routing::get};
use std::error::Error;
use std::time::Duration;

#[arc::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let router = Router::new().route("/", get(|| async { "Hello, reqwest!" }));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    drop(arc::spawn(async move { serve(listener, router).await }));

    let client = reqwest::Client::builder().no_proxy().build()?;
    let response = client.get(url).timeout(Duration::from_secs(10)).send().await?;
    println!("reqwest got: {}, {}", response.status(), response.text().await?);

    let spawned = tokio::spawn(async { 6 * 7 });
    println!("tokio::spawn gave: {}", spawned.await?);
    Ok(())
}
