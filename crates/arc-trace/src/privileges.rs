//! Whose rights the program has.
//!
//! Who starts a program chooses its environment. If its file is marked setuid or setgid, it has the
//! rights of another user or group, and `ARC_TRACE` would write where only that one may.

use std::io::{Error, Result};

/// Where Linux says whose rights a program has.
const STATUS: &str = "/proc/self/status";

/// An error if the program has other rights than who has started it, or if that cannot be found
/// out. Only Linux tells it without unsafe code: docs/TIMELINE.md says so.
pub(crate) fn check() -> Result<()> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return Ok(());
    }

    // Where nothing is known, nothing is written.
    let status = std::fs::read_to_string(STATUS).map_err(|error| {
        let text = format!("{STATUS} does not say whose rights it has: {error}");
        Error::new(error.kind(), text)
    })?;
    if !are_ids_the_same(&status) {
        return Err(Error::other("the program has the rights of another user or group"));
    }
    Ok(())
}

/// Whether the real, the effective, the saved and the file system's id are the same one, those of
/// the user and those of the group.
fn are_ids_the_same(status: &str) -> bool {
    ["Uid:", "Gid:"].iter().all(|name| {
        let ids = status.lines().find_map(|line| line.strip_prefix(name));
        let mut ids = ids.unwrap_or_default().split_whitespace();
        ids.next().is_some_and(|real| ids.all(|id| id == real))
    })
}

#[cfg(test)]
mod tests {
    use super::are_ids_the_same;

    #[test]
    fn any_id_that_differs_is_found() {
        // A program can choose its name, but not begin a line with it.
        let status =
            |user, group| format!("Name:\tUid:\nUid:\t{user}\nGid:\t{group}\nVmPeak:\t1 kB");

        let own = "1000\t1000\t1000\t1000";
        assert!(are_ids_the_same(&status(own, own)));

        // The effective, the saved and the file system's id, and none at all.
        let others = ["1000\t0\t1000\t1000", "1000\t1000\t0\t1000", "1000\t1000\t1000\t0", ""];
        for other in others {
            assert!(!are_ids_the_same(&status(other, own)), "{other:?}");
            assert!(!are_ids_the_same(&status(own, other)), "{other:?}");
        }
        assert!(!are_ids_the_same(""));
    }
}
