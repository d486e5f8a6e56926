//! Twenty planted secrets are nowhere in the database, in events and in the log (spec 10, "Redaction"), whichever way
//! they come in; and what a tool is run with is still what the model meant.
//!
//! Known and accepted: the paths of workspace roots and the file names of `replay:` models are kept as they are, since
//! a run cannot go on after a restart without them. No secret is planted there. Nor is one planted where only a part of it
//! reaches the redactor, or a writing of it that only values of the environment are known in: in single
//! lines of a secret of several, in a shape within base64, e.g. of a path with breaks.

use std::sync::{Arc, Mutex};

use futures_util::{future::BoxFuture, stream::BoxStream};
use planted::{Search, everything, file_names, redactor};
use serde_json::{Value, json};
use subagentd::{
    models::{LanguageModel, ModelError, ModelEvent, ModelRequest, ReplyPart},
    protocol::{
        CallLocation, FinishReason, MessagePart, ReplaySafety, ResourceAccess, Risk, RunErrorCode,
        ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
    },
    redact::Redactor,
    tools::{CallContext, Invocation, Permit, PrepareContext, Tool},
};
use tokio::{sync::mpsc, time::timeout};

use crate::{
    laws::{self, Attached, Deltas},
    support::{Client, House, Reply, Running, STUCK, Script},
};

mod everywhere;
mod planted;
mod programs;

/// Tells what it is run with, and answers with the same in every field there is.
struct Parrot {
    declaration: ToolDeclaration,
    heard: mpsc::UnboundedSender<Value>,
}

impl Parrot {
    fn new() -> (Parrot, mpsc::UnboundedReceiver<Value>) {
        let (heard, hears) = mpsc::unbounded_channel();
        let declaration = ToolDeclaration {
            name: "parrot".into(),
            title: "Parrot".to_owned(),
            description: "Says what it hears.".to_owned(),
            kind: ToolKind::Read,
            risk: Risk::Safe,
            parameters: json!({ "type": "object", "properties": { "say": {}, "do": { "type": "string" } } }),
        };
        (Parrot { declaration, heard }, hears)
    }
}

impl Tool for Parrot {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        ReplaySafety::Safe
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        _: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let said = everything();
        let refused = arguments["do"] == "refuse";
        let accesses = vec![
            ResourceAccess::Read { path: "/".into() },
            ResourceAccess::Opaque { what: arguments["say"].as_str().unwrap_or_default().to_owned() },
        ];
        let invocation = Squawk { arguments, accesses, heard: self.heard.clone() };
        Box::pin(async move {
            match refused {
                true => Err(ToolError { kind: ToolErrorType::InvalidToolParams, message: said }),
                false => Ok(Box::new(invocation) as Box<dyn Invocation>),
            }
        })
    }
}

struct Squawk {
    arguments: Value,
    accesses: Vec<ResourceAccess>,
    heard: mpsc::UnboundedSender<Value>,
}

impl Invocation for Squawk {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        self.arguments.to_string()
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: everything(), line: None }]
    }

    fn run(self: Box<Self>, _: Permit, _: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let Squawk { arguments, heard, .. } = *self;
            heard.send(arguments.clone()).unwrap();
            match arguments["do"].as_str() {
                Some("fail") => ToolResult::failure(ToolErrorType::ExecutionFailed, everything()),
                Some("panic") => panic!("{}", everything()),
                Some("wait") => std::future::pending().await,
                // Secrets across the border of two parts, too.
                _ => {
                    let (before, after) = halves(&everything());
                    ToolResult {
                        llm_content: vec![MessagePart::text(before), MessagePart::text(after)],
                        return_display: Some(everything()),
                        data: Some(json!({ "echo": arguments, everything(): everything() })),
                        ..ToolResult::default()
                    }
                }
            }
        })
    }
}

/// Cut in the middle of one of the secrets.
fn halves(text: &str) -> (String, String) {
    let at = text.find("xoxb-").unwrap() + 9;
    (text[..at].to_owned(), text[at..].to_owned())
}

/// As a model might stream it: in pieces of one to seven characters.
fn chunks(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut chunks = Vec::new();
    let mut from = 0;
    while from < characters.len() {
        let to = (from + 1 + chunks.len() * 5 % 7).min(characters.len());
        chunks.push(characters[from..to].iter().collect());
        from = to;
    }
    chunks
}

fn says(text: &str, calls: &[(&str, Value)], finish: FinishReason) -> Reply {
    Reply::Says {
        chunks: chunks(text),
        thought: Some(format!("**{}**\n{}", file_names().concat(), everything())),
        calls: calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect(),
        finish,
    }
}

/// Scripts by the agent that asks: runs of one tree share a model.
#[derive(Clone, Default)]
struct Cast(Arc<Mutex<Vec<(&'static str, Script)>>>);

impl Cast {
    fn with(self, agent: &'static str, replies: impl Into<Vec<Reply>>) -> Cast {
        self.0.lock().unwrap().push((agent, Script::new(replies)));
        self
    }

    fn script(&self, agent: &str) -> Script {
        self.0.lock().unwrap().iter().find(|(name, _)| *name == agent).unwrap().1.clone()
    }
}

impl LanguageModel for Cast {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let agent = request.path.rsplit('/').next().unwrap().split('#').next().unwrap().to_owned();
        self.script(&agent).stream(request)
    }
}

fn agent(name: &str, fields: &str) -> String {
    format!("---\nkind: agent\nname: {name}\n{fields}\n---\n{}\n", everything())
}

/// A value in YAML, which is JSON as well.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

const LEAD_TOOLS: &str = "tools: [read_file, read_many_files, grep, glob, list_directory, write_todos, parrot, worker, \
                          typed]";

/// All that the lead does with secrets in one turn.
fn lead_calls(work: &std::path::Path) -> Vec<(String, Value)> {
    let all = everything();
    let parroted = |action: &str| json!({ "say": all, "do": action, all.clone(): [all, { "in": all }] });
    let mut calls = vec![
        ("parrot", parroted("speak")),
        ("parrot", parroted("fail")),
        ("parrot", parroted("panic")),
        ("parrot", parroted("refuse")),
        ("parrot", json!({ "say": json!({ "in": all }).to_string() })),
        ("read_file", json!({ "path": "all.txt" })),
        ("read_file", json!({ "path": "all.json" })),
        ("read_many_files", json!({ "include": ["**/*"] })),
        ("read_many_files", json!({ "include": ["cut/*"] })),
        ("grep", json!({ "pattern": "this is", "context": 3 })),
        ("grep", json!({ "pattern": "the end", "include": "*.cut" })),
        ("grep", json!({ "pattern": "cust-471100815423|mq.example.org" })),
        ("list_directory", json!({ "path": "." })),
        ("glob", json!({ "pattern": "**/*" })),
        ("write_todos", json!({ "todos": todos() })),
        ("worker", json!({ "task": format!("{}{all}", ".".repeat(110)), "note": all })),
        ("worker", json!({ "task": format!("{} ghp-{all}", all.lines().collect::<Vec<_>>().join(" ")) })),
        ("typed", json!({ "prompt": all })),
        ("typed", json!({ "prompt": all, all.clone(): all })),
        ("write_todos", json!({ "todos": [{ "text": all, "status": all }] })),
    ];
    let names = file_names();
    calls.extend(names.iter().map(|name| ("read_file", json!({ "path": name }))));
    calls.extend(names.iter().map(|name| ("read_file", json!({ "path": format!("missing/{name}") }))));
    let few = || names.iter().take(3);
    calls.extend(few().map(|name| ("read_file", json!({ "path": work.join(name) }))));
    calls.extend(few().map(|name| ("glob", json!({ "pattern": format!("*{name}*") }))));
    let mut calls: Vec<(String, Value)> =
        calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
    // Tools that there are not.
    calls.extend(planted::secrets().into_iter().map(|secret| (secret.text, json!({}))));
    calls
}

fn todos() -> Value {
    let todo = |secret: planted::Secret| json!({ "text": secret.text, "status": "pending" });
    planted::secrets().into_iter().map(todo).collect()
}

fn house(redactor: Redactor, cast: &Cast) -> (House, mpsc::UnboundedReceiver<Value>) {
    let all = everything();
    let (parrot, heard) = Parrot::new();
    let lead = format!(
        "title: {}\ndescription: {}\ncompletion: tool\n{LEAD_TOOLS}\ninputs:\n  prompt: {{ type: string }}\n  note: {{ type: \
         string, default: {}, description: {} }}\nquery: \"${{prompt}} ${{note}}\"",
        quoted("this is slack: xoxb-1234567890-a3"),
        quoted("Leads."),
        quoted(&all),
        quoted(&all),
    );
    let worker = "description: Works.\ncompletion: tool\ntools: [parrot]\ninputs:\n  task: { type: string }\n  note: { type: \
                  string, required: false }\nquery: \"${task}\"";
    let typed = "description: Types.\ntools: []\noutput:\n  name: report\n  schema: { type: object, required: [text], \
                 properties: { text: { type: string } } }";
    let mut house = House::new()
        .agent("lead", &agent("lead", &lead))
        .agent("worker", &agent("worker", worker))
        .agent("typed", &agent("typed", typed))
        .agent("talker", &agent("talker", "description: Talks.\ncompletion: message\ntools: []"))
        .tool(parrot)
        .file("all.txt", &all)
        .file("all.json", secrets_as_json())
        .file("image.png", b"\x89PNG\r\n");
    for (name, text) in cut_lines() {
        house = house.file(&name, text);
    }
    for name in file_names() {
        house = house.file(&name, format!("in {name}\n"));
    }
    house.models = house.models.with_model("script", Arc::new(cast.clone()));
    house.redactor = redactor;
    (house, heard)
}

/// A line each: longer ones are cut.
fn secrets_as_json() -> String {
    let line = |secret: planted::Secret| {
        json!({ "in": json!({ "is": secret.text }).to_string() }).to_string() + "\n"
    };
    planted::secrets().into_iter().map(line).collect()
}

/// Each in a line that is cut in the middle of it, from either side.
fn cut_lines() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (number, secret) in planted::secrets().iter().enumerate().filter(|(_, it)| !it.text.contains('\n')) {
        let (text, half) = (&secret.text, secret.text.len() / 2);
        let read = format!("{} {text} {}\n", ".".repeat(1_999 - half), ".".repeat(100));
        let found =
            format!("{} {text} {} the end {}\n", ".".repeat(500), ".".repeat(98 - half), ".".repeat(500));
        files.extend([(format!("cut/{number}.txt"), read), (format!("cut/{number}.cut"), found)]);
    }
    files
}

/// A client that keeps all that it was sent of a session.
struct Watcher {
    client: Client,
    saw: Vec<Value>,
    attached: Attached,
}

impl Watcher {
    async fn attach(running: &Running, session: &str, from: Value, attached: Attached) -> Watcher {
        let mut client = running.client();
        let params = json!({ "sessionId": session, "from": from, "deltas": true });
        client.call("session/attach", params).await;
        Watcher { client, saw: Vec::new(), attached }
    }

    async fn until_end_of(&mut self, run: &str) {
        while !self.saw.iter().any(|it| it["type"] == "run.completed" && it["runId"] == run) {
            self.saw.push(self.client.event().await);
        }
    }

    fn check(&self, search: &mut Search) {
        let checked = laws::check_subscription(self.attached, Deltas::Some, &self.saw);
        checked.unwrap_or_else(|broken| panic!("{:?}: {}", self.attached, broken.join("\n")));
        for envelope in &self.saw {
            let kind = envelope["type"].as_str().unwrap();
            search.look_at(&format!("{kind} to {:?}", self.attached), envelope);
        }
    }
}

/// Plants secrets everywhere, and looks everywhere.
async fn plant_and_look(redactor: Redactor) -> Search {
    let all = everything();
    let cast = Cast::default();
    let (house, mut heard) = house(redactor, &cast);
    let work = house.work();
    let calls = lead_calls(&work);
    let calls: Vec<(&str, Value)> =
        calls.iter().map(|(name, arguments)| (&**name, arguments.clone())).collect();
    let failures = [
        Reply::Fails(ModelError::Passing { message: all.clone(), retry_after_ms: Some(1) }),
        Reply::Fails(ModelError::Final { code: RunErrorCode::ModelFailed, message: all.clone() }),
    ];
    let cast = cast
        .with(
            "lead",
            [
                says(&all, &calls, FinishReason::Stop),
                // Not accepted, then accepted.
                Reply::calls(&[("complete_task", json!({ "result": "", all.clone(): all }))]),
                says(&all, &[], FinishReason::Stop),
                Reply::done(&all),
            ],
        )
        .with(
            "worker",
            [says(&all, &[("parrot", json!({ "say": all }))], FinishReason::Stop), Reply::done(&all)],
        )
        .with(
            "typed",
            [
                Reply::calls(&[("complete_task", json!({ "text": 5, all.clone(): all }))]),
                Reply::calls(&[("complete_task", json!({ "text": all }))]),
            ],
        )
        .with("talker", [says(&all, &[], FinishReason::Stop)]);
    let running = house.boot().await;
    let mut client = running.client();
    let name = json!({ "name": file_names()[0], "kind": "script" });
    let hello = json!({ "protocolVersion": "2", "client": name, "clientId": file_names()[1] });
    client.call("initialize", hello).await;
    let created = json!({ "workspace": work, "title": all, "idempotencyKey": file_names()[0] });
    let session = client.call("session/create", created.clone()).await["sessionId"].clone();
    let session = session.as_str().unwrap().to_owned();
    assert_eq!(client.call("session/create", created).await["replayed"], true);
    client.call("session/update", json!({ "sessionId": session, "title": format!("new {all}") })).await;
    let mut watchers = vec![
        Watcher::attach(&running, &session, json!("start"), Attached::After(0)).await,
        Watcher::attach(&running, &session, json!("now"), Attached::Now).await,
    ];

    let tellers = tellers(&running, &session).await;
    let in_session = |more: Value| {
        let mut params = json!({ "sessionId": session, "workspace": null, "prompt": all });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        params
    };
    let mut runs = Vec::new();
    // A whole run, with runs below it.
    let keyed = in_session(json!({ "idempotencyKey": file_names()[1] }));
    let (run, _) = client.start(&running, "lead", keyed.clone()).await;
    assert_eq!(client.start(&running, "lead", keyed).await.0, run);
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "GOAL", "{record}");
    runs.push(run);
    let said = timeout(STUCK, heard.recv()).await.unwrap().unwrap();
    assert_eq!(said["say"], json!(all), "the tool did not get what the model meant");
    assert_eq!(said[&all][1]["in"], json!(all));

    // Refused and failed.
    for replies in [vec![says(&all, &[], FinishReason::Refused { message: all.clone() })], failures.to_vec()]
    {
        cast.script("talker").replace(replies.clone());
        let (run, _) = client.start(&running, "talker", in_session(json!({}))).await;
        if replies.len() == 2 {
            // The same reply is asked for again: it is the other one by then.
            cast.script("talker").asked().await;
            cast.script("talker").skip();
        }
        client.ended(&run).await;
        runs.push(run);
    }

    // Told something while it speaks, in both ways, and stopped in the middle of a secret.
    let (streaming, stream) = Reply::streams();
    cast.script("talker").replace([streaming]);
    let (run, _) = client.start(&running, "talker", in_session(json!({}))).await;
    for chunk in chunks(&halves(&all).0) {
        stream.send(chunk).await.unwrap();
    }
    watchers.push(Watcher::attach(&running, &session, json!("now"), Attached::Now).await);
    let steer = json!({ "runId": run, "text": all, "idempotencyKey": file_names()[2] });
    client.call("run/steer", steer.clone()).await;
    assert_eq!(client.call("run/steer", steer).await["replayed"], true);
    let (steered, _) = client.start(&running, "talker", in_session(json!({ "ifBusy": "steer" }))).await;
    assert_eq!(steered, run);
    let (queued, _) = client.start(&running, "talker", in_session(json!({ "ifBusy": "queue" }))).await;
    let mut answers = answers(&mut client, &session, &run).await;
    cast.script("talker").replace([Reply::Hangs]);
    client.call("run/cancel", json!({ "runId": run, "reason": all })).await;
    client.ended(&run).await;
    client.call("run/cancel", json!({ "runId": queued, "reason": all })).await;
    client.ended(&queued).await;
    runs.extend([run, queued.clone()]);

    let mut search = Search::new();
    for watcher in &mut watchers {
        watcher.until_end_of(&queued).await;
        watcher.check(&mut search);
    }
    answers.extend(self::answers(&mut client, &session, &runs[0]).await);
    for run in &runs {
        answers.push(("run/get".to_owned(), client.call("run/get", json!({ "runId": run })).await));
    }
    for (place, answer) in &answers {
        search.look_at(place, answer);
    }
    let state = house.dir.path().join("state");
    search.look_into(&state);
    drop((client, tellers));
    running.stop().await;
    // The last connection brought everything into the database itself.
    search.look_into(&state);
    search
}

/// Clients that say a secret wherever they can say something of themselves, attached to the session.
async fn tellers(running: &Running, session: &str) -> Vec<Client> {
    let mut tellers = Vec::new();
    for text in file_names().into_iter().filter(|text| text.len() <= 64) {
        let mut client = running.client();
        let me = json!({ "name": text, "version": text, "kind": text });
        let capabilities = json!({ "confirmations": { "kinds": [text] } });
        let hello =
            json!({ "protocolVersion": "2", "client": me, "clientId": text, "capabilities": capabilities });
        client.call("initialize", hello).await;
        client.call("client/update", json!({ "capabilities": capabilities })).await;
        let attach = json!({ "sessionId": session, "from": "now", "consumer": text });
        // Hidden, the name could become another's, so that it is refused wherever it is recognised.
        if client.request("session/attach", attach).await.get("error").is_some() {
            client.call("session/attach", json!({ "sessionId": session, "from": "now" })).await;
        }
        tellers.push(client);
    }
    assert!(!tellers.is_empty(), "no secret is short enough");
    tellers
}

/// What a client is answered that asks for everything.
async fn answers(client: &mut Client, session: &str, run: &str) -> Vec<(String, Value)> {
    let in_session = json!({ "sessionId": session });
    let history = |agent: &str| json!({ "sessionId": session, "agent": agent, "limit": 1000 });
    let asked = [
        ("events/list", json!({ "filter": in_session, "limit": 1000 })),
        ("session/history", history("lead")),
        ("session/history", history("talker")),
        ("session/get", in_session),
        ("session/list", json!({})),
        ("run/get", json!({ "runId": run })),
        ("run/list", json!({})),
        ("queue/list", json!({})),
        ("client/list", json!({})),
        ("daemon/status", json!({})),
        ("daemon/logs", json!({})),
        ("daemon/doctor", json!({})),
    ];
    let mut answers = Vec::new();
    for (method, params) in asked {
        answers.push((method.to_owned(), client.request(method, params).await));
    }
    answers
}

#[tokio::test]
async fn no_planted_secret_is_stored_or_shown() {
    plant_and_look(redactor()).await.assert_clean();
}

/// The search can fail: without redaction every secret is found.
#[tokio::test]
async fn every_planted_secret_is_found_when_none_is_hidden() {
    let search = plant_and_look(Redactor::none()).await;
    let planted = planted::secrets().into_iter().map(|secret| secret.name).collect();
    assert_eq!(search.names(), planted);
}

/// Texts and thoughts are streams of their own; a reply that holds parts of both in turn has a secret in neither part.
#[tokio::test]
async fn a_secret_across_texts_and_thoughts_is_hidden() {
    let (before, after) = halves(&everything());
    let thought =
        |text: &str| ReplyPart::Thought { text: text.to_owned(), signature: Some("signed".to_owned()) };
    let text = |text: &str| ReplyPart::Text(text.to_owned());
    let reply = vec![thought(&before), text(&before), thought(&after), text(&after)];
    let cast = Cast::default();
    let (house, _heard) = house(redactor(), &cast);
    let _cast = cast.with("talker", [Reply::Parts(reply)]);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "talker", json!({})).await;
    let record = client.ended(&run).await;
    let mut search = Search::new();
    search.look_at("run/get", &record);
    let session = record["sessionId"].as_str().unwrap();
    let params = json!({ "sessionId": session, "agent": "talker", "limit": 1000 });
    let history = client.call("session/history", params).await;
    search.look_at("session/history", &history);
    let said = history["messages"].as_array().unwrap().iter().find(|it| it["role"] == "model").unwrap();
    let parts = said["parts"].as_array().unwrap();
    let kinds: Vec<&str> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thought", "text"], "{parts:?}");
    assert!(!said.to_string().contains("signed"), "what was signed is not there any more");
    drop(client);
    running.stop().await;
    search.look_into(&house.dir.path().join("state"));
    search.assert_clean();
}

/// What the model meant was never stored, and a marker is not what it meant.
#[tokio::test]
async fn a_call_with_a_secret_is_interrupted_by_a_restart() {
    let all = everything();
    let cast = Cast::default();
    let (house, mut heard) = house(redactor(), &cast);
    let wait = json!({ "say": all, "do": "wait" });
    let cast = cast.with("lead", [Reply::calls(&[("parrot", wait.clone())]), Reply::done("went on")]);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    assert_eq!(timeout(STUCK, heard.recv()).await.unwrap(), Some(wait));
    drop(client);
    running.stop_unfinished().await;

    let running = house.boot().await;
    let mut client = running.client();
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!("went on")));
    assert!(heard.try_recv().is_err(), "the tool was run with a marker");
    let log = running.log().await;
    let ends =
        log.iter().filter(|event| event["data"]["name"] == "parrot" && event["data"]["error"].is_object());
    let errors: Vec<&Value> = ends.map(|event| &event["data"]["error"]).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["type"], "INTERRUPTED", "{errors:?}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.contains("held a secret") && message.contains("call it again"), "{message}");
    // The model is told the same.
    let last = cast.script("lead").requests().pop().unwrap();
    let told = serde_json::to_string(&last.messages).unwrap();
    assert!(told.contains("held a secret"), "{told}");
    drop(client);
    running.stop().await;
    let mut search = Search::new();
    search.look_into(&house.dir.path().join("state"));
    search.assert_clean();
}
