//! Traces through the front door: a real daemon, its log, and what `trace/*` makes of it.

mod full_disk;
mod numbered;
mod said;
mod standing;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use subagentd::{
    protocol::{TraceFormat, span_of},
    redact::{Redactor, RedactorParts},
};

use crate::{
    process::{Home, output},
    support::{Cast, Client, House, Reply, Running, STUCK, Script},
    terminal::Terminal,
};

const LEAD: &str = "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [read_file, write_file, reader]\n---\nYou lead.\n";
const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nYou read.\n";
const RULES: &str =
    "[[rule]]\ntool = \"write_file\"\nargsPattern = \"forbidden\"\ndecision = \"deny\"\npriority = 9\n";

fn writes(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "new\n" }))
}

/// Reads, has an agent read, writes with a person's word, is denied one file, and is done.
fn story() -> Cast {
    Cast::new([
        (
            "lead",
            vec![
                Reply::calls(&[
                    ("read_file", json!({ "path": "a.md" })),
                    ("reader", json!({ "prompt": "read b" })),
                ]),
                Reply::calls(&[writes("a.md"), writes("forbidden.md")]),
                Reply::done("mended"),
            ],
        ),
        (
            "lead/reader",
            vec![Reply::calls(&[("read_file", json!({ "path": "b.md" }))]), Reply::done("b is fine")],
        ),
    ])
}

fn house(cast: &Cast) -> House {
    House::new()
        .model("script", cast)
        .agent("lead", LEAD)
        .agent("reader", READER)
        .rules("mine", RULES)
        .file("a.md", "old\n")
        .file("b.md", "fine\n")
}

/// Answers the first open question of a run.
async fn answer(client: &mut Client, run: &str, outcome: &str) {
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    let waited = client.call("run/wait", until).await;
    let asked = &waited["confirmations"][0];
    let params = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": outcome, "message": "go on",
    });
    client.call("confirmation/respond", params).await;
}

async fn told(house: &House) -> (Running, Client, String, String) {
    let running = house.boot().await;
    let mut client = running.client();
    let introduction = json!({
        "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": "ada",
        "capabilities": { "confirmations": {} },
    });
    client.call("initialize", introduction).await;
    let (run, session) = client.start(&running, "lead", json!({})).await;
    answer(&mut client, &run, "allowOnce").await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    (running, client, run, session)
}

/// All spans, by pages of so many.
async fn spans(client: &mut Client, run: &str, limit: u32) -> Vec<Value> {
    let mut spans = Vec::new();
    let mut params = json!({ "runId": run, "limit": limit });
    loop {
        let page = client.call("trace/get", params.clone()).await;
        let of_page = page["spans"].as_array().unwrap();
        assert!(of_page.len() <= limit as usize);
        spans.extend(of_page.iter().cloned());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return spans,
        }
    }
}

async fn export(client: &mut Client, of: Value, format: &str) -> String {
    let mut text = String::new();
    let mut params = of;
    params["format"] = json!(format);
    loop {
        let page = client.call("trace/export", params.clone()).await;
        text += page["text"].as_str().unwrap();
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return text,
        }
    }
}

fn find<'a>(spans: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found =
        spans.iter().find(|span| span["kind"] == kind && span["name"].as_str().unwrap().contains(name));
    found.unwrap_or_else(|| panic!("no {kind} {name} among {spans:#?}"))
}

fn parent<'a>(spans: &'a [Value], span: &Value) -> &'a Value {
    spans.iter().find(|it| it["spanId"] == span["parentSpanId"]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_answers_who_did_what_by_whose_leave() {
    let (running, mut client, run, session) = told(&house(&story())).await;
    let spans = spans(&mut client, &run, 1_000).await;
    // Which file was changed by which call, who allowed it, under which rule, how long did that take?
    let written = spans.iter().find(|span| span["tool"]["filesChanged"].is_array()).unwrap();
    let tool = &written["tool"];
    assert!(tool["filesChanged"][0]["path"].as_str().unwrap().ends_with("/a.md"), "{tool}");
    assert_eq!(tool["filesChanged"][0]["change"], "modified");
    let decision = &tool["decision"];
    assert_eq!(decision["outcome"], "allowOnce");
    assert_eq!((&decision["source"], &decision["name"]), (&json!("client"), &json!("ada")));
    assert!(decision["rule"].as_str().unwrap().starts_with("builtin:"), "{decision}");
    assert!(decision["waitedMs"].is_u64() && tool["waitedMs"].is_u64());
    let question = spans.iter().find(|span| span["kind"] == "confirmation").unwrap();
    assert_eq!(parent(&spans, question)["spanId"], written["spanId"]);
    assert_eq!(question["confirmation"]["asks"], "edit");
    // What was denied, and why?
    let denied = spans.iter().find(|span| span["error"]["type"] == "POLICY_DENIED").unwrap();
    assert_eq!(
        (&denied["tool"]["decision"]["outcome"], &denied["status"]),
        (&json!("deny"), &json!("error"))
    );
    assert!(denied["error"]["message"].as_str().unwrap().contains("mine.toml"), "{denied}");
    let forbids = denied["tool"]["decision"]["rule"].as_str();
    assert!(forbids.is_some_and(|rule| rule.contains("mine.toml")), "{denied}");
    // What ran by itself?
    let read = find(&spans, "tool", "read_file");
    assert_eq!(read["tool"]["decision"]["source"], "policy");
    assert!(read["tool"]["decision"]["rule"].as_str().unwrap().starts_with("builtin:"), "{read}");
    // The run below lies within the call that it answers, and all of it is one trace.
    let below = find(&spans, "run", "reader");
    let caller = parent(&spans, below);
    assert_eq!((&caller["kind"], &caller["name"]), (&json!("tool"), &json!("reader")));
    assert_eq!(caller["tool"]["childRunId"], below["runId"]);
    assert!(spans.iter().all(|span| span["traceId"] == json!(run) && span["status"] != "open"));
    assert_eq!(spans.iter().filter(|span| span.get("parentSpanId").is_none()).count(), 1);
    // How long did the models take until they said something?
    let mut requests = spans.iter().filter(|span| span["kind"] == "llm");
    assert!(requests.all(|span| span["llm"]["firstTokenMs"].is_u64()), "{spans:#?}");
    // Tokens of the requests are those of the runs.
    let tokens = |span: &Value| span["usage"]["promptTokens"].as_u64().unwrap_or(0);
    let sum = |kind: &str| spans.iter().filter(|span| span["kind"] == kind).map(tokens).sum::<u64>();
    assert_eq!((sum("llm"), sum("run")), (50, 50));
    let listed = client.call("trace/list", json!({ "sessionId": session })).await;
    let summary = &listed["traces"][0];
    assert_eq!((&summary["traceId"], &summary["runs"]), (&json!(run), &json!(2)));
    assert_eq!(summary["usage"]["promptTokens"], 50);
    // A run below has a trace of its own, within the same.
    let below_run = below["runId"].as_str().unwrap();
    let part = self::spans(&mut client, below_run, 1_000).await;
    assert!(!part.is_empty() && part.iter().all(|span| span["runId"] == below["runId"]));
    assert_eq!(part[0]["traceId"], json!(run));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_add_up_to_the_whole_also_after_a_restart() {
    let house = house(&story());
    let (running, mut client, run, session) = told(&house).await;
    let whole = spans(&mut client, &run, 1_000).await;
    assert_eq!(spans(&mut client, &run, 1).await, whole);
    assert_eq!(spans(&mut client, &run, 7).await, whole);
    // What no list made is no cursor.
    let other = client.call("trace/get", json!({ "runId": run, "limit": 3 })).await["nextCursor"].clone();
    let other = other.as_str().unwrap();
    let (head, rest) = other.split_once('.').unwrap();
    let beyond = format!("{head}.999999.{run}");
    let ahead = format!("999999999.{rest}");
    for bad in [beyond.as_str(), &ahead, &other.replace(&run, &session), "9.4"] {
        let (kind, _) = client.refused("trace/get", json!({ "runId": run, "cursor": bad })).await;
        assert_eq!(kind, "INVALID_PARAMS", "{bad}");
    }
    // Each page once more, by whoever comes later.
    let first = client.call("trace/get", json!({ "runId": run, "limit": 3 })).await;
    let next = json!({ "runId": run, "limit": 3, "cursor": first["nextCursor"] });
    let second = client.call("trace/get", next.clone()).await;
    let again = client.call("trace/get", next.clone()).await;
    assert_eq!((&again["spans"], &again["nextCursor"]), (&second["spans"], &second["nextCursor"]));
    let brief = client.call("trace/get", json!({ "runId": run, "brief": true, "limit": 1_000 })).await;
    // Only what a run was asked is told, in its first line.
    assert!(
        brief["spans"].as_array().unwrap().iter().all(|it| it["kind"] == "run" || it.get("input").is_none())
    );
    let json = export(&mut client, json!({ "sessionId": session }), "json").await;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["spans"], json!(whole));
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    let again = client.call("trace/get", next).await;
    assert_eq!((&again["spans"], &again["nextCursor"]), (&second["spans"], &second["nextCursor"]));
    assert_eq!(spans(&mut client, &run, 5).await, whole);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_tells_the_same_trace() {
    let (running, mut client, run, _) = told(&house(&story())).await;
    let of = json!({ "runId": run });
    let whole = spans(&mut client, &run, 1_000).await;
    let lines = export(&mut client, of.clone(), "jsonl").await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, whole);
    let otlp: Value = serde_json::from_str(&export(&mut client, of.clone(), "otlp").await).unwrap();
    let told = otlp["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let id = |span: &Value| span["spanId"].as_str().unwrap().to_owned();
    let ids: HashSet<String> = told.iter().map(id).collect();
    // Others know them by numbers that no other daemon gives away.
    let for_others = |span: &Value| {
        let event = u64::from_str_radix(span["spanId"].as_str().unwrap(), 16).unwrap();
        format!("{:016x}", span_of(&span["traceId"].as_str().unwrap().into(), event))
    };
    assert_eq!(ids, whole.iter().map(for_others).collect::<HashSet<String>>());
    let mut parents = told.iter().filter_map(|span| span.get("parentSpanId")?.as_str());
    assert!(parents.all(|parent| ids.contains(parent)));
    let names: Vec<&str> = told.iter().map(|span| span["name"].as_str().unwrap()).collect();
    for name in ["invoke_agent lead", "invoke_agent reader", "execute_tool read_file", "chat script"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let decided = told.iter().flat_map(|span| span["events"].as_array().unwrap());
    assert_eq!(decided.filter(|event| event["name"] == "gen_ai.tool.call.decision").count(), 5);
    let chrome: Value = serde_json::from_str(&export(&mut client, of.clone(), "chrome").await).unwrap();
    let mut tracks: HashMap<String, Vec<(i64, i64)>> = HashMap::new();
    for event in chrome["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let time = |key: &str| event[key].as_i64().unwrap();
        let track = tracks.entry(format!("{} {}", event["pid"], event["tid"])).or_default();
        track.push((time("ts"), time("ts") + time("dur")));
    }
    assert_eq!(tracks.values().map(Vec::len).sum::<usize>(), whole.len());
    for spans in tracks.values_mut() {
        spans.sort_unstable();
        let mut open: Vec<i64> = Vec::new();
        for (from, to) in spans {
            open.retain(|end| *from < *end);
            assert!(from < to && open.last().is_none_or(|end| *to < *end), "a span overlaps another");
            open.push(*to);
        }
    }
    let story = export(&mut client, of, "markdown").await;
    for words in
        ["# Trace of lead", "# reader is called", "`allowOnce` by ada", "POLICY\\_DENIED", "> mended"]
    {
        assert!(
            story.contains(words) || story.contains(&words.replace('\\', "")),
            "{words} is not in\n{story}"
        );
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_has_spans_that_are_open_and_pages_as_of_one_moment() {
    let (stream, chunks) = Reply::streams();
    let script = Script::new([stream]);
    let house = House::new().script(&script).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    script.asked().await;
    let open = spans(&mut client, &run, 1_000).await;
    let standing: Vec<(&str, &str)> =
        open.iter().map(|it| (it["kind"].as_str().unwrap(), it["status"].as_str().unwrap())).collect();
    assert_eq!(standing, [("run", "open"), ("turn", "open"), ("llm", "open")]);
    let first = client.call("trace/get", json!({ "runId": run, "limit": 2 })).await;
    let chrome: Value =
        serde_json::from_str(&export(&mut client, json!({ "runId": run }), "chrome").await).unwrap();
    assert_eq!(chrome["traceEvents"].as_array().unwrap().iter().filter(|it| it["ph"] == "X").count(), 0);
    script.replace([Reply::done("x")]);
    chunks.send("hm".to_owned()).await.unwrap();
    drop(chunks);
    client.ended(&run).await;
    let rest = client.call("trace/get", json!({ "runId": run, "cursor": first["nextCursor"] })).await;
    assert_eq!(rest["spans"], json!([open[2]]), "as of the first page, whatever happened since");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_deleted_between_two_pages_is_gone_with_its_trace() {
    let (running, mut client, run, session) = told(&house(&story())).await;
    let first = client.call("trace/get", json!({ "runId": run, "limit": 3 })).await;
    client.call("session/delete", json!({ "sessionId": session })).await;
    let next = json!({ "runId": run, "limit": 3, "cursor": first["nextCursor"] });
    let (kind, _) = client.refused("trace/get", next).await;
    assert!(["NOT_FOUND", "GONE"].contains(&kind.as_str()), "{kind}");
    let whole = json!({ "sessionId": session, "format": "json" });
    let (kind, _) = client.refused("trace/export", whole).await;
    assert!(["NOT_FOUND", "GONE"].contains(&kind.as_str()), "{kind}");
    assert_eq!(client.call("trace/list", json!({})).await["traces"], json!([]));
    running.stop().await;
}

/// A model's reply that calls one tool, as a recording has it.
fn recorded(tool: &str, arguments: &Value) -> String {
    let call = json!({ "functionCall": { "name": tool, "args": arguments } });
    let candidate = json!({ "content": { "role": "model", "parts": [call] }, "finishReason": "STOP" });
    json!({ "method": "generateContentStream", "response": [{ "candidates": [candidate] }] }).to_string()
        + "\n"
}

/// The end of a frame of the screen that shows a trace.
const LAST: &str = "q: leave\x1b[0m";

/// The real programs: the daemon is killed while a person is asked, and the commands tell of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_leaves_a_trace_that_goes_on_and_commands_show_it() {
    let home = Home::new();
    let agent = READER.replace("reader", "writer").replace("read_file", "write_file");
    std::fs::write(home.path("config/subagentd/agents/writer.md"), agent).unwrap();
    let recording = home.path("recordings/note.jsonl");
    let replies = recorded("write_file", &json!({ "path": "note.txt", "content": "hello\n" }))
        + &recorded("complete_task", &json!({ "result": "wrote a note" }));
    std::fs::write(&recording, replies).unwrap();
    let served = home.start().await;
    let mut wire = home.connect().await;
    let model = format!("replay:{}", recording.display());
    let params = json!({ "workspace": home.work(), "agent": "writer", "prompt": "write", "model": model });
    let started = wire.call("run/start", params).await.unwrap();
    let run = started["runId"].as_str().unwrap().to_owned();
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    wire.call("run/wait", until.clone()).await.unwrap();
    served.kill().await;
    let served = home.start().await;
    let mut wire = home.connect().await;
    let waited = wire.call("run/wait", until).await.unwrap();
    let asked = &waited["confirmations"][0];
    let answer = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "allowOnce",
    });
    wire.call("confirmation/respond", answer).await.unwrap();
    assert_eq!(wire.ended(&run).await.unwrap()["reason"], "GOAL");
    // Whichever daemon asked: that a person answered counts.
    let answers = async {
        while wire.call("daemon/status", json!({})).await.unwrap()["counts"]["answers"]["count"] != 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(STUCK, answers).await.expect("the answer is not counted");
    let page = wire.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await.unwrap();
    let spans = page["spans"].as_array().unwrap();
    let whole = spans.last().unwrap();
    assert_eq!((&whole["kind"], &whole["run"]["restarts"]), (&json!("run"), &json!(1)), "{whole}");
    let log = wire.call("events/list", json!({ "filter": { "types": ["run.resumed"] } })).await.unwrap();
    let away = &log["events"][0]["data"]["awayMs"];
    assert!(whole["run"]["downMs"].as_u64() <= away.as_u64() && away.is_u64(), "{whole} {log}");
    assert!(spans.iter().all(|span| span["status"] == "ok"), "a question outlives its daemon: {spans:#?}");
    for (arguments, words) in [
        (vec!["trace", "list"], vec!["writer", "GOAL", "write"]),
        (vec!["trace", "show", &run], vec!["turn 1", "write_file", "? ", "yes: ", "asked by", "GOAL"]),
        (
            vec!["trace", "export", &run, "--format", "markdown"],
            vec!["# Trace of writer", "was interrupted: the daemon was away for at most"],
        ),
        (vec!["trace", "export", &run], vec!["\"spans\":["]),
        (vec!["trace", "tail", &run], vec!["confirmation · writer", "allowOnce", "wrote a note"]),
    ] {
        let told = output(&mut home.companion(&arguments)).await;
        assert_eq!(told.code, Some(0), "{arguments:?}: {}", told.stderr);
        for word in words {
            assert!(told.stdout.contains(word), "{arguments:?} does not say {word}:\n{}", told.stdout);
        }
    }
    let mut terminal = Terminal::open_sized(&home, (40, 10), &["trace", "show", &run]);
    // Down to the row of the call, which has no room for who allowed it.
    terminal.sees("i: in full").await;
    terminal.sees(LAST).await;
    for _ in 0..30 {
        let frame = &terminal.seen[terminal.seen.rfind("\x1b[H").unwrap()..];
        if frame.lines().any(|row| row.contains("›▾    w")) {
            break;
        }
        terminal.types("j");
        terminal.sees(LAST).await;
    }
    terminal.types("i");
    terminal.sees("write_file note.txt").await;
    terminal.sees("yes: ").await;
    terminal.sees("i: back").await;
    terminal.types("iq");
    assert_eq!(terminal.ended().await, Some(0));
    served.stop().await;
}

/// Spelled like a key, so that nothing in the repository is one.
fn secret() -> String {
    format!("{}{}", "sk-", "planted0123456789abcdefghijklmnopqrstuvwxyz")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_in_no_export() {
    let secret = secret();
    let script = Script::new([
        Reply::calls(&[
            ("read_file", json!({ "path": "keys.env" })),
            ("read_file", json!({ "path": secret })),
        ]),
        Reply::done(&format!("the key is {secret}")),
    ]);
    let mut house =
        House::new().script(&script).agent("reader", READER).file("keys.env", format!("KEY={secret}\n"));
    let environment = [("PLANTED_API_KEY".to_owned(), secret.clone())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({ "prompt": format!("use {secret}") })).await;
    client.ended(&run).await;
    for format in ["json", "jsonl", "otlp", "chrome", "markdown"] {
        let text = export(&mut client, json!({ "runId": run }), format).await;
        assert!(!text.contains(&secret), "{format}");
        assert!(text.contains("[redacted"), "{format}: nothing was planted\n{text}");
    }
    let listed = client.call("trace/list", json!({})).await.to_string();
    assert!(!listed.contains(&secret));
    running.stop().await;
}

/// A document with long texts comes in pages, none of which is longer than an answer may be.
#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_cut_and_pages_stay_small() {
    let long = "\u{1}日".repeat(5_000);
    let paths: Vec<Value> = (0..20).map(|n| json!({ "path": format!("{n}{long}") })).collect();
    let calls: Vec<(&str, Value)> = paths.into_iter().map(|arguments| ("read_file", arguments)).collect();
    let script = Script::new([Reply::calls(&calls), Reply::done("x")]);
    let settings = json!({ "compression": { "enabled": false } });
    let house = House::new().script(&script).agent("reader", READER).settings(&settings);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    for format in [TraceFormat::Json, TraceFormat::Chrome, TraceFormat::Markdown] {
        let mut params = json!({ "runId": run, "format": format });
        let mut pages = 0;
        loop {
            let page = client.call("trace/export", params.clone()).await;
            assert!(page.to_string().len() < 3 << 20, "{format:?}: a page of {}", page.to_string().len());
            pages += 1;
            match page.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert!(1 < pages, "{format:?}");
    }
    let page = client.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await;
    let call = find(page["spans"].as_array().unwrap(), "tool", "read_file");
    assert!(
        call["input"]["bytes"].as_u64().unwrap() > 20_000
            && call["input"]["text"].as_str().unwrap().len() <= 16_384
    );
    running.stop().await;
}
