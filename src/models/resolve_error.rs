//! Why does a name mean no model, and what can a person do about it?

use std::path::PathBuf;

/// The reason why a name means no model; variants by what the asker is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Answered as `NO_MODEL`.
    #[error("no model is named `{model}` here")]
    NoModel { model: String },
    /// The same, where what stands before the `/` is no provider's entry. Answered as `NO_MODEL`.
    #[error("no model is named `{model}` here: there is no provider entry `{entry}`{}", did_you_mean(near.as_deref()))]
    NoEntry { model: String, entry: String, near: Option<String> },
    /// The model's provider is known, but there is no key for it. `variable`: the usual one, where the settings name no place.
    #[error("there is no key for `{model}`: {problem}")]
    NoKey { model: String, variable: Option<&'static str>, entry: String, problem: String },
    /// There is something in place of a key, and it cannot be taken.
    #[error("there is no usable key for `{model}`: {problem}")]
    UnusableKey { model: String, problem: String },
    /// The provider's entry in the settings is at fault.
    #[error("the provider `{entry}` cannot be used: {problem}")]
    BadProvider { entry: String, problem: String },
    /// The recording itself is at fault.
    #[error("the recording {} {problem}", path.display())]
    BadRecording { path: PathBuf, problem: String },
}

impl ResolveError {
    /// Models that may be asked for.
    pub(super) const WAYS: &str = "use `--model gemini/gemini-2.5-flash` with GEMINI_API_KEY set for the daemon, `openai/MODEL` with OPENAI_API_KEY, `anthropic/MODEL` with ANTHROPIC_API_KEY, an \
         entry of `providers` in the settings for a server of your own, `--model offline` (rules, \
         no key needed) or `--model replay:FILE` (a recording)";

    /// Nothing is wrong with what was asked for; what is missing is in this daemon's surroundings, and may be there at
    /// the next start.
    pub fn is_about_a_key(&self) -> bool {
        matches!(self, ResolveError::NoKey { .. } | ResolveError::UnusableKey { .. })
    }

    /// One line: the ways out.
    pub fn hint(&self) -> String {
        match self {
            ResolveError::NoModel { .. } => {
                format!("{}, or say in the settings what a name means (`models.aliases`)", ResolveError::WAYS)
            }
            ResolveError::NoEntry { entry, .. } => format!(
                "`subagent models` lists the entries and their models; one of your own is `providers.{entry}` in the settings"
            ),
            ResolveError::NoKey { variable: None, entry, .. } => format!(
                "put the key where `providers.{entry}.key` says, or change that, and restart the daemon (`subagent stop`); \
                 `--model offline` needs none"
            ),
            ResolveError::NoKey { variable: Some(variable), entry, .. } => format!(
                "set {variable} and restart the daemon (`subagent stop`), or say in the settings where the key is \
                 (`providers.{entry}.key`); `--model offline` needs none"
            ),
            ResolveError::UnusableKey { .. } => "fix what the message names; the next run reads it again".to_owned(),
            ResolveError::BadProvider { entry, .. } => {
                format!("fix `providers.{entry}` in the settings; `subagent status` lists every mistake in them")
            }
            ResolveError::BadRecording { .. } => {
                "a recording has one JSON object a line: {\"method\": \"generateContentStream\", \"response\": [chunks]}"
                    .to_owned()
            }
        }
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
