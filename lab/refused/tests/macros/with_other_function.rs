fn greet(name: &str) {
    println!("hello {name}");
}

#[arc::main(with = greet)]
async fn main() {}
