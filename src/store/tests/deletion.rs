//! Is a removed session gone everywhere, and nothing else?

use super::*;
use protocol::{DaemonWarning, SessionDeleted};
use sys::clock::ManualClock;

fn tombstone(session: &str) -> NewEvent {
    NewEvent {
        session: Some(SessionId::from(session)),
        run: None,
        context: None,
        ..event("r", SessionDeleted { events: 0, last_seq: None, pruned: None })
    }
}

fn of(session: &str, event: NewEvent) -> NewEvent {
    let context = event.context.map(|_| ContextId::from(format!("context of {session}")));
    NewEvent { session: Some(SessionId::from(session)), context, ..event }
}

#[tokio::test]
async fn removed_session_is_gone_everywhere_and_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let (s, t) = (SessionId::from("s"), SessionId::from("t"));
    store.append(whole_run("r")).await.unwrap();
    let data = RunStarted { context_id: ContextId::from("context of t"), ..started() };
    store.append(vec![of("t", session()), of("t", event("q", data))]).await.unwrap();
    let head = store.head();
    assert_eq!(
        store.delete_session(&t, tombstone("t")).await.unwrap(),
        SessionDeletionOutcome::Busy { live_runs: 1 }
    );
    assert_eq!(store.head(), head, "who is refused writes nothing");

    let deleted = store.delete_session(&s, tombstone("s")).await.unwrap();
    assert_eq!(deleted, SessionDeletionOutcome::Gone { seq: EventSeq(9), events: 6 });
    for after in [EventSeq(0), EventSeq(3)] {
        // By the ring and by the database.
        let ringed = store.follow(LogFilter::session(s.clone()), after).poll().await.unwrap();
        let read = store.page(&LogFilter::session(s.clone()), after, 100).await.unwrap().events;
        for left in [ringed, read] {
            let kinds: Vec<&str> = left.iter().map(|event| &*event.kind).collect();
            assert_eq!(kinds, ["session.deleted"], "after {after}");
            assert_eq!(&*left[0].body, r#"{"events":6,"lastSeq":6}"#);
        }
    }
    let everything = store.follow(LogFilter::default(), EventSeq(0)).poll().await.unwrap();
    let seqs: Vec<i64> = everything.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [7, 8, 9]);
    assert!(store.session(&s).await.unwrap().is_none() && store.was_deleted(&s).await.unwrap());
    assert!(store.session(&t).await.unwrap().is_some() && !store.was_deleted(&t).await.unwrap());
    assert!(store.run(&RunId::from("r")).await.unwrap().is_none());
    assert!(store.session_contexts(&s).await.unwrap().is_empty());
    assert_eq!(store.delete_session(&s, tombstone("s")).await.unwrap(), SessionDeletionOutcome::Missing);
    let live = projections::everything(&store).await;
    store.rebuild().await.unwrap();
    assert_eq!(projections::everything(&store).await, live);
    close(store, tracker).await;
}

#[tokio::test]
async fn answers_outlive_their_session_and_are_swept_with_the_others() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let dir = tempfile::tempdir().unwrap();
    let (tracker, clock) = (TaskGroup::new(), ManualClock::starting_at(Timestamp(0)));
    let store = EventStore::open(dir.path(), &tracker, clock.clone()).await.unwrap();
    store.append_keyed(whole_run("r"), keys::keyed("old", Some("r"))).await.unwrap();
    store.delete_session(&SessionId::from("s"), tombstone("s")).await.unwrap();
    assert_eq!(keys::kept(&store, "old").await, Some(EventSeq(6)));
    let again = store.append_keyed(whole_run("r2"), keys::keyed("old", Some("r2"))).await;
    assert!(matches!(again, Err(StoreError::KeyUsed)), "{again:?}");
    clock.advance(DAY);
    store.append_keyed(Vec::new(), keys::keyed("new", None)).await.unwrap();
    // The sweep comes after that answer, and before this one.
    store.append(vec![tick("r")]).await.unwrap();
    assert_eq!(keys::kept(&store, "old").await, None);
    close(store, tracker).await;
}

#[tokio::test]
async fn removal_takes_what_was_asked_for_before_it_and_leaves_what_came_after() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    let s = SessionId::from("s");
    let (before, deleted, after) = tokio::join!(
        store.append(vec![tick("r")]),
        store.delete_session(&s, tombstone("s")),
        store.append(vec![of("t", session())]),
    );
    assert_eq!(before.unwrap().1, EventSeq(7));
    assert_eq!(deleted.unwrap(), SessionDeletionOutcome::Gone { seq: EventSeq(8), events: 7 });
    assert_eq!(after.unwrap().1, EventSeq(9));
    close(store, tracker).await;
}

/// A session with more events than go at once.
async fn large_session(store: &EventStore) {
    store.append(whole_run("r")).await.unwrap();
    for _ in 0..10 {
        store.append((0..100).map(|_| tick("r")).collect()).await.unwrap();
    }
}

async fn left(store: &EventStore) -> i64 {
    let of_session = sqlx::query_scalar("select count(*) from events where session_id = 's'");
    of_session.fetch_one(&store.shared.readers).await.unwrap()
}

async fn removals(store: &EventStore) -> i64 {
    sqlx::query_scalar("select count(*) from removals").fetch_one(&store.shared.readers).await.unwrap()
}

#[tokio::test]
async fn a_large_session_is_gone_at_once_and_its_events_go_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![of("t", session())]).await.unwrap();
    large_session(&store).await;
    let s = SessionId::from("s");
    let deleted = store.delete_session(&s, tombstone("s")).await.unwrap();
    assert_eq!(deleted, SessionDeletionOutcome::Gone { seq: EventSeq(1_008), events: 1_006 });
    store.met_removal().await;
    let mut counts = vec![left(&store).await];
    loop {
        // Nobody sees what is left, wherever it is read from, and the projections can be made anew.
        let everything = store.page(&LogFilter::default(), EventSeq(0), 10_000).await.unwrap();
        let seqs: Vec<i64> = everything.events.iter().map(|event| event.seq.0).collect();
        assert_eq!(seqs, [1, 1_008]);
        assert_eq!(everything.searched_to, EventSeq(1_008));
        // A page that would be empty for what is left goes on to what there is.
        let small = store.page(&LogFilter::default(), EventSeq(1), 10).await.unwrap();
        assert_eq!(small.events.len(), 1);
        let of_session = store.follow(LogFilter::session(s.clone()), EventSeq(0)).next().await.unwrap();
        assert_eq!(of_session.len(), 1);
        assert!(store.was_deleted(&s).await.unwrap());
        let live = projections::everything(&store).await;
        store.rebuild().await.unwrap();
        assert_eq!(projections::everything(&store).await, live);
        if !store.remove_piece().await.unwrap() {
            break;
        }
        counts.push(left(&store).await);
    }
    assert_eq!(counts, [1_007, 751, 495, 239, 1]);
    close(store, tracker).await;
}

#[tokio::test]
async fn a_removal_that_was_cut_off_is_gone_on_with_by_the_next_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    large_session(&store).await;
    store.delete_session(&SessionId::from("s"), tombstone("s")).await.unwrap();
    assert!(store.remove_piece().await.unwrap());
    close(store, tracker).await;
    let (store, tracker) = open(dir.path()).await;
    assert_eq!(store.page(&LogFilter::default(), EventSeq(0), 10_000).await.unwrap().events.len(), 1);
    while store.remove_piece().await.unwrap() {}
    assert_eq!(left(&store).await, 1);
    assert_eq!(removals(&store).await, 0);
    close(store, tracker).await;
}

#[tokio::test]
async fn long_events_go_in_smaller_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    for _ in 0..300 {
        let data =
            protocol::ContextNudged { text: "x".repeat(100_000), reason: protocol::NudgeReason::default() };
        store.append(vec![event("r", data)]).await.unwrap();
    }
    store.delete_session(&SessionId::from("s"), tombstone("s")).await.unwrap();
    let before = left(&store).await;
    assert!(store.remove_piece().await.unwrap());
    let gone = before - left(&store).await;
    assert!((5..=10).contains(&gone), "a MiB of 100 kB each: {gone}");
    close(store, tracker).await;
}

#[tokio::test]
async fn the_file_gives_its_room_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    for _ in 0..300 {
        let data =
            protocol::ContextNudged { text: "x".repeat(100_000), reason: protocol::NudgeReason::default() };
        store.append(vec![event("r", data)]).await.unwrap();
    }
    let full = store.room().await.unwrap();
    assert!(full.is_shrinkable && 30_000_000 < full.used(), "{full:?}");
    store.delete_session(&SessionId::from("s"), tombstone("s")).await.unwrap();
    while store.remove_piece().await.unwrap() {}
    let emptied = store.room().await.unwrap();
    assert!(full.file <= emptied.file && emptied.used() < 1_000_000, "{emptied:?}");
    while store.give_back_piece().await.unwrap() {}
    let shrunk = store.room().await.unwrap();
    assert!(shrunk.file < 3_000_000, "{shrunk:?}");
    close(store, tracker).await;
    let file = std::fs::metadata(dir.path().join("subagentd.db")).unwrap().len();
    assert!(file < 3_000_000, "{file}");
}

#[tokio::test]
async fn a_file_of_an_older_version_is_rewritten_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(whole_run("r")).await.unwrap();
    let before = projections::everything(&store).await;
    close(store, tracker).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(dir.path().join("subagentd.db"))
        .auto_vacuum(sqlx::sqlite::SqliteAutoVacuum::None);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql("pragma auto_vacuum = none; vacuum").execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let (store, tracker) = open(dir.path()).await;
    assert!(store.room().await.unwrap().is_shrinkable);
    assert_eq!(projections::everything(&store).await, before);
    close(store, tracker).await;
}

/// A hook beside a run may end long after somebody has deleted all of it.
#[tokio::test]
async fn nothing_is_written_into_a_session_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let s = SessionId::from("s");
    store.append(vec![of("s", session())]).await.unwrap();
    let said = || {
        let warning = DaemonWarning { message: "late".to_owned() };
        vec![NewEvent { run: None, context: None, ..event("r", warning) }]
    };
    store.append_within(&s, said()).await.unwrap();
    let (deleted, late) = tokio::join!(store.delete_session(&s, tombstone("s")), async {
        store.append_within(&s, said()).await
    });
    deleted.unwrap();
    assert!(matches!(late, Err(StoreError::SessionGone)), "{late:?}");
    let left = store.page(&LogFilter::session(s), EventSeq(0), 100).await.unwrap().events;
    assert_eq!(left.iter().map(|event| &*event.kind).collect::<Vec<_>>(), ["session.deleted"]);
    close(store, tracker).await;
}
