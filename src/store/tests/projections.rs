//! Do the tables say what the events mean, however these were batched?

use super::*;
use protocol::{
    CallId, CallState, FinishReason, LoopDetected, LoopKind, ParkReason, QueuedFor, RunParked, RunQueued,
    RunState, SessionClosed, SessionState, SessionUpdated, ToolName, ToolState,
};

/// Every column of every row of the projections.
pub(super) async fn everything(store: &EventStore) -> String {
    let mut dump = String::new();
    for table in ["sessions", "contexts", "runs", "usage", "outputs", "client_calls"] {
        let columns: Vec<String> = sqlx::query_scalar("select name from pragma_table_info(?1)")
            .bind(table)
            .fetch_all(&store.shared.readers)
            .await
            .unwrap();
        let pairs: Vec<String> = columns.iter().map(|name| format!("'{name}', {name}")).collect();
        let text = format!("select json_object({}) from {table} order by 1", pairs.join(", "));
        let rows: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(text)).fetch_all(&store.shared.readers).await.unwrap();
        dump.push_str(&format!("{table}\n{}\n", rows.join("\n")));
    }
    dump
}

/// Of run `r` in context `c`, unless said otherwise.
pub(super) fn queued(run: &str, waits_for: QueuedFor, front: bool, is_first: bool) -> NewEvent {
    let data = is_first.then(|| Box::new(started()));
    event(run, RunQueued { waits_for, front, run: data })
}

pub(super) fn model_started(run: &str, stream: &str) -> NewEvent {
    event(run, ModelStarted { model: "m".to_owned(), stream: stream.to_owned(), attempt: 1 })
}

pub(super) fn replied(run: &str, stream: &str, finish_reason: Option<FinishReason>, cut: bool) -> NewEvent {
    let data = ModelCompleted {
        stream: stream.to_owned(),
        model: "m".to_owned(),
        text: "t".to_owned(),
        cut,
        finish_reason,
        usage: Usage { prompt_tokens: 1, ..Usage::default() },
        estimated: false,
        usage_unknown: false,
        cost: None,
        first_token_ms: None,
        calls: Vec::new(),
        error: None,
    };
    event(run, data)
}

pub(super) fn call(run: &str, call: &str, from: Option<CallState>, to: CallState) -> NewEvent {
    let data = ToolState {
        call_id: CallId::from(call),
        from,
        to,
        name: ToolName::from("probe"),
        provider_call_id: None,
        arguments: None,
        details: None,
        child_run_id: None,
        streams: false,
        output: None,
        result: None,
        error: None,
        denied_by: None,
        denied_origin: None,
        awaits_hooks: false,
    };
    event(run, data)
}

/// A run that `parent` called.
pub(super) fn child(run: &str, parent: &str) -> NewEvent {
    let data = RunStarted {
        depth: 1,
        parent_call_id: Some(CallId::from("call")),
        context_id: ContextId::from(format!("context of {run}")),
        ..started()
    };
    let child = event(run, data);
    NewEvent {
        context: Some(ContextId::from(format!("context of {run}"))),
        head: EventHead { parent_run_id: Some(RunId::from(parent)), ..EventHead::default() },
        ..child
    }
}

async fn state(store: &EventStore, run: &str) -> RunState {
    store.run(&RunId::from(run)).await.unwrap().unwrap().state
}

#[tokio::test]
async fn run_is_made_by_its_first_event_and_goes_through_its_states() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session()]).await.unwrap();
    let parked = || event("q", RunParked { reason: ParkReason::StorageFull });
    let resumed = || event("q", RunResumed::default());
    let steps = [
        (queued("q", QueuedFor::Context, false, true), RunState::Queued),
        (parked(), RunState::Parked),
        // It had not begun, so it waits on.
        (resumed(), RunState::Queued),
        (event("q", started()), RunState::Running),
        (queued("q", QueuedFor::Place, false, false), RunState::Queued),
        (model_started("q", "x"), RunState::Running),
        (parked(), RunState::Parked),
        (resumed(), RunState::Running),
        (parked(), RunState::Parked),
        (model_started("q", "y"), RunState::Running),
        (queued("q", QueuedFor::Place, false, false), RunState::Queued),
        (event("q", completed()), RunState::Ended),
    ];
    for (event, expected) in steps {
        let kind = event.body.type_name();
        store.append(vec![event]).await.unwrap();
        assert_eq!(state(&store, "q").await, expected, "after {kind}");
        let live = everything(&store).await;
        store.rebuild().await.unwrap();
        assert_eq!(everything(&store).await, live, "after {kind}");
    }
    assert!(store.queue(None).await.unwrap().is_empty());
    assert!(!everything(&store).await.contains("\"queue_rank\":1"), "an ended run stands in no queue");
    close(store, tracker).await;
}

#[tokio::test]
async fn begin_says_when_a_queued_run_began_and_lists_keep_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session(), queued("q", QueuedFor::Context, false, true)]).await.unwrap();
    let asked = store.run(&RunId::from("q")).await.unwrap().unwrap();
    assert_eq!((asked.state, asked.started_at), (RunState::Queued, Timestamp(1_000_000)));
    let begins = NewEvent { at: Timestamp(5_000_000), ..event("q", started()) };
    store.append(vec![event("later", started()), begins]).await.unwrap();
    let begun = store.run(&RunId::from("q")).await.unwrap().unwrap();
    assert_eq!((begun.state, begun.started_at), (RunState::Running, Timestamp(5_000_000)));
    let listed = store.run_list(&RunFilter::default(), None, 10).await.unwrap();
    let ids: Vec<&str> = listed.items.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!(ids, ["later", "q"]);
    close(store, tracker).await;
}

#[tokio::test]
async fn children_know_their_root_also_when_all_begin_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store
        .append(vec![session(), event("root", started()), child("a", "root"), child("b", "a")])
        .await
        .unwrap();
    store.append(vec![child("c", "b"), child("d", "c")]).await.unwrap();
    let roots: Vec<String> = sqlx::query_scalar("select root_run_id from runs order by run_id")
        .fetch_all(&store.shared.readers)
        .await
        .unwrap();
    assert_eq!(roots, ["root"; 5]);
    let record = store.run(&RunId::from("c")).await.unwrap().unwrap();
    assert_eq!((record.parent_run_id, record.depth), (Some(RunId::from("b")), 1));
    assert_eq!(record.parent_call_id, Some(CallId::from("call")));
    let contexts = store.session_contexts(&SessionId::from("s")).await.unwrap();
    let owners: Vec<_> = contexts.iter().map(|it| it.parent_run_id.as_ref().map(RunId::as_str)).collect();
    assert_eq!(owners, [None, Some("root"), Some("a"), Some("b"), Some("c")]);
    assert_eq!(
        store.root_context(&SessionId::from("s"), &AgentName::from("a")).await.unwrap(),
        Some(ContextId::from("c"))
    );
    let stop = Some(FinishReason::Stop);
    store
        .append(vec![
            replied("root", "1", stop.clone(), false),
            replied("b", "2", stop.clone(), false),
            replied("d", "3", stop.clone(), true),
            replied("d", "4", None, false),
        ])
        .await
        .unwrap();
    store.append(vec![replied("d", "5", stop, false)]).await.unwrap();
    // One that was cut because it repeated itself is not asked for again.
    let babble = LoopDetected { kind: LoopKind::Text, message: "blah".to_owned(), stops: false };
    let judged = LoopDetected { kind: LoopKind::Judge, ..babble.clone() };
    store.append(vec![replied("b", "6", None, true), event("b", babble), event("b", judged)]).await.unwrap();
    for run in ["root", "b", "d"] {
        assert_eq!(store.tree_replies(&RunId::from(run), "m").await.unwrap(), 4, "{run}");
    }
    assert_eq!(store.tree_replies(&RunId::from("nobody"), "m").await.unwrap(), 0);
    close(store, tracker).await;
}

#[tokio::test]
async fn session_is_as_its_last_events_say() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let of_session = |body: EventBody| NewEvent { run: None, context: None, ..event("r", body) };
    let created = SessionCreated {
        roots: vec!["/w".to_owned()],
        title: Some("old".to_owned()),
        agent: Some(AgentName::from("a")),
        mode: Default::default(),
        mode_of_settings: false,
        ephemeral: true,
    };
    store.append(vec![of_session(created.into())]).await.unwrap();
    let read = || async { store.session(&SessionId::from("s")).await.unwrap().unwrap() };
    let first = read().await;
    assert_eq!((first.state, first.ephemeral), (SessionState::Open, true));
    assert_eq!((first.title.as_deref(), first.agent), (Some("old"), Some(AgentName::from("a"))));
    let updated = SessionUpdated {
        title: Some("new".to_owned()),
        agent: None,
        mode: Default::default(),
        system_append: None,
    };
    store.append(vec![of_session(updated.into())]).await.unwrap();
    let second = read().await;
    assert_eq!((second.title.as_deref(), second.agent), (Some("new"), None));
    store.append(vec![of_session(SessionClosed {}.into())]).await.unwrap();
    assert_eq!(read().await.state, SessionState::Closed);
    let live = everything(&store).await;
    store.rebuild().await.unwrap();
    assert_eq!(everything(&store).await, live);
    close(store, tracker).await;
}

/// Every pair and triple of what moves a run through its states, in every way to batch them.
#[tokio::test]
async fn tables_do_not_depend_on_how_events_were_batched() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let kinds: &[fn(&str) -> NewEvent] = &[
        |run| queued(run, QueuedFor::Context, false, false),
        |run| queued(run, QueuedFor::Place, true, false),
        |run| event(run, RunParked { reason: ParkReason::StorageFull }),
        |run| event(run, RunResumed::default()),
        |run| event(run, started()),
        |run| model_started(run, "x"),
        |run| event(run, TurnStarted { turn: 2, grace: None }),
        |run| event(run, completed()),
    ];
    let mut events = vec![session()];
    for first in kinds {
        for second in kinds {
            for third in kinds {
                let run = format!("r{}", events.len());
                events.push(queued(&run, QueuedFor::Context, false, true));
                events.extend([first(&run), second(&run), third(&run)]);
            }
        }
    }
    store.append(events).await.unwrap();
    let together = everything(&store).await;
    // Batches of one see each event apart; those of three and seven cut the runs everywhere.
    for batch in [1, 3, 7] {
        store.rebuild_by(batch).await.unwrap();
        assert!(everything(&store).await == together, "batches of {batch} make other tables");
    }
    close(store, tracker).await;
}

#[tokio::test]
async fn rebuild_goes_on_after_a_whole_batch_of_unknown_types() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session(), tick("r"), tick("r"), tick("r"), event("r", started())]).await.unwrap();
    let live = everything(&store).await;
    close(store, tracker).await;
    tamper(dir.path(), "update events set type = 'run.dreamt' where type = 'run.resumed'").await;
    let (store, tracker) = open(dir.path()).await;
    for batch in [1, 2, 3] {
        store.rebuild_by(batch).await.unwrap();
        assert_eq!(everything(&store).await, live, "batches of {batch}");
    }
    close(store, tracker).await;
}

#[tokio::test]
async fn the_run_that_has_a_context_now_is_not_the_one_that_had_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let wait = |run: &str, front: bool, is_first: bool| queued(run, QueuedFor::Context, front, is_first);
    let named = |run: &str| Some((RunId::from(run), AgentName::from("a")));
    let asked = vec![session(), event("r1", started()), wait("r2", false, true), wait("r3", false, true)];
    store.append(asked).await.unwrap();
    for run in ["r2", "r3"] {
        assert_eq!(store.context_holder(&RunId::from(run)).await.unwrap(), named("r1"), "{run}");
    }
    store.append(vec![wait("r3", true, false), event("r1", completed())]).await.unwrap();
    assert_eq!(store.context_holder(&RunId::from("r2")).await.unwrap(), None);
    // It has the context before it begins.
    store.append(vec![queued("r3", QueuedFor::Place, false, false)]).await.unwrap();
    assert_eq!(store.context_holder(&RunId::from("r2")).await.unwrap(), named("r3"));
    assert_eq!(store.context_holder(&RunId::from("r3")).await.unwrap(), None);
    store.append(vec![event("r3", started())]).await.unwrap();
    assert_eq!(store.context_holder(&RunId::from("r2")).await.unwrap(), named("r3"));
    close(store, tracker).await;
}
