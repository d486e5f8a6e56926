//! HTTP on the same socket: each request stands alone.

use expect_test::{Expect, expect};
use tokio::io::AsyncReadExt as _;

use super::*;

/// Sends these bytes on a connection of its own, and reads until the daemon hangs up.
async fn exchange(table: &Arc<MethodTable>, request: &str) -> String {
    let (near, far) = duplex(64 << 10);
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(serve_connection(far, PEER, reception(table, &stop)));
    let (mut reader, mut writer) = tokio::io::split(near);
    let bytes = request.as_bytes().to_owned();
    // Beside the reading, since a refusal may come before all is sent; the sending half stays open meanwhile.
    let sending = async move {
        let _gone = writer.write_all(&bytes).await;
        writer
    };
    let mut answer = Vec::new();
    let (_writer, read) = tokio::join!(sending, reader.read_to_end(&mut answer));
    read.unwrap();
    serving.join_next().await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

fn post_with(headers: &str, body: &str) -> String {
    format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn post(body: &str) -> String {
    post_with("Content-Type: application/json\r\n", body)
}

/// Status and body; the body of an error as its kind.
fn brief(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.lines().next().unwrap_or("hung up").trim_start_matches("HTTP/1.1 ");
    match serde_json::from_str::<Value>(body) {
        Ok(value) if value["error"].is_object() => {
            format!(
                "{status} | {} {} | {}",
                value["id"],
                kind(&value),
                value["error"]["message"].as_str().unwrap()
            )
        }
        _ => format!("{status} | {}", body.trim_end()),
    }
}

async fn check(request: String, answer: Expect) {
    let bed = Bed::new();
    bed.gate.add_permits(9);
    answer.assert_eq(&brief(&exchange(&table(&bed), &request).await));
}

#[tokio::test]
async fn a_message_is_posted_and_answered() {
    check(
        post(r#"{"id":1,"method":"ping"}"#),
        expect![[r#"200 OK | {"jsonrpc":"2.0","id":1,"result":{"at":"1970-01-01T00:00:00.000Z"}}"#]],
    )
    .await;
    check(
        post(r#"{"id":-3,"method":"ping"}"#),
        expect![[r#"200 OK | {"jsonrpc":"2.0","id":-3,"result":{"at":"1970-01-01T00:00:00.000Z"}}"#]],
    )
    .await;
    check(post(r#"[{"id":1,"method":"ping"},{"method":"ping"},{"id":2,"method":"pnig"}]"#), expect![[r#"200 OK | [{"jsonrpc":"2.0","id":1,"result":{"at":"1970-01-01T00:00:00.000Z"}},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"there is no such method","data":{"kind":"METHOD_NOT_FOUND","retryable":false,"details":{"didYouMean":"ping"},"hint":"did you mean `ping`?"}}}]"#]]).await;
    check(post(r#"{"method":"ping"}"#), expect!["204 No Content | "]).await;
    check(
        post("{"),
        expect!["200 OK | null PARSE_ERROR | no JSON: EOF while parsing an object at line 1 column 1"],
    )
    .await;
    check(
        post(""),
        expect!["200 OK | null PARSE_ERROR | no JSON: EOF while parsing a value at line 1 column 0"],
    )
    .await;
    check(
        post(r#"{"id":1,"method":"run/get","params":{"runId":7}}"#),
        expect!["200 OK | 1 INVALID_PARAMS | run/get: /runId: value is not of type \"string\""],
    )
    .await;
}

#[tokio::test]
async fn what_needs_a_connection_that_lasts_is_refused() {
    check(
        post(r#"{"id":1,"method":"session/attach","params":{"sessionId":"s"}}"#),
        expect!["200 OK | 1 INVALID_REQUEST | a subscription needs a connection that lasts"],
    )
    .await;
    check(
        post(r#"{"id":1,"method":"$/cancelRequest","params":{"id":1}}"#),
        expect!["200 OK | 1 METHOD_NOT_FOUND | there is no other request to cancel here"],
    )
    .await;
    // What one request said of itself is not the next one's.
    let bed = Bed::new();
    let initialize = post(
        r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2","client":{"name":"c","kind":"script"},"strict":true}}"#,
    );
    let table = table(&bed);
    exchange(&table, &initialize).await;
    let answer = exchange(&table, &post(r#"{"id":1,"method":"ping","params":{"a":1}}"#)).await;
    expect![[r#"200 OK | {"jsonrpc":"2.0","id":1,"result":{"at":"1970-01-01T00:00:00.000Z"}}"#]]
        .assert_eq(&brief(&answer));
    assert_eq!(table.load.connections(), 0);
}

#[tokio::test]
async fn other_paths_methods_and_types_are_refused_with_what_to_do() {
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    check(get("/healthz"), expect!["200 OK | ok"]).await;
    check(get("/readyz"), expect!["200 OK | ready"]).await;
    check(get("/metrics"), expect!["200 OK | # nothing"]).await;
    check(get("/"), expect!["404 Not Found | null NOT_FOUND | there is nothing at this path"]).await;
    check(get("/rpc"), expect!["426 Upgrade Required | null INVALID_REQUEST | no WebSocket handshake: WebSocket protocol error: No \"Connection: upgrade\" header"]).await;
    check(
        post("{}").replace("POST /rpc", "DELETE /rpc"),
        expect!["405 Method Not Allowed | null INVALID_REQUEST | this path takes GET, POST only"],
    )
    .await;
    check(
        post("{}").replace("/rpc", "/healthz"),
        expect!["405 Method Not Allowed | null INVALID_REQUEST | this path takes GET, HEAD only"],
    )
    .await;
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
        check(
            post_with(kind, "{}"),
            expect!["415 Unsupported Media Type | null INVALID_REQUEST | the body must be application/json"],
        )
        .await;
    }
    let typed = post_with("Content-Type: Application/JSON; charset=utf-8\r\n", r#"{"method":"ping"}"#);
    check(typed, expect!["204 No Content | "]).await;
}

/// Shapes that let a proxy and a server disagree on where a request ends (RFC 9112, section 11.2).
#[tokio::test]
async fn requests_whose_end_is_in_doubt_are_refused_and_nothing_after_them_is_read() {
    let smuggled = post(r#"{"method":"run/start","params":{"workspace":"/","agent":"a"}}"#);
    let head = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    for headers in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "X: a\r\n Transfer-Encoding: chunked\r\n",
        "X: a\0b\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n",
    ] {
        let bed = Bed::new();
        bed.gate.add_permits(9);
        let answer = exchange(&table(&bed), &format!("{head}{headers}\r\n0\r\n\r\n{smuggled}")).await;
        let is_refused = answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 411");
        assert!(is_refused, "{headers:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{headers:?}: {answer}");
        assert_eq!(*bed.effects.borrow(), 0, "{headers:?}");
    }
}

#[tokio::test]
async fn malformed_and_oversized_requests_get_a_status_and_the_end() {
    for (request, status) in [
        ("POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), "411"),
        ("POST /rpc HTTP/9.9\r\n\r\n".to_owned(), "400"),
        ("POST\r\n\r\n".to_owned(), "400"),
        (format!("GET /rpc HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(100)), "431"),
        (format!("GET /rpc HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(64 << 10)), "431"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(64 << 10)), "4"),
        (post(&" ".repeat(MAX_MESSAGE_BYTES + 1)), "413"),
    ] {
        let answer = exchange(&table(&Bed::new()), &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{:?}: {answer}", &request[..40.min(request.len())]);
    }
    // Another protocol altogether: nothing that it would understand can be said.
    assert_eq!(exchange(&table(&Bed::new()), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await, "");
}

#[tokio::test]
async fn a_kept_alive_connection_takes_one_request_after_the_other() {
    let first = post(r#"{"id":1,"method":"ping"}"#).replace("Connection: close\r\n", "");
    let answer =
        exchange(&table(&Bed::new()), &format!("{first}{}", post(r#"{"id":2,"method":"ping"}"#))).await;
    let ids: Vec<_> = answer.match_indices(r#""id":"#).map(|(at, _)| &answer[at + 5..at + 6]).collect();
    assert_eq!(ids, ["1", "2"], "{answer}");
}

#[tokio::test]
async fn hanging_up_ends_what_only_reads_and_not_what_has_effects() {
    let bed = Bed::new();
    let table = table(&bed);
    let stop = CancellationToken::new();
    for (method, params) in [
        ("run/wait", r#"{"runId":"r","timeoutMs":60000}"#),
        ("run/start", r#"{"workspace":"/","agent":"a"}"#),
    ] {
        let (mut near, far) = duplex(64 << 10);
        let mut serving = JoinSet::new();
        let reception = reception(&table, &stop);
        let tasks = reception.tasks.clone();
        serving.spawn(serve_connection(far, PEER, reception));
        let begun = *bed.begun.borrow();
        let request = post(&format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#));
        near.write_all(request.as_bytes()).await.unwrap();
        until(&bed.begun, |now| *now == begun + 1).await;
        drop(near);
        serving.join_next().await.unwrap().unwrap();
        if method == "run/start" {
            assert_eq!(tasks.len(), 1, "the effect goes on");
            bed.gate.add_permits(1);
            until(&bed.effects, |effects| *effects == 1).await;
        }
        tasks.close();
        tasks.wait().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let (mut near, far) = duplex(4 << 10);
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(serve_connection(far, PEER, reception(&table(&Bed::new()), &stop)));
    let page = post(r#"{"id":1,"method":"events/list","params":{"limit":10}}"#);
    near.write_all(page.as_bytes()).await.unwrap();
    serving.join_next().await.unwrap().unwrap();
    drop(near);
}

#[tokio::test]
async fn requests_with_one_id_all_end_when_the_client_hangs_up() {
    let bed = Bed::new();
    let mut serving = JoinSet::new();
    let reception = reception(&table(&bed), &CancellationToken::new());
    let tasks = reception.tasks.clone();
    let (mut near, far) = duplex(64 << 10);
    serving.spawn(serve_connection(far, PEER, reception));
    let wait = r#"{"id":1,"method":"run/wait","params":{"runId":"r","timeoutMs":60000}}"#;
    let told = wait.replace(r#""id":1,"#, "");
    near.write_all(post(&format!("[{wait},{wait},{told},{told}]")).as_bytes()).await.unwrap();
    until(&bed.begun, |begun| *begun == 4).await;
    drop(near);
    serving.join_next().await.unwrap().unwrap();
    tasks.close();
    // Nothing opens the gate: they end since nobody waits for them.
    tasks.wait().await;
}

#[tokio::test]
async fn the_end_of_the_daemon_is_told_to_who_waits() {
    let bed = Bed::new();
    let (near, far) = duplex(64 << 10);
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(serve_connection(far, PEER, reception(&table(&bed), &stop)));
    let (mut reader, mut writer) = tokio::io::split(near);
    let request = post(r#"{"id":1,"method":"run/wait","params":{"runId":"r","timeoutMs":60000}}"#);
    writer.write_all(request.as_bytes()).await.unwrap();
    until(&bed.begun, |begun| *begun == 1).await;
    stop.cancel();
    let mut answer = String::new();
    reader.read_to_string(&mut answer).await.unwrap();
    assert!(brief(&answer).starts_with("200 OK | 1 SHUTTING_DOWN"), "{answer}");
    serving.join_next().await.unwrap().unwrap();
}
