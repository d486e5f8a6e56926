//! Which servers of the Model Context Protocol are there, and how is each reached? The shape that people already have in
//! their files (spec 07; spec 12, `mcpServers`).
//!
//! The settings, a project's file and agents' files are read by one reader, [`read_server`]. What is wrong with an entry costs
//! the whole entry: half of one could start the wrong program, or send a header to the wrong place.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use serde_json::{Map, Value as Json, json};

use super::{
    LayeredSetting,
    entries::{EntryLocation, EntryShape, ObjectFields, object_schema},
    mistake::SettingMistake,
    nearest,
    shapes::{BoolShape, IntegerShape, ListOf, NameShape, OneOf, SettingShape, TextShape},
};
use protocol::{FileProblemCode, McpOauth, McpPin, McpServerConfig, McpTransport};

mod written;

pub use written::server_fields;
pub(super) use written::servers_shown;

/// A server's name at most: it stands in the names of its tools, which providers cut at 64.
const MAX_NAME_CHARS: usize = 40;
/// How long a call may take that the entry says nothing of (spec 07).
const CALL_TIMEOUT_MS: u64 = 600_000;
/// Longest time-out of a call: a day.
const MOST_TIMEOUT_MS: u64 = 24 * 3_600 * 1_000;
/// Words of a command, variables, headers and entries of a list at most: more is no list that somebody wrote.
const MOST_ENTRIES: usize = 1_000;

const FIELDS: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "oauth",
    "timeout",
    "trust",
    "pin",
    "includeTools",
    "excludeTools",
    "autoStart",
    "network",
    "disabled",
];
const TYPES: &[&str] = &["stdio", "http", "streamable-http", "streamableHttp"];
/// What belongs to a program, and to an address.
const OF_PROGRAM: &[&str] = &["args", "env", "cwd", "network"];
const OF_ADDRESS: &[&str] = &["headers", "oauth"];
/// What only the people may say who run the daemon.
const OWN_ONLY: &[&str] = &["network", "autoStart"];

#[derive(Debug, Clone, PartialEq)]
pub struct McpSettings {
    /// By name.
    pub servers: LayeredSetting<BTreeMap<String, McpServerConfig>>,
    /// Names, with `*`; `None` = every server may be used.
    pub allowed: LayeredSetting<Option<Vec<String>>>,
    /// Names, with `*`, of servers that are not used.
    pub excluded: LayeredSetting<Vec<String>>,
    /// Milliseconds after which a server that nobody uses is stopped; 0 = never.
    pub idle_timeout_ms: LayeredSetting<u64>,
}

impl Default for McpSettings {
    fn default() -> McpSettings {
        McpSettings {
            servers: LayeredSetting::default_of(BTreeMap::new()),
            allowed: LayeredSetting::default_of(None),
            excluded: LayeredSetting::default_of(Vec::new()),
            idle_timeout_ms: LayeredSetting::default_of(10 * 60 * 1_000),
        }
    }
}

/// Who wrote an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerOf {
    /// Whoever runs the daemon, in settings of their own.
    User,
    /// Somebody else, in a project's file or an agent's: acknowledged, but it does not widen what programs may do.
    Other,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProblem {
    /// The field that it is about; `None` = the entry.
    pub field: Option<String>,
    pub message: String,
    /// It has no effect, but the entry counts.
    pub is_warning: bool,
}

/// The reason why no server can be called so.
pub fn server_name_problem(name: &str) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_name = !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_letter);
    // In `mcp__server__tool` it must be clear where the name ends: rules and lists may be spelled so.
    let sound = server_sound(name);
    let is_clear = !sound.contains("__") && !sound.starts_with('_') && !sound.ends_with('_');
    (!is_name || !is_clear).then(|| {
        format!(
            "a server's name is 1 to {MAX_NAME_CHARS} letters, digits, `-` or `_`, the latter neither twice in a row nor at \
             an end, since its tools are named `mcp.<server>.<tool>` or `mcp__<server>__<tool>`"
        )
    })
}

/// Names that rules cannot tell from each other are the same in this spelling.
pub fn server_sound(name: &str) -> String {
    name.replace('-', "_")
}

/// Reads an entry, and tells everything that is wrong with it; there is none when anything but a warning was told.
pub fn read_server(value: &Json, of: ServerOf) -> (Option<McpServerConfig>, Vec<ServerProblem>) {
    let Json::Object(fields) = value else {
        let message = "expected an object with `command` or `url`".to_owned();
        return (None, vec![ServerProblem { field: None, message, is_warning: false }]);
    };
    let mut reading = McpServerReader { fields, of, problems: Vec::new() };
    let server = reading.server();
    let is_whole = reading.problems.iter().all(|problem| problem.is_warning);
    (server.filter(|_| is_whole), reading.problems)
}

/// True of a variable that is one for a secret, by its name.
fn is_for_secret(name: &str) -> bool {
    const PARTS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "AUTH"];
    let name = name.to_ascii_uppercase();
    PARTS.iter().any(|part| name.contains(part))
        || name.split('_').any(|part| matches!(part, "KEY" | "PAT" | "PW"))
}

struct McpServerReader<'a> {
    fields: &'a Map<String, Json>,
    of: ServerOf,
    problems: Vec<ServerProblem>,
}

impl McpServerReader<'_> {
    fn server(&mut self) -> Option<McpServerConfig> {
        for name in self.fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
            let meant = nearest(name, FIELDS.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            let message = format!("is no field of a server; it has no effect{meant}");
            self.problems.push(ServerProblem { field: Some(name.clone()), message, is_warning: true });
        }
        if self.of == ServerOf::Other {
            for name in OWN_ONLY.iter().filter(|name| self.fields.contains_key(**name)) {
                self.refuse(name, "only your own settings may say this");
            }
        }
        let transport = self.transport();
        let timeout_ms = match self.fields.get("timeout").map(Json::as_u64) {
            None => CALL_TIMEOUT_MS,
            Some(Some(ms)) if (1..=MOST_TIMEOUT_MS).contains(&ms) => ms,
            Some(_) => {
                self.refuse("timeout", "expected a whole number of milliseconds from 1 to a day");
                CALL_TIMEOUT_MS
            }
        };
        let (trust, disabled) = (self.flag("trust"), self.flag("disabled"));
        let (auto_start, network) = (self.flag("autoStart"), self.flag("network"));
        let (include_tools, exclude_tools) = (self.texts("includeTools"), self.texts("excludeTools"));
        let (pin, oauth) = (self.pin(), self.oauth());
        let transport = transport?;
        Some(McpServerConfig {
            transport,
            timeout_ms,
            trust,
            pin,
            include_tools,
            exclude_tools,
            auto_start,
            network,
            oauth,
            disabled,
            literal: false,
            faulty: false,
        })
    }

    fn transport(&mut self) -> Option<McpTransport> {
        let kind = self.text("type");
        if let Some(kind) = kind.filter(|kind| !TYPES.contains(&kind.as_str())) {
            let problem = match kind.as_str() {
                "sse" => "the old transport `sse` is not spoken here; most such servers also speak `http`",
                _ => "expected \"stdio\" or \"http\"",
            };
            self.refuse("type", problem);
        }
        let (command, url) = (self.text("command"), self.text("url"));
        let foreign = if command.is_some() { OF_ADDRESS } else { OF_PROGRAM };
        match (command, url) {
            (Some(_), Some(_)) => {
                self.refuse("url", "a server has a `command` or a `url`, not both");
                None
            }
            (None, None) => {
                let is_told = ["command", "url"].iter().any(|name| self.fields.contains_key(*name));
                if !is_told {
                    let message =
                        "expected a `command` that starts the server, or the `url` of one".to_owned();
                    self.problems.push(ServerProblem { field: None, message, is_warning: false });
                }
                None
            }
            (command, url) => {
                for name in foreign.iter().filter(|name| self.fields.contains_key(**name)) {
                    self.refuse(name, "does not go with this kind of server");
                }
                let (args, env, cwd) = (self.texts("args"), self.map("env"), self.text("cwd"));
                let headers = self.map("headers");
                if let Some(command) = command {
                    self.tell_secrets_in_words(&command, &args);
                    return Some(McpTransport::Stdio { command, args, env, cwd });
                }
                let url = url?;
                if !(url.starts_with("https://") || url.starts_with("http://") || url.starts_with("${")) {
                    self.refuse("url", "expected an address that begins with https:// or http://");
                }
                Some(McpTransport::Http { url, headers })
            }
        }
    }

    /// The words of a program can be read by every other program of this user (proc(5), `cmdline`), its environment by those alone
    /// that may look into it.
    fn tell_secrets_in_words(&mut self, command: &str, args: &[String]) {
        let words =
            std::iter::once(("command", command)).chain(args.iter().map(|word| ("args", word.as_str())));
        for (field, word) in words {
            let names = word.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
            for name in names.filter(|name| is_for_secret(name)) {
                let message = format!(
                    "${{{name}}} becomes a word of the program, which other programs of yours can read, agents' commands among \
                     them where the sandbox is Landlock; put it into `env`"
                );
                self.problems.push(ServerProblem {
                    field: Some(field.to_owned()),
                    message,
                    is_warning: true,
                });
            }
        }
    }

    fn oauth(&mut self) -> Option<McpOauth> {
        let value = self.fields.get("oauth")?;
        let Json::Object(fields) = value else {
            self.refuse("oauth", "expected an object with `clientId` or `scopes`");
            return None;
        };
        if let Some(name) = fields.keys().find(|name| !matches!(name.as_str(), "clientId" | "scopes")) {
            let problem = format!("`{name}` is no field of it; expected `clientId` or `scopes`");
            self.refuse("oauth", &problem);
        }
        let is_plain = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let client_id = fields.get("clientId").map(|id| id.as_str().filter(is_plain).map(str::to_owned));
        let scopes = fields.get("scopes").map(|scopes| -> Option<Vec<String>> {
            let scopes = scopes.as_array().filter(|scopes| scopes.len() <= MOST_ENTRIES)?;
            scopes.iter().map(|it| it.as_str().filter(is_plain).map(str::to_owned)).collect()
        });
        if client_id == Some(None) {
            self.refuse("oauth", "`clientId`: expected a text without blanks");
        }
        if scopes == Some(None) {
            self.refuse("oauth", "`scopes`: expected a list of texts without blanks");
        }
        Some(McpOauth { client_id: client_id.flatten(), scopes: scopes.flatten() })
    }

    fn refuse(&mut self, field: &str, problem: &str) {
        let (field, message) = (Some(field.to_owned()), problem.to_owned());
        self.problems.push(ServerProblem { field, message, is_warning: false });
    }

    /// What it must be.
    fn pin(&mut self) -> Option<McpPin> {
        let told = self.fields.get("pin")?;
        let digest = |text: &str| {
            let hex = text.strip_prefix("sha256:")?;
            let is_hex = hex.len() == 64 && hex.chars().all(|letter| letter.is_ascii_hexdigit());
            is_hex.then(|| text.to_ascii_lowercase())
        };
        let Some(fields) = told.as_object().filter(|fields| !fields.is_empty()) else {
            self.refuse("pin", "expected an object with `command`, `version` or both");
            return None;
        };
        let mut pin = McpPin::default();
        for (name, value) in fields {
            match (name.as_str(), value.as_str()) {
                ("command", Some(text)) if let Some(digest) = digest(text) => pin.command = Some(digest),
                ("command", _) => self.refuse("pin", "`command` is `sha256:` and 64 hexadecimal digits"),
                ("version", Some(text)) if !text.trim().is_empty() && !text.contains(char::is_whitespace) => {
                    pin.version = Some(text.to_owned());
                }
                ("version", _) => self.refuse("pin", "`version` is a version as the server tells it"),
                // Half of a pin holds nothing.
                _ => self.refuse("pin", "it has `command` and `version`, and nothing else"),
            }
        }
        Some(pin)
    }

    /// A text that says something.
    fn text(&mut self, field: &str) -> Option<String> {
        match self.fields.get(field)? {
            Json::String(text) if !text.trim().is_empty() && !text.contains('\0') => Some(text.clone()),
            _ => {
                self.refuse(field, "expected a text");
                None
            }
        }
    }

    fn flag(&mut self, field: &str) -> bool {
        match self.fields.get(field) {
            None => false,
            Some(Json::Bool(flag)) => *flag,
            Some(_) => {
                self.refuse(field, "expected true or false");
                false
            }
        }
    }

    fn texts(&mut self, field: &str) -> Vec<String> {
        let Some(value) = self.fields.get(field) else { return Vec::new() };
        let texts: Option<Vec<String>> = value.as_array().and_then(|list| {
            list.iter().map(|it| it.as_str().filter(|it| !it.contains('\0')).map(str::to_owned)).collect()
        });
        match texts.filter(|texts| texts.len() <= MOST_ENTRIES) {
            Some(texts) => texts,
            None => {
                self.refuse(field, "expected a list of texts");
                Vec::new()
            }
        }
    }

    fn map(&mut self, field: &str) -> BTreeMap<String, String> {
        let Some(value) = self.fields.get(field) else { return BTreeMap::new() };
        let is_name = |name: &str| !name.is_empty() && !name.contains(['\0', '=', '\n', '\r', ' ']);
        let map: Option<BTreeMap<String, String>> = value.as_object().and_then(|map| {
            let pair = |(name, value): (&String, &Json)| {
                let value = value.as_str().filter(|it| !it.contains('\0') && is_name(name))?;
                Some((name.clone(), value.to_owned()))
            };
            map.iter().map(pair).collect()
        });
        match map.filter(|map| map.len() <= MOST_ENTRIES) {
            Some(map) => map,
            None => {
                self.refuse(field, "expected an object of texts by name");
                BTreeMap::new()
            }
        }
    }
}

/// Shape of one of `mcpServers`.
pub(super) struct ServerShape;

impl EntryShape for ServerShape {
    type Out = McpServerConfig;

    fn name_problem(&self, name: &str) -> Option<String> {
        server_name_problem(name)
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<McpServerConfig> {
        let (server, problems) = read_server(&Json::from(value.clone()), ServerOf::User);
        let Value::Object(object) = value else {
            let message = format!("`{}`: expected an object with `command` or `url`", entry.path);
            mistakes.push(SettingMistake::error(value, FileProblemCode::WrongType, message));
            return None;
        };
        let mut fields = ObjectFields::of(&entry.path, object, mistakes);
        for ServerProblem { field, message, is_warning } in problems {
            let place = field.as_deref().and_then(|field| fields.get(field)).unwrap_or(value);
            let path = field.map_or_else(|| entry.path.clone(), |field| format!("{}.{field}", entry.path));
            let message = format!("`{path}`: {message}");
            let mut mistake = SettingMistake::error(place, FileProblemCode::BadValue, message);
            if is_warning {
                mistake.severity = protocol::ProblemSeverity::Warning;
                mistake.code = FileProblemCode::UnknownField;
            }
            fields.mistakes().push(mistake);
        }
        server
    }

    /// Rules of the user's speak of servers by name: a project's must not come to them while the user's own is broken.
    fn stand_in(&self) -> Option<McpServerConfig> {
        Some(McpServerConfig::faulty())
    }

    fn schema(&self) -> Json {
        let texts = || json!({ "type": "array", "items": TextShape.schema() });
        let map = || json!({ "type": "object", "additionalProperties": TextShape.schema() });
        let oauth = object_schema(
            [("clientId", NameShape.schema()), ("scopes", ListOf(TextShape).schema())]
                .map(|(name, schema)| (name.to_owned(), schema))
                .into_iter()
                .collect(),
            &[],
        );
        let timeout = IntegerShape { least: 1, most: MOST_TIMEOUT_MS };
        let properties = [
            ("type", OneOf(TYPES).schema()),
            ("command", NameShape.schema()),
            ("args", texts()),
            ("env", map()),
            ("cwd", NameShape.schema()),
            ("url", NameShape.schema()),
            ("headers", map()),
            ("oauth", oauth),
            ("timeout", timeout.schema()),
            ("trust", BoolShape.schema()),
            (
                "pin",
                object_schema(
                    [("command", NameShape.schema()), ("version", NameShape.schema())]
                        .map(|(name, schema)| (name.to_owned(), schema))
                        .into_iter()
                        .collect(),
                    &[],
                ),
            ),
            ("includeTools", ListOf(TextShape).schema()),
            ("excludeTools", ListOf(TextShape).schema()),
            ("autoStart", BoolShape.schema()),
            ("network", BoolShape.schema()),
            ("disabled", BoolShape.schema()),
        ];
        let properties = properties.into_iter().map(|(name, schema)| (name.to_owned(), schema));
        object_schema(properties.collect(), &[])
    }

    fn schema_of_names(&self) -> Json {
        json!({ "pattern": format!("^[A-Za-z0-9_-]{{1,{MAX_NAME_CHARS}}}$") })
    }
}

/// Schema of an entry that somebody else wrote than who runs the daemon: an agent's.
pub fn server_schema() -> Json {
    let mut schema = ServerShape.schema();
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        OWN_ONLY.iter().for_each(|name| drop(properties.remove(*name)));
    }
    schema
}
