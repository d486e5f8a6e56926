//! Which variables of the environment are settings? `SUBAGENTD_` and the key in capitals, words apart:
//! `run.maxTurns` is `SUBAGENTD_RUN_MAX_TURNS`.

use std::ffi::OsString;

use super::{
    keys::KEYS,
    layer::{InlineSource, LayerReading},
    nearest, problem, providers,
};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};

const PREFIX: &str = "SUBAGENTD_";

/// Variables of this prefix that mean something else, and belong to others: where clients find the daemon, and what the
/// tests are told.
const NO_SETTINGS: &[&str] = &["SUBAGENTD_SOCKET", "SUBAGENTD_TRIALS", "SUBAGENTD_SEED", "SUBAGENTD_TEST"];

/// The variable that sets a key.
pub fn variable_of(key: &str) -> String {
    let mut name = PREFIX.to_owned();
    for letter in key.chars() {
        match letter {
            '.' => name.push('_'),
            upper if upper.is_ascii_uppercase() => name.extend(['_', upper]),
            lower => name.push(lower.to_ascii_uppercase()),
        }
    }
    name
}

/// Reads the variables that are settings. An empty one counts as unset.
pub(super) fn read(reading: &mut LayerReading<'_>, environment: &[(OsString, OsString)]) {
    let mut variables: Vec<(&str, &OsString)> = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value)))
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty() && !NO_SETTINGS.contains(name))
        .collect();
    // The order of an environment says nothing; that of the problems should.
    variables.sort_by_key(|(name, _)| *name);
    for (name, value) in variables {
        let mut keys = KEYS.iter().map(|key| key.path).chain([providers::SECTION]);
        match (keys.find(|key| variable_of(key) == name), value.to_str()) {
            (Some(key), Some(text)) => reading.given(key, text, InlineSource::Variable(name)),
            (Some(key), None) => {
                let message = format!("`{key}`: is not UTF-8 text");
                reading.problems.push(problem(name.as_ref(), None, FileProblemCode::BadValue, message));
            }
            (None, _) => reading.problems.push(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> FileProblem {
    let message = "there is no such setting in this version; it has no effect";
    let mut unknown = problem(name.as_ref(), None, FileProblemCode::UnknownField, message);
    unknown.severity = ProblemSeverity::Warning;
    let known: Vec<String> =
        KEYS.iter().map(|key| variable_of(key.path)).chain([variable_of(providers::SECTION)]).collect();
    // Without the prefix, which all have: it would make strangers alike.
    let bare = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    let words: Vec<String> = known.iter().map(|name| bare(name)).collect();
    unknown.fix = nearest(&bare(name), words.iter().map(String::as_str))
        .map(|word| format!("did you mean `{PREFIX}{word}`?"));
    unknown
}
