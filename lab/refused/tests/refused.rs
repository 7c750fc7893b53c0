//! What the compiler has to refuse. Each file in `macros/` and `scope/` is one mistake, beside the
//! message it has to get. After a message was changed on purpose,
//! `TRYBUILD=overwrite cargo test -p arc-refused` writes them anew.

#[test]
fn wrong_uses_of_the_macros_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/macros/*.rs");
}

/// A task of a scope may borrow, but only what outlives the scope.
#[test]
fn what_would_be_unsound_in_a_scope_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/scope/*.rs");
}
