//! What a server asks while it is at a call: a person, by a form or a page to open, or the run's model; and how far it says that
//! it is (spec 07; 06, "Routing").

use std::time::Duration;

use serde_json::{Value, json};
use subagentd::redact::{Redactor, RedactorParts};

use super::{agent, calling, ends, house, kind, passing, server, text};
use crate::support::{Client, House, Reply, Running, Script};

/// A question for a name, which is needed, and an age, which is not.
fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "age": { "type": "integer", "minimum": 0 },
                "mail": { "type": "string", "format": "email" },
                "sure": { "type": "boolean" },
            },
            "required": ["mail", "sure"],
        },
    })
}

fn asks(asks: &[Value]) -> (&'static str, Value) {
    ("mcp.s.asks", json!({ "asks": asks }))
}

/// The open questions of a session, once there are so many, as anybody sees them.
async fn questions(client: &mut Client, session: &str, n: usize) -> Vec<Value> {
    let has_all = |listed: &Value| listed["confirmations"].as_array().unwrap().len() == n;
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), has_all).await;
    listed["confirmations"].as_array().unwrap().clone()
}

async fn answer(client: &mut Client, question: &Value, outcome: &str, more: Value) -> Value {
    let mut params = json!({
        "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": outcome,
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.request("confirmation/respond", params).await
}

/// What the server said that it was answered, of the run's first call.
async fn told(running: &Running) -> Value {
    let ends = ends(running).await;
    assert_eq!(kind(&ends[0]), "none", "{}", ends[0]);
    serde_json::from_str(text(&ends[0])).unwrap()
}

/// Outcomes, by whom, and why, of the questions that are over.
async fn resolutions(running: &Running) -> Vec<(String, String, String)> {
    let log = running.log().await;
    let word = |event: &Value, field: &str| event["data"][field].as_str().unwrap_or("").to_owned();
    let resolved = log.iter().filter(|event| event["type"] == "confirmation.resolved");
    resolved.map(|event| (word(event, "outcome"), word(event, "by"), word(event, "message"))).collect()
}

#[tokio::test]
async fn a_form_is_filled_in_by_another_client_and_the_server_gets_what_it_asked_for() {
    let running = house(&calling(&[asks(&[form()])]), "asking").boot().await;
    let (mut starter, mut other) = (running.client(), running.client());
    let (run, session) = starter.start(&running, "user", json!({})).await;
    let question = questions(&mut other, &session, 1).await.remove(0);
    // Whoever started it is away; what is asked says all that is needed to answer it.
    drop(starter);
    assert_eq!(question["title"], "s asks: Who are you?");
    assert_eq!((&question["tool"], &question["rule"]), (&json!("mcp.s.asks"), &json!("builtin:elicitation")));
    let reason = question["reason"].as_str().unwrap();
    assert!(reason.contains("MCP server s") && reason.contains("its tool asks"), "{reason}");
    let asked = &question["details"];
    assert_eq!(asked["type"], "question");
    let first = asked["questions"][0]["question"].as_str().unwrap();
    assert!(first.starts_with("The MCP server s asks: Who are you?"), "{first}");
    let kinds: Vec<&Value> = asked["questions"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, [&json!("integer"), &Value::Null, &json!("boolean")]);
    // Everything that is wrong is told at once, and the question stays.
    let refused =
        answer(&mut other, &question, "answer", json!({ "answers": ["old", "nobody", "perhaps"] })).await;
    let violations =
        refused["error"]["data"]["details"]["violations"].as_array().unwrap_or_else(|| panic!("{refused}"));
    assert_eq!(violations.len(), 3, "{refused}");
    let refused = answer(&mut other, &question, "answer", json!({ "answers": ["36"] })).await;
    assert!(refused.get("error").is_some(), "{refused}");
    let taken =
        answer(&mut other, &question, "answer", json!({ "answers": ["", "ada@example.org", "yes"] })).await;
    assert_eq!(taken["result"]["resolution"]["outcome"], "answer", "{taken}");
    let again =
        answer(&mut other, &question, "answer", json!({ "answers": ["", "ada@example.org", "yes"] })).await;
    assert_eq!(again["result"]["replayed"], true, "{again}");
    assert_eq!(other.ended(&run).await["reason"], "GOAL");
    assert_eq!(
        told(&running).await,
        json!([{ "action": "accept", "content": { "mail": "ada@example.org", "sure": true } }])
    );
    // What was answered is the server's, and stands in no log but where the server says it again.
    let log = running.log().await;
    let resolved = log.iter().find(|event| event["type"] == "confirmation.resolved").unwrap();
    assert!(!resolved.to_string().contains("ada@example.org"));
    assert_eq!(resolved["data"].get("answerDigest"), None, "a digest would let others guess it");
    running.stop().await;
}

#[tokio::test]
async fn a_person_declines_and_the_run_goes_on_or_cancels_it() {
    let running = house(&calling(&[asks(&[form()])]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    answer(&mut client, &question, "deny", json!({ "message": "none of its business" })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(told(&running).await, json!([{ "action": "decline" }]));
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    answer(&mut client, &question, "cancelRun", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    running.stop().await;
}

#[tokio::test]
async fn nobody_there_means_waiting_or_for_a_headless_starter_cancel_at_once() {
    let running = house(&calling(&[asks(&[form()])]), "asking").boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "user", json!({ "approval": { "headless": true } })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(told(&running).await, json!([{ "action": "cancel" }]));
    let over = resolutions(&running).await;
    assert_eq!((over[0].0.as_str(), over[0].1.as_str()), ("deny", "system"), "{over:?}");
    // Else it waits for whoever comes next, who finds it in the snapshot.
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    assert_eq!(question["state"], "queued");
    let mut late = running.client();
    late.call("session/attach", json!({ "sessionId": session })).await;
    let snapshot = late.events_until("signal.snapshot").await.pop().unwrap();
    assert_eq!(snapshot["data"]["openConfirmations"][0]["confirmationId"], question["confirmationId"]);
    assert_eq!(snapshot["data"]["openCalls"][0]["state"], "executing", "{snapshot}");
    answer(&mut late, &question, "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    running.stop().await;
}

#[tokio::test]
async fn neither_the_run_nor_the_call_gets_late_while_a_person_is_asked() {
    let mut entry = server::entry("asking");
    entry["timeout"] = json!(1_000);
    let script = calling(&[asks(&[form()])]);
    let house = house(&script, "asking").settings(&json!({ "mcpServers": { "s": entry } }));
    let (house, clock) =
        house.agent("user", &agent("user", "mcp: {servers: [s]}\nrun: {maxTimeMinutes: 1}")).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    // Beyond the limits of both, and not so far that the server could not answer a ping in its time.
    for _ in 0..3 {
        clock.advance(Duration::from_secs(25));
        client.settle().await;
    }
    let answers = json!({ "answers": ["36", "ada@example.org", "no"] });
    answer(&mut client, &question, "answer", answers).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let content = json!({ "age": 36, "mail": "ada@example.org", "sure": false });
    assert_eq!(told(&running).await, json!([{ "action": "accept", "content": content }]));
    let waits: Vec<Value> =
        running.log().await.into_iter().filter(|it| it["type"] == "run.waiting").collect();
    assert_eq!(waits.len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_deadline_is_no_consent() {
    let script = calling(&[asks(&[form()])]);
    let (house, clock) = house(&script, "asking").manual_clock();
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let approval = json!({ "approval": { "deadlineMs": 20_000 } });
    let (run, session) = client.start(&running, "user", approval).await;
    questions(&mut client, &session, 1).await;
    let over = client.until("run/get", json!({ "runId": run }), |record| record["reason"] == "GOAL");
    passing(&clock, &mut other, Duration::from_secs(1), over).await;
    assert_eq!(told(&running).await, json!([{ "action": "cancel" }]));
    assert_eq!(resolutions(&running).await[0].1, "deadline");
    running.stop().await;
}

#[tokio::test]
async fn a_question_ends_with_its_run_with_its_server_and_when_it_is_taken_back() {
    let then = |then: &str| ("mcp.s.asks", json!({ "asks": [form(), form()], "then": then }));
    // The run is cancelled.
    let running = house(&calling(&[then("all")]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let open = questions(&mut client, &session, 2).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    let late = answer(&mut client, &open[0], "deny", json!({})).await;
    assert_eq!(late["error"]["data"]["kind"], "CONFIRMATION_ALREADY_RESOLVED", "{late}");
    running.stop().await;
    // The server dies.
    let running = house(&calling(&[then("die")]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let open = questions(&mut client, &session, 2).await;
    answer(&mut client, &open[0], "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(kind(&ends(&running).await[0]), "MCP_TOOL_ERROR");
    assert_eq!(resolutions(&running).await[1].1, "system");
    running.stop().await;
    // The server does not need it any more.
    let running = house(&calling(&[then("rest")]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let open = questions(&mut client, &session, 2).await;
    answer(&mut client, &open[1], "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(told(&running).await, json!([{ "action": "decline" }]));
    assert_eq!(resolutions(&running).await[1].1, "system");
    running.stop().await;
}

#[tokio::test]
async fn of_many_questions_at_once_those_that_are_too_many_are_declined() {
    let running = house(&calling(&[asks(&[form(), form(), form(), form(), form()])]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    for left in (1..=4).rev() {
        let open = questions(&mut client, &session, left).await;
        answer(&mut client, &open[0], "answer", json!({ "answers": ["", "a@b.c", "no"] })).await;
    }
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = told(&running).await;
    let actions: Vec<&str> =
        told.as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["decline", "accept", "accept", "accept", "accept"]);
    running.stop().await;
}

#[tokio::test]
async fn with_several_calls_of_a_session_under_way_each_is_asked_and_told_that_it_may_be_anothers() {
    let house = house(&calling(&[asks(&[form()])]), "asking");
    let running = house.agent("second", &agent("second", "mcp: {servers: [s]}")).boot().await;
    let mut client = running.client();
    let (first_run, session) = client.start(&running, "user", json!({})).await;
    let first = questions(&mut client, &session, 1).await.remove(0);
    // Another agent of the same session does not wait for the first one.
    let there = json!({ "sessionId": session, "workspace": null });
    let (second_run, _) = client.start(&running, "second", there).await;
    let mut open = questions(&mut client, &session, 2).await;
    open.retain(|question| question["confirmationId"] != first["confirmationId"]);
    let second = open.remove(0);
    let reason = |question: &Value| question["reason"].as_str().unwrap().to_owned();
    assert!(!reason(&first).contains("under way"), "{}", reason(&first));
    assert!(reason(&second).contains("2 calls of it are under way"), "{}", reason(&second));
    answer(&mut client, &second, "deny", json!({})).await;
    assert_eq!(client.ended(&second_run).await["reason"], "GOAL");
    let answers = json!({ "answers": ["", "ada@example.org", "no"] });
    answer(&mut client, &first, "answer", answers).await;
    assert_eq!(client.ended(&first_run).await["reason"], "GOAL");
    assert_eq!(told(&running).await, json!([{ "action": "decline" }]), "the second run's call ended first");
    running.stop().await;
}

#[tokio::test]
async fn with_calls_of_several_sessions_under_way_nobody_is_asked_and_the_server_is_told_why() {
    // It says how far it is, so that it is seen to be under way, and is never answered.
    let waits = ("mcp.s.asks", json!({ "asks": [], "progress": [{ "progress": 1, "total": 2 }] }));
    let script = calling(&[waits]);
    let running = house(&script, "asking").boot().await;
    let (mut client, mut viewer) = (running.client(), running.client());
    let (waiting, session) = client.start(&running, "user", json!({})).await;
    viewer.call("session/attach", json!({ "sessionId": session, "deltas": true })).await;
    viewer.events_until("signal.progress").await;
    script.replace([Reply::calls(&[asks(&[form()])]), Reply::done("done")]);
    let (run, _) = client.start(&running, "user", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let refused = told(&running).await;
    let why = refused[0]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(why.contains("calls of several sessions are under way"), "{why}");
    let log = running.log().await;
    let asked = log.iter().find(|event| event["type"] == "confirmation.requested");
    assert_eq!(asked, None);
    // Whoever is alone with the server is asked again.
    client.call("run/cancel", json!({ "runId": waiting })).await;
    assert_eq!(client.ended(&waiting).await["reason"], "ABORTED");
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    answer(&mut client, &question, "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    running.stop().await;
}

#[tokio::test]
async fn what_is_asked_while_nobody_calls_is_nobodys_and_what_cannot_be_shown_is_refused() {
    let nested = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": { "x": { "type": "object" } } } });
    let page = json!({ "mode": "url", "message": "?", "elicitationId": "1", "url": "file:///etc/passwd" });
    let running = house(&calling(&[("mcp.s.early", json!({})), asks(&[nested, page])]), "early").boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "user", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let refused = told(&running).await;
    assert!(refused["message"].as_str().unwrap().contains("no call of a tool is under way"), "{refused}");
    let ends = ends(&running).await;
    let refused: Value = serde_json::from_str(text(&ends[1])).unwrap();
    assert_eq!((&refused[0]["code"], &refused[1]["code"]), (&json!(-32602), &json!(-32602)), "{refused}");
    assert_eq!(resolutions(&running).await, []);
    running.stop().await;
}

#[tokio::test]
async fn a_page_to_open_and_a_form_without_fields_are_only_agreed_to() {
    let page = json!({ "mode": "url", "message": "Log in.", "elicitationId": "1", "url": "https://example.org/login?x=1" });
    let empty = json!({ "message": "Go on?", "requestedSchema": { "type": "object", "properties": {} } });
    let running = house(&calling(&[asks(&[page]), asks(&[empty])]), "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    let prompt = question["details"]["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("on example.org") && prompt.contains("https://example.org/login?x=1"),
        "{prompt}"
    );
    let refused = answer(&mut client, &question, "allowSession", json!({})).await;
    assert_eq!(refused["error"]["data"]["kind"], "OUTCOME_NOT_OFFERED", "{refused}");
    answer(&mut client, &question, "allowOnce", json!({})).await;
    let is_next = |listed: &Value| {
        let open = listed["confirmations"].as_array().unwrap();
        open.len() == 1 && open[0]["confirmationId"] != question["confirmationId"]
    };
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), is_next).await;
    answer(&mut client, &listed["confirmations"][0], "allowOnce", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    let told: Vec<Value> = ends.iter().map(|end| serde_json::from_str(text(end)).unwrap()).collect();
    assert_eq!(told, [json!([{ "action": "accept" }]), json!([{ "action": "accept", "content": {} }])]);
    running.stop().await;
}

#[tokio::test]
async fn a_restart_ends_what_is_asked_and_cuts_off_its_call() {
    let script = calling(&[asks(&[form()])]);
    let house = house(&script, "asking");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    drop(client);
    running.stop_unfinished().await;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(kind(&ends(&running).await[0]), "INTERRUPTED");
    assert_eq!(resolutions(&running).await[0].1, "system");
    let late = answer(&mut client, &question, "deny", json!({})).await;
    assert_eq!(late["error"]["data"]["kind"], "CONFIRMATION_ALREADY_RESOLVED", "{late}");
    running.stop().await;
}

#[tokio::test]
async fn secrets_are_taken_out_of_what_a_server_asks_and_its_length_is_bounded() {
    let secret = format!("ghp_{}", "aB3".repeat(12));
    let asked = json!({
        "message": format!("Use {secret}?{}", " and more".repeat(1_000)),
        "requestedSchema": { "type": "object", "properties": {
            "key": { "type": "string", "title": format!("\u{1b}[31mKey {secret}"), "default": secret },
            "other": { "type": "string", "enum": [secret] },
        } },
    });
    let mut house = house(&calling(&[asks(&[asked])]), "asking");
    let environment = std::iter::empty();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    let shown = question.to_string();
    assert!(!shown.contains(&secret) && !shown.contains("\\u001b"), "{shown}");
    assert!(shown.len() < 8_000, "{} bytes", shown.len());
    answer(&mut client, &question, "deny", json!({})).await;
    client.ended(&run).await;
    running.stop().await;
}

#[tokio::test]
async fn progress_is_shown_as_it_comes_to_whoever_looks() {
    let steps: Vec<Value> = (1..=3)
        .map(|step| json!({ "progress": step, "total": 3, "message": format!("step {step}\u{7}") }))
        .collect();
    let call = ("mcp.s.asks", json!({ "asks": [form()], "progress": steps }));
    let running = house(&calling(&[call]), "asking").boot().await;
    let (mut client, mut viewer) = (running.client(), running.client());
    let (run, session) = client.start(&running, "user", json!({})).await;
    viewer.call("session/attach", json!({ "sessionId": session, "deltas": true })).await;
    let newest = loop {
        let told = viewer.events_until("signal.progress").await.pop().unwrap();
        if told["data"]["progress"] == 3.0 {
            break told;
        }
    };
    assert_eq!((&newest["data"]["total"], &newest["data"]["message"]), (&json!(3.0), &json!("step 3")));
    let question = questions(&mut client, &session, 1).await.remove(0);
    assert_eq!(newest["data"]["callId"], question["toolCallId"]);
    assert_eq!(newest["runId"], json!(run));
    answer(&mut client, &question, "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    running.stop().await;
}

fn sampled() -> Value {
    json!({
        "systemPrompt": "You name capitals.",
        "messages": [
            { "role": "user", "content": { "type": "text", "text": "Of France?" } },
            { "role": "assistant", "content": { "type": "text", "text": "Let me think." } },
            { "role": "user", "content": { "type": "text", "text": "Well?" } },
        ],
        "maxTokens": 100,
    })
}

fn samples(asked: &Value) -> (&'static str, Value) {
    ("mcp.s.asks", json!({ "asks": [asked], "method": "sampling/createMessage" }))
}

/// A model that says this beside its first call, and to whoever else asks it.
fn speaking(call: (&str, Value)) -> Script {
    let calls = vec![(call.0.to_owned(), call.1)];
    let (chunks, finish) = (vec!["Paris".to_owned()], subagentd::protocol::FinishReason::Stop);
    Script::new([Reply::Says { chunks, thought: None, calls, finish }, Reply::done("done")])
}

#[tokio::test]
async fn a_server_gets_an_answer_of_the_model_when_a_person_allows_it() {
    let script = speaking(samples(&sampled()));
    let running = house(&script, "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    let prompt = question["details"]["prompt"].as_str().unwrap();
    for shown in ["MCP server s", "100 tokens", "You name capitals.", "Of France?", "Let me think.", "Well?"]
    {
        assert!(prompt.contains(shown), "{shown} in {prompt}");
    }
    assert_eq!(script.requests().len(), 1, "nobody has allowed it yet");
    answer(&mut client, &question, "allowOnce", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = told(&running).await;
    assert_eq!(told[0]["content"], json!({ "type": "text", "text": "Paris" }), "{told}");
    assert_eq!((&told[0]["role"], &told[0]["stopReason"]), (&json!("assistant"), &json!("endTurn")));
    let asked = &script.requests()[1];
    assert_eq!((&*asked.system, asked.messages.len(), asked.tools.len()), ("You name capitals.", 3, 0));
    assert_eq!(asked.sampling.max_output_tokens, Some(100));
    let log = running.log().await;
    let completed = log.iter().find(|event| event["type"] == "sideCall.completed").unwrap();
    assert_eq!(completed["data"]["purpose"], "mcpSampling");
    running.stop().await;
}

#[tokio::test]
async fn without_a_persons_leave_no_model_is_asked_for_a_server() {
    let script = speaking(samples(&sampled()));
    let running = house(&script, "asking").boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    answer(&mut client, &question, "deny", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let refused = told(&running).await;
    assert_eq!(refused[0]["code"], -1, "{refused}");
    let (run, _) = client.start(&running, "user", json!({ "approval": { "headless": true } })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(script.requests().len(), 4, "two turns each, and nothing else");
    running.stop().await;
    // What nobody could show is not asked for.
    let mut picture = sampled();
    picture["messages"][0]["content"] = json!({ "type": "image", "data": "", "mimeType": "image/png" });
    let script = speaking(samples(&picture));
    let running = house(&script, "asking").boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    assert_eq!(told(&running).await[0]["code"], -32602);
    running.stop().await;
}

#[tokio::test]
async fn whoever_is_asked_whether_a_tool_may_be_called_sees_server_tool_and_arguments() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "x".repeat(5_000) }))]);
    let running = House::new()
        .script(&script)
        .agent("user", &agent("user", "mcp: {servers: [s]}"))
        .settings(&json!({ "mcpServers": { "s": server::entry("plain") } }))
        .boot()
        .await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    let question = questions(&mut client, &session, 1).await.remove(0);
    let details = &question["details"];
    assert_eq!(
        (&details["type"], &details["server"], &details["tool"]),
        (&json!("mcp"), &json!("s"), &json!("echo"))
    );
    assert_eq!(details["arguments"]["text"].as_str().unwrap().len(), 5_000, "all of it");
    answer(&mut client, &question, "allowOnce", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(text(&ends(&running).await[0]).len(), 5_000);
    running.stop().await;
}
