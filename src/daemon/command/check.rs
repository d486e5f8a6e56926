//! `--check-config`: what is wrong in settings and rules, and which names in them mean nothing? Starts nothing, and locks nothing.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use super::{
    super::{
        dead_names::dead_names,
        hook_problems,
        redaction::{redactor, without_secrets},
    },
    DaemonError, count,
};
use agents::{AgentFileCache, AgentPlaces};
use config::{ConfigSources, DaemonConfig};
use models::ModelRegistry;
use protocol::ProblemSeverity;
use rules::{RuleFiles, RulePlaces};
use sys::children::ChildProcesses;
use trust::TrustRecords;

/// Prints every mistake with its place, one a line, and how many there are; fails when one of them is an error. `folder`: one whose hooks are
/// looked at, too.
pub(super) fn check_settings(
    sources: &ConfigSources,
    rules: &RulePlaces,
    (agents, folder): (&AgentPlaces, Option<&Path>),
    out: &mut impl Write,
) -> Result<(), DaemonError> {
    let (config, mut problems) = DaemonConfig::load(sources);
    problems.extend(RuleFiles::read(rules).problems().cloned());
    // Without the environment: keys are not looked for.
    let models = ModelRegistry::configured(&config.providers, ChildProcesses::default(), |_| None);
    let models = models.with_settings(&config.models);
    let agents = AgentFileCache::unwatched(agents.clone(), super::super::agent_switches(&config));
    let agents = agents.catalog(&[], &Arc::new(TrustRecords::default()));
    problems.extend(dead_names(&config, &models, &agents));
    let of_hooks = hook_problems::problems_at_start(&config, sources, rules, (&agents, folder));
    let new: Vec<_> = of_hooks.into_iter().filter(|it| !problems.contains(it)).collect();
    problems.extend(new);
    let (redactor, unusable) = match redactor(&sources.environment, &config) {
        Ok(redactor) => (redactor, None),
        // The environment's secrets are hidden all the same.
        Err(error) => (redactor(&sources.environment, &DaemonConfig::default())?, Some(error.to_string())),
    };
    let problems = without_secrets(problems, &redactor);
    let mut lines = Vec::new();
    for problem in &problems {
        let severity = match problem.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        lines.push(format!("{severity}: {problem}"));
    }
    lines.extend(unusable.iter().map(|problem| format!("error: `redaction.patterns`: {problem}")));
    let of = |severity: ProblemSeverity| problems.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) =
        (of(ProblemSeverity::Error) + usize::from(unusable.is_some()), of(ProblemSeverity::Warning));
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
