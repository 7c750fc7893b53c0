//! The stream of tokio-test, with which programs for tokio test their protocols: `arc::io` reads
//! and writes it as it is.

use crate::common::{Result, soon};
use arc_util::io::{self, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use std::io::ErrorKind;
use std::time::Duration;
use tokio_test::io::Builder;

/// A protocol of a program's own: each line comes back twice.
async fn twice(stream: impl AsyncRead + AsyncWrite) -> std::io::Result<()> {
    let (read, mut write) = io::split(stream);
    let mut lines = io::BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        write.write_all(format!("{line} {line}\n").as_bytes()).await?;
        write.flush().await?;
    }
    write.shutdown().await
}

#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn a_protocol_is_tested_with_tokios_mock() -> Result {
    let mut mock = Builder::new();
    mock.read(b"o").read(b"ne\ntw").write(b"one one\n").read(b"o\n").write(b"two two\n");
    soon(twice(mock.build())).await?;
    soon(arc::spawn(twice(mock.build()))).await??;
    Ok(())
}

#[arc::test(crate = "arc_util")]
async fn what_the_mock_reads_is_copied_and_its_errors_come_through() -> Result {
    let error = || std::io::Error::from(ErrorKind::ConnectionReset);
    let mut mock = Builder::new().read(b"hello").read_error(error()).build();
    let mut copy = Vec::new();
    let failed = soon(io::copy(&mut mock, &mut copy)).await.unwrap_err();
    assert_eq!((failed.kind(), copy), (ErrorKind::ConnectionReset, b"hello".to_vec()));

    let mut mock = Builder::new().write(b"hello").write_error(error()).build();
    let failed = soon(io::copy(&mut &b"hello, world"[..], &mut mock)).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::ConnectionReset);
    Ok(())
}

/// Its pauses are tokio's timers, which the feature `tokio-rt` is for.
#[arc::test(crate = "arc_util")]
async fn the_mock_pauses() -> Result {
    let mut mock = Builder::new().wait(Duration::from_millis(1)).read(b"late").build();
    let mut text = String::new();
    soon(mock.read_to_string(&mut text)).await?;
    assert_eq!(text, "late");
    Ok(())
}
