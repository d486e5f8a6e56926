//! A call of a discovered tool: `<callCommand> <name>`, with the arguments as JSON on standard input.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{
    CallContext, Invocation, Permit, PrepareContext, Tool,
    commands::{
        CommandBounds, CommandCutReason, CommandRequest, CommandStarter, EffectiveConfinement,
        FinishedCommand, signal_name,
    },
    digest,
    parameters::ParameterSchema,
    work,
};
use project::changed;
use protocol::{
    CallLocation, CommandConfinement, ConfirmationDetails, DiscoveredTool, MessagePart, ProgramDigest,
    ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
    ToolSource,
};
use sandbox::NamedCommandParts;

/// How the tools of one workspace are called.
pub struct DiscoveredCallCommand {
    pub words: Vec<String>,
    /// As the setting has it.
    pub text: String,
    /// The command that told of the tools.
    pub discovery: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// Files of the workspace that it runs, as they were when its tools were told.
    pub programs: Vec<ProgramDigest>,
}

impl DiscoveredCallCommand {
    /// The start of a digest over what a call runs: the command, its folder and its files. A rule that an answer made is about
    /// this, and not about what a tool of the same name runs in another workspace or after a change.
    fn short_digest(&self) -> String {
        let folder = self.directory.to_string_lossy();
        let words = self.words.iter().map(String::as_str);
        let programs: Vec<[Cow<'_, str>; 2]> = self
            .programs
            .iter()
            .map(|program| [program.path.to_string_lossy(), Cow::Borrowed(program.digest.as_str())])
            .collect();
        let n_words = self.words.len().to_string();
        let parts = [folder.as_ref(), n_words.as_str()].into_iter().chain(words);
        let digest = digest::of_parts(parts.chain(programs.iter().flatten().map(AsRef::as_ref)));
        digest.trim_start_matches("sha256:").chars().take(12).collect()
    }
}

/// A tool that a workspace's command told of.
pub struct DiscoveredCommandTool {
    declaration: ToolDeclaration,
    parameters: ParameterSchema,
    /// As its command knows it.
    name: String,
    command: Arc<DiscoveredCallCommand>,
}

impl DiscoveredCommandTool {
    pub fn tool(told: &DiscoveredTool, command: &Arc<DiscoveredCallCommand>) -> Arc<dyn Tool> {
        let any = || ParameterSchema::compile(&serde_json::json!({})).expect("an empty schema is one");
        let declaration = ToolDeclaration {
            name: told.canonical_name(),
            title: told.name.clone(),
            description: description(told, command),
            kind: ToolKind::Other,
            risk: Risk::Medium,
            parameters: told.parameters.clone(),
        };
        Arc::new(DiscoveredCommandTool {
            // What is no schema was replaced when it was read.
            parameters: ParameterSchema::compile(&told.parameters).unwrap_or_else(any),
            declaration,
            name: told.name.clone(),
            command: Arc::clone(command),
        })
    }
}

fn description(told: &DiscoveredTool, command: &DiscoveredCallCommand) -> String {
    let DiscoveredCallCommand { text, discovery, .. } = command;
    let how = format!(
        "This tool belongs to the project: `{discovery}` told of it, and a call runs `{text} {name}` in the project's folder, \
         with the arguments as JSON on standard input. What it prints is the result. When it exits with another code than \
         0, is ended by a signal, or prints anything on standard error, the result is a report instead:\n\
         Stdout: what it printed, or `(empty)`\n\
         Stderr: what it printed there, or `(empty)`\n\
         Error: what kept it from running to its end, or `(none)`\n\
         Exit Code: a number, or `(none)`\n\
         Signal: its number and name, or `(none)`",
        name = told.name,
    );
    if told.description.is_empty() { how } else { format!("{}\n\n{how}", told.description) }
}

impl Tool for DiscoveredCommandTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn source(&self) -> ToolSource {
        ToolSource::Discovered
    }

    fn replay(&self) -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let arguments: Value = self.parameters.read(arguments)?;
            let starter = CommandStarter::of(cx);
            let confinement = starter.confinement().await;
            let shown = format!("{} {}", self.command.text, self.name);
            let what = format!(
                "`{shown}` in {} ({})",
                self.command.directory.display(),
                self.command.short_digest()
            );
            let accesses = vec![ResourceAccess::Opaque { what }];
            let (name, command) = (self.name.clone(), Arc::clone(&self.command));
            Ok(Box::new(DiscoveredToolInvocation {
                name,
                command,
                shown,
                arguments,
                accesses,
                confinement,
                starter,
            }) as Box<dyn Invocation>)
        })
    }
}

struct DiscoveredToolInvocation {
    name: String,
    command: Arc<DiscoveredCallCommand>,
    /// The command and the name.
    shown: String,
    arguments: Value,
    accesses: Vec<ResourceAccess>,
    /// By what it would be confined.
    confinement: EffectiveConfinement,
    starter: CommandStarter,
}

impl Invocation for DiscoveredToolInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        format!("{}\n{}", self.shown, self.arguments)
    }

    fn confinement(&self) -> Option<&CommandConfinement> {
        Some(&self.confinement.by)
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.command.directory.to_string_lossy().into_owned(), line: None }]
    }

    /// The command, and what it reads, as a shell would have both.
    fn confirmation(&self) -> Option<ConfirmationDetails> {
        let input = self.arguments.to_string().replace('\'', r"'\''");
        Some(ConfirmationDetails::Exec {
            command: format!("{} <<< '{input}'", self.shown),
            directory: self.command.directory.to_string_lossy().into_owned(),
            root_commands: self.command.words.first().cloned().into_iter().collect(),
            parsed: vec![self.shown.clone()],
            reasons: vec!["a command of the workspace's own decides what this does".to_owned()],
            sandbox: self.confinement.words.clone(),
            background: false,
            pty: false,
            timeout_seconds: None,
        })
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let command = Arc::clone(&self.command);
            if let Some(path) = work::aside(move || changed(&command.programs)).await {
                let message = format!(
                    "{} is not what a person acknowledged; it was not run. They look at it with `subagent trust`, and runs \
                     that begin after that have the tool as it is then",
                    path.display()
                );
                return ToolResult::failure(ToolErrorType::ToolNotAllowed, message);
            }
            let rules = self.starter.rules();
            let timeout = cx.deadline.map_or(rules.timeout, |left| left.min(rules.timeout));
            let bounds = CommandBounds {
                inactivity: Some(rules.inactivity),
                timeout: Some(timeout),
                max_output: rules.max_output,
            };
            let mut words = self.command.words.clone();
            let named = NamedCommandParts { words: words.clone(), ..NamedCommandParts::default() };
            words.push(self.name.clone());
            let wanted = CommandRequest {
                named,
                input: self.arguments.to_string().into_bytes(),
                span: cx.span,
                ..CommandRequest::new(words, self.command.directory.clone())
            };
            match self.starter.run(wanted, bounds, &cx).await {
                Ok(finished) => work::aside(move || told(&finished)).await,
                Err(failure) => failure,
            }
        })
    }
}

/// What the model is told.
fn told(finished: &FinishedCommand) -> ToolResult {
    let FinishedCommand { ended, stdout, stderr, cut, .. } = finished;
    let (stdout, stderr) = (stdout.text(), stderr.text());
    let is_well = ended.code == Some(0) && cut.is_none() && ended.over.is_none() && stderr.is_empty();
    if is_well {
        return ToolResult::text(stdout);
    }
    let (kind, error) = match cut {
        Some(CommandCutReason::Stopped) => {
            (ToolErrorType::Cancelled, Some("the call was stopped".to_owned()))
        }
        Some(CommandCutReason::Yielded(time)) => {
            let error = format!("others had waited for it for {} s and it was ended", time.as_secs());
            (ToolErrorType::TimedOut, Some(error))
        }
        Some(CommandCutReason::Silent(time)) => {
            let error = format!("it printed nothing for {} s and was ended", time.as_secs_f64());
            (ToolErrorType::TimedOut, Some(error))
        }
        Some(CommandCutReason::TooLong(time)) => {
            let error = format!("it took more than {} s and was ended", time.as_secs_f64());
            (ToolErrorType::TimedOut, Some(error))
        }
        Some(CommandCutReason::TooMuch(bytes)) => {
            let error = format!("it printed more than {} MiB and was ended", bytes >> 20);
            (ToolErrorType::DiscoveredToolExecutionError, Some(error))
        }
        None => {
            let over =
                ended.over.map(|_| "it used more than `sandbox.limits` allows and was ended".to_owned());
            (ToolErrorType::DiscoveredToolExecutionError, over)
        }
    };
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
    let code = ended.code.map(|code| code.to_string());
    let report = [
        format!("Stdout: {}", or(&stdout, "(empty)")),
        format!("Stderr: {}", or(&stderr, "(empty)")),
        format!("Error: {}", error.as_deref().unwrap_or("(none)")),
        format!("Exit Code: {}", code.as_deref().unwrap_or("(none)")),
        format!("Signal: {}", ended.signal.map_or_else(|| "(none)".to_owned(), signal_name)),
    ];
    let message = summary(&report[2..], &stderr);
    ToolResult {
        llm_content: vec![MessagePart::text(report.join("\n"))],
        error: Some(ToolError { kind, message }),
        ..ToolResult::default()
    }
}

/// For whoever reads one line: how it ended, and the first of what it complained of.
fn summary(how: &[String], stderr: &str) -> String {
    /// Characters of a complaint.
    const LONGEST: usize = 200;
    let complaint: String = stderr.trim().lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    let how = how.join(", ");
    if complaint.is_empty() { how } else { format!("{complaint} ({how})") }
}
