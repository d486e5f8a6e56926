//! `hooks/list`, `hooks/setEnabled`, `hooks/test`.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use self::earlier_answers::earlier_answers;
use super::{
    super::{
        hook_outlooks, hook_places, hook_problems,
        redaction::{shown_command, without_secrets},
        rpc::{MethodHandlers, RpcCaller},
    },
    internal, known_roots, roots, violation,
};
use crate::{
    daemon_services::DaemonServices, discovery::ToolDiscovery, hook_control::HookControl,
    program_runtime::ProgramRuntime, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use hooks::{
    CheckedArguments, FiredHooks, Hook, HookFacts, HookFailurePolicy, HookFiring, HookOrigin, HookPlacesRead,
    HookServices, HookState, HookTrial, HookVerdict, HookWorkspace, KeptFromHook, LastHookAnswer,
    UnfiredHook,
};
use protocol::{
    ErrorKind, HookConfinement, HookDecision, HookEventName, HookFailure, HookFault, HookFired, HookOutcome,
    HookStanding, HooksList, HooksListParams, HooksListResult, HooksSetEnabled, HooksSetEnabledParams,
    HooksSetEnabledResult, HooksTest, HooksTestParams, HooksTestResult, LastHookEnd, ListedHook, RpcError,
    SandboxProfile, ToolName, WorkspaceParam,
};
use redact::Redactor;
use store::EventStore;
use tools::{CommandRuntime, ConfinedProgram, KeptPlaces};

mod earlier_answers;

/// Ids that an error names at most.
const MOST_NAMED: usize = 50;

/// The services that the methods of hooks use.
pub(super) struct HookMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub workspaces: Arc<WorkspaceSources>,
    pub programs: Arc<ProgramRuntime>,
    pub hooks: Arc<HookControl>,
    pub discovery: ToolDiscovery,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, workspaces, programs, hooks, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api =
        api.given(Arc::new(HookMethods { settings, store, workspaces, programs, hooks, discovery }));
    api.cancellable::<HooksList, _, _>(list);
    api.method::<HooksSetEnabled, _, _>(set_enabled);
    api.cancellable::<HooksTest, _, _>(test);
}

async fn list(
    state: Arc<HookMethods>,
    _: RpcCaller,
    params: HooksListParams,
) -> Result<HooksListResult, RpcError> {
    let (folders, read) = read(&state, params.workspace.as_ref()).await?;
    if let Err(error) = state.hooks.runner.recall(earlier_answers(&state.store)).await {
        tracing::warn!(%error, "the answers of hooks before this start could not be read");
    }
    let outlooks =
        hook_outlooks::of_hooks(&state.hooks, state.settings.redactor.get(), &read, folders.clone()).await;
    let mut outlooks = outlooks.map_err(|error| internal("the hooks could not be looked at", &error))?;
    let project = state.workspaces.project(folders).await;
    let project = project.map_err(|error| internal("the agents could not be read", &error))?;
    let known = hook_problems::known_tools(&state.discovery, &project);
    let redactor = state.settings.redactor.get();
    let has_workspace = params.workspace.is_some();
    let hooks = read.set.hooks().iter().map(|hook| {
        let at = outlooks.iter().position(|(id, _)| *id == hook.id);
        let outlook = at.map(|at| outlooks.swap_remove(at).1).unwrap_or_default();
        let fault = outlook.fault.map(|it| HookFault { reason: it.why, failure: meaning_of(it.comes_of_it) });
        ListedHook {
            // Without a workspace nobody can tell whether it names a file of one.
            confinement: outlook
                .confinement
                .or_else(|| confinement(hook, &redactor))
                .filter(|_| has_workspace || !hook.origin.is_own()),
            fault,
            warning: outlook.warning,
            ..listed(hook, &state, &redactor)
        }
    });
    let hooks = hooks.collect();
    Ok(HooksListResult { hooks, problems: without_secrets(read.all_problems(&known), &redactor) })
}

/// The hooks of a workspace, or without any, and its folders.
async fn read(
    state: &Arc<HookMethods>,
    workspace: Option<&WorkspaceParam>,
) -> Result<(Vec<PathBuf>, Arc<HookPlacesRead>), RpcError> {
    let folders = match workspace {
        Some(workspace) => known_roots(roots(workspace)?).await?,
        None => Vec::new(),
    };
    let read = state.hooks.of(hook_places::canonical(&folders)).await;
    Ok((folders, read.map_err(|error| internal("the hooks could not be read", &error))?))
}

fn listed(hook: &Hook, state: &HookMethods, redactor: &Redactor) -> ListedHook {
    let (hook_state, reason) = match &hook.state {
        HookState::On => (HookStanding::On, None),
        HookState::Off => (HookStanding::Off, None),
        HookState::Untrusted => (HookStanding::Untrusted, Some(untrusted(&hook.origin))),
        HookState::Changed { reason } => (HookStanding::Changed, Some(reason.clone())),
        HookState::Broken => (HookStanding::Broken, None),
        HookState::NeverFires => (HookStanding::NeverFires, None),
    };
    let last = state.hooks.runner.last(&hook.id);
    ListedHook {
        id: hook.id.as_str().to_owned(),
        event: hook.event_name.clone(),
        source: hook.origin.source(),
        file: hook.file.to_string_lossy().into_owned(),
        line: (hook.line != 0).then_some(hook.line),
        matcher: hook.matcher.text().map(str::to_owned),
        condition: hook.condition.as_ref().map(|condition| condition.text().to_owned()),
        kind: hook.handler.kind().to_owned(),
        runs: shown_command(hook.handler.shown(), redactor),
        on_failure: meaning_of(hook.on_failure),
        timeout_seconds: hook.timeout.as_secs_f64(),
        is_async: hook.is_async,
        state: hook_state,
        reason,
        fault: None,
        warning: None,
        confinement: None,
        last: last.map(|LastHookAnswer { at, outcome, decision, why_it_failed }| LastHookEnd {
            at,
            outcome,
            decision,
            failure_reason: why_it_failed,
        }),
    }
}

/// The word of the wire for what a failure means.
fn meaning_of(policy: HookFailurePolicy) -> HookFailure {
    match policy {
        HookFailurePolicy::Continue => HookFailure::Continue,
        HookFailurePolicy::Block => HookFailure::Block,
        HookFailurePolicy::Ask => HookFailure::Ask,
    }
}

/// The place where its command runs, for people.
fn confinement(hook: &Hook, redactor: &Redactor) -> Option<HookConfinement> {
    hook.confinement(|words| shown_command(words, redactor))
}

/// The reason why nobody runs it, and what to do.
pub(super) fn untrusted(origin: &HookOrigin) -> String {
    match origin {
        HookOrigin::Agent { agent } => {
            format!("nobody has acknowledged the agent's file (`subagent trust {agent}`)")
        }
        HookOrigin::System | HookOrigin::User => {
            "another product's file, which your setting `hooks.places` does not name".to_owned()
        }
        HookOrigin::Project { .. } => {
            "nobody has acknowledged its file as it is now (`subagent trust`)".to_owned()
        }
    }
}

async fn set_enabled(
    state: Arc<HookMethods>,
    _: RpcCaller,
    params: HooksSetEnabledParams,
) -> Result<HooksSetEnabledResult, RpcError> {
    let HooksSetEnabledParams { id, enabled, workspace } = params;
    let (_, read) = read(&state, workspace.as_ref()).await?;
    let _turn = state.hooks.changes.lock().await;
    let found = named(&read, &id);
    let id = found.map_or(id, |hook| hook.id.as_str().to_owned());
    match found {
        Some(hook) if hook.origin == HookOrigin::System && !enabled => {
            let message = format!(
                "{id} is a hook of the system's settings, which nobody but its administrator switches off"
            );
            return Err(RpcError::new(ErrorKind::Forbidden, message)
                .with_hint("ask whoever administers this machine"));
        }
        Some(_) => {}
        // What is off and not there any more can be forgotten.
        None if enabled && state.hooks.switched_off.get().contains(&id) => {}
        None => return Err(not_found(&id, &read)),
    }
    state.hooks.switch(&id, enabled).await?;
    Ok(HooksSetEnabledResult { id, enabled })
}

/// Letters of a short id at least.
const SHORTEST_ID: usize = 4;

/// The hook of an id, or the only one whose number, the end of its id, begins so.
fn named<'a>(read: &'a HookPlacesRead, id: &str) -> Option<&'a Arc<Hook>> {
    let number = |hook: &Hook| hook.id.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    read.set.named(id).or_else(|| {
        let is_meant = |hook: &&Arc<Hook>| SHORTEST_ID <= id.len() && number(hook).starts_with(id);
        let mut meant = read.set.hooks().iter().filter(is_meant);
        meant.next().filter(|_| meant.next().is_none())
    })
}

fn not_found(id: &str, read: &HookPlacesRead) -> RpcError {
    let known: Vec<&str> = read.set.hooks().iter().map(|hook| hook.id.as_str()).take(MOST_NAMED).collect();
    // Of a long id people type the beginning, or the end.
    let is_part = |known: &&&str| 4 <= id.len() && (known.starts_with(id) || known.ends_with(id));
    let part = known.iter().find(is_part).copied();
    let nearest = part.or_else(|| sys::nearest::nearest(id, known.iter().copied()));
    let hint = match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`subagent hooks list` shows the ids, those of a project's hooks in its folder".to_owned(),
    };
    RpcError::new(ErrorKind::NotFound, format!("there is no hook {id} here"))
        .with_details(json!({ "hooks": known }))
        .with_hint(hint)
}

async fn test(
    state: Arc<HookMethods>,
    _: RpcCaller,
    params: HooksTestParams,
) -> Result<HooksTestResult, RpcError> {
    let HooksTestParams { id, workspace, tool, input } = params;
    let (folders, read) = self::read(&state, Some(&workspace)).await?;
    let hook = Arc::clone(named(&read, &id).ok_or_else(|| not_found(&id, &read))?);
    let Some(event) = hook.events.first().copied() else {
        let message =
            format!("`{}` is never fired by this daemon, so there is nothing to be tried", hook.event_name);
        return Err(RpcError::new(ErrorKind::InvalidParams, message));
    };
    let named = |named: &str| ToolName::from(protocol::listed_tool(named).unwrap_or(named));
    let tool_name = tool.as_deref().map_or_else(|| hook.sample_tool(), named);
    let facts = HookFacts::sample(event, &tool_name, input).typed_for(hook.contract);
    if tool.is_some() && facts.call().is_none() && event != HookEventName::PostToolBatch {
        return Err(violation("/tool", "means nothing at an event that is about no call"));
    }
    let firing = HookFiring::by_hand(facts, []);
    let temporary = state.programs.commands.temporary().clone();
    let temporary = tokio::task::spawn_blocking(move || temporary.make("hooks-test"))
        .await
        .map_err(|error| internal("the hook could not be tried", &error))?
        .map_err(|error| internal("the folder for temporary files cannot be made", &error))?;
    let workspace = HookWorkspace {
        roots: hook_places::canonical(&folders).into_iter().map(PathBuf::from).collect(),
        temporary: temporary.path().to_owned(),
        transcript: PathBuf::new(),
        settings: state.hooks.in_force.configuration().settings.clone(),
        redactor: (*state.settings.redactor.get()).clone(),
    };
    let services: Arc<dyn HookServices> = Arc::new(ByHand {
        roots: workspace.roots.clone(),
        temporary: workspace.temporary.clone(),
        commands: Arc::clone(&state.programs.commands),
    });
    let trial = state.hooks.runner.try_one(&read.set, &hook, &firing, &workspace, &services).await;
    drop(temporary);
    told(&hook, event, trial)
}

/// Everything that a hook can use that is tried by hand.
struct ByHand {
    roots: Vec<PathBuf>,
    temporary: PathBuf,
    commands: Arc<CommandRuntime>,
}

impl HookServices for ByHand {
    fn call_mcp_tool<'a>(
        &'a self,
        _: (&'a str, &'a str),
        _: Value,
        _: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        only_in_runs("calls a tool of an MCP server")
    }

    fn ask_model<'a>(
        &'a self,
        _: &'a str,
        _: String,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        only_in_runs("asks a model")
    }

    fn run_agent<'a>(
        &'a self,
        _: &'a str,
        _: String,
        _: Option<&'a str>,
        _: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        only_in_runs("asks an agent")
    }

    fn check_arguments<'a>(
        &'a self,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<CheckedArguments, String>> {
        Box::pin(std::future::ready(Ok(CheckedArguments::unprepared(arguments))))
    }

    fn kept_from_hook<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<KeptFromHook, String>> {
        Box::pin(async move {
            let hook = ConfinedProgram::Hook { temporary: &self.temporary, text };
            let kept = self.commands.kept_from(hook, &self.roots, SandboxProfile::WorkspaceWrite).await;
            let KeptPlaces { read_only: paths, stays, hold } = kept.map_err(|error| error.to_string())?;
            Ok(KeptFromHook { paths, stays, hold })
        })
    }
}

fn only_in_runs<'a>(what: &'static str) -> BoxFuture<'a, Result<String, String>> {
    Box::pin(std::future::ready(Err(format!("{what}, which it does in runs only; nothing was asked"))))
}

fn told(hook: &Hook, event: HookEventName, trial: HookTrial) -> Result<HooksTestResult, RpcError> {
    let HookTrial { input, unfired, stdout, fired: FiredHooks { mut verdict, records, .. } } = trial;
    let mut record = records.into_iter().next();
    // A run does not ask it either, so it decides nothing.
    if hook.state == HookState::Untrusted {
        verdict = HookVerdict::default();
        record = record.map(|it| HookFired { reason: None, ..it });
    }
    let means = meaning(hook, event, &verdict, record.as_ref().map(|it| it.outcome), unfired);
    Ok(HooksTestResult {
        id: hook.id.as_str().to_owned(),
        event,
        would_fire: unfired.is_none(),
        input,
        stdout,
        stderr: record.as_ref().and_then(|it| it.stderr.clone()).unwrap_or_default(),
        exit_code: record.as_ref().and_then(|it| it.exit_code),
        duration_ms: record.as_ref().map_or(0, |it| it.duration_ms),
        outcome: record.as_ref().map_or(HookOutcome::Answered, |it| it.outcome),
        confinement: record.as_ref().and_then(|it| it.confinement.clone()),
        decision: verdict.decision,
        reason: verdict.reason.or_else(|| record.and_then(|it| it.reason)),
        context: verdict.context.into_iter().map(|context| context.text).collect(),
        arguments: verdict.updated_input,
        warnings: verdict.warnings,
        summary: means,
    })
}

/// The same as the beginning of a sentence.
fn in_front(what: &str) -> String {
    let mut letters = what.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Everything that would happen in a run.
fn meaning(
    hook: &Hook,
    event: HookEventName,
    verdict: &HookVerdict,
    outcome: Option<HookOutcome>,
    unfired: Option<UnfiredHook>,
) -> String {
    let has_failed = outcome.is_some_and(|outcome| outcome != HookOutcome::Answered);
    let what = match event {
        HookEventName::PreToolUse => "the call",
        HookEventName::UserPromptSubmit | HookEventName::UserPromptExpansion | HookEventName::BeforeAgent => {
            "the prompt"
        }
        HookEventName::Stop | HookEventName::SubagentStop | HookEventName::AfterAgent => "the end of the run",
        HookEventName::PreCompact => "the compression",
        HookEventName::PermissionRequest => "the question",
        HookEventName::PostToolUse | HookEventName::PostToolUseFailure => "the result",
        _ => "it",
    };
    let mut sentences = Vec::new();
    if let Some(unfired) = unfired {
        let why = match &hook.state {
            HookState::On if unfired == UnfiredHook::Condition => {
                "its `if` does not mean this call (`FIELD=VALUE` tries another one)"
            }
            HookState::On if matches!(what, "the call" | "the question" | "the result") => {
                "its `matcher` does not mean this call (`--tool NAME` tries another one)"
            }
            HookState::On => "its `matcher` means something else (`FIELD=VALUE` tries another event)",
            HookState::Off => "it is off",
            HookState::Untrusted => match &hook.origin {
                HookOrigin::System | HookOrigin::User => "your setting `hooks.places` does not name its file",
                _ => "nobody has acknowledged its file (`subagent trust`)",
            },
            HookState::Changed { reason } => reason.as_str(),
            HookState::Broken => "its entry cannot be read",
            HookState::NeverFires => "its event is never fired",
        };
        sentences.push(match (&hook.state, hook.on_failure) {
            (HookState::Changed { .. } | HookState::Broken, HookFailurePolicy::Block) => {
                format!("A run does not ask it, and refuses what it guards: {why}.")
            }
            (HookState::Changed { .. } | HookState::Broken, HookFailurePolicy::Ask) => {
                format!("A run does not ask it, and has a person asked: {why}.")
            }
            _ => format!("A run does not ask it: {why}. {} goes on without it.", in_front(what)),
        });
        // These are not run by hand either.
        if matches!(hook.state, HookState::Untrusted | HookState::Changed { .. } | HookState::Broken) {
            sentences.push("It was not run now, so nobody can tell what it would answer.".to_owned());
            return sentences.join(" ");
        }
        sentences.push("If it were asked:".to_owned());
    }
    sentences.push(match (verdict.decision, has_failed) {
        (Some(HookDecision::Deny), true) => format!("It failed, and so it blocks {what}."),
        (Some(HookDecision::Deny), false) => format!("It blocks {what}."),
        (Some(HookDecision::Ask), true) => "It failed, and so a person is asked.".to_owned(),
        (Some(HookDecision::Ask), false) => "A person is asked, whatever rules allow.".to_owned(),
        (Some(HookDecision::Allow), _) => "It has no objection; rules decide as without it.".to_owned(),
        (None, true) => "It failed, which is told as a warning and changes nothing.".to_owned(),
        (None, false) if verdict.is_silent() => "It says nothing, and changes nothing.".to_owned(),
        (None, false) => "It decides nothing.".to_owned(),
    });
    if let Some(stop) = &verdict.stop {
        sentences.push(format!("The run ends: {}.", stop.reason.trim_end_matches('.')));
    }
    if verdict.updated_input.is_some() {
        let what = match event {
            HookEventName::PermissionRequest => {
                "Its other arguments are shown beside the question and do not count."
            }
            _ => {
                "The call's arguments change, and are judged and shown to the other guards as they are then."
            }
        };
        sentences.push(what.to_owned());
    }
    if verdict.updated_output.is_some() {
        sentences.push("The model reads another result.".to_owned());
    }
    if let Some(wanted) = &verdict.follow_up {
        sentences.push(format!(
            "Then {} is called, judged like any call, and the model reads what comes of that.",
            wanted.tool
        ));
    }
    if !verdict.context.is_empty() {
        sentences.push("The model reads its text.".to_owned());
    }
    if hook.is_async {
        sentences.push("In a run nobody waits for it, so it decides nothing there.".to_owned());
    }
    sentences.join(" ")
}
