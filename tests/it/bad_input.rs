//! What becomes of input that is wrong? A clear error, through the front door of a whole daemon; after it the same
//! connection works and nothing is lost.
//!
//! What one connection does with every odd line is proved beside `daemon/rpc`; what each method refuses stands in
//! `methods.rs`.

use std::{
    fmt::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use expect_test::expect;
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use subagentd::{
    agents::AgentPlaces,
    config::{ConfigSources, DaemonConfig},
    daemon::{Daemon, DaemonDependencies, DaemonSettings},
    models::ModelRegistry,
    sandbox::Sandbox,
    sys::{children::ChildProcesses, clock::SystemClock},
    tools::{OwnFiles, ToolRegistry},
};
use tokio::{io::AsyncWriteExt as _, net::UnixStream};

use crate::support::{Client, House, Reply, Running, Script, lines};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n\
                      tools: [read_file, read_many_files, grep, glob, list_directory]\n---\nYou read.\n";

fn house(replies: impl Into<Vec<Reply>>) -> (House, Script) {
    let script = Script::new(replies);
    (House::new().script(&script).agent("reader", READER), script)
}

async fn dial(socket: &Path) -> Client {
    Client::new(UnixStream::connect(socket).await.unwrap())
}

/// The connection still answers, and a run on it still ends well.
async fn assert_works(running: &Running, client: &mut Client) {
    let (run, _) = client.start(running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
}

/// Kind, message and what else an error says; or what was answered instead.
fn told(answer: &Value) -> String {
    let error = &answer["error"];
    let Some(kind) = error["data"]["kind"].as_str() else { return answer.to_string() };
    let mut told = format!("{kind}: {}", error["message"].as_str().unwrap());
    for part in ["details", "hint"] {
        if !error["data"][part].is_null() {
            write!(told, " | {part} {}", error["data"][part]).unwrap();
        }
    }
    told
}

#[tokio::test]
async fn lines_that_are_no_requests_are_answered_and_forgotten() {
    let deep = format!(r#"{{"id":1,"method":"ping","params":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let long = format!(r#"{{"id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(20 << 20));
    let crowd = format!("[{}]", vec![r#"{"id":1,"method":"ping"}"#; 101].join(","));
    let bad: &[(&str, &str)] = &[
        ("half of JSON", r#"{"jsonrpc":"2.0","id":1,"method":"#),
        ("no JSON", "how are you?"),
        ("10,000 deep", &deep),
        ("20 MB", &long),
        ("a number", "7"),
        ("no method", r#"{"id":1}"#),
        ("another version", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#),
        ("id is a fraction", r#"{"id":1.5,"method":"ping"}"#),
        ("id is null", r#"{"id":null,"method":"ping"}"#),
        ("id is a list", r#"{"id":[1],"method":"ping"}"#),
        ("id is huge", r#"{"id":123456789012345678901234567890,"method":"ping"}"#),
        ("an empty batch", "[]"),
        ("101 in a batch", &crowd),
        ("a mixed batch", r#"[{"id":"a","method":"pong"},7,{"method":"ping"},{"id":2.5,"method":"ping"}]"#),
    ];
    let (house, _) = house([Reply::done("found")]);
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut stories = Vec::new();
    for mut client in [dial(&socket).await, running.client()] {
        client.call("ping", json!({})).await;
        let mut story = String::new();
        for (name, line) in bad {
            client.send(line).await;
            let answers = match client.receive().await {
                Value::Array(answers) => answers,
                answer => vec![answer],
            };
            for answer in answers {
                writeln!(story, "{name}: id {}: {}", answer["id"], told(&answer)).unwrap();
            }
            client.call("ping", json!({})).await;
        }
        stories.push(story);
        assert_works(&running, &mut client).await;
    }
    assert_eq!(stories[0], stories[1], "a socket and a pipe are told the same");
    expect![[r#"
        half of JSON: id null: PARSE_ERROR: no JSON: EOF while parsing a value at line 1 column 33
        no JSON: id null: PARSE_ERROR: no JSON: expected value at line 1 column 1
        10,000 deep: id null: PARSE_ERROR: nested more than 128 deep
        20 MB: id null: PAYLOAD_TOO_LARGE: a message has at most 4194304 bytes; this one was skipped
        a number: id null: INVALID_REQUEST: no request: invalid type: integer `7`, expected an object at line 1 column 1
        no method: id 1: INVALID_REQUEST: a request needs a method
        another version: id 1: INVALID_REQUEST: jsonrpc must be "2.0"
        id is a fraction: id null: INVALID_REQUEST: an id is a string or an integer
        id is null: id null: INVALID_REQUEST: an id is a string or an integer
        id is a list: id null: INVALID_REQUEST: an id is a string or an integer
        id is huge: id null: INVALID_REQUEST: an id is a string or an integer
        an empty batch: id null: INVALID_REQUEST: an empty batch
        101 in a batch: id null: LIMIT_EXCEEDED: a batch of 101 requests; at most 100 are allowed
        a mixed batch: id "a": METHOD_NOT_FOUND: there is no such method | details {"didYouMean":"ping"} | hint "did you mean `ping`?"
        a mixed batch: id null: INVALID_REQUEST: no request: invalid type: integer `7`, expected an object at line 1 column 1
        a mixed batch: id null: INVALID_REQUEST: an id is a string or an integer
    "#]].assert_eq(&stories[0]);
    running.stop().await;
}

#[tokio::test]
async fn who_speaks_something_else_gets_one_error_and_the_end() {
    let (house, _) = house([Reply::done("found")]);
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut story = String::new();
    for opening in ["hello", "\u{1}\u{2}", "\u{feff}{}"] {
        let mut client = dial(&socket).await;
        client.send(opening).await;
        writeln!(story, "{opening:?}: {}", told(&client.receive().await)).unwrap();
        assert_eq!(client.receive_or_end().await, None);
    }
    // Whoever says nothing at all is let go without a word.
    let mut silent = dial(&socket).await;
    silent.finish_writing().await;
    assert_eq!(silent.receive_or_end().await, None);
    expect![[r#"
        "hello": PARSE_ERROR: neither JSON, `Content-Length` nor HTTP; send one JSON value a line
        "\u{1}\u{2}": PARSE_ERROR: neither JSON, `Content-Length` nor HTTP; send one JSON value a line
        "\u{feff}{}": PARSE_ERROR: neither JSON, `Content-Length` nor HTTP; send one JSON value a line
    "#]]
    .assert_eq(&story);
    assert_works(&running, &mut dial(&socket).await).await;
    running.stop().await;
}

#[tokio::test]
async fn unknown_methods_and_fields_are_named_with_what_was_meant() {
    let (house, _) = house([Reply::done("found")]);
    let running = house.boot().await;
    let mut client = dial(&running.listen().await).await;
    let mut story = String::new();
    for method in ["run/strat", "runStart", "Ping", "agents.list", "frobnicate", ""] {
        writeln!(story, "{method}: {}", told(&client.request(method, json!({})).await)).unwrap();
    }
    let odd = json!({ "workspce": "x", "includehidden": true });
    // Ignored and reported, once for a connection.
    client.call("agents/list", odd.clone()).await;
    client.call("agents/list", odd.clone()).await;
    client.call("tools/list", json!({ "agnt": 1 })).await;
    for _ in 0..3 {
        let event = client.event().await;
        writeln!(story, "{}: {}", event["type"].as_str().unwrap(), event["data"]).unwrap();
    }
    let strict =
        json!({ "protocolVersion": "2", "client": { "name": "t", "kind": "script" }, "strict": true });
    client.call("initialize", strict).await;
    writeln!(story, "strict: {}", told(&client.request("agents/list", odd).await)).unwrap();
    expect![[r#"
        run/strat: METHOD_NOT_FOUND: there is no such method | details {"didYouMean":"run/start"} | hint "did you mean `run/start`?"
        runStart: METHOD_NOT_FOUND: there is no such method | details {"didYouMean":"run/start"} | hint "did you mean `run/start`?"
        Ping: METHOD_NOT_FOUND: there is no such method | details {"didYouMean":"ping"} | hint "did you mean `ping`?"
        agents.list: METHOD_NOT_FOUND: there is no such method | details {"didYouMean":"agents/list"} | hint "did you mean `agents/list`?"
        frobnicate: METHOD_NOT_FOUND: there is no such method | hint "`rpc/discover` lists the methods"
        : METHOD_NOT_FOUND: there is no such method | hint "`rpc/discover` lists the methods"
        signal.unknownField: {"method":"agents/list","field":"/workspce","didYouMean":"workspace"}
        signal.unknownField: {"method":"agents/list","field":"/includehidden","didYouMean":"includeHidden"}
        signal.unknownField: {"method":"tools/list","field":"/agnt","didYouMean":"agent"}
        strict: INVALID_PARAMS: agents/list: the parameters have 2 errors | details {"violations":[{"pointer":"/workspce","message":"unknown field; did you mean `workspace`?"},{"pointer":"/includehidden","message":"unknown field; did you mean `includeHidden`?"}]}
    "#]].assert_eq(&story);
    assert_works(&running, &mut client).await;
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_bounded_and_harms_nobody() {
    /// More than sockets and the daemon take together, as requests of some 60 bytes with answers of some KB.
    const FLOOD: usize = 100_000;
    let (streaming, chunks) = Reply::streams();
    let (house, script) = house([Reply::done("found")]);
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut deaf = UnixStream::connect(&socket).await.unwrap();
    let mut client = dial(&socket).await;
    assert_works(&running, &mut client).await;
    script.replace([streaming, Reply::done("found")]);
    let (run, session) = client.start(&running, "reader", json!({})).await;
    let attach = json!({ "id": 0, "method": "session/attach", "params": {
        "sessionId": session, "from": "start", "deltas": true } });
    deaf.write_all(format!("{attach}\n").as_bytes()).await.unwrap();
    let flood = async {
        for id in 1..FLOOD {
            let line = format!("{{\"id\":{id},\"method\":\"events/list\",\"params\":{{\"limit\":1000}}}}\n");
            deaf.write_all(line.as_bytes()).await.unwrap();
        }
    };
    let others = async {
        client.call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": true })).await;
        for n in 0..200 {
            // Nothing is said twice, which would be a circle.
            let chunk: String = (0..150).map(|word| format!("{n}.{word} ")).collect();
            chunks.send(chunk).await.unwrap();
        }
        drop(chunks);
        client.events_until("run.completed").await;
        // Text alone is no result; the grace turn saves it.
        assert_eq!(client.ended(&run).await["recoveredFrom"], "ERROR_NO_COMPLETE_TASK_CALL");
        for _ in 0..20 {
            client.call("ping", json!({})).await;
        }
    };
    tokio::select! {
        () = flood => panic!("the daemon took {FLOOD} requests of somebody who does not read"),
        () = others => (),
    }
    script.replace([Reply::done("found")]);
    assert_works(&running, &mut client).await;
    drop(deaf);
    running.stop().await;
}

#[tokio::test]
async fn half_closed_connections_get_their_answers_and_their_events() {
    let (streaming, chunks) = Reply::streams();
    let (house, script) = house([streaming]);
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut client = dial(&socket).await;
    let (run, session) = client.start(&running, "reader", json!({ "limits": { "graceMs": 0 } })).await;

    let mut asks = dial(&socket).await;
    asks.send(&format!(r#"{{"id":1,"method":"run/wait","params":{{"runId":"{run}","timeoutMs":600000}}}}"#))
        .await;
    asks.finish_writing().await;
    let mut watches = dial(&socket).await;
    let attach = json!({ "id": 1, "method": "session/attach", "params": { "sessionId": session, "from": "start", "deltas": true } });
    // Without a newline, as `printf` in a shell would leave it.
    watches.send(attach.to_string().trim_end()).await;
    watches.finish_writing().await;
    assert!(watches.receive().await["result"].is_string());
    watches.events_until("signal.caughtUp").await;

    chunks.send("hello".to_owned()).await.unwrap();
    watches.events_until("model.textDelta").await;
    script.replace([Reply::done("found")]);
    drop(chunks);
    watches.events_until("run.completed").await;
    let waited = asks.receive().await;
    assert_eq!(waited["result"]["done"], true, "{waited}");
    assert_eq!(asks.receive_or_end().await, None, "nothing is left to say");
    assert_works(&running, &mut client).await;
    running.stop().await;
}

#[tokio::test]
async fn a_broken_agent_is_shown_with_its_places_and_hides_no_good_one() {
    let (house, _) = house([Reply::done("found")]);
    let house = house
        .agent("tabs", "---\nkind: agent\nname: tabs\nrun:\n\tmaxTurns: 3\n---\nx\n")
        .agent("open", "---\nkind: agent\nname: \"open\ndescription: d\n---\nx\n")
        .agent(
            "types",
            "---\nkind: agent\nname: types\ndescription: d\nrun: { maxTurns: many, maxTokens: -1 }\n---\nx\n",
        )
        .agent("bare", "You have no front matter.\n")
        .agent("empty", "");
    std::fs::write(house.dir.path().join("agents/bytes.md"), b"---\nname: \xff\xfe\n---\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("agents/list", json!({ "includeInvalid": true })).await;
    let mut story = String::new();
    for agent in listed["agents"].as_array().unwrap() {
        writeln!(story, "{} {}", agent["name"].as_str().unwrap(), agent["status"].as_str().unwrap()).unwrap();
        for problem in agent["problems"].as_array().into_iter().flatten() {
            let file = Path::new(problem["path"].as_str().unwrap()).file_name().unwrap().display();
            let (line, column) = (&problem["line"], &problem["column"]);
            writeln!(story, "  {file}:{line}:{column}: {}", problem["message"].as_str().unwrap()).unwrap();
        }
    }
    expect![[r#"
        bare invalid
          bare.md:1:1: has no front matter: the first line must be `---`
        codebase-investigator ok
        empty invalid
          empty.md:1:1: is empty
        generalist ok
        help ok
        open invalid
          open.md:4:1: is not YAML: invalid indentation in multiline quoted scalar
        reader ok
        tabs invalid
          tabs.md:5:2: is not YAML: tabs disallowed within this context (block indentation)
        types invalid
          types.md:5:18: `run.maxTurns`: expected a whole number from 1 to 4294967295, found the text "many"
          types.md:5:35: `run.maxTokens`: expected a whole number of at least 1, found the number -1
        y invalid
          bytes.md:2:1: `kind` is missing
          bytes.md:2:1: `description` is missing: other agents cannot tell when to call this one
          bytes.md:2:7: is not UTF-8 from here on; the whole file is read as Windows-1252
          bytes.md:2:7: `name`: "ÿþ" is no name of small letters, digits and dashes; it is read as `y`
    "#]]
    .assert_eq(&story);
    let usable = client.call("agents/list", json!({})).await;
    let is_ok = |agent: &Value| agent["status"] == "ok";
    assert!(usable["agents"].as_array().unwrap().iter().all(is_ok), "{usable}");
    assert_works(&running, &mut client).await;
    running.stop().await;
}

#[tokio::test]
async fn requests_that_cannot_start_say_what_is_missing() {
    let agent = |name: &str, body: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: d\ninputs:\n  topic: {{ type: string }}\n  \
             mood: {{ type: string, required: false }}\nquery: \"${{topic}}\"\n---\n{body}\n"
        )
    };
    let (house, _) = house([Reply::done("found")]);
    let house = house
        .agent("templated", &agent("templated", "Today is ${today}."))
        .agent("moody", &agent("moody", "Mind ${topic}, ${mood} and ${mood}."))
        .agent("strange", &agent("strange", "Mind ${subject}."));
    let running = house.boot().await;
    let mut client = running.client();
    let work = running.work();
    let good =
        json!({ "workspace": work, "agent": "templated", "inputs": { "topic": "x" }, "model": "script" });
    let cases: [(&str, Value); 6] = [
        ("no input", json!({ "inputs": {} })),
        ("unknown name", json!({ "agent": "strange" })),
        ("nobody gave it", json!({ "agent": "moody" })),
        ("no model", json!({ "model": null })),
        ("unknown model", json!({ "model": "llama-9" })),
        ("wrong input", json!({ "inputs": { "topic": 7, "tone": "x" } })),
    ];
    let mut story = String::new();
    for (name, changes) in cases {
        let mut params = good.clone();
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        writeln!(story, "{name}: {}", told(&client.request("run/start", params).await)).unwrap();
    }
    let story = story.replace(house.dir.path().to_str().unwrap(), "<home>");
    expect![[r#"
        no input: INVALID_INPUT: the inputs do not fit the agent | details {"violations":[{"pointer":"/topic","message":"the required input `topic` is missing"}]} | hint "give what is missing with --input name=value; -p gives the prompt"
        unknown name: INVALID_DEFINITION: strange cannot be used: <home>/agents/strange.md:10:6: the template names `${subject}`, but there is no such input (declare it under `inputs`, or write `$${subject}` for the literal text) | details {"problems":[{"path":"<home>/agents/strange.md","line":10,"column":6,"severity":"error","code":"BAD_VALUE","message":"the template names `${subject}`, but there is no such input","fix":"declare it under `inputs`, or write `$${subject}` for the literal text"}]} | hint "fix the file; `subagent list --all` shows every problem"
        nobody gave it: MISSING_TEMPLATE_INPUT: the template names `mood`, but there is no such value; there are `today`, `workspace`, `activeModel`, `daemonVersion`, `topic` | details {"missing":["mood"],"known":["today","workspace","activeModel","daemonVersion","topic"]} | hint "give the missing values with --input name=value, or declare them as inputs"
        no model: NO_MODEL: no model is configured: neither the request nor the agent nor the settings name one | hint "use `--model gemini/gemini-2.5-flash` with GEMINI_API_KEY set for the daemon, `openai/MODEL` with OPENAI_API_KEY, `anthropic/MODEL` with ANTHROPIC_API_KEY, an entry of `providers` in the settings for a server of your own, `--model offline` (rules, no key needed) or `--model replay:FILE` (a recording), or set `models.default` in the settings to one of these"
        unknown model: NO_MODEL: no model is named `llama-9` here | hint "use `--model gemini/gemini-2.5-flash` with GEMINI_API_KEY set for the daemon, `openai/MODEL` with OPENAI_API_KEY, `anthropic/MODEL` with ANTHROPIC_API_KEY, an entry of `providers` in the settings for a server of your own, `--model offline` (rules, no key needed) or `--model replay:FILE` (a recording), or say in the settings what a name means (`models.aliases`)"
        wrong input: INVALID_INPUT: the inputs do not fit the agent | details {"violations":[{"pointer":"/tone","message":"there is no input `tone`; there are `topic`, `mood`"},{"pointer":"/topic","message":"7 is not of type \"string\""}]} | hint "give what is missing with --input name=value; -p gives the prompt"
    "#]].assert_eq(&story);
    assert!(running.log().await.is_empty(), "something was written");
    client.call("run/start", good).await;
    assert_works(&running, &mut client).await;
    let run = running.log().await[1]["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    running.stop().await;
}

/// The tool results of a run that calls one tool several times in one turn, then ends well.
async fn tool_results(house: House, calls: &[(&str, Value)]) -> Vec<Value> {
    let script = Script::new([Reply::calls(calls), Reply::done("found")]);
    let running = house.script(&script).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "GOAL", "the run goes on");
    let log = running.log().await;
    let is_end = |event: &&Value| !event["data"]["result"].is_null() && event["type"] == "tool.state";
    let mut ends: Vec<Value> = Vec::new();
    let completed = log.iter().find(|event| event["type"] == "model.completed").unwrap();
    for call in completed["data"]["calls"].as_array().unwrap() {
        let end = log.iter().filter(is_end).find(|event| event["data"]["callId"] == *call);
        ends.push(end.unwrap_or_else(|| panic!("{call} never ends:\n{}", lines(&log)))["data"].clone());
    }
    running.stop().await;
    ends
}

#[tokio::test]
async fn a_pattern_that_does_not_compile_is_told_with_its_position() {
    let (house, _) = house([]);
    let house = house.file("a.txt", "hello\n");
    let grep = |pattern: &str| ("grep", json!({ "pattern": pattern }));
    let patterns = ["hel(lo", "a{2,1}", "[z-a]", "*", "\\p{Nope}", "(?<n>x)(?<n>y)", "hello"];
    let calls: Vec<(&str, Value)> = patterns.iter().map(|pattern| grep(pattern)).collect();
    let mut story = String::new();
    for (pattern, end) in patterns.iter().zip(tool_results(house, &calls).await) {
        let text = end["result"]["llmContent"][0]["text"].as_str().unwrap().replace('\n', " ");
        writeln!(story, "{pattern} {}: {text}", end["to"].as_str().unwrap()).unwrap();
    }
    expect![[r#"
        hel(lo error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: unclosed group, at character 4
        a{2,1} error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: invalid repetition count range, the start must be <= the end, at character 2
        [z-a] error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: invalid character class range, the start must be <= the end, at character 2
        * error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: repetition operator missing expression, at character 1
        \p{Nope} error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: Unicode property not found, at character 1
        (?<n>x)(?<n>y) error: INVALID_TOOL_PARAMS: /pattern: not a regular expression: duplicate capture group name, at character 11
        hello success: 1 matching line in 1 file.  a.txt 1: hello
    "#]].assert_eq(&story);
}

#[tokio::test]
async fn a_path_outside_is_refused_in_every_disguise_and_never_read() {
    const SECRET: &str = "the secret that must not be read";
    let (house, _) = house([]);
    let house = house.file("sub/a.txt", "inside\n");
    let (home, work) = (house.dir.path().to_owned(), house.work());
    std::fs::write(home.join("secret.txt"), SECRET).unwrap();
    std::fs::create_dir(home.join("work-twin")).unwrap();
    std::fs::write(home.join("work-twin/secret.txt"), SECRET).unwrap();
    symlink("../secret.txt", work.join("link")).unwrap();
    symlink(&home, work.join("folder")).unwrap();
    let disguises = [
        "../secret.txt".to_owned(),
        "sub/../../secret.txt".to_owned(),
        home.join("secret.txt").display().to_string(),
        format!("{}-twin/secret.txt", work.display()),
        "link".to_owned(),
        "folder/secret.txt".to_owned(),
        format!("/proc/self/root{}", home.join("secret.txt").display()),
        format!("file://{}", home.join("secret.txt").display()),
    ];
    let mut calls = Vec::new();
    for path in &disguises {
        calls.push(("read_file", json!({ "path": path })));
        calls.push(("grep", json!({ "pattern": "secret", "path": path })));
        let folder = PathBuf::from(path).parent().map(Path::to_owned).filter(|it| it != Path::new(""));
        calls.push(("list_directory", json!({ "path": folder.unwrap_or_else(|| "folder".into()) })));
        calls.push(("glob", json!({ "pattern": "*.txt", "path": path })));
        calls.push(("read_many_files", json!({ "include": ["sub/*", path] })));
        calls.push(("read_many_files", json!({ "include": [format!("{path}/**"), "sub/a.txt"] })));
    }
    for ((tool, arguments), end) in calls.iter().zip(tool_results(house, &calls).await) {
        assert_eq!(end["error"]["type"], "PATH_NOT_IN_WORKSPACE", "{tool} {arguments}: {end}");
        assert!(!end.to_string().contains(SECRET), "{end}");
    }
}

#[tokio::test]
async fn a_database_from_the_future_is_refused_and_left_alone() {
    let (house, _) = house([Reply::done("found")]);
    let running = house.boot().await;
    assert_works(&running, &mut running.client()).await;
    running.stop().await;
    let state = house.dir.path().join("state");
    let path = state.join("subagentd.db");
    let set = async |from: i64, to: i64| {
        let mut database = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        let moved = sqlx::query("update _sqlx_migrations set version = ?2 where version = ?1");
        let moved = moved.bind(from).bind(to).execute(&mut database).await.unwrap();
        assert_eq!(moved.rows_affected(), 1);
        database.close().await.unwrap();
    };
    set(1, 999).await;
    let before = std::fs::read(&path).unwrap();
    let settings = DaemonSettings {
        own_files: OwnFiles::new(&house.dir.path().join("config"), &state, []),
        state_dir: state,
        data_dir: house.dir.path().join("data"),
        agents: AgentPlaces::of_user(house.dir.path().join("agents")),
        skills: subagentd::skills::SkillPlaces::default(),
        rules: subagentd::rules::RulePlaces::default(),
        config: DaemonConfig::default(),
        problems: Vec::new(),
        redactor: subagentd::redact::Redactor::none(),
        sources: ConfigSources::default(),
    };
    let edges = DaemonDependencies {
        clock: SystemClock::new(),
        models: ModelRegistry::new(),
        tools: ToolRegistry::built_in(),
        children: ChildProcesses::default(),
        sandbox: Sandbox::none(),
        outside: subagentd::web::WebTransport::system(),
    };
    let refused = Daemon::boot(settings, edges).await.err().expect("it must be refused").to_string();
    let refused = refused.replace(house.dir.path().to_str().unwrap(), "<home>");
    expect!["<home>/state/subagentd.db was written by a newer version: it has migration 999, this version knows 13; start that newer version, or point --state-dir elsewhere"].assert_eq(&refused);
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    // Whoever goes back to the newer version finds everything.
    set(999, 1).await;
    let running = house.boot().await;
    assert_works(&running, &mut running.client()).await;
    let ends = running.log().await.iter().filter(|event| event["type"] == "run.completed").count();
    assert_eq!(ends, 2);
    running.stop().await;
}

#[tokio::test]
async fn a_cursor_beyond_the_head_is_gone_and_says_where_the_log_is() {
    let (house, _) = house([Reply::done("found")]);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let status = client.call("daemon/status", json!({})).await;
    let (head, log_id) = (&status["database"]["head"], &status["daemon"]["logId"]);
    let beyond = head.as_i64().unwrap() + 1;
    let asked = [
        ("events/list", json!({ "from": beyond })),
        ("events/list", json!({ "from": -1, "waitMs": 60_000 })),
        ("events/list", json!({ "from": 1, "logId": "another" })),
        ("session/attach", json!({ "sessionId": session, "from": beyond })),
    ];
    for (method, params) in asked {
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "CURSOR_GONE");
        assert_eq!(
            error["data"]["details"],
            json!({ "oldest": 1, "head": head, "logId": log_id }),
            "{error}"
        );
    }
    // The head itself is no gap: nothing is there yet.
    let page = client.call("events/list", json!({ "from": head, "logId": log_id })).await;
    assert_eq!(page, json!({ "events": [], "head": head, "logId": log_id }));
    assert_works(&running, &mut client).await;
    running.stop().await;
}
