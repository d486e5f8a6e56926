//! `run_shell_command`: runs a command of bash, in a sandbox. (spec 05)

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::declared;
use crate::{
    CallContext, Invocation, Permit, PrepareContext, Tool,
    autorun::WritesTold,
    commands::{CommandBounds, CommandRequest, CommandStarter, EffectiveConfinement, SHELL, refused, report},
    parameters::ParameterSchema,
};
use protocol::{
    CallLocation, CommandConfinement, ConfirmationDetails, RUN_SHELL_COMMAND, ReplaySafety, ResourceAccess,
    Risk, ShellCommand, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
};
use shell::ShellAnalysis;
use sys::warden::TerminalSize;

mod brings;
mod judged;

const DESCRIPTION: &str = "\
Runs a command with `bash -c` and returns its output, and its exit code when that is not 0.
- It runs in a sandbox as a rule: the workspace and $TMPDIR can be written, the rest can be read, keys and the daemon's own \
files cannot be seen, and there is no network unless the person allowed it.
- Nobody answers its questions: use options that make programs ask nothing. Everything it started ends with it; for what is \
to go on, such as a server, set `background`, then use shell_output and kill_shell.
- Prefer the other tools for reading, searching and editing files. Keep output short: a long one is cut in the middle and can \
be paged through.";

/// Of a terminal that nobody looks at (spec 05).
const TERMINAL: TerminalSize = TerminalSize { columns: 120, rows: 40 };

/// Longest time a call may ask for, in seconds: a day, beyond which the setting bounds it anyway.
const MOST_SECONDS: u64 = 24 * 3_600;

/// The tool. It is prepared with waiting: what confines commands is found out by trying, once.
pub struct RunShellCommandTool {
    declaration: ToolDeclaration,
    parameters: ParameterSchema,
}

impl RunShellCommandTool {
    pub fn tool() -> Arc<dyn Tool> {
        let declaration = declaration();
        let parameters = ParameterSchema::compile(&declaration.parameters)
            .expect("the schema is a literal of this program, and a test compiles every one of them");
        Arc::new(RunShellCommandTool { declaration, parameters })
    }
}

fn declaration() -> ToolDeclaration {
    let parameters = json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "minLength": 1, "description": "What bash is to run." },
            "description": { "type": "string", "description": "In a few words, what it is for; people see it." },
            "directory": {
                "type": "string",
                "description": "Where it runs: absolute, or relative to the workspace root. Default: the root."
            },
            "timeoutSeconds": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MOST_SECONDS,
                "description": "When it is ended if it has not ended by itself. Default and most: the setting tools.shell.timeoutMs."
            },
            "background": {
                "type": "boolean",
                "description": "Let it go on after this call, which then returns at once. Default: false."
            },
            "pty": {
                "type": "boolean",
                "description": "Give it a terminal of 120 columns and 40 rows, for programs that want one. Default: false."
            }
        },
        "required": ["command"],
        "additionalProperties": false
    });
    declared(RUN_SHELL_COMMAND, "Run command", (ToolKind::Execute, Risk::Medium), DESCRIPTION, parameters)
}

impl Tool for RunShellCommandTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn streams(&self) -> bool {
        true
    }

    fn path_arguments(&self) -> &'static [&'static str] {
        &["directory"]
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let arguments: RunShellCommandArguments = self.parameters.read(arguments)?;
            let directory = arguments.check(cx)?;
            let reading = judged::judge(&arguments.command, &directory, cx).await;
            let starter = CommandStarter::of(cx);
            let confinement = starter.confinement().await;
            let mut accesses = vec![ResourceAccess::Execute { command: arguments.command.clone() }];
            accesses.extend(reading.accesses.iter().cloned());
            let invocation =
                RunShellCommandInvocation { arguments, directory, reading, accesses, confinement, starter };
            Ok(Box::new(invocation) as Box<dyn Invocation>)
        })
    }
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunShellCommandArguments {
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    background: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pty: bool,
}

impl RunShellCommandArguments {
    /// What the schema cannot say. Answers the directory.
    fn check(&self, cx: &PrepareContext) -> Result<PathBuf, ToolError> {
        let mut problems = Vec::new();
        if self.command.contains('\0') {
            problems.push("`command` has a NUL byte, which no program can be given".to_owned());
        }
        if shell::LONGEST_TEXT < self.command.len() {
            problems.push(format!(
                "`command` has {} bytes, at most {} are run; write a script into a file and run that",
                self.command.len(),
                shell::LONGEST_TEXT
            ));
        }
        if self.command.trim().is_empty() {
            problems.push("`command` is blank".to_owned());
        }
        if self.background && self.timeout_seconds.is_some() {
            problems.push("`timeoutSeconds` means nothing with `background`: it ends by kill_shell, or with the session".to_owned());
        }
        if self.background && self.terminal().is_some() {
            problems.push("`pty` cannot be had with `background`".to_owned());
        }
        let place = cx.workspace.resolve(self.directory.as_deref().unwrap_or("."));
        let directory = match place {
            Ok(place) => match cx.workspace.facts(&place) {
                Ok(facts) if facts.is_folder => Ok(cx.workspace.absolute(&place)),
                Ok(_) => {
                    problems.push(format!("`directory`: {} is not a folder", cx.workspace.shown(&place)));
                    Ok(PathBuf::new())
                }
                Err(errno) => Err(cx.workspace.failure(&place, errno)),
            },
            Err(error) => Err(error),
        };
        if problems.is_empty() {
            return directory;
        }
        if let Err(error) = directory {
            problems.push(error.message);
        }
        Err(ToolError { kind: ToolErrorType::InvalidToolParams, message: problems.join("; ") })
    }

    fn terminal(&self) -> Option<TerminalSize> {
        self.pty.then_some(TERMINAL)
    }
}

struct RunShellCommandInvocation {
    arguments: RunShellCommandArguments,
    directory: PathBuf,
    reading: ShellAnalysis,
    accesses: Vec<ResourceAccess>,
    /// By what it would be confined.
    confinement: EffectiveConfinement,
    starter: CommandStarter,
}

impl Invocation for RunShellCommandInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let background = if self.arguments.background { " (in the background)" } else { "" };
        match &self.arguments.description {
            Some(what) if !what.trim().is_empty() => {
                format!("{}{background}\n{}", self.arguments.command, what.trim())
            }
            _ => format!("{}{background}", self.arguments.command),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.directory.to_string_lossy().into_owned(), line: None }]
    }

    fn risk(&self) -> Option<Risk> {
        Some(self.reading.risk)
    }

    fn commands(&self) -> Option<&[ShellCommand]> {
        // Also of a text that is not understood: what was found in it is judged, and the rest asks.
        Some(&self.reading.commands)
    }

    fn unread(&self) -> Option<&str> {
        self.reading.unknown.as_deref()
    }

    fn confinement(&self) -> Option<&CommandConfinement> {
        Some(&self.confinement.by)
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        let RunShellCommandArguments { command, background, pty, timeout_seconds, .. } = &self.arguments;
        let mut details = judged::details(command, &self.directory, &self.reading, &self.confinement.words);
        if let ConfirmationDetails::Exec {
            background: goes_on, pty: terminal, timeout_seconds: limit, ..
        } = &mut details
        {
            (*goes_on, *terminal, *limit) = (*background, *pty, *timeout_seconds);
        }
        Some(details)
    }

    fn with_content(&self, content: &str) -> Option<Value> {
        let changed = RunShellCommandArguments { command: content.to_owned(), ..self.arguments.clone() };
        serde_json::to_value(changed).ok()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let rules = self.starter.rules().clone();
            let asked = self.arguments.timeout_seconds.map(Duration::from_secs_f64);
            let timeout = asked.map_or(rules.timeout, |asked| asked.min(rules.timeout));
            let timeout = cx.deadline.map_or(timeout, |left| left.min(timeout));
            let bounds = CommandBounds {
                inactivity: Some(rules.inactivity),
                timeout: Some(timeout),
                max_output: rules.max_output,
            };
            let words = [SHELL, "-c", &self.arguments.command].map(str::to_owned).to_vec();
            let wanted = CommandRequest {
                terminal: self.arguments.terminal(),
                git: judged::git_use(&self.reading, &self.directory, self.arguments.background),
                writes: WritesTold::of(&self.reading),
                span: cx.span,
                ..CommandRequest::new(words, self.directory.clone())
            };
            if self.arguments.background {
                return self.begin(wanted, bounds, &cx).await;
            }
            match self.starter.run(wanted, bounds, &cx).await {
                Ok(finished) => report(finished, &self.starter, self.arguments.terminal().is_some()).await,
                Err(failure) => failure,
            }
        })
    }
}

impl RunShellCommandInvocation {
    /// Starts it and leaves it to the session.
    async fn begin(
        self: Box<Self>,
        wanted: CommandRequest,
        bounds: CommandBounds,
        cx: &CallContext,
    ) -> ToolResult {
        let folder = self.directory.clone();
        let running = match self.starter.start(wanted, &cx.session).await {
            Ok(running) => running,
            Err(error) => return refused(&error),
        };
        let command = self.starter.redactor().text(&self.arguments.command).into_owned();
        match self.starter.background().take(
            &cx.session,
            (command, folder),
            running,
            &bounds,
            (&cx.clock, self.starter.redactor()),
        ) {
            Ok(job) => {
                let text = format!(
                    "Started in the background as `{id}`. It goes on until it ends, kill_shell ends it, or the session is \
                     over; shell_output with id `{id}` shows what it puts out.",
                    id = job.id
                );
                ToolResult { data: Some(json!({ "shell": job.id })), ..ToolResult::text(text) }
            }
            Err(error) => ToolResult::failure(ToolErrorType::ExecutionFailed, error.to_string()),
        }
    }
}
