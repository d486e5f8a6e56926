//! What hooks say of a call before the policy judges it, and before a person is asked.

use std::sync::Arc;

use ::hooks::{HookFacts, HookVerdict, HookedCall};
use serde_json::Value;

use super::{CallGate, JudgeContext, PreparedToolCall, PreparedWork, changed::AskedCall};
use crate::{
    child::CallableAgents,
    equipment::RunEquipment,
    hooks::{ChangeableCall, FiringName, HookScene, effects_of, hooked_call, said},
    machine::{CallJudgement, CallRefusal, HookEffects, HookRefusal},
    plan::exclusions,
};
use policy::PolicyDecision;
use protocol::{
    CallHooks, CallId, ConfirmationDetails, HookAdvice, HookAsk, HookDecision, HookEventName, HookSource,
    PolicyTier, Risk, ToolCall, ToolError, ToolErrorType, ToolName, ToolSelection, ToolSource, Verdict,
};
use tools::{PrepareContext, SeenFileDigests, Tool};

/// Letters of the rules that a hook would have, or of its arguments, beside a question.
const MOST_SHOWN_CHARS: usize = 1_000;

/// The reason for refusing a call that hooks were asked about, and that would touch something else by now.
pub(super) const MOVED_MEANWHILE: &str = "what the call would touch has changed while hooks were asked about it, so none of them has seen what it is now; look, and make the call \
                               again if you still need it";

/// The tools of an agent that a hook asks.
const READING_TOOLS: &[&str] = &["read_file", "list_directory", "glob", "grep"];

/// A call that is to be judged.
pub struct CallToJudge {
    /// The same as it was meant, or as hooks have changed it.
    pub call: Arc<ToolCall>,
    /// Everything that hooks said of it, where that is in the log: they are not asked again.
    pub hooked: Option<Arc<CallHooks>>,
    /// It was judged before, and is judged anew since something was in its way.
    pub is_again: bool,
    /// Counts restarts of the daemon in which the call was not judged.
    pub attempt: u32,
}

/// The outcome for a call that was to be judged.
pub struct GateJudgement {
    pub judgement: CallJudgement,
    /// Only of a call that may run.
    pub work: Option<PreparedWork>,
    /// To be committed with the judgement.
    pub hooks: HookEffects,
    /// The arguments that the call has now, if hooks changed them.
    pub meant: Option<Value>,
}

impl GateJudgement {
    /// Only of a call about which no hook was asked.
    pub fn unhooked(judgement: CallJudgement, work: Option<PreparedWork>) -> GateJudgement {
        GateJudgement { judgement, work, hooks: HookEffects::default(), meant: None }
    }
}

impl CallGate {
    /// Asks the hooks about a valid call, then judges it as they left it.
    pub(crate) async fn judge_hooked(
        &self,
        subject: &CallToJudge,
        scene: &HookScene,
        judge_context: &JudgeContext,
    ) -> GateJudgement {
        let call = &*subject.call;
        let valid = match self.validate(&call.name, call.arguments.clone(), judge_context).await {
            Ok(valid) => valid,
            Err(refusal) => return self.judge_refused(subject, scene, judge_context, refusal).await,
        };
        let tool = Arc::clone(valid.tool());
        let shown = hooked_call(
            &call.call_id,
            (&tool.declaration().name, tool.source() == ToolSource::Agent),
            valid.arguments(),
            valid.invocation.accesses(),
        );
        let first = (valid.arguments(), valid.invocation.accesses());
        let asked = AskedCall::new(self, (&call.call_id, tool), judge_context, first);
        let Some((mut effects, verdict)) = self.ask_about(subject, Arc::clone(&asked), shown, scene).await
        else {
            let prepared = self.weigh(valid, judge_context).await;
            return self.judge_prepared(prepared, call, judge_context);
        };
        // What it would do was looked at before the hooks took their time.
        drop(valid);
        let refused = |effects, message: String| GateJudgement {
            hooks: effects,
            ..GateJudgement::unhooked(CallJudgement::Refuse(denied(message)), None)
        };
        let changed = verdict.updated_input.clone();
        if verdict.decision == Some(HookDecision::Deny) || effects.stop.is_some() {
            return refused(effects, said(&verdict, "refused the call"));
        }
        let arguments = changed.clone().unwrap_or_else(|| call.arguments.clone());
        let valid = match self.validate(&call.name, arguments, judge_context).await {
            Ok(valid) => valid,
            Err(refusal) if changed.is_some() => {
                let why = refusal.error.message;
                let message = format!("a hook changed the call into one that cannot be made: {why}");
                effects.drop_change(changed.as_ref(), &message);
                return refused(effects, message);
            }
            Err(refusal) => {
                let unhooked = GateJudgement::unhooked(CallJudgement::Refuse(refusal), None);
                return GateJudgement { hooks: effects, ..unhooked };
            }
        };
        if !asked.has_shown(valid.arguments(), valid.invocation.accesses()) {
            return refused(effects, MOVED_MEANWHILE.to_owned());
        }
        let hooks = CallHooks {
            ask: (verdict.decision == Some(HookDecision::Ask)).then(|| asked_by(&verdict, &effects)),
            arguments: changed.clone(),
            edited_by: None,
            // Whoever writes it down looks for secrets.
            redacted: false,
            context: effects.context.take(),
            advised: None,
        };
        let judge_context = JudgeContext { hooked: Some(Arc::new(hooks)), ..judge_context.clone() };
        let context = judge_context.hooked.as_ref().and_then(|it| it.context.clone());
        let prepared = self.weigh(valid, &judge_context).await;
        if let Err(refusal) = &prepared {
            effects.context = context;
            effects.drop_change(
                changed.as_ref(),
                &format!("the call so changed was refused: {}", refusal.error.message),
            );
        }
        let judged = self.judge_prepared(prepared, call, &judge_context);
        GateJudgement { hooks: effects, meant: changed, ..judged }
    }

    /// `None` = no hook matches.
    pub(super) async fn ask_about(
        &self,
        subject: &CallToJudge,
        asked: Arc<AskedCall>,
        shown: HookedCall,
        scene: &HookScene,
    ) -> Option<(HookEffects, HookVerdict)> {
        let call_id = &subject.call.call_id;
        let facts = HookFacts::PreToolUse { call: shown };
        let name = FiringName {
            id: format!("{}:{}:{call_id}", scene.subject(), HookEventName::PreToolUse.as_str()),
            attempt: subject.attempt,
            call: Some(call_id.clone()),
        };
        let asked = self
            .hooks
            .ask(facts, scene, name, (Some(asked as Arc<dyn ChangeableCall>), &self.supplies.redactor))
            .await?;
        let effects = effects_of(&asked);
        Some((effects, asked.verdict))
    }

    /// Asks the hooks about a question before it is put to a person. Their no ends it; their yes is advice beside it, unless the person
    /// lets their own hooks answer.
    pub(crate) async fn advise(
        &self,
        judged: GateJudgement,
        subject: &CallToJudge,
        scene: &HookScene,
        judge_context: &JudgeContext,
    ) -> GateJudgement {
        let CallJudgement::Ask { details, arguments, mut prepared, mut confirmation } = judged.judgement
        else {
            return judged;
        };
        let asked = |prepared, confirmation, hooks| GateJudgement {
            judgement: CallJudgement::Ask {
                details: details.clone(),
                arguments: arguments.clone(),
                prepared,
                confirmation,
            },
            hooks,
            work: None,
            meant: judged.meant.clone(),
        };
        let known = prepared.hooks.as_deref().and_then(|hooks| hooks.advised.clone());
        if let Some(known) = known.filter(|known| known.digest == confirmation.digest) {
            let allowed_by = known.allowed_by.filter(|_| self.hooks.may_approve());
            let judged = asked(prepared, confirmation, judged.hooks);
            return self.approved(judged, allowed_by, judge_context).await;
        }
        let call_id = &subject.call.call_id;
        let tool = confirmation.tool.clone().unwrap_or_else(|| subject.call.name.clone());
        let facts = HookFacts::PermissionRequest {
            call: hooked_call(call_id, (&tool, self.is_agent(&tool)), &arguments, &prepared.accesses),
            reason: confirmation.reason.clone(),
        };
        let name = FiringName {
            id: format!("{}:{}:{call_id}", scene.subject(), HookEventName::PermissionRequest.as_str()),
            attempt: subject.attempt,
            call: Some(call_id.clone()),
        };
        let redactor = &self.supplies.redactor;
        let Some(answers) = self.hooks.ask(facts, scene, name, (None, redactor)).await else {
            return asked(prepared, confirmation, judged.hooks);
        };
        let mut hooks = judged.hooks;
        hooks.add(effects_of(&answers));
        let verdict = &answers.verdict;
        let mut allowed_by = None;
        if verdict.decision == Some(HookDecision::Deny) {
            let message = said(verdict, "refused the call");
            hooks.refusal = Some(HookRefusal { message, interrupt: verdict.interrupt });
        } else if let Some(delegate) = &verdict.delegate {
            let may = self.hooks.may_approve() && delegate.speaks_for_person;
            // What it would change nobody has judged, and what it would allow for longer is the person's to say.
            let is_plain = verdict.updated_input.is_none() && delegate.shown_permissions.is_none();
            let is_question = matches!(confirmation.details, ConfirmationDetails::Question { .. });
            let is_for_people = confirmation.risk == Risk::Critical
                || is_question
                || verdict.decision == Some(HookDecision::Ask);
            allowed_by = (may && is_plain && !is_for_people).then(|| delegate.hook.to_string());
            let reason = &confirmation.reason;
            let mut text = format!("{reason}; the hook {} advises to allow it", delegate.hook);
            if let Some(changed) = &verdict.updated_input {
                let mut changed = changed.clone();
                redactor.value(&mut changed);
                text.push_str(&format!(
                    ", with other arguments, which do not count: {}",
                    shortened(&changed.to_string())
                ));
            }
            if let Some(permissions) = &delegate.shown_permissions {
                let shown = shortened(&permissions.to_string());
                text.push_str(&format!(", and these for longer: {shown}"));
            }
            confirmation.reason = text;
        }
        let advised = HookAdvice { digest: confirmation.digest.clone(), allowed_by: allowed_by.clone() };
        let was = prepared.hooks.as_deref().cloned().unwrap_or_default();
        prepared.hooks = Some(Arc::new(CallHooks { advised: Some(advised), ..was }));
        let judged = asked(prepared, confirmation, hooks);
        self.approved(judged, allowed_by, judge_context).await
    }

    /// The call as it may run, where a hook has answered the question about it. What cannot be prepared as it was asked about is asked.
    async fn approved(
        &self,
        judged: GateJudgement,
        by: Option<String>,
        judge_context: &JudgeContext,
    ) -> GateJudgement {
        let (Some(by), CallJudgement::Ask { arguments, prepared, confirmation, .. }) =
            (by, &judged.judgement)
        else {
            return judged;
        };
        let Some(tool) = confirmation.tool.clone() else { return judged };
        let judge_context = JudgeContext { hooked: prepared.hooks.clone(), ..judge_context.clone() };
        let Ok(anew) = self.prepare_with(&tool, arguments.clone(), &judge_context).await else {
            return judged;
        };
        if anew.details.risk == Risk::Critical || anew.call.basis != prepared.basis {
            return judged;
        }
        let PreparedToolCall { work, details, arguments, call: prepared, .. } = anew;
        let confirmation = confirmation.clone();
        let mut hooks = judged.hooks;
        hooks.approval = Some(by);
        GateJudgement {
            judgement: CallJudgement::Ask { details, arguments, prepared, confirmation },
            work: Some(work),
            hooks,
            meant: judged.meant,
        }
    }

    /// A call that a hook makes: what the rules deny is an error, and nobody is asked.
    pub(crate) async fn prepare_for_hook(
        &self,
        name: &ToolName,
        arguments: Value,
        judge_context: &JudgeContext,
    ) -> Result<PreparedToolCall, CallRefusal> {
        self.prepare_with(name, arguments, judge_context).await
    }

    /// The gate of an agent that a hook asks: it only reads, remembers nothing of that for this run, and has no hooks.
    pub(crate) fn reading(&self) -> CallGate {
        let allow = READING_TOOLS.iter().map(|name| ToolName::from(*name)).collect();
        let denied = exclusions(&self.project, &self.supplies).into_iter().map(|it| it.entry);
        let selection =
            ToolSelection { allow: Some(allow), deny: denied.collect(), ..ToolSelection::default() };
        CallGate::with(RunEquipment {
            toolset: self.supplies.registry.select(&selection),
            callables: CallableAgents::default(),
            prepare: PrepareContext { reads: SeenFileDigests::default(), ..self.prepare.clone() },
            ..(**self).clone()
        })
    }

    /// A call that was prepared, as hooks read it.
    pub(super) fn hooked(&self, call_id: &CallId, prepared: &PreparedToolCall) -> HookedCall {
        let name = &prepared.tool;
        hooked_call(call_id, (name, self.is_agent(name)), &prepared.arguments, &prepared.call.accesses)
    }

    /// True if an agent answers the calls of this tool.
    pub(crate) fn is_agent(&self, name: &ToolName) -> bool {
        self.tool(name).is_some_and(|tool| tool.source() == ToolSource::Agent)
    }

    pub(super) fn tool(&self, name: &ToolName) -> Option<Arc<dyn Tool>> {
        self.toolset.tools().find(|tool| tool.declaration().name == *name).cloned()
    }

    /// The outcome of a call that was prepared.
    pub(crate) fn judge_prepared(
        &self,
        prepared: Result<PreparedToolCall, CallRefusal>,
        call: &ToolCall,
        judge_context: &JudgeContext,
    ) -> GateJudgement {
        let (judgement, work) = match prepared {
            Ok(prepared) if prepared.must_be_asked() => match self.cannot_be_shown(&prepared) {
                Some(error) => (CallJudgement::Refuse(error.into()), None),
                None => {
                    let confirmation = Box::new(self.question(call, &prepared, judge_context, None));
                    let PreparedToolCall { details, arguments, call: prepared, .. } = prepared;
                    (CallJudgement::Ask { details, arguments, prepared, confirmation }, None)
                }
            },
            Ok(PreparedToolCall { work, details, arguments, call, .. }) => {
                (CallJudgement::Run { details, arguments, prepared: call }, Some(work))
            }
            Err(refusal) => (CallJudgement::Refuse(refusal), None),
        };
        GateJudgement::unhooked(judgement, work)
    }
}

/// The wish of the hook whose word it is that a person be asked.
pub(super) fn asked_by(verdict: &HookVerdict, effects: &HookEffects) -> HookAsk {
    HookAsk {
        hook: verdict.decided_by.as_ref().map(ToString::to_string).unwrap_or_default(),
        source: source_of(effects, verdict),
        reason: said(verdict, "wants a person to be asked"),
    }
}

/// A hook's wish that a person be asked, as the policy would say it. Nobody's word lifts it but a person's.
pub(crate) fn asks(ask: &HookAsk) -> PolicyDecision {
    PolicyDecision {
        verdict: Verdict::Ask,
        rule: format!("hook:{}", ask.hook),
        reason: ask.reason.clone(),
        is_default: false,
        tier: match ask.source {
            HookSource::System => PolicyTier::System,
            HookSource::User => PolicyTier::User,
            HookSource::Project => PolicyTier::Project,
            HookSource::Agent => PolicyTier::Definition,
        },
    }
}

/// Everything that the model is told of a call that hooks refused.
pub(super) fn denied(message: String) -> CallRefusal {
    ToolError { kind: ToolErrorType::HookDenied, message }.into()
}

/// The beginning of a text, as much as stands beside a question.
fn shortened(text: &str) -> String {
    text.chars().take(MOST_SHOWN_CHARS).collect()
}

/// The place where the hook is configured that decided.
fn source_of(effects: &HookEffects, verdict: &HookVerdict) -> HookSource {
    let id = verdict.decided_by.as_ref().map(ToString::to_string);
    let fired = effects.fired.iter().find(|fired| Some(&fired.hook_id) == id.as_ref());
    fired.map_or(HookSource::Project, |fired| fired.source)
}
