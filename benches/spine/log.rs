//! How many events become durable in a second, with projections, and how long does one alone take?

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use subagentd::{
    protocol::{
        AgentName, CompletionMode, ContextId, EventBody, EventHead, EventSeq, ModelCompleted,
        PrivateEventFields, RunId, RunLimits, RunStarted, SessionCreated, SessionId, Timestamp, Usage,
    },
    store::{EventStore, LogFilter, NewEvent},
    sys::{clock::SystemClock, tasks::TaskGroup},
};
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    ground::{self, SyncedFile, now, since},
    table::{Row, Table, listed, median, percentile},
};

const WRITERS: usize = 64;
const READERS: usize = 4;
/// Events that a reader reads at once, and then the run's record.
const PAGE: usize = 20;
/// Appends of each writer, one event each.
const APPENDS: usize = counted!(1_000, 20);
const REPEATS: usize = counted!(3, 1);
/// Lone appends, each after a sync of a plain file, so that both meet the same disk.
const ALONE: usize = counted!(500, 10);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let runtime = ground::daemon_runtime()?;
    alone(table, &runtime)?;
    crowded(table, &runtime)
}

fn alone(table: &mut Table, runtime: &Runtime) -> anyhow::Result<()> {
    let folder = ground::folder()?;
    let mut synced = SyncedFile::new()?;
    let path = folder.path().to_owned();
    let mut asking = JoinSet::new();
    // On the runtime's threads, where runs are driven.
    asking.spawn_on(
        async move {
            let (mut appends, mut syncs) = (Vec::new(), Vec::new());
            let tracker = TaskGroup::new();
            let store = EventStore::open(&path, &tracker, SystemClock::new()).await?;
            store.append(opening("run")).await?;
            for _ in 0..ALONE {
                syncs.push(synced.append()?);
                let events = vec![event("run", completed())];
                let began = now();
                store.append(events).await?;
                appends.push(since(began));
            }
            store.close().await;
            anyhow::Ok((appends, syncs))
        },
        runtime.handle(),
    );
    let (appends, syncs) = runtime.block_on(asking.join_next()).context("one was spawned")???;
    let sync = median(&syncs);
    table.row(Row {
        name: "a lone append, p50",
        figure: median(&appends),
        bound: 2.0 * sync,
        unit: "ms",
        is_rate: false,
        baseline: Some(("fsync of 1 KB", sync)),
        note: format!("p99 {:.2}, of fsync {:.2}", percentile(&appends, 0.99), percentile(&syncs, 0.99)),
    });
    Ok(())
}

fn crowded(table: &mut Table, runtime: &Runtime) -> anyhow::Result<()> {
    let (mut rates, mut reads) = (Vec::new(), Vec::new());
    for round in 0..=REPEATS {
        // The last round shows what the readers cost.
        let readers = if round < REPEATS { READERS } else { 0 };
        let folder = ground::folder()?;
        let (took, read) = runtime.block_on(async {
            let tracker = TaskGroup::new();
            let store = EventStore::open(folder.path(), &tracker, SystemClock::new()).await?;
            let measured = crowd(&store, readers).await?;
            store.close().await;
            anyhow::Ok(measured)
        })?;
        rates.push((WRITERS * APPENDS) as f64 / took.as_secs_f64());
        reads.push(read as f64 / took.as_secs_f64());
    }
    let unread = rates.pop().unwrap_or_default();
    reads.pop();
    table.row(Row {
        name: "durable events a second, 64 writers, 4 readers",
        figure: rates.iter().copied().fold(0.0, f64::max),
        bound: 20_000.0,
        unit: "/s",
        is_rate: true,
        baseline: None,
        note: format!("{}; reads a second {}; unread {unread:.0} /s", listed(&rates), listed(&reads)),
    });
    Ok(())
}

/// How long the writers took, and how often was read meanwhile.
async fn crowd(store: &EventStore, n_readers: usize) -> anyhow::Result<(Duration, usize)> {
    let names: Vec<String> = (0..WRITERS).map(|n| format!("run-{n}")).collect();
    for name in &names {
        store.append(opening(name)).await?;
    }
    let (is_over, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut readers = JoinSet::new();
    for name in names.iter().take(n_readers) {
        let (store, is_over, reads) = (store.clone(), Arc::clone(&is_over), Arc::clone(&reads));
        let run = RunId::from(name.as_str());
        readers.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let page = store.page(&LogFilter::run(run.clone()), EventSeq(0), PAGE).await?;
                ensure!(!page.events.is_empty(), "a run without events");
                ensure!(store.run(&run).await?.is_some(), "a run without a record");
                reads.fetch_add(2, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    let began = now();
    let mut writers = JoinSet::new();
    for name in names.clone() {
        let store = store.clone();
        writers.spawn(async move {
            for _ in 0..APPENDS {
                store.append(vec![event(&name, completed())]).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let took = since(began);
    is_over.store(true, Ordering::Relaxed);
    while let Some(read) = readers.join_next().await {
        read??;
    }
    for name in &names {
        let record = store.run(&RunId::from(name.as_str())).await?;
        let tokens = record.map(|record| record.usage.prompt_tokens);
        ensure!(tokens == Some(APPENDS as u64), "the record of {name} counts {tokens:?} tokens");
    }
    Ok((took, reads.load(Ordering::Relaxed)))
}

fn event(run: &str, body: impl Into<EventBody>) -> NewEvent {
    NewEvent {
        at: Timestamp(1_700_000_000_000_000),
        session: Some(SessionId::from(format!("session-of-{run}"))),
        run: Some(RunId::from(run)),
        context: Some(ContextId::from(format!("context-of-{run}"))),
        head: EventHead { turn: Some(1), ..EventHead::default() },
        body: body.into(),
        private: PrivateEventFields { active_us: 7_000, ..PrivateEventFields::default() },
    }
}

/// What every run begins with.
fn opening(run: &str) -> Vec<NewEvent> {
    let session = SessionCreated {
        roots: vec!["/work".to_owned()],
        title: None,
        agent: None,
        mode: Default::default(),
        ephemeral: false,
        mode_of_settings: false,
    };
    let started = RunStarted {
        agent: AgentName::from("reader"),
        title: "Reader".to_owned(),
        digest: "sha256:0".to_owned(),
        model: "zero".to_owned(),
        context_id: ContextId::from(format!("context-of-{run}")),
        query: "go".to_owned(),
        prompt: None,
        inputs: serde_json::json!({}),
        limits: RunLimits {
            max_turns: 1,
            max_time_ms: None,
            max_tokens: None,
            max_cost: None,
            on_budget: Default::default(),
            inherited: Default::default(),
            grace_ms: 1,
            max_depth: 4,
        },
        completion: CompletionMode::Tool,
        approval: Default::default(),
        depth: 0,
        parent_call_id: None,
        root_run_id: None,
        path: String::new(),
        traceparent: None,
        task: Default::default(),
        context_window: None,
        safeguards: Default::default(),
        tracing: Default::default(),
        prompt_sources: None,
    };
    vec![NewEvent { run: None, context: None, ..event(run, session) }, event(run, started)]
}

/// About 300 bytes that change the run's row.
fn completed() -> ModelCompleted {
    ModelCompleted {
        stream: "run#1.1".to_owned(),
        model: "zero".to_owned(),
        text: "words ".repeat(30),
        cut: false,
        finish_reason: None,
        usage: Usage { prompt_tokens: 1, ..Usage::default() },
        estimated: false,
        usage_unknown: false,
        cost: None,
        first_token_ms: None,
        calls: Vec::new(),
        error: None,
    }
}
