//! What comes before a model is asked, beside it and after it, so that a run neither overflows nor goes round in circles
//! (spec 04).

use super::{
    super::{
        CompressionResult, MeteredUsage, ModelAsk, ModelFailure, NextSpeaker, PartialReply, RoutedModel,
        RunPhase, SideCall, SideCallReply, SideCallResult, ToolSideCall,
        safeguards::{ASSUMED_WINDOW, ContextReduction},
    },
    MachineStep,
};
use crate::{loops::CallCycle, nudges};
use protocol::{
    BudgetAmount, BudgetKind, BudgetWarning, CallId, CallState, CompletionResult, CompressionStatus,
    ContextCleared, ContextCompressed, ContextMessage, ContextNudged, DaemonWarning, LoopDetected, LoopKind,
    ModelFallback, ModelRouted, NamedModel, NudgeReason, PrivateEventFields, RoutedBy, RunEndReason,
    RunErrorCode, RunTask, SideCallCompleted, SideCallPurpose, SideCallStarted, SubagentActivity, UsageTotal,
};

/// The part of a budget that may be used up before people are warned, in hundredths (spec 01, `budget.warning`).
const WARNED_AT_PERCENT: u128 = 80;
/// How sure a model must be that the run goes round in circles (spec 04).
const SURE: f64 = 0.9;
/// Letters of what is repeated that are told.
const SHOWN_CHARS: usize = 200;

impl MachineStep<'_> {
    /// Begins what comes before the model is asked; answers whether there was anything.
    pub(super) fn side_call_first(&mut self) -> bool {
        if self.machine.start().task == RunTask::Clear {
            let epoch = self.machine.context().epoch + 1;
            self.emit(ContextCleared { epoch });
            self.task_done("the context begins anew".to_owned());
            return true;
        }
        let Some(side_call) = self.machine.next_side_call() else { return false };
        self.emit(side_call);
        true
    }

    /// One of the calls that a question takes, told when it is over: what it cost is known whatever becomes of the question.
    pub(super) fn side_call_replied(&mut self, side_call: SideCall, call: SideCallReply) {
        if self.machine.side_call() == Some(side_call) {
            self.tell_call(side_call.about, call, None);
        }
    }

    pub(super) fn side_call_ended(
        &mut self,
        side_call: SideCall,
        calls: Vec<SideCallReply>,
        advice: SideCallResult,
    ) {
        if self.machine.side_call() != Some(side_call) {
            return;
        }
        let attempt = match &self.machine.phase {
            RunPhase::Thinking { attempt, .. } => *attempt,
            _ => 1,
        };
        self.tell_calls(side_call.about, calls, &advice);
        match (side_call.about, advice) {
            (SideCallPurpose::Compression, advice) => return self.compressed(side_call, advice, attempt),
            (SideCallPurpose::NextSpeaker, SideCallResult::NextSpeaker(NextSpeaker::Model)) => {
                self.nudge(NudgeReason::NextSpeaker, nudges::PLEASE_CONTINUE);
                self.end_turn();
                return self.next_turn();
            }
            // Somebody said something while it was asked who speaks next: they did.
            (SideCallPurpose::NextSpeaker, _) if !self.machine.steers.is_empty() => {
                self.end_turn();
                return self.next_turn();
            }
            (SideCallPurpose::NextSpeaker, _) => return self.hand_in(&self.machine.turn.last_text.clone()),
            (SideCallPurpose::LoopCheck, SideCallResult::Loop { confidence, reason })
                if SURE <= confidence =>
            {
                if self.loop_found(LoopKind::Judge, reason) {
                    return;
                }
                self.tell_of_circle();
            }
            // What tools and hooks ask is never wanted here.
            (
                SideCallPurpose::LoopCheck
                | SideCallPurpose::WebFetch
                | SideCallPurpose::WebSearch
                | SideCallPurpose::McpSampling
                | SideCallPurpose::Hook,
                _,
            ) => (),
            (SideCallPurpose::Routing, SideCallResult::Routed(RoutedModel { model, reason })) => {
                let NamedModel { name, context_window, sampling } = model;
                self.emit(ModelRouted {
                    model: name,
                    by: RoutedBy::Classifier,
                    reason,
                    context_window: Some(context_window),
                    sampling: Some(sampling),
                });
            }
            (SideCallPurpose::Routing, advice) => {
                let reason = match advice {
                    SideCallResult::Nothing { message } => message,
                    _ => "the classifier gave no answer".to_owned(),
                };
                let model = self.machine.start().model.clone();
                let (by, context_window, sampling) = (RoutedBy::Default, None, None);
                self.emit(ModelRouted { model, by, reason, context_window, sampling });
            }
        }
        self.ask_model(attempt);
    }

    /// Every call is told, so that what it used is counted; a question that took none has one entry that says why.
    fn tell_calls(&mut self, purpose: SideCallPurpose, calls: Vec<SideCallReply>, advice: &SideCallResult) {
        let confidence = match advice {
            SideCallResult::Loop { confidence, .. } => Some(*confidence),
            _ => None,
        };
        let nothing = match (calls.is_empty(), advice) {
            (true, SideCallResult::Nothing { message }) => Some(SideCallReply {
                model: self
                    .machine
                    .start()
                    .safeguards
                    .small
                    .as_ref()
                    .map(|it| it.name.clone())
                    .unwrap_or_default(),
                metered: MeteredUsage::default(),
                text: String::new(),
                error: Some(message.clone()),
            }),
            _ => None,
        };
        for call in calls.into_iter().chain(nothing) {
            self.tell_call(purpose, call, confidence);
        }
    }

    fn tell_call(&mut self, purpose: SideCallPurpose, call: SideCallReply, confidence: Option<f64>) {
        self.emit(SideCallCompleted { confidence, ..consulted(purpose, call) });
    }

    /// Everything that a tool asked models is told with the end of its call, what hooks asked with what they said.
    pub(super) fn asked_apart(&mut self, call_id: Option<&CallId>, asked: Vec<ToolSideCall>) {
        for asked in asked {
            self.emit(SideCallCompleted { call_id: call_id.cloned(), ..consulted_apart(asked) });
        }
    }

    /// Questions that nobody waits for any more: what they took counts, and nothing else comes of them.
    pub(super) fn given_up(&mut self, asked: Vec<ToolSideCall>) {
        for asked in asked {
            self.emit(consulted_apart(asked));
        }
    }

    /// The question that is under way is lost with the process that heard what it took, and is asked once more.
    pub(super) fn discard_side_call(&mut self) {
        let Some(side_call) = self.machine.side_call().filter(|it| !it.outputs_only) else { return };
        let model = match side_call.about {
            SideCallPurpose::Compression => self.machine.summariser().name,
            _ => self.machine.start().safeguards.small.as_ref().map(|it| it.name.clone()).unwrap_or_default(),
        };
        // While hooks have their say nothing is asked.
        if !protocol::is_served(&model) || self.machine.compression_waits(side_call) {
            return;
        }
        let metered = MeteredUsage { is_unknown: true, ..MeteredUsage::default() };
        let error = Some("the daemon was restarted before the model had answered".to_owned());
        let call = SideCallReply { model, metered, text: String::new(), error };
        self.emit(SideCallCompleted { abandoned: true, ..consulted(side_call.about, call) });
    }

    /// Hooks had their say before the context is compressed; `why` keeps it as it is, unless the run could not go on so.
    pub(super) fn compression_hooked(&mut self, why: Option<String>) {
        let Some(side_call) = self.machine.side_call() else { return };
        let Some(message) = why else { return };
        if !self.machine.may_go_on_uncompressed() {
            let message =
                format!("the context is compressed all the same, since it fits the model no more: {message}");
            return self.emit(DaemonWarning { message });
        }
        let attempt = match &self.machine.phase {
            RunPhase::Thinking { attempt, .. } => *attempt,
            _ => 1,
        };
        let kept = ContextCompressed {
            status: CompressionStatus::Noop,
            ..self.no_summary(side_call, &SideCallResult::Nothing { message: message.clone() })
        };
        self.emit(kept);
        match self.machine.start().task {
            RunTask::Compact => self.task_done(format!("not compressed: {message}")),
            _ => self.ask_model(attempt),
        }
    }

    fn compressed(&mut self, side_call: SideCall, advice: SideCallResult, attempt: u32) {
        let CompressionResult { told, compaction } = match advice {
            SideCallResult::Compressed(compressed) => compressed,
            // Whoever compresses says what came of it; that it could not be is no summary.
            other => CompressionResult { told: self.no_summary(side_call, &other), compaction: None },
        };
        let result = summary_of(&told);
        let came_to_nothing = told.status != CompressionStatus::Compressed;
        let private =
            PrivateEventFields { compaction: compaction.map(Box::new), ..PrivateEventFields::default() };
        self.emit_with(told, private, None, None);
        match self.machine.start().task {
            RunTask::Compact => self.task_done(result),
            // The request is as long as before: asking with it again would be refused again.
            _ if side_call.forced && came_to_nothing => self.squeeze_or_fail(),
            _ => self.ask_model(attempt),
        }
    }

    /// The next thing that may make the request fit; when nothing is left, the run ends.
    fn squeeze_or_fail(&mut self) {
        if self.machine.context.squeezed == ContextReduction::Cut {
            let message = self.machine.model.last_failure.to_string();
            return match &self.machine.turn.grace {
                Some(_) => self.last_chance_passed(),
                None => self.fail(RunErrorCode::ContextOverflow, message),
            };
        }
        self.squeeze();
    }

    fn squeeze(&mut self) {
        let outputs_only = self.machine.context.squeezed != ContextReduction::Not;
        let model = (!outputs_only).then(|| self.machine.summariser().name);
        let purpose = SideCallPurpose::Compression;
        self.emit(SideCallStarted { purpose, model, forced: true, outputs_only });
    }

    fn no_summary(&self, side_call: SideCall, advice: &SideCallResult) -> ContextCompressed {
        let context = self.machine.context();
        ContextCompressed {
            status: CompressionStatus::CompressionFailedEmptySummary,
            epoch: context.epoch,
            forced: side_call.forced,
            tokens_before: context.prompt_tokens,
            tokens_after: context.prompt_tokens,
            counted: false,
            messages_before: 0,
            messages_after: 0,
            outputs_cut: 0,
            message: match advice {
                SideCallResult::Nothing { message } => Some(message.clone()),
                _ => None,
            },
        }
    }

    /// A run that was only to change its context has done so.
    fn task_done(&mut self, result: String) {
        self.end_turn();
        self.complete(CompletionResult { result, output: None });
    }

    /// What the last reply's calls repeat; answers whether the run stops for it.
    pub(super) fn calls_repeat(&mut self) -> bool {
        let is_looked_at = self.machine.start().safeguards.loop_calls && self.machine.turn.grace.is_none();
        let Some(CallCycle { length }) = self.machine.loops.round.filter(|_| is_looked_at) else {
            return false;
        };
        let last = self.machine.calls.last().map(|call| call.request.name.to_string()).unwrap_or_default();
        let message = match length {
            1 => format!("`{last}` was called five times in a row with the same arguments"),
            n => format!("the same {n} calls, the last of them `{last}`, were made five times in a row"),
        };
        self.loop_found(LoopKind::Calls, message)
    }

    /// The model was cut off while it said the same again and again.
    pub(super) fn babbled(&mut self, partial: PartialReply, chunk: &str) {
        self.cut(Some(partial));
        if self.machine.turn.grace.is_some() {
            return self.last_chance_passed();
        }
        let shown: String = chunk.chars().take(SHOWN_CHARS).collect();
        if !self.loop_found(LoopKind::Text, format!("the model says again and again: {shown:?}")) {
            self.end_turn();
            self.next_turn();
        }
    }

    /// The model is told once; the second time the run stops (spec 04). Answers whether it stops.
    fn loop_found(&mut self, kind: LoopKind, message: String) -> bool {
        let stops = self.machine.loops.found != 0;
        let why = format!("the run goes round in circles: {message}");
        let body = LoopDetected { kind, message, stops };
        self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::Error), None);
        if stops {
            self.limit_because(RunEndReason::LoopDetected, why);
        }
        stops
    }

    /// The model gets told that it goes round in circles, if it does.
    pub(super) fn tell_of_circle(&mut self) {
        let text = match self.machine.loops.nudge {
            None => return,
            Some(LoopKind::Calls) => nudges::SAME_CALLS,
            Some(LoopKind::Text) => nudges::SAME_TEXT,
            Some(LoopKind::Judge) => nudges::SAME_STEPS,
        };
        self.nudge(NudgeReason::Loop, text);
    }

    pub(super) fn nudge(&mut self, because: NudgeReason, text: &str) {
        let private =
            PrivateEventFields { message: Some(ContextMessage::user(text)), ..PrivateEventFields::default() };
        self.emit_with(ContextNudged { text: text.to_owned(), reason: because }, private, None, None);
    }

    /// True if the model has said all is asked another model, where that is wanted; answers whether it is.
    pub(super) fn ask_who_speaks_next(&mut self, said: &str) -> bool {
        let care = &self.machine.start().safeguards;
        if !care.next_speaker || self.machine.turn.grace.is_some() || self.machine.is_budget_spent() {
            return false;
        }
        // Nobody has to be asked about one that said nothing.
        if said.trim().is_empty() {
            self.nudge(NudgeReason::NextSpeaker, nudges::PLEASE_CONTINUE);
            self.end_turn();
            self.next_turn();
            return true;
        }
        let Some(small) = &care.small else { return false };
        let model = Some(small.name.clone());
        let purpose = SideCallPurpose::NextSpeaker;
        self.emit(SideCallStarted { purpose, model, forced: false, outputs_only: false });
        true
    }

    /// The request is longer than the model's window: the context is compressed once, then tool outputs are cut, then
    /// the run ends (spec 04, "Context window").
    pub(super) fn too_long(&mut self, ask: ModelAsk, failure: ModelFailure) {
        let ModelFailure { message, partial, now, .. } = failure;
        if self.machine.context.squeezed == ContextReduction::Cut {
            return self.model_gave_up(RunErrorCode::ContextOverflow, message, partial);
        }
        self.emit(self.retrying(ask, now, message, &partial));
        self.squeeze();
    }

    /// What a run below has used meanwhile counts at once: runs draw on what those above them have left.
    pub(super) fn child_spent(&mut self, call: &CallId, spent: UsageTotal) {
        if self.state(call) != Some(CallState::Executing) {
            return;
        }
        self.machine.now.child_mut(call).spent = spent;
        if self.machine.phase == RunPhase::Acting
            && self.machine.is_budget_spent()
            && self.machine.turn.grace.is_none()
        {
            self.limit(RunEndReason::Budget);
        }
    }

    /// Once for each budget of which little is left.
    pub(super) fn warn_of_budgets(&mut self) {
        let is_ending = self.machine.turn.grace.is_some() || self.machine.stopping().is_some();
        if self.machine.is_finished() || !self.machine.has_begun() || is_ending {
            return;
        }
        let (limits, spent) = (self.machine.limits(), self.machine.spent());
        let is_due = |used: u64, limit: u64| u128::from(limit) * WARNED_AT_PERCENT <= u128::from(used) * 100;
        let (tokens, cost) = (spent.usage.total(), spent.cost.unwrap_or_default());
        let tokens = limits
            .max_tokens
            .filter(|limit| is_due(tokens, *limit))
            .map(|limit| (BudgetKind::Tokens, BudgetAmount::Tokens(tokens), BudgetAmount::Tokens(limit)));
        let cost = limits
            .max_cost
            .filter(|limit| is_due(cost.nanos(), limit.nanos()))
            .map(|limit| (BudgetKind::Cost, BudgetAmount::Cost(cost), BudgetAmount::Cost(limit)));
        for (kind, used, limit) in [tokens, cost].into_iter().flatten() {
            if !self.machine.budget.warned.contains(&kind) {
                self.emit(BudgetWarning { kind, used, limit });
            }
        }
    }

    /// The next model takes over from one that cannot go on; answers whether there is one.
    pub(super) fn fall_back(&mut self, ask: ModelAsk, failure: &ModelFailure, message: &str) -> bool {
        let care = &self.machine.start().safeguards;
        let taken = self.machine.model.fallbacks;
        // One that is asked already is no other one.
        let is_another = |(_, it): &(usize, &NamedModel)| it.name != *self.machine.model.name;
        let next = care.fallback.iter().enumerate().skip(taken).find(is_another);
        let next = next.map(|(_, next)| (next.name.clone(), next.context_window, Some(next.sampling)));
        // Behind the one that was chosen for the request stands the one that nobody chose.
        let start = self.machine.start();
        let default = || {
            let is_chosen =
                taken == 0 && start.safeguards.auto.is_some() && start.model != *self.machine.model.name;
            let context_window = start.context_window.unwrap_or(ASSUMED_WINDOW);
            is_chosen.then(|| (start.model.clone(), context_window, None))
        };
        let Some((to, context_window, sampling)) = next.or_else(default) else { return false };
        self.emit(self.retrying(ask, failure.now, message.to_owned(), &failure.partial));
        self.emit(ModelFallback {
            from: self.machine.model.name.to_string(),
            to,
            message: message.to_owned(),
            context_window: Some(context_window),
            sampling,
        });
        true
    }
}

/// For people.
fn summary_of(told: &ContextCompressed) -> String {
    let ContextCompressed { tokens_before, tokens_after, .. } = told;
    match told.status {
        CompressionStatus::Compressed => format!("compressed from {tokens_before} to {tokens_after} tokens"),
        CompressionStatus::Noop => "there is nothing that could be left out".to_owned(),
        CompressionStatus::CompressionFailedInflatedTokenCount => format!(
            "not compressed: the summary would have been longer ({tokens_after} tokens) than what it stands for \
             ({tokens_before})"
        ),
        CompressionStatus::CompressionFailedEmptySummary => {
            let why = told.message.as_deref().unwrap_or("the model gave no summary");
            format!("not compressed: {why}")
        }
    }
}

fn consulted(purpose: SideCallPurpose, call: SideCallReply) -> SideCallCompleted {
    let SideCallReply { model, metered, text, error } = call;
    let MeteredUsage { usage, is_estimate: estimated, is_unknown: usage_unknown, cost, .. } = metered;
    SideCallCompleted {
        purpose,
        call_id: None,
        model,
        usage,
        estimated,
        usage_unknown,
        abandoned: false,
        cost,
        text,
        confidence: None,
        error,
        asked_at: None,
        duration_ms: None,
        firing_id: None,
        hook_id: None,
    }
}

/// The same with the time at which it was asked, and the hook that did.
fn consulted_apart(asked: ToolSideCall) -> SideCallCompleted {
    let ToolSideCall { purpose, call, asked_at, duration_ms, hook, given_up } = asked;
    let (firing_id, hook_id) = hook.map(|hook| (hook.firing_id, hook.hook_id)).unzip();
    SideCallCompleted {
        asked_at: Some(asked_at),
        duration_ms: Some(duration_ms),
        firing_id,
        hook_id,
        abandoned: given_up,
        ..consulted(purpose, call)
    }
}
