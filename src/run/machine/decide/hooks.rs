//! What follows when hooks have been asked.

use std::collections::BTreeMap;

use super::{
    super::{CallJudgement, HookEffects, HookRefusal, LateHook, RunPhase},
    MachineStep,
    calls::{failed, in_place},
    people::ended,
};
use protocol::{
    CallDetails, CallId, CallState, Confirmation, ConfirmationOutcome, DaemonWarning, DecidedBy, HookEffect,
    HookPoint, JudgedCall, NudgeReason, PrivateEventFields, RunErrorCode, ToolError, ToolErrorType,
};

impl MachineStep<'_> {
    /// The outcome of hooks said of a call, and what it.
    pub(super) fn judged_by_hooks(&mut self, call: CallId, judgement: CallJudgement, hooks: HookEffects) {
        let (stop, refusal, approval) = (hooks.stop.clone(), hooks.refusal.clone(), hooks.approval.clone());
        let context = self.tell_hooks(hooks);
        if let (None, Some(refusal), CallJudgement::Ask { details, arguments, prepared, confirmation }) =
            (&stop, refusal, &judgement)
        {
            let known = (details.clone(), arguments.clone(), prepared.clone());
            return self.refused_by_hook(&call, known, (**confirmation).clone(), refusal);
        }
        if let (None, Some(by), CallJudgement::Ask { details, arguments, prepared, confirmation }) =
            (&stop, approval, &judgement)
        {
            let known = (details.clone(), arguments.clone(), prepared.clone());
            return self.approved_by_hook(&call, known, (**confirmation).clone(), &by);
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

    /// A hook of the person's own says yes in their place: the question is asked and over at once. A call that cannot run yet is judged
    /// again when it can, and then this is known.
    fn approved_by_hook(
        &mut self,
        call: &CallId,
        (details, arguments, prepared): (CallDetails, serde_json::Value, JudgedCall),
        question: Confirmation,
        by: &str,
    ) {
        let is_again = self.state(call) == Some(CallState::Scheduled);
        if !is_again {
            let known = (Some(details.clone()), Some(arguments.clone()), Some(prepared.clone()));
            self.schedule(call, known.0, known.1, known.2, None);
        }
        if !self.machine.call(call).is_some_and(|it| it.is_held_up && !is_again) {
            self.ask(call, question.clone(), is_again.then(|| prepared.clone()));
            let message = format!("the hook {by} answered it");
            self.resolve(ended(&question, ConfirmationOutcome::AllowOnce, DecidedBy::Hook, &message), None);
            self.start(call, Some((details, arguments, prepared)));
        }
        self.after_calls();
    }

    /// Everything that hooks said at a point; one that the run is not at any more is stale.
    pub(super) fn hooked(&mut self, point: &HookPoint, hooks: HookEffects) {
        if !self.machine.due_points().contains(point) {
            return;
        }
        let HookEffects { fired, asked, warnings, block, stop, context, output, follow_up, .. } = hooks;
        let outputs = match (point, output) {
            // The model knows nothing of a call that a hook made: it reads that in place of another.
            (HookPoint::CallEnded { call }, Some(parts)) => {
                // What stands beside the result is none of the tool's, and no hook has read it.
                let parts = [&parts[..], self.machine.beside_result(call)].concat();
                match self.machine.follows(call) {
                    Some(first) => {
                        let parts = in_place(call, parts, self.machine);
                        let parts = [&parts[..], self.machine.beside_result(first)].concat();
                        BTreeMap::from([(first.clone(), parts)])
                    }
                    None => BTreeMap::from([(call.clone(), parts)]),
                }
            }
            _ => BTreeMap::new(),
        };
        // One call has one that follows it, and none follows that.
        let follow_up = follow_up.filter(|_| {
            let is_followed =
                matches!(point, HookPoint::CallEnded { call } if self.machine.follows(call).is_some());
            !is_followed && stop.is_none() && self.machine.phase == RunPhase::Acting
        });
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
        let is_added = match point {
            HookPoint::Begin | HookPoint::Steer { .. } => kept.is_some(),
            HookPoint::Goal { .. } => said.is_some(),
            HookPoint::TurnEnded { .. } => {
                stop.is_none() && block.is_none() && self.machine.pending().is_none()
            }
            HookPoint::Compaction { .. } => false,
            HookPoint::CallEnded { .. } => true,
        };
        let settles = Some(point.clone());
        let mut effect = Some(HookEffect {
            settles,
            outputs,
            blocks,
            context: kept,
            follow_up: follow_up.clone(),
            ..HookEffect::default()
        });
        // Within the time that a hook took, and so before what it said.
        self.asked_apart(None, asked);
        let last = fired.len().checked_sub(1);
        for (n, mut told) in fired.into_iter().enumerate() {
            told.settles_result = Some(n) == last && matches!(point, HookPoint::CallEnded { .. });
            told.follow_up = told.follow_up.filter(|_| follow_up.is_some());
            told.added = told.added.filter(|_| is_added);
            let hooked = effect.take().map(Box::new);
            self.emit_with(told, PrivateEventFields { hooked, ..PrivateEventFields::default() }, None, None);
        }
        // Nobody was asked, so there is nothing to tell.
        self.machine.pass(point);
        self.warn_of_hooks(warnings);
        if let Some(request) = follow_up {
            self.call_requested(&request);
        }
        if let (HookPoint::Compaction { .. }, None) = (point, &stop) {
            // Its words are about what is left out, and nobody reads them.
            return self.compression_hooked(block);
        }
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
                if self.machine.phase == RunPhase::Acting && !self.machine.turn.is_open {
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
                None => self.hand_in(&self.machine.turn.last_text.clone()),
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

    /// Everything that hooks said of a question that a call asks while it runs.
    pub(super) fn hooks_asked(&mut self, hooks: HookEffects) {
        let stop = hooks.stop.clone();
        self.tell_hooks_to_people(hooks);
        if let Some(why) = stop {
            self.stopped_by_hook(why);
        }
    }

    /// Writes down what hooks said of something that the model does not hear of.
    pub(super) fn tell_hooks_to_people(&mut self, hooks: HookEffects) {
        if let Some(context) = self.tell_hooks(hooks) {
            self.emit(DaemonWarning { message: format!("nobody but people reads this here: {context}") });
        }
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
        self.asked_apart(None, hooks.asked);
        for fired in hooks.fired {
            self.emit(fired);
        }
        self.warn_of_hooks(hooks.warnings);
        hooks.context
    }

    fn warn_of_hooks(&mut self, warnings: Vec<String>) {
        for message in warnings {
            self.emit(DaemonWarning { message });
        }
    }

    /// A hook said that the run is not to go on.
    pub(super) fn stopped_by_hook(&mut self, why: String) {
        match &self.machine.phase {
            RunPhase::Finished => (),
            // It stops for another reason already, and that one stays.
            RunPhase::Stopping { .. } => self.after_calls(),
            _ => self.fail(RunErrorCode::HookStopped, why),
        }
    }
}
