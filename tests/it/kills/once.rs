//! Is a run that is asked for with a key one run, however often it is asked for, and whenever the daemon dies? (Spec 11,
//! promise 1.)

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use super::{Seed, is_full, of_type};
use crate::{
    laws,
    process::{Home, Wire, text},
    recording::{Chance, Recording, write_workspace},
    support::lines,
};

/// Longest pause between a request and the kill, in microseconds: longer than it takes to answer.
const PAUSE_US: u64 = 40_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_that_is_asked_for_with_a_key_is_one_run() {
    let trials: u64 = if is_full() { 60 } else { 8 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let home = Home::new();
    write_workspace(&home);
    let recording = Recording::write(&home, "short", 3, &mut chance);
    let params = |trial: u64| {
        json!({
            "workspace": home.work(), "agent": "reader", "prompt": "x", "model": recording.model,
            "idempotencyKey": format!("the run of trial {trial}"),
        })
    };
    let (mut durable, mut unasked) = (0, 0);
    let mut runs = BTreeSet::new();
    for trial in 0..trials {
        let served = home.start().await;
        let mut wires = [home.connect().await, home.connect().await];
        // Half of the daemons die somewhere between the requests and their answers.
        let dies_first = trial.is_multiple_of(2);
        let mut answered = Vec::new();
        if dies_first {
            for wire in &mut wires {
                wire.send("run/start", params(trial)).await.unwrap();
            }
            std::thread::sleep(Duration::from_micros(chance.below(PAUSE_US)));
        } else {
            let [one, other] = &mut wires;
            let both =
                tokio::join!(one.call("run/start", params(trial)), other.call("run/start", params(trial)),);
            answered.extend([both.0.unwrap(), both.1.unwrap()]);
        }
        served.kill().await;

        let served = home.start().await;
        let mut wire = home.connect().await;
        let again = wire.call("run/start", params(trial)).await.unwrap();
        let is_replayed = again["replayed"] == true;
        if !dies_first {
            assert!(is_replayed, "{again}");
            let n_replayed = answered.iter().filter(|answer| answer["replayed"] == true).count();
            assert_eq!(n_replayed, 1, "{answered:?}");
        } else if is_replayed {
            durable += 1;
        } else {
            unasked += 1;
        }
        for answer in &answered {
            assert_eq!(answer["runId"], again["runId"], "one key, two runs");
        }
        let record = wire.ended(text(&again, "runId")).await.unwrap();
        assert_eq!(record["reason"], "GOAL", "{record}");
        assert!(runs.insert(text(&again, "runId").to_owned()), "two keys, one run");
        drop(wire);
        served.stop().await;
    }
    let served = home.start().await;
    let mut wire: Wire = home.connect().await;
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    served.stop().await;
    laws::check_finished(&log).unwrap_or_else(|broken| panic!("{}\n{}", broken.join("\n"), lines(&log)));
    let started: BTreeSet<String> = of_type(&log, "run.started").map(run_of).collect();
    assert_eq!(started, runs, "a run that nobody knows");
    assert_eq!(of_type(&log, "session.created").count(), runs.len(), "a session without a run");
    // Else one of the two was never tried.
    assert!(!is_full() || (0 < durable && 0 < unasked), "{durable} were durable, {unasked} were not");
    eprintln!(
        "{trials} keys, each asked for three times; of the daemons that died before they answered, {durable} had \
         committed and {unasked} had not; 0 runs too many; SUBAGENTD_SEED={}",
        seed.0
    );
}

fn run_of(event: &Value) -> String {
    text(event, "runId").to_owned()
}
