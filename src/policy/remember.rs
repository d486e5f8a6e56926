//! What rule would "allow this from now on" write? One that is as narrow as the call, or none.

use serde_json::Value;

use super::{PolicyCall, canonical::canonical_json, pattern::ArgsPattern};
use crate::protocol::{
    Access, ConfirmationId, PolicyRule, PolicyTier, Risk, SessionId, Timestamp, Verdict, Word,
};

/// Longest arguments that a rule repeats, in bytes: it is stored, shown to people, and compiled.
const MOST_ARGUMENT_BYTES: usize = 4 * 1024;

/// Arguments in which a model says what it thinks a call does, by tool.
const PROSE: &[(&str, &str)] = &[("run_shell_command", "description")];

/// Programs whose second word says what they do, so that a rule about both means something. Of any other it is an operand,
/// and whoever runs what stands in their arguments would be allowed everything (spec 06).
const WITH_SUB_COMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "apk",
    "brew",
    "bundle",
    "cabal",
    "cargo",
    "composer",
    "conda",
    "dnf",
    "docker",
    "dotnet",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "hg",
    "jj",
    "kubectl",
    "mix",
    "mvn",
    "nix",
    "npm",
    "opam",
    "pacman",
    "pdm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "svn",
    "swift",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
    "zypper",
];

/// Sub-commands that run, or let later ones run, what stands behind them.
const RUNNING: &[&str] = &[
    "compose",
    "config",
    "develop",
    "dlx",
    "enter",
    "env",
    "exec",
    "explore",
    "filter-branch",
    "run",
    "shell",
    "submodule",
    "tool",
    "x",
];

/// For how long and where an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The call's session.
    Session,
    /// The call's workspace.
    Project,
    /// Everywhere.
    User,
}

/// A person's answer that is to be remembered.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Of the new rule.
    pub id: &'a str,
    pub scope: Scope,
    pub created_by: Option<&'a str>,
    pub created_at: Option<Timestamp>,
    pub confirmation: &'a ConfirmationId,
}

/// The narrowest rule that means the call; `None` where none can be as narrow as the call is.
///
/// It means this tool at this kind and risk, touching nothing that the call does not touch. Where accesses do not say
/// what happens, it means these very arguments.
pub(super) fn narrowest(call: &PolicyCall<'_>, answer: &Answer<'_>) -> Option<PolicyRule> {
    if call.risk == Risk::Critical || call.accesses.is_empty() {
        return None;
    }
    // What is of high risk here was seen here, and nowhere else.
    if call.risk >= Risk::High && answer.scope == Scope::User {
        return None;
    }
    let command_prefix = prefixes(call).unwrap_or_default();
    let args_pattern = match command_prefix.is_empty() && !accesses_say_all(call.accesses) {
        // What the same words do elsewhere, with other files, nobody has seen.
        true if answer.scope == Scope::User && runs_commands(call) => return None,
        true => Some(exact_arguments(call)?),
        false => None,
    };
    let (session, workspace) = place(call, answer.scope)?;
    Some(PolicyRule {
        id: answer.id.to_owned(),
        tier: PolicyTier::User,
        tool: vec![call.tool.as_str().to_owned()],
        agent: None,
        command_prefix,
        args_pattern,
        kind: Some(call.kind),
        risk: Some(call.risk),
        modes: Vec::new(),
        workspace,
        session,
        accesses: call.accesses.to_vec(),
        decision: Verdict::Allow,
        priority: 0,
        message: None,
        created_by: answer.created_by.map(str::to_owned),
        created_at: answer.created_at,
        from_confirmation: Some(answer.confirmation.clone()),
        mistaken: false,
    })
}

fn runs_commands(call: &PolicyCall<'_>) -> bool {
    call.accesses.iter().any(|access| matches!(access, Access::Execute { .. }))
}

/// Whether nothing but the accesses matters: files and addresses. A command may be parsed, see [`prefixes`]; someone
/// else's code and what only computes can do anything with its arguments.
fn accesses_say_all(accesses: &[Access]) -> bool {
    accesses.iter().all(|access| match access {
        Access::Read { .. } | Access::Write { .. } | Access::Fetch { .. } => true,
        Access::Execute { .. } | Access::Opaque { .. } | Access::Nothing => false,
    })
}

/// Root command and sub-command of every command of the call. `None` where one has no sub-command, or one that runs others,
/// and where more than commands decides: high risk stands in options, which a prefix does not see.
fn prefixes(call: &PolicyCall<'_>) -> Option<Vec<String>> {
    let is_known = |access: &Access| {
        matches!(access, Access::Execute { .. }) || accesses_say_all(std::slice::from_ref(access))
    };
    if call.risk >= Risk::High || !call.accesses.iter().all(is_known) {
        return None;
    }
    let mut prefixes = Vec::new();
    // What else it runs, a prefix would allow as well.
    if call.unread.is_some() {
        return None;
    }
    for command in call.commands? {
        let prefix = prefix(&command.words)?;
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    Some(prefixes)
}

fn prefix(command: &[Word]) -> Option<String> {
    let [Word::Known(root), Word::Known(sub_command), ..] = command else { return None };
    let has_sub_commands = WITH_SUB_COMMANDS.contains(&root.as_str());
    let is_remembered = has_sub_commands && is_word(sub_command) && !RUNNING.contains(&sub_command.as_str());
    is_remembered.then(|| format!("{root} {sub_command}"))
}

/// A name, not an option, a path, an assignment or a pattern.
fn is_word(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_:+.".contains(letter);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(is_of_name)
}

fn exact_arguments(call: &PolicyCall<'_>) -> Option<String> {
    let arguments = canonical_json(call.arguments);
    let is_short = arguments.len() <= MOST_ARGUMENT_BYTES;
    is_short.then(|| exactly_but_prose(call)).filter(|pattern| ArgsPattern::new(pattern).is_ok())
}

/// These very arguments, whatever the model says about them: how it describes a command does not change what the command does.
fn exactly_but_prose(call: &PolicyCall<'_>) -> String {
    let whole = || ArgsPattern::exactly(&canonical_json(call.arguments));
    let prose = PROSE.iter().find(|(tool, _)| *tool == call.tool.as_str());
    let (Some((_, prose)), Value::Object(fields)) = (prose, call.arguments) else { return whole() };
    let mut fields: Vec<(&String, &Value)> = fields.iter().filter(|(name, _)| name != prose).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    let written = |(name, value): &(&String, &Value)| {
        regex_syntax::escape(&format!("{}:{}", Value::from(name.as_str()), canonical_json(value)))
    };
    let at = fields.partition_point(|(name, _)| name.as_str() < *prose);
    // Without a field before it, the comma would stand elsewhere.
    if at == 0 {
        return whole();
    }
    let before: Vec<String> = fields[..at].iter().map(written).collect();
    let after: String = fields[at..].iter().map(|field| format!(",{}", written(field))).collect();
    format!(r#"\A\{{{}(?:,"{prose}":"(?:[^"\\]|\\.)*")?{after}\}}\z"#, before.join(","))
}

/// Session and workspace of the rule. A rule names one workspace folder, so of several folders there is no rule that
/// would hold for all and no other.
fn place(call: &PolicyCall<'_>, scope: Scope) -> Option<(Option<SessionId>, Option<String>)> {
    match (scope, call.roots) {
        (Scope::Session, _) => Some((Some(call.session?.clone()), None)),
        (Scope::Project, [root]) => Some((None, Some(root.to_str()?.to_owned()))),
        (Scope::Project, _) => None,
        (Scope::User, _) => Some((None, None)),
    }
}
