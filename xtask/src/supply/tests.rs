//! Tests of `supply.rs`, on small inputs.

use super::*;

const RULES: &str = "
[licenses]
allow = [\"MIT\", \"Apache-2.0\"]
exceptions = [{ crate = \"tool\", allow = [\"MPL-2.0\"] }]
[bans]
deny = [\"openssl\"]
[sources]
allow-registry = [\"https://registry\"]
";

fn package(name: &str, licence: &str, source: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        licence: Some(licence.to_owned()),
        source: Some(source.to_owned()),
        folder: "folder".into(),
    }
}

fn count(name: &str, licence: &str, source: &str) -> usize {
    let rules = RULES.parse().expect("the rules are TOML");
    complaints(&package(name, licence, source), &rules).len()
}

#[test]
fn a_licence_must_be_allowed() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for expression in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND Unicode-3.0"] {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND GPL-3.0", "none"] {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

#[test]
fn a_package_is_judged_by_licence_name_and_source() {
    let known = "registry+https://registry";
    assert_eq!(count("slab", "MIT", known), 0);
    assert_eq!(count("slab", "MPL-2.0", known), 1);
    assert_eq!(count("tool", "MPL-2.0", known), 0);
    assert_eq!(count("openssl", "MIT", known), 1);
    assert_eq!(count("slab", "MIT", "git+https://host/slab"), 1);
}

#[test]
fn a_package_has_what_users_need_and_no_more() {
    let patterns = ["README.md".to_owned(), "src/".to_owned()];
    let contents = "README.md\nsrc/lib.rs\nsrc/net/mod.rs\n";
    assert_eq!(differences(contents, &patterns), Vec::<String>::new());
    assert_eq!(differences("src/lib.rs\nnotes.txt\n", &patterns).len(), 2);
}
