use arc_util::task::scope;

fn main() {
    let mut number = 0;
    scope(|scope| {
        scope.spawn(async { number += 1 });
        scope.spawn(async { number += 1 });
    });
}
