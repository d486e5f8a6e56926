//! What hooks are told at a point of a run, and what their answers come to there.

use std::collections::BTreeMap;

use hooks::{FollowUpCall, HookFacts, HookedResult};
use serde_json::Value;

use super::{
    super::machine::{EndedCall, HookEffects, RunMachine},
    asking::{AskedHooks, FiringName, RunHooks, effects_of, hooked_call},
    happened::trigger,
    reasons::said,
    scene::HookScene,
};
use protocol::{
    COMPLETE_TASK, CallId, HookDecision, HookEventName, HookFired, HookPoint, MessagePart, PromptExpansion,
    PromptExpansionKind, ResultReplacement, RunId, RunStarted, ToolCall, ToolName,
};
use redact::Redactor;
use sys::ids;

/// The events of points; those of a call that is judged are asked for by the gate.
pub const POINT_EVENTS: &[HookEventName] = &[
    HookEventName::PermissionDenied,
    HookEventName::PostToolUse,
    HookEventName::PostToolUseFailure,
    HookEventName::PostToolBatch,
    HookEventName::Stop,
    HookEventName::SubagentStop,
    HookEventName::AfterAgent,
    HookEventName::PreCompact,
];

/// The ones before a run begins.
pub const BEGIN_EVENTS: &[HookEventName] = &[
    HookEventName::SessionStart,
    HookEventName::UserPromptExpansion,
    HookEventName::UserPromptSubmit,
    HookEventName::SubagentStart,
    HookEventName::BeforeAgent,
];

/// A point that a run has come to, with what hooks are told.
pub struct PointOfRun {
    /// Sorted in the order in which their hooks are asked.
    facts: Vec<HookFacts>,
    /// The name of each one's firing, and which attempt it is.
    firings: Vec<(String, u32)>,
    call: Option<CallId>,
    /// Everything that the call's result says now.
    result: Option<Vec<MessagePart>>,
}

impl PointOfRun {
    /// `None` = no hook is asked at it.
    pub fn of(
        point: &HookPoint,
        machine: &RunMachine,
        called: impl Fn(&ToolName) -> (ToolName, bool),
        scene: &HookScene,
    ) -> Option<PointOfRun> {
        let mut call_id: Option<CallId> = None;
        let mut result = None;
        let facts = match point {
            HookPoint::CallEnded { call } => {
                let ended = machine.ended_call(call)?;
                call_id = Some(call.clone());
                result = Some(ended.result.llm_content.clone());
                vec![call_ended(&ended, &called)]
            }
            HookPoint::TurnEnded { .. } => {
                let results = machine.ended_calls();
                let results = results.iter().map(|ended| hooked_result(ended, &called)).collect();
                vec![HookFacts::PostToolBatch { results }]
            }
            HookPoint::Goal { .. } => {
                let is_going_on = machine.was_kept_going();
                let response = machine.about_to_say();
                let last_message = Some(response.clone()).filter(|text| !text.is_empty());
                let own = match scene.is_child {
                    true => HookFacts::SubagentStop { is_going_on, last_message },
                    false => HookFacts::Stop { is_going_on, last_message },
                };
                vec![own, HookFacts::AfterAgent { prompt: prompt_of(machine.start()), response, is_going_on }]
            }
            HookPoint::Begin => begin_facts(machine.start(), scene),
            HookPoint::Steer { id } => {
                let prompt = machine.steer_text(id)?.to_owned();
                vec![HookFacts::UserPromptSubmit { prompt, session_title: None }]
            }
            HookPoint::Compaction { .. } => {
                let trigger = trigger(machine.start().task);
                vec![HookFacts::PreCompact { trigger, instructions: None }]
            }
        };
        let about = match point {
            HookPoint::CallEnded { call } => call.to_string(),
            HookPoint::TurnEnded { turn } => turn.to_string(),
            HookPoint::Goal { n } | HookPoint::Compaction { n } => n.to_string(),
            HookPoint::Steer { id } => id.clone(),
            HookPoint::Begin => String::new(),
        };
        let names = firing_names(&facts, scene.run.as_ref()?, &about);
        let attempts = machine.attempts_at_point(point, &names);
        let firings = names.into_iter().zip(attempts).collect();
        Some(PointOfRun { facts, firings, call: call_id, result })
    }

    /// True if there are hooks to be asked, as far as that is known without looking at a file.
    pub fn is_hooked(&self, hooks: &RunHooks, scene: &HookScene) -> bool {
        self.facts.iter().any(|facts| hooks.may_match(facts, scene))
    }

    /// True if some of them are waited for, and may so decide something.
    pub fn is_judged(&self, hooks: &RunHooks, scene: &HookScene) -> bool {
        self.facts.iter().any(|facts| hooks.may_decide(facts, scene))
    }

    /// Asks them. Cancel safe.
    pub async fn ask(self, hooks: &RunHooks, scene: &HookScene, redactor: &Redactor) -> HookEffects {
        let PointOfRun { facts, firings, call, result } = self;
        let mut all = HookEffects::default();
        for (facts, (id, attempt)) in facts.into_iter().zip(firings) {
            let event = facts.event();
            let name = FiringName { id, attempt, call: call.clone() };
            let asked = hooks.ask(facts, scene, name, (None, redactor)).await;
            if let Some(asked) = asked {
                all.add(effects_at(event, &asked, result.clone()));
            }
            // What comes after would be about something that does not happen.
            if all.block.is_some() || all.stop.is_some() {
                break;
            }
        }
        all.redacted(redactor)
    }
}

/// The name of the firing of each event at a point.
fn firing_names(facts: &[HookFacts], run: &RunId, about: &str) -> Vec<String> {
    let mut n_of_event = BTreeMap::new();
    let mut name = |facts: &HookFacts| {
        let event = facts.event();
        let n: &mut u32 = n_of_event.entry(event).or_default();
        *n += 1;
        match *n {
            1 => format!("{run}:{}:{about}", event.as_str()),
            n => format!("{run}:{}:{about}{n}", event.as_str()),
        }
    };
    facts.iter().map(&mut name).collect()
}

impl HookEffects {
    /// Without the call that a hook wants, where it is of no tool that the run has. `is_of_client`: the run is one call of a client.
    pub(crate) fn keep_follow_up(&mut self, has: impl Fn(&ToolName) -> bool, is_of_client: bool) {
        let Some(call) = self.follow_up.take_if(|call| !has(&call.name)) else { return };
        let is_its = |record: &&mut HookFired| record.follow_up.as_ref() == Some(&call.call_id);
        let mut hook = "a hook".to_owned();
        for record in self.fired.iter_mut().filter(is_its) {
            hook = format!("the hook {}", record.hook_id);
            record.follow_up = None;
        }
        let why = match is_of_client {
            _ if call.name.as_str() == COMPLETE_TASK => "to hand in a result is the agent's alone",
            true => {
                "after a client's own call (`tools/call`) only the same tool may be called again, so the client gets its result as it is"
            }
            false => "the agent does not have that tool, so the model reads the result as it is",
        };
        self.warnings.push(format!("{hook} wants `{}` called, and no call is made: {why}", call.name));
    }

    /// No model reads what they add, so no record says that one does.
    pub(crate) fn unread(mut self) -> HookEffects {
        self.fired.iter_mut().for_each(|record| record.added = None);
        self
    }

    /// Everything that more hooks said.
    pub(crate) fn add(&mut self, more: HookEffects) {
        let HookEffects {
            fired,
            asked,
            warnings,
            block,
            stop,
            context,
            output,
            follow_up,
            refusal,
            approval,
            session_title,
        } = more;
        self.fired.extend(fired);
        self.asked.extend(asked);
        self.warnings.extend(warnings);
        self.block = self.block.take().or(block);
        self.stop = self.stop.take().or(stop);
        let contexts: Vec<String> = self.context.take().into_iter().chain(context).collect();
        self.context = (!contexts.is_empty()).then(|| contexts.join("\n\n"));
        self.output = output.or(self.output.take());
        self.follow_up = follow_up.or(self.follow_up.take());
        self.refusal = refusal.or(self.refusal.take());
        self.approval = approval.or(self.approval.take());
        self.session_title = session_title.or(self.session_title.take());
    }
}

/// True if hooks have to be asked before a run like this begins, as far as that is known without looking at a file.
pub fn shows_beginning(hooks: &RunHooks, start: &RunStarted, scene: &HookScene) -> bool {
    hooks.may_fire_any(BEGIN_EVENTS)
        && begin_facts(start, scene).iter().any(|facts| hooks.may_match(facts, scene))
}

fn begin_facts(start: &RunStarted, scene: &HookScene) -> Vec<HookFacts> {
    let prompt = prompt_of(start);
    let mut facts = Vec::new();
    if scene.is_child {
        facts.push(HookFacts::SubagentStart);
    } else {
        if let Some(source) = scene.session_start {
            facts.push(HookFacts::SessionStart { source, session_title: None });
        }
        facts.extend(scene.expansions.iter().map(|expansion| expanded(expansion, &prompt)));
        facts.push(HookFacts::UserPromptSubmit { prompt: prompt.clone(), session_title: None });
    }
    facts.push(HookFacts::BeforeAgent { prompt });
    facts
}

fn expanded(expansion: &PromptExpansion, prompt: &str) -> HookFacts {
    HookFacts::UserPromptExpansion {
        kind: match expansion.kind {
            PromptExpansionKind::McpPrompt => "mcp_prompt",
            PromptExpansionKind::Skill => "slash_command",
        },
        name: expansion.name.clone(),
        arguments: expansion.arguments.join(" "),
        source: expansion.source.clone(),
        prompt: prompt.to_owned(),
    }
}

/// Everything that a run is to do, as it was said.
fn prompt_of(start: &RunStarted) -> String {
    start.prompt.clone().unwrap_or_else(|| start.query.clone())
}

fn effects_at(event: HookEventName, asked: &AskedHooks, result: Option<Vec<MessagePart>>) -> HookEffects {
    let mut effects = effects_of(asked);
    let verdict = &asked.verdict;
    let blocks = verdict.decision == Some(HookDecision::Deny);
    if let Some(was) = result {
        let mut parts = match (&verdict.updated_output, blocks && event != HookEventName::PermissionDenied) {
            (_, true) => vec![MessagePart::text(said(verdict, "withheld the result of this call"))],
            (Some(Value::String(text)), false) => vec![MessagePart::text(text.clone())],
            (Some(other), false) => vec![MessagePart::text(other.to_string())],
            (None, false) => was.clone(),
        };
        if parts != was {
            let withheld = blocks && event != HookEventName::PermissionDenied;
            let by = if withheld { &verdict.decided_by } else { &verdict.output_by };
            let text = parts.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n");
            let its = effects
                .fired
                .iter_mut()
                .rfind(|record| by.as_ref().is_none_or(|hook| record.hook_id == hook.as_str()));
            if let Some(record) = its {
                record.replacement = Some(ResultReplacement { text, bytes: None, withheld });
            }
        }
        if event == HookEventName::PermissionDenied && verdict.retry {
            let text = "A hook says that this call may be tried again, if you still need it.";
            parts.push(MessagePart::text(text));
        }
        parts.extend(effects.context.take().map(MessagePart::text));
        effects.output = (parts != was).then_some(parts);
        if !blocks && event != HookEventName::PermissionDenied {
            effects.follow_up =
                verdict.follow_up.as_ref().map(|wanted| follow_up(wanted, &mut effects.fired));
        }
    } else if blocks {
        effects.block = Some(said(verdict, "says"));
    }
    effects
}

/// The call that a hook wants made next; its record says so.
fn follow_up(wanted: &FollowUpCall, fired: &mut [HookFired]) -> ToolCall {
    let call_id: CallId = ids::fresh();
    let its = fired.iter_mut().find(|record| record.hook_id == wanted.hook.as_str());
    its.into_iter().for_each(|record| record.follow_up = Some(call_id.clone()));
    ToolCall {
        call_id,
        provider_call_id: None,
        name: ToolName::from(wanted.tool.as_str()),
        arguments: wanted.arguments.clone(),
        signature: None,
        redacted: false,
    }
}

fn call_ended(ended: &EndedCall, called: &impl Fn(&ToolName) -> (ToolName, bool)) -> HookFacts {
    match ended.event {
        HookEventName::PermissionDenied => {
            let reason = ended.result.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
            HookFacts::PermissionDenied { call: hooked_result(ended, called).call, reason }
        }
        HookEventName::PostToolUseFailure => {
            HookFacts::PostToolUseFailure { result: hooked_result(ended, called) }
        }
        _ => HookFacts::PostToolUse { result: hooked_result(ended, called) },
    }
}

fn hooked_result(ended: &EndedCall, called: &impl Fn(&ToolName) -> (ToolName, bool)) -> HookedResult {
    let EndedCall { request, result, duration_ms, accesses, .. } = ended;
    let (tool, is_agent) = called(&request.name);
    HookedResult {
        call: hooked_call(&request.call_id, (&tool, is_agent), &request.arguments, accesses),
        text: result.llm_content.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n"),
        has_more_than_text: result.llm_content.iter().any(|part| part.as_text().is_none()),
        data: result.data.clone(),
        error: result.error.as_ref().map(|error| error.message.clone()),
        is_interrupt: false,
        duration_ms: *duration_ms,
    }
}
