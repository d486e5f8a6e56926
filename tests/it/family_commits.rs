//! What does a daemon owe runs that call runs when it is killed right before or right after any one commit? (Spec 11,
//! "Promises": one kill at every state change, before and after each commit.)
//!
//! Triggers in the database hold the daemon there: before a commit, one that lets no event of a kind in, so that the
//! daemon has decided and cannot commit; after it, one that lets nothing in once the kind is, so that this commit is
//! durable and acted upon and nothing later is. `SUBAGENTD_TRIALS=full` takes every kind, the suite some of them, which
//! `SUBAGENTD_SEED` chooses again.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use subagentd::sys::clock::{Clock as _, SystemClock};

use self::kind::Kind;
use crate::{
    families::{Beside, Effects, Family, ProbeDaemon, Shape},
    kills::{Seed, is_full},
    laws,
    process::{Home, Wire, text},
    recording::Chance,
    support::STUCK,
};

mod kind;

/// Cases of the suite.
const SAMPLE: usize = 6;
/// Places for runs at work, in a session and in all: fewer than want one.
const PLACES: (usize, usize) = (2, 2);
const SHAPE: Shape = Shape { turns: [4, 2, 1], longest_ms: 6 };
/// Between looks at what a daemon says.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Longest pause between what was waited for and the kill, in microseconds.
const PAUSE_US: u64 = 3_000;
/// What the triggers say.
const PLANTED: &str = "planted";

/// On which side of a commit the daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// A kill at the `n`-th commit of a kind.
#[derive(Debug, Clone)]
struct Stop {
    kind: Kind,
    n: i64,
    side: Side,
}

/// What happens to one database: one daemon after the other is stopped somewhere, the last one nowhere.
type Case = Vec<Stop>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_before_and_after_each_kind_of_commit_loses_and_repeats_nothing() {
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let clock = SystemClock::new();

    // What happens when nobody disturbs it.
    let undisturbed = Trial::new(&mut chance);
    let log = undisturbed.finish().await;
    undisturbed.check(&log, &[]);
    let mut cases = cases(&log, &mut chance);
    let n_cases = cases.len();
    if !is_full() {
        cases = (0..SAMPLE)
            .map(|_| {
                let at = usize::try_from(chance.below(cases.len() as u64)).unwrap();
                cases.swap_remove(at)
            })
            .collect();
    }
    let (mut kills, mut missed, mut mutations, mut cut) = (0, Vec::new(), 0, 0);
    for case in &cases {
        let trial = Trial::new(&mut chance);
        let mut acknowledged = Vec::new();
        let mut was_missed = false;
        for (at, stop) in case.iter().enumerate() {
            let is_hit = trial.stop_at(stop, at == 0, &mut acknowledged, &mut chance).await;
            was_missed |= !is_hit;
            kills += 1;
        }
        if was_missed {
            missed.push(case.clone());
        }
        let log = trial.finish().await;
        trial.check(&log, &acknowledged);
        let effects = Effects::of(&trial.home);
        mutations += effects.mutations();
        cut += effects.cut();
    }
    eprintln!(
        "{} of {n_cases} cases, {kills} kills, {} at another place than meant; {mutations} mutations, {cut} of them \
         cut; 0 violations; {:.1} s; SUBAGENTD_SEED={}",
        cases.len(),
        missed.len(),
        clock.monotonic().as_secs_f64(),
        seed.0,
    );
    // Whether a run has to wait for a place depends on how fast the others are; all else comes every time.
    let is_by_chance = |case: &Case| case.iter().any(|stop| stop.kind.is_wait_for_place());
    missed.retain(|case| !is_by_chance(case));
    assert!(missed.is_empty(), "what was waited for did not come: {missed:?}");
}

/// Every kind that an undisturbed log has, and those that only a restart brings, on both sides.
fn cases(log: &[Value], chance: &mut Chance) -> Vec<Case> {
    let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
    for event in log {
        *counts.entry(Kind::of(event)).or_default() += 1;
    }
    let mut cases = Vec::new();
    for side in [Side::Before, Side::After] {
        for (kind, count) in &counts {
            // Not the last ones: a little more or less of some kinds is a matter of timing.
            let n = if kind.is_wait_for_place() { 1 } else { 1 + chance.below(count.div_ceil(2)) };
            cases.push(vec![Stop { kind: kind.clone(), n: i64::try_from(n).unwrap(), side }]);
        }
        for is_of_child in [false, true] {
            let cut = |kind: Kind| Stop { kind, n: 1 + i64::from(!is_of_child), side: Side::After };
            let asked = || cut(Kind::plain("model.started", is_of_child));
            let acting = || cut(Kind::of_call("executing", is_of_child));
            let then = |kind: Kind| Stop { kind, n: 1, side };
            cases.push(vec![asked(), then(Kind::plain("run.resumed", is_of_child))]);
            cases.push(vec![asked(), then(Kind::plain("model.retrying", is_of_child))]);
            cases.push(vec![acting(), then(Kind::plain("run.resumed", is_of_child))]);
            cases.push(vec![acting(), then(Kind::of_call("error", is_of_child))]);
        }
    }
    cases
}

/// A home with one family, two runs of which go one after the other in one session; and something is said to the first.
struct Trial {
    home: Home,
    family: Family,
    beside: Beside,
}

impl Trial {
    fn new(chance: &mut Chance) -> Trial {
        let home = Family::home(PLACES.0, PLACES.1);
        let family = Family::write(&home, "family", SHAPE, chance);
        Trial { beside: Beside::of(&home), family, home }
    }

    /// What people ask for, each with a key: asking again changes nothing. Answers the runs, in order.
    async fn ask(&self, wire: &mut Wire) -> Vec<Value> {
        let mut params = self.family.params(&self.home, None);
        params["idempotencyKey"] = json!("the-first-run");
        let first = wire.request("run/start", params).await.unwrap();
        if first.get("error").is_some() {
            return vec![first];
        }
        let mut params = self.family.params(&self.home, Some(text(&first["result"], "sessionId")));
        params["idempotencyKey"] = json!("the-second-run");
        let second = wire.request("run/start", params).await.unwrap();
        let steer =
            json!({ "runId": first["result"]["runId"], "text": "Mind it.", "idempotencyKey": "the-message" });
        // It may have ended already, or the message may be what cannot be committed.
        wire.request("run/steer", steer).await.unwrap();
        vec![first, second]
    }

    /// Kills a daemon at this place; false when it never came there.
    async fn stop_at(
        &self,
        stop: &Stop,
        is_first: bool,
        acknowledged: &mut Vec<String>,
        chance: &mut Chance,
    ) -> bool {
        let said_before = self.home.daemon_log().len();
        if !is_first {
            self.beside.tamper(&stop.triggers()).await;
        }
        let daemon = ProbeDaemon::start(&self.home).await;
        if is_first {
            self.beside.tamper(&stop.triggers()).await;
        }
        let mut wire = self.home.connect().await;
        let answers = self.ask(&mut wire).await;
        let is_refused = answers.iter().any(|answer| answer.get("error").is_some());
        for answer in answers {
            // Nothing else is refused: what cannot be committed is.
            let error = &answer["error"]["data"]["kind"];
            assert!(error.is_null() || error == "STORAGE_ERROR", "{answer}");
            acknowledged.extend(answer["result"]["runId"].as_str().map(str::to_owned));
        }
        let clock = SystemClock::new();
        let is_there = loop {
            if is_refused || self.home.daemon_log()[said_before..].contains(PLANTED) {
                break true;
            }
            if self
                .beside
                .number("select count(*) from runs where parent_run_id is null and state <> 'ended'")
                .await
                == 0
            {
                // There is nothing after the last commit; else the daemon never came there.
                break stop.side == Side::After && self.count(stop).await >= stop.n;
            }
            assert!(clock.monotonic() < STUCK, "{stop:?}\n{}", self.home.daemon_log());
            tokio::time::sleep(LOOK_AGAIN).await;
        };
        if chance.once_in(2) {
            // Not for something to happen: to hit another place.
            std::thread::sleep(Duration::from_micros(chance.below(PAUSE_US)));
        }
        daemon.kill().await;
        let committed = self.count(stop).await;
        if is_there {
            match stop.side {
                // One commit may have several of them.
                Side::Before => assert!(committed < stop.n, "{stop:?}: {committed}"),
                Side::After => assert!(stop.n <= committed, "{stop:?}: {committed}"),
            }
        }
        self.beside
            .tamper("drop trigger if exists planted; drop trigger if exists arm; drop table if exists armed")
            .await;
        is_there
    }

    async fn count(&self, stop: &Stop) -> i64 {
        self.beside.number(&format!("select count(*) from events where {}", stop.kind.is_of("events"))).await
    }

    /// Lets everything end; answers the log.
    async fn finish(&self) -> Vec<Value> {
        let daemon = ProbeDaemon::start(&self.home).await;
        let mut wire = self.home.connect().await;
        for answer in self.ask(&mut wire).await {
            assert!(answer.get("error").is_none(), "{answer}");
            let record = wire.ended(text(&answer["result"], "runId")).await.unwrap();
            let came_to = (record["reason"].as_str(), record["result"].as_str());
            let expected = (Some("GOAL"), Some(&*self.family.result));
            assert_eq!(came_to, expected, "{record}\n{}", self.home.daemon_log());
        }
        let log = wire.log(json!({}), 0).await.unwrap();
        drop(wire);
        daemon.stop().await;
        log
    }

    fn check(&self, log: &[Value], acknowledged: &[String]) {
        let mut violations = laws::check_finished(log).err().unwrap_or_default();
        violations.extend(Effects::of(&self.home).violations(log));
        let roots: Vec<&str> = log
            .iter()
            .filter(|event| event["type"] == "run.completed" && event["parentRunId"].is_null())
            .map(|event| text(event, "runId"))
            .collect();
        if roots.len() != 2 {
            violations.push(format!("two runs were asked for, again and again; there were {roots:?}"));
        }
        for run in acknowledged.iter().filter(|run| !roots.contains(&&***run)) {
            violations.push(format!("run {run} was acknowledged and did not end"));
        }
        let not_ended_well =
            |event: &&Value| event["type"] == "run.completed" && event["data"]["reason"] != "GOAL";
        violations.extend(log.iter().filter(not_ended_well).map(|event| format!("{event}")));
        assert!(violations.is_empty(), "{}\n{}", violations.join("\n"), self.home.daemon_log());
    }
}

impl Stop {
    /// What holds the daemon there.
    fn triggers(&self) -> String {
        let (new, known) = (self.kind.is_of("new"), self.kind.is_of("events"));
        let Stop { n, side, .. } = self;
        match side {
            Side::Before => format!(
                "create trigger planted before insert on events \
                 when {new} and (select count(*) from events where {known}) >= {n} - 1 \
                 begin select raise(abort, '{PLANTED}'); end"
            ),
            // Every commit of a run writes its row after its events; so what arms the trigger is still part of the
            // commit that it lets through.
            Side::After => format!(
                "create table armed (is_armed integer); \
                 create trigger arm after update on runs \
                 when not exists (select 1 from armed) and (select count(*) from events where {known}) >= {n} \
                 begin insert into armed values (1); end; \
                 create trigger planted before insert on events when exists (select 1 from armed) \
                 begin select raise(abort, '{PLANTED}'); end"
            ),
        }
    }
}
