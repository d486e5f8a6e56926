//! What hooks added, and on whose word calls ran that nobody was asked about: by the log of a real daemon.

use std::fs;

use super::*;

/// An agent that has its own word for calls of low risk.
const LOOSE: &str = "---\nkind: agent\nname: loose\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\napproval: { autoApprove: [low, medium] }\n---\nYou write.\n";

fn prints(answer: &Value) -> Value {
    json!({ "type": "command", "command": format!("cat > /dev/null; printf '%s' '{answer}'") })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hooks_add_for_the_model_and_say_to_people_is_in_their_spans() {
    let script = [("lead", vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")])];
    let mut house =
        house(&Cast::new(script)).rules("edits", "[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n");
    let adds = |event: &str, text: &str| json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } });
    let key = secret();
    let environment = [("PLANTED_API_KEY".to_owned(), key.clone())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let mut before = adds("PreToolUse", &format!("The key {key} is old."));
    before["systemMessage"] = json!("look twice");
    let hooks = json!({
        "UserPromptSubmit": [{ "hooks": [prints(&adds("UserPromptSubmit", "The branch is main."))] }],
        "PreToolUse": [{ "matcher": "write_file", "hooks": [prints(&before)] }],
        "PostToolUse": [{ "hooks": [{ "type": "command", "command": "true" }] }],
        // Nobody reads what it adds behind the last call.
        "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }],
    });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    // A program that gives itself no id is known by its name.
    let me = json!({ "protocolVersion": "2", "client": { "name": "night-watch", "kind": "script" } });
    client.call("initialize", me).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let spans = spans(&mut client, &run, 1_000).await;
    let hook = |event: &str| &find(&spans, "hook", event)["hook"];
    assert_eq!(hook("UserPromptSubmit")["added"], "The branch is main.");
    let told = hook("PreToolUse");
    assert!(told["added"].as_str().unwrap().starts_with("The key [redacted"), "{told}");
    assert_eq!(told["message"], "look twice");
    assert_eq!((hook("PostToolUse").get("added"), hook("Stop").get("added")), (None, None));
    for format in ["json", "jsonl", "otlp", "chrome", "markdown"] {
        let text = export(&mut client, json!({ "runId": run }), format).await;
        assert!(text.contains("The branch is main.") && text.contains("look twice"), "{format}: {text}");
        assert!(!text.contains(&key), "{format}: {text}");
    }
    let story = export(&mut client, json!({ "runId": run }), "markdown").await;
    assert_eq!(story.matches("decided nothing").count(), 2, "{story}");
    assert!(story.contains(", started by night-watch. Asked:"), "{story}");
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_was_asked_about_says_on_whose_word_it_ran() {
    let twice = || vec![Reply::calls(&[writes("a.md")]), Reply::done("mended")];
    let replies: Vec<Reply> = (0..3).flat_map(|_| twice()).collect();
    let house = house(&Cast::new([("lead", replies), ("loose", twice())])).agent("loose", LOOSE);
    let running = house.boot().await;
    let mut client = running.client();
    let introduction = json!({
        "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": "ada@pts/3-3fa91c02",
        "capabilities": { "confirmations": {} },
    });
    client.call("initialize", introduction).await;
    let (first, session) = client.start(&running, "lead", json!({})).await;
    answer(&mut client, &first, "allowSession").await;
    client.ended(&first).await;
    fs::write(running.work().join("a.md"), "old\n").unwrap();
    let (second, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    client.ended(&second).await;
    fs::write(running.work().join("a.md"), "old\n").unwrap();
    let approval = json!({ "approval": { "autoApprove": ["low", "medium"] } });
    let (third, _) = client.start(&running, "lead", approval).await;
    client.ended(&third).await;
    fs::write(running.work().join("a.md"), "old\n").unwrap();
    let (fourth, _) = client.start(&running, "loose", json!({})).await;
    client.ended(&fourth).await;
    let mut decisions = Vec::new();
    for run in [&second, &third, &fourth] {
        let spans = spans(&mut client, run, 1_000).await;
        decisions.push(find(&spans, "tool", "write_file")["tool"]["decision"].clone());
    }
    let [remembered, start, file] = &decisions[..] else { panic!("{decisions:?}") };
    assert!(remembered["rule"].as_str().unwrap().starts_with("remembered:"), "{remembered}");
    let origin = &remembered["origin"];
    assert_eq!((&origin["source"], &origin["by"]), (&json!("answer"), &json!("ada@pts/3-3fa91c02")));
    assert!(origin["at"].as_str().unwrap().starts_with("20"), "{origin}");
    assert_eq!(start["origin"], json!({ "source": "start", "by": "ada@pts/3-3fa91c02" }), "{start}");
    assert_eq!(file["origin"], json!({ "source": "agent" }), "{file}");
    let story = export(&mut client, json!({ "runId": second }), "markdown").await;
    assert!(story.contains("remembered from ada (pts/3)'s answer of 20"), "{story}");
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_called_run_says_who_called_it() {
    let (running, mut client, run, _) = told(&house(&story())).await;
    let spans = spans(&mut client, &run, 1_000).await;
    let child = find(&spans, "run", "reader")["runId"].clone();
    let story = export(&mut client, json!({ "runId": child }), "markdown").await;
    assert!(
        story.contains(&format!(", called by run `{run}`. Asked by the agent that called it:")),
        "{story}"
    );
    let whole = export(&mut client, json!({ "runId": run }), "markdown").await;
    assert!(!whole.contains("called by run"), "{whole}");
    // Whoever started the run at the root said nothing to this one.
    assert_eq!(whole.matches("Asked by the agent that called it:").count(), 1, "{whole}");
    assert_eq!(whole.matches(", started by ").count(), 1, "{whole}");
    drop(client);
    running.stop().await;
}

/// Also what is found only when it is put to use: a variable that is not set, an address that is none.
#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_the_settings_of_traces_and_retention_says_file_and_line() {
    let house = house(&story());
    let running = house.boot().await;
    let mut client = running.client();
    let collector = |more: &str| format!("{{\n\"tracing\": {{\n\"otlp\": {{\n{more}\n}}}}\n}}");
    let fine = "\"endpoint\": \"http://127.0.0.1:1\",\n";
    for (settings, line) in [
        ("{\n\"tracing\": {\n\"content\": \"all\" } }".to_owned(), 3),
        ("{\n\"tracing\": { \"sampleRate\": 2 } }".to_owned(), 2),
        ("{\n\n\"tracing\": { \"backend\": [\"file\", \"paper\"] } }".to_owned(), 3),
        ("{\n\"retention\": {\n\"maxAgeDays\": 0 } }".to_owned(), 3),
        (collector(&format!("{fine}\"headers\": {{ \"authorization\": \"Bearer ${{NO_SUCH_TOKEN}}\" }}")), 5),
        (collector(&format!("{fine}\"headers\": {{ \"content-type\": \"x\" }}")), 5),
        (collector("\"endpoint\": \"127.0.0.1:4317\""), 4),
        (collector("\"endpoint\": \"https://ada:hunter2@collector\""), 4),
    ] {
        fs::write(&house.sources.files.user, &settings).unwrap();
        let reloaded = client.call("daemon/reload", json!({})).await;
        let problem = &reloaded["problems"][0];
        assert_eq!(problem["line"], line, "{settings}\n{reloaded}");
        assert_eq!(problem["path"], house.sources.files.user.to_str().unwrap(), "{settings}\n{reloaded}");
        assert!(!reloaded.to_string().contains("hunter2"), "{reloaded}");
    }
    drop(client);
    running.stop().await;
}

/// An agent that asks people.
const ASKER: &str = "---\nkind: agent\nname: asker\ndescription: Asks.\ncompletion: tool\ntools: [ask_user, read_file, save_memory]\n---\nYou ask.\n";

/// Whoever draws a waterfall reads spans without texts, and still learns these.
#[tokio::test(flavor = "multi_thread")]
async fn answers_loops_and_what_a_run_remembers_are_told_where_texts_are_not() {
    let question = json!({ "questions": [{ "question": "Which colour?", "type": "choice", "options": ["red", "blue"] }] });
    let read = || Reply::calls(&[("read_file", json!({ "path": "a.md" }))]);
    let mut replies = vec![Reply::calls(&[("ask_user", question)])];
    replies.extend((0..6).map(|_| read()));
    replies.push(Reply::calls(&[("save_memory", json!({ "fact": "Blue it is.", "scope": "user" }))]));
    replies.push(Reply::done("asked"));
    let house = house(&Cast::new([("asker", replies)]))
        .agent("asker", ASKER)
        .rules("remember", "[[rule]]\ntool = \"save_memory\"\ndecision = \"allow\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let introduction = json!({
        "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": "ada@pts/3-3fa91c02",
        "capabilities": { "confirmations": {} },
    });
    client.call("initialize", introduction).await;
    let (run, _) = client.start(&running, "asker", json!({})).await;
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    let waited = client.call("run/wait", until).await;
    let asked = &waited["confirmations"][0];
    let answer = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "answer", "answers": ["blue"],
    });
    client.call("confirmation/respond", answer).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let params = json!({ "runId": run, "brief": true, "limit": 1_000 });
    let page = client.call("trace/get", params).await;
    let spans = page["spans"].as_array().unwrap();
    let answered = find(spans, "tool", "ask_user");
    assert!(answered["output"]["text"].as_str().unwrap().contains("blue"), "{answered}");
    assert_eq!(find(spans, "tool", "read_file").get("output"), None);
    let told: Vec<&str> = spans
        .iter()
        .flat_map(|span| span["events"].as_array().into_iter().flatten())
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert!(told.contains(&"loop.detected") && told.contains(&"memory.saved"), "{told:?}");
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_change_was_undone_says_so_and_by_whom() {
    let (running, mut client, run, session) = told(&house(&story())).await;
    let undone = |spans: &[Value]| {
        let changed = spans.iter().find_map(|span| span["tool"]["filesChanged"].get(0)).unwrap();
        changed["undone"].clone()
    };
    assert_eq!(undone(&spans(&mut client, &run, 1_000).await), Value::Null);
    let params = json!({ "sessionId": session, "lastTurn": true });
    let result = client.call("session/undo", params).await;
    assert_eq!(result["restored"].as_array().unwrap().len(), 1, "{result}");
    let of = undone(&spans(&mut client, &run, 1_000).await);
    assert_eq!((&of["by"], of.get("forced")), (&json!("ada"), None), "{of}");
    let story = export(&mut client, json!({ "runId": run }), "markdown").await;
    assert!(story.contains("modified; undone by ada at 20"), "{story}");
    drop(client);
    running.stop().await;
}
