//! Which settings are there, what do they mean, what may they hold, and where do they go? One entry of the table each;
//! reader, schema, `config/get` and reload all follow it.

use std::time::Duration;

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::{
    AllowedHost, DaemonConfig, KeySource, LayeredSetting, SearchProvider, SettingLayer,
    approval::{SecretPlace, secret_shown},
    command_line::CommandLine,
    hosts::HostShape,
    shapes::{
        BoolShape, IntegerShape, ListOf, NameShape, NumberShape, OneOf, OrNull, PathShape, RegexListShape,
        SettingShape, ShapeError, plain,
    },
    web::ServerAddress,
};
use protocol::{AgentName, AgentScope, OnBudget, SandboxProfile, ToolName, UsdAmount};

mod into;

use into::{above_zero, narrow, time, word};

/// Longest time a setting may name: a year. Longer ones are slips, and sums with them could overflow.
const LONGEST_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// Smallest budget for a tool's output: head, tail and the note between them must fit.
const LEAST_OUTPUT_CHARS: u64 = 1_000;

/// Largest budget for a tool's output: ten million characters are more than any model reads.
const MOST_OUTPUT_CHARS: u64 = 10_000_000;

/// Levels of agents that call agents: more is a loop, not a plan.
const MOST_DEPTH: u64 = 16;

/// What a run may cost at most, in US dollars: more is a slip.
const MOST_DOLLARS: f64 = 1e6;

/// Runs at work at once: beyond, memory for their contexts is the limit, not a number.
const MOST_RUNS: u64 = 100_000;

/// Longest time in milliseconds a setting may name: the same year.
const LONGEST_MS: u64 = 366 * 24 * 3_600 * 1_000;

/// Longest processor time in seconds a setting may name: the same year.
const MOST_SECONDS: u64 = LONGEST_MS / 1_000;

/// Most mebibytes a setting may name: a pebibyte, beyond which sums could overflow.
const MOST_MB: u64 = 1 << 30;

/// One setting.
#[derive(Clone, Copy)]
pub(super) struct SettingKey {
    /// With dots, e.g. `run.maxTurns`.
    pub path: &'static str,
    /// For whoever writes the file.
    pub meaning: &'static str,
    /// What it must hold, for the message when it does not.
    pub expected: &'static str,
    /// JSON.
    pub example: &'static str,
    /// When a change counts.
    pub counts: ChangeTiming,
    pub schema: fn() -> Json,
    /// The environment gives it without quotes.
    pub is_text: fn() -> bool,
    pub set: SettingSetter,
    /// As a file would say it, and where it was set.
    pub get: fn(&DaemonConfig) -> (Json, SettingLayer),
    /// Puts the value of another configuration in place of this one's.
    pub keep: fn(&mut DaemonConfig, &DaemonConfig),
}

/// Puts a value into the configuration, or says why not.
type SettingSetter = fn(&mut DaemonConfig, &Value<'_>, SettingLayer) -> Result<(), ShapeError>;

/// When a change of a setting counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeTiming {
    /// For whatever begins after it.
    AtOnce,
    /// When the daemon starts the next time.
    #[allow(dead_code, reason = "so far every setting can be changed in a daemon that runs")]
    AtStart,
}

/// The first setting of a section.
pub(super) fn key_within(section: &str) -> Option<&'static str> {
    let section = format!("{section}.");
    KEYS.iter().map(|key| key.path).find(|path| path.starts_with(&section))
}

/// One entry: the field of [`DaemonConfig`], its shape, and the ways between what stands in a file and what the field holds.
macro_rules! key {
    (
        $path:literal, $($field:ident).+, $shape:expr, in: $into:expr, out: $out:expr,
        $meaning:literal, expected: $expected:literal, example: $example:literal
    ) => {
        SettingKey {
            path: $path,
            meaning: $meaning,
            expected: $expected,
            example: $example,
            counts: ChangeTiming::AtOnce,
            schema: || ($shape).schema(),
            is_text: || ($shape).is_text(),
            set: |config, value, origin| {
                let value = ($shape).read(value).and_then($into)?;
                config.$($field).+ = LayeredSetting { value, origin };
                Ok(())
            },
            get: |config| {
                let setting = &config.$($field).+;
                (($out)(&setting.value), setting.origin)
            },
            keep: |config, from| config.$($field).+ = from.$($field).+.clone(),
        }
    };
}

// Below the macro, which they use.
mod approval;
mod hooks;
#[macro_use]
mod models;
mod mcp;
mod places;
mod prompt;
mod retention;
mod tracing;

/// All of them, each once.
pub(super) const KEYS: &[SettingKey] = &joined::<{ count(GROUPS) }>(GROUPS);

const GROUPS: &[&[SettingKey]] = &[
    models::KEYS,
    GENERAL_KEYS,
    approval::KEYS,
    mcp::KEYS,
    places::KEYS,
    prompt::KEYS,
    retention::KEYS,
    tracing::KEYS,
    hooks::KEYS,
];

const fn count(groups: &[&[SettingKey]]) -> usize {
    let (mut sum, mut group) = (0, 0);
    while group < groups.len() {
        sum += groups[group].len();
        group += 1;
    }
    sum
}

const fn joined<const ALL: usize>(groups: &[&[SettingKey]]) -> [SettingKey; ALL] {
    let mut all = [groups[0][0]; ALL];
    let (mut at, mut group) = (0, 0);
    while group < groups.len() {
        let mut key = 0;
        while key < groups[group].len() {
            all[at] = groups[group][key];
            at += 1;
            key += 1;
        }
        group += 1;
    }
    all
}

/// Settings that are in no group of their own.
const GENERAL_KEYS: &[SettingKey] = &[
    key!(
        "agents.default", agents.default, NameShape,
        in: |name| Ok(AgentName::from(name)), out: |name: &AgentName| json!(name),
        "The agent of runs that name none.",
        expected: "an agent's name, e.g. \"generalist\"",
        example: "\"codebase-investigator\""
    ),
    key!(
        "agents.autoRoute", agents.auto_route, BoolShape,
        in: Ok, out: |auto_route: &bool| json!(auto_route),
        "Whether the agent `auto` is the one whose trigger matches the prompt; otherwise it is the usual agent.",
        expected: "true or false",
        example: "false"
    ),
    key!(
        "agents.defaultScope", agents.default_scope, OneOf(&["project", "user"]),
        in: word, out: |scope: &AgentScope| json!(scope),
        "Where new agents are written if nobody says: in the project, or among your own.",
        expected: "\"project\" or \"user\"",
        example: "\"user\""
    ),
    key!(
        "skills.disabled", skills.disabled, ListOf(NameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Names of skills that are not used, wherever they lie. `subagent skills disable` writes it.",
        expected: "a list of names, e.g. [\"pdf\"]",
        example: "[\"pdf\"]"
    ),
    key!(
        "run.maxTurns", run.max_turns, IntegerShape { least: 1, most: u32::MAX as u64 },
        in: narrow, out: |turns: &u32| json!(turns),
        "Turns of a run whose agent does not say. A conversation has 100 if this is not set.",
        expected: "a whole number of at least 1",
        example: "20"
    ),
    key!(
        "run.maxTimeMinutes", run.max_time, NumberShape { least: 0.0, is_above_zero: true, most: LONGEST_SECONDS / 60.0 },
        in: |minutes| above_zero(time(minutes * 60.0)?), out: |time: &Duration| plain(time.as_secs_f64() / 60.0),
        "Working time of a run whose agent does not say, in minutes. Waiting for a person does not count. A \
         conversation has no limit if this is not set.",
        expected: "a number of minutes above 0, at most a year",
        example: "5"
    ),
    key!(
        "run.maxTokens", run.max_tokens, OrNull(IntegerShape { least: 1, most: u64::MAX }),
        in: Ok, out: |tokens: &Option<u64>| json!(tokens),
        "Tokens of a run whose agent does not say, including the runs it calls; null is no limit.",
        expected: "a whole number of at least 1, or null for no limit",
        example: "200000"
    ),
    key!(
        "run.maxCostUsd", run.max_cost, OrNull(NumberShape { least: 0.0, is_above_zero: true, most: MOST_DOLLARS }),
        in: |dollars: Option<f64>| Ok(dollars.and_then(UsdAmount::limit_from_dollars)),
        out: |cost: &Option<UsdAmount>| cost.map_or(Json::Null, |cost| plain(cost.dollars())),
        "Cost in US dollars of a run whose agent does not say, including the runs it calls, by `models.prices`; null \
         is no limit.",
        expected: "a number of US dollars above 0, or null for no limit",
        example: "2.5"
    ),
    key!(
        "run.onBudget", run.on_budget, OneOf(&["end", "ask"]),
        in: |word: String| Ok(if word == "ask" { OnBudget::Ask } else { OnBudget::End }),
        out: |what: &OnBudget| json!(what),
        "What happens when a run whose agent does not say has used up its tokens or money: one last turn and the end \
         (end), or a person is asked whether it may have more (ask).",
        expected: "\"end\" or \"ask\"",
        example: "\"ask\""
    ),
    key!(
        "run.maxContextTokens", run.max_context_tokens, OrNull(IntegerShape { least: 1, most: u64::MAX }),
        in: Ok, out: |tokens: &Option<u64>| json!(tokens),
        "Most tokens of a request, if fewer than fit the model are enough; null is as many as fit.",
        expected: "a whole number of at least 1, or null for no limit",
        example: "100000"
    ),
    key!(
        "run.graceSeconds", run.grace, NumberShape { least: 0.0, is_above_zero: false, most: LONGEST_SECONDS },
        in: time, out: |time: &Duration| plain(time.as_secs_f64()),
        "Seconds for the last turn in which a run that hit a limit hands in what it has.",
        expected: "a number of seconds from 0 to a year",
        example: "30"
    ),
    key!(
        "run.maxDepth", run.max_depth, IntegerShape { least: 0, most: MOST_DEPTH },
        in: narrow, out: |depth: &u32| json!(depth),
        "How many levels deep agents may call agents.",
        expected: "a whole number from 0 to 16",
        example: "2"
    ),
    key!(
        "maxConcurrentRuns.session", max_concurrent_runs.session, IntegerShape { least: 1, most: MOST_RUNS },
        in: narrow, out: |runs: &usize| json!(runs),
        "Runs of one session that may work at once; others wait.",
        expected: "a whole number from 1 to 100000",
        example: "4"
    ),
    key!(
        "maxConcurrentRuns.daemon", max_concurrent_runs.daemon, IntegerShape { least: 1, most: MOST_RUNS },
        in: narrow, out: |runs: &usize| json!(runs),
        "Runs of the daemon that may work at once; others wait.",
        expected: "a whole number from 1 to 100000",
        example: "64"
    ),
    key!(
        "tools.exclude", tools.exclude, ListOf(NameShape),
        in: |names| Ok(names.into_iter().map(ToolName::from).collect()), out: |names: &Vec<ToolName>| json!(names),
        "Tools that no agent gets: names, aliases, or patterns with `*`.",
        expected: "a list of tool names, e.g. [\"web_fetch\", \"mcp.github.*\"]",
        example: "[\"web_fetch\", \"mcp.github.*\"]"
    ),
    key!(
        "tools.discoveryCommand", tools.discovery_command, OrNull(CommandLine),
        in: Ok, out: |command: &Option<String>| json!(command),
        "A command that lists a workspace's own tools, as a JSON array of function declarations. It runs without a \
         shell, in the sandbox, in each workspace that a person has trusted.",
        expected: "a command with its arguments, its quotes closed, or null",
        example: "\"bin/tools --list\""
    ),
    key!(
        "tools.callCommand", tools.call_command, OrNull(CommandLine),
        in: Ok, out: |command: &Option<String>| json!(command),
        "A command that runs a tool of `tools.discoveryCommand`: the tool's name is its last argument, the call's \
         arguments come as JSON on standard input, and standard output is the result.",
        expected: "a command with its arguments, its quotes closed, or null",
        example: "\"bin/tools --call\""
    ),
    key!(
        "tools.output.maxChars", tools.output_max_chars,
        IntegerShape { least: LEAST_OUTPUT_CHARS, most: MOST_OUTPUT_CHARS },
        in: narrow, out: |most: &usize| json!(most),
        "Characters of a tool's output that the model gets. Longer output is cut in the middle and kept whole for \
         `tools/output`, and for the agent to read on.",
        expected: "a whole number from 1000 to 10000000",
        example: "20000"
    ),
    key!(
        "tools.shell.inactivityMs", tools.shell_inactivity, IntegerShape { least: 1, most: LONGEST_MS },
        in: |ms| Ok(Duration::from_millis(ms)), out: |time: &Duration| json!(time.as_millis()),
        "Milliseconds without output after which a command is ended. Commands in the background are not.",
        expected: "a whole number of milliseconds from 1 to a year",
        example: "600000"
    ),
    key!(
        "tools.shell.timeoutMs", tools.shell_timeout, IntegerShape { least: 1, most: LONGEST_MS },
        in: |ms| Ok(Duration::from_millis(ms)), out: |time: &Duration| json!(time.as_millis()),
        "Milliseconds after which a command is ended; a call may ask for less. Commands in the background are not \
         ended by it.",
        expected: "a whole number of milliseconds from 1 to a year",
        example: "3600000"
    ),
    key!(
        "tools.webFetch.allowHosts", tools.web_fetch_allow_hosts, ListOf(HostShape),
        in: Ok,
        out: |hosts: &Vec<AllowedHost>| json!(hosts.iter().map(AllowedHost::to_string).collect::<Vec<_>>()),
        "Hosts that `web_fetch` may reach although their addresses are private or on this machine: names, `*.` and \
         the end of names, or addresses, each also with a port.",
        expected: "a list of hosts, e.g. [\"intranet.example\", \"*.corp.example\", \"127.0.0.1:8080\"]",
        example: "[\"*.corp.example\", \"127.0.0.1:8080\"]"
    ),
    key!(
        "tools.webSearch.backend", tools.web_search.backend, OrNull(OneOf(&["gemini", "brave", "tavily", "searxng"])),
        in: |text: Option<String>| text.map(word).transpose(), out: |it: &Option<SearchProvider>| json!(it),
        "The backend of `web_search`; without it no agent has the tool. `gemini` is a Gemini model that searches with \
         Google: the small one, or the run's. `brave` and `tavily` need `tools.webSearch.key`, `searxng` needs \
         `tools.webSearch.url`.",
        expected: "one of \"gemini\", \"brave\", \"tavily\", \"searxng\", or null",
        example: "\"searxng\""
    ),
    key!(
        "tools.webSearch.url", tools.web_search.url, OrNull(ServerAddress),
        in: Ok, out: |url: &Option<String>| json!(url),
        "The backend's address, if it is not its maker's. It may be on this machine.",
        expected: "an address that begins with https:// or http:// and has no `?`, or null",
        example: "\"http://127.0.0.1:8888\""
    ),
    key!(
        "tools.webSearch.key", tools.web_search.key, OrNull(SecretPlace),
        in: Ok, out: |place: &Option<KeySource>| secret_shown(place.as_ref()),
        "Where the backend's key is; never the key itself. Only its owner may be able to read a file.",
        expected: "{\"env\": \"NAME\"}, {\"file\": \"/absolute/path\"} or null",
        example: "{\"env\": \"BRAVE_API_KEY\"}"
    ),
    key!(
        "sandbox.required", sandbox.required, BoolShape,
        in: Ok, out: |required: &bool| json!(required),
        "Whether commands of agents are refused if nothing can confine them, and if the profile is `full`.",
        expected: "true or false",
        example: "true"
    ),
    key!(
        "sandbox.profile", sandbox.profile, OneOf(&["readOnly", "workspaceWrite", "full"]),
        in: word, out: |profile: &SandboxProfile| json!(profile),
        "What commands of agents may write: their temporary folder (`readOnly`), the workspace too \
         (`workspaceWrite`), or everything that you may (`full`: no sandbox). An agent's file may name a narrower \
         one, never a wider one.",
        expected: "one of \"readOnly\", \"workspaceWrite\", \"full\"",
        example: "\"readOnly\""
    ),
    key!(
        "sandbox.network", sandbox.network, BoolShape,
        in: Ok, out: |network: &bool| json!(network),
        "Whether commands of agents reach the network, and programs that listen on this machine.",
        expected: "true or false",
        example: "true"
    ),
    key!(
        "sandbox.environment", sandbox.environment, ListOf(NameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Variables of the daemon's environment that commands get beside the usual ones (PATH, HOME, LANG, …). What is known \
         to be a secret is not passed on.",
        expected: "a list of names, e.g. [\"JAVA_HOME\"]",
        example: "[\"JAVA_HOME\", \"CARGO_HOME\"]"
    ),
    key!(
        "sandbox.sockets", sandbox.sockets, ListOf(PathShape),
        in: Ok, out: |paths: &Vec<String>| json!(paths),
        "Socket files that commands of agents may connect to, or folders with sockets. Whoever listens there acts \
         outside of the sandbox. Without an entry a command has no sockets with a file except pairs.",
        expected: "a list of paths that begin with / or ~/",
        example: "[\"/run/postgresql/.s.PGSQL.5432\"]"
    ),
    key!(
        "sandbox.limits.cpuSeconds", sandbox.limits.cpu_seconds, OrNull(IntegerShape { least: 1, most: MOST_SECONDS }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Seconds of processor time of a command, including everything it starts; null is no limit.",
        expected: "a whole number from 1 to a year of seconds, or null",
        example: "600"
    ),
    key!(
        "sandbox.limits.memoryMb", sandbox.limits.memory_mb, OrNull(IntegerShape { least: 1, most: MOST_MB }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Mebibytes of memory of a command, including everything it starts; null is no limit.",
        expected: "a whole number from 1 to 1073741824, or null",
        example: "2048"
    ),
    key!(
        "sandbox.limits.processes", sandbox.limits.processes, OrNull(IntegerShape { least: 1, most: 1 << 22 }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Processes of a command at a time; null is no limit.",
        expected: "a whole number from 1 to 4194304, or null",
        example: "200"
    ),
    key!(
        "sandbox.limits.openFiles", sandbox.limits.open_files, OrNull(IntegerShape { least: 16, most: 1 << 20 }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Open files of each process of a command; null is what the system allows.",
        expected: "a whole number from 16 to 1048576, or null",
        example: "1024"
    ),
    key!(
        "sandbox.limits.outputMb", sandbox.limits.output_mb, OrNull(IntegerShape { least: 1, most: MOST_MB }),
        in: Ok, out: |most: &Option<u64>| json!(most),
        "Mebibytes of output after which a command is ended; null is no limit. Of a long output the first 6 and the last 4 are kept.",
        expected: "a whole number from 1 to 1073741824, or null",
        example: "100"
    ),
    key!(
        "shutdown.graceSeconds", shutdown.grace, NumberShape { least: 0.0, is_above_zero: false, most: LONGEST_SECONDS },
        in: time, out: |time: &Duration| plain(time.as_secs_f64()),
        "Seconds that a daemon that is stopped gives to turns under way.",
        expected: "a number of seconds from 0 to a year",
        example: "30"
    ),
    key!(
        "access.allowUids", access.allow_uids, ListOf(IntegerShape { least: 0, most: u32::MAX as u64 }),
        in: |uids| uids.into_iter().map(narrow).collect(), out: |uids: &Vec<u32>| json!(uids),
        "Numeric ids of users who may connect besides the daemon's own.",
        expected: "a list of numeric user ids, e.g. [1000]",
        example: "[1000]"
    ),
    SettingKey {
        path: "redaction.patterns",
        meaning: "Regular expressions, in the syntax of Rust's `regex`, whose matches are hidden wherever the daemon \
                  stores, shows or logs a text.",
        expected: "a list of regular expressions, e.g. [\"cust-[0-9]{6}\"]",
        example: "[\"cust-[0-9]{6}\"]",
        counts: ChangeTiming::AtOnce,
        schema: || RegexListShape.schema(),
        is_text: || false,
        set: |config, value, origin| {
            let (value, bad) = RegexListShape.read(value)?;
            // One slip must not show what the other patterns hide.
            config.redaction.patterns = LayeredSetting { value, origin };
            if bad.is_empty() { Ok(()) } else { Err(ShapeError::BadElements(bad)) }
        },
        get: |config| {
            let setting = &config.redaction.patterns;
            (json!(setting.value), setting.origin)
        },
        keep: |config, from| config.redaction.patterns = from.redaction.patterns.clone(),
    },
];
