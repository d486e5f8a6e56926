//! What follows when hooks have been asked.

use std::collections::BTreeMap;

use super::{
    super::{CallJudgement, HookEffects, HookRefusal, LateHook, RunPhase},
    MachineStep,
    calls::failed,
    people::ended,
};
use protocol::{
    CallDetails, CallId, CallState, Confirmation, ConfirmationOutcome, DaemonWarning, DecidedBy, HookEffect,
    HookPoint, JudgedCall, NudgeReason, PrivateEventFields, RunErrorCode, ToolError, ToolErrorType,
};

impl MachineStep<'_> {
    /// The outcome of hooks said of a call, and what it.
    pub(super) fn judged_by_hooks(&mut self, call: CallId, judgement: CallJudgement, hooks: HookEffects) {
        let (stop, refusal) = (hooks.stop.clone(), hooks.refusal.clone());
        let context = self.tell_hooks(hooks);
        if let (None, Some(refusal), CallJudgement::Ask { details, arguments, prepared, confirmation }) =
            (&stop, refusal, &judgement)
        {
            let known = (details.clone(), arguments.clone(), prepared.clone());
            return self.refused_by_hook(&call, known, (**confirmation).clone(), refusal);
        }
        let Some(why) = stop else { return self.judged(call, judgement, context) };
        let error = ToolError { kind: ToolErrorType::HookDenied, message: why.clone() };
        self.end_call(&call, failed(error));
        self.stopped_by_hook(why);
    }

    /// A hook says no in the person's place: the question is asked and over at once, and everybody sees by whom.
    fn refused_by_hook(
        &mut self,
        call: &CallId,
        (details, arguments, prepared): (CallDetails, serde_json::Value, JudgedCall),
        question: Confirmation,
        HookRefusal { message, interrupt }: HookRefusal,
    ) {
        let anew = match self.state(call) {
            Some(CallState::Scheduled) => Some(prepared),
            _ => {
                self.schedule(call, Some(details), Some(arguments), Some(prepared), None);
                None
            }
        };
        self.ask(call, question.clone(), anew);
        self.resolve(ended(&question, ConfirmationOutcome::Deny, DecidedBy::Hook, &message), None);
        let error = ToolError { kind: ToolErrorType::HookDenied, message: message.clone() };
        self.end_call(call, failed(error));
        match interrupt {
            true => self.stopped_by_hook(message),
            false => {
                self.start_ready();
                self.after_calls();
            }
        }
    }

    /// Everything that hooks said at a point; one that the run is not at any more is stale.
    pub(super) fn hooked(&mut self, point: &HookPoint, hooks: HookEffects) {
        if !self.machine.due_points().contains(point) {
            return;
        }
        let HookEffects { fired, asked, warnings, block, stop, context, output, refusal: _ } = hooks;
        let outputs = match (point, output) {
            (HookPoint::CallEnded { call }, Some(parts)) => BTreeMap::from([(call.clone(), parts)]),
            _ => BTreeMap::new(),
        };
        // What the model is told keeps a run from its end as a block does.
        let said = match point {
            HookPoint::Goal { .. } => {
                let said: Vec<&str> = block.iter().chain(&context).map(String::as_str).collect();
                Some(said.join("\n\n")).filter(|said| !said.is_empty() && stop.is_none())
            }
            _ => None,
        };
        let blocks = match point {
            HookPoint::Goal { .. } => said.is_some(),
            _ => block.is_some(),
        };
        let is_prompt = matches!(point, HookPoint::Begin | HookPoint::Steer { .. });
        let kept = context.clone().filter(|_| is_prompt && !blocks && stop.is_none());
        let settles = Some(point.clone());
        let mut effect =
            Some(HookEffect { settles, outputs, blocks, context: kept, ..HookEffect::default() });
        for told in fired {
            let hooked = effect.take().map(Box::new);
            self.emit_with(told, PrivateEventFields { hooked, ..PrivateEventFields::default() }, None, None);
        }
        // Nobody was asked, so there is nothing to tell.
        self.machine.settle(point);
        self.asked_apart(None, asked);
        self.warn_of_hooks(warnings);
        match (point, stop) {
            // It was about to end well, and does.
            (HookPoint::Goal { .. }, _) => self.goal_hooked(said),
            (_, Some(why)) => self.stopped_by_hook(why),
            (HookPoint::Begin, None) => match block {
                Some(why) => self.stopped_by_hook(why),
                None => {
                    self.begin_or_queue(None);
                    self.begin_first_turn();
                }
            },
            (HookPoint::Steer { .. }, None) => {
                // The turn that would have had it has waited for it.
                if self.machine.phase == RunPhase::Acting && !self.machine.turn_is_open {
                    self.next_turn();
                }
            }
            (HookPoint::TurnEnded { .. }, None) => match block {
                Some(why) => self.stopped_by_hook(why),
                None => {
                    // Behind a result that is about to be handed in nobody reads it, and it would stand before that call's end.
                    if let Some(context) = context.filter(|_| self.machine.pending().is_none()) {
                        self.nudge(NudgeReason::Hook, &context);
                    }
                    self.after_calls();
                }
            },
            (_, None) => self.after_calls(),
        }
    }

    /// The run was about to reach its goal; `said` keeps it from that.
    fn goal_hooked(&mut self, said: Option<String>) {
        let pending = self.machine.pending().map(|it| it.request.call_id.clone());
        let Some(said) = said else {
            return match pending {
                Some(_) => self.after_calls(),
                // Somebody said something while hooks were asked: that is answered first.
                None if !self.machine.steers.is_empty() => {
                    self.end_turn();
                    self.next_turn();
                }
                None => self.hand_in(&self.machine.last_text.clone()),
            };
        };
        match pending {
            Some(call) => {
                let message = format!("the run is not over yet: {said}");
                self.end_call(&call, failed(ToolError { kind: ToolErrorType::HookDenied, message }));
            }
            None => self.nudge(NudgeReason::Hook, &said),
        }
        self.end_turn();
        self.next_turn();
    }

    /// Everything that asynchronous hooks said: for the model's next turn, or to the run at once. `has_room`: more can be said to it.
    pub(super) fn hooks_ended(&mut self, late: Vec<LateHook>, has_room: bool) {
        for LateHook { fired, context, rewake, warnings } in late {
            let n_steers = self.machine.steers.len();
            let mut settles = None;
            if let Some((id, text)) = rewake {
                self.steer(id.clone(), text, None, has_room);
                // No person said it, so no hook is asked about it.
                settles = (n_steers < self.machine.steers.len()).then_some(HookPoint::Steer { id });
            }
            let effect = HookEffect { settles, later: context, ..HookEffect::default() };
            let hooked = (effect != HookEffect::default()).then(|| Box::new(effect));
            self.emit_with(fired, PrivateEventFields { hooked, ..PrivateEventFields::default() }, None, None);
            self.warn_of_hooks(warnings);
        }
    }

    /// Writes down what hooks said; answers what they have to say to the model.
    pub(super) fn tell_hooks(&mut self, hooks: HookEffects) -> Option<String> {
        for fired in hooks.fired {
            self.emit(fired);
        }
        self.asked_apart(None, hooks.asked);
        self.warn_of_hooks(hooks.warnings);
        hooks.context
    }

    fn warn_of_hooks(&mut self, warnings: Vec<String>) {
        for message in warnings {
            self.emit(DaemonWarning { message });
        }
    }

    /// A hook said that the run is not to go on.
    fn stopped_by_hook(&mut self, why: String) {
        match &self.machine.phase {
            RunPhase::Finished => (),
            // It stops for another reason already, and that one stays.
            RunPhase::Stopping { .. } => self.after_calls(),
            _ => self.fail(RunErrorCode::HookStopped, why),
        }
    }
}
