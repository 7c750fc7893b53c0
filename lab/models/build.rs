//! Leaves the unit tests of arc's modules out of the models that they are compiled into. And copies
//! the files of which a model calls what is private: it adds its calls at their ends (see `inside`
//! in tests/loom/main.rs).

use std::{env, fs, path::Path};

/// In `src/` of arc.
const OPENED: [&str; 1] = ["scheduler/monitor.rs"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cfg=arc_model");

    let out = env::var("OUT_DIR").expect("cargo sets it");
    for file in OPENED {
        let path = Path::new("../../src").join(file);
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).expect("a file of arc that a model opens");
        let name = path.file_name().expect("it has a name");

        // What is included cannot have a head.
        let text = text.replace("//!", "//");
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written to");
    }
}
