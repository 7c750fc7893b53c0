//! An HTTP/1 load generator: `http-load --help`.

versus::main_on_linux!(versus::client::http);
