//! `subagent trust`: what does a workspace bring along, and may it count?
//!
//! What is shown is what is acknowledged: the digests that a person saw are those that are sent, and a file that changed
//! in between is refused by the daemon.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    OutputWriter, ProcessIo, ReportFormat, consent,
    failure::CommandFailure,
    human,
    link::DaemonLink,
    list::ListedAgent,
    paging,
    problem::FileProblemView,
    safe_text,
    screen::TextColor,
    table::{self, TableCell, cell, free, whole},
};
use crate::protocol::{
    AgentScope, AgentsAcknowledge, AgentsAcknowledgeParams, AgentsGet, AgentsGetParams, TrustedFile,
    WorkspaceOpen, WorkspaceOpenParams, WorkspaceParam, WorkspaceTrust, WorkspaceTrustParams,
};

/// Characters of a digest that are shown: enough to compare by eye.
const DIGEST_CHARACTERS: usize = "sha256:".len() + 16;

/// How one says yes.
const HOW: &str = "press y and then Enter to trust it, or give --yes";

#[derive(Args)]
pub(super) struct TrustArguments {
    /// A folder, or the name of one agent of this project [default: the current folder]
    #[arg(value_name = "DIR|AGENT")]
    target: Option<String>,
    /// Do not ask: you have read it
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// Trust the folder no longer; all its files are asked about again
    #[arg(long)]
    no: bool,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn trust(
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let target = arguments.target.as_deref().unwrap_or(".");
    let folder = surroundings.working_folder.join(target);
    if folder.is_dir() {
        let Some(path) = folder.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned)) else {
            return Err(CommandFailure::usage(format!(
                "the path of {} cannot be told in UTF-8",
                folder.display()
            ))
            .or_hint("move it to a folder whose path can"));
        };
        return trust_folder(WorkspaceParam::Path(path), arguments, link, surroundings);
    }
    let is_name = !target.contains('/') && !target.is_empty();
    match (is_name, arguments.no) {
        (false, _) => Err(CommandFailure::usage(format!("{} is no folder", folder.display()))
            .or_hint("name a folder, or an agent of this project")),
        (true, true) => Err(CommandFailure::usage("trust is taken from a folder as a whole")
            .or_hint("`subagent trust --no DIR`; then trust again what you want")),
        (true, false) => trust_agent(target, arguments, link, surroundings),
    }
}

/// A workspace, and what it brings along.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkspaceTrustView {
    roots: Vec<String>,
    trusted: bool,
    files: Vec<WorkspaceFileView>,
    /// What is wrong with the files.
    problems: Vec<FileProblemView>,
    discovery: DiscoveryCommandView,
}

/// The command that tells tools there.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoveryCommandView {
    command: Option<String>,
}

#[derive(Deserialize)]
struct WorkspaceFileView {
    path: String,
    digest: String,
    #[serde(default)]
    acknowledged: bool,
    /// What it would change, a sentence each.
    #[serde(default)]
    effects: Vec<String>,
}

fn trust_folder(
    workspace: WorkspaceParam,
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let shown = workspace.roots().join(", ");
    if arguments.no {
        let params = WorkspaceTrustParams { workspace, trusted: false, files: Vec::new() };
        let answer = link.ask_slowly::<WorkspaceTrust>(&params, &mut surroundings.stderr)?;
        paging::tell(&answer, arguments.format, || format!("{shown} is trusted no longer"), surroundings)?;
        return Ok(0);
    }
    let params = WorkspaceOpenParams { workspace: workspace.clone() };
    let answer = link.ask_slowly::<WorkspaceOpen>(&params, &mut surroundings.stderr)?;
    let opened: WorkspaceTrustView = paging::view(answer.get("workspace").unwrap_or(&Value::Null))?;
    let changed = opened.files.iter().filter(|file| !file.acknowledged).count();
    show_files(&opened, surroundings)?;
    let question = match (opened.trusted, changed) {
        (true, 0) => {
            let words = || format!("{shown} is trusted already, as it is now");
            paging::tell(&answer, arguments.format, words, surroundings)?;
            return Ok(0);
        }
        (true, _) => {
            format!("Trust {} that you have not acknowledged?", human::count(changed as u64, "file"))
        }
        (false, _) => format!("Trust {shown}, with these files as they are now?"),
    };
    if !arguments.yes {
        consent::confirm(&question, HOW, surroundings)?;
    }
    // Exactly what was shown.
    let shown_file = |file: WorkspaceFileView| TrustedFile { path: file.path, digest: file.digest };
    let files = opened.files.into_iter().map(shown_file).collect();
    let params = WorkspaceTrustParams { workspace, trusted: true, files };
    let answer = link.ask_slowly::<WorkspaceTrust>(&params, &mut surroundings.stderr)?;
    let words = || format!("{shown} is trusted, as it is now; a file that changes is asked about again");
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}

/// What each would be allowed, by its place.
fn allows(path: &str) -> &'static str {
    if path.contains("policies/") {
        "rules: can only make things stricter"
    } else if is_settings(path) {
        "settings: what they change stands below"
    } else if path.contains("agents/") || path.contains("agent/") {
        "an agent: can be started, with the tools and approvals it names"
    } else {
        "read it before you trust it"
    }
}

fn show_files(workspace: &WorkspaceTrustView, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    let stderr = &mut surroundings.stderr;
    if stderr.is_for_programs {
        return Ok(());
    }
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let roots = line(&workspace.roots.join(", "));
    if workspace.files.is_empty() {
        stderr.write(&format!("{roots} brings along no agents, rules or settings\n"))?;
        return show_consequences(workspace, stderr);
    }
    let cells = |file: &WorkspaceFileView| {
        let is_new = if file.acknowledged { "acknowledged" } else { "not seen yet" };
        [
            cell(&file.path),
            cell(&file.digest.chars().take(DIGEST_CHARACTERS).collect::<String>()),
            cell(is_new).painted((!file.acknowledged).then_some(TextColor::Yellow)),
            cell(allows(&file.path)),
        ]
    };
    let rows: Vec<[TableCell; 4]> = workspace.files.iter().map(cells).collect();
    // Paths are read in full: what is not seen cannot be trusted.
    let columns = [whole("FILE"), whole("DIGEST"), whole("STATE"), free("WOULD BE")];
    let mut text = format!("{roots} brings along:\n{}", table::draw(columns, &rows, stderr));
    for file in workspace.files.iter().filter(|file| !file.effects.is_empty()) {
        text.push_str(&format!("{}:\n", line(&file.path)));
        // In full, as paths: a command of which the end is not seen cannot be trusted either.
        text.extend(file.effects.iter().map(|effect| format!("  {}\n", line(effect))));
    }
    stderr.write(&text)?;
    show_consequences(workspace, stderr)
}

/// What no file of the folder says: what is wrong with them, and what runs there besides.
fn show_consequences(
    workspace: &WorkspaceTrustView,
    stderr: &mut OutputWriter,
) -> Result<(), CommandFailure> {
    workspace.problems.iter().for_each(|problem| problem.show(stderr));
    let Some(command) = workspace.discovery.command.as_ref().filter(|_| !workspace.trusted) else {
        return Ok(());
    };
    let has_settings = workspace.files.iter().any(|file| is_settings(&file.path));
    let unless = if has_settings { ", unless the folder's own settings name another" } else { "" };
    let command = safe_text::line(command, usize::MAX);
    stderr.write(&format!(
        "once it is trusted, `{command}` (your setting tools.discoveryCommand) is run here to tell tools{unless}\n"
    ))
}

fn is_settings(path: &str) -> bool {
    path.rsplit('/').next() == Some("settings.json")
}

/// The answer to `agents/get`, as far as it says what the agent may do.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProjectAgentView {
    #[serde(flatten)]
    summary: ListedAgent,
    prompt: Option<String>,
    tools: Vec<String>,
    approval: AgentApprovalView,
    /// As its file could say it.
    definition: Value,
}

impl ProjectAgentView {
    /// The MCP servers that each of its runs starts or reaches, with all that they are given.
    fn own_servers(&self) -> impl Iterator<Item = String> {
        let listed = self.definition.pointer("/mcp/servers").and_then(Value::as_array);
        listed.into_iter().flatten().filter(|server| server.is_object()).map(Value::to_string)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AgentApprovalView {
    auto_approve: Vec<String>,
}

fn trust_agent(
    name: &str,
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let Some(workspace) = surroundings.workspace() else {
        return Err(CommandFailure::usage("the path of this folder cannot be told in UTF-8")
            .or_hint("move the project to a folder whose path can"));
    };
    link.open(&mut surroundings.stderr)?;
    let scope = Some(AgentScope::Project);
    let params = AgentsGetParams { name: name.into(), scope, workspace: Some(workspace.clone()) };
    let agent: ProjectAgentView = paging::view(&link.ask_value::<AgentsGet>(&params)?)?;
    let stderr = &mut surroundings.stderr;
    if !stderr.is_for_programs {
        let line = |text: &str| safe_text::line(text, usize::MAX);
        let list =
            |entries: &[String]| if entries.is_empty() { "none".to_owned() } else { entries.join(", ") };
        let mut text = format!("{}  {}\n", line(&agent.summary.name), line(&agent.summary.title));
        for (label, value) in [
            ("file", agent.summary.path.clone().unwrap_or_default()),
            ("digest", agent.summary.digest.clone()),
            ("tools", list(&agent.tools)),
            ("approves", list(&agent.approval.auto_approve)),
        ] {
            text.push_str(&format!("{label:8}  {}\n", line(&value)));
        }
        // In full: a command of which the end is not seen cannot be trusted.
        text.extend(agent.own_servers().map(|server| format!("starts    {}\n", line(&server))));
        if let Some(prompt) = &agent.prompt {
            // Behind a bar, so that it cannot pass for words of ours.
            text.extend(safe_text::rows(prompt).map(|row| format!("│ {row}\n")));
        }
        stderr.write(&text)?;
    }
    if !arguments.yes {
        consent::confirm(&format!("May {name} be started, as it is now?"), HOW, surroundings)?;
    }
    let digest = agent.summary.digest;
    let params = AgentsAcknowledgeParams { name: name.into(), digest, workspace };
    let answer = link.ask_value::<AgentsAcknowledge>(&params)?;
    let words = || format!("{name} may be started, as it is now; when its file changes you are asked again");
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
