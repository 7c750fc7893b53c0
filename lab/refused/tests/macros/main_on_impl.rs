struct Server;

#[arc::main]
impl Server {}

fn main() {}
