//! The test's own program, to be started as a process of its own.

use std::ffi::OsString;

/// The program, after what runs it where the system cannot: an emulator and its options,
/// from `ARC_TEST_RUNNER`.
pub fn words() -> Vec<OsString> {
    let runner = std::env::var("ARC_TEST_RUNNER").unwrap_or_default();
    let program = std::env::current_exe().expect("the test's own program");
    runner.split_whitespace().map(OsString::from).chain([program.into()]).collect()
}
