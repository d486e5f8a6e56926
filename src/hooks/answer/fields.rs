//! What do the fields of one JSON object say that a hook printed? Of those with the wrong shape the first is its mistake.

use serde_json::{Map, Value};

use super::{
    HookAnswer, is_strict,
    strays::{MISPLACED, StrayFields},
};
use crate::{HookContract, event};
use protocol::{HookDecision, HookEventName, HookOutcome};

/// `{ok, reason}` of a model.
pub(super) fn read_prompt(object: &Map<String, Value>) -> HookAnswer {
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

pub(super) fn read_object(
    object: &Map<String, Value>,
    event: HookEventName,
    contract: HookContract,
) -> HookAnswer {
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
