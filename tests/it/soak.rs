//! Does anything of a run outlive it? (Spec 11, promise 11; DESIGN, law 8: every task, child process, connection and
//! registry has one owner and ends with it.)
//!
//! Runs, runs that they call, cancels and clients that come and go, in a daemon of its own process, whose files,
//! processes, threads, tasks, permits and memory are counted before and after. Before the count stands a warm-up of the
//! same work: then caches are full, the log's ring in memory among them (8,192 events), connections to the database are
//! open, and the allocator has the memory that this work takes; what comes after must fit in.
//!
//! `SUBAGENTD_TRIALS=full` has 2,000 runs that call 1,000 others, 200 of which are cancelled, after 800 that warm up.

use std::{fs, sync::Arc, time::Duration};

use serde_json::{Value, json};
use subagentd::sys::clock::{Clock as _, SystemClock};
use tokio::task::JoinSet;

use crate::{
    families::{Effects, Family, ProbeDaemon, call},
    kills::is_full,
    laws,
    process::{Home, text},
    support::STUCK,
};

/// Clients at once, each with one run after the other.
const CLIENTS: usize = 8;
/// Places for runs at work, in a session and in all.
const PLACES: (usize, usize) = (8, 32);
/// A tool that takes this long, in milliseconds, ends by being cancelled.
const FOR_EVER: u64 = 600_000;
/// What does not change for so long has settled: longer than the daemon keeps a thread that has nothing to do.
const SETTLED: Duration = Duration::from_millis(400);
/// How much more memory is none (spec 11, promise 11), in percent.
const MORE_MEMORY: u64 = 10;

/// How many root runs there are. Every second one calls another, of which every fifth is cancelled.
struct Trials {
    warm_up: usize,
    runs: usize,
}

fn trials() -> Trials {
    match is_full() {
        true => Trials { warm_up: 800, runs: 2_000 },
        false => Trials { warm_up: 20, runs: 60 },
    }
}

/// What a root run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plot {
    Alone,
    CallsAnother,
    /// It is cancelled while the run that it called works.
    IsCancelled,
    /// The run that it called is cancelled; it goes on.
    LosesAnother,
}

impl Plot {
    fn of(n: usize) -> Plot {
        match n {
            n if n % 2 == 1 => Plot::Alone,
            n if n % 10 != 0 => Plot::CallsAnother,
            n if n % 20 == 0 => Plot::IsCancelled,
            _ => Plot::LosesAnother,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_run_outlives_it() {
    let Trials { warm_up, runs } = trials();
    let clock = SystemClock::new();
    let home = Arc::new(Family::home(PLACES.0, PLACES.1));
    let cast = Arc::new(Cast::new(&home));
    let mut daemon = ProbeDaemon::start(&home).await;
    let unused = daemon.census().await;

    work(&home, &cast, 0..warm_up).await;
    let before = settled(&mut daemon, &unused).await;
    let memory_before = memory(&daemon);
    work(&home, &cast, warm_up..warm_up + runs).await;
    let after = settled(&mut daemon, &unused).await;
    let memory_after = memory(&daemon);

    let mut wire = home.connect().await;
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    daemon.stop().await;
    let mut violations = laws::check_finished(&log).err().unwrap_or_default();
    violations.extend(Effects::of(&home).violations(&log));
    let ends = |is_child: bool, reason: &str| {
        let is_it = |event: &&Value| {
            event["type"] == "run.completed"
                && event["parentRunId"].is_string() == is_child
                && event["data"]["reason"] == reason
        };
        log.iter().filter(is_it).count()
    };
    let all = warm_up + runs;
    let ended = [ends(false, "GOAL"), ends(false, "ABORTED"), ends(true, "GOAL"), ends(true, "ABORTED")];
    let growth = memory_after.saturating_sub(memory_before) * 100 / memory_before;
    eprintln!(
        "{runs} runs after {warm_up}, {} of them called others, {} of which were cancelled; before {before:?}, after \
         {after:?}; memory {memory_before} KiB, then {memory_after} KiB; {} events; {} violations; {:.1} s",
        runs / 2,
        runs / 10,
        log.len(),
        violations.len(),
        clock.monotonic().as_secs_f64(),
    );
    assert!(violations.is_empty(), "{}\n{}", violations.join("\n"), home.daemon_log());
    assert_eq!(ended, [all - all / 20, all / 20, all / 2 - all / 10, all / 10]);
    assert_eq!(before, after, "{}", home.daemon_log());
    // Small numbers of runs do not fill what is kept on purpose.
    assert!(!is_full() || growth <= MORE_MEMORY, "{growth} % more memory");
}

/// The recordings.
struct Cast {
    alone: Family,
    calls: Family,
    loses: Family,
}

impl Cast {
    fn new(home: &Home) -> Cast {
        let look = |ms: u64| call("look", json!({ "ms": ms }));
        let mutate = || call("mutate", json!({ "n": 1, "ms": 1 }));
        let read = || call("read_file", json!({ "path": "src/part_1.rs" }));
        let worker = || call("worker", json!({ "prompt": "do your part" }));
        let below = "lead#1/worker#1";
        Cast {
            alone: Family::written(home, "alone", &[("lead#1", vec![vec![read(), look(1)]])]),
            calls: Family::written(
                home,
                "calls",
                &[("lead#1", vec![vec![worker(), look(1)]]), (below, vec![vec![mutate(), look(1)]])],
            ),
            loses: Family::written(
                home,
                "loses",
                &[("lead#1", vec![vec![worker()]]), (below, vec![vec![look(FOR_EVER), mutate()]])],
            ),
        }
    }

    fn family(&self, plot: Plot) -> &Family {
        match plot {
            Plot::Alone => &self.alone,
            Plot::CallsAnother => &self.calls,
            Plot::IsCancelled | Plot::LosesAnother => &self.loses,
        }
    }
}

/// These runs, each with clients that come and go.
async fn work(home: &Arc<Home>, cast: &Arc<Cast>, numbers: std::ops::Range<usize>) {
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (home, cast) = (Arc::clone(home), Arc::clone(cast));
        let numbers = numbers.clone().skip(client).step_by(CLIENTS);
        clients.spawn(async move {
            for n in numbers {
                play(&home, cast.family(Plot::of(n)), n).await;
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
}

/// One run to its end.
async fn play(home: &Home, family: &Family, n: usize) {
    let plot = Plot::of(n);
    let mut wire = home.connect().await;
    let started = wire.call("run/start", family.params(home, None)).await.unwrap();
    let (run, session) = (text(&started, "runId"), text(&started, "sessionId"));
    let attach = json!({ "sessionId": session, "from": "start", "deltas": true });
    if n.is_multiple_of(3) {
        // A client that goes away while it is told, and hears the rest over another connection.
        wire.call("session/attach", attach.clone()).await.unwrap();
        wire.event().await.unwrap();
        wire = home.connect().await;
    }
    if matches!(plot, Plot::IsCancelled | Plot::LosesAnother) {
        let mut watcher = home.connect().await;
        watcher.call("session/attach", attach).await.unwrap();
        let child = loop {
            let event = watcher.event().await.unwrap();
            if event["parentRunId"] == run && event["data"]["to"] == "executing" {
                break text(&event, "runId").to_owned();
            }
        };
        let cancelled = if plot == Plot::IsCancelled { run } else { &*child };
        wire.call("run/cancel", json!({ "runId": cancelled })).await.unwrap();
    }
    let record = wire.ended(run).await.unwrap();
    let expected = if plot == Plot::IsCancelled { "ABORTED" } else { "GOAL" };
    assert_eq!(record["reason"], expected, "{plot:?}: {record}");
}

/// What a process and the daemon in it hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counts {
    files: usize,
    threads: usize,
    processes: usize,
    census: Value,
}

/// The counts once they do not change any more and the daemon has nothing more to do than when it was `unused`.
async fn settled(daemon: &mut ProbeDaemon, unused: &Value) -> Counts {
    let clock = SystemClock::new();
    let mut last = counts(daemon).await;
    loop {
        tokio::time::sleep(SETTLED).await;
        let now = counts(daemon).await;
        if now == last && now.census == *unused {
            return now;
        }
        last = now;
        assert!(clock.monotonic() < STUCK, "it does not come to rest: {last:?}, unused {unused}");
    }
}

async fn counts(daemon: &mut ProbeDaemon) -> Counts {
    let census = daemon.census().await;
    let process = format!("/proc/{}", daemon.pid());
    let n_entries = |folder: &str| fs::read_dir(format!("{process}/{folder}")).unwrap().count();
    Counts { files: n_entries("fd"), threads: n_entries("task"), processes: children(daemon.pid()), census }
}

/// How many processes have this one as their parent.
pub fn children(pid: u32) -> usize {
    let parent = |process: fs::DirEntry| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        // The name in parentheses may have blanks; state and parent follow.
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter_map(parent).filter(|it| *it == pid).count()
}

/// Resident memory in KiB.
fn memory(daemon: &ProbeDaemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
