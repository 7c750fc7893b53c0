//! Manifests in which cargo finds the oldest versions of what a library depends on.

use toml::{Table, Value};

/// Without what needs a feature, and without what only the tests need.
pub fn strip_optional(manifest: &mut Table) {
    manifest.remove("dev-dependencies");
    manifest.remove("features");
    if let Some(dependencies) = dependencies(manifest) {
        dependencies.retain(|_, it| !is_optional(it));
    }
}

/// With the oldest version of what needs a feature, and none newer. What else depends on
/// it allows that version too, or cargo finds none.
pub fn pin_optional(manifest: &mut Table) {
    manifest.remove("dev-dependencies");
    let Some(dependencies) = dependencies(manifest) else { return };
    for (_, dependency) in dependencies.iter_mut().filter(|it| is_optional(it.1)) {
        if let Some(Value::String(version)) = dependency.get_mut("version") {
            version.insert(0, '=');
        }
    }
}

fn dependencies(manifest: &mut Table) -> Option<&mut Table> {
    manifest.get_mut("dependencies").and_then(Value::as_table_mut)
}

fn is_optional(dependency: &Value) -> bool {
    dependency.get("optional").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[features]
more = ["dep:more"]
[dependencies]
always = "1.2"
more = { version = "1.3.4", optional = true }
folder = { path = "folder", optional = true }
[dev-dependencies]
more = "1.5"
"#;

    fn changed(change: fn(&mut Table)) -> Table {
        let mut manifest = MANIFEST.parse().expect("it is TOML");
        change(&mut manifest);
        manifest
    }

    #[test]
    fn what_needs_a_feature_is_left_out() {
        let expected = "[dependencies]\nalways = \"1.2\"".parse().expect("it is TOML");
        assert_eq!(changed(strip_optional), expected);
    }

    #[test]
    fn what_needs_a_feature_is_held_at_its_oldest_version() {
        let manifest = changed(pin_optional);
        let dependencies = manifest["dependencies"].as_table().expect("a table");
        assert_eq!(dependencies["more"]["version"].as_str(), Some("=1.3.4"));
        assert_eq!(dependencies["always"].as_str(), Some("1.2"));
        assert_eq!(dependencies["folder"]["path"].as_str(), Some("folder"));
        assert!(manifest.contains_key("features") && !manifest.contains_key("dev-dependencies"));
    }
}
