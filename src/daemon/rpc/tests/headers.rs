//! `Content-Length` framing, as the base protocol of LSP has it.

use expect_test::{Expect, expect};

use super::*;

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn ping(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

/// Every message the daemon sends until it hangs up.
fn bodies(mut bytes: &[u8]) -> Vec<Value> {
    let mut bodies = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").expect("headers end");
        let header = std::str::from_utf8(&bytes[..end]).unwrap();
        let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let body = &bytes[end + 4..end + 4 + length];
        bodies.push(serde_json::from_slice(body).unwrap());
        bytes = &bytes[end + 4 + length..];
    }
    bodies
}

/// What is sent, in pieces of so many bytes, and all that comes back.
async fn talk_in_pieces(bytes: &[u8], piece: usize) -> Vec<Value> {
    let (mut client, _) = client();
    let mut writer = client.writer.take().unwrap();
    for part in bytes.chunks(piece) {
        // The daemon may have hung up already.
        if writer.write_all(part).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let _gone = writer.shutdown().await;
    let mut answers = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut client.reader, &mut answers).await.unwrap();
    client.ended().await;
    bodies(&answers)
}

/// What is sent, and a line for each answer; the same however the bytes are cut.
async fn check(bytes: impl AsRef<[u8]>, answers: Expect) {
    let bytes = bytes.as_ref();
    let mut seen = None;
    for piece in [1, 7, bytes.len()] {
        let lines: String = talk_in_pieces(bytes, piece)
            .await
            .iter()
            .map(|answer| match answer["error"]["data"]["kind"].as_str() {
                Some(kind) => {
                    format!("{} {kind}: {}\n", answer["id"], answer["error"]["message"].as_str().unwrap())
                }
                None => format!("{} ok\n", answer["id"]),
            })
            .collect();
        let first = seen.get_or_insert_with(|| lines.clone());
        assert_eq!(*first, lines, "in pieces of {piece}");
    }
    answers.assert_eq(&seen.unwrap());
}

#[tokio::test]
async fn messages_follow_each_other_however_they_are_written() {
    let pretty = "{\n  \"id\": 3,\n  \"method\": \"ping\"\n}\n";
    let all = [
        framed(&ping(1)),
        format!(
            "content-length:  {}\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n{}",
            ping(2).len(),
            ping(2)
        ),
        framed(pretty),
        "\r\n\r\n".to_owned(),
        framed(&format!("[{},{}]", ping(4), ping(5))),
        format!("Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n{1}", ping(6).len(), ping(6)),
        framed(r#"{"id":"é𝄞","method":"ping"}"#),
    ];
    check(
        all.concat(),
        expect![[r#"
            1 ok
            2 ok
            3 ok
            null ok
            6 ok
            "é𝄞" ok
        "#]],
    )
    .await;
}

#[tokio::test]
async fn bodies_that_say_nothing_usable_are_answered_and_the_next_is_read() {
    let all = [
        framed(""),
        framed("{"),
        framed("\u{feff}{}"),
        framed("17"),
        framed(r#"{"id":null,"method":"ping"}"#),
        framed(r#"{"id":1,"result":true}"#),
        // Shorter than its message: what is left over is no header.
        framed(&ping(1)),
    ];
    check(
        all.concat(),
        expect![[r#"
            null PARSE_ERROR: no JSON: EOF while parsing a value at line 1 column 0
            null PARSE_ERROR: no JSON: EOF while parsing an object at line 1 column 1
            null PARSE_ERROR: no JSON: expected value at line 1 column 1
            null INVALID_REQUEST: no request: invalid type: integer `17`, expected an object at line 1 column 2
            null INVALID_REQUEST: an id is a string or an integer
            1 ok
        "#]],
    )
    .await;
}

#[tokio::test]
async fn headers_that_do_not_tell_where_the_next_message_is_end_the_connection() {
    let after = framed(&ping(9));
    for (headers, words) in [
        ("Content-Length: -5\r\n\r\n", "Content-Length must be a number of bytes"),
        ("Content-Length: +5\r\n\r\n", "Content-Length must be a number of bytes"),
        ("Content-Length: \r\n\r\n", "Content-Length must be a number of bytes"),
        ("Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length must be a number of bytes"),
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "two lengths that differ for one message"),
        ("Content-Type: a\r\n\r\n", "a message without Content-Length"),
        (
            "Content-Length 5\r\n\r\n",
            "expected `Content-Length: N`; a connection keeps the framing it began with",
        ),
    ] {
        let answers = talk_in_pieces(format!("{}{headers}{after}", framed(&ping(1))).as_bytes(), 5).await;
        let seen: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), kind(answer))).collect();
        assert_eq!(seen.len(), 2, "{headers:?}: {answers:?}");
        assert_eq!(seen[0].0, 1, "{headers:?}");
        assert_eq!(seen[1], (Value::Null, "PARSE_ERROR".to_owned()), "{headers:?}");
        assert_eq!(answers[1]["error"]["message"], words, "{headers:?}");
    }
    let endless = format!("Content-Length: 5\r\nX: {}", "x".repeat(10 << 10));
    let answers = talk_in_pieces(endless.as_bytes(), 1 << 10).await;
    assert_eq!(answers[0]["error"]["message"], "the headers of a message have at most 4096 bytes");
}

#[tokio::test]
async fn framings_are_not_mixed() {
    check(
        format!("{}{}\n", framed(&ping(1)), ping(2)),
        expect![[r#"
            1 ok
            null PARSE_ERROR: expected `Content-Length: N`; a connection keeps the framing it began with
        "#]],
    )
    .await;
    // The other way round each line is answered, since lines find their place again.
    let (mut client, _) = client();
    client.send(ping(1)).await;
    client.send(framed(&ping(2))).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = client.receive().await;
        seen.push((answer["id"].clone(), answer.get("result").is_some()));
    }
    assert_eq!(seen, [(json!(1), true), (Value::Null, false), (json!(2), true)]);
    client.assert_alive().await;
}

#[tokio::test]
async fn a_message_too_long_is_answered_at_once_and_skipped() {
    let long = MAX_MESSAGE_BYTES + 1;
    let (mut client, _) = client();
    let writer = client.writer.as_mut().unwrap();
    writer.write_all(format!("Content-Length: {long}\r\n\r\n").as_bytes()).await.unwrap();
    let mut header = String::new();
    client.reader.read_line(&mut header).await.unwrap();
    client.reader.read_line(&mut header).await.unwrap();
    let length: usize = header.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    tokio::io::AsyncReadExt::read_exact(&mut client.reader, &mut body).await.unwrap();
    assert_eq!(kind(&serde_json::from_slice(&body).unwrap()), "PAYLOAD_TOO_LARGE");
    let writer = client.writer.as_mut().unwrap();
    writer.write_all(&vec![b'{'; long]).await.unwrap();
    writer.write_all(framed(&ping(2)).as_bytes()).await.unwrap();
    client.stop_writing().await;
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut client.reader, &mut rest).await.unwrap();
    assert_eq!(bodies(&rest)[0]["id"], 2);
}

#[tokio::test]
async fn a_connection_that_ends_within_a_message_is_told_so() {
    check(
        &framed(&ping(1)).as_bytes()[..30],
        expect![[r#"
            null PARSE_ERROR: the connection ended 32 bytes before its message did
        "#]],
    )
    .await;
    check(
        "Content-Len",
        expect![[r#"
            null PARSE_ERROR: the connection ended within the headers of a message
        "#]],
    )
    .await;
}

#[tokio::test]
async fn events_are_framed_like_answers() {
    let (mut client, _) = client();
    let attach = r#"{"id":1,"method":"session/attach","params":{"sessionId":"s"}}"#;
    client.writer.as_mut().unwrap().write_all(framed(attach).as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    while bodies(&bytes).len() < 4 {
        // Headers and body come in one write, so whole messages are there or not.
        let more = client.reader.fill_buf().await.unwrap();
        bytes.extend_from_slice(more);
        let taken = more.len();
        client.reader.consume(taken);
    }
    let seen: Vec<_> = bodies(&bytes).iter().map(|body| body["params"]["result"]["seq"].clone()).collect();
    assert_eq!(seen, [Value::Null, json!(0), json!(1), json!(2)]);
}
