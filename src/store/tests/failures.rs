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
    assert_eq!(seqs, [Seq(head.0 + 1), Seq(head.0 + 2)]);
    assert_eq!(store.page(&Filter::default(), head, 100).await.unwrap().events.len(), 2);
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
    assert_eq!(store.append(vec![tick("r")]).await.unwrap(), (Seq(1), Seq(1)));
    close(store, tracker).await;
}
