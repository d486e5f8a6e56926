//! Which hooks does a file's `hooks` say? One reader for Claude Code's, Codex's and Gemini CLI's shape, which differ in units
//! and in what counts under which name.
//!
//! Every mistake is told with its line. An entry of a guard's event that cannot be read stays as a guard that fails.

use std::{path::Path, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{
    Hook, HookContract, HookFailurePolicy, HookHandler, HookId, HookOrigin, HookState, WorkspaceReach,
    condition::HookCondition,
    document::{DocumentContent, DocumentNode},
    entry::{self, EntryFields, EntryMistake},
    event::{self, EventMeaning},
    matcher::HookMatcher,
};
use protocol::{FileProblem, FileProblemCode, HookEventName, ProblemSeverity};
use sys::mark::{TextPosition, problem};

/// Keys of `hooks` that are settings of ours, or switches of other products that mean nothing here.
const NO_EVENTS: &[&str] = &["places", "environment", "httpEnv", "$schema", "description"];

/// The ones that only the person's own settings may say.
const OWN_SETTINGS: &[&str] = &["places", "environment", "httpEnv"];

/// Fields of a group.
const GROUP_FIELDS: &[&str] = &["matcher", "hooks", "sequential"];

/// Fields of an entry that are words for people, and the shell, of which there is one.
const WORDS: &[&str] = &["statusMessage", "name", "description", "shell", "$comment"];

/// Fields of an entry that change something elsewhere, and nothing here.
const WITHOUT_EFFECT: &[&str] = &["once", "continueOnBlock"];

/// The variable by which Claude Code has hooks set variables of later commands.
const ENVIRONMENT_FILE: &str = "CLAUDE_ENV_FILE";

/// Hooks of one file: more are no configuration.
const MOST_HOOKS: usize = 1_000;

/// Mistakes of one file that are told.
const MOST_PROBLEMS: usize = 100;

/// The place where a text of hooks comes from.
pub(super) struct ReadingPlace<'a> {
    pub file: &'a Path,
    pub origin: HookOrigin,
    /// Only of events that have no contract of their own.
    pub contract: HookContract,
    /// Names the place in ids: two files of one origin do not share one.
    pub label: &'a str,
}

/// Everything that stands in one file.
#[derive(Debug, Default)]
pub(super) struct ReadHooks {
    pub hooks: Vec<Hook>,
    pub problems: Vec<FileProblem>,
    /// The ones among them that are of events that are none: whoever wrote one believes that it is asked.
    pub misspelt: Vec<FileProblem>,
    /// Says that there are more hooks than are read. Any of the rest may be a guard, so the file counts as one that cannot be read.
    pub too_many: Option<FileProblem>,
}

/// Reads the object that stands behind `hooks`. `sequence`: the number of the last sequential group.
pub(super) fn read(node: &DocumentNode, place: &ReadingPlace<'_>, sequence: &mut u32) -> ReadHooks {
    let mut reader = HookReader { place, sequence, read: ReadHooks::default() };
    reader.events(node);
    reader.read
}

/// The object that has events for keys: behind `hooks`, or, where a file has nothing but events, the file itself.
pub(super) fn hooks_of(root: &DocumentNode) -> Option<&DocumentNode> {
    if let Some(hooks) = root.get("hooks") {
        return Some(hooks);
    }
    let DocumentContent::Map(entries) = &root.content else { return None };
    let is_event = |(name, _, node): &(String, u32, DocumentNode)| {
        event::is_known(name) && matches!(node.content, DocumentContent::List(_))
    };
    entries.iter().any(is_event).then_some(root)
}

/// Warnings of what was meant to be hooks in a file that has none: another name for `hooks`, or events alone that are none.
pub(super) fn misplaced(root: &DocumentNode, place: &ReadingPlace<'_>) -> ReadHooks {
    let mut sequence = 0;
    let mut reader = HookReader { place, sequence: &mut sequence, read: ReadHooks::default() };
    let DocumentContent::Map(entries) = &root.content else { return reader.read };
    for (name, line, node) in entries {
        let has_groups = |node: &DocumentNode| match &node.content {
            DocumentContent::List(groups) => groups.iter().any(|group| group.get("hooks").is_some()),
            _ => false,
        };
        match &node.content {
            DocumentContent::Map(events)
                if name != "hooks"
                    && sys::nearest::nearest(name, ["hooks"]).is_some()
                    && events.iter().any(|(_, _, node)| has_groups(node)) =>
            {
                let fix = Some("did you mean `hooks`?".to_owned());
                reader.misspelt(*line, format!("`{name}` is not read; the hooks in it do nothing"), fix);
            }
            _ if has_groups(node) => {
                if let Err(nearest) = event::meaning(name) {
                    reader.no_event(name, *line, nearest);
                }
            }
            _ => {}
        }
    }
    reader.read
}

struct HookReader<'a, 'p> {
    place: &'a ReadingPlace<'p>,
    sequence: &'a mut u32,
    read: ReadHooks,
}

/// Everything that holds for all hooks of one group.
struct GroupContext<'a> {
    event_name: &'a str,
    events: &'static [HookEventName],
    contract: HookContract,
    state: HookState,
    sequence: Option<u32>,
}

impl HookReader<'_, '_> {
    fn events(&mut self, node: &DocumentNode) {
        if matches!(node.content, DocumentContent::Null) {
            return;
        }
        let DocumentContent::Map(entries) = &node.content else {
            let message = format!("`hooks`: expected an object with events, found {}", node.kind());
            return self.error(node.line, FileProblemCode::WrongType, message);
        };
        for (name, line, node) in entries {
            if NO_EVENTS.contains(&name.as_str()) {
                if OWN_SETTINGS.contains(&name.as_str()) && !self.place.origin.is_own() {
                    self.warning(
                        *line,
                        format!("`hooks.{name}`: a project may not set this; it has no effect"),
                        None,
                    );
                }
                continue;
            }
            match event::meaning(name) {
                Ok(EventMeaning::Fired(events, contract)) => {
                    // What has a contract of its own in another file keeps it there.
                    let contract =
                        if contract == HookContract::Gemini { contract } else { self.place.contract };
                    let events = event::of_contract(events, contract);
                    let is_fired = events.iter().any(|event| event::is_fired(*event));
                    let state = if is_fired { HookState::On } else { HookState::NeverFires };
                    if !is_fired {
                        let message = format!("`{name}` is not fired by this version; its hooks do nothing");
                        self.warning(*line, message, None);
                    }
                    self.event(name, events, contract, state, node);
                }
                Ok(EventMeaning::NeverFired) => {
                    self.event(name, &[], self.place.contract, HookState::NeverFires, node);
                    self.warning(
                        *line,
                        format!("`{name}` is never fired by this daemon; its hooks do nothing"),
                        None,
                    );
                }
                Err(nearest) => self.no_event(name, *line, nearest),
            }
        }
    }

    fn no_event(&mut self, name: &str, line: u32, nearest: Option<&str>) {
        let fix = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
        self.misspelt(line, format!("there is no event `{name}`; its hooks do nothing"), fix);
    }

    fn misspelt(&mut self, line: u32, message: String, fix: Option<String>) {
        let before = self.read.problems.len();
        self.warning(line, message, fix);
        self.read.misspelt.extend(self.read.problems.get(before).cloned());
    }

    fn event(
        &mut self,
        event_name: &str,
        events: &'static [HookEventName],
        contract: HookContract,
        state: HookState,
        node: &DocumentNode,
    ) {
        let mut group = GroupContext { event_name, events, contract, state, sequence: None };
        let DocumentContent::List(groups) = &node.content else {
            let mistake = format!("`{event_name}`: expected a list of groups, found {}", node.kind());
            return self.unreadable(&group, node.line, None, mistake);
        };
        for node in groups {
            group.sequence = None;
            self.group(&mut group, node);
        }
    }

    fn group(&mut self, group: &mut GroupContext<'_>, node: &DocumentNode) {
        let event_name = group.event_name;
        let (DocumentContent::Map(_), Some(hooks)) = (&node.content, node.get("hooks")) else {
            let mistake = match node.content {
                DocumentContent::Map(_) => {
                    format!("`{event_name}`: a group has no list `hooks` with what is to be run")
                }
                _ => format!(
                    "`{event_name}`: expected an object with `matcher` and `hooks`, found {}",
                    node.kind()
                ),
            };
            return self.unreadable(group, node.line, None, mistake);
        };
        let matcher = match node.get("matcher") {
            None => Ok(HookMatcher::everything()),
            Some(matcher) => match (&matcher.content, matcher.text()) {
                (DocumentContent::Null, _) => Ok(HookMatcher::everything()),
                (_, Some(text)) => HookMatcher::read(text).map_err(|reason| format!("`matcher` {reason}")),
                _ => Err(format!("`matcher` is {}, not a text", matcher.kind())),
            },
        };
        let DocumentContent::List(hooks) = &hooks.content else {
            let mistake = format!("`{event_name}`: `hooks` is {}, not a list", hooks.kind());
            return self.unreadable(group, hooks.line, matcher.ok(), mistake);
        };
        self.look_at_group(event_name, node);
        if matches!(node.get("sequential").map(|it| &it.content), Some(DocumentContent::Bool(true))) {
            *self.sequence += 1;
            group.sequence = Some(*self.sequence);
        }
        for node in hooks {
            match &matcher {
                Ok(matcher) => self.entry(group, matcher, node),
                Err(mistake) => {
                    self.unreadable(group, node.line, None, format!("`{event_name}`: {mistake}"));
                }
            }
        }
    }

    /// Warns of what stands beside `hooks` and means something within: it means nothing there.
    fn look_at_group(&mut self, event_name: &str, node: &DocumentNode) {
        let DocumentContent::Map(entries) = &node.content else { return };
        for (key, line, _) in entries.iter().filter(|(key, ..)| entry::is_known_field(key)) {
            let message = format!("`{event_name}`: `{key}` of a group has no effect");
            let fix = "write it in the hook itself, beside its `type`".to_owned();
            self.warning(*line, message, Some(fix));
        }
        for (key, line, _) in entries.iter().filter(|(key, ..)| !GROUP_FIELDS.contains(&key.as_str())) {
            // Fields of others that resemble none are passed over, as their products do.
            let nearest = sys::nearest::nearest(key, GROUP_FIELDS.iter().copied());
            if let Some(nearest) = nearest.filter(|_| !entry::is_known_field(key)) {
                let message = format!("`{event_name}`: a group has no field `{key}`");
                self.warning(*line, message, Some(format!("did you mean `{nearest}`?")));
            }
        }
    }

    fn entry(&mut self, group: &GroupContext<'_>, matcher: &HookMatcher, node: &DocumentNode) {
        match self.fields(group, node) {
            Err(mistake) => {
                let mistake = format!("`{}`: a hook {mistake}", group.event_name);
                self.unreadable(group, node.line, Some(matcher.clone()), mistake);
            }
            Ok(fields) => {
                let EntryFields { handler, condition, on_failure, timeout, is_async, async_rewake } = fields;
                let hook = Hook {
                    id: HookId::from(""),
                    event_name: group.event_name.to_owned(),
                    events: group.events,
                    contract: group.contract,
                    matcher: matcher.clone(),
                    condition,
                    handler,
                    on_failure,
                    timeout,
                    is_async,
                    async_rewake,
                    sequence: group.sequence.filter(|_| !is_async),
                    origin: self.place.origin.clone(),
                    file: self.place.file.to_owned(),
                    line: node.line,
                    programs: Vec::new(),
                    reach: WorkspaceReach::Nothing,
                    state: group.state.clone(),
                };
                self.add(hook);
            }
        }
    }

    fn fields(&mut self, group: &GroupContext<'_>, node: &DocumentNode) -> Result<EntryFields, EntryMistake> {
        let DocumentContent::Map(entries) = &node.content else {
            return Err(format!("is {}, not an object", node.kind()));
        };
        let kind = match node.get("type") {
            None => return Err("has no `type`".to_owned()),
            Some(kind) => kind.text().ok_or_else(|| format!("has {} for a `type`", kind.kind()))?,
        };
        let is_guard = group.events.iter().any(|event| event::is_guard(*event));
        let handler = entry::handler(kind, node)?;
        if let HookHandler::Prompt { .. } | HookHandler::Agent { .. } = handler
            && !group.events.iter().all(|event| event::may_ask_models(*event))
        {
            return Err(format!("of type `{kind}` can stand at prompts, tools and ends only"));
        }
        let mut is_async = entry::boolean(node, "async")?;
        let async_rewake = entry::boolean(node, "asyncRewake")?;
        is_async |= async_rewake;
        if is_async && matches!(handler, HookHandler::Prompt { .. } | HookHandler::Agent { .. }) {
            return Err(format!("of type `{kind}` cannot be `async`: nobody would count what it costs"));
        }
        let condition = match node.get("if") {
            None => None,
            Some(rule) => {
                let text = rule.text().ok_or_else(|| format!("has {} for an `if`", rule.kind()))?;
                Some(HookCondition::read(text).map_err(|reason| format!("has an `if` that {reason}"))?)
            }
        };
        if let Some(condition) = condition.as_ref().filter(|condition| condition.is_unclear()) {
            let message = format!(
                "`if`: what `{}` has in its brackets is not one pattern, so it means every call of its tool, if there is that tool",
                condition.text()
            );
            self.warning(node.line, message, None);
        }
        let on_failure = match node.get("onFailure").map(|it| (it, it.text())) {
            None => self.usual_failure(group),
            Some((_, Some("continue"))) => HookFailurePolicy::Continue,
            Some((_, Some("block"))) => HookFailurePolicy::Block,
            Some((it, _)) => {
                return Err(format!(
                    "has {} for an `onFailure` that is not `continue` or `block`",
                    it.kind()
                ));
            }
        };
        let timeout = entry::timeout(node, (group.events, group.contract), &handler)?;
        if is_async && is_guard {
            let message = format!(
                "`{}`: a hook that is `async` decides nothing, so it guards nothing",
                group.event_name
            );
            self.warning(node.line, message, None);
        }
        if condition.is_some() && !group.events.iter().all(|event| event::is_of_tool(*event)) {
            let message =
                format!("`{}`: `if` means something at tools only; the hook runs always", group.event_name);
            self.warning(node.line, message, None);
        }
        for (key, line, _) in entries {
            if WITHOUT_EFFECT.contains(&key.as_str()) {
                let message = format!("`{}`: `{key}` of a hook has no effect here", group.event_name);
                self.warning(*line, message, None);
            } else if !entry::is_known_field(key) && !WORDS.contains(&key.as_str()) {
                let fix = sys::nearest::nearest(key, entry::FIELDS.iter().copied());
                let fix = fix.map(|nearest| format!("did you mean `{nearest}`?"));
                self.warning(*line, format!("`{}`: a hook has no field `{key}`", group.event_name), fix);
            }
        }
        if matches!(&handler, HookHandler::Command { .. }) && handler.shown().contains(ENVIRONMENT_FILE) {
            let message = format!(
                "`{}`: there is no `{ENVIRONMENT_FILE}`; what the hook exports reaches no command",
                group.event_name
            );
            let fix = "name the variable in `sandbox.environment`, or set it in the command that a `PreToolUse` hook gives back";
            self.warning(node.line, message, Some(fix.to_owned()));
        }
        let is_tool = group.events.iter().all(|event| event::is_of_tool(*event));
        let condition = condition.filter(|_| is_tool);
        Ok(EntryFields { handler, condition, on_failure, timeout, is_async, async_rewake })
    }

    fn usual_failure(&self, group: &GroupContext<'_>) -> HookFailurePolicy {
        let policies = group.events.iter().map(|event| event::usual_failure(*event));
        policies.max_by_key(|policy| *policy as u8).unwrap_or(HookFailurePolicy::Continue)
    }

    /// Everything that cannot be read: of a guard a guard that fails, of others a hook that rests.
    fn unreadable(
        &mut self,
        group: &GroupContext<'_>,
        line: u32,
        matcher: Option<HookMatcher>,
        mistake: String,
    ) {
        self.error(line, FileProblemCode::BadValue, mistake.clone());
        let place = self.place;
        let named = match line {
            0 => place.file.display().to_string(),
            _ => format!("{}:{line}", place.file.display()),
        };
        let is_fired = group.state == HookState::On;
        let hook = Hook {
            id: HookId::from(""),
            event_name: group.event_name.to_owned(),
            events: group.events,
            contract: group.contract,
            matcher: matcher.unwrap_or_else(HookMatcher::everything),
            condition: None,
            handler: HookHandler::Unreadable { mistake: format!("{named}: {mistake}"), of_file: false },
            on_failure: self.usual_failure(group),
            timeout: Duration::ZERO,
            is_async: false,
            async_rewake: false,
            sequence: None,
            origin: place.origin.clone(),
            file: place.file.to_owned(),
            line,
            programs: Vec::new(),
            reach: WorkspaceReach::Nothing,
            state: if is_fired { HookState::Broken } else { group.state.clone() },
        };
        self.add(hook);
    }

    fn add(&mut self, mut hook: Hook) {
        if MOST_HOOKS <= self.read.hooks.len() {
            if self.read.too_many.is_none() {
                let message = format!("has more than {MOST_HOOKS} hooks; what it may guard is refused");
                self.read.too_many = Some(self.found(hook.line, FileProblemCode::TooLarge, message));
            }
            return;
        }
        let id = id_of(&hook, self.place.label);
        let same = self.read.hooks.iter().filter(|other| other.id.as_str().starts_with(&id)).count();
        let id = if same == 0 { id } else { format!("{id}.{}", same + 1) };
        hook.id = HookId(id.into());
        self.read.hooks.push(hook);
    }

    fn error(&mut self, line: u32, code: FileProblemCode, message: String) {
        if self.read.problems.len() < MOST_PROBLEMS {
            self.read.problems.push(self.found(line, code, message));
        }
    }

    fn found(&self, line: u32, code: FileProblemCode, message: String) -> FileProblem {
        let mark = (line != 0).then_some(TextPosition { line, column: 1 });
        FileProblem { column: None, ..problem(self.place.file, mark, code, message) }
    }

    fn warning(&mut self, line: u32, message: String, fix: Option<String>) {
        let before = self.read.problems.len();
        self.error(line, FileProblemCode::UnknownField, message);
        if let Some(told) = self.read.problems.get_mut(before) {
            told.severity = ProblemSeverity::Warning;
            told.fix = fix;
        }
    }
}

/// `user/PreToolUse/3f2a91bc`.
fn id_of(hook: &Hook, label: &str) -> String {
    let mut digest = Sha256::new();
    for part in [
        label,
        &hook.event_name,
        hook.matcher.text().unwrap_or_default(),
        hook.condition.as_ref().map_or("", HookCondition::text),
        &format!("{:?}", hook.handler),
    ] {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let digest: String = digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let source = match &hook.origin {
        HookOrigin::System => "system".to_owned(),
        HookOrigin::User => "user".to_owned(),
        HookOrigin::Project { .. } => "project".to_owned(),
        HookOrigin::Agent { agent } => format!("agent.{}", agent.as_str()),
    };
    format!("{source}/{}/{digest}", hook.event_name)
}

#[cfg(test)]
mod tests;
