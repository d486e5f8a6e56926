//! Asking models: for the turns of the run, and for what comes beside them.

use std::sync::Arc;

use super::{
    super::{
        compaction::TokenEstimate,
        machine::{
            FailureKind, ModelAsk, ModelEnd, ModelFailure, PartialReply, RunMachine, SideCall, WantedTask,
        },
        side_calls::{
            CompressionContext, RequestLength, SideCallContext, SideCallRunner, ToolSideCallContext,
        },
        think::{ModelCall, ModelCallResult, ReplyLoopDetectors},
    },
    RunDriver, RunIdentity, TaskOutput,
};
use models::{ModelRequest, RequestPurpose};
use protocol::{RunTask, SamplingSettings, SideCallPurpose};

/// Tokens for an answer, without which asking is of no use.
const LEAST_ANSWER: u64 = 2_048;
/// Of a small window this part is enough.
const LEAST_SHARE: u64 = 8;
/// An eighth: the ratio that corrects estimates follows the last request, and a tool's output may be of other stuff.
const ESTIMATE_IS_SHORT_BY: u64 = 8;

impl RunDriver {
    pub(super) fn begin_thinking(&mut self, ask: ModelAsk, want: WantedTask) {
        // Invariant: a wanted model was announced by a committed `model.started`, live or just absorbed.
        let Some((stream, after_seq)) = self.request.take_announced() else { return };
        let RunIdentity { session, run, .. } = &self.identity;
        let live = self.parts.store.live().open(session.clone(), run.clone(), stream, after_seq);
        let weight = self.weight(ask.is_grace);
        let tokens = self.request.estimator().tokens(weight);
        let room = self.machine.window().map(|window| room(window, tokens));
        self.request.measure(weight);
        let writing = live.appender();
        self.request.write_to(live);
        if let Some(failure) = self.too_long(tokens) {
            return self.launch(
                want,
                async move { TaskOutput::Thought(ModelCallResult::of(ask, ModelEnd::Failed(failure))) },
                None,
            );
        }
        let tree_ordinal = self.request.ask(weight, &self.holdings.tree_replies);
        let mut request = ModelRequest { room, ..self.model_request(ask.is_grace, tree_ordinal) };
        request.messages.extend_from_slice(self.transcript.messages());
        let model = self.machine.model();
        let hooked = self.hooked_request(ask);
        let stream = match &hooked {
            Some(hooked) => hooked.clone().stream(request),
            None => {
                self.request.meter().asks();
                self.alternates.stream(model, request)
            }
        };
        let thinking = ModelCall {
            ask,
            model: model.to_owned(),
            stream,
            live: writing,
            gate: Arc::clone(&self.gate),
            alternates: Arc::clone(&self.alternates),
            clock: Arc::clone(&self.parts.clock),
            meter: self.request.meter().clone(),
            window: self.machine.window(),
            circles: self.machine.start().safeguards.loop_text.then(ReplyLoopDetectors::default),
            hooked: hooked.map(|it| it.said),
        };
        self.launch(want, async move { TaskOutput::Thought(thinking.run().await) }, None);
    }

    /// What the next turn's model is asked, but for the history.
    fn model_request(&self, is_grace: bool, tree_ordinal: u32) -> ModelRequest {
        ModelRequest {
            purpose: RequestPurpose::Turn,
            system: self.frame.system(),
            messages: self.frame.messages(),
            tools: self.frame.tools(is_grace),
            sampling: self.sampling(),
            schema: None,
            provider_tool: None,
            ordinal: self.machine.replies(),
            others: self.machine.n_side_replies(),
            path: self.machine.start().path.as_str().into(),
            tree_ordinal,
            room: None,
        }
    }

    /// The next turn's request, to be counted. A run that only changes a context is not asked with what stands around the
    /// messages in others, so a count would leave that out.
    fn to_be_counted(&self) -> Option<ModelRequest> {
        if self.machine.start().task != RunTask::Work {
            return None;
        }
        // The turn itself will take the number.
        let tree_ordinal = self.request.tree_ordinal(&self.holdings.tree_replies);
        Some(self.model_request(self.machine.is_grace(), tree_ordinal))
    }

    pub(super) fn begin_side_call(&mut self, side_call: SideCall, want: WantedTask) {
        let start = self.machine.start();
        let compressing = (side_call.about == SideCallPurpose::Compression).then(|| CompressionContext {
            summariser: self.machine.summariser(),
            own: self.machine.own_model(),
            left: self.machine.left(),
            measure: RequestLength { estimator: self.request.estimator(), tokens: self.tokens() },
            counted: self.to_be_counted(),
            session: self.identity.session.clone(),
            outputs: self.gate.supplies.own_files.outputs().clone(),
            epoch: self.transcript.past().epoch,
            skills: self.transcript.skills().to_vec(),
            still: self.gate.prepare.skills.clone(),
        });
        let runner = SideCallRunner {
            side_call,
            care: (*start.safeguards).clone(),
            means: self.means(),
            ledger: Arc::clone(&self.questions),
            n_side_replies: self.machine.n_side_replies(),
            messages: self.transcript.messages().to_vec(),
            compressing,
            news: self.news.way_in(),
        };
        self.launch(want, async move { TaskOutput::Input(runner.run().await) }, None);
    }

    /// For a call that begins, or hooks that are asked, where `machine` stands: it may have a reply that is not committed yet.
    pub(super) fn tool_asking(&self, machine: &RunMachine) -> ToolSideCallContext {
        self.questions.told(machine.n_side_replies());
        let asker = self.questions.asker();
        ToolSideCallContext {
            means: self.means(),
            questions: Arc::clone(&self.questions),
            small: machine.start().safeguards.small.clone(),
            own: machine.model().to_owned(),
            left: machine.left(),
            counted: self.questions.counted(),
            asker,
        }
    }

    /// What a question beside the turns is asked with.
    fn means(&self) -> SideCallContext {
        SideCallContext {
            alternates: Arc::clone(&self.alternates),
            clock: Arc::clone(&self.parts.clock),
            redactor: self.gate.supplies.redactor.clone(),
            path: self.machine.start().path.as_str().into(),
            replies: self.machine.replies(),
        }
    }

    /// Of the run's turns: what run and agent say holds for each model, and beneath it what the model's alias or entry
    /// says (spec 04, "Providers").
    fn sampling(&self) -> SamplingSettings {
        match self.machine.sampling() {
            Some(own) => self.seed.definition.model.sampling.or(own),
            None => self.seed.sampling,
        }
    }

    /// Of the next request.
    fn weight(&self, is_grace: bool) -> TokenEstimate {
        self.transcript.weight() + self.frame.weight(is_grace)
    }

    /// Tokens of the next request, about. Of a run that has not asked yet what the context's last prompt took says more
    /// than an estimate: what stood around the messages then is not known here.
    fn tokens(&self) -> u64 {
        let estimated = self.request.estimator().tokens(self.weight(self.machine.is_grace()));
        estimated.max(self.transcript.past().prompt_tokens)
    }

    /// The reason why a request is not worth asking with: it leaves too little of the model's window.
    fn too_long(&self, tokens: u64) -> Option<ModelFailure> {
        let window = self.machine.window()?;
        let answer = least_answer(window);
        if tokens <= window - answer {
            return None;
        }
        let model = self.machine.model();
        let message = format!(
            "the request is about {tokens} tokens long, and the window of {model} takes {window}, of which an answer needs \
             {answer}"
        );
        let (kind, partial, now) = (FailureKind::TooLong, PartialReply::default(), self.parts.clock.now());
        Some(ModelFailure { message, kind, partial, now, jitter: 0.0 })
    }
}

/// What a request leaves of a window, in tokens. The estimate may fall short of what the provider counts.
fn room(window: u64, tokens: u64) -> u64 {
    window.saturating_sub(tokens.saturating_add(tokens / ESTIMATE_IS_SHORT_BY))
}

/// What an answer needs of a window, in tokens.
fn least_answer(window: u64) -> u64 {
    LEAST_ANSWER.min(window / LEAST_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_leaves_is_told_with_caution() {
        assert_eq!((room(200_000, 0), room(200_000, 80_000)), (200_000, 110_000));
        assert_eq!((room(200_000, 180_000), room(1_000, u64::MAX)), (0, 0));
        assert_eq!((least_answer(200_000), least_answer(1_000)), (2_048, 125));
    }
}
