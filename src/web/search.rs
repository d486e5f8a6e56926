//! Where on the web is something said? The question goes to the backend of the settings (spec 05, `web_search`).

use std::time::Duration;

use hyper::{
    Method, StatusCode,
    body::Bytes,
    header::{self, HeaderName, HeaderValue},
};
use serde_json::{Value, json};
use url::Url;

use super::{
    SearchRules, WebClient, WebError, WebTarget,
    content::said_type,
    exchange::{AddressPolicy, WebRequest},
};
use config::{KeySource, SearchBackend};

mod reading;

/// Time for a search, from the first name that is looked up to the last byte.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer. Ten results are some kilobytes; a SearXNG sends all it has.
const MAX_ANSWER_BYTES: usize = 4_000_000;
/// Results of a search. More are rarely looked at.
pub(super) const MOST_RESULTS: usize = 10;

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    /// A direct answer, of backends that give one.
    pub answer: Option<String>,
    /// The best first.
    pub sources: Vec<SearchSource>,
}

/// A page that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchSource {
    pub title: String,
    pub url: String,
    /// What the backend shows of it.
    pub excerpt: String,
}

/// The reason why nothing was searched. None of it has the key in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The people who run the daemon have to mend their settings.
    #[error("{0}")]
    Settings(String),
    /// It may work later.
    #[error("{backend} has had enough searches for now (status 429); search again later")]
    TooMany { backend: &'static str },
    #[error("{backend} answered {status}; search again later, or with other words")]
    Status { backend: &'static str, status: StatusCode },
    #[error("{backend} cannot be asked: {error}")]
    Web { backend: &'static str, error: WebError },
    /// It speaks otherwise than we know it.
    #[error("what {backend} answered cannot be read: {problem}")]
    Unreadable { backend: &'static str, problem: String },
}

impl SearchRules {
    /// Where the question goes; neither it nor the key is part of this.
    pub fn endpoint(&self) -> Result<Url, SearchError> {
        let (usual, path) = match self.backend {
            SearchBackend::Brave => (Some("https://api.search.brave.com"), "res/v1/web/search"),
            SearchBackend::Tavily => (Some("https://api.tavily.com"), "search"),
            SearchBackend::Searxng => (None, "search"),
        };
        let missing = || {
            let backend = self.backend.as_str();
            SearchError::Settings(format!("the setting tools.webSearch.url must say where {backend} listens"))
        };
        let base = self.url.as_deref().or(usual).ok_or_else(missing)?;
        let bad = |why: String| SearchError::Settings(format!("the setting tools.webSearch.url {why}"));
        let url = Url::parse(&format!("{}/{path}", base.trim_end_matches('/')));
        let target = WebTarget::of(url.map_err(|error| bad(format!("is no URL: {error}")))?);
        Ok(target.map_err(|error| bad(error.to_string()))?.url().clone())
    }
}

impl WebClient {
    /// Puts the question to the backend. Cancel safe: dropping it ends the connection.
    pub async fn search(&self, query: &str, rules: &SearchRules) -> Result<SearchAnswer, SearchError> {
        let backend = rules.backend.as_str();
        let key = self.key(rules).await?;
        let asking = self.ask_backend(query, rules, key.as_deref());
        let late =
            SearchError::Web { backend, error: WebError::TimedOut { seconds: SEARCH_TIMEOUT.as_secs() } };
        let (said, bytes) = self.within(SEARCH_TIMEOUT, asking).await.ok_or(late)??;
        let unreadable = |problem: String| SearchError::Unreadable { backend, problem };
        let answer: Value = serde_json::from_slice(&bytes).map_err(|error| match said {
            Some(said) if !said.contains("json") => no_json(rules.backend, &said),
            _ => unreadable(format!("{error}")),
        })?;
        let answer = reading::answer(rules.backend, &answer).map_err(unreadable)?;
        // Whoever repeats what it was sent may repeat the key.
        Ok(match key {
            Some(key) => answer.without(&key),
            None => answer,
        })
    }

    async fn key(&self, rules: &SearchRules) -> Result<Option<String>, SearchError> {
        let backend = rules.backend.as_str();
        let needed = match rules.backend {
            SearchBackend::Brave | SearchBackend::Tavily => true,
            SearchBackend::Searxng => false,
        };
        let place: KeySource = match &rules.key {
            Some(place) => place.clone(),
            None if needed => {
                let message =
                    format!("the setting tools.webSearch.key must say where the key for {backend} lies");
                return Err(SearchError::Settings(message));
            }
            None => return Ok(None),
        };
        let environment = self.environment.clone();
        let read = match tokio::task::spawn_blocking(move || place.secret(&environment)).await {
            Ok(read) => read,
            // It cannot be cancelled: nobody holds its handle but this.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let bad = |what: String| {
            SearchError::Settings(format!("the key for {backend} (tools.webSearch.key) {what}"))
        };
        let key = read.map_err(bad)?;
        // A header holds nothing else.
        let is_fit = key.iter().all(u8::is_ascii_graphic);
        match String::from_utf8(key) {
            Ok(key) if is_fit => {
                self.secrets.heard("WEB_SEARCH_KEY", &key);
                Ok(Some(key))
            }
            _ => Err(bad("cannot be a key: it has letters that no key has".to_owned())),
        }
    }

    /// The type and the bytes of what it answers.
    async fn ask_backend(
        &self,
        query: &str,
        rules: &SearchRules,
        key: Option<&str>,
    ) -> Result<(Option<String>, Vec<u8>), SearchError> {
        let backend = rules.backend.as_str();
        let failed = |error: WebError| SearchError::Web { backend, error };
        let endpoint = rules.endpoint()?;
        let mut url = endpoint.clone();
        let question = question(rules.backend, &mut url, query, key)
            .ok_or_else(|| SearchError::Settings("the key cannot be sent".to_owned()))?;
        let target = WebTarget::of(url).map_err(|error| failed(error.into()))?;
        let reply = self.ask(&target, question, &AddressPolicy::Chosen).await.map_err(failed)?;
        match reply.response.status() {
            StatusCode::OK => {
                let said = said_type(reply.header(header::CONTENT_TYPE));
                Ok((said, reply.body(MAX_ANSWER_BYTES).await.map_err(failed)?))
            }
            status @ StatusCode::NOT_FOUND => Err(SearchError::Settings(format!(
                "{backend} answered {status}: look at tools.webSearch.url (asked {endpoint})"
            ))),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let what = match rules.backend {
                    SearchBackend::Searxng => {
                        "its `search.formats` must list `json`, and the key must fit if it wants one"
                    }
                    _ => "look at the key (setting tools.webSearch.key)",
                };
                Err(SearchError::Settings(format!("{backend} refused the search (status {status}): {what}")))
            }
            StatusCode::TOO_MANY_REQUESTS => Err(SearchError::TooMany { backend }),
            // It would carry question and key to somebody whom nobody chose.
            status if status.is_redirection() => Err(SearchError::Settings(format!(
                "{backend} answered with a redirect (status {status}), which is not followed: the setting \
                 tools.webSearch.url must say where it is now"
            ))),
            status => Err(SearchError::Status { backend, status }),
        }
    }
}

/// An answer that is some page, most likely for people.
fn no_json(backend: SearchBackend, said: &str) -> SearchError {
    let what = match backend {
        SearchBackend::Searxng => {
            "does `search.formats` of the server list `json`, and is it the server that tools.webSearch.url means?"
        }
        SearchBackend::Brave | SearchBackend::Tavily => "look at tools.webSearch.url",
    };
    SearchError::Settings(format!("what {} answered is no JSON ({said}): {what}", backend.as_str()))
}

impl SearchAnswer {
    fn without(self, key: &str) -> SearchAnswer {
        let hide = |text: String| text.replace(key, "[key]");
        let sources = self.sources.into_iter().map(|source| SearchSource {
            title: hide(source.title),
            url: hide(source.url),
            excerpt: hide(source.excerpt),
        });
        SearchAnswer { answer: self.answer.map(hide), sources: sources.collect() }
    }
}

/// The question as the backend wants it. `None` for a key that no header can hold.
fn question(backend: SearchBackend, url: &mut Url, query: &str, key: Option<&str>) -> Option<WebRequest> {
    let mut headers = vec![(header::ACCEPT, HeaderValue::from_static("application/json"))];
    let secret = |text: &str| {
        let mut value = HeaderValue::from_str(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    };
    let (method, body) = match backend {
        SearchBackend::Brave => {
            url.query_pairs_mut().append_pair("q", query).append_pair("count", &MOST_RESULTS.to_string());
            if let Some(key) = key {
                headers.push((HeaderName::from_static("x-subscription-token"), secret(key)?));
            }
            (Method::GET, Bytes::new())
        }
        SearchBackend::Tavily => {
            if let Some(key) = key {
                headers.push((header::AUTHORIZATION, secret(&format!("Bearer {key}"))?));
            }
            headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
            let body = json!({ "query": query, "max_results": MOST_RESULTS, "include_answer": true });
            (Method::POST, Bytes::from(body.to_string()))
        }
        SearchBackend::Searxng => {
            url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
            if let Some(key) = key {
                headers.push((header::AUTHORIZATION, secret(&format!("Bearer {key}"))?));
            }
            (Method::GET, Bytes::new())
        }
    };
    Some(WebRequest { method, headers, body })
}
