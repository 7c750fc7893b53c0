//! An HTTP/1 server with httparse, on may.

versus::main_on_linux!(versus::on_may::tiny);
