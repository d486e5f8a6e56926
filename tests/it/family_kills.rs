//! What does a daemon owe runs that call runs when it is killed? (Spec 11, promises 1–6; 03, "Subagent calls".)
//!
//! `SUBAGENTD_TRIALS=full` kills 200 times instead of 20; `SUBAGENTD_SEED` chooses again what a failure chose.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use subagentd::sys::clock::{Clock as _, SystemClock};

use self::ledger::{Ledger, Open};
use crate::{
    families::{Beside, Effects, Family, ProbeDaemon, Shape},
    kills::{Seed, is_full},
    laws,
    process::{Gone, Home, Wire, text},
    recording::Chance,
};

mod ledger;

/// Root runs that are alive at each kill; some wait behind others.
const LIVE_ROOTS: usize = 3;
/// Places for runs at work, in a session and in all: fewer than want one.
const PLACES: (usize, usize) = (2, 4);
/// So much that a family outlives several daemons.
const SHAPE: Shape = Shape { turns: [5, 3, 2], longest_ms: 25 };
/// Longest pause between the event that was waited for and the kill, in microseconds: a commit takes about as long.
const PAUSE_US: u64 = 2_500;
/// Spec 11, promise 6: how soon after the daemon's start runs go on.
const GO_ON: Duration = crate::support::STUCK;
/// Every so manieth daemon is left alone until its runs have gone on.
const UNATTENDED: usize = 4;
/// Between looks at a database whose daemon has no client.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Events after which the moment is not waited for any longer.
const ENOUGH: u64 = 300;

/// After what a kill comes: the type of an event, the state of `tool.state`, and up to how many of them.
const MOMENTS: &[(&str, Option<&str>, u64)] = &[
    ("model.started", None, 12),
    ("model.completed", None, 12),
    ("turn.completed", None, 8),
    ("tool.state", Some("scheduled"), 25),
    ("tool.state", Some("executing"), 25),
    ("tool.state", Some("success"), 20),
    ("run.started", None, 4),
    ("run.queued", None, 4),
    ("run.completed", None, 3),
    ("run.steered", None, 2),
    ("run.resumed", None, 4),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_under_families_lose_repeat_and_reorder_nothing() {
    let kills: u32 = if is_full() { 200 } else { 20 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let clock = SystemClock::new();
    let home = Family::home(PLACES.0, PLACES.1);
    let families: Vec<Family> =
        (1..=4).map(|n| Family::write(&home, &format!("family-{n}"), SHAPE, &mut chance)).collect();
    let mut siege = Siege::new(&home, families);
    for _ in 0..kills {
        siege.kill_once(&mut chance).await;
    }
    let log = siege.see_all_end().await;

    let mut violations = laws::check_finished(&log).err().unwrap_or_default();
    violations.extend(siege.violations(&log));
    let effects = Effects::of(&home);
    violations.extend(effects.violations(&log));

    let mut seen = Seen::default();
    for boundary in &siege.boundaries {
        seen.take(&Ledger::at(&log, *boundary));
    }
    let count = |is_it: &dyn Fn(&Value) -> bool| log.iter().filter(|event| is_it(event)).count();
    let interrupted = count(&|event| event["data"]["error"]["type"] == "INTERRUPTED");
    eprintln!(
        "{kills} kills, {} of them hasty, {} starts without a client; {} runs, {} of them called by others, {} queued; \
         at the kill: a mutating and a read-only call open {}, a child {}, a run in a queue {}; {} run.resumed, \
         {interrupted} INTERRUPTED, {} run.steered; {} mutations, {} of them cut; {} looked again; {} events; \
         slowest to go on {} ms; {} violations; {:.1} s; SUBAGENTD_SEED={}",
        siege.hasty_kills,
        siege.unattended,
        count(&|event| event["type"] == "run.completed"),
        count(&|event| event["type"] == "run.completed" && event["parentRunId"].is_string()),
        count(&|event| event["type"] == "run.queued"),
        seen.both_open,
        seen.children,
        seen.queued,
        count(&|event| event["type"] == "run.resumed"),
        count(&|event| event["type"] == "run.steered"),
        effects.mutations(),
        effects.cut(),
        effects.looked_again(),
        log.len(),
        siege.slowest.as_millis(),
        violations.len(),
        clock.monotonic().as_secs_f64(),
        seed.0,
    );
    assert!(violations.is_empty(), "{}\n{}", violations.join("\n"), home.daemon_log());
    // The kills hit: else all of the above says nothing.
    let often = kills as usize / 3;
    assert!(often <= seen.both_open, "a mutating and a read-only call were open at {} kills", seen.both_open);
    assert!(often <= seen.children, "a child was alive at {} kills", seen.children);
    assert!(often <= seen.queued, "a run was in a queue at {} kills", seen.queued);
    assert!(0 < interrupted && 0 < effects.cut() && 0 < effects.looked_again());
    assert!(0 < siege.unattended);
}

/// What was going on at the kills.
#[derive(Default)]
struct Seen {
    both_open: usize,
    children: usize,
    queued: usize,
}

impl Seen {
    fn take(&mut self, ledger: &Ledger) {
        self.both_open += usize::from(ledger.has_open(Open::Mutating) && ledger.has_open(Open::ReadOnly));
        self.children += usize::from(ledger.has_open(Open::Child));
        self.queued += usize::from(ledger.live().any(|(_, run)| !run.has_begun));
    }
}

/// One daemon after the other on the same home, each killed, with runs that outlive them.
struct Siege<'home> {
    home: &'home Home,
    families: Vec<Family>,
    beside: Beside,
    clock: std::sync::Arc<SystemClock>,
    acknowledged: Vec<String>,
    ledger: Ledger,
    /// The newest event that was seen, by session.
    sessions: BTreeMap<String, i64>,
    /// Up to where the log was searched for new runs.
    discovered: i64,
    /// The last event before each kill.
    boundaries: Vec<i64>,
    hasty_kills: u32,
    last_was_hasty: bool,
    unattended: u32,
    slowest: Duration,
}

impl<'home> Siege<'home> {
    fn new(home: &'home Home, families: Vec<Family>) -> Siege<'home> {
        Siege {
            home,
            families,
            beside: Beside::of(home),
            clock: SystemClock::new(),
            acknowledged: Vec::new(),
            ledger: Ledger::default(),
            sessions: BTreeMap::new(),
            discovered: 0,
            boundaries: Vec::new(),
            hasty_kills: 0,
            last_was_hasty: false,
            unattended: 0,
            slowest: Duration::ZERO,
        }
    }

    async fn kill_once(&mut self, chance: &mut Chance) {
        let since = self.boundaries.last().copied();
        let spawned = self.clock.monotonic();
        let daemon = ProbeDaemon::start(self.home).await;
        if let Some(since) = since.filter(|_| self.boundaries.len().is_multiple_of(UNATTENDED)) {
            self.see_all_go_on_by_themselves(since, spawned).await;
        }
        let mut wire = self.home.connect().await;
        self.discover(&mut wire).await.unwrap();
        while self.live_roots() < LIVE_ROOTS {
            let params = self.params(chance);
            let started = wire.call("run/start", params).await.unwrap();
            self.acknowledged.push(text(&started, "runId").to_owned());
            self.discover(&mut wire).await.unwrap();
        }
        self.attach(&mut wire).await;
        if chance.once_in(2) {
            self.steer(&mut wire, chance).await;
        }
        // A run that three daemons in a row died under without its getting further ends with CRASH_LOOP, as it
        // should. So every second kill at least waits until all have got further.
        let is_hasty = !self.last_was_hasty && chance.once_in(3);
        self.last_was_hasty = is_hasty;
        self.hasty_kills += u32::from(is_hasty);
        self.moment(&mut wire, since.filter(|_| !is_hasty), chance).await;
        if chance.once_in(4) {
            // Its start may be durable or not; it is never half done.
            let params = self.params(chance);
            wire.send("run/start", params).await.unwrap();
        }
        if chance.once_in(2) {
            // Not for something to happen: to hit another place.
            std::thread::sleep(Duration::from_micros(chance.below(PAUSE_US)));
        }
        daemon.kill().await;
        let boundary = self.beside.head().await;
        // Spec 11, promise 2: what was seen is in the log.
        let seen = self.sessions.values().copied().max().unwrap_or(0).max(self.discovered);
        assert!(
            seen <= boundary,
            "event {seen} was seen by a client, and after the kill the log ends with {boundary}"
        );
        self.boundaries.push(boundary);
    }

    /// Spec 11, promise 6: without a client's help.
    async fn see_all_go_on_by_themselves(&mut self, since: i64, spawned: Duration) {
        let begun_and_open = format!(
            "select count(*) from events as begun where begun.type = 'run.started' and begun.seq <= {since} \
             and not exists (select 1 from events as ended where ended.run_id = begun.run_id \
             and ended.type = 'run.completed' and ended.seq <= {since})"
        );
        let resumed =
            format!("select count(distinct run_id) from events where type = 'run.resumed' and {since} < seq");
        let further = format!(
            "select count(*) from events where type in ('tool.state', 'model.completed') and {since} < seq"
        );
        let expected = self.beside.number(&begun_and_open).await;
        if expected == 0 {
            return;
        }
        self.unattended += 1;
        while self.beside.number(&resumed).await < expected || self.beside.number(&further).await == 0 {
            assert!(
                self.clock.monotonic() - spawned < GO_ON,
                "not all of {expected} runs went on without a client\n{}",
                self.home.daemon_log()
            );
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.slowest = self.slowest.max(self.clock.monotonic() - spawned);
    }

    /// A new root run: in a session of its own, or behind another in its session.
    fn params(&self, chance: &mut Chance) -> Value {
        let sessions: Vec<&str> = self.live_sessions();
        let is_behind = !sessions.is_empty() && chance.once_in(2);
        let session = is_behind.then(|| *chance.pick(&sessions));
        chance.pick(&self.families).params(self.home, session)
    }

    fn live_roots(&self) -> usize {
        self.ledger.live().filter(|(_, run)| run.is_root).count()
    }

    fn live_sessions(&self) -> Vec<&str> {
        let mut sessions: Vec<&str> = self.ledger.live().map(|(_, run)| &*run.session).collect();
        sessions.sort();
        sessions.dedup();
        sessions
    }

    /// Finds runs that nobody knows yet, also those whose start was never acknowledged.
    async fn discover(&mut self, wire: &mut Wire) -> Result<(), Gone> {
        let filter = json!({ "types": ["run.started", "run.queued"] });
        for event in wire.log(filter, self.discovered).await? {
            self.discovered = event["seq"].as_i64().unwrap();
            self.sessions.entry(text(&event, "sessionId").to_owned()).or_insert(0);
            if !self.ledger.runs.contains_key(text(&event, "runId")) {
                self.ledger.take(&event);
            }
        }
        Ok(())
    }

    /// To every session in which something may still happen, from where it was last seen.
    async fn attach(&mut self, wire: &mut Wire) {
        for session in self.live_sessions() {
            let from = self.sessions[session];
            let from = if from == 0 { json!("start") } else { json!(from) };
            let params = json!({ "sessionId": session, "from": from, "deltas": false });
            wire.call("session/attach", params).await.unwrap();
        }
    }

    async fn steer(&self, wire: &mut Wire, chance: &mut Chance) {
        let roots: Vec<&String> =
            self.ledger.live().filter(|(_, run)| run.is_root).map(|(run, _)| run).collect();
        let text = format!("Mind the number {}.", chance.below(1_000));
        let params = json!({ "runId": chance.pick(&roots), "text": text });
        let answer = wire.request("run/steer", params).await.unwrap();
        let kind = &answer["error"]["data"]["kind"];
        assert!(kind.is_null() || kind == "RUN_NOT_ACTIVE", "{answer}");
    }

    /// Waits for a random event, and until no run owes progress since `patient_from`; or until all have ended.
    async fn moment(&mut self, wire: &mut Wire, patient_from: Option<i64>, chance: &mut Chance) {
        let (kind, state, at_most) = *chance.pick(MOMENTS);
        // Half of the kills come when something is open that may be repeated, and something that must not.
        let is_for_calls = chance.once_in(2);
        let mut left = 1 + chance.below(at_most);
        let mut enough = ENOUGH;
        loop {
            let both_open = self.ledger.has_open(Open::Mutating) && self.ledger.has_open(Open::ReadOnly);
            let is_time = left == 0 && (!is_for_calls || both_open);
            let is_owed =
                patient_from.is_some_and(|since| self.ledger.live().any(|(_, run)| run.owes_progress(since)));
            if self.live_roots() == 0 || (!is_owed && (is_time || enough == 0)) {
                return;
            }
            let event = wire.event().await.unwrap();
            let Some(seq) = event["seq"].as_i64() else { continue };
            self.sessions.insert(text(&event, "sessionId").to_owned(), seq);
            self.ledger.take(&event);
            let is_new = self.boundaries.last().is_none_or(|boundary| *boundary < seq);
            let is_moment = event["type"] == kind && state.is_none_or(|state| event["data"]["to"] == state);
            left = left.saturating_sub(u64::from(is_new && is_moment));
            enough = enough.saturating_sub(u64::from(is_new));
        }
    }

    /// Lets all that is left end undisturbed; answers the log.
    async fn see_all_end(&mut self) -> Vec<Value> {
        let daemon = ProbeDaemon::start(self.home).await;
        let mut wire = self.home.connect().await;
        self.discover(&mut wire).await.unwrap();
        let live: Vec<String> = self.ledger.live().map(|(run, _)| run.clone()).collect();
        for run in live {
            wire.ended(&run).await.unwrap();
        }
        let log = wire.log(json!({}), 0).await.unwrap();
        drop(wire);
        daemon.stop().await;
        log
    }

    /// What the laws do not know: who was promised what, and what the recordings say.
    fn violations(&self, log: &[Value]) -> Vec<String> {
        let mut violations = Vec::new();
        let first = |run: &str| log.iter().find(|event| event["runId"] == run);
        for run in self.acknowledged.iter().filter(|run| first(run).is_none()) {
            violations.push(format!("run {run} was acknowledged and is not in the log"));
        }
        let results: BTreeMap<&str, &str> =
            self.families.iter().map(|family| (&*family.model, &*family.result)).collect();
        let mut models = BTreeMap::new();
        for event in log {
            let run = event["runId"].as_str().unwrap_or_default();
            match text(event, "type") {
                "run.started" => drop(models.insert(run, text(&event["data"], "model"))),
                "run.completed" => {
                    let expected =
                        if event["parentRunId"].is_null() { Some(results[models[run]]) } else { None };
                    let result = event["data"]["result"].as_str();
                    if event["data"]["reason"] != "GOAL" || expected.is_some_and(|it| result != Some(it)) {
                        violations.push(format!("run {run} did not end as recorded: {}", event["data"]));
                    }
                }
                "run.resumed" if event["data"]["unclean"] != true => {
                    violations.push(format!("run {run}: a kill left a clean mark"));
                }
                _ => (),
            }
        }
        violations
    }
}
