//! How did a run end, and what can one do about it? (Spec 03, "Terminal reasons".)

use std::time::Duration;

use serde::Deserialize;

use super::{
    OutputWriter, ProcessIo, failure::CommandFailure, human, message::show_message, result_text, safe_text,
    sureness::Sureness, text_color::TextColor,
};
use protocol::{RunEndReason, Usage, UsdAmount};

/// The exit code for a reason that only a newer daemon knows: neither a success nor any failure that has a code
/// (`EX_PROTOCOL` of sysexits).
const EXIT_UNKNOWN_REASON: u8 = 76;

/// What a run record and a `run.completed` say about the end. Read leniently: reasons are open (spec 01).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RunOutcome {
    pub(super) run_id: String,
    parent_run_id: Option<String>,
    pub(super) agent: String,
    pub(super) state: String,
    pub(super) reason: Option<String>,
    error: Option<RunOutcomeError>,
    /// Why it ended.
    message: Option<String>,
    result: Option<String>,
    partial_result: Option<String>,
    recovered: bool,
    recovered_from: Option<String>,
    usage: Usage,
    /// Tokens of the runs below it.
    child_usage: Option<Usage>,
    cost: Option<UsdAmount>,
    child_cost: Option<UsdAmount>,
    unpriced_tokens: u64,
    child_unpriced_tokens: u64,
    estimated_requests: u64,
    uncounted_requests: u64,
    child_estimated_requests: u64,
    child_uncounted_requests: u64,
    turns: u64,
    tool_calls: u64,
    active_ms: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RunOutcomeError {
    code: String,
    message: String,
}

impl RunOutcome {
    pub(super) fn has_ended(&self) -> bool {
        self.reason.is_some()
    }

    pub(super) fn is_goal(&self) -> bool {
        self.known_reason() == Some(RunEndReason::Goal)
    }

    fn known_reason(&self) -> Option<RunEndReason> {
        let reason = self.reason.as_deref()?;
        RunEndReason::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(reason))
            .ok()
    }

    pub(super) fn exit_code(&self) -> u8 {
        self.known_reason().map_or(EXIT_UNKNOWN_REASON, RunEndReason::exit_code)
    }

    /// Whether an agent called it as a tool.
    pub(super) fn is_child(&self) -> bool {
        self.parent_run_id.is_some()
    }

    /// Why it ended, else its state.
    pub(super) fn status(&self) -> &str {
        self.reason.as_deref().unwrap_or(&self.state)
    }

    /// How long it was at work.
    pub(super) fn active_time(&self) -> Duration {
        Duration::from_millis(self.active_ms)
    }

    /// `MODEL_FAILED: the provider says …`, when the run ended with an error.
    pub(super) fn trouble(&self) -> Option<String> {
        self.error.as_ref().map(|error| format!("{}: {}", error.code, error.message))
    }

    /// Why it ended otherwise than at its goal, `cancelled: took a wrong turn` for one.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref().filter(|_| !self.is_goal())
    }

    /// The result, else what there is of one.
    pub(super) fn text(&self) -> Option<&str> {
        self.result.as_deref().or(self.partial_result.as_deref())
    }

    /// Its cost with the runs below it, as far as prices are known; `>` when that is not all, `~` when some is estimated.
    fn money(&self) -> Option<String> {
        let known = [self.cost, self.child_cost];
        let is_part = self.unpriced_tokens != 0 || self.child_unpriced_tokens != 0;
        let cost: UsdAmount = known.iter().any(Option::is_some).then(|| known.into_iter().flatten().sum())?;
        let sure = self.sureness();
        let sure = Sureness { uncounted: sure.uncounted.max(u64::from(is_part)), ..sure };
        Some(sure.mark(&cost.to_string(), sure.uncounted != 0 && self.tokens() == 0))
    }

    /// The sureness of its use, with the runs below it.
    fn sureness(&self) -> Sureness {
        let own = Sureness { estimated: self.estimated_requests, uncounted: self.uncounted_requests };
        own.with(Sureness {
            estimated: self.child_estimated_requests,
            uncounted: self.child_uncounted_requests,
        })
    }

    fn spent_tokens(&self) -> String {
        let sure = self.sureness();
        match self.tokens() {
            0 if sure.uncounted != 0 => "? tokens".to_owned(),
            tokens => sure.mark(&human::count(tokens, "token"), tokens == 0),
        }
    }

    /// Tokens with those of the runs below it, as the money is.
    fn tokens(&self) -> u64 {
        self.usage.total().saturating_add(self.child_usage.map_or(0, |usage| usage.total()))
    }

    /// `done · 2 turns · 5 tool calls · 1.2k tokens · $0.0042 · 4.2 s`; the money where prices are known.
    pub(super) fn summary(&self) -> String {
        // The code names of other reasons are what documentation and exit codes go by.
        let status = if self.is_goal() { "done" } else { self.status() };
        let recovered = match &self.recovered_from {
            Some(reason) if self.recovered => format!(" (after {reason}, in its last turn)"),
            _ => String::new(),
        };
        let mut parts = vec![
            format!("{status}{recovered}"),
            human::count(self.turns, "turn"),
            human::count(self.tool_calls, "tool call"),
            self.spent_tokens(),
        ];
        parts.extend(self.money().map(|money| money.to_string()));
        parts.push(human::duration(self.active_time()));
        safe_text::line(&parts.join(" · "), 200)
    }

    /// Prints the result of a run of which nothing was shown before, and tells how it ended, as [`report`](Self::report) does.
    pub(super) fn report_alone(&self, surroundings: &mut ProcessIo) -> Result<u8, CommandFailure> {
        let ProcessIo { stdout, stderr, .. } = surroundings;
        if let Some(text) = self.text() {
            write_result(text, stdout)?;
        }
        self.explain(None, stderr);
        Ok(self.exit_code())
    }

    /// Prints the result to stdout, below the progress that was shown; unless the run reached its goal, tells why and what to do on
    /// stderr. `stop_message` is what the daemon said when it stopped the run, `shown` the text that stands on the
    /// terminal already. Answers the exit code.
    pub(super) fn report(
        &self,
        stop_message: Option<&str>,
        shown: Option<&str>,
        surroundings: &mut ProcessIo,
    ) -> Result<u8, CommandFailure> {
        let ProcessIo { stdout, stderr, .. } = surroundings;
        if let Some(text) = self.text() {
            let stands_there = stdout.is_live && stderr.is_live && shown.map(str::trim) == Some(text.trim());
            if !stands_there {
                // Sets the result off from the progress above it; a redirected result is alone anyway.
                if stdout.is_live && stderr.is_live {
                    stderr.write("\n")?;
                }
                write_result(text, stdout)?;
            }
        }
        self.explain(stop_message, stderr);
        Ok(self.exit_code())
    }

    /// Unless the run reached its goal: why, and what to do.
    fn explain(&self, stop_message: Option<&str>, stderr: &mut OutputWriter) {
        if self.is_goal() {
            return;
        }
        let reason = self.reason.as_deref().unwrap_or("without a reason");
        let why = match self.trouble() {
            Some(trouble) => format!(" {trouble}"),
            // The daemon said it when it stopped the run; one of this version says it in the record, too.
            None => self.message().or(stop_message).map(|why| format!(": {why}")).unwrap_or_default(),
        };
        show_message(stderr, TextColor::Red, "error", &format!("the run ended {reason}{why}"));
        show_message(stderr, TextColor::Yellow, "hint", &self.advice());
    }

    fn advice(&self) -> String {
        let advice = match self.known_reason() {
            Some(RunEndReason::MaxTurns) => "allow more with --max-turns N, or ask for less at a time",
            Some(RunEndReason::Timeout) => "allow more with --timeout MINUTES, or ask for less at a time",
            Some(RunEndReason::ErrorNoCompleteTaskCall) => {
                "the model stopped without completing; try again, or another --model"
            }
            Some(RunEndReason::Budget) => {
                "raise `run.maxTokens` or `run.maxCostUsd`, whichever was used up, or ask for less at a time"
            }
            Some(RunEndReason::Guardrail) => "a guardrail of the agent refused; its file says which",
            Some(RunEndReason::LoopDetected) => "put the question another way, or try another --model",
            Some(RunEndReason::Unattended) => {
                "it had a question and nobody was there; run it on a terminal, or with --on-detached wait"
            }
            Some(RunEndReason::Aborted) => "it was cancelled; the same command starts it anew",
            Some(RunEndReason::Error) => return self.advice_on_error(),
            Some(RunEndReason::Goal) | None => {
                "this daemon is newer than `subagent`; its documentation knows more"
            }
        };
        advice.to_owned()
    }

    fn advice_on_error(&self) -> String {
        let code = self.error.as_ref().map(|error| error.code.as_str()).unwrap_or_default();
        let advice = match code {
            "PROVIDER_AUTH" => "check the provider's key, or try `--model offline`, which needs none",
            "MODEL_FAILED" => {
                "fix what the message names, or try another --model; `subagent models test MODEL` asks one question"
            }
            "CONTEXT_OVERFLOW" => "ask for less at a time, or try a model with a larger context",
            "NO_SPACE_LEFT" => "make room on the disk, then run it again",
            "REPLAY_MISMATCH" | "REPLAY_EXHAUSTED" => "the recording belongs to another run; record it anew",
            "HOOK_STOPPED" => {
                "mend what the message names, then run it again; `subagent hooks list` shows each hook and its file"
            }
            _ => "see `subagent logs`",
        };
        advice.to_owned()
    }
}

/// A result as it is; a terminal gets a typed one drawn for a person.
fn write_result(text: &str, stdout: &mut OutputWriter) -> Result<(), CommandFailure> {
    let readable = match stdout.is_terminal {
        true => result_text::readable(text, stdout.width, stdout.has_color),
        false => None,
    };
    match readable {
        Some(readable) => stdout.write(&format!("{readable}\n")),
        // A model's text is copied: its lines are broken by the terminal alone.
        None => stdout.write_exactly(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run that calls others has cost what they cost, and used what they used.
    #[test]
    fn tokens_and_money_are_those_of_the_same_runs() {
        let usd = |amount: &str| json!({ "amount": amount, "currency": "USD" });
        let outcome = json!({
            "reason": "GOAL", "turns": 1, "usage": { "promptTokens": 5 }, "cost": usd("0.01"),
            "childUsage": { "promptTokens": 7, "outputTokens": 2 }, "childCost": usd("0.02"), "activeMs": 4_200,
        });
        let outcome: RunOutcome = serde_json::from_value(outcome).unwrap();
        assert_eq!(outcome.summary(), "done · 1 turn · 0 tool calls · 14 tokens · $0.03 · 4.2 s");
    }
}
