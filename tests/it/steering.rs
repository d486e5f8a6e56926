//! What is said to runs, and what waits for its turn: `run/steer`, `ifBusy`, queues, and contexts that outlast a run
//! (spec 01, "Runs"; spec 03, "Steering and cancelling").

use std::sync::Arc;

use serde_json::{Value, json};
use subagentd::{
    models::ModelRequest,
    protocol::{MessagePart, MessageRole, Risk, ToolKind},
};
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    probe::Probe,
    support::{Cast, Client, House, Reply, Running, STUCK, Script, lines},
};

const WORKER: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: [probe, helper]
---
You work.
";

const HELPER: &str = "---
kind: agent
name: helper
description: Helps.
completion: tool
tools: []
---
You help.
";

const TALKER: &str = "---
kind: agent
name: talker
description: Talks.
completion: message
tools: []
---
You talk.
";

fn house() -> House {
    House::new().agent("worker", WORKER).agent("helper", HELPER).agent("talker", TALKER)
}

fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// A request as roles and texts, judged: roles alternate, results stand right after their calls and hold nothing else.
fn judged(request: &ModelRequest) -> Vec<String> {
    let mut before = None;
    for message in &request.messages {
        assert_ne!(before, Some(message.role), "two in a row: {:?}", request.messages);
        let is_result = |part: &MessagePart| matches!(part, MessagePart::ToolResult { .. });
        let is_tool = message.role == MessageRole::Tool;
        assert!(message.parts.iter().all(|part| is_result(part) == is_tool), "{message:?}");
        assert!(
            !is_tool || before == Some(MessageRole::Model),
            "results after no calls: {:?}",
            request.messages
        );
        before = Some(message.role);
    }
    let line = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::ToolCall(call) => format!("call {}", call.name),
        MessagePart::ToolResult { name, is_error, .. } => {
            format!("{} {name}", if *is_error { "failed" } else { "result" })
        }
        other => format!("{other:?}"),
    };
    request.messages.iter().flat_map(|message| message.parts.iter().map(line)).collect()
}

async fn steer(client: &mut Client, run: &str, text: &str) -> Value {
    client.call("run/steer", json!({ "runId": run, "text": text })).await
}

async fn steer_refused(client: &mut Client, run: &str) {
    let (kind, error) = client.refused("run/steer", json!({ "runId": run, "text": "too late" })).await;
    assert_eq!(kind, "RUN_NOT_ACTIVE", "{error}");
}

/// Texts of the messages that a turn took, with the turn.
fn taken(log: &[Value]) -> Vec<(String, i64)> {
    let steered = log.iter().filter(|it| it["type"] == "run.steered" && it["data"]["turn"].is_number());
    let shown = |it: &Value| {
        assert_eq!(it["turn"], it["data"]["turn"], "{it}");
        (it["data"]["text"].as_str().unwrap().to_owned(), it["data"]["turn"].as_i64().unwrap())
    };
    steered.map(shown).collect()
}

fn of_type<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

#[tokio::test]
async fn messages_during_a_model_call_and_during_tools_are_taken_at_the_next_turn_in_order() {
    let first = gate();
    let script = Script::new([
        Reply::after(&first, Reply::calls(&[("probe", json!({ "do": "wait" })), ("probe", json!({}))])),
        Reply::done("ok"),
    ]);
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let running = house().script(&script).tool(probe).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    let kept = steer(&mut client, &run, "while it thinks").await;
    steer(&mut client, &run, "and again").await;
    first.add_permits(1);
    timeout(STUCK, began.recv()).await.unwrap();
    timeout(STUCK, began.recv()).await.unwrap();
    let last = steer(&mut client, &run, "while it acts").await;
    assert!(kept["seq"].as_i64().unwrap() < last["seq"].as_i64().unwrap());
    handle.release.add_permits(1);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let requests = script.requests();
    assert_eq!(judged(&requests[0]), ["do it"]);
    assert_eq!(
        judged(&requests[1]),
        [
            "do it",
            "call probe",
            "call probe",
            "result probe",
            "result probe",
            "while it thinks",
            "and again",
            "while it acts"
        ]
    );
    let log = running.log().await;
    let words = ["while it thinks", "and again", "while it acts"];
    assert_eq!(taken(&log), words.map(|text| (text.to_owned(), 2)));
    // Acknowledged twice: kept, under the `seq` that was answered, and taken, under the same name.
    let steered = of_type(&log, "run.steered");
    assert_eq!(steered.len(), 6, "{}", lines(&log));
    assert_eq!((&steered[0]["seq"], steered[0]["data"].get("turn")), (&kept["seq"], None));
    assert_eq!(steered[0]["data"]["steerId"], steered[3]["data"]["steerId"]);
    running.stop().await;
}

#[tokio::test]
async fn result_that_does_not_know_of_a_message_is_not_accepted_yet() {
    let first = gate();
    let script =
        Script::new([Reply::after(&first, Reply::done("unaware")), Reply::done("with regard to it")]);
    let running = house().script(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    steer(&mut client, &run, "one more thing").await;
    first.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "with regard to it");
    assert_eq!(
        judged(&script.requests()[1]),
        ["do it", "call complete_task", "failed complete_task", "one more thing"]
    );
    running.stop().await;
}

#[tokio::test]
async fn conversation_answers_what_was_said_while_it_spoke() {
    let first = gate();
    let script = Script::new([Reply::after(&first, Reply::says("unaware")), Reply::says("aware")]);
    let running = house().script(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    steer(&mut client, &run, "and?").await;
    first.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "aware");
    assert_eq!(judged(&script.requests()[1]), ["do it", "unaware", "and?"]);
    running.stop().await;
}

#[tokio::test]
async fn run_with_no_further_turn_takes_no_message_and_says_so() {
    let grace = gate();
    let script =
        Script::new([Reply::calls(&[("probe", json!({}))]), Reply::after(&grace, Reply::done("saved"))]);
    let finishing = Script::new([Reply::calls(&[
        ("complete_task", json!({ "result": "ok" })),
        ("probe", json!({ "do": "wait" })),
    ])]);
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let running = house().script(&script).model("finishing", &finishing).tool(probe).boot().await;
    let mut client = running.client();

    let (run, _) = client.start(&running, "worker", json!({ "limits": { "maxTurns": 1 } })).await;
    script.asked().await;
    script.asked().await;
    timeout(STUCK, began.recv()).await.unwrap();
    steer_refused(&mut client, &run).await;
    grace.add_permits(1);
    assert_eq!(client.ended(&run).await["recoveredFrom"], "MAX_TURNS");
    steer_refused(&mut client, &run).await;

    // Its result was accepted and only a neighbour still runs.
    let (run, _) = client.start(&running, "worker", json!({ "model": "finishing" })).await;
    timeout(STUCK, began.recv()).await.unwrap();
    steer_refused(&mut client, &run).await;
    handle.release.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "ok");
    let (kind, _) = client.refused("run/steer", json!({ "runId": "no-such-run", "text": "x" })).await;
    assert_eq!(kind, "NOT_FOUND");
    let (kind, _) = client.refused("run/steer", json!({ "runId": run, "text": "" })).await;
    assert_eq!(kind, "INVALID_PARAMS");
    running.stop().await;
}

#[tokio::test]
async fn more_than_a_model_reads_in_a_turn_is_refused_until_it_has_read() {
    let gate = gate();
    let script = Script::new([Reply::after(&gate, Reply::says("one")), Reply::says("two")]);
    let running = house().script(&script).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    let large = "x".repeat(3 << 20);
    for _ in 0..2 {
        steer(&mut client, &run, &large).await;
    }
    let again = json!({
        "sessionId": session, "agent": "talker", "model": "script", "prompt": large, "ifBusy": "steer",
    });
    for (method, params) in [("run/steer", json!({ "runId": run, "text": large })), ("run/start", again)] {
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "LIMIT_EXCEEDED", "{error}");
    }
    steer(&mut client, &run, "short").await;
    gate.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "two");
    let asked = judged(&script.requests()[1]);
    assert_eq!(asked.iter().filter(|text| **text == large).count(), 2);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn message_to_a_run_that_waits_is_there_when_it_begins() {
    let first = gate();
    let (busy, script) =
        (Script::new([Reply::after(&first, Reply::done("a"))]), Script::new([Reply::done("b")]));
    let running = house().model("busy", &busy).script(&script).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({ "model": "busy" })).await;
    busy.asked().await;
    let (queued, _) =
        client.start(&running, "worker", json!({ "sessionId": session, "prompt": "second" })).await;
    steer(&mut client, &queued, "mind the gap").await;
    first.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "a");
    assert_eq!(client.ended(&queued).await["result"], "b");
    assert_eq!(
        judged(&script.requests()[0]),
        ["do it", "call complete_task", "result complete_task", "second", "mind the gap"]
    );
    assert_eq!(taken(&running.log().await), [("mind the gap".to_owned(), 1)]);
    running.stop().await;
}

#[tokio::test]
async fn what_was_said_too_late_is_there_for_the_next_run() {
    let (stuck, script) = (Script::new([Reply::Hangs]), Script::new([Reply::done("b")]));
    let running = house().model("stuck", &stuck).script(&script).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({ "model": "stuck" })).await;
    stuck.asked().await;
    steer(&mut client, &run, "not lost").await;
    client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    let (next, _) =
        client.start(&running, "worker", json!({ "sessionId": session, "prompt": "go on" })).await;
    assert_eq!(client.ended(&next).await["reason"], "GOAL");
    assert_eq!(judged(&script.requests()[0]), ["do it", "not lost", "go on"]);
    running.stop().await;
}

#[tokio::test]
async fn messages_survive_a_restart() {
    let gate = gate();
    let script = Script::new([Reply::after(&gate, Reply::calls(&[("probe", json!({}))])), Reply::done("ok")]);
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let house = house().script(&script).tool(probe);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    steer(&mut client, &run, "one").await;
    steer(&mut client, &run, "two").await;
    running.stop_unfinished().await;
    let running = house.boot().await;
    gate.add_permits(1);
    assert_eq!(running.client().ended(&run).await["reason"], "GOAL");
    let last = judged(script.requests().last().unwrap());
    assert_eq!(last, ["do it", "call probe", "result probe", "one", "two"]);
    running.stop().await;
}

/// A house with a worker that is busy until the gate opens, and what starts a second run in its session.
struct Busy {
    running: Running,
    client: Client,
    gate: Arc<Semaphore>,
    busy: Script,
    next: Script,
    run: String,
    session: String,
}

impl Busy {
    async fn new() -> Busy {
        let gate = gate();
        let busy = Script::new([Reply::after(&gate, Reply::done("first")), Reply::done("steered")]);
        let next = Script::new([Reply::done("next")]);
        let running = house().model("busy", &busy).script(&next).boot().await;
        let mut client = running.client();
        let (run, session) = client.start(&running, "worker", json!({ "model": "busy" })).await;
        busy.asked().await;
        Busy { running, client, gate, busy, next, run, session }
    }

    /// Asks for another run of the same agent in the same session.
    async fn request(&mut self, prompt: &str, if_busy: Value) -> Value {
        let mut params = json!({
            "sessionId": self.session, "agent": "worker", "model": "script", "prompt": prompt,
        });
        if !if_busy.is_null() {
            params["ifBusy"] = if_busy;
        }
        self.client.request("run/start", params).await
    }

    async fn queue(&mut self, prompt: &str) -> String {
        let started = self.request(prompt, json!("queue")).await["result"].clone();
        assert_eq!(started["disposition"], "queued", "{started}");
        started["runId"].as_str().unwrap().to_owned()
    }

    async fn listed(&mut self) -> Vec<String> {
        let listed = self.client.call("queue/list", json!({ "sessionId": self.session })).await;
        let queue = listed["queue"].as_array().unwrap();
        queue.iter().map(|it| it["query"].as_str().unwrap().to_owned()).collect()
    }

    /// Prompts of the runs in the order in which they began.
    async fn begun(&self) -> Vec<String> {
        let log = self.running.log().await;
        let prompts = of_type(&log, "run.started")
            .into_iter()
            .map(|it| it["data"]["query"].as_str().unwrap().to_owned());
        prompts.collect()
    }
}

#[tokio::test]
async fn busy_context_queues_by_default_and_the_second_run_sees_the_first() {
    let mut busy = Busy::new().await;
    let started = busy.request("second", Value::Null).await["result"].clone();
    assert_eq!((&started["disposition"], &started["sessionId"]), (&json!("queued"), &json!(busy.session)));
    let queued = started["runId"].as_str().unwrap().to_owned();
    let record = busy.client.call("run/get", json!({ "runId": queued })).await;
    assert_eq!(record["state"], "queued");
    assert_eq!(busy.listed().await, ["second"]);
    busy.gate.add_permits(1);
    assert_eq!(busy.client.ended(&queued).await["result"], "next");
    let seen = judged(&busy.next.requests()[0]);
    assert_eq!(seen, ["do it", "call complete_task", "result complete_task", "second"]);
    // It did not begin before the first had ended.
    let log = busy.running.log().await;
    let of_run = |kind: &str, run: &str| {
        of_type(&log, kind).into_iter().find(|it| it["runId"] == *run).unwrap()["seq"].as_i64().unwrap()
    };
    assert!(of_run("run.completed", &busy.run) < of_run("run.started", &queued));
    assert_eq!(of_type(&log, "run.queued")[0]["data"]["for"], "context");
    assert!(busy.listed().await.is_empty());
    busy.running.stop().await;
}

#[tokio::test]
async fn busy_context_can_be_steered_interrupted_or_left_alone() {
    let mut busy = Busy::new().await;
    let rejected = busy.request("x", json!("reject")).await;
    assert_eq!(rejected["error"]["data"]["kind"], "BUSY", "{rejected}");
    assert_eq!(rejected["error"]["data"]["details"]["runId"], json!(busy.run), "{rejected}");
    let steered = busy.request("by the way", json!("steer")).await["result"].clone();
    assert_eq!((&steered["disposition"], &steered["runId"]), (&json!("steered"), &json!(busy.run)));
    let waiting = busy.queue("patient").await;
    let urgent = busy.request("urgent", json!("interrupt")).await["result"].clone();
    assert_eq!(urgent["disposition"], "queued", "{urgent}");
    assert_eq!(busy.client.ended(&busy.run.clone()).await["reason"], "ABORTED");
    assert_eq!(busy.client.ended(urgent["runId"].as_str().unwrap()).await["reason"], "GOAL");
    assert_eq!(busy.client.ended(&waiting).await["reason"], "GOAL");
    assert_eq!(busy.begun().await, ["do it", "urgent", "patient"]);
    // A context where nothing happens starts, whatever was to be done if it were busy.
    for if_busy in ["steer", "interrupt", "reject", "queue"] {
        let started = busy.request("free", json!(if_busy)).await["result"].clone();
        assert_eq!(started["disposition"], "started", "{if_busy}: {started}");
        busy.client.ended(started["runId"].as_str().unwrap()).await;
    }
    assert_eq!(busy.busy.requests().len(), 1);
    busy.running.stop().await;
}

#[tokio::test]
async fn steered_start_reaches_the_living_run() {
    let mut busy = Busy::new().await;
    busy.request("by the way", json!("steer")).await;
    busy.gate.add_permits(1);
    let run = busy.run.clone();
    assert_eq!(busy.client.ended(&run).await["result"], "steered");
    assert_eq!(judged(&busy.busy.requests()[1]).last().unwrap(), "by the way");
    assert_eq!(busy.begun().await, ["do it"]);
    busy.running.stop().await;
}

#[tokio::test]
async fn queue_keeps_its_order_and_people_may_change_it() {
    let mut busy = Busy::new().await;
    let mut runs = Vec::new();
    for prompt in ["a", "b", "c", "d", "e"] {
        runs.push(busy.queue(prompt).await);
    }
    assert_eq!(busy.listed().await, ["a", "b", "c", "d", "e"]);
    let promoted = busy.client.call("queue/promote", json!({ "runId": runs[3] })).await;
    assert!(promoted["seq"].is_i64());
    assert_eq!(busy.listed().await, ["d", "a", "b", "c", "e"]);
    busy.client.call("queue/remove", json!({ "runId": runs[1] })).await;
    busy.client.call("run/cancel", json!({ "runId": runs[4] })).await;
    for removed in [1, 4] {
        let record = busy.client.ended(&runs[removed]).await;
        assert_eq!((&record["reason"], &record["turns"]), (&json!("ABORTED"), &json!(0)));
    }
    assert_eq!(busy.listed().await, ["d", "a", "c"]);
    for (method, run) in
        [("queue/promote", &busy.run), ("queue/remove", &busy.run), ("queue/remove", &runs[1])]
    {
        let (kind, _) = busy.client.refused(method, json!({ "runId": run })).await;
        assert_eq!(kind, "CONFLICT", "{method}");
    }
    busy.gate.add_permits(1);
    for run in [0, 2, 3] {
        assert_eq!(busy.client.ended(&runs[run]).await["reason"], "GOAL");
    }
    assert_eq!(busy.begun().await, ["do it", "d", "a", "c"]);
    // Those that never began have left nothing in the context.
    let last = judged(busy.next.requests().last().unwrap());
    assert!(!last.iter().any(|text| text == "b" || text == "e"), "{last:?}");
    assert_eq!(busy.running.daemon.census().holdings, (0, 0, 0));
    busy.running.stop().await;
}

#[tokio::test]
async fn queue_outlives_a_restart_in_its_order_and_goes_on_by_itself() {
    let gate = gate();
    let busy = Script::new([Reply::after(&gate, Reply::done("first"))]);
    let next = Script::new([Reply::done("next")]);
    let house = house().model("busy", &busy).script(&next);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({ "model": "busy" })).await;
    busy.asked().await;
    let mut runs = Vec::new();
    for prompt in ["a", "b", "c"] {
        let (run, _) =
            client.start(&running, "worker", json!({ "sessionId": session, "prompt": prompt })).await;
        runs.push(run);
    }
    client.call("queue/promote", json!({ "runId": runs[2] })).await;
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("queue/list", json!({})).await;
    let queue: Vec<&Value> = listed["queue"].as_array().unwrap().iter().map(|it| &it["query"]).collect();
    assert_eq!(queue, ["c", "a", "b"]);
    gate.add_permits(1);
    assert_eq!(client.ended(&run).await["result"], "first");
    for run in &runs {
        assert_eq!(client.ended(run).await["reason"], "GOAL");
    }
    let log = running.log().await;
    let begun: Vec<&Value> = of_type(&log, "run.started").iter().map(|it| &it["data"]["query"]).collect();
    assert_eq!(begun, ["do it", "c", "a", "b"]);
    // Each says for how long there was no daemon, also while it was queued.
    assert_eq!(of_type(&log, "run.resumed").len(), 4, "{}", lines(&log));
    running.stop().await;
}

#[tokio::test]
async fn other_agents_of_the_session_and_other_sessions_run_beside_a_busy_one() {
    let mut busy = Busy::new().await;
    let beside = json!({ "sessionId": busy.session, "model": "script" });
    let params = [("talker", beside.clone()), ("helper", beside), ("worker", json!({ "model": "script" }))];
    busy.next.replace([Reply::done("beside")]);
    for (agent, more) in params {
        let mut params = json!({ "agent": agent, "prompt": "x" });
        if more.get("sessionId").is_none() {
            params["workspace"] = json!(busy.running.work());
        }
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        let started = busy.client.call("run/start", params).await;
        assert_eq!(started["disposition"], "started", "{agent}");
        assert_eq!(busy.client.ended(started["runId"].as_str().unwrap()).await["result"], "beside");
    }
    for request in busy.next.requests() {
        assert_eq!(judged(&request), ["x"], "another agent's messages leaked");
    }
    busy.gate.add_permits(1);
    let run = busy.run.clone();
    busy.client.ended(&run).await;
    busy.running.stop().await;
}

#[tokio::test]
async fn context_outlasts_runs_and_restarts_and_knows_nothing_of_children() {
    let cast = Cast::new([
        ("worker", vec![Reply::calls(&[("helper", json!({ "prompt": "whisper" }))]), Reply::done("told")]),
        ("worker/helper", vec![Reply::says("inner thoughts"), Reply::done("helped")]),
        ("helper", vec![Reply::done("as root")]),
    ]);
    let script = Script::new([Reply::done("again")]);
    let house = house().model("cast", &cast).script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({ "model": "cast" })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = ["do it", "call helper", "result helper", "call complete_task", "result complete_task"];
    let (run, _) =
        client.start(&running, "worker", json!({ "sessionId": session, "prompt": "and now" })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let mut expected: Vec<&str> = told.to_vec();
    expected.push("and now");
    assert_eq!(judged(&script.requests()[0]), expected);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "sessionId": session, "prompt": "later" })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    expected.extend(["call complete_task", "result complete_task", "later"]);
    assert_eq!(judged(&script.requests()[1]), expected);
    // As a root in the same session the helper begins anew: a call is no conversation.
    let (run, _) = client.start(&running, "helper", json!({ "sessionId": session, "model": "cast" })).await;
    assert_eq!(client.ended(&run).await["result"], "as root");
    assert_eq!(judged(&cast.requests("helper")[0]), ["do it"]);
    running.stop().await;
}
