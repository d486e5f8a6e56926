//! Which settings did somebody write to hold agents to less, and nobody reads, since a name or a value is mistaken?
//!
//! Whoever wrote `tracing.contnet: none` believes that nothing leaves the machine. So each run says that it does not count.

use super::{
    keys::{KEYS, key_within},
    nearest, providers,
};
use protocol::FileProblem;

/// Sections of settings that hold agents to less, or keep things back from others.
const NARROWING: &[&str] = &[
    "access",
    "approval",
    "maxConcurrentRuns",
    "mcp",
    "redaction",
    "run",
    "sandbox",
    "skills",
    "tools",
    TRACING,
];

/// The section that says what leaves the machine.
const TRACING: &str = "tracing";

/// A setting that was meant to hold agents to less and does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct UnheldSetting {
    /// As it is written, with dots.
    pub key: String,
    /// It was to say what leaves the machine.
    pub is_of_tracing: bool,
    pub problem: FileProblem,
}

impl UnheldSetting {
    /// One of a key with a mistake; `None` = nothing is loosened by that.
    pub(super) fn of(key: &str, problem: &FileProblem) -> Option<UnheldSetting> {
        let section = narrowing_section(key)?;
        let (key, problem) = (key.to_owned(), problem.clone());
        Some(UnheldSetting { key, is_of_tracing: section == TRACING, problem })
    }

    /// One of a key whose value is mistaken, where no value is known that it had before. The problem says what follows.
    pub(super) fn of_mistake(key: &str, problem: &mut FileProblem) -> Option<UnheldSetting> {
        let unheld = UnheldSetting::of(key, problem)?;
        if !unheld.is_of_tracing {
            return Some(unheld);
        }
        problem.message = format!("{}; {}", problem.message, effect(key));
        UnheldSetting::of(key, problem)
    }

    /// One of a variable that is no setting; `meant`: the setting that it nearly names.
    pub(super) fn of_variable(name: &str, meant: &str, problem: &mut FileProblem) -> Option<UnheldSetting> {
        let unheld = UnheldSetting::of_mistake(meant, problem)?;
        Some(UnheldSetting { key: name.to_owned(), ..unheld })
    }
}

/// The end of a message about a key of which nobody knows what it was to say: what is done until somebody mends it.
pub(super) fn effect(key: &str) -> &'static str {
    match narrowing_section(key) {
        Some(TRACING) => {
            "until it is corrected or removed, nothing of runs leaves the daemon's database: traces go nowhere else, and a \
             collector gets nothing"
        }
        _ => "it has no effect",
    }
}

/// The section that a key belongs to, or nearly, if it is one of those. A whole key that stands alone belongs where the one setting is
/// that is called so.
fn narrowing_section(key: &str) -> Option<&'static str> {
    let first = key.split('.').next().unwrap_or(key);
    if let Some(section) = NARROWING.iter().find(|section| **section == first) {
        return Some(section);
    }
    let is_known = first == providers::SECTION || KEYS.iter().any(|known| known.path == key);
    if is_known || key_within(first).is_some() {
        return None;
    }
    let sections = KEYS.iter().filter_map(|known| known.path.split('.').next());
    let meant = nearest(first, sections).or_else(|| {
        let mut named =
            KEYS.iter().map(|known| known.path).filter(|path| path.rsplit('.').next() == Some(key));
        let only = named.next().filter(|_| named.next().is_none())?;
        only.split('.').next()
    })?;
    NARROWING.iter().find(|section| **section == meant).copied()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::OsString};

    use super::*;
    use crate::{ConfigSources, DaemonConfig};

    /// Sections without a setting that holds agents to less. What is wrong with `hooks` their reader tells.
    const OTHERS: &[&str] = &[
        "agents",
        "compression",
        "hooks",
        "loopDetection",
        "memory",
        "models",
        "prompt",
        "retention",
        "shutdown",
    ];

    #[test]
    fn each_section_is_one_or_the_other() {
        let sections: BTreeSet<&str> =
            KEYS.iter().filter_map(|key| Some(key.path.split_once('.')?.0)).collect();
        let known: BTreeSet<&str> = NARROWING.iter().chain(OTHERS).copied().collect();
        assert_eq!(sections, known, "a new section: does it hold agents to less?");
    }

    #[test]
    fn what_narrows_is_found_however_it_is_misspelled() {
        let of = |key: &str| narrowing_section(key);
        for key in ["tracing.contnet", "Tracing.content", "tracng", "content"] {
            assert_eq!(of(key), Some(TRACING), "{key}");
        }
        assert_eq!([of("sandbx.network"), of("maxCostUsd")], [Some("sandbox"), Some("run")]);
        for key in ["models.defualt", "providers.x", "enabled", "somethingElse", "agents.defaultScop"] {
            assert_eq!(of(key), None, "{key}");
        }
    }

    #[test]
    fn variable_of_the_environment_counts_too() {
        let environment = [("SUBAGENTD_TRACING_CONTNET", "none"), ("SUBAGENTD_TRACING_BACKEND", "console")];
        let environment = environment.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let sources = ConfigSources { environment: environment.into(), ..ConfigSources::default() };
        let (config, _) = DaemonConfig::load(&sources);
        let keys: Vec<&str> = config.unheld.iter().map(|it| it.key.as_str()).collect();
        // The second's value is mistaken: it is a list.
        assert_eq!(keys, ["tracing.backend", "SUBAGENTD_TRACING_CONTNET"]);
        assert!(config.unheld.iter().all(|it| it.is_of_tracing));
    }
}
