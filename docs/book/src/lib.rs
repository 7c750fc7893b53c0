#![doc = include_str!(concat!(env!("OUT_DIR"), "/README.md"))]
#![allow(clippy::test_attr_in_doctest, reason = "chapters show tests of arc")]

include!(concat!(env!("OUT_DIR"), "/pages.rs"));
