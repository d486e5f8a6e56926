//! `git_commit`: stages changes and commits them, as the user. (spec 05)

use std::{path::PathBuf, time::Duration};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{BuiltInDefinition, declared};
use crate::{
    CallContext, Invocation, Permit, PrepareContext,
    commands::{CommandBounds, CommandRequest, CommandStarter, GitUse, SHELL, report},
    repositories::repository,
};
use protocol::{
    CallLocation, CommandReach, CommandWord, ConfirmationDetails, ReplaySafety, ResourceAccess, Risk,
    ShellCommand, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
};
use sys::words::written;

const DESCRIPTION: &str = "\
Stages changes and commits them in the workspace's repository, under the user's own name. It never pushes.
- With `paths` just these files and folders are committed, whatever else is staged; with `all` everything that changed; with \
neither, what is staged already.
- Write the message as the project's history does: what was changed, and why.";

/// Paths of one call: more are given as their folder.
const MOST_PATHS: usize = 500;

/// Characters of a message: longer ones are documents.
const MOST_MESSAGE: usize = 20_000;

/// How long git may be silent: hooks of the repository run tests.
const INACTIVITY: Duration = Duration::from_secs(10 * 60);

/// `$1` is the message; the paths follow. Nothing of them is read as options, patterns or code.
const OF_PATHS: &str = "m=$1; shift; git --literal-pathspecs add -A -- \"$@\" && \
     git --literal-pathspecs commit --only -m \"$m\" -- \"$@\" && git log -1 --stat --format='%h %s%n%an <%ae>'";
const OF_ALL: &str =
    "git add -A -- . && git commit -m \"$1\" && git log -1 --stat --format='%h %s%n%an <%ae>'";
const OF_STAGED: &str = "git commit -m \"$1\" && git log -1 --stat --format='%h %s%n%an <%ae>'";

pub struct GitCommitTool;

impl BuiltInDefinition for GitCommitTool {
    type Arguments = GitCommitArguments;

    const PATHS: &'static [&'static str] = &[];

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MOST_MESSAGE,
                    "description": "The commit's message: a short first line, then, after an empty line, whatever else is to be said."
                },
                "paths": {
                    "type": "array",
                    "items": { "type": "string", "minLength": 1 },
                    "minItems": 1,
                    "maxItems": MOST_PATHS,
                    "description": "Files and folders: absolute, or relative to the workspace root. Default: what is staged."
                },
                "all": { "type": "boolean", "description": "Commit everything that changed. Default: false." }
            },
            "required": ["message"],
            "additionalProperties": false
        });
        declared("git_commit", "Commit", (ToolKind::Execute, Risk::Medium), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    /// It reads the file system to find the repository.
    fn is_heavy(_arguments: &GitCommitArguments, _cx: &PrepareContext) -> bool {
        true
    }

    fn check(arguments: GitCommitArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let GitCommitArguments { message, paths, all } = arguments;
        let mut problems = Vec::new();
        if message.trim().is_empty() {
            problems.push("`message` is blank".to_owned());
        }
        if message.contains('\0') {
            problems.push("`message` has a NUL byte, which git cannot be given".to_owned());
        }
        if all && !paths.is_empty() {
            problems.push("`all` and `paths` cannot both be given".to_owned());
        }
        let mut places = Vec::new();
        for path in &paths {
            match cx.workspace.resolve(path) {
                Ok(place) => places.push(place),
                Err(error) => problems.push(error.message),
            }
        }
        if !problems.is_empty() {
            let message = problems.join("; ");
            return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message });
        }
        let root = places.first().map(|place| cx.workspace.root_of(place));
        let Some(root) = root.or_else(|| cx.workspace.roots().next()).map(PathBuf::from) else {
            let message = "the workspace has no folder".to_owned();
            return Err(ToolError { kind: ToolErrorType::ExecutionFailed, message });
        };
        let files: Vec<PathBuf> = places.iter().map(|place| cx.workspace.absolute(place)).collect();
        let repository = repository(&cx.workspace, &root);
        let is_inside = cx.workspace.roots().any(|root| repository.starts_with(root));
        let outside = (!is_inside).then(|| {
            format!(
                "the repository is kept outside of the workspace, in {}: where a sandbox confines the command, git cannot \
                 write there",
                repository.display()
            )
        });
        let steps = steps(&message, &files, all);
        let command = steps.iter().map(written).collect::<Vec<_>>().join(" && ");
        let known = |words: &Vec<String>| ShellCommand {
            words: words.iter().cloned().map(CommandWord::Known).collect(),
            // Its files were looked up in the workspace when it was prepared; a message is no path.
            reach: CommandReach::Workspace,
        };
        Ok(Box::new(GitCommitInvocation {
            accesses: vec![
                ResourceAccess::Execute { command: command.clone() },
                ResourceAccess::Write { path: repository },
            ],
            commands: steps.iter().map(known).collect(),
            command,
            root,
            outside,
            message,
            files,
            all,
            starter: CommandStarter::of(cx),
        }))
    }
}

#[derive(Debug, Deserialize)]
pub struct GitCommitArguments {
    message: String,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    all: bool,
}

/// What git is called with, as rules about commands see it.
fn steps(message: &str, files: &[PathBuf], all: bool) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let mut commit = words(&["git", "commit", "-m", message]);
    if all {
        return vec![words(&["git", "add", "-A", "--", "."]), commit];
    }
    if files.is_empty() {
        return vec![commit];
    }
    let files: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    let mut add = words(&["git", "add", "-A", "--"]);
    add.extend(files.iter().cloned());
    commit.insert(2, "--only".to_owned());
    commit.push("--".to_owned());
    commit.extend(files);
    vec![add, commit]
}

fn texts(command: &ShellCommand) -> Vec<String> {
    command.words.iter().map(|word| word.text().to_owned()).collect()
}

struct GitCommitInvocation {
    accesses: Vec<ResourceAccess>,
    commands: Vec<ShellCommand>,
    command: String,
    root: PathBuf,
    /// What a person should know of a repository that is kept elsewhere.
    outside: Option<String>,
    message: String,
    files: Vec<PathBuf>,
    all: bool,
    starter: CommandStarter,
}

impl Invocation for GitCommitInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let what = match (self.all, self.files.len()) {
            (true, _) => "all changes".to_owned(),
            (false, 0) => "what is staged".to_owned(),
            (false, 1) => "1 path".to_owned(),
            (false, count) => format!("{count} paths"),
        };
        format!("{what}: {}", self.message)
    }

    fn locations(&self) -> Vec<CallLocation> {
        let location =
            |path: &PathBuf| CallLocation { path: path.to_string_lossy().into_owned(), line: None };
        match self.files.is_empty() {
            true => vec![location(&self.root)],
            false => self.files.iter().map(location).collect(),
        }
    }

    fn commands(&self) -> Option<&[ShellCommand]> {
        Some(&self.commands)
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        Some(ConfirmationDetails::Exec {
            command: self.command.clone(),
            directory: self.root.to_string_lossy().into_owned(),
            root_commands: vec!["git".to_owned()],
            parsed: self.commands.iter().map(|it| written(texts(it))).collect(),
            reasons: self.outside.clone().into_iter().collect(),
            sandbox: self.starter.wanted_confinement().to_owned(),
            background: false,
            pty: false,
            timeout_seconds: None,
        })
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let script = match (self.all, self.files.is_empty()) {
                (true, _) => OF_ALL,
                (false, true) => OF_STAGED,
                (false, false) => OF_PATHS,
            };
            let mut words = [SHELL, "-c", script, "git_commit", &self.message].map(str::to_owned).to_vec();
            words.extend(self.files.iter().map(|file| file.to_string_lossy().into_owned()));
            let rules = self.starter.rules();
            let bounds = CommandBounds {
                inactivity: Some(INACTIVITY.max(rules.inactivity)),
                timeout: Some(cx.deadline.map_or(rules.timeout, |left| left.min(rules.timeout))),
                max_output: rules.max_output,
            };
            let git = GitUse { is_alone: true, ..GitUse::default() };
            let wanted =
                CommandRequest { span: cx.span, git, ..CommandRequest::new(words, self.root.clone()) };
            match self.starter.run(wanted, bounds, &cx).await {
                Ok(finished) => {
                    let is_done = finished.ended.code == Some(0);
                    let result = report(finished, &self.starter, false).await;
                    if is_done || result.error.is_some() {
                        result
                    } else {
                        failed(result, self.outside.as_deref())
                    }
                }
                Err(failure) => failure,
            }
        })
    }
}

/// A commit that was not made is a failure, where a command that ends with another code is just told of.
fn failed(result: ToolResult, outside: Option<&str>) -> ToolResult {
    let message = match outside {
        Some(why) => format!("git did not commit ({why}); what it said follows"),
        None => "git did not commit; what it said follows".to_owned(),
    };
    let error = ToolError { kind: ToolErrorType::ExecutionFailed, message };
    ToolResult { error: Some(error), ..result }
}
