//! Which calls is a rule of the policy about? In a line.

use serde_json::Value;

use crate::facts::EventFacts;

/// `write_file · only what writes /w/a.rs · in /w`. Nothing that narrows it is left out.
pub(super) fn matches(rule: EventFacts<'_>) -> String {
    let words = |key: &str| {
        let words: Vec<&str> = rule.list(key).iter().filter_map(|word| word.as_str()).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let named = |key: &str, label: &str| rule.text(key).map(|text| format!("{label}{text}"));
    let listed = |key: &str, label: &str| words(key).map(|text| format!("{label}{text}"));
    let accesses: Vec<String> = rule.list("accesses").iter().map(access_said).collect();
    let below = if rule.flag("recursive") { " and below" } else { "" };
    let accesses = (!accesses.is_empty()).then(|| format!("only what {}{below}", accesses.join(", ")));
    let parts = [
        Some(words("tool").unwrap_or_else(|| "any tool".to_owned())),
        named("agent", "agent "),
        listed("commandPrefix", "commands "),
        named("argsPattern", "arguments match "),
        named("kind", "kind "),
        named("risk", "risk "),
        listed("modes", "mode "),
        confinement(rule.within("confinement")),
        accesses,
        named("workspace", "in "),
        named("session", "in session "),
    ];
    // A line of its own would stand for the end of the rule.
    let parts = parts.into_iter().flatten().map(|part| part.lines().collect::<Vec<_>>().join(" ⏎ "));
    parts.collect::<Vec<_>>().join(" · ")
}

/// `confined to workspaceWrite, without network`: only while commands are confined at least so.
fn confinement(confinement: EventFacts<'_>) -> Option<String> {
    let profile = confinement.text("profile")?;
    let network = if confinement.flag("network") { "with" } else { "without" };
    let sockets: Vec<&str> = confinement.list("sockets").iter().filter_map(|path| path.as_str()).collect();
    let sockets = match sockets.is_empty() {
        true => String::new(),
        false => format!(", with the sockets {}", sockets.join(", ")),
    };
    Some(format!("confined to {profile}, {network} network{sockets}"))
}

/// `writes /w/a.rs`: what a call touches. A kind that only a newer daemon knows is shown as it came.
pub fn access_said(access: &Value) -> String {
    let text = |key: &str| access.get(key).and_then(Value::as_str);
    let known = match text("access") {
        Some("read") => text("path").map(|path| format!("reads {path}")),
        Some("write") => text("path").map(|path| format!("writes {path}")),
        Some("execute") => text("command").map(|command| format!("runs {command}")),
        Some("fetch") => text("url").map(|url| format!("fetches {url}")),
        Some("opaque") => text("what").map(|what| format!("touches what {what} decides")),
        Some("nothing") => Some("touches nothing".to_owned()),
        _ => None,
    };
    known.unwrap_or_else(|| access.to_string())
}
