//! A client that does not wait for ever, and tries again (chapter 20).

use crate::frame::{Input, Reply};
use arc::io::AsyncWriteExt;
use arc::net::TcpStream;
use arc::time::{sleep, timeout};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a call may take, and how often it is tried.
#[derive(Clone, Copy)]
pub struct Retry {
    /// For each try.
    pub limit: Duration,
    /// At least one.
    pub tries: u32,
    /// The pause before the second try. It doubles with each further one.
    pub pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { limit: Duration::from_secs(1), tries: 5, pause: Duration::from_millis(50) }
    }
}

/// A client, which connects when it has to.
pub struct Client {
    address: SocketAddr,
    /// None while a call is on its way. So if that is dropped, the connection goes with it: a reply
    /// that comes late must not be taken for that of the next call.
    connection: Option<(TcpStream, Input)>,
}

impl Client {
    /// A client that is not connected yet.
    pub fn new(address: SocketAddr) -> Self {
        Client { address, connection: None }
    }

    /// Sends a request, and gives the reply. Dropped, it may have been answered or not.
    ///
    /// # Errors
    /// Those of the connection, which is closed then.
    pub async fn call(&mut self, request: &[&str]) -> io::Result<String> {
        let (mut stream, mut input) = match self.connection.take() {
            Some(connection) => connection,
            None => (TcpStream::connect(self.address).await?, Input::default()),
        };
        let mut bytes = Reply::default();
        bytes.request(request);
        stream.write_all(&bytes.bytes).await?;
        loop {
            if let Some(reply) = input.reply() {
                self.connection = Some((stream, input));
                return Ok(String::from_utf8_lossy(&reply).trim_end().to_owned());
            }
            if input.read_from(&mut stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The same with a limit, and again if it fails. Only for a request that may be done twice:
    /// when the limit is over, nobody knows whether it was done once.
    ///
    /// # Errors
    /// That of the last try.
    pub async fn call_again(&mut self, request: &[&str], retry: Retry) -> io::Result<String> {
        let mut pause = retry.pause;
        let mut tries = 1;
        loop {
            let tried = timeout(retry.limit, self.call(request)).await;
            let error = match tried {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(elapsed) => elapsed.into(),
            };
            if tries == retry.tries {
                return Err(error);
            }
            tries += 1;
            // Longer each time: who is in trouble is not asked more often.
            sleep(pause).await;
            pause *= 2;
        }
    }
}
