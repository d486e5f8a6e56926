//! What did one hook say? Its exit code, its output and its contract make one answer.
//!
//! What begins with `{` is JSON, at any exit code. Exit code 2 blocks, whatever the JSON says; at any other code but 0 the hook has
//! failed, and of its JSON counts only what is strict. What cannot be understood is a failure, never a consent.

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(super) use self::end::HandlerEnd;
use self::printed::plain;
use self::strays::{MISPLACED, StrayFields, begins_answer, is_answer, mistake_behind_text};
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

/// `{ok, reason}` of a model.
fn read_prompt(object: &Map<String, Value>) -> HookAnswer {
    let reason = object.get("reason").and_then(Value::as_str).map(str::to_owned);
    match object.get("ok") {
        Some(Value::Bool(true)) => HookAnswer::default(),
        Some(Value::Bool(false)) => {
            HookAnswer { decision: Some(HookDecision::Deny), reason, ..HookAnswer::default() }
        }
        _ => HookAnswer {
            failure: Some((HookOutcome::Invalid, "did not answer with {\"ok\": …}".to_owned())),
            ..HookAnswer::default()
        },
    }
}

fn read_object(object: &Map<String, Value>, event: HookEventName, contract: HookContract) -> HookAnswer {
    let mut reader = AnswerReader { event, contract, mistake: None, answer: HookAnswer::default() };
    reader.read(object);
    let AnswerReader { mistake, mut answer, .. } = reader;
    let strays = StrayFields::of(object, event);
    answer.ignored = strays.told();
    // Whoever refuses anyway has mistyped nothing that matters.
    let mistyped = strays.mistake.filter(|_| !is_strict(&answer));
    answer.is_mistyped = mistake.is_none() && mistyped.is_some();
    if let Some(mistake) = mistake.or(mistyped) {
        answer.failure = Some((HookOutcome::Invalid, format!("printed JSON of the wrong shape: {mistake}")));
    }
    answer
}

struct AnswerReader {
    event: HookEventName,
    contract: HookContract,
    /// The first.
    mistake: Option<String>,
    answer: HookAnswer,
}

impl AnswerReader {
    fn read(&mut self, object: &Map<String, Value>) {
        // Whoever says so has ended all the same, or nobody would read this: the rest of it counts, and its exit code.
        self.boolean(object, "async");
        if self.boolean(object, "continue") == Some(false) {
            let reason = self.text(object, "stopReason").or_else(|| self.text(object, "reason"));
            self.answer.stop = Some(reason.unwrap_or_default());
        }
        self.answer.message = self.text(object, "systemMessage");
        self.answer.reason = self.text(object, "reason");
        if let Some(decision) = self.text(object, "decision") {
            self.decide(&decision, "decision");
        }
        if self.boolean(object, "proceed") == Some(false) {
            self.answer.decision = Some(HookDecision::Deny);
        }
        let misplaced = object.iter().filter(|(key, it)| MISPLACED.contains(&key.as_str()) && !it.is_null());
        let mut misplaced: Map<String, Value> =
            misplaced.map(|(key, it)| (key.clone(), it.clone())).collect();
        match object.get("hookSpecificOutput") {
            Some(Value::Object(specific)) if misplaced.is_empty() => self.specific(specific),
            Some(Value::Object(specific)) => {
                if self.event == HookEventName::PreToolUse
                    && let Some(decision) = self.text(&misplaced, "permissionDecision")
                {
                    self.decide(&decision, "permissionDecision");
                }
                let said = specific.iter().filter(|(_, it)| !it.is_null());
                misplaced.extend(said.map(|(key, it)| (key.clone(), it.clone())));
                self.specific(&misplaced);
            }
            Some(Value::Null) | None if misplaced.is_empty() => {}
            Some(Value::Null) | None => self.specific(&misplaced),
            Some(_) => self.wrong("`hookSpecificOutput` is no object"),
        }
    }

    fn specific(&mut self, specific: &Map<String, Value>) {
        use HookEventName as Event;
        if let Some(named) = self.text(specific, "hookEventName") {
            let is_this = named == event::name_in(self.contract, self.event)
                || named == self.event.as_str()
                || self.contract == HookContract::Gemini
                || matches!(event::meaning(&named), Ok(event::EventMeaning::Fired(events, _)) if events.contains(&self.event));
            if !is_this {
                return self.wrong(&format!("`hookEventName` is `{named}` at {}", self.event.as_str()));
            }
        }
        self.answer.context = self.text(specific, "additionalContext");
        match self.event {
            Event::PreToolUse => {
                if let Some(decision) = self.text(specific, "permissionDecision") {
                    self.decide(&decision, "permissionDecision");
                }
                if let Some(reason) = self.text(specific, "permissionDecisionReason") {
                    self.answer.reason = Some(reason);
                }
                self.answer.updated_input = self.object(specific, "updatedInput");
                if let Some(input) = self.object(specific, "tool_input") {
                    self.answer.updated_input = Some(input);
                    self.answer.merges_input = true;
                }
            }
            Event::PermissionRequest => match specific.get("decision") {
                None | Some(Value::Null) => {}
                Some(Value::Object(decision)) => self.permission(decision),
                Some(_) => self.wrong("`decision` is no object"),
            },
            Event::PermissionDenied => self.answer.retry = self.boolean(specific, "retry") == Some(true),
            Event::PostToolUse | Event::PostToolUseFailure => {
                let outputs = ["updatedToolOutput", "updatedMCPToolOutput", "tool_output"];
                let output = outputs.iter().find_map(|key| specific.get(*key).filter(|it| !it.is_null()));
                self.answer.updated_output = output.cloned();
                match specific.get("tailToolCallRequest") {
                    None | Some(Value::Null) => {}
                    Some(request) => match (request.get("name").and_then(Value::as_str), request.get("args"))
                    {
                        (Some(name), args) if args.is_none_or(Value::is_object) => {
                            let args = args.cloned().unwrap_or_else(|| Value::Object(Map::new()));
                            self.answer.follow_up = Some((name.to_owned(), args));
                        }
                        _ => self.wrong("`tailToolCallRequest` is not {name, args}"),
                    },
                }
            }
            Event::SessionStart => {
                self.answer.session_title = self.text(specific, "sessionTitle");
                self.answer.reload_skills = self.boolean(specific, "reloadSkills") == Some(true);
            }
            Event::UserPromptSubmit => self.answer.session_title = self.text(specific, "sessionTitle"),
            Event::Elicitation | Event::ElicitationResult => match self.text(specific, "action").as_deref() {
                None => {}
                Some(action @ ("accept" | "decline" | "cancel")) => {
                    self.answer.elicitation = Some((action.to_owned(), self.object(specific, "content")));
                }
                Some(other) => self.wrong(&format!("`action` is `{other}`")),
            },
            Event::BeforeModel | Event::AfterModel => {
                self.answer.model.request = self.object(specific, "llm_request");
                self.answer.model.response = self.object(specific, "llm_response");
            }
            Event::BeforeToolSelection => self.tool_config(specific),
            Event::BeforeHandoff => self.answer.updated_input = self.object(specific, "payload"),
            _ => {}
        }
    }

    fn permission(&mut self, decision: &Map<String, Value>) {
        match self.text(decision, "behavior").as_deref() {
            Some("allow") => {
                self.answer.allows_question = true;
                self.answer.decision = self.answer.decision.or(Some(HookDecision::Allow));
                self.answer.updated_input = self.object(decision, "updatedInput");
                self.answer.shown_permissions =
                    decision.get("updatedPermissions").filter(|it| !it.is_null()).cloned();
            }
            Some("deny") => {
                self.answer.decision = Some(HookDecision::Deny);
                self.answer.reason = self.text(decision, "message").or_else(|| self.answer.reason.take());
                self.answer.interrupt = self.boolean(decision, "interrupt") == Some(true);
            }
            Some("ask") => self.answer.decision = Some(HookDecision::Ask),
            other => self.wrong(&format!("`behavior` is {}", other.unwrap_or("missing"))),
        }
    }

    fn tool_config(&mut self, specific: &Map<String, Value>) {
        let config = match specific.get("toolConfig") {
            None | Some(Value::Null) => return,
            Some(Value::Object(config)) => config,
            Some(_) => return self.wrong("`toolConfig` is no object"),
        };
        let names = match config.get("allowedFunctionNames") {
            None | Some(Value::Null) => None,
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Some(_) => return self.wrong("`allowedFunctionNames` is no list of names"),
        };
        let mode = self.text(config, "mode").map(|mode| mode.to_ascii_uppercase());
        match mode.as_deref() {
            Some("NONE") => {
                self.answer.model.allowed_tools = Some(Vec::new());
                self.answer.model.no_tools = true;
            }
            None | Some("AUTO" | "ANY") => self.answer.model.allowed_tools = names,
            Some(other) => self.wrong(&format!("`mode` is `{other}`")),
        }
    }

    fn decide(&mut self, word: &str, field: &str) {
        let decision = match word {
            "approve" | "allow" => HookDecision::Allow,
            "block" | "deny" => HookDecision::Deny,
            // Whoever defers leaves it to a person.
            "ask" | "defer" => HookDecision::Ask,
            other => return self.wrong(&format!("`{field}` is `{other}`")),
        };
        // Of two fields that say something the stricter counts.
        self.answer.decision = self.answer.decision.max(Some(decision));
    }

    fn text(&mut self, object: &Map<String, Value>, key: &str) -> Option<String> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.wrong(&format!("`{key}` is no text"));
                None
            }
        }
    }

    fn boolean(&mut self, object: &Map<String, Value>, key: &str) -> Option<bool> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(is)) => Some(*is),
            Some(_) => {
                self.wrong(&format!("`{key}` is neither true nor false"));
                None
            }
        }
    }

    fn object(&mut self, object: &Map<String, Value>, key: &str) -> Option<Value> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(value @ Value::Object(_)) => Some(value.clone()),
            Some(_) => {
                self.wrong(&format!("`{key}` is no object"));
                None
            }
        }
    }

    fn wrong(&mut self, mistake: &str) {
        self.mistake.get_or_insert_with(|| mistake.to_owned());
    }
}

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

mod end;
mod printed;
mod strays;
#[cfg(test)]
mod tests;
