//! A daemon whose agents ask, the people at its clients, and what holds in every case.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use serde_json::{Value, json};
use subagentd::{protocol::EventSeq, store::LogFilter, sys::clock::ManualClock};

use tokio::time::timeout;

use crate::support::{Cast, Client, House, Reply, Running, STUCK};

/// Outcomes with which a call may run.
const CONSENT: &[&str] = &["allowOnce", "allowSession", "allowProject", "allowUser", "modify", "answer"];

fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does {name}.\ncompletion: tool\ntools: {tools}\n---\nYou do.\n"
    )
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

/// Agents, by what their models do; each ends with `complete_task`.
fn cast() -> Cast {
    let write_note = || vec![Reply::calls(&[write("note.txt", "one\n")]), Reply::done("done")];
    Cast::new([
        // Writes `note.txt`.
        ("writer", write_note()),
        // Writes `a.txt` and `b.txt` in one turn.
        ("two", vec![Reply::calls(&[write("a.txt", "a\n"), write("b.txt", "b\n")]), Reply::done("done")]),
        // Removes `old.txt`.
        (
            "remover",
            vec![Reply::calls(&[("delete_file", json!({ "path": "old.txt" }))]), Reply::done("done")],
        ),
        // Calls `writer`.
        ("parent", vec![Reply::calls(&[("writer", json!({ "prompt": "write" }))]), Reply::done("done")]),
        ("parent/writer", write_note()),
        // Calls `own`, an agent of the case's.
        ("boss", vec![Reply::calls(&[("own", json!({ "prompt": "write" }))]), Reply::done("done")]),
        ("boss/own", write_note()),
        // Asks for a colour.
        (
            "asker",
            vec![
                Reply::calls(&[(
                    "ask_user",
                    json!({ "questions": [{ "question": "Which colour?", "options": ["red", "blue"] }] }),
                )]),
                Reply::done("done"),
            ],
        ),
        // Writes `note.txt` twice and `other.txt` once, a turn each.
        (
            "often",
            vec![
                Reply::calls(&[write("note.txt", "one\n")]),
                Reply::calls(&[write("note.txt", "two\n")]),
                Reply::calls(&[write("other.txt", "x\n")]),
                Reply::done("done"),
            ],
        ),
        // Reads `r.txt` and writes `a.txt` and `b.txt`, in one turn.
        (
            "mixed",
            vec![
                Reply::calls(&[
                    ("read_file", json!({ "path": "r.txt" })),
                    write("a.txt", "a\n"),
                    write("b.txt", "b\n"),
                ]),
                Reply::done("done"),
            ],
        ),
        // Changes a line of `c.txt` that it has read.
        (
            "editor",
            vec![
                Reply::calls(&[("read_file", json!({ "path": "c.txt" }))]),
                Reply::calls(&[(
                    "edit_file",
                    json!({ "path": "c.txt", "oldString": "x = 1", "newString": "x = 2" }),
                )]),
                Reply::done("done"),
            ],
        ),
        // Writes `note.txt` twice in one turn.
        (
            "twice",
            vec![
                Reply::calls(&[write("note.txt", "one\n"), write("note.txt", "two\n")]),
                Reply::done("done"),
            ],
        ),
    ])
}

/// One case.
pub struct Scene {
    pub house: House,
    pub clock: Arc<ManualClock>,
    pub cast: Cast,
    pub running: Running,
    /// A connection that is attached to nothing and never introduced itself, as a command's is.
    pub script: Client,
    /// What every person saw of the ends of questions, by the question's id.
    seen: BTreeMap<String, Vec<Value>>,
}

/// A run that was started.
#[derive(Debug, Clone)]
pub struct Run {
    pub id: String,
    pub session: String,
}

impl Scene {
    pub async fn new() -> Scene {
        Scene::with(|house| house).await
    }

    /// In a house that the case furnishes.
    pub async fn with(furnish: impl FnOnce(House) -> House) -> Scene {
        let cast = cast();
        let (house, clock) = furnish(House::new().model("script", &cast)).manual_clock();
        let house = [
            ("writer", "[write_file]"),
            ("two", "[write_file]"),
            ("remover", "[delete_file]"),
            ("parent", "[writer]"),
            ("asker", "[ask_user]"),
            ("often", "[write_file]"),
            ("mixed", "[read_file, write_file]"),
            ("editor", "[read_file, edit_file]"),
            ("twice", "[write_file]"),
        ]
        .into_iter()
        .fold(house, |house, (name, tools)| house.agent(name, &agent(name, tools)));
        let house = house.file("old.txt", "old\n").file("r.txt", "r\n").file("c.txt", "x = 1\n");
        let running = house.boot().await;
        let script = running.client();
        Scene { house, clock, cast, running, script, seen: BTreeMap::new() }
    }

    /// A person at a client that can show every kind of question, attached to nothing yet.
    pub async fn person(&self, name: &str) -> Person {
        self.person_with(name, json!({ "confirmations": {} })).await
    }

    pub async fn person_with(&self, name: &str, capabilities: Value) -> Person {
        let mut client = self.running.client();
        let params = json!({
            "protocolVersion": "2", "clientId": format!("cli-{name}"), "capabilities": capabilities,
            "client": { "name": name, "version": "1", "kind": "editor" },
        });
        client.call("initialize", params).await;
        Person { id: format!("cli-{name}"), client, kept: Vec::new() }
    }

    /// Starts a run whose starter is gone.
    pub async fn start(&mut self, agent: &str, approval: Value) -> Run {
        let more = json!({ "approval": approval });
        let (id, session) = self.script.start(&self.running, agent, more).await;
        Run { id, session }
    }

    /// A session in which runs can be started later.
    pub async fn session(&mut self) -> String {
        let params = json!({ "workspace": self.running.work() });
        let created = self.script.call("session/create", params).await;
        created["sessionId"].as_str().unwrap().to_owned()
    }

    /// Starts a run in a session; the initiator is `person`.
    pub async fn start_by(&self, person: &mut Person, session: &str, agent: &str, approval: Value) -> Run {
        let more = json!({ "approval": approval, "sessionId": session, "workspace": null });
        let (id, session) = person.client.start(&self.running, agent, more).await;
        Run { id, session }
    }

    /// The questions of the session that are open, once there are so many; as an unattached client sees them.
    pub async fn questions(&mut self, run: &Run, n: usize) -> Vec<Value> {
        let params = json!({ "sessionId": run.session });
        let has_all = |listed: &Value| listed["confirmations"].as_array().unwrap().len() == n;
        let listed = self.script.until("confirmation/list", params, has_all).await;
        listed["confirmations"].as_array().unwrap().clone()
    }

    /// The one open question of the session.
    pub async fn question(&mut self, run: &Run) -> Value {
        self.questions(run, 1).await.pop().unwrap()
    }

    /// The question as it stands, over or not.
    pub async fn get(&mut self, question: &Value) -> Value {
        let params = json!({ "confirmationId": question["confirmationId"] });
        self.script.call("confirmation/get", params).await["confirmation"].clone()
    }

    /// Answers without being attached; the whole response.
    pub async fn answer(&mut self, question: &Value, outcome: &str) -> Value {
        self.script.request("confirmation/respond", answer_to(question, outcome, json!({}))).await
    }

    /// Moves the clock on, in steps, so that whoever wakes has time to do what it does at its time.
    pub async fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
        self.script.settle().await;
    }

    /// The record of a run that has ended.
    pub async fn ended(&mut self, run: &Run) -> Value {
        self.script.ended(&run.id).await
    }

    pub fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.house.work().join(file)).ok()
    }

    /// How a question ended, as the log has it: outcome, by whom, and the name.
    pub async fn resolution(&mut self, question: &Value) -> Value {
        let ended = self.get(question).await;
        assert_eq!(ended["state"], "resolved", "{ended}");
        let how = &ended["resolution"];
        json!([how["outcome"], how["by"], how["name"]])
    }

    /// What became of the run's calls of a tool: the states they ended in, with the type of the error.
    pub async fn calls(&mut self, run: &Run, tool: &str) -> Vec<String> {
        let states = self.log_of(run, "tool.state").await;
        let ends = states.iter().filter(|event| {
            let data = &event["data"];
            data["name"] == tool && (data.get("result").is_some() || data.get("error").is_some())
        });
        let told = |event: &Value| {
            let data = &event["data"];
            let error = data["error"]["type"].as_str().map(|kind| format!(" {kind}")).unwrap_or_default();
            format!("{}{error}", data["to"].as_str().unwrap())
        };
        ends.map(told).collect()
    }

    /// What the model of a run was told about a call that failed, from its last request.
    pub fn model_was_told(&self, path: &str) -> String {
        format!("{:?}", self.cast.requests(path).last().expect("the model was asked").messages)
    }

    /// A person leaves: what they saw is kept and compared at the end. Whoever was shown a question and is still attached
    /// has been told how it ended.
    pub async fn leave(&mut self, mut person: Person) {
        person.events().await;
        if person.is_attached().await {
            let log = self.running.log().await;
            for ended in log.iter().filter(|event| event["type"] == "confirmation.resolved") {
                if person.was_shown(&ended["data"]["confirmationId"]) {
                    person.sees_the_end(&ended["data"]).await;
                }
            }
        }
        self.remember(&person);
    }

    fn remember(&mut self, person: &Person) {
        for event in person.kept.iter().filter(|event| event["type"] == "confirmation.resolved") {
            let id = event["data"]["confirmationId"].as_str().unwrap().to_owned();
            self.seen.entry(id).or_default().push(event.clone());
        }
    }

    /// Stops the daemon and starts it again on the same files. Connections are gone; people come anew.
    pub async fn restart(self) -> Scene {
        let Scene { house, clock, cast, running, script, seen } = self;
        drop(script);
        running.stop_unfinished().await;
        let running = house.boot().await;
        let script = running.client();
        Scene { house, clock, cast, running, script, seen }
    }

    /// Starts a run whose starter is gone, with more parameters of `run/start` than the approval.
    pub async fn start_with(&mut self, agent: &str, more: Value) -> Run {
        let (id, session) = self.script.start(&self.running, agent, more).await;
        Run { id, session }
    }

    /// The same in a session.
    pub async fn start_in(&mut self, session: &str, agent: &str, approval: Value) -> Run {
        let more = json!({ "approval": approval, "sessionId": session, "workspace": null });
        self.start_with(agent, more).await
    }

    /// Waits until whoever asks the questions has taken in who is there and what time it is; whatever is due by then has
    /// been set off. The question must be open still, and the clock moves on by a millisecond.
    pub async fn looked(&mut self, question: &Value) {
        // A claim is shown until somebody has looked after its time.
        let id = &question["confirmationId"];
        self.script.call("confirmation/claim", json!({ "confirmationId": id, "durationMs": 1 })).await;
        self.clock.advance(Duration::from_millis(1));
        let is_over = |got: &Value| got["confirmation"].get("claim").is_none();
        self.script.until("confirmation/get", json!({ "confirmationId": id }), is_over).await;
        self.script.settle().await;
    }

    /// Moves the clock on, and sees that the question is open then.
    pub async fn still_open_after(&mut self, time: Duration, question: &Value) {
        self.pass(time).await;
        self.looked(question).await;
        let now = self.get(question).await;
        assert_ne!(now["state"], "resolved", "{now}");
        assert_eq!(now["digest"], question["digest"]);
    }

    /// Waits until the question stands so.
    pub async fn until_it_is(&mut self, state: &str, question: &Value) -> Value {
        let params = json!({ "confirmationId": question["confirmationId"] });
        let is_so = |got: &Value| got["confirmation"]["state"] == state;
        self.script.until("confirmation/get", params, is_so).await["confirmation"].clone()
    }

    /// Waits until the question is over: outcome, by whom, and the name.
    pub async fn over(&mut self, question: &Value) -> Value {
        self.until_it_is("resolved", question).await;
        self.resolution(question).await
    }

    /// Waits until a run is in this state.
    pub async fn until_run_is(&mut self, state: &str, run: &str) -> Value {
        self.script.until("run/get", json!({ "runId": run }), |record| record["state"] == state).await
    }

    /// Waits until so much became of the run's calls of a tool.
    pub async fn until_calls_are(&mut self, run: &Run, tool: &str, ends: &[&str]) {
        let waiting = async {
            while self.calls(run, tool).await != ends {
                self.script.settle().await;
            }
        };
        timeout(STUCK, waiting).await.expect("the calls never end so");
    }

    /// The events of the log of this type, of whatever run.
    pub async fn logged(&self, kind: &str) -> Vec<Value> {
        let mut log = self.running.log().await;
        log.retain(|event| event["type"] == kind);
        log
    }

    /// Stops the daemon and starts it again after so long.
    pub async fn down_for(self, time: Duration) -> Scene {
        let Scene { house, clock, cast, running, script, seen } = self;
        drop(script);
        running.stop_unfinished().await;
        clock.advance(time);
        let running = house.boot().await;
        let script = running.client();
        Scene { house, clock, cast, running, script, seen }
    }

    /// Keeps what a person saw up to now, who stays until the daemon goes.
    pub async fn note(&mut self, person: &mut Person) {
        person.events().await;
        self.remember(person);
    }

    /// Ends the case, and holds it to what holds in every case. `people` are all that are still there.
    pub async fn end<const N: usize>(mut self, people: [Person; N]) {
        for person in people {
            self.leave(person).await;
        }
        let log = self.running.log().await;
        self.hold(&log);
        drop(self.script);
        self.running.stop().await;
    }

    fn hold(&self, log: &[Value]) {
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        for event in log.iter().filter(|event| event["type"] == "confirmation.requested") {
            open.insert(event["data"]["confirmation"]["confirmationId"].as_str().unwrap(), 0);
        }
        for event in log.iter().filter(|event| event["type"] == "confirmation.resolved") {
            let data = &event["data"];
            let id = data["confirmationId"].as_str().unwrap();
            *open.get_mut(id).unwrap_or_else(|| panic!("never asked: {event}")) += 1;
            let is_consent = CONSENT.contains(&data["outcome"].as_str().unwrap());
            assert!(!is_consent || data["by"] == "client", "nobody consented: {event}");
            for seen in self.seen.get(id).into_iter().flatten() {
                assert_eq!((&seen["seq"], &seen["data"]), (&event["seq"], data), "told otherwise");
            }
        }
        assert!(open.values().all(|ends| *ends == 1), "each question ends once: {open:?}");
        let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
        for event in
            log.iter().filter(|event| event["type"] == "tool.state" && event["data"]["to"] == "executing")
        {
            *runs.entry(event["data"]["callId"].as_str().unwrap()).or_default() += 1;
        }
        assert!(runs.values().all(|times| *times == 1), "a call ran more than once: {runs:?}");
        let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
        for event in log.iter().filter(|event| event["type"] == "file.changed") {
            *changes.entry(event["data"]["callId"].as_str().unwrap()).or_default() += 1;
        }
        assert!(
            changes.values().all(|times| *times == 1),
            "a call changed its file more than once: {changes:?}"
        );
    }

    /// A client that never says who it is.
    pub fn stranger(&self) -> Person {
        Person { id: "user 0".to_owned(), client: self.running.client(), kept: Vec::new() }
    }

    /// The record of a run, wherever it stands.
    pub async fn record(&mut self, run: &Run) -> Value {
        self.script.call("run/get", json!({ "runId": run.id })).await
    }

    /// Waits until a run is in this state; its record.
    pub async fn run_is(&mut self, run: &Run, state: &str) -> Value {
        let is_so = |record: &Value| record["state"] == state;
        self.script.until("run/get", json!({ "runId": run.id }), is_so).await
    }

    /// Lets time go by, step by step, until a run is in this state; its record. For what has a delay that begins when the
    /// daemon notices who is there: a single step might come before it does.
    pub async fn pass_until(&mut self, run: &Run, state: &str) -> Value {
        let passing = async {
            loop {
                let record = self.record(run).await;
                if record["state"] == state {
                    return record;
                }
                self.pass(Duration::from_secs(1)).await;
            }
        };
        timeout(STUCK, passing).await.unwrap_or_else(|_| panic!("time passes and the run is never {state}"))
    }

    /// Waits until a question is in this state, as an unattached client sees it.
    pub async fn question_is(&mut self, question: &Value, state: &str) -> Value {
        let params = json!({ "confirmationId": question["confirmationId"] });
        let is_so = |got: &Value| got["confirmation"]["state"] == state;
        self.script.until("confirmation/get", params, is_so).await["confirmation"].clone()
    }

    /// What the log has of a run, of this type.
    pub async fn log_of(&self, run: &Run, kind: &str) -> Vec<Value> {
        let (runs, types) = (vec![run.id.as_str().into()], vec![kind.to_owned()]);
        let filter = LogFilter { runs, types, ..LogFilter::default() };
        let page = self.running.daemon.store().page(&filter, EventSeq(0), 1_000).await.unwrap();
        page.events.iter().map(|it| serde_json::from_str(&it.envelope(None)).unwrap()).collect()
    }

    /// The person allows the call of a `writer`, and all that follows from one consent comes about.
    pub async fn allowed_by(&mut self, person: &mut Person, run: &Run, question: &Value) {
        let consent = json!(["allowOnce", "client", person.id]);
        assert_eq!(taken(&person.answer(question, "allowOnce").await), consent);
        assert_eq!(person.resolved(question).await, consent);
        self.wrote(run).await;
    }

    /// A `writer` wrote its note once and reached its goal.
    pub async fn wrote(&mut self, run: &Run) {
        let record = self.ended(run).await;
        assert_eq!(
            (&record["reason"], self.calls(run, "write_file").await),
            (&json!("GOAL"), vec!["success".to_owned()])
        );
        assert_eq!(self.read("note.txt").as_deref(), Some("one\n"));
    }

    /// The person denies the call of a `writer` with a message, and all that follows from it comes about.
    pub async fn denied_by(&mut self, person: &mut Person, run: &Run, question: &Value, message: &str) {
        let denial = json!(["deny", "client", person.id]);
        let answered = person.answer_with(question, "deny", json!({ "message": message })).await;
        assert_eq!(taken(&answered), denial);
        assert_eq!(person.resolved(question).await, denial);
        self.did_not_write(run, "USER_DENIED").await;
        let told = self.model_was_told("writer");
        assert!(told.contains("USER_DENIED") && told.contains(message), "{told}");
    }

    /// A `writer` was refused with this type of error, wrote nothing, and went on to its goal.
    pub async fn did_not_write(&mut self, run: &Run, kind: &str) {
        let record = self.ended(run).await;
        assert_eq!(
            (&record["reason"], self.calls(run, "write_file").await),
            (&json!("GOAL"), vec![format!("error {kind}")])
        );
        assert_eq!(self.read("note.txt"), None);
    }
}

/// The resolution of a response that says so: outcome, by whom, and the name.
pub fn taken(response: &Value) -> Value {
    let how = &response["result"]["resolution"];
    assert!(how.is_object(), "it was refused: {response}");
    json!([how["outcome"], how["by"], how["name"]])
}

/// Parameters of `confirmation/respond`.
pub fn answer_to(question: &Value, outcome: &str, more: Value) -> Value {
    let mut params = json!({
        "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": outcome,
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

/// The `kind` of the error of a response, and the resolution that it tells of: outcome, by whom, and the name.
pub fn refusal(response: &Value) -> (String, Value) {
    let error = response.get("error").unwrap_or_else(|| panic!("it was not refused: {response}"));
    let how = &error["data"]["details"]["resolution"];
    (error["data"]["kind"].as_str().unwrap().to_owned(), json!([how["outcome"], how["by"], how["name"]]))
}

pub const ALREADY: &str = "CONFIRMATION_ALREADY_RESOLVED";

/// Somebody at a client.
pub struct Person {
    /// As the log names whoever decided.
    pub id: String,
    pub client: Client,
    /// Every event seen so far.
    kept: Vec<Value>,
}

impl Person {
    /// Attaches to a session, or to all with `*`; the snapshot.
    pub async fn attach(&mut self, session: &str) -> Value {
        self.attach_with(session, json!({})).await
    }

    pub async fn attach_with(&mut self, session: &str, more: Value) -> Value {
        let mut params = json!({ "sessionId": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.client.call("session/attach", params).await;
        loop {
            let event = self.client.event().await;
            self.kept.push(event.clone());
            if event["type"] == "signal.snapshot" {
                return event;
            }
        }
    }

    pub async fn is_now(&mut self, presence: &str) {
        self.client.call("client/update", json!({ "presence": presence })).await;
    }

    /// Everything that came up to now, without waiting for more.
    pub async fn events(&mut self) -> Vec<Value> {
        let came = self.client.drain().await;
        self.kept.extend(came.iter().cloned());
        came
    }

    /// Waits for an event about this question, of this type.
    pub async fn told(&mut self, kind: &str, question: &Value) -> Value {
        loop {
            let event = self.client.event().await;
            self.kept.push(event.clone());
            let data = &event["data"];
            let id = data["confirmation"].get("confirmationId").unwrap_or(&data["confirmationId"]);
            if event["type"] == kind && *id == question["confirmationId"] {
                return event;
            }
        }
    }

    /// Whether the question was put to this client when it was asked: waits for the event.
    pub async fn is_offered(&mut self, question: &Value) -> bool {
        self.told("confirmation.requested", question).await["offered"].as_bool().unwrap()
    }

    /// Waits until the question is put to this client, or taken from it, after it was asked.
    pub async fn is_offered_later(&mut self, question: &Value) -> bool {
        self.told("signal.confirmation", question).await["data"]["offered"].as_bool().unwrap()
    }

    /// How the question ended: outcome, by whom, and the name; waits for the event.
    pub async fn resolved(&mut self, question: &Value) -> Value {
        let event = self.told("confirmation.resolved", question).await;
        json!([event["data"]["outcome"], event["data"]["by"], event["data"]["name"]])
    }

    /// The whole response.
    pub async fn answer(&mut self, question: &Value, outcome: &str) -> Value {
        self.answer_with(question, outcome, json!({})).await
    }

    pub async fn answer_with(&mut self, question: &Value, outcome: &str, more: Value) -> Value {
        self.client.request("confirmation/respond", answer_to(question, outcome, more)).await
    }

    /// Comes back from away, or learns to show more: whatever `client/update` takes.
    pub async fn updates(&mut self, params: Value) {
        self.client.call("client/update", params).await;
    }

    /// Is dead without hanging up: what comes is not read from now on, and more than its pipe holds is on its way.
    pub async fn falls_silent(&mut self) {
        for _ in 0..200 {
            self.client.send(r#"{"jsonrpc":"2.0","id":"unread","method":"agents/list","params":{}}"#).await;
        }
    }

    /// Whether some subscription of this client is attached.
    async fn is_attached(&mut self) -> bool {
        let listed = self.client.call("client/list", json!({})).await;
        let me = listed["clients"].as_array().unwrap().iter().filter(|it| it["clientId"] == self.id.as_str());
        me.flat_map(|it| it["attached"].as_array().unwrap()).next().is_some()
    }

    /// Whether a question came to this client while it was open.
    fn was_shown(&self, id: &Value) -> bool {
        let in_snapshot = |event: &Value| {
            let open = event["data"]["openConfirmations"].as_array();
            open.is_some_and(|open| open.iter().any(|it| it["confirmationId"] == *id))
        };
        self.kept
            .iter()
            .any(|event| event["data"]["confirmation"]["confirmationId"] == *id || in_snapshot(event))
    }

    async fn sees_the_end(&mut self, ended: &Value) {
        let is_the_end = |event: &Value| {
            event["type"] == "confirmation.resolved"
                && event["data"]["confirmationId"] == ended["confirmationId"]
        };
        if !self.kept.iter().any(is_the_end) {
            self.told("confirmation.resolved", ended).await;
        }
    }

    /// Whether the question is put to this client as it stands, as it would be told on asking.
    pub async fn is_asked(&mut self, question: &Value) -> bool {
        let params = json!({ "confirmationId": question["confirmationId"] });
        self.client.call("confirmation/get", params).await["confirmation"]["offered"] == true
    }

    /// Everything of this type that came up to now, from the first on.
    pub async fn heard(&mut self, kind: &str) -> Vec<Value> {
        self.events().await;
        self.kept.iter().filter(|event| event["type"] == kind).cloned().collect()
    }

    /// The last place of the log that was seen.
    pub fn position(&self) -> Value {
        self.kept.iter().rev().map(|event| event["seq"].clone()).find(Value::is_number).unwrap()
    }
}
