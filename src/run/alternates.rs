//! The models that a run may ask beside its own: one that takes over, one that summarises, one for small questions. Each is
//! found when it is needed, so that a key that nobody needs holds up nobody.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use super::{
    machine::MeteredUsage,
    meter::{CutUsage, UsageMeter},
    resources::RunResources,
    unblocked,
};
use models::{ModelError, ModelEvent, ModelRequest, RecordingWriter, ResolveError, ResolvedModel};
use protocol::{ModelRef, RunErrorCode, Usage, UsdAmount};

pub(super) struct ModelFallbacks {
    supplies: Arc<RunResources>,
    /// Where what they say is recorded.
    recording: Option<RecordingWriter>,
    found: Mutex<HashMap<String, ResolvedModel>>,
}

impl ModelFallbacks {
    /// Knows the run's own model, which is recorded already.
    pub fn new(
        supplies: Arc<RunResources>,
        recording: Option<RecordingWriter>,
        own: ResolvedModel,
    ) -> ModelFallbacks {
        ModelFallbacks { supplies, recording, found: Mutex::new(HashMap::from([(own.name.clone(), own)])) }
    }

    /// One that was found before.
    pub fn known(&self, name: &str) -> Option<ResolvedModel> {
        self.found().get(name).cloned()
    }

    /// What one that was found before asks for this; `None` = nobody told its price.
    pub fn cost(&self, name: &str, usage: &Usage) -> Option<UsdAmount> {
        let price = self.known(name)?.price?;
        Some(price.cost(usage))
    }

    /// Usage of requests that were answered in the end. A server that counts nothing would make every limit one that is never
    /// reached, so that is estimated; what is in this process, or in a recording, costs nothing.
    pub fn metered(&self, name: &str, meter: &UsageMeter) -> MeteredUsage {
        let is_told = !meter.is_uncounted() || !protocol::is_served(name);
        let counted = if is_told { meter.counted() } else { meter.cut_off() };
        self.priced(name, counted, meter)
    }

    /// Usage of a reply that was cut off. Once anything of it had come, what the provider had not counted by then is estimated; of one
    /// that was asked for and brought nothing nobody knows, and it has no cost.
    pub fn cut_off(&self, name: &str, meter: &UsageMeter) -> MeteredUsage {
        let cut = if protocol::is_served(name) { meter.cut_off() } else { meter.counted() };
        self.priced(name, cut, meter)
    }

    /// The same of one that failed: whoever refuses asks nothing for it, and neither does one that nobody reaches.
    pub fn failed(&self, name: &str, meter: &UsageMeter) -> MeteredUsage {
        let failed = if protocol::is_served(name) { meter.failed() } else { meter.counted() };
        self.priced(name, failed, meter)
    }

    fn priced(&self, name: &str, took: CutUsage, meter: &UsageMeter) -> MeteredUsage {
        let CutUsage { usage, is_estimate, is_unknown } = took;
        let is_nothing_known = is_unknown && usage == Usage::default();
        let cost = self.cost(name, &usage).filter(|_| !is_nothing_known);
        MeteredUsage { usage, is_estimate, is_unknown, cost, first_token_ms: meter.first_token_ms() }
    }

    pub async fn find(&self, name: &str) -> Result<ResolvedModel, ResolveError> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        let (supplies, model) = (Arc::clone(&self.supplies), ModelRef::from(name));
        // A recording is read, a key may be fetched: where blocking harms nobody.
        let mut found = unblocked(move || supplies.models.resolve(&model)).await?;
        if let Some(recording) = &self.recording {
            found = recording.of(found, &self.supplies.redactor);
        }
        self.found().insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Asks a model by its name.
    pub fn stream(
        self: &Arc<ModelFallbacks>,
        name: &str,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        if let Some(known) = self.known(name) {
            return known.model.stream(request);
        }
        let (alternates, name) = (Arc::clone(self), name.to_owned());
        let asked = async move {
            match alternates.find(&name).await {
                Ok(found) => found.model.stream(request),
                Err(error) => failing(unfound(&error)),
            }
        };
        stream::once(asked).flatten().boxed()
    }

    /// Asks a model what it is not told turn by turn. All of it is written for this once, maybe megabytes, so that is done where
    /// it holds up no other run.
    pub async fn stream_apart(
        &self,
        name: &str,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.find(name).await {
            Ok(found) => unblocked(move || found.model.stream(request)).await,
            Err(error) => failing(unfound(&error)),
        }
    }

    /// What the model's provider counts in a request; `None` = it does not count. It is written apart, too.
    pub async fn count(
        &self,
        name: &str,
        request: ModelRequest,
        ordinal: u32,
    ) -> Option<Result<u64, ModelError>> {
        let found = match self.find(name).await {
            Ok(found) => found,
            Err(error) => return Some(Err(unfound(&error))),
        };
        let counting = unblocked(move || found.model.count(request, ordinal)).await?;
        Some(counting.await)
    }

    fn found(&self) -> MutexGuard<'_, HashMap<String, ResolvedModel>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unfound(error: &ResolveError) -> ModelError {
    let code = match error.is_about_a_key() {
        true => RunErrorCode::ProviderAuth,
        false => RunErrorCode::ModelFailed,
    };
    ModelError::Final { code, message: error.to_string() }
}

fn failing(error: ModelError) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    stream::iter([Err(error)]).boxed()
}
