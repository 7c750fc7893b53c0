//! What the compiler says to a program that was moved from tokio: the rows of docs/TOKIO.md.
//!
//! Each row is tried by two programs. In the first the compiler finds the errors, and the second is
//! the same one after what the page says to do.

use super::arc;
use super::packages::Package;
use super::web::axum;

/// Two programs, and what the compiler says of the first.
struct Row {
    name: &'static str,
    before: &'static str,
    errors: &'static [&'static str],
    after: &'static str,
}

const SERVE: &str = "pub async fn run(listener: arc::net::TcpListener, router: axum::Router) {
        axum::serve(listener, router).await.unwrap();
    }

    fn main() {}";

const PEER: &str = "pub use arc::net::unix::UCred;

    pub fn peer(stream: &arc::net::UnixStream) -> arc::io::Result<u32> {
        stream.peer_cred().map(|peer| peer.uid())
    }

    fn main() {}";

const CLOCK: &str = "pub async fn stop() {
        arc::time::pause();
        arc::time::advance(arc::time::Duration::from_secs(1)).await;
    }

    #[arc::main(flavor = \"current_thread\", start_paused = true)]
    async fn main() {
        stop().await;
    }";

const ROWS: [Row; 9] = [
    Row {
        name: "prelude",
        before: include_str!("compiler/prelude.rs"),
        errors: &[
            "no method named `read`",
            "no method named `write_all`",
            "no method named `into_std`",
            "use arc_async::",
        ],
        after: concat!("use arc::prelude::*;\n", include_str!("compiler/prelude.rs")),
    },
    Row {
        name: "ambiguous",
        before: "use arc::io::{AsyncReadExt, AsyncWriteExt};
            use arc::net::TcpStream;
            use futures_util::{AsyncReadExt as _, AsyncWriteExt as _};

            pub async fn talk(stream: &mut TcpStream) -> arc::io::Result<usize> {
                stream.write_all(b\"hello\").await?;
                stream.read(&mut [0]).await
            }

            fn main() {}",
        errors: &["multiple `read` found", "multiple `write_all` found"],
        after: "use arc::io::{AsyncReadExt, AsyncWriteExt};
            use arc::net::TcpStream;

            pub async fn talk(stream: &mut TcpStream) -> arc::io::Result<usize> {
                stream.write_all(b\"hello\").await?;
                stream.read(&mut [0]).await
            }

            fn main() {}",
    },
    Row {
        name: "other_traits",
        before: "fn takes(_: impl arc::io::AsyncRead) {}

            pub fn give(stream: impl futures_util::AsyncRead) {
                takes(stream);
            }

            fn main() {}",
        errors: &["implements similarly named trait `futures_util::AsyncRead`, but not"],
        after: "fn takes(_: impl arc::io::AsyncRead) {}

            pub fn give(stream: impl futures_util::AsyncRead) {
                takes(arc::compat::tokio::Compat::new(stream));
            }

            fn main() {}",
    },
    Row {
        name: "serve",
        before: SERVE,
        errors: &["cannot find function `serve` in crate `axum`"],
        after: "pub async fn run(listener: arc::net::TcpListener, router: axum::Router) {
                arc::compat::axum::serve(listener, router).await.unwrap();
            }

            fn main() {}",
    },
    Row {
        name: "websocket",
        before: "pub use axum::extract::ConnectInfo;
            pub use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};

            fn main() {}",
        errors: &["no `ConnectInfo` in `extract`", "could not find `ws` in `extract`"],
        after: "pub use arc::compat::axum::{
                ConnectInfo, Message, Utf8Bytes, WebSocket, WebSocketExt, WebSocketUpgrade,
            };

            fn main() {}",
    },
    Row {
        name: "connect_info",
        before: "pub async fn run(listener: arc::net::TcpListener, router: axum::Router) {
                let service = router.into_make_service_with_connect_info::<std::net::SocketAddr>();
                arc::compat::axum::serve(listener, service).await.unwrap();
            }

            fn main() {}",
        errors: &["no method named `into_make_service_with_connect_info`"],
        after: "pub async fn run(listener: arc::net::TcpListener, router: axum::Router) {
                arc::compat::axum::serve(listener, router).await.unwrap();
            }

            fn main() {}",
    },
    Row {
        name: "blocking",
        before: "pub async fn compute() -> u32 {
                arc::task::block_in_place(|| 1)
            }

            fn main() {}",
        errors: &["cannot find function `block_in_place` in module `arc::task`"],
        after: "pub async fn compute() -> u32 {
                arc::task::spawn_blocking(|| 1).await.unwrap()
            }

            fn main() {}",
    },
    Row {
        name: "peer",
        before: PEER,
        errors: &["no method named `peer_cred`", "no `UCred` in `net::unix`"],
        after: PEER,
    },
    Row {
        name: "clock",
        before: CLOCK,
        errors: &[
            "cannot find function `pause` in module `arc::time`",
            "cannot find function `advance` in module `arc::time`",
            "cannot find `needs_test_util_of_arc_async` in `arc`",
            "gated behind the `test-util` feature",
        ],
        after: CLOCK,
    },
];

/// Those of arc before the page is read: `ucred` is one of its rows.
const FEATURES: &str = "\"axum\", \"full\", \"tokio-io\"";

/// What the programs depend on: the page's line for axum, which has not its features `tokio` and
/// `ws`, and the crates that know tokio's traits alone. libc has what `ucred` asks of it, so that
/// nothing else is checked once more for that feature.
fn dependencies(features: &str) -> String {
    let others = "futures-util = \"0.3\"\n\
                  libc = { version = \"0.2\", features = [\"extra_traits\"] }\n\
                  tokio = { version = \"1.47\", features = [\"io-util\"] }\n\
                  tokio-util = { version = \"0.7\", features = [\"codec\"] }\n";
    arc(features) + &axum() + others
}

#[test]
fn each_error_is_mended_by_what_the_page_says() {
    let before = ROWS.map(|row| (row.name, row.before.to_owned()));
    let package = Package::write("compiler-before", &dependencies(FEATURES), &before);
    for row in &ROWS {
        let errors = package.errors(row.name);
        for error in row.errors {
            assert!(errors.contains(error), "{}: {error:?} is not in\n{errors}", row.name);
        }
    }

    let after = ROWS.map(|row| (row.name, row.after.to_owned()));
    let features = format!("{FEATURES}, \"test-util\", \"ucred\"");
    let package = Package::write("compiler-after", &dependencies(&features), &after);
    assert_eq!(package.errors_of_all(), "");
}

/// The program's axum has its feature `tokio`. So it needs a package of its own.
#[test]
fn a_listener_goes_to_axums_own_serve_as_the_page_says() {
    let arcs = SERVE.replace("axum::serve", "arc::compat::axum::serve");
    let kept = SERVE.replace("serve(listener", "serve(arc::compat::axum::listener(listener)");
    let programs = [("before", SERVE.to_owned()), ("arcs", arcs), ("kept", kept)];

    let axum = axum().replace("features = [", "features = [\"http1\", \"tokio\", ");
    let dependencies = arc("\"axum\", \"tokio-rt\"") + &axum;
    let package = Package::write("compiler-listener", &dependencies, &programs);

    let errors = package.errors("before");
    assert!(errors.contains("the trait `Listener` is not implemented for"), "{errors}");
    assert_eq!(package.errors("arcs"), "");
    assert_eq!(package.errors("kept"), "");
}
