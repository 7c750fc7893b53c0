use arc_util::task::{Scope, scope};

fn main() {
    let mut taken: Option<&Scope<'_>> = None;
    scope(|scope| taken = Some(scope));
    taken.unwrap().spawn(async {});
}
