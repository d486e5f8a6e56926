//! Which programs does an agent bring along, in words for whoever is to trust its file?

use std::collections::BTreeMap;

use protocol::{AgentDefinition, McpTransport};
use sys::words::written;

/// Says what its hooks run, each; of what cannot be read, that it is there.
pub(super) fn hooked(definition: &AgentDefinition) -> Vec<String> {
    let Some(hooks) = &definition.hooks else { return Vec::new() };
    let mut effects = Vec::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        for hook in groups.as_array().into_iter().flatten().filter_map(|it| it["hooks"].as_array()).flatten()
        {
            // As it is where it is no command, so that no field passes for what runs.
            let command = hook["command"].as_str().filter(|_| hook["type"] == "command");
            let args = hook["args"].as_array().map(|args| args.iter().map(|it| it.as_str()).collect());
            let runs = match (command, args) {
                (Some(command), None) if hook["args"].is_null() => command.to_owned(),
                (Some(command), Some(Some::<Vec<&str>>(args))) => {
                    written(std::iter::once(command).chain(args))
                }
                _ => hook.to_string(),
            };
            effects.push(format!("at `{event}` in its runs it runs unasked: {runs}"));
        }
    }
    if effects.is_empty() {
        effects.push(format!("it has hooks, which cannot be read: {hooks}"));
    }
    effects
}

/// How one gets at a server, and what it is given: a variable of the daemon's may be a secret.
pub(super) fn started(transport: &McpTransport) -> String {
    let pairs = |what: &str, pairs: &BTreeMap<String, String>| -> String {
        let told: Vec<String> = pairs.iter().map(|(name, value)| format!("`{name}: {value}`")).collect();
        if told.is_empty() { String::new() } else { format!(", with the {what} {}", told.join(", ")) }
    };
    match transport {
        McpTransport::Stdio { command, args, env, cwd } => {
            let words = written(std::iter::once(command).chain(args));
            let place = cwd.as_ref().map(|cwd| format!(" in `{cwd}`")).unwrap_or_default();
            format!("started by `{words}`{place}{}", pairs("variables", env))
        }
        McpTransport::Http { url, headers } => format!("at {url}{}", pairs("headers", headers)),
    }
}
