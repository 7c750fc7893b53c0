//! What the timeline of a server may say that does nothing wrong.

use std::fs;
use std::path::PathBuf;

/// Of what stands out only delays may be there, which are a busy machine's fault.
#[track_caller]
pub fn nothing_waits_in_vain(path: PathBuf) {
    let text = fs::read_to_string(&path).expect("the example has written its timeline");
    fs::remove_file(path).expect("it is there");
    let findings = text.split("\n\n").nth(1).expect("a list of findings");
    assert!(findings.starts_with("What stands out\n"), "{text}");
    let delays = [
        "late: ",
        "late timer: ",
        "long poll: ",
        "the system did not run a thread ",
        "wake-ups that did nothing",
        "worker ",
    ];
    for finding in findings.lines().skip(1).filter(|line| *line != "  nothing") {
        let (_, finding) = finding.split_once(" ms: ").expect("a time");
        assert!(delays.iter().any(|kind| finding.starts_with(kind)), "{finding}\n{text}");
    }
}
