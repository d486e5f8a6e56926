//! Does a consumer stand where it was put, for as long as promised?

use sqlx::Connection as _;

use super::*;
use sys::clock::ManualClock;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn consumer_never_goes_back_and_outlives_its_store() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    assert_eq!(store.consumer("a").await.unwrap(), None);
    let opened = store.open_consumer("a", EventSeq(3)).await.unwrap();
    assert_eq!(opened, EventConsumer { seq: EventSeq(3), is_new: true });
    // Two that were asked for before either was written, in this order.
    let mut answers = Vec::new();
    for seq in [7, 5] {
        let (reply, answer) = oneshot::channel();
        let request = writer::WriterRequest::acknowledge("a", EventSeq(seq), reply);
        store.shared.requests.send(request).await.map_err(drop).unwrap();
        answers.push(answer);
    }
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(store.consumer("a").await.unwrap(), Some(EventSeq(7)));
    assert_eq!(store.acknowledge("a", EventSeq(8)).await.unwrap(), EventSeq(8));
    assert_eq!(store.acknowledge("a", EventSeq(2)).await.unwrap(), EventSeq(8));
    assert_eq!(store.head(), EventSeq(0), "who reads makes no events");
    store.rebuild().await.unwrap();
    close(store, tracker).await;
    let (store, tracker) = open(dir.path()).await;
    let found = store.open_consumer("a", EventSeq(0)).await.unwrap();
    assert_eq!(found, EventConsumer { seq: EventSeq(8), is_new: false });
    close(store, tracker).await;
}

#[tokio::test]
async fn names_are_bounded_and_those_unused_for_long_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let (tracker, clock) = (TaskGroup::new(), ManualClock::starting_at(Timestamp(0)));
    let store = EventStore::open(dir.path(), &tracker, clock.clone()).await.unwrap();
    let mut beside = store.second_writer().await.unwrap();
    sqlx::query(
        "with recursive n(value) as (select 1 union all select value + 1 from n where value < 999)
         insert into consumers select 'n' || value, 1, 0 from n union all select 'kept', 1, 0",
    )
    .execute(&mut beside)
    .await
    .unwrap();
    beside.close().await.unwrap();
    let refused = store.open_consumer("one too many", EventSeq(0)).await;
    assert!(matches!(refused, Err(StoreError::TooManyConsumers)), "{refused:?}");
    assert!(!store.open_consumer("kept", EventSeq(0)).await.unwrap().is_new);
    clock.advance(29 * DAY);
    assert!(!store.open_consumer("kept", EventSeq(0)).await.unwrap().is_new);
    assert!(store.open_consumer("one too many", EventSeq(0)).await.is_err());
    clock.advance(2 * DAY);
    assert!(store.open_consumer("one too many", EventSeq(0)).await.unwrap().is_new);
    assert_eq!(store.consumer("kept").await.unwrap(), Some(EventSeq(1)), "it was used two days ago");
    close(store, tracker).await;
}
