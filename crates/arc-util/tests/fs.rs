//! Files: what was written is there, whatever becomes of the handle and the runtime.

#[cfg(unix)]
use crate::common::waiting;
use crate::common::{Folder, all_text, few_threads, fill_the_pool, kind, soon, until, waits};
use arc::runtime::{Builder, Runtime};
use arc_util::fs::{self, DirBuilder, File, OpenOptions};
use arc_util::io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use arc_util::io::{BufReader, BufWriter};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use std::future::Future;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Polls a future once, and drops it. It begins a job, and has no budget to see it end.
fn begun(future: impl Future) {
    arc::task::with_budget(|| {
        while !waits(arc::task::consume_budget()) {}
        assert!(waits(future));
    });
}

/// A path whose drop deletes the file, or the empty directory.
struct Temporary(PathBuf);

impl AsRef<Path> for Temporary {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0).or_else(|_| std::fs::remove_dir(&self.0));
    }
}

#[arc::test]
async fn a_path_that_deletes_its_file_is_dropped_when_the_file_is_open() {
    let folder = Folder::new("fs-temporary");
    let path = folder.0.join("file");
    let temporary = || {
        std::fs::write(&path, "hello").unwrap();
        Temporary(path.clone())
    };

    let mut text = String::new();
    let mut file = soon(File::open(temporary())).await.unwrap();
    assert!(!path.exists(), "it is dropped when the file is open");
    soon(file.read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "hello");
    let options = soon(OpenOptions::new().write(true).open(temporary())).await;
    options.unwrap();
    assert_eq!(soon(fs::read(temporary())).await.unwrap(), b"hello");
    assert_eq!(soon(fs::metadata(temporary())).await.unwrap().len(), 5);
    assert!(!path.exists());

    // A directory that is made after the path was dropped stays.
    soon(DirBuilder::new().create(Temporary(path.clone()))).await.unwrap();
    assert!(!path.exists(), "the path was dropped after it was made");
}

/// Both kinds of runtimes.
fn runtimes() -> [Runtime; 2] {
    let mut threads = Builder::new_multi_thread();
    threads.workers(2);
    [Builder::new_current_thread(), threads].map(|mut builder| builder.build().unwrap())
}

/// Tries something in both kinds of runtimes, with the path of a file in a folder of its own.
fn in_both(test: impl AsyncFn(&Path)) {
    for runtime in runtimes() {
        let folder = Folder::new("fs");
        runtime.block_on(test(&folder.0.join("file")));
    }
}

/// Opens a file to read and to write, which has this text.
async fn open(path: &Path, text: &[u8]) -> File {
    std::fs::write(path, text).unwrap();
    soon(File::options().read(true).write(true).open(path)).await.unwrap()
}

#[test]
fn a_file_that_is_dropped_loses_nothing() {
    in_both(async |path| {
        for number in 0..50 {
            let path = path.with_extension(number.to_string());
            let mut file = soon(File::create(&path)).await.unwrap();
            soon(file.write_all(b"all of it")).await.unwrap();
            drop(file);
            // The program runs on.
            until(|| std::fs::read(&path).unwrap() == b"all of it").await;
        }
    });
}

#[test]
fn a_log_that_is_opened_for_each_line_has_all_lines() {
    for runtime in runtimes() {
        let folder = Folder::new("fs-log");
        let path = folder.0.join("log");
        runtime.block_on(async {
            for number in 0..200 {
                let log = File::options().append(true).create(true).open(&path);
                let mut log = soon(log).await.unwrap();
                soon(log.write_all(format!("{number}\n").as_bytes())).await.unwrap();
            }
        });
        drop(runtime);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        lines.sort();
        assert!(lines.into_iter().eq(0..200), "{text}");
    }
}

#[test]
fn what_was_written_is_there_when_the_runtime_has_ended() {
    for round in 0..50 {
        for runtime in runtimes() {
            let folder = Folder::new("fs-end");
            let (path, other) = (folder.0.join("file"), folder.0.join("other"));
            runtime.block_on(async {
                let mut file = soon(File::create(&path)).await.unwrap();
                soon(file.write_all(b"the last words")).await.unwrap();

                // A task that never ends has another.
                let mut held = soon(File::create(&other)).await.unwrap();
                soon(held.write_all(b"held")).await.unwrap();
                arc::spawn(async move {
                    std::future::pending::<()>().await;
                    drop(held);
                });
            });
            drop(runtime);
            assert_eq!(std::fs::read(&path).unwrap(), b"the last words", "round {round}");
            assert_eq!(std::fs::read(&other).unwrap(), b"held", "round {round}");
        }
    }
}

#[test]
fn a_write_that_has_not_begun_is_done_at_the_end() {
    for runtime in few_threads() {
        let folder = Folder::new("fs-full");
        let paths = ["dropped", "held", "returned"].map(|name| folder.0.join(name));
        let mut files =
            paths.each_ref().map(|path| File::from(std::fs::File::create(path).unwrap()));
        let returned = runtime.block_on(async {
            fill_the_pool();
            for file in &mut files {
                soon(file.write_all(b"late")).await.unwrap();
            }
            let [dropped, held, returned] = files;
            drop(dropped);
            arc::spawn(async move {
                std::future::pending::<()>().await;
                drop(held);
            });
            assert!(paths.iter().all(|path| std::fs::read(path).unwrap().is_empty()));
            returned
        });
        drop(runtime);
        assert_eq!(std::fs::read(&paths[0]).unwrap(), b"late");
        assert_eq!(std::fs::read(&paths[1]).unwrap(), b"late");
        drop(returned);
        assert_eq!(std::fs::read(&paths[2]).unwrap(), b"late");
    }
}

/// Only what is ready takes a unit of the budget.
#[test]
fn writes_that_wait_take_nothing_of_the_budget() {
    let mut builder = arc_util::runtime::Builder::new_multi_thread();
    let runtime = builder.workers(1).max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let folder = Folder::new("budget");
        let mut file = File::create(folder.0.join("file")).await.unwrap();
        let (go_on, gate) = std::sync::mpsc::channel::<()>();
        let busy = arc::task::spawn_blocking(move || _ = gate.recv());
        file.write_all(b"first").await.unwrap();
        assert!((0..1000).all(|_| waits(file.write(b"second"))));
        assert!(arc::task::has_budget_remaining());
        drop(go_on);
        soon(busy).await.unwrap();
    });
}

/// Its job is done, and what it found is old by the time of the next one.
#[test]
fn a_seek_that_was_given_up_is_not_taken_for_the_next_one() {
    in_both(async |path| {
        for _ in 0..20 {
            let mut file = open(path, b"0123456789").await;
            let _ = waits(file.seek(SeekFrom::End(0)));
            soon(file.set_len(3)).await.unwrap();
            assert_eq!(soon(file.seek(SeekFrom::End(0))).await.unwrap(), 3);
            soon(file.rewind()).await.unwrap();
            assert_eq!(all_text(&mut file).await, "012");
        }
    });
}

/// By the trait nobody can tell the seek of a dropped future from the next one. But what it found
/// may be wrong by now, and then it is done again.
#[test]
fn the_end_is_where_it_is_though_a_seek_was_given_up() {
    in_both(async |path| {
        for _ in 0..20 {
            let mut writer = BufWriter::new(open(path, b"0123456789").await);
            let _ = waits(writer.seek(SeekFrom::End(0)));
            soon(writer.get_ref().metadata()).await.unwrap(); // the job is likely to be done
            std::fs::write(path, b"0123456789others").unwrap();
            assert_eq!(soon(writer.seek(SeekFrom::End(0))).await.unwrap(), 16);
            soon(writer.write_all(b"!")).await.unwrap();
            soon(writer.flush()).await.unwrap();
            assert_eq!(std::fs::read(path).unwrap(), b"0123456789others!");
        }
    });
}

/// The read may not have begun when the clone is made. (Then it came after it, one time in twenty.)
#[test]
fn a_clone_is_where_the_file_was_though_a_read_was_given_up() {
    in_both(async |path| {
        for round in 0..300 {
            let mut file = open(path, b"0123456789").await;
            let is_given_up = waits(file.read(&mut [0; 4]));
            let mut clone = soon(file.try_clone()).await.unwrap();
            let at = soon(clone.seek(SeekFrom::Current(0))).await.unwrap();
            assert_eq!(at, if is_given_up { 0 } else { 4 }, "round {round}");
        }
    });
}

#[test]
fn a_file_that_outlives_its_runtime_says_so() {
    let folder = Folder::new("fs-outlives");
    let path = folder.0.join("file");
    let [first, second] = runtimes();
    let mut file = first.block_on(async {
        let mut file = soon(File::create_new(&path)).await.unwrap();
        soon(file.write_all(b"0123456789")).await.unwrap();
        file
    });
    drop(first);
    second.block_on(async {
        assert_eq!(soon(file.seek(SeekFrom::Start(4))).await.unwrap(), 4);
        assert_eq!(all_text(&mut file).await, "456789");
    });
    drop(second);
    let outside = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = waits(file.write(b"!"));
    }));
    let message = *outside.unwrap_err().downcast::<&str>().unwrap();
    assert!(message.contains("a file or standard output was used outside"), "{message}");
}

#[arc::test]
async fn the_position_stays_after_sync_all_and_set_len() {
    let folder = Folder::new("fs-position");
    let path = folder.0.join("file");
    let mut file = open(&path, b"0123456789").await;
    let mut two = [0; 2];
    for (at, expected) in [(0, "01"), (1, "23"), (2, "45"), (3, "67")] {
        soon(file.read_exact(&mut two)).await.unwrap();
        assert_eq!(two, expected.as_bytes());
        match at {
            0 => soon(file.sync_all()).await.unwrap(),
            1 => soon(file.sync_data()).await.unwrap(),
            _ => soon(file.set_len(9)).await.unwrap(),
        }
    }
    soon(file.write_all(b"!")).await.unwrap();
    soon(file.flush()).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"01234567!");
}

#[arc::test]
async fn what_a_dropped_read_has_read_is_not_lost() {
    let folder = Folder::new("fs-read");
    let path = folder.0.join("file");
    let mut file = open(&path, b"0123456789").await;

    // Six bytes were read, and two are taken.
    begun(file.read(&mut [0; 6]));
    let mut two = [0; 2];
    soon(file.read_exact(&mut two)).await.unwrap();
    assert_eq!(&two, b"01");
    soon(file.sync_all()).await.unwrap();
    soon(file.read_exact(&mut two)).await.unwrap();
    assert_eq!(&two, b"23");

    // The rest is given back: by a write, a seek, and what else is done at the position.
    soon(file.write_all(b"W")).await.unwrap();
    soon(file.flush()).await.unwrap();
    begun(file.read(&mut [0; 3]));
    assert_eq!(soon(file.seek(SeekFrom::Current(1))).await.unwrap(), 6);
    begun(file.read(&mut [0; 3]));
    assert_eq!(kind(soon(file.seek(SeekFrom::Current(-20))).await), ErrorKind::InvalidInput);
    assert_eq!(soon(file.stream_position()).await.unwrap(), 6);
    begun(file.read(&mut [0; 3]));
    soon(file.set_len(8)).await.unwrap();
    let mut clone = soon(file.try_clone()).await.unwrap();
    begun(file.read(&mut [0; 1]));
    let mut file = soon(file.into_std()).await;
    assert_eq!(file.stream_position().unwrap(), 6);
    assert_eq!(soon(clone.read(&mut [0; 9])).await.unwrap(), 2, "it has the same position");
    assert_eq!(std::fs::read(&path).unwrap(), b"0123W567");
}

#[arc::test]
async fn a_set_len_that_was_dropped_does_not_come_later() {
    let folder = Folder::new("fs-set-len");
    let path = folder.0.join("file");
    for _ in 0..50 {
        let mut file = soon(File::create(&path)).await.unwrap();
        begun(file.set_len(0));
        soon(file.write_all(b"after it")).await.unwrap();
        soon(file.sync_all()).await.unwrap();
        assert_eq!(soon(file.metadata()).await.unwrap().len(), 8);
    }
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn the_error_of_a_write_is_returned_once_by_what_comes_next() {
    const FULL: i32 = 28;
    let folder = Folder::new("fs-error");
    let read_only = folder.0.join("file");
    std::fs::write(&read_only, "text").unwrap();
    let open = async || {
        let opening = File::options().read(true).write(true).open("/dev/full");
        let mut file = soon(opening).await.unwrap();
        assert_eq!(soon(file.write(b"no room")).await.unwrap(), 7);
        file
    };
    let number = |result: std::io::Result<()>| result.unwrap_err().raw_os_error();

    assert_eq!(number(soon(open().await.flush()).await), Some(FULL));
    assert_eq!(number(soon(open().await.shutdown()).await), Some(FULL));
    assert_eq!(number(soon(open().await.sync_all()).await), Some(FULL));
    assert_eq!(number(soon(open().await.sync_data()).await), Some(FULL));
    assert_eq!(number(soon(open().await.set_len(3)).await), Some(FULL));
    assert_eq!(number(soon(open().await.write_all(b"!")).await), Some(FULL));
    assert_eq!(number(soon(open().await.read(&mut [0; 4])).await.map(drop)), Some(FULL));
    assert_eq!(number(soon(open().await.seek(SeekFrom::Start(0))).await.map(drop)), Some(FULL));

    let mut file = open().await;
    soon(file.metadata()).await.unwrap();
    assert_eq!(number(soon(file.flush()).await), Some(FULL));
    soon(file.flush()).await.expect("it was told");

    // The kind and the number are the system's, whatever the call.
    let mut file = soon(File::open(&read_only)).await.unwrap();
    soon(file.write_all(b"not for writing")).await.unwrap();
    assert_eq!(soon(file.flush()).await.unwrap_err().raw_os_error(), Some(9));
}

#[arc::test]
async fn large_buffers_are_cut_into_pieces() {
    let folder = Folder::new("fs-large");
    let path = folder.0.join("file");
    let bytes: Vec<u8> = (0..5_000_000u32).map(|at| (at / 7) as u8).collect();
    let mut file = open(&path, b"").await;
    assert_eq!(soon(file.write(&bytes)).await.unwrap(), 2 << 20);
    soon(file.write_all(&bytes[2 << 20..])).await.unwrap();
    soon(file.seek(SeekFrom::Start(0))).await.unwrap();
    let mut read = Vec::new();
    soon(file.read_to_end(&mut read)).await.unwrap();
    assert!(read == bytes);

    assert_eq!(file.max_buf_size(), 2 << 20);
    file.set_max_buf_size(3);
    let parts = [b"ab", b"cd", b"ef"].map(|part| std::io::IoSlice::new(part));
    soon(file.set_len(0)).await.unwrap();
    soon(file.seek(SeekFrom::Start(0))).await.unwrap();
    assert_eq!(soon(file.write_vectored(&parts)).await.unwrap(), 3);
    soon(file.seek(SeekFrom::Start(0))).await.unwrap();
    assert_eq!(soon(file.read(&mut [0; 9])).await.unwrap(), 3);
    assert_eq!(soon(file.try_clone()).await.unwrap().max_buf_size(), 3);
    soon(file.flush()).await.unwrap();
    assert_eq!(file.try_into_std().unwrap().metadata().unwrap().len(), 3);
}

#[cfg(unix)]
#[arc::test]
async fn a_pipe_is_read_and_written_as_a_file() {
    // It has no position, so what was read ahead cannot be given back.
    let (mut near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut file = File::from(std::os::fd::OwnedFd::from(far));
    near.write_all(b"0123").unwrap();
    begun(file.read(&mut [0; 4]));
    let mut two = [0; 2];
    soon(file.read_exact(&mut two)).await.unwrap();
    soon(file.write_all(b"answer")).await.unwrap();
    soon(file.flush()).await.unwrap();
    let mut answer = [0; 6];
    near.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"answer");
    soon(file.read_exact(&mut two)).await.unwrap();
    assert_eq!(&two, b"23");
}

/// As is a FIFO that was opened so.
#[cfg(unix)]
#[arc::test]
async fn a_pipe_that_is_non_blocking_is_waited_for() {
    const BYTES: usize = 1_000_000;
    let (mut near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let mut file = File::from(std::os::fd::OwnedFd::from(far));
    let mut text = [0; 4];
    let read = waiting(file.read_exact(&mut text));
    near.write_all(b"late").unwrap();
    soon(read).await.unwrap();
    assert_eq!(&text, b"late");

    soon(file.write_all(&[1; BYTES])).await.unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        near.read_to_end(&mut all).map(|_| all.len())
    });
    soon(file.flush()).await.unwrap();
    drop(file);
    assert_eq!(reader.join().unwrap().unwrap(), BYTES);
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn lines_are_written_and_read() {
    let folder = Folder::new("files");
    let path = folder.0.join("file");
    let mut file = soon(File::create(&path)).await.unwrap();
    for number in 0..1000 {
        let line = format!("line {number}\n");
        soon(file.write_all(line.as_bytes())).await.unwrap();
    }
    soon(file.flush()).await.unwrap();
    let file = soon(File::open(&path)).await.unwrap();
    let (mut reader, mut count) = (BufReader::new(file).lines(), 0);
    while let Some(line) = soon(reader.next_line()).await.unwrap() {
        assert_eq!(line, format!("line {count}"));
        count += 1;
    }
    assert_eq!(count, 1000);
    soon(fs::rename(&path, folder.0.join("other"))).await.unwrap();
    let entries = soon(fs::read_dir(&folder.0)).await.unwrap();
    let entries = soon(entries.collect::<Vec<_>>()).await;
    let names: Vec<_> = entries.iter().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["other"]);
    assert!(soon(fs::read(&path)).await.is_err());
}

/// What is done to a file of arc's and to one of std's.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize),
    Write(usize),
    Seek(SeekFrom),
    SetLen(u64),
    Flush,
    SyncAll,
    /// The read is dropped, and what follows is as if it had not been.
    DroppedRead(usize),
}

fn a_step() -> Step {
    let pick = |limit: usize| fastrand::usize(..limit);
    match pick(12) {
        0..3 => Step::Read(pick(40)),
        3..6 => Step::Write(pick(40)),
        6 => Step::Seek(SeekFrom::Start(fastrand::u64(..200))),
        7 => Step::Seek(SeekFrom::End(fastrand::i64(-150..50))),
        8 => Step::Seek(SeekFrom::Current(fastrand::i64(-60..60))),
        9 => Step::SetLen(fastrand::u64(..200)),
        10 => [Step::Flush, Step::SyncAll][pick(2)],
        _ => Step::DroppedRead(1 + pick(40)),
    }
}

/// Does a step to both files, and compares the results.
async fn compare(step: Step, file: &mut File, model: &mut std::fs::File) {
    let byte = fastrand::u8(..);
    match step {
        Step::Read(count) => {
            // In the end as many bytes, in however many pieces.
            let (mut read, mut expected) = (Vec::new(), Vec::new());
            soon((&mut *file).take(count as u64).read_to_end(&mut read)).await.unwrap();
            model.take(count as u64).read_to_end(&mut expected).unwrap();
            assert_eq!(read, expected);
        }
        Step::Write(count) => {
            let bytes = vec![byte; count];
            assert_eq!(soon(file.write(&bytes)).await.unwrap(), model.write(&bytes).unwrap());
        }
        Step::Seek(position) => {
            let number = |error: std::io::Error| error.raw_os_error();
            let result = soon(file.seek(position)).await.map_err(number);
            assert_eq!(result, model.seek(position).map_err(number));
        }
        Step::SetLen(len) => {
            soon(file.set_len(len)).await.unwrap();
            model.set_len(len).unwrap();
        }
        Step::Flush => soon(file.flush()).await.unwrap(),
        Step::SyncAll => soon(file.sync_all()).await.unwrap(),
        Step::DroppedRead(count) => {
            let mut read = vec![0; count];
            let polled = file.read(&mut read).now_or_never();
            if let Some(count) = polled {
                // It came so soon that it was not dropped.
                let mut expected = vec![0; count.unwrap()];
                model.read_exact(&mut expected).unwrap();
                assert!(read.starts_with(&expected));
            }
        }
    }
}

#[test]
fn random_operations_do_what_those_of_std_do() {
    for runtime in runtimes() {
        let folder = Folder::new("fs-model");
        for round in 0..60 {
            // The seed of a round that fails repeats it.
            fastrand::seed(round);
            let paths = ["file", "model"].map(|name| folder.0.join(name));
            let [file, mut model] = paths.each_ref().map(|path| {
                std::fs::write(path, "").unwrap();
                let mut options = std::fs::File::options();
                options.read(true).write(true).append(round % 4 == 3).open(path).unwrap()
            });
            let mut file = File::from_std(file);
            let steps: Vec<_> = (0..60).map(|_| a_step()).collect();
            runtime.block_on(async {
                for (at, &step) in steps.iter().enumerate() {
                    let done = std::panic::AssertUnwindSafe(compare(step, &mut file, &mut model));
                    let done = done.catch_unwind().await;
                    assert!(done.is_ok(), "round {round}, step {at} of {steps:?}");
                }
                let position = soon(file.stream_position()).await.unwrap();
                assert_eq!(position, model.stream_position().unwrap());
                drop(file.into_std().await);
            });
            let [written, expected] = paths.map(|path| std::fs::read(path).unwrap());
            assert_eq!(written, expected, "round {round}: {steps:?}");
        }
    }
}

#[arc::test]
async fn all_entries_of_a_directory_are_read() {
    let folder = Folder::new("fs-entries");
    for number in 0..150 {
        soon(fs::write(folder.0.join(number.to_string()), "")).await.unwrap();
    }
    soon(fs::create_dir(folder.0.join("150"))).await.unwrap();
    let mut entries = soon(fs::read_dir(&folder.0)).await.unwrap();
    let mut found = Vec::new();
    loop {
        // A future that is dropped takes no entry with it.
        match entries.next_entry().now_or_never() {
            Some(Ok(Some(entry))) => found.push(entry),
            Some(result) => break assert!(result.unwrap().is_none()),
            None => found.extend(soon(entries.next_entry()).await.unwrap()),
        }
    }
    assert!(soon(entries.next()).await.is_none());
    let mut numbers: Vec<usize> = Vec::new();
    for entry in found {
        let name = entry.file_name().into_string().unwrap();
        let is_dir = soon(entry.file_type()).await.unwrap().is_dir();
        assert_eq!(is_dir, name == "150");
        assert_eq!(soon(entry.metadata()).await.unwrap().is_dir(), is_dir);
        assert_eq!(entry.path(), folder.0.join(&name));
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            assert_eq!(entry.ino(), std::fs::metadata(entry.path()).unwrap().ino());
        }
        numbers.push(name.parse().unwrap());
    }
    numbers.sort();
    assert!(numbers.into_iter().eq(0..=150));
    let entries = soon(fs::read_dir(&folder.0)).await.unwrap();
    assert_eq!(soon(entries.try_collect::<Vec<_>>()).await.unwrap().len(), 151);
}

#[arc::test]
async fn functions_of_paths_do_what_those_of_std_do() {
    let folder = Folder::new("fs-paths");
    let (file, other, deep) =
        (folder.0.join("file"), folder.0.join("other"), folder.0.join("one/two"));
    soon(fs::write(&file, "hello")).await.unwrap();
    assert_eq!(soon(fs::read(&file)).await.unwrap(), b"hello");
    assert_eq!(soon(fs::read_to_string(&file)).await.unwrap(), "hello");
    assert_eq!(soon(fs::copy(&file, &other)).await.unwrap(), 5);
    assert_eq!(soon(fs::metadata(&other)).await.unwrap().len(), 5);
    soon(fs::remove_file(&other)).await.unwrap();
    soon(fs::hard_link(&file, &other)).await.unwrap();
    soon(fs::rename(&other, folder.0.join("third"))).await.unwrap();
    assert!(!soon(fs::try_exists(&other)).await.unwrap());
    soon(fs::create_dir_all(&deep)).await.unwrap();
    let error = soon(DirBuilder::new().create(&deep)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    soon(DirBuilder::new().recursive(true).create(&deep)).await.unwrap();
    soon(fs::remove_dir(&deep)).await.unwrap();
    soon(fs::remove_dir_all(folder.0.join("one"))).await.unwrap();
    let error = soon(fs::read(&deep)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.raw_os_error(), std::fs::read(&deep).unwrap_err().raw_os_error());
    assert!(soon(fs::canonicalize(&file)).await.unwrap().is_absolute());
    soon(File::create_new(&file)).await.expect_err("it exists");

    let opened = soon(OpenOptions::new().write(true).open(&file)).await.unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    soon(opened.set_modified(time)).await.unwrap();
    let metadata = soon(opened.metadata()).await.unwrap();
    assert_eq!(metadata.modified().unwrap(), time);
    let mut permissions = metadata.permissions();
    permissions.set_readonly(true);
    soon(opened.set_permissions(permissions.clone())).await.unwrap();
    assert!(soon(fs::metadata(&file)).await.unwrap().permissions().readonly());
    soon(fs::set_permissions(&file, permissions)).await.unwrap();
}

#[cfg(unix)]
#[arc::test]
async fn links_and_modes_are_those_of_unix() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("fs-unix");
    let (file, link, dir) = (folder.0.join("file"), folder.0.join("link"), folder.0.join("dir"));
    let opening = OpenOptions::new().write(true).create(true).mode(0o600).open(&file);
    let opened = soon(opening).await.unwrap();
    let mode = soon(opened.metadata()).await.unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    soon(fs::symlink("file", &link)).await.unwrap();
    assert_eq!(soon(fs::read_link(&link)).await.unwrap().to_str(), Some("file"));
    assert!(soon(fs::symlink_metadata(&link)).await.unwrap().is_symlink());
    assert!(soon(fs::metadata(&link)).await.unwrap().is_file());
    soon(fs::remove_file(&file)).await.unwrap();
    assert!(!soon(fs::try_exists(&link)).await.unwrap(), "it leads nowhere");
    soon(DirBuilder::new().mode(0o700).create(&dir)).await.unwrap();
    assert_eq!(soon(fs::metadata(&dir)).await.unwrap().permissions().mode() & 0o777, 0o700);
}
