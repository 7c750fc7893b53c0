use arc_util::task::scope;

fn main() {
    scope(|scope| {
        let inside = String::from("dropped when the closure ends, before the task does");
        scope.spawn(async { println!("{inside}") });
    });
}
