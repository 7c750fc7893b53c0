#[arc::test]
async fn works(mut count: u32, by: u32) {
    count += by;
}

fn main() {}
