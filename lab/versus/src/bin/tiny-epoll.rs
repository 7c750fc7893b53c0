//! An HTTP/1 server with httparse, by a hand-written epoll loop.

versus::main_on_linux!(versus::on_epoll::tiny);
