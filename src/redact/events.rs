//! What do messages, results and calls look like without their secrets?

use std::path::PathBuf;

use super::{Redactor, scan::OutputPiece};
use protocol::{
    CallDetails, CallLocation, ConfirmationDetails, ContextMessage, MessagePart, ProviderMessage,
    QuestionAnswer, ResourceAccess, RuleOrigin, ToolCall, ToolEffect, ToolError, ToolResult, UserQuestion,
};

/// Which neighbours make up one text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextFlow {
    Text,
    Thought,
}

impl Redactor {
    /// A message without its secrets, also those that go across the border of two text parts.
    ///
    /// The provider's own form is not rewritten, since signatures are bound to it: it goes when it, or the message,
    /// holds a secret. The signature of a part goes with what it was made for; those of other parts stay.
    pub fn message(&self, message: ContextMessage) -> ContextMessage {
        let ContextMessage { role, parts, raw } = message;
        let (parts, changed) = self.parts(parts);
        let raw = raw.filter(|raw| !changed && !self.is_in(raw));
        ContextMessage { role, parts, raw }
    }

    /// What a call returned, without its secrets. Bytes stay as they are.
    pub fn tool_result(&self, mut result: ToolResult) -> ToolResult {
        result.llm_content = self.parts(result.llm_content).0;
        result.return_display = result.return_display.map(|text| self.owned(text));
        if let Some(data) = &mut result.data {
            self.value(data);
        }
        result.error = result.error.map(|error| self.tool_error(error));
        for effect in &mut result.effects {
            match effect {
                ToolEffect::Todos(todos) => {
                    for todo in todos {
                        todo.text = self.owned(std::mem::take(&mut todo.text));
                    }
                }
                ToolEffect::File(changed) => {
                    changed.path = self.owned(std::mem::take(&mut changed.path));
                    changed.from = changed.from.take().map(|from| self.owned(from));
                }
                ToolEffect::Memory(saved) => {
                    saved.path = self.owned(std::mem::take(&mut saved.path));
                    saved.fact = self.owned(std::mem::take(&mut saved.fact));
                }
                ToolEffect::Skill(skill) => {
                    skill.name = self.owned(std::mem::take(&mut skill.name));
                    skill.folder = self.owned(std::mem::take(&mut skill.folder));
                }
            }
        }
        result
    }

    /// What a person is shown of a call. What would be written is written as it is meant, not as it is shown; so a content
    /// that holds a secret is not shown as one that could be changed and sent back, and the diff tells what changes.
    pub fn confirmation_details(&self, details: ConfirmationDetails) -> ConfirmationDetails {
        match details {
            // Numbers alone.
            ConfirmationDetails::Budget { .. } => details,
            ConfirmationDetails::Edit { path, diff, old_content, new_content, cut_bytes } => {
                ConfirmationDetails::Edit {
                    path: self.owned(path),
                    diff: self.owned(diff),
                    old_content: old_content.filter(|text| !self.finds_in(text)),
                    new_content: new_content.filter(|text| !self.finds_in(text)),
                    cut_bytes,
                }
            }
            ConfirmationDetails::Exec {
                command,
                directory,
                root_commands,
                parsed,
                reasons,
                sandbox,
                background,
                pty,
                timeout_seconds,
            } => {
                let all = |texts: Vec<String>| texts.into_iter().map(|text| self.owned(text)).collect();
                ConfirmationDetails::Exec {
                    command: self.owned(command),
                    directory: self.owned(directory),
                    root_commands: all(root_commands),
                    parsed: all(parsed),
                    reasons: all(reasons),
                    sandbox,
                    background,
                    pty,
                    timeout_seconds,
                }
            }
            ConfirmationDetails::Mcp { server, tool, mut arguments } => {
                self.value(&mut arguments);
                ConfirmationDetails::Mcp { server, tool: self.owned(tool), arguments }
            }
            ConfirmationDetails::Fetch { urls, prompt } => ConfirmationDetails::Fetch {
                urls: urls.into_iter().map(|url| self.owned(url)).collect(),
                prompt: prompt.map(|prompt| self.owned(prompt)),
            },
            ConfirmationDetails::Info { prompt } => ConfirmationDetails::Info { prompt: self.owned(prompt) },
            ConfirmationDetails::Question { questions } => ConfirmationDetails::Question {
                questions: questions.into_iter().map(|question| self.question(question)).collect(),
            },
        }
    }

    fn question(&self, question: UserQuestion) -> UserQuestion {
        let all = |texts: Vec<String>| texts.into_iter().map(|text| self.owned(text)).collect();
        UserQuestion {
            question: self.owned(question.question),
            options: all(question.options),
            default: question.default.map(|default| match default {
                QuestionAnswer::One(text) => QuestionAnswer::One(self.owned(text)),
                QuestionAnswer::Several(texts) => QuestionAnswer::Several(all(texts)),
            }),
            ..question
        }
    }

    /// The words of a failure, without their secrets.
    pub fn tool_error(&self, error: ToolError) -> ToolError {
        ToolError { message: self.with_pointers(error.message), ..error }
    }

    /// A text that may name fields by JSON pointers (RFC 6901), in which a slash is written as `~1`.
    fn with_pointers(&self, text: String) -> String {
        let text = self.owned(text);
        if !text.contains("~1") && !text.contains("~0") {
            return text;
        }
        let meant = text.replace("~1", "/").replace("~0", "~");
        match self.text(&meant) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(redacted) => redacted,
        }
    }

    /// What people are told about a call.
    pub fn call_details(&self, details: CallDetails) -> CallDetails {
        let place = |location: CallLocation| CallLocation { path: self.owned(location.path), ..location };
        CallDetails {
            title: self.owned(details.title),
            description: self.owned(details.description),
            locations: details.locations.into_iter().map(place).collect(),
            rule_origin: details
                .rule_origin
                .map(|origin| RuleOrigin { by: origin.by.map(|by| self.owned(by)), ..origin }),
            ..details
        }
    }

    /// What a call touches, as the log keeps it.
    pub fn access(&self, access: ResourceAccess) -> ResourceAccess {
        // A path that is not UTF-8 is no text that could hold a secret's.
        let path = |path: PathBuf| match path.into_os_string().into_string() {
            Ok(text) => PathBuf::from(self.owned(text)),
            Err(other) => PathBuf::from(other),
        };
        match access {
            ResourceAccess::Read { path: it } => ResourceAccess::Read { path: path(it) },
            ResourceAccess::Write { path: it } => ResourceAccess::Write { path: path(it) },
            ResourceAccess::Execute { command } => ResourceAccess::Execute { command: self.owned(command) },
            ResourceAccess::Fetch { url } => ResourceAccess::Fetch { url: self.owned(url) },
            ResourceAccess::Opaque { what } => ResourceAccess::Opaque { what: self.owned(what) },
            ResourceAccess::Nothing => ResourceAccess::Nothing,
        }
    }

    /// True if there is something to hide.
    /// Tells whether there is a secret in it.
    pub fn finds_in(&self, text: &str) -> bool {
        matches!(self.text(text), std::borrow::Cow::Owned(_))
    }

    /// The same string when there is nothing to hide.
    pub fn owned(&self, text: String) -> String {
        match self.text(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(redacted) => redacted,
        }
    }

    fn is_in(&self, raw: &ProviderMessage) -> bool {
        let text = raw.raw.get();
        if matches!(self.text(text), std::borrow::Cow::Owned(_)) {
            return true;
        }
        // Texts as they are meant, not as they are escaped. What cannot be read cannot be cleared.
        serde_json::from_str(text).map_or(true, |mut value| self.value(&mut value))
    }

    fn parts(&self, mut parts: Vec<MessagePart>) -> (Vec<MessagePart>, bool) {
        let mut changed = false;
        let mut from = 0;
        while from < parts.len() {
            let flow = flow(&parts[from]);
            let same = |part: &&MessagePart| flow.is_some() && self::flow(part) == flow;
            let length = parts[from..].iter().take_while(same).count().max(1);
            let group = &mut parts[from..from + length];
            changed |= match flow {
                Some(_) => self.neighbours(group),
                None => self.part(&mut group[0]),
            };
            from += length;
        }
        (parts, changed)
    }

    /// Redacts texts as if they were one. A marker stands where its secret began.
    fn neighbours(&self, parts: &mut [MessagePart]) -> bool {
        let whole: String = parts.iter().map(text_of).collect();
        let pieces = self.pieces(&whole);
        if !pieces.iter().any(|piece| matches!(piece, OutputPiece::Mark { .. })) {
            return false;
        }
        let mut begin = 0;
        for part in parts {
            let end = begin + text_of(part).len();
            let mut redacted = String::new();
            for piece in &pieces {
                match *piece {
                    OutputPiece::Plain { start, end: plain_end } if start < end && plain_end > begin => {
                        redacted.push_str(&whole[start.max(begin)..plain_end.min(end)]);
                    }
                    OutputPiece::Mark { start, label } if (begin..end).contains(&start) => {
                        redacted.push_str(&self.mark(label));
                    }
                    _ => (),
                }
            }
            match part {
                MessagePart::Text { text } => *text = redacted,
                MessagePart::Thought { text, signature } => {
                    if *text != redacted {
                        *signature = None;
                    }
                    *text = redacted;
                }
                _ => (),
            }
            begin = end;
        }
        true
    }

    fn part(&self, part: &mut MessagePart) -> bool {
        match part {
            MessagePart::Text { text } | MessagePart::Thought { text, .. } => self.nested_text(text, 0),
            MessagePart::ToolCall(ToolCall { arguments, signature, redacted, .. }) => {
                let changed = self.value(arguments);
                if changed {
                    *redacted = true;
                    *signature = None;
                }
                changed
            }
            MessagePart::ToolResult { parts, .. } => {
                let (redacted, changed) = self.parts(std::mem::take(parts));
                *parts = redacted;
                changed
            }
            MessagePart::File { uri, .. } => self.nested_text(uri, 0),
            MessagePart::InlineData { .. } => false,
        }
    }
}

fn flow(part: &MessagePart) -> Option<TextFlow> {
    match part {
        MessagePart::Text { .. } => Some(TextFlow::Text),
        MessagePart::Thought { .. } => Some(TextFlow::Thought),
        _ => None,
    }
}

fn text_of(part: &MessagePart) -> &str {
    match part {
        MessagePart::Text { text } | MessagePart::Thought { text, .. } => text,
        _ => "",
    }
}
