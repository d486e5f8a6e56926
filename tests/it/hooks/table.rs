//! What comes of scripts that people write, event by event? A table of cases, written from the specification alone: each is a scene
//! of its own with its settings, its scripted model and, where it has one, its person.
//!
//! `SUBAGENTD_CASE` names the only case that is to be tried.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Map, Value, json};
use subagentd::{
    config::DaemonConfig,
    models::{LanguageModel, ModelError, ModelEvent, ModelRequest, RequestPurpose},
    protocol::{FinishReason, MessagePart, RunErrorCode},
    sys::clock::{Clock as _, SystemClock},
};

use crate::support::{Cast, Client, House, Reply, Running, STUCK, Script};

const CASES: &str = include_str!("table/cases.jsonl");

/// Cases that are tried at once.
const AT_ONCE: usize = 6;

/// Keys of cases whose scenes this driver cannot set.
const SCENES: &[&str] = &["during"];

/// Cases that differ, each with the reason why.
const DIFFERING: &[(&str, &str)] = &[];

const TOOLS: &[&str] = &[
    "read_file",
    "write_file",
    "edit_file",
    "run_shell_command",
    "list_directory",
    "glob",
    "grep",
    "ask_user",
];

/// One case, and where it plays.
struct Scene {
    case: Value,
    house: House,
    model: Player,
    record: PathBuf,
    outside: PathBuf,
    server: Option<HookServer>,
}

enum Player {
    Alone(ScenePlayer),
    WithHelper(Cast),
}

/// Says its own lines at turns, and others where the daemon asks by itself.
#[derive(Clone)]
struct ScenePlayer {
    turns: Script,
    /// The number of turns that it has lines for.
    n_turns: Arc<Mutex<usize>>,
    utility: Script,
}

impl LanguageModel for ScenePlayer {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match request.purpose {
            RequestPurpose::Turn if *self.n_turns.lock().unwrap() <= request.ordinal as usize => {
                let message = "the replay is over".to_owned();
                stream::iter([Err(ModelError::Final { code: RunErrorCode::ReplayExhausted, message })])
                    .boxed()
            }
            RequestPurpose::Turn => self.turns.stream(request),
            RequestPurpose::Utility => self.utility.stream(request),
        }
    }
}

/// A server to which hooks post.
struct HookServer {
    child: Child,
    port: u16,
}

impl Drop for HookServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl HookServer {
    fn start(record: &Path) -> HookServer {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hooks/table/hook_http.py");
        let mut child =
            Command::new("python3").arg(program).arg(record).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        HookServer { child, port: line.trim().parse().unwrap() }
    }
}

fn reply(turn: &Value) -> Reply {
    let call = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["arguments"].clone());
    let calls: Vec<(String, Value)> = match (&turn["call"], &turn["calls"]) {
        (Value::Null, Value::Null) => match &turn["done"] {
            Value::Null => return Reply::says(turn["say"].as_str().unwrap()),
            result => vec![("complete_task".to_owned(), json!({ "result": result }))],
        },
        (Value::Null, calls) => calls.as_array().unwrap().iter().map(call).collect(),
        (single, _) => vec![call(single)],
    };
    let chunks = turn["text"].as_str().map(str::to_owned).into_iter().collect();
    Reply::Says { chunks, thought: None, calls, finish: FinishReason::Stop }
}

/// In place of every text what `change` makes of it.
fn changed(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => json!(change(text)),
        Value::Array(items) => items.iter().map(|item| changed(item, change)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (change(key), changed(item, change))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn toml(rule: &Value) -> String {
    let line = |(key, value): (&String, &Value)| format!("{key} = {value}\n");
    let lines: String = rule.as_object().unwrap().iter().map(line).collect();
    format!("[[rule]]\n{lines}\n")
}

impl Scene {
    fn set(case: &Value) -> Scene {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let house = House::in_folder(folder).file("in.txt", "alpha\n");
        let mut house = house.file("secret.txt", "the launch word is HUNTER2\n");
        let home = house.dir.path().canonicalize().unwrap();
        let work = home.join("work");
        let place = case["place"].as_str().unwrap();
        let is_of_project = ["project", "agent", "codex"].contains(&place);
        // What a server of the Model Context Protocol writes lies in the workspace, too.
        let is_kept_inside = is_of_project || case["mcp"] == true;
        let record = if is_kept_inside { work.join(".record") } else { home.join("record") };
        let outside = home.join("outside");
        [&record, &outside].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hooks/table/scripts");
        let is_inside = is_of_project || case["scriptsIn"] == "workspace";
        let scripts = if is_inside { work.join(".claude/hooks") } else { home.join("scripts") };
        fs::create_dir_all(&scripts).unwrap();
        for entry in fs::read_dir(&given).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), scripts.join(entry.file_name())).unwrap();
        }
        for name in case["copyScripts"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            fs::create_dir_all(work.join(".claude/hooks")).unwrap();
            fs::copy(given.join(name), work.join(".claude/hooks").join(name)).unwrap();
        }
        let server = (case["http"] == true).then(|| HookServer::start(&record));
        let file_of = |place: &str, file: &Value| match place {
            "user" => home.join("settings.json"),
            "system" => home.join("system.json"),
            "claude-home" => home.join(".claude/settings.json"),
            "codex" => work.join(".codex/hooks.json"),
            _ => work.join(file.as_str().unwrap_or(".claude/settings.json")),
        };
        let settings_file = file_of(place, &case["file"]);
        let port = server.as_ref().map_or(0, |server| server.port);
        let fill = |text: &str| {
            let text = text
                .replace("{workspace}", work.to_str().unwrap())
                .replace("{outside}", outside.to_str().unwrap())
                .replace("{record}", record.to_str().unwrap())
                .replace("{settingsFile}", settings_file.to_str().unwrap())
                .replace("{scripts}", scripts.to_str().unwrap())
                .replace("{http}", &format!("http://127.0.0.1:{port}"))
                .replace("{socket}", home.join("own.sock").to_str().unwrap());
            let named = format!("{}/", scripts.display());
            let is_path =
                |before: Option<char>| before.is_some_and(|it| it.is_alphanumeric() || "/.$}\"".contains(it));
            let mut filled = String::new();
            let mut rest = text.as_str();
            while let Some(at) = rest.find("scripts/") {
                filled.push_str(&rest[..at]);
                match is_path(rest[..at].chars().last()) {
                    true => filled.push_str("scripts/"),
                    false => filled.push_str(&named),
                }
                rest = &rest[at + "scripts/".len()..];
            }
            filled + rest
        };
        let case = changed(case, &fill);
        // Settings of all places.
        let mut files: BTreeMap<PathBuf, Value> = BTreeMap::new();
        let mut put = |file: PathBuf, hooks: &Value, rest: &Value| {
            let settings = files.entry(file).or_insert_with(|| json!({}));
            if !hooks.is_null() {
                settings["hooks"] = hooks.clone();
            }
            for (key, value) in rest.as_object().into_iter().flatten() {
                settings[key] = value.clone();
            }
        };
        if place != "agent" {
            put(settings_file, &case["settings"], &Value::Null);
        }
        for also in case["also"].as_array().into_iter().flatten() {
            put(file_of(also["place"].as_str().unwrap(), &also["file"]), &also["settings"], &also["rest"]);
        }
        put(home.join("settings.json"), &Value::Null, &case["settingsExtra"]);
        if case["mcp"] == true {
            let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hooks/table/mini_mcp.py");
            let mini = json!({ "command": "python3", "args": [server, record], "trust": true });
            put(home.join("settings.json"), &Value::Null, &json!({ "mcpServers": { "mini": mini } }));
        }
        if case["small"].is_array() {
            put(home.join("settings.json"), &Value::Null, &json!({ "models": { "small": "small" } }));
        }
        let user = files.get_mut(&home.join("settings.json")).unwrap();
        for (key, value) in case["hooksExtra"].as_object().into_iter().flatten() {
            user["hooks"][key] = value.clone();
        }
        for (file, settings) in files {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, settings.to_string()).unwrap();
        }
        for (path, text) in case["workspace"].as_object().into_iter().flatten() {
            house = house.file(path, text.as_str().unwrap());
        }
        let rules = case["policy"]["rules"].as_array().into_iter().flatten().map(toml);
        house = house.rules("all", &rules.collect::<String>());
        let turns: Vec<Reply> = case["replay"].as_array().into_iter().flatten().map(reply).collect();
        let has_helper = case["children"].is_object();
        let tools = |more: &[&str]| format!("[{}]", [TOOLS, more].concat().join(", "));
        let hooked_agent = case["agent"].as_str().unwrap_or("worker");
        let agent = |name: &str, tools: String| {
            let hooks = match place == "agent" && name == hooked_agent {
                true => format!("hooks: {}\n", case["settings"]),
                false => String::new(),
            };
            format!(
                "---\nkind: agent\nname: {name}\ndescription: Helps.\ntools: {tools}\n{hooks}---\nYou work.\n"
            )
        };
        let more: &[&str] = match (has_helper, case["mcp"] == true) {
            (true, _) => &["helper"],
            (false, true) => &["\"mcp.mini.*\""],
            (false, false) => &[],
        };
        house = house.agent("worker", &agent("worker", tools(more)));
        let model = if has_helper {
            house = house.agent("helper", &agent("helper", tools(&[])));
            let of_helper: Vec<Reply> =
                case["children"]["helper"][0].as_array().unwrap().iter().map(reply).collect();
            let cast = Cast::new([("worker", turns), ("worker/helper", of_helper)]);
            house = house.model("script", &cast);
            Player::WithHelper(cast)
        } else {
            let player = ScenePlayer {
                n_turns: Arc::new(Mutex::new(turns.len())),
                turns: Script::new(turns),
                utility: Script::new(says(&case["utility"])),
            };
            house = house.model("script", &player);
            Player::Alone(player)
        };
        if case["small"].is_array() {
            house = house.model("small", &Script::new(says(&case["small"])));
        }
        for (name, value) in case["daemonEnvironment"].as_object().into_iter().flatten() {
            house.sources.environment.push((name.into(), value.as_str().unwrap().into()));
        }
        house.config = DaemonConfig::load(&house.sources).0;
        Scene { case, house, model, record, outside, server }
    }

    /// Plays it; what is not as it must be.
    async fn play(self) -> Vec<String> {
        let Scene { case, house, model, record, outside, server } = &self;
        let running = house.boot().await;
        let mut client = running.client();
        let me = json!({ "name": "person", "version": "1", "kind": "cli" });
        let able = json!({ "confirmations": {} });
        let hello =
            json!({ "protocolVersion": "2", "client": me, "clientId": "person", "capabilities": able });
        client.call("initialize", hello).await;
        if case["acknowledged"] != false {
            acknowledge(&mut client, &running).await;
        }
        for step in case["before"].as_array().into_iter().flatten() {
            if let Some(file) = step["remove"].as_str() {
                fs::remove_file(file).unwrap();
            } else if step["acknowledge"] == true {
                acknowledge(&mut client, &running).await;
            } else {
                let file = step["append"]["file"].as_str().unwrap();
                let text = fs::read_to_string(file).unwrap() + step["append"]["text"].as_str().unwrap();
                fs::write(file, text).unwrap();
            }
        }
        let policy = &case["policy"];
        let mut approval = json!({ "headless": policy["headless"] == true });
        if let Some(mode) = policy["mode"].as_str() {
            approval["mode"] = json!(mode);
        }
        let mut more = json!({ "prompt": case["prompt"].as_str().unwrap_or("Do it."), "approval": approval });
        if case["limits"].is_object() {
            more["limits"] = case["limits"].clone();
        }
        if case["mcpPrompt"].is_object() {
            more["serverPrompt"] = case["mcpPrompt"].clone();
            more["prompt"] = Value::Null;
        }
        if case["steps"].is_array() {
            return self.play_steps(running, client).await;
        }
        let clock = SystemClock::new();
        let began = clock.monotonic();
        let (run, _) = client.start(&running, "worker", more).await;
        let expected = &case["expect"];
        let of_person = |asked: &&Value| asked["by"] == "client" || asked["by"].is_null();
        let n_answers = match expected["confirmations"].as_array() {
            Some(asked) => asked.iter().filter(of_person).count(),
            None => usize::MAX,
        };
        for answer in policy["person"].as_array().into_iter().flatten().take(n_answers) {
            answer_next(&mut client, &run, house.dir.path(), answer).await;
        }
        let record_of_run = client.ended(&run).await;
        let took = clock.monotonic().saturating_sub(began);
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        let log = told_all(&running, case).await;
        let seen = Seen {
            case,
            run: &record_of_run,
            log: log
                .iter()
                .filter(|event| event["runId"] == run.as_str() || event["runId"].is_null())
                .collect(),
            all: &log,
            listed: &listed,
            requests: match model {
                Player::Alone(player) => player.turns.requests(),
                Player::WithHelper(cast) => cast.requests("worker"),
            },
            child_requests: match model {
                Player::Alone(_) => Vec::new(),
                Player::WithHelper(cast) => cast.requests("worker/helper"),
            },
            places: (running.work(), outside, record),
            ends: vec![&record_of_run],
            called: None,
            took,
        };
        let wrong = seen.differences();
        running.stop().await;
        let _kept_until_here = server;
        wrong
    }

    /// Plays the steps of one session.
    async fn play_steps(&self, mut running: Running, mut client: Client) -> Vec<String> {
        let Scene { case, house, model, record, outside, .. } = self;
        let Player::Alone(player) = model else { return vec!["steps have no helper".to_owned()] };
        let mut ends: Vec<Value> = Vec::new();
        let mut session: Option<String> = None;
        let mut called = None;
        for step in case["steps"].as_array().unwrap() {
            let of_session = json!({ "sessionId": session });
            if step["run"].is_object() {
                let turns = step["run"]["replay"].as_array().into_iter().flatten().map(reply);
                let turns: Vec<Reply> = turns.collect();
                *player.n_turns.lock().unwrap() = turns.len();
                player.turns.replace(turns);
                let mut more = json!({ "prompt": step["run"]["prompt"].as_str().unwrap_or("Do it.") });
                if let Some(session) = &session {
                    more["sessionId"] = json!(session);
                    more["workspace"] = Value::Null;
                }
                let (run, of) = client.start(&running, "worker", more).await;
                session = Some(of);
                ends.push(client.ended(&run).await);
            } else if step["clear"] == true {
                client.call("session/clear", of_session).await;
            } else if step["compact"] == true {
                client.call("session/compact", of_session).await;
            } else if step["close"] == true {
                client.call("session/close", of_session).await;
            } else if step["restart"] == "stop" {
                running.stop().await;
                running = house.boot().await;
                client = running.client();
            } else {
                let call = &step["toolsCall"];
                let created = client.call("session/create", json!({ "workspace": running.work() })).await;
                let params = json!({
                    "sessionId": created["sessionId"], "tool": call["tool"], "arguments": call["arguments"],
                });
                called = Some(client.call("tools/call", params).await);
            }
        }
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        let log = told_all(&running, case).await;
        let seen = Seen {
            case,
            run: ends.last().unwrap_or(&Value::Null),
            log: log.iter().collect(),
            all: &log,
            listed: &listed,
            requests: player.turns.requests(),
            child_requests: Vec::new(),
            places: (running.work(), outside, record),
            ends: ends.iter().collect(),
            called: called.as_ref(),
            took: std::time::Duration::ZERO,
        };
        let wrong = seen.differences();
        running.stop().await;
        wrong
    }
}

/// The log, once hooks that are told of what has happened have been: they are not waited for by anybody else.
async fn told_all(running: &Running, case: &Value) -> Vec<Value> {
    let wanted: Vec<(&str, u64)> = case["expect"]["hooks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["event"].as_str()?, it["count"].as_u64().or(it["min"].as_u64())?)))
        .filter(|(event, _)| AFTERWARDS.contains(event))
        .collect();
    let asking = async {
        loop {
            let log = running.log().await;
            let fired = |name: &str| log.iter().filter(|event| event["data"]["event"] == name).count() as u64;
            let is_named = case["expect"]["sessionTitle"].is_null()
                || log.iter().any(|it| it["type"] == "session.updated");
            if is_named && wanted.iter().all(|(event, count)| *count <= fired(event)) && is_told(case, &log) {
                return log;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(STUCK, asking).await.expect("hooks are not told of what has happened")
}

/// Events of which hooks are told while whoever caused them goes on.
const AFTERWARDS: &[&str] =
    &["Notification", "StopFailure", "PostCompact", "InstructionsLoaded", "SessionEnd"];

/// True if every hook of which something must have been kept has been told.
fn is_told(case: &Value, log: &[Value]) -> bool {
    let counted = case["expect"]["stdinCount"].as_object().into_iter().flatten();
    let kept = case["expect"]["stdin"].as_array().into_iter().flatten();
    let means =
        |name: &str| if name == "ToolNotification" { "Notification".to_owned() } else { name.to_owned() };
    let wanted = counted
        .filter_map(|(event, count)| Some((means(event), count.as_u64()?)))
        .chain(kept.filter_map(|it| Some((means(it["event"].as_str()?), it["n"].as_u64()?))));
    wanted.filter(|(event, _)| AFTERWARDS.contains(&event.as_str())).all(|(event, count)| {
        count <= log.iter().filter(|it| it["data"]["event"] == event.as_str()).count() as u64
    })
}

/// Replies that are these texts; one that is never asked for stands where there are none.
fn says(texts: &Value) -> Vec<Reply> {
    match texts.as_array() {
        Some(texts) => texts.iter().map(|text| Reply::says(text.as_str().unwrap())).collect(),
        None => vec![Reply::says("nothing")],
    }
}

async fn acknowledge(client: &mut crate::support::Client, running: &Running) {
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let files = opened["workspace"]["files"].as_array().cloned().unwrap_or_default();
    let files: Vec<Value> =
        files.iter().map(|file| json!({ "path": file["path"], "digest": file["digest"] })).collect();
    let params = json!({ "workspace": running.work(), "trusted": true, "files": files });
    client.call("workspace/trust", params).await;
}

/// Gives the next answer; a run that ends instead is left alone.
async fn answer_next(client: &mut Client, run: &str, home: &Path, answer: &Value) {
    loop {
        let asked = client.call("confirmation/list", json!({ "runId": run })).await;
        let question = &asked["confirmations"][0];
        if question.is_object() {
            let mut params =
                json!({ "confirmationId": question["confirmationId"], "digest": question["digest"] });
            let answer = do_meanwhile(client, run, home, answer).await;
            if answer["cancel"] == true {
                client.call("run/cancel", json!({ "runId": run })).await;
                return;
            }
            match answer {
                Value::String(outcome) => params["outcome"] = json!(outcome),
                other if other["modify"].is_object() => {
                    params["outcome"] = json!("modify");
                    params["arguments"] = other["modify"]["arguments"].clone();
                }
                other => {
                    params["outcome"] = json!("answer");
                    params["answers"] = match &other["answers"] {
                        Value::Object(fields) => fields.values().cloned().collect(),
                        listed => listed.clone(),
                    };
                }
            }
            if answer == "deny" {
                params["message"] = json!("no");
            }
            client.call("confirmation/respond", params).await;
            return;
        }
        if client.call("run/get", json!({ "runId": run })).await["state"] == "ended" {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Does what is to be done while the question is open; the answer that follows.
async fn do_meanwhile<'a>(client: &mut Client, run: &str, home: &Path, answer: &'a Value) -> &'a Value {
    if let Some(text) = answer["steer"].as_str() {
        client.call("run/steer", json!({ "runId": run, "text": text })).await;
    }
    for step in answer["do"].as_array().into_iter().flatten() {
        if step["settings"].is_object() {
            let file = home.join("settings.json");
            let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            settings["hooks"] = step["settings"].clone();
            fs::write(file, settings.to_string()).unwrap();
        } else {
            client.call("daemon/reload", json!({})).await;
        }
    }
    if answer["then"].is_null() { answer } else { &answer["then"] }
}

/// Everything that a case may speak of.
struct Seen<'a> {
    case: &'a Value,
    run: &'a Value,
    /// Of the root run.
    log: Vec<&'a Value>,
    all: &'a [Value],
    listed: &'a Value,
    requests: Vec<ModelRequest>,
    child_requests: Vec<ModelRequest>,
    /// Records of all runs, in their order.
    ends: Vec<&'a Value>,
    /// The answer to a client's own call.
    called: Option<&'a Value>,
    /// From the run's start to its end.
    took: std::time::Duration,
    /// Workspace, outside, record.
    places: (&'a Path, &'a Path, &'a Path),
}

impl Seen<'_> {
    fn differences(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, expected) in self.case["expect"].as_object().unwrap() {
            match key.as_str() {
                "run" => self.run(expected, &mut wrong),
                "calls" => self.calls(expected, &mut wrong),
                "hooks" => self.hooks(expected, &mut wrong),
                "runs" => self.runs(expected, &mut wrong),
                "told" => told(&self.requests, expected, &mut wrong),
                "childTold" => told(&self.child_requests, &expected["helper"], &mut wrong),
                "declared" => self.declared(expected, &mut wrong),
                "wire" => self.wire(expected, &mut wrong),
                "events" => self.events(expected, &mut wrong),
                "childRuns" => self.child_runs(expected, &mut wrong),
                "anywhereInHistory" => self.history(expected, &mut wrong),
                "toolsCall" => {
                    let error = self.called.map(|called| called.to_string()).unwrap_or_default();
                    if !error.contains(expected["error"].as_str().unwrap()) {
                        wrong.push(format!("the call came to {error}, not {expected}"));
                    }
                }
                "closed" => {
                    if !self.all.iter().any(|event| event["type"] == "session.closed") {
                        wrong.push("the session is not closed".to_owned());
                    }
                }
                "files" => files(expected, self.places.0, &mut wrong),
                "outside" => files(expected, self.places.1, &mut wrong),
                "record" => files(expected, self.places.2, &mut wrong),
                "confirmations" => self.confirmations(expected, &mut wrong),
                "stdin" => self.stdin(expected, &mut wrong),
                "stdinCount" => self.stdin_count(expected, &mut wrong),
                "requests" if *expected != json!(self.requests.len()) => {
                    wrong.push(format!("{} requests, not {expected}", self.requests.len()));
                }
                "sessionTitle" => {
                    let titles = self.all.iter().filter(|event| event["type"] == "session.updated");
                    if titles.map(|event| &event["data"]["title"]).next_back() != Some(expected) {
                        wrong.push(format!("the session has not the title {expected}"));
                    }
                }
                "warnings" => self.warnings(expected, &mut wrong),
                "warningsAtLoad" => self.warnings_at_load(expected, &mut wrong),
                "list" => self.list(expected, &mut wrong),
                "within" if expected.as_u64().unwrap() < self.took.as_secs() => {
                    wrong.push(format!("it took {:?}, not {expected} s", self.took));
                }
                "processesLeft" => self.left(expected, &mut wrong),
                // Seen above; of a process that all cases share; of cases that are not played; looked at with `calls`.
                "within" | "requests" | "daemonGrowsAtMostMiB" | "sameIn" | "callsOf" => (),
                other => wrong.push(format!("nobody looks at `{other}`")),
            }
        }
        wrong
    }

    fn run(&self, expected: &Value, wrong: &mut Vec<String>) {
        let end = self.log.iter().find(|event| event["type"] == "run.completed").map(|event| &event["data"]);
        let end = end.unwrap_or(&Value::Null);
        let message = format!("{} {}", end["message"], end["error"]["message"]);
        for (key, value) in expected.as_object().unwrap() {
            let is_so = match key.as_str() {
                "reason" => end["reason"] == *value,
                "reasonNot" => end["reason"] != *value,
                "code" => end["error"]["code"] == *value,
                "message" => {
                    value.as_array().unwrap().iter().all(|text| message.contains(text.as_str().unwrap()))
                }
                "result" => self.run["result"] == *value,
                "resultContains" => self.run["result"].to_string().contains(value.as_str().unwrap()),
                "resultLacks" => !self.run["result"].to_string().contains(value.as_str().unwrap()),
                "recovered" => end["recovered"].as_bool().unwrap_or(false) == value.as_bool().unwrap(),
                "recoveredFrom" => end["recoveredFrom"] == *value,
                _ => false,
            };
            if !is_so {
                let code = &end["error"]["code"];
                wrong.push(format!("run.{key} is not {value}: {} {code} {message}", end["reason"]));
            }
        }
    }

    fn calls(&self, expected: &Value, wrong: &mut Vec<String>) {
        let mut calls: Vec<(String, Value)> = Vec::new();
        for event in self.log.iter().filter(|event| event["type"] == "tool.state") {
            let data = &event["data"];
            let (id, name) = (data["callId"].as_str().unwrap(), data["name"].as_str().unwrap());
            let is_another = self.case["expect"]["callsOf"].as_str().is_some_and(|only| only != name);
            if name == "complete_task" || name == "helper" || name == "mcp.mini.ask" || is_another {
                continue;
            }
            let at = calls.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
                calls.push((id.to_owned(), json!({ "tool": name, "ran": false, "error": null })));
                calls.len() - 1
            });
            let call = &mut calls[at].1;
            if data["to"] == "executing" {
                call["ran"] = json!(true);
            }
            for (key, value) in [("arguments", &data["arguments"]), ("error", &data["error"]["type"])] {
                if !value.is_null() {
                    call[key] = value.clone();
                }
            }
        }
        let expected = expected.as_array().unwrap();
        if calls.len() != expected.len() {
            wrong.push(format!("{} calls, not {}: {calls:?}", calls.len(), expected.len()));
        }
        for ((_, call), expected) in calls.iter().zip(expected) {
            for (key, value) in expected.as_object().unwrap() {
                let is_so = match key.as_str() {
                    "arguments" => self.has_arguments(&call["arguments"], value),
                    "tail" => true,
                    key => call[key] == *value,
                };
                if !is_so {
                    wrong.push(format!("call {key} is not {value}: {call}"));
                }
            }
        }
    }

    fn has_arguments(&self, found: &Value, expected: &Value) -> bool {
        let resolved = |value: &Value| match value.as_str() {
            Some(text) if !text.starts_with('/') => json!(self.places.0.join(text)),
            _ => value.clone(),
        };
        expected.as_object().unwrap().iter().all(|(key, value)| match key.as_str() {
            "path" => resolved(&found[key]) == resolved(value),
            _ => found[key] == *value,
        })
    }

    fn hooks(&self, expected: &Value, wrong: &mut Vec<String>) {
        let means = |name: &str| match name {
            "BeforeTool" => vec!["PreToolUse".to_owned()],
            "AfterTool" => vec!["PostToolUse".to_owned(), "PostToolUseFailure".to_owned()],
            other => vec![other.to_owned()],
        };
        for expected in expected.as_array().unwrap() {
            let events = means(expected["event"].as_str().unwrap());
            let is_meant = |event: &&Value| {
                event["type"] == "hook.fired"
                    && events.iter().any(|name| event["data"]["event"] == name.as_str())
            };
            let fired: Vec<&Value> = self.all.iter().filter(is_meant).map(|event| &event["data"]).collect();
            let holds = |data: &Value, key: &str, value: &Value| match key {
                "outcome" => (data["outcome"] == "answered") == (value == "ok"),
                "changed" => data["changed"].as_bool().unwrap_or(false) == value.as_bool().unwrap(),
                "stderr" => data["stderr"].as_str().unwrap_or_default().contains(value.as_str().unwrap()),
                "stderrAtMostBytes" => {
                    data["stderr"].as_str().unwrap_or_default().len() as u64 <= value.as_u64().unwrap()
                }
                "hasKeys" => {
                    value.as_array().unwrap().iter().all(|key| data.get(key.as_str().unwrap()).is_some())
                }
                key => data[key] == *value,
            };
            let count = fired.len() as u64;
            for (key, value) in expected.as_object().unwrap() {
                let is_so = match key.as_str() {
                    "event" => true,
                    "count" => count == value.as_u64().unwrap(),
                    "min" => value.as_u64().unwrap() <= count,
                    "max" => count <= value.as_u64().unwrap(),
                    key => fired.iter().any(|data| holds(data, key, value)),
                };
                if !is_so {
                    wrong.push(format!("hooks {events:?} {key} is not {value}: {fired:?}"));
                }
            }
        }
    }

    /// Processes that hooks of this case have left behind, once those that are being ended have had their time.
    fn left(&self, expected: &Value, wrong: &mut Vec<String>) {
        let home = self.places.0.parent().unwrap();
        let is_there = |text: &str| {
            let processes = fs::read_dir("/proc").unwrap().filter_map(|it| Some(it.ok()?.path()));
            processes.filter(|path| path.join("cmdline").exists()).any(|path| {
                let line = fs::read(path.join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                let cwd = fs::read_link(path.join("cwd")).unwrap_or_default();
                line.contains(text) && cwd.starts_with(home)
            })
        };
        for text in expected.as_array().unwrap().iter().map(|it| it.as_str().unwrap()) {
            let clock = SystemClock::new();
            let until = clock.monotonic() + std::time::Duration::from_secs(10);
            while is_there(text) && clock.monotonic() < until {
                std::thread::yield_now();
            }
            if is_there(text) {
                wrong.push(format!("{text} is left"));
            }
        }
    }

    fn runs(&self, expected: &Value, wrong: &mut Vec<String>) {
        let ends: Vec<&Value> = self
            .all
            .iter()
            .filter(|event| event["type"] == "run.completed")
            .map(|event| &event["data"])
            .collect();
        for (record, expected) in self.ends.iter().zip(expected.as_array().unwrap()) {
            if !ended_as(record, expected) {
                wrong.push(format!("a run is not {expected}: {record}"));
            }
        }
        if self.ends.len() != expected.as_array().unwrap().len() {
            wrong.push(format!("{} runs: {ends:?}", self.ends.len()));
        }
    }

    fn child_runs(&self, expected: &Value, wrong: &mut Vec<String>) {
        let is_of_child =
            |event: &&Value| event["type"] == "run.completed" && !event["parentRunId"].is_null();
        let ends: Vec<&Value> = self.all.iter().filter(is_of_child).map(|event| &event["data"]).collect();
        let expected = expected["helper"].as_array().unwrap();
        if ends.len() != expected.len() || !ends.iter().zip(expected).all(|(end, it)| ended_as(end, it)) {
            wrong.push(format!("children ended {ends:?}, not {expected:?}"));
        }
    }

    fn declared(&self, expected: &Value, wrong: &mut Vec<String>) {
        for (n, expected) in expected.as_object().unwrap() {
            let request = self.requests.get(n.parse::<usize>().unwrap() - 1);
            let names: Vec<&str> =
                request.iter().flat_map(|it| it.tools.iter()).map(|tool| tool.name.as_str()).collect();
            let texts = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
            let missing = texts("contains").into_iter().filter(|it| !names.contains(&it.as_str().unwrap()));
            let there = texts("lacks").into_iter().filter(|it| names.contains(&it.as_str().unwrap()));
            wrong.extend(missing.chain(there).map(|it| format!("request {n}: {it} among {names:?}")));
        }
    }

    fn wire(&self, expected: &Value, wrong: &mut Vec<String>) {
        for (n, expected) in expected.as_object().unwrap() {
            let request = self.requests.get(n.parse::<usize>().unwrap() - 1);
            let sent = json!(request.map(|request| request.sampling));
            let is_so = expected.as_object().unwrap().iter().all(|(key, value)| sent[key] == *value);
            if !is_so {
                wrong.push(format!("request {n} is sent with {sent}, not {expected}"));
            }
        }
    }

    fn events(&self, expected: &Value, wrong: &mut Vec<String>) {
        for (kind, count) in expected.as_object().unwrap() {
            let is_meant = |event: &&Value| {
                // What came to nothing is no compression.
                event["type"] == kind.as_str()
                    && (kind != "context.compressed" || event["data"]["status"] == "COMPRESSED")
            };
            let found = self.all.iter().filter(is_meant).count();
            if json!(found) != *count {
                wrong.push(format!("{found} events {kind}, not {count}"));
            }
        }
    }

    fn history(&self, expected: &Value, wrong: &mut Vec<String>) {
        let text = json!(self.all).to_string();
        for it in expected["lacks"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap()) {
            if text.contains(it) {
                wrong.push(format!("the log has {it}"));
            }
        }
    }

    fn confirmations(&self, expected: &Value, wrong: &mut Vec<String>) {
        let resolved = self.all.iter().filter(|event| event["type"] == "confirmation.resolved");
        let resolved: Vec<&Value> = resolved.map(|event| &event["data"]).collect();
        let expected = expected.as_array().unwrap();
        if resolved.len() != expected.len() {
            wrong.push(format!("{} questions, not {}: {resolved:?}", resolved.len(), expected.len()));
        }
        for (data, expected) in resolved.iter().zip(expected) {
            for key in ["by", "outcome"] {
                if !expected[key].is_null() && data[key] != expected[key] {
                    wrong.push(format!("answered {key} {}, not {}", data[key], expected[key]));
                }
            }
        }
    }

    fn stdin(&self, expected: &Value, wrong: &mut Vec<String>) {
        for expected in expected.as_array().unwrap() {
            let name = format!("{}-{}.json", expected["event"].as_str().unwrap(), expected["n"]);
            let Ok(text) = fs::read_to_string(self.places.2.join(&name)) else {
                wrong.push(format!("nobody kept {name}"));
                continue;
            };
            let read: Value = serde_json::from_str(&text).unwrap();
            let at = |path: &str| read.pointer(&format!("/{}", path.replace('.', "/"))).cloned();
            for (path, value) in expected["has"].as_object().into_iter().flatten() {
                if at(path).as_ref() != Some(value) {
                    wrong.push(format!("{name}: {path} is {:?}, not {value}", at(path)));
                }
            }
            let keys = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
            let missing = keys("hasKeys").into_iter().filter(|it| at(it.as_str().unwrap()).is_none());
            wrong.extend(missing.map(|it| format!("{name} has no {it}: {read}")));
            let there = keys("lacks").into_iter().filter(|it| at(it.as_str().unwrap()).is_some());
            wrong.extend(there.map(|it| format!("{name} has {it}")));
            for (key, found) in [("keysExactly", &read), ("inputKeysExactly", &read["tool_input"])] {
                let mut wanted = keys(key);
                let mut found: Vec<Value> =
                    found.as_object().into_iter().flatten().map(|it| json!(it.0)).collect();
                wanted.sort_by_key(Value::to_string);
                found.sort_by_key(Value::to_string);
                if !expected[key].is_null() && wanted != found {
                    wrong.push(format!("{name}: keys {found:?}, not {wanted:?}"));
                }
            }
            if expected["lines"] == 1 && text.trim_end_matches('\n').contains('\n') {
                wrong.push(format!("{name} has several lines"));
            }
        }
    }

    fn stdin_count(&self, expected: &Value, wrong: &mut Vec<String>) {
        for (event, count) in expected.as_object().unwrap() {
            let entries = fs::read_dir(self.places.2).unwrap().map(|it| it.unwrap().file_name());
            let of_event =
                |name: &std::ffi::OsString| name.to_string_lossy().starts_with(&format!("{event}-"));
            let found = entries.filter(of_event).count();
            if json!(found) != *count {
                wrong.push(format!("{event} was kept {found} times, not {count}"));
            }
        }
    }

    fn warnings(&self, expected: &Value, wrong: &mut Vec<String>) {
        let warnings = self.all.iter().filter(|event| event["type"] == "warning");
        let texts: Vec<&str> = warnings.filter_map(|event| event["data"]["message"].as_str()).collect();
        self.has_texts("warnings", &texts, expected, wrong);
    }

    fn warnings_at_load(&self, expected: &Value, wrong: &mut Vec<String>) {
        let problems = self.listed["problems"].to_string();
        let texts: Vec<&str> = problems.split("\"message\"").skip(1).collect();
        self.has_texts("warnings at load", &texts, expected, wrong);
    }

    fn has_texts(&self, what: &str, texts: &[&str], expected: &Value, wrong: &mut Vec<String>) {
        for text in expected["contains"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap()) {
            if !texts.iter().any(|it| it.contains(text)) {
                wrong.push(format!("{what} lack {text:?}: {texts:?}"));
            }
        }
        if (texts.len() as u64) < expected["min"].as_u64().unwrap_or(0) {
            wrong.push(format!("{} {what}: {texts:?}", texts.len()));
        }
    }

    fn list(&self, expected: &Value, wrong: &mut Vec<String>) {
        let hooks = self.listed["hooks"].as_array().unwrap();
        for expected in expected.as_array().unwrap() {
            let is_so =
                |hook: &&Value| hook["event"] == expected["event"] && hook["state"] == expected["state"];
            if !hooks.iter().any(|hook| is_so(&hook)) {
                wrong.push(format!("no hook is listed as {expected}: {hooks:?}"));
            }
        }
    }
}

/// True if a run ended as expected.
fn ended_as(end: &Value, expected: &Value) -> bool {
    let message = format!("{} {}", end["message"], end["error"]["message"]);
    expected.as_object().unwrap().iter().all(|(key, value)| match key.as_str() {
        "reason" => end["reason"] == *value || end["endReason"] == *value,
        "code" => end["error"]["code"] == *value,
        "message" => value.as_array().unwrap().iter().all(|text| message.contains(text.as_str().unwrap())),
        "result" => end["result"] == *value,
        _ => false,
    })
}

fn told(requests: &[ModelRequest], expected: &Value, wrong: &mut Vec<String>) {
    for (n, expected) in expected.as_object().unwrap() {
        let at: usize = n.parse().unwrap();
        let Some(request) = requests.get(at - 1) else {
            wrong.push(format!("there is no request {n}"));
            continue;
        };
        let text = text_of(request);
        let texts = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
        let missing = texts("contains").into_iter().filter(|it| !text.contains(it.as_str().unwrap()));
        wrong.extend(missing.map(|it| format!("request {n} lacks {it}: {}", tail(&text))));
        let there = texts("lacks").into_iter().filter(|it| text.contains(it.as_str().unwrap()));
        wrong.extend(there.map(|it| format!("request {n} has {it}")));
        let mut from = 0;
        for it in texts("order") {
            match text[from..].find(it.as_str().unwrap()) {
                Some(at) => from += at,
                None => wrong.push(format!("request {n} has {it} not in its place")),
            }
        }
    }
}

fn tail(text: &str) -> &str {
    let at = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
    &text[at..]
}

fn text_of(request: &ModelRequest) -> String {
    let mut text = request.system.to_string();
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        match part {
            MessagePart::ToolResult { parts, .. } => {
                parts.iter().filter_map(MessagePart::as_text).for_each(|it| text.push_str(it));
            }
            other => text.push_str(other.as_text().unwrap_or_default()),
        }
        text.push('\n');
    }
    text
}

/// Files below a folder; null = it is not there.
fn files(expected: &Value, folder: &Path, wrong: &mut Vec<String>) {
    for (path, expected) in expected.as_object().unwrap() {
        let found = fs::read_to_string(folder.join(path)).ok();
        let is_so = match (expected, &found) {
            (Value::Null, found) => found.is_none(),
            (Value::String(text), Some(found)) => found == text,
            (Value::Object(facts), Some(found)) => {
                facts.iter().all(|(key, value)| is_fact(key, value, found))
            }
            (Value::Object(facts), None) => facts.get("mayBeMissing") == Some(&json!(true)),
            _ => false,
        };
        if !is_so {
            wrong.push(format!("file {path} is {found:?}, not {expected}"));
        }
    }
}

fn is_fact(key: &str, value: &Value, found: &str) -> bool {
    let texts = || value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    match key {
        "contains" => texts().iter().all(|it| found.contains(it.as_str().unwrap())),
        "lacks" => texts().iter().all(|it| !found.contains(it.as_str().unwrap())),
        "text" => found == value.as_str().unwrap(),
        "everyLineIsJson" => found.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "lines" => {
            let mut lines: Vec<Value> = found.lines().map(|line| json!(line)).collect();
            lines.sort_by_key(Value::to_string);
            let mut wanted = texts();
            wanted.sort_by_key(Value::to_string);
            lines == wanted
        }
        "has" => {
            let found: Value = serde_json::from_str(found).unwrap_or_default();
            let at = |path: &str| found.pointer(&format!("/{}", path.replace('.', "/"))).cloned();
            value.as_object().unwrap().iter().all(|(path, value)| at(path).as_ref() == Some(value))
        }
        "anyOrder" | "json" | "mayBeMissing" => true,
        _ => false,
    }
}

/// Why a case cannot be played.
fn hindrance(case: &Value) -> Option<String> {
    let scene = SCENES.iter().find(|key| !case[**key].is_null());
    scene.map(|key| format!("scene {key}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_the_table_comes_out_as_the_specification_says() {
    let only = std::env::var("SUBAGENTD_CASE").ok();
    let cases: Vec<Value> = CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let name = |case: &Value| case["name"].as_str().unwrap().to_owned();
    let mut unplayed: BTreeMap<String, u32> = BTreeMap::new();
    let mut played = Vec::new();
    for case in cases.iter().filter(|case| only.as_ref().is_none_or(|only| name(case) == *only)) {
        match hindrance(case) {
            Some(why) => *unplayed.entry(why).or_default() += 1,
            None => played.push(case.clone()),
        }
    }
    let n_played = played.len();
    let trying = played.into_iter().map(|case| async move {
        let scene = tokio::task::spawn_blocking({
            let case = case.clone();
            move || Scene::set(&case)
        });
        let playing = async move { scene.await.unwrap().play().await };
        let mut trial = tokio::task::JoinSet::new();
        trial.spawn(tokio::time::timeout(STUCK, playing));
        let wrong = match trial.join_next().await.unwrap() {
            Ok(Ok(wrong)) => wrong,
            Ok(Err(_)) => vec!["it never ends".to_owned()],
            Err(error) => vec![format!("it panicked: {error}")],
        };
        (case["name"].as_str().unwrap().to_owned(), wrong)
    });
    let ends: Vec<(String, Vec<String>)> = stream::iter(trying).buffer_unordered(AT_ONCE).collect().await;
    let differing: BTreeMap<&str, &str> = DIFFERING.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, found) in ends {
        match (found.is_empty(), differing.get(name.as_str())) {
            (true, Some(why)) => wrong.push(format!("{name}: as it must be now, not as {why:?} says")),
            (false, None) => wrong.push(format!("{name}:\n    {}", found.join("\n    "))),
            _ => (),
        }
    }
    eprintln!("{n_played} cases; not played: {unplayed:?}");
    wrong.sort();
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}
