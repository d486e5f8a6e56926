//! How much is logged, and how is that changed in a daemon that runs?

use std::sync::{LazyLock, Mutex, PoisonError};

use tracing_subscriber::{EnvFilter, Registry, reload};

/// What is logged when nobody says otherwise.
const USUAL: &str = "info";
/// What a part says at level `info` that is of use to those alone who look into it: each message that a client of MCP sends.
const QUIET: &str = "rmcp=warn";
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// The level of this process: its log is one, as `tracing` has it.
pub(super) static LEVEL: LazyLock<LogLevel> = LazyLock::new(LogLevel::new);

pub(super) struct LogLevel {
    /// Until the log is set up, which takes it.
    layer: Mutex<Option<LogLevelFilter>>,
    handle: reload::Handle<EnvFilter, Registry>,
    /// The directives in force.
    said: Mutex<String>,
}

pub(super) type LogLevelFilter = reload::Layer<EnvFilter, Registry>;

/// The reason why a text says no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LogLevelError {
    #[error("`{word}` is no level: expected {}, or directives like `info,subagentd_run=debug`", LEVELS.join(", "))]
    NoLevel { word: String },
    #[error("these are no directives: {reason}")]
    NoDirectives { reason: String },
    #[error("the log of this process is not there any more")]
    Gone,
}

impl LogLevel {
    fn new() -> LogLevel {
        let (layer, handle) = reload::Layer::new(EnvFilter::new(format!("{USUAL},{QUIET}")));
        LogLevel { layer: Mutex::new(Some(layer)), handle, said: Mutex::new(USUAL.to_owned()) }
    }

    /// For the log that is set up; `None` when there is one.
    pub fn take_filter(&self) -> Option<LogLevelFilter> {
        self.layer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Logs by these directives from now on; answers those until now.
    pub fn change(&self, directives: &str) -> Result<String, LogLevelError> {
        let filter = filter(directives)?;
        // Held over both, so that what is said is what is in force.
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        self.handle.reload(filter).map_err(|_| LogLevelError::Gone)?;
        Ok(std::mem::replace(&mut said, directives.to_owned()))
    }
}

/// A word alone is a level: `EnvFilter` would take any other for the name of a part, and silence all the rest.
fn filter(directives: &str) -> Result<EnvFilter, LogLevelError> {
    let words: Vec<&str> = directives.split(',').map(str::trim).collect();
    for word in &words {
        let is_level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
        // Fields of spans stand in brackets and may hold a comma.
        let is_directive = word.contains('=') || directives.contains('[');
        if word.is_empty() || !(is_level || is_directive) {
            return Err(LogLevelError::NoLevel { word: (*word).to_owned() });
        }
    }
    // Blanks would be taken for a part of a name.
    let mut wanted = words.join(",");
    if directives.trim().eq_ignore_ascii_case(USUAL) {
        wanted = format!("{wanted},{QUIET}");
    }
    EnvFilter::try_new(wanted).map_err(|error| LogLevelError::NoDirectives { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_levels_or_say_whose_they_are() {
        for good in ["debug", "WARN", "info,subagentd_run=debug", "off, subagentd=trace", "x[{a=1}]=debug"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        let told = |bad: &str| filter(bad).unwrap_err().to_string();
        let levels =
            "expected off, error, warn, info, debug, trace, or directives like `info,subagentd_run=debug`";
        assert_eq!(told("verbose"), format!("`verbose` is no level: {levels}"));
        assert_eq!(told("verbose,subagentd=debug"), told("verbose"));
        assert_eq!(told(""), format!("`` is no level: {levels}"));
        assert_eq!(told("info,,subagentd=debug"), format!("`` is no level: {levels}"));
        assert!(
            told("subagentd=loud").starts_with("these are no directives: "),
            "{}",
            told("subagentd=loud")
        );
    }

    #[test]
    fn a_change_answers_what_was_before_and_a_mistake_changes_nothing() {
        let level = LogLevel::new();
        assert_eq!(level.change("debug").unwrap(), "info");
        assert!(level.change("loud").is_err());
        assert_eq!(level.change("off").unwrap(), "debug");
        drop(level.take_filter());
        assert_eq!(level.change("info"), Err(LogLevelError::Gone));
    }
}
