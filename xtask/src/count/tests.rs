//! Tests of `count.rs`, on small texts.

use super::*;

fn unsafes(source: &str) -> Vec<(usize, &'static str, bool)> {
    let found = syntax(source).unwrap().unsafes;
    found.iter().map(|each| (each.line, each.kind, each.reason.is_some())).collect()
}

#[test]
fn doc_comments_are_not_lines() {
    let source = "\
//! A module.
//!
//! Its story.

/// A function.
fn main() {
// Why.
let _ = 1; // not a line of its own

}
";
    let counted = lines(source);
    assert_eq!(counted, Lines { code: 3, comments: 1, blanks: 2, documentation: 4 });
    assert_eq!(counted.total(), 6);
}

#[test]
fn lines_add_up() {
    let mut sum = Lines::default();
    sum += lines("fn a() {}\n");
    sum += lines("// b\n\n/// c\nfn c() {}\n");
    assert_eq!(sum, Lines { code: 2, comments: 1, blanks: 1, documentation: 1 });
}

#[test]
fn every_kind_of_unsafe_is_found() {
    let source = r#"
unsafe fn f() { unsafe { g() } }
unsafe impl Send for S {}
unsafe trait T { unsafe fn m(); }
unsafe extern "C" { fn c(); }
#[unsafe(no_mangle)]
fn n() {}
#[cfg_attr(all(), unsafe(no_mangle))]
fn o() {}
impl S { unsafe fn i(&self) {} }
fn q() { quote! { a { unsafe { b() } } }; }
macro_rules! r { () => { unsafe { s() } } }
"#;
    let kinds: Vec<_> = unsafes(source).iter().map(|&(line, kind, _)| (line, kind)).collect();
    let expected = [
        (2, "fn"),
        (2, "block"),
        (3, "impl"),
        (4, "trait"),
        (4, "fn"),
        (5, "extern"),
        (6, "attribute"),
        (8, "in macros"),
        (10, "fn"),
        (11, "in macros"),
        (12, "in macros"),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_tally_counts_the_kinds_apart() {
    let (tally, _) = Tally::of("unsafe fn f() { unsafe { g() }; unsafe { h() } }");
    assert_eq!(tally, Tally([2, 1, 0, 0, 0, 0, 0, 0]));
    assert_eq!(tally.total(), 3);
    let mut sum = tally;
    let (unparsed, is_parsed) = Tally::of("unsafe fn fn // unsafe\n");
    assert!(!is_parsed);
    sum += unparsed;
    assert_eq!(sum, Tally([2, 1, 0, 0, 0, 0, 0, 1]));
}

#[test]
fn what_is_derived_or_only_defined_is_not_compiled() {
    let source = "\
macro_rules! r { () => { unsafe { s() } } }
#[automatically_derived]
unsafe impl T for S {}
unsafe impl U for S {}
fn f() { super let x = 1; format_args!(\"{}\", unsafe { g() }) }
";
    assert_eq!(Tally::of_expanded(source), Tally([0, 0, 1, 0, 0, 0, 1, 0]));
}

#[test]
fn ripgrep_reads_comments_and_strings() {
    let found = matches("#![deny(unsafe_code)] // unsafe!\n\"unsafe\"");
    assert_eq!((found.anywhere, found.words), (3, 2));
}

#[test]
fn a_reason_is_read_over_several_lines() {
    let source = "fn f() {\n// SAFETY: it holds\n// so.\n#[cold]\nunsafe { g() }\n}\n";
    let found = &syntax(source).unwrap().unsafes[0];
    assert_eq!(found.reason.as_deref(), Some("it holds so."));
}

#[test]
fn the_word_alone_is_not_unsafe() {
    let source = "#![forbid(unsafe_code)]\n// unsafe\nfn f() { g(\"unsafe {}\", h) }\n";
    assert_eq!(unsafes(source), []);
}

#[test]
fn a_reason_stands_directly_above() {
    let source = "\
fn f() {
// SAFETY: it holds
// for this reason.
#[allow(unused)]
unsafe { g() };

// SAFETY: the statement is broken over two lines.
let long =
    unsafe { g() };

// SAFETY: too far away.

unsafe { g() };
unsafe { g() }; // SAFETY: beside it.
}
";
    let explained: Vec<_> = unsafes(source).iter().map(|each| (each.0, each.2)).collect();
    assert_eq!(explained, [(5, true), (9, true), (13, false), (14, false)]);
}

#[test]
fn a_declaration_is_explained_by_its_safety_section() {
    let source = "\
/// # Safety
/// `p` is valid.
pub unsafe fn f(p: *const u8) {}
/// Does it.
pub unsafe fn g() {}
impl S {
// SAFETY: S has no state.
unsafe fn h() {}
}
";
    let explained: Vec<_> = unsafes(source).iter().map(|each| (each.0, each.2)).collect();
    assert_eq!(explained, [(3, true), (5, false), (8, true)]);
}

#[test]
fn a_function_is_as_long_as_its_lines() {
    let source = "\
/// Not counted.
#[inline]
pub fn long(
x: u8,
) {
fn inner() {}
}
trait T { fn none(); fn one() {} }
impl S {
async fn two() {
}
}
";
    let functions = syntax(source).unwrap().functions;
    let lengths: Vec<_> =
        functions.iter().map(|each| (each.name.as_str(), each.line, each.length)).collect();
    assert_eq!(lengths, [("long", 3, 5), ("inner", 6, 1), ("one", 8, 1), ("two", 10, 2)]);
}

#[test]
fn what_is_not_rust_is_an_error_with_its_line() {
    assert!(syntax("fn f() {}\nfn fn\n").unwrap_err().starts_with("line 2: "));
}

#[test]
fn no_line_is_free_by_mistake() {
    let source = include_str!("../../../crates/macros/src/expand.rs");
    let Lines { code, comments, blanks, documentation } = lines(source);
    assert_eq!(code + comments + blanks + documentation, source.lines().count());

    let what_is_not_rust = lines("a \"b\n\n// c\n");
    assert_eq!(what_is_not_rust, Lines { code: 2, blanks: 1, ..Lines::default() });
}

#[test]
fn lines_of_code_are_those_with_tokens() {
    let source = "\
/*! A module. */
fn f() { /* code */ }
/* a comment
   of two lines */
#[doc = \"code\"]
const TEXT: &str = \"
// code

\";
#
[test]
fn g() {
    /** Documentation */
    let x; /// and code
}
";
    let expected = Lines { code: 10, comments: 2, blanks: 1, documentation: 2 };
    assert_eq!(lines(source), expected);
}

#[test]
fn air_is_counted_in_longer_functions() {
    let text = "\
// Outside of functions nothing is counted.

fn short() {
    // It needs no air.

}

/// Documentation stands outside.
fn long() {
    let link = \"https://host\"; // a comment behind code

    // A comment alone.
    fn inner() {
        /// Documentation is no comment.
        const URL: &str = \"//
        //\";
        // A comment that is counted once.

        g();
    }
}
";
    let found = air(text).unwrap();
    let [(function, air)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((function.name.as_str(), function.line), ("long", 9));
    assert_eq!(*air, Air { functions: 1, lines: 13, blanks: 2, comments: 3 });
}

#[test]
fn wide_lines_are_those_of_code() {
    let wide = "x".repeat(WIDE - 4);
    let text = format!("// {wide}\n/// {wide}\nfn {wide}();\n");
    // A comment and documentation may be as wide as they like.
    assert_eq!(wide_lines(&text), [(3, WIDE + 2)]);
    assert_eq!(wide_lines(&format!("f({});\n", "x".repeat(WIDE - 5))), []);
    assert_eq!(wide_lines(&format!("f({});\n", "x".repeat(WIDE - 4))), [(1, WIDE)]);
}

#[test]
fn a_head_is_what_a_file_begins_with() {
    assert_eq!(head("//! A file.\n//!\n//! Its story.\n\n//! None of it.\n"), 3);
    assert_eq!(head("use a::b;\n//! None.\n"), 0);
}
