//! Who is asked, and by which way does a question find them? (Spec 06, "Routing"; spec 01, `confirmation/…`.)
//!
//! The questions here are put into the log beside a run that waits for its model: who is told of a question does not
//! depend on why it is asked.

use serde_json::{Value, json};
use subagentd::{
    config::{LayeredSetting, SettingLayer},
    protocol::{
        Audience, Confirmation, ConfirmationDetails, ConfirmationOption, ConfirmationOutcome,
        ConfirmationRequested, ConfirmationResolved, ConfirmationRespondParams, ConfirmationRevised,
        DecidedBy, EventBody, EventHead, OnDeadline, OnDetached, PrivateEventFields, Resolution,
        RevisionReason, Risk, Timestamp, ToolKind,
    },
    store::NewEvent,
};
use tokio::time::timeout;

use crate::support::{Client, House, Reply, Running, STUCK, Script};

const TALKER: &str =
    "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\nYou talk.\n";

/// A daemon with one run that waits for its model.
struct Scene {
    running: Running,
    /// Who started it, attached to nothing.
    owner: Client,
    run: String,
    session: String,
}

impl Scene {
    async fn new(house: House) -> Scene {
        let script = Script::new([Reply::Hangs]);
        let running = house.script(&script).agent("talker", TALKER).boot().await;
        let mut owner = introduced(&running, "owner", json!({})).await;
        let (run, session) = owner.start(&running, "talker", json!({})).await;
        script.asked().await;
        Scene { running, owner, run, session }
    }

    fn subject(&self, id: &str) -> Confirmation {
        Confirmation {
            confirmation_id: id.into(),
            run_id: self.run.as_str().into(),
            session_id: self.session.as_str().into(),
            path: vec!["talker".into()],
            tool_call_id: Some("k".into()),
            tool: Some("probe".into()),
            kind: Some(ToolKind::Other),
            risk: Risk::Low,
            hidden_places: 0,
            title: "Probe".to_owned(),
            rule: "builtin:risk=low".to_owned(),
            reason: "it is not safe".to_owned(),
            details: ConfirmationDetails::Info { prompt: "May it?".to_owned() },
            digest: "sha256:00".to_owned(),
            options: [ConfirmationOutcome::AllowOnce, ConfirmationOutcome::Modify, ConfirmationOutcome::Deny]
                .map(|outcome| ConfirmationOption {
                    outcome,
                    grant: None,
                    label: "x".to_owned(),
                    allows: None,
                    remembers: None,
                })
                .into(),
            audience: Audience::All,
            initiator: Some("owner".into()),
            headless: false,
            on_detached: OnDetached::Wait,
            created_at: Timestamp(1_000_000),
            deadline_at: None,
            on_deadline: OnDeadline::Deny,
            edited_by: None,
        }
    }

    async fn say(&self, body: impl Into<EventBody>) {
        let event = NewEvent {
            at: Timestamp(1_000_000),
            session: Some(self.session.as_str().into()),
            run: Some(self.run.as_str().into()),
            context: None,
            head: EventHead {
                agent: Some("talker".into()),
                agent_path: vec!["talker".into()],
                ..EventHead::default()
            },
            body: body.into(),
            private: PrivateEventFields::default(),
        };
        self.running.daemon.store().append(vec![event]).await.unwrap();
    }

    async fn ask(&self, subject: Confirmation) {
        self.say(ConfirmationRequested { confirmation: Box::new(subject) }).await;
    }

    async fn resolve(&self, id: &str) {
        let resolution = Resolution {
            outcome: ConfirmationOutcome::Deny,
            by: DecidedBy::Client,
            name: Some("bob".to_owned()),
            message: None,
            rule: None,
            allows: None,
            mode: None,
            digest: "sha256:00".to_owned(),
            answer_digest: None,
            at: Some(Timestamp(2_000_000)),
        };
        let (confirmation_id, tool_call_id) = (id.into(), Some("k".into()));
        let (difference, edited) = (None, None);
        self.say(ConfirmationResolved { confirmation_id, tool_call_id, resolution, difference, edited })
            .await;
    }

    async fn end(mut self, open: &[&str]) {
        for id in open {
            self.resolve(id).await;
        }
        self.owner.call("run/cancel", json!({ "runId": self.run })).await;
        self.owner.ended(&self.run).await;
        drop(self.owner);
        self.running.stop_forged().await;
    }
}

async fn introduced(running: &Running, name: &str, confirmations: Value) -> Client {
    let mut client = running.client();
    let me = json!({ "name": format!("{name}'s"), "version": "2", "kind": "editor" });
    let capabilities = json!({ "confirmations": confirmations });
    let params =
        json!({ "protocolVersion": "2", "client": me, "clientId": name, "capabilities": capabilities });
    client.call("initialize", params).await;
    client
}

async fn attach(client: &mut Client, session: &str, more: Value) -> Value {
    let mut params = json!({ "sessionId": session });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call("session/attach", params).await;
    client.events_until("signal.snapshot").await.pop().unwrap()
}

/// The next thing that is about questions, in brief. Who else comes and goes is passed over.
async fn told(client: &mut Client) -> Value {
    loop {
        let event = client.event().await;
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "signal.presence" => (),
            "signal.confirmation" => {
                assert!(event.get("seq").is_none() && event.get("offered").is_none(), "{event}");
                return json!([
                    "signal.confirmation",
                    data["confirmationId"],
                    data["offered"],
                    data["state"]
                ]);
            }
            "signal.claim" => return json!(["signal.claim", data["confirmationId"], data["claim"]["name"]]),
            "confirmation.resolved" => {
                assert!(event.get("offered").is_none(), "{event}");
                return json!(["confirmation.resolved", data["confirmationId"]]);
            }
            kind => return json!([kind, data["confirmation"]["confirmationId"], event["offered"]]),
        }
    }
}

#[tokio::test]
async fn a_question_goes_to_all_and_each_is_told_whether_it_is_for_them() {
    let scene = Scene::new(House::new()).await;
    let (running, session) = (&scene.running, scene.session.as_str());
    let mut ann = introduced(running, "ann", json!({})).await;
    let mut bob = introduced(running, "bob", json!({ "kinds": ["edit"] })).await;
    let mut eve = introduced(running, "eve", json!({})).await;
    let mut script = running.client();
    attach(&mut ann, session, json!({})).await;
    attach(&mut bob, "*", json!({})).await;
    attach(&mut eve, session, json!({ "role": "observe" })).await;
    attach(&mut script, session, json!({})).await;
    scene.ask(scene.subject("q")).await;
    for (client, offered) in [(&mut ann, true), (&mut bob, false), (&mut eve, false), (&mut script, false)] {
        assert_eq!(told(client).await, json!(["confirmation.requested", "q", offered]));
    }
    // Bob learns to show it.
    bob.call("client/update", json!({ "capabilities": { "confirmations": {} } })).await;
    assert_eq!(told(&mut bob).await, json!(["signal.confirmation", "q", true, "offered"]));
    // Who comes back is told again what waits, and once.
    ann.call("client/update", json!({ "presence": "away" })).await;
    scene.ask(scene.subject("later")).await;
    assert_eq!(told(&mut ann).await, json!(["confirmation.requested", "later", false]));
    ann.call("client/update", json!({ "presence": "idle" })).await;
    let mut both = [told(&mut ann).await, told(&mut ann).await];
    both.sort_by_key(Value::to_string);
    assert_eq!(
        json!(both),
        json!([
            ["signal.confirmation", "later", true, "offered"],
            ["signal.confirmation", "q", true, "offered"]
        ])
    );
    let revised = Confirmation { digest: "sha256:01".to_owned(), ..scene.subject("q") };
    let revised = ConfirmationRevised {
        confirmation: Box::new(revised),
        reason: RevisionReason::Changed,
        difference: None,
        edited: None,
        arguments: None,
    };
    scene.say(revised).await;
    assert_eq!(told(&mut ann).await, json!(["confirmation.revised", "q", true]));
    assert_eq!(told(&mut eve).await, json!(["confirmation.requested", "later", false]));
    assert_eq!(told(&mut eve).await, json!(["confirmation.revised", "q", false]));
    scene.resolve("q").await;
    assert_eq!(told(&mut ann).await, json!(["confirmation.resolved", "q"]));
    // Who reads the log from its beginning is not asked what is over, once the desk has heard of it as well.
    let offered_to_late = async || {
        let mut late = introduced(running, "late", json!({})).await;
        late.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
        let asked: Vec<Value> = late.events_until("signal.caughtUp").await;
        let asked = asked.iter().filter(|it| it["type"] == "confirmation.requested");
        json!(asked.map(|it| it["offered"].clone()).collect::<Vec<Value>>())
    };
    let told_right = async { while offered_to_late().await != json!([false, true]) {} };
    timeout(STUCK, told_right).await.expect("it is asked what is over");
    drop((ann, bob, eve, script));
    scene.end(&["later"]).await;
}

#[tokio::test]
async fn who_attaches_later_finds_what_waits() {
    let mut scene = Scene::new(House::new()).await;
    scene.ask(scene.subject("q")).await;
    let listed = scene.owner.call("confirmation/list", json!({})).await;
    assert_eq!(
        (&listed["confirmations"][0]["state"], listed["confirmations"][0].get("offered")),
        (&json!("queued"), None)
    );
    let status = scene.owner.call("daemon/status", json!({})).await;
    assert_eq!(status["openConfirmations"], 1);
    let session = scene.session.clone();
    let mut ann = introduced(&scene.running, "ann", json!({})).await;
    let snapshot = attach(&mut ann, &session, json!({})).await;
    let shown = &snapshot["data"]["openConfirmations"];
    assert_eq!(shown.as_array().unwrap().len(), 1, "{snapshot}");
    assert_eq!((&shown[0]["confirmationId"], &shown[0]["offered"]), (&json!("q"), &json!(true)));
    let mut all = introduced(&scene.running, "all", json!({})).await;
    let snapshot = attach(&mut all, "*", json!({ "role": "observe" })).await;
    let shown = &snapshot["data"]["openConfirmations"][0];
    assert_eq!((&shown["state"], shown.get("offered")), (&json!("offered"), None), "{shown}");
    // Who goes on from a place behind the question is told of it when it has caught up.
    let mut back = introduced(&scene.running, "back", json!({})).await;
    let head = scene.running.daemon.store().head();
    back.call("session/attach", json!({ "sessionId": session, "from": head })).await;
    back.events_until("signal.caughtUp").await;
    assert_eq!(told(&mut back).await, json!(["signal.confirmation", "q", true, "offered"]));
    drop((ann, all, back));
    scene.end(&["q"]).await;
}

#[tokio::test]
async fn the_initiator_is_asked_first_and_all_when_it_is_gone_or_the_time_is_over() {
    let (house, clock) = House::new().manual_clock();
    let scene = Scene::new(house).await;
    let session = scene.session.clone();
    let mut owner = introduced(&scene.running, "owner", json!({})).await;
    let mut bob = introduced(&scene.running, "bob", json!({})).await;
    attach(&mut owner, &session, json!({})).await;
    attach(&mut bob, &session, json!({})).await;
    use subagentd::sys::clock::Clock as _;
    let first = |id: &str| Confirmation {
        audience: Audience::InitiatorFirst { grace_ms: 5_000 },
        created_at: clock.now(),
        ..scene.subject(id)
    };
    scene.ask(first("time")).await;
    assert_eq!(told(&mut owner).await, json!(["confirmation.requested", "time", true]));
    assert_eq!(told(&mut bob).await, json!(["confirmation.requested", "time", false]));
    clock.advance(std::time::Duration::from_secs(5));
    assert_eq!(told(&mut bob).await, json!(["signal.confirmation", "time", true, "offered"]));
    scene.ask(first("gone")).await;
    assert_eq!(told(&mut owner).await, json!(["confirmation.requested", "gone", true]));
    assert_eq!(told(&mut bob).await, json!(["confirmation.requested", "gone", false]));
    // Without a word.
    drop(owner);
    assert_eq!(told(&mut bob).await, json!(["signal.confirmation", "gone", true, "offered"]));
    drop(bob);
    scene.end(&["time", "gone"]).await;
}

#[tokio::test]
async fn others_are_told_who_reads_a_question_until_it_is_put_away() {
    let (house, clock) = House::new().manual_clock();
    let mut scene = Scene::new(house).await;
    let session = scene.session.clone();
    scene.ask(scene.subject("q")).await;
    let mut ann = introduced(&scene.running, "ann", json!({})).await;
    let mut eve = introduced(&scene.running, "eve", json!({})).await;
    attach(&mut eve, &session, json!({ "role": "observe" })).await;
    for method in ["confirmation/claim", "confirmation/release"] {
        assert_eq!(eve.refused(method, json!({ "confirmationId": "q" })).await.0, "FORBIDDEN", "{method}");
    }
    let claimed = ann.call("confirmation/claim", json!({ "confirmationId": "q", "durationMs": 1_000 })).await;
    assert_eq!(claimed["claim"]["clientId"], "ann");
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", "ann's"]));
    let got = scene.owner.call("confirmation/get", json!({ "confirmationId": "q" })).await;
    assert_eq!(
        (&got["confirmation"]["state"], &got["confirmation"]["claim"]["name"]),
        (&json!("claimed"), &json!("ann's"))
    );
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", null]));
    ann.call("confirmation/claim", json!({ "confirmationId": "q" })).await;
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", "ann's"]));
    let released = ann.call("confirmation/release", json!({ "confirmationId": "q" })).await;
    assert_eq!(released["released"], true);
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", null]));
    let released = ann.call("confirmation/release", json!({ "confirmationId": "q" })).await;
    assert_eq!(released["released"], false);
    ann.call("confirmation/claim", json!({ "confirmationId": "q" })).await;
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", "ann's"]));
    drop(ann);
    assert_eq!(told(&mut eve).await, json!(["signal.claim", "q", null]));
    scene.resolve("q").await;
    let (kind, error) = scene.owner.refused("confirmation/claim", json!({ "confirmationId": "q" })).await;
    assert_eq!(
        (kind.as_str(), &error["data"]["details"]["resolution"]["name"]),
        ("CONFIRMATION_ALREADY_RESOLVED", &json!("bob"))
    );
    drop(eve);
    scene.end(&[]).await;
}

#[tokio::test]
async fn who_only_looks_on_answers_nothing_and_everything_wrong_is_said_at_once() {
    let mut scene = Scene::new(House::new()).await;
    let session = scene.session.clone();
    scene.ask(scene.subject("q")).await;
    let answer = json!({ "confirmationId": "q", "digest": "sha256:00", "outcome": "allowOnce" });
    let mut eve = introduced(&scene.running, "eve", json!({})).await;
    attach(&mut eve, &session, json!({ "role": "observe" })).await;
    let (kind, error) = eve.refused("confirmation/respond", answer.clone()).await;
    assert_eq!(kind, "FORBIDDEN", "{error}");
    let twice = r#"{"confirmationId":"q","digest":"sha256:00","outcome":"deny","outcome":"allowOnce"}"#;
    let error = serde_json::from_str::<ConfirmationRespondParams>(twice).unwrap_err().to_string();
    assert!(error.contains("duplicate field `outcome`"), "{error}");
    let pointers = |error: &Value| -> Vec<String> {
        let violations = error["data"]["details"]["violations"].as_array().unwrap().iter();
        violations.map(|it| it["pointer"].as_str().unwrap().to_owned()).collect()
    };
    for (params, expected) in [
        (json!({ "outcome": "allowOnce" }), &["/confirmationId", "/digest"][..]),
        (
            json!({ "token": "t", "confirmationId": "q", "digest": "d", "outcome": "deny", "arguments": {}, "content": "", "answers": ["a"] }),
            &["/confirmationId", "/digest", "/arguments", "/content", "/answers"],
        ),
        (json!({ "confirmationId": "q", "outcome": "modify" }), &["/digest", "/arguments"]),
        (json!({ "token": "t", "outcome": "modify", "arguments": {}, "content": "" }), &["/content"]),
        (json!({ "token": "t", "outcome": "answer" }), &["/answers"]),
    ] {
        let (kind, error) = scene.owner.refused("confirmation/respond", params.clone()).await;
        assert_eq!(
            (kind.as_str(), pointers(&error)),
            ("INVALID_PARAMS", expected.iter().map(|it| (*it).to_owned()).collect()),
            "{params}"
        );
    }
    for (method, params, expected) in [
        (
            "confirmation/respond",
            json!({ "confirmationId": "x", "digest": "d", "outcome": "deny" }),
            "NOT_FOUND",
        ),
        ("confirmation/respond", json!({ "token": "made.up.x", "outcome": "deny" }), "FORBIDDEN"),
        ("confirmation/respond", json!({ "token": "t", "outcome": "allowForEver" }), "INVALID_PARAMS"),
        ("confirmation/get", json!({ "confirmationId": "x" }), "NOT_FOUND"),
        ("confirmation/get", json!({ "token": "made.up.x" }), "FORBIDDEN"),
        ("confirmation/get", json!({}), "INVALID_PARAMS"),
        ("confirmation/get", json!({ "confirmationId": "q", "token": "t" }), "INVALID_PARAMS"),
        ("confirmation/list", json!({ "sessionId": "x" }), "NOT_FOUND"),
        ("confirmation/list", json!({ "runId": "x" }), "NOT_FOUND"),
        ("confirmation/claim", json!({ "confirmationId": "x" }), "NOT_FOUND"),
        ("run/unpark", json!({ "runId": scene.run }), "CONFLICT"),
        ("run/unpark", json!({ "runId": "x" }), "NOT_FOUND"),
    ] {
        let (kind, error) = scene.owner.refused(method, params.clone()).await;
        assert_eq!(kind, expected, "{method} {params}: {error}");
    }
    drop(eve);
    scene.end(&["q"]).await;
}

#[tokio::test]
async fn questions_are_listed_by_page_and_waited_for() {
    let mut scene = Scene::new(House::new()).await;
    let wait = json!({ "runId": scene.run, "timeoutMs": 0, "until": ["confirmation"] });
    let waited = scene.owner.call("run/wait", wait.clone()).await;
    assert_eq!((&waited["done"], waited.get("confirmations")), (&json!(false), None));
    // Asked while somebody waits.
    let mut waiting = scene.running.client();
    let long = json!({ "runId": scene.run, "timeoutMs": 60_000, "until": ["ended", "confirmation"] });
    let asking = async {
        scene.owner.settle().await;
        scene.ask(scene.subject("q0")).await;
    };
    let (waited, ()) = tokio::join!(waiting.call("run/wait", long), asking);
    assert_eq!(waited["confirmations"][0]["confirmationId"], "q0");
    for n in 1..5 {
        scene.ask(scene.subject(&format!("q{n}"))).await;
    }
    scene.resolve("q3").await;
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut params = json!({ "limit": 2, "runId": scene.run, "sessionId": scene.session });
        if cursor.is_string() {
            params["cursor"] = cursor;
        }
        let listed = scene.owner.call("confirmation/list", params).await;
        let confirmations = listed["confirmations"].as_array().unwrap();
        seen.extend(confirmations.iter().map(|it| it["confirmationId"].as_str().unwrap().to_owned()));
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, ["q0", "q1", "q2", "q4"]);
    let all = scene.owner.call("confirmation/list", json!({ "resolved": true })).await;
    let states = all["confirmations"].as_array().unwrap().iter().map(|it| it["state"].clone());
    assert_eq!(states.collect::<Value>(), json!(["queued", "queued", "queued", "resolved", "queued"]));
    assert_eq!(all["confirmations"][3]["resolution"]["name"], "bob");
    drop(waiting);
    scene.end(&["q0", "q1", "q2", "q4"]).await;
}

#[tokio::test]
async fn a_command_is_told_when_nobody_is_there_and_its_token_shows_the_question() {
    let mut house = House::new();
    let place = house.dir.path().join("told");
    let words = ["sh", "-c", &format!("cat > {0}.new && mv {0}.new {0}", place.display())];
    let value = words.map(str::to_owned).to_vec();
    house.config.approval.notify_command = LayeredSetting { value, origin: SettingLayer::User };
    house.config.approval.notify_after.value = std::time::Duration::ZERO;
    let mut scene = Scene::new(house).await;
    scene.ask(scene.subject("q")).await;
    let telling = async {
        loop {
            if let Ok(text) = std::fs::read_to_string(&place) {
                return serde_json::from_str::<Value>(&text).unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let notice = timeout(STUCK, telling).await.expect("nobody was told");
    assert_eq!(notice["type"], "confirmation.requested");
    assert_eq!(notice["confirmation"]["title"], "Probe");
    assert_eq!(notice.get("confirmUrl"), None, "there is no TCP");
    let token = notice["token"].as_str().unwrap();
    let got = scene.owner.call("confirmation/get", json!({ "token": token })).await;
    assert_eq!(got["confirmation"]["confirmationId"], "q");
    let (kind, error) = scene
        .owner
        .refused("confirmation/respond", json!({ "token": token, "outcome": "modify", "content": "" }))
        .await;
    assert_eq!(
        (kind.as_str(), &error["data"]["details"]["offered"]),
        ("OUTCOME_NOT_OFFERED", &json!(["allowOnce", "deny"]))
    );
    scene.end(&["q"]).await;
}

#[tokio::test]
async fn an_approval_that_may_not_be_asked_starts_nothing() {
    let scene = Scene::new(House::new()).await;
    let mut client = scene.running.client();
    let params = json!({
        "workspace": scene.running.work(), "agent": "talker", "model": "script", "prompt": "x",
        "approval": { "mode": "yolo", "autoApprove": ["critical"] },
    });
    let (kind, error) = client.refused("run/start", params).await;
    let violations = error["data"]["details"]["violations"].as_array().unwrap();
    assert_eq!((kind.as_str(), violations.len()), ("INVALID_PARAMS", 2), "{error}");
    drop(client);
    scene.end(&[]).await;
}
