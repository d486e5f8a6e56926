//! What is left of an append that failed?

use super::*;

#[tokio::test]
async fn append_that_fails_leaves_nothing_and_hurts_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let (_, head) = store.append(whole_run("r")).await.unwrap();
    // The session is there already. The good ones wait with the bad one, so that they are tried together.
    let (before, bad, after) = tokio::join!(
        store.append(vec![tick("r")]),
        store.append(whole_run("r")),
        store.append(vec![tick("r")]),
    );
    assert!(matches!(bad, Err(StoreError::Database(_))), "{bad:?}");
    let mut seqs = [before.unwrap().0, after.unwrap().0];
    seqs.sort();
    assert_eq!(seqs, [EventSeq(head.0 + 1), EventSeq(head.0 + 2)]);
    assert_eq!(store.page(&LogFilter::default(), head, 100).await.unwrap().events.len(), 2);
    close(store, tracker).await;
}

/// SQLite rolls a transaction back on its own when the disk is full; a trigger that does the same stands in for it.
#[tokio::test]
async fn store_writes_again_after_a_failure_that_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    tamper(
        dir.path(),
        "create trigger planted before insert on events begin select raise(rollback, 'planted'); end",
    )
    .await;
    for _ in 0..2 {
        let error = store.append(vec![tick("r")]).await.unwrap_err().to_string();
        assert!(error.contains("planted"), "{error}");
    }
    tamper(dir.path(), "drop trigger planted").await;
    assert_eq!(store.append(vec![tick("r")]).await.unwrap(), (EventSeq(1), EventSeq(1)));
    close(store, tracker).await;
}

/// A commit that is reported as failed can be durable all the same. A row that is there already stands in for it: the
/// append fails, and the log has exactly what was to be appended.
#[tokio::test]
async fn commit_that_was_durable_after_all_is_answered_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![tick("r")]).await.unwrap();
    let mut follower = store.follow(LogFilter::default(), EventSeq(1));
    tamper(dir.path(), "insert into events select 2, time_us, type, session_id, run_id, context_id, head, body, private from events").await;
    assert_eq!(store.append(vec![tick("r")]).await.unwrap(), (EventSeq(2), EventSeq(2)));
    assert!(store.failing().is_none());
    assert_eq!(store.append(vec![tick("q")]).await.unwrap(), (EventSeq(3), EventSeq(3)));
    let seen: Vec<EventSeq> = follower.next().await.unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(seen, [EventSeq(2), EventSeq(3)]);
    close(store, tracker).await;
}

#[tokio::test]
async fn events_that_nobody_knew_of_are_published_and_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![tick("r")]).await.unwrap();
    let mut follower = store.follow(LogFilter::default(), EventSeq(1));
    tamper(dir.path(), "insert into events select 2, 7, type, session_id, run_id, context_id, head, body, private from events").await;
    let failed = store.append(vec![tick("r")]).await;
    assert!(matches!(failed, Err(StoreError::Database(_))), "{failed:?}");
    let seen = follower.next().await.unwrap();
    assert_eq!((seen.len(), seen[0].seq, seen[0].at), (1, EventSeq(2), Timestamp(7)));
    assert_eq!(store.append(vec![tick("r")]).await.unwrap(), (EventSeq(3), EventSeq(3)));
    assert_eq!(follower.next().await.unwrap()[0].seq, EventSeq(3));
    close(store, tracker).await;
}
