//! Conversations of the offline model with a small workspace in memory, to be tested.

use std::{collections::BTreeSet, sync::Arc};

use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use serde_json::{Value, json};

use crate::{
    ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart, RequestPurpose, offline::OfflineModel,
    tests::stream_to_end,
};
use protocol::{
    ContextMessage, MessagePart, MessageRole, Risk, RunErrorCode, SamplingSettings, ToolCall,
    ToolDeclaration, ToolKind,
};

/// A workspace in memory: paths and texts, sorted by path.
pub(super) type Tree = &'static [(&'static str, &'static str)];

pub(super) const TREE: Tree = &[
    ("Cargo.toml", "[package]\nname = \"courier\"\ndescription = \"sends parcels and tries again\"\n"),
    ("README.md", "# courier\n\nSends parcels. A retry waits for a back-off.\n"),
    (
        "src/backoff.rs",
        "//! How long to wait before a retry.\n\nuse std::time::Duration;\n\n/// The longest delay.\nconst MAX_DELAY: Duration = Duration::from_secs(30);\n\n/// Computes the delay before the given attempt: it doubles each time.\npub fn delay_before(attempt: u32) -> Duration {\n    let doubled = Duration::from_secs(1 << attempt.min(6));\n    doubled.min(MAX_DELAY)\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn retry_backoff_is_computed() {}\n}\n",
    ),
    ("src/lib.rs", "mod backoff;\nmod parcel;\n\npub use parcel::Parcel;\n"),
    (
        "src/parcel.rs",
        "use crate::backoff;\n\n/// A thing to send.\npub struct Parcel {\n    pub address: String,\n}\n\nimpl Parcel {\n    /// Sends it, and retries when the receiver is away.\n    pub fn send(&self) {\n        let wait = backoff::delay_before(1);\n        std::thread::sleep(wait);\n    }\n}\n",
    ),
    (
        "tests/sending.rs",
        "// The retry and its back-off, computed for a test.\n#[test]\nfn retry_back_off_computed() {}\n",
    ),
];

pub(super) fn declaration(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration {
        name: name.into(),
        title: name.to_owned(),
        description: String::new(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        parameters,
    }
}

pub(super) fn investigation_schema() -> Value {
    json!({"type": "object", "required": ["report"], "properties": {"report": {
        "type": "object",
        "required": ["SummaryOfFindings", "ExplorationTrace", "RelevantLocations"],
        "properties": {
            "SummaryOfFindings": {"type": "string"},
            "ExplorationTrace": {"type": "array", "items": {"type": "string"}},
            "RelevantLocations": {"type": "array", "items": {"type": "object"}},
        },
    }}})
}

pub(super) fn text_schema() -> Value {
    json!({"type": "object", "required": ["result"], "properties": {"result": {"type": "string"}}})
}

pub(super) fn tools(names: &[&str], output: Value) -> Arc<[ToolDeclaration]> {
    let named = names.iter().map(|name| declaration(name, json!({})));
    named.chain([declaration("complete_task", output)]).collect()
}

pub(super) const READ_ONLY: &[&str] = &["list_directory", "read_file", "glob", "grep"];

pub(super) fn request(messages: Vec<Arc<ContextMessage>>, tools: Arc<[ToolDeclaration]>) -> ModelRequest {
    ModelRequest {
        purpose: RequestPurpose::Turn,
        system: "".into(),
        messages,
        tools,
        sampling: SamplingSettings::default(),
        schema: None,
        provider_tool: None,
        ordinal: 0,
        others: 0,
        path: "".into(),
        tree_ordinal: 0,
        room: None,
    }
}

pub(super) fn ask(objective: &str) -> Vec<Arc<ContextMessage>> {
    vec![Arc::new(ContextMessage::user(format!("<objective>\n{objective}\n</objective>")))]
}

pub(super) fn reply(request: ModelRequest) -> ModelReply {
    match stream_to_end(&OfflineModel, request).pop() {
        Some(Ok(ModelEvent::Finished(reply))) => reply,
        other => panic!("no reply: {other:?}"),
    }
}

/// What it says when it cannot serve what is asked: it fails, so that no run takes that for its result.
pub(super) fn refused(request: ModelRequest) -> String {
    match stream_to_end(&OfflineModel, request).pop() {
        Some(Err(ModelError::Final { code: RunErrorCode::ModelFailed, message })) => message,
        other => panic!("it is served: {other:?}"),
    }
}

pub(super) fn calls(reply: &ModelReply) -> Vec<(&str, &Value)> {
    let parts = reply.parts.iter();
    parts
        .filter_map(|part| match part {
            ReplyPart::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments)),
            _ => None,
        })
        .collect()
}

/// Answers a call as our own tools would.
pub(super) fn answer(tree: Tree, tool: &str, arguments: &Value) -> Result<String, String> {
    let argument = |name: &str| arguments[name].as_str();
    match tool {
        "list_directory" => {
            let names: BTreeSet<String> = tree
                .iter()
                .map(|(path, _)| {
                    path.split_once('/')
                        .map_or(format!("{path}\t9\t-"), |(folder, _)| format!("{folder}/\t-\t-"))
                })
                .collect();
            Ok(names.into_iter().collect::<Vec<String>>().join("\n"))
        }
        "glob" => {
            let paths: Vec<String> = tree.iter().map(|(path, _)| format!("/work space/{path}")).collect();
            Ok(format!("{} files match.\n{}", tree.len(), paths.join("\n")))
        }
        "grep" => {
            let mut builder = RegexMatcherBuilder::new();
            builder.case_insensitive(arguments["caseSensitive"] != json!(true));
            let matcher = builder.build(argument("pattern").unwrap()).unwrap();
            let mut blocks = vec!["Matching lines.".to_owned()];
            for (path, text) in
                tree.iter().filter(|(path, _)| argument("path").is_none_or(|only| only == *path))
            {
                let lines =
                    text.lines().enumerate().filter(|(_, line)| matcher.is_match(line.as_bytes()).unwrap());
                let lines: Vec<String> =
                    lines.map(|(index, line)| format!("{}: {line}", index + 1)).collect();
                match argument("outputMode") {
                    _ if lines.is_empty() => {}
                    Some("count") => blocks.push(format!("{path}: {}", lines.len())),
                    _ => blocks.push(format!("\n{path}\n{}", lines.join("\n"))),
                }
            }
            Ok(blocks.join("\n"))
        }
        "read_file" => {
            let path = argument("path").unwrap();
            let (_, text) =
                tree.iter().find(|(known, _)| *known == path).ok_or("FILE_NOT_FOUND: no such file")?;
            let offset = usize::try_from(arguments["offset"].as_u64().unwrap()).unwrap();
            let limit = usize::try_from(arguments["limit"].as_u64().unwrap()).unwrap();
            let lines: Vec<&str> = text.lines().skip(offset).take(limit).collect();
            let total = text.lines().count();
            let note = format!("[lines {}-{} of {total}]\n", offset + 1, offset + lines.len());
            Ok(if lines.len() < total { note + &lines.join("\n") } else { lines.join("\n") })
        }
        other => panic!("no tool {other}"),
    }
}

/// A conversation that has come to its end.
pub(super) struct Conversation {
    pub(super) messages: Vec<Arc<ContextMessage>>,
    pub(super) last: ModelReply,
    /// Lines that `read_file` has shown: `path:line`.
    pub(super) read: BTreeSet<String>,
}

impl Conversation {
    pub(super) fn hold(
        objective: &str,
        tools: Arc<[ToolDeclaration]>,
        answer: impl Fn(&str, &Value) -> Result<String, String>,
    ) -> Conversation {
        const MOST_TURNS: u32 = 5;
        let mut messages = ask(objective);
        let mut read = BTreeSet::new();
        for turn in 0..MOST_TURNS {
            let last = reply(ModelRequest { ordinal: turn, ..request(messages.clone(), tools.clone()) });
            if calls(&last).iter().all(|(tool, _)| *tool == "complete_task") {
                return Conversation { messages, last, read };
            }
            let (mut asked, mut answered) = (Vec::new(), Vec::new());
            for (index, (tool, arguments)) in calls(&last).into_iter().enumerate() {
                let call_id = format!("{turn}-{index}");
                let answer = answer(tool, arguments);
                if let (Ok(text), "read_file") = (&answer, tool) {
                    let first = arguments["offset"].as_u64().unwrap() + 1;
                    let lines = text.lines().filter(|line| !line.starts_with("[lines")).count() as u64;
                    let path = arguments["path"].as_str().unwrap();
                    read.extend((first..first + lines).map(|line| format!("{path}:{line}")));
                }
                let is_error = answer.is_err();
                let text = answer.unwrap_or_else(|error| error);
                asked.push(MessagePart::ToolCall(ToolCall {
                    call_id: call_id.as_str().into(),
                    provider_call_id: None,
                    name: tool.into(),
                    arguments: arguments.clone(),
                    signature: None,
                    redacted: false,
                }));
                answered.push(MessagePart::ToolResult {
                    call_id: call_id.as_str().into(),
                    provider_call_id: None,
                    name: tool.into(),
                    parts: vec![MessagePart::text(text)],
                    is_error,
                });
            }
            messages.push(Arc::new(ContextMessage { role: MessageRole::Model, parts: asked, raw: None }));
            messages.push(Arc::new(ContextMessage { role: MessageRole::Tool, parts: answered, raw: None }));
        }
        panic!("not done after {MOST_TURNS} turns")
    }

    pub(super) fn about(objective: &str) -> Conversation {
        Conversation::hold(objective, tools(READ_ONLY, investigation_schema()), |tool, arguments| {
            answer(TREE, tool, arguments)
        })
    }

    pub(super) fn report(&self) -> &Value {
        let calls = calls(&self.last);
        let [("complete_task", arguments)] = calls.as_slice() else { panic!("{:?}", self.last) };
        &arguments["report"]
    }

    pub(super) fn locations(&self) -> Vec<&str> {
        let locations = self.report()["RelevantLocations"].as_array().unwrap();
        locations.iter().map(|location| location["FilePath"].as_str().unwrap()).collect()
    }

    /// The whole, short enough to read: the tools of each turn, then the report.
    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        for message in self.messages.iter().filter(|message| message.role == MessageRole::Model) {
            for part in &message.parts {
                if let MessagePart::ToolCall(call) = part {
                    let path = call.arguments["path"].as_str().unwrap_or_default();
                    let mode = call.arguments["outputMode"].as_str().unwrap_or_default();
                    told.push_str(format!("{} {mode} {path}", call.name).trim_end());
                    told.push('\n');
                }
            }
            told.push('\n');
        }
        told + &serde_json::to_string_pretty(self.report()).unwrap()
    }
}
