//! Which files does a workspace bring along, and what would each of them mean? For a person who is to acknowledge them.

use std::{collections::BTreeSet, ffi::OsString};

use super::programs::{ServerOwner, named_by, of_server};
use super::{
    AcknowledgementState, FileProblem, Path, ProjectProgram, ProjectSettings, RuleFileContents, SYSTEM_FILE,
    SettingsFile, TrustRecords, below, digest, problem,
};
use ::skills::ProjectSkill;
use agents::{AgentCatalog, ProjectAgentFile};
use protocol::{
    AgentDefinition, DiscoveryCommands,
    FileProblemCode::{TooLarge, Unreadable},
    McpTransport, ProblemSeverity, ToolName, Verdict,
};

mod agent_programs;
mod withheld;

pub use withheld::WithheldFile;

use agent_programs::{hooked, started};

/// Files that one survey lists: nobody reads more before they trust them, and the answer stays a message's size.
const MOST_FILES: usize = 1_000;

/// Names in one sentence about a file, and characters of it: a hostile file could hold millions.
const MOST_NAMES: usize = 32;
const MOST_CHARS: usize = 1_000;

/// Of a server with `trust`.
const BELIEVED: &str = ", and what it says of the risk of its tools is believed";

/// What a workspace brings along.
#[derive(Debug, Default)]
pub struct ProjectSurvey {
    /// Canonical; only those that are there.
    pub roots: Vec<String>,
    /// Agents by name, then rules, then settings, then what commands run; of one root after the other.
    pub files: Vec<ProjectFile>,
    /// Files that cannot be acknowledged, and what is wrong with others.
    pub problems: Vec<FileProblem>,
    /// Acknowledged, and not there any more while something waits for them; below the root, of several roots whole.
    pub gone: Vec<String>,
    /// Those that nobody can acknowledge, as what they run or do cannot be shown; told in `problems`, too.
    pub withheld: Vec<WithheldFile>,
    /// The first that each command was set to by the workspace's own settings.
    commands: ProjectCommands,
    /// Those that its settings and agents name; who names each, and how it is started.
    servers: Vec<(String, McpTransport)>,
}

#[derive(Debug, Default)]
struct ProjectCommands {
    discovery: Option<Option<String>>,
    call: Option<Option<String>>,
}

/// A file that a person may acknowledge.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    pub root: String,
    /// Below the root.
    pub path: String,
    pub digest: String,
    pub consent: AcknowledgementState,
    pub kind: ProjectFileKind,
    /// What it would change once it counts, one sentence each.
    pub effects: Vec<String>,
    /// Those of them by which something runs that nobody is asked about.
    pub unasked: Vec<String>,
    /// Everything that is kept with its acknowledgement beside its digest ([`trust::guard_mark`]).
    pub marks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFileKind {
    Agent,
    Policy,
    Settings,
    Program,
    SystemPrompt,
    Skill,
    Hooks,
}

impl ProjectSurvey {
    pub(super) fn of_agents(roots: Vec<String>, catalog: &AgentCatalog) -> ProjectSurvey {
        // What cannot be started is not acknowledged: nobody can be told what it may do once somebody can read it.
        let (sound, unsound): (Vec<_>, Vec<_>) =
            catalog.of_project().partition(|agent| agent.definition.is_some());
        let files: Vec<ProjectFile> = sound.into_iter().map(of_agent).collect();
        let is_project = |problem: &&FileProblem| roots.iter().any(|root| problem.path.starts_with(root));
        let problems = catalog.problems().iter().filter(is_project).chain(catalog.unread_of_project());
        let problems = problems.cloned().collect();
        let mut survey = ProjectSurvey { roots, files, problems, ..ProjectSurvey::default() };
        unsound.into_iter().for_each(|agent| survey.withhold_one(of_agent(agent), withheld::HAS_ERRORS));
        survey
    }

    pub(super) fn add_rules(&mut self, files: Vec<RuleFileContents>, root: &str, trust: &TrustRecords) {
        for RuleFileContents { path, digest, rules, problems } in files {
            self.problems.extend(problems);
            let Some(digest) = digest else { continue };
            let path = below(root, &path);
            let stricter = rules.iter().filter(|rule| rule.decision != Verdict::Allow).count();
            let effect = format!("rules that ask or forbid: {stricter}; it can allow nothing");
            let consent = trust.consent(root, &path, &digest);
            let (root, kind) = (root.to_owned(), ProjectFileKind::Policy);
            self.files.push(ProjectFile {
                root,
                path,
                digest,
                consent,
                kind,
                effects: vec![effect],
                unasked: Vec::new(),
                marks: Vec::new(),
            });
        }
    }

    pub(super) fn add_settings(&mut self, file: Option<SettingsFile>, root: &str, trust: &TrustRecords) {
        let Some(SettingsFile { path, bytes }) = file else { return };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(found) => return self.problems.push(found),
        };
        let (settings, problems) = ProjectSettings::read(&path, &bytes);
        self.problems.extend(problems);
        let ProjectSettings {
            default_agent,
            auto_route,
            exclude,
            discovery_command,
            call_command,
            compression_enabled,
            compression_threshold,
            mcp_servers,
            memory_files,
            prompt_modules,
            // A problem of the file, which is told beside this.
            unknown_modules: _,
            unheld: _,
        } = settings;
        let (mut effects, mut unasked) = (Vec::new(), Vec::new());
        effects.extend(compression_enabled.map(|enabled| match enabled {
            true => "long contexts of runs here are summed up by themselves".to_owned(),
            false => "long contexts of runs here are not summed up by themselves".to_owned(),
        }));
        effects.extend(compression_threshold.map(|share| {
            format!("contexts of runs here count as long from {} of their model's window on", share)
        }));
        if let Some(agent) = default_agent {
            effects.push(sentence(format!("runs here that name no agent are `{agent}`'s")));
        }
        effects.extend(auto_route.map(|auto_route| match auto_route {
            true => "prompts for the agent `auto` go to the one whose trigger fits".to_owned(),
            false => "prompts for the agent `auto` go to the usual agent".to_owned(),
        }));
        if !exclude.is_empty() {
            let names = named(exclude.iter().map(|name| name.as_str()));
            effects.push(sentence(format!("no run here gets the tools {names}")));
        }
        effects.extend(memory_files.map(|names| {
            sentence(format!(
                "memory files of this workspace are called {}",
                named(names.iter().map(String::as_str))
            ))
        }));
        let without = prompt_modules.iter().filter(|(_, is_there)| !**is_there).map(|(module, _)| *module);
        let without: Vec<&str> = without.collect();
        if !without.is_empty() {
            let names = named(without.into_iter());
            effects.push(sentence(format!("the system prompt of runs here is without its parts {names}")));
        }
        for (name, server) in mcp_servers {
            let believed = if server.trust { BELIEVED } else { "" };
            let effect = format!(
                "agents here may use the tools of the MCP server `{name}`, {}{believed}",
                started(&server.transport)
            );
            unasked.push(effect.clone());
            effects.push(effect);
            self.servers.push((format!("the MCP server `{name}`"), server.transport));
        }
        let commands = &mut self.commands;
        commands.discovery = commands.discovery.take().or_else(|| discovery_command.clone());
        commands.call = commands.call.take().or_else(|| call_command.clone());
        effects.extend(discovery_command.map(|command| match command {
            Some(command) => {
                let effect = format!("`{command}` is run to tell tools of the workspace's own");
                unasked.push(effect.clone());
                effect
            }
            None => "no command is run to tell tools of the workspace's own".to_owned(),
        }));
        effects.extend(call_command.map(|command| match command {
            Some(command) => format!("`{command}` runs those tools"),
            None => "tools of the workspace's own cannot be called".to_owned(),
        }));
        let path = below(root, &path);
        let digest = digest(&bytes);
        let consent = trust.consent(root, &path, &digest);
        let (root, kind) = (root.to_owned(), ProjectFileKind::Settings);
        let marks = Vec::new();
        self.files.push(ProjectFile { root, path, digest, consent, kind, effects, unasked, marks });
    }

    pub(super) fn add_system_file(
        &mut self,
        bytes: Option<Result<Vec<u8>, FileProblem>>,
        root: &str,
        trust: &TrustRecords,
    ) {
        let bytes = match bytes {
            None => return,
            Some(Ok(bytes)) => bytes,
            Some(Err(found)) => return self.problems.push(found),
        };
        let (path, digest) = (SYSTEM_FILE.to_owned(), digest(&bytes));
        let consent = trust.consent(root, &path, &digest);
        let effect = "it replaces the system prompt of runs here where the setting prompt.systemFile is true";
        let (root, kind) = (root.to_owned(), ProjectFileKind::SystemPrompt);
        let effects = vec![effect.to_owned()];
        let (unasked, marks) = (Vec::new(), Vec::new());
        self.files.push(ProjectFile { root, path, digest, consent, kind, effects, unasked, marks });
    }

    /// Each is one folder, known by path, mode and bytes of all its files.
    pub(super) fn add_skills(
        &mut self,
        (skills, problems): (Vec<ProjectSkill>, Vec<FileProblem>),
        root: &str,
        trust: &TrustRecords,
    ) {
        self.problems.extend(problems);
        for skill in skills {
            let effects = effects_of_skill(&skill);
            let ProjectSkill { path, digest, name, problems, .. } = skill;
            let digest = match digest {
                Ok(digest) => digest,
                Err(fault) => {
                    let message = format!("{fault}: the skill `{name}` cannot be acknowledged");
                    self.problems.push(problem(&Path::new(root).join(path), None, Unreadable, message));
                    continue;
                }
            };
            // A name that is odd may be meant to be taken for another one.
            let is_told =
                |it: &FileProblem| it.severity == ProblemSeverity::Error || it.message.starts_with("`name`");
            self.problems.extend(problems.into_iter().filter(is_told));
            let consent = trust.consent(root, &path, &digest);
            let (root, kind, unasked, marks) =
                (root.to_owned(), ProjectFileKind::Skill, Vec::new(), Vec::new());
            self.files.push(ProjectFile { root, path, digest, consent, kind, effects, unasked, marks });
        }
    }

    /// The servers that agents bring along, in this workspace or anywhere.
    pub(super) fn add_servers_of(&mut self, catalog: &AgentCatalog) {
        for definition in catalog.definitions() {
            for (name, server) in &definition.mcp.own {
                let named = format!("the MCP server `{name}` of the agent `{}`", definition.name);
                self.servers.push((named, server.transport.clone()));
            }
        }
    }

    /// The files that commands and servers run, of the workspace's own settings or of the user's.
    pub(super) fn add_programs(
        &mut self,
        user: &DiscoveryCommands,
        environment: &[(OsString, OsString)],
        trust: &TrustRecords,
    ) {
        let ProjectCommands { discovery, call } = &self.commands;
        let (discovery, call) = (
            discovery.clone().unwrap_or_else(|| user.discovery.clone()),
            call.clone().unwrap_or_else(|| user.call.clone()),
        );
        let mut found: Vec<(ProjectProgram, Vec<String>)> = Vec::new();
        let mut add = |programs: Vec<ProjectProgram>, effect: String| {
            for program in programs {
                let is_same = |it: &ProjectProgram| (&it.root, &it.path) == (&program.root, &program.path);
                match found.iter_mut().find(|(it, _)| is_same(it)) {
                    Some((_, effects)) => effects.push(effect.clone()),
                    None => found.push((program, vec![effect.clone()])),
                }
            }
        };
        // Nothing is run unless there is something to be told.
        let tells = discovery.is_some();
        let alone = |discovery: Option<String>, call: Option<String>| {
            named_by(&self.roots, &DiscoveryCommands { discovery, call }, trust)
        };
        if let Some(command) = discovery {
            let effect = format!("tools.discoveryCommand runs it: `{command}`");
            add(alone(Some(command), None), effect);
        }
        if let Some(command) = call.filter(|_| tells) {
            let effect = format!("tools.callCommand runs it: `{command}`");
            add(alone(None, Some(command)), effect);
        }
        for (named, transport) in &self.servers {
            let places = (self.roots.as_slice(), self.roots.first().map(String::as_str));
            let programs = of_server(ServerOwner::Project, places, transport, environment, trust).programs;
            add(programs, format!("{named} is started with it: {}", started(transport)));
        }
        for (ProjectProgram { root, path, digest, consent, .. }, effects) in found {
            let Some(digest) = digest else {
                let message =
                    "is named by a command or a server and cannot be read, or is too large: that is not run"
                        .to_owned();
                self.problems.push(problem(&Path::new(&root).join(path), None, Unreadable, message));
                continue;
            };
            self.files.push(ProjectFile {
                root,
                path,
                digest,
                consent,
                kind: ProjectFileKind::Program,
                effects,
                // Said of the settings or the agent that have it run.
                unasked: Vec::new(),
                marks: Vec::new(),
            });
        }
    }

    /// Takes in files that somebody else knows of. What is known of one by two is told together.
    pub fn add(&mut self, files: impl IntoIterator<Item = ProjectFile>) {
        for file in files {
            let is_same = |it: &ProjectFile| (&it.root, &it.path) == (&file.root, &file.path);
            let known = self.files.iter().position(is_same);
            let ProjectFile { effects, unasked, marks, .. } = file.clone();
            match known.and_then(|at| self.files.get_mut(at)) {
                Some(known) => {
                    // It is acknowledged when it is for all that it does: hooks count only as they were seen last.
                    known.consent = known.consent.min(file.consent);
                    known.effects.extend(effects);
                    known.unasked.extend(unasked);
                    known.marks.extend(marks);
                }
                None => self.files.push(file),
            }
        }
        self.files.truncate(MOST_FILES);
        self.files.sort_by_key(|file| self.roots.iter().position(|root| *root == file.root));
    }

    pub(super) fn finish(mut self) -> ProjectSurvey {
        // Stable, so each kind keeps its order.
        self.files.sort_by_key(|file| self.roots.iter().position(|root| *root == file.root));
        if MOST_FILES < self.files.len() {
            let message = format!("brings {} files along; only {MOST_FILES} are shown", self.files.len());
            let root = self.files[MOST_FILES].root.clone();
            self.problems.push(problem(Path::new(&root), None, TooLarge, message));
            self.files.truncate(MOST_FILES);
        }
        self.problems.truncate(MOST_FILES);
        self
    }
}

fn effects_of_skill(skill: &ProjectSkill) -> Vec<String> {
    let ProjectSkill { name, description, files, executables, links, goes_before, is_broken, .. } = skill;
    if *is_broken {
        return vec![sentence(format!("none: the skill `{name}` has errors and is not used"))];
    }
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut effects = vec![
        sentence(format!(
            "agents here may be told what the skill `{name}` says, and read its files; its scripts run as any command"
        )),
        sentence(format!("models are told of it in these words: {description}")),
    ];
    effects.extend(
        goes_before.as_ref().map(|folder| {
            sentence(format!("it goes before your own skill `{name}` in {}", folder.display()))
        }),
    );
    let mut held = count(*files, "file", "files");
    if *executables != 0 {
        held.push_str(&format!(", {executables} of them executable"));
    }
    if *links != 0 {
        held.push_str(&format!(", {} within its folder", count(*links, "link", "links")));
    }
    effects.push(format!("it has {held}; `subagent skills show FOLDER` shows what it says"));
    effects
}

fn of_agent(agent: ProjectAgentFile<'_>) -> ProjectFile {
    let ProjectAgentFile { root, path, digest, consent, definition, .. } = agent;
    let (effects, unasked) = match definition {
        Some(definition) => effects_of(definition),
        None => (Vec::new(), Vec::new()),
    };
    ProjectFile {
        root: root.to_owned(),
        path: path.to_owned(),
        digest: digest.to_owned(),
        consent,
        kind: ProjectFileKind::Agent,
        effects,
        unasked,
        marks: Vec::new(),
    }
}

/// What changes with an agent, and those sentences of it by which something runs that nobody is asked about.
fn effects_of(definition: &AgentDefinition) -> (Vec<String>, Vec<String>) {
    let mut unasked = Vec::new();
    let AgentDefinition { name, tools, mcp, auto_approve, triggers, .. } = definition;
    let mut effects = vec![sentence(format!("the agent `{name}` may be started"))];
    if tools.inherits {
        effects.push(
            "it may use every tool there is, those that change files and run commands among them".to_owned(),
        );
    }
    effects.extend(match &tools.allow {
        None if tools.inherits => None,
        None => Some("it may use the tools that only read".to_owned()),
        Some(allow) if allow.is_empty() => (!tools.inherits).then(|| "it may use no tool".to_owned()),
        Some(allow) => Some(sentence(format!("it may use {}", widest_first(allow)))),
    });
    for (server, entry) in &mcp.own {
        let effect = format!(
            "each of its runs has an MCP server `{server}` of its own, {}{}",
            started(&entry.transport),
            if entry.trust { BELIEVED } else { "" }
        );
        unasked.push(effect.clone());
        effects.push(effect);
    }
    for effect in hooked(definition) {
        unasked.push(effect.clone());
        effects.push(effect);
    }
    if tools.agents {
        effects.push("it may call every agent that others may call".to_owned());
    }
    if !triggers.is_empty() {
        effects.push("prompts for the agent `auto` may go to it".to_owned());
    }
    if !auto_approve.is_empty() {
        let risks = auto_approve.iter().map(|risk| risk.as_str());
        let effect =
            sentence(format!("its calls of risk {} run without asking where no rule speaks", named(risks)));
        unasked.push(effect.clone());
        effects.push(effect);
    }
    (effects, unasked)
}

/// Patterns, which may mean anything, before names, each once: nothing wide hides behind many that are harmless.
fn widest_first(entries: &[ToolName]) -> String {
    let distinct: BTreeSet<&str> = entries.iter().map(ToolName::as_str).collect();
    let (patterns, names): (Vec<&str>, Vec<&str>) = distinct.into_iter().partition(|name| name.contains('*'));
    let every = patterns.contains(&"*");
    let listed = named(patterns.into_iter().chain(names).collect::<Vec<_>>().into_iter());
    if every { format!("{listed}: every tool and every agent there is") } else { listed }
}

fn named<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let n_more = names.len().saturating_sub(MOST_NAMES);
    let names: Vec<String> = names.take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    match n_more {
        0 => names.join(", "),
        _ => format!("{} and {n_more} more", names.join(", ")),
    }
}

/// Of what runs nothing, and is read for what it is about: it may be cut.
fn sentence(text: String) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        None => text,
        // Whoever puts something far to the right hopes that nobody sees it.
        Some((end, _)) => {
            let n_more = text[end..].chars().count();
            format!("{}… and {n_more} more characters: read the file before you trust it", &text[..end])
        }
    }
}
