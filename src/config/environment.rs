//! Which variables of the environment are settings? `SUBAGENTD_` and the key in capitals, words apart:
//! `run.maxTurns` is `SUBAGENTD_RUN_MAX_TURNS`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    PROMPT_MODULES, UnheldSetting, UnknownPromptModule,
    keys::KEYS,
    layer::{InlineSource, LayerReading},
    nearest, problem, providers,
};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};

const PREFIX: &str = "SUBAGENTD_";

/// Variables of this prefix that mean something else, and belong to others: where clients find the daemon, and what the
/// tests are told.
const NO_SETTINGS: &[&str] =
    &["SUBAGENTD_SOCKET", "SUBAGENTD_TRIALS", "SUBAGENTD_SEED", "SUBAGENTD_TEST", WRITE_SYSTEM_FILE];

/// Where the modules of the system prompt are written at each root run; see [`written_system_file`].
const WRITE_SYSTEM_FILE: &str = "SUBAGENTD_WRITE_SYSTEM_MD";
/// As Gemini CLI's `GEMINI_SYSTEM_MD`.
const SYSTEM_FILE: &str = "SUBAGENTD_SYSTEM_MD";
/// Before the name of a module in capitals, as Gemini CLI's `GEMINI_PROMPT_…`.
const MODULE: &str = "SUBAGENTD_PROMPT_";

/// The section of the settings about the system prompt.
const PROMPT_SECTION: &str = "prompt.";

/// The JSON of a word by which people switch something on or off.
fn truth_of(text: &str) -> Option<&'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some("true"),
        "0" | "false" | "off" | "no" => Some("false"),
        _ => None,
    }
}

/// The key that a variable sets by a short name, as people know it of Gemini CLI.
fn short_name(variable: &str) -> Option<String> {
    if variable == SYSTEM_FILE {
        return Some("prompt.systemFile".to_owned());
    }
    let module = variable.strip_prefix(MODULE)?;
    let module = PROMPT_MODULES.into_iter().find(|name| name.to_ascii_uppercase() == module)?;
    Some(format!("prompt.modules.{module}"))
}

/// The place where the modules are to be written, of `true`, `1` and a path; `usual` is meant by the first two. A path is absolute, or
/// begins with `~/`, or counts from the folder of `usual`: a daemon works in no folder of anybody's.
pub fn written_system_file(environment: &[(OsString, OsString)], usual: &Path) -> Option<PathBuf> {
    let (_, value) = environment.iter().find(|(name, _)| name == WRITE_SYSTEM_FILE)?;
    match value.to_str().map(|text| (text.trim(), truth_of(text))) {
        Some(("", _) | (_, Some("false"))) => None,
        Some((_, Some("true"))) => Some(usual.to_owned()),
        _ => {
            let path = Path::new(value);
            let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
            match (path.strip_prefix("~"), home) {
                (Ok(below), Some(home)) => Some(home.join(below)),
                _ => usual.parent().map(|folder| folder.join(path)),
            }
        }
    }
}

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
        let n_before = reading.problems.len();
        let mut keys = KEYS.iter().map(|key| key.path).chain([providers::SECTION]);
        let key = short_name(name).or_else(|| keys.find(|key| variable_of(key) == name).map(str::to_owned));
        match (key.as_deref(), value.to_str()) {
            (Some(key), Some(text)) if key.starts_with(PROMPT_SECTION) => {
                reading.given(key, truth_of(text).unwrap_or(text), InlineSource::Variable(name));
                // Whoever set it believes that agents are told something else than they are.
                let unread: Vec<FileProblem> = reading.problems[n_before..].to_vec();
                reading.config.prompt.unread_variables.extend(unread);
            }
            (Some(key), Some(text)) => reading.given(key, text, InlineSource::Variable(name)),
            (Some(key), None) => {
                let message = format!("`{key}`: is not UTF-8 text");
                reading.problems.push(problem(name.as_ref(), None, FileProblemCode::BadValue, message));
            }
            (None, _) => {
                let mut found = unknown(name);
                if let Some(meant) = nearest_variable(name) {
                    let unheld = UnheldSetting::of_variable(name, meant, &mut found);
                    reading.config.unheld.extend(unheld);
                }
                if let Some(module) = name.strip_prefix(MODULE) {
                    found.severity = ProblemSeverity::Error;
                    found.message = "there is no such setting, and no such module of the system prompt; agents with its modules \
                                     do not start"
                        .to_owned();
                    let (name, place) = (module.to_owned(), name.to_owned());
                    reading.config.prompt.unknown_modules.push(UnknownPromptModule { name, place });
                }
                reading.problems.push(found);
            }
        }
    }
}

fn unknown(name: &str) -> FileProblem {
    let message = "there is no such setting in this version; it has no effect";
    let mut unknown = problem(name.as_ref(), None, FileProblemCode::UnknownField, message);
    unknown.severity = ProblemSeverity::Warning;
    unknown.fix = nearest_variable(name).map(|key| format!("did you mean `{}`?", variable_of(key)));
    unknown
}

/// The setting whose variable is called nearly so.
fn nearest_variable(name: &str) -> Option<&'static str> {
    let keys = || KEYS.iter().map(|key| key.path).chain([providers::SECTION]);
    // Without the prefix, which all have: it would make strangers alike.
    let bare = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    let words: Vec<String> = keys().map(|key| bare(&variable_of(key))).collect();
    let word = nearest(&bare(name), words.iter().map(String::as_str))?;
    keys().zip(&words).find(|(_, known)| *known == word).map(|(key, _)| key)
}
