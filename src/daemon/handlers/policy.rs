//! `policy/list`, `policy/check`, `policy/remove`.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    super::{
        discovery::foreign,
        hook_places,
        redaction::{shown_command, without_secrets},
        rpc::{MethodHandlers, RpcCaller},
    },
    by, hooks, internal,
    lookup::{definition, session, usual_agent},
    roots, usual_mode, violation,
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, discovery::ToolDiscovery,
    hook_control::HookControl, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use ::hooks::{Hook, HookFacts, HookFailurePolicy, HookFiring, HookOutlook, HookState};
use project::Project;
use protocol::{
    AgentDefinition, ErrorKind, EventHead, EventSeq, HookEventName, ListedRule, MatchedHook, PolicyChanged,
    PolicyCheck, PolicyCheckParams, PolicyCheckResult, PolicyList, PolicyListParams, PolicyListResult,
    PolicyRemove, PolicyRemoveParams, PolicyRemoveResult, PolicyRule, PolicyTier, PolicyVerdict,
    PrivateEventFields, RpcError, SessionId, ToolError, ToolErrorType, Verdict,
};
use redact::Redactor;
use run::{CheckError, CheckRequest, CheckedCall, PlanError, RunExecutor};
use store::{EventStore, NewEvent, StoreError};

/// Ids that an error names at most.
const MOST_NAMED: usize = 50;

/// The services that the methods of policies use.
pub(super) struct PolicyMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
    pub hooks: Arc<HookControl>,
    pub discovery: ToolDiscovery,
    pub remembered: RememberedRules,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, executor, workspaces, hooks, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api = api.given(Arc::new(PolicyMethods {
        settings,
        store,
        executor,
        workspaces,
        hooks,
        discovery,
        remembered: RememberedRules::of(services),
    }));
    api.cancellable::<PolicyList, _, _>(list);
    api.cancellable::<PolicyCheck, _, _>(check);
    api.method::<PolicyRemove, _, _>(remove);
}

async fn list(
    state: Arc<PolicyMethods>,
    _: RpcCaller,
    params: PolicyListParams,
) -> Result<PolicyListResult, RpcError> {
    let roots = params.workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    let project = state
        .workspaces
        .project(roots)
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let redactor = state.settings.redactor.get();
    let in_force = project.rules.policy();
    let mut rules: Vec<PolicyRule> = in_force.rules().cloned().map(|rule| shown(rule, &redactor)).collect();
    in_order_of_speech(&mut rules);
    let used = state.store.remembered_rules_used().await?;
    let listed = |rule: PolicyRule| ListedRule {
        allows: rule.from_confirmation.as_ref().map(|_| policy::allows(&rule)),
        last_used_at: used.get(&rule.id).copied(),
        rule,
    };
    let rules = rules.into_iter().map(listed).collect();
    let files = state.workspaces.projects.rules().files();
    let problems = files.problems().chain(&project.problems).cloned().collect();
    Ok(PolicyListResult { rules, problems: without_secrets(problems, &redactor) })
}

/// By tier; in each first what nothing lifts, then by priority, the stricter first. What was remembered stands before all
/// that only asks.
fn in_order_of_speech(rules: &mut [PolicyRule]) {
    let is_remembered = |rule: &PolicyRule| rule.from_confirmation.is_some();
    rules.sort_by_key(|rule| {
        let priority = std::cmp::Reverse((rule.priority, rule.decision));
        let class = match rule.decision {
            _ if rule.mistaken => 0,
            Verdict::Deny => 1,
            _ if is_remembered(rule) => 2,
            Verdict::Ask | Verdict::Allow => 3,
        };
        (rule.tier, class, priority)
    });
}

fn shown(rule: PolicyRule, redactor: &Redactor) -> PolicyRule {
    PolicyRule {
        args_pattern: rule.args_pattern.map(|text| redactor.owned(text)),
        command_prefix: rule.command_prefix.into_iter().map(|text| redactor.owned(text)).collect(),
        message: rule.message.map(|text| redactor.owned(text)),
        accesses: rule.accesses.into_iter().map(|access| redactor.access(access)).collect(),
        ..rule
    }
}

async fn check(
    state: Arc<PolicyMethods>,
    _: RpcCaller,
    params: PolicyCheckParams,
) -> Result<PolicyCheckResult, RpcError> {
    let PolicyCheckParams { tool, arguments, agent, session_id, workspace } = params;
    let given = workspace.as_ref().map(roots).transpose()?;
    let (roots, mode, usual) = match &session_id {
        Some(id) => {
            let summary = session(&state.store, id).await?;
            let own: Vec<PathBuf> = summary.roots.iter().map(PathBuf::from).collect();
            if given.is_some_and(|given| given != own) {
                return Err(violation("/workspace", "is not that of the session"));
            }
            (own, summary.mode, summary.agent)
        }
        None => {
            let needed = || violation("/workspace", "needed without sessionId");
            (given.ok_or_else(needed)?, usual_mode(&state.settings.get().config), None)
        }
    };
    let project = state
        .workspaces
        .project(roots.clone())
        .await
        .map_err(|error| internal("the workspace could not be read", &error))?;
    let agent = agent.or(usual).unwrap_or_else(|| usual_agent(&state.settings, &project));
    let (definition, _) = definition(&project.catalog, &agent)?;
    let foreign = foreign(&state.discovery, &project, session_id.as_ref(), Some(&definition)).await;
    let call = MetCall {
        agent: Arc::clone(&definition),
        project: Arc::clone(&project),
        arguments: arguments.as_object().cloned(),
    };
    let request =
        CheckRequest { definition, project, roots, tool, arguments, mode, session: session_id, foreign };
    let checked = state.executor.check(request).await.map_err(refused)?;
    let redactor = state.settings.redactor.get();
    let hooks = hooks_met(&state, call, &checked).await?;
    let verdict = PolicyVerdict {
        decision: checked.decision.verdict,
        rule: checked.decision.rule,
        reason: redactor.owned(checked.decision.reason),
    };
    Ok(PolicyCheckResult {
        verdict: with_failing_guards(verdict, &hooks),
        hooks,
        tool: checked.tool,
        kind: checked.kind,
        risk: checked.risk,
        description: redactor.owned(checked.description),
        accesses: checked.accesses.into_iter().map(|access| redactor.access(access)).collect(),
    })
}

/// The verdict with the guards that cannot be asked: they refuse the call, or have a person asked, whatever the rules say.
fn with_failing_guards(verdict: PolicyVerdict, hooks: &[MatchedHook]) -> PolicyVerdict {
    let of_hook = |decision, hook: &MatchedHook, does: &str, why: &str| PolicyVerdict {
        decision,
        rule: format!("hook:{}", hook.id),
        reason: format!("the hook {} {does}: {why}", hook.id),
    };
    let before = |hook: &&MatchedHook| {
        matches!(hook.event, HookEventName::PreToolUse | HookEventName::PermissionRequest)
    };
    let refusing = hooks.iter().filter(before).find_map(|hook| Some((hook, hook.deny_reason.as_ref()?)));
    let asking = hooks.iter().filter(before).find_map(|hook| Some((hook, hook.ask_reason.as_ref()?)));
    match (verdict.decision, refusing, asking) {
        (Verdict::Ask | Verdict::Allow, Some((hook, why)), _) => {
            of_hook(Verdict::Deny, hook, "would refuse the call", why)
        }
        (Verdict::Allow, None, Some((hook, why))) => {
            of_hook(Verdict::Ask, hook, "would have a person asked", why)
        }
        _ => verdict,
    }
}

/// A call of an agent, as hooks are told of it.
struct MetCall {
    agent: Arc<AgentDefinition>,
    project: Arc<Project>,
    arguments: Option<Map<String, Value>>,
}

/// The hooks that a run of the agent would ask or tell about the call, as they are now.
async fn hooks_met(
    state: &PolicyMethods,
    MetCall { agent, project, arguments }: MetCall,
    checked: &CheckedCall,
) -> Result<Vec<MatchedHook>, RpcError> {
    let mut events = vec![HookEventName::PreToolUse];
    events.extend((checked.decision.verdict == Verdict::Ask).then_some(HookEventName::PermissionRequest));
    if checked.decision.verdict != Verdict::Deny {
        events.extend([HookEventName::PostToolUse, HookEventName::PostToolUseFailure]);
    }
    let firings: Vec<HookFiring> = events
        .into_iter()
        .map(|event| {
            let facts = HookFacts::sample(event, &checked.tool, Some(arguments.clone().unwrap_or_default()));
            let facts = facts.touching(&checked.accesses);
            HookFiring::by_hand(facts, project.catalog.definitions().map(|agent| &agent.name))
        })
        .collect();
    let (hooks, roots) = (state.hooks.in_force.clone(), project.roots.clone());
    let redactor = state.settings.redactor.get();
    let (runner, reading_redactor) = (state.hooks.runner.clone(), Arc::clone(&redactor));
    let reading = move || {
        let own = hook_places::of_agents(&project).into_iter().filter(|it| it.agent == agent.name);
        let read = hooks.read(&roots, &own.collect::<Vec<_>>());
        let configuration = hooks.configuration();
        let folders: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let settings = (&configuration.settings, &*reading_redactor);
        let met = firings.iter().flat_map(|firing| {
            let event = firing.facts.event();
            read.set.concerned(firing).into_iter().map(move |hook| (event, hook))
        });
        let met = met.map(|(event, hook)| {
            let outlook = runner.outlook(&hook, &folders, settings);
            let warning = runner.warning(&hook, &folders, settings);
            (event, hook, outlook, warning)
        });
        met.collect::<Vec<_>>()
    };
    let met = tokio::task::spawn_blocking(reading)
        .await
        .map_err(|error| internal("the hooks could not be read", &error))?;
    let told = |met: (HookEventName, Arc<Hook>, Option<HookOutlook>, Option<String>)| {
        let (event, hook, outlook, warning) = met;
        let mut met = MatchedHook {
            id: hook.id.as_str().to_owned(),
            event,
            runs: shown_command(hook.handler.shown(), &redactor),
            deny_reason: None,
            ask_reason: None,
            skipped: None,
            warning: warning.map(|text| redactor.owned(text)),
        };
        let outlook = outlook.map(|it| (it.comes_of_it, redactor.owned(it.why)));
        match outlook {
            _ if hook.state == HookState::Untrusted => met.skipped = Some(hooks::untrusted(&hook.origin)),
            None => {}
            Some((HookFailurePolicy::Block, why)) => met.deny_reason = Some(why),
            Some((HookFailurePolicy::Ask, why)) => met.ask_reason = Some(why),
            Some((HookFailurePolicy::Continue, why)) => met.skipped = Some(why),
        }
        met
    };
    Ok(met.into_iter().map(told).collect())
}

/// A call that cannot be prepared has no verdict: it would fail before anybody judged it.
fn refused(error: CheckError) -> RpcError {
    match error {
        CheckError::Workspace(error) => PlanError::from(error).into(),
        CheckError::Violations(violations) => {
            let violations: Vec<_> = violations
                .iter()
                .map(|it| json!({ "pointer": format!("/arguments{}", it.pointer), "message": it.message }))
                .collect();
            RpcError::new(ErrorKind::InvalidParams, "the arguments do not fit the tool")
                .with_details(json!({ "violations": violations }))
        }
        CheckError::Refused(ToolError { kind, message }) => {
            let pointer = match kind {
                ToolErrorType::ToolNotAllowed
                | ToolErrorType::ToolNotRegistered
                | ToolErrorType::WorkspaceNotTrusted => "/tool",
                _ => "/arguments",
            };
            RpcError::new(ErrorKind::InvalidParams, format!("{pointer}: {message}")).with_details(json!({
                "violations": [{ "pointer": pointer, "message": message }],
                "toolError": kind,
            }))
        }
    }
}

async fn remove(
    state: Arc<PolicyMethods>,
    caller: RpcCaller,
    params: PolicyRemoveParams,
) -> Result<PolicyRemoveResult, RpcError> {
    let PolicyRemoveParams { rule_id } = params;
    // With whoever reads the rules anew: what is in force changes one step at a time.
    let _turn = state.settings.changes.lock().await;
    let remembered = state.store.remembered_rules().await?;
    if !remembered.iter().any(|rule| rule.id == rule_id) {
        return Err(not_remembered(&state, &rule_id, &remembered));
    }
    let seq = forget(&state.remembered, by(&caller), vec![rule_id.clone()]).await?;
    Ok(PolicyRemoveResult { rule_id, seq })
}

/// The services by which remembered rules are taken back.
#[derive(Clone)]
pub(super) struct RememberedRules {
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    store: EventStore,
    workspaces: Arc<WorkspaceSources>,
}

impl RememberedRules {
    pub fn of(services: &DaemonServices) -> RememberedRules {
        let DaemonServices { life, settings, store, workspaces, .. } = services.clone();
        RememberedRules { life, settings, store, workspaces }
    }
}

/// Takes remembered rules back, in the log and then in force.
async fn forget(
    state: &RememberedRules,
    by: Option<String>,
    ids: Vec<String>,
) -> Result<EventSeq, StoreError> {
    let event = NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by, ..EventHead::default() },
        body: PolicyChanged { added: Vec::new(), removed: ids.clone(), files: Vec::new() }.into(),
        private: PrivateEventFields::default(),
    };
    let (_, seq) = state.store.append(vec![event]).await?;
    state.workspaces.projects.rules().forget(&ids);
    Ok(seq)
}

/// Rules that hold in a session that is gone mean nothing any more, and would be compared with every call for good.
pub(super) async fn forget_session(
    state: &RememberedRules,
    by: Option<String>,
    session: &SessionId,
) -> Result<(), StoreError> {
    let _turn = state.settings.changes.lock().await;
    let remembered = state.store.remembered_rules().await?;
    let of_session = remembered.into_iter().filter(|rule| rule.session.as_ref() == Some(session));
    let ids: Vec<String> = of_session.map(|rule| rule.id).collect();
    if !ids.is_empty() {
        forget(state, by, ids).await?;
    }
    Ok(())
}

fn not_remembered(state: &PolicyMethods, id: &str, remembered: &[PolicyRule]) -> RpcError {
    let policy = state.workspaces.projects.rules().policy();
    let of_file = policy.rules().find(|rule| rule.id == id);
    let ids: Vec<&str> = remembered.iter().take(MOST_NAMED).map(|rule| rule.id.as_str()).collect();
    let (message, hint) = match of_file {
        Some(rule) => {
            let whose = if rule.tier == PolicyTier::System { "the system's" } else { "your" };
            (
                format!("the rule {id} stands in a file; only remembered rules are removed"),
                format!("take it out of {whose} file, then `subagent reload`"),
            )
        }
        None if ids.is_empty() => {
            (format!("there is no remembered rule {id}"), "no rule is remembered".to_owned())
        }
        None => (format!("there is no remembered rule {id}"), format!("remembered are {}", ids.join(", "))),
    };
    RpcError::new(ErrorKind::NotFound, message).with_details(json!({ "remembered": ids })).with_hint(hint)
}
