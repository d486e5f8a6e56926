//! Was this asked before? Requests with an `idempotencyKey` have their effect once and their answer as often as they
//! are asked (spec 01, "Methods").
//!
//! While the first is at work, its twins wait for it here. Afterwards, also after a restart, the answer comes from the
//! store, where it was written in the transaction of the effect.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use protocol::{ErrorKind, IdempotencyKey, RpcError, RunId};
use redact::Redactor;
use store::{EventStore, KeptAnswer, KeyedAnswer};
use sys::{
    current::HotSwap,
    tasks::{TaskGroup, TaskPanic},
};

/// Requests with keys at work at once. Each is a request in flight of some connection, so this many mean a client gone
/// wild; an entry is a few hundred bytes.
const MAX_FLIGHTS: usize = 65_536;

/// What to do after a request broke off.
const AGAIN: &str = "ask again with the same key: if it had its effect, that is answered";

/// A cheap handle.
#[derive(Clone)]
pub(super) struct IdempotencyKeys {
    shared: Arc<IdempotencyKeysInner>,
}

struct IdempotencyKeysInner {
    store: EventStore,
    /// Says which keys must not be stored as they are.
    redactor: Arc<HotSwap<Redactor>>,
    /// Owns the effects: they end also when nobody waits for them.
    tasks: TaskGroup,
    flights: Mutex<HashMap<IdempotencyKey, InFlightRequest>>,
}

type IdempotentOutcome = Result<Value, RpcError>;

/// A request at work.
struct InFlightRequest {
    ask: RequestFingerprint,
    /// `None` until it is done.
    outcome: watch::Receiver<Option<IdempotentOutcome>>,
}

/// What was asked, but for the key.
#[derive(Clone, PartialEq)]
struct RequestFingerprint {
    method: &'static str,
    params_digest: String,
}

/// Lets an effect keep its answer: hand [`KeyToken::keyed`] to `EventStore::append_keyed` with the effect's events.
pub(super) struct KeyToken {
    key: IdempotencyKey,
    ask: RequestFingerprint,
}

impl KeyToken {
    /// The answer, to be written with the events that make it true. Its `seq` may be anything, if it has one: the
    /// store knows the right one. `run` is the run the request began, if any.
    pub fn keyed<R: Serialize>(&self, result: &R, run: Option<RunId>) -> KeyedAnswer {
        // A result goes over the wire as JSON, so it can be written as such.
        let result = serde_json::to_value(result).expect("a method's result is JSON");
        let KeyToken { key, ask: RequestFingerprint { method, params_digest } } = self;
        let (key, method, params_digest) = (key.clone(), (*method).to_owned(), params_digest.clone());
        KeyedAnswer { key, method, params_digest, result, run }
    }
}

/// Gives the key free when the effect is over, however it ended.
struct KeyGuard {
    once: IdempotencyKeys,
    key: IdempotencyKey,
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        self.once.flights().remove(&self.key);
    }
}

impl IdempotencyKeys {
    pub fn new(store: EventStore, redactor: Arc<HotSwap<Redactor>>, tasks: TaskGroup) -> IdempotencyKeys {
        IdempotencyKeys {
            shared: Arc::new(IdempotencyKeysInner { store, redactor, tasks, flights: Mutex::default() }),
        }
    }

    /// A key that holds a secret is known by its digest. It stays as telling as it was.
    fn storable(&self, key: IdempotencyKey) -> IdempotencyKey {
        match self.shared.redactor.get().text(&key.0) {
            Cow::Borrowed(_) => key,
            Cow::Owned(_) => IdempotencyKey(format!("sha256:{}", hex_digest(&key.0))),
        }
    }

    /// Runs `effect`, or answers what it answered before. The effect runs to its end also when its caller goes away.
    /// One that fails must have changed nothing, and leaves the key free.
    pub async fn run<R, E, F>(
        &self,
        key: Option<IdempotencyKey>,
        method: &'static str,
        params: &impl Serialize,
        effect: E,
    ) -> Result<R, RpcError>
    where
        R: Serialize + DeserializeOwned + Send + 'static,
        E: FnOnce(Option<KeyToken>) -> F + Send + 'static,
        F: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let Some(key) = key else {
            return match self.shared.tasks.spawn(method, async move { effect(None).await }).await {
                Ok(result) => result,
                // It cannot be cancelled: nobody holds its handle but this.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            };
        };
        let key = self.storable(key);
        let ask = RequestFingerprint { method, params_digest: digest(params) };
        let (mut outcome, is_first) = match self.board(&key, &ask)? {
            KeyClaim::Waits(outcome) => (outcome, false),
            KeyClaim::Flies(sender) => {
                let outcome = sender.subscribe();
                let landing = KeyGuard { once: self.clone(), key: key.clone() };
                let token = KeyToken { key, ask };
                let flight = fly(self.shared.store.clone(), token, effect);
                let tasks = self.shared.tasks.clone();
                self.shared.tasks.spawn(method, async move {
                    let done =
                        tasks.caught(method, flight).await.unwrap_or_else(|panicked| Err(broken(&panicked)));
                    // First the key, then the word: who asks again now finds the answer in the store.
                    drop(landing);
                    sender.send_replace(Some(done));
                });
                (outcome, true)
            }
        };
        let done = match outcome.wait_for(Option::is_some).await {
            Ok(done) => done.clone(),
            Err(_) => None,
        };
        let Some(done) = done else {
            return Err(RpcError::new(
                ErrorKind::ShuttingDown,
                "the request broke off, since the daemon ends",
            )
            .with_hint(AGAIN));
        };
        let mut value = done?;
        if !is_first {
            value["replayed"] = json!(true);
        }
        serde_json::from_value(value).map_err(unreadable)
    }

    /// Takes the key, or a place among those who wait for who has it.
    fn board(&self, key: &IdempotencyKey, ask: &RequestFingerprint) -> Result<KeyClaim, RpcError> {
        let mut flights = self.flights();
        let is_full = MAX_FLIGHTS <= flights.len();
        match flights.entry(key.clone()) {
            Entry::Occupied(entry) if entry.get().ask == *ask => {
                Ok(KeyClaim::Waits(entry.get().outcome.clone()))
            }
            Entry::Occupied(entry) => Err(conflict(key, entry.get().ask.method, ask)),
            Entry::Vacant(_) if is_full => {
                let message = format!("{MAX_FLIGHTS} requests with idempotency keys are at work already");
                Err(RpcError::new(ErrorKind::Overloaded, message).with_hint("try again in a moment"))
            }
            Entry::Vacant(entry) => {
                let (sender, outcome) = watch::channel(None);
                entry.insert(InFlightRequest { ask: ask.clone(), outcome });
                Ok(KeyClaim::Flies(sender))
            }
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, InFlightRequest>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum KeyClaim {
    Waits(watch::Receiver<Option<IdempotentOutcome>>),
    Flies(watch::Sender<Option<IdempotentOutcome>>),
}

/// The kept answer, else the effect's.
async fn fly<R, E, F>(store: EventStore, token: KeyToken, effect: E) -> IdempotentOutcome
where
    R: Serialize,
    E: FnOnce(Option<KeyToken>) -> F,
    F: Future<Output = Result<R, RpcError>>,
{
    if let Some(kept) = store.keyed(&token.key).await? {
        return replay(kept, &token);
    }
    let result = effect(Some(token)).await?;
    serde_json::to_value(result).map_err(unreadable)
}

fn replay(kept: KeptAnswer, token: &KeyToken) -> IdempotentOutcome {
    let KeptAnswer { method, params_digest, mut result, seq } = kept;
    if method != token.ask.method || params_digest != token.ask.params_digest {
        return Err(conflict(&token.key, &method, &token.ask));
    }
    // One that caused no event has none.
    if let Some(known) = result.get_mut("seq") {
        *known = json!(seq);
    }
    result["replayed"] = json!(true);
    Ok(result)
}

fn conflict(key: &IdempotencyKey, used_by: &str, ask: &RequestFingerprint) -> RpcError {
    let IdempotencyKey(key) = key;
    let message = match used_by == ask.method {
        true => format!("the idempotency key {key:?} was used for {used_by} with other parameters"),
        false => format!("the idempotency key {key:?} was used for {used_by}, not for {}", ask.method),
    };
    RpcError::new(ErrorKind::IdempotencyConflict, message)
        .with_details(json!({ "method": used_by }))
        .with_hint("use a new key for a new request; the same request again answers as before")
}

/// A defect: the request may have had its effect.
fn broken(panicked: &TaskPanic) -> RpcError {
    RpcError::new(ErrorKind::InternalError, format!("the request broke off: {panicked}"))
        .with_details(json!({ "id": panicked.id }))
        .with_hint(AGAIN)
}

fn unreadable(error: serde_json::Error) -> RpcError {
    super::wire_errors::internal("an answer could not be kept or read back", &error)
}

/// SHA-256 over the parameters without their key, whatever the order of their fields.
fn digest(params: &impl Serialize) -> String {
    // Parameters came as JSON.
    let mut params = serde_json::to_value(params).expect("a method's parameters are JSON");
    if let Some(fields) = params.as_object_mut() {
        fields.remove("idempotencyKey");
    }
    sort(&mut params);
    hex_digest(&params.to_string())
}

fn hex_digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Objects mean the same in any order of their fields.
fn sort(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.sort_keys();
            fields.values_mut().for_each(sort);
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => (),
    }
}

#[cfg(test)]
mod tests;
