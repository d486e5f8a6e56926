//! The settings about hooks.

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        hooks::PRODUCTS,
        shapes::{BoolShape, ListOf, NameShape, OneOf, SettingShape},
    },
    ChangeTiming, SettingKey,
};

pub(super) const KEYS: &[SettingKey] = &[
    key!(
        "hooks.places", hooks.places, ListOf(OneOf(PRODUCTS)),
        in: Ok, out: |places: &Vec<String>| json!(places),
        "Other products whose hooks in your home count here, too: `claude` means `~/.claude/settings.json`, `codex` means \
         `~/.codex/hooks.json`.",
        expected: "a list of \"claude\" and \"codex\"",
        example: "[\"claude\"]"
    ),
    key!(
        "hooks.environment", hooks.environment, ListOf(NameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Variables of the daemon's environment that hooks get beside the usual ones (PATH, HOME, LANG, …). What is known to be a \
         secret is passed to hooks that run unconfined only.",
        expected: "a list of names, e.g. [\"CLAUDE_PLUGIN_ROOT\"]",
        example: "[\"CLAUDE_PLUGIN_ROOT\"]"
    ),
    key!(
        "hooks.httpEnv", hooks.http_env, ListOf(NameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Variables of the daemon's environment that hooks of a project may send in headers. Your own hooks name theirs in \
         `allowedEnvVars`.",
        expected: "a list of names, e.g. [\"REVIEW_TOKEN\"]",
        example: "[\"REVIEW_TOKEN\"]"
    ),
    key!(
        "disableAllHooks", hooks.disable_all, BoolShape,
        in: Ok, out: |disabled: &bool| json!(disabled),
        "Whether all hooks rest, but for those of the system's settings.",
        expected: "true or false",
        example: "true"
    ),
];
