//! What do a person's hooks do to a run? (spec 08, "Hooks") Real scripts beside a scripted model, no client attached: each event with
//! each effect that it may have, as the log and the model's next request have it.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use subagentd::protocol::{ContextMessage, MessagePart};

use crate::support::{House, Reply, Running, Script};

mod kills;

/// An agent that reads and writes, and whose edits nobody is asked about.
const WORKER: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: [read_file, write_file, ask_user]
---
You work.
";

/// So that only hooks are in the way of what it does.
const RULES: &str = "[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n";

/// A house in which these hooks are the user's; `{event: [command, …]}`, each for every call unless it is `[matcher, command]`.
fn house(script: &Script, hooks: &Value) -> House {
    let house = House::new()
        .script(script)
        .agent("worker", WORKER)
        .rules("edits", RULES)
        .file("a.txt", "the first line\n");
    let groups = |commands: &Value| -> Vec<Value> {
        let group = |command: &Value| match command {
            Value::Array(both) => {
                json!({ "matcher": both[0], "hooks": [{ "type": "command", "command": both[1] }] })
            }
            _ => json!({ "hooks": [{ "type": "command", "command": command }] }),
        };
        commands.as_array().unwrap().iter().map(group).collect()
    };
    let hooks: Value = hooks
        .as_object()
        .unwrap()
        .iter()
        .map(|(event, commands)| (event.clone(), json!(groups(commands))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    fs::write(&house.sources.files.user, house.own_hooks(&json!({ "hooks": hooks })).to_string()).unwrap();
    house
}

fn read(path: &str) -> Reply {
    Reply::calls(&[("read_file", json!({ "path": path }))])
}

fn write(path: &str, content: &str) -> Reply {
    Reply::calls(&[("write_file", json!({ "path": path, "content": content }))])
}

/// A command that prints this answer.
fn says(answer: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{answer}'")
}

fn pre(decision: &str, more: &Value) -> String {
    let mut special = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
    special.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    says(&json!({ "hookSpecificOutput": special }))
}

/// What hooks did, what calls came to, and how it ended.
fn told(log: &[Value]) -> String {
    let line = |event: &Value| {
        let data = &event["data"];
        let text = |key: &str| data[key].as_str().unwrap_or_default().trim().to_owned();
        match event["type"].as_str().unwrap() {
            "hook.fired" => {
                let changed = if data["changed"] == true { " changed" } else { "" };
                Some(format!(
                    "{} {}{changed} {}: {}",
                    text("event"),
                    text("decision"),
                    text("outcome"),
                    text("reason")
                ))
            }
            "tool.state" if !data["result"].is_null() => {
                let said = data["result"]["llmContent"].as_array().unwrap().iter();
                let said: Vec<&str> = said.map(|part| part["text"].as_str().unwrap_or("?").trim()).collect();
                Some(format!("  {} {}: {}", text("name"), text("to"), said.join(" | ")))
            }
            "confirmation.requested" => {
                let asked = &data["confirmation"];
                Some(format!("  asked: {} ({}: {})", asked["title"], asked["rule"], asked["reason"]))
            }
            "confirmation.resolved" => {
                Some(format!("  {} by {}", data["resolution"]["outcome"], data["resolution"]["by"]))
            }
            "context.nudged" => Some(format!("  nudged: {}", text("text"))),
            "warning" => Some(format!("  warning: {}", text("message"))),
            "run.completed" => {
                let code = data["error"]["code"].as_str().map(|code| format!(" {code}")).unwrap_or_default();
                Some(format!("{}{code} {} {}", text("reason"), text("result"), text("message")))
            }
            _ => None,
        }
    };
    let lines = log.iter().filter_map(line).map(|line| format!("{}\n", line.trim_end()));
    // Where the test's folder is changes from run to run.
    lines.collect()
}

/// What the model was told last.
fn heard(script: &Script) -> String {
    let requests = script.requests();
    let last: Option<&std::sync::Arc<ContextMessage>> = requests.last().and_then(|it| it.messages.last());
    let parts = last.map(|message| message.parts.clone()).unwrap_or_default();
    let text = |part: &MessagePart| match part {
        MessagePart::ToolResult { parts, .. } => {
            parts.iter().filter_map(MessagePart::as_text).map(str::trim).collect::<Vec<_>>().join(" | ")
        }
        other => other.as_text().unwrap_or("?").trim().to_owned(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(" || ")
}

/// Without the ends of hooks' ids, which depend on where their file lies.
fn without_ids(shown: &str) -> String {
    let mut words = shown.split("user/");
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (event, rest) = word.split_once('/').unwrap_or((word, ""));
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
        text.push_str(&format!("user/{event}{rest}"));
    }
    text
}

/// Lets a run go to its end with these hooks.
async fn play(hooks: Value, replies: Vec<Reply>) -> (House, Script, Running) {
    let script = Script::new(replies);
    let house = house(&script, &hooks);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    (house, script, running)
}

/// The same: what came of it, and what the model heard before its last reply.
async fn check(hooks: Value, replies: Vec<Reply>, expected: Expect) {
    let (house, script, running) = play(hooks, replies).await;
    let log = running.log().await;
    let home = house.dir.path().to_string_lossy().into_owned();
    let shown = format!("{}heard: {}\n", told(&log), heard(&script)).replace(&home, "HOME");
    expected.assert_eq(&without_ids(&shown));
    running.stop().await;
}

mod agents;
mod answering;
mod calls;
mod client_calls;
mod codex;
mod conditions;
mod edit_answers;
mod edited;
mod exit_codes;
mod faults;
mod imports;
mod interrupted;
mod kept_back;
mod late;
mod mcp_tools;
mod meanwhile;
mod near_memory;
mod pages;
mod points;
mod promises;
mod queued;
mod reached;
mod set_aside;
mod settling;
mod skills;
mod slow;
mod table;
mod unsettled_edits;
