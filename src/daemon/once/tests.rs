//! One effect a key, whoever asks and whatever dies.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};

use super::*;
use protocol::{EventHead, EventSeq, PrivateEventFields, SessionClosed, SessionId, Timestamp};
use store::NewEvent;
use sys::{clock::SystemClock, tasks::TaskGroup};

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    n: usize,
    seq: EventSeq,
    #[serde(default)]
    replayed: bool,
}

/// A store with something to do that is counted.
struct Bed {
    dir: tempfile::TempDir,
    store: EventStore,
    once: IdempotencyKeys,
    tracker: TaskGroup,
    effects: Arc<AtomicUsize>,
    /// An effect takes one before it writes.
    gate: Arc<Semaphore>,
}

impl Bed {
    async fn new() -> Bed {
        Bed::over(tempfile::tempdir().unwrap()).await
    }

    async fn over(dir: tempfile::TempDir) -> Bed {
        let tracker = TaskGroup::new();
        let store = EventStore::open(dir.path(), &tracker, SystemClock::new()).await.unwrap();
        let once =
            IdempotencyKeys::new(store.clone(), Arc::new(HotSwap::new(Redactor::none())), tracker.clone());
        Bed { dir, store, once, tracker, effects: Arc::default(), gate: Arc::new(Semaphore::new(100)) }
    }

    async fn close(self) -> tempfile::TempDir {
        let Bed { dir, store, once, tracker, .. } = self;
        store.close().await;
        drop((store, once));
        tracker.close();
        timeout(STUCK, tracker.wait()).await.unwrap();
        dir
    }

    fn ask(
        &self,
        key: &str,
        method: &'static str,
        params: Value,
        fails: bool,
    ) -> impl Future<Output = Result<Answer, RpcError>> + Send + 'static {
        let (once, store) = (self.once.clone(), self.store.clone());
        let (effects, gate) = (Arc::clone(&self.effects), Arc::clone(&self.gate));
        let key = (!key.is_empty()).then(|| IdempotencyKey(key.to_owned()));
        async move {
            let effect = async move |token: Option<KeyToken>| {
                gate.acquire().await.unwrap().forget();
                let n = effects.fetch_add(1, Ordering::SeqCst) + 1;
                if fails {
                    return Err(RpcError::new(ErrorKind::Busy, "no"));
                }
                let answer = Answer { n, seq: EventSeq(0), replayed: false };
                let keyed = token.map(|token| token.keyed(&answer, None));
                let (_, seq) = store.append_keyed(vec![event()], keyed).await?;
                Ok(Answer { seq, ..answer })
            };
            once.run(key, method, &params, effect).await
        }
    }
}

fn event() -> NewEvent {
    NewEvent {
        at: Timestamp(1),
        session: Some(SessionId::from("s")),
        run: None,
        context: None,
        head: EventHead::default(),
        body: SessionClosed {}.into(),
        private: PrivateEventFields::default(),
    }
}

#[tokio::test]
async fn same_request_has_its_effect_once_also_after_a_restart() {
    let bed = Bed::new().await;
    let params = || json!({ "a": { "x": 1, "y": [2] }, "idempotencyKey": "k" });
    let first = bed.ask("key-0001", "m", params(), false).await.unwrap();
    assert_eq!(first, Answer { n: 1, seq: EventSeq(1), replayed: false });
    let replayed = Answer { replayed: true, ..first };
    let reordered = json!({ "a": { "y": [2], "x": 1 } });
    assert_eq!(bed.ask("key-0001", "m", reordered, false).await.unwrap(), replayed);
    assert_eq!(bed.ask("", "m", params(), false).await.unwrap().n, 2, "without a key each counts");
    let bed = Bed::over(bed.close().await).await;
    assert_eq!(bed.ask("key-0001", "m", params(), false).await.unwrap(), replayed);
    assert_eq!(bed.effects.load(Ordering::SeqCst), 0);
    bed.close().await;
}

#[tokio::test]
async fn twin_waits_for_the_first_and_a_stranger_is_refused() {
    let mut bed = Bed::new().await;
    bed.gate = Arc::new(Semaphore::new(0));
    let first = bed.tracker.spawn("a request", bed.ask("key-0001", "m", json!({}), false));
    while bed.once.flights().is_empty() {
        tokio::task::yield_now().await;
    }
    let twin = bed.tracker.spawn("a request", bed.ask("key-0001", "m", json!({}), false));
    for (method, params, says) in
        [("m", json!({ "b": 1 }), "other parameters"), ("n", json!({}), "not for n")]
    {
        let refused = bed.ask("key-0001", method, params, false).await.unwrap_err();
        assert_eq!(refused.data.kind, ErrorKind::IdempotencyConflict);
        assert!(refused.message.contains(says), "{}", refused.message);
    }
    // The first caller goes; its effect does not.
    first.abort();
    bed.gate.add_permits(1);
    let twin = timeout(STUCK, twin).await.unwrap().unwrap().unwrap();
    assert_eq!(twin, Answer { n: 1, seq: EventSeq(1), replayed: true });
    let refused = bed.ask("key-0001", "m", json!({ "b": 1 }), false).await.unwrap_err();
    assert_eq!(refused.data.kind, ErrorKind::IdempotencyConflict);
    assert!(bed.once.flights().is_empty());
    bed.close().await;
}

#[tokio::test]
async fn effect_that_failed_leaves_the_key_free() {
    let bed = Bed::new().await;
    let refused = bed.ask("key-0001", "m", json!({}), true).await.unwrap_err();
    assert_eq!(refused.data.kind, ErrorKind::Busy);
    let answer = bed.ask("key-0001", "m", json!({ "other": 1 }), false).await.unwrap();
    assert_eq!((answer.n, answer.replayed), (2, false));
    bed.close().await;
}
