#[arc::main]
async fn main<T: Default>() {
    drop(T::default());
}
