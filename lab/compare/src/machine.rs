//! Where and of what a record is: machine, versions, commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use crate::load::Tool;
use crate::proc;
use crate::record::{FORMAT, Machine, Record};
use crate::say;

/// The crates whose versions decide.
const CRATES: [&str; 12] = [
    "arc-runtime",
    "async-executor",
    "async-io",
    "async-task",
    "httparse",
    "hyper",
    "hyper-util",
    "may",
    "mio",
    "polling",
    "smol",
    "tokio",
];

/// A record without figures yet.
pub fn empty_record(root: &Path, arguments: &[String], tools: &[Tool]) -> Record {
    let git = |arguments: &[&str]| say("git", arguments, root);
    let mut command = vec!["cargo xtask versus".to_owned()];
    command.extend_from_slice(arguments);
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let mut versions = locked_versions(&lock);
    let rustc = say("rustc", &["--version"], root);
    versions.insert("rustc".to_owned(), rustc.replace("rustc ", ""));
    for tool in tools {
        if let Some(version) = tool.version() {
            versions.insert(tool.name(), version);
        }
    }
    Record {
        format: FORMAT,
        date: say("date", &["-u", "+%Y-%m-%d %H:%M UTC"], root),
        command: command.join(" "),
        commit: git(&["rev-parse", "--short=12", "HEAD"]),
        dirty: !git(&["status", "--porcelain"]).is_empty(),
        machine: machine(),
        versions,
        ..Record::default()
    }
}

fn machine() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    Machine {
        cores: available_parallelism().map_or(1, usize::from),
        cpu: cpu.map_or("unknown", |line| line.trim_matches([' ', '\t', ':'])).to_owned(),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        memory_mib: proc::field(&read("/proc/meminfo"), "MemTotal").unwrap_or(0) / 1024,
    }
}

/// The versions of [`CRATES`]; the newest where there are several.
fn locked_versions(lock: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut name = "";
    for line in lock.lines() {
        let value = |key| Some(line.strip_prefix(key)?.trim_matches('"'));
        if let Some(value) = value("name = ") {
            name = value;
        } else if let Some(version) = value("version = ")
            && CRATES.contains(&name)
        {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"tokio\"\nversion = \"1.2.3\"\n\n\
            [[package]]\nname = \"other\"\nversion = \"9.9.9\"\n";
        let versions = locked_versions(lock);
        assert_eq!(versions.get("tokio").map(String::as_str), Some("1.2.3"));
        assert_eq!(versions.len(), 1);
    }
}
