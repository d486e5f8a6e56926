//! How does one server's entry in a settings file change, while all else stays as its author left it?
//!
//! Comments, order and layout are kept. What would come of it is read once more by the reader of all settings: a file with
//! mistakes is not made, since nobody knows what is meant by one.

use std::path::Path;

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value as Json;

use super::{
    DaemonConfig, ServerOf, SettingLayer, TextPosition, decode,
    layer::{DIALECT, LARGEST_FILE, LayerReading, no_json},
    problem,
    project::ProjectSettings,
};
use protocol::{FileProblem, FileProblemCode, McpServerConfig, ProblemSeverity};

/// The section that has the entries.
const SERVERS: &str = "mcpServers";
/// What some editors put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is to become of the entry of this name.
pub enum ServerEdit<'a> {
    Put { name: &'a str, entry: &'a Json, over: bool },
    Remove { name: &'a str },
}

/// The reason why a file stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigEditError {
    /// It has another entry of this name.
    Exists,
    /// It has no entry of this name, but these.
    Missing(Vec<String>),
    /// With this, each an error.
    Mistaken(Vec<FileProblem>),
}

/// What the file at `path` says after the edit, which said `bytes` before. The same bytes, when it says so already.
pub fn edited(
    path: &Path,
    bytes: &[u8],
    of: ServerOf,
    edit: &ServerEdit<'_>,
) -> Result<Vec<u8>, ConfigEditError> {
    let mistaken = |found| ConfigEditError::Mistaken(vec![found]);
    let before = decode(path, bytes).map_err(mistaken)?;
    let root = CstRootNode::parse(before, &DIALECT).map_err(|error| mistaken(no_json(path, &error)))?;
    let wrong = |what: &str| {
        let (message, place) = (format!("{what}: expected an object"), TextPosition::at(before, 0));
        mistaken(problem(path, Some(place), FileProblemCode::WrongType, message))
    };
    let settings = match root.value() {
        None => root.object_value_or_set(),
        Some(CstNode::Container(_)) => root.object_value().ok_or_else(|| wrong("the file"))?,
        Some(_) => return Err(wrong("the file")),
    };
    let section =
        settings.get(SERVERS).map(|it| it.object_value().ok_or_else(|| wrong(SERVERS))).transpose()?;
    match *edit {
        ServerEdit::Put { name, entry, over } => {
            let servers = section.unwrap_or_else(|| settings.object_value_or_set(SERVERS));
            match servers.get(name) {
                Some(there) if there.to_serde_value().as_ref() == Some(entry) => return Ok(bytes.to_vec()),
                Some(_) if !over => return Err(ConfigEditError::Exists),
                Some(there) => there.set_value(input(entry)),
                None => drop(servers.append(name, input(entry))),
            }
        }
        ServerEdit::Remove { name } => {
            let names = section.as_ref().map(names).unwrap_or_default();
            let Some(servers) = section.filter(|_| names.iter().any(|it| it == name)) else {
                return Err(ConfigEditError::Missing(names));
            };
            // Of two with one name the first counts: the second must not come into its place.
            while let Some(there) = servers.get(name) {
                there.remove();
            }
        }
    }
    let text = root.to_string();
    check(path, &text, of, Some(edit)).map_err(|found| {
        // Where it is told is where a person looks for it: in the file as it is.
        check(path, before, of, None).err().unwrap_or(found)
    })?;
    let mut bytes = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
    bytes.extend(text.into_bytes());
    Ok(bytes)
}

/// The settings that name skills which are not used.
const SKILLS: (&str, &str) = ("skills", "disabled");

/// Answers what the user's file at `path` says, which said `bytes` before, once this skill is used or not. The same bytes, when it says
/// so already.
pub fn edited_skills(
    path: &Path,
    bytes: &[u8],
    name: &str,
    is_used: bool,
) -> Result<Vec<u8>, ConfigEditError> {
    let mistaken = |found| ConfigEditError::Mistaken(vec![found]);
    let before = decode(path, bytes).map_err(mistaken)?;
    let disabled = |text: &str| -> Result<Vec<String>, ConfigEditError> {
        let mut reading =
            LayerReading { config: DaemonConfig::default(), problems: Vec::new(), previous: None };
        reading.file_text(path, text, SettingLayer::User);
        reading.problems.retain(|problem| problem.severity == ProblemSeverity::Error);
        match reading.problems.is_empty() {
            true => Ok(reading.config.skills.disabled.value),
            false => Err(ConfigEditError::Mistaken(reading.problems)),
        }
    };
    let says_so = |names: &[String]| names.iter().any(|it| it == name) != is_used;
    if says_so(&disabled(before)?) {
        return Ok(bytes.to_vec());
    }
    let root = CstRootNode::parse(before, &DIALECT).map_err(|error| mistaken(no_json(path, &error)))?;
    let (section, list) = SKILLS;
    // A file that is read without errors is an object, and so is what it says of skills.
    let list = root.object_value_or_set().object_value_or_set(section).array_value_or_set(list);
    match is_used {
        false => drop(list.append(CstInputValue::String(name.to_owned()))),
        true => {
            let is_meant = |node: &CstNode| {
                node.to_serde_value().is_some_and(|it| it.as_str().is_some_and(|it| it.trim() == name))
            };
            list.elements().into_iter().filter(is_meant).for_each(CstNode::remove);
        }
    }
    let text = root.to_string();
    if !says_so(&disabled(&text)?) {
        let message = format!("`{}.{}` would not be read as it is meant", SKILLS.0, SKILLS.1);
        return Err(mistaken(problem(path, None, FileProblemCode::BadValue, message)));
    }
    let mut bytes = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
    bytes.extend(text.into_bytes());
    Ok(bytes)
}

/// Reads what would stand there, after the edit if there is one.
fn check(
    path: &Path,
    text: &str,
    of: ServerOf,
    edit: Option<&ServerEdit<'_>>,
) -> Result<(), ConfigEditError> {
    if LARGEST_FILE < text.len() as u64 {
        let message = format!("would be larger than {} KiB", LARGEST_FILE / 1024);
        return Err(ConfigEditError::Mistaken(vec![problem(path, None, FileProblemCode::TooLarge, message)]));
    }
    let (servers, mut problems) = match of {
        ServerOf::User => {
            let mut reading =
                LayerReading { config: DaemonConfig::default(), problems: Vec::new(), previous: None };
            reading.file_text(path, text, SettingLayer::User);
            (reading.config.mcp.servers.value, reading.problems)
        }
        ServerOf::Other => {
            let (settings, problems) = ProjectSettings::read(path, text.as_bytes());
            (settings.mcp_servers, problems)
        }
    };
    problems.retain(|problem| problem.severity == ProblemSeverity::Error);
    let has = |name: &str| -> Option<&McpServerConfig> { servers.get(name) };
    let is_done = match edit {
        None => true,
        Some(ServerEdit::Put { name, .. }) => has(name).is_some(),
        Some(ServerEdit::Remove { name }) => has(name).is_none(),
    };
    if problems.is_empty() && !is_done {
        let message = format!("`{SERVERS}` would not be read as it is meant");
        problems.push(problem(path, None, FileProblemCode::BadValue, message));
    }
    if problems.is_empty() { Ok(()) } else { Err(ConfigEditError::Mistaken(problems)) }
}

fn names(servers: &CstObject) -> Vec<String> {
    servers.properties().iter().filter_map(|property| property.decoded_name()).collect()
}

fn input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(flag) => CstInputValue::Bool(*flag),
        Json::Number(number) => CstInputValue::Number(number.to_string()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Json::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(text: &str, over: bool) -> Result<String, ConfigEditError> {
        let entry = json!({ "command": "docs", "args": ["-x", "1"], "env": { "A": "${A}" } });
        let edit = ServerEdit::Put { name: "docs", entry: &entry, over };
        edited(Path::new("s.json"), text.as_bytes(), ServerOf::User, &edit)
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn remove(text: &str) -> Result<String, ConfigEditError> {
        let edit = ServerEdit::Remove { name: "docs" };
        edited(Path::new("s.json"), text.as_bytes(), ServerOf::User, &edit)
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    const FILE: &str = "// mine\n{\n\t\"run\": {\"maxTurns\":   5}, // few\n\t/* servers */\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // first\n\t\t// the second\n\t\t\"b\": {\"url\": \"http://127.0.0.1:9/\"},\n\t},\n}\n";

    #[test]
    fn an_entry_comes_and_goes_and_the_rest_stays_as_it_was() {
        let with = put(FILE, false).unwrap();
        let added = "\t\t\"docs\": {\n\t\t\t\"command\": \"docs\",\n\t\t\t\"args\": [\"-x\", \"1\"],\n\t\t\t\"env\": {\n\t\t\t\t\"A\": \"${A}\",\n\t\t\t},\n\t\t},\n";
        assert!(with.contains(added), "{with}");
        for line in FILE.lines() {
            assert!(with.contains(line), "{line} is not in {with}");
        }
        assert_eq!(put(&with, false).unwrap(), with);
        assert_eq!(remove(&with).unwrap(), FILE);
        let one = "{\"mcpServers\": {\"docs\": {\"command\": \"other\"}}} // end";
        assert_eq!(put(one, false), Err(ConfigEditError::Exists));
        assert!(put(one, true).unwrap().ends_with("}} // end"));
        assert!(remove(one).unwrap().starts_with("{\"mcpServers\": {}}"));
    }

    #[test]
    fn a_file_without_the_section_gets_it() {
        for text in ["", "// nothing yet\n", "{}", "{ \"run\": { \"maxTurns\": 5 } }", "\u{feff}{}\r\n"] {
            let with = put(text, false).unwrap();
            assert!(with.contains("\"mcpServers\""), "{with}");
            assert_eq!(with.contains("nothing yet"), text.contains("nothing yet"), "{with}");
            assert_eq!(with.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            assert!(remove(&with).is_ok());
            assert_eq!(remove(text), Err(ConfigEditError::Missing(Vec::new())));
        }
    }

    #[test]
    fn a_file_with_mistakes_stays_as_it_is() {
        for text in [
            "[]",
            "7",
            "{\"mcpServers\": []}",
            "{\"run\": {\"maxTurns\": \"many\"}}",
            "{\"mcpServers\": {\"a\": {}}}",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "{\"run\": ",
            "{'run': 1}",
        ] {
            let Err(ConfigEditError::Mistaken(problems)) = put(text, true) else { panic!("{text}") };
            assert!(problems.iter().all(|problem| problem.line.is_some()), "{text}: {problems:?}");
        }
        // The mistaken one can be taken away, also twice.
        assert_eq!(remove("{\"mcpServers\": {\"docs\": {}}}").unwrap(), "{\"mcpServers\": {}}");
        let twice = "{\"mcpServers\": {\"docs\": {\"command\": \"a\"}, \"docs\": {\"command\": \"b\"}}}";
        assert_eq!(remove(twice).unwrap(), "{\"mcpServers\": {}}");
        let Err(ConfigEditError::Missing(names)) = remove("{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}")
        else {
            panic!()
        };
        assert_eq!(names, ["a"]);
    }
}
