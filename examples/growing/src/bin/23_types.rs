//! How large futures are.

use growing::types::sizes;

fn main() {
    for (name, size) in sizes() {
        println!("{size:5} bytes: {name}");
    }
}
