//! Wrong uses of `#[arc::main]` and `#[arc::test]`: each file in `compile_fail/` is
//! one mistake, beside the message it has to get. After a message was changed on
//! purpose, `TRYBUILD=overwrite cargo test -p arc-macros --test compile_fail` writes them anew.

#[test]
fn wrong_uses_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
