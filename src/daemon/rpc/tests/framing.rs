//! Which bytes are a message, and what happens to those that are none.

use expect_test::{Expect, expect};

use super::*;

/// One line in, one line out.
async fn check(line: &str, answer: Expect) {
    let (mut client, _) = client();
    client.assert_alive().await;
    let response = client.ask(line).await;
    let error = &response["error"];
    let result = if error.is_null() { response["result"].to_string() } else { error["message"].to_string() };
    answer.assert_eq(&format!(
        "{} {} {}",
        response["id"],
        error["data"]["kind"].as_str().unwrap_or("ok"),
        result
    ));
    client.assert_alive().await;
}

#[tokio::test]
async fn whatever_a_line_holds_has_one_answer() {
    let ok = r#"{"at":"1970-01-01T00:00:00.000Z"}"#;
    let answered = |id: &str| format!("{id} ok {ok}");
    for (line, id) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "1"),
        (r#"{"id":"a\"b","method":"ping","params":{}}"#, r#""a\"b""#),
        (r#"{"id":-7,"method":"ping","params":null}"#, "-7"),
        (r#"  {"id":18446744073709551615,"method":"ping"}  "#, "18446744073709551615"),
    ] {
        let (mut client, _) = client();
        let response = client.ask(line).await;
        assert_eq!(format!("{} ok {}", response["id"], response["result"]), answered(id), "{line}");
        assert_eq!(response["jsonrpc"], "2.0");
    }
    check("{", expect![[r#"null PARSE_ERROR "no JSON: EOF while parsing an object at line 1 column 1""#]])
        .await;
    check("hello", expect![[r#"null PARSE_ERROR "no JSON: expected value at line 1 column 1""#]]).await;
    check(
        "{\"id\":1,\"method\":\"ping\"} {}",
        expect![[r#"null PARSE_ERROR "no JSON: trailing characters at line 1 column 26""#]],
    )
    .await;
    check("17", expect![[r#"null INVALID_REQUEST "no request: invalid type: integer `17`, expected an object at line 1 column 2""#]]).await;
    check(r#""ping""#, expect![[r#"null INVALID_REQUEST "no request: invalid type: string \"ping\", expected an object at line 1 column 6""#]]).await;
    check("{}", expect![[r#"null INVALID_REQUEST "a request needs a method""#]]).await;
    check(r#"{"id":1}"#, expect![[r#"1 INVALID_REQUEST "a request needs a method""#]]).await;
    check(r#"{"id":1,"method":7}"#, expect![[r#"1 INVALID_REQUEST "method must be a string""#]]).await;
    check(
        r#"{"id":1,"method":"ping","method":"ping"}"#,
        expect![[r#"null INVALID_REQUEST "no request: duplicate field `method` at line 1 column 32""#]],
    )
    .await;
    check(
        r#"{"id":null,"method":"ping"}"#,
        expect![[r#"null INVALID_REQUEST "an id is a string or an integer""#]],
    )
    .await;
    check(
        r#"{"id":1.5,"method":"ping"}"#,
        expect![[r#"null INVALID_REQUEST "an id is a string or an integer""#]],
    )
    .await;
    check(
        r#"{"id":[1],"method":"ping"}"#,
        expect![[r#"null INVALID_REQUEST "an id is a string or an integer""#]],
    )
    .await;
    check(
        r#"{"id":18446744073709551616,"method":"ping"}"#,
        expect![[r#"null INVALID_REQUEST "an id is a string or an integer""#]],
    )
    .await;
    check(
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        expect![[r#"1 INVALID_REQUEST "jsonrpc must be \"2.0\"""#]],
    )
    .await;
    check(
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        expect![[r#"1 INVALID_REQUEST "jsonrpc must be \"2.0\"""#]],
    )
    .await;
    check(
        r#"{"id":1,"method":"ping","params":[]}"#,
        expect![[r#"1 INVALID_PARAMS "ping: parameters are given by name, as an object""#]],
    )
    .await;
    check(
        r#"{"id":1,"method":"ping","params":5}"#,
        expect![[r#"1 INVALID_PARAMS "ping: parameters are given by name, as an object""#]],
    )
    .await;
    check(
        r#"{"id":1,"method":"ping","params":{"a":"\ud800"}}"#,
        expect![[r#"1 INVALID_PARAMS "ping: unexpected end of hex escape at line 1 column 13""#]],
    )
    .await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_parse_error() {
    let (mut client, _) = client();
    let response = client.ask(b"{\"id\":1,\"method\":\"\xff\xfe\"}").await;
    assert_eq!(kind(&response), "PARSE_ERROR");
    client.assert_alive().await;
}

#[tokio::test]
async fn blank_lines_and_carriage_returns_are_nothing() {
    let (mut client, _) = client();
    client.send("\n  \r\n\t\n{\"id\":1,\"method\":\"ping\"}\r\n\r").await;
    assert_eq!(client.receive().await["id"], 1);
    client.assert_alive().await;
}

#[tokio::test]
async fn the_last_line_needs_no_newline() {
    let (mut client, _) = client();
    let line = br#"{"id":1,"method":"ping"}"#;
    client.writer.as_mut().unwrap().write_all(line).await.unwrap();
    client.stop_writing().await;
    assert_eq!(client.receive().await["id"], 1);
    assert_eq!(client.receive().await, Value::Null);
    client.ended().await;
}

#[tokio::test]
async fn what_begins_like_no_framing_gets_one_error_and_the_end() {
    for opening in ["hello", "content-length: 20\r\n", "\u{feff}{}", "5", "\u{81}\u{85}", "\0{}"] {
        let (mut client, _) = client();
        let response = client.ask(format!("\n {opening}")).await;
        assert_eq!((kind(&response), &response["id"]), ("PARSE_ERROR".to_owned(), &Value::Null), "{opening}");
        assert_eq!(client.receive().await, Value::Null, "{opening}");
        client.ended().await;
    }
}

#[tokio::test]
async fn a_line_of_20_megabytes_is_skipped_and_answered() {
    let (mut client, _) = client();
    let line = format!(r#"{{"id":1,"method":"ping","params":{{"a":"{}"}}}}"#, "x".repeat(20 << 20));
    let response = client.ask(line).await;
    assert_eq!((kind(&response), &response["id"]), ("PAYLOAD_TOO_LARGE".to_owned(), &Value::Null));
    client.assert_alive().await;
}

#[tokio::test]
async fn a_message_may_be_exactly_as_long_as_allowed() {
    let message = |length: usize| {
        let empty = r#"{"id":1,"method":"ping"}"#;
        empty.replace(',', &format!("{},", " ".repeat(length - empty.len())))
    };
    let (mut client, _) = client();
    assert_eq!(client.ask(message(MAX_MESSAGE_BYTES)).await["id"], 1);
    assert_eq!(kind(&client.ask(message(MAX_MESSAGE_BYTES + 1)).await), "PAYLOAD_TOO_LARGE");
    client.assert_alive().await;
}

#[tokio::test]
async fn nesting_is_limited_before_it_is_parsed() {
    let nested = |depth: usize| {
        // The message and its params are two levels.
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"id":1,"method":"ping","params":{{"a":{open}{close}}}}}"#)
    };
    let (mut client, _) = client();
    assert_eq!(client.ask(nested(128)).await["id"], 1);
    assert_eq!(client.receive().await["params"]["result"]["type"], "signal.unknownField");
    for too_deep in [nested(129), nested(10_000), "[".repeat(10_000), r#"{"a":"#.repeat(10_000)] {
        assert_eq!(kind(&client.ask(too_deep).await), "PARSE_ERROR");
    }
    // Brackets in strings are text.
    let text = format!(r#"{{"id":"{}","method":"ping"}}"#, r#"[\"{"#.repeat(1_000));
    assert_eq!(client.ask(text).await["result"]["at"], "1970-01-01T00:00:00.000Z");
    client.assert_alive().await;
}

#[tokio::test]
async fn notifications_and_responses_are_not_answered() {
    let (mut client, bed) = client();
    client.send(r#"{"method":"no/such"}"#).await;
    client.send(r#"{"method":"session/attach","params":{"sessionId":"silent"}}"#).await;
    client.send(r#"{"id":1,"result":null}"#).await;
    client.send(r#"{"id":1,"error":{"code":1,"message":"m"}}"#).await;
    client.send(r#"{"method":"run/start","params":{"workspace":"/","agent":"a"}}"#).await;
    client.assert_alive().await;
    bed.gate.add_permits(1);
    until(&bed.effects, |effects| *effects == 1).await;
    client.assert_alive().await;
}
