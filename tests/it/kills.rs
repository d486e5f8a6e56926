//! What does a daemon owe its clients when it is killed? (Spec 11, promises 1–3 and 6.)
//!
//! `SUBAGENTD_TRIALS=full` kills 200 times instead of 20; `SUBAGENTD_SEED` chooses again what a failure chose.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    time::Duration,
};

use serde_json::{Value, json};
use subagentd::sys::clock::{Clock as _, SystemClock};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};

use self::watching::{Sighting, Watcher};
use crate::{
    laws,
    process::{Gone, Home, Wire, text, waits_of_children},
    recording::{Chance, Recording, write_workspace},
    support::{STUCK, lines},
};

mod asking;
mod compressing;
mod foreign;
mod once;
mod watching;

/// Runs that are alive at each kill.
const LIVE_RUNS: usize = 3;
/// Turns of a recording: many times what passes between two kills.
const TURNS: u64 = 45;
/// Longest pause between the event that was waited for and the kill, in microseconds: a commit takes about as long.
const PAUSE_US: u64 = 2_500;
/// Sightings that may wait to be counted.
const SIGHTINGS: usize = 4_096;

/// After what a kill comes: the type of an event, the state of `tool.state`, and up to how many of them. A run has
/// two clients, so each event is seen twice.
const MOMENTS: &[(&str, Option<&str>, u64)] = &[
    ("model.started", None, 25),
    ("model.textDelta", None, 25),
    ("model.completed", None, 25),
    ("thought", None, 15),
    ("turn.started", None, 25),
    ("turn.completed", None, 25),
    ("tool.state", Some("validating"), 40),
    ("tool.state", Some("scheduled"), 40),
    ("tool.state", Some("executing"), 40),
    ("tool.state", Some("success"), 30),
    ("tool.state", Some("error"), 8),
    ("run.resumed", None, 3),
    ("signal.caughtUp", None, 3),
];

/// Events after which the moment is not waited for any longer.
const ENOUGH: u64 = 400;

struct Trials {
    kills: u32,
    /// Runs that must have been alive at a kill.
    runs_hit: usize,
}

/// Whether the trials of a whole issue are to be run, instead of the suite's share of them.
pub fn is_full() -> bool {
    env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full")
}

fn trials() -> Trials {
    match is_full() {
        true => Trials { kills: 200, runs_hit: 20 },
        false => Trials { kills: 20, runs_hit: LIVE_RUNS },
    }
}

/// Says which seed chose, when a test fails.
pub struct Seed(pub u64);

impl Seed {
    pub fn new() -> Seed {
        let chosen =
            env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse().expect("SUBAGENTD_SEED is a number"));
        Seed(chosen.unwrap_or_else(|| SystemClock::new().now().0.unsigned_abs()))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SUBAGENTD_SEED={}", self.0);
        }
    }
}

/// What a run is asked to do, and must come to.
#[derive(Clone)]
struct Task {
    agent: &'static str,
    model: String,
    /// What a recording says; `offline` finds its result itself.
    result: Option<String>,
}

impl Task {
    fn params(&self, home: &Home) -> Value {
        let mut params = json!({ "workspace": home.work(), "agent": self.agent, "model": self.model });
        match self.agent {
            "reader" => params["prompt"] = json!("read"),
            _ => params["inputs"] = json!({ "objective": "How is the daemon restarted after a crash?" }),
        }
        params
    }
}

fn tasks(home: &Home, chance: &mut Chance) -> Vec<Task> {
    let mut tasks: Vec<Task> = (1..=3)
        .map(|n| Recording::write(home, &format!("recording-{n}"), TURNS + 5 * n, chance))
        .map(|it| Task { agent: "reader", model: it.model, result: Some(it.result) })
        .collect();
    tasks.push(Task { agent: "codebase-investigator", model: "offline".to_owned(), result: None });
    tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_random_points_lose_repeat_and_reorder_nothing() {
    let Trials { kills, runs_hit } = trials();
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let clock = SystemClock::new();
    let home = Home::new();
    write_workspace(&home);
    let mut siege = Siege::new(&home, tasks(&home, &mut chance));
    for _ in 0..kills {
        siege.kill_once(&mut chance).await;
    }
    let served = home.start().await;
    siege.daemon_is_ready();
    let mut wire = home.connect().await;
    siege.discover(&mut wire).await.unwrap();
    let watchers = siege.see_all_end().await;

    // The same tasks with nobody disturbing them.
    let mut undisturbed = BTreeMap::new();
    for task in &siege.tasks {
        let started = wire.call("run/start", task.params(&home)).await.unwrap();
        let run = text(&started, "runId").to_owned();
        let record = wire.ended(&run).await.unwrap();
        assert_eq!(
            record["result"].as_str(),
            task.result.as_deref().or(record["result"].as_str()),
            "{record}"
        );
        undisturbed.insert(task.model.clone(), run);
    }
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    served.stop().await;

    let mut violations = laws::check_finished(&log).err().unwrap_or_default();
    let runs: Vec<&Value> = of_type(&log, "run.started").collect();
    for started in &runs {
        let (run, model) = (text(started, "runId"), text(&started["data"], "model"));
        let ends: Vec<&Value> = of_type(&log, "run.completed").filter(|end| end["runId"] == run).collect();
        if ends.len() != 1 || ends[0]["data"]["reason"] != "GOAL" {
            violations.push(format!("run {run} of {model} did not end once with GOAL: {ends:?}"));
        }
        if let Some(difference) = difference(&story(&log, &undisturbed[model]), &story(&log, run)) {
            violations.push(format!("run {run} differs from the undisturbed one of {model}: {difference}"));
        }
    }
    for acknowledged in &siege.acknowledged {
        if !runs.iter().any(|started| started["runId"] == acknowledged.as_str()) {
            violations.push(format!("run {acknowledged} was acknowledged and is not in the log"));
        }
    }
    for watcher in &watchers {
        let session: Vec<Value> =
            log.iter().filter(|event| event["sessionId"] == watcher.session.as_str()).cloned().collect();
        violations.extend(watcher.violations(&session));
    }
    let resumed: Vec<&Value> = of_type(&log, "run.resumed").collect();
    let hit: BTreeSet<&str> = resumed.iter().map(|event| text(event, "runId")).collect();
    let while_asked =
        of_type(&log, "model.retrying").filter(|event| event["data"]["restarted"] == true).count();
    eprintln!(
        "{kills} kills, {} of them hasty; {} runs, {} of them hit; {} run.resumed, {while_asked} of them while \
         the model was asked; {} clients, {} subscriptions; {} events; {} violations; {:.1} s; SUBAGENTD_SEED={}",
        siege.hasty_kills,
        runs.len(),
        hit.len(),
        resumed.len(),
        watchers.len(),
        watchers.iter().map(|watcher| watcher.subscriptions.len()).sum::<usize>(),
        log.len(),
        violations.len(),
        clock.monotonic().as_secs_f64(),
        seed.0,
    );
    assert!(violations.is_empty(), "{}\n{}", violations.join("\n"), home.daemon_log());
    // The kills hit: else all of the above says nothing.
    assert!(resumed.iter().all(|event| event["data"]["unclean"] == true), "a kill left a clean mark");
    assert!(resumed.len() >= kills as usize, "{} resumes", resumed.len());
    assert!(hit.len() >= runs_hit, "{} runs were hit", hit.len());
    assert!((1..resumed.len()).contains(&while_asked), "all kills hit the same kind of place");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_acknowledged_run_start_survives() {
    let seed = Seed::new();
    let home = Home::new();
    write_workspace(&home);
    let recording = Recording::write(&home, "short", 5, &mut Chance::new(seed.0));
    let params =
        json!({ "workspace": home.work(), "agent": "reader", "prompt": "x", "model": recording.model });
    let mut runs = Vec::new();
    for _ in 0..3 {
        let served = home.start().await;
        let started = home.connect().await.call("run/start", params.clone()).await.unwrap();
        served.kill().await;
        runs.push(text(&started, "runId").to_owned());
    }
    let served = home.start().await;
    let mut wire = home.connect().await;
    for run in runs {
        let record = wire.ended(&run).await.unwrap();
        assert_eq!(
            (&record["reason"], &record["result"]),
            (&json!("GOAL"), &json!(recording.result)),
            "{record}"
        );
    }
    let log = wire.log(json!({}), 0).await.unwrap();
    laws::check_finished(&log).unwrap_or_else(|broken| panic!("{}\n{}", broken.join("\n"), lines(&log)));
    drop(wire);
    served.stop().await;
}

/// One daemon after the other on the same home, each killed, with runs and clients that outlive them.
struct Siege<'home> {
    home: &'home Home,
    tasks: Vec<Task>,
    acknowledged: Vec<String>,
    /// Runs that are known and whose end nobody has seen, with the newest `seq` that took them further.
    live: BTreeMap<String, i64>,
    /// Up to where the log was searched for new runs.
    discovered: i64,
    hasty_kills: u32,
    last_was_hasty: bool,
    daemons: watch::Sender<u32>,
    clients: JoinSet<Watcher>,
    tell: mpsc::Sender<Sighting>,
    sightings: mpsc::Receiver<Sighting>,
}

impl<'home> Siege<'home> {
    fn new(home: &'home Home, tasks: Vec<Task>) -> Siege<'home> {
        let (tell, sightings) = mpsc::channel(SIGHTINGS);
        Siege {
            home,
            tasks,
            acknowledged: Vec::new(),
            live: BTreeMap::new(),
            discovered: 0,
            hasty_kills: 0,
            last_was_hasty: false,
            daemons: watch::channel(0).0,
            clients: JoinSet::new(),
            tell,
            sightings,
        }
    }

    fn daemon_is_ready(&self) {
        self.daemons.send_modify(|daemons| *daemons += 1);
    }

    /// Finds runs that nobody watches yet, also those whose start was never acknowledged.
    async fn discover(&mut self, wire: &mut Wire) -> Result<(), Gone> {
        for started in wire.log(json!({ "types": ["run.started"] }), self.discovered).await? {
            let (run, session) = (text(&started, "runId"), text(&started, "sessionId"));
            self.discovered = started["seq"].as_i64().unwrap();
            self.live.insert(run.to_owned(), self.discovered);
            let is_odd = self.live.len().is_multiple_of(2);
            for (deltas, from_now) in [(false, false), (true, is_odd)] {
                let watcher = Watcher {
                    socket: self.home.socket(),
                    session: session.to_owned(),
                    run: run.to_owned(),
                    deltas,
                    from_now,
                    daemons: self.daemons.subscribe(),
                    tell: self.tell.clone(),
                    subscriptions: Vec::new(),
                };
                self.clients.spawn(watcher.stay());
            }
        }
        Ok(())
    }

    async fn kill_once(&mut self, chance: &mut Chance) {
        let served = self.home.start().await;
        self.daemon_is_ready();
        let mut wire = self.home.connect().await;
        let status = wire.call("daemon/status", json!({})).await.unwrap();
        let head = status["database"]["head"].as_i64().unwrap();
        self.discover(&mut wire).await.unwrap();
        while self.live.len() < LIVE_RUNS {
            let params = chance.pick(&self.tasks).params(self.home);
            let started = wire.call("run/start", params).await.unwrap();
            self.acknowledged.push(text(&started, "runId").to_owned());
            self.discover(&mut wire).await.unwrap();
        }
        // A run that three daemons in a row died under without its getting further ends with CRASH_LOOP, as it
        // should. So every second kill at least waits until all have got further.
        let is_hasty = !self.last_was_hasty && chance.once_in(4);
        self.last_was_hasty = is_hasty;
        self.hasty_kills += u32::from(is_hasty);
        let patient_from = if is_hasty { None } else { Some(head) };
        self.moment(patient_from, chance).await;
        if chance.once_in(4) {
            // Its start may be durable or not; it is never half done.
            let params = chance.pick(&self.tasks).params(self.home);
            wire.send("run/start", params).await.unwrap();
        }
        if chance.once_in(2) {
            // Not for something to happen: to hit another place.
            std::thread::sleep(Duration::from_micros(chance.below(PAUSE_US)));
        }
        served.kill().await;
    }

    /// Waits for a random event, and until every run that lives has got further than `patient_from`; or until all
    /// have ended.
    async fn moment(&mut self, patient_from: Option<i64>, chance: &mut Chance) {
        let (kind, state, at_most) = *chance.pick(MOMENTS);
        let mut left = 1 + chance.below(at_most);
        let mut enough = ENOUGH;
        loop {
            let has_progressed = |seq: &i64| patient_from.is_none_or(|head| *seq > head);
            let is_time = left == 0 || enough == 0 || self.live.is_empty();
            if is_time && self.live.values().all(has_progressed) {
                return;
            }
            let Ok(sighting) = timeout(STUCK, self.sightings.recv()).await else {
                panic!("nothing happens; the threads stand in {:?}", waits_of_children());
            };
            let sighting = sighting.unwrap();
            let is_moment = sighting.kind == kind && (state.is_none() || sighting.to.as_deref() == state);
            left = left.saturating_sub(u64::from(is_moment));
            enough = enough.saturating_sub(1);
            self.take(&sighting);
        }
    }

    fn take(&mut self, sighting: &Sighting) {
        let is_standing = ["run.resumed", "model.retrying", "model.started", "turn.started"];
        if sighting.kind == "run.completed" {
            self.live.remove(&sighting.run);
        } else if !is_standing.contains(&&*sighting.kind)
            && let Some(newest) = self.live.get_mut(&sighting.run)
        {
            *newest = sighting.seq.max(*newest);
        }
    }

    /// Until every client has seen the end of its run.
    async fn see_all_end(&mut self) -> Vec<Watcher> {
        self.sightings.close();
        let mut watchers = Vec::new();
        while let Some(watcher) = timeout(STUCK, self.clients.join_next()).await.expect("a run does not end")
        {
            watchers.push(watcher.unwrap());
        }
        watchers
    }
}

fn of_type<'a>(log: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    log.iter().filter(move |event| event["type"] == kind)
}

/// What a run said, did and came to, without what a kill may change: each text, each call with its arguments and its
/// outcome in the order in which it was asked for, and the end.
fn story(log: &[Value], run: &str) -> Vec<String> {
    let mut story = Vec::new();
    let mut calls = BTreeMap::new();
    for event in log.iter().filter(|event| event["runId"] == run) {
        let data = &event["data"];
        match text(event, "type") {
            "model.completed" => story.push(format!("turn {}: {}", event["turn"], data["text"])),
            "tool.state" if data["to"] == "validating" => {
                calls.insert(text(data, "callId"), story.len());
                story.push(format!("turn {}: {} {}", event["turn"], data["name"], data["arguments"]));
            }
            "tool.state" if data.get("result").or(data.get("error")).is_some() => {
                let outcome =
                    format!(" -> {} {} {}", data["to"], data["result"]["llmContent"], data["error"]);
                story[calls[text(data, "callId")]].push_str(&outcome);
            }
            "run.completed" => {
                let tell = |key: &str| data[key].to_string();
                story.push(["reason", "result", "output", "usage", "turns", "toolCalls"].map(tell).join(" "));
            }
            _ => (),
        }
    }
    story
}

fn difference(expected: &[String], found: &[String]) -> Option<String> {
    let at = (0..expected.len().max(found.len())).find(|at| expected.get(*at) != found.get(*at))?;
    Some(format!("at {at}: {:?}, expected {:?}", found.get(at), expected.get(at)))
}
