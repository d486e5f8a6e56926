//! Is this rule about this call?
//!
//! A rule is compiled once. Matching asks the cheap conditions first, and never makes an `allow` of what it cannot
//! understand.

use std::{
    cell::OnceCell,
    path::{Component, Path, PathBuf},
};

use super::{
    PolicyCall,
    canonical::canonical_json,
    granting,
    names::{CallNames, NamePattern},
    pattern::ArgsPattern,
};
use protocol::{
    AgentName, ApprovalMode, CommandConfinement, CommandReach, CommandWord, PolicyRule, PolicyTier,
    ResourceAccess, Risk, SessionId, ShellCommand, ToolKind, ToolName, Verdict,
};

/// One rule, ready to be compared with calls.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub said: PolicyRule,
    tools: Vec<NamePattern>,
    agent: Option<NamePattern>,
    /// Each as words.
    prefixes: Vec<Prefix>,
    pattern: Option<ArgsPattern>,
    workspace: Option<PlainFolder>,
    /// Of a rule about folders, those it names.
    folders: Vec<PlainFolder>,
    /// A condition was given that cannot be used.
    is_unusable: bool,
}

impl CompiledRule {
    pub fn new(said: PolicyRule) -> CompiledRule {
        let pattern = said.args_pattern.as_deref().map(ArgsPattern::new);
        let workspace = said.workspace.as_ref().map(PathBuf::from);
        let prefixes: Vec<Prefix> =
            said.command_prefix.iter().map(|prefix| Prefix::of(prefix, said.tier)).collect();
        let is_unusable = pattern.as_ref().is_some_and(Result::is_err)
            || workspace.as_ref().is_some_and(|path| !is_plain(path))
            || prefixes.iter().any(Prefix::is_empty)
            || said.tool.is_empty();
        CompiledRule {
            tools: said.tool.iter().map(|name| NamePattern::new(name)).collect(),
            agent: said.agent.as_deref().map(NamePattern::new),
            // What cannot be used is left out: an `allow` is not reached then, anything else is about more.
            prefixes: if prefixes.iter().any(Prefix::is_empty) { Vec::new() } else { prefixes },
            pattern: pattern.and_then(Result::ok),
            workspace: workspace.as_deref().and_then(PlainFolder::of),
            folders: folders(&said),
            is_unusable,
            said,
        }
    }

    /// Remembered from an answer: it may lift an ask.
    pub fn is_grant(&self) -> bool {
        self.said.from_confirmation.is_some() && self.said.decision == Verdict::Allow && !self.said.mistaken
    }

    pub fn names_critical(&self) -> bool {
        self.said.risk == Some(Risk::Critical)
    }

    pub fn names_agent(&self) -> bool {
        self.agent.is_some()
    }

    pub fn has_prefixes(&self) -> bool {
        !self.prefixes.is_empty()
    }

    /// True if it is about the call, as far as that depends on the call's [`CallClass`] alone.
    pub fn matches_kin(&self, subject: &RuleSubject<'_>) -> bool {
        let call = subject.call;
        let PolicyRule { decision, kind, risk, modes, session, .. } = &self.said;
        let may_allow = !self.is_unusable && self.may_allow(call);
        (*decision != Verdict::Allow || may_allow)
            && risk.is_none_or(|risk| risk == call.risk || (self.is_grant() && call.risk < risk))
            && kind.is_none_or(|kind| kind == call.kind)
            && (modes.is_empty() || modes.contains(&call.mode))
            && session.as_ref().is_none_or(|session| call.session == Some(session))
            && self.is_as_confined(call)
            && self.means_tool(subject)
            && self.agent.as_ref().is_none_or(|agent| agent.matches(&subject.agent))
            && self.workspace.as_ref().is_none_or(|workspace| self.is_of(workspace, &subject.roots))
    }

    /// True if it is about the call, as far as that depends on arguments and accesses, but on no single command.
    pub fn matches_itself(&self, subject: &RuleSubject<'_>) -> bool {
        self.covers(subject.call.accesses)
            && self.has_granted(subject.call)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(subject.arguments()))
    }

    /// Of a rule that matches: whether it is about this part of the call.
    pub fn is_about(&self, part: CallPart<'_>) -> bool {
        match part {
            _ if self.prefixes.is_empty() => true,
            CallPart::Command(command) if self.is_grant() => {
                self.grants(command) || command.reach == CommandReach::Passing
            }
            CallPart::Command(command) => self.prefixes.iter().any(|prefix| prefix.begins(&command.words)),
            CallPart::Whole | CallPart::Unknown => false,
        }
    }

    /// True if one of its prefixes may be about a part that has words, or all of its words, that only running it would tell.
    pub fn is_perhaps_about(&self, part: CallPart<'_>) -> bool {
        match part {
            CallPart::Command(command) => self.prefixes.iter().any(|prefix| prefix.may_begin(&command.words)),
            CallPart::Unknown => self.has_prefixes(),
            CallPart::Whole => false,
        }
    }

    /// Of what a person allowed by its first words: whether this command, with words that vary, is one of them. What it names
    /// elsewhere nobody was shown.
    fn grants(&self, command: &ShellCommand) -> bool {
        command.reach == CommandReach::Workspace
            && self.prefixes.iter().any(|prefix| granting::is_of_kind(&prefix.words, &command.words))
    }

    /// What only passes on is allowed beside what was allowed, not by itself.
    fn has_granted(&self, call: &PolicyCall<'_>) -> bool {
        let is_by_words = self.is_grant() && self.has_prefixes();
        !is_by_words
            || call.commands.is_some_and(|commands| commands.iter().any(|command| self.grants(command)))
    }

    /// A project's `allow` counts for nothing, and a critical call is allowed only by a rule of the system or the user
    /// that says so.
    fn may_allow(&self, call: &PolicyCall<'_>) -> bool {
        let is_trusted = matches!(self.said.tier, PolicyTier::System | PolicyTier::User);
        match call.risk {
            Risk::Critical => is_trusted && self.names_critical(),
            Risk::Safe | Risk::Low | Risk::Medium | Risk::High => self.said.tier != PolicyTier::Project,
        }
    }

    /// A person allowed a command as it was confined then. Of older answers nobody knows how that was, so they count for what is
    /// usual.
    fn is_as_confined(&self, call: &PolicyCall<'_>) -> bool {
        let Some(confinement) = call.confinement.filter(|_| self.is_grant()) else { return true };
        match &self.said.confinement {
            Some(granted) => confinement.is_within(granted),
            None => confinement.is_within(&CommandConfinement::default()),
        }
    }

    fn means_tool(&self, subject: &RuleSubject<'_>) -> bool {
        if self.is_grant() {
            // It was given to one tool, whose name may look like a pattern or like another tool's alias.
            return self.said.tool.iter().any(|name| name == subject.call.tool.as_str());
        }
        let perhaps = subject.perhaps.as_ref().filter(|_| self.said.decision != Verdict::Allow);
        let means = |tool: &NamePattern| {
            tool.matches(&subject.tool) || perhaps.is_some_and(|perhaps| tool.matches(perhaps))
        };
        self.tools.is_empty() || self.tools.iter().any(means)
    }

    /// What allows must hold for every folder of the workspace, what restricts for one.
    fn is_of(&self, workspace: &PlainFolder, roots: &[Option<PlainFolder>]) -> bool {
        let is_inside = |root: &Option<PlainFolder>| root.as_ref().is_some_and(|root| root.is_in(workspace));
        match self.said.decision {
            Verdict::Allow => !roots.is_empty() && roots.iter().all(is_inside),
            Verdict::Ask | Verdict::Deny => roots.iter().any(is_inside),
        }
    }

    /// True if the rule's accesses, if it lists any, hold all of the call's. Which command may run is then for the
    /// prefixes to say.
    fn covers(&self, accesses: &[ResourceAccess]) -> bool {
        let is_covered = |access: &ResourceAccess| match access {
            ResourceAccess::Read { path } | ResourceAccess::Write { path } if self.said.recursive => {
                self.is_below(path)
            }
            ResourceAccess::Execute { .. } if self.has_prefixes() => true,
            ResourceAccess::Read { .. }
            | ResourceAccess::Write { .. }
            | ResourceAccess::Execute { .. }
            | ResourceAccess::Fetch { .. }
            | ResourceAccess::Opaque { .. }
            | ResourceAccess::Nothing => self.said.accesses.contains(access),
        };
        self.said.accesses.is_empty() || (!accesses.is_empty() && accesses.iter().all(is_covered))
    }

    /// True if one of the folders that the rule names holds the file.
    fn is_below(&self, path: &Path) -> bool {
        let Some(file) = PlainFolder::of(path) else { return false };
        self.folders.iter().any(|folder| file.is_in(folder))
    }
}

/// Calls that differ in their arguments and accesses alone. Everything else that a condition of a rule looks at is here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CallClass {
    tool: ToolName,
    aliases: Vec<String>,
    agent: AgentName,
    kind: ToolKind,
    risk: Risk,
    confinement: Option<CommandConfinement>,
    mode: ApprovalMode,
    session: Option<SessionId>,
    roots: Vec<PathBuf>,
}

impl CallClass {
    pub fn of(call: &PolicyCall<'_>) -> CallClass {
        // By name, so that what a call grows is decided on here.
        // Callers are judged as such, one by one.
        let PolicyCall { tool, aliases, agent, callers: _, kind, risk, accesses: _, arguments: _, .. } =
            *call;
        let PolicyCall { commands: _, unread: _, confinement, mode, auto_approve: _, session, roots, .. } =
            *call;
        CallClass {
            tool: tool.clone(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            agent: agent.clone(),
            kind,
            risk,
            confinement: confinement.cloned(),
            mode,
            session: session.cloned(),
            roots: roots.to_vec(),
        }
    }
}

/// A call, with what is made of it for comparing once.
pub(super) struct RuleSubject<'a> {
    pub call: &'a PolicyCall<'a>,
    tool: CallNames,
    /// Where a rule restricts, it may mean the tool by this one, too.
    perhaps: Option<CallNames>,
    agent: CallNames,
    roots: Vec<Option<PlainFolder>>,
    arguments: OnceCell<String>,
}

impl<'a> RuleSubject<'a> {
    pub fn of(call: &'a PolicyCall<'a>) -> RuleSubject<'a> {
        let tool = CallNames::of_tool(call.tool, call.aliases);
        let roots = call.roots.iter().map(|root| PlainFolder::of(root)).collect();
        let (perhaps, agent) = (CallNames::of_tool_perhaps(call.tool), CallNames::of(call.agent.as_str()));
        RuleSubject { call, tool, perhaps, agent, roots, arguments: OnceCell::new() }
    }

    // Perf: most rules have no expression, and arguments can be a whole file.
    fn arguments(&self) -> &str {
        self.arguments.get_or_init(|| canonical_json(self.call.arguments))
    }
}

/// An absolute path without `.`, `..` and doubled slashes, ready to be compared with many.
#[derive(Debug)]
struct PlainFolder(PathBuf);

impl PlainFolder {
    /// `None` for a path that says less than where it leads.
    fn of(path: &Path) -> Option<PlainFolder> {
        is_plain(path).then(|| PlainFolder(path.components().collect()))
    }

    /// True if it is the other one, or below it.
    fn is_in(&self, other: &PlainFolder) -> bool {
        // Perf: as bytes, since neither has anything that components would leave out.
        let rest = self.bytes().strip_prefix(other.bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || other.bytes() == b"/")
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_encoded_bytes()
    }
}

/// What is judged by itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallPart<'a> {
    /// The call, of which no command needs to be told apart.
    Whole,
    /// One command of a shell call.
    Command(&'a ShellCommand),
    /// What a call runs beside the commands that were found, or all of it where none could be told.
    Unknown,
}

impl<'a> CallPart<'a> {
    /// The parts of a call when rules tell commands apart.
    pub fn all_of(call: &PolicyCall<'a>) -> Vec<CallPart<'a>> {
        match call.commands {
            Some([]) if call.unread.is_none() => vec![CallPart::Whole],
            Some(commands) => {
                let unknown = call.unread.map(|_| CallPart::Unknown);
                commands.iter().map(CallPart::Command).chain(unknown).collect()
            }
            None if call.unread.is_some() => vec![CallPart::Unknown],
            None if call.kind == ToolKind::Execute => vec![CallPart::Unknown],
            None => vec![CallPart::Whole],
        }
    }
}

/// The beginning of commands.
#[derive(Debug)]
struct Prefix {
    words: Vec<String>,
    /// The last word may go on. Only an agent's own file can say so: in files of rules `*` is a word like any other.
    is_open: bool,
}

impl Prefix {
    fn of(text: &str, tier: PolicyTier) -> Prefix {
        let open = text.strip_suffix('*').filter(|_| tier == PolicyTier::Definition);
        Prefix { words: words(open.unwrap_or(text)), is_open: open.is_some() }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Word for word; a word that is not known is none that a rule names.
    fn begins(&self, command: &[CommandWord]) -> bool {
        let known = command.iter().map(CommandWord::known);
        command.len() >= self.words.len()
            && known.zip(0..self.words.len()).all(|(word, at)| word.is_some_and(|word| self.fits(at, word)))
    }

    /// True if the known words before the first unknown one, which may be any words or none, leave open that it begins so.
    fn may_begin(&self, command: &[CommandWord]) -> bool {
        let mut known = command.iter().map_while(CommandWord::known);
        let count = command.iter().take_while(|word| word.known().is_some()).count();
        count < self.words.len()
            && count < command.len()
            && (0..count).all(|at| known.next().is_some_and(|word| self.fits(at, word)))
    }

    fn fits(&self, at: usize, word: &str) -> bool {
        let wanted = &self.words[at];
        let is_last = at + 1 == self.words.len();
        if self.is_open && is_last { word.starts_with(wanted.as_str()) } else { word == wanted }
    }
}

/// What a rule about folders names as such. Reading is no changing, so each counts for what it is.
fn folders(rule: &PolicyRule) -> Vec<PlainFolder> {
    let named = |access: &ResourceAccess| match access {
        ResourceAccess::Write { path } if rule.recursive => PlainFolder::of(path),
        _ => None,
    };
    rule.accesses.iter().filter_map(named).collect()
}

pub(super) fn words(prefix: &str) -> Vec<String> {
    prefix.split_whitespace().map(str::to_owned).collect()
}

/// Absolute and without `..`: what lies below it by its name lies below it.
pub(super) fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|component| component == Component::ParentDir)
}
