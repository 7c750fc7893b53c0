#[arc::main]
async unsafe fn main() {}
