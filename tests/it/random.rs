//! Do the laws hold over scripts that nobody thought of? Random models, tools, limits, cancels, watchers and
//! restarts, several runs at once in one daemon.
//!
//! A failure prints its seed; `SUBAGENTD_SEED` sets it, `SUBAGENTD_TRIALS=full` tries many more.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use serde_json::{Value, json};
use subagentd::{
    protocol::{EventSeq, Risk, ToolKind},
    store::LogFilter,
    sys::clock::ManualClock,
};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::script::{Dice, Planned, Planner};
use crate::{
    laws::{self, Attached, Deltas},
    probe::{Probe, ProbeHandle},
    support::{Client, House, Running, STUCK, lines},
};

mod script;

/// In the suite, and with `SUBAGENTD_TRIALS=full`.
const TRIALS: (u64, u64) = (20, 1_000);
/// Without an event for this long everybody waits for the clock; it is then moved.
const QUIET: Duration = Duration::from_millis(4);
/// Moves of the clock without an event after which the runs that are left are cancelled.
const PATIENCE: u32 = 60;

const AGENTS: &[(&str, &str)] = &[
    ("tooled", "completion: tool"),
    ("talker", "completion: message"),
    (
        "typed",
        "output: { name: verdict, schema: { type: object, required: [score], properties: { score: { type: number } } } }",
    ),
];

/// A run that was started, and the one client that follows it over all restarts.
struct Followed {
    model: usize,
    run: String,
    session: String,
    cursor: i64,
    received: Vec<Value>,
}

/// What one subscription sent.
struct Watched {
    attached: Attached,
    deltas: Deltas,
    /// Of `events/subscribe`: what it asked for.
    filter: Option<Value>,
    envelopes: Vec<Value>,
}

impl Watched {
    /// That it was sent its part of the log, as far as it read and the log goes.
    fn check_delivery(&self, seed: u64, log: &[Value]) {
        let (Some(filter), Attached::After(after)) = (&self.filter, self.attached) else { return };
        let newest =
            |events: &[Value]| events.iter().rev().find_map(|event| event["seq"].as_i64()).unwrap_or(0);
        let end = newest(log).min(newest(&self.envelopes));
        let is_within = |event: &&Value| event["seq"].as_i64().is_some_and(|seq| seq <= end);
        let is_named = |list: &Value, event: &Value, id: &str| {
            list.as_array().is_none_or(|ids| ids.iter().any(|it| *it == event[id]))
        };
        let type_fits = |event: &Value| {
            filter["types"].as_array().is_none_or(|types| {
                let (kind, pattern) = (event["type"].as_str().unwrap(), types[0].as_str().unwrap());
                pattern.strip_suffix('*').map_or(kind == pattern, |beginning| kind.starts_with(beginning))
            })
        };
        let matches = |event: &&Value| {
            is_named(&filter["sessionIds"], event, "sessionId")
                && is_named(&filter["runIds"], event, "runId")
                && type_fits(event)
        };
        let expected: Vec<Value> = log.iter().filter(is_within).filter(matches).cloned().collect();
        let received: Vec<Value> = self.envelopes.iter().filter(is_within).cloned().collect();
        if let Err(violations) = laws::check_delivery(&expected, after, &received) {
            panic!("seed {seed}: delivery of {filter} after {after}:\n{}", violations.join("\n"));
        }
    }

    fn check(&self, seed: u64) {
        if let Err(violations) = laws::check_subscription(self.attached, self.deltas, &self.envelopes) {
            let sentences = violations.join("\n");
            panic!("seed {seed}: a subscription breaks laws:\n{sentences}\n{}", lines(&self.envelopes));
        }
    }
}

/// A subscription that is to be read.
struct Watcher {
    client: Client,
    watched: Watched,
}

impl Watcher {
    async fn attach(running: &Running, session: &str, from: Value, deltas: bool) -> Watcher {
        let attached = match &from {
            Value::Number(seq) => Attached::After(seq.as_i64().unwrap()),
            Value::String(word) if word == "start" => Attached::After(0),
            _ => Attached::Now,
        };
        let mut client = running.client();
        client.call("session/attach", json!({ "sessionId": session, "from": from, "deltas": deltas })).await;
        let deltas = if deltas { Deltas::Some } else { Deltas::Off };
        Watcher { client, watched: Watched { attached, deltas, filter: None, envelopes: Vec::new() } }
    }

    /// By `events/subscribe`, from a cursor.
    async fn subscribe(running: &Running, filter: Value, from: i64, deltas: bool) -> Watcher {
        let mut client = running.client();
        let mut params = filter.clone();
        params["from"] = json!(from);
        params["deltas"] = json!(deltas);
        client.call("events/subscribe", params).await;
        let deltas = if deltas { Deltas::Some } else { Deltas::Off };
        let attached = Attached::After(from);
        Watcher { client, watched: Watched { attached, deltas, filter: Some(filter), envelopes: Vec::new() } }
    }

    /// Reads until the daemon hangs up, or with `until_end` until the run has ended.
    async fn read(mut self, until_end: bool) -> Watched {
        while let Some(message) = self.client.receive_or_end().await {
            let envelope = message["params"]["result"].clone();
            let is_end = envelope["type"] == "run.completed";
            self.watched.envelopes.push(envelope);
            if until_end && is_end {
                break;
            }
        }
        self.watched
    }
}

struct Trial {
    seed: u64,
    dice: Dice,
    house: House,
    clock: Arc<ManualClock>,
    /// The receivers are kept, since a probe tells when it begins.
    tools: Vec<(ProbeHandle, mpsc::UnboundedReceiver<String>)>,
    plans: Vec<Vec<Planned>>,
    runs: Vec<Followed>,
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let mut dice = Dice(seed);
        let (probe, reads, began_read) = Probe::new("probe", ToolKind::Read, Risk::Safe);
        let (writer, writes, began_write) = Probe::new("writer", ToolKind::Edit, Risk::Safe);
        let mut house = House::new().tool(probe).tool(writer).file("a.txt", "inside\n");
        for (name, fields) in AGENTS {
            let text = format!(
                "---\nkind: agent\nname: {name}\ndescription: d\ntools: [probe, writer, read_file]\n{fields}\n---\nx\n"
            );
            house = house.agent(name, &text);
        }
        let (mut house, clock) = house.manual_clock();
        let mut plans = Vec::new();
        for model in 0..1 + dice.below(5) {
            let length = 1 + dice.below(5);
            let plan: Vec<Planned> = (0..length).map(|at| Planned::new(&mut dice, model, at)).collect();
            let clock = Arc::clone(&clock);
            let planner = Planner { clock, plan: plan.clone(), attempts: Mutex::default() };
            house.models = house.models.with_model(format!("m{model}"), Arc::new(planner));
            plans.push(plan);
        }
        let tools = vec![(reads, began_read), (writes, began_write)];
        Trial { seed, dice, house, clock, tools, plans, runs: Vec::new() }
    }

    async fn run(mut self) {
        let restarts = self.dice.below(3);
        for phase in 0..=restarts {
            let running = self.house.boot().await;
            self.live(running, phase, restarts).await;
        }
        let running = self.house.boot().await;
        self.judge(&running).await;
        running.stop().await;
    }

    /// One daemon's life: until the dice want a restart, or in the last phase until every run has ended.
    async fn live(&mut self, running: Running, phase: usize, restarts: usize) {
        let is_last = phase == restarts;
        let mut client = running.client();
        // The others were started by an earlier daemon.
        let n_plans = self.plans.len();
        let until = if is_last { n_plans } else { (n_plans * (phase + 1)).div_ceil(restarts + 1) };
        for model in self.runs.len()..until {
            self.start(&running, &mut client, model).await;
        }
        let mut followers = JoinSet::new();
        for (at, followed) in self.runs.iter().enumerate() {
            let has_ended = followed.received.last().is_some_and(|event| event["type"] == "run.completed");
            if !has_ended {
                let (from, deltas) = (json!(followed.cursor), self.dice.once_in(2));
                let watcher = Watcher::attach(&running, &followed.session, from, deltas).await;
                followers.spawn(async move { (at, watcher.read(true).await) });
            }
        }
        let mut watchers = JoinSet::new();
        self.direct(&running, &mut client, &mut watchers, is_last).await;
        if is_last {
            // Everything has happened; the followers must get to the end by themselves.
            self.collect(&mut followers).await;
            let idle = async {
                let is_idle = || {
                    let census = running.daemon.census();
                    census.live_runs == 0 && census.open_texts == 0
                };
                while !is_idle() {
                    tokio::task::yield_now().await;
                }
            };
            let seed = self.seed;
            timeout(STUCK, idle)
                .await
                .unwrap_or_else(|_| panic!("seed {seed}: {:?}", running.daemon.census()));
        }
        drop(client);
        let log = running.log().await;
        if let Err(violations) = laws::check(&log) {
            panic!("seed {}: the log breaks laws:\n{}\n{}", self.seed, violations.join("\n"), lines(&log));
        }
        let is_whole = timeout(STUCK, running.daemon.stop()).await.expect("the daemon did not stop");
        assert!(is_whole, "seed {}: something was left", self.seed);
        self.collect(&mut followers).await;
        while let Some(watched) = watchers.join_next().await {
            let watched: Watched = watched.unwrap();
            watched.check(self.seed);
            watched.check_delivery(self.seed, &log);
        }
    }

    /// What somebody may ask of the log.
    fn random_filter(&mut self) -> Value {
        let mut filter = json!({});
        let named = |dice: &mut Dice, ids: Vec<&String>| -> Vec<String> {
            (0..1 + dice.below(2)).map(|_| (*dice.pick(&ids)).clone()).collect()
        };
        if self.dice.once_in(2) {
            filter["sessionIds"] =
                json!(named(&mut self.dice, self.runs.iter().map(|it| &it.session).collect()));
        }
        if self.dice.once_in(2) {
            filter["runIds"] = json!(named(&mut self.dice, self.runs.iter().map(|it| &it.run).collect()));
            filter["exact"] = json!(self.dice.once_in(2));
        }
        if self.dice.once_in(3) {
            filter["types"] = json!([self.dice.pick(&["run.*", "tool.state", "turn.completed", "*"])]);
        }
        filter
    }

    async fn start(&mut self, running: &Running, client: &mut Client, model: usize) {
        let dice = &mut self.dice;
        let agent = dice.pick(AGENTS).0;
        let mut limits = json!({
            "maxTurns": 1 + dice.below(6),
            "maxTimeMs": dice.pick(&[500, 5_000, 60_000, 600_000]),
            "graceMs": dice.pick(&[0, 1_000, 60_000]),
        });
        if dice.once_in(3) {
            limits["maxTokens"] = json!(1 + dice.below(60));
        }
        let more = json!({ "model": format!("m{model}"), "limits": limits });
        let (run, session) = client.start(running, agent, more).await;
        self.runs.push(Followed { model, run, session, cursor: 0, received: Vec::new() });
    }

    /// Follows the log and lets things happen between its events.
    async fn direct(
        &mut self,
        running: &Running,
        client: &mut Client,
        watchers: &mut JoinSet<Watched>,
        is_last: bool,
    ) {
        let store = running.daemon.store().clone();
        let mut log = store.follow(LogFilter::default(), EventSeq(0));
        let mut quiet = 0;
        while running.daemon.census().live_runs != 0 {
            match timeout(QUIET, log.next()).await {
                Ok(events) => {
                    events.unwrap();
                    quiet = 0;
                    self.clock.advance(Duration::from_millis(self.dice.roll() % 300));
                }
                Err(_elapsed) => {
                    quiet += 1;
                    self.clock.advance(Duration::from_millis(self.dice.roll() % 20_000));
                    let (tool, _) = self.dice.pick(&self.tools);
                    tool.release.add_permits(1);
                }
            }
            let is_over = PATIENCE <= quiet;
            if is_over || self.dice.once_in(30) {
                let targets: Vec<String> = match is_over {
                    true => self.runs.iter().map(|followed| followed.run.clone()).collect(),
                    false => vec![self.dice.pick(&self.runs).run.clone()],
                };
                for run in targets {
                    self.cancel(client, &run).await;
                }
            }
            if self.dice.once_in(8) {
                let head = store.head().0;
                let from = match self.dice.below(3) {
                    0 => json!("now"),
                    1 => json!("start"),
                    _ => json!(self.dice.below(usize::try_from(head).unwrap() + 1)),
                };
                let deltas = !self.dice.once_in(4);
                let watcher = match (self.dice.below(3), from.as_i64()) {
                    (0, _) => Watcher::attach(running, "*", from, deltas).await,
                    (1, Some(from)) => {
                        let filter = self.random_filter();
                        // Texts whose events are left out cannot be put together.
                        let deltas = deltas && filter["types"].is_null();
                        Watcher::subscribe(running, filter, from, deltas).await
                    }
                    _ => {
                        let session = &self.dice.pick(&self.runs).session;
                        Watcher::attach(running, session, from, deltas).await
                    }
                };
                watchers.spawn(watcher.read(self.dice.once_in(2)));
            }
            if !is_last && self.dice.once_in(25) {
                return;
            }
        }
    }

    /// A cancel that was answered is durable: the run has ended, or its stop is in the log.
    async fn cancel(&self, client: &mut Client, run: &str) {
        let cancelled = client.call("run/cancel", json!({ "runId": run })).await;
        let has_ended = cancelled["run"]["state"] == "ended";
        let filter = json!({ "runId": run, "types": ["run.stopping"] });
        let stops = client.call("events/list", json!({ "filter": filter })).await;
        let is_final = |stop: &Value| stop["data"]["then"] == "end";
        let is_stopping = stops["events"].as_array().unwrap().iter().any(is_final);
        assert!(has_ended || is_stopping, "seed {}: {cancelled} {stops}", self.seed);
    }

    async fn collect(&mut self, followers: &mut JoinSet<(usize, Watched)>) {
        while let Some(collected) = followers.join_next().await {
            let (at, watched) = collected.unwrap();
            watched.check(self.seed);
            let followed = &mut self.runs[at];
            for envelope in watched.envelopes {
                if let Some(seq) = envelope["seq"].as_i64() {
                    followed.cursor = seq;
                    followed.received.push(envelope);
                }
            }
        }
    }

    /// What holds when all is over.
    async fn judge(&self, running: &Running) {
        let seed = self.seed;
        let log = running.log().await;
        if let Err(violations) = laws::check_finished(&log) {
            panic!("seed {seed}: the log breaks laws:\n{}\n{}", violations.join("\n"), lines(&log));
        }
        let mut client = running.client();
        for followed in &self.runs {
            let record = client.call("run/get", json!({ "runId": followed.run })).await;
            assert_eq!(record["state"], "ended", "seed {seed}: {record}");
            let of_session: Vec<Value> =
                log.iter().filter(|event| event["sessionId"] == *followed.session).cloned().collect();
            if let Err(violations) = laws::check_delivery(&of_session, 0, &followed.received) {
                panic!("seed {seed}: delivery breaks laws:\n{}", violations.join("\n"));
            }
            self.judge_texts(followed, &of_session);
        }
    }

    /// Whole replies say what the model said; cut ones a beginning of it.
    fn judge_texts(&self, followed: &Followed, log: &[Value]) {
        let plan = &self.plans[followed.model];
        let mut ordinal = 0;
        for completed in log.iter().filter(|event| event["type"] == "model.completed") {
            let planned = &plan[ordinal.min(plan.len() - 1)];
            let (text, whole) = (completed["data"]["text"].as_str().unwrap(), planned.chunks.concat());
            let is_cut = completed["data"]["cut"] == true;
            let is_true = if is_cut { whole.starts_with(text) } else { whole == text };
            assert!(is_true, "seed {}: {text:?} of {whole:?}\n{}", self.seed, lines(log));
            ordinal += usize::from(!is_cut);
        }
    }
}

/// Panics that are part of the script are not worth a line.
fn silence_planted_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&"planted") {
                before(panic);
            }
        }));
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn laws_hold_over_random_scripts() {
    silence_planted_panics();
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut seeds = Dice(given.unwrap_or_else(|| RandomState::new().hash_one("seed"))).apart();
    for trial in 0..if is_full { TRIALS.1 } else { TRIALS.0 } {
        // The same seed again and again when one is given: what the threads do differs from try to try.
        let seed = given.unwrap_or_else(|| seeds.roll());
        let done = timeout(4 * STUCK, Box::pin(Trial::new(seed).run()));
        let seed_on_failure = SeedOnFailure(seed);
        done.await.unwrap_or_else(|_| panic!("trial {trial}, seed {seed}: it does not end"));
        drop(seed_on_failure);
    }
}

/// Says the seed when a trial fails, however it fails.
struct SeedOnFailure(u64);

impl Drop for SeedOnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SUBAGENTD_SEED={} fails", self.0);
        }
    }
}
