//! Runs a discovery command to its end, and says what came of it. Whatever goes wrong is one warning, and no tools.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::reading::{self, DiscoveredDeclarations};
use crate::{
    CommandRules, CommandRuntime,
    commands::{
        CommandBounds, CommandCutReason, CommandFolders, CommandRequest, CommandSupervision, FinishedCommand,
        attend, signal_name,
    },
};
use config::command_words;
use protocol::{DiscoveredTools, DiscoveryCommands, ProgramDigest};
use redact::Redactor;
use sandbox::{CommandStartError, NamedCommandParts};

/// How long the command may take (spec 05).
const TIME: Duration = Duration::from_secs(30);

/// What it may put out, in bytes (spec 05).
const MAX_OUTPUT: u64 = 10 << 20;

/// Warnings that are kept; the rest is counted.
const MOST_WARNINGS: usize = 20;

/// Characters of what a failed command said of itself.
const LONGEST_SAID: usize = 300;

/// Where a discovery runs, and with what.
pub struct DiscoveryContext {
    pub commands: Arc<CommandRuntime>,
    pub rules: CommandRules,
    pub redactor: Redactor,
    /// The workspace's folders, canonical; it runs in the first.
    pub roots: Vec<PathBuf>,
    /// For what is temporary; it is there.
    pub temporary: PathBuf,
    /// Files of the workspace that both commands name, as they were acknowledged.
    pub programs: Vec<ProgramDigest>,
}

/// What a discovery came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiscoveryResult {
    pub tools: Option<DiscoveredTools>,
    /// Without secrets.
    pub warnings: Vec<String>,
}

impl DiscoveryResult {
    fn failed(warning: impl Into<String>) -> DiscoveryResult {
        DiscoveryResult { tools: None, warnings: vec![warning.into()] }
    }
}

/// Runs the discovery command. Nothing that it started outlives this; dropping it ends the command.
pub async fn discover(
    commands: &DiscoveryCommands,
    ground: DiscoveryContext,
    attendance: CommandSupervision,
) -> DiscoveryResult {
    let Some(text) = &commands.discovery else { return DiscoveryResult::default() };
    let redactor = ground.redactor.clone();
    let shown = redactor.text(text).into_owned();
    if commands.call.is_none() {
        let what = "tools.callCommand is not set, so no tool could be called that tools.discoveryCommand tells of; \
                    it was not run";
        return DiscoveryResult::failed(what);
    }
    let directory = ground.roots.first().cloned().unwrap_or_default();
    let ground_programs = ground.programs.clone();
    match run(text, ground, attendance).await {
        Err(problem) => {
            let problem = redactor.owned(problem);
            DiscoveryResult::failed(format!("no tools were discovered: `{shown}` {problem}"))
        }
        Ok(DiscoveredDeclarations { mut tools, warnings }) => {
            for tool in &mut tools {
                tool.description = redactor.owned(std::mem::take(&mut tool.description));
                redactor.value(&mut tool.parameters);
            }
            let n_more = warnings.len().saturating_sub(MOST_WARNINGS);
            let told = warnings.into_iter().take(MOST_WARNINGS);
            let mut warnings: Vec<String> =
                told.map(|it| redactor.owned(format!("`{shown}`: {it}"))).collect();
            if 0 < n_more {
                warnings.push(format!("`{shown}`: and {n_more} more like these"));
            }
            let programs = ground_programs;
            let tools = DiscoveredTools { commands: commands.clone(), directory, tools, programs };
            DiscoveryResult { tools: Some(tools), warnings }
        }
    }
}

/// What the command told, or what is wrong with it, to be read after its name.
async fn run(
    text: &str,
    ground: DiscoveryContext,
    attendance: CommandSupervision,
) -> Result<DiscoveredDeclarations, String> {
    let words = command_words(text).map_err(|error| format!("cannot be run: {error}"))?;
    let DiscoveryContext { commands, rules, redactor, roots, temporary, programs: _ } = ground;
    let directory = roots.first().cloned().ok_or("cannot be run: the workspace has no folder")?;
    let ground = CommandFolders { roots, known_roots: Vec::new(), temporary, readable: Vec::new() };
    let named = NamedCommandParts { words: words.clone(), ..NamedCommandParts::default() };
    let wanted = CommandRequest { named, ..CommandRequest::new(words, directory) };
    let cannot = |error: CommandStartError| format!("was not run: {error}");
    let running = commands.start(wanted, ground, &rules, &redactor).await.map_err(cannot)?;
    let bounds = CommandBounds { inactivity: None, timeout: Some(TIME), max_output: Some(MAX_OUTPUT) };
    let finished = attend(running, &bounds, &attendance, &redactor).await.map_err(cannot)?;
    if let Some(problem) = problem(&finished) {
        return Err(problem);
    }
    reading::read(&finished.stdout.whole().ok_or("put out more than is read")?, &redactor)
}

/// Why what it put out does not count.
fn problem(finished: &FinishedCommand) -> Option<String> {
    let FinishedCommand { ended, cut, stderr, .. } = finished;
    let what = match (cut, ended.over, ended.code, ended.signal) {
        (Some(CommandCutReason::Stopped), ..) => "was stopped with the daemon".to_owned(),
        (
            Some(
                CommandCutReason::TooLong(time)
                | CommandCutReason::Silent(time)
                | CommandCutReason::Yielded(time),
            ),
            ..,
        ) => {
            format!("took more than {} s and was ended", time.as_secs())
        }
        (Some(CommandCutReason::TooMuch(bytes)), ..) => {
            format!("put out more than {} MiB and was ended", bytes >> 20)
        }
        (None, Some(_), ..) => "used more than `sandbox.limits` allows and was ended".to_owned(),
        (None, None, Some(0), _) => return None,
        (None, None, Some(code), _) => format!("failed with exit code {code}"),
        (None, None, None, Some(signal)) => format!("was ended by signal {}", signal_name(signal)),
        (None, None, None, None) => "ended, and nobody knows how".to_owned(),
    };
    let said = stderr.text();
    let said: String = said.trim().chars().take(LONGEST_SAID).collect();
    Some(match said.is_empty() {
        true => what,
        false => format!("{what}: {}", said.replace('\n', " ")),
    })
}
