#[arc::main(crate = ::arc)]
async fn main() {}
