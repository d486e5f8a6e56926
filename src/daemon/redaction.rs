//! What must not be shown, as the environment and the settings say?

use std::ffi::OsString;

use config::DaemonConfig;
use protocol::FileProblem;
use redact::{PatternError, RedactionPattern, Redactor, RedactorParts};

/// What the environment and the settings say must not be shown.
pub(super) fn redactor(
    environment: &[(OsString, OsString)],
    config: &DaemonConfig,
) -> Result<Redactor, PatternError> {
    // A name or a value that is not UTF-8 cannot stand in a text either.
    let environment = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let patterns = config.redaction.patterns.value.iter().map(|pattern| RedactionPattern::new(pattern));
    Ok(Redactor::new(RedactorParts { environment, patterns: patterns.collect::<Result<_, _>>()? }))
}

/// The command of a hook, a server or a workspace for people, without secrets. Where hiding a secret would hide how the command is put together,
/// that alone is said, so that nobody takes what is left for what runs.
pub(super) fn shown_command(command: String, redactor: &Redactor) -> String {
    match redactor.hides_syntax(&command) {
        true => "(not shown: what looks like a secret goes over several words, lines or signs of a shell)"
            .to_owned(),
        false => redactor.owned(command),
    }
}

/// What a mistake in a file says may hold what must not be shown.
pub(super) fn without_secrets(problems: Vec<FileProblem>, redactor: &Redactor) -> Vec<FileProblem> {
    let hide = |problem: FileProblem| FileProblem {
        message: redactor.owned(problem.message),
        fix: problem.fix.map(|fix| redactor.owned(fix)),
        ..problem
    };
    problems.into_iter().map(hide).collect()
}
