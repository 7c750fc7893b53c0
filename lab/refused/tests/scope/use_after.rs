use arc_util::task::scope;

fn main() {
    let mut text = String::new();
    let pushed = scope(|scope| {
        scope.spawn(async { text.push('a') });
        text.push('b');
    });
    println!("{pushed:?}");
}
