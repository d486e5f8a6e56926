//! What does one entry of a group run, and for how long may it?

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use super::{
    HookContract, HookFailurePolicy, HookHandler,
    condition::HookCondition,
    document::{DocumentContent, DocumentNode},
};
use protocol::HookEventName;

/// The longest time that a hook may take: whoever writes more means "for ever", which nothing here waits for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of one command, address or prompt.
const LONGEST_TEXT: usize = 100_000;

/// The reason why an entry is none: a sentence without its subject.
pub(super) type EntryMistake = String;

/// The parts of an entry that can be read.
pub(super) struct EntryFields {
    pub handler: HookHandler,
    pub condition: Option<HookCondition>,
    pub on_failure: HookFailurePolicy,
    pub timeout: Duration,
    pub is_async: bool,
    pub async_rewake: bool,
}

/// Fields that mean something in some kind of entry.
pub(super) const FIELDS: &[&str] = &[
    "type",
    "command",
    "args",
    "url",
    "headers",
    "allowedEnvVars",
    "server",
    "tool",
    "input",
    "prompt",
    "model",
    "if",
    "timeout",
    "timeoutSec",
    "onFailure",
    "async",
    "asyncRewake",
];

pub(super) fn is_known_field(key: &str) -> bool {
    FIELDS.contains(&key)
}

pub(super) fn handler(kind: &str, node: &DocumentNode) -> Result<HookHandler, EntryMistake> {
    let needed = |field: &str| -> Result<String, EntryMistake> {
        let text = node.get(field).ok_or_else(|| format!("of type `{kind}` has no `{field}`"))?;
        let text = text.text().ok_or_else(|| format!("has {} for a `{field}`", text.kind()))?;
        match text.trim().is_empty() || LONGEST_TEXT < text.len() {
            true => Err(format!("has a `{field}` that is empty or longer than {LONGEST_TEXT} bytes")),
            false => Ok(text.to_owned()),
        }
    };
    let model = || node.get("model").and_then(DocumentNode::text).map(str::to_owned);
    match kind {
        "command" => {
            if let Some(shell) = node.get("shell").filter(|it| !matches!(it.text(), Some("bash" | "sh"))) {
                return Err(format!("wants another `shell` than bash: {}", shell.value()));
            }
            let args = node.get("args").map(|it| texts(it, "args")).transpose()?;
            Ok(HookHandler::Command { command: needed("command")?, args })
        }
        "http" => {
            let url = needed("url")?;
            let parsed =
                url::Url::parse(&url).map_err(|error| format!("has a `url` that is none: {error}"))?;
            if !matches!(parsed.scheme(), "http" | "https") || parsed.host().is_none() {
                return Err("has a `url` that is not of http or https".to_owned());
            }
            let headers = match node.get("headers").map(|it| &it.content) {
                None | Some(DocumentContent::Null) => BTreeMap::new(),
                Some(DocumentContent::Map(entries)) => entries
                    .iter()
                    .map(|(name, _, value)| {
                        let value =
                            value.text().ok_or_else(|| format!("has {} for a header", value.kind()))?;
                        Ok((name.clone(), value.to_owned()))
                    })
                    .collect::<Result<_, EntryMistake>>()?,
                Some(_) => return Err("has `headers` that are no object".to_owned()),
            };
            let allowed = node.get("allowedEnvVars").map(|it| texts(it, "allowedEnvVars")).transpose()?;
            Ok(HookHandler::Http { url, headers, allowed_env_vars: allowed.unwrap_or_default() })
        }
        "mcp_tool" => {
            let input = match node.get("input").map(DocumentNode::value) {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(input)) => input,
                Some(_) => return Err("has an `input` that is no object".to_owned()),
            };
            Ok(HookHandler::McpTool { server: needed("server")?, tool: needed("tool")?, input })
        }
        "prompt" => Ok(HookHandler::Prompt { prompt: needed("prompt")?, model: model() }),
        "agent" => Ok(HookHandler::Agent { prompt: needed("prompt")?, model: model() }),
        other => {
            let known = ["command", "http", "mcp_tool", "prompt", "agent"];
            let nearest = sys::nearest::nearest(other, known);
            let nearest = nearest.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
            Err(format!("is of an unknown type `{other}`{nearest}"))
        }
    }
}

fn texts(node: &DocumentNode, field: &str) -> Result<Vec<String>, EntryMistake> {
    let DocumentContent::List(entries) = &node.content else {
        return Err(format!("has `{field}` that is no list"));
    };
    let text = |it: &DocumentNode| {
        it.text().map(str::to_owned).ok_or_else(|| format!("has {} in `{field}`", it.kind()))
    };
    entries.iter().map(text).collect()
}

pub(super) fn boolean(node: &DocumentNode, field: &str) -> Result<bool, EntryMistake> {
    match node.get(field).map(|it| &it.content) {
        None | Some(DocumentContent::Null) => Ok(false),
        Some(DocumentContent::Bool(is)) => Ok(*is),
        Some(_) => Err(format!("has `{field}` that is neither true nor false")),
    }
}

pub(super) fn timeout(
    node: &DocumentNode,
    (events, contract): (&[HookEventName], HookContract),
    handler: &HookHandler,
) -> Result<Duration, EntryMistake> {
    let is_gemini = contract == HookContract::Gemini;
    let given = node.get("timeout").or_else(|| node.get("timeoutSec"));
    let Some(given) = given.filter(|it| it.content != DocumentContent::Null) else {
        let is_prompt = events.contains(&HookEventName::UserPromptSubmit);
        let seconds = match handler {
            HookHandler::Prompt { .. } => 30,
            HookHandler::Agent { .. } => 60,
            _ if is_gemini => 60,
            _ if is_prompt => 30,
            _ => 600,
        };
        return Ok(Duration::from_secs(seconds));
    };
    let number = match &given.content {
        DocumentContent::Number(number) => number.as_f64(),
        _ => None,
    };
    let number = number.filter(|number| 0.0 < *number && number.is_finite());
    let number = number.ok_or("has a `timeout` that is no number above 0")?;
    let seconds = if is_gemini { number / 1_000.0 } else { number };
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST))
}
