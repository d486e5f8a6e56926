//! Contexts that last, circles that are left, models that take over, and what it all costs (spec 04; spec 03, "Terminal
//! reasons").

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures_util::{
    FutureExt as _,
    future::{self, BoxFuture},
    stream::{self, BoxStream, StreamExt as _},
};
use serde_json::{Value, json};
use subagentd::{
    models::{LanguageModel, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart, RequestPurpose},
    protocol::{ContextMessage, FinishReason, MessagePart, MessageRole, Usage},
};

use crate::support::{Client, House, Reply, Running, Script};

type Answers = dyn Fn(&ModelRequest) -> Result<Vec<ReplyPart>, ModelError> + Send + Sync;

/// A model that counts what it is asked with: four letters are a token.
#[derive(Clone)]
struct Counting {
    answers: Arc<Answers>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    /// It says how long a request is before it is asked.
    counts: bool,
}

impl Counting {
    fn new(
        answers: impl Fn(&ModelRequest) -> Result<Vec<ReplyPart>, ModelError> + Send + Sync + 'static,
    ) -> Counting {
        Counting { answers: Arc::new(answers), requests: Arc::default(), counts: false }
    }

    fn requests(&self, purpose: RequestPurpose) -> Vec<ModelRequest> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.purpose == purpose).cloned().collect()
    }
}

impl LanguageModel for Counting {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        let event = (self.answers)(&request).map(|parts| {
            let usage = Usage { prompt_tokens: tokens(&request), output_tokens: 10, ..Usage::default() };
            ModelEvent::Finished(ModelReply { parts, raw: None, usage, reason: FinishReason::Stop })
        });
        let texts: Vec<_> = match &event {
            Ok(ModelEvent::Finished(reply)) => reply.parts.iter().filter_map(text).collect(),
            _ => Vec::new(),
        };
        stream::iter(texts.into_iter().map(Ok).chain([event])).boxed()
    }

    fn count(&self, request: ModelRequest, _: u32) -> Option<BoxFuture<'static, Result<u64, ModelError>>> {
        self.counts.then(|| future::ready(Ok(tokens(&request))).boxed())
    }
}

fn text(part: &ReplyPart) -> Option<ModelEvent> {
    match part {
        ReplyPart::Text(text) => Some(ModelEvent::TextDelta(text.clone())),
        _ => None,
    }
}

fn tokens(request: &ModelRequest) -> u64 {
    let messages: usize = request.messages.iter().map(|it| json!(it.parts).to_string().len()).sum();
    ((request.system.len() + messages) / 4) as u64
}

fn call(name: &str, arguments: Value) -> ReplyPart {
    ReplyPart::ToolCall { provider_call_id: None, name: name.into(), arguments, signature: None }
}

/// That many words, no two of which are the same.
fn long_text(words: usize) -> String {
    (0..words).map(|n| format!("word{n} ")).collect()
}

fn snapshot(goal: &str) -> Vec<ReplyPart> {
    let text = format!(
        "I think.\n<state_snapshot>\n<overall_goal>{goal}</overall_goal>\n<key_knowledge>k</key_knowledge>\n\
         <file_system_state>READ: a.txt</file_system_state>\n<recent_actions>r</recent_actions>\n\
         <current_plan>1. [IN PROGRESS] read</current_plan>\n</state_snapshot>"
    );
    vec![ReplyPart::Text(text)]
}

const WORKER: &str = "---\nkind: agent\nname: worker\ndescription: Works.\ncompletion: tool\ntools: [read_file]\n\
                      run:\n  maxTurns: 500\n---\nYou work.\n";
const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: [read_file]\n---\n\
                      You talk.\n";

/// A house in which these settings hold.
fn house(settings: &Value) -> House {
    // Nothing of the folders is told, so that a request has the history alone.
    let house = House::new().agent("worker", WORKER).agent("talker", TALKER).file(".gitignore", "*\n");
    house.settings(settings)
}

async fn run(running: &Running, client: &mut Client, agent: &str, more: Value) -> (Value, String) {
    let (run, session) = client.start(running, agent, more).await;
    (client.ended(&run).await, session)
}

fn told<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).map(|event| &event["data"]).collect()
}

/// Roles alternate, and every call has its result in the message after it.
fn check_form(messages: &[Arc<ContextMessage>]) {
    assert_eq!(messages[0].role, MessageRole::User);
    for (message, next) in messages.iter().zip(&messages[1..]) {
        let calls: Vec<_> = message
            .parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(&call.call_id),
                _ => None,
            })
            .collect();
        let results: Vec<_> = next
            .parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::ToolResult { call_id, .. } => Some(call_id),
                _ => None,
            })
            .collect();
        assert_eq!(calls, results, "{message:?} {next:?}");
        assert_ne!((message.role, next.role), (MessageRole::User, MessageRole::User));
        assert_ne!((message.role, next.role), (MessageRole::Model, MessageRole::Model));
    }
}

async fn history(client: &mut Client, session: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut params = json!({ "sessionId": session, "limit": 1_000 });
    loop {
        let page = client.call("session/history", params.clone()).await;
        messages.extend(page["messages"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return messages,
        }
    }
}

#[tokio::test]
async fn four_hundred_turns_fit_a_small_window_and_none_of_them_is_lost() {
    const TURNS: u32 = 400;
    const WINDOW: u64 = 12_000;
    let model = Counting::new(|request| {
        Ok(match request.purpose {
            RequestPurpose::Utility => snapshot("read all lines"),
            RequestPurpose::Turn if request.ordinal == TURNS => {
                vec![call("complete_task", json!({ "result": "read" }))]
            }
            RequestPurpose::Turn => {
                let line = request.ordinal + 1;
                vec![call("read_file", json!({ "path": "a.txt", "offset": line, "limit": 1 }))]
            }
        })
    });
    let settings = json!({ "models": { "contextWindow": { "counting": WINDOW } } });
    let lines: String = (0..=TURNS).map(|n| format!("line {n} {}\n", "x".repeat(300))).collect();
    let house = house(&settings).model("counting", &model).file("a.txt", lines);
    let running = house.boot().await;
    let mut client = running.client();
    let (end, session) =
        run(&running, &mut client, "worker", json!({ "model": "counting", "prompt": "go" })).await;
    assert_eq!((&end["reason"], &end["turns"]), (&json!("GOAL"), &json!(TURNS + 1)), "{end}");
    let log = running.log().await;
    let compressed = told(&log, "context.compressed");
    assert!(
        compressed.len() >= 5 && compressed.iter().all(|it| it["status"] == "COMPRESSED"),
        "{compressed:?}"
    );
    assert!(compressed.iter().all(|it| it["tokensAfter"].as_u64() < it["tokensBefore"].as_u64()));
    let turns = model.requests(RequestPurpose::Turn);
    assert_eq!(turns.len() as u32, TURNS + 1);
    for request in &turns {
        assert!(tokens(request) <= WINDOW, "{}", tokens(request));
        check_form(&request.messages);
    }
    // What was asked for stands in front of what is kept.
    let last = &turns[TURNS as usize].messages;
    assert!(last[0].text().contains("<overall_goal>read all lines</overall_goal>"), "{last:?}");
    assert_eq!(last[2].text(), "go");
    // People see all of it.
    let messages = history(&mut client, &session).await;
    assert_eq!(messages.len() as u32, 1 + 2 * (TURNS + 1));
    assert_eq!(messages[0]["parts"][0]["text"], "go");
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let first_lines: Vec<String> = results.map(|it| it["parts"][0]["parts"][0]["text"].to_string()).collect();
    for turn in 0..TURNS {
        assert!(
            first_lines[turn as usize].contains(&format!("line {} ", turn + 1)),
            "{}",
            first_lines[turn as usize]
        );
    }
    let context = &client.call("session/get", json!({ "sessionId": session })).await["contexts"][0];
    assert_eq!(context["epoch"], compressed.len());
    assert_eq!(context["messages"], messages.len());
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_compressed_itself_does_so_when_its_recording_is_played() {
    for counts in [false, true] {
        plays_as_it_was_recorded(counts).await;
    }
}

async fn plays_as_it_was_recorded(counts: bool) {
    const TURNS: u32 = 30;
    let model = Counting {
        counts,
        ..Counting::new(|request| {
            Ok(match request.purpose {
                RequestPurpose::Utility => snapshot("read all lines"),
                RequestPurpose::Turn if request.ordinal == TURNS => {
                    vec![call("complete_task", json!({ "result": "read" }))]
                }
                RequestPurpose::Turn => {
                    let line = request.ordinal + 1;
                    vec![call("read_file", json!({ "path": "a.txt", "offset": line, "limit": 1 }))]
                }
            })
        })
    };
    let settings = json!({ "models": { "contextWindow": { "counting": 6_000 } } });
    let lines: String = (0..=TURNS).map(|n| format!("line {n} {}\n", "x".repeat(300))).collect();
    let house = house(&settings).model("counting", &model).file("a.txt", lines);
    let file = house.work().join("../run.jsonl");
    let running = house.boot().await;
    let mut client = running.client();
    let mut played = Vec::new();
    let first = json!({ "model": "counting", "prompt": "go", "record": file });
    let again = ["replay", "replay+strict"].map(|model| {
        let model = format!("{model}:{}", running.work().with_file_name("run.jsonl").display());
        json!({ "model": model, "prompt": "go" })
    });
    for params in [first].into_iter().chain(again) {
        let (end, _) = run(&running, &mut client, "worker", params).await;
        assert_eq!((&end["reason"], &end["result"]), (&json!("GOAL"), &json!("read")), "{end}");
        let log = running.log().await;
        let log: Vec<Value> = log.into_iter().filter(|event| event["runId"] == end["runId"]).collect();
        let compressed: Vec<Value> = told(&log, "context.compressed").into_iter().cloned().collect();
        assert!(compressed.iter().all(|it| it["counted"] == true) == counts, "{compressed:?}");
        played.push((end["usage"].clone(), end["turns"].clone(), compressed));
    }
    assert_eq!(played[1..], [played[0].clone(), played[0].clone()]);
    let log = running.log().await;
    let statuses: Vec<&Value> = told(&log, "context.compressed").iter().map(|it| &it["status"]).collect();
    assert!(3 <= statuses.len() && statuses.iter().all(|it| *it == "COMPRESSED"), "{statuses:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_context_is_compressed_and_cleared_when_somebody_asks() {
    let model = Counting::new(|request| {
        Ok(match request.purpose {
            RequestPurpose::Utility => snapshot("be short"),
            RequestPurpose::Turn => vec![ReplyPart::Text(long_text(400))],
        })
    });
    let house = house(&json!({})).model("counting", &model);
    let running = house.boot().await;
    let mut client = running.client();
    let talk = |session: Option<&str>, prompt: &str| {
        let mut params = json!({ "model": "counting", "prompt": prompt });
        if let Some(session) = session {
            params["sessionId"] = session.into();
        }
        params
    };
    let (_, session) = run(&running, &mut client, "talker", talk(None, "first")).await;
    run(&running, &mut client, "talker", talk(Some(&session), "second")).await;
    let params = json!({ "sessionId": session });
    let compacted = client.call("session/compact", params.clone()).await["contexts"][0].clone();
    assert_eq!((&compacted["status"], &compacted["epoch"]), (&json!("COMPRESSED"), &json!(1)), "{compacted}");
    run(&running, &mut client, "talker", talk(Some(&session), "third")).await;
    let asked = model.requests(RequestPurpose::Turn).pop().unwrap();
    check_form(&asked.messages);
    let texts: Vec<String> = asked.messages.iter().map(|message| message.text()).collect();
    assert!(texts[0].contains("<overall_goal>be short</overall_goal>"), "{texts:?}");
    assert_eq!((texts.len(), texts[2].as_str()), (3, "third"), "the model had the last word, so all went");
    // The second look sees the first snapshot, and both are counted apart from turns.
    let ordinals: Vec<u32> =
        model.requests(RequestPurpose::Utility).iter().map(|request| request.ordinal).collect();
    assert_eq!(ordinals, [0, 1]);
    let cleared = client.call("session/clear", params.clone()).await["contexts"][0].clone();
    assert_eq!(cleared["epoch"], 2);
    run(&running, &mut client, "talker", talk(Some(&session), "fourth")).await;
    let asked = model.requests(RequestPurpose::Turn).pop().unwrap();
    assert_eq!(asked.messages.len(), 1);
    assert_eq!(asked.messages[0].text(), "fourth");
    let roles: Vec<Value> =
        history(&mut client, &session).await.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(roles, ["user", "model"].repeat(4));
    // What was said since goes; then there is nothing left that could.
    for status in ["COMPRESSED", "NOOP"] {
        let compacted = client.call("session/compact", params.clone()).await["contexts"][0].clone();
        assert_eq!((&compacted["status"], &compacted["epoch"]), (&json!(status), &json!(3)), "{compacted}");
    }

    // The history says where, whatever the size of its pages.
    let page = async |client: &mut Client, limit: u64, cursor: Value| {
        let mut params = json!({ "sessionId": session, "agent": "talker", "limit": limit });
        params.as_object_mut().unwrap().extend(cursor.as_str().map(|it| ("cursor".to_owned(), json!(it))));
        client.call("session/history", params).await
    };
    let whole = page(&mut client, 100, Value::Null).await["changes"].as_array().unwrap().clone();
    let brief = |it: &Value| format!("{} {} {}", it["kind"], it["status"], it["epoch"]).replace('"', "");
    let expected =
        ["compressed COMPRESSED 1", "cleared null 2", "compressed COMPRESSED 3", "compressed NOOP 3"];
    assert_eq!(whole.iter().map(brief).collect::<Vec<_>>(), expected);
    assert_eq!(whole[0]["tokensBefore"], compacted["tokensBefore"]);
    assert!(whole[0]["tokensAfter"].as_u64() < whole[0]["tokensBefore"].as_u64());
    let (mut pieces, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let listed = page(&mut client, 1, cursor).await;
        pieces.extend(listed["changes"].as_array().cloned().unwrap_or_default());
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pieces, whole);

    // What the summariser used is in the sums of its runs, and in those by model.
    let runs = client.call("run/list", json!({ "sessionId": session })).await;
    let of = |run: &Value| run["usage"]["promptTokens"].as_u64().unwrap();
    let sum: u64 = runs["runs"].as_array().unwrap().iter().map(of).sum();
    let used = client.call("usage/get", json!({ "sessionId": session })).await;
    assert_eq!(used["total"]["usage"]["promptTokens"], sum, "{used}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_a_compression_has_cost_counts_although_it_is_cut_off() {
    let text = snapshot("be short").into_iter().find_map(|part| match part {
        ReplyPart::Text(text) => Some(text),
        _ => None,
    });
    let script = Script::new([Reply::says(&long_text(400))]);
    let summariser = Script::new([Reply::says(&text.unwrap()), Reply::Hangs]);
    let settings = json!({ "models": { "compression": "summariser" } });
    let running = house(&settings).script(&script).model("summariser", &summariser).boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let (_, session) = run(&running, &mut client, "talker", json!({ "prompt": "first" })).await;
    let compacting = client.call("session/compact", json!({ "sessionId": session }));
    let cutting = async {
        summariser.asked().await;
        summariser.asked().await;
        // A run that only changes its context takes no messages.
        let params = json!({
            "sessionId": session, "agent": "talker", "prompt": "and this?", "ifBusy": "steer", "model": "script",
        });
        let said = other.call("run/start", params).await;
        assert_eq!(said["disposition"], "queued", "{said}");
        other.call("run/cancel", json!({ "runId": said["runId"] })).await;
        let runs = other.call("run/list", json!({ "sessionId": session, "state": "running" })).await;
        let run = runs["runs"][0]["runId"].clone();
        other.call("run/cancel", json!({ "runId": run })).await;
        run
    };
    let (told_so, run) = tokio::join!(compacting, cutting);
    assert_eq!(told_so["contexts"][0]["message"], "cancelled");
    let end = client.ended(run.as_str().unwrap()).await;
    let log = running.log().await;
    let completed = told(&log, "sideCall.completed");
    assert_eq!((completed.len(), &end["reason"]), (2, &json!("ABORTED")), "{completed:?}");
    assert_eq!(completed[1]["abandoned"], true);
    assert_eq!(end["usage"], completed[0]["usage"]);
    assert_ne!(end["usage"]["promptTokens"], 0);
    running.stop().await;
}

#[tokio::test]
async fn a_window_that_is_too_small_to_summarise_in_and_a_budget_that_is_used_up_are_told() {
    let told_of = async |settings: Value| {
        let model = Counting::new(|request| {
            Ok(match request.purpose {
                RequestPurpose::Utility => snapshot("be short"),
                RequestPurpose::Turn => vec![ReplyPart::Text(long_text(400))],
            })
        });
        let running = house(&settings).model("counting", &model).model("tiny", &model).boot().await;
        let mut client = running.client();
        let mut session = Value::Null;
        for n in 0..10 {
            let mut params = json!({ "model": "counting", "prompt": format!("prompt {n}"), "limits": { "maxTokens": 1_000_000 } });
            if n != 0 {
                params["sessionId"] = session.clone();
            }
            session = run(&running, &mut client, "talker", params).await.1.into();
        }
        let compacted =
            client.call("session/compact", json!({ "sessionId": session })).await["contexts"][0].clone();
        let log = running.log().await;
        let asked: Vec<String> = told(&log, "sideCall.completed")
            .iter()
            .map(|it| it["model"].as_str().unwrap().to_owned())
            .collect();
        running.stop().await;
        (compacted["status"].clone(), compacted["message"].as_str().unwrap_or_default().to_owned(), asked)
    };
    let settings = |window: u64, tokens: Value| {
        json!({
            "models": { "compression": "tiny", "contextWindow": { "tiny": window } },
            "compression": { "enabled": false }, "run": { "maxTokens": tokens },
        })
    };
    // There is no room at all: the run's own model does it.
    let (status, _, asked) = told_of(settings(1_800, Value::Null)).await;
    assert_eq!((status, asked), (json!("COMPRESSED"), vec!["counting".to_owned(); 2]));
    // Several pieces; after the first nothing is left.
    let (status, why, asked) = told_of(settings(6_000, json!(100))).await;
    assert_eq!(status, "COMPRESSION_FAILED_EMPTY_SUMMARY");
    assert_eq!((why.as_str(), asked), ("the run's budget is used up", vec!["tiny".to_owned(); 2]));
    let (status, why, asked) = told_of(settings(6_000, Value::Null)).await;
    assert!(
        status == "COMPRESSED" && 4 <= asked.len() && asked.iter().all(|it| it == "tiny"),
        "{why} {asked:?}"
    );
}

#[tokio::test]
async fn what_an_agent_cannot_be_told_or_has_nothing_left_for_is_not_begun() {
    const TINY: &str = "---\nkind: agent\nname: tiny\ndescription: Small.\ncompletion: tool\ntools: [read_file]\nmodel: tiny\n---\nBe small.\n";
    const CALLER: &str =
        "---\nkind: agent\nname: caller\ndescription: Calls.\ncompletion: tool\ntools: [tiny]\n---\nCall.\n";
    let model = Counting::new(|request| {
        Ok(match request.ordinal {
            0 => vec![
                call("tiny", json!({ "prompt": "word ".repeat(3_000) })),
                call("tiny", json!({ "prompt": "a few words" })),
            ],
            _ => vec![call("complete_task", json!({ "result": "ok" }))],
        })
    });
    let settings = json!({ "models": { "contextWindow": { "tiny": 2_000 } } });
    let house = house(&settings).agent("tiny", TINY).agent("caller", CALLER);
    let house = house.model("counting", &model).model("tiny", &Script::new([Reply::done("small")]));
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "model": "counting", "prompt": "go" });
    let (end, _) = run(&running, &mut client, "caller", params.clone()).await;
    assert_eq!(end["reason"], "GOAL", "{end}");
    let ends = |log: &[Value]| -> Vec<String> {
        let ends = told(log, "tool.state").into_iter().filter(|it| it["name"] == "tiny");
        ends.filter(|it| it["to"] == "error" || it["to"] == "success")
            .map(|it| it["error"]["type"].as_str().unwrap_or("none").to_owned())
            .collect()
    };
    let log = running.log().await;
    assert_eq!(ends(&log), ["CONTEXT_TOO_LARGE", "none"]);
    let told_model = format!("{:?}", model.requests(RequestPurpose::Turn).pop().unwrap().messages);
    assert!(told_model.contains("the window of tiny takes 2000"), "{told_model}");
    // The first reply alone is more than the run may spend.
    let params = json!({ "model": "counting", "prompt": "go", "limits": { "maxTokens": 5 } });
    run(&running, &mut client, "caller", params).await;
    let later = running.log().await[log.len()..].to_vec();
    assert_eq!(ends(&later), ["EXECUTION_FAILED", "EXECUTION_FAILED"]);
    running.stop().await;
}

#[tokio::test]
async fn a_summary_that_is_none_or_too_long_changes_nothing() {
    let answers: Arc<Mutex<Vec<ReplyPart>>> = Arc::default();
    let said = Arc::clone(&answers);
    let model = Counting::new(move |request| {
        Ok(match request.purpose {
            RequestPurpose::Utility => said.lock().unwrap().clone(),
            RequestPurpose::Turn => vec![ReplyPart::Text("short".to_owned())],
        })
    });
    let house = house(&json!({})).model("counting", &model);
    let running = house.boot().await;
    let mut client = running.client();
    let (_, session) =
        run(&running, &mut client, "talker", json!({ "model": "counting", "prompt": "first" })).await;
    let long = snapshot(&"long ".repeat(1_000));
    let cases = [
        (vec![ReplyPart::Text("I would rather not.".to_owned())], "COMPRESSION_FAILED_EMPTY_SUMMARY"),
        (long, "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"),
    ];
    for (answer, status) in cases {
        *answers.lock().unwrap() = answer;
        let compacted = client.call("session/compact", json!({ "sessionId": session })).await;
        let compacted = &compacted["contexts"][0];
        assert_eq!((&compacted["status"], &compacted["epoch"]), (&json!(status), &json!(0)), "{compacted}");
        assert!(compacted["message"].is_string());
    }
    run(
        &running,
        &mut client,
        "talker",
        json!({ "model": "counting", "prompt": "again", "sessionId": session }),
    )
    .await;
    let asked = model.requests(RequestPurpose::Turn).pop().unwrap();
    let texts: Vec<String> = asked.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["first", "short", "again"]);
    running.stop().await;
}

#[tokio::test]
async fn a_request_that_does_not_fit_is_made_to_fit_or_ends_the_run_with_both_counts() {
    let refused = || ModelError::TooLong { message: "prompt is too long: 300000 tokens > 200000".to_owned() };
    // The provider says so once; then the output is cut, and the request is short enough.
    let model = Counting::new(move |request| match request.purpose {
        RequestPurpose::Utility => Ok(snapshot("go on")),
        RequestPurpose::Turn if request.ordinal == 0 => {
            Ok(vec![call("read_file", json!({ "path": "a.txt" })), ReplyPart::Text(long_text(600))])
        }
        RequestPurpose::Turn if tokens(request) > 3_000 => Err(refused()),
        RequestPurpose::Turn => Ok(vec![call("complete_task", json!({ "result": "ok" }))]),
    });
    let house = house(&json!({})).model("counting", &model).file("a.txt", "long line\n".repeat(2_000));
    let running = house.boot().await;
    let mut client = running.client();
    let (end, _) = run(&running, &mut client, "worker", json!({ "model": "counting", "prompt": "go" })).await;
    let log = running.log().await;
    let steps: Vec<&Value> = log
        .iter()
        .filter(|event| {
            ["model.retrying", "sideCall.started", "context.compressed"]
                .contains(&event["type"].as_str().unwrap())
        })
        .collect();
    let kinds: Vec<&str> = steps.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let squeezed = [
        "model.retrying",
        "sideCall.started",
        "context.compressed",
        "sideCall.started",
        "context.compressed",
    ];
    assert_eq!(kinds, squeezed);
    let statuses: Vec<&Value> = told(&log, "context.compressed").iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["NOOP", "COMPRESSED"], "there was no older part, but a long output");
    assert_eq!(end["reason"], "GOAL", "{end}");
    let last = model.requests(RequestPurpose::Turn).pop().unwrap();
    check_form(&last.messages);
    assert!(json!(last.messages[2].parts).to_string().contains("read_file"), "it is told where the whole is");
    running.stop().await;

    // What cannot fit is not even asked.
    let model = Counting::new(|_| Ok(vec![call("complete_task", json!({ "result": "ok" }))]));
    let settings = json!({ "models": { "contextWindow": { "counting": 1_000 } } });
    let house = self::house(&settings).model("counting", &model);
    let running = house.boot().await;
    let mut client = running.client();
    let prompt = "word ".repeat(20_000);
    let (end, _) =
        run(&running, &mut client, "worker", json!({ "model": "counting", "prompt": prompt })).await;
    assert_eq!(end["error"]["code"], "CONTEXT_OVERFLOW", "{end}");
    let message = end["error"]["message"].as_str().unwrap();
    assert!(message.contains("takes 1000") && message.contains("2"), "{message}");
    assert_eq!(model.requests(RequestPurpose::Turn).len(), 0);
    running.stop().await;
}

#[tokio::test]
async fn a_run_that_goes_round_in_circles_is_told_and_then_stopped() {
    let read = |path: &str| Reply::calls(&[("read_file", json!({ "path": path }))]);
    let circle = "I will now look into the file to see what is in it. ".repeat(30);
    let babble = Reply::says(&circle);
    let thought = ReplyPart::Thought { text: circle, signature: None };
    let ponders = Reply::Parts(vec![thought, ReplyPart::Text("Well.".to_owned())]);
    let lines = |order: [u32; 4]| {
        let calls = order.map(|line| ("read_file", json!({ "path": "a.txt", "offset": line })));
        Reply::calls(&calls)
    };
    let cases = [
        ("repeats", [read("a.txt"), read("a.txt")], "calls"),
        ("alternates", [read("a.txt"), read("b.txt")], "calls"),
        ("does the same four at once", [lines([1, 2, 3, 4]), lines([4, 2, 3, 1])], "calls"),
        ("babbles", [babble.clone(), babble], "text"),
        ("ponders", [ponders.clone(), ponders], "text"),
    ];
    for (name, [even, odd], kind) in cases {
        let reply = |n| if n % 2 == 0 { even.clone() } else { odd.clone() };
        let script = Script::new((0..40).map(reply).collect::<Vec<_>>());
        let house = house(&json!({})).script(&script).file("a.txt", "a\n").file("b.txt", "b\n");
        let running = house.boot().await;
        let mut client = running.client();
        let (end, _) = run(&running, &mut client, "worker", json!({ "prompt": "go" })).await;
        assert_eq!(end["reason"], "LOOP_DETECTED", "{name}: {end}");
        let log = running.log().await;
        let found = told(&log, "loop.detected");
        let stops: Vec<bool> = found.iter().map(|it| it["stops"].as_bool().unwrap()).collect();
        assert_eq!(stops, [false, true], "{name}");
        assert!(found.iter().all(|it| it["kind"] == kind), "{name}: {found:?}");
        let nudged = told(&log, "context.nudged");
        assert_eq!((nudged.len(), &nudged[0]["reason"]), (1, &json!("loop")), "{name}");
        if name == "babbles" {
            assert!(end["partialResult"].as_str().unwrap().starts_with("I will now look"), "{name}: {end}");
        }
        // The grace turn came, and its chance passed.
        assert_eq!(told(&log, "turn.started").last().unwrap()["grace"], "LOOP_DETECTED", "{name}");
        running.stop().await;
    }
}

#[tokio::test]
async fn the_next_model_takes_over_and_auto_chooses_one() {
    let out_of_quota = ModelError::Passing { message: "no quota".to_owned(), retry_after_ms: Some(400_000) };
    let first = Script::new([Reply::Fails(out_of_quota)]);
    let second = Script::new([Reply::done("second")]);
    let settings = json!({ "models": { "fallback": ["second"] } });
    let house = house(&settings).model("first", &first).model("second", &second);
    let running = house.boot().await;
    let mut client = running.client();
    let (end, _) = run(&running, &mut client, "worker", json!({ "model": "first", "prompt": "go" })).await;
    assert_eq!((&end["reason"], &end["result"]), (&json!("GOAL"), &json!("second")), "{end}");
    let log = running.log().await;
    let taken = told(&log, "model.fallback")[0];
    assert_eq!((&taken["from"], &taken["to"]), (&json!("first"), &json!("second")));
    assert_eq!(told(&log, "model.completed")[0]["model"], "second");
    running.stop().await;

    let small = Script::new([
        Reply::says("Well: {\"reasoning\": \"It takes thought.\", \"model\": \"strong\"}"),
        Reply::says("{\"model\": \"either\"}"),
    ]);
    let (weak, strong) = (Script::new([Reply::done("weak")]), Script::new([Reply::done("strong")]));
    let settings = json!({ "models": {
        "default": "weak", "small": "small", "auto": { "fast": "weak", "strong": "strong" },
    } });
    let house = self::house(&settings).model("small", &small).model("weak", &weak).model("strong", &strong);
    let running = house.boot().await;
    let mut client = running.client();
    let (end, _) = run(&running, &mut client, "worker", json!({ "model": "auto", "prompt": "why?" })).await;
    assert_eq!(end["result"], "strong");
    let asked = &small.requests()[0];
    assert!(asked.messages[0].text().contains("why?") && asked.purpose == RequestPurpose::Utility);
    small.skip();
    let (end, _) = run(&running, &mut client, "worker", json!({ "model": "auto", "prompt": "why?" })).await;
    assert_eq!(end["result"], "weak", "an answer that is none leaves the default");
    let log = running.log().await;
    let routed: Vec<(&Value, &Value)> =
        told(&log, "model.routed").iter().map(|it| (&it["model"], &it["by"])).collect();
    assert_eq!(routed, [(&json!("strong"), &json!("classifier")), (&json!("weak"), &json!("default"))]);
    running.stop().await;
}

#[tokio::test]
async fn a_classifier_that_takes_too_long_has_no_say() {
    let small = Script::new([Reply::Hangs]);
    let weak = Script::new([Reply::done("weak")]);
    let settings = json!({ "models": { "default": "weak", "small": "small", "auto": { "strong": "weak" } } });
    let (house, clock) = house(&settings).model("small", &small).model("weak", &weak).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "model": "auto", "prompt": "why?" })).await;
    small.asked().await;
    clock.advance(std::time::Duration::from_secs(3));
    let end = client.ended(&run).await;
    assert_eq!(end["result"], "weak", "{end}");
    running.stop().await;
}

fn dollars_of(money: &Value) -> f64 {
    assert_eq!(money["currency"], "USD", "{money}");
    money["amount"].as_str().unwrap().parse().unwrap()
}

const LEAD: &str =
    "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [worker]\n---\nYou lead.\n";

#[tokio::test]
async fn the_costs_of_a_tree_of_five_agents_add_up_to_what_the_provider_counted() {
    let counted: Arc<Mutex<BTreeMap<String, (u64, u64)>>> = Arc::default();
    let by_provider = Arc::clone(&counted);
    let model = Counting::new(move |request| {
        let mut counted = by_provider.lock().unwrap();
        let (prompt, output) = counted.entry(request.path.to_string()).or_default();
        (*prompt, *output) = (*prompt + tokens(request), *output + 10);
        let n = request.ordinal;
        Ok(match (request.path.contains('/'), n) {
            (false, 0) => (0..4).map(|n| call("worker", json!({ "prompt": format!("task {n}") }))).collect(),
            (true, 0) => vec![call("read_file", json!({ "path": "a.txt" }))],
            _ => vec![call("complete_task", json!({ "result": "ok" }))],
        })
    });
    let settings = json!({ "models": { "prices": { "counting": { "inputPerMillion": 2.0, "outputPerMillion": 10.0 } } } });
    let house = house(&settings).agent("lead", LEAD).model("counting", &model).file("a.txt", "a\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (end, session) =
        run(&running, &mut client, "lead", json!({ "model": "counting", "prompt": "go" })).await;
    assert_eq!(end["reason"], "GOAL", "{end}");
    let dollars = |prompt: u64, output: u64| (prompt * 2 + output * 10) as f64 / 1e6;
    let nearly = |one: f64, other: f64| (one - other).abs() < 1e-9;
    let counted = counted.lock().unwrap().clone();
    assert_eq!(counted.len(), 5);
    let all: (u64, u64) = counted.values().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let runs = client.call("run/list", json!({ "sessionId": session, "limit": 10 })).await;
    let runs = runs["runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 5);
    let own: f64 = runs.iter().map(|run| dollars_of(&run["cost"])).sum();
    assert!(nearly(own, dollars(all.0, all.1)), "{own} {all:?}");
    let root = runs.iter().find(|run| run.get("parentRunId").is_none()).unwrap();
    let lead = counted["lead#1"];
    assert!(nearly(dollars_of(&root["cost"]), dollars(lead.0, lead.1)));
    let below = dollars(all.0 - lead.0, all.1 - lead.1);
    assert!(nearly(dollars_of(&root["childCost"]), below), "{root} {below}");
    assert_eq!(root["childUsage"]["promptTokens"], all.0 - lead.0);

    // What `usage/get` adds up is the same, whatever it is asked for, and after a restart.
    let of_tree = json!({ "runId": root["runId"] });
    let whole = client.call("usage/get", of_tree.clone()).await;
    assert_eq!(whole["total"]["usage"]["promptTokens"], all.0);
    assert_eq!(whole["total"]["usage"]["outputTokens"], all.1);
    assert!(nearly(dollars_of(&whole["total"]["cost"]), dollars(all.0, all.1)), "{whole}");
    assert_eq!(whole.get("unpricedModels"), None, "{whole}");
    let of_model = &whole["byModel"][0];
    assert_eq!(of_model["model"], "counting");
    assert_eq!(
        (&of_model["usage"], &of_model["calls"]),
        (&whole["total"]["usage"], &whole["total"]["calls"])
    );
    let of_lead = whole["byAgent"].as_array().unwrap().iter().find(|row| row["agent"] == "lead").unwrap();
    assert!(nearly(dollars_of(&of_lead["cost"]), dollars(lead.0, lead.1)), "{whole}");
    for other in [json!({ "sessionId": session }), json!({ "since": "2020-01-01T00:00:00.000Z" })] {
        assert_eq!(client.call("usage/get", other).await["total"], whole["total"]);
    }
    let child = runs.iter().find(|run| run.get("parentRunId").is_some()).unwrap();
    let of_child = client.call("usage/get", json!({ "runId": child["runId"] })).await;
    assert_eq!(of_child["total"]["usage"], child["usage"]);
    drop(client);
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.call("usage/get", of_tree).await, whole);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_limit_on_costs_holds_for_the_whole_tree_and_wants_a_price() {
    let model = Counting::new(|request| {
        let line = request.ordinal + 1;
        Ok(match request.path.contains('/') {
            false if request.ordinal == 0 => {
                (0..2).map(|n| call("worker", json!({ "prompt": format!("task {n}") }))).collect()
            }
            _ => vec![call("read_file", json!({ "path": "a.txt", "offset": line }))],
        })
    });
    let settings = json!({ "models": { "prices": { "counting": { "inputPerMillion": 1_000.0, "outputPerMillion": 0 } } } });
    let house =
        house(&settings).agent("lead", LEAD).model("counting", &model).file("a.txt", "a\n".repeat(900));
    let running = house.boot().await;
    let mut client = running.client();
    let limits = json!({ "maxCost": { "amount": "5", "currency": "USD" } });
    let params = json!({ "model": "counting", "prompt": "go", "limits": limits });
    let (end, session) = run(&running, &mut client, "lead", params).await;
    assert_eq!(end["reason"], "BUDGET", "{end}");
    let runs = client.call("run/list", json!({ "sessionId": session, "limit": 10 })).await;
    let spent: f64 = runs["runs"].as_array().unwrap().iter().map(|run| dollars_of(&run["cost"])).sum();
    // Each run may have had one request under way when it was over, and the root its last turn.
    assert!((5.0..10.0).contains(&spent), "{spent}");
    let log = running.log().await;
    let warned = told(&log, "budget.warning");
    assert!(warned.iter().any(|it| it["kind"] == "cost" && it["limit"]["amount"] == "5"), "{warned:?}");
    running.stop().await;

    // Nothing that it may come to ask may cost what nobody knows; all of it is named.
    let settings = json!({
        "models": {
            "prices": { "counting": { "inputPerMillion": 1.0, "outputPerMillion": 1.0 } },
            "small": "free", "fallback": ["counting", "other"],
        },
        "run": { "maxCostUsd": 1.0 },
    });
    let model = Counting::new(|_| Ok(vec![ReplyPart::Text("hello".to_owned())]));
    let house = self::house(&settings).model("counting", &model);
    let house = house.model("free", &model).model("other", &model).model("first", &model);
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "workspace": running.work(), "agent": "worker", "model": "first", "prompt": "go" });
    let (kind, error) = client.refused("run/start", params).await;
    assert_eq!(kind, "INVALID_INPUT", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.ends_with("nobody told what first costs, nor what free costs, nor what other costs"),
        "{message}"
    );
    running.stop().await;

    // What asks no model costs nothing.
    let settings = json!({
        "models": { "prices": { "counting": { "inputPerMillion": 1.0, "outputPerMillion": 1.0 } } },
        "run": { "maxCostUsd": 1.0 },
    });
    let running = self::house(&settings).model("counting", &model).boot().await;
    let mut client = running.client();
    let (_, session) =
        run(&running, &mut client, "talker", json!({ "model": "counting", "prompt": "go" })).await;
    let cleared = client.call("session/clear", json!({ "sessionId": session })).await["contexts"][0].clone();
    assert_eq!(cleared["epoch"], 1, "{cleared}");
    running.stop().await;
}

#[tokio::test]
async fn a_conversation_goes_on_by_itself_where_that_is_wanted() {
    let small = Script::new([
        Reply::says("{\"reasoning\": \"It wants to look.\", \"next_speaker\": \"model\"}"),
        Reply::says("{\"reasoning\": \"It is done.\", \"next_speaker\": \"user\"}"),
    ]);
    let script = Script::new([Reply::says("I will look first."), Reply::says("It is blue.")]);
    let settings = json!({ "models": { "small": "small" }, "nextSpeakerCheck": true });
    let house = house(&settings).model("small", &small).script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (end, _) = run(&running, &mut client, "talker", json!({ "prompt": "which colour?" })).await;
    assert_eq!((&end["result"], &end["turns"]), (&json!("It is blue."), &json!(2)), "{end}");
    let last = script.requests().pop().unwrap();
    assert_eq!(last.messages.last().unwrap().text(), "Please continue.");
    running.stop().await;
}
