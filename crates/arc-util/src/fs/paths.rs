//! Functions of paths: each of them is the function of std's with the same name, as one job.
//!
//! # Examples
//!
//! ```
//! use arc_util::fs;
//! # #[arc::main]
//! # async fn main() -> std::io::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("arc-doc-paths-{}", std::process::id()));
//! fs::create_dir_all(folder.join("inner")).await?;
//! let (file, other) = (folder.join("file"), folder.join("other"));
//! fs::write(&file, "hello").await?;
//! assert_eq!(fs::metadata(&file).await?.len(), 5);
//! assert_eq!(fs::copy(&file, &other).await?, 5);
//! fs::remove_file(&file).await?;
//! fs::rename(&other, &file).await?;
//! fs::hard_link(&file, &other).await?;
//! assert_eq!(fs::read(&other).await?, b"hello");
//! assert_eq!(fs::read_to_string(&other).await?, "hello");
//! assert!(!fs::symlink_metadata(&other).await?.is_symlink());
//! assert!(fs::read_link(&other).await.is_err(), "it is no link");
//! assert!(fs::canonicalize(".").await?.is_absolute());
//! assert!(fs::create_dir(&folder).await.is_err(), "it exists");
//! let mut permissions = fs::metadata(&file).await?.permissions();
//! permissions.set_readonly(true);
//! fs::set_permissions(&file, permissions).await?;
//! fs::remove_dir(folder.join("inner")).await?;
//! # #[allow(clippy::permissions_set_readonly_false, reason = "it is removed, also on Windows")]
//! # {
//! # let mut permissions = fs::metadata(&file).await?.permissions();
//! # permissions.set_readonly(false);
//! # fs::set_permissions(&file, permissions).await?;
//! # }
//! fs::remove_dir_all(&folder).await?;
//! assert!(!fs::try_exists(folder).await?);
//! # Ok(())
//! # }
//! ```

use crate::blocking_io::run;
use std::fs::{Metadata, Permissions};
use std::io::Result;
use std::path::{Path, PathBuf};

/// Defines a function that runs std's function of the same name as a job.
macro_rules! jobs {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($path:ident),+ $(; $more:ident: $type:ty)?) -> $output:ty = $std:path;
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($std), "`].")]
        pub async fn $name(
            $($path: impl AsRef<Path>,)+ $($more: $type)?
        ) -> Result<$output> {
            $(let $path = $path.as_ref().to_owned();)+
            run(move || $std($($path),+ $(, $more)?)).await
        }
    )*};
}

jobs! {
    /// Returns the absolute path, without symbolic links, `.` and `..`.
    fn canonicalize(path) -> PathBuf = std::fs::canonicalize;

    /// Copies the contents and the permissions of a file, and returns how many bytes these are. A
    /// file that is there already is replaced.
    fn copy(from, to) -> u64 = std::fs::copy;

    /// Makes a directory. The one above has to exist.
    fn create_dir(path) -> () = std::fs::create_dir;

    /// Makes a directory, and those above that do not exist. It is no error if it exists.
    fn create_dir_all(path) -> () = std::fs::create_dir_all;

    /// Gives the file `from` a second name, `to`, in the same file system.
    fn hard_link(from, to) -> () = std::fs::hard_link;

    /// What the system knows about a file: its length, times and permissions. Symbolic links are
    /// followed.
    fn metadata(path) -> Metadata = std::fs::metadata;

    /// Reads a whole file.
    fn read(path) -> Vec<u8> = std::fs::read;

    /// Returns where a symbolic link leads.
    fn read_link(path) -> PathBuf = std::fs::read_link;

    /// Reads a whole file as text. It is `InvalidData` if the contents are no UTF-8.
    fn read_to_string(path) -> String = std::fs::read_to_string;

    /// Removes an empty directory.
    fn remove_dir(path) -> () = std::fs::remove_dir;

    /// Removes a directory with all that is in it. Symbolic links are removed, and not followed.
    fn remove_dir_all(path) -> () = std::fs::remove_dir_all;

    /// Removes a file, or a symbolic link.
    fn remove_file(path) -> () = std::fs::remove_file;

    /// Gives a file or a directory another name, in the same file system. A file that has this
    /// name is replaced.
    fn rename(from, to) -> () = std::fs::rename;

    /// Changes the permissions of a file or a directory.
    fn set_permissions(path; permissions: Permissions) -> () = std::fs::set_permissions;

    /// Makes a symbolic link `to` that leads to `from`. There is one kind of them on Unix.
    #[cfg(unix)]
    fn symlink(from, to) -> () = std::os::unix::fs::symlink;

    /// Makes a symbolic link `to` that leads to the directory `from`.
    #[cfg(windows)]
    fn symlink_dir(from, to) -> () = std::os::windows::fs::symlink_dir;

    /// Makes a symbolic link `to` that leads to the file `from`.
    #[cfg(windows)]
    fn symlink_file(from, to) -> () = std::os::windows::fs::symlink_file;

    /// What the system knows about a file. A symbolic link is not followed.
    fn symlink_metadata(path) -> Metadata = std::fs::symlink_metadata;

    /// Whether a path leads to something. It is false if a symbolic link leads nowhere, and an
    /// error if it cannot be known, for want of a permission for example.
    fn try_exists(path) -> bool = std::fs::exists;
}

/// Writes a whole file. It is created if it does not exist, and replaced if it does. When this
/// returns, the system has all bytes, which does not mean that they are on the disk.
///
/// The contents are copied first.
///
/// # Errors
///
/// Those of [`std::fs::write`].
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    run(move || std::fs::write(path, contents)).await
}
