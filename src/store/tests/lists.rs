//! Are lists whole, in order, and read by an index?

use super::{
    projections::{call, child, model_started, queued},
    *,
};
use crate::{
    follow::FAMILY,
    read::{
        calls::{OPEN_CALLS, OPEN_CALLS_OF},
        history::{changes, messages, past, turn_before},
        sessions::{SESSION_RUNS, SESSIONS_BEFORE},
        standing::live_runs,
    },
};
use protocol::{
    CallState, ContextMessage, MessagePart, MessageRole, QueuedFor, RunSeed, RunState, SamplingSettings,
    SessionClosed,
};

fn in_session(session: &str, event: NewEvent) -> NewEvent {
    NewEvent { session: Some(SessionId::from(session)), ..event }
}

fn ids(runs: &[protocol::RunRecord]) -> Vec<&str> {
    runs.iter().map(|run| run.run_id.as_str()).collect()
}

#[tokio::test]
async fn runs_are_listed_newest_first_piece_by_piece_and_sifted() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session(), in_session("t", session())]).await.unwrap();
    for n in 0..7 {
        let home = if n % 2 == 0 { "s" } else { "t" };
        store.append(vec![in_session(home, event(&format!("r{n}"), started()))]).await.unwrap();
    }
    store.append(vec![child("k", "r0"), event("r2", completed())]).await.unwrap();
    let mut cursor = None;
    let mut seen = Vec::new();
    loop {
        let listed = store.run_list(&RunFilter::default(), cursor.as_deref(), 3).await.unwrap();
        seen.push(ids(&listed.items).join(" "));
        cursor = listed.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["k r6 r5", "r4 r3 r2", "r1 r0"]);
    let filter = |change: fn(&mut RunFilter)| {
        let mut filter = RunFilter::default();
        change(&mut filter);
        filter
    };
    let cases: &[(RunFilter, &str)] = &[
        (filter(|it| it.session = Some("t".into())), "r5 r3 r1"),
        (filter(|it| it.agent = Some("a".into())), "k r6 r5 r4 r3 r2 r1 r0"),
        (filter(|it| it.agent = Some("b".into())), ""),
        (filter(|it| it.state = Some(RunState::Ended)), "r2"),
        (filter(|it| it.state = Some(RunState::Queued)), ""),
        (filter(|it| it.active = true), "k r6 r5 r4 r3 r1 r0"),
        (filter(|it| it.roots = true), "r6 r5 r4 r3 r2 r1 r0"),
        (filter(|it| it.parent = Some("r0".into())), "k"),
        (
            filter(|it| {
                it.session = Some("s".into());
                it.active = true;
                it.roots = true;
            }),
            "r6 r4 r0",
        ),
        (
            filter(|it| {
                it.parent = Some("r0".into());
                it.session = Some("t".into());
            }),
            "",
        ),
    ];
    for (filter, expected) in cases {
        let listed = store.run_list(filter, None, 100).await.unwrap();
        assert_eq!(ids(&listed.items).join(" "), *expected, "{filter:?}");
    }
    let refused = store.run_list(&RunFilter::default(), Some("x"), 3).await;
    assert!(matches!(refused, Err(StoreError::BadCursor)));
    close(store, tracker).await;
}

#[tokio::test]
async fn sessions_are_listed_by_activity_and_found_by_their_words() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    for (n, title) in ["Über Äpfel", "pears", "plums", "figs"].into_iter().enumerate() {
        let id = format!("s{n}");
        let created = SessionCreated {
            roots: vec![format!("/w{}", n % 2)],
            title: Some(title.to_owned()),
            agent: None,
            mode: Default::default(),
            mode_of_settings: false,
            ephemeral: false,
        };
        // Two of them at the same moment.
        let at = Timestamp(1_000 * i64::try_from(n / 2).unwrap());
        store
            .append(vec![NewEvent { run: None, context: None, at, ..in_session(&id, event("r", created)) }])
            .await
            .unwrap();
    }
    let runs = NewEvent { at: Timestamp(9_000), ..in_session("s1", event("r", started())) };
    let closed = NewEvent { run: None, context: None, ..in_session("s3", event("r", SessionClosed {})) };
    store.append(vec![runs, closed]).await.unwrap();
    let list = async |filter: SessionFilter, limit| {
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let listed = store.session_list(&filter, cursor.as_deref(), limit).await.unwrap();
            let ids: Vec<&str> = listed.items.iter().map(|it| it.session_id.as_str()).collect();
            seen.push(ids.join(" "));
            cursor = listed.next;
            if cursor.is_none() {
                return seen.join(" | ");
            }
        }
    };
    assert_eq!(list(SessionFilter::default(), 100).await, "s1 s3 s2 s0");
    assert_eq!(list(SessionFilter::default(), 1).await, "s1 | s3 | s2 | s0");
    let by = |text: &str| SessionFilter { text: Some(text.to_owned()), ..SessionFilter::default() };
    assert_eq!(list(by("ÄPFEL"), 100).await, "s0");
    assert_eq!(list(by("/W1"), 1).await, "s1 | s3");
    let roots = SessionFilter { roots: Some(vec!["/w0".to_owned()]), ..SessionFilter::default() };
    assert_eq!(list(roots, 100).await, "s2 s0");
    let closed = SessionFilter { state: Some(protocol::SessionState::Closed), ..SessionFilter::default() };
    assert_eq!(list(closed, 100).await, "s3");
    for bad in ["x", "1", "x.y"] {
        let refused = store.session_list(&SessionFilter::default(), Some(bad), 1).await;
        assert!(matches!(refused, Err(StoreError::BadCursor)), "{bad}");
    }
    close(store, tracker).await;
}

#[tokio::test]
async fn queue_shows_who_waits_for_a_context_the_next_one_first() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let waits = |run: &str, front| queued(run, QueuedFor::Context, front, !front);
    store
        .append(vec![
            session(),
            in_session("t", session()),
            event("busy", started()),
            waits("a", false),
            waits("b", false),
            waits("c", false),
            in_session("t", waits("other", false)),
            // Waits for a place, so it stands in no context's queue.
            queued("busy", QueuedFor::Place, false, false),
        ])
        .await
        .unwrap();
    let queue = async |session: Option<&str>| {
        let session = session.map(SessionId::from);
        let queue = store.queue(session.as_ref()).await.unwrap();
        queue.iter().map(|it| it.run_id.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(queue(Some("s")).await, "a b c");
    assert_eq!(queue(None).await, "a b c other");
    store.append(vec![waits("b", true)]).await.unwrap();
    store.append(vec![waits("c", true)]).await.unwrap();
    assert_eq!(queue(Some("s")).await, "c b a");
    // Those that had begun come first, then the queue's order.
    let unfinished = store.unfinished_runs().await.unwrap();
    let unfinished: Vec<&str> = unfinished.iter().map(|it| it.record.run_id.as_str()).collect();
    assert_eq!(unfinished, ["busy", "c", "b", "a", "other"]);
    store.append(vec![event("c", started()), event("b", completed())]).await.unwrap();
    assert_eq!(queue(Some("s")).await, "a");
    close(store, tracker).await;
}

#[tokio::test]
async fn a_call_that_a_run_answers_has_an_open_text_from_where_it_executes() {
    use CallState::{Executing, Success};
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let turn = event("r", TurnStarted { turn: 1, grace: None });
    let mut executing = call("r", "a", None, Executing);
    if let EventBody::ToolState(state) = &mut executing.body {
        state.child_run_id = Some(RunId::from("kid"));
    }
    let (_, seq) = store.append(vec![session(), event("r", started()), turn, executing]).await.unwrap();
    let session = SessionId::from("s");
    let view = store.session_view(&session, 10).await.unwrap().unwrap();
    let call = Some(view.calls[0].call_id.clone());
    let expected = OpenStream {
        session: session.clone(),
        run: RunId::from("r"),
        stream: "a".to_owned(),
        call,
        after_seq: seq,
    };
    assert_eq!(view.open, [expected]);
    store.append(vec![self::call("r", "a", Some(Executing), Success)]).await.unwrap();
    assert!(store.session_view(&session, 10).await.unwrap().unwrap().open.is_empty());
    close(store, tracker).await;
}

#[tokio::test]
async fn open_calls_are_those_of_the_turn_that_have_not_ended() {
    use CallState::{Executing, Scheduled, Success, Validating};
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let turn = |turn| event("r", TurnStarted { turn, grace: None });
    store.append(vec![session(), event("r", started()), turn(1)]).await.unwrap();
    // Never ended, but of a turn that is over: cannot be, and is not looked for.
    store.append(vec![call("r", "old", None, Validating), turn(2)]).await.unwrap();
    store
        .append(vec![
            call("r", "a", None, Validating),
            call("r", "b", None, Validating),
            call("r", "a", Some(Validating), Scheduled),
            call("r", "b", Some(Validating), Scheduled),
            call("r", "a", Some(Scheduled), Executing),
            call("r", "b", Some(Executing), Success),
        ])
        .await
        .unwrap();
    let session = SessionId::from("s");
    let open = store.open_calls(&session).await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((open[0].call_id.as_str(), open[0].state), ("a", Executing));
    let view = store.session_view(&session, 10).await.unwrap().unwrap();
    assert_eq!(view.calls, open);
    // No run answers it, so that nothing is put out.
    assert!(view.open.is_empty());
    store.append(vec![event("r", completed())]).await.unwrap();
    assert!(store.open_calls(&session).await.unwrap().is_empty());
    close(store, tracker).await;
}

/// `seq`, role and text of each message, page by page.
async fn history(store: &EventStore, limit: usize) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let listed = store.history(&ContextId::from("c"), cursor.as_deref(), limit).await.unwrap();
        assert!(listed.items.len() <= limit);
        for message in listed.items {
            let parts: Vec<String> = message.parts.iter().map(part_text).collect();
            seen.push(format!("{} {} {:?} {}", message.seq, message.run_id, message.role, parts.join("+")));
        }
        cursor = listed.next;
        if cursor.is_none() {
            return seen;
        }
    }
}

fn part_text(part: &MessagePart) -> String {
    match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::Thought { text, signature } => format!("({text} {signature:?})"),
        MessagePart::ToolCall(call) => format!("{}? {:?}", call.call_id, call.signature),
        MessagePart::ToolResult { call_id, parts, is_error, .. } => {
            format!("{call_id}={}{}", part_text(&parts[0]), if *is_error { "!" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn history_is_what_was_said_in_every_size_of_page() {
    use protocol::{ContextNudged, RunSteered, ToolCall, ToolResult};
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    // A definition that was written once.
    let written = include_str!("../../../tests/it/golden/events.jsonl").lines();
    let lines = written.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut seeds = lines.map(|line| line["private"]["seed"]["definition"].clone());
    let definition = serde_json::from_value(seeds.find(|it| !it.is_null()).unwrap()).unwrap();
    let seed = RunSeed {
        expansions: Vec::new(),
        definition,
        context: None,
        system: "never shown".to_owned(),
        messages: vec![ContextMessage::user("before"), ContextMessage::user("go")],
        roots: vec!["/w".to_owned()],
        foreign: Default::default(),
        record: None,
        sampling: SamplingSettings::default(),
        provenance: Default::default(),
    };
    let seeded = |event: NewEvent| NewEvent {
        private: PrivateEventFields { seed: Some(Box::new(seed.clone())), ..PrivateEventFields::default() },
        ..event
    };
    let says = |event: NewEvent, role, parts: Vec<MessagePart>| NewEvent {
        private: PrivateEventFields {
            message: Some(ContextMessage { role, parts, raw: None }),
            ..PrivateEventFields::default()
        },
        ..event
    };
    let asks = |id: &str| {
        MessagePart::ToolCall(ToolCall {
            call_id: id.into(),
            provider_call_id: None,
            name: "probe".into(),
            arguments: json!({}),
            signature: Some("secret".to_owned()),
            redacted: false,
        })
    };
    let ends = |id: &str, text: &str| {
        let mut event = call("r", id, Some(CallState::Executing), CallState::Success);
        if let EventBody::ToolState(state) = &mut event.body {
            state.result = Some(ToolResult::text(text));
        }
        event
    };
    let reply = |run, stream| projections::replied(run, stream, None, false);
    let steered = |id: &str, turn| RunSteered { steer_id: id.to_owned(), text: format!("psst {id}"), turn };
    let thought = MessagePart::Thought { text: "hm".to_owned(), signature: Some("secret".to_owned()) };
    let events = vec![
        session(),
        // A run that waits has said nothing yet.
        seeded(queued("r", QueuedFor::Context, false, true)),
        seeded(event("r", started())),
        model_started("r", "x"),
        says(
            reply("r", "x"),
            MessageRole::Model,
            vec![thought, MessagePart::text("look"), asks("a"), asks("b")],
        ),
        call("r", "a", None, CallState::Validating),
        call("r", "b", None, CallState::Validating),
        event("r", steered("1", None)),
        ends("b", "second"),
        ends("a", "first"),
        says(event("r", steered("1", Some(2))), MessageRole::User, vec![MessagePart::text("psst 1")]),
        says(
            event("r", ContextNudged { text: "on".to_owned(), reason: Default::default() }),
            MessageRole::User,
            vec![MessagePart::text("on")],
        ),
        says(reply("r", "y"), MessageRole::Model, vec![MessagePart::text("done")]),
        event("r", steered("2", None)),
        event("r", steered("3", None)),
        // Said to runs that wait: the first will begin, the second will not.
        event("r2", steered("4", None)),
        queued("r3", QueuedFor::Context, false, true),
        event("r3", steered("5", None)),
        model_started("r", "cut"),
        reply("r", "cut"),
        event("r", completed()),
        event("r3", completed()),
        seeded(event("r2", started())),
        // Another context's.
        child("k", "r2"),
        says(reply("r2", "z"), MessageRole::Model, vec![MessagePart::text("again")]),
        event("r2", completed()),
    ];
    store.append(events).await.unwrap();
    let whole = history(&store, 100).await;
    expect_test::expect![[r#"
        3 r User before
        3 r User go
        5 r Model (hm None)+look+a? None+b? None
        10 r Tool a=first+b=second
        11 r User psst 1
        12 r User on
        13 r Model done
        21 r User psst 2
        21 r User psst 3
        23 r2 User go
        25 r2 Model again
        26 r2 User psst 4"#]]
    .assert_eq(&whole.join("\n"));
    for limit in 1..=whole.len() {
        assert_eq!(history(&store, limit).await, whole, "{limit} a page");
    }
    for bad in ["", "1", "x.1", "1.x"] {
        let refused = store.history(&ContextId::from("c"), Some(bad), 1).await;
        assert!(matches!(refused, Err(StoreError::BadCursor)), "{bad}");
    }
    let events = store.context_events(&ContextId::from("c")).await.unwrap();
    let runs: Vec<RunId> = events.iter().filter_map(|event| event.unwrap().run).collect();
    assert_eq!((runs.len(), runs.contains(&RunId::from("k"))), (24, false));
    close(store, tracker).await;
}

#[tokio::test]
async fn history_of_much_that_was_said_too_late_comes_in_pages_that_can_be_sent() {
    use protocol::RunSteered;
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let said = |id: &str| RunSteered { steer_id: id.to_owned(), text: id.repeat(600_000), turn: None };
    let mut events = vec![session(), event("r", started())];
    events.extend(["1", "2", "3", "4", "5"].map(|id| event("r", said(id))));
    events.push(event("r", completed()));
    store.append(events).await.unwrap();
    let (mut pages, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let listed = store.history(&ContextId::from("c"), cursor.as_deref(), 100).await.unwrap();
        pages.push(listed.items.iter().map(|it| part_text(&it.parts[0])[..1].to_owned()).collect::<Vec<_>>());
        cursor = listed.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, [vec!["1", "2"], vec!["3", "4"], vec!["5"]]);
    close(store, tracker).await;
}

/// What SQLite would do for the statement.
async fn plan_of(store: &EventStore, text: &str) -> String {
    use sqlx::Row as _;
    let explained = format!("explain query plan {text}");
    let rows = sqlx::query(sqlx::AssertSqlSafe(explained)).fetch_all(&store.shared.readers).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>("detail")).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn what_is_asked_often_is_read_by_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let filter = |change: fn(&mut RunFilter)| {
        let mut filter = RunFilter::default();
        change(&mut filter);
        filter.list_text()
    };
    let page = |sessions: &[&str], runs: &[&str], descendants| {
        let sessions = sessions.iter().map(|it| SessionId::from(*it)).collect();
        let runs = runs.iter().map(|it| RunId::from(*it)).collect();
        LogFilter { sessions, runs, descendants, types: Vec::new() }.page_text("*")
    };
    let cases: &[(String, &[&str])] = &[
        (filter(|_| ()), &["runs_by_age"]),
        (filter(|it| it.session = Some("s".into())), &["runs_by_session"]),
        (filter(|it| it.agent = Some("a".into())), &["runs_by_agent"]),
        (filter(|it| it.parent = Some("r".into())), &["runs_by_parent"]),
        (
            filter(|it| {
                it.session = Some("s".into());
                it.active = true;
            }),
            &["runs_unfinished"],
        ),
        (OPEN_CALLS.to_owned(), &["runs_unfinished", "events_by_run"]),
        (SESSION_RUNS.to_owned(), &["runs_unfinished", "runs_by_session"]),
        (SESSIONS_BEFORE.to_owned(), &["sessions_by_activity"]),
        (messages(), &["runs_by_context", "events_by_run", "events USING INTEGER PRIMARY KEY"]),
        (turn_before(), &["runs_by_context", "events_by_run", "events USING INTEGER PRIMARY KEY"]),
        (past(), &["runs_by_context", "events_by_run", "events USING INTEGER PRIMARY KEY"]),
        (changes(), &["runs_by_context", "events_by_run", "events USING INTEGER PRIMARY KEY"]),
        (OPEN_CALLS_OF.to_owned(), &["events_by_run"]),
        (live_runs(true), &["runs_unfinished"]),
        (live_runs(false), &["runs_unfinished"]),
        (FAMILY.to_owned(), &["runs_by_parent"]),
        (UsageOf::Run("r".into()).text(), &["runs_by_parent", "usage USING PRIMARY KEY"]),
        (UsageOf::Session("s".into()).text(), &["runs_by_session", "usage USING PRIMARY KEY"]),
        (UsageOf::Since(Timestamp(0)).text(), &["usage_by_minute", "runs USING PRIMARY KEY"]),
        (page(&["s"], &[], false), &["events_by_session"]),
        (page(&["s", "t"], &[], false), &["events_by_session"]),
        (page(&[], &["r"], false), &["events_by_run"]),
        (page(&["s"], &["r", "q"], false), &["events_by_run"]),
        (page(&[], &["r"], true), &["events_by_run", "runs_by_parent"]),
    ];
    for (text, indexes) in cases {
        let plan = plan_of(&store, text).await;
        for index in *indexes {
            assert!(plan.contains(index), "{text}\nis done by: {plan}\nnot by {index}");
        }
        let scans = plan
            .split("; ")
            .any(|step| step.starts_with("SCAN") && !step.contains("USING") && step.contains("runs"));
        assert!(!scans, "{text}\nreads a whole table: {plan}");
        // Bodies are large: what is sorted is held in memory whole.
        let sorts = plan.contains("TEMP B-TREE") && text.contains("from events");
        assert!(!sorts, "{text}\nsorts events: {plan}");
    }
    close(store, tracker).await;
}
