//! What does a workspace bring along, and what of it counts? (spec 02, "Project agents are untrusted"; 11, "Untrusted
//! workspaces"; 12, "Settings")
//!
//! A cloned repository may hold agents, rules and settings. None of them counts until a person has acknowledged just those
//! bytes, and what counts then is still the weaker: rules only make things stricter, settings only take tools away and say
//! which agent is usual. This module reads all of it, each file once, so that what was acknowledged is what is used. It
//! never knows who is asked, or how the log keeps the answer.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use ::skills::SkillReader;
use agents::{AgentCatalog, AgentFileCache};
use config::{LARGEST_SYSTEM_FILE, ProjectSettings, decode, problem, read_bounded};
use policy::{self, RuleFile};
use protocol::{
    DiscoveryCommands, FileProblem,
    FileProblemCode::{BadValue, Unreadable},
    McpTransport, PolicyRule, PolicyTier,
};
use rules::{PROJECT_RULES, RuleFileContents, RulesInForce, WorkspaceRules, read_folder};
use sys::current::HotSwap;
use trust::{AcknowledgementState, TrustRecords, canonical, digest};

mod own_servers;
mod programs;
mod skills;
mod survey;

pub use self::skills::ProjectSkills;
pub use own_servers::{OwnServerFile, OwnServerFiles, OwnServerPlace};
use programs::ServerOwner;
pub use programs::{ProjectProgram, ServerPrograms, changed, digest_of_place};
pub use survey::{ProjectFile, ProjectFileKind, ProjectSurvey, WithheldFile};

/// Folders whose mistakes are told together, and mistakes: nobody mends more at once.
const MOST_FOLDERS: usize = 1_000;
const MOST_PROBLEMS: usize = 100;

/// A project's system prompt, below its root (spec 08, "Replacing").
const SYSTEM_FILE: &str = ".subagentd/system.md";

/// Largest settings file of a project; larger ones are slips.
const LARGEST_SETTINGS: u64 = 1024 * 1024;

/// Reads workspaces, as the people trust them at that moment. A cheap handle.
#[derive(Clone)]
pub struct ProjectReader {
    shared: Arc<ProjectReaderInner>,
}

struct ProjectReaderInner {
    agents: AgentFileCache,
    /// What `~` means in rule files.
    home: PathBuf,
    /// The daemon's own, for what is filled in where servers are named.
    environment: Vec<(OsString, OsString)>,
    rules: RulesInForce,
    skills: SkillReader,
    trust: HotSwap<TrustRecords>,
}

/// What holds in a workspace, besides what holds everywhere.
pub struct Project {
    pub catalog: Arc<AgentCatalog>,
    pub rules: WorkspaceRules,
    pub settings: ProjectSettings,
    /// Its folders: canonical, each once, those that are there.
    pub roots: Vec<String>,
    /// A person has trusted every one of them, and there is one.
    pub is_trusted: bool,
    /// Its settings name a command that would tell tools, and no person has acknowledged them as they are.
    pub names_unread_command: bool,
    /// MCP servers that its settings name, which do not count: no person has acknowledged them as they are, or trusted the
    /// workspace.
    pub unread_servers: BTreeSet<String>,
    /// What is wrong with its rules and settings, those that count and those that do not any more. Its agents tell their
    /// own.
    pub problems: Vec<FileProblem>,
    /// What it wants to stand in place of the system prompt's modules, where a person acknowledged just that; of several roots
    /// the first that has one.
    pub system_file: Option<ProjectSystemFile>,
    /// The reason why one does not count that a person acknowledged.
    pub unread_system_file: Option<FileProblem>,
    /// Its skills and the user's.
    pub skills: ProjectSkills,
}

impl Project {
    /// The folders and files that people trust by now.
    pub fn trust(&self) -> Arc<TrustRecords> {
        self.skills.trust()
    }

    /// The same workspace as if a person had trusted it as it is, to say beforehand what runs would be told. Nothing is started by it.
    pub fn as_if_trusted(&self) -> Project {
        Project {
            catalog: Arc::clone(&self.catalog),
            rules: WorkspaceRules::new(self.rules.in_force().clone(), self.rules.own().to_vec()),
            settings: self.settings.clone(),
            roots: self.roots.clone(),
            is_trusted: true,
            names_unread_command: self.names_unread_command,
            unread_servers: self.unread_servers.clone(),
            problems: self.problems.clone(),
            system_file: None,
            unread_system_file: None,
            skills: self.skills.clone(),
        }
    }

    /// Tells whether it was trusted when it was read, and nobody has taken that back.
    pub fn is_trusted_by_now(&self) -> bool {
        let trust = self.trust();
        self.is_trusted && self.roots.iter().all(|root| trust.is_trusted(root))
    }
}

/// A workspace's own system prompt.
pub struct ProjectSystemFile {
    pub path: PathBuf,
    pub text: String,
}

impl ProjectReader {
    /// `environment`: the daemon's own.
    pub fn new(
        agents: AgentFileCache,
        (home, environment): (PathBuf, Vec<(OsString, OsString)>),
        (rules, skills): (RulesInForce, SkillReader),
        trust: TrustRecords,
    ) -> ProjectReader {
        let trust = HotSwap::new(trust);
        ProjectReader {
            shared: Arc::new(ProjectReaderInner { agents, home, environment, rules, skills, trust }),
        }
    }

    /// What holds in a workspace with these folders. Blocks on the file system.
    pub fn load(&self, roots: &[PathBuf]) -> Project {
        let trust = self.trust();
        let catalog = self.shared.agents.catalog(roots, &trust);
        let there = distinct(roots);
        let contents = self.own(&there, &trust);
        let ProjectContents {
            rules,
            settings,
            names_unread_command,
            mut unread_servers,
            problems,
            system_file,
            unread_system_file,
        } = contents;
        let rules = WorkspaceRules::new(self.shared.rules.clone(), rules);
        let is_whole = !there.is_empty() && roots.iter().all(|root| canonical(root).is_some());
        let is_trusted = is_whole && there.iter().all(|root| trust.is_trusted(root));
        if !is_trusted {
            // Who acknowledged this one file has not trusted the workspace, whose programs these are.
            unread_servers.extend(settings.mcp_servers.keys().cloned());
        }
        Project {
            catalog,
            rules,
            settings,
            skills: ProjectSkills::new(self.clone(), &there),
            roots: there,
            is_trusted,
            names_unread_command,
            unread_servers,
            problems,
            system_file,
            unread_system_file,
        }
    }

    /// What is wrong with the rules and settings that people acknowledged, of every folder that is still there. Blocks on the
    /// file system.
    pub fn problems(&self) -> Vec<FileProblem> {
        let trust = self.trust();
        let mut problems = Vec::new();
        for (root, _) in trust.workspaces().take(MOST_FOLDERS) {
            if Path::new(root).is_dir() {
                problems.extend(self.own(&[root.to_owned()], &trust).problems);
            }
            if MOST_PROBLEMS <= problems.len() {
                break;
            }
        }
        problems.truncate(MOST_PROBLEMS);
        problems
    }

    /// What counts of these folders' own files.
    fn own(&self, roots: &[String], trust: &TrustRecords) -> ProjectContents {
        let mut own = ProjectContents::default();
        for root in roots {
            own.take_rules(self.rule_files(root), root, trust, &self.shared.home);
            own.take_settings(settings_file(root), root, trust, &self.shared.home);
            own.take_system_file(root, trust);
        }
        own
    }

    /// What a workspace with these folders brings along, whoever trusts it. Blocks on the file system.
    /// `user`: the commands of the user's own settings, which hold where the workspace names none.
    pub fn survey(&self, roots: &[PathBuf], user: &DiscoveryCommands) -> ProjectSurvey {
        let trust = self.trust();
        let roots = distinct(roots);
        let folders: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let catalog = self.shared.agents.catalog(&folders, &trust);
        let mut survey = ProjectSurvey::of_agents(roots.clone(), &catalog);
        for root in &roots {
            survey.add_rules(self.rule_files(root), root, &trust);
            survey.add_settings(settings_file(root), root, &trust);
            survey.add_system_file(system_file(root), root, &trust);
            survey.add_skills(self.shared.skills.of_project(root), root, &trust);
        }
        survey.add_servers_of(&catalog);
        survey.add_programs(user, &self.shared.environment, &trust);
        survey.finish()
    }

    /// The files of a workspace that these commands run, and whether they count. Blocks on the file system.
    pub fn programs(&self, roots: &[String], commands: &DiscoveryCommands) -> Vec<ProjectProgram> {
        programs::named_by(roots, commands, &self.trust())
    }

    /// The files of a workspace that are run, or named, where this server is started. Blocks on the file system.
    pub fn programs_of_server(&self, roots: &[String], transport: &McpTransport) -> ServerPrograms {
        let base = roots.first().map(String::as_str);
        let owner = ServerOwner::Project;
        programs::of_server(owner, (roots, base), transport, &self.shared.environment, &self.trust())
    }

    /// Every agent file that was read.
    pub fn agents(&self) -> &AgentFileCache {
        &self.shared.agents
    }

    pub fn rules(&self) -> &RulesInForce {
        &self.shared.rules
    }

    /// Every skill that was read.
    pub fn skills(&self) -> &SkillReader {
        &self.shared.skills
    }

    pub fn trust(&self) -> Arc<TrustRecords> {
        self.shared.trust.get()
    }

    /// Whom people trust from now on, after the log was told. Whoever changes it sees to it that nobody else does meanwhile.
    pub fn replace_trust(&self, trust: TrustRecords) {
        self.shared.trust.replace(trust);
    }

    fn rule_files(&self, root: &str) -> Vec<RuleFileContents> {
        read_folder(&Path::new(root).join(PROJECT_RULES), PolicyTier::Project, &self.shared.home)
    }
}

/// What counts of all roots.
#[derive(Default)]
struct ProjectContents {
    rules: Vec<PolicyRule>,
    settings: ProjectSettings,
    names_unread_command: bool,
    unread_servers: BTreeSet<String>,
    problems: Vec<FileProblem>,
    system_file: Option<ProjectSystemFile>,
    unread_system_file: Option<FileProblem>,
}

impl ProjectContents {
    /// Takes the rules that were acknowledged. Where acknowledged ones are not what they were, nobody knows what they would
    /// forbid, so everything that is not safe asks until a person has looked.
    fn take_rules(&mut self, files: Vec<RuleFileContents>, root: &str, trust: &TrustRecords, home: &Path) {
        let in_folder = format!("{PROJECT_RULES}/");
        let acknowledged: BTreeSet<String> =
            trust.files(root).map(|file| file.path).filter(|path| path.starts_with(&in_folder)).collect();
        let mut met = BTreeSet::new();
        for file in files {
            let path = below(root, &file.path);
            met.insert(path.clone());
            let consent = match &file.digest {
                Some(digest) => trust.consent(root, &path, digest),
                // Of a folder that cannot be read: whatever was acknowledged in it.
                None if acknowledged.contains(&path) || path == PROJECT_RULES && !acknowledged.is_empty() => {
                    AcknowledgementState::Before
                }
                None => AcknowledgementState::Never,
            };
            match consent {
                AcknowledgementState::Now => {
                    self.rules.extend(file.rules);
                    self.problems.extend(file.problems);
                }
                AcknowledgementState::Before => {
                    self.stand_in(
                        &file.path,
                        "has changed since it was acknowledged, or cannot be read",
                        home,
                    );
                }
                AcknowledgementState::Never => (),
            }
        }
        for path in acknowledged.difference(&met) {
            self.stand_in(&Path::new(root).join(path), "was acknowledged, and is gone", home);
        }
    }

    fn stand_in(&mut self, path: &Path, what: &str, home: &Path) {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let file = RuleFile { tier: PolicyTier::Project, path, name: &name, home };
        self.rules.extend(policy::unread(&file));
        let message = format!("{what}: until a person looks at it, everything here that is not safe asks");
        let fix = Some("`subagent trust` shows the workspace's files".to_owned());
        self.problems.push(FileProblem { fix, ..problem(path, None, BadValue, message) });
    }

    /// Takes the settings that were acknowledged. Where acknowledged ones are not what they were, nobody knows which tools
    /// they took away: what they take away now is taken, and the rest asks until a person has looked.
    fn take_settings(&mut self, file: Option<SettingsFile>, root: &str, trust: &TrustRecords, home: &Path) {
        let consent = |digest: &str| trust.consent(root, ProjectSettings::FILE, digest);
        // No file has this digest, so it says whether any was acknowledged.
        let was_acknowledged = consent("") == AcknowledgementState::Before;
        let Some(SettingsFile { path, bytes }) = file else {
            if was_acknowledged {
                self.stand_in(
                    &Path::new(root).join(ProjectSettings::FILE),
                    "was acknowledged, and is gone",
                    home,
                );
            }
            return;
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(found) => {
                if was_acknowledged {
                    self.problems.push(found);
                    self.stand_in(&path, "was acknowledged, and cannot be read", home);
                }
                return;
            }
        };
        let consent = consent(&digest(&bytes));
        let (settings, problems) = ProjectSettings::read(&path, &bytes);
        let auto_route = settings.auto_route;
        let ProjectSettings { default_agent, exclude, discovery_command, call_command, mcp_servers, .. } =
            settings;
        let (enabled, threshold) = (settings.compression_enabled, settings.compression_threshold);
        let names_command = discovery_command.as_ref().is_some_and(Option::is_some);
        self.names_unread_command |= names_command && consent != AcknowledgementState::Now;
        if consent != AcknowledgementState::Now {
            self.unread_servers.extend(mcp_servers.keys().cloned());
        }
        if consent == AcknowledgementState::Never {
            return;
        }
        self.settings.exclude.extend(exclude);
        if consent == AcknowledgementState::Before {
            return self.stand_in(&path, "has changed since it was acknowledged", home);
        }
        self.problems.extend(problems);
        let own = &mut self.settings;
        own.default_agent = own.default_agent.take().or(default_agent);
        own.auto_route = own.auto_route.or(auto_route);
        own.discovery_command = own.discovery_command.take().or(discovery_command);
        own.call_command = own.call_command.take().or(call_command);
        own.compression_enabled = own.compression_enabled.or(enabled);
        own.compression_threshold = own.compression_threshold.or(threshold);
        for (name, server) in mcp_servers {
            own.mcp_servers.entry(name).or_insert(server);
        }
        own.memory_files = own.memory_files.take().or(settings.memory_files);
        for (module, is_there) in settings.prompt_modules {
            own.prompt_modules.entry(module).or_insert(is_there);
        }
        own.unknown_modules.extend(settings.unknown_modules);
        own.unheld.extend(settings.unheld);
    }

    /// Takes the system prompt that was acknowledged. One that is another since is told, and does not count.
    fn take_system_file(&mut self, root: &str, trust: &TrustRecords) {
        // No file has this digest, so it says whether any was acknowledged.
        if trust.consent(root, SYSTEM_FILE, "") != AcknowledgementState::Before {
            return;
        }
        let path = Path::new(root).join(SYSTEM_FILE);
        let bytes = match system_file(root) {
            Some(Ok(bytes)) => bytes,
            Some(Err(found)) => return self.leave_system_file(found),
            // Whoever took it away knows that, and it is nothing to be acknowledged.
            None => {
                let message = "was acknowledged and is gone, so it does not count";
                self.unread_system_file.get_or_insert(problem(&path, None, Unreadable, message));
                return;
            }
        };
        if trust.consent(root, SYSTEM_FILE, &digest(&bytes)) != AcknowledgementState::Now {
            let message =
                "has changed since it was acknowledged: it does not count until a person looks at it";
            let fix = Some("`subagent trust` shows the workspace's files".to_owned());
            let found = FileProblem { fix, ..problem(&path, None, BadValue, message) };
            return self.leave_system_file(found);
        }
        match decode(&path, &bytes) {
            Ok(text) => {
                let file = ProjectSystemFile { text: text.to_owned(), path };
                self.system_file.get_or_insert(file);
            }
            Err(found) => self.leave_system_file(found),
        }
    }

    fn leave_system_file(&mut self, found: FileProblem) {
        self.unread_system_file.get_or_insert_with(|| found.clone());
        self.problems.push(found);
    }
}

/// A project's settings file that is there.
struct SettingsFile {
    path: PathBuf,
    bytes: Result<Vec<u8>, FileProblem>,
}

fn settings_file(root: &str) -> Option<SettingsFile> {
    let path = Path::new(root).join(ProjectSettings::FILE);
    let bytes = read_bounded(&path, LARGEST_SETTINGS).transpose()?;
    Some(SettingsFile { path, bytes })
}

/// The bytes of a project's system prompt; `None` = it has none.
fn system_file(root: &str) -> Option<Result<Vec<u8>, FileProblem>> {
    read_bounded(&Path::new(root).join(SYSTEM_FILE), LARGEST_SYSTEM_FILE).transpose()
}

/// The canonical paths of the folders that are there, each once.
fn distinct(roots: &[PathBuf]) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for root in roots.iter().filter_map(|root| canonical(root)) {
        if !distinct.contains(&root) {
            distinct.push(root);
        }
    }
    distinct
}

/// A path below a root, in words.
fn below(root: &str, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
