#![doc = include_str!(concat!(env!("OUT_DIR"), "/README.md"))]

include!(concat!(env!("OUT_DIR"), "/pages.rs"));
