//! What a run waits for, since when its time counts, who began it from a pipe, and on whose word a mode lets calls run: by the log of a
//! real daemon.

use std::fs;

use subagentd::{models::ModelError, protocol::RunErrorCode};

use super::*;

const NAMED: &str = "ada@pts/3-3fa91c02";

async fn as_ada(running: &Running) -> Client {
    let mut client = running.client();
    let introduction = json!({
        "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": NAMED,
        "capabilities": { "confirmations": {} },
    });
    client.call("initialize", introduction).await;
    client
}

/// The run's own span.
async fn run_span(client: &mut Client, run: &str) -> Value {
    let spans = spans(client, run, 1_000).await;
    spans.iter().find(|span| span["kind"] == "run" && span["runId"] == run).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_run_says_what_it_waits_for_and_what_it_has_done() {
    let replies = || vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")];
    let all: Vec<Reply> = (0..3).flat_map(|_| replies()).collect();
    let house = house(&Cast::new([("lead", all)]));
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let (first, session) = client.start(&running, "lead", json!({})).await;
    let until = json!({ "runId": first, "timeoutMs": 60_000, "until": ["confirmation"] });
    let asked = client.call("run/wait", until).await["confirmations"][0].clone();
    let behind = json!({ "sessionId": session, "workspace": null, "ifBusy": "queue" });
    let (second, _) = client.start(&running, "lead", behind.clone()).await;
    let (third, _) = client.start(&running, "lead", behind).await;
    let run = &run_span(&mut client, &first).await["run"];
    assert_eq!((&run["turns"], &run["toolCalls"]), (&json!(1), &json!(1)), "{run}");
    let waits = &run["waitsFor"];
    assert_eq!(
        (&waits["for"], &waits["confirmationId"]),
        (&json!("person"), &asked["confirmationId"]),
        "{run}"
    );
    for (queued, ahead) in [(&second, 0), (&third, 1)] {
        let waits = &run_span(&mut client, queued).await["run"]["waitsFor"];
        assert_eq!((&waits["for"], &waits["ahead"]), (&json!("context"), &json!(ahead)), "{waits}");
    }
    let story = export(&mut client, json!({ "runId": third }), "markdown").await;
    let words = &format!(
        "is queued behind run {first} of lead, which has its context, and 1 before it in the queue, since "
    );
    assert!(story.contains(words), "{story}");
    client.call("queue/promote", json!({ "runId": third })).await;
    for run in [&first, &third, &second] {
        if *run == third {
            // It has the context now, and not the one that had it when the second was asked for.
            client
                .call("run/wait", json!({ "runId": third, "timeoutMs": 60_000, "until": ["confirmation"] }))
                .await;
            let waits = &run_span(&mut client, &second).await["run"]["waitsFor"];
            assert_eq!(waits["about"], format!("run {third} of lead"), "{waits}");
            let moved = &run_span(&mut client, &second).await["run"]["movedAhead"];
            let moved = (&moved[0]["runId"], &moved[0]["by"], moved[0]["at"].is_string(), moved.get(1));
            assert_eq!(moved, (&json!(third), &json!(NAMED), true, None));
        }
        answer(&mut client, run, "allowOnce").await;
        client.ended(run).await;
        fs::write(running.work().join("a.md"), "old\n").unwrap();
    }
    let story = export(&mut client, json!({ "runId": third }), "markdown").await;
    assert!(story.contains("In its queue: moved to the front by ada (pts/3)\n"), "{story}");
    assert!(
        story.contains(&format!(
            "in a queue (behind run {first} of lead, which had its context when it was asked for)"
        )),
        "{story}"
    );
    let story = export(&mut client, json!({ "runId": second }), "markdown").await;
    let moved = format!("In its queue, run {third} of lead was moved ahead of it by ada (pts/3) at 20");
    assert_eq!(story.matches(&moved).count(), 1, "{story}");
    // A list counts a run's time from when it was asked for, as its trace does.
    let listed = client.call("trace/list", json!({ "sessionId": session })).await;
    let traces = listed["traces"].as_array().unwrap();
    for run in [&first, &second, &third] {
        let listed = traces.iter().find(|trace| trace["traceId"] == **run).unwrap();
        let span = run_span(&mut client, run).await;
        assert_eq!(listed["askedAt"], span["startedAt"], "{listed} {span}");
        assert_eq!(listed["startedAt"] == listed["askedAt"], **run == *first, "{listed}");
        assert_eq!(span["run"].get("movedAhead").is_some(), **run == *second, "{span}");
        let behind = &span["run"]["queuedBehind"];
        let expected = match () {
            _ if **run == *first => Value::Null,
            // The third was moved to the front, and had it before the second.
            _ if **run == *second => {
                json!({ "runId": first, "agent": "lead", "then": { "runId": third, "agent": "lead" } })
            }
            _ => json!({ "runId": first, "agent": "lead" }),
        };
        assert_eq!(*behind, expected, "{span}");
    }
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_mode_lets_run_says_who_set_the_mode() {
    let replies = || vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")];
    let all: Vec<Reply> = (0..4).flat_map(|_| replies()).collect();
    let house = house(&Cast::new([("lead", all)]));
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let again = |running: &Running| fs::write(running.work().join("a.md"), "old\n").unwrap();
    async fn origin(client: &mut Client, run: &str) -> Value {
        assert_eq!(client.ended(run).await["reason"], "GOAL");
        let spans = spans(client, run, 1_000).await;
        let decision = &find(&spans, "tool", "write_file")["tool"]["decision"];
        assert_eq!(decision["rule"], "mode:autoEdit", "{decision}");
        decision["origin"].clone()
    }
    // As the run was started.
    let (run, session) = client.start(&running, "lead", json!({ "approval": { "mode": "autoEdit" } })).await;
    assert_eq!(origin(&mut client, &run).await, json!({ "source": "start", "by": NAMED }));
    again(&running);
    // By a command, or a key, in the session.
    client.call("session/update", json!({ "sessionId": session, "mode": "autoEdit" })).await;
    client.call("session/update", json!({ "sessionId": session, "title": "another" })).await;
    let within = json!({ "sessionId": session, "workspace": null });
    let (run, _) = client.start(&running, "lead", within.clone()).await;
    let told = origin(&mut client, &run).await;
    assert_eq!((&told["source"], &told["by"]), (&json!("session"), &json!(NAMED)), "{told}");
    again(&running);
    let story = export(&mut client, json!({ "runId": run }), "markdown").await;
    assert!(story.contains("mode:autoEdit, as ada (pts/3) set the session's mode at 20"), "{story}");
    drop(client);
    running.stop().await;
    // The log knows, whichever daemon it was.
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let (run, _) = client.start(&running, "lead", within.clone()).await;
    assert_eq!(origin(&mut client, &run).await, told);
    again(&running);
    // By an answer that allows all edits.
    client.call("session/update", json!({ "sessionId": session, "mode": "default" })).await;
    let (run, _) = client.start(&running, "lead", within).await;
    answer(&mut client, &run, "allowOnce").await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}

/// What a person put into `plan` changes nothing, whatever its runs began with; and it says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_mode_refuses_says_who_set_the_mode() {
    let replies = || vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")];
    let all: Vec<Reply> = (0..3).flat_map(|_| replies()).collect();
    let house = house(&Cast::new([("lead", all)]));
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let (run, session) = client.start(&running, "lead", json!({ "approval": { "mode": "plan" } })).await;
    let within = |mode: Value| json!({ "sessionId": session, "workspace": null, "approval": mode });
    let mut told = Vec::new();
    let mut runs = vec![run];
    for approval in [json!({}), json!({ "mode": "autoEdit" })] {
        client.ended(runs.last().unwrap()).await;
        client.call("session/update", json!({ "sessionId": session, "mode": "plan" })).await;
        runs.push(client.start(&running, "lead", within(approval)).await.0);
    }
    client.ended(runs.last().unwrap()).await;
    for run in &runs {
        let spans = spans(&mut client, run, 1_000).await;
        let decision = &find(&spans, "tool", "write_file")["tool"]["decision"];
        assert_eq!((&decision["outcome"], &decision["rule"]), (&json!("deny"), &json!("mode:plan")));
        told.push((decision["origin"]["source"].clone(), decision["origin"]["by"].clone()));
    }
    let of = |source: &str| (json!(source), json!(NAMED));
    assert_eq!(told, [of("start"), of("session"), of("session")]);
    drop(client);
    running.stop().await;
}

/// A wait for a person that goes on is as long as it is now.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_wait_for_a_person_counts_up_to_now() {
    let house = house(&Cast::new([("lead", vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")])]));
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    client.call("run/wait", until).await;
    let waited_for = |page: &Value, ms: u64| {
        let spans = page["spans"].as_array().unwrap();
        let span = spans.iter().find(|span| span["kind"] == "run").unwrap();
        ms <= span["run"]["waitingMs"].as_u64().unwrap_or_default()
    };
    // Nothing is told of it meanwhile, and yet it grows.
    client.until("trace/get", json!({ "runId": run }), |page| waited_for(page, 20)).await;
    answer(&mut client, &run, "allowOnce").await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}

/// What a person changed of a call is no word of the model's.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_person_changed_says_so() {
    let house = house(&Cast::new([("lead", vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")])]));
    let running = house.boot().await;
    let mut client = as_ada(&running).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    let asked = client.call("run/wait", until).await["confirmations"][0].clone();
    let changed = json!({ "path": "b.md", "content": "PERSON\n" });
    let answer = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "modify", "arguments": changed,
    });
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    let spans = spans(&mut client, &run, 1_000).await;
    let call = find(&spans, "tool", "write_file");
    assert_eq!(call["tool"]["changedBy"], json!([NAMED]), "{call}");
    assert!(call["tool"]["askedInput"]["text"].as_str().unwrap().contains("a.md"), "{call}");
    assert!(call["input"]["text"].as_str().unwrap().contains("PERSON"), "{call}");
    let story = export(&mut client, json!({ "runId": run }), "markdown").await;
    assert!(story.contains("ada (pts/3) changed the arguments. The model had asked for:"), "{story}");
    drop(client);
    running.stop().await;
}

/// The last turn of a run: what it may not call is refused for that reason, and a request that fails is told with its words.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_turn_of_a_run_says_what_went_wrong_in_it() {
    let read = || Reply::calls(&[("read_file", json!({ "path": "a.md" }))]);
    let no_key = || {
        let message = "the key is not valid".to_owned();
        Reply::Fails(ModelError::Final { code: RunErrorCode::ProviderAuth, message })
    };
    let once = || json!({ "limits": { "maxTurns": 1 } });
    let refused = house(&Cast::new([("lead", vec![read(), read()])]));
    let running = refused.boot().await;
    let mut client = as_ada(&running).await;
    let (run, _) = client.start(&running, "lead", once()).await;
    client.ended(&run).await;
    let told = spans(&mut client, &run, 1_000).await;
    let calls: Vec<&Value> = told.iter().filter(|span| span["kind"] == "tool").collect();
    assert_eq!(calls[1]["tool"]["decision"]["source"], "grace", "{calls:#?}");
    drop(client);
    running.stop().await;
    let failed = house(&Cast::new([("lead", vec![read(), no_key()])]));
    let running = failed.boot().await;
    let mut client = as_ada(&running).await;
    let (run, _) = client.start(&running, "lead", once()).await;
    let ended = client.ended(&run).await;
    assert_eq!(ended["reason"], "MAX_TURNS");
    assert!(ended["message"].as_str().unwrap().contains("the key is not valid"), "{ended}");
    let told = spans(&mut client, &run, 1_000).await;
    let request = told.iter().rfind(|span| span["kind"] == "llm").unwrap();
    assert_eq!((&request["status"], &request["error"]["type"]), (&json!("error"), &json!("MODEL_FAILED")));
    drop(client);
    running.stop().await;
}

/// The real programs: a script starts a run as part of a larger trace, and a person cancels it with a reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_a_pipe_is_its_users_and_says_why_it_was_cancelled() {
    let home = Home::new();
    let agent = READER.replace("reader", "writer").replace("read_file", "write_file");
    fs::write(home.path("config/subagentd/agents/writer.md"), agent).unwrap();
    let recording = home.path("recordings/note.jsonl");
    fs::write(&recording, recorded("write_file", &json!({ "path": "note.txt", "content": "hello\n" })))
        .unwrap();
    let served = home.start().await;
    let mut wire = home.connect().await;
    let model = format!("replay:{}", recording.display());
    let mut command = home.companion(&["run", "writer", "-p", "Note\nit", "--detach", "--model", &model]);
    command.env("USER", "ada").env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let started = output(&mut command).await;
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let listed = wire.call("trace/list", json!({})).await.unwrap();
    let run = listed["traces"][0]["traceId"].as_str().unwrap().to_owned();
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    wire.call("run/wait", until).await.unwrap();
    let shown = output(&mut home.companion(&["trace", "show", &run])).await.stdout;
    for words in [
        " · by ada\n",
        "part of the trace 00-0af7651916cd43dd8448eb211c80319c",
        "waits for a person's answer to",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let cancelled =
        output(home.companion(&["cancel", &run, "--reason", "wrong turn"]).env("USER", "ada")).await;
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
    let shown = output(&mut home.companion(&["trace", "show", &run])).await.stdout;
    assert!(shown.contains("ABORTED by ada: wrong turn"), "{shown}");
    served.kill().await;
}
