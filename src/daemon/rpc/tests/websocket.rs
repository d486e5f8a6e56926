//! A WebSocket carries all that lines carry.

use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Message,
        protocol::{WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::*;

struct Socket {
    stream: WebSocketStream<DuplexStream>,
    serving: JoinSet<()>,
    stop: CancellationToken,
}

async fn open(bed: &Arc<Bed>) -> Socket {
    let (near, far) = duplex(64 << 10);
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(serve_connection(far, PEER, reception(&table(bed), &stop)));
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    let (stream, _) = client_async_with_config("ws://localhost/rpc", near, Some(config)).await.unwrap();
    Socket { stream, serving, stop }
}

impl Socket {
    async fn send(&mut self, text: impl Into<String>) {
        self.stream.send(Message::text(text.into())).await.unwrap();
    }

    /// The next message; the code of the goodbye as a number, null when the socket is gone.
    async fn receive(&mut self) -> Value {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Close(frame))) => return json!(frame.map(|frame| u16::from(frame.code))),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Value::Null,
            }
        }
    }

    async fn ask(&mut self, text: impl Into<String>) -> Value {
        self.send(text).await;
        self.receive().await
    }

    async fn assert_alive(&mut self) {
        assert_eq!(self.ask(r#"{"id":"alive","method":"ping"}"#).await["id"], "alive");
    }
}

#[tokio::test]
async fn requests_batches_violations_and_suggestions_are_as_on_lines() {
    let bed = Bed::new();
    let mut socket = open(&bed).await;
    assert_eq!(socket.ask(r#"{"id":-1,"method":"ping"}"#).await["id"], -1);
    assert_eq!(kind(&socket.ask(r#"{"id":1,"method":"pnig"}"#).await), "METHOD_NOT_FOUND");
    assert_eq!(kind(&socket.ask(r#"{"id":1,"method":"run/get","params":{}}"#).await), "INVALID_PARAMS");
    assert_eq!(kind(&socket.ask("junk").await), "PARSE_ERROR");
    assert_eq!(kind(&socket.ask("[]").await), "INVALID_REQUEST");
    assert_eq!(socket.ask(r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]"#).await[1]["id"], 2);
    // A binary message says the same as a text.
    socket.stream.send(Message::binary(r#"{"id":3,"method":"ping"}"#.as_bytes())).await.unwrap();
    assert_eq!(socket.receive().await["id"], 3);
    socket.send(r#"{"id":4,"method":"ping","params":{"a":1}}"#).await;
    assert_eq!(socket.receive().await["id"], 4);
    assert_eq!(socket.receive().await["params"]["result"]["type"], "signal.unknownField");
    // Responses, and notifications that nobody knows, are nobody's business.
    socket.send(r#"{"id":1,"result":1}"#).await;
    socket.send(r#"{"method":"no/such"}"#).await;
    socket.assert_alive().await;
}

#[tokio::test]
async fn waiting_requests_are_cancelled_and_subscriptions_deliver_and_end() {
    let bed = Bed::new();
    let mut socket = open(&bed).await;
    socket.send(r#"{"id":1,"method":"run/wait","params":{"runId":"r","timeoutMs":1000}}"#).await;
    until(&bed.begun, |begun| *begun == 1).await;
    socket.send(r#"{"method":"$/cancelRequest","params":{"id":1}}"#).await;
    assert_eq!(kind(&socket.receive().await), "REQUEST_CANCELLED");
    let subscription = socket.ask(r#"{"id":2,"method":"session/attach","params":{"sessionId":"s"}}"#).await;
    for seq in 0..3 {
        let event = socket.receive().await;
        assert_eq!(
            (&event["params"]["subscription"], &event["params"]["result"]["seq"]),
            (&subscription["result"], &json!(seq))
        );
    }
    socket.send(r#"{"id":3,"method":"session/attach","params":{"sessionId":"silent"}}"#).await;
    socket.receive().await;
    socket.stream.close(None).await.unwrap();
    while socket.receive().await["params"].is_object() {}
    socket.serving.join_next().await.unwrap().unwrap();
    until(&bed.attached, |attached| *attached == 0).await;
}

#[tokio::test]
async fn messages_in_fragments_are_whole_and_pings_between_them_answered() {
    use tokio_tungstenite::tungstenite::protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    };
    let mut socket = open(&Bed::new()).await;
    let fragment = |text: &'static str, code: Data, is_last: bool| {
        Message::Frame(Frame::message(text.as_bytes(), OpCode::Data(code), is_last))
    };
    socket.stream.send(fragment(r#"{"id":1,"#, Data::Text, false)).await.unwrap();
    socket.stream.send(Message::Ping("there?".into())).await.unwrap();
    socket.stream.send(fragment(r#""method":"#, Data::Continue, false)).await.unwrap();
    socket.stream.send(fragment(r#""ping"}"#, Data::Continue, true)).await.unwrap();
    assert!(matches!(socket.stream.next().await, Some(Ok(Message::Pong(_)))));
    assert_eq!(socket.receive().await["id"], 1);
}

#[tokio::test]
async fn a_message_too_long_gets_an_error_and_a_goodbye_that_says_why() {
    let mut socket = open(&Bed::new()).await;
    let long = " ".repeat(MAX_MESSAGE_BYTES + 1);
    // The daemon may hang up before all of it is sent.
    let _gone = socket.stream.send(Message::text(long)).await;
    assert_eq!(kind(&socket.receive().await), "PAYLOAD_TOO_LARGE");
    assert_eq!(kind(&socket.receive().await), "PARSE_ERROR");
    assert_eq!(socket.receive().await, json!(u16::from(CloseCode::Size)));
    socket.serving.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn frames_that_break_the_protocol_get_an_error_and_a_goodbye() {
    // Unmasked, reserved bits, an unknown opcode, a ping of 126 bytes, a continuation of nothing, no UTF-8.
    let masked = |first: u8, payload: &[u8]| {
        let mut frame = vec![first, 0x80 | u8::try_from(payload.len().min(125)).unwrap(), 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        frame
    };
    for (bytes, code) in [
        (vec![0x81, 2, b'{', b'}'], CloseCode::Protocol),
        (masked(0xf1, b"{}"), CloseCode::Protocol),
        (masked(0x83, b"{}"), CloseCode::Protocol),
        ([&[0x89, 0xfe, 0, 126, 0, 0, 0, 0][..], &[0; 126]].concat(), CloseCode::Protocol),
        (masked(0x80, b"{}"), CloseCode::Protocol),
        (masked(0x81, b"\xff\xfe"), CloseCode::Invalid),
    ] {
        let mut socket = open(&Bed::new()).await;
        socket.assert_alive().await;
        socket.stream.get_mut().write_all(&bytes).await.unwrap();
        assert_eq!(kind(&socket.receive().await), "PARSE_ERROR", "{bytes:?}");
        assert_eq!(socket.receive().await, json!(u16::from(code)), "{bytes:?}");
        socket.serving.join_next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn the_end_of_the_daemon_is_a_goodbye() {
    let mut socket = open(&Bed::new()).await;
    socket.assert_alive().await;
    socket.stop.cancel();
    assert_eq!(socket.receive().await, json!(u16::from(CloseCode::Away)));
    socket.serving.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_handshake_that_lacks_something_is_told_what() {
    let whole = [
        "Connection: keep-alive, Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    for missing in 0..=whole.len() {
        let (mut near, far) = duplex(64 << 10);
        let mut serving = JoinSet::new();
        serving.spawn(serve_connection(far, PEER, reception(&table(&Bed::new()), &CancellationToken::new())));
        let headers: Vec<_> =
            whole.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, line)| *line).collect();
        near.write_all(format!("GET /rpc HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n")).as_bytes())
            .await
            .unwrap();
        let mut answer = vec![0; 4096];
        let read = tokio::io::AsyncReadExt::read(&mut near, &mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        if missing == whole.len() {
            assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
            // The example of RFC 6455, section 1.3.
            assert!(
                answer.to_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
                "{answer}"
            );
        } else {
            assert!(answer.starts_with("HTTP/1.1 426"), "without {}: {answer}", whole[missing]);
            assert!(answer.contains("no WebSocket handshake"), "{answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_gone() {
    let bed = Bed::new();
    let Socket { stream, mut serving, stop: _stop } = open(&bed).await;
    // Held open, and never read: no pong is ever sent.
    let _stream = stream;
    serving.join_next().await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_listens_is_asked_whether_it_is_there_however_much_it_is_sent() {
    let mut socket = open(&Bed::new()).await;
    let mut pings = 0;
    for id in 0..60 {
        socket.send(format!(r#"{{"id":{id},"method":"ping"}}"#)).await;
        while !matches!(socket.stream.next().await, Some(Ok(Message::Text(_)))) {
            pings += 1;
        }
        tokio::time::advance(std::time::Duration::from_secs(5)).await;
    }
    assert!(5 < pings, "{pings} in 300 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_that_answers_pings_stays() {
    let mut socket = open(&Bed::new()).await;
    for _ in 0..10 {
        // Reading answers the ping.
        assert!(matches!(socket.stream.next().await, Some(Ok(Message::Ping(_)))));
        socket.stream.flush().await.unwrap();
    }
    socket.assert_alive().await;
}
