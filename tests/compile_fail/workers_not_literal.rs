#[arc::main(workers = num_cpus::get())]
async fn main() {}

#[arc::main(workers = 2.0)]
async fn helper() {}
