//! The verdict once more, written from the paragraphs of spec 06 and from nothing else: slow, plain, and of other parts than
//! the policy's own.

use super::*;

/// What spec 06 says of this call.
pub(super) fn verdict(rules: &[PolicyRule], call: &PolicyCall<'_>) -> Verdict {
    // "Every command in it must be allowed, else the strictest decision counts."
    match call.commands {
        Some(commands) if !commands.is_empty() => {
            let known = commands.iter().map(|command| of_command(rules, call, Some(command)));
            // "What can't be parsed asks", whatever else is known of it.
            let unknown = call.unread.map(|_| of_command(rules, call, None));
            known.chain(unknown).max().unwrap()
        }
        _ => of_command(rules, call, None),
    }
}

fn of_command(rules: &[PolicyRule], call: &PolicyCall<'_>, command: Option<&ShellCommand>) -> Verdict {
    let about: Vec<&PolicyRule> = rules.iter().filter(|rule| is_about(rule, call, command)).collect();
    let mut speakers = Vec::new();

    // "The verdict is the strictest of system, user and project; a project's `allow` counts for nothing."
    let system = of_tier(&about, PolicyTier::System);
    let user = of_tier(&about, PolicyTier::User);
    speakers.extend([system, user].into_iter().flatten().map(|rule| rule.decision));
    let project: Vec<&PolicyRule> =
        about.iter().copied().filter(|rule| rule.decision != Verdict::Allow).collect();
    speakers.extend(of_tier(&project, PolicyTier::Project).map(|rule| rule.decision));

    // "Built-in rules and defaults speak only where system and user are silent."
    if system.is_none() && user.is_none() {
        speakers.push(match of_tier(&about, PolicyTier::Builtin) {
            Some(rule) => rule.decision,
            None => default(call),
        });
        if call.accesses.is_empty() || call.unread.is_some() {
            speakers.push(Verdict::Ask);
        }
    }

    // "A `critical` call is allowed only by a user or system rule that says `risk = "critical"`."
    let is_critical = |rule: Option<&PolicyRule>| rule.is_some_and(|rule| rule.risk == Some(Risk::Critical));
    if call.risk == Risk::Critical && !is_critical(system) && !is_critical(user) {
        speakers.push(Verdict::Deny);
    }

    // "`plan`: what is not `safe` is refused, whatever rules allow."
    if call.mode == ApprovalMode::Plan && call.risk != Risk::Safe {
        speakers.push(Verdict::Deny);
    }

    // A mistake never opens anything; "what can't be parsed asks".
    speakers.extend(about.iter().filter(|rule| rule.mistaken).map(|rule| rule.decision));
    let is_unparsed = command.is_none()
        && (call.unread.is_some() || call.commands.is_none() && call.kind == ToolKind::Execute);
    if is_unparsed || command.is_some_and(|command| command.words.iter().any(|word| word.known().is_none())) {
        let restricts =
            |rule: &&PolicyRule| rule.decision != Verdict::Allow && !rule.command_prefix.is_empty();
        let in_general = |rule: &&PolicyRule| {
            is_about(&PolicyRule { command_prefix: vec![], ..(*rule).clone() }, call, None)
        };
        // The line up to the first unknown word begins as a prefix does, which has more words.
        let perhaps = |rule: &&PolicyRule| match command {
            None => true,
            Some(command) => {
                let known: Vec<&str> = command.words.iter().map_while(CommandWord::known).collect();
                let line = known.iter().map(|word| format!("{word} ")).collect::<String>();
                rule.command_prefix.iter().any(|prefix| {
                    let prefix = format!("{prefix} ");
                    prefix != line && prefix.starts_with(&line)
                })
            }
        };
        if rules.iter().filter(restricts).filter(perhaps).any(|rule| in_general(&rule)) {
            speakers.push(Verdict::Ask);
        }
    }
    speakers.into_iter().max().unwrap()
}

/// "In each tier the matching rule of highest priority speaks, at a tie the strictest; rules made from confirmations stand
/// above other asks of their tier, never above a deny."
fn of_tier<'a>(about: &[&'a PolicyRule], tier: PolicyTier) -> Option<&'a PolicyRule> {
    let mut ranked: Vec<&PolicyRule> =
        about.iter().copied().filter(|rule| rule.tier == tier && !rule.mistaken).collect();
    let remembered = |rule: &PolicyRule| rule.from_confirmation.is_some();
    if ranked.iter().any(|rule| rule.decision == Verdict::Deny) {
        ranked.retain(|rule| !remembered(rule));
    }
    let has_grant = ranked.iter().any(|rule| remembered(rule));
    // A grant stands above asks, so where there is one, asks say nothing.
    ranked.retain(|rule| !(has_grant && rule.decision == Verdict::Ask));
    ranked.sort_by(|one, other| {
        other.priority.cmp(&one.priority).then_with(|| other.decision.cmp(&one.decision))
    });
    ranked.first().copied()
}

/// "The default goes by risk: `safe` allow, `critical` deny, everything else ask … The session's mode, then `autoApprove`,
/// may turn a default ask into allow (never `critical`)."
fn default(call: &PolicyCall<'_>) -> Verdict {
    let is_inside = |access: &ResourceAccess| match access {
        ResourceAccess::Read { path } | ResourceAccess::Write { path } => {
            call.roots.iter().any(|root| path.starts_with(root))
        }
        _ => false,
    };
    match call.risk {
        Risk::Safe => Verdict::Allow,
        Risk::Critical => Verdict::Deny,
        _ if call.mode == ApprovalMode::Yolo => Verdict::Allow,
        // "Edits of risk `low` inside the workspace run."
        Risk::Low
            if call.mode == ApprovalMode::AutoEdit
                && call.kind == ToolKind::Edit
                && !call.accesses.is_empty()
                && call.accesses.iter().all(is_inside) =>
        {
            Verdict::Allow
        }
        risk if call.auto_approve.contains(&risk) => Verdict::Allow,
        _ => Verdict::Ask,
    }
}

fn is_about(rule: &PolicyRule, call: &PolicyCall<'_>, command: Option<&ShellCommand>) -> bool {
    let allows = rule.decision == Verdict::Allow;
    let is_remembered = rule.from_confirmation.is_some();
    let is_grant = allows && is_remembered;
    if allows && call.risk == Risk::Critical {
        let owner = matches!(rule.tier, PolicyTier::System | PolicyTier::User);
        if !owner || rule.risk != Some(Risk::Critical) {
            return false;
        }
    }
    let names: Vec<&str> = [call.tool.as_str()].into_iter().chain(call.aliases.iter().copied()).collect();
    let tool = match is_grant {
        true => rule.tool.iter().any(|tool| tool == call.tool.as_str()),
        false => rule.tool.iter().any(|tool| names.iter().any(|name| fits(tool, name))),
    };
    let prefix = rule.command_prefix.is_empty()
        || command.is_some_and(|command| {
            // "Judged by the parser above": not where a word is not known.
            if is_grant && command.words.iter().any(|word| word.known().is_none()) {
                return false;
            }
            let known = command.words.iter().map_while(CommandWord::known);
            let line = known.map(|word| format!("{word} ")).collect::<String>();
            rule.command_prefix.iter().any(|prefix| line.starts_with(&format!("{prefix} ")))
        });
    let mut folders = call
        .roots
        .iter()
        .map(|root| rule.workspace.as_deref().is_none_or(|workspace| root.starts_with(workspace)));
    let workspace = rule.workspace.is_none()
        || if allows {
            !call.roots.is_empty() && folders.all(|is_in| is_in)
        } else {
            folders.any(|is_in| is_in)
        };
    let accesses = rule.accesses.is_empty()
        || !call.accesses.is_empty()
            && call.accesses.iter().all(|access| {
                let by_prefix =
                    !rule.command_prefix.is_empty() && matches!(access, ResourceAccess::Execute { .. });
                by_prefix || rule.accesses.contains(access)
            });
    // The random rules look for pieces of text, or have an expression that does not compile.
    let arguments = match rule.args_pattern.as_deref() {
        None => true,
        Some(super::random::BROKEN) => !allows,
        Some(piece) => call.arguments.to_string().contains(piece),
    };
    tool && prefix
        && workspace
        && accesses
        && arguments
        && rule.agent.as_deref().is_none_or(|agent| agent == call.agent.as_str())
        && rule.kind.is_none_or(|kind| kind == call.kind)
        // "Never of higher risk than what was shown."
        && rule.risk.is_none_or(|risk| risk == call.risk || is_remembered && call.risk < risk)
        && (rule.modes.is_empty() || rule.modes.contains(&call.mode))
        && rule.session.as_ref().is_none_or(|session| Some(session) == call.session)
}

/// `*` within a segment; alone it is everything.
fn fits(pattern: &str, name: &str) -> bool {
    fn rest(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some(b'*'), Some(letter)) if *letter != b'.' => {
                rest(&pattern[1..], name) || rest(pattern, &name[1..])
            }
            (Some(b'*'), _) => rest(&pattern[1..], name),
            (Some(one), Some(other)) => one == other && rest(&pattern[1..], &name[1..]),
            _ => false,
        }
    }
    pattern == "*" || rest(pattern.as_bytes(), name.as_bytes())
}
