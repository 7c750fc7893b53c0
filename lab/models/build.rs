//! Leaves the unit tests of arc's modules out of the models that they are compiled into. And copies
//! the files of which a model calls what is private: it adds its calls at their ends (see `inside`
//! in tests/loom/main.rs).

use std::{env, fs, path::Path};

/// A file in `src/` of arc, and texts in it with others for the copy.
const OPENED: [(&str, &[(&str, &str)]); 1] = [
    // A shard of five records gives memory back.
    ("registry.rs", &[("const ROOM_MIN: usize = 1024;", "const ROOM_MIN: usize = 4;")]),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cfg=arc_model");

    let out = env::var("OUT_DIR").expect("cargo sets it");
    for (file, changes) in OPENED {
        let path = Path::new("../../src").join(file);
        println!("cargo:rerun-if-changed={}", path.display());
        let source = fs::read_to_string(&path).expect("a file of arc that a model opens");
        let name = path.file_name().expect("it has a name");

        // What is included cannot have a head.
        let mut source = source.replace("//!", "//");
        for (text, other) in changes {
            assert!(source.contains(text), "src/{file} has no `{text}` any more");
            source = source.replace(text, other);
        }
        fs::write(Path::new(&out).join(name), source).expect("OUT_DIR can be written to");
    }
}
