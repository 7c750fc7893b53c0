//! Many futures in one task.

use growing::many::report;

#[arc::main]
async fn main() {
    for line in report().await {
        println!("{line}");
    }
}
