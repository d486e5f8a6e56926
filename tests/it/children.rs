//! Agents as tools, through the wire: what a parent, its children and whoever watches them rely on (spec 03, "Subagent
//! calls").

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    models::{ModelError, ModelRequest},
    protocol::{MessagePart, MessageRole, Risk, RunErrorCode, ToolKind},
};
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    probe::Probe,
    support::{Cast, Client, House, Reply, Running, STUCK, Script, lines},
};

/// An agent's file; `more` are lines of its front matter.
fn agent(name: &str, tools: &str, more: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does {name} things.\ncompletion: tool\ntools: [{tools}]\n\
         {more}---\nYou are {name}.\n"
    )
}

fn house(cast: &Cast) -> House {
    House::new()
        .model("script", cast)
        .agent("lead", &agent("lead", "worker, probe", ""))
        .agent("worker", &agent("worker", "probe", ""))
}

fn call(agent: &str, prompt: &str) -> Reply {
    Reply::calls(&[(agent, json!({ "prompt": prompt }))])
}

/// What the model reads as results of the turn before, as JSON where it is that.
fn results(request: &ModelRequest) -> Vec<Value> {
    let last = request.messages.last().unwrap();
    assert_eq!(last.role, MessageRole::Tool, "{last:?}");
    let text = |part: &MessagePart| match part {
        MessagePart::ToolResult { parts, .. } => {
            parts.iter().filter_map(MessagePart::as_text).collect::<String>()
        }
        other => panic!("a tool-result message holds {other:?}"),
    };
    let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    last.parts.iter().map(|part| value(text(part))).collect()
}

fn of_type<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

/// The runs that a run called, oldest first.
async fn children(client: &mut Client, run: &str) -> Vec<Value> {
    let listed = client.call("run/list", json!({ "parentRunId": run })).await;
    let mut runs = listed["runs"].as_array().unwrap().clone();
    runs.reverse();
    runs
}

/// The only run that a run called, once it is there.
async fn only_child(client: &mut Client, run: &str) -> String {
    let has_one = |listed: &Value| !listed["runs"].as_array().unwrap().is_empty();
    let listed = client.until("run/list", json!({ "parentRunId": run }), has_one).await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    listed["runs"][0]["runId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn agents_are_declared_with_a_schema_of_their_inputs_and_complete_task_last() {
    let cast = Cast::new([("lead", vec![Reply::done("ok")]), ("all", vec![Reply::done("ok")])]);
    let inputs = "inputs:
  count: { type: integer, description: How many., required: true }
  tags: { type: 'string[]', required: false }
  style: { type: string, default: plain }
";
    let project = |running: &Running| running.work().join(".subagentd/agents");
    let house = house(&cast)
        .agent("lead", &agent("lead", "worker, counter, secret, silent, stranger, read_file", ""))
        .agent("all", &agent("all", "'*'", ""))
        .agent("counter", &agent("counter", "", inputs))
        .agent("secret", &agent("secret", "", "hidden: true\n"))
        .agent("silent", "---\nkind: agent\nname: silent\n---\nYou are silent.\n")
        .file(".subagentd/agents/stranger.md", agent("stranger", "", ""));
    let running = house.boot().await;
    assert!(project(&running).is_dir());
    let mut client = running.client();
    for lead in ["lead", "all"] {
        let (run, _) = client.start(&running, lead, json!({})).await;
        assert_eq!(client.ended(&run).await["reason"], "GOAL");
    }

    let declared = |lead: &str| cast.requests(lead)[0].tools.to_vec();
    let names = |lead: &str| -> Vec<String> { declared(lead).iter().map(|it| it.name.to_string()).collect() };
    let of_lead = names("lead");
    assert_eq!(of_lead.last().unwrap(), "complete_task");
    let mut sorted = of_lead.clone();
    sorted.sort();
    assert_eq!(sorted, ["complete_task", "counter", "read_file", "worker"]);
    let of_all = names("all");
    assert_eq!(of_all.last().unwrap(), "complete_task");
    for name in ["lead", "worker", "counter", "read_file", "codebase-investigator"] {
        assert!(of_all.iter().any(|it| it == name), "{name} is missing: {of_all:?}");
    }
    for name in ["all", "secret", "silent", "stranger"] {
        assert!(!of_all.iter().any(|it| it == name), "{name} is declared");
    }

    let counter = declared("lead").into_iter().find(|it| it.name.as_str() == "counter").unwrap();
    assert_eq!(counter.description, "Does counter things.");
    assert_eq!((counter.kind, counter.risk), (ToolKind::Think, Risk::Safe));
    let schema = &counter.parameters;
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["count"])));
    let properties = &schema["properties"];
    assert_eq!(properties["count"], json!({ "type": "integer", "description": "How many." }));
    assert_eq!(properties["tags"]["type"], "array");
    assert_eq!(properties["tags"]["items"]["type"], "string");
    assert_eq!(properties["style"]["type"], "string");
    // A call of one that was not declared is a tool error that names what there is.
    running.stop().await;
}

#[tokio::test]
async fn child_has_a_context_and_a_prompt_of_its_own_and_its_parents_model() {
    let cast = Cast::new([
        (
            "lead",
            vec![
                Reply::calls(&[
                    ("worker", json!({ "prompt": "dig" })),
                    ("other", json!({ "prompt": "look" })),
                ]),
                Reply::done("all of it"),
            ],
        ),
        ("lead/worker", vec![Reply::calls(&[("probe", json!({}))]), Reply::done("a bone")]),
    ]);
    let other = Script::new([Reply::done("seen")]);
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let house = house(&cast)
        .tool(probe)
        .model("another", &other)
        .agent("lead", &agent("lead", "worker, other", ""))
        .agent("other", &agent("other", "", "model: another\n"));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({ "prompt": "the secret plan" })).await;
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!("all of it")));

    let of_worker = cast.requests("lead/worker");
    let first: Vec<String> = of_worker[0].messages.iter().map(|it| it.text()).collect();
    assert_eq!(first, ["dig"]);
    assert!(of_worker[0].system.starts_with("You are worker."), "{}", of_worker[0].system);
    let declared: Vec<&str> = of_worker[0].tools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(declared, ["probe", "complete_task"]);
    for request in &of_worker {
        assert!(!format!("{:?}", request.messages).contains("secret plan"));
    }
    assert_eq!(other.requests()[0].messages[0].text(), "look");
    // The parent reads results, and nothing that was said below.
    let told = &cast.requests("lead")[1];
    assert_eq!(told.messages.len(), 3);
    let told = results(told);
    assert_eq!(told[0], json!({ "agent": "worker", "reason": "GOAL", "result": "a bone" }));
    assert_eq!(told[1], json!({ "agent": "other", "reason": "GOAL", "result": "seen" }));

    let runs = children(&mut client, &run).await;
    let shown: Vec<(&Value, &Value, &Value)> =
        runs.iter().map(|it| (&it["agent"], &it["model"], &it["depth"])).collect();
    assert_eq!(
        shown,
        [(&json!("worker"), &json!("script"), &json!(1)), (&json!("other"), &json!("another"), &json!(1)),]
    );
    for child in &runs {
        assert_eq!((&child["parentRunId"], &child["sessionId"]), (&json!(run), &json!(session)));
        assert!(child["parentCallId"].is_string() && child["contextId"] != record["contextId"], "{child}");
    }
    assert_ne!(runs[0]["contextId"], runs[1]["contextId"]);
    running.stop().await;
}

#[tokio::test]
async fn child_lives_on_what_its_parent_has_left_and_within_its_own_limits() {
    let cast = Cast::new([
        (
            "lead",
            vec![
                Reply::calls(&[("probe", json!({ "do": "wait" }))]),
                Reply::calls(&[("worker", json!({ "prompt": "x" })), ("short", json!({ "prompt": "x" }))]),
                Reply::done("ok"),
            ],
        ),
        ("lead/worker", vec![Reply::done("ok")]),
        ("lead/short", vec![Reply::done("ok")]),
    ]);
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let own = "run: { maxTurns: 3, maxTimeMinutes: 0.25, maxTokens: 50, maxDepth: 1 }\n";
    let (house, clock) = house(&cast)
        .tool(probe)
        .agent("lead", &agent("lead", "worker, short, probe", ""))
        .agent("short", &agent("short", "", own))
        .manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let limits = json!({ "limits": { "maxTimeMs": 60_000, "maxTokens": 1_000, "maxDepth": 3 } });
    let (run, _) = client.start(&running, "lead", limits).await;
    timeout(STUCK, began.recv()).await.unwrap();
    clock.advance(Duration::from_secs(20));
    handle.release.add_permits(1);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let log = running.log().await;
    let limits = |agent: &str| {
        let starts = of_type(&log, "run.started");
        starts.into_iter().find(|it| it["agent"] == agent).unwrap()["data"]["limits"].clone()
    };
    // Two replies of 15 tokens each have been used.
    let worker = limits("worker");
    assert_eq!((&worker["maxTimeMs"], &worker["maxTokens"]), (&json!(40_000), &json!(970)));
    assert_eq!((&worker["maxTurns"], &worker["maxDepth"]), (&json!(30), &json!(3)));
    let short = limits("short");
    assert_eq!((&short["maxTimeMs"], &short["maxTokens"]), (&json!(15_000), &json!(50)));
    assert_eq!((&short["maxTurns"], &short["maxDepth"]), (&json!(3), &json!(1)));
    running.stop().await;
}

/// One place for all of them, and the parents hold it until their children need it.
#[tokio::test]
async fn agents_call_agents_four_deep_with_one_place_and_no_deeper() {
    let script = Script::new([call("deep", "down"), Reply::done("ok")]);
    let mut house = House::new().script(&script).agent("deep", &agent("deep", "deep", ""));
    house.config.max_concurrent_runs.session.value = 1;
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "deep", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let log = running.log().await;
    let depths: Vec<&Value> = of_type(&log, "run.started").iter().map(|it| &it["data"]["depth"]).collect();
    assert_eq!(depths, [0, 1, 2, 3, 4]);
    let ends: Vec<&Value> = of_type(&log, "run.completed").iter().map(|it| &it["data"]["reason"]).collect();
    assert_eq!(ends, vec!["GOAL"; 5]);
    let is_refused = |it: &&Value| it["data"]["error"]["type"] == "MAX_DEPTH";
    let refused: Vec<&Value> = log.iter().filter(is_refused).collect();
    assert_eq!(refused.len(), 1, "{}", lines(&log));
    assert_eq!(refused[0]["agentPath"], json!(vec!["deep"; 5]));
    let census = running.daemon.census();
    assert_eq!(census.holdings.1, 0, "{census:?}");
    running.stop().await;
}

#[tokio::test]
async fn depth_is_a_limit_that_a_client_may_set() {
    let script = Script::new([call("deep", "down"), Reply::done("ok")]);
    let running = House::new().script(&script).agent("deep", &agent("deep", "deep", "")).boot().await;
    let mut client = running.client();
    for (max_depth, n_runs) in [(0, 1), (2, 3)] {
        let (run, session) =
            client.start(&running, "deep", json!({ "limits": { "maxDepth": max_depth } })).await;
        assert_eq!(client.ended(&run).await["reason"], "GOAL");
        let listed = client.call("run/list", json!({ "sessionId": session })).await;
        assert_eq!(listed["runs"].as_array().unwrap().len(), n_runs, "maxDepth {max_depth}");
    }
    running.stop().await;
}

#[tokio::test]
async fn twenty_children_share_three_places_and_those_who_wait_say_so() {
    let gate = Arc::new(Semaphore::new(0));
    let prompts: Vec<String> = (0..20).map(|n| format!("part {n}")).collect();
    let calls: Vec<(&str, Value)> =
        prompts.iter().map(|prompt| ("worker", json!({ "prompt": prompt }))).collect();
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&calls), Reply::done("all")]),
        ("lead/worker", vec![Reply::after(&gate, Reply::done("done"))]),
    ]);
    let mut house = house(&cast);
    house.config.max_concurrent_runs.session.value = 3;
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    for _ in 0..3 {
        cast.asked("lead/worker").await;
    }
    client.settle().await;
    assert_eq!(cast.requests("lead/worker").len(), 3);
    let log = running.log().await;
    // One of them got the place that its parent gave back.
    let queued = of_type(&log, "run.queued");
    assert!((17..=18).contains(&queued.len()), "{}", lines(&log));
    assert!(queued.iter().all(|it| it["data"]["for"] == "place" && it["agent"] == "worker"));
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!(status["runs"]["queued"], 17, "{status}");
    // Others are not held up by this session.
    let (other, _) = client.start(&running, "lead", json!({ "limits": { "maxDepth": 0 } })).await;
    assert_eq!(client.ended(&other).await["reason"], "GOAL");
    for _ in 0..20 {
        gate.add_permits(1);
        client.settle().await;
    }
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(cast.most_at_once(), 4, "three of the session, and one of the other");
    let told = cast.requests("lead").into_iter().rfind(|it| it.messages.len() == 3).unwrap();
    assert_eq!(told.messages.last().unwrap().parts.len(), 20);
    let listed = client.call("run/list", json!({ "sessionId": session, "parentRunId": run })).await;
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 20);
    assert!(runs.iter().all(|it| it["reason"] == "GOAL"));
    assert_eq!(running.daemon.census().holdings, (0, 0, 0));
    running.stop().await;
}

/// A call that waits for its place is first come, first served; the results stand in the order of the calls.
#[tokio::test]
async fn results_go_back_in_the_order_of_the_calls() {
    let (slow, quick) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let calls = [("worker", json!({ "prompt": "a" })), ("worker", json!({ "prompt": "b" }))];
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&calls), Reply::done("all")]),
        ("lead#1/worker#1", vec![Reply::after(&slow, Reply::done("first"))]),
        ("lead#1/worker#2", vec![Reply::after(&quick, Reply::done("second"))]),
    ]);
    let running = house(&cast).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    cast.asked("lead#1/worker#2").await;
    quick.add_permits(1);
    let ended = |it: &Value| it["runs"].as_array().unwrap().len() == 1;
    client.until("run/list", json!({ "parentRunId": run, "state": "ended" }), ended).await;
    slow.add_permits(1);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told: Vec<Value> = results(&cast.requests("lead")[1]).iter().map(|it| it["result"].clone()).collect();
    assert_eq!(told, ["first", "second"]);
    running.stop().await;
}

#[tokio::test]
async fn bad_arguments_name_every_violation_and_start_nothing() {
    let inputs = "inputs:
  count: { type: integer, required: true }
  tags: { type: 'string[]', required: true }
";
    let cast = Cast::new([(
        "lead",
        vec![
            Reply::calls(&[("counter", json!({ "count": "many", "colour": "red" })), ("counter", json!([]))]),
            Reply::done("ok"),
        ],
    )]);
    let running = house(&cast)
        .agent("lead", &agent("lead", "counter", ""))
        .agent("counter", &agent("counter", "", inputs))
        .boot()
        .await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = results(&cast.requests("lead")[1]);
    let first = told[0].as_str().unwrap();
    assert!(first.contains("INVALID_TOOL_PARAMS"), "{first}");
    for word in ["/count", "tags", "colour"] {
        assert!(first.contains(word), "{word} is missing in: {first}");
    }
    assert!(told[1].as_str().unwrap().contains("INVALID_TOOL_PARAMS"), "{told:?}");
    assert!(children(&mut client, &run).await.is_empty());
    running.stop().await;
}

#[tokio::test]
async fn parent_reads_how_each_child_ended_and_what_there_is_of_its_work() {
    let said = |text: &str, calls: &[(&str, Value)]| match Reply::calls(calls) {
        Reply::Says { thought, calls, finish, .. } => {
            Reply::Says { chunks: vec![text.to_owned()], thought, calls, finish }
        }
        other => other,
    };
    let failure =
        ModelError::Final { code: RunErrorCode::ProviderAuth, message: "the key is bad".to_owned() };
    let probe = |text: &str| said(text, &[("probe", json!({}))]);
    let verdict = json!({ "verdict": { "score": 3 } });
    let names = ["typed", "saved", "limited", "broken", "panicky", "mute"];
    let calls: Vec<(&str, Value)> = names.iter().map(|name| (*name, json!({ "prompt": "x" }))).collect();
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&calls), Reply::done("went on")]),
        ("lead/typed", vec![Reply::calls(&[("complete_task", verdict)])]),
        ("lead/saved", vec![probe("looking"), Reply::done("what I have")]),
        ("lead/limited", vec![probe("so far"), said("no idea", &[])]),
        ("lead/broken", vec![probe("begun"), Reply::Fails(failure)]),
        ("lead/panicky", vec![probe("well"), Reply::Panics]),
        ("lead/mute", vec![said("I am done", &[])]),
    ]);
    let (tool, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let one_turn = "run: { maxTurns: 1 }\n";
    let output = "output:
  name: verdict
  schema: { type: object, required: [score], properties: { score: { type: number } } }
";
    let running = house(&cast)
        .tool(tool)
        .agent("lead", &agent("lead", &names.join(", "), ""))
        .agent("typed", &agent("typed", "", output))
        .agent("saved", &agent("saved", "probe", one_turn))
        .agent("limited", &agent("limited", "probe", one_turn))
        .agent("broken", &agent("broken", "probe", ""))
        .agent("panicky", &agent("panicky", "probe", ""))
        .agent("mute", &agent("mute", "probe", ""))
        .boot()
        .await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!("went on")));

    let told = results(&cast.requests("lead")[1]);
    let typed: Value = serde_json::from_str(told[0]["result"].as_str().unwrap()).unwrap();
    assert_eq!((&told[0]["reason"], typed), (&json!("GOAL"), json!({ "score": 3 })));
    assert_eq!(
        told[1],
        json!({ "agent": "saved", "reason": "GOAL", "recovered": true, "result": "what I have" })
    );
    assert_eq!(told[2], json!({ "agent": "limited", "reason": "MAX_TURNS", "partialResult": "no idea" }));
    assert_eq!((&told[3]["reason"], &told[3]["partialResult"]), (&json!("ERROR"), &json!("begun")));
    assert_eq!(told[3]["error"], json!({ "code": "PROVIDER_AUTH", "message": "the key is bad" }));
    assert_eq!((&told[4]["error"]["code"], &told[4]["partialResult"]), (&json!("PANIC"), &json!("well")));
    assert_eq!(told[5]["reason"], "ERROR_NO_COMPLETE_TASK_CALL");

    // People read the same.
    let log = running.log().await;
    let shown = |name: &str| {
        let is_end = |it: &&Value| it["data"]["name"] == name && it["data"]["result"].is_object();
        log.iter().find(is_end).unwrap()["data"]["result"]["returnDisplay"].as_str().unwrap().to_owned()
    };
    for (name, words) in [("saved", "what I have"), ("limited", "MAX_TURNS"), ("limited", "no idea")] {
        assert!(shown(name).contains(name) && shown(name).contains(words), "{}", shown(name));
    }
    running.stop().await;
}

#[tokio::test]
async fn child_that_runs_out_of_time_tells_its_parent_which_goes_on() {
    let cast = Cast::new([
        ("lead", vec![call("worker", "x"), Reply::done("ok")]),
        ("lead/worker", vec![Reply::Hangs]),
    ]);
    let own = "run: { maxTimeMinutes: 0.5, graceSeconds: 1 }\n";
    let (house, clock) = house(&cast).agent("worker", &agent("worker", "", own)).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    cast.asked("lead/worker").await;
    client.settle().await;
    clock.advance(Duration::from_secs(30));
    client.events_until("run.stopping").await;
    cast.asked("lead/worker").await;
    client.settle().await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(results(&cast.requests("lead")[1]), [json!({ "agent": "worker", "reason": "TIMEOUT" })]);
    running.stop().await;
}

/// Three deep, the last with a tool that does not listen.
fn chain(cast: &Cast) -> House {
    House::new()
        .model("script", cast)
        .agent("lead", &agent("lead", "middle", ""))
        .agent("middle", &agent("middle", "leaf", ""))
        .agent("leaf", &agent("leaf", "probe", ""))
}

fn deaf_chain() -> Cast {
    Cast::new([
        ("lead", vec![call("middle", "x")]),
        ("lead/middle", vec![call("leaf", "x")]),
        ("lead/middle/leaf", vec![Reply::calls(&[("probe", json!({ "do": "ignoreCancel" }))])]),
    ])
}

#[tokio::test]
async fn cancel_of_a_parent_ends_its_children_first_and_all_of_it_within_three_seconds() {
    let cast = deaf_chain();
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let (house, clock) = chain(&cast).tool(probe).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();
    client.call("session/attach", json!({ "sessionId": session, "from": "now" })).await;
    client.call("run/cancel", json!({ "runId": run, "reason": "enough" })).await;
    for _ in 0..3 {
        client.events_until("run.stopping").await;
    }
    client.settle().await;
    let again = client.call("run/cancel", json!({ "runId": run })).await;
    assert_eq!((again["run"]["state"].as_str(), again.get("seq")), (Some("running"), None), "{again}");
    clock.advance(Duration::from_secs(2));
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "ABORTED");
    assert_eq!(client.call("run/cancel", json!({ "runId": run })).await["run"], record);

    let log = running.log().await;
    let ends: Vec<(&Value, &Value)> =
        of_type(&log, "run.completed").iter().map(|it| (&it["agent"], &it["data"]["reason"])).collect();
    let aborted = json!("ABORTED");
    assert_eq!(ends, [(&json!("leaf"), &aborted), (&json!("middle"), &aborted), (&json!("lead"), &aborted)]);
    let is_cancelled = |it: &&Value| it["type"] == "tool.state" && it["data"]["to"] == "cancelled";
    let cancelled: Vec<&Value> = log.iter().filter(is_cancelled).map(|it| &it["data"]["name"]).collect();
    assert_eq!(cancelled, ["probe", "leaf", "middle"]);
    running.stop().await;
}

#[tokio::test]
async fn child_that_a_client_cancels_leaves_its_parent_at_work() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("lead", vec![call("worker", "x"), Reply::done("without it")]),
        ("lead/worker", vec![Reply::after(&gate, Reply::done("late"))]),
    ]);
    let running = house(&cast).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    cast.asked("lead/worker").await;
    let child = only_child(&mut client, &run).await;
    client.call("run/cancel", json!({ "runId": child, "reason": "not this one" })).await;
    assert_eq!(client.ended(&run).await["result"], "without it");
    assert_eq!(client.ended(&child).await["reason"], "ABORTED");
    assert_eq!(results(&cast.requests("lead")[1])[0]["reason"], "ABORTED");
    let again = client.call("run/cancel", json!({ "runId": child })).await;
    assert_eq!((again["run"]["reason"].as_str(), again.get("seq")), (Some("ABORTED"), None));
    running.stop().await;
}

#[tokio::test]
async fn restart_attaches_a_parent_to_its_living_child_again() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("lead", vec![call("middle", "x"), Reply::done("whole")]),
        ("lead/middle", vec![call("leaf", "x"), Reply::done("half")]),
        (
            "lead/middle/leaf",
            vec![Reply::calls(&[("probe", json!({}))]), Reply::after(&gate, Reply::done("bit"))],
        ),
    ]);
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Edit, Risk::Safe);
    let house = chain(&cast).tool(probe);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    cast.asked("lead/middle/leaf").await;
    cast.asked("lead/middle/leaf").await;
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    cast.asked("lead/middle/leaf").await;
    gate.add_permits(1);
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!("whole")));
    let log = running.log().await;
    assert_eq!(of_type(&log, "run.started").len(), 3, "{}", lines(&log));
    assert_eq!(of_type(&log, "run.resumed").len(), 3, "{}", lines(&log));
    let is_birth = |it: &&Value| it["data"]["childRunId"].is_string();
    assert_eq!(log.iter().filter(is_birth).count(), 2, "{}", lines(&log));
    assert!(began.recv().await.is_some() && began.try_recv().is_err(), "the mutator ran again");
    running.stop().await;
}

#[tokio::test]
async fn restart_while_a_parent_is_being_stopped_ends_it_and_its_children() {
    let cast = deaf_chain();
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let (house, clock) = chain(&cast).tool(probe).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();
    client.call("session/attach", json!({ "sessionId": session, "from": "now" })).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.events_until("run.stopping").await;
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    for _ in 0..3 {
        client.events_until("run.stopping").await;
    }
    client.settle().await;
    // What only reads was begun anew, and does not listen this time either.
    clock.advance(Duration::from_secs(2));
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    let log = running.log().await;
    let ends: Vec<&Value> = of_type(&log, "run.completed").iter().map(|it| &it["agent"]).collect();
    assert_eq!(ends, ["leaf", "middle", "lead"]);
    running.stop().await;
}

/// The daemon died before the stop reached the child, and takes up many runs between the two.
#[tokio::test]
async fn stop_of_a_parent_reaches_a_child_that_is_taken_up_long_after_it() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("lead", vec![Reply::after(&gate, call("worker", "x"))]),
        ("lead/worker", vec![Reply::Hangs]),
    ]);
    let stuck = Script::new([Reply::Hangs]);
    let house = house(&cast).model("stuck", &stuck);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(client.start(&running, "worker", json!({ "model": "stuck" })).await.0);
    }
    gate.add_permits(1);
    cast.asked("lead/worker").await;
    let child = only_child(&mut client, &run).await;
    let trigger = format!(
        "create trigger planted before insert on events when new.type = 'run.stopping' and new.run_id = '{child}'
         begin select raise(rollback, 'planted'); end"
    );
    running.tamper(&trigger).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    running.tamper("drop trigger planted").await;
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "ABORTED");
    assert_eq!(client.ended(&child).await["reason"], "ABORTED");
    for other in &others {
        client.call("run/cancel", json!({ "runId": other })).await;
        client.ended(other).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn clients_of_the_session_see_what_children_do_and_whose_they_are() {
    let thinking = match Reply::calls(&[("probe", json!({ "path": "/x" }))]) {
        Reply::Says { chunks, calls, finish, .. } => {
            Reply::Says { chunks, thought: Some("**Digging** deep".to_owned()), calls, finish }
        }
        other => other,
    };
    let cast = Cast::new([
        ("lead", vec![call("middle", "x"), Reply::done("ok")]),
        ("lead/middle", vec![call("leaf", "x"), Reply::done("ok")]),
        (
            "lead/middle/leaf",
            vec![
                thinking,
                Reply::Says {
                    chunks: vec!["bye".to_owned()],
                    thought: None,
                    calls: Vec::new(),
                    finish: subagentd::protocol::FinishReason::Stop,
                },
            ],
        ),
    ]);
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let running = chain(&cast).tool(probe).boot().await;
    let (mut client, mut watcher) = (running.client(), running.client());
    let created = client.call("session/create", json!({ "workspace": running.work() })).await;
    let session = created["sessionId"].clone();
    watcher.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    let (run, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");

    let mut seen = Vec::new();
    while seen.last().is_none_or(|it: &Value| it["type"] != "run.completed" || it["runId"] != *run) {
        seen.push(watcher.event().await);
    }
    let of_leaf: Vec<&Value> = seen.iter().filter(|it| it["agent"] == "leaf").collect();
    let middle = only_child(&mut client, &run).await;
    let in_turn: Vec<&&Value> = of_leaf.iter().filter(|it| it["turn"].is_number()).collect();
    assert!(5 < in_turn.len());
    for event in &of_leaf {
        assert_eq!((&event["parentRunId"], &event["sessionId"]), (&json!(middle), &session), "{event}");
        assert_eq!(event["agentPath"], json!(["lead", "middle", "leaf"]), "{event}");
    }
    for event in in_turn {
        let prompt_id = format!("{}#{}", event["runId"].as_str().unwrap(), event["turn"]);
        assert_eq!(event["promptId"], prompt_id, "{event}");
    }
    let activities: Vec<(&str, &str)> = of_leaf
        .iter()
        .filter_map(|it| Some((it["activity"].as_str()?, it["type"].as_str().unwrap())))
        .collect();
    assert_eq!(
        activities[..3],
        [("THOUGHT_CHUNK", "thought"), ("TOOL_CALL_START", "tool.state"), ("TOOL_CALL_END", "tool.state"),]
    );
    assert!(activities[3..].iter().all(|(activity, _)| *activity == "ERROR"), "{activities:?}");
    assert_eq!(activities.last().unwrap(), &("ERROR", "run.completed"));
    // The parent's own call names the run that answers it.
    let births: Vec<&Value> = seen.iter().filter(|it| it["data"]["childRunId"].is_string()).collect();
    assert_eq!(births[0]["data"]["childRunId"], json!(middle));
    assert_eq!(births[1]["data"]["childRunId"], of_leaf[0]["runId"]);
    running.stop().await;
}

#[tokio::test]
async fn what_children_use_counts_for_their_parent() {
    let cast = Cast::new([
        ("lead", vec![call("worker", "x"), Reply::done("saved")]),
        ("lead/worker", vec![Reply::calls(&[("probe", json!({}))]), Reply::done("ok")]),
    ]);
    let (probe, _, _began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let running = house(&cast).tool(probe).boot().await;
    let mut client = running.client();
    // 15 of its own and 30 of the child are too many; 15 alone are not.
    let (run, _) = client.start(&running, "lead", json!({ "limits": { "maxTokens": 45 } })).await;
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["recoveredFrom"]), (&json!("GOAL"), &json!("BUDGET")), "{record}");
    let child = only_child(&mut client, &run).await;
    assert_eq!(client.ended(&child).await["reason"], "GOAL");
    running.stop().await;
}
