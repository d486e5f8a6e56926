//! The log and its projections, on a real database.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

use super::*;
use protocol::{
    AgentName, CompletionMode, ContextId, EventBody, EventHead, ModelCompleted, ModelStarted,
    PrivateEventFields, RunCompleted, RunEndReason, RunId, RunLimits, RunResumed, RunStarted, SessionCreated,
    SessionId, Timestamp, TurnStarted, Usage,
};
use sys::{clock::SystemClock, tasks::TaskGroup};

mod client_calls;
mod consumers;
mod deletion;
mod failures;
mod filters;
mod full_disk;
mod keys;
mod lists;
mod outputs;
mod projections;
mod statements;
mod texts;
mod usage;
mod wire_terms;
mod worked;

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

async fn open(dir: &Path) -> (EventStore, TaskGroup) {
    let tracker = TaskGroup::new();
    (EventStore::open(dir, &tracker, SystemClock::new()).await.unwrap(), tracker)
}

async fn close(store: EventStore, tracker: TaskGroup) {
    store.close().await;
    drop(store);
    tracker.close();
    timeout(STUCK, tracker.wait()).await.expect("the writer did not end");
}

fn event(run: &str, body: impl Into<EventBody>) -> NewEvent {
    NewEvent {
        at: Timestamp(1_000_000),
        session: Some(SessionId::from("s")),
        run: Some(RunId::from(run)),
        context: Some(ContextId::from("c")),
        head: EventHead { turn: Some(1), ..EventHead::default() },
        body: body.into(),
        private: PrivateEventFields { active_us: 7_000, ..PrivateEventFields::default() },
    }
}

fn tick(run: &str) -> NewEvent {
    event(run, RunResumed::default())
}

fn started() -> RunStarted {
    RunStarted {
        agent: AgentName::from("a"),
        title: "A".to_owned(),
        digest: "sha256:0".to_owned(),
        model: "m".to_owned(),
        context_id: ContextId::from("c"),
        query: "q".to_owned(),
        prompt: None,
        inputs: json!({}),
        limits: RunLimits {
            max_turns: 3,
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
    }
}

fn completed() -> RunCompleted {
    RunCompleted {
        reason: RunEndReason::Goal,
        error: None,
        message: None,
        result: Some("done".to_owned()),
        output: None,
        partial_result: None,
        recovered: false,
        recovered_from: None,
        usage: Usage::default(),
        child_usage: Usage::default(),
        cost: None,
        child_cost: None,
        unpriced_tokens: 0,
        child_unpriced_tokens: 0,
        estimated_requests: 0,
        uncounted_requests: 0,
        child_estimated_requests: 0,
        child_uncounted_requests: 0,
        turns: 1,
        tool_calls: 0,
        files_changed: Vec::new(),
        active_ms: 7,
    }
}

fn session() -> NewEvent {
    let data = SessionCreated {
        roots: vec!["/w".to_owned()],
        title: None,
        agent: None,
        mode: Default::default(),
        mode_of_settings: false,
        ephemeral: false,
    };
    NewEvent { run: None, context: None, ..event("r", data) }
}

/// A whole small run: its session, one turn, the end.
fn whole_run(run: &str) -> Vec<NewEvent> {
    let usage = Usage { prompt_tokens: 3, output_tokens: 2, ..Usage::default() };
    let model = ModelCompleted {
        stream: "x".to_owned(),
        model: "m".to_owned(),
        text: "t".to_owned(),
        cut: false,
        finish_reason: None,
        usage,
        estimated: false,
        usage_unknown: false,
        cost: None,
        first_token_ms: None,
        calls: Vec::new(),
        error: None,
    };
    vec![
        session(),
        event(run, started()),
        event(run, TurnStarted { turn: 1, grace: None }),
        event(run, ModelStarted { model: "m".to_owned(), stream: "x".to_owned(), attempt: 1 }),
        event(run, model),
        event(run, completed()),
    ]
}

/// Many writers, many readers that begin at random cursors while writing goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_follower_sees_every_event_once_in_order() {
    const WRITERS: i64 = 8;
    const EACH: i64 = 100;
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let read = |after: i64| {
        let mut follower = store.follow(LogFilter::session(SessionId::from("s")), EventSeq(after));
        async move {
            let mut seen = Vec::new();
            while seen.last().copied().unwrap_or(after) < WRITERS * EACH {
                seen.extend(follower.next().await.unwrap().iter().map(|event| event.seq.0));
            }
            (after, seen)
        }
    };
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        readers.spawn(read(0));
    }
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            for _ in 0..EACH / 2 {
                let run = format!("w{writer}");
                let (first, last) = store.append(vec![tick(&run), tick(&run)]).await.unwrap();
                assert_eq!(first.0 + 1, last.0, "events of one append stand together");
            }
        });
    }
    for after in [0, 1, 17, 799] {
        readers.spawn(read(after));
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
    while let Some(reader) = timeout(STUCK, readers.join_next()).await.expect("a reader is stuck") {
        let (after, seen) = reader.unwrap();
        assert_eq!(seen, (after + 1..=WRITERS * EACH).collect::<Vec<_>>());
    }
    close(store, tracker).await;
}

/// One append at a time, each awaited by the reader before the next. A flood would heal a lost wake-up with the
/// following one; here a lost wake-up hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wake_up_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let filters =
        [LogFilter::default(), LogFilter::session(SessionId::from("s")), LogFilter::run(RunId::from("r"))];
    let mut heard = Vec::new();
    let mut readers = tokio::task::JoinSet::new();
    for filter in filters {
        let mut follower = store.follow(filter, EventSeq(0));
        let (seen, hear) = mpsc::channel(1);
        heard.push(hear);
        readers.spawn(async move {
            while let Ok(events) = follower.next().await {
                for event in events {
                    if seen.send(event.seq.0).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
    for n in 1..=300 {
        store.append(vec![tick("r")]).await.unwrap();
        for hear in &mut heard {
            let seq = timeout(STUCK, hear.recv()).await.unwrap_or_else(|_| panic!("lost wake-up at {n}"));
            assert_eq!(seq, Some(n));
        }
    }
    drop(heard);
    readers.shutdown().await;
    close(store, tracker).await;
}

#[tokio::test]
async fn only_followers_of_what_happened_are_woken() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let bystander = store.follow(LogFilter::session(SessionId::from("other")), EventSeq(0));
    store.append(vec![tick("r")]).await.unwrap();
    {
        let mut wait = std::pin::pin!(bystander.wait());
        assert!(futures_util::poll!(&mut wait).is_pending());
    }
    drop(bystander);
    close(store, tracker).await;
}

#[tokio::test]
async fn ring_and_database_answer_alike() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    let filter = LogFilter {
        types: vec!["turn.started".to_owned(), "run.completed".to_owned()],
        ..LogFilter::default()
    };
    let lines = |events: &[Arc<StoredEvent>]| {
        events.iter().map(|it| it.envelope(Some(EventSeq(9)))).collect::<Vec<_>>()
    };
    let from_ring = store.follow(filter.clone(), EventSeq(0)).poll().await.unwrap();
    let from_database = store.page(&filter, EventSeq(0), 100).await.unwrap();
    assert_eq!(lines(&from_ring), lines(&from_database.events));
    assert_eq!((from_database.searched_to, from_database.head), (EventSeq(6), EventSeq(6)));
    let page = store.page(&filter, EventSeq(0), 1).await.unwrap();
    assert_eq!((page.events.len(), page.searched_to, page.head), (1, EventSeq(3), EventSeq(6)));
    close(store, tracker).await;
}

#[tokio::test]
async fn envelope_is_whole_and_its_data_is_what_was_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let odd = "quotes \" braces }} and \u{1F980}";
    let data = SessionCreated {
        roots: vec![odd.to_owned()],
        title: Some("}".to_owned()),
        agent: None,
        mode: Default::default(),
        mode_of_settings: false,
        ephemeral: false,
    };
    store.append(vec![event("r", data)]).await.unwrap();
    let stored = store.page(&LogFilter::default(), EventSeq(0), 1).await.unwrap().events.remove(0);
    let envelope: Value = serde_json::from_str(&stored.envelope(Some(EventSeq(0)))).unwrap();
    assert_eq!(
        envelope,
        json!({
            "seq": 1, "prev": 0, "at": "1970-01-01T00:00:01.000Z", "type": "session.created",
            "sessionId": "s", "runId": "r", "turn": 1, "data": { "roots": [odd], "title": "}" },
        })
    );
    close(store, tracker).await;
}

/// Dumps the projections as text.
async fn tables(store: &EventStore) -> String {
    let mut dump = String::new();
    for run in ["r", "q"] {
        dump.push_str(&format!("{:?}\n", store.run(&RunId::from(run)).await.unwrap()));
    }
    let view = store.session_view(&SessionId::from("s"), 10).await.unwrap().unwrap();
    let open: Vec<_> = view.open.iter().map(|it| (&it.run, &it.stream, it.after_seq)).collect();
    dump.push_str(&format!(
        "{:?} {:?} {open:?} {:?}",
        view.session,
        view.runs,
        store.run_counts().await.unwrap()
    ));
    dump
}

#[tokio::test]
async fn rebuilding_the_projections_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    let mut open_run = whole_run("q");
    open_run.truncate(4);
    for event in open_run.drain(1..).collect::<Vec<_>>() {
        store.append(vec![event]).await.unwrap();
    }
    let live = tables(&store).await;
    assert!(live.contains("prompt_tokens: 3") && live.contains("\"x\", EventSeq(9)"), "{live}");
    store.rebuild().await.unwrap();
    assert_eq!(tables(&store).await, live);
    close(store, tracker).await;
}

#[tokio::test]
async fn log_survives_reopening_and_tells_how_the_last_stop_was() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    assert!(store.stopped_cleanly(), "a new log has no bad past");
    let log_id = store.log_id().to_owned();
    store.append(vec![tick("r")]).await.unwrap();
    close(store, tracker).await;

    let (store, tracker) = open(dir.path()).await;
    assert!(store.stopped_cleanly());
    assert_eq!((store.log_id(), store.head()), (log_id.as_str(), EventSeq(1)));
    // Dropped without a word, as by a crash: the writer ends when the last handle goes.
    drop(store);
    tracker.close();
    timeout(STUCK, tracker.wait()).await.unwrap();

    // The lock says when somebody was at work last; what lies ahead is no time since.
    let lock = std::fs::OpenOptions::new().write(true).open(dir.path().join("lock")).unwrap();
    let touch = |at: std::time::SystemTime| lock.set_modified(at).unwrap();
    let now = u64::try_from(SystemClock::new().now().0).unwrap();
    touch(std::time::UNIX_EPOCH + Duration::from_micros(now) - Duration::from_secs(3_600));
    let (store, tracker) = open(dir.path()).await;
    let away = store.away().unwrap();
    assert!(Duration::from_secs(3_600) <= away && away < Duration::from_secs(3_600) + STUCK, "{away:?}");
    assert!(!store.stopped_cleanly());
    // It ends before it took up anything, as one that cannot listen: the next one knows of the crash all the same.
    store.note_alive();
    close(store, tracker).await;
    let (store, tracker) = open(dir.path()).await;
    assert!(Duration::from_secs(3_600) <= store.away().unwrap(), "{:?}", store.away());
    assert!(!store.stopped_cleanly());
    store.note_at_work();
    assert_eq!(store.append(vec![tick("r")]).await.unwrap(), (EventSeq(2), EventSeq(2)));
    close(store, tracker).await;
    let (store, tracker) = open(dir.path()).await;
    assert!(store.away().unwrap() < STUCK, "{:?}", store.away());
    assert!(store.stopped_cleanly());
    close(store, tracker).await;
}

#[tokio::test]
async fn second_daemon_on_the_same_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let error = EventStore::open(dir.path(), &tracker, SystemClock::new()).await.err().unwrap().to_string();
    assert!(
        error.contains("another daemon uses") && error.contains(&format!("pid {}", std::process::id())),
        "{error}"
    );
    close(store, tracker).await;
}

/// Runs one statement on the database of a closed store.
async fn tamper(dir: &Path, statement: &'static str) {
    use sqlx::{ConnectOptions as _, Connection as _};
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join("subagentd.db"));
    let mut connection = options.connect().await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_damaged_database_is_told_from_a_whole_one() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![tick("r")]).await.unwrap();
    assert_eq!(store.examine().await.unwrap(), [] as [String; 0]);
    close(store, tracker).await;
    tamper(dir.path(), "create index bent on events (type)").await;
    // An index that does not know of a row, as a lost write leaves it.
    tamper(
        dir.path(),
        "pragma writable_schema = on; \
         update sqlite_schema set sql = 'create index bent on events (run_id)' where name = 'bent'",
    )
    .await;
    let (store, tracker) = open(dir.path()).await;
    let faults = store.examine().await.unwrap();
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault.contains("bent")), "{faults:?}");
    close(store, tracker).await;
}

#[tokio::test]
async fn database_from_the_future_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![tick("r")]).await.unwrap();
    close(store, tracker).await;
    tamper(
        dir.path(),
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (99, 'future', true, x'00', 0)",
    )
    .await;
    let before = std::fs::read(dir.path().join("subagentd.db")).unwrap();
    let error =
        EventStore::open(dir.path(), &TaskGroup::new(), SystemClock::new()).await.err().unwrap().to_string();
    assert!(error.contains("newer version") && error.contains("migration 99"), "{error}");
    assert!(before == std::fs::read(dir.path().join("subagentd.db")).unwrap(), "the file was changed");
}

#[tokio::test]
async fn database_of_a_development_version_is_refused_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    close(store, tracker).await;
    tamper(dir.path(), "update _sqlx_migrations set checksum = x'00'").await;
    let error =
        EventStore::open(dir.path(), &TaskGroup::new(), SystemClock::new()).await.err().unwrap().to_string();
    assert!(error.contains("development version") && error.contains("--state-dir"), "{error}");
}

#[tokio::test]
async fn files_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("deep").join("state");
    let (store, tracker) = open(&state).await;
    store.append(vec![tick("r")]).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    close(store, tracker).await;
}

#[test]
fn migrations_are_the_files_of_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    let listed: Vec<(String, String)> = MIGRATIONS
        .iter()
        .map(|(version, name, sql)| (format!("{version:04}_{name}.sql"), (*sql).to_owned()))
        .collect();
    assert_eq!(listed, files);
}

#[tokio::test]
async fn page_of_large_events_is_short_and_the_next_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let large = || {
        event(
            "r",
            SessionCreated {
                roots: vec!["x".repeat(1_500_000)],
                title: None,
                agent: None,
                mode: Default::default(),
                mode_of_settings: false,
                ephemeral: false,
            },
        )
    };
    store.append(vec![large(), large(), large()]).await.unwrap();
    let mut pages = Vec::new();
    let mut after = EventSeq(0);
    while after < EventSeq(3) {
        let page = store.page(&LogFilter::default(), after, 100).await.unwrap();
        assert_eq!(page.head, EventSeq(3));
        pages.push(page.events.len());
        after = page.searched_to;
    }
    assert_eq!(pages, [2, 1]);
    assert!(store.page(&LogFilter::default(), after, 100).await.unwrap().events.is_empty());
    close(store, tracker).await;
}
