//! What did one hook say? Its exit code, its output and its contract make one answer.
//!
//! What begins with `{` is JSON, at any exit code. Exit code 2 blocks, whatever the JSON says; at any other code but 0 the hook has
//! failed, and of its JSON counts only what is strict. What cannot be understood is a failure, never a consent.

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::consent::drop_consent;
pub(super) use self::end::HandlerEnd;
use self::fields::{read_object, read_prompt};
use self::printed::plain;
use self::strays::{begins_answer, is_answer, mistake_behind_text};
use super::{
    HookContract, event,
    unique_json::{TWICE, UniqueObject},
    verdict::ModelVerdict,
};
use protocol::{HookDecision, HookEventName, HookOutcome};

/// Characters of a text for models and people (spec 08).
pub const MOST_TEXT_CHARS: usize = 10_000;

/// Everything that a hook said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HookAnswer {
    pub decision: Option<HookDecision>,
    pub reason: Option<String>,
    /// `continue: false`, and why.
    pub stop: Option<String>,
    /// Arguments in the hook's words.
    pub updated_input: Option<Value>,
    /// They are put over what there is, instead of in its place.
    pub merges_input: bool,
    pub updated_output: Option<Value>,
    pub context: Option<String>,
    pub message: Option<String>,
    pub session_title: Option<String>,
    pub reload_skills: bool,
    pub retry: bool,
    pub interrupt: bool,
    /// `PermissionRequest`: it would answer for the person.
    pub allows_question: bool,
    pub shown_permissions: Option<Value>,
    /// `accept`, `decline` or `cancel`, with the content.
    pub elicitation: Option<(String, Option<Value>)>,
    pub model: ModelVerdict,
    /// A tool and its arguments in the hook's words.
    pub follow_up: Option<(String, Value)>,
    /// It goes on by itself; within so many milliseconds, if it says.
    pub goes_async: Option<Option<u64>>,
    /// Fields that mean nothing and are passed over, for people.
    pub ignored: Option<String>,
    /// It failed: how, and a sentence without its subject.
    pub failure: Option<(HookOutcome, String)>,
    /// It failed for a field that nobody reads alone: what else it says was understood.
    pub is_mistyped: bool,
}

impl HookAnswer {
    fn fail(&mut self, how: HookOutcome, why: String) {
        (self.failure, self.is_mistyped) = (Some((how, why)), false);
    }
}

/// Reads an answer. `is_prompt`: it is a model's, which says `{ok, reason}`.
pub(super) fn read(
    end: &HandlerEnd,
    event: HookEventName,
    contract: HookContract,
    is_prompt: bool,
) -> HookAnswer {
    if end.goes_async.is_some() {
        return HookAnswer { goes_async: end.goes_async, ..HookAnswer::default() };
    }
    let (printed, no_text) = match plain(end.without_echo.as_ref().unwrap_or(&end.stdout)) {
        Ok(printed) => (printed, None),
        Err(why) => (Cow::Borrowed(""), Some(why)),
    };
    let stdout = printed.trim();
    let json = json_of(stdout, event);
    let answers = json.answers.iter().map(|object| match is_prompt {
        true => read_prompt(object),
        false => read_object(object, event, contract),
    });
    let mut answer = strictest(answers);
    if answer.follow_up.is_some() && !(json.is_alone && contract == HookContract::Gemini) {
        // Words of an agent that a hook repeats make no call.
        answer.follow_up = None;
        answer.message.get_or_insert(NO_FOLLOW_UP.to_owned());
    }
    drop_consent(&mut answer, json.is_alone, end.has_read_consent);
    if is_prompt && !json.is_alone && !is_strict(&answer) {
        // One that refuses in prose may quote the words that consent.
        let why = "did not answer with one object {\"ok\": …} and nothing else".to_owned();
        answer.failure = Some((HookOutcome::Invalid, why));
    }
    if let Some(why) = &json.broken
        && !is_strict(&answer)
    {
        answer.fail(HookOutcome::Invalid, format!("printed JSON that cannot be read: {why}"));
    }
    if let Some(why) = no_text {
        answer.fail(HookOutcome::Invalid, why);
    }
    let has_none = json.answers.is_empty() && json.broken.is_none();
    if has_none && !is_prompt && end.failure.is_none() && end.exit_code == Some(0) && event::takes_text(event)
    {
        answer.context = Some(stdout.to_owned()).filter(|text| !text.is_empty());
    }
    if let Some((how, why)) = &end.failure {
        answer.fail(*how, why.clone());
    }
    match end.exit_code {
        _ if end.failure.is_some() => {}
        Some(0) => {}
        Some(2) => {
            let said = Some(end.stderr.trim().to_owned()).filter(|text| !text.is_empty());
            answer.decision = Some(HookDecision::Deny);
            answer.reason = answer.reason.or(said);
            // Exit code 2 says what is meant, even beside JSON that nobody can read.
            answer.failure = None;
        }
        Some(code) => {
            answer.fail(HookOutcome::Failed, format!("ended with exit code {code}{}", complaint(end)));
        }
        None => answer.fail(HookOutcome::Failed, format!("was ended by a signal{}", complaint(end))),
    }
    if answer.failure.is_some() && answer.is_mistyped {
        // What it changes or refuses it was understood in; nobody takes its consent.
        answer = HookAnswer {
            decision: answer.decision.filter(|decision| *decision != HookDecision::Allow),
            allows_question: false,
            shown_permissions: None,
            elicitation: answer.elicitation.filter(|(action, _)| action != "accept"),
            retry: false,
            follow_up: None,
            ..answer
        };
    } else if answer.failure.is_some() {
        // Of what a hook says that failed only what is strict counts.
        answer = HookAnswer {
            decision: answer.decision.filter(|decision| *decision == HookDecision::Deny),
            reason: answer.reason,
            stop: answer.stop,
            message: answer.message,
            failure: answer.failure,
            ..HookAnswer::default()
        };
    }
    if !end.put_aside.is_empty() {
        // The agent may have had it write that, and would look for it.
        let told = format!("what this hook wrote was not left as it was: {}", end.put_aside.join("; "));
        let with = |text: Option<String>| match text {
            Some(text) if !text.trim().is_empty() => format!("{told}\n{text}"),
            _ => told.clone(),
        };
        answer.message = Some(with(answer.message));
        answer.context = Some(with(answer.context));
    }
    answer
}

/// The line of its complaint that says most: the first one; of a traceback of Python's the last one.
fn complaint(end: &HandlerEnd) -> String {
    let first = end.stderr.trim().lines().next().unwrap_or_default();
    let last = [&end.stderr_end, &end.stderr].into_iter().find_map(|said| said.trim().lines().next_back());
    let line = last.filter(|_| first.starts_with("Traceback (most recent call")).unwrap_or(first);
    let line: String = line.trim().chars().take(300).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// The JSON in an output.
struct OutputJson {
    /// All answers in it, in their order.
    answers: Vec<Map<String, Value>>,
    /// The reason why something that begins like an answer is none.
    broken: Option<String>,
    /// The output is one object, and nothing else.
    is_alone: bool,
}

/// Braces at which an answer may begin, at most: what an agent wrote may be printed, but not so that nobody finds the answer.
const MOST_BEGINNINGS: usize = 4_096;

/// The answer that counts of several: one that denies or stops, else one that cannot be read, else one that asks, else the last. What
/// a guard prints may hold words of the agent that it guards, so none of them lifts what another one says.
fn strictest(answers: impl Iterator<Item = HookAnswer>) -> HookAnswer {
    let strictness = |answer: &HookAnswer| {
        (is_strict(answer), answer.failure.is_some(), answer.decision == Some(HookDecision::Ask))
    };
    let mut strictest: Option<HookAnswer> = None;
    for answer in answers {
        if strictest.as_ref().is_none_or(|before| strictness(before) <= strictness(&answer)) {
            strictest = Some(answer);
        }
    }
    strictest.unwrap_or_default()
}

/// True if it denies or stops.
fn is_strict(answer: &HookAnswer) -> bool {
    answer.decision == Some(HookDecision::Deny) || answer.stop.is_some()
}

/// The JSON of an output. What stands before or behind it, as a program's own notes do, is passed over. Something that begins like an
/// answer and cannot be read is no consent, and neither is what would be none if it stood alone.
fn json_of(text: &str, event: HookEventName) -> OutputJson {
    let (mut answers, mut broken) = (Vec::new(), None);
    let (mut from, mut n_beginnings) = (0, 0);
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        n_beginnings += 1;
        if MOST_BEGINNINGS < n_beginnings {
            broken.get_or_insert(format!("it has more than {MOST_BEGINNINGS} braces"));
            break;
        }
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<UniqueObject>();
        match values.next() {
            Some(Ok(UniqueObject(object))) => {
                // What lies within it is none of its own.
                from = at + values.byte_offset().max(1);
                if at == 0 || is_answer(&object) {
                    answers.push(object);
                    continue;
                }
                let ends = text[..at].ends_with('\n') && text[from..].trim().is_empty();
                if let Some(why) = mistake_behind_text(&object, event, ends) {
                    broken.get_or_insert(why);
                }
            }
            Some(Err(error)) => {
                let why = error.to_string();
                if at == 0 || begins_answer(&text[at + 1..], event) || why.starts_with(TWICE) {
                    broken.get_or_insert(why);
                }
                from = at + 1;
            }
            None => from = at + 1,
        }
    }
    let is_alone = serde_json::from_str::<UniqueObject>(text).is_ok();
    OutputJson { answers, broken, is_alone }
}

/// The reason why a call that a hook wants is not made.
const NO_FOLLOW_UP: &str = "a hook's `tailToolCallRequest` counts under Gemini CLI's names alone, in an output that is nothing but one \
                            answer; no call is made";

/// A text as models and people get it; the whole, where that is longer.
pub(super) fn cut(text: &str) -> (String, Option<String>) {
    match text.char_indices().nth(MOST_TEXT_CHARS) {
        None => (text.to_owned(), None),
        Some((end, _)) => {
            let n_more = text[end..].chars().count();
            (format!("{}\n[… and {n_more} more characters]", &text[..end]), Some(text.to_owned()))
        }
    }
}

mod consent;
mod end;
mod fields;
mod printed;
mod strays;
#[cfg(test)]
mod tests;
