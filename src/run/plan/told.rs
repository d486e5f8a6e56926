//! What is a run told before its first message: the system prompt, and what the workspace says? Put together once, when the run
//! is planned, and kept in its first event (spec 08).

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    ImportRules, PlanError, RunPlan, memory, skills,
    told_sources::{BODY, ImportedFile, SYSTEM_APPEND, SYSTEM_FILE, sources},
};
use crate::{
    child::CallableAgents,
    resources::{PromptRules, RunResources},
};
use ::memory::{MemoryFile, MemoryFileState, MemoryImport, SHOWN_TO_HOOKS};
use ::skills::{ActivatedSkill, Skill, SkillState};
use config::SystemFileChoice;
use hooks::KnownTools;
use project::Project;
use prompts::{
    AgentEntry, ConfinementFacts, ContextBlock, ModuleSwitches, PromptFacts, PromptModule, PromptPart,
    SystemFile, context_message, environment, exported, joined, modules,
};
use protocol::{AgentDefinition, ContextMessage, PromptSources, SandboxProfile, Timestamp};
use sandbox::SandboxMechanism;
use sys::ids;
use tools::{ACTIVATE_SKILL, CommandRules, RunToolset, Workspace, outline};

/// Entries of the folder tree (spec 08, "Context message").
const MOST_ENTRIES: usize = 200;
/// Tools that look into the workspace: whoever has none of them is told nothing of its folders.
const LOOKING: [&str; 6] =
    ["list_directory", "read_file", "read_many_files", "glob", "grep", "run_shell_command"];
const SHELL: &str = "run_shell_command";
/// The parts that are skills.
const SKILL: &str = "skill";
/// The user's own system prompt, beside their settings.
const USUAL_FILE: &str = "system.md";
/// The parts that are memory files.
const MEMORY: &str = "memory";
/// The parts that are what memory files import.
const IMPORT: &str = "import";
/// The reason why a memory file is left out that would be told otherwise.
const UNTRUSTED: &str = "nobody has trusted this workspace (`subagent trust`)";
/// The reason why a memory file of a sub-folder is not told at the beginning.
pub const MEMORY_BELOW: &str = "told with the first call that comes into its folder";
/// The reason why an agent is told of no skill.
const NO_SKILL_TOOL: &str = "the agent does not have the tool `activate_skill`";
/// Skills whose absence is explained.
const MOST_OFF: usize = 50;
/// Files that one warning names.
const MOST_NAMED: usize = 8;
/// The rule for parts that disagree.
const REMARK: &str = "Where two parts disagree, the later one, which is nearer, counts.";
/// Where the words of an agent's body come from.
const OWN_TEXT: &str = "the agent's own text";

/// Whether a run's model is told anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptExtent {
    /// All there is. `append`: what its session has system prompts end with.
    /// `skills`: which it begins with beside those of the agent's file.
    /// `is_first`: nobody was told yet in its session what is left out because nobody trusts the workspace, or has acknowledged it.
    Whole { append: Option<String>, skills: Vec<String>, is_first: bool },
    /// The agent's text alone: no model reads it.
    Bare,
}

impl PromptExtent {
    /// All there is, of a run that another one calls.
    pub(super) fn of_child() -> PromptExtent {
        PromptExtent::Whole { append: None, skills: Vec::new(), is_first: false }
    }
}

/// What a run is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunPrompt {
    pub system: String,
    /// Stands before the history in each request.
    pub context: Option<ContextMessage>,
    pub parts: Vec<PromptPart>,
    /// What people should know of it.
    pub warnings: Vec<String>,
    /// The skills that it begins with.
    pub skills: Vec<ActivatedSkill>,
    /// The memory files that it is told.
    pub memory: Vec<PathBuf>,
    /// The sources of all of it.
    pub sources: PromptSources,
    /// The modules, as a file that could stand in their place; of an agent that has them.
    pub exported: Option<String>,
}

/// Whom it is told to, and where.
pub(crate) struct PromptSubject<'a> {
    pub definition: &'a AgentDefinition,
    pub toolset: &'a RunToolset,
    pub callables: &'a CallableAgents,
    pub project: &'a Project,
    /// `None` = there is none.
    pub workspace: Option<&'a Workspace>,
    pub roots: &'a [String],
    pub model: &'a str,
    pub commands: &'a CommandRules,
    pub is_interactive: bool,
    pub extent: &'a PromptExtent,
    /// The files that the workspace's memory may import for it.
    pub imports: &'a ImportRules,
    pub supplies: &'a RunResources,
}

impl PromptSubject<'_> {
    /// Puts it together; `values` fill the agent's text, `today` is a date. Reads the file system. Secrets are taken out of all but the parts.
    pub fn tell(&self, values: &Map<String, Value>, today: &str) -> Result<RunPrompt, PlanError> {
        let PromptSubject { definition, supplies, .. } = *self;
        let mut told = RunPrompt::default();
        let body = agents::fill(&definition.prompt, values)?;
        let mut has_skills = false;
        if definition.prompt_modules {
            has_skills = self.tell_modules(&mut told)?;
            if !body.trim().is_empty() {
                let text = format!("# {}\n{}", definition.title, body.trim_end());
                told.parts.push(PromptPart::new(BODY, OWN_TEXT, text));
            }
        } else if !body.trim().is_empty() {
            told.parts.push(PromptPart::new(BODY, OWN_TEXT, body.trim_end().to_owned()));
        }
        let environment = environment(today, self.roots);
        told.parts.push(PromptPart::new("environment", "the daemon", environment));
        let redactor = &supplies.redactor;
        let PromptExtent::Whole { append, skills, is_first } = self.extent else {
            told.system = redactor.owned(joined(&told.parts));
            told.sources =
                sources(&told.system, &told.parts, definition.prompt_modules, (Vec::new(), Vec::new()), 0);
            return Ok(told);
        };
        if !has_skills {
            let catalogue = prompts::skills(&self.facts(&supplies.defaults.prompt));
            let source = self.skill_files();
            told.parts.extend(catalogue.map(|text| PromptPart::new("skills", &source, text)));
        }
        if let Some(append) = append {
            told.parts.push(PromptPart::new(SYSTEM_APPEND, "the session", append.clone()));
        }
        told.system = redactor.owned(joined(&told.parts));
        told.skills = self.given(skills, &mut told.warnings)?;
        let MemoryTold { mut blocks, untrusted, left, imported } = self.blocks(*is_first, &mut told.warnings);
        if *is_first && !untrusted.is_empty() {
            told.warnings.push(left_out("memory files", UNTRUSTED, &untrusted));
        }
        let is_memory = |block: &&ContextBlock| block.kind == MEMORY;
        told.memory = blocks.iter().filter(is_memory).map(|block| PathBuf::from(&block.source)).collect();
        blocks.extend(told.skills.iter().map(|skill| ContextBlock {
            kind: SKILL.to_owned(),
            source: skill.folder.display().to_string(),
            text: skill.told(),
        }));
        for ContextBlock { kind, source, text } in &blocks {
            let source = if source.is_empty() { "the workspace" } else { source };
            told.parts.push(PromptPart::new(kind, source, text.clone()));
        }
        told.parts.extend(left);
        // As the model reads them: a digest of what is hidden would tell it to whoever tries.
        let memory = blocks.iter().filter(is_memory);
        let memory = memory.map(|block| (block.source.clone(), redactor.owned(block.text.clone()))).collect();
        told.sources = sources(
            &told.system,
            &told.parts,
            definition.prompt_modules,
            (memory, imported),
            told.skills.len(),
        );
        self.tell_of_skills_left_out(&mut told, *is_first);
        let n_files = blocks.iter().filter(|block| block.kind == MEMORY).count();
        let remark = if n_files < 2 { "" } else { REMARK };
        told.context =
            context_message(&blocks, remark).map(|text| redactor.message(ContextMessage::user(text)));
        told.warnings.iter_mut().for_each(|text| *text = redactor.owned(std::mem::take(text)));
        Ok(told)
    }

    /// Answers whether the skills stand in it.
    fn tell_modules(&self, told: &mut RunPrompt) -> Result<bool, PlanError> {
        let rules = &self.supplies.defaults.prompt;
        let mut unknown = rules.unknown_modules.iter().chain(&self.project.settings.unknown_modules);
        if let Some(module) = unknown.next() {
            return Err(PlanError::UnknownModule(module.clone()));
        }
        let (facts, switches) = (self.facts(rules), self.switches(rules));
        told.exported = Some(exported(&facts, &switches));
        let Some(file) = self.system_file(rules)? else {
            told.parts.extend(modules(&facts, &switches));
            return Ok(false);
        };
        let filled = file.fill(&facts);
        let path = file.path.display().to_string();
        told.warnings.extend(filled.unknown.iter().map(|name| {
            format!(
                "the system prompt {path} names `${{{name}}}`, which means nothing there; it stays as it is"
            )
        }));
        told.parts.push(PromptPart::new(SYSTEM_FILE, &path, filled.text));
        Ok(filled.has_skills)
    }

    /// What the user says, and in its place what the workspace says.
    fn switches(&self, rules: &PromptRules) -> ModuleSwitches {
        let mut switches = rules.switches.clone();
        for (name, is_on) in &self.project.settings.prompt_modules {
            if let Some(module) = PromptModule::named(name) {
                let by = format!("prompt.modules.{name} of the workspace's settings");
                switches.switch(module, *is_on, &by);
            }
        }
        switches
    }

    fn system_file(&self, rules: &PromptRules) -> Result<Option<SystemFile>, PlanError> {
        let file = match (&rules.system_file, &self.project.system_file) {
            (SystemFileChoice::Off, _) => return Ok(None),
            (SystemFileChoice::File(path), _) => SystemFile::read(&super::memory::at_home(path))?,
            (SystemFileChoice::Usual, Some(own)) => SystemFile::new(&own.path, &own.text),
            (SystemFileChoice::Usual, None) => SystemFile::read(&usual_file(self.supplies))?,
        };
        Ok(Some(file))
    }

    fn facts(&self, rules: &PromptRules) -> PromptFacts {
        let agents = self.callables.iter().map(|agent| AgentEntry {
            name: agent.definition.name.to_string(),
            description: agent.definition.description.clone().unwrap_or_default(),
        });
        let tools: Vec<String> = self.toolset.declarations().map(|tool| tool.name.to_string()).collect();
        // An agent that is excluded is no tool either.
        let agents = agents.filter(|agent| tools.contains(&agent.name)).collect();
        PromptFacts {
            is_interactive: self.is_interactive,
            model: self.model.to_owned(),
            agents,
            skills: match tools.iter().any(|tool| tool == ACTIVATE_SKILL) {
                true => self.project.skills.catalog().lines().to_owned(),
                false => String::new(),
            },
            commands: tools.iter().any(|tool| tool == SHELL).then(|| self.confinement()),
            tools,
            is_repository: self.project.roots.iter().any(|root| is_in_repository(Path::new(root))),
            saves_shell_output: rules.saves_shell_output,
        }
    }

    /// The files of the skills that models are told of.
    fn skill_files(&self) -> String {
        let catalog = self.project.skills.catalog();
        let ready = catalog.all().filter(|skill| skill.state == SkillState::Ready);
        let files: Vec<String> = ready.map(|skill| skill.folder().display().to_string()).collect();
        let more = files.len().saturating_sub(MOST_NAMED);
        let named = files[..files.len() - more].join(", ");
        if more == 0 { named } else { format!("{named} and {more} more") }
    }

    /// The skills that it begins with. One that the agent's file names and that cannot be had is told; one that whoever starts
    /// it names keeps it from beginning.
    fn given(&self, asked: &[String], warnings: &mut Vec<String>) -> Result<Vec<ActivatedSkill>, PlanError> {
        let mut given: Vec<ActivatedSkill> = Vec::new();
        for name in asked {
            if given.iter().all(|known| known.name != *name) {
                let skill = skills::given(self.project, name, &given)?;
                given.push(skill);
            }
        }
        for name in &self.definition.skills {
            if given.iter().any(|known| known.name == *name) {
                continue;
            }
            match skills::given(self.project, name, &given) {
                Ok(skill) => given.push(skill),
                Err(problem) => warnings.push(format!("`skills` of its file: {problem}")),
            }
        }
        Ok(given)
    }

    /// The skills that an agent which could have some is not told of, and why not.
    fn tell_of_skills_left_out(&self, told: &mut RunPrompt, is_first: bool) {
        let catalog = self.project.skills.catalog();
        let has_tool = self.toolset.declarations().any(|tool| tool.name.as_str() == ACTIVATE_SKILL);
        let given: Vec<String> = told.skills.iter().map(|skill| skill.name.clone()).collect();
        let off = |skill: &Skill| {
            let is_given = given.iter().any(|name| name == skill.name());
            let without_tool = || (!has_tool && !is_given).then(|| NO_SKILL_TOOL.to_owned());
            let why = skills::why_untold(skill).or_else(without_tool)?;
            Some(PromptPart::off(SKILL, &skill.folder().display().to_string(), &why))
        };
        told.parts.extend(catalog.all().filter_map(off).take(MOST_OFF));
        if !skills::is_wanted(self.definition) {
            return;
        }
        for (state, why) in [
            (SkillState::Unread, "nobody has acknowledged them (`subagent trust`)"),
            (SkillState::Changed, "they have changed since they were acknowledged (`subagent trust`)"),
        ] {
            let names: Vec<String> = catalog
                .all()
                .filter(|skill| skill.state == state)
                .map(|skill| skill.name().to_owned())
                .collect();
            if is_first && !names.is_empty() {
                told.warnings.push(left_out("skills", why, &names));
            }
        }
    }

    fn confinement(&self) -> ConfinementFacts {
        let rules = &self.commands.confinement;
        let mechanism = match (rules.profile, self.supplies.commands.sandbox.known_mechanism()) {
            (SandboxProfile::Full, _) | (_, Some(SandboxMechanism::Nothing(_))) => {
                return ConfinementFacts::Unconfined;
            }
            (_, Some(mechanism)) => mechanism.name(),
            // Whoever plans a run waits until it is known.
            (_, None) => "a sandbox",
        };
        ConfinementFacts::Confined {
            mechanism: mechanism.to_owned(),
            profile: rules.profile,
            has_network: rules.network,
        }
    }

    /// What the workspace says, in the order in which it stands, and its memory files that nobody is told of.
    /// `is_first`: nobody was told yet in its session what is not imported since hooks would be shown it.
    fn blocks(&self, is_first: bool, warnings: &mut Vec<String>) -> MemoryTold {
        let looks = self.toolset.declarations().any(|tool| LOOKING.contains(&tool.name.as_str()));
        let (mut blocks, mut untrusted, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut imported = Vec::new();
        if let Some(workspace) = self.workspace.filter(|_| looks) {
            let text = outline(workspace, MOST_ENTRIES);
            // Of an empty folder there is nothing to be said that the environment does not say.
            if text.lines().count() > self.roots.len() {
                blocks.push(ContextBlock { kind: "folders".to_owned(), source: String::new(), text });
            }
        }
        if !self.definition.omits_memory {
            let found = memory(self.project, self.supplies, self.imports);
            blocks.extend(found.used().filter(|file| !file.text.trim().is_empty()).map(|file| {
                ContextBlock {
                    kind: MEMORY.to_owned(),
                    source: file.path.display().to_string(),
                    text: file.text.clone(),
                }
            }));
            let waits = |file: &&MemoryFile| file.state == MemoryFileState::Untrusted;
            untrusted.extend(found.files.iter().filter(waits).map(|file| file.path.display().to_string()));
            left.extend(found.files.iter().filter_map(memory_left).take(MOST_OFF));
            left.extend(found.imports.iter().map(import_told).take(MOST_OFF));
            let is_told = |import: &&MemoryImport| import.left.is_none();
            imported.extend(found.imports.iter().filter(is_told).map(|it| ImportedFile {
                path: it.path.display().to_string(),
                by: it.by.display().to_string(),
            }));
            let is_told = |text: &String| is_first || !text.contains(SHOWN_TO_HOOKS);
            warnings.extend(found.warnings.into_iter().filter(is_told));
        }
        MemoryTold { blocks, untrusted, left, imported }
    }
}

/// Everything that the workspace says.
struct MemoryTold {
    blocks: Vec<ContextBlock>,
    /// Memory files that wait for trust.
    untrusted: Vec<String>,
    /// Files that are not told, and what those that are told import.
    left: Vec<PromptPart>,
    /// Files that the memory files which are told import.
    imported: Vec<ImportedFile>,
}

/// A memory file that is not told, and why.
pub(crate) fn memory_left(file: &MemoryFile) -> Option<PromptPart> {
    let why = match &file.state {
        MemoryFileState::Used => return None,
        MemoryFileState::Untrusted => UNTRUSTED.to_owned(),
        MemoryFileState::Shadowed { by } => format!("{} counts", by.display()),
        MemoryFileState::Skipped(why) => why.clone(),
        MemoryFileState::Dropped => "there was no room for it: nearer files are longer".to_owned(),
        MemoryFileState::Below => MEMORY_BELOW.to_owned(),
    };
    Some(PromptPart::off(MEMORY, &file.path.display().to_string(), &why))
}

/// A file that a memory file imports, which is weighed with that.
fn import_told(import: &MemoryImport) -> PromptPart {
    let place = format!("{}, in {}", import.path.display(), import.by.display());
    match &import.left {
        Some(why) => PromptPart::off(IMPORT, &place, why),
        None => PromptPart::new(IMPORT, &place, String::new()),
    }
}

impl RunPlan {
    /// The first run of a session says which hooks do nothing until a person has looked. Guards say it themselves: they fail.
    pub(super) fn tell_of_resting_hooks(&mut self, extent: &PromptExtent) {
        if matches!(extent, PromptExtent::Whole { is_first: true, .. }) {
            let equipment = &self.resources.equipment;
            let redactor = &equipment.supplies.redactor;
            let tools = KnownTools {
                agents: equipment.project.catalog.definitions().map(|agent| agent.name.clone()).collect(),
                tools: equipment.toolset.tools().map(|tool| tool.declaration().name.clone()).collect(),
            };
            let mut told = equipment.hooks.resting(MOST_NAMED);
            told.extend(equipment.hooks.idle(&tools, MOST_NAMED));
            self.prompt_warnings.extend(told.into_iter().map(|text| redactor.owned(text)));
        }
    }

    /// Writes the modules where somebody wants to read them (`SUBAGENTD_WRITE_SYSTEM_MD`).
    pub(super) fn write_modules_out(&mut self) {
        let written_to = &self.resources.equipment.supplies.defaults.prompt.written_to;
        let (Some(path), Some(text)) = (written_to, self.exported.take()) else { return };
        if let Err(error) = write(path, &text) {
            let warning = format!("the system prompt could not be written to {}: {error}", path.display());
            self.prompt_warnings.push(warning);
        }
    }
}

fn left_out(what: &str, why: &str, all: &[String]) -> String {
    let names: Vec<&str> = all.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = match all.len() - names.len() {
        0 => String::new(),
        n_more => format!(" and {n_more} more"),
    };
    format!("{what} are not told, since {why}: {}{more}", names.join(", "))
}

/// The day of a moment, as `2026-01-31`.
pub(crate) fn date(now: Timestamp) -> String {
    now.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// What templates may name besides an agent's inputs.
pub(crate) fn daemon_values(today: &str, roots: &[String], model: &str) -> Map<String, Value> {
    let values = [
        ("today", today.to_owned()),
        ("workspace", roots.join(", ")),
        ("activeModel", model.to_owned()),
        ("daemonVersion", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Where the modules are written when nobody says otherwise, and what is read as the user's own system prompt.
fn usual_file(supplies: &RunResources) -> std::path::PathBuf {
    supplies.own_files.memory_folder().join(USUAL_FILE)
}

/// True if the folder or one above it has a `.git`, which is a folder or, in a worktree, a file.
fn is_in_repository(root: &Path) -> bool {
    root.ancestors().any(|folder| fs::symlink_metadata(folder.join(".git")).is_ok())
}

/// Writes the modules out, whole or not at all. The draft is a new file of a name that nobody knows before: no link that
/// stands there already is followed, and runs that begin at once write drafts of their own.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.tmp", ids::fresh::<String>()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&draft)?;
    file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, path)).inspect_err(|_| {
        // What could not be written is no harm beside what is told already.
        let _gone = fs::remove_file(&draft);
    })
}
