#[arc::test(workers = 2)]
async fn a_test_has_one_thread() {}

#[arc::test(flavor = "current_thread", worker_threads = 2)]
async fn as_tokio_spells_it() {}

#[arc::main(workers = 2, flavor = "current_thread")]
async fn main() {}
