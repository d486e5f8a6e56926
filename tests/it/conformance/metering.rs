//! A reply that never became whole has cost something: what its provider said of it, and beyond that an estimate.

use super::*;
use crate::provider_server::Said;

/// What there is of a reply before it says how it ended, and what the provider has told of its usage by then.
fn begun(wire: Wire) -> (Answer, Value) {
    let said = Said { text: "Half of it".to_owned(), ..Said::default() };
    let usage = |prompt: u64, cached: u64, output: u64| json!({ "promptTokens": prompt, "cachedTokens": cached, "outputTokens": output, "thoughtTokens": 0 });
    match wire {
        Wire::Gemini => {
            let chunk = json!({
                "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Half of it" }] } }],
                "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 3, "totalTokenCount": 103 },
            });
            (Answer::chunks([chunk.to_string()]), usage(100, 0, 3))
        }
        Wire::OpenAi => {
            // There are servers that tell it with each piece.
            let chunk = json!({
                "choices": [{ "index": 0, "delta": { "content": "Half of it" }, "finish_reason": null }],
                "usage": { "prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103 },
            });
            (Answer::chunks([chunk.to_string()]), usage(100, 0, 3))
        }
        // It tells nothing before the end.
        Wire::OpenAiResponses => (wire.before_its_reason(&said), Value::Null),
        Wire::Anthropic => (wire.before_its_reason(&said), usage(100, 30, 1)),
    }
}

/// Holds what was counted for [`begun`] against this: as the provider told it, but no less than what was read of it. Whether that is an estimate.
fn counted(told: &Value, seen: &Value, case: &str) -> bool {
    let output = told["outputTokens"].as_u64().unwrap_or(0).max(HALF_OF_IT);
    assert_eq!(seen["outputTokens"], output, "{case}");
    match told["promptTokens"].as_u64() {
        Some(prompt) => assert_eq!(seen["promptTokens"], prompt, "{case}"),
        None => assert!(seen["promptTokens"].as_u64().is_some_and(|prompt| 10 < prompt), "{case}: {seen}"),
    }
    assert_eq!(seen["cachedTokens"].as_u64(), told["cachedTokens"].as_u64().or(Some(0)), "{case}");
    told["outputTokens"] != output
}

/// The text of [`begun`] by our own count: ten letters.
const HALF_OF_IT: u64 = 3;

fn sum(usages: &[&Value]) -> Value {
    let fields = ["promptTokens", "cachedTokens", "outputTokens", "thoughtTokens"];
    let sum = |field: &str| usages.iter().map(|usage| usage[field].as_u64().unwrap_or(0)).sum::<u64>();
    fields
        .into_iter()
        .map(|field| (field.to_owned(), json!(sum(field))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn an_attempt_that_was_cut_counts_as_the_provider_said_it_or_is_estimated() {
    let rows = Wire::ALL.map(async |wire| {
        let (answer, taken) = begun(wire);
        let server = wire.server([answer.then_cut(), wire.text("All of it")]).await;
        let mut scene = Scene::open(wire, &[server.base_url()]).await;
        let params = json!({ "model": format!("row-0/{}", wire.model()) });
        let (run, session) = scene.client.start(&scene.running, "talker", params).await;
        scene.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
        let retried = scene.client.events_until("model.retrying").await.pop().unwrap();
        scene.clock.advance(PATIENCE);
        let record = scene.client.ended(&run).await;
        let is_estimate = counted(&taken, &retried["data"]["usage"], wire.name());
        assert_eq!(retried["data"]["estimated"] == true, is_estimate, "{}", wire.name());
        let taken = retried["data"]["usage"].clone();
        let log = scene.running.log().await;
        let whole = log.iter().find(|event| event["type"] == "model.completed").unwrap();
        assert_eq!(record["usage"], sum(&[&taken, &whole["data"]["usage"]]), "{}", wire.name());
        scene.close().await;
        server.assert_content();
    });
    join_all(rows).await;
}

#[tokio::test]
async fn a_reply_that_a_cancel_cut_off_counts_as_the_provider_said_it_or_is_estimated() {
    let rows = Wire::ALL.map(async |wire| {
        let (answer, taken) = begun(wire);
        let server = wire.server([answer.then_stall()]).await;
        let mut scene = Scene::open(wire, &[server.base_url()]).await;
        let params = json!({ "model": format!("row-0/{}", wire.model()) });
        let (run, session) = scene.client.start(&scene.running, "talker", params).await;
        let attached = json!({ "sessionId": session, "from": "start", "deltas": true });
        scene.client.call("session/attach", attached).await;
        // All of it comes at once: what tells the usage has come, too.
        scene.client.events_until("model.textDelta").await;
        scene.client.call("run/cancel", json!({ "runId": run })).await;
        let record = scene.client.ended(&run).await;
        let log = scene.running.log().await;
        let cut = log.iter().find(|event| event["type"] == "model.completed").unwrap();
        assert_eq!(cut["data"]["cut"], true);
        let is_estimate = counted(&taken, &cut["data"]["usage"], wire.name());
        assert_eq!(cut["data"]["estimated"] == true, is_estimate, "{}", wire.name());
        assert_eq!(record["usage"], cut["data"]["usage"], "{}", wire.name());
        scene.close().await;
    });
    join_all(rows).await;
}

/// Nothing came of it: nobody knows whether anything was counted, so that is neither estimated nor told as free.
#[tokio::test]
async fn a_request_that_is_cancelled_before_anything_came_has_no_cost() {
    let rows = Wire::ALL.map(async |wire| {
        let server = wire.server([Answer::chunks::<String>([]).then_stall()]).await;
        let mut scene = Scene::open(wire, &[server.base_url()]).await;
        let params = json!({ "model": format!("row-0/{}", wire.model()) });
        let (run, session) = scene.client.start(&scene.running, "talker", params).await;
        scene.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
        scene.client.events_until("model.started").await;
        server.asked(1).await;
        scene.client.call("run/cancel", json!({ "runId": run })).await;
        let record = scene.client.ended(&run).await;
        assert_eq!(record.get("cost"), None, "{}: {record}", wire.name());
        let traced = scene.client.call("trace/get", json!({ "runId": run })).await;
        let spans = traced["spans"].as_array().unwrap();
        let asked = spans.iter().find(|span| span["kind"] == "llm").unwrap();
        let told = spans.iter().find(|span| span["kind"] == "run").unwrap();
        assert_eq!(
            (&asked["llm"]["usageUnknown"], asked.get("cost")),
            (&json!(true), None),
            "{}",
            wire.name()
        );
        assert_eq!(
            (&told["run"]["uncountedRequests"], told.get("cost")),
            (&json!(1), None),
            "{}",
            wire.name()
        );
        scene.close().await;
    });
    join_all(rows).await;
}

/// What a summariser may answer.
pub(super) const SNAPSHOT: &str = "<state_snapshot>\n<overall_goal>g</overall_goal>\n<key_knowledge>k</key_knowledge>\n\
                        <file_system_state>CWD: /</file_system_state>\n<recent_actions>a</recent_actions>\n\
                        <current_plan>1. [TODO] p</current_plan>\n</state_snapshot>";

#[tokio::test]
async fn a_question_of_the_daemons_own_counts_with_all_its_tries() {
    let rows = Wire::ALL.map(async |wire| {
        let (unfinished, taken) = begun(wire);
        let script = [wire.text("It is so."), unfinished, wire.text(SNAPSHOT), wire.text(SNAPSHOT)];
        let server = wire.server(script).await;
        let mut scene = Scene::open(wire, &[server.base_url()]).await;
        let params = json!({ "model": format!("row-0/{}", wire.model()) });
        let (run, session) = scene.client.start(&scene.running, "talker", params).await;
        scene.client.ended(&run).await;
        scene.client.call("session/compact", json!({ "sessionId": session })).await;
        let log = scene.running.log().await;
        let told: Vec<&Value> = log.iter().filter(|event| event["type"] == "sideCall.completed").collect();
        // The summary took two tries, the second look at it one.
        let [summary, check] = told[..] else { panic!("{}: {told:?}", wire.name()) };
        let first = |field: &str| {
            let of = |told: &Value| told["data"]["usage"][field].as_u64().unwrap();
            of(summary) - of(check)
        };
        let failed = json!({
            "promptTokens": first("promptTokens"), "cachedTokens": first("cachedTokens"),
            "outputTokens": first("outputTokens"),
        });
        let is_estimate = counted(&taken, &failed, wire.name());
        assert_eq!(summary["data"]["estimated"] == true, is_estimate, "{}", wire.name());
        scene.close().await;
        server.assert_content();
    });
    join_all(rows).await;
}
