//! What do we know so far? Reads the conversation: the question, what the tools answered, how far we are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use protocol::{COMPLETE_TASK, ContextMessage, MessagePart, MessageRole, ToolCall};

use super::tool_output::{self, NumberedLines};

/// Everything the conversation holds about the current question.
#[derive(Debug, Default)]
pub(super) struct OfflineTranscript {
    /// The question, without tags.
    pub(super) objective: String,
    /// Rounds of tool calls made for it.
    pub(super) rounds: usize,
    /// Files there are, relative to the workspace, without those that are only known from searches.
    pub(super) files: BTreeSet<String>,
    /// Names in the root folder, folders with a `/` behind.
    pub(super) root_entries: Vec<String>,
    /// Matching lines per file, by the pattern searched for.
    pub(super) counts: BTreeMap<String, BTreeMap<String, u32>>,
    /// Lines that searches showed.
    pub(super) found: BTreeMap<String, NumberedLines>,
    /// Files searched one by one.
    pub(super) searched: BTreeSet<String>,
    /// Lines that were read.
    pub(super) read: BTreeMap<String, NumberedLines>,
    pub(super) calls: usize,
    /// The first words of what failing calls answered.
    pub(super) failures: Vec<String>,
    /// `complete_task` was called and not accepted.
    pub(super) was_result_refused: bool,
}

impl OfflineTranscript {
    /// `is_grace`: the last user message only says that this is the last chance.
    pub(super) fn new(messages: &[impl AsRef<ContextMessage>], is_grace: bool) -> OfflineTranscript {
        let mut transcript = OfflineTranscript::default();
        let Some(start) = objective_index(messages, is_grace) else { return transcript };
        transcript.objective = objective_text(&messages[start].as_ref().text());
        let mut calls: Vec<&ToolCall> = Vec::new();
        for message in &messages[start + 1..] {
            let message = message.as_ref();
            let calls_before = calls.len();
            for part in &message.parts {
                match part {
                    MessagePart::ToolCall(call) => calls.push(call),
                    MessagePart::ToolResult { call_id, parts, is_error, .. } => {
                        let Some(call) = calls.iter().find(|call| call.call_id == *call_id) else { continue };
                        let text: String = parts.iter().filter_map(MessagePart::as_text).collect();
                        if *is_error {
                            transcript.was_result_refused |= call.name.as_str() == COMPLETE_TASK;
                            transcript.failures.push(text.lines().next().unwrap_or_default().to_owned());
                        } else {
                            transcript.take(call, &text);
                        }
                    }
                    _ => {}
                }
            }
            transcript.rounds +=
                usize::from(message.role == MessageRole::Model && calls.len() > calls_before);
        }
        transcript.calls = calls.len();
        transcript.make_files_relative();
        transcript
    }

    fn take(&mut self, call: &ToolCall, text: &str) {
        match call.name.as_str() {
            "list_directory" => self.root_entries = tool_output::entries(text),
            "glob" => self.files.extend(tool_output::paths(text)),
            "read_file" => self.take_read(call, text),
            "grep" if argument(call, "outputMode") == Some("count") => {
                let pattern = argument(call, "pattern").unwrap_or_default();
                self.counts.insert(pattern.to_owned(), tool_output::counts(text));
            }
            "grep" => {
                let only_file = argument(call, "path").filter(|path| *path != ".");
                self.searched.extend(only_file.map(str::to_owned));
                for (path, number, line) in tool_output::matches(text, only_file) {
                    self.found.entry(path).or_default().insert(number, line);
                }
            }
            _ => {}
        }
    }

    fn take_read(&mut self, call: &ToolCall, text: &str) {
        let Some(path) = argument(call, "path") else { return };
        let offset = call.arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let first = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(1);
        self.read.entry(path.to_owned()).or_default().extend(tool_output::numbered(text, first));
    }

    /// `glob` names files by absolute paths, `grep` by paths in the workspace. A file both have named tells
    /// where the workspace lies.
    fn make_files_relative(&mut self) {
        let relative = self.counts.values().flat_map(BTreeMap::keys).chain(self.found.keys());
        let root = relative.into_iter().filter(|path| !path.starts_with('/')).find_map(|path| {
            let ending = format!("/{path}");
            // The shortest root: a nested folder may end in the same way.
            self.files.iter().filter_map(|file| file.strip_suffix(&ending)).min_by_key(|root| root.len())
        });
        let Some(root) = root.map(|root| format!("{root}/")) else { return };
        self.files =
            self.files.iter().map(|file| file.strip_prefix(&root).unwrap_or(file).to_owned()).collect();
    }
}

/// Where the current question stands: the last message of the user that is one.
fn objective_index(messages: &[impl AsRef<ContextMessage>], is_grace: bool) -> Option<usize> {
    let mut from_user = messages.iter().enumerate().rev().filter(|(_, message)| {
        let message = message.as_ref();
        message.role == MessageRole::User && !message.text().trim().is_empty()
    });
    let last = from_user.next()?.0;
    let asked_before = if is_grace { from_user.next().map(|(index, _)| index) } else { None };
    Some(asked_before.unwrap_or(last))
}

fn objective_text(text: &str) -> String {
    let inside = text
        .split_once("<objective>")
        .map(|(_, behind)| behind.split_once("</objective>").map_or(behind, |(inside, _)| inside));
    inside.unwrap_or(text).trim().to_owned()
}

fn argument<'a>(call: &'a ToolCall, name: &str) -> Option<&'a str> {
    call.arguments.get(name).and_then(Value::as_str)
}
