//! axum on arc: its Router is served by [`serve`], and WebSockets are arc's tasks.
//!
//! `axum::serve` and axum's own `ws` hand their work to `tokio::spawn`, and tell so only
//! by a panic when there is no runtime of tokio's. Everything else of axum runs as it is:
//! take it with `default-features = false`, without its features `tokio` and `ws`.
//!
//! # Examples
//!
//! A server that sends back what comes in by WebSocket:
//!
//! ```no_run
//! use arc::net::TcpListener;
//! use arc_compat::axum::{Response, WebSocket, WebSocketUpgrade};
//! use axum::{Router, routing::get};
//! use futures_util::StreamExt;
//!
//! async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
//!     upgrade.on_upgrade(echo)
//! }
//!
//! async fn echo(mut socket: WebSocket) {
//!     while let Some(Ok(message)) = socket.next().await {
//!         if message.is_text() && socket.send(message).await.is_err() {
//!             break;
//!         }
//!     }
//! }
//!
//! #[arc::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:8080").await?;
//!     arc_compat::axum::serve(listener, Router::new().route("/", get(upgrade))).await
//! }
//! ```

pub use crate::server::{ConnectInfo, Serve};
pub use axum::response::Response;

use crate::FuturesIo;
use crate::server::{self, Answer};
use arc::net::TcpListener;
use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::handshake::derive_accept_key;
use async_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use hyper::upgrade::{OnUpgrade, Upgraded};
use std::future::Future;

/// Serves a Router by [`server::serve`], whose documentation holds
/// for it.
///
/// It makes the routes once, as `axum::serve` does. As a mere tower service a Router makes
/// them again for each request, unless `with_state(())` was called last: that costs time,
/// and layers that count, such as a limit of concurrent requests, begin anew.
///
/// # Examples
///
/// ```
/// use arc::net::TcpListener;
/// use axum::{Router, routing::get};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let router = Router::new().route("/", get(|| async { "Hello, World!" }));
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let signal = async {};
/// arc_compat::axum::serve(listener, router).with_graceful_shutdown(signal).await
/// # }
/// ```
pub fn serve(listener: TcpListener, router: Router) -> Serve<Router> {
    server::serve(listener, router.with_state(()))
}

/// A connection of WebSocket; its messages are async-tungstenite's.
pub type WebSocket = WebSocketStream<FuturesIo<Upgraded>>;

/// The extractor that turns a request into a WebSocket, as axum's own does with tokio.
///
/// It is for HTTP/1.1: WebSockets over HTTP/2 are turned down.
///
/// # Errors
///
/// The request is answered with 426 when it asks for another version of WebSocket than 13,
/// which the answer names; and with 400 when it is not an upgrade to WebSocket, has no key of
/// 16 bytes, or does not come by [`serve`].
///
/// # Examples
///
/// See the [module's](self).
#[derive(Debug)]
#[must_use = "the WebSocket begins with `on_upgrade`"]
pub struct WebSocketUpgrade {
    key: HeaderValue,
    requested: Vec<HeaderValue>,
    selected: Option<HeaderValue>,
    config: WebSocketConfig,
    on_upgrade: OnUpgrade,
    answer: Option<Answer>,
}

impl WebSocketUpgrade {
    /// Limits and buffers other than tungstenite's.
    ///
    /// # Panics
    ///
    /// When `max_write_buffer_size` is not more than `write_buffer_size`.
    #[track_caller]
    pub fn config(self, config: WebSocketConfig) -> Self {
        let (least, most) = (config.write_buffer_size, config.max_write_buffer_size);
        assert!(most > least, "max_write_buffer_size must be more than {least}, not {most}");
        Self { config, ..self }
    }

    /// Selects the first of these protocols that the client has asked for. An empty name is
    /// none.
    pub fn protocols(self, known: impl IntoIterator<Item = &'static str>) -> Self {
        let requested = |name: &str| self.requested.iter().find(|it| *it == name).cloned();
        // As the client wrote it: of what is not ASCII no header could be made here.
        let selected = known.into_iter().find_map(requested);
        Self { selected, ..self }
    }

    /// The protocol that was selected.
    pub fn selected_protocol(&self) -> Option<&HeaderValue> {
        self.selected.as_ref()
    }

    /// Answers the request, and runs `callback` with the WebSocket in a task of its own. It
    /// is not run if the connection breaks before, nor, by [`serve`], if something else is
    /// answered in the end: by a layer that refuses, or a timeout. (A server of your own is
    /// not asked: hyper hands over the connection once it has come to its end.)
    ///
    /// # Panics
    ///
    /// Outside a runtime. A panic of the callback stays in its task.
    pub fn on_upgrade<C, F>(self, callback: C) -> Response
    where
        C: FnOnce(WebSocket) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { key, selected, config, on_upgrade, answer, .. } = self;
        drop(arc::spawn(async move {
            let upgraded = on_upgrade.await;
            let is_refused = answer.is_some_and(|answer| !answer.is_upgrade());
            if let Ok(upgraded) = upgraded
                && !is_refused
            {
                let stream = FuturesIo::new(upgraded);
                let socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
                callback(socket.await).await;
            }
        }));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept.expect("base64 is a value"));
        if let Some(protocol) = selected {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WebSocketUpgrade {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let is_upgrade = parts.method == Method::GET
            && names(parts, CONNECTION).any(|it| it.eq_ignore_ascii_case(b"upgrade"))
            && names(parts, UPGRADE).any(|it| it.eq_ignore_ascii_case(b"websocket"));
        if !is_upgrade {
            return Err(refused("not an upgrade to WebSocket"));
        }
        if !names(parts, SEC_WEBSOCKET_VERSION).any(|it| it == b"13") {
            let offer =
                [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")];
            let reason = "the version of WebSocket is not 13";
            return Err((StatusCode::UPGRADE_REQUIRED, offer, reason).into_response());
        }
        let key = parts.headers.get(SEC_WEBSOCKET_KEY).filter(|key| is_key(key.as_bytes()));
        let key = key.ok_or_else(|| refused("no key of WebSocket"))?.clone();
        let requested = names(parts, SEC_WEBSOCKET_PROTOCOL);
        let requested = requested.filter(|it| !it.is_empty());
        let requested = requested.filter_map(|it| HeaderValue::from_bytes(it).ok()).collect();
        let on_upgrade = parts.extensions.remove::<OnUpgrade>();
        let on_upgrade = on_upgrade.ok_or_else(|| refused("no upgrades here"))?;
        let (answer, config) = (parts.extensions.remove::<Answer>(), Default::default());
        Ok(Self { key, requested, selected: None, config, on_upgrade, answer })
    }
}

fn refused(reason: &'static str) -> Response {
    (StatusCode::BAD_REQUEST, reason).into_response()
}

/// 16 bytes as base64.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.strip_suffix(b"==").is_some_and(|key| key.len() == 22 && key.iter().all(is_digit))
}

/// The elements of a header that is a list.
fn names(parts: &Parts, header: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = parts.headers.get_all(header).into_iter();
    values.flat_map(|value| value.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}
