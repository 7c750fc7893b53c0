//! An echo server, on may.

versus::main_on_linux!(versus::on_may::echo);
