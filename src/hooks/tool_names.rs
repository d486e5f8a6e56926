//! What do other products call our tools and their arguments, and how are changed arguments read back?
//!
//! One row a tool. Hooks of Claude Code and Codex read Claude Code's names, those of Gemini CLI Gemini's. What has no row
//! keeps its name and arguments; a tool of an MCP server is `mcp__SERVER__TOOL` everywhere.

use std::{borrow::Cow, path::Path};

use serde_json::{Map, Value, json};

pub(super) use self::elsewhere::is_elsewhere;
use super::{HookContract, HookedCall};
use protocol::TOOL_ALIASES;
use sys::lexical::lexical;

mod edits;
mod elsewhere;
mod pages;

pub(super) use pages::{pages_of, rebased};

/// One argument, in our words and in theirs.
struct ArgumentRow {
    ours: &'static str,
    theirs: &'static str,
    shape: ArgumentShape,
}

/// The way in which a value is written by the other side.
#[derive(Clone, Copy)]
enum ArgumentShape {
    Same,
    /// Theirs is absolute.
    Path,
    /// Several of them, or patterns of such.
    Paths,
    /// Ours in seconds, theirs in milliseconds.
    Milliseconds,
    /// Ours counts lines that are skipped, theirs the first line.
    FirstLine,
    /// Ours says the contrary.
    Not,
    /// One of several words: `filesWithMatches` is `files_with_matches` there.
    Words,
    /// Replacements of one file, each with names of theirs.
    Edits,
    /// Todo entries: our `text` is their `content`, and they have an `activeForm`.
    Todos,
}

use ArgumentShape::{Edits, FirstLine, Milliseconds, Not, Path as PathShape, Paths, Same, Todos, Words};

/// Fields of one replacement, ours and theirs.
const EDIT_FIELDS: &[(&str, &str)] = &[
    ("oldString", "old_string"),
    ("newString", "new_string"),
    ("replaceAll", "replace_all"),
    ("expectedReplacements", "expected_replacements"),
];

/// Words that differ, ours and theirs.
const WORDS: &[(&str, &str)] = &[("filesWithMatches", "files_with_matches")];

const fn row(ours: &'static str, theirs: &'static str, shape: ArgumentShape) -> ArgumentRow {
    ArgumentRow { ours, theirs, shape }
}

/// A tool of ours, its name elsewhere, and its arguments that have another name or shape there.
type ToolRow = (&'static str, &'static str, &'static [ArgumentRow]);

/// Arguments of tools of ours alone, which keep their names.
const INCLUDED: &[ArgumentRow] = &[row("include", "include", Paths)];
const MOVED: &[ArgumentRow] = &[row("from", "from", PathShape), row("to", "to", PathShape)];
const DELETED: &[ArgumentRow] = &[row("path", "path", PathShape)];
const COMMITTED: &[ArgumentRow] = &[row("paths", "paths", Paths)];

/// Every name under which a built-in tool is known, as people write it.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    CLAUDE.iter().map(|(_, theirs, _)| *theirs).chain(protocol::BUILTIN_TOOLS.iter().copied())
}

const CLAUDE: &[ToolRow] = &[
    (
        "run_shell_command",
        "Bash",
        &[
            row("timeoutSeconds", "timeout", Milliseconds),
            row("background", "run_in_background", Same),
            row("directory", "directory", PathShape),
        ],
    ),
    ("read_file", "Read", &[row("path", "file_path", PathShape), row("offset", "offset", FirstLine)]),
    ("write_file", "Write", &[row("path", "file_path", PathShape)]),
    (
        "edit_file",
        "Edit",
        &[
            row("path", "file_path", PathShape),
            row("oldString", "old_string", Same),
            row("newString", "new_string", Same),
            row("replaceAll", "replace_all", Same),
            row("expectedReplacements", "expected_replacements", Same),
            row("edits", "edits", Edits),
        ],
    ),
    ("glob", "Glob", &[row("path", "path", PathShape)]),
    (
        "grep",
        "Grep",
        &[
            row("path", "path", PathShape),
            row("include", "glob", Same),
            row("caseSensitive", "-i", Not),
            row("context", "-C", Same),
            row("before", "-B", Same),
            row("after", "-A", Same),
            row("maxMatches", "head_limit", Same),
            row("outputMode", "output_mode", Words),
        ],
    ),
    ("list_directory", "LS", &[row("path", "path", PathShape)]),
    ("web_search", "WebSearch", &[]),
    ("web_fetch", "WebFetch", &[]),
    ("write_todos", "TodoWrite", &[row("todos", "todos", Todos)]),
    ("ask_user", "AskUserQuestion", &[]),
    ("present_plan", "ExitPlanMode", &[]),
    ("shell_output", "BashOutput", &[row("id", "bash_id", Same)]),
    ("kill_shell", "KillShell", &[row("id", "shell_id", Same)]),
    ("read_many_files", "read_many_files", INCLUDED),
    ("move_file", "move_file", MOVED),
    ("delete_file", "delete_file", DELETED),
    ("git_commit", "git_commit", COMMITTED),
];

const GEMINI: &[ToolRow] = &[
    ("run_shell_command", "run_shell_command", &[row("directory", "dir_path", PathShape)]),
    ("read_file", "read_file", &[row("path", "file_path", PathShape)]),
    ("write_file", "write_file", &[row("path", "file_path", PathShape)]),
    (
        "edit_file",
        "replace",
        &[
            row("path", "file_path", PathShape),
            row("oldString", "old_string", Same),
            row("newString", "new_string", Same),
            row("replaceAll", "replace_all", Same),
            row("expectedReplacements", "expected_replacements", Same),
            row("edits", "edits", Edits),
        ],
    ),
    ("glob", "glob", &[row("path", "dir_path", PathShape)]),
    ("grep", "grep_search", &[row("path", "dir_path", PathShape)]),
    ("list_directory", "list_directory", &[row("path", "dir_path", PathShape)]),
    ("web_search", "google_web_search", &[]),
    ("web_fetch", "web_fetch", &[]),
    ("write_todos", "write_todos", &[row("todos", "todos", Todos)]),
    ("ask_user", "ask_user", &[]),
    ("save_memory", "save_memory", &[]),
    ("read_many_files", "read_many_files", INCLUDED),
    ("move_file", "move_file", MOVED),
    ("delete_file", "delete_file", DELETED),
    ("git_commit", "git_commit", COMMITTED),
];

/// A call in the words of another product.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ForeignCall {
    pub name: String,
    pub arguments: Value,
}

fn table(contract: HookContract) -> &'static [ToolRow] {
    match contract {
        HookContract::Claude | HookContract::Codex => CLAUDE,
        HookContract::Gemini => GEMINI,
    }
}

/// The call as hooks of a contract are told it. `root`: where relative paths begin.
pub(super) fn shown(call: &HookedCall, contract: HookContract, root: &Path) -> ForeignCall {
    if let Some((server, tool)) = &call.mcp {
        return ForeignCall { name: format!("mcp__{server}__{tool}"), arguments: call.arguments.clone() };
    }
    if let Some(agent) = &call.answered_by {
        return shown_agent(call, agent.as_str());
    }
    let tool = call.tool.as_str();
    let Some((_, name, rows)) = table(contract).iter().find(|(ours, ..)| *ours == tool) else {
        return ForeignCall { name: tool.to_owned(), arguments: call.arguments.clone() };
    };
    let Value::Object(ours) = &call.arguments else {
        return ForeignCall { name: (*name).to_owned(), arguments: call.arguments.clone() };
    };
    let ours = if tool == "edit_file" { edits::plain(ours) } else { Cow::Borrowed(ours) };
    let mut theirs = Map::new();
    for (key, value) in ours.iter() {
        match rows.iter().find(|row| row.ours == key) {
            Some(row) => theirs.insert(row.theirs.to_owned(), row.shape.shown(value, root)),
            None => theirs.insert(key.clone(), value.clone()),
        };
    }
    let is_claude = contract != HookContract::Gemini;
    let mut name = (*name).to_owned();
    match tool {
        "edit_file" if theirs.contains_key("edits") => {
            edits::show_texts(&mut theirs);
            if is_claude {
                "MultiEdit".clone_into(&mut name);
            }
        }
        // What is usual there is another output than what is usual here.
        "grep" if is_claude => {
            theirs.entry("output_mode").or_insert_with(|| json!("content"));
            theirs.entry("-i").or_insert_with(|| json!(true));
        }
        "web_fetch" if is_claude => pages::show(&mut theirs, call),
        _ => {}
    }
    ForeignCall { name, arguments: Value::Object(theirs) }
}

/// A call that an agent answers: `Agent` with its prompt.
fn shown_agent(call: &HookedCall, agent: &str) -> ForeignCall {
    let mut arguments = match &call.arguments {
        Value::Object(map) => map.clone(),
        other => Map::from_iter([("input".to_owned(), other.clone())]),
    };
    arguments.entry("subagent_type").or_insert_with(|| json!(agent));
    arguments.entry("description").or_insert_with(|| json!(agent));
    if !arguments.contains_key("prompt") {
        let prompt = ["query", "task", "objective"].iter().find_map(|key| arguments.get(*key)?.as_str());
        let prompt = prompt.map_or_else(|| call.arguments.to_string(), str::to_owned);
        arguments.insert("prompt".to_owned(), json!(prompt));
    }
    ForeignCall { name: "Agent".to_owned(), arguments: Value::Object(arguments) }
}

/// Our arguments, where a hook gave others in its words. `merges`: only what it names is changed. What it left as it was told
/// stays as the model wrote it.
pub(super) fn read_back(
    call: &HookedCall,
    contract: HookContract,
    root: &Path,
    given: &Value,
    merges: bool,
) -> Result<Value, String> {
    let Value::Object(given) = given else {
        return Err("changed arguments are no object".to_owned());
    };
    let told = shown(call, contract, root);
    let Value::Object(told_arguments) = &told.arguments else {
        return Ok(Value::Object(given.clone()));
    };
    let mut theirs = if merges { told_arguments.clone() } else { Map::new() };
    theirs.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    let is_of_pages = call.tool.as_str() == "web_fetch" && contract != HookContract::Gemini;
    if is_of_pages {
        pages::keep_others(&mut theirs, call, told_arguments)?;
    }
    if theirs == *told_arguments {
        return Ok(call.arguments.clone());
    }
    let empty = Map::new();
    let original = call.arguments.as_object().unwrap_or(&empty);
    let original =
        &*if call.tool.as_str() == "edit_file" { edits::plain(original) } else { Cow::Borrowed(original) };
    if call.mcp.is_some() {
        return Ok(Value::Object(theirs));
    }
    if call.answered_by.is_some() {
        return Ok(Value::Object(agent_read_back(theirs, told_arguments, original)));
    }
    let tool = call.tool.as_str();
    let rows = table(contract).iter().find(|(ours, ..)| *ours == tool).map_or(&[][..], |(.., rows)| rows);
    let mut ours = Map::new();
    for (key, value) in &theirs {
        let row = rows.iter().find(|row| row.theirs == key);
        let name = row.map_or(key.as_str(), |row| row.ours);
        let is_as_told = told_arguments.get(key) == Some(value);
        match original.get(name) {
            Some(before) if is_as_told => ours.insert(name.to_owned(), before.clone()),
            // It was made for them and is not ours.
            None if is_as_told => None,
            _ => match row {
                Some(row) => ours.insert(name.to_owned(), row.shape.read(value)?),
                None => ours.insert(name.to_owned(), value.clone()),
            },
        };
    }
    if is_of_pages {
        pages::read_back(&mut ours, told_arguments)?;
    }
    if tool == "run_shell_command" {
        // Words of theirs that mean nothing here.
        ours.remove("dangerouslyDisableSandbox");
    }
    Ok(Value::Object(ours))
}

/// Arguments of a call that a hook thought of itself. `tool`: in our words.
pub(super) fn in_our_words(tool: &str, contract: HookContract, given: &Value) -> Result<Value, String> {
    let Value::Object(given) = given else {
        return Err("its arguments are no object".to_owned());
    };
    let rows = table(contract).iter().find(|(ours, ..)| *ours == tool).map_or(&[][..], |(.., rows)| rows);
    let mut ours = Map::new();
    for (key, value) in given {
        match rows.iter().find(|row| row.theirs == key) {
            Some(row) => ours.insert(row.ours.to_owned(), row.shape.read(value)?),
            None => ours.insert(key.clone(), value.clone()),
        };
    }
    Ok(Value::Object(ours))
}

/// `prompt` goes back to where it came from; what was made for them goes.
fn agent_read_back(
    mut theirs: Map<String, Value>,
    told: &Map<String, Value>,
    original: &Map<String, Value>,
) -> Map<String, Value> {
    for made in ["subagent_type", "description", "prompt"] {
        if original.contains_key(made) {
            continue;
        }
        let Some(value) = theirs.remove(made) else { continue };
        let source = ["query", "task", "objective"].iter().find(|key| original.contains_key(**key));
        if let Some(source) = source.filter(|_| made == "prompt" && told.get(made) != Some(&value)) {
            theirs.insert((*source).to_owned(), value);
        }
    }
    theirs
}

/// Every name by which a matcher or an `if` may mean the call.
pub(super) fn names(call: &HookedCall) -> Vec<String> {
    let tool = call.tool.as_str();
    let mut names = Vec::new();
    if let Some((server, own)) = &call.mcp {
        names.push(format!("mcp__{server}__{own}"));
        names.push(format!("mcp_{server}_{own}"));
    } else if let Some(agent) = &call.answered_by {
        names.extend(["Agent".to_owned(), "Task".to_owned(), agent.as_str().to_owned()]);
    } else {
        for table in [CLAUDE, GEMINI] {
            names.extend(
                table.iter().filter(|(ours, ..)| *ours == tool).map(|(_, name, _)| (*name).to_owned()),
            );
        }
        let aliases = TOOL_ALIASES.iter().filter(|(_, ours)| *ours == tool);
        names.extend(aliases.map(|(alias, _)| (*alias).to_owned()));
    }
    names.push(tool.to_owned());
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// Our name of a tool that a hook names in its words.
pub(super) fn ours(name: &str) -> String {
    let mut rows = CLAUDE.iter().chain(GEMINI);
    let by_row = rows.find(|(_, theirs, _)| *theirs == name).map(|(ours, ..)| *ours);
    let by_alias = || protocol::aliased_tool(name);
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        return format!("mcp.{server}.{tool}");
    }
    by_row.or_else(by_alias).unwrap_or(name).to_owned()
}

impl ArgumentShape {
    fn shown(self, value: &Value, root: &Path) -> Value {
        match (self, value) {
            (PathShape, Value::String(path)) => json!(absolute(path, root)),
            (Paths, Value::Array(paths)) => {
                let shown =
                    |path: &Value| path.as_str().map_or_else(|| path.clone(), |it| json!(absolute(it, root)));
                paths.iter().map(shown).collect()
            }
            (Milliseconds, Value::Number(seconds)) => {
                seconds.as_f64().map_or_else(|| value.clone(), |seconds| number(seconds * 1_000.0))
            }
            (FirstLine, Value::Number(skipped)) => {
                skipped.as_u64().map_or_else(|| value.clone(), |skipped| json!(skipped.saturating_add(1)))
            }
            (Not, Value::Bool(is)) => json!(!is),
            (Words, Value::String(word)) => json!(renamed(word, WORDS.iter().copied())),
            (Edits, Value::Array(edits)) => {
                edits.iter().map(|edit| with_names(edit, EDIT_FIELDS.iter().copied())).collect()
            }
            (Todos, Value::Array(todos)) => Value::Array(todos.iter().map(shown_todo).collect()),
            _ => value.clone(),
        }
    }

    fn read(self, value: &Value) -> Result<Value, String> {
        Ok(match (self, value) {
            (Milliseconds, Value::Number(milliseconds)) => match milliseconds.as_f64() {
                Some(milliseconds) => number(milliseconds / 1_000.0),
                None => return Err("`timeout` is no number of milliseconds".to_owned()),
            },
            (FirstLine, Value::Number(first)) => match first.as_u64() {
                Some(first) => json!(first.saturating_sub(1)),
                None => value.clone(),
            },
            (Not, Value::Bool(is)) => json!(!is),
            (Words, Value::String(word)) => {
                json!(renamed(word, WORDS.iter().map(|(ours, theirs)| (*theirs, *ours))))
            }
            (Edits, Value::Array(edits)) => {
                let back = || EDIT_FIELDS.iter().map(|(ours, theirs)| (*theirs, *ours));
                edits.iter().map(|edit| with_names(edit, back())).collect()
            }
            (Todos, Value::Array(todos)) => Value::Array(todos.iter().map(read_todo).collect()),
            _ => value.clone(),
        })
    }
}

/// A path without `.`, `..` and doubled slashes, as the tools take it: scripts that look where a path begins would pass over them. Behind a
/// wildcard no tool takes `..`.
fn absolute(path: &str, root: &Path) -> String {
    lexical(&root.join(path)).to_string_lossy().into_owned()
}

/// Without a fraction where there is none, so that schemas that want whole numbers take it.
fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && (0.0..9e15).contains(&value);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and small")]
    if is_whole { json!(value as u64) } else { json!(value) }
}

/// The other word for one of a list of pairs, else itself.
fn renamed<'a>(word: &'a str, mut pairs: impl Iterator<Item = (&'a str, &'a str)>) -> &'a str {
    pairs.find(|(from, _)| *from == word).map_or(word, |(_, to)| to)
}

fn with_names<'a>(value: &'a Value, pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let named = fields.iter().map(|(key, value)| (renamed(key, pairs.clone()).to_owned(), value.clone()));
    Value::Object(named.collect())
}

fn shown_todo(todo: &Value) -> Value {
    let Value::Object(fields) = todo else { return todo.clone() };
    let mut shown = Map::new();
    for (key, value) in fields {
        let name = if key == "text" { "content" } else { key.as_str() };
        shown.insert(name.to_owned(), value.clone());
    }
    if let Some(content) = shown.get("content").cloned() {
        shown.entry("activeForm").or_insert(content);
    }
    Value::Object(shown)
}

fn read_todo(todo: &Value) -> Value {
    let Value::Object(fields) = todo else { return todo.clone() };
    let kept = fields.iter().filter(|(key, _)| *key != "activeForm");
    let renamed = kept.map(|(key, value)| {
        let name = if key == "content" { "text" } else { key.as_str() };
        (name.to_owned(), value.clone())
    });
    Value::Object(renamed.collect())
}

#[cfg(test)]
mod tests;
