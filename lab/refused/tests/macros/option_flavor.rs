#[arc::main(flavor = "local")]
async fn main() {}

#[arc::test(flavor = current_thread)]
async fn without_quotes() {}
