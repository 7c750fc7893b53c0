//! How a file is opened.

use crate::blocking_io::run;
use crate::fs::file::File;
use std::future::Future;
use std::io::Result;
use std::path::Path;

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let file = arc_util::fs::File::open("Cargo.toml").await?;
    /// assert!(file.metadata().await?.len() > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().read(true).open(path).await
    }

    /// Opens a file for writing. A file that exists is emptied; otherwise it is created.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::File::create`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::{fs::File, io::AsyncWriteExt};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("arc-doc-create-{}", std::process::id()));
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.flush().await?; // waits, and returns an error of the write
    /// # assert_eq!(arc_util::fs::read(&path).await?, b"hello");
    /// # arc_util::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Creates a file, for reading and writing.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is one, and those of [`std::fs::File::create_new`].
    pub async fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().read(true).write(true).create_new(true).open(path).await
    }

    /// Options that a file is opened with, none of them set. The same as [`OpenOptions::new`].
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }
}

/// Options that a file is opened with. Those of [`std::fs::OpenOptions`], by the same names.
///
/// # Examples
///
/// ```
/// use arc_util::{fs::OpenOptions, io::AsyncWriteExt};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("arc-doc-options-{}", std::process::id()));
/// for line in ["one\n", "two\n"] {
///     let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
///     log.write_all(line.as_bytes()).await?;
///     log.flush().await?;
/// }
/// assert_eq!(arc_util::fs::read(&path).await?, b"one\ntwo\n");
/// # arc_util::fs::remove_file(path).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(std::fs::OpenOptions);

impl OpenOptions {
    /// Options of which none is set.
    pub fn new() -> Self {
        Self(std::fs::OpenOptions::new())
    }

    /// The file is opened for reading.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.0.read(read);
        self
    }

    /// The file is opened for writing. What is in it is overwritten, and stays until then.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.0.write(write);
        self
    }

    /// The file is opened for writing, and each write goes to the end of it.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.0.append(append);
        self
    }

    /// The file is emptied when it is opened. It has to be opened for writing.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.0.truncate(truncate);
        self
    }

    /// The file is created if it does not exist. It has to be opened for writing.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.0.create(create);
        self
    }

    /// The file is created, and it is an error if it exists. It has to be opened for writing.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.0.create_new(create_new);
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::OpenOptions::open`].
    ///
    /// # Cancellation
    ///
    /// A future that is dropped may have opened the file, and created or emptied it. Then it is
    /// closed again.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub fn open<P: AsRef<Path>>(&self, path: P) -> impl Future<Output = Result<File>> + use<P> {
        let options = self.0.clone();
        async move {
            let owned = path.as_ref().to_owned();
            let opened = run(move || options.open(owned)).await;
            // What was given may delete the file when it is dropped, as that of the crate tempfile.
            drop(path);
            opened.map(File::from_std)
        }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(options: std::fs::OpenOptions) -> Self {
        Self(options)
    }
}

#[cfg(unix)]
impl OpenOptions {
    /// The permissions of a file that is created, such as `0o600`, less those that the process's
    /// umask takes away.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::mode(&mut self.0, mode);
        self
    }

    /// Flags of open(2), such as `O_NOFOLLOW`, without those for reading and writing.
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut self.0, flags);
        self
    }
}

#[cfg(windows)]
impl OpenOptions {
    /// The argument `dwDesiredAccess` of `CreateFile`, in place of what the other options say.
    pub fn access_mode(&mut self, access: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::access_mode(&mut self.0, access);
        self
    }

    /// The argument `dwShareMode` of `CreateFile`: what others may do with the file meanwhile.
    pub fn share_mode(&mut self, share: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut self.0, share);
        self
    }

    /// Flags of the argument `dwFlagsAndAttributes` of `CreateFile2`.
    pub fn custom_flags(&mut self, flags: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut self.0, flags);
        self
    }

    /// Attributes of the argument `dwFlagsAndAttributes` of `CreateFile2`.
    pub fn attributes(&mut self, attributes: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::attributes(&mut self.0, attributes);
        self
    }

    /// The argument `dwSecurityQosFlags` of `CreateFile2`.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::security_qos_flags(&mut self.0, flags);
        self
    }
}
