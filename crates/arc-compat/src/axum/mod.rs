//! axum on arc: [`serve`] for a Router, and WebSockets that run as arc tasks.
//!
//! `axum::serve` and axum's own `ws` call `tokio::spawn`. They panic without a tokio runtime. The
//! rest of axum runs on arc unchanged. Depend on axum with `default-features = false`, and leave
//! out its features `tokio` and `ws`. A program that shall keep them takes the feature `tokio-rt`,
//! and passes its listener to `axum::serve` by `listener`.
//!
//! # Examples
//!
//! A server that echoes WebSocket messages:
//!
//! ```no_run
//! use arc_util::net::TcpListener;
//! use arc_compat::axum::{Response, WebSocket, WebSocketExt, WebSocketUpgrade};
//! use axum::{Router, routing::get};
//!
//! async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
//!     upgrade.on_upgrade(echo)
//! }
//!
//! async fn echo(mut socket: WebSocket) {
//!     while let Some(Ok(message)) = socket.recv().await {
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

#[cfg(feature = "tokio-rt")]
mod listener;
mod stream;

pub use crate::server::{ConnectInfo, CutOff, Serve};
pub use async_tungstenite::tungstenite::protocol::CloseFrame;
pub use async_tungstenite::tungstenite::{Message, Utf8Bytes};
pub use axum::response::Response;
#[cfg(feature = "tokio-rt")]
pub use listener::{AxumListener, Prepare, listener};
pub use stream::WebSocketIo;

use crate::server::{self, Answer};
use arc::task::spawn_named;
use arc_util::net::TcpListener;
use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::Error;
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
use futures_core::Stream;
use hyper::upgrade::OnUpgrade;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;

/// Serves a Router with [`server::serve`].
///
/// The errors, the panics and the cancellation are described there.
///
/// This function builds the routes once, as `axum::serve` does. If a Router is passed to
/// [`server::serve`] instead, it builds them again for each request, unless its last call was
/// `with_state(())`. That costs time, and resets layers that count, such as a limit of
/// concurrent requests.
///
/// # Examples
///
/// ```
/// use arc_util::net::TcpListener;
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

/// The address of the client, as an argument of a handler.
///
/// # Errors
///
/// The extractor rejects a request that does not come from [`server::serve`], with status 500: the
/// address of its client is not known.
///
/// # Examples
///
/// See [`ConnectInfo`].
impl<S: Sync> FromRequestParts<S> for ConnectInfo {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let reason = "the server does not tell the addresses of its clients";
        let unknown = || (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response();
        parts.extensions.get::<Self>().copied().ok_or_else(unknown)
    }
}

/// A WebSocket connection. Its messages are those of async-tungstenite.
///
/// A client that sends pings and reads nothing is cut off when 1 MiB of answers waits for it: the
/// next message is an [`Error::Io`] that says so. See
/// [`WebSocketIo`].
pub type WebSocket = WebSocketStream<WebSocketIo>;

/// Adds axum's name for receiving to a [`WebSocket`].
///
/// # Examples
///
/// See the example of the [module](self).
pub trait WebSocketExt {
    /// Receives the next message, or returns `None` when the connection is closed.
    ///
    /// # Errors
    ///
    /// Fails when the connection is lost, and when the client breaks the protocol.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no message is lost.
    fn recv(&mut self) -> impl Future<Output = Option<Result<Message, Error>>> + Send;
}

impl WebSocketExt for WebSocket {
    async fn recv(&mut self) -> Option<Result<Message, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

/// An extractor that turns a request into a WebSocket, like axum's own for tokio.
///
/// It supports HTTP/1.1 only. WebSockets over HTTP/2 are rejected.
///
/// # Errors
///
/// The extractor rejects a request with status 400 if the request is not an upgrade to
/// WebSocket, has no key of 16 bytes, or comes from a server that does not support upgrades
/// ([`serve`] does). It rejects other versions of WebSocket than 13 with status 426, and names
/// version 13 in the response.
///
/// # Examples
///
/// See the example of the [module](self).
#[derive(Debug)]
#[must_use = "the WebSocket begins with `on_upgrade`"]
pub struct WebSocketUpgrade {
    key: HeaderValue,
    requested: Vec<HeaderValue>,
    selected: Option<HeaderValue>,
    config: WebSocketConfig,
    on_failed_upgrade: OnFailedUpgrade,
    on_upgrade: OnUpgrade,
    /// `None` if the request does not come from [`server::serve`].
    answer: Option<Answer>,
}

/// What is called when an upgrade fails.
struct OnFailedUpgrade(Box<dyn FnOnce(axum::Error) + Send>);

impl fmt::Debug for OnFailedUpgrade {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnFailedUpgrade")
    }
}

impl WebSocketUpgrade {
    /// Sets how many bytes a message of the client may have. See [`config`](Self::config).
    pub fn max_message_size(mut self, max: usize) -> Self {
        self.config.max_message_size = Some(max);
        self
    }

    /// Sets how many bytes a frame of the client may have. See [`config`](Self::config).
    pub fn max_frame_size(mut self, max: usize) -> Self {
        self.config.max_frame_size = Some(max);
        self
    }

    /// Sets what is called, instead of the callback of [`on_upgrade`](Self::on_upgrade), if the
    /// connection breaks before the upgrade.
    pub fn on_failed_upgrade(self, callback: impl FnOnce(axum::Error) + Send + 'static) -> Self {
        Self { on_failed_upgrade: OnFailedUpgrade(Box::new(callback)), ..self }
    }

    /// Replaces tungstenite's default limits and buffer sizes.
    ///
    /// By default a client can make the server hold a message of 64 MiB
    /// (`max_message_size`) in frames of 16 MiB (`max_frame_size`): a public server sets them to
    /// what its messages need. `max_write_buffer_size` has no limit by default, because it would
    /// be the limit of the server's own messages, too. The limit for answers to pings
    /// ([`WebSocket`]) applies whatever is set here. If less than that fits into
    /// `max_write_buffer_size`, tungstenite drops all answers but the last that fit into it.
    ///
    /// # Panics
    ///
    /// Panics if `max_write_buffer_size` is not greater than `write_buffer_size`.
    #[track_caller]
    pub fn config(self, config: WebSocketConfig) -> Self {
        let least = config.write_buffer_size;
        let most = config.max_write_buffer_size;
        // tungstenite would panic, too, but only after the client has the response.
        assert!(most > least, "max_write_buffer_size must be more than {least}, not {most}");
        Self { config, ..self }
    }

    /// Selects the first of the `known` protocols that the client has asked for. Empty names
    /// are ignored.
    pub fn protocols(self, known: impl IntoIterator<Item = &'static str>) -> Self {
        let requested = |name: &str| self.requested.iter().find(|it| *it == name).cloned();
        // Keep the client's own header value: a name that is not ASCII cannot be turned into
        // one here.
        let selected = known.into_iter().find_map(requested);
        Self { selected, ..self }
    }

    /// Returns the selected protocol.
    pub fn selected_protocol(&self) -> Option<&HeaderValue> {
        self.selected.as_ref()
    }

    /// Returns the response that accepts the upgrade, and runs `callback` with the WebSocket
    /// in a new task.
    ///
    /// The callback is not run if the connection breaks before the upgrade. With [`serve`] it
    /// is not run either if the client gets another response in the end, for example from a
    /// layer that rejects the request or from a timeout. With a server of your own this is not
    /// checked: the callback then runs although the upgrade was refused, because hyper hands
    /// over the connection when it has finished with it.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime. A panic of the callback stays in its task.
    pub fn on_upgrade<C, F>(self, callback: C) -> Response
    where
        C: FnOnce(WebSocket) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { key, selected, config, answer, .. } = self;
        let upgrade = self.on_upgrade;
        let on_failed = self.on_failed_upgrade;

        // The upgrade comes after the response has been sent, so a task of its own waits for it.
        drop(spawn_named("websocket", async move {
            let upgraded = match upgrade.await {
                Ok(upgraded) => upgraded,
                Err(error) => return (on_failed.0)(axum::Error::new(error)),
            };

            // Without `server::serve` there is no answer to check.
            let is_refused = answer.is_some_and(|answer| !answer.is_upgrade());
            if !is_refused {
                let io = WebSocketIo::new(upgraded);
                let socket = WebSocket::from_raw_socket(io, Role::Server, Some(config));
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

        // The answer says which version there is, so that the client can try that.
        if !names(parts, SEC_WEBSOCKET_VERSION).any(|it| it == b"13") {
            let offer =
                [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")];
            let reason = "the version of WebSocket is not 13";
            return Err((StatusCode::UPGRADE_REQUIRED, offer, reason).into_response());
        }

        // The answer proves by it that the server speaks WebSocket.
        let key = parts.headers.get(SEC_WEBSOCKET_KEY);
        let key = key.filter(|key| is_key(key.as_bytes()));
        let key = key.ok_or_else(|| refused("no key of WebSocket"))?.clone();

        let requested = names(parts, SEC_WEBSOCKET_PROTOCOL);
        let requested = requested.filter(|it| !it.is_empty());
        // A part of a header's value is a value itself: none is left out.
        let requested = requested.filter_map(|it| HeaderValue::from_bytes(it).ok());
        let requested = requested.collect();

        // hyper adds this extension if it serves the connection with upgrades.
        let on_upgrade = parts.extensions.remove::<OnUpgrade>();
        let on_upgrade = on_upgrade.ok_or_else(|| refused("no upgrades here"))?;
        // `server::serve` adds this one.
        let answer = parts.extensions.remove::<Answer>();

        let config = WebSocketConfig::default();
        let on_failed_upgrade = OnFailedUpgrade(Box::new(drop));
        Ok(Self { key, requested, selected: None, config, on_failed_upgrade, on_upgrade, answer })
    }
}

/// Returns a response with status 400 and the reason.
fn refused(reason: &'static str) -> Response {
    (StatusCode::BAD_REQUEST, reason).into_response()
}

/// Returns whether `key` is 16 bytes in base64.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.strip_suffix(b"==").is_some_and(|key| key.len() == 22 && key.iter().all(is_digit))
}

/// Returns the elements of a header whose value is a list.
fn names(parts: &Parts, header: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = parts.headers.get_all(header).into_iter();
    values.flat_map(|value| value.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}
