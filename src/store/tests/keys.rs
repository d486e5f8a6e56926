//! Are answers kept with their effect, and no longer than promised?

use super::*;
use protocol::IdempotencyKey;
use sys::clock::ManualClock;

pub(super) fn keyed(key: &str, run: Option<&str>) -> Option<KeyedAnswer> {
    Some(KeyedAnswer {
        key: IdempotencyKey(key.to_owned()),
        method: "m".to_owned(),
        params_digest: "d".to_owned(),
        result: json!({ "a": 1 }),
        run: run.map(RunId::from),
    })
}

pub(super) async fn kept(store: &EventStore, key: &str) -> Option<EventSeq> {
    store.keyed(&IdempotencyKey(key.to_owned())).await.unwrap().map(|answer| answer.seq)
}

#[tokio::test]
async fn used_key_refuses_its_append_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    // They wait together, so that they are one batch: of two with one key the first has it.
    let (before, first, second, after) = tokio::join!(
        store.append(vec![tick("r")]),
        store.append_keyed(vec![tick("r"), tick("r")], keyed("k", None)),
        store.append_keyed(vec![tick("r")], keyed("k", None)),
        store.append(vec![tick("r")]),
    );
    assert!(before.is_ok() && after.is_ok());
    assert!(matches!(second, Err(StoreError::KeyUsed)), "{second:?}");
    assert_eq!(kept(&store, "k").await, Some(first.unwrap().1));
    let again = store.append_keyed(vec![tick("r")], keyed("k", None)).await;
    assert!(matches!(again, Err(StoreError::KeyUsed)), "{again:?}");
    assert_eq!(store.head(), EventSeq(4), "who was refused wrote nothing");
    // An effect without events, e.g. one that finds all done.
    assert_eq!(store.append_keyed(Vec::new(), keyed("empty", None)).await.unwrap().1, EventSeq(4));
    assert_eq!(kept(&store, "empty").await, Some(EventSeq(4)));
    close(store, tracker).await;
}

#[tokio::test]
async fn effect_that_fails_keeps_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session()]).await.unwrap();
    let failed = store.append_keyed(vec![session()], keyed("k", None)).await;
    assert!(matches!(failed, Err(StoreError::Database(_))), "{failed:?}");
    assert_eq!(kept(&store, "k").await, None);
    close(store, tracker).await;
}

#[tokio::test]
async fn answers_are_kept_a_day_and_as_long_as_the_run() {
    const HOUR: i64 = 3_600_000_000;
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(Timestamp(0));
    let open = async || {
        let tracker = TaskGroup::new();
        (EventStore::open(dir.path(), &tracker, clock.clone()).await.unwrap(), tracker)
    };
    let (store, tracker) = open().await;
    store.append_keyed(vec![session(), event("live", started())], keyed("live", Some("live"))).await.unwrap();
    let over = vec![event("over", started()), event("over", completed())];
    store.append_keyed(over, keyed("over", Some("over"))).await.unwrap();
    clock.advance(Duration::from_micros(2 * HOUR as u64));
    store.append_keyed(Vec::new(), keyed("young", None)).await.unwrap();
    clock.advance(Duration::from_micros(22 * HOUR as u64));
    // A later effect is the occasion. It is answered first; what comes after it waits.
    store.append_keyed(Vec::new(), keyed("next", None)).await.unwrap();
    store.append(vec![tick("r")]).await.unwrap();
    let look = async |store: &EventStore| {
        let mut found = Vec::new();
        for key in ["live", "over", "young", "next"] {
            found.extend(kept(store, key).await.map(|_| key));
        }
        found
    };
    assert_eq!(look(&store).await, ["live", "young", "next"]);
    store.append(vec![event("live", completed())]).await.unwrap();
    close(store, tracker).await;
    clock.advance(Duration::from_micros(3 * HOUR as u64));
    let (store, tracker) = open().await;
    // The start is the other; what comes after it waits for it.
    store.append(vec![tick("r")]).await.unwrap();
    assert_eq!(look(&store).await, ["next"]);
    close(store, tracker).await;
}
