//! Leaves the unit tests of arc's modules out of the models that they are compiled into.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cfg=arc_model");
}
