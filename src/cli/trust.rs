//! `subagent trust`: what does a workspace bring along, and may it count?
//!
//! What is shown is what is acknowledged: the digests that a person saw are those that are sent, and a file that changed
//! in between is refused by the daemon.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    OutputWriter, ProcessIo, ReportFormat, consent, failure::CommandFailure, hooks, human, link::DaemonLink,
    list::ListedProblem, paging, problem::FileProblemView, sheet::Sheet,
};
use protocol::{
    AgentScope, AgentStatus, AgentsAcknowledge, AgentsAcknowledgeParams, AgentsGet, AgentsGetParams,
    ErrorKind, OpenEnum, TrustedFile, WorkspaceOpen, WorkspaceOpenParams, WorkspaceParam, WorkspaceTrust,
    WorkspaceTrustParams,
};

mod folders;
mod programs;
mod skills;

/// Characters of a digest that are shown: enough to compare by eye.
const DIGEST_CHARACTERS: usize = "sha256:".len() + 16;

/// The kind of a workspace's file that is a skill.
const SKILL: &str = "skill";

/// The way to say yes.
const HOW: &str = "press y and then Enter to trust it, or give --yes";

#[derive(Args)]
pub(super) struct TrustArguments {
    /// A folder, or the name of one agent or skill of this project [default: the current folder]
    #[arg(value_name = "DIR|AGENT|SKILL")]
    target: Option<String>,
    /// Do not ask: acknowledge everything that is shown
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// Show everything, even if it does not fit the screen
    #[arg(long, conflicts_with = "no")]
    whole: bool,
    /// Stop trusting the folder; all its files are asked about again
    #[arg(long)]
    no: bool,
    /// Show the programs named in your settings that have changed, instead of a folder, and ask
    #[arg(long, conflicts_with_all = ["target", "no"])]
    programs: bool,
    /// List the folders in which agents work, or have worked: scripts there do not run with your rights
    #[arg(long, conflicts_with_all = ["target", "no", "yes", "programs"])]
    folders: bool,
    /// Ask whether nothing in a folder is an agent's any more, so that scripts there may run with your rights
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "no", "yes", "programs", "folders"])]
    forget_folder: Option<PathBuf>,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn trust(
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    if arguments.folders {
        return folders::list_folders(arguments, link, surroundings);
    }
    if let Some(folder) = &arguments.forget_folder {
        return folders::forget_folder(folder, arguments, link, surroundings);
    }
    if arguments.programs {
        return programs::trust_programs(arguments, link, surroundings);
    }
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
        (false, _) => Err(CommandFailure::usage(format!("{} is not a folder", folder.display()))
            .or_hint("name a folder, or an agent or a skill of this project")),
        (true, true) => Err(CommandFailure::usage("trust is taken from a folder as a whole")
            .or_hint("`subagent trust --no DIR`; then trust again what you want")),
        (true, false) => trust_agent(target, arguments, link, surroundings),
    }
}

/// A workspace, and what it brings along. Where the daemon does not say it, there is nothing to be asked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceTrustView {
    roots: Vec<String>,
    trusted: bool,
    files: Vec<WorkspaceFileView>,
    /// What is wrong with the files.
    problems: Vec<FileProblemView>,
    /// Missing where no command is set.
    discovery: Option<DiscoveryCommandView>,
    /// The ones that count once it is trusted.
    memory_files: Vec<String>,
    /// Files that these import.
    memory_imports: Vec<ImportedMemoryView>,
    /// Acknowledged, and not there any more.
    gone: Vec<String>,
}

/// The command that tells tools there.
#[derive(Deserialize)]
struct DiscoveryCommandView {
    command: String,
}

/// A file that a memory file imports.
#[derive(Deserialize)]
struct ImportedMemoryView {
    path: String,
    by: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceFileView {
    path: String,
    /// May be a word that is not known here.
    kind: String,
    digest: String,
    /// It was acknowledged, and is another one since. Missing = no.
    #[serde(default)]
    changed: bool,
    acknowledged: bool,
    /// What it would change, a sentence each.
    effects: Vec<String>,
    /// Those of them by which something runs that nobody is asked about.
    runs_unasked: Vec<String>,
}

impl WorkspaceFileView {
    /// Effects but for what stands next to the question.
    fn other_effects(&self) -> impl Iterator<Item = &String> {
        self.effects.iter().filter(move |effect| !self.runs_unasked.contains(effect))
    }
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
    let files = counted(&opened.files);
    let question = match (opened.trusted, changed) {
        (true, 0) if opened.gone.is_empty() => None,
        (true, 0) => {
            Some(format!("Trust {shown} without {}?", human::count(opened.gone.len() as u64, "file")))
        }
        (true, _) => {
            Some(format!("Trust {} that you have not acknowledged?", human::count(changed as u64, "file")))
        }
        (false, _) if opened.files.is_empty() && has_errors(&opened) => {
            Some(format!("Trust {shown}, though no file of it can be acknowledged?"))
        }
        (false, _) if opened.files.is_empty() && opened.memory_files.is_empty() => {
            Some(format!("Trust {shown}, which brings along no files?"))
        }
        (false, _) if opened.files.is_empty() => {
            Some(format!("Trust {shown}, and have agents told what its memory files say?"))
        }
        (false, _) => Some(format!("Trust {shown}, with its {files} as they are now?")),
    };
    let wants_all = arguments.whole || arguments.yes || question.is_none();
    let told = brought(&opened, &surroundings.stderr);
    let Some(question) = question else {
        told.show("", wants_all, surroundings)?;
        let words = || format!("{shown} is trusted already, as it is now");
        paging::tell(&answer, arguments.format, words, surroundings)?;
        return Ok(0);
    };
    let question = told.show(&question, wants_all, surroundings)?;
    if !arguments.yes {
        consent::confirm(&question, HOW, surroundings)?;
    }
    let (has_files, has_memory) = (!opened.files.is_empty(), !opened.memory_files.is_empty());
    // Exactly what was shown.
    let shown_file = |file: WorkspaceFileView| TrustedFile { path: file.path, digest: file.digest };
    let files = opened.files.into_iter().map(shown_file).collect();
    let params = WorkspaceTrustParams { workspace, trusted: true, files };
    let answer = link.ask_slowly::<WorkspaceTrust>(&params, &mut surroundings.stderr)?;
    let words = || match (has_files, has_memory) {
        (_, false) => format!("{shown} is trusted, as it is now; a file that changes is asked about again"),
        (true, true) => format!(
            "{shown} is trusted, as it is now; a file that changes is asked about again, but for memory files, which count as they are"
        ),
        (false, true) => {
            format!("{shown} is trusted; its memory files count as they are, also after they change")
        }
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}

/// Says what a file would be allowed, by what the daemon reads it as: its place is for the workspace to choose.
fn allows(kind: &str) -> &'static str {
    match kind {
        "skill" => "a skill, with all its files: models may be told of it and what it says",
        "hooks" => "hooks: programs that run unasked; they stand below",
        "policy" => "rules: can only make things stricter",
        "settings" => "settings: what they change stands below",
        "agent" => "an agent: can be started, with the tools and approvals it names",
        _ => "read it before you trust it",
    }
}

/// A skill is a folder, and has files of its own.
fn counted(files: &[WorkspaceFileView]) -> String {
    let skills = files.iter().filter(|file| file.kind == SKILL).count() as u64;
    let others = files.len() as u64 - skills;
    match (others, skills) {
        (_, 0) => human::count(others, "file"),
        (0, _) => human::count(skills, "skill"),
        _ => format!("{} and {}", human::count(others, "file"), human::count(skills, "skill")),
    }
}

/// What the folder brings along, from what is least to what would run.
fn brought(workspace: &WorkspaceTrustView, stderr: &OutputWriter) -> Sheet {
    let mut sheet = Sheet::of(stderr);
    let changed = workspace.files.iter().filter(|file| !file.acknowledged).count();
    sheet.fact("folder", &workspace.roots.join(", "));
    if workspace.files.is_empty() {
        sheet.ours(match has_errors(workspace) {
            true => "it brings along no file that can be acknowledged; why stands below",
            false => "it brings along no agents, rules, settings or skills",
        });
    }
    // Paths are read in full: what is not seen cannot be trusted. What nobody has seen yet stands next to what is asked.
    let (seen, new): (Vec<_>, Vec<_>) = workspace.files.iter().partition(|file| file.acknowledged);
    for files in [seen, new] {
        let facts = files.into_iter().flat_map(|file| {
            let digest: String = file.digest.chars().take(DIGEST_CHARACTERS).collect();
            let state = match (file.acknowledged, file.changed) {
                (true, _) => "acknowledged",
                (false, true) => "changed since it was acknowledged",
                (false, false) => "not seen yet",
            };
            let label = if file.kind == SKILL { SKILL } else { "file" };
            [(label, file.path.clone()), ("", format!("{state} · {digest} · {}", allows(&file.kind)))]
        });
        sheet.facts(facts);
    }
    sheet.facts(opened_gone(workspace));
    let label = |problem: &FileProblemView| if problem.is_error() { "error" } else { "warning" };
    sheet.facts(workspace.problems.iter().map(|problem| (label(problem), problem.to_string())));
    // In full, as paths: a command of which the end is not seen cannot be trusted either.
    let files = workspace.files.iter();
    sheet.facts(files.filter(|file| file.other_effects().next().is_some()).flat_map(|file| {
        let effects = file.other_effects().map(|effect| ("effect", effect.clone()));
        [("of", file.path.clone())].into_iter().chain(effects)
    }));
    if !workspace.memory_files.is_empty() {
        sheet.facts(workspace.memory_files.iter().map(|path| ("memory", path.clone())));
        let imports = workspace.memory_imports.iter();
        sheet.facts(imports.map(|it| ("imported", format!("{}, which {} imports", it.path, it.by))));
        sheet.ours("once it is trusted, every agent here is told what these memory files say, also after they change");
    }
    let count = counted(&workspace.files);
    if !workspace.files.is_empty() {
        sheet.ours(&format!("{count} in all, {changed} not seen yet"));
    }
    // Next to what is asked, and never left out.
    sheet.unasked(workspace.files.iter().filter(|file| !file.runs_unasked.is_empty()).flat_map(|file| {
        let effects = file.runs_unasked.iter().map(|effect| ("unasked", effect.clone()));
        [("of", file.path.clone())].into_iter().chain(effects)
    }));
    if let Some(DiscoveryCommandView { command }) =
        workspace.discovery.as_ref().filter(|_| !workspace.trusted)
    {
        let has_settings = workspace.files.iter().any(|file| file.kind == "settings");
        let unless = if has_settings { ", unless the folder's own settings name another" } else { "" };
        sheet.unasked([("runs", command.clone())]);
        sheet.ours(&format!(
            "once it is trusted, that (your setting tools.discoveryCommand) is run here to tell tools{unless}"
        ));
    }
    sheet
}

/// True if it brings along something that cannot count as it is.
fn has_errors(workspace: &WorkspaceTrustView) -> bool {
    workspace.problems.iter().any(FileProblemView::is_error)
}

/// The files that are gone, and what comes of that.
fn opened_gone(workspace: &WorkspaceTrustView) -> impl Iterator<Item = (&'static str, String)> {
    let told =
        "is gone since it was acknowledged; what it guarded is refused until you trust the folder without it";
    workspace.gone.iter().flat_map(move |path| [("gone", path.clone()), ("", told.to_owned())])
}

/// The answer to `agents/get`, as far as it says what the agent may do.
#[derive(Deserialize)]
struct ProjectAgentView {
    name: String,
    title: String,
    status: OpenEnum<AgentStatus>,
    path: String,
    digest: String,
    /// Missing where there are none.
    #[serde(default)]
    problems: Vec<ListedProblem>,
    /// Missing where its file has errors, as all below.
    prompt: Option<String>,
    tools: Option<Vec<String>>,
    approval: AgentApprovalView,
    /// As its file could say it.
    definition: Option<Value>,
}

/// What a person agrees to.
struct AgentPowers {
    prompt: String,
    tools: Vec<String>,
    definition: Value,
}

impl ProjectAgentView {
    /// Fails where the daemon does not say what it may do: nobody agrees to what they were not shown.
    fn powers(&mut self) -> Result<AgentPowers, CommandFailure> {
        let name = &self.name;
        if self.status.known() == Some(AgentStatus::Invalid) {
            let what = format!("{name} has errors, cannot be started and cannot be trusted");
            return Err(CommandFailure::new(what).or_hint(format!(
                "`subagent validate {name}` tells the errors; trust it once they are mended"
            )));
        }
        match (self.prompt.take(), self.tools.take(), self.definition.take()) {
            (Some(prompt), Some(tools), Some(definition)) => Ok(AgentPowers { prompt, tools, definition }),
            _ => Err(CommandFailure::new(format!("the daemon's answer does not say what {name} may do"))
                .or_hint("nothing was trusted; `subagent stop`, then try again")),
        }
    }
}

impl AgentPowers {
    /// The MCP servers that each of its runs starts or reaches, with all that they are given.
    fn own_servers(&self) -> impl Iterator<Item = String> {
        let listed = self.definition.pointer("/mcp/servers").and_then(Value::as_array);
        listed.into_iter().flatten().filter(|server| server.is_object()).map(Value::to_string)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
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
    let answer = match link.ask_value::<AgentsGet>(&params) {
        Err(error) if error.is_refusal(ErrorKind::NotFound) => {
            return match skills::trust_skill(name, &workspace, arguments, link, surroundings)? {
                Some(code) => Ok(code),
                None => Err(error.into()),
            };
        }
        answer => answer?,
    };
    let mut agent: ProjectAgentView = paging::view(&answer)?;
    let powers = agent.powers()?;
    let mut sheet = Sheet::of(&surroundings.stderr);
    sheet.text(&powers.prompt);
    let list = |entries: &[String]| if entries.is_empty() { "none".to_owned() } else { entries.join(", ") };
    sheet.facts([
        ("title", agent.title.clone()),
        ("file", agent.path.clone()),
        ("digest", agent.digest.clone()),
    ]);
    sheet.fact("agent", &agent.name);
    // In full: a command of which the end is not seen cannot be trusted.
    sheet.unasked(powers.own_servers().map(|server| ("starts", server)));
    sheet.unasked(hooks::of_definition(&powers.definition).into_iter().map(|hook| ("hook", hook)));
    sheet.fact("tools", &list(&powers.tools));
    sheet.unasked([("approves", list(&agent.approval.auto_approve))]);
    sheet.facts(agent.problems.iter().map(|problem| ("warning", problem.describe())));
    let question = format!("May {name} be started, as it is now?");
    let question = sheet.show(&question, arguments.whole || arguments.yes, surroundings)?;
    if !arguments.yes {
        consent::confirm(&question, HOW, surroundings)?;
    }
    let params = AgentsAcknowledgeParams { name: name.into(), digest: agent.digest, workspace };
    let answer = link.ask_value::<AgentsAcknowledge>(&params)?;
    let words = || format!("{name} may be started, as it is now; when its file changes you are asked again");
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
