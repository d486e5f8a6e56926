//! A span as the waterfall shows it: its name, its last column, what it used, and its colour.

mod used;

use std::time::Duration;

use serde::Deserialize;

use crate::{
    human, safe_text,
    sureness::Sureness,
    table::{TableCell, cell},
    text_color::TextColor,
    width,
};
use protocol::{
    ArgumentChange, CallDecision, HookSpan, MovedAhead, PromptSources, QueuedBehind, SpanError, SpanEvent,
    SpanFileChange, SpanText, Timestamp, Usage, UsdAmount, WaitCause,
};
use traces::{
    answer_said, asked_about, at_least, changers_said, confinement_said, decided, decided_briefly, decider,
    hook_said_naming, interrupted_said, lets_run, moved_ahead_said, queued_said, requested_said, result_said,
    standing_said, stated_reason, without_daemon,
};

/// Characters of what a hook said in a row; the line in full has more.
const HOOK_CHARACTERS: usize = 120;

/// A span, as far as it is drawn, with open words.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SpanView {
    pub(super) span_id: String,
    pub(super) parent_span_id: Option<String>,
    pub(super) traceparent: Option<String>,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) run_id: String,
    pub(super) agent: Option<String>,
    pub(super) run_number: Option<u64>,
    pub(super) turn: Option<u32>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) start_us: i64,
    pub(super) end_us: Option<i64>,
    pub(super) status: String,
    pub(super) error: Option<SpanError>,
    /// The arguments of a call, where hooks changed them.
    pub(super) input: Option<SpanText>,
    /// The answer of a person, of the call that asked.
    pub(super) output: Option<SpanText>,
    pub(super) usage: Option<Usage>,
    pub(super) cost: Option<UsdAmount>,
    pub(super) run: Option<RunSpanView>,
    pub(super) llm: Option<LlmSpanView>,
    pub(super) tool: Option<CallSpanView>,
    pub(super) confirmation: Option<CallSpanView>,
    pub(super) hook: Option<HookSpan>,
    pub(super) mcp: Option<McpSpanView>,
    pub(super) events: Vec<SpanEvent>,
    /// A request of the run, or of one below it, was cut off before its provider said what it used.
    #[serde(skip)]
    pub(super) sureness: Sureness,
    /// The names of the arguments of its call that a hook changed then, as the call says.
    #[serde(skip)]
    pub(super) changed_arguments: Vec<String>,
}

/// The words where one changed a call and another one took that back.
const AS_ASKED: &str = ", back to what was asked for";

/// The reason of a run that somebody stopped.
const ABORTED: &str = "ABORTED";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RunSpanView {
    pub(super) model: String,
    pub(super) prompt_sources: Option<PromptSources>,
    pub(super) query: Option<SpanText>,
    pub(super) parent_run_id: Option<String>,
    pub(super) started_by: Option<String>,
    pub(super) stopped_by: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) waits_for: Option<WaitCause>,
    pub(super) queued_ms: u64,
    pub(super) queued_behind: Option<QueuedBehind>,
    pub(super) moved_ahead: Vec<MovedAhead>,
    pub(super) hooks_ms: u64,
    pub(super) waiting_ms: u64,
    pub(super) waiting_down_ms: u64,
    pub(super) parked_ms: u64,
    pub(super) down_ms: u64,
    pub(super) restarts: u64,
    pub(super) unclean_restarts: u64,
    pub(super) child_usage: Option<Usage>,
    pub(super) child_cost: Option<UsdAmount>,
    pub(super) unpriced_tokens: u64,
    pub(super) child_unpriced_tokens: u64,
    pub(super) estimated_requests: u64,
    pub(super) uncounted_requests: u64,
    pub(super) child_estimated_requests: u64,
    pub(super) child_uncounted_requests: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LlmSpanView {
    pub(super) first_token_ms: Option<u64>,
    pub(super) purpose: Option<String>,
    pub(super) hook_id: Option<String>,
    pub(super) attempt: Option<u64>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) finish_reason: Option<String>,
    pub(super) estimated: bool,
    pub(super) usage_unknown: bool,
}

impl LlmSpanView {
    /// The reason why a reply is no whole one, where its request did not fail.
    fn cut_by(&self) -> Option<String> {
        match self.finish_reason.as_deref()? {
            "length" => Some("cut off by the output limit".to_owned()),
            "refused" => Some("withheld by the provider".to_owned()),
            _ => None,
        }
    }
}

/// A call, or a question.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CallSpanView {
    pub(super) call_id: Option<String>,
    pub(super) confirmation_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) asks: String,
    pub(super) rule: String,
    pub(super) decision: Option<CallDecision>,
    pub(super) requested_by: Option<String>,
    pub(super) follows_tool: Option<String>,
    pub(super) asked_input: Option<SpanText>,
    pub(super) changed_by: Vec<String>,
    pub(super) changes: Vec<ArgumentChange>,
    pub(super) version: Option<u64>,
    pub(super) edited_input: Option<SpanText>,
    pub(super) result_changed_by: Option<String>,
    pub(super) result_withheld: bool,
    pub(super) waited_ms: Option<u64>,
    pub(super) down_ms: u64,
    pub(super) files_changed: Vec<SpanFileChange>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct McpSpanView {
    pub(super) server: String,
}

impl CallSpanView {
    /// The hooks and people who changed the arguments, in their order.
    fn changers(&self) -> String {
        changers_said(&self.changes, &self.changed_by, str::to_owned, str::to_owned)
    }

    /// The same for a row: where nobody but the person who allowed the call with that change changed it, that is said.
    fn changed_by(&self) -> Option<String> {
        let allowed = self.decision.as_ref().filter(|decision| decision.outcome == "modify").map(decider);
        let who = match self.changes.as_slice() {
            [alone] if Some(alone.name.as_str()) == allowed => String::new(),
            _ => self.changers(),
        };
        (!who.is_empty()).then(|| format!("; changed by {who}"))
    }
}

impl RunSpanView {
    /// True if there is more to say than how it ended.
    pub(super) fn has_waited(&self) -> bool {
        self.queued_ms != 0
            || self.hooks_ms != 0
            || self.waiting_ms != 0
            || self.parked_ms != 0
            || self.restarts != 0
    }

    /// The way in which it ended: who stopped it, and what they said.
    fn ended(&self) -> Option<String> {
        let by = self.stopped_by.as_deref().map(|by| format!(" by {}", traces::person(by)));
        // Of one that nobody stopped the error says why.
        let why = self.message.as_deref().filter(|_| self.reason.as_deref() == Some(ABORTED));
        let why = why.map(stated_reason).filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {why}"));
        Some(format!("{}{}{}", self.reason.as_ref()?, by.unwrap_or_default(), why.unwrap_or_default()))
    }

    /// The thing that one which has not ended waits for, and since when.
    fn waits(&self) -> Option<String> {
        self.waits_for.as_ref().map(standing_said)
    }

    /// `GOAL, 4.0 s in a queue, 7.2 s for people, the daemon was away 1 time, at most 8.7 s, and had not stopped by itself`
    pub(super) fn note(&self) -> Option<String> {
        // The one that has the context now is told already.
        let holder = self.waits_for.as_ref().and_then(|cause| cause.about.as_deref());
        let is_told = |it: &&QueuedBehind| {
            it.then.is_none() && holder == Some(&format!("run {} of {}", it.run_id, it.agent))
        };
        let queued = queued_said(self.queued_behind.as_ref().filter(|it| !is_told(it)));
        let waits = [
            (self.queued_ms, "", queued.as_str()),
            (self.hooks_ms, "", "for hooks about its prompt"),
            (self.waiting_ms, at_least(self.waiting_down_ms), "for people"),
            (self.parked_ms, "", "parked"),
        ];
        let waits = waits.iter().filter(|(ms, ..)| *ms != 0);
        let waits = waits
            .map(|(ms, least, how)| format!("{least}{} {how}", human::duration(Duration::from_millis(*ms))));
        let again = (self.restarts != 0).then(|| {
            let times = human::count(self.restarts, "time");
            let most = human::duration(Duration::from_millis(self.down_ms));
            let unclean = match self.unclean_restarts {
                0 => String::new(),
                unclean if unclean == self.restarts => ", and had not stopped by itself".to_owned(),
                unclean => format!(", {} without having stopped by itself", human::count(unclean, "time")),
            };
            format!("the daemon was away {times}, at most {most}{unclean}")
        });
        let standing = self.ended().or_else(|| self.waits());
        let moved = moved_ahead_said(&self.moved_ahead);
        let parts: Vec<String> = standing.into_iter().chain(waits).chain(moved).chain(again).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The subject of a call, behind its name. Its lines are told apart: the first is a command, say, and the last the model's words for
/// it, which would read as an argument.
pub(super) fn told_after(description: &str) -> Option<String> {
    let lines: Vec<&str> = description.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| format!(" {}", lines.join(" · ")))
}

/// ` · user/PostToolUse/1 for write_file src/a.rs`: what it is about gives way first.
fn hook_label(hook: &HookSpan, names_call: bool) -> String {
    let description = hook.description.as_deref().and_then(told_after);
    let tool = hook.tool.as_ref().filter(|_| names_call);
    let tool = tool.map(|tool| format!(" for {tool}{}", description.unwrap_or_default()));
    let attempt = hook.attempt.map(|attempt| format!(" · attempt {attempt}"));
    format!(" · {}{}{}", hook.hook_id, attempt.unwrap_or_default(), tool.unwrap_or_default())
}

impl SpanView {
    /// `lead, turn 2, read_file a.md`
    pub(super) fn place(&self) -> String {
        format!("{}, {}", self.turn_of(), self.label_alone())
    }

    /// `lead`; `helper 2` where the trace has several runs of this agent.
    pub(super) fn run_name(&self) -> String {
        traces::numbered(self.agent.as_deref().unwrap_or("-"), self.run_number)
    }

    /// `helper 2, turn 1`
    pub(super) fn turn_of(&self) -> String {
        let turn = self.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        format!("{}{turn}", self.run_name())
    }

    pub(super) fn label(&self) -> String {
        let llm = self.llm.as_ref();
        let purpose = llm.and_then(|llm| llm.purpose.as_ref()).map(|purpose| format!(" · {purpose}"));
        let attempt = llm.and_then(|llm| llm.attempt).filter(|attempt| 1 < *attempt);
        let attempt = attempt.map(|attempt| format!(" · attempt {attempt}"));
        let description = self.tool.as_ref().and_then(|tool| tool.description.as_deref());
        let description = description.and_then(told_after);
        let sign = if self.kind == "confirmation" { "? " } else { "" };
        let version = self.version();
        // One that is asked before the call lies within it.
        let is_within = matches!(self.name.as_str(), "PreToolUse" | "PermissionRequest");
        let hook = self.hook.as_ref().map(|hook| hook_label(hook, !is_within));
        let server = self.mcp.as_ref().map(|request| format!(" · server {}", request.server));
        let more =
            [purpose, attempt, description, version, hook, server].into_iter().flatten().collect::<String>();
        let number = self.run_number.filter(|_| self.kind == "run");
        format!("{sign}{}{more}", traces::numbered(&self.name, number))
    }

    /// ` · version 2` of a question that was asked again.
    pub(super) fn version(&self) -> Option<String> {
        let version = self.confirmation.as_ref()?.version?;
        Some(format!(" · version {version}"))
    }

    /// `small, asked by the hook user/PreToolUse/1`, where no hook stands above it.
    pub(super) fn label_alone(&self) -> String {
        let hook = self.llm.as_ref().and_then(|llm| llm.hook_id.as_ref());
        hook.map_or_else(|| self.label(), |hook| format!("{}, asked by the hook {hook}", self.name))
    }

    /// `PostToolUse · user/PostToolUse/1`; nothing of what is no hook.
    pub(super) fn hook_name(&self) -> String {
        self.hook.as_ref().map(|hook| format!("{} · {}", self.name, hook.hook_id)).unwrap_or_default()
    }

    /// `lead, turn 2, read_file a.md: yes: builtin:risk=safe`
    pub(super) fn in_a_line(&self) -> String {
        let note = self.note();
        let note = if note.is_empty() { String::new() } else { format!(": {}", note.text()) };
        safe_text::joined_lines(&format!("{}{note}", self.place()))
    }

    /// The last column: who let it run or did not, the error, or how it ended; of a question about a call, which rule asked.
    pub(super) fn note(&self) -> TableCell {
        self.note_by(decided)
    }

    /// The same where there are so many columns: where they are too few, it begins with the one who decided.
    pub(super) fn note_within(&self, columns: usize) -> TableCell {
        let note = self.note();
        if width::of(note.text()) <= columns { note } else { self.note_by(decided_briefly) }
    }

    fn note_by(&self, decided: impl Fn(&CallDecision) -> String) -> TableCell {
        let about = self.confirmation.as_ref().filter(|it| it.call_id.is_some() && it.asks != "question");
        let unfinished = (self.status != "ok").then(|| self.status.clone());
        if let Some(question) = about {
            // Where no person was there, or none in time, that is how it ended.
            let unanswered = question.decision.as_ref().filter(|it| it.name.is_none());
            let unanswered = unanswered.filter(|it| matches!(it.source.as_str(), "system" | "deadline"));
            let status = match unanswered.and_then(|it| it.message.as_deref()) {
                Some(why) => format!("nobody answered: {why}; "),
                None => unfinished.map(|status| format!("{status}, ")).unwrap_or_default(),
            };
            // Where a guard is at work on an answer, there is nothing to say to it.
            let is_unanswered = self.end_us.is_none() && question.decision.is_none();
            let id = question.confirmation_id.as_deref().filter(|_| is_unanswered);
            let how = id.map(|id| format!("; subagent approve {id}")).unwrap_or_default();
            let is_of_answer = |outcome: &str| matches!(outcome, "edited" | "editDropped" | "stale");
            let answered = question.decision.as_ref().filter(|it| is_of_answer(&it.outcome));
            let status = match answered {
                Some(decision) => {
                    let why = decision.message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                    format!("{}{why}; ", answer_said(decision, str::to_owned, str::to_owned))
                }
                None => status,
            };
            let down = without_daemon(question.down_ms).map(|down| format!("; {down}"));
            return cell(&format!("{status}asked by {}{}{how}", question.rule, down.unwrap_or_default()));
        }
        let about = self.hook.as_ref().and_then(asked_about).map(|about| format!("{about}; "));
        let about = about.unwrap_or_default();
        if let (Some(_), None) = (&self.hook, self.end_us) {
            return cell(&format!("{about}at work"));
        }
        let cut_off = self.hook.as_ref().filter(|_| self.status == "cancelled");
        if let Some(how) = cut_off.and_then(|hook| interrupted_said(hook, self.ended_at)) {
            return cell(&format!("{about}{how}"));
        }
        if let (Some(hook), None, true) = (&self.hook, &self.error, unfinished.is_none()) {
            return cell(&hook_said_naming(hook, &self.changed_arguments, HOOK_CHARACTERS));
        }
        let call = self.tool.as_ref().or(self.confirmation.as_ref());
        let decision = call.and_then(|call| call.decision.as_ref());
        let read = call.and_then(|call| result_said(call.result_changed_by.as_deref(), call.result_withheld));
        let wanted =
            call.and_then(|call| requested_said(call.requested_by.as_deref(), call.follows_tool.as_deref()));
        let read: String = [wanted, read].into_iter().flatten().map(|said| format!("; {said}")).collect();
        let changed = call.and_then(CallSpanView::changed_by);
        let changed = changed.map(|by| format!("{by}{}", if self.is_as_asked() { AS_ASKED } else { "" }));
        let changed = changed.unwrap_or_default();
        let red = |text: &str| cell(&format!("{text}{changed}{read}")).painted(Some(TextColor::Red));
        match (decision, &self.error) {
            (Some(decision), Some(error)) if is_by_nobody(decision) => red(&format!("no: {}", error.message)),
            (Some(decision), _) if !lets_run(decision) => red(&decided(decision)),
            (Some(decision), Some(error)) => red(&format!("{}; {}", decided(decision), error.message)),
            (_, Some(error)) => {
                let wait = self.llm.as_ref().and_then(|llm| llm.retry_after_ms).filter(|wait| *wait != 0);
                let again = wait
                    .map(|wait| format!("again after {}: ", human::duration(Duration::from_millis(wait))));
                red(&format!("{}{}: {}", again.unwrap_or_default(), error.kind, error.message))
            }
            _ => {
                let reason = self.run.as_ref().and_then(RunSpanView::note);
                let cut = self.llm.as_ref().and_then(LlmSpanView::cut_by);
                let told = decision.map(&decided).or(reason).or(unfinished).or(cut).unwrap_or_default();
                cell(&format!("{told}{changed}{read}"))
            }
        }
    }

    /// The arguments that hooks or a person changed, before and after.
    pub(super) fn changed(&self) -> Option<String> {
        let tool = self.tool.as_ref()?;
        let (before, after) = (&tool.asked_input.as_ref()?.text, &self.input.as_ref()?.text);
        let who = tool.changers();
        Some(match self.is_as_asked() {
            true => format!("{who} changed {before}{AS_ASKED}"),
            false => format!("{who} changed {before} → {after}"),
        })
    }

    /// True of a call that somebody, or a rule, allowed or refused.
    pub(super) fn is_decided(&self) -> bool {
        self.tool.as_ref().is_some_and(|call| call.decision.is_some())
    }

    /// The answer of a person, in one line.
    pub(super) fn answered(&self) -> Option<String> {
        let lines = self.output.as_ref()?.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.map(|line| line.strip_prefix("- ").unwrap_or(line)).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }

    /// True of a call that was changed, and whose arguments are in the end what they had been; of long ones that is not known.
    fn is_as_asked(&self) -> bool {
        let asked = self.tool.as_ref().and_then(|tool| tool.asked_input.as_ref());
        asked.is_some_and(|asked| asked.bytes.is_none() && Some(asked) == self.input.as_ref())
    }

    /// Lines for which a row has no room: of a hook what it said, of an answer what it allowed beyond its call, of a call what hooks changed
    /// and people answered.
    pub(super) fn beside(&self) -> Vec<String> {
        /// Characters of what a hook said.
        const MOST: usize = 2_000;
        let hook = self
            .hook
            .as_ref()
            .map(|hook| hook_said_naming(hook, &self.changed_arguments, MOST))
            .filter(|said| !said.is_empty());
        let decision = self.confirmation.as_ref().and_then(|asked| asked.decision.as_ref());
        let granted = decision.map(traces::granted).unwrap_or_default();
        let ran = self.hook.as_ref().and_then(|hook| hook.confinement.as_ref()).map(confinement_said);
        let edited = self.confirmation.as_ref().and_then(|asked| asked.edited_input.as_ref());
        let edited = edited.map(|edited| format!("changed into {}", edited.text));
        hook.into_iter()
            .chain(ran)
            .chain(granted)
            .chain(edited)
            .chain(self.changed())
            .chain(self.answered())
            .collect()
    }

    pub(super) fn ink(&self) -> Option<TextColor> {
        match (self.status.as_str(), self.kind.as_str()) {
            ("error", _) => Some(TextColor::Red),
            ("cancelled", _) | (_, "confirmation") => Some(TextColor::Yellow),
            (_, "llm" | "compression") => Some(TextColor::Cyan),
            (_, "tool") => Some(TextColor::Green),
            _ => Some(TextColor::Dim),
        }
    }
}

/// True if a rule said no that is not named.
fn is_by_nobody(decision: &CallDecision) -> bool {
    !lets_run(decision) && decision.source == "policy" && decision.rule.is_none()
}

#[cfg(test)]
mod tests;
