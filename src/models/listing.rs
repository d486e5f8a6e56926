//! Which models does a provider say it has, and how much do they take in? (spec 01, `models/list`)
//!
//! One list, page after page, bounded in every direction: whoever answers may be anybody's server.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Url, header::HeaderMap};

use super::{
    exchange::{ModelEndpoint, ProviderError, failure},
    model_id::is_id,
};
use protocol::Timestamp;

/// Pages of one list. The largest catalogues we know have a few hundred models, and a page has up to 1,000.
const MOST_PAGES: usize = 10;
/// Models of one entry that are kept.
const MOST_MODELS: usize = 5_000;
/// Bytes of one page: the most talkative catalogue writes about 2 KiB a model.
const MOST_BYTES: usize = 8 << 20;
/// After so long a list is asked for again by whoever asks for it; windows learned from it hold until then and beyond.
const LISTED_FOR: Duration = Duration::from_secs(10 * 60);

/// How providers of one kind list their models.
#[derive(Clone, Copy)]
pub(super) struct ListForm {
    /// Below the base URL.
    pub path: &'static [&'static str],
    /// Of every page.
    pub query: &'static [(&'static str, &'static str)],
    /// What a page is asked for by, when there is more than one.
    pub page: Option<&'static str>,
    pub read: fn(&[u8]) -> Result<ModelListPage, serde_json::Error>,
    /// What the body of a refusal says.
    pub complaint: fn(&[u8]) -> Option<ProviderError>,
}

/// One page, read.
pub(super) struct ModelListPage {
    pub models: Vec<ProviderModel>,
    /// Where the next one begins.
    pub next: Option<String>,
}

/// A model as its provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderModel {
    pub id: String,
    /// For people.
    pub title: Option<String>,
    /// Tokens that it takes in.
    pub window: Option<u64>,
}

/// What a provider has, as it was told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelList {
    /// By id, each once.
    pub models: Vec<ProviderModel>,
    /// There are more than anybody wants to read.
    pub is_cut: bool,
}

/// Asks one provider for its list.
pub struct ModelLister {
    pub(super) endpoint: ModelEndpoint,
    pub(super) form: ListForm,
}

impl ModelLister {
    /// The list, or why there is none: one line, without the key. Takes as long as the provider does.
    pub async fn list(&self) -> Result<ModelList, String> {
        let mut models: BTreeMap<String, ProviderModel> = BTreeMap::new();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = self.page(next.as_deref()).await?;
            let nameable = page.models.into_iter().filter(|model| is_id(&model.id));
            models.extend(nameable.map(|model| (model.id.clone(), model)));
            // A page that leads to itself would never end.
            next = page.next.filter(|new| next.as_ref() != Some(new));
            if next.is_none() || MOST_MODELS < models.len() {
                break;
            }
        }
        let is_cut = next.is_some() || MOST_MODELS < models.len();
        Ok(ModelList { models: models.into_values().take(MOST_MODELS).collect(), is_cut })
    }

    async fn page(&self, at: Option<&str>) -> Result<ModelListPage, String> {
        let mut url: Url = self.endpoint.url.clone();
        if !self.form.query.is_empty() || at.is_some() {
            let mut pairs = url.query_pairs_mut();
            pairs.extend_pairs(self.form.query);
            pairs.extend_pairs(self.form.page.zip(at));
        }
        let headers: HeaderMap = self.endpoint.headers.clone();
        let request = self.endpoint.http.get(url).headers(headers);
        let told = |error: super::ModelError| error.to_string();
        let sent = request.send().await;
        let mut response = sent.map_err(|error| told(failure::unreachable(&self.endpoint, error)))?;
        if !response.status().is_success() {
            return Err(told(failure::refusal(&self.endpoint, response, self.form.complaint).await));
        }
        let mut body = Vec::new();
        while let Some(bytes) =
            response.chunk().await.map_err(|error| told(failure::broken(&self.endpoint, error)))?
        {
            body.extend_from_slice(&bytes);
            if MOST_BYTES < body.len() {
                return Err(format!("the list of models is longer than {} MiB", MOST_BYTES >> 20));
            }
        }
        (self.form.read)(&body).map_err(|_| "what came is no list of models".to_owned())
    }
}

/// By both clocks: the one that never jumps, and the one that people read.
pub type ClockReading = (Duration, Timestamp);

/// The lists that were told, by entry; shared by all who ask for models.
#[derive(Default)]
pub(super) struct ModelListCache {
    lists: Mutex<BTreeMap<String, (ClockReading, ModelList)>>,
}

impl ModelListCache {
    pub(super) fn keep(&self, entry: &str, at: ClockReading, list: ModelList) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(entry.to_owned(), (at, list));
    }

    /// The list, unless it is too old.
    pub(super) fn fresh(&self, entry: &str, now: Duration) -> Option<(Timestamp, ModelList)> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let ((monotonic, at), list) = lists.get(entry)?;
        (now.saturating_sub(*monotonic) < LISTED_FOR).then(|| (*at, list.clone()))
    }

    /// What the provider said last of a model's window.
    pub(super) fn window(&self, entry: &str, id: &str) -> Option<u64> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, list) = lists.get(entry)?;
        let at = list.models.binary_search_by(|model| model.id.as_str().cmp(id)).ok()?;
        list.models[at].window
    }
}
