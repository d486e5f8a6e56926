//! What may a project's own file set? (spec 12, "Settings")
//!
//! Few keys, and none that says what agents may do. It is no layer of [`DaemonConfig`]: it counts in one workspace only, and only
//! where somebody acknowledged the file.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use jsonc_parser::{
    CollectOptions,
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};

use super::{
    DaemonConfig, SettingLayer, TextPosition, UnheldSetting, UnknownPromptModule, decode,
    hooks::SECTION as HOOKS,
    keys::KEYS,
    layer::{DIALECT, LayerReading, LayerText, SCHEMA, find, no_json, set_twice},
    mistake::kind_of,
    nearest, problem, providers,
};
use protocol::{AgentName, FileProblem, FileProblemCode, McpServerConfig, ToolName};

const DEFAULT_AGENT: &str = "agents.default";
const AUTO_ROUTE: &str = "agents.autoRoute";
const EXCLUDE: &str = "tools.exclude";

const DISCOVERY: &str = "tools.discoveryCommand";
const CALL: &str = "tools.callCommand";
const COMPRESSION: &str = "compression.enabled";
const THRESHOLD: &str = "compression.threshold";
const SERVERS: &str = "mcpServers";
const MEMORY: &str = "memory.files";

/// What a project may set, and below [`MODULES`] each module of the system prompt.
const PLAIN: &[&str] =
    &[DEFAULT_AGENT, AUTO_ROUTE, EXCLUDE, DISCOVERY, CALL, COMPRESSION, THRESHOLD, MEMORY, SERVERS];
const MODULES: &str = "prompt.modules";

/// What a project may set.
static ALLOWED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let modules = KEYS.iter().map(|key| key.path).filter(|path| path.starts_with(MODULES));
    PLAIN.iter().copied().chain(modules).collect()
});

/// What one project's file sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectSettings {
    /// The agent of runs in this workspace that name none.
    pub default_agent: Option<AgentName>,
    /// True if the agent `auto` means the one whose trigger fits.
    pub auto_route: Option<bool>,
    /// Tools that no run in this workspace gets, besides those that no run gets at all.
    pub exclude: Vec<ToolName>,
    /// Tells tools of the workspace's own, in place of the user's command; `Some(None)` = none does here.
    pub discovery_command: Option<Option<String>>,
    /// Calls one of them, in place of the user's command.
    pub call_command: Option<Option<String>>,
    /// True if contexts of this workspace's runs are summed up by themselves.
    pub compression_enabled: Option<bool>,
    /// From which share of the model's window on.
    pub compression_threshold: Option<f64>,
    /// Servers of the Model Context Protocol that agents in this workspace may use besides the user's own.
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// Names of memory files in this workspace, in place of the user's.
    pub memory_files: Option<Vec<String>>,
    /// Whether runs here are told the modules of the system prompt of which it says something.
    pub prompt_modules: BTreeMap<&'static str, bool>,
    /// Names of modules that there are not; see `PromptSettings`.
    pub unknown_modules: Vec<UnknownPromptModule>,
    /// What it says to hold agents to less and a project may not set, or that is mistaken.
    pub unheld: Vec<UnheldSetting>,
}

impl ProjectSettings {
    /// Where a project's settings lie below its root.
    pub const FILE: &'static str = ".subagentd/settings.json";

    /// Reads a project's file. Whatever is wrong is reported and left out, the rest counts; what only the people may set
    /// who run the daemon is an error that names it.
    pub fn read(path: &Path, bytes: &[u8]) -> (ProjectSettings, Vec<FileProblem>) {
        let mut reading =
            LayerReading { config: DaemonConfig::default(), problems: Vec::new(), previous: None };
        match decode(path, bytes) {
            Ok(text) => read_text(path, text, &mut reading),
            Err(found) => reading.problems.push(found),
        }
        let LayerReading { mut config, mut problems, .. } = reading;
        let mut mcp_servers = std::mem::take(&mut config.mcp.servers.value);
        mcp_servers.retain(|_, server| !server.faulty);
        mcp_servers.retain(|name, server| {
            let is_modest = !server.network && !server.auto_start;
            if !is_modest {
                let message = format!(
                    "`{SERVERS}.{name}`: only your own settings may say `network` or `autoStart`; the server is not used"
                );
                problems.push(problem(path, None, FileProblemCode::BadValue, message));
            }
            is_modest
        });
        let is_set = |key: &str| config.set_at.contains_key(key);
        let settings = ProjectSettings {
            default_agent: is_set(DEFAULT_AGENT).then_some(config.agents.default.value),
            auto_route: is_set(AUTO_ROUTE).then_some(config.agents.auto_route.value),
            exclude: if is_set(EXCLUDE) { config.tools.exclude.value } else { Vec::new() },
            discovery_command: is_set(DISCOVERY).then_some(config.tools.discovery_command.value),
            call_command: is_set(CALL).then_some(config.tools.call_command.value),
            compression_enabled: is_set(COMPRESSION).then_some(config.compression.enabled.value),
            compression_threshold: is_set(THRESHOLD).then_some(config.compression.threshold.value),
            mcp_servers,
            memory_files: is_set(MEMORY).then_some(config.memory.files.value),
            prompt_modules: config
                .prompt
                .modules
                .by_name()
                .into_iter()
                .filter(|(module, _)| is_set(&format!("{MODULES}.{module}")))
                .map(|(module, setting)| (module, setting.value))
                .collect(),
            unknown_modules: config.prompt.unknown_modules,
            unheld: config.unheld,
        };
        (settings, problems)
    }
}

fn read_text(path: &Path, text: &str, reading: &mut LayerReading<'_>) {
    let value = match parse_to_ast(text, &CollectOptions::default(), &DIALECT) {
        Ok(parsed) => parsed.value,
        Err(error) => return reading.problems.push(no_json(path, &error)),
    };
    match value {
        None => {}
        Some(Value::Object(object)) => {
            let mut layer = LayerText { path, text, origin: SettingLayer::User, given: None, reading };
            read_object(&mut layer, &object, "");
        }
        Some(other) => {
            let message = format!("expected an object with settings, found {}", kind_of(&other));
            let mark = TextPosition::at(text, other.range().start);
            reading.problems.push(problem(path, Some(mark), FileProblemCode::WrongType, message));
        }
    }
}

/// Recursion ends: the parser bounds the nesting, and only known sections are entered.
fn read_object(layer: &mut LayerText<'_, '_, '_>, object: &Object<'_>, prefix: &str) {
    for (position, property) in object.properties.iter().enumerate() {
        let key = format!("{prefix}{}", property.name.as_str());
        let section = format!("{key}.");
        let place = property.range.start;
        let is_repeated = object.properties[..position]
            .iter()
            .any(|earlier| earlier.name.as_str() == property.name.as_str());
        match &property.value {
            _ if is_repeated => {
                let message = set_twice(&key);
                layer.report(place, FileProblemCode::BadValue, message);
            }
            value if ALLOWED.contains(&key.as_str()) => layer.read_value(value, &key),
            Value::Object(inner) if ALLOWED.iter().any(|key| key.starts_with(&section)) => {
                read_object(layer, inner, &section);
            }
            // Read, and refused, where hooks are.
            _ if key == HOOKS => {}
            _ if key == SCHEMA => {}
            _ => {
                layer.note_module(place, &key);
                let refused = refused(layer.path, TextPosition::at(layer.text, place), &key);
                layer.reading.config.unheld.extend(UnheldSetting::of(&key, &refused));
                layer.reading.problems.push(refused);
            }
        }
    }
}

/// The file is not the people's who run the daemon, so it may not set this.
fn refused(path: &Path, mark: TextPosition, key: &str) -> FileProblem {
    let section = format!("{key}.");
    let is_known = find(key).is_some()
        || key == providers::SECTION
        || KEYS.iter().any(|it| it.path.starts_with(&section));
    let (code, message) = match is_known {
        true => (FileProblemCode::BadValue, format!("`{key}`: a project may not set this; it has no effect")),
        false => (
            FileProblemCode::UnknownField,
            format!("`{key}` is nothing that a project may set; it has no effect"),
        ),
    };
    let fix = match nearest(key, ALLOWED.iter().copied().chain([HOOKS])) {
        Some(near) if !is_known => format!("did you mean `{near}`?"),
        _ => {
            let allowed = PLAIN.join(", ");
            format!(
                "a project may set {allowed}, {HOOKS} and {MODULES}; all else stands in your own settings"
            )
        }
    };
    FileProblem { fix: Some(fix), ..problem(path, Some(mark), code, message) }
}
