#[arc::main]
fn main() {
    std::future::ready(()).await;
}
