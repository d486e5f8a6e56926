//! Which of the rules decides? The paragraph "Verdict" of spec 06, clause by clause.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    PolicyCall, PolicyDecision, default,
    rule::{CallClass, CallPart, CompiledRule, RuleSubject},
};
use protocol::{AgentName, PolicyTier, Risk, Verdict};

/// Each command of a shell call is judged by itself, and the strictest verdict counts: one that may run does not carry
/// another one along.
pub(super) fn decide(rules: &[Arc<CompiledRule>], known: &RuleMemo, call: &PolicyCall<'_>) -> PolicyDecision {
    let callers = call.callers.iter().filter(|caller| *caller != call.agent);
    let floors = callers.filter_map(|caller| floor_of_caller(rules, known, caller, call));
    floors.fold(decide_own(rules, known, call), PolicyDecision::stricter)
}

/// The verdict of the rules that name a caller and speak for it: an agent that it calls is no way around them. What they allow it counts
/// for nothing here.
fn floor_of_caller(
    rules: &[Arc<CompiledRule>],
    known: &RuleMemo,
    caller: &AgentName,
    call: &PolicyCall<'_>,
) -> Option<PolicyDecision> {
    // Perf: most rules name no agent.
    if !rules.iter().any(|rule| rule.names_agent()) {
        return None;
    }
    let call = &PolicyCall { agent: caller, callers: &[], ..*call };
    let subject = RuleSubject::of(call);
    let of_kin = known.rules_of(rules, &subject);
    let matching: Vec<&CompiledRule> =
        of_kin.iter().map(Arc::as_ref).filter(|rule| rule.matches_itself(&subject)).collect();
    let tell_commands_apart = matching.iter().any(|rule| rule.has_prefixes());
    let mut parts = if tell_commands_apart { CallPart::all_of(call) } else { Vec::new() };
    if parts.is_empty() {
        parts.push(CallPart::Whole);
    }
    let of_part = |part: &CallPart<'_>| {
        let about: Vec<&CompiledRule> =
            matching.iter().copied().filter(|rule| rule.is_about(*part)).collect();
        let tiers = [PolicyTier::System, PolicyTier::User, PolicyTier::Project];
        let spoken = tiers.into_iter().filter_map(|tier| speaker(&about, tier));
        let mistaken = about.iter().copied().filter(|rule| rule.said.mistaken);
        let spoken = spoken.chain(mistaken).filter(|rule| rule.said.decision != Verdict::Allow);
        let unknown = matching.iter().copied().filter(|rule| is_perhaps_about(rule, *part));
        let spoken = spoken.map(|rule| (rule, rule.said.decision));
        let restricting = spoken.chain(unknown.map(|rule| (rule, Verdict::Ask)));
        let naming = restricting.filter(|(rule, _)| rule.names_agent());
        naming.map(|(rule, verdict)| opinion(rule, verdict, call)).reduce(PolicyDecision::stricter)
    };
    let floor = parts.iter().filter_map(of_part).reduce(PolicyDecision::stricter)?;
    let reason = format!("{} (it speaks of the agent {caller}, which called this one)", floor.reason);
    Some(PolicyDecision { reason, ..floor })
}

fn decide_own(rules: &[Arc<CompiledRule>], known: &RuleMemo, call: &PolicyCall<'_>) -> PolicyDecision {
    let subject = RuleSubject::of(call);
    let of_kin = known.rules_of(rules, &subject);
    let matching: Vec<&CompiledRule> =
        of_kin.iter().map(Arc::as_ref).filter(|rule| rule.matches_itself(&subject)).collect();
    let tell_commands_apart = matching.iter().any(|rule| rule.has_prefixes());
    let parts = if tell_commands_apart { CallPart::all_of(call) } else { Vec::new() };
    let Some((first, others)) = parts.split_first() else { return judge(&matching, call, CallPart::Whole) };
    let first = judge(&matching, call, *first);
    others.iter().fold(first, |strictest, part| strictest.stricter(judge(&matching, call, *part)))
}

/// Which of the rules can be about calls of a kind, by kinds that were met.
///
/// Perf: most rules are about other tools, agents and places, and the same tool is called in the same place again and again.
#[derive(Debug, Default)]
pub(super) struct RuleMemo {
    by_kin: Mutex<HashMap<CallClass, Arc<[Arc<CompiledRule>]>>>,
}

/// Kinds of calls that are remembered: tools of a few agents in a few sessions. Then all are forgotten.
const MOST_KIN: usize = 256;

impl RuleMemo {
    fn rules_of(&self, rules: &[Arc<CompiledRule>], subject: &RuleSubject<'_>) -> Arc<[Arc<CompiledRule>]> {
        let kin = CallClass::of(subject.call);
        // Only whole entries are put in, so a poisoned lock guards whole data.
        let known = self.by_kin.lock().unwrap_or_else(PoisonError::into_inner).get(&kin).cloned();
        known.unwrap_or_else(|| {
            let of_kin: Arc<[Arc<CompiledRule>]> =
                rules.iter().filter(|rule| rule.matches_kin(subject)).cloned().collect();
            let mut by_kin = self.by_kin.lock().unwrap_or_else(PoisonError::into_inner);
            if MOST_KIN <= by_kin.len() {
                by_kin.clear();
            }
            by_kin.insert(kin, Arc::clone(&of_kin));
            of_kin
        })
    }
}

fn judge(matching: &[&CompiledRule], call: &PolicyCall<'_>, part: CallPart<'_>) -> PolicyDecision {
    let about: Vec<&CompiledRule> = matching.iter().copied().filter(|rule| rule.is_about(part)).collect();
    let opinion = |tier| speaker(&about, tier).map(|rule| opinion(rule, rule.said.decision, call));
    let own = match (opinion(PolicyTier::System), opinion(PolicyTier::User)) {
        (Some(system), Some(user)) => Some(system.stricter(user)),
        (system, user) => system.or(user),
    };
    let ground = own.unwrap_or_else(|| {
        let built_in = opinion(PolicyTier::Builtin).unwrap_or_else(|| default::lifted(call));
        let untold = default::no_accesses(call).into_iter().chain(default::unread(call));
        untold.fold(built_in, PolicyDecision::stricter)
    });
    let is_closed = call.risk == Risk::Critical && !owners_name_critical(&about);
    let mistaken = about.iter().filter(|rule| rule.said.mistaken);
    let floors = mistaken.map(|rule| self::opinion(rule, rule.said.decision, call));
    let unknown = matching.iter().filter(|rule| is_perhaps_about(rule, part));
    let perhaps = unknown.map(|rule| PolicyDecision {
        reason: format!("`{}`: nobody can tell whether it runs what this rule is about", call.tool),
        ..self::opinion(rule, Verdict::Ask, call)
    });
    (is_closed.then(|| default::by_risk(call)).into_iter())
        .chain(opinion(PolicyTier::Project))
        // What an agent's own file allows lifts what it forbids itself, and nothing else.
        .chain(opinion(PolicyTier::Definition).filter(|own| own.verdict != Verdict::Allow))
        .chain(floors)
        .chain(perhaps)
        .chain(default::plan_refusal(call))
        .fold(ground, PolicyDecision::stricter)
}

/// The rule that speaks for a tier: of those with the highest priority the strictest, the first of equals. A remembered
/// permission stands above the asks, but not where a rule of the tier denies, whatever their priorities.
fn speaker<'a>(about: &[&'a CompiledRule], tier: PolicyTier) -> Option<&'a CompiledRule> {
    let of_tier = || about.iter().copied().filter(|rule| rule.said.tier == tier && !rule.said.mistaken);
    let rank = |rule: &CompiledRule| (rule.said.priority, rule.said.decision);
    let ordinary = of_tier()
        .filter(|rule| !rule.is_grant())
        .reduce(|best, rule| if rank(rule) > rank(best) { rule } else { best });
    let grant = of_tier().find(|rule| rule.is_grant());
    let denies = of_tier().any(|rule| rule.said.decision == Verdict::Deny);
    let may_be_lifted = ordinary.is_none_or(|rule| rule.said.decision == Verdict::Ask) && !denies;
    if may_be_lifted { grant.or(ordinary) } else { ordinary }
}

/// True if a speaker of system or user says `risk = "critical"`: only that silences the default, which denies. A rule
/// that asks about everything was not meant to open what nothing had opened.
fn owners_name_critical(about: &[&CompiledRule]) -> bool {
    [PolicyTier::System, PolicyTier::User]
        .into_iter()
        .any(|tier| speaker(about, tier).is_some_and(CompiledRule::names_critical))
}

/// A rule restricts certain commands, and nobody can tell whether this is one of them.
fn is_perhaps_about(rule: &CompiledRule, part: CallPart<'_>) -> bool {
    rule.said.decision != Verdict::Allow && rule.is_perhaps_about(part)
}

fn opinion(rule: &CompiledRule, verdict: Verdict, call: &PolicyCall<'_>) -> PolicyDecision {
    let said = &rule.said;
    let reason = match &said.message {
        _ if said.mistaken => {
            format!(
                "`{}`: the rule {} has a mistake, cannot be read or has changed, and may be about this; look at it",
                call.tool, said.id
            )
        }
        Some(message) => format!("`{}`: {message}", call.tool),
        None => format!("`{}`: {} {}", call.tool, whose(rule), deed(verdict)),
    };
    PolicyDecision { verdict, rule: said.id.clone(), reason, is_default: false, tier: said.tier }
}

fn whose(rule: &CompiledRule) -> &'static str {
    match rule.said.tier {
        _ if rule.is_grant() => "an earlier answer",
        PolicyTier::System => "a rule of this system",
        PolicyTier::User => "a rule of the user",
        PolicyTier::Project => "a rule of the project",
        PolicyTier::Definition => "the agent's own file",
        PolicyTier::Builtin => "a built-in rule",
    }
}

fn deed(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allows it",
        Verdict::Ask => "wants a person's consent",
        Verdict::Deny => "forbids it",
    }
}
