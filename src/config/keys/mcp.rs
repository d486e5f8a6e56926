//! The settings about servers of the Model Context Protocol.

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        entries::MapOf,
        mcp::{ServerShape, servers_shown},
        shapes::{IntegerShape, ListOf, NameShape, OrNull, SettingShape, ShapeError},
    },
    ChangeTiming, LONGEST_MS, SettingKey,
};

pub(super) const KEYS: &[SettingKey] = &[
    map_key!(
        "mcpServers", mcp.servers, ServerShape, out: servers_shown,
        "Servers of the Model Context Protocol, whose tools agents may use as `mcp.<server>.<tool>`: a `command` that is started, \
         or the `url` of one that listens. `${VAR}` and `${VAR:-default}` are filled in from the daemon's environment.",
        expected: "an object of servers, e.g. {\"docs\": {\"url\": \"http://127.0.0.1:9000/mcp\"}}",
        example: "{\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \".\"]}}"
    ),
    key!(
        "mcp.allowed", mcp.allowed, OrNull(ListOf(NameShape)),
        in: Ok, out: |names: &Option<Vec<String>>| json!(names),
        "The only servers that are used: names, or patterns with `*`; null is all of them.",
        expected: "a list of servers' names, or null for all, e.g. [\"docs\"]",
        example: "[\"docs\", \"files-*\"]"
    ),
    key!(
        "mcp.excluded", mcp.excluded, ListOf(NameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Servers that are not used, whoever names them: names, or patterns with `*`.",
        expected: "a list of servers' names, e.g. [\"github\"]",
        example: "[\"github\"]"
    ),
    key!(
        "mcp.idleTimeoutMs", mcp.idle_timeout_ms, IntegerShape { least: 0, most: LONGEST_MS },
        in: Ok, out: |ms: &u64| json!(ms),
        "Milliseconds without use after which a server is stopped; it starts again when it is needed. 0 is never.",
        expected: "a whole number of milliseconds from 0 to a year",
        example: "3600000"
    ),
];
