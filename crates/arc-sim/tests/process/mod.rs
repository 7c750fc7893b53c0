//! Runs a test of this program in a process of its own, to see what it prints.

use std::ffi::OsStr;
use std::process::Command;

/// The name of the variable that tells a process that another one has started it.
pub const CHILD: &str = "ARC_SIM_CHILD";

/// Runs one of these tests in a process of its own, and returns what it prints: to standard output,
/// and to standard error.
pub fn in_another_process(test: &str, variables: &[(&str, &str)]) -> (String, String) {
    let variables: Vec<_> =
        variables.iter().map(|(name, value)| (*name, OsStr::new(*value))).collect();
    in_another_process_with(test, &variables)
}

/// The same, with variables that need not be text.
pub fn in_another_process_with(test: &str, variables: &[(&str, &OsStr)]) -> (String, String) {
    // What runs programs of another architecture, if this is one.
    let runner = std::env::var("ARC_TEST_RUNNER").unwrap_or_default();
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut words = runner.split_whitespace().map(Into::into).chain([program]);
    let output = Command::new(words.next().unwrap())
        .args(words)
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(CHILD, "1")
        .env_remove("ARC_SEED")
        .env_remove("ARC_SEEDS")
        .env_remove("ARC_TRACE")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
