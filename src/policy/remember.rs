//! What rule would "allow this from now on" write? One that is as narrow as the call, or none.

use std::path::PathBuf;

use serde_json::Value;

use super::{PolicyCall, canonical::canonical_json, granting, pattern::ArgsPattern, rule::is_plain};
use protocol::{
    CommandReach, ConfirmationId, PolicyRule, PolicyTier, ResourceAccess, Risk, SessionId, Timestamp,
    ToolKind, Verdict,
};

/// Longest arguments that a rule repeats, in bytes: it is stored, shown to people, and compiled.
const MOST_ARGUMENT_BYTES: usize = 4 * 1024;

/// Arguments in which a model says what it thinks a call does, by tool.
const PROSE: &[(&str, &str)] = &[("run_shell_command", "description")];

/// Tools that make a file another one, as a person sees its difference.
const WRITING: &[&str] = &["edit_file", "write_file"];

/// For how long and where an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RememberScope {
    /// The call's session.
    Session,
    /// The call's workspace.
    Project,
    /// Everywhere.
    User,
}

/// A person's answer that is to be remembered.
#[derive(Debug, Clone, Copy)]
pub struct RememberedAnswer<'a> {
    /// Of the new rule.
    pub id: &'a str,
    pub scope: RememberScope,
    pub created_by: Option<&'a str>,
    pub created_at: Option<Timestamp>,
    pub confirmation: &'a ConfirmationId,
}

/// The rules that mean the call, from the narrowest to the widest; none where no rule can be as narrow as a person would
/// expect.
///
/// Each means this tool at this kind and at most this risk. The narrowest touches nothing that the call does not touch, and
/// where accesses do not say what happens, means these very arguments.
pub(super) fn rules(call: &PolicyCall<'_>, answer: &RememberedAnswer<'_>) -> Vec<PolicyRule> {
    let is_everywhere = answer.scope == RememberScope::User;
    if call.risk == Risk::Critical || call.accesses.is_empty() {
        return Vec::new();
    }
    // What is of high risk here was seen here, and nowhere else.
    if call.risk >= Risk::High && is_everywhere {
        return Vec::new();
    }
    let Some(rule) = of_tool(call, answer) else { return Vec::new() };
    if accesses_say_all(call.accesses) {
        let folder = folder(call).filter(|_| !is_everywhere);
        let below = folder.map(|path| PolicyRule {
            accesses: vec![ResourceAccess::Write { path }],
            recursive: true,
            ..rule.clone()
        });
        return std::iter::once(rule).chain(below).collect();
    }
    // What the same words do elsewhere, with other files, nobody has seen.
    let is_seen = !(is_everywhere && runs_commands(call));
    let exactly = exact_arguments(call).filter(|_| is_seen);
    let exactly = exactly.map(|pattern| PolicyRule { args_pattern: Some(pattern), ..rule.clone() });
    let by_words = prefixes(call).filter(|prefixes| !prefixes.is_empty());
    let by_words = by_words.map(|command_prefix| PolicyRule { command_prefix, ..rule });
    exactly.into_iter().chain(by_words).collect()
}

/// The tool at this kind and risk, in the place of the answer, touching nothing that the call does not touch.
fn of_tool(call: &PolicyCall<'_>, answer: &RememberedAnswer<'_>) -> Option<PolicyRule> {
    let (session, workspace) = place(call, answer.scope)?;
    let tool = call.tool.as_str();
    // By whichever of these a model writes, what becomes of the file is the same.
    let tool = if WRITING.contains(&tool) { WRITING } else { &[tool] };
    Some(PolicyRule {
        id: answer.id.to_owned(),
        tier: PolicyTier::User,
        tool: tool.iter().map(|name| (*name).to_owned()).collect(),
        agent: None,
        command_prefix: Vec::new(),
        args_pattern: None,
        kind: Some(call.kind),
        risk: Some(call.risk),
        modes: Vec::new(),
        workspace,
        session,
        accesses: call.accesses.to_vec(),
        recursive: false,
        confinement: call.confinement.cloned(),
        decision: Verdict::Allow,
        priority: 0,
        message: None,
        created_by: answer.created_by.map(str::to_owned),
        created_at: answer.created_at,
        from_confirmation: Some(answer.confirmation.clone()),
        mistaken: false,
    })
}

/// The one folder below the workspace's in which all that an edit writes lies. To edit whatever lies in a root is the mode
/// `autoEdit`.
fn folder(call: &PolicyCall<'_>) -> Option<PathBuf> {
    let mut parents = call.accesses.iter().map(|access| match access {
        ResourceAccess::Read { path } | ResourceAccess::Write { path } => {
            path.parent().filter(|_| is_plain(path))
        }
        ResourceAccess::Execute { .. }
        | ResourceAccess::Fetch { .. }
        | ResourceAccess::Opaque { .. }
        | ResourceAccess::Nothing => None,
    });
    let folder = parents.next()??;
    let is_below = |root: &PathBuf| folder != root && folder.starts_with(root);
    let is_meant = call.kind == ToolKind::Edit
        && WRITING.contains(&call.tool.as_str())
        && call.risk < Risk::High
        && parents.all(|other| other == Some(folder))
        && call.roots.iter().any(is_below);
    is_meant.then(|| folder.to_owned())
}

fn runs_commands(call: &PolicyCall<'_>) -> bool {
    call.accesses.iter().any(|access| matches!(access, ResourceAccess::Execute { .. }))
}

/// True if nothing but the accesses matters: files and addresses. A command may be parsed, see [`prefixes`]; someone
/// else's code and what only computes can do anything with its arguments.
fn accesses_say_all(accesses: &[ResourceAccess]) -> bool {
    accesses.iter().all(|access| match access {
        ResourceAccess::Read { .. } | ResourceAccess::Write { .. } | ResourceAccess::Fetch { .. } => true,
        ResourceAccess::Execute { .. } | ResourceAccess::Opaque { .. } | ResourceAccess::Nothing => false,
    })
}

/// The kinds of all commands of the call, but of those that only pass on. `None` where one has no kind, and where more than
/// commands decides: high risk stands in options, which a prefix does not see.
fn prefixes(call: &PolicyCall<'_>) -> Option<Vec<String>> {
    let is_known = |access: &ResourceAccess| {
        matches!(access, ResourceAccess::Execute { .. }) || accesses_say_all(std::slice::from_ref(access))
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
        // It changes nothing of what the others do, and is allowed beside them.
        if command.reach == CommandReach::Passing {
            continue;
        }
        let prefix =
            granting::kind(&command.words).filter(|_| command.reach == CommandReach::Workspace)?.join(" ");
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    Some(prefixes)
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
fn place(call: &PolicyCall<'_>, scope: RememberScope) -> Option<(Option<SessionId>, Option<String>)> {
    match (scope, call.roots) {
        (RememberScope::Session, _) => Some((Some(call.session?.clone()), None)),
        (RememberScope::Project, [root]) => Some((None, Some(root.to_str()?.to_owned()))),
        (RememberScope::Project, _) => None,
        (RememberScope::User, _) => Some((None, None)),
    }
}
