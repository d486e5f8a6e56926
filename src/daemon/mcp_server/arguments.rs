//! What is a tool of our own called with? Everything that is wrong is told at once.

use std::time::Duration;

use serde_json::{Map, Value};

use super::tools::RunControlTool;
use config::nearest;
use protocol::RunId;

/// The longest wait, as of `run/wait`.
const LONGEST_WAIT_MS: u64 = 600_000;

/// The arguments, read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct McpToolArguments {
    pub run: Option<RunId>,
    pub timeout: Option<Duration>,
    pub reason: Option<String>,
}

/// Reads them, or tells each mistake as a pointer and a sentence.
pub(super) fn read(
    own: RunControlTool,
    arguments: &Map<String, Value>,
) -> Result<McpToolArguments, Vec<String>> {
    let mut given = McpToolArguments::default();
    let mut mistakes = Vec::new();
    for (name, value) in arguments {
        let read = match name.as_str() {
            known if !own.properties().contains(&known) => {
                Err(match nearest(known, own.properties().iter().copied()) {
                    Some(near) => format!("there is no such argument; did you mean `{near}`?"),
                    None => format!("there is no such argument; there are {}", own.properties().join(", ")),
                })
            }
            "timeoutMs" => match value.as_u64().filter(|ms| *ms <= LONGEST_WAIT_MS) {
                Some(ms) => {
                    given.timeout = Some(Duration::from_millis(ms));
                    Ok(())
                }
                None => Err(format!("must be an integer from 0 to {LONGEST_WAIT_MS}")),
            },
            text => match value.as_str() {
                Some(run) if text == "runId" => {
                    given.run = Some(run.into());
                    Ok(())
                }
                Some(reason) => {
                    given.reason = Some(reason.to_owned());
                    Ok(())
                }
                None => Err("must be a string".to_owned()),
            },
        };
        mistakes.extend(read.err().map(|mistake| format!("/{name}: {mistake}")));
    }
    if own.needs_run() && !arguments.contains_key("runId") {
        mistakes.push("/runId: is missing".to_owned());
    }
    if mistakes.is_empty() { Ok(given) } else { Err(mistakes) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_is_told_at_once() {
        let wrong = json!({"runid": "r", "timeoutMs": -1});
        let mistakes = read(RunControlTool::Wait, wrong.as_object().unwrap()).unwrap_err();
        assert_eq!(
            mistakes,
            [
                "/runid: there is no such argument; did you mean `runId`?",
                "/timeoutMs: must be an integer from 0 to 600000",
                "/runId: is missing",
            ]
        );
        let wrong = json!({"runId": 1, "reason": []});
        let mistakes = read(RunControlTool::Cancel, wrong.as_object().unwrap()).unwrap_err();
        assert_eq!(mistakes, ["/runId: must be a string", "/reason: must be a string"]);
        assert_eq!(read(RunControlTool::Status, &Map::new()), Ok(McpToolArguments::default()));
    }
}
