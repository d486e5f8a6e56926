//! Is a removed session gone everywhere, and nothing else?

use super::*;
use protocol::SessionDeleted;
use sys::clock::ManualClock;

fn tombstone(session: &str) -> NewEvent {
    NewEvent {
        session: Some(SessionId::from(session)),
        run: None,
        context: None,
        ..event("r", SessionDeleted { events: 0 })
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
            assert_eq!(&*left[0].body, r#"{"events":6}"#);
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
