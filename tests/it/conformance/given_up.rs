//! What is asked beside the turns costs something, too, where nobody waits for the answer any more: of the daemon's own questions, and
//! of those of hooks.

use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};

use super::{metering::SNAPSHOT, *};
use crate::provider_server::{Call, Said};

/// The text that comes before an answer breaks off or stalls, and what it takes by our own count: ten letters.
const HALF: (&str, u64) = ("Half of it", 3);
/// Dollars by the million tokens.
const PRICE: u64 = 1_000;

/// It ends without having said how, and is asked again at once.
fn half() -> Answer {
    Wire::OpenAi.before_its_reason(&Said { text: HALF.0.to_owned(), ..Said::default() })
}

/// A daemon whose small model is the server's, with these settings besides.
async fn scene(server: &ProviderServer, more: Value) -> Scene {
    let model = format!("row-0/{}", Wire::OpenAi.model());
    let price = json!({ "inputPerMillion": PRICE, "outputPerMillion": PRICE });
    let mut settings = json!({ "models": { "small": model, "prices": { model: price } } });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut house = house(Wire::OpenAi, &[server.base_url()]).settings(&settings);
    house.models = house.models.with_settings(&house.config.models);
    Scene::open_in(Wire::OpenAi, house).await
}

/// A guard of what is read that asks a model.
fn guard() -> Value {
    let hook = json!({ "type": "prompt", "prompt": "May it read this? $ARGUMENTS" });
    json!({ "hooks": { "PreToolUse": [{ "matcher": "Read", "hooks": [hook] }] } })
}

fn reads() -> Answer {
    let arguments = json!({ "path": "a.txt" }).to_string();
    Wire::OpenAi
        .says(&Said { calls: vec![Call { id: "c1", name: "read_file", arguments }], ..Said::default() })
}

async fn begin(scene: &mut Scene) -> String {
    let params = json!({ "model": format!("row-0/{}", Wire::OpenAi.model()) });
    let (run, session) = scene.client.start(&scene.running, "talker", params).await;
    scene.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    run
}

async fn side_calls(scene: &Scene) -> Vec<Value> {
    let log = scene.running.log().await;
    log.iter()
        .filter(|event| event["type"] == "sideCall.completed")
        .map(|event| event["data"].clone())
        .collect()
}

/// The second try of a summary is asked for when the run is cancelled: what the first took is known, about, and nobody knows of the second.
#[tokio::test]
async fn a_summary_that_is_cancelled_is_told_with_what_its_tries_took() {
    let say = |text: &str| Wire::OpenAi.text(text);
    let server =
        Wire::OpenAi.server([say("It is so."), half(), Answer::chunks::<String>([]).then_stall()]).await;
    let mut scene = scene(&server, json!({})).await;
    let run = begin(&mut scene).await;
    let session = scene.client.ended(&run).await["sessionId"].clone();
    let mut beside = scene.running.client();
    let compacting = beside.call("session/compact", json!({ "sessionId": session }));
    let cutting = async {
        let started = scene.client.events_until("sideCall.started").await.pop().unwrap();
        let compaction = started["runId"].clone();
        server.asked(3).await;
        scene.client.call("run/cancel", json!({ "runId": compaction })).await;
        scene.client.events_until("run.completed").await;
        compaction
    };
    let (_, compaction) = tokio::join!(compacting, cutting);
    let told = side_calls(&scene).await;
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (&told["purpose"], &told["abandoned"], &told["usageUnknown"], &told["estimated"]),
        (&json!("compression"), &json!(true), &json!(true), &json!(true))
    );
    assert_eq!(told["usage"]["outputTokens"], HALF.1);
    assert!(told["usage"]["promptTokens"].as_u64().is_some_and(|tokens| 10 < tokens), "{told}");
    let record = scene.client.call("run/get", json!({ "runId": compaction })).await;
    assert_eq!(
        (&record["usage"], &record["cost"], &record["uncountedRequests"], &record["estimatedRequests"]),
        (&told["usage"], &told["cost"], &json!(1), &json!(1))
    );
    let used = scene.client.call("usage/get", json!({ "runId": compaction })).await;
    assert_eq!((&used["total"]["calls"], &used["total"]["uncountedCalls"]), (&json!(1), &json!(1)));
    let traced = scene.client.call("trace/get", json!({ "runId": compaction })).await;
    let spans = traced["spans"].as_array().unwrap();
    let asked = spans.iter().find(|span| span["kind"] == "llm").unwrap();
    assert_eq!((&asked["llm"]["usageUnknown"], &asked["usage"]), (&json!(true), &told["usage"]));
    assert_eq!(asked["status"], "cancelled");
    scene.close().await;
}

/// A hook's question is told also where the run is cancelled meanwhile, and the hook with it.
#[tokio::test]
async fn a_question_of_a_hook_is_told_though_the_run_was_cancelled() {
    let server = Wire::OpenAi.server([reads(), half(), Answer::chunks::<String>([]).then_stall()]).await;
    let mut scene = scene(&server, guard()).await;
    let run = begin(&mut scene).await;
    server.asked(3).await;
    scene.client.call("run/cancel", json!({ "runId": run })).await;
    let record = scene.client.ended(&run).await;
    let told = side_calls(&scene).await;
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (&told["purpose"], &told["abandoned"], &told["usageUnknown"], &told["usage"]["outputTokens"]),
        (&json!("hook"), &json!(true), &json!(true), &json!(HALF.1))
    );
    assert!(told["hookId"].as_str().is_some_and(|id| !id.is_empty()), "{told}");
    assert_eq!((&record["uncountedRequests"], &record["estimatedRequests"]), (&json!(1), &json!(1)));
    let traced = scene.client.call("trace/get", json!({ "runId": run })).await;
    let spans = traced["spans"].as_array().unwrap();
    let asked: Vec<&Value> = spans.iter().filter(|span| span["llm"]["purpose"] == "hook").collect();
    let [asked] = asked[..] else { panic!("{spans:?}") };
    assert_eq!((&asked["llm"]["usageUnknown"], &asked["status"]), (&json!(true), &json!("cancelled")));
    scene.close().await;
}

/// One hook has its answer while another of the same call waits for one: both have cost something.
#[tokio::test]
async fn an_answer_that_a_hook_had_is_told_though_another_hook_was_cut_off() {
    let hook = |prompt: &str| json!({ "type": "prompt", "prompt": format!("{prompt} $ARGUMENTS") });
    let hooks =
        json!({ "hooks": { "PreToolUse": [{ "matcher": "Read", "hooks": [hook("One?"), hook("Two?")] }] } });
    let yes = Wire::OpenAi.text("{\"ok\": true}");
    let server = Wire::OpenAi.server([reads(), yes, Answer::chunks::<String>([]).then_stall()]).await;
    let mut scene = scene(&server, hooks).await;
    let run = begin(&mut scene).await;
    server.asked(3).await;
    scene.client.call("run/cancel", json!({ "runId": run })).await;
    let record = scene.client.ended(&run).await;
    let told = side_calls(&scene).await;
    let [answered, cut] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (answered["text"].as_str(), answered.get("abandoned")),
        (Some("{\"ok\": true}"), None),
        "{answered}"
    );
    assert_eq!((&cut["abandoned"], &cut["usageUnknown"]), (&json!(true), &json!(true)), "{cut}");
    assert_ne!(answered["usage"]["promptTokens"], 0);
    let used = record["usage"]["promptTokens"].as_u64().unwrap();
    let log = scene.running.log().await;
    let turn = log.iter().find(|event| event["type"] == "model.completed").unwrap();
    let sum = [answered, &turn["data"]].map(|it| it["usage"]["promptTokens"].as_u64().unwrap());
    assert_eq!(used, sum.iter().sum::<u64>());
    scene.close().await;
}

/// The daemon ends while a hook's question is asked, and tells that before: its next life asks once more.
#[tokio::test]
async fn a_question_that_the_end_of_the_daemon_cut_off_is_told() {
    let server = Wire::OpenAi.server([reads(), half(), Answer::chunks::<String>([]).then_stall()]).await;
    let mut scene = scene(&server, guard()).await;
    begin(&mut scene).await;
    server.asked(3).await;
    let Scene { running, client, clock, .. } = scene;
    drop(client);
    let log = running.daemon.store().path().to_owned();
    // It waits for what is at work as long as it is given, and no real time passes here.
    let stopping = async {
        let mut stopped = std::pin::pin!(running.daemon.stop());
        loop {
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                () = tokio::task::yield_now() => clock.advance(Duration::from_secs(1)),
            }
        }
    };
    timeout(STUCK, stopping).await.expect("the daemon did not stop");
    let mut log = SqliteConnectOptions::new().filename(log).connect().await.unwrap();
    let told = "select body from events where type = 'sideCall.completed'";
    let told: Vec<String> = sqlx::query_scalar(told).fetch_all(&mut log).await.unwrap();
    let [told] = &told[..] else { panic!("{told:?}") };
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!(
        (&told["abandoned"], &told["usageUnknown"], &told["usage"]["outputTokens"]),
        (&json!(true), &json!(true), &json!(HALF.1))
    );
}

/// A hook whose question breaks off each time has cost each time what had come of it.
#[tokio::test]
async fn a_question_of_a_hook_that_always_breaks_off_costs_what_had_come() {
    let script = [reads(), half(), half(), half(), Wire::OpenAi.text("So.")];
    let server = Wire::OpenAi.server(script).await;
    let mut scene = scene(&server, guard()).await;
    let run = begin(&mut scene).await;
    scene.client.ended(&run).await;
    let told = side_calls(&scene).await;
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&told["estimated"], &told["usage"]["outputTokens"]), (&json!(true), &json!(3 * HALF.1)));
    assert_eq!((told.get("abandoned"), told.get("usageUnknown")), (None, None));
    let tokens = told["usage"]["promptTokens"].as_u64().unwrap() + 3 * HALF.1;
    let cents = tokens * PRICE / 10_000;
    let cost: f64 = told["cost"]["amount"].as_str().unwrap().parse().unwrap();
    assert!((cost * 100.0 - cents as f64).abs() < 1.0, "{cost} for {tokens}");
    scene.close().await;
}

/// It is asked again only if what is left of the budget has room for the whole question once more.
#[tokio::test]
async fn a_question_is_not_asked_again_for_more_than_is_left() {
    let total = |told: &Value| {
        let tokens = |name: &str| told["usage"][name].as_u64().unwrap();
        tokens("promptTokens") + tokens("outputTokens") + tokens("thoughtTokens")
    };
    let mut tries = Vec::new();
    let mut max_tokens = None;
    for n_tries in [3, 1] {
        let script = [reads()].into_iter().chain((0..n_tries).map(|_| half()));
        let server = Wire::OpenAi.server(script.chain([Wire::OpenAi.text("So.")])).await;
        let mut settings = guard();
        settings["run"] = json!({ "maxTokens": max_tokens });
        let mut scene = scene(&server, settings).await;
        let run = begin(&mut scene).await;
        scene.client.ended(&run).await;
        let told = side_calls(&scene).await;
        let [told] = &told[..] else { panic!("{told:?}") };
        let log = scene.running.log().await;
        let turn = log.iter().find(|event| event["type"] == "model.completed").unwrap();
        tries.push(total(told));
        // Of the three tries there is room for two, but for the words that came.
        max_tokens.get_or_insert(total(&turn["data"]) + 2 * (total(told) / 3 - HALF.1));
        scene.close().await;
    }
    assert_eq!(tries[1], tries[0] / 3);
}

/// Cut off, refused and answered in the end: each try counts as far as it came.
#[tokio::test]
async fn a_summary_counts_its_tries_that_failed() {
    let say = |text: &str| Wire::OpenAi.text(text);
    let server = Wire::OpenAi.server([say("It is so."), half(), say(SNAPSHOT), say(SNAPSHOT)]).await;
    let mut scene = scene(&server, json!({})).await;
    let run = begin(&mut scene).await;
    let session = scene.client.ended(&run).await["sessionId"].clone();
    scene.client.call("session/compact", json!({ "sessionId": session })).await;
    let told = side_calls(&scene).await;
    let [first, second] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&first["estimated"], second.get("estimated")), (&json!(true), None));
    let output = |told: &Value| told["usage"]["outputTokens"].as_u64().unwrap();
    assert_eq!(output(first), output(second) + HALF.1);
    scene.close().await;
}

/// A hook has its answer after the time limit has come, of which nothing can be written yet: the run goes on without that call, and what
/// the hook asked has cost something all the same.
#[tokio::test]
async fn an_answer_that_comes_too_late_for_its_call_is_told() {
    let yes = Wire::OpenAi.text("{\"ok\": true}").when_told();
    let n_bytes = yes.bytes();
    let server = Wire::OpenAi.server([reads(), yes, Wire::OpenAi.text("So.")]).await;
    let mut settings = guard();
    settings["run"] = json!({ "maxTimeMinutes": 0.05 });
    let mut scene = scene(&server, settings).await;
    let run = begin(&mut scene).await;
    server.asked(2).await;
    let nothing_is_written =
        "create trigger broken before insert on events begin select raise(abort, 'no'); end";
    scene.running.tamper(nothing_is_written).await;
    scene.clock.advance(Duration::from_secs(4));
    // Requests show that the run has tried, each once more.
    let mut beside = scene.running.client();
    let steer = json!({ "runId": run, "text": "hurry" });
    for _ in 0..5 {
        beside.refused("run/steer", steer.clone()).await;
    }
    (0..n_bytes).for_each(|_| server.allow_byte());
    for _ in 0..60 {
        beside.refused("run/steer", steer.clone()).await;
    }
    scene.running.tamper("drop trigger broken").await;
    scene.clock.advance(Duration::from_secs(1));
    let record = scene.client.ended(&run).await;
    let told = side_calls(&scene).await;
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&told["purpose"], told["text"].as_str()), (&json!("hook"), Some("{\"ok\": true}")), "{told}");
    let log = scene.running.log().await;
    let turns = log.iter().filter(|event| event["type"] == "model.completed").map(|event| &event["data"]);
    let all: u64 = turns.chain([told]).map(|it| it["usage"]["promptTokens"].as_u64().unwrap()).sum();
    assert_eq!(record["usage"]["promptTokens"], all);
    scene.close().await;
}
