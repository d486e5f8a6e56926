//! What is a person asked about a call, and what can they answer?

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{CallGate, JudgeContext, PreparedToolCall, PreparedWork};
use crate::machine::HookMadeCall;
use policy::{self, Policy, PolicyCall, RememberScope, RememberedAnswer};
use protocol::{
    ApprovalMode, Confirmation, ConfirmationDetails, ConfirmationId, ConfirmationOption, ConfirmationOutcome,
    GrantScope, JudgedCall, PolicyRule, ResourceAccess, Timestamp, ToolCall, Verdict,
};
use sys::ids;

/// Characters of what a model asked for that a question about the changed call quotes.
const MOST_QUOTED: usize = 400;

/// The arguments that a model gave, as JSON of one line; of long ones the beginning, and how much there is in all.
pub(super) fn briefly(arguments: &Value) -> String {
    let text = arguments.to_string();
    match text.char_indices().nth(MOST_QUOTED) {
        None => text,
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
    }
}

/// `the hook user/AfterTool/1 wants this call after read_file {"path":"a.txt"}`. Logs of earlier versions do not say which hook.
fn said_of(wanted: &HookMadeCall) -> String {
    let hook = wanted.hook.as_ref().map_or_else(|| "a hook".to_owned(), |hook| format!("the hook {hook}"));
    let after =
        wanted.after.as_ref().map(|call| format!(" after {} {}", call.name, briefly(&call.arguments)));
    format!("{hook} wants this call{}", after.unwrap_or_default())
}

impl CallGate {
    /// The question whether a call may run. With `before` it is that question as it is now, under its id.
    pub(crate) fn question(
        &self,
        call: &ToolCall,
        prepared: &PreparedToolCall,
        judge_context: &JudgeContext,
        before: Option<&Confirmation>,
    ) -> Confirmation {
        let asking = &judge_context.asking;
        let approval = &asking.approval;
        let created_at = before.map_or(judge_context.now, |before| before.created_at);
        let deadline_at = match before {
            Some(before) => before.deadline_at,
            None => approval.deadline_ms.map(|ms| after(judge_context.now, ms)),
        };
        let confirmation_id = before.map_or_else(ids::fresh, |before| before.confirmation_id.clone());
        let details = prepared
            .shown
            .clone()
            .unwrap_or_else(|| ConfirmationDetails::Info { prompt: self.in_full(prepared) });
        let (rule, reason) = match prepared.is_question() {
            true => ("builtin:question".to_owned(), format!("the agent {} asks", self.agent)),
            false => (prepared.decision.rule.clone(), prepared.decision.reason.clone()),
        };
        let wanted = judge_context.wanted_by_hooks.iter().find(|wanted| wanted.call_id == call.call_id);
        let reason = match wanted {
            Some(wanted) => format!("{reason}; {}, and the agent did not ask for it", said_of(wanted)),
            None => reason,
        };
        let is_changed = prepared.call.hooks.as_deref().is_some_and(|hooks| hooks.arguments.is_some());
        let request = judge_context.requests.iter().find(|request| request.call_id == call.call_id);
        let asked_for = || {
            let mut arguments = request.map_or(&call.arguments, |request| &request.arguments).clone();
            self.supplies.redactor.value(&mut arguments);
            briefly(&arguments)
        };
        let edited_by = prepared.call.hooks.as_deref().and_then(|hooks| hooks.edited_by.as_deref());
        let reason = match (is_changed, wanted) {
            (false, _) => reason,
            (true, _) if let Some(person) = edited_by => {
                format!("{reason}; {person} changed the call: the model asked for {}", asked_for())
            }
            (true, None) => format!("{reason}; a hook changed the call: the model asked for {}", asked_for()),
            (true, Some(_)) => {
                format!("{reason}; another hook changed the call: the first one asked for {}", asked_for())
            }
        };
        Confirmation {
            run_id: asking.run.clone(),
            session_id: asking.session.clone(),
            path: asking.path.clone(),
            tool_call_id: Some(call.call_id.clone()),
            tool: Some(prepared.tool.clone()),
            kind: Some(prepared.details.kind),
            risk: prepared.details.risk,
            hidden_places: 0,
            title: title(prepared),
            rule,
            reason,
            digest: digest(prepared, &details),
            options: self.options(prepared, judge_context, &confirmation_id),
            details,
            audience: approval.audience.clone(),
            initiator: approval.initiator.clone(),
            headless: approval.headless,
            on_detached: approval.on_detached,
            created_at,
            deadline_at,
            on_deadline: approval.on_deadline,
            edited_by: None,
            confirmation_id,
        }
    }

    /// What a call does that draws itself no other way, with all that it is given: nobody allows what they could not see.
    fn in_full(&self, prepared: &PreparedToolCall) -> String {
        let what = match prepared.details.description.is_empty() {
            true => &prepared.details.title,
            false => &prepared.details.description,
        };
        let mut arguments = prepared.arguments.clone();
        self.supplies.redactor.value(&mut arguments);
        match arguments.as_object() {
            Some(fields) if fields.is_empty() => what.clone(),
            _ => format!("{what}\n{arguments:#}"),
        }
    }

    fn options(
        &self,
        prepared: &PreparedToolCall,
        judge_context: &JudgeContext,
        confirmation: &ConfirmationId,
    ) -> Vec<ConfirmationOption> {
        let plain = |outcome, label: &str| ConfirmationOption {
            outcome,
            grant: None,
            label: label.to_owned(),
            allows: None,
            remembers: None,
        };
        let mut options = Vec::new();
        if prepared.is_question() {
            options.push(plain(ConfirmationOutcome::Answer, "Answer"));
        } else {
            options.push(plain(ConfirmationOutcome::AllowOnce, "Allow this once"));
            let all_scopes = [
                (ConfirmationOutcome::AllowSession, RememberScope::Session, "Allow in this session"),
                (ConfirmationOutcome::AllowProject, RememberScope::Project, "Always allow in this workspace"),
                (ConfirmationOutcome::AllowUser, RememberScope::User, "Always allow"),
            ];
            // What a hook wants asked, it wants asked the next time, too: an answer for longer would change nothing.
            let scopes = if prepared.asked_by_hook { &[][..] } else { &all_scopes[..] };
            for &(outcome, scope, label) in scopes {
                for rule in self.rules_of(prepared, judge_context, scope, confirmation) {
                    options.push(ConfirmationOption {
                        grant: Some(policy::extent(&rule)),
                        allows: Some(policy::allows(&rule)),
                        remembers: Some(rule),
                        ..plain(outcome, label)
                    });
                }
                if scope == RememberScope::Session && self.may_begin_edits(prepared, judge_context) {
                    options.push(ConfirmationOption {
                        grant: Some(GrantScope::Edits),
                        allows: Some(policy::ALLOWS_EDITS.to_owned()),
                        ..plain(outcome, "Allow all edits in this session")
                    });
                }
            }
            if matches!(prepared.work, PreparedWork::Tool(_)) {
                options.push(plain(ConfirmationOutcome::Modify, "Change it, then allow"));
            }
        }
        options.push(plain(ConfirmationOutcome::Deny, "Deny"));
        options.push(plain(ConfirmationOutcome::CancelRun, "Cancel the run"));
        options
    }

    /// The rules of which this answer would write one, where it would change the next verdict.
    fn rules_of(
        &self,
        prepared: &PreparedToolCall,
        judge_context: &JudgeContext,
        scope: RememberScope,
        confirmation: &ConfirmationId,
    ) -> Vec<PolicyRule> {
        let place = match scope {
            RememberScope::Session => "session",
            RememberScope::Project => "project",
            RememberScope::User => "user",
        };
        let id = format!("{}{place}:{confirmation}", PolicyRule::REMEMBERED);
        let answer = RememberedAnswer { id: &id, scope, created_by: None, created_at: None, confirmation };
        let mut rules = self.judged(prepared, judge_context, |policy, call| policy.remember(call, &answer));
        // They would be kept, listed and compared with for as long as they hold.
        rules.retain(|rule| !self.repeats_secrets(rule, &prepared.judged));
        rules
    }

    /// True if a person can let this call and other edits run for as long as the session is in the mode for that. A run that was
    /// started in a mode of its own does not go by the session's.
    fn may_begin_edits(&self, prepared: &PreparedToolCall, judge_context: &JudgeContext) -> bool {
        judge_context.asking.approval.mode.is_none()
            && judge_context.mode() == ApprovalMode::Default
            && self.judged(prepared, judge_context, |policy, call| {
                let call = PolicyCall { mode: ApprovalMode::AutoEdit, ..*call };
                policy.decide(&call).verdict == Verdict::Allow
            })
    }

    /// What the policy says of a call that was prepared.
    fn judged<T>(
        &self,
        prepared: &PreparedToolCall,
        judge_context: &JudgeContext,
        ask: impl FnOnce(&Policy, &PolicyCall<'_>) -> T,
    ) -> T {
        let invocation = match &prepared.work {
            PreparedWork::Tool(invocation) => Some(invocation),
            PreparedWork::Child(_) => None,
        };
        let call = PolicyCall {
            tool: &prepared.tool,
            aliases: &self.toolset.aliases(&prepared.tool),
            agent: &self.agent,
            callers: &judge_context.asking.path,
            kind: prepared.details.kind,
            risk: prepared.details.risk,
            accesses: &prepared.call.accesses,
            arguments: &prepared.judged,
            commands: invocation.and_then(|it| it.commands()),
            unread: invocation.and_then(|it| it.unread()),
            confinement: invocation.and_then(|it| it.confinement()),
            mode: judge_context.mode(),
            auto_approve: &self.auto_approve(judge_context),
            session: Some(&judge_context.asking.session),
            roots: &self.folders(),
        };
        ask(&self.policy(), &call)
    }

    /// True if a rule that was made of these arguments shows a secret of theirs.
    fn repeats_secrets(&self, rule: &PolicyRule, arguments: &Value) -> bool {
        let redactor = &self.supplies.redactor;
        let is_hidden = |text: &String| redactor.text(text) != text.as_str();
        let has_hidden = |access: &ResourceAccess| redactor.access(access.clone()) != *access;
        // An expression spells its secrets otherwise, so that they would not be found in it.
        (rule.args_pattern.is_some() && redactor.value(&mut arguments.clone()))
            || rule.command_prefix.iter().any(is_hidden)
            || rule.accesses.iter().any(has_hidden)
    }
}

/// In one line, what the call does.
fn title(prepared: &PreparedToolCall) -> String {
    let details = &prepared.details;
    match details.description.lines().next() {
        Some(first) if !first.is_empty() => format!("{}: {first}", details.title),
        _ => details.title.clone(),
    }
}

/// What an answer is about. Whatever of it changes is another question.
fn digest(prepared: &PreparedToolCall, details: &ConfirmationDetails) -> String {
    let JudgedCall { accesses, basis, .. } = &prepared.call;
    let subject = json!([prepared.tool, prepared.arguments, accesses, details, basis]);
    hex(&Sha256::digest(subject.to_string()))
}

/// As questions write a digest.
pub(super) fn hex(digest: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in digest {
        use std::fmt::Write as _;
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

pub(super) fn after(now: Timestamp, ms: u64) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX)))
}
