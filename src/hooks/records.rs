//! What did each hook of a firing say? Without secrets, merged into one verdict, and written down for the log.

use std::{sync::Arc, time::Duration};

use super::{
    Hook, HookFiring, HookHandler, HookVerdict, HookWorkspace,
    answer::{self, HandlerEnd, HookAnswer},
    combining::{CountedAnswer, HeardHook, VerdictBuilder},
};
use protocol::{HookConfinement, HookFired, HookOutcome, Timestamp, ToolName};

/// One hook's end within a firing.
pub(super) struct AskedHook {
    pub at: usize,
    pub hook: Arc<Hook>,
    pub end: HandlerEnd,
    pub answer: HookAnswer,
    pub took: Duration,
    pub started_at: Timestamp,
    /// Without secrets.
    pub confinement: Option<HookConfinement>,
    /// The page that it was asked about, of several.
    pub page: Option<String>,
}

/// Everything that a hook said, without secrets.
pub(super) fn heard(
    at: usize,
    hook: Arc<Hook>,
    mut end: HandlerEnd,
    (firing, workspace): (&HookFiring, &HookWorkspace),
    (started_at, took): (Timestamp, Duration),
) -> AskedHook {
    let is_prompt = matches!(hook.handler, HookHandler::Prompt { .. } | HookHandler::Agent { .. });
    let redactor = &workspace.redactor;
    // Before anything is cut of it: of half a secret nobody can tell that it is one.
    end.stderr = redactor.owned(std::mem::take(&mut end.stderr));
    let mut answer = answer::read(&end, firing.facts.event(), hook.contract, is_prompt);
    if failed_confined(&hook, &end) {
        tell_of_sandbox(&mut answer, &hook, &end, workspace);
    }
    // Its answer is read; what is left is for people and the model.
    end.stdout = redactor.owned(std::mem::take(&mut end.stdout));
    end.without_echo = end.without_echo.map(|text| redactor.owned(text));
    let texts =
        [&mut answer.reason, &mut answer.stop, &mut answer.context, &mut answer.message, &mut answer.ignored];
    for text in texts.into_iter().flatten() {
        *text = redactor.owned(std::mem::take(text));
    }
    if let Some((_, why)) = &mut answer.failure {
        *why = redactor.owned(std::mem::take(why));
    }
    if let Some(output) = &mut answer.updated_output {
        redactor.value(output);
    }
    end.stderr_end = last_of(redactor.owned(std::mem::take(&mut end.stderr_end)));
    if let Some(title) = &mut answer.session_title {
        *title = redactor.owned(std::mem::take(title));
    }
    if let Some(permissions) = &mut answer.shown_permissions {
        redactor.value(permissions);
    }
    let confinement = hook.confinement(|words| redactor.owned(words));
    let page = firing.facts.call().and_then(|call| call.page.clone());
    AskedHook { at, hook, end, answer, took, started_at, confinement, page }
}

/// The reason for many a failure of a confined hook, which its own words seldom say.
const NO_NETWORK: &str = "it ran in a sandbox without network (setting `sandbox.network`)";
const IN_SANDBOX: &str = "it ran in a sandbox";
/// Advice about one of a person's own.
const WHY_CONFINED: &str = "where only the workspace can be written: `subagent hooks list` says why";

/// Words of programs that do not reach what they want to, in lower case.
const UNREACHABLE: &[&str] = &[
    "connection refused",
    "connecterror",
    "connectionerror",
    "could not connect",
    "could not resolve",
    "couldn't resolve",
    "dns error",
    "eai_again",
    "enetunreach",
    "enotfound",
    "failed to download",
    "failed to fetch",
    "getaddrinfo",
    "name or service not known",
    "name resolution",
    "network is unreachable",
];

/// True of a command that ended with a complaint in a sandbox.
fn failed_confined(hook: &Hook, end: &HandlerEnd) -> bool {
    matches!(hook.handler, HookHandler::Command { .. })
        && hook.is_confined()
        && end.exit_code.is_some_and(|code| code != 0)
}

/// Says so of a failure, and of exit code 2 where the hook itself says that it did not reach something: it refused nothing then.
fn tell_of_sandbox(answer: &mut HookAnswer, hook: &Hook, end: &HandlerEnd, workspace: &HookWorkspace) {
    let has_network = workspace.settings.sandbox.network;
    let place = if has_network { IN_SANDBOX } else { NO_NETWORK };
    if let Some((_, why)) = &mut answer.failure {
        // A project's author knows that it runs in one. Whoever wrote their own hook may not.
        match hook.origin.is_own() {
            true => why.push_str(&format!("; {place}, {WHY_CONFINED}")),
            false if !has_network => why.push_str(&format!("; {place}")),
            false => {}
        }
    } else if let Some(reason) = answer.reason.as_mut().filter(|_| !has_network) {
        let said = [&end.stderr, &end.stderr_end].map(|text| text.to_lowercase());
        if UNREACHABLE.iter().any(|words| said.iter().any(|text| text.contains(words))) {
            *reason = format!("{NO_NETWORK} and says: {reason}");
        }
    }
}

/// Bytes of the end of standard error that the log gets (spec 08).
const MAX_STDERR_END: usize = 2 << 10;

/// Bytes of a text for the model that the log gets beside the context, which has all of it.
const MOST_ADDED: usize = 2 << 10;

fn first_of(text: &str) -> String {
    match MOST_ADDED < text.len() {
        false => text.to_owned(),
        true => format!("{}…", &text[..text.floor_char_boundary(MOST_ADDED)]),
    }
}

fn last_of(text: String) -> String {
    match text.len().checked_sub(MAX_STDERR_END) {
        None | Some(0) => text,
        Some(from) => text[text.ceil_char_boundary(from)..].to_owned(),
    }
}

/// Merges what hooks said, and writes a record of each.
pub(super) fn counted(
    mut builder: VerdictBuilder<'_>,
    asked: Vec<AskedHook>,
    firing: &HookFiring,
    records: &mut Vec<HookFired>,
) -> HookVerdict {
    for AskedHook { hook, end, answer, took, started_at, confinement, page, .. } in asked {
        if answer.goes_async.is_some() {
            // Its record comes with its end.
            continue;
        }
        let counted = builder.take(HeardHook { hook: Arc::clone(&hook), answer: answer.clone(), page });
        let record = record(&hook, &end, &answer, counted, firing, took);
        records.push(HookFired { started_at: Some(started_at), confinement, ..record });
    }
    builder.finish()
}

/// Only of a hook that was to be told something when the daemon stopped.
pub(super) fn interrupted(hook: &Hook, firing: &HookFiring) -> HookFired {
    let why = "the daemon stopped while it was to be told, and it is not told again";
    let answer =
        HookAnswer { failure: Some((HookOutcome::Interrupted, why.to_owned())), ..HookAnswer::default() };
    let counted = CountedAnswer { reason: Some(why.to_owned()), ..CountedAnswer::default() };
    record(hook, &HandlerEnd::default(), &answer, counted, firing, Duration::ZERO)
}

pub(super) fn record(
    hook: &Hook,
    end: &HandlerEnd,
    answer: &HookAnswer,
    counted: CountedAnswer,
    firing: &HookFiring,
    took: Duration,
) -> HookFired {
    let outcome = match (&counted.invalid, &answer.failure) {
        (Some(_), _) => HookOutcome::Invalid,
        (None, Some((how, _))) => *how,
        (None, None) => HookOutcome::Answered,
    };
    HookFired {
        firing_id: firing.firing_id.clone(),
        hook_id: hook.id.as_str().to_owned(),
        event: firing.facts.event(),
        source: hook.origin.source(),
        call_id: firing.facts.call().map(|call| call.call_id.clone()),
        attempt: firing.attempt,
        decision: counted.decision,
        is_async: false,
        mcp_tool: match &hook.handler {
            HookHandler::McpTool { server, tool, .. } => Some(ToolName::from(format!("mcp.{server}.{tool}"))),
            _ => None,
        },
        changed: counted.changed,
        dropped_change: None,
        added: counted.added.map(|text| first_of(text.trim())),
        message: counted.message.map(|message| cut_short(message.trim())),
        follow_up: None,
        replacement: None,
        round: 1,
        started_at: None,
        outcome,
        exit_code: end.exit_code.filter(|_| matches!(hook.handler, HookHandler::Command { .. })),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        reason: counted.reason.map(|reason| cut_short(&reason)),
        stderr: Some(end.stderr_end.trim().to_owned()).filter(|text| !text.is_empty()),
        confinement: None,
        settles_result: false,
    }
}

/// Meant for the log: the model gets the whole.
fn cut_short(reason: &str) -> String {
    /// Characters of a reason in a record.
    const LONGEST: usize = 500;
    match reason.char_indices().nth(LONGEST) {
        None => reason.to_owned(),
        Some((end, _)) => format!("{}…", &reason[..end]),
    }
}
