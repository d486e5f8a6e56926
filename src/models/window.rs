//! How many tokens does a model take in? (spec 04, "Context window")

use super::{dictated::DICTATED, offline::OFFLINE, pattern::matches};
use protocol::WindowSource;

/// A model's context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    pub tokens: u64,
    pub from: WindowSource,
}

/// Of models that nobody knows (spec 04).
const ASSUMED: u64 = 128_000;

/// What providers publish of their own models, the first that fits. A model that they list is asked of them; this is for
/// those who cannot be asked.
///
/// <https://ai.google.dev/gemini-api/docs/models>, <https://platform.openai.com/docs/models>,
/// <https://docs.anthropic.com/en/docs/about-claude/models/overview>
const TABLE: &[(&str, u64)] = &[
    ("gemini-*-image*", 65_536),
    ("gemini-2.*", 1_048_576),
    ("gemini-3*", 1_048_576),
    ("gpt-5*-chat*", 128_000),
    ("gpt-5*", 400_000),
    ("gpt-4.1*", 1_047_576),
    ("gpt-4o*", 128_000),
    ("chatgpt-4o*", 128_000),
    ("o1*", 200_000),
    ("o3*", 200_000),
    ("o4*", 200_000),
    ("claude-*", 200_000),
    // Rules, no language models: what they take in is bounded by memory alone.
    (OFFLINE, 1_048_576),
    (DICTATED, 1_048_576),
    // A recording that does not say what its model took in answers whatever it is asked with.
    ("replay:*", 1 << 30),
    ("replay+strict:*", 1 << 30),
];

impl ContextWindow {
    /// By the settings' word, else the provider's, else what is published of the model, else a guess.
    pub(super) fn new(set: Option<u64>, listed: Option<u64>, id: &str) -> ContextWindow {
        let named = |id: &str| TABLE.iter().find(|(pattern, _)| matches(pattern, id));
        // Routers put the maker in front: `anthropic/claude-…`. A recording's name is a path.
        let of_maker = id.rsplit('/').next().unwrap_or(id);
        let published = || named(of_maker).or_else(|| named(id)).map(|(_, tokens)| *tokens);
        let (tokens, from) = match (set, listed) {
            (Some(tokens), _) => (tokens, WindowSource::Settings),
            (None, Some(tokens)) => (tokens, WindowSource::Provider),
            (None, None) => match published() {
                Some(tokens) => (tokens, WindowSource::Table),
                None => (ASSUMED, WindowSource::Assumed),
            },
        };
        ContextWindow { tokens, from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_first_then_the_provider_then_what_is_published() {
        use WindowSource::{Assumed, Provider, Settings, Table};
        let cases = [
            (Some(9), Some(8), "gemini-2.5-pro", 9, Settings),
            (None, Some(8), "gemini-2.5-pro", 8, Provider),
            (None, None, "gemini-2.5-pro", 1_048_576, Table),
            (None, None, "gemini-2.5-flash-image", 65_536, Table),
            (None, None, "gpt-5-chat-latest", 128_000, Table),
            (None, None, "gpt-5-mini", 400_000, Table),
            (None, None, "anthropic/claude-sonnet-4.5", 200_000, Table),
            (None, None, "offline", 1_048_576, Table),
            (None, None, "replay:/home/me/run.jsonl", 1 << 30, Table),
            (None, None, "replay+strict:/home/me/run.jsonl", 1 << 30, Table),
            (None, Some(8), "replay:/home/me/run.jsonl", 8, Provider),
            (None, None, "llama3:8b", 128_000, Assumed),
        ];
        for (set, listed, id, tokens, from) in cases {
            assert_eq!(ContextWindow::new(set, listed, id), ContextWindow { tokens, from }, "{id}");
        }
    }
}
