//! Fields of an answer that nobody reads: which are passed over, and which were meant to decide?
//!
//! Hooks that others wrote print fields of their own (`metrics`), and products pass over what they do not know. A guard that mistypes
//! `decision`, puts it where nobody reads it, or refuses in words of its own has not consented, though: its answer is none.

use serde_json::{Map, Value};

use crate::event;
use protocol::HookEventName;
use sys::nearest::{letters_of, within};

/// Fields of an answer at its top, of each product.
const KNOWN: &[&str] = &[
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "decision",
    "reason",
    "hookSpecificOutput",
    "async",
    "asyncTimeout",
    "proceed",
    "terminalSequence",
    "ok",
    "permissionDecision",
    "permissionDecisionReason",
    "additionalContext",
    "updatedInput",
    "updatedToolOutput",
];

/// Fields of `hookSpecificOutput` that people write at the top.
pub(super) const MISPLACED: &[&str] = &[
    "permissionDecision",
    "permissionDecisionReason",
    "additionalContext",
    "updatedInput",
    "updatedToolOutput",
];

/// Fields of `hookSpecificOutput`, of each product and event.
const SPECIFIC: &[&str] = &[
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "classifierContext",
    "tool_input",
    "decision",
    "retry",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "tool_output",
    "tailToolCallRequest",
    "sessionTitle",
    "reloadSkills",
    "initialUserMessage",
    "suppressOriginalPrompt",
    "watchPaths",
    "displayContent",
    "worktreePath",
    "clearContext",
    "action",
    "content",
    "llm_request",
    "llm_response",
    "toolConfig",
    "payload",
];

/// Fields of a `decision` about a question.
const PERMISSION: &[&str] = &["behavior", "updatedInput", "updatedPermissions", "message", "interrupt"];

/// Fields of a `toolConfig`.
const TOOL_CONFIG: &[&str] = &["mode", "allowedFunctionNames"];

/// Fields that decide or change something, of each product: without them more goes ahead than the hook wants.
const DECIDING: &[&str] = &[
    "decision",
    "permissionDecision",
    "hookSpecificOutput",
    "continue",
    "proceed",
    "behavior",
    "interrupt",
    "action",
    "updatedInput",
    "tool_input",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "tool_output",
    "llm_request",
    "llm_response",
    "toolConfig",
    "allowedFunctionNames",
    "payload",
    "ok",
];

/// The ones among them that are looked for in what nobody reads, where everyday words are others' own.
const DECIDING_ANYWHERE: &[&str] = &[
    "decision",
    "permissionDecision",
    "hookSpecificOutput",
    "continue",
    "proceed",
    "behavior",
    "updatedInput",
    "tool_input",
    "updatedToolOutput",
    "updatedMCPToolOutput",
];

/// Fields of which a slip makes an answer even of an object within a text for a model.
const DECIDING_IN_PROSE: &[&str] = &["decision", "permissionDecision", "hookSpecificOutput", "continue"];

/// Each is read at these events alone; at others it decides nothing.
const READ_AT: &[(&str, &[HookEventName])] = &[
    ("permissionDecision", &[HookEventName::PreToolUse]),
    ("updatedInput", &[HookEventName::PreToolUse]),
    ("tool_input", &[HookEventName::PreToolUse]),
    ("decision", &[HookEventName::PermissionRequest]),
    ("action", &[HookEventName::Elicitation, HookEventName::ElicitationResult]),
];

/// The place where a field that decides is read, for who wrote it elsewhere.
fn read_where(name: &str) -> Option<&'static str> {
    Some(match name {
        "decision" | "continue" | "proceed" | "reason" => "at the top of an answer",
        "permissionDecision" => "in `hookSpecificOutput` at PreToolUse",
        "updatedInput" => "in `hookSpecificOutput` at PreToolUse, and in its `decision` at PermissionRequest",
        "tool_input" => "in `hookSpecificOutput` at PreToolUse (BeforeTool)",
        "behavior" | "interrupt" => "in the `decision` of `hookSpecificOutput` at PermissionRequest",
        "action" => "in `hookSpecificOutput` at Elicitation and ElicitationResult",
        "updatedToolOutput" | "updatedMCPToolOutput" | "tool_output" => {
            "in `hookSpecificOutput` at PostToolUse and PostToolUseFailure"
        }
        "llm_request" => "in `hookSpecificOutput` at BeforeModel",
        "llm_response" => "in `hookSpecificOutput` at BeforeModel and AfterModel",
        "toolConfig" => "in `hookSpecificOutput` at BeforeToolSelection",
        "payload" => "in `hookSpecificOutput` at BeforeHandoff",
        _ => return None,
    })
}

/// A sentence about a field that means nothing where it stands: where it is read. `place`: the event, with a blank before it.
fn means_nothing(shown: &str, name: &str, place: &str) -> String {
    match read_where(name) {
        Some(read) => format!("{shown} means nothing where it stands{place}; it is read {read}"),
        None => format!("{shown} means nothing where it stands{place}"),
    }
}

/// Fields of those that change a call's arguments.
const CHANGING: &[&str] = &["updatedInput", "tool_input"];

/// Letters that may differ between a slip and the field that was meant; shorter fields have to be the same.
const MOST_SLIPS: usize = 2;

/// The shortest field of which a slip is known.
const SHORTEST_SLIP: usize = 6;

/// Words of their own that are as near to a field as a slip is.
const EVERYDAY: &[&str] = &[
    "process",
    "processed",
    "processes",
    "revision",
    "precision",
    "division",
    "section",
    "option",
    "caption",
    "auction",
    "fraction",
    "traction",
];

/// Names in which people and other products refuse, unless their value says that it is not so.
const REFUSING: &[&str] = &[
    "abort",
    "ask",
    "block",
    "blocked",
    "deny",
    "denied",
    "error",
    "errors",
    "forbid",
    "forbidden",
    "halt",
    "refuse",
    "refused",
    "reject",
    "rejected",
    "stop",
    "verdict",
    "veto",
];

/// Names that refuse unless their value consents.
const CONSENTING: &[&str] = &["allow", "allowed", "approve", "approved", "permission", "permit", "permitted"];

/// Values that consent.
const CONSENTS: &[&str] = &["allow", "allowed", "approve", "approved", "ok"];

/// Names that refuse where they are `false`.
const PASSES: &[&str] = &["pass", "passed", "passes", "safe", "success", "successful", "valid"];

/// Names that refuse where they are no 0.
const EXIT_CODES: &[&str] = &["exitcode", "exitstatus", "returncode"];

/// Texts that refuse, in whichever field.
const REFUSALS: &[&str] = &[
    "ask",
    "block",
    "blocked",
    "defer",
    "denied",
    "deny",
    "error",
    "fail",
    "failed",
    "failure",
    "forbidden",
    "refuse",
    "refused",
    "reject",
    "rejected",
    "unsafe",
];

/// Fields that are looked at: who prints more of them that mean nothing has said nothing.
const MOST_LOOKED_AT: usize = 1_000;

/// Names that are told.
const MOST_TOLD: usize = 5;

/// Characters of a name that are told.
const LONGEST_TOLD: usize = 60;

/// Everything in an answer that nobody reads.
#[derive(Debug, Default)]
pub(super) struct StrayFields {
    /// Their names, where they decide nothing.
    names: Vec<String>,
    /// The answer has a field of some product, so that it is one.
    has_known: bool,
    n_looked_at: usize,
    /// The first change that the event does not take, and where it is read.
    without_effect: Option<String>,
    /// The first that may have been meant to decide, though nothing says so.
    doubt: Option<String>,
    /// The first that was meant to decide, in a sentence without its subject.
    pub mistake: Option<String>,
}

impl StrayFields {
    /// The fields of an answer that no product has, or that have no meaning where they stand.
    pub fn of(answer: &Map<String, Value>, event: HookEventName) -> StrayFields {
        StrayFields::judged(answer, event, is_answer(answer))
    }

    fn judged(answer: &Map<String, Value>, event: HookEventName, has_known: bool) -> StrayFields {
        let mut strays = StrayFields { has_known, ..StrayFields::default() };
        strays.look_at(answer, KNOWN);
        strays.look_for_other_events(answer, event, &["permissionDecision", "updatedInput"]);
        if answer.get("ok").is_some_and(|ok| !matches!(ok, Value::Null | Value::Bool(true))) {
            strays.wrong("`ok` is how a model answers; write `decision`".to_owned());
        }
        if let Some(Value::Object(specific)) = answer.get("hookSpecificOutput") {
            strays.look_at(specific, SPECIFIC);
            let elsewhere = ["permissionDecision", "decision", "action", "updatedInput", "tool_input"];
            strays.look_for_other_events(specific, event, &elsewhere);
            if let Some(Value::Object(decision)) = specific.get("decision") {
                strays.look_at(decision, PERMISSION);
            }
            if let Some(Value::Object(config)) = specific.get("toolConfig") {
                strays.look_at(config, TOOL_CONFIG);
            }
        }
        strays.mistake = strays.mistake.take().or(strays.doubt.take());
        strays
    }

    /// Everything that is passed over, for people.
    pub fn told(&self) -> Option<String> {
        let told: Vec<String> = self.names_told().into_iter().chain(self.without_effect.clone()).collect();
        Some(told.join(", ")).filter(|told| !told.is_empty())
    }

    fn names_told(&self) -> Option<String> {
        let shown = self.names.iter().take(MOST_TOLD).map(|name| shown(name));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match self.names.len().checked_sub(MOST_TOLD) {
            _ if self.names.is_empty() => None,
            None | Some(0) => Some(shown),
            Some(n_more) => Some(format!("{shown}, and {n_more} more")),
        }
    }

    fn look_at(&mut self, fields: &Map<String, Value>, known: &[&str]) {
        for (name, value) in fields {
            if known.contains(&name.as_str()) || value.is_null() {
                continue;
            }
            if !self.may_look() {
                return;
            }
            match self.wrong_with(name, value) {
                Some(why) => self.wrong(why),
                None if !self.has_known && !says_little(name, value) => {
                    let why = || {
                        let name = shown(name);
                        format!(
                            "{name} is no field of an answer, and may be a verdict; a hook decides by `decision`"
                        )
                    };
                    self.doubt.get_or_insert_with(why);
                }
                None => self.names.push(name.clone()),
            }
        }
    }

    /// The reason why a field that nobody reads may have been meant to decide.
    fn wrong_with(&mut self, name: &str, value: &Value) -> Option<String> {
        let shown = shown(name);
        if let Some(field) = meant(name, DECIDING) {
            return Some(match field == name {
                true => means_nothing(&shown, field, ""),
                false => format!("{shown} is no field of an answer; was `{field}` meant?"),
            });
        }
        let letters: String = letters_of(name).into_iter().collect();
        let letters = plain(&letters);
        let is_among = |words: &[&str]| words.contains(&letters);
        let consents = *value == Value::Bool(true) || is_text_of(value, CONSENTS);
        let refuses = (is_among(REFUSING) && !is_nothing(value) && !is_text_of(value, CONSENTS))
            || (is_among(CONSENTING) && !consents)
            || (is_among(PASSES) && *value == Value::Bool(false))
            || (!self.has_known && !is_among(REFUSING) && is_no(value))
            || (is_among(EXIT_CODES) && value.as_f64() != Some(0.0))
            || is_text_of(value, REFUSALS);
        if refuses {
            return Some(format!("{shown} is no field of an answer; a hook refuses by `decision`"));
        }
        self.deciding_within(value).map(|inner| format!("{inner} in {shown} means nothing where it stands"))
    }

    /// A field that decides, or a text that refuses, in a value that nobody reads.
    fn deciding_within(&mut self, value: &Value) -> Option<String> {
        match value {
            Value::Array(items) => items.iter().find_map(|item| self.deciding_within(item)),
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                let decides = !matches!(value, Value::Null | Value::Number(_))
                    && (meant(name, DECIDING_ANYWHERE).is_some() || is_text_of(value, REFUSALS));
                match self.may_look() {
                    true if decides => Some(shown(name)),
                    true => self.deciding_within(value),
                    false => None,
                }
            }),
            _ => None,
        }
    }

    /// Where an event is guarded, a verdict that is read at other events alone has to be a consent.
    fn look_for_other_events(&mut self, fields: &Map<String, Value>, event: HookEventName, names: &[&str]) {
        for (name, events) in READ_AT {
            let Some(value) = fields.get(*name).filter(|value| !value.is_null()) else { continue };
            let is_other = names.contains(name) && !events.contains(&event);
            let consents = matches!(value.as_str(), Some("allow" | "approve" | "accept"));
            if !is_other || consents {
                continue;
            }
            if event::is_guard(event) {
                self.wrong(means_nothing(&format!("`{name}`"), name, &format!(" at {}", event.as_str())));
            } else if CHANGING.contains(name) {
                // Nothing is guarded there, so that is told and no more.
                let read = read_where(name).unwrap_or("elsewhere");
                self.without_effect.get_or_insert_with(|| format!("`{name}`, which is read {read}"));
            }
        }
    }

    /// True if one more field may be looked at; else the answer is none.
    fn may_look(&mut self) -> bool {
        self.n_looked_at += 1;
        let may = self.n_looked_at <= MOST_LOOKED_AT;
        if !may {
            self.wrong(format!("it has more than {MOST_LOOKED_AT} fields that mean nothing"));
        }
        may
    }

    fn wrong(&mut self, why: String) {
        self.mistake.get_or_insert(why);
    }
}

/// True of an object that has a field of some product.
pub(super) fn is_answer(object: &Map<String, Value>) -> bool {
    object.keys().any(|name| KNOWN.contains(&name.as_str()))
}

/// The reason why an object behind other text, without a field of any product, may have been meant to decide. It is judged as if it stood
/// alone, but where the text is for a model: that may quote objects of any kind, so there its last line counts, and what is surely a
/// verdict. `ends`: it is the last line.
pub(super) fn mistake_behind_text(
    object: &Map<String, Value>,
    event: HookEventName,
    ends: bool,
) -> Option<String> {
    if !event::takes_text(event) {
        return StrayFields::of(object, event).mistake;
    }
    let last = (ends && event::is_guard(event)).then(|| StrayFields::judged(object, event, true).mistake);
    last.flatten().or_else(|| {
        object.keys().find_map(|name| {
            let field = meant(name, DECIDING_IN_PROSE)?;
            Some(format!("{} is no field of an answer; was `{field}` meant?", shown(name)))
        })
    })
}

/// True if a text that cannot be read as JSON begins as an answer does, behind its brace: with a field of some product, or with one that may
/// be meant to decide.
pub(super) fn begins_answer(text: &str, event: HookEventName) -> bool {
    let text = text.trim_start();
    // Python prints what it has in single quotes.
    let Some(quote) = text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else { return false };
    let Some((name, _)) = text[1..].split_once(quote) else { return false };
    let letters: String = letters_of(name).into_iter().collect();
    let decides = || meant(name, DECIDING).is_some() || REFUSING.contains(&plain(&letters));
    KNOWN.contains(&name) || (!event::takes_text(event) && decides())
}

/// The letters of a name without what people put before a question.
fn plain(letters: &str) -> &str {
    letters.strip_prefix("should").or(letters.strip_prefix("is")).unwrap_or(letters)
}

/// The field that a name says or was probably meant to be.
fn meant(name: &str, fields: &[&'static str]) -> Option<&'static str> {
    let letters = letters_of(name);
    let is_everyday = EVERYDAY.iter().any(|word| word.chars().eq(letters.iter().copied()));
    let is_meant = |field: &&&str| {
        let field = letters_of(field);
        letters == field
            || (!is_everyday && SHORTEST_SLIP <= field.len() && within(MOST_SLIPS, &letters, &field))
    };
    fields.iter().find(is_meant).copied()
}

fn is_text_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|text| words.contains(&text.trim().to_lowercase().as_str()))
}

/// True of a plain no, which refuses in an answer that has nothing but fields of its own.
fn is_no(value: &Value) -> bool {
    *value == Value::Bool(false) || is_text_of(value, &["no", "false"])
}

/// True of a value by which an answer without any field of a product can hardly be meant to decide: a number, a text, and what hooks
/// measure.
fn says_little(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Number(_) | Value::String(_) => true,
        Value::Object(fields) => name == "metrics" || fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) => false,
    }
}

/// True of what says nothing: `"error": ""` is no error, and `"blocked": false` no refusal.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// A name as people read it in a sentence.
fn shown(name: &str) -> String {
    let told: String = name
        .chars()
        .take(LONGEST_TOLD)
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect();
    if told.len() < name.len() { format!("`{told}…`") } else { format!("`{told}`") }
}
