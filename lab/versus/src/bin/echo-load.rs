//! An echo load generator: `echo-load --help`.

versus::main_on_linux!(versus::client::echo);
