
// Appended to tokio's tests of `AsyncFd`: what their types have by `AsRawFd`, in safe code.

impl std::os::fd::AsFd for FileDescriptor {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<T: std::os::fd::AsFd> std::os::fd::AsFd for ArcFd<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
