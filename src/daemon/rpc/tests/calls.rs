//! Requests: what a handler is asked, and what its client is told.

use expect_test::{Expect, expect};

use super::*;

#[tokio::test]
async fn an_unknown_method_is_named_its_neighbour() {
    let (mut client, _) = client();
    let check = |response: Value, meant: Value| {
        assert_eq!(response["error"]["code"], -32601);
        assert_eq!(response["error"]["data"]["details"]["didYouMean"], meant);
    };
    check(client.ask(r#"{"id":1,"method":"run/strat"}"#).await, json!("run/start"));
    check(client.ask(r#"{"id":1,"method":"telephone/call"}"#).await, Value::Null);
}

async fn check_violations(method: &str, params: Value, violations: Expect) {
    let (mut client, _) = client();
    client.request(1, method, params).await;
    let response = client.receive().await;
    assert_eq!(response["error"]["code"], -32602);
    let all = response["error"]["data"]["details"]["violations"].as_array().unwrap();
    let lines: String =
        all.iter().map(|one| format!("{}: {}\n", one["pointer"], one["message"].as_str().unwrap())).collect();
    violations.assert_eq(&lines);
    client.assert_alive().await;
}

#[tokio::test]
async fn every_violation_is_listed_with_its_pointer() {
    let params =
        json!({ "workspace": 5, "agent": [], "inputs": "x", "limits": { "maxTurns": 0, "graceMs": -1 } });
    check_violations(
        "run/start",
        params,
        expect![[r#"
            "/workspace": value is not of type "string"; or value is not of type "object"
            "/agent": value is not of type "string"
            "/inputs": value is not of type "object"
            "/limits/maxTurns": value is less than the minimum of 1
            "/limits/graceMs": value is less than the minimum of 0
        "#]],
    )
    .await;
    // As on the first page of proto-docs.
    let params = json!({ "workspace": 5, "limits": { "maxTurns": 0 } });
    check_violations(
        "run/start",
        params,
        expect![[r#"
            "/workspace": value is not of type "string"; or value is not of type "object"
            "/limits/maxTurns": value is less than the minimum of 1
        "#]],
    )
    .await;
    check_violations(
        "run/wait",
        json!({}),
        expect![[r#"
            "/runId": is required
            "/timeoutMs": is required
        "#]],
    )
    .await;
    let client = json!({ "name": "n", "kind": "" });
    check_violations(
        "initialize",
        json!({ "protocolVersion": "2", "client": client, "presence": "asleep" }),
        expect![[r#"
            "/client/kind": value is shorter than 1 character
            "/presence": value is not one of "active", "idle", "away"
        "#]],
    )
    .await;
    check_violations(
        "session/attach",
        json!({ "sessionId": "s", "from": "soon" }),
        expect![[r#"
            "/from": value is not of type "integer"; or "now" was expected; or "start" was expected; or "consumer" was expected
        "#]],
    )
    .await;
    check_violations(
        "run/get",
        json!(["r"]),
        expect![[r#"
            "": parameters are given by name, as an object
        "#]],
    )
    .await;
}

#[tokio::test]
async fn bounds_of_the_schema_hold_where_the_type_is_wider() {
    check_violations(
        "events/list",
        json!({ "limit": 0 }),
        expect![[r#"
            "/limit": value is less than the minimum of 1
        "#]],
    )
    .await;
    check_violations(
        "events/list",
        json!({ "limit": 1001, "waitMs": 60_001 }),
        expect![[r#"
            "/limit": value is greater than the maximum of 1000
            "/waitMs": value is greater than the maximum of 60000
        "#]],
    )
    .await;
    check_violations(
        "run/wait",
        json!({ "runId": "r", "timeoutMs": 600_001 }),
        expect![[r#"
            "/timeoutMs": value is greater than the maximum of 600000
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_unknown_field_is_ignored_and_reported_once_after_the_response() {
    let (mut client, _) = client();
    let params = json!({ "workspace": { "roots": ["/"], "rots": 1 }, "includehidden": true, "a/b": 1 });
    client.request(1, "agents/list", params.clone()).await;
    assert_eq!(client.receive().await["result"], json!({ "agents": [] }));
    let mut reports = Vec::new();
    for _ in 0..3 {
        let report = client.receive().await;
        assert_eq!(report["method"], "event");
        assert!(report["params"].get("subscription").is_none());
        assert_eq!(report["params"]["result"]["type"], "signal.unknownField");
        reports.push(report["params"]["result"]["data"].to_string());
    }
    reports.sort();
    expect![[r#"
        {"method":"agents/list","field":"/a~1b"}
        {"method":"agents/list","field":"/includehidden","didYouMean":"includeHidden"}
        {"method":"agents/list","field":"/workspace/rots","didYouMean":"roots"}"#]]
    .assert_eq(&reports.join("\n"));
    client.request(2, "agents/list", params).await;
    assert_eq!(client.receive().await["id"], 2);
    client.assert_alive().await;
}

#[tokio::test]
async fn an_unknown_field_is_an_error_for_a_strict_client() {
    let (mut client, _) = client();
    let who = json!({ "name": "n", "kind": "cli" });
    client.request(1, "initialize", json!({ "protocolVersion": "2", "client": who, "strict": true })).await;
    client.receive().await;
    client.request(2, "run/start", json!({ "workspace": "/", "agnt": "a" })).await;
    let violations = client.receive().await["error"]["data"]["details"]["violations"].to_string();
    expect![[r#"[{"pointer":"/agnt","message":"unknown field; did you mean `agent`?"}]"#]]
        .assert_eq(&violations);
    client.assert_alive().await;
}

#[tokio::test]
async fn an_error_of_a_handler_arrives_whole() {
    let (mut client, _) = client();
    client.request(1, "run/get", json!({ "runId": "r" })).await;
    let error = json!({
        "code": -31010,
        "message": "nothing here",
        "data": { "kind": "NOT_FOUND", "retryable": false }
    });
    assert_eq!(client.receive().await, json!({ "jsonrpc": "2.0", "id": 1, "error": error }));
}

#[tokio::test]
async fn a_panic_ends_one_request_and_tells_nothing_but_an_id() {
    let (mut client, _) = client();
    for (method, params) in [("tools/list", json!({})), ("session/attach", json!({ "sessionId": "panics" }))]
    {
        client.request(1, method, params).await;
        let error = &client.receive().await["error"];
        assert_eq!(error["data"]["kind"], "INTERNAL_ERROR");
        assert!(error["data"]["details"]["id"].is_string());
        assert!(!error.to_string().contains("cannot be") && !error.to_string().contains("can be like this"));
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_an_error() {
    let (mut client, _) = client();
    client.request(1, "events/list", json!({ "limit": 1000 })).await;
    assert_eq!(kind(&client.receive().await), "PAYLOAD_TOO_LARGE");
    client.request(2, "events/list", json!({ "limit": 100 })).await;
    assert_eq!(client.receive().await["result"]["events"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn answers_come_when_they_are_ready() {
    let (mut client, bed) = client();
    client.request(1, "run/wait", json!({ "runId": "r", "timeoutMs": 1 })).await;
    client.assert_alive().await;
    bed.gate.add_permits(1);
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn a_cancelled_request_says_so_unless_it_has_effects() {
    let (mut client, bed) = client();
    client.request("wait", "run/wait", json!({ "runId": "r", "timeoutMs": 1 })).await;
    client.request(-2, "run/start", json!({ "workspace": "/", "agent": "a" })).await;
    until(&bed.begun, |begun| *begun == 2).await;
    for cancel in [
        r#"{"method":"$/cancelRequest","params":{"id":-2}}"#,
        r#"{"method":"$/cancelRequest","params":{"id":"unheard of"}}"#,
        r#"{"method":"$/cancelRequest","params":[]}"#,
        r#"{"method":"$/cancel_request","params":{"id":"wait"}}"#,
    ] {
        client.send(cancel).await;
    }
    let response = client.receive().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!("wait"), &json!(-32800)));
    bed.gate.add_permits(1);
    let response = client.receive().await;
    assert_eq!((&response["id"], &response["result"]["disposition"]), (&json!(-2), &json!("started")));
}

#[tokio::test]
async fn what_has_no_effect_yet_may_listen_for_a_cancel() {
    let (mut client, bed) = client();
    client.request(1, "agents/import", json!({})).await;
    client.request(2, "agents/import", json!({})).await;
    until(&bed.begun, |begun| *begun == 2).await;
    client.send(r#"{"method":"$/cancelRequest","params":{"id":1}}"#).await;
    let response = client.receive().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(1), &json!(-32800)));
    client.assert_alive().await;
    assert_eq!(*bed.effects.borrow(), 1, "the other one goes on");
}

#[tokio::test]
async fn too_many_requests_are_refused_but_control_is_heard() {
    let (mut client, bed) = client();
    let wait =
        |id: usize| json!({ "id": id, "method": "run/wait", "params": { "runId": "r", "timeoutMs": 1 } });
    for id in 0..MAX_IN_FLIGHT {
        client.send(wait(id).to_string()).await;
    }
    until(&bed.begun, |begun| *begun == MAX_IN_FLIGHT).await;
    let response = client.ask(wait(MAX_IN_FLIGHT).to_string()).await;
    assert_eq!((kind(&response), &response["id"]), ("OVERLOADED".to_owned(), &json!(MAX_IN_FLIGHT)));
    assert_eq!(response["error"]["data"]["retryable"], true);
    client.request("cancel", "run/cancel", json!({ "runId": "r" })).await;
    assert_eq!(client.receive().await["id"], "cancel");
    client.assert_alive().await;
    bed.gate.add_permits(1);
    assert_eq!(kind(&client.receive().await), "NOT_FOUND");
    client.request("again", "agents/list", json!({})).await;
    assert_eq!(client.receive().await["result"], json!({ "agents": [] }));
}

#[tokio::test]
async fn discover_answers_to_both_spellings() {
    let (mut client, _) = client();
    for method in ["rpc/discover", "rpc.discover"] {
        client.request(1, method, json!({})).await;
        assert_eq!(client.receive().await["result"]["openrpc"], "1.3.2");
    }
}

#[tokio::test]
async fn the_handlers_are_exactly_the_methods() {
    let check = |api: MethodHandlers, mismatch: Expect| {
        mismatch.assert_eq(&api.build(ConnectionLoad::new()).map(|_| ()).unwrap_err().to_string());
    };
    let mut twice = api(Bed::new());
    twice.given(Bed::new()).method::<Ping, _, _>(async |_, _, _| not_found());
    check(
        twice,
        expect![[
            r#"methods without a handler: []; handlers without a method, or twice: ["Method: ping was already registered"]"#
        ]],
    );

    enum Stranger {}
    impl RpcMethod for Stranger {
        const NAME: &'static str = "stranger";
        type Params = NoParams;
        type Result = NoParams;
    }
    let mut stranger = MethodHandlers::new();
    stranger.given(Bed::new()).method::<Stranger, _, _>(async |_, _, _| not_found());
    let mismatch = stranger.build(ConnectionLoad::new()).map(|_| ()).unwrap_err();
    assert_eq!(mismatch.unexpected, ["stranger"]);
    assert_eq!(mismatch.missing.len(), METHODS.len() - 1);
    assert!(mismatch.missing.contains(&"session/attach".to_owned()));
}
