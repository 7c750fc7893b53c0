//! What the kernel knows of this process: memory, descriptors, threads.

use std::fs;

/// The memory that is resident, in KiB.
///
/// # Panics
///
/// Without `/proc`.
pub fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("the kernel tells VmRSS in KiB")
}

/// How many descriptors are open, but for the one that this is read by.
///
/// # Panics
///
/// Without `/proc`.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc is mounted").count() - 1
}

/// What the open descriptors are.
pub fn descriptor_names() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    names.map(|name| name.display().to_string()).collect()
}

/// How many threads have a name that begins so.
///
/// # Panics
///
/// Without `/proc`.
pub fn threads(prefix: &str) -> usize {
    let entries = fs::read_dir("/proc/self/task").expect("/proc is mounted");
    // One that ends meanwhile has no name any more.
    let name = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
    entries.flatten().filter_map(name).filter(|name| name.starts_with(prefix)).count()
}
