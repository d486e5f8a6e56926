//! Which MCP servers does an `mcp.json` declare? Read strictly, as Agent Plugins 1.0.0 has it (§7.2): what is wrong with the file
//! costs all servers, what is wrong with an entry that one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::{Host, Url};

use super::manifest::{LARGEST_FILE, quoted};
use config::server_name_problem;
use protocol::{McpServerConfig, McpTransport};
use sys::regular_file;

/// The file, at the top of the folder.
pub(super) const FILE: &str = "mcp.json";
/// The version that goes with that of the manifest. It is a name, and never fetched.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
/// Servers of an extension, and words, variables and headers of one: more is no list that somebody wrote.
const MOST_SERVERS: usize = 50;
const MOST_ENTRIES: usize = 1_000;
/// The variables that a program of an extension is given, which stand for its folders in its entry as well.
const ROOT: &str = "PLUGIN_ROOT";
const DATA: &str = "PLUGIN_DATA";
/// The time that a call may take (spec 07): the format has no field for it.
const CALL_TIMEOUT_MS: u64 = 600_000;

/// A server that an extension brings along, as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct PackagedServer {
    pub name: String,
    way: PackagedTransport,
}

#[derive(Debug, Clone, PartialEq)]
enum PackagedTransport {
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<String> },
    Http { url: String, headers: BTreeMap<String, String> },
}

/// Reads the servers of a folder in which no link leads out; sentences tell what does not count. Blocks on the file system.
pub(super) fn read(folder: &Path) -> (Vec<PackagedServer>, Vec<String>) {
    let path = folder.join(FILE);
    if fs::symlink_metadata(&path).is_err() {
        return (Vec::new(), Vec::new());
    }
    let none = |why: String| (Vec::new(), vec![format!("{FILE} {why}; it has no servers")]);
    if !path.is_file() {
        return none("is no file".to_owned());
    }
    match regular_file::read_bounded(&path, LARGEST_FILE) {
        Ok(Some(bytes)) => match entries(&bytes) {
            Ok(entries) => servers(&entries, folder),
            Err(why) => none(why),
        },
        Ok(None) => none(format!("is larger than {} KiB", LARGEST_FILE / 1024)),
        Err(error) => none(format!("cannot be read: {error}")),
    }
}

/// The entries by name. An error is the end of a sentence that begins with the file.
fn entries(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("is no JSON: {error}"))?;
    let Value::Object(mut fields) = value else { return Err("is no object".to_owned()) };
    match fields.get("$schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(Value::String(schema)) => {
            return Err(format!("has a `$schema` that does not go with plugin.json: {}", quoted(schema)));
        }
        Some(_) => return Err("has a `$schema` that is no text".to_owned()),
        None => return Err(format!("has no `$schema`; it must be `{SCHEMA}`")),
    }
    if let Some(other) = fields.keys().find(|name| !matches!(name.as_str(), "$schema" | "mcpServers")) {
        return Err(format!("has a field that there is not: {}", quoted(other)));
    }
    match fields.remove("mcpServers") {
        Some(Value::Object(entries)) => Ok(entries),
        Some(_) => Err("has `mcpServers` that are no object".to_owned()),
        None => Err("has no `mcpServers`".to_owned()),
    }
}

fn servers(entries: &Map<String, Value>, folder: &Path) -> (Vec<PackagedServer>, Vec<String>) {
    let (mut servers, mut told) = (Vec::new(), Vec::new());
    for (name, entry) in entries.iter().take(MOST_SERVERS) {
        let mut skip = |why: String| told.push(format!("the server {} {why}; it is skipped", quoted(name)));
        // What is none by the format is told so, whatever it is called.
        match PackagedTransport::read(entry, folder) {
            Err(why) => skip(why),
            Ok(way) => match server_name_problem(name) {
                Some(why) => skip(format!("cannot be called so here: {why}")),
                None => servers.push(PackagedServer { name: name.clone(), way }),
            },
        }
    }
    let more = entries.len().saturating_sub(MOST_SERVERS);
    told.extend(
        (more != 0).then(|| format!("{FILE} has more than {MOST_SERVERS} servers; {more} are skipped")),
    );
    (servers, told)
}

impl PackagedServer {
    /// The entry that starts or reaches it: `root` is the extension's folder, `data` the one for what it writes. Both are absolute and
    /// without links. The texts are final: nothing else is filled in.
    pub fn config(&self, root: &Path, data: &Path) -> McpServerConfig {
        let folders = [(ROOT, root.to_string_lossy()), (DATA, data.to_string_lossy())];
        let filled = |text: &String| fill(text, &folders.each_ref().map(|(name, path)| (*name, &**path)));
        let transport = match &self.way {
            PackagedTransport::Http { url, headers } => {
                McpTransport::Http { url: url.clone(), headers: headers.clone() }
            }
            PackagedTransport::Stdio { command, args, env, cwd } => {
                let below = |path: &str| root.join(plain(Path::new(path))).to_string_lossy().into_owned();
                let command = if command.starts_with("./") { below(command) } else { command.clone() };
                let cwd = match cwd {
                    None => root.to_string_lossy().into_owned(),
                    Some(cwd) if cwd.starts_with("./") => {
                        below(&fill(cwd, &folders.each_ref().map(|(name, path)| (*name, &**path))))
                    }
                    Some(cwd) => filled(cwd),
                };
                let mut env: BTreeMap<String, String> =
                    env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
                // Whatever its entry says: these are the daemon's to say.
                env.extend(
                    folders.iter().map(|(name, path)| ((*name).to_owned(), path.clone().into_owned())),
                );
                let args = args.iter().map(filled).collect();
                McpTransport::Stdio { command, args, env, cwd: Some(cwd) }
            }
        };
        McpServerConfig {
            transport,
            timeout_ms: CALL_TIMEOUT_MS,
            trust: false,
            pin: None,
            include_tools: Vec::new(),
            exclude_tools: Vec::new(),
            auto_start: false,
            network: false,
            oauth: None,
            disabled: false,
            literal: true,
            faulty: false,
        }
    }

    /// The words with which it is started and the folder, or its address, for people: no word passes for two, or for words of ours.
    pub fn starts(&self) -> String {
        match &self.way {
            PackagedTransport::Stdio { command, args, cwd, .. } => {
                let words: Vec<String> =
                    std::iter::once(command).chain(args).map(|word| word_shown(word)).collect();
                let folder = cwd.as_ref().map(|cwd| format!(" (in {})", word_shown(cwd)));
                format!("{}{}", words.join(" "), folder.unwrap_or_default())
            }
            PackagedTransport::Http { url, .. } => word_shown(url),
        }
    }

    pub fn is_program(&self) -> bool {
        matches!(self.way, PackagedTransport::Stdio { .. })
    }

    /// The variables or headers that its entry sets, each as `NAME=VALUE`, for people.
    pub fn sets(&self) -> Vec<String> {
        let all = match &self.way {
            PackagedTransport::Stdio { env, .. } => env,
            PackagedTransport::Http { headers, .. } => headers,
        };
        let shown = |(name, value): (&String, &String)| format!("{}={}", word_shown(name), word_shown(value));
        all.iter().map(shown).collect()
    }
}

/// Characters of a word that are shown.
const LONGEST_WORD: usize = 1_000;

/// A word as it is, if it is a plain one; else between quotes, with escapes for what nobody sees.
fn word_shown(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,${}~".contains(letter);
    let short: String = word.chars().take(LONGEST_WORD).collect();
    let more = if short.len() < word.len() { "…" } else { "" };
    match !word.is_empty() && word.chars().all(is_plain) {
        true => format!("{short}{more}"),
        false => format!("{short:?}{more}"),
    }
}

impl PackagedTransport {
    /// An error is the end of a sentence that begins with the server.
    fn read(entry: &Value, folder: &Path) -> Result<PackagedTransport, String> {
        let Value::Object(fields) = entry else { return Err("is no object".to_owned()) };
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(_) => return Err("has a `type` that is no text".to_owned()),
            None => return Err("has no `type`".to_owned()),
        };
        let known: &[&str] = match kind {
            "stdio" => &["type", "command", "args", "env", "cwd"],
            "streamable-http" | "sse" => &["type", "url", "headers"],
            other => return Err(format!("has a `type` that there is not: {}", quoted(other))),
        };
        if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("has a field that does not go with `{kind}`: {}", quoted(other)));
        }
        match kind {
            "stdio" => PackagedTransport::stdio(fields, folder),
            _ => {
                let way = PackagedTransport::http(fields)?;
                match kind {
                    "sse" => Err("speaks the old transport `sse`, which is not spoken here".to_owned()),
                    _ => Ok(way),
                }
            }
        }
    }

    fn stdio(fields: &Map<String, Value>, folder: &Path) -> Result<PackagedTransport, String> {
        let command = text(fields, "command")?.ok_or("has no `command`")?;
        let args = match fields.get("args") {
            None => Vec::new(),
            Some(Value::Array(words)) if words.len() <= MOST_ENTRIES => {
                let words = words.iter().map(|word| word.as_str().filter(|it| !it.contains('\0')));
                let words = words.map(|word| word.map(str::to_owned)).collect::<Option<Vec<_>>>();
                words.ok_or("has `args` that are not all texts")?
            }
            Some(_) => return Err("has `args` that are no list of texts".to_owned()),
        };
        let env = texts(fields, "env")?;
        for name in env.keys() {
            if name == ROOT || name == DATA {
                return Err(format!("sets `{name}`, which is not its to set"));
            }
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("sets a variable that cannot be: {}", quoted(name)));
            }
        }
        if env.values().any(|value| value.contains('\0')) {
            return Err("sets a variable to what cannot be one".to_owned());
        }
        match command.strip_prefix("./") {
            Some(_) => {
                within(Path::new(command), folder).map_err(|why| format!("has a `command` that {why}"))?
            }
            None if command.contains(['/', '\\']) || matches!(command, "" | "." | "..") => {
                let what = "has a `command` that is neither a name nor a path that begins with `./`";
                return Err(format!("{what}: {}", quoted(command)));
            }
            None => {}
        }
        let cwd = text(fields, "cwd")?;
        if let Some(cwd) = cwd {
            let of_data = ["${PLUGIN_DATA}"].iter().find_map(|it| cwd.strip_prefix(it));
            let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
            let of_root = cwd.strip_prefix("${PLUGIN_ROOT}").filter(|rest| below(rest));
            let checked = match (of_root, of_data.filter(|rest| below(rest))) {
                (Some(rest), _) => within(&Path::new(".").join(rest.trim_start_matches('/')), folder),
                // Nothing is there yet; where it leads is looked at when the server is started.
                (None, Some(rest)) => stays(Path::new(rest.trim_start_matches('/'))),
                (None, None) if cwd.starts_with("./") => within(Path::new(cwd), folder),
                (None, None) => Err(format!(
                    "begins neither with `./` nor with `${{PLUGIN_ROOT}}` or `${{PLUGIN_DATA}}`: {}",
                    quoted(cwd)
                )),
            };
            checked.map_err(|why| format!("has a `cwd` that {why}"))?;
        }
        let (command, cwd) = (command.to_owned(), cwd.map(str::to_owned));
        Ok(PackagedTransport::Stdio { command, args, env, cwd })
    }

    fn http(fields: &Map<String, Value>) -> Result<PackagedTransport, String> {
        let url = text(fields, "url")?.ok_or("has no `url`")?;
        let read = Url::parse(url).map_err(|error| format!("has a `url` that is none: {error}"))?;
        let is_near = match read.host() {
            Some(Host::Domain(host)) => host == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => return Err("has a `url` without a host".to_owned()),
        };
        match read.scheme() {
            "https" => {}
            "http" if is_near => {}
            "http" => return Err("has a `url` that is not protected on its way: it must be https".to_owned()),
            other => return Err(format!("has a `url` that is not of the web: {}", quoted(other))),
        }
        if !read.username().is_empty() || read.password().is_some() || read.fragment().is_some() {
            return Err("has a `url` with a user, a password or a `#` in it".to_owned());
        }
        let headers = texts(fields, "headers")?;
        let mut known = BTreeSet::new();
        for (name, value) in &headers {
            let is_header =
                HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok();
            if !is_header {
                return Err(format!("has a header that is none: {}", quoted(name)));
            }
            if !known.insert(name.to_ascii_lowercase()) {
                return Err(format!("has a header twice: {}", quoted(name)));
            }
        }
        Ok(PackagedTransport::Http { url: url.to_owned(), headers })
    }
}

fn text<'a>(fields: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, String> {
    match fields.get(field) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(Some(text)),
        Some(_) => Err(format!("has a `{field}` that is no text")),
    }
}

fn texts(fields: &Map<String, Value>, field: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("has `{field}` that is no object of texts");
    match fields.get(field) {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(values)) if values.len() <= MOST_ENTRIES => {
            let values = values.iter().map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            values.collect::<Option<_>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// Checks that a path below the folder stays there, by its words and, where something is there, by where that leads.
fn within(path: &Path, folder: &Path) -> Result<(), String> {
    stays(path)?;
    match fs::canonicalize(folder.join(plain(path))) {
        Ok(end) if !end.starts_with(folder) => Err(format!("leads out of the extension: {}", shown(path))),
        // One that is missing is told by whoever starts it.
        _ => Ok(()),
    }
}

fn stays(path: &Path) -> Result<(), String> {
    let mut depth = 0_i32;
    for part in path.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => depth = -1,
        }
        if depth < 0 {
            return Err(format!("leads out of the extension: {}", shown(path)));
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// The same path without `.` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Puts values in the place of `${NAME}`, once: what is put in is not looked at again, and all else stays as it is.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let named = values.iter().find_map(|(name, value)| {
            let behind = from[2..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, behind))
        });
        match named {
            Some((value, behind)) => {
                filled.push_str(value);
                rest = behind;
            }
            None => {
                filled.push_str("${");
                rest = &from[2..];
            }
        }
    }
    filled.push_str(rest);
    filled
}
