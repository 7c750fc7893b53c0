#[arc::main]
pub struct Server;

fn main() {}
