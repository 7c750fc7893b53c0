#[arc::main(workers = 1,, crate = "::arc")]
async fn main() {}
