#[arc::test]
async fn works(count: u32, by: u32) {
    assert_eq!(count, by);
}

fn main() {}
