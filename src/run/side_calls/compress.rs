//! A history that has grown too long becomes a short one (spec 04, "Compression").
//!
//! Old tool outputs first, then a summary of the older part, then a second look at it. Nothing changes until all of it is
//! there: what comes out is one event, so a crash in between leaves the context as it was.

use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

use super::{OngoingSideCall, SideCallRequest, nothing, small::mark};
use crate::{
    compaction::{
        self, ActiveSkill, CompactionSummary, OUTPUT_BUDGET, OldOutput, SummaryRequest, TokenEstimate,
        TokenEstimator, lasting, old_outputs, opening, outdated, pieces, retold, weigh,
    },
    machine::{CompressionResult, RemainingBudget, SideCallResult},
    transcript::compacted,
    unblocked, unhurried,
};
use models::ModelRequest;
use protocol::{
    CallId, Compaction, CompressionStatus, ContextCompressed, ContextMessage, MessagePart, MessageRole,
    NamedModel, SessionId,
};
use tools::{ActiveSkills, OutputStore};

/// One call of the summariser. Meanwhile the run stands still, and its own time goes on.
const DEADLINE: Duration = Duration::from_secs(300);
/// Of the summariser's window, in hundredths, what it is told of the history: the rest is for what it thinks and answers,
/// and for estimates that are wrong.
const TOLD: u64 = 60;
/// For what the provider counts, before and after. An estimate serves as well, and a run waits for this.
const COUNT_DEADLINE: Duration = Duration::from_secs(10);
/// Pieces beyond which a model with a larger window is asked, if the run has one.
const MANY_PIECES: usize = 4;
/// And beyond which nobody is: each takes two calls.
const MOST_PIECES: usize = 100;
/// A window in which less of a history than this has room, in tokens, is none to summarise with.
const LEAST_ROOM: TokenEstimate = TokenEstimate::tokens(1_000);

/// What a compression needs beside what every question does.
pub(crate) struct CompressionContext {
    pub summariser: NamedModel,
    /// Summarises what would take the summariser too many calls.
    pub own: NamedModel,
    /// What the run may still spend.
    pub left: RemainingBudget,
    pub measure: RequestLength,
    /// What is counted with the messages before and after: the next turn's request without its history. `None` = nothing is.
    pub counted: Option<ModelRequest>,
    pub session: SessionId,
    /// Where whole outputs are kept.
    pub outputs: OutputStore,
    /// Of the context.
    pub epoch: u32,
    /// Skills that its model was given, and is told again.
    pub skills: Vec<ActiveSkill>,
    /// Knows whether they still count.
    pub still: ActiveSkills,
}

/// How long requests are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLength {
    pub estimator: TokenEstimator,
    /// A request with all messages as they are, everything else in it included.
    pub tokens: u64,
}

/// The messages that stand for the older part of a history.
struct Summarised {
    opening: Vec<ContextMessage>,
    /// The number of the newest messages, which stay.
    kept: usize,
    /// The calls that activated them.
    outdated_skills: Vec<CallId>,
}

/// What a history becomes.
struct CompactionDraft {
    compaction: Compaction,
    after: Vec<Arc<ContextMessage>>,
}

/// How a model would be told of a history.
struct ChunkedHistory {
    model: NamedModel,
    /// For each of them.
    room: TokenEstimate,
    pieces: Vec<Range<usize>>,
}

impl ChunkedHistory {
    /// The model counts as the run's does, as far as anybody knows.
    fn of(history: &[Arc<ContextMessage>], model: NamedModel, estimator: TokenEstimator) -> ChunkedHistory {
        let window = estimator.weight(model.context_window.saturating_mul(TOLD) / 100);
        let around = compaction::summary_request(&[], None, &mark(), window).weight();
        let room = window.saturating_sub(around);
        ChunkedHistory { pieces: pieces(history, room), room, model }
    }
}

impl OngoingSideCall<'_> {
    pub(super) async fn compress(&mut self) -> SideCallResult {
        let Some(compressing) = &self.with.compressing else {
            return nothing("there is nothing to compress");
        };
        let before = self.with.messages.clone();
        let outputs = self.cut_outputs(compressing, &before).await;
        let draft = Compaction { outputs, ..Compaction::default() };
        let cut = compacted(&before, &draft);
        if self.with.side_call.outputs_only {
            return self
                .judged(compressing, &before, Ok(CompactionDraft { compaction: draft, after: cut }))
                .await;
        }
        let summarised = self.summarise(compressing, &cut).await;
        let summarised = summarised.map(|summarised| {
            let compaction = match summarised {
                Some(Summarised { opening, kept, outdated_skills }) => {
                    Compaction { opening, kept, outdated_skills, ..draft }
                }
                None => draft,
            };
            CompactionDraft { after: compacted(&before, &compaction), compaction }
        });
        self.judged(compressing, &before, summarised).await
    }

    /// What the model is to read of results that are old and long; the whole of them is kept first.
    async fn cut_outputs(
        &self,
        compressing: &CompressionContext,
        messages: &[Arc<ContextMessage>],
    ) -> BTreeMap<CallId, Vec<MessagePart>> {
        let budget = if self.with.side_call.outputs_only { TokenEstimate::default() } else { OUTPUT_BUDGET };
        let (messages, outputs) = (messages.to_vec(), compressing.outputs.clone());
        let skills = lasting(&compressing.skills);
        let session = compressing.session.clone();
        let cut = move || {
            let replacement = |old: OldOutput| {
                let saved = outputs.keep_late(&session, &old.call, &old.whole);
                if let Err(error) = &saved {
                    tracing::warn!(%session, call = %old.call, %error, "a whole output cannot be kept");
                }
                let parts = old.replacement(saved.ok().as_deref());
                (old.call, parts)
            };
            unhurried(old_outputs(&messages, budget, &skills)).map(replacement).collect()
        };
        unblocked(cut).await
    }

    /// The messages that stand for the older part; `None` = nothing can go.
    async fn summarise(
        &mut self,
        compressing: &CompressionContext,
        messages: &[Arc<ContextMessage>],
    ) -> Result<Option<Summarised>, String> {
        let (all, models) =
            (messages.to_vec(), [&compressing.summariser, &compressing.own].map(Clone::clone));
        let estimator = compressing.measure.estimator;
        let (split, plan) = unblocked(move || {
            let split = compaction::split(&all);
            let old = &all[..split.at];
            let plan = models.map(|model| ChunkedHistory::of(old, model, estimator));
            (split, plan)
        })
        .await;
        if split.at == 0 {
            return Ok(None);
        }
        let [first, own] = plan;
        let is_better = first.model.context_window < own.model.context_window
            && (first.room < LEAST_ROOM || MANY_PIECES < first.pieces.len());
        let ChunkedHistory { model, room, pieces } = if is_better { own } else { first };
        let NamedModel { name, context_window, .. } = &model;
        if room < LEAST_ROOM {
            return Err(format!(
                "the window of {name}, {context_window} tokens, is too small to summarise in"
            ));
        }
        if MOST_PIECES < pieces.len() {
            let n = pieces.len();
            return Err(format!("it would take {name} {n} pieces to summarise, each with two calls"));
        }
        let mut snapshot: Option<CompactionSummary> = None;
        for piece in pieces {
            if compressing.left.is_used_up_by(self.spent) {
                return Err("the run's budget is used up".to_owned());
            }
            let history = messages[piece].to_vec();
            let request = {
                let (history, earlier) = (history.clone(), snapshot.take().map(|it| it.text));
                unblocked(move || compaction::summary_request(&history, earlier.as_deref(), &mark(), room))
                    .await
            };
            let summary = self.snapshot(&model, request).await?;
            let checked = {
                let summary = summary.clone();
                unblocked(move || compaction::check_request(&history, &summary, &mark(), room)).await
            };
            // A second look that sees nothing takes nothing away.
            snapshot = Some(self.snapshot(&model, checked).await.unwrap_or(summary));
        }
        let Some(snapshot) = snapshot else { return Ok(None) };
        let mut opening: Vec<ContextMessage> = opening(&snapshot).into();
        let kept = messages[split.at..].to_vec();
        let (skills, still) = (compressing.skills.clone(), compressing.still.clone());
        let (retold, outdated) = unblocked(move || {
            let outdated = outdated(&skills, &kept, |name| still.still_counts(name));
            (retold(&skills, &kept, &outdated), outdated)
        })
        .await;
        let outdated_skills = outdated.into_iter().map(|skill| skill.call).collect();
        if let Some(first) = opening.first_mut() {
            first.parts.extend(retold);
        }
        // What was asked for last stands in front of what was done for it.
        let asked = split.bridge.iter().flat_map(|at| messages[*at].parts.iter().cloned());
        let asked: Vec<MessagePart> = asked.collect();
        if !asked.is_empty() {
            opening.push(ContextMessage { role: MessageRole::User, parts: asked, raw: None });
        }
        Ok(Some(Summarised { opening, kept: messages.len() - split.at, outdated_skills }))
    }

    async fn snapshot(
        &mut self,
        model: &NamedModel,
        request: SummaryRequest,
    ) -> Result<CompactionSummary, String> {
        let SummaryRequest { system, messages } = request;
        let left = self.with.compressing.as_ref().map(|it| it.left).unwrap_or_default();
        let budget = (left, self.spent);
        let question = SideCallRequest { budget, ..SideCallRequest::plain(system, messages, DEADLINE) };
        let answer = self.ask(model, question).await?;
        CompactionSummary::read(&answer)
            .ok_or_else(|| "the answer has no well-formed <state_snapshot>".to_owned())
    }

    /// Whether what came out counts.
    async fn judged(
        &self,
        compressing: &CompressionContext,
        before: &[Arc<ContextMessage>],
        draft: Result<CompactionDraft, String>,
    ) -> SideCallResult {
        let RequestLength { estimator, tokens: tokens_before } = compressing.measure;
        let count = |messages: usize| u32::try_from(messages).unwrap_or(u32::MAX);
        let told = ContextCompressed {
            status: CompressionStatus::Noop,
            epoch: compressing.epoch,
            forced: self.with.side_call.forced,
            tokens_before,
            tokens_after: tokens_before,
            messages_before: count(before.len()),
            messages_after: count(before.len()),
            outputs_cut: 0,
            counted: false,
            message: None,
        };
        let refused = |told| SideCallResult::Compressed(CompressionResult { told, compaction: None });
        let CompactionDraft { compaction, after } = match draft {
            Ok(draft) => draft,
            Err(message) => {
                let status = CompressionStatus::CompressionFailedEmptySummary;
                return refused(ContextCompressed { status, message: Some(message), ..told });
            }
        };
        if compaction.opening.is_empty() && compaction.outputs.is_empty() {
            return refused(told);
        }
        let (all_before, all_after) = (before.to_vec(), after.clone());
        let (weight_before, weight_after) = unblocked(move || {
            let weight = |messages: &[Arc<ContextMessage>]| {
                unhurried(messages).map(|it| weigh(it)).sum::<TokenEstimate>()
            };
            (weight(&all_before), weight(&all_after))
        })
        .await;
        let removed = estimator.tokens(weight_before.saturating_sub(weight_after));
        let added = estimator.tokens(weight_after.saturating_sub(weight_before));
        let estimated = tokens_before.saturating_sub(removed).saturating_add(added);
        let counts = self.counts(compressing, before, &after).await;
        let (tokens_before, tokens_after) = counts.unwrap_or((tokens_before, estimated));
        let is_shorter = match counts {
            Some((before, after)) => after < before,
            None => weight_after < weight_before,
        };
        let told = ContextCompressed {
            tokens_before,
            tokens_after,
            counted: counts.is_some(),
            messages_after: count(after.len()),
            ..told
        };
        if !is_shorter {
            let status = CompressionStatus::CompressionFailedInflatedTokenCount;
            let message = Some("the summary is longer than what it stands for".to_owned());
            return refused(ContextCompressed {
                status,
                message,
                messages_after: told.messages_before,
                ..told
            });
        }
        let told = ContextCompressed {
            status: CompressionStatus::Compressed,
            epoch: compressing.epoch + 1,
            outputs_cut: count(compaction.outputs.len()),
            ..told
        };
        SideCallResult::Compressed(CompressionResult { told, compaction: Some(compaction) })
    }

    /// Tokens before and after, as the provider of the run's own model counts them; `None` = it does not, or not now. One of
    /// them alone is of no use: a count and an estimate do not tell which is less.
    async fn counts(
        &self,
        compressing: &CompressionContext,
        before: &[Arc<ContextMessage>],
        after: &[Arc<ContextMessage>],
    ) -> Option<(u64, u64)> {
        let request = compressing.counted.as_ref()?;
        let model = &compressing.own.name;
        // What every question of the run before this one may have counted.
        let first = self.with.side_call.n.saturating_sub(1).saturating_mul(2);
        let counted = async {
            let after = self.count(model, request, after, first).await?;
            let before = self.count(model, request, before, first.saturating_add(1)).await?;
            Some((before, after))
        };
        tokio::select! {
            biased;
            counts = counted => counts,
            () = self.with.means.clock.sleep(COUNT_DEADLINE) => {
                tracing::debug!(%model, "nothing was counted within {} s", COUNT_DEADLINE.as_secs());
                None
            }
        }
    }

    async fn count(
        &self,
        model: &str,
        request: &ModelRequest,
        messages: &[Arc<ContextMessage>],
        ordinal: u32,
    ) -> Option<u64> {
        let means = &self.with.means;
        let others = self.with.n_side_replies.saturating_add(self.n_asked);
        let messages = request.messages.iter().chain(messages).cloned().collect();
        let request = ModelRequest { messages, others, ..request.clone() };
        match means.alternates.count(model, request, ordinal).await? {
            Ok(tokens) => Some(tokens),
            Err(error) => {
                let error = means.redactor.owned(error.to_string());
                tracing::debug!(%model, %error, "a request could not be counted");
                None
            }
        }
    }
}
