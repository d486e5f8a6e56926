//! Can an agent answer its own question? It tries each way, in the sandbox and without one, and none may work (spec 11, "Who
//! may talk to it").

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use crate::{
    built,
    process::{Home, Wire, text},
    recording::Recording,
};

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\n---\nWrite.\n";
const RUNNER: &str = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\n\
                      tools: [run_shell_command, shell_output]\n---\nRun.\n";
/// The owner lets the agent run whatever it wants, but for what is critical.
const ALLOW: &str = "[[rule]]\ntool = [\"run_shell_command\", \"shell_output\"]\ndecision = \"allow\"\n";

/// What the scripts are told: the question, its digest, and where things are.
const ATTEMPTS: &[(&str, &str)] = &[
    ("the companion", "\"$SUBAGENT\" --no-spawn approve \"$QUESTION\""),
    (
        "the companion, socket named",
        "SUBAGENTD_SOCKET=$SOCKET \"$SUBAGENT\" --no-spawn approve \"$QUESTION\"",
    ),
    ("any method", "\"$SUBAGENT\" --no-spawn --socket \"$SOCKET\" rpc confirmation/respond \"$ANSWER\""),
    (
        "a raw socket",
        "perl -MIO::Socket::UNIX -e '$SIG{PIPE} = \"IGNORE\"; $s = IO::Socket::UNIX->new(Peer => $ENV{SOCKET}) or die \"no socket: $!\\n\"; \
         print $s $ENV{REQUEST}, \"\\n\"; print scalar <$s>'",
    ),
    (
        "a raw socket, gone before it is looked at",
        "perl -MIO::Socket::UNIX -e '$SIG{PIPE} = \"IGNORE\"; $s = IO::Socket::UNIX->new(Peer => $ENV{SOCKET}) or die \"no socket: $!\\n\"; \
         print $s $ENV{REQUEST}, \"\\n\"; exit 0' && echo \"no answer was waited for\"; false",
    ),
    (
        "a child in a session of its own",
        "setsid -w sh -c '\"$SUBAGENT\" --no-spawn --socket \"$SOCKET\" approve \"$QUESTION\"'",
    ),
    (
        "a child whose parents are gone",
        "(setsid sh -c '(\"$SUBAGENT\" --no-spawn --socket \"$SOCKET\" approve \"$QUESTION\" > late 2>&1; echo over >> late) &' &) ; \
         for i in 1 2 3 4 5 6 7 8 9 10; do grep -q over late 2>/dev/null && break; sleep 0.2; done; cat late; false",
    ),
    (
        "TCP",
        "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'POST /rpc HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nAuthorization: Bearer %s\\r\\n\
             Content-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' $PORT \"$(cat $STATE/token)\" \
             ${#REQUEST} \"$REQUEST\" >&3 && cat <&3; false",
    ),
    (
        "TCP, gone before it is looked at",
        "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'POST /rpc HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nAuthorization: Bearer %s\\r\\n\
             Content-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' $PORT \"$(cat $STATE/token)\" \
             ${#REQUEST} \"$REQUEST\" >&3; exec 3>&-; echo \"no answer was waited for\"; false",
    ),
    (
        "a policy",
        "echo '[[rule]]\ntool = \"*\"\nrisk = \"low\"\ndecision = \"allow\"' > $CONFIG/policies/more.toml",
    ),
    ("a setting", "echo '{\"approval\": {\"mode\": \"yolo\", \"allowYolo\": true}}' > $CONFIG/settings.json"),
    ("the database", "cat $STATE/subagentd.db | wc -c | grep -qv '^0$' && echo x >> $STATE/subagentd.db"),
    ("a signal", "kill -HUP $DAEMON"),
    ("a start of its own", "\"$SUBAGENT\" approve \"$QUESTION\""),
];

struct Scene {
    home: Home,
    wire: Wire,
    question: Value,
    daemon: i32,
    port: u16,
}

impl Scene {
    async fn open(settings: Value, variables: &[(&str, &str)]) -> (Scene, crate::process::Served) {
        let home = Home::new();
        fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
        fs::write(home.path("config/subagentd/agents/runner.md"), RUNNER).unwrap();
        fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
        fs::write(home.path("config/subagentd/policies/shell.toml"), ALLOW).unwrap();
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let served = home.start_told(variables, &["--listen", "127.0.0.1:0"]).await;
        let mut wire = home.connect().await;
        let write =
            json!({ "functionCall": { "name": "write_file", "args": { "path": "a.txt", "content": "a" } } });
        let done = json!({ "functionCall": { "name": "complete_task", "args": { "result": "written" } } });
        let model = Recording::write_parts(&home, "writes", vec![vec![write], vec![done]]);
        let start = json!({ "workspace": home.work(), "agent": "writer", "model": model, "prompt": "write" });
        let started = wire.call("run/start", start).await.unwrap();
        let waits =
            json!({ "runId": text(&started, "runId"), "timeoutMs": 30_000, "until": ["confirmation"] });
        wire.call("run/wait", waits).await.unwrap();
        let listed = wire.call("confirmation/list", json!({})).await.unwrap();
        let question = listed["confirmations"][0].clone();
        let log = home.daemon_log();
        let port = log.split("address=127.0.0.1:").nth(1).unwrap();
        let port = port.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
        let daemon = served.pid().as_raw_nonzero().get();
        (Scene { home, wire, question, daemon, port }, served)
    }

    /// Puts an attempt into a file of the workspace, where nobody who judges commands sees what is in it.
    fn script(&self, number: usize, attempt: &str) -> String {
        let answer = json!({
            "confirmationId": self.question["confirmationId"], "digest": self.question["digest"], "outcome": "allowOnce",
        });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "confirmation/respond", "params": answer });
        let values = [
            ("SUBAGENT", built::companion().to_owned()),
            ("QUESTION", text(&self.question, "confirmationId").to_owned()),
            ("ANSWER", answer.to_string()),
            ("REQUEST", request.to_string()),
            ("SOCKET", self.home.socket().display().to_string()),
            ("STATE", self.home.state_dir().display().to_string()),
            ("CONFIG", self.home.path("config/subagentd").display().to_string()),
            ("PORT", self.port.to_string()),
            ("DAEMON", self.daemon.to_string()),
            ("XDG_RUNTIME_DIR", self.home.path("run").display().to_string()),
        ];
        let mut script: String =
            values.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        script.push_str(attempt);
        let name = format!("attempt-{number}.sh");
        fs::write(self.home.work().join(&name), script).unwrap();
        format!("bash ./{name}")
    }

    /// Runs commands, one a turn; how each ended.
    async fn run(&mut self, name: &str, commands: &[String]) -> Vec<Value> {
        let call = |command: &String| {
            vec![json!({ "functionCall": { "name": "run_shell_command", "args": { "command": command } } })]
        };
        let mut turns: Vec<Vec<Value>> = commands.iter().map(call).collect();
        turns.push(vec![
            json!({ "functionCall": { "name": "complete_task", "args": { "result": "tried" } } }),
        ]);
        let model = Recording::write_parts(&self.home, name, turns);
        let start = json!({ "workspace": self.home.work(), "agent": "runner", "model": model, "prompt": "try", "limits": { "maxTurns": 100 } });
        let started = self.wire.call("run/start", start).await.unwrap();
        let run = text(&started, "runId").to_owned();
        let waited = self.wire.call("run/wait", json!({ "runId": run, "timeoutMs": 120_000 })).await.unwrap();
        assert_eq!(waited["done"], true, "{waited}");
        let listed = self
            .wire
            .call("events/list", json!({ "filter": { "runIds": [run] }, "from": 0, "limit": 1000 }))
            .await
            .unwrap();
        let events = listed["events"].as_array().unwrap().iter();
        let is_end = |event: &&Value| {
            event["activity"] == "TOOL_CALL_END" && event["data"]["name"] == "run_shell_command"
        };
        events.filter(is_end).map(|event| event["data"].clone()).collect()
    }

    async fn assert_nothing_came_of_it(&mut self, before: &BTreeMap<String, Vec<u8>>) {
        let got = self
            .wire
            .call("confirmation/get", json!({ "confirmationId": self.question["confirmationId"] }))
            .await
            .unwrap();
        assert!(got["resolution"].is_null() && got["confirmation"]["resolution"].is_null(), "{got}");
        assert!(!self.home.work().join("a.txt").exists(), "what was asked about was done");
        assert_eq!(&config_of(&self.home), before, "settings or policies changed");
        let status = self.wire.call("daemon/status", json!({})).await.unwrap();
        assert_eq!(status["daemon"]["pid"], self.daemon);
    }
}

fn config_of(home: &Home) -> BTreeMap<String, Vec<u8>> {
    fn gather(folder: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => gather(&path, into),
                path => drop(into.insert(path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    let mut found = BTreeMap::new();
    gather(&home.path("config"), &mut found);
    found
}

fn said(end: &Value) -> String {
    end["result"]["llmContent"][0]["text"].as_str().unwrap().to_owned()
}

async fn each_attempt_fails(variables: &[(&str, &str)], mechanism: &str) {
    let (mut scene, served) = Scene::open(json!({}), variables).await;
    let before = config_of(&scene.home);
    let commands: Vec<String> =
        ATTEMPTS.iter().enumerate().map(|(number, (_, attempt))| scene.script(number, attempt)).collect();
    let ends = scene.run("tries", &commands).await;
    assert_eq!(ends.len(), ATTEMPTS.len());
    for (end, (what, _)) in ends.iter().zip(ATTEMPTS) {
        assert_eq!(end["to"], "success", "{what} was not run: {}", said(end));
        assert!(said(end).starts_with("Exit code: "), "{mechanism}, {what}: {}", said(end));
        assert_eq!(end["result"]["data"]["sandbox"], mechanism, "{what}");
    }
    scene.assert_nothing_came_of_it(&before).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_in_a_sandbox_answers_nothing() {
    if !built::has_bubblewrap("what an agent tries in its view to answer its own question") {
        return;
    }
    each_attempt_fails(&[], "bubblewrap").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_where_there_is_no_bubblewrap() {
    let programs = tempfile::tempdir().unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in
            fs::read_dir(folder).into_iter().flatten().flatten().filter(|it| it.file_name() != "bwrap")
        {
            // The first of a name is the one that is found.
            let _there = symlink(entry.path(), programs.path().join(entry.file_name()));
        }
    }
    each_attempt_fails(&[("PATH", programs.path().to_str().unwrap())], "Landlock").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_without_any_sandbox_at_the_socket() {
    let (mut scene, served) = Scene::open(json!({ "sandbox": { "profile": "full" } }), &[]).await;
    let before = config_of(&scene.home);
    // What writes the owner's files and signals the owner's processes is the owner's business there; the daemon's doors stay
    // closed all the same.
    let doors: Vec<_> = ATTEMPTS.iter().take(9).collect();
    let commands: Vec<String> =
        doors.iter().enumerate().map(|(number, (_, attempt))| scene.script(number, attempt)).collect();
    let ends = scene.run("tries", &commands).await;
    for (end, (what, _)) in ends.iter().zip(doors) {
        let said = said(end);
        assert!(end["result"]["data"]["sandbox"].is_null());
        let is_refused = said.contains("what an agent starts may not talk to the daemon");
        assert!(is_refused || what.contains("gone before"), "{what}: {said}");
    }
    scene.assert_nothing_came_of_it(&before).await;
    // What leads there is critical when it can be seen, and no rule that does not say so allows it.
    let question = text(&scene.question, "confirmationId").to_owned();
    let seen = [
        format!("subagent approve {question}"),
        format!("sleep 0; cat {}/token", scene.home.state_dir().display()),
        format!("echo x > {}/settings.json", scene.home.path("config/subagentd").display()),
        "bash -c 'subagent approve 1'".to_owned(),
    ];
    for end in scene.run("seen", &seen).await {
        assert_eq!(end["error"]["type"], "POLICY_DENIED", "{}", said(&end));
    }
    scene.assert_nothing_came_of_it(&before).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_started_for_later_does_not_get_in_either() {
    let (mut scene, served) = Scene::open(json!({}), &[]).await;
    let before = config_of(&scene.home);
    let attempt = "while [ ! -e go ]; do sleep 0.05; done; \"$SUBAGENT\" --no-spawn --socket \"$SOCKET\" approve \"$QUESTION\"; echo over > went";
    let later = scene.script(0, attempt);
    let call = json!({ "functionCall": { "name": "run_shell_command", "args": { "command": later, "background": true } } });
    let done = json!({ "functionCall": { "name": "complete_task", "args": { "result": "left" } } });
    let model = Recording::write_parts(&scene.home, "later", vec![vec![call], vec![done]]);
    let start = json!({ "workspace": scene.home.work(), "agent": "runner", "model": model, "prompt": "try" });
    let started = scene.wire.call("run/start", start).await.unwrap();
    scene
        .wire
        .call("run/wait", json!({ "runId": text(&started, "runId"), "timeoutMs": 30_000 }))
        .await
        .unwrap();
    fs::write(scene.home.work().join("go"), "").unwrap();
    while !scene.home.work().join("went").exists() {
        scene.wire.call("ping", json!({})).await.unwrap();
    }
    scene.assert_nothing_came_of_it(&before).await;
    served.stop().await;
}
