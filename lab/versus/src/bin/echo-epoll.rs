//! An echo server, by a hand-written epoll loop.

versus::main_on_linux!(versus::on_epoll::echo);
