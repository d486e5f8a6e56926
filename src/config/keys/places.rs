//! The settings about places of agents.

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        shapes::{BoolShape, SettingShape},
    },
    ChangeTiming, SettingKey,
};

macro_rules! place_key {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        key!(
            $path, $($field).+, BoolShape,
            in: Ok, out: |counts: &bool| json!(counts),
            $meaning,
            expected: "true or false",
            example: "false"
        )
    };
}

pub(super) const KEYS: &[SettingKey] = &[
    place_key!(
        "agents.places.project.own",
        agents.places.project.own,
        "Whether agents in a workspace's `.subagentd/agents` are used."
    ),
    place_key!(
        "agents.places.project.gemini",
        agents.places.project.gemini,
        "Whether Gemini CLI's agents in a workspace's `.gemini/agents` are used."
    ),
    place_key!(
        "agents.places.project.claude",
        agents.places.project.claude,
        "Whether Claude Code's agents in a workspace's `.claude/agents` are used."
    ),
    place_key!(
        "agents.places.project.opencode",
        agents.places.project.opencode,
        "Whether OpenCode's agents in a workspace's `.opencode/agent` and `.opencode/agents` are used."
    ),
    place_key!(
        "agents.places.user.own",
        agents.places.user.own,
        "Whether the agents in `agents`, beside your settings, are used."
    ),
    place_key!(
        "agents.places.user.gemini",
        agents.places.user.gemini,
        "Whether Gemini CLI's agents in `~/.gemini/agents` are used."
    ),
    place_key!(
        "agents.places.user.claude",
        agents.places.user.claude,
        "Whether Claude Code's agents in `~/.claude/agents` are used."
    ),
    place_key!(
        "agents.places.user.opencode",
        agents.places.user.opencode,
        "Whether OpenCode's agents in `~/.config/opencode/agent` and `agents` are used."
    ),
    place_key!(
        "agents.places.builtIn",
        agents.places.built_in,
        "Whether the agents that come with the daemon are used."
    ),
];
