//! Is a context that is being compressed while the daemon is killed the old one or the new one, and never a mixture? (Spec
//! 04, "Compression"; spec 11, promise 6.)

use std::{
    fs,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use subagentd::sys::clock::{Clock as _, SystemClock};
use tokio::time::timeout;

use self::{
    context::Expected,
    mind::{Came, Hang, Kind, Mind, Request, Requests},
};
use super::{Seed, is_full, of_type};
use crate::{
    laws,
    process::{Home, Served, Wire, text},
    provider_server::{KEY, ProviderServer},
    recording::Chance,
    support::STUCK,
};

mod context;
mod mind;

const WORKER: &str = "---\nkind: agent\nname: worker\ndescription: Works.\ncompletion: tool\ntools: [read_file]\n\
                      run:\n  maxTurns: 10000\n---\nYou work.\n";
const TALKER: &str = "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\n\
                      You talk.\n";
/// A context is compressed when it takes half of this, which is after a few files.
const SMALL_WINDOW: u64 = 12_000;
/// Which nothing here fills.
const LARGE_WINDOW: u64 = 1_000_000;
/// Longest pause between what was waited for and the kill, in microseconds: a commit takes about as long.
const PAUSE_US: u64 = 2_500;
/// The same after the second look was asked for, which is then answered, and read, and what comes of it committed.
const AROUND_US: u64 = 12_000;
/// Events up to a kill anywhere: about as many as there are between two compressions.
const ANYWHERE: u64 = 60;

/// When a daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// While it waits for the provider.
    Hung(Hang),
    /// About when a compression is committed.
    Around,
    /// A client has just been told of it.
    Told,
    Anywhere,
}

use Moment::{Anywhere, Around, Hung, Told};

/// Never more than two in a row after which the run may have got no further: a third would be a crash loop.
const MOMENTS: &[Moment] = &[
    Hung(Hang::AtOnce(Kind::Summary)),
    Hung(Hang::Halfway(Kind::SecondLook)),
    Told,
    Around,
    Around,
    Hung(Hang::Afterwards),
    Hung(Hang::Halfway(Kind::Summary)),
    Hung(Hang::AtOnce(Kind::SecondLook)),
    Told,
    Anywhere,
    Around,
    Told,
];

/// One daemon, and the provider that it has for itself.
struct Life {
    served: Served,
    wire: Wire,
    came: Came,
    provider: ProviderServer,
}

/// One session on the files of all daemons.
struct Scene {
    home: Home,
    mind: Arc<Mind>,
    window: u64,
    chance: Chance,
    requests: Vec<Requests>,
    session: Value,
}

impl Scene {
    fn new(agent: (&str, &str), window: u64, seed: &Seed) -> Scene {
        let home = Home::new();
        fs::write(home.path(&format!("config/subagentd/agents/{}.md", agent.0)), agent.1).unwrap();
        // Nothing of the folders is told: a request has the history alone.
        fs::write(home.work().join(".gitignore"), "*\n").unwrap();
        let mind = Arc::new(Mind::default());
        Scene { home, mind, window, chance: Chance::new(seed.0), requests: Vec::new(), session: Value::Null }
    }

    async fn start(&mut self, moment: Option<Moment>) -> Life {
        let hang = match moment {
            Some(Hung(hang)) => hang,
            _ => Hang::Never,
        };
        let (provider, requests, came) = self.mind.serve(hang).await;
        self.requests.push(requests);
        let base = format!("{}/v1", provider.base_url());
        let settings = json!({
            "providers": { "local": { "kind": "openai", "baseUrl": base, "key": { "env": "TEST_KEY" } } },
            "models": {
                "contextWindow": { "local/*": self.window },
                "prices": { "local/*": { "inputPerMillion": 1.0, "outputPerMillion": 1000.0 } },
            },
            // It would ask the model as well.
            "loopDetection": { "judge": false },
        });
        fs::write(self.home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let served = self.home.start_with(&[("TEST_KEY", KEY)]).await;
        let wire = self.home.connect().await;
        Life { served, wire, came, provider }
    }

    async fn run(&mut self, life: &mut Life, agent: &str, prompt: &str) -> String {
        let mut params = json!({
            "workspace": self.home.work(), "agent": agent, "model": "local/model", "prompt": prompt,
        });
        if self.session.is_string() {
            params["sessionId"] = self.session.clone();
        }
        let started = life.wire.call("run/start", params).await.unwrap();
        self.session = started["sessionId"].clone();
        text(&started, "runId").to_owned()
    }

    /// Waits for the moment, in what the log says after `from`.
    async fn reach(&mut self, life: &mut Life, moment: Moment, from: i64) {
        if !matches!(moment, Hung(_)) {
            let params = json!({ "sessionId": self.session, "from": from });
            life.wire.call("session/attach", params).await.unwrap();
        }
        match moment {
            Hung(_) => {
                came(&self.home, life, |_, hangs| hangs).await;
                // Half an answer has long been read when the context was looked at.
                self.look(life, laws::check).await;
            }
            Around => {
                came(&self.home, life, |kind, _| kind == Kind::SecondLook).await;
                self.pause(AROUND_US);
            }
            Told => {
                life.wire.events_until("context.compressed").await.unwrap();
                self.pause(PAUSE_US);
            }
            Anywhere => {
                for _ in 0..1 + self.chance.below(ANYWHERE) {
                    life.wire.event().await.unwrap();
                }
                self.pause(PAUSE_US);
            }
        }
    }

    /// Not for something to happen: to hit another place.
    fn pause(&mut self, at_most: u64) {
        std::thread::sleep(Duration::from_micros(self.chance.below(at_most)));
    }

    /// Holds the log, what a model was shown, and what people are shown of it, to each other. Nothing may be going on but a
    /// question that hangs. Answers the log.
    async fn look(&self, life: &mut Life, lawful: fn(&[Value]) -> Result<(), Vec<String>>) -> Vec<Value> {
        let log = life.wire.log(json!({}), 0).await.unwrap();
        let history = history(&mut life.wire, &self.session).await;
        let mut violations = lawful(&log).err().unwrap_or_default();
        let requests: Vec<_> = self.requests.iter().map(|it| it.lock().unwrap()).collect();
        let requests: Vec<&Request> = requests.iter().flat_map(|it| it.iter()).collect();
        let mut expected = Expected::read(&log, &history);
        expected.check(&requests);
        violations.append(&mut expected.violations);
        violations.extend(life.provider.violations());
        violations.extend(repeated_otherwise(&requests));
        violations.extend(counted_twice(&log));
        let Expected { epoch, tokens, .. } = expected;
        // The projection, which is written with the log.
        let session = json!({ "sessionId": self.session });
        let context = life.wire.call("session/get", session).await.unwrap()["contexts"][0].clone();
        if (&context["epoch"], &context["tokens"]) != (&json!(epoch), &json!(tokens)) {
            violations.push(format!("{context} is not in epoch {epoch} with {tokens} tokens"));
        }
        violations.extend(history.iter().enumerate().filter_map(|(at, message)| missing(at, message)));
        assert!(violations.is_empty(), "{}\n{}", violations.join("\n"), self.home.daemon_log());
        log
    }
}

/// Waits for a request.
async fn came(home: &Home, life: &mut Life, is_awaited: impl Fn(Kind, bool) -> bool) {
    let coming = async {
        loop {
            let (kind, hangs) = life.came.recv().await.unwrap();
            if is_awaited(kind, hangs) {
                return;
            }
        }
    };
    if timeout(STUCK, coming).await.is_err() {
        // A connection that said nothing for so long may be closed.
        let log = home.connect().await.log(json!({}), 0).await.unwrap();
        let newest: Vec<String> = log.iter().rev().take(5).map(Value::to_string).collect();
        panic!("the provider is not asked for it; the newest events:\n{}", newest.join("\n"));
    }
}

/// Where the log ends.
async fn head(wire: &mut Wire) -> i64 {
    wire.call("daemon/status", json!({})).await.unwrap()["database"]["head"].as_i64().unwrap()
}

async fn history(wire: &mut Wire, session: &Value) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut params = json!({ "sessionId": session, "limit": 1_000 });
    loop {
        let page = wire.call("session/history", params.clone()).await.unwrap();
        messages.extend(page["messages"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return messages,
        }
    }
}

/// Every message is still there: of the worker its task, and each call with its result; of the talker what was said, in turn.
fn missing(at: usize, message: &Value) -> Option<String> {
    let line = context::told(message);
    let n = at / 2 + 1;
    let expected = match at % 2 {
        0 if line.starts_with("user: prompt") => format!("user: prompt {n}"),
        1 if line.starts_with("model: answer") => format!("model: answer to prompt {n}: "),
        0 if at == 0 => "user: go".to_owned(),
        0 if line.contains("number=") => {
            return (mind::number_in(&line) != Some(n as u64 - 1)).then_some(line);
        }
        1 => "model:  [".to_owned(),
        _ => "result of ".to_owned(),
    };
    (!line.starts_with(&expected)).then(|| format!("history has at {at} not `{expected}`: {line}"))
}

/// Asked again by the next daemon, a summariser is told the same of the same history: what was begun has changed nothing.
fn repeated_otherwise(requests: &[&Request]) -> Vec<String> {
    let mut last: Option<String> = None;
    let mut violations = Vec::new();
    for request in requests {
        match request.kind {
            Kind::Turn => last = None,
            Kind::SecondLook => (),
            Kind::Summary => {
                let line = &request.messages[0];
                // A random word in every line that is the daemon's.
                let (before, _) = line.split_once(" history begins>>").unwrap();
                let mark = before.rsplit_once("<<").unwrap().1;
                let plain = line.replace(mark, "mark");
                if last.as_ref().is_some_and(|last| *last != plain) {
                    violations.push(format!("a summary of another history: {plain}"));
                }
                last = Some(plain);
            }
        }
    }
    violations
}

/// No two answers have as many tokens.
fn counted_twice(log: &[Value]) -> Vec<String> {
    // What nobody waited for to its end has no answer.
    let is_answer = |event: &&Value| event["data"]["abandoned"] != true;
    let answers = of_type(log, "model.completed").chain(of_type(log, "sideCall.completed")).filter(is_answer);
    let mut counts: Vec<u64> =
        answers.map(|event| event["data"]["usage"]["outputTokens"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    let twice = counts.windows(2).filter(|pair| pair[0] == pair[1]);
    twice.map(|pair| format!("answer {} is counted twice", pair[0])).collect()
}

/// Daemons that died while a context was being compressed, and right after that was committed, before anything else was.
fn hits(log: &[Value]) -> (usize, usize) {
    let mut last = "";
    let (mut within, mut after) = (0, 0);
    for event in log {
        match text(event, "type") {
            "run.resumed" => {
                within += usize::from(matches!(last, "sideCall.started" | "sideCall.completed"));
                after += usize::from(last == "context.compressed");
            }
            // What is committed with a compression, and what a restart says.
            "model.started" | "model.retrying" | "turn.completed" => (),
            kind => last = kind,
        }
    }
    (within, after)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_that_a_run_compresses_is_the_old_or_the_new() {
    let kills = MOMENTS.len() * if is_full() { 20 } else { 2 };
    let seed = Seed::new();
    let clock = SystemClock::new();
    let mut scene = Scene::new(("worker", WORKER), SMALL_WINDOW, &seed);
    for number in 1..=2_000 {
        fs::write(scene.home.work().join(format!("{number}.txt")), mind::file(number)).unwrap();
    }
    let mut run = String::new();
    for moment in MOMENTS.iter().cycle().take(kills) {
        let mut life = scene.start(Some(*moment)).await;
        let head = head(&mut life.wire).await;
        if run.is_empty() {
            run = scene.run(&mut life, "worker", "go").await;
        }
        scene.reach(&mut life, *moment, head).await;
        life.served.kill().await;
    }
    scene.mind.has_enough.store(true, Ordering::Relaxed);
    let mut life = scene.start(None).await;
    let record = life.wire.ended(&run).await.unwrap();
    assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!("finished")), "{record}");
    let log = scene.look(&mut life, laws::check_finished).await;
    life.served.stop().await;
    let (within, after) = hits(&log);
    eprintln!(
        "{kills} kills, {within} of them while a context was compressed, {after} right after it was; {} compressions in {} \
         turns; {:.1} s; SUBAGENTD_SEED={}",
        of_type(&log, "context.compressed").count(),
        record["turns"],
        clock.monotonic().as_secs_f64(),
        seed.0,
    );
    // As many as hang in a compression, and right after one. Else all of the above says little.
    assert!(kills / 3 <= within && kills / 12 <= after, "the kills hit elsewhere");
}

/// What becomes of a compression that somebody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// After all that, it is not wanted any more.
    Cancelled,
}

/// Which daemons die under a compression, and its end.
const ROUNDS: &[(&[Moment], End)] = &[
    (&[Hung(Hang::AtOnce(Kind::Summary)), Hung(Hang::Halfway(Kind::SecondLook))], End::Done),
    (&[Told], End::Done),
    (&[Hung(Hang::Halfway(Kind::Summary)), Hung(Hang::AtOnce(Kind::SecondLook))], End::Cancelled),
    (&[Around, Around], End::Done),
    (&[Hung(Hang::AtOnce(Kind::SecondLook)), Told], End::Done),
];
/// What is said between two compressions, so that something of it can go.
const TALKS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_that_somebody_has_compressed_is_the_old_or_the_new() {
    let seed = Seed::new();
    let clock = SystemClock::new();
    let mut scene = Scene::new(("talker", TALKER), LARGE_WINDOW, &seed);
    let mut prompts = 0;
    let n_rounds = ROUNDS.len() * if is_full() { 20 } else { 2 };
    let (mut kills, mut compressions, mut resumed) = (0, 0, 0);
    for (moments, end) in ROUNDS.iter().cycle().take(n_rounds) {
        // Where the log ended when it was asked for.
        let mut asked = None;
        for moment in *moments {
            let mut life = scene.start(Some(*moment)).await;
            // Its answer is for nobody: as a rule the daemon dies before it.
            let mut asker = scene.home.connect().await;
            let from = match asked {
                None => {
                    talk(&mut scene, &mut life, &mut prompts, TALKS).await;
                    let head = head(&mut life.wire).await;
                    asker.send("session/compact", json!({ "sessionId": scene.session })).await.unwrap();
                    head
                }
                Some(from) => {
                    let params = json!({ "runId": compacting(&mut life.wire, from).await });
                    if life.wire.call("run/get", params).await.unwrap()["state"] == "ended" {
                        life.served.kill().await;
                        break;
                    }
                    from
                }
            };
            asked = Some(from);
            scene.reach(&mut life, *moment, from).await;
            life.served.kill().await;
            kills += 1;
        }
        let from = asked.unwrap();
        let hang = Hung(Hang::AtOnce(Kind::Summary));
        let mut life = scene.start((*end == End::Cancelled).then_some(hang)).await;
        let run = compacting(&mut life.wire, from).await;
        if *end == End::Cancelled {
            came(&scene.home, &mut life, |_, hangs| hangs).await;
            life.wire.call("run/cancel", json!({ "runId": run })).await.unwrap();
        }
        let record = life.wire.ended(&run).await.unwrap();
        let told =
            life.wire.log(json!({ "runId": run, "types": ["context.compressed"] }), from).await.unwrap();
        let came_of_it = (text(&record, "reason"), told.len());
        match end {
            End::Done => assert_eq!(came_of_it, ("GOAL", 1), "{record}"),
            End::Cancelled => assert_eq!(came_of_it, ("ABORTED", 0), "{record}"),
        }
        compressions += told.len();
        // The next request shows what came of it.
        talk(&mut scene, &mut life, &mut prompts, 1).await;
        let log = scene.look(&mut life, laws::check_finished).await;
        let was_resumed = of_type(&log, "run.resumed").any(|it| it["runId"] == run.as_str());
        resumed += usize::from(was_resumed && !told.is_empty());
        assert_eq!(of_type(&log, "run.completed").count(), prompts + of_compact(&log).count());
        life.served.kill().await;
    }
    eprintln!(
        "{kills} kills under {n_rounds} compressions, of which {compressions} were done, {resumed} after a kill; {prompts} \
         prompts; {:.1} s; SUBAGENTD_SEED={}",
        clock.monotonic().as_secs_f64(),
        seed.0,
    );
}

/// The run that compresses the context, asked for after `from`.
async fn compacting(wire: &mut Wire, from: i64) -> String {
    let log = wire.log(json!({ "types": ["run.started"] }), from).await.unwrap();
    text(of_compact(&log).next().unwrap(), "runId").to_owned()
}

fn of_compact(log: &[Value]) -> impl Iterator<Item = &Value> {
    of_type(log, "run.started").filter(|started| started["data"]["task"] == "compact")
}

/// Prompts, and the answers to them.
async fn talk(scene: &mut Scene, life: &mut Life, prompts: &mut usize, n: usize) {
    for _ in 0..n {
        *prompts += 1;
        let prompt = format!("prompt {prompts}");
        let run = scene.run(life, "talker", &prompt).await;
        let record = life.wire.ended(&run).await.unwrap();
        assert_eq!(record["reason"], "GOAL", "{record}");
        assert!(text(&record, "result").starts_with(&format!("answer to {prompt}: ")), "{record}");
    }
}
