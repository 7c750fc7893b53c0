//! Functions of paths: each of them is the function of std's with the same name, as one job.

use crate::blocking_io::run;
use std::fs::{Metadata, Permissions};
use std::io::Result;
use std::path::{Path, PathBuf};

/// Returns the absolute path, without symbolic links, `.` and `..`.
///
/// # Errors
///
/// Those of [`std::fs::canonicalize`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let path = arc_util::fs::canonicalize("src/lib.rs").await?;
/// assert!(path.is_absolute());
/// # Ok(())
/// # }
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::canonicalize(path)).await
}

/// Copies the contents and the permissions of a file, and returns how many bytes these are. A file
/// that is there already is replaced.
///
/// # Errors
///
/// Those of [`std::fs::copy`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-copy-{}", std::process::id()));
/// let count = arc_util::fs::copy("Cargo.toml", &path).await?;
/// assert_eq!(arc_util::fs::metadata(&path).await?.len(), count);
/// # arc_util::fs::remove_file(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::fs::copy(from, to)).await
}

/// Makes a directory. The one above has to exist.
///
/// # Errors
///
/// Those of [`std::fs::create_dir`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-create-dir-{}", std::process::id()));
/// arc_util::fs::create_dir(&path).await?;
/// assert!(arc_util::fs::create_dir(&path).await.is_err(), "it exists");
/// arc_util::fs::remove_dir(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::create_dir(path)).await
}

/// Makes a directory, and those above that do not exist. It is no error if it exists.
///
/// # Errors
///
/// Those of [`std::fs::create_dir_all`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let name = format!("arc-doc-create-dir-all-{}", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// arc_util::fs::create_dir_all(path.join("one/two")).await?;
/// arc_util::fs::remove_dir_all(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::create_dir_all(path)).await
}

/// Gives the file `from` a second name, `to`, in the same file system.
///
/// # Errors
///
/// Those of [`std::fs::hard_link`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-hard-link-{}", std::process::id()));
/// let (file, link) = (path.join("file"), path.join("link"));
/// # arc_util::fs::create_dir(&path).await?;
/// arc_util::fs::write(&file, "hello").await?;
/// arc_util::fs::hard_link(&file, &link).await?;
/// assert_eq!(arc_util::fs::read(&link).await?, b"hello");
/// # arc_util::fs::remove_dir_all(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::fs::hard_link(from, to)).await
}

/// What the system knows about a file: its length, times and permissions. Symbolic links are
/// followed.
///
/// # Errors
///
/// Those of [`std::fs::metadata`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(arc_util::fs::metadata("src").await?.is_dir());
/// # Ok(())
/// # }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> Result<Metadata> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::metadata(path)).await
}

/// Reads a whole file.
///
/// # Errors
///
/// Those of [`std::fs::read`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let bytes = arc_util::fs::read("Cargo.toml").await?;
/// assert!(bytes.starts_with(b"[package]"));
/// # Ok(())
/// # }
/// ```
pub async fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read(path)).await
}

/// Returns where a symbolic link leads.
///
/// # Errors
///
/// Those of [`std::fs::read_link`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(arc_util::fs::read_link("src").await.is_err(), "it is no link");
/// # Ok(())
/// # }
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read_link(path)).await
}

/// Reads a whole file as text.
///
/// # Errors
///
/// `InvalidData` if the contents are no UTF-8, and those of [`std::fs::read_to_string`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let text = arc_util::fs::read_to_string("Cargo.toml").await?;
/// assert!(text.starts_with("[package]"));
/// # Ok(())
/// # }
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read_to_string(path)).await
}

/// Removes an empty directory.
///
/// # Errors
///
/// Those of [`std::fs::remove_dir`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-remove-dir-{}", std::process::id()));
/// arc_util::fs::create_dir(&path).await?;
/// arc_util::fs::remove_dir(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_dir(path)).await
}

/// Removes a directory with all that is in it. Symbolic links are removed, and not followed.
///
/// # Errors
///
/// Those of [`std::fs::remove_dir_all`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let name = format!("arc-doc-remove-dir-all-{}", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// arc_util::fs::create_dir_all(path.join("one/two")).await?;
/// arc_util::fs::remove_dir_all(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_dir_all(path)).await
}

/// Removes a file, or a symbolic link.
///
/// # Errors
///
/// Those of [`std::fs::remove_file`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-remove-file-{}", std::process::id()));
/// arc_util::fs::write(&path, "hello").await?;
/// arc_util::fs::remove_file(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_file(path)).await
}

/// Gives a file or a directory another name, in the same file system. A file that has this name is
/// replaced.
///
/// # Errors
///
/// Those of [`std::fs::rename`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-rename-{}", std::process::id()));
/// # arc_util::fs::create_dir(&path).await?;
/// arc_util::fs::write(path.join("old"), "hello").await?;
/// arc_util::fs::rename(path.join("old"), path.join("new")).await?;
/// assert_eq!(arc_util::fs::read(path.join("new")).await?, b"hello");
/// # arc_util::fs::remove_dir_all(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::fs::rename(from, to)).await
}

/// Changes the permissions of a file or a directory.
///
/// # Errors
///
/// Those of [`std::fs::set_permissions`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-permissions-{}", std::process::id()));
/// arc_util::fs::write(&path, "hello").await?;
/// let mut permissions = arc_util::fs::metadata(&path).await?.permissions();
/// permissions.set_readonly(true);
/// arc_util::fs::set_permissions(&path, permissions.clone()).await?;
/// assert!(arc_util::fs::metadata(&path).await?.permissions().readonly());
/// # #[allow(clippy::permissions_set_readonly_false, reason = "it is removed")]
/// # permissions.set_readonly(false);
/// # arc_util::fs::set_permissions(&path, permissions).await?;
/// # arc_util::fs::remove_file(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::set_permissions(path, permissions)).await
}

/// Makes a symbolic link `to` that leads to `from`. There is one kind of them on Unix.
///
/// # Errors
///
/// Those of [`std::os::unix::fs::symlink`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-symlink-{}", std::process::id()));
/// arc_util::fs::symlink("Cargo.toml", &path).await?;
/// assert_eq!(arc_util::fs::read_link(&path).await?.to_str(), Some("Cargo.toml"));
/// # arc_util::fs::remove_file(path).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(unix)]
pub async fn symlink(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::os::unix::fs::symlink(from, to)).await
}

/// Makes a symbolic link `to` that leads to the directory `from`.
///
/// # Errors
///
/// Those of [`std::os::windows::fs::symlink_dir`].
#[cfg(windows)]
pub async fn symlink_dir(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::os::windows::fs::symlink_dir(from, to)).await
}

/// Makes a symbolic link `to` that leads to the file `from`.
///
/// # Errors
///
/// Those of [`std::os::windows::fs::symlink_file`].
#[cfg(windows)]
pub async fn symlink_file(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::os::windows::fs::symlink_file(from, to)).await
}

/// What the system knows about a file. A symbolic link is not followed.
///
/// # Errors
///
/// Those of [`std::fs::symlink_metadata`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(!arc_util::fs::symlink_metadata("src").await?.is_symlink());
/// # Ok(())
/// # }
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> Result<Metadata> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::symlink_metadata(path)).await
}

/// Whether a path leads to something. It is false if a symbolic link leads nowhere.
///
/// # Errors
///
/// If that cannot be known, for want of a permission for example. Those of [`std::fs::exists`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(arc_util::fs::try_exists("Cargo.toml").await?);
/// assert!(!arc_util::fs::try_exists("no such file").await?);
/// # Ok(())
/// # }
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::exists(path)).await
}

/// Writes a whole file. It is created if it does not exist, and replaced if it does. When this
/// returns, the system has all bytes, which does not mean that they are on the disk.
///
/// The contents are copied first.
///
/// # Errors
///
/// Those of [`std::fs::write`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-write-{}", std::process::id()));
/// arc_util::fs::write(&path, "hello").await?;
/// assert_eq!(arc_util::fs::read(&path).await?, b"hello");
/// # arc_util::fs::remove_file(path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    run(move || std::fs::write(path, contents)).await
}
