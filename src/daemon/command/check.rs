//! `--check-config`: what is wrong in settings and rules, and which names in them mean nothing? Starts nothing, and locks nothing.

use std::{
    io::{self, Write},
    sync::Arc,
};

use super::{
    super::{
        dead_names::dead_names,
        reload::{redactor, without_secrets},
    },
    DaemonError, count,
};
use crate::{
    agents::{AgentPlaces, Library},
    config::{Config, Sources},
    models::Models,
    protocol::Severity,
    rules::{RuleFiles, RulePlaces},
    sys::children::Children,
    trust::Trust,
};

/// Prints every mistake with its place, one a line, and how many there are; fails when one of them is an error.
pub(super) fn check_settings(
    sources: &Sources,
    rules: &RulePlaces,
    agents: &AgentPlaces,
    out: &mut impl Write,
) -> Result<(), DaemonError> {
    let (config, mut problems) = Config::load(sources);
    problems.extend(RuleFiles::read(rules).problems().cloned());
    // Without the environment: keys are not looked for.
    let models = Models::configured(&config.providers, Children::default(), |_| None);
    let models = models.with_settings(&config.models);
    let agents = Library::unwatched(agents.clone(), super::super::agent_switches(&config));
    let agents = agents.catalog(&[], &Arc::new(Trust::default()));
    problems.extend(dead_names(&config, &models, &agents));
    let (redactor, unusable) = match redactor(&sources.environment, &config) {
        Ok(redactor) => (redactor, None),
        // The environment's secrets are hidden all the same.
        Err(error) => (redactor(&sources.environment, &Config::default())?, Some(error.to_string())),
    };
    let problems = without_secrets(problems, &redactor);
    let mut lines = Vec::new();
    for problem in &problems {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        lines.push(format!("{severity}: {problem}"));
    }
    lines.extend(unusable.iter().map(|problem| format!("error: `redaction.patterns`: {problem}")));
    let of = |severity: Severity| problems.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error) + usize::from(unusable.is_some()), of(Severity::Warning));
    for file in [&sources.files.system, &sources.files.user, &rules.system, &rules.user] {
        let is_there = file.try_exists().unwrap_or(true);
        lines.push(format!("{}: {}", if is_there { "read" } else { "not there" }, file.display()));
    }
    lines.push(format!("{}, {}", count(errors, "error"), count(warnings, "warning")));
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    match written {
        // Whoever read it has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(DaemonError::System { what: "the mistakes cannot be printed", error })
        }
        _ if errors != 0 => Err(DaemonError::BadSettings { errors }),
        _ => Ok(()),
    }
}
