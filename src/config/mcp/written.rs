//! How does an entry look as its file would say it?

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::CALL_TIMEOUT_MS;
use protocol::{McpPin, McpServerConfig, McpTransport};

/// As a file would say it, but for values that may be secrets: of variables and headers those are shown that name a variable.
pub(crate) fn servers_shown(servers: &BTreeMap<String, McpServerConfig>) -> Json {
    let whole = servers.iter().filter(|(_, server)| !server.faulty);
    Json::Object(whole.map(|(name, server)| (name.clone(), server_shown(server))).collect())
}

/// One as its file would say it, with all that it says.
pub fn server_fields(server: &McpServerConfig) -> Json {
    written(server, |text| text.clone())
}

fn server_shown(server: &McpServerConfig) -> Json {
    written(server, |text| if text.contains("${") { text.clone() } else { "(hidden)".to_owned() })
}

/// `value` is what stands for the value of a variable or of a header.
fn written(server: &McpServerConfig, value: impl Fn(&String) -> String) -> Json {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Json| drop(shown.insert(name.to_owned(), value));
    let hidden = |map: &BTreeMap<String, String>| -> Json {
        map.iter().map(|(name, text)| (name.clone(), json!(value(text)))).collect::<Map<_, _>>().into()
    };
    match &server.transport {
        McpTransport::Stdio { command, args, env, cwd } => {
            put("command", json!(command));
            if !args.is_empty() {
                put("args", json!(args));
            }
            if !env.is_empty() {
                put("env", hidden(env));
            }
            if let Some(cwd) = cwd {
                put("cwd", json!(cwd));
            }
        }
        McpTransport::Http { url, headers } => {
            put("url", json!(url));
            if !headers.is_empty() {
                put("headers", hidden(headers));
            }
        }
    }
    if let Some(oauth) = &server.oauth {
        // It names somebody, and is no secret.
        put("oauth", json!(oauth));
    }
    if server.timeout_ms != CALL_TIMEOUT_MS {
        put("timeout", json!(server.timeout_ms));
    }
    for (name, flag) in [
        ("trust", server.trust),
        ("autoStart", server.auto_start),
        ("network", server.network),
        ("disabled", server.disabled),
    ] {
        if flag {
            put(name, json!(true));
        }
    }
    if let Some(McpPin { command, version }) = &server.pin {
        let pinned = [("command", command), ("version", version)];
        let pinned = pinned.into_iter().filter_map(|(name, it)| Some((name.to_owned(), json!(it.as_ref()?))));
        put("pin", Json::Object(pinned.collect()));
    }
    for (name, list) in [("includeTools", &server.include_tools), ("excludeTools", &server.exclude_tools)] {
        if !list.is_empty() {
            put(name, json!(list));
        }
    }
    shown.into()
}
