//! Debian's compiler. The standard library of another platform is not on a machine that has
//! only its own; Debian's packages bring its source, so that it can be built for any target
//! and with any flag.

use std::path::Path;

/// One platform for each of polling's ways to wait that Linux does not use, and
/// Linux on another processor.
pub const TARGETS: [&str; 4] = [
    "x86_64-pc-windows-msvc",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
    "aarch64-unknown-linux-gnu",
];

/// What has to be there, and Debian's package that has it.
pub type Needed = (&'static str, &'static str);

const NEEDED: [Needed; 4] = [
    ("/usr/bin/rustc", "rustc-web"),
    ("/usr/bin/cargo", "cargo-web"),
    ("/usr/bin/cargo-clippy", "rust-web-clippy"),
    ("/usr/lib/rustlib/src/rust/library/std/Cargo.toml", "rust-web-src"),
];

/// Which of Debian's packages are missing, if any, for a trial that needs `more` besides.
pub fn missing_of(more: &[Needed]) -> Option<String> {
    let missing = NEEDED.iter().chain(more).filter(|(path, _)| !Path::new(path).exists());
    let packages: Vec<_> = missing.map(|it| it.1).collect();
    (!packages.is_empty())
        .then(|| format!("Debian's packages {} are not installed", packages.join(", ")))
}

/// The environment in which Debian's cargo runs Debian's compiler: the variables that are
/// set, and those that are not.
pub fn environment() -> ([(&'static str, String); 4], [&'static str; 2]) {
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = [
        // Only a compiler that says it is unstable builds the standard library.
        ("RUSTC_BOOTSTRAP", "1".to_owned()),
        ("PATH", format!("/usr/bin:{path}")),
        ("RUSTC", "/usr/bin/rustc".to_owned()),
        ("RUSTDOC", "/usr/bin/rustdoc".to_owned()),
    ];
    (variables, ["RUSTUP_TOOLCHAIN", "CARGO"])
}
