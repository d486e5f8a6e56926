//! What do hooks make of a call as a person changed it? Each has seen what runs.

use std::sync::Arc;

use ::hooks::HookFacts;

use super::{
    CallGate, JudgeContext, PreparedToolCall,
    changed::AskedCall,
    hooked::{MOVED_MEANWHILE, asked_by, denied},
};
use crate::{
    hooks::{ChangeableCall, FiringName, effects_of, hooked_call, said},
    machine::{CallRefusal, HookEffects},
};
use protocol::{CallHooks, Confirmation, HookAsk, HookDecision, HookEventName, ToolCall, ToolSource};

/// The way in which hooks are asked about an edit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditFiring {
    /// The number of the edit among those of its call; 1-based.
    pub number: u32,
    /// The number of times that hooks have been asked about it, this one included.
    pub attempt: u32,
    /// The edit is in the log.
    pub is_logged: bool,
}

/// A call that a person changed, as hooks left it.
pub(crate) enum ShownCall {
    Same(PreparedToolCall, HookEffects),
    /// The person has not seen it so.
    Changed(PreparedToolCall, HookEffects),
    /// A hook wants a person to be asked about it, for a reason that the question did not have.
    Asked(PreparedToolCall, HookEffects, HookAsk),
    Refused(CallRefusal, HookEffects),
    /// It cannot be made any more, or rules forbid it, whatever the hooks said.
    Impossible(CallRefusal, HookEffects),
}

impl CallGate {
    /// Shows a call that a person changed to the hooks: each has seen what runs.
    pub(crate) async fn show_modified(
        &self,
        call: &ToolCall,
        by: Option<&str>,
        (open, EditFiring { number, attempt, .. }): (&Confirmation, EditFiring),
        prepared: PreparedToolCall,
        judge_context: &JudgeContext,
    ) -> ShownCall {
        let none = HookEffects::default();
        let Some(scene) = &judge_context.scene else {
            return match is_guarded_still(attempt) {
                Ok(()) => ShownCall::Same(prepared, none),
                Err(refusal) => ShownCall::Impossible(refusal, none),
            };
        };
        let Some(tool) = self.tool(&prepared.tool) else { return ShownCall::Same(prepared, none) };
        let (name, arguments) = (prepared.tool.clone(), prepared.arguments.clone());
        let facts = HookFacts::PreToolUse {
            call: hooked_call(
                &call.call_id,
                (&name, tool.source() == ToolSource::Agent),
                &arguments,
                &prepared.call.accesses,
            ),
        };
        // The first one is named as it was before edits had numbers.
        let later = if 1 < number { format!(".{number}") } else { String::new() };
        let (subject, event, asked) =
            (scene.subject(), HookEventName::PreToolUse.as_str(), &open.confirmation_id);
        let firing = FiringName {
            id: format!("{subject}:{event}:{}:{asked}{later}", call.call_id),
            attempt,
            call: Some(call.call_id.clone()),
        };
        let first = (&arguments, prepared.call.accesses.as_slice());
        let changeable = AskedCall::new(self, (&call.call_id, tool), judge_context, first);
        // What it would do is looked at again afterwards.
        drop(prepared);
        let around = (Some(Arc::clone(&changeable) as Arc<dyn ChangeableCall>), &self.supplies.redactor);
        let asked = self.hooks.ask(facts, scene, firing, around).await;
        let Some(asked) = asked else {
            if let Err(refusal) = is_guarded_still(attempt) {
                return ShownCall::Impossible(refusal, none);
            }
            return match self.prepare_with(&name, arguments, judge_context).await {
                Ok(prepared) => ShownCall::Same(prepared, none),
                Err(refusal) => ShownCall::Impossible(refusal, none),
            };
        };
        let mut effects = effects_of(&asked);
        let verdict = asked.verdict;
        if let Some(why) = effects.stop.clone() {
            return ShownCall::Refused(denied(why), effects);
        }
        if verdict.decision == Some(HookDecision::Deny) {
            return ShownCall::Refused(denied(said(&verdict, "refused the call")), effects);
        }
        let was = judge_context.hooked.as_deref().cloned().unwrap_or_default();
        let contexts = was.context.iter().cloned().chain(effects.context.clone());
        let context = Some(contexts.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty());
        // What hooks had changed before, the person has changed again.
        let changed = verdict.updated_input.clone();
        let anew = changed.or_else(|| was.arguments.is_some().then(|| arguments.clone()));
        let ask = (verdict.decision == Some(HookDecision::Ask)).then(|| asked_by(&verdict, &effects));
        // As the log may keep it.
        let told = |ask: &HookAsk| (ask.hook.clone(), self.supplies.redactor.owned(ask.reason.clone()));
        let known = was.ask.as_ref().map(told);
        let is_known = |ask: &HookAsk| known.as_ref() == Some(&told(ask));
        let news = ask.clone().filter(|ask| !is_known(ask));
        // Whoever is asked is asked about these.
        let anew = anew.or_else(|| news.is_some().then(|| arguments.clone()));
        let edited_by = by.map(str::to_owned).filter(|_| verdict.updated_input.is_none());
        let hooks =
            CallHooks { context, arguments: anew, edited_by, redacted: false, ask: ask.or(was.ask), ..was };
        let judge_context = JudgeContext { hooked: Some(Arc::new(hooks)), ..judge_context.clone() };
        let is_changed = verdict.updated_input.is_some();
        let arguments = verdict.updated_input.unwrap_or(arguments);
        let prepared = match self.prepare_with(&name, arguments.clone(), &judge_context).await {
            Ok(prepared) => prepared,
            Err(refusal) if !is_changed => return ShownCall::Impossible(refusal, effects),
            Err(refusal) => {
                let why = refusal.error.message;
                let message = format!("a hook changed the call into one that cannot be made: {why}");
                effects.drop_change(Some(&arguments), &message);
                return ShownCall::Refused(denied(message), effects);
            }
        };
        if !changeable.has_shown(&prepared.arguments, &prepared.call.accesses) {
            return ShownCall::Refused(denied(MOVED_MEANWHILE.to_owned()), effects);
        }
        match (is_changed, news) {
            (true, _) => ShownCall::Changed(prepared, effects),
            (false, Some(ask)) => ShownCall::Asked(prepared, effects, ask),
            (false, None) => ShownCall::Same(prepared, effects),
        }
    }
}

/// Refuses an edit about which hooks were asked when the daemon ended, where there are none any more: nobody has judged it.
fn is_guarded_still(attempt: u32) -> Result<(), CallRefusal> {
    match attempt {
        0 | 1 => Ok(()),
        _ => Err(denied("the hooks that were asked about it are not there any more".to_owned())),
    }
}
