//! The hooks that speak before a question, asked about the one that a person's edit comes to where a hook changed that again.

use ::hooks::{HookFacts, HookedCall};

use super::{CallGate, JudgeContext, hooked::denied};
use crate::{
    hooks::{FiringName, effects_of, said},
    machine::{CallRefusal, HookEffects, HookRefusal},
};
use protocol::{Confirmation, HookDecision, HookEventName, ToolCall};

impl CallGate {
    /// Their no ends the question, and is the answer. Their yes is told beside it and decides nothing: somebody looks at what others
    /// have made of the call, and nobody has asked for that to be allowed for them.
    pub(super) async fn advise_again(
        &self,
        call: &ToolCall,
        question: &mut Confirmation,
        asked: HookedCall,
        effects: &mut HookEffects,
        judge_context: &JudgeContext,
    ) -> Option<CallRefusal> {
        let scene = judge_context.scene.as_ref()?;
        let facts = HookFacts::PermissionRequest { call: asked, reason: question.reason.clone() };
        let event = HookEventName::PermissionRequest.as_str();
        let firing = FiringName {
            // The same call may be edited several times.
            id: format!("{}:{event}:{}:{}", scene.subject(), call.call_id, question.digest),
            attempt: 1,
            call: Some(call.call_id.clone()),
        };
        let answers = self.hooks.ask(facts, scene, firing, (None, &self.supplies.redactor)).await?;
        let told = effects_of(&answers);
        let stop = told.stop.clone();
        effects.add(told);
        let verdict = &answers.verdict;
        if let Some(why) = stop {
            return Some(denied(why));
        }
        if verdict.decision == Some(HookDecision::Deny) {
            let message = said(verdict, "refused the call");
            effects.refusal = Some(HookRefusal { message: message.clone(), interrupt: verdict.interrupt });
            return Some(denied(message));
        }
        if let Some(delegate) = &verdict.delegate {
            let reason = &question.reason;
            question.reason = format!("{reason}; the hook {} advises to allow it", delegate.hook);
        }
        None
    }
}
