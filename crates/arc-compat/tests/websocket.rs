//! async-tungstenite's WebSocket, client and server, over arc's sockets as they are.

use crate::common::{Result, soon, tcp_pair};
use arc_util::net::TcpStream;
use async_tungstenite::tungstenite::error::{Error, ProtocolError};
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use async_tungstenite::{WebSocketStream, accept_async, client_async};
use futures_util::StreamExt;

type Socket = WebSocketStream<TcpStream>;

/// The two ends of a WebSocket: client, server.
async fn pair() -> Result<(Socket, Socket)> {
    let (client, server) = tcp_pair().await?;
    let server = arc::spawn(accept_async(server));
    let (client, _) = soon(client_async("ws://localhost/", client)).await?;
    Ok((client, soon(server).await??))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn messages_come_back_and_both_sides_agree_to_close() -> Result {
    let (mut client, mut server) = pair().await?;
    let echo = arc::spawn(async move {
        let (mut count, mut closed) = (0, None);
        // After the close frame, the next read answers it and finds the end.
        while let Some(message) = server.next().await {
            match message? {
                Message::Close(frame) => closed = frame,
                message => server.send(message).await?,
            }
            count += 1;
        }
        Result::Ok((count, closed))
    });
    let large = Message::binary(vec![1; 3 << 20]);
    for message in [Message::text("grüß dich"), Message::binary(vec![]), large] {
        soon(client.send(message.clone())).await?;
        assert_eq!(soon(client.next()).await.expect("not closed")?, message);
    }
    let frame = CloseFrame { code: CloseCode::Normal, reason: "done".into() };
    soon(client.close(Some(frame.clone()))).await?;
    let answer = soon(client.next()).await.expect("the other half")?;
    assert_eq!(answer, Message::Close(Some(frame.clone())));
    assert!(soon(client.next()).await.is_none(), "both have agreed");
    assert_eq!(soon(echo).await??, (4, Some(frame)));
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_ping_is_answered_while_the_other_reads() -> Result {
    let (mut client, mut server) = pair().await?;
    let reading = arc::spawn(async move { while server.next().await.is_some() {} });
    soon(client.send(Message::Ping("alive?".into()))).await?;
    let pong = soon(client.next()).await.expect("not closed")?;
    assert_eq!(pong, Message::Pong("alive?".into()));
    soon(client.close(None)).await?;
    assert_eq!(soon(client.next()).await.expect("the other half")?, Message::Close(None));
    assert!(soon(client.next()).await.is_none());
    soon(reading).await?;
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_peer_that_is_gone_without_a_word_is_an_error() -> Result {
    let (client, mut server) = pair().await?;
    drop(client);
    let error = soon(server.next()).await.expect("an error").expect_err("no message");
    let reset = Error::Protocol(ProtocolError::ResetWithoutClosingHandshake);
    assert_eq!(error.to_string(), reset.to_string());
    Ok(())
}

/// Both directions at once, each by a task of its own.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_socket_is_split_between_tasks() -> Result {
    const MESSAGES: usize = 1000;
    let (client, server) = pair().await?;
    let mut tasks = Vec::new();
    for socket in [client, server] {
        let (mut sender, mut receiver) = socket.split();
        let sending = arc::spawn(async move {
            for number in 0..MESSAGES {
                sender.send(Message::text(number.to_string())).await?;
            }
            Result::Ok(sender)
        });
        tasks.push(arc::spawn(async move {
            for number in 0..MESSAGES {
                let message = receiver.next().await.ok_or("closed too early")??;
                assert_eq!(message, Message::text(number.to_string()));
            }
            let socket = WebSocketStream::reunite(sending.await??, receiver);
            Result::Ok(socket.map_err(|_| "two halves of one")?)
        }));
    }
    let mut sockets = Vec::new();
    for task in tasks {
        sockets.push(soon(task).await??);
    }
    let [client, server] = &mut sockets[..] else { unreachable!("there are two") };
    soon(client.close(None)).await?;
    assert_eq!(soon(server.next()).await.expect("it is told")?, Message::Close(None));
    Ok(())
}
