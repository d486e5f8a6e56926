//! Can agents search the web as the settings say? Nobody is asked over the net.

use std::sync::Arc;

use super::{super::web_rules, DaemonExamination, DoctorFinding, blocking};
use config::{ProviderKind, ProviderSettings, SearchBackend};
use protocol::ModelRef;
use web::SearchRoute;

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let rules = match web_rules(&state.settings.get().config).search {
        None => return DoctorFinding::ok("agents cannot search the web: tools.webSearch.backend is not set"),
        Some(SearchRoute::Model) => return by_model(state),
        Some(SearchRoute::Backend(rules)) => rules,
    };
    let (sources, redactor) = (Arc::clone(&state.settings.sources), state.settings.redactor.get());
    blocking(move || {
        let backend = rules.backend.as_str();
        let unusable = |why: &str| {
            DoctorFinding::warning(redactor.owned(format!("agents have `web_search`, and each search fails: {why}")))
        };
        if let Err(error) = rules.endpoint() {
            return unusable(&error.to_string())
                .with_hint("set tools.webSearch.url, then `subagent reload`; or leave out tools.webSearch.backend");
        }
        let missing = match (&rules.key, rules.backend) {
            (Some(place), _) => place.secret(&sources.environment).err(),
            (None, SearchBackend::Searxng) => None,
            (None, SearchBackend::Brave | SearchBackend::Tavily) => Some("is not set".to_owned()),
        };
        match missing {
            Some(what) => unusable(&format!("the key for {backend} (tools.webSearch.key) {what}")).with_hint(
                "say where the key lies in tools.webSearch.key; a variable must be in the environment that the daemon was \
                 started with",
            ),
            None => DoctorFinding::ok(format!("{backend} is asked, with what it needs")),
        }
    })
    .await
}

/// A model that Google searches for. A run's own may be another than the default one.
fn by_model(state: &DaemonExamination) -> DoctorFinding {
    let settings = state.settings.get();
    let config = &settings.config;
    let models = &config.models;
    let is_gemini = |model: &ModelRef| {
        let name = models.aliases.value.get(model.as_str()).map_or(model, |alias| &alias.model).as_str();
        let entry = name.split_once('/').map_or("gemini", |(entry, _)| entry);
        match config.providers.get(entry) {
            Some(entry) => {
                entry.value.as_ref().is_some_and(|it: &ProviderSettings| it.kind == ProviderKind::Gemini)
            }
            None => {
                entry == ProviderKind::Gemini.as_str() && (name.contains('/') || name.starts_with("gemini-"))
            }
        }
    };
    let named = [&models.small.value, &models.default.value].into_iter().flatten();
    match named.into_iter().find(|model| is_gemini(model)) {
        Some(model) => DoctorFinding::ok(format!("{} is asked, and Google searches for it", model.as_str())),
        None => DoctorFinding::warning(
            "agents have `web_search`, and each search fails unless the run's model is a Gemini model: neither \
             models.small nor models.default is one"
                .to_owned(),
        )
        .with_hint("set models.small to a Gemini model, e.g. \"gemini/gemini-2.5-flash\", then `subagent reload`"),
    }
}
