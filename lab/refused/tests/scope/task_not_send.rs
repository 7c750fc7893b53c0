use arc_util::task::scope;
use std::rc::Rc;

fn main() {
    let shared = Rc::new(0);
    scope(|scope| {
        scope.spawn(async { println!("{shared}") });
    });
}
