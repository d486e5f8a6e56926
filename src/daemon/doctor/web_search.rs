//! Can agents search the web as the settings say? Nobody is asked over the net.

use std::sync::Arc;

use super::{
    super::{state::State, web_rules},
    Finding, blocking,
};
use crate::config::SearchBackend;

pub(super) async fn check(state: &State) -> Finding {
    let Some(rules) = web_rules(&state.settings.get().config).search else {
        return Finding::ok("agents cannot search the web: tools.webSearch.backend is not set");
    };
    let (sources, redactor) = (Arc::clone(&state.sources), state.redactor.get());
    blocking(move || {
        let backend = rules.backend.as_str();
        let unusable = |why: &str| {
            Finding::warning(redactor.owned(format!("agents have `web_search`, and each search fails: {why}")))
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
            None => Finding::ok(format!("{backend} is asked, with what it needs")),
        }
    })
    .await
}
