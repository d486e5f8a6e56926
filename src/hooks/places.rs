//! From which files are hooks read, and which of them count?
//!
//! | place | read |
//! |---|---|
//! | `hooks` of the system's and the user's settings | always |
//! | of four files below each root | once a person acknowledged just these bytes |
//! | of an agent's file | in its runs, trusted with the file |
//! | of Claude Code's and Codex's own files in the home | if `hooks.places` names them; else only listed |

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use self::{
    failing::{GuardedByFile, changed, changed_reason, failing_guard, guards_of, guards_of_unreadable},
    telling::{effect, gone, mistake_of, mistake_of_hooks, nothing_in, problem_of_gone},
};
use super::{
    Hook, HookContract, HookFailurePolicy, HookHandler, HookId, HookOrigin, HookSet, HookState,
    WorkspaceReach,
    condition::HookCondition,
    document::{DocumentContent, DocumentNode},
    event,
    matcher::HookMatcher,
    pins::{PinContext, PinnedPrograms},
    reach::{self, HookText},
    reading::{self, ReadingPlace},
};
use config::read_bounded;
use protocol::{
    AcknowledgedAgentFile, AgentName, FileProblem, FileProblemCode, HookEventName, ProblemSeverity,
};
use sys::mark::problem;
use trust::{AcknowledgementState, TrustRecords, digest};

/// Largest file of hooks; larger ones are slips.
const LARGEST: u64 = 1024 * 1024;

/// Files below a root, and whose contract counts in them.
pub(super) const PROJECT_FILES: &[(&str, HookContract)] = &[
    (".subagentd/settings.json", HookContract::Claude),
    (".claude/settings.json", HookContract::Claude),
    (".claude/settings.local.json", HookContract::Claude),
    (".codex/hooks.json", HookContract::Codex),
];

/// Files below the home, and the word in `hooks.places` that makes them count.
pub(super) const HOME_FILES: &[(&str, HookContract, &str)] = &[
    (".claude/settings.json", HookContract::Claude, "claude"),
    (".codex/hooks.json", HookContract::Codex, "codex"),
];

/// The files of other products below a home that have hooks of its user.
pub fn home_files(home: &Path) -> impl Iterator<Item = PathBuf> {
    HOME_FILES.iter().map(|(path, ..)| home.join(path))
}

/// The place where hooks are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookPlaces {
    /// `/etc/subagentd/settings.json`.
    pub system_file: Option<PathBuf>,
    /// The user's `settings.json`.
    pub user_file: Option<PathBuf>,
    pub home: PathBuf,
    /// The setting `hooks.places`: `claude`, `codex`.
    pub other_products: Vec<String>,
    /// The workspace's folders, canonical.
    pub roots: Vec<String>,
    /// Folders in which programs are found by their names.
    pub program_folders: Vec<PathBuf>,
    /// The user's `disableAllHooks`: only the system's hooks are left.
    pub disable_all: bool,
    /// Ids that a person switched off; the system's cannot be.
    pub disabled: Vec<String>,
}

/// The `hooks` of an agent's file.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentHooks {
    pub agent: AgentName,
    pub file: PathBuf,
    /// The same as the front matter has them.
    pub hooks: Value,
    /// The file counts: it is the user's own, or a person acknowledged it.
    pub is_trusted: bool,
    /// The state of a workspace's file from which a run of it began; when that is not the last that people acknowledged any more, all of
    /// these rest, and those that guard fail.
    pub begun_from: Option<AcknowledgedAgentFile>,
}

/// A file of a workspace that runs something by hooks, for whoever asks a person to acknowledge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectHookFile {
    pub root: String,
    /// Below the root.
    pub path: String,
    /// `sha256:…`
    pub digest: String,
    pub consent: AcknowledgementState,
    /// It has hooks; else it is a program that hooks run.
    pub has_hooks: bool,
    /// A sentence for each hook: when it runs what.
    pub effects: Vec<String>,
    /// Everything that it guards, as marks to be kept with the acknowledgement ([`trust::guard_mark`]): those guards fail when the file is
    /// another one.
    pub guards: Vec<String>,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct HookPlacesRead {
    pub set: HookSet,
    pub project_files: Vec<ProjectHookFile>,
    pub problems: Vec<FileProblem>,
    /// The ones among them that are of events that are none.
    pub(super) misspelt: Vec<FileProblem>,
    /// Files that hooks would run, if they were there.
    pub(super) missing: Vec<PathBuf>,
    /// The person's own files that are objects: they say which hooks there are, also if there are none.
    own_objects: Vec<PathBuf>,
}

impl HookPlacesRead {
    /// True if some hook would run this file, which is not there.
    pub fn waits_for(&self, file: &Path) -> bool {
        self.missing.iter().any(|named| named == file)
    }

    /// Notes what files of the person's own guard. One that is gone, empty or unreadable says nothing of what it guarded.
    pub(super) fn note_guarded(&self, guarded: &mut GuardedEvents) {
        for file in &self.own_objects {
            let of_file = self.set.hooks().iter().filter(|hook| hook.file == *file);
            guarded.insert(file.clone(), GuardedByFile::of(of_file.map(AsRef::as_ref)));
        }
    }
}

/// Files of the person's own, and what they guarded when they could be read last.
pub(super) type GuardedEvents = BTreeMap<PathBuf, GuardedByFile>;

/// Reads all hooks that hold in a workspace now. Blocks on the file system.
pub fn read_hooks(places: &HookPlaces, agents: &[AgentHooks], trust: &TrustRecords) -> HookPlacesRead {
    read_hooks_after(&GuardedEvents::new(), places, agents, trust)
}

/// The same after these files of the person's own could be read: one of them that is empty has lost its guards.
pub(super) fn read_hooks_after(
    guarded: &GuardedEvents,
    places: &HookPlaces,
    agents: &[AgentHooks],
    trust: &TrustRecords,
) -> HookPlacesRead {
    let pins = PinContext::new(&places.roots, (&places.home, &places.program_folders), trust);
    let (hooks, read) = (Vec::new(), HookPlacesRead::default());
    let mut reader = PlacesReader { places, guarded, trust, pins, sequence: 0, hooks, read };
    if let Some(file) = &places.system_file {
        reader.own_file((file, "system"), HookOrigin::System, HookContract::Claude, true);
    }
    if let Some(file) = &places.user_file {
        reader.own_file((file, "user"), HookOrigin::User, HookContract::Claude, true);
    }
    for (path, contract, word) in HOME_FILES {
        let is_named = places.other_products.iter().any(|other| other == word);
        let file = places.home.join(path);
        // A home that is a workspace has the file as that, and what is the person's own refuses until they have looked at it there.
        if !places.roots.iter().any(|root| Path::new(root) == places.home) {
            reader.own_file((&file, path), HookOrigin::User, *contract, is_named);
        }
    }
    for root in &places.roots {
        for (path, contract) in PROJECT_FILES {
            reader.project_file(root, path, *contract);
        }
    }
    for agent in agents {
        reader.agent(agent);
    }
    reader.finish()
}

struct PlacesReader<'a> {
    places: &'a HookPlaces,
    guarded: &'a GuardedEvents,
    trust: &'a TrustRecords,
    pins: PinContext<'a>,
    sequence: u32,
    hooks: Vec<Hook>,
    read: HookPlacesRead,
}

impl PlacesReader<'_> {
    /// A file of the administrator's or the user's own.
    fn own_file(
        &mut self,
        (file, label): (&Path, &str),
        origin: HookOrigin,
        contract: HookContract,
        counts: bool,
    ) {
        let place = ReadingPlace { file, origin, contract, label };
        match read_bounded(file, LARGEST) {
            // An editor may have moved it away, to write it anew.
            Ok(None) if counts && self.guarded.get(file).is_some_and(|known| !known.is_empty()) => {
                self.unreadable_file(&place, gone(file), true);
            }
            Ok(None) => {}
            Err(problem) => self.unreadable_file(&place, problem, counts),
            Ok(Some(bytes)) => match DocumentNode::parse(file, &bytes) {
                Ok(Some(root)) if matches!(root.content, DocumentContent::Map(_)) => {
                    self.read.own_objects.push(file.to_owned());
                    self.take(Some(&root), &place, |_| (), counts);
                }
                Ok(root) if counts => {
                    let had_guards = self.guarded.get(file).is_some_and(|known| !known.is_empty());
                    let problem = nothing_in(file, root.as_ref(), had_guards);
                    let fails = problem.severity == ProblemSeverity::Error;
                    self.unreadable_file(&place, problem, fails);
                }
                Ok(_) => {}
                Err(problem) => self.unreadable_file(&place, problem, counts),
            },
        }
    }

    fn take(
        &mut self,
        root: Option<&DocumentNode>,
        place: &ReadingPlace<'_>,
        mend: impl Fn(&mut Hook),
        counts: bool,
    ) {
        // What a person is asked to acknowledge is told of, too.
        let is_told = counts || !place.origin.is_own();
        let hooks = root.and_then(reading::hooks_of);
        let is_named = root.is_some_and(|root| root.get("hooks").is_some());
        if let Some(root) = root.filter(|_| is_told && (is_named || hooks.is_none())) {
            self.tell(reading::misplaced(root, place));
        }
        let Some(hooks) = hooks else { return };
        if let Some(found) = root.and_then(|root| mistake_of(root, hooks, place.file)) {
            return self.unreadable_file(place, found, counts);
        }
        let mut read = reading::read(hooks, place, &mut self.sequence);
        let (hooks, too_many) = (std::mem::take(&mut read.hooks), read.too_many.take());
        if is_told {
            self.tell(read);
        }
        if let Some(found) = too_many {
            if counts {
                // Whatever it guarded before: one that nobody reads may guard something else.
                self.fail(place, &found, None);
            }
            return self.read.problems.push(failing::with_effect(place, found, counts));
        }
        for mut hook in hooks {
            mend(&mut hook);
            if !counts && hook.state != HookState::NeverFires {
                hook.state = HookState::Untrusted;
            }
            self.add(hook);
        }
    }

    fn tell(&mut self, read: reading::ReadHooks) {
        self.read.problems.extend(read.problems);
        self.read.misspelt.extend(read.misspelt);
    }

    /// Nobody can tell which hooks stand in it, so what guards fails.
    fn unreadable_file(&mut self, place: &ReadingPlace<'_>, problem: FileProblem, fails: bool) {
        if fails {
            self.fail(place, &problem, self.guarded.get(place.file));
        }
        self.read.problems.push(failing::with_effect(place, problem, fails));
    }

    fn fail(&mut self, place: &ReadingPlace<'_>, problem: &FileProblem, known: Option<&GuardedByFile>) {
        for guard in guards_of_unreadable(place, problem, known) {
            self.add(guard);
        }
    }

    fn project_file(&mut self, root: &str, path: &str, contract: HookContract) {
        let file = Path::new(root).join(path);
        let origin = HookOrigin::Project { root: root.to_owned() };
        let place = ReadingPlace { file: &file, origin, contract, label: path };
        let bytes = match read_bounded(&file, LARGEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return self.recorded_guards(root, path, &place, "vanished after it was acknowledged");
            }
            Err(problem) if self.is_own_in_home(root, path) => {
                return self.unreadable_file(&place, problem, true);
            }
            Err(problem) => {
                self.recorded_guards(root, path, &place, "cannot be read any more");
                return self.read.problems.push(problem);
            }
        };
        let digest = digest(&bytes);
        let consent = match self.trust.last_consent(root, path, &digest) {
            // Who acknowledged single files has not trusted the workspace.
            AcknowledgementState::Now if !self.trust.is_trusted(root) => AcknowledgementState::Never,
            other => other,
        };
        let document = match DocumentNode::parse(&file, &bytes) {
            Ok(document) => document,
            Err(problem) if self.is_own_in_home(root, path) => {
                return self.unreadable_file(&place, problem, true);
            }
            Err(problem) => {
                if consent != AcknowledgementState::Never {
                    self.recorded_guards(root, path, &place, "cannot be read any more");
                }
                return self.read.problems.push(problem);
            }
        };
        let begins = self.hooks.len();
        match consent {
            AcknowledgementState::Now => self.take(document.as_ref(), &place, |_| (), true),
            AcknowledgementState::Never if self.is_own_in_home(root, path) => {
                let what = "lies in the workspace, where agents write, and nobody has acknowledged it there";
                self.take(document.as_ref(), &place, changed(changed_reason(&file, what)), true);
            }
            AcknowledgementState::Never => self.take(document.as_ref(), &place, |_| (), false),
            AcknowledgementState::Before => {
                let what = "changed after it was acknowledged";
                self.recorded_guards(root, path, &place, what);
                self.take(document.as_ref(), &place, changed(changed_reason(&file, what)), true);
            }
        }
        let own: Vec<&Hook> = self.hooks[begins..].iter().filter(|hook| hook.line != 0).collect();
        let had_guards = self.trust.guards(root, path).next().is_some();
        if own.is_empty() && !(had_guards && consent == AcknowledgementState::Before) {
            return;
        }
        let effects = own.iter().map(|hook| effect(hook)).collect();
        let guards = own.iter().filter(|hook| hook.on_failure != HookFailurePolicy::Continue);
        let guards = guards.flat_map(|hook| guards_of(hook)).collect();
        self.read.project_files.push(ProjectHookFile {
            root: root.to_owned(),
            path: path.to_owned(),
            digest,
            consent,
            has_hooks: true,
            effects,
            guards,
        });
    }

    /// True of a file of the person's own by `hooks.places` whose home is the workspace.
    fn is_own_in_home(&self, root: &str, path: &str) -> bool {
        let is_named = |(own, _, word): &(&str, HookContract, &str)| {
            *own == path && self.places.other_products.iter().any(|other| other == word)
        };
        Path::new(root) == self.places.home && HOME_FILES.iter().any(is_named)
    }

    /// The guards that a file had when it was acknowledged fail. Who acknowledges the workspace without it, forgets them.
    fn recorded_guards(&mut self, root: &str, path: &str, place: &ReadingPlace<'_>, what: &str) {
        if self.trust.guards(root, path).next().is_some() {
            let message = format!("{what}; what it guarded is refused until you have looked");
            let found = problem(place.file, None, FileProblemCode::BadValue, message);
            self.read.problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
        }
        for (name, matcher) in self.trust.guards(root, path) {
            let Some(at) = HookEventName::ALL.iter().position(|event| event.as_str() == name) else {
                continue;
            };
            let read = matcher.map_or_else(|| Ok(HookMatcher::everything()), HookMatcher::read);
            let matcher = read.unwrap_or_else(|_| HookMatcher::everything());
            let reason = changed_reason(place.file, what);
            let mut hook = failing_guard(place, &HookEventName::ALL[at..=at], matcher, reason.clone());
            hook.state = HookState::Changed { reason };
            self.add(hook);
        }
    }

    fn agent(&mut self, agent: &AgentHooks) {
        let origin = HookOrigin::Agent { agent: agent.agent.clone() };
        let label = agent.agent.as_str();
        let is_taken_back = agent.begun_from.as_ref().is_some_and(|file| !self.trust.still_has(file));
        let place = ReadingPlace { file: &agent.file, origin, contract: HookContract::Claude, label };
        let node = DocumentNode::of_value(&agent.hooks);
        let mut read = reading::read(&node, &place, &mut self.sequence);
        let mut hooks = std::mem::take(&mut read.hooks);
        let too_many = read.too_many.take();
        if let Some(mistake) = mistake_of_hooks(&node, &agent.file).or_else(|| too_many.clone()) {
            // An agent may be called as a place of settings is.
            let place = ReadingPlace { label: &format!("agent.{label}"), ..place };
            hooks.extend(guards_of_unreadable(&place, &mistake, None));
        }
        self.read.problems.extend(too_many);
        self.tell(read);
        for mut hook in hooks {
            if !agent.is_trusted && hook.state != HookState::NeverFires {
                hook.state = HookState::Untrusted;
            }
            if is_taken_back && hook.state != HookState::NeverFires {
                let what = "is not acknowledged any more as the run began with it";
                hook.state = HookState::Changed { reason: changed_reason(&agent.file, what) };
            }
            // In a run of its own the end of the agent is the end that is meant.
            if hook.events == [HookEventName::Stop] {
                hook.events = &[HookEventName::Stop, HookEventName::SubagentStop];
            }
            self.add(hook);
        }
    }

    fn add(&mut self, mut hook: Hook) {
        let is_system = hook.origin == HookOrigin::System;
        let is_off = self.places.disable_all || self.places.disabled.iter().any(|id| id == hook.id.as_str());
        let around = (self.pins.home, &*self.places.program_folders);
        let is_apart = reach::is_apart(&hook, self.pins.roots, around);
        let programs = (!is_apart).then(|| self.pins.of_handler(&hook.handler, hook.origin.is_own()));
        let programs = programs.unwrap_or_default();
        for (root, path, now) in &programs.found {
            if let Some(now) = now.as_deref() {
                self.program(root, path, now, &hook);
            }
        }
        hook.reach = self.reach(&hook.handler, &programs);
        self.read.missing.extend(programs.missing);
        hook.programs = programs.pinned;
        if let (HookState::On, Some(mistake)) = (&hook.state, programs.mistake) {
            let what = match &programs.vanished {
                Some(gone) => {
                    self.read.problems.push(problem_of_gone(&hook, gone));
                    "put it back, or take the hook out; then look with `subagent trust`"
                }
                None => "look with `subagent trust`",
            };
            hook.state = HookState::Changed { reason: format!("{mistake}; {what}") };
        }
        if is_off && !is_system && hook.state != HookState::NeverFires {
            hook.state = HookState::Off;
        }
        let same = self.hooks.iter().filter(|other| other.id.as_str().starts_with(hook.id.as_str())).count();
        if same != 0 {
            hook.id = HookId(format!("{}.{}", hook.id, same + 1).into());
        }
        self.hooks.push(hook);
    }

    /// The part of the workspace that a command runs, by its files and by its words.
    fn reach(&self, handler: &HookHandler, programs: &PinnedPrograms) -> WorkspaceReach {
        let HookHandler::Command { command, args } = handler else { return WorkspaceReach::Nothing };
        let pinned = programs.pinned.first().map(|program| program.named.clone());
        let found = programs.found.first().map(|(root, path, _)| Path::new(root).join(path));
        if let Some(file) = pinned.or(found).or_else(|| programs.named.clone()) {
            return WorkspaceReach::Names { file: file.to_string_lossy().into_owned() };
        }
        let text = HookText { command, args: args.as_deref() };
        let around = (self.pins.home, &*self.places.program_folders);
        let by_words = reach::of_hook(text, self.pins.roots, around, None);
        match (by_words, &programs.leading) {
            (WorkspaceReach::Nothing, Some(word)) => WorkspaceReach::CouldRun { words: word.clone() },
            (by_words, _) => by_words,
        }
    }

    /// A file of the workspace that a hook runs.
    fn program(&mut self, root: &str, path: &str, now: &str, hook: &Hook) {
        let shown = format!("a hook of {} runs it: {}", hook.event_name, hook.handler.shown());
        let files = &mut self.read.project_files;
        if let Some(known) = files.iter_mut().find(|known| known.root == root && known.path == path) {
            if !known.effects.contains(&shown) {
                known.effects.push(shown);
            }
            return;
        }
        files.push(ProjectHookFile {
            root: root.to_owned(),
            path: path.to_owned(),
            digest: now.to_owned(),
            consent: self.trust.last_consent(root, path, now),
            has_hooks: false,
            effects: vec![shown],
            guards: Vec::new(),
        });
    }

    fn finish(mut self) -> HookPlacesRead {
        // Stable, so each place keeps its order.
        self.hooks.sort_by_key(|hook| hook.origin.source());
        self.read.set = HookSet::new(self.hooks, &self.places.roots, self.places.home.clone());
        self.read
    }
}

mod failing;
mod telling;

#[cfg(test)]
mod tests;
