//! Is a hook about this very call? Its `if` is one permission rule, as Claude Code writes them.
//!
//! Whatever cannot be told counts as yes: a hook that runs once more does no harm, a guard that does not run may.

use std::path::{Path, PathBuf};

use regex_automata::meta;
use serde_json::Value;
use url::Url;

use self::{files::FilePattern, touched::TouchedPaths};
use super::{HookedCall, tool_names};
use protocol::{CommandWord, ResourceAccess, ShellCommand};
use shell::ShellEnvironment;

mod files;
mod touched;

/// Longest rule, in bytes.
const MOST_TEXT_BYTES: usize = 4 * 1024;

/// The folders by which paths of calls, and of patterns, are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledWithin<'a> {
    /// The workspace's; relative paths of calls begin in the first one.
    pub roots: &'a [PathBuf],
    /// The folder that `~` means.
    pub home: &'a Path,
}

impl CalledWithin<'_> {
    fn first(&self) -> &Path {
        self.roots.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// One permission rule: `Bash(git *)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__github__*`.
#[derive(Debug, Clone)]
pub struct HookCondition {
    text: String,
    /// May have `*`.
    tool: String,
    about: Option<CallPattern>,
}

#[derive(Debug, Clone)]
enum CallPattern {
    /// A command, compared as a line of words.
    Command(WildcardPattern),
    /// A file.
    File(FilePattern),
    /// Pages of this host and of those below.
    Host(String),
    /// An agent's name.
    Agent(String),
    /// It means something that only its own product knows.
    Unknown,
}

/// A text in which `*` stands for anything.
#[derive(Debug, Clone)]
struct WildcardPattern(Box<meta::Regex>);

impl HookCondition {
    /// Reads a rule; why it is none.
    pub(super) fn read(text: &str) -> Result<HookCondition, String> {
        let trimmed = text.trim();
        if trimmed.is_empty() || MOST_TEXT_BYTES < text.len() {
            return Err("is empty or too long".to_owned());
        }
        let (tool, about) = match trimmed.split_once('(') {
            None if trimmed.contains(')') => return Err("has a `)` without a `(`".to_owned()),
            None => (trimmed, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(about) => (tool.trim(), Some(about.trim())),
                None => return Err("has a `(` without a `)` at its end".to_owned()),
            },
        };
        if about.is_some_and(is_joined) {
            return Err("has more than one rule: write a hook for each".to_owned());
        }
        let is_name = |letter: char| letter.is_alphanumeric() || "_-.*:/".contains(letter);
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err("does not begin with the name of a tool".to_owned());
        }
        let about = match about {
            None | Some("" | "*" | "**" | ":*") => None,
            Some(about) => Some(CallPattern::read(&tool_names::ours(tool), about)?),
        };
        Ok(HookCondition { text: text.to_owned(), tool: tool.to_owned(), about })
    }

    /// True if what stands in the brackets is not understood, so that it means all calls of the tool.
    pub(super) fn is_unclear(&self) -> bool {
        matches!(self.about, Some(CallPattern::Unknown))
    }

    /// The same as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the tool in front of the brackets, as it was written; it may have a `*`.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// True if it is about the call.
    pub(super) fn matches(&self, call: &HookedCall, within: &CalledWithin<'_>) -> bool {
        self.is_of_tool(call) && self.about.as_ref().is_none_or(|about| about.matches(call, within))
    }

    /// True if it may be about this page of a call that reads several.
    pub(super) fn may_mean_page(&self, page: &str) -> bool {
        match &self.about {
            Some(CallPattern::Host(host)) => is_host_meant(host, page),
            _ => true,
        }
    }

    /// True if it is about calls of this tool, whatever their arguments.
    pub(super) fn is_of_tool(&self, call: &HookedCall) -> bool {
        let names = tool_names::names(call);
        match self.tool.split_once('*') {
            Some((beginning, _)) => names.iter().any(|name| name.starts_with(beginning)),
            None => {
                names.iter().any(|name| is_named(&self.tool, name))
                    || means(&tool_names::ours(&self.tool), call)
            }
        }
    }
}

/// A rule about editing is about every tool that writes files, and one about reading about every tool that reads them: the ones that are
/// known to, and whichever call was prepared as one that does. What a command or a server's tool touches no rule about files means.
/// A new tool that reads or writes files belongs in these lists: where another hook changed the arguments, its accesses are not known.
fn means(ours: &str, call: &HookedCall) -> bool {
    const EDITING: &[&str] = &["edit_file", "write_file", "move_file", "delete_file", "save_memory"];
    const READING: &[&str] = &["read_file", "read_many_files", "grep", "glob", "list_directory"];
    let is_unknown = |access: &ResourceAccess| {
        matches!(access, ResourceAccess::Execute { .. } | ResourceAccess::Opaque { .. })
    };
    let touches = |is_meant: fn(&ResourceAccess) -> bool| {
        call.accesses.iter().any(is_meant) && !call.accesses.iter().any(is_unknown)
    };
    let tool = call.tool.as_str();
    match ours {
        "edit_file" => {
            EDITING.contains(&tool) || touches(|access| matches!(access, ResourceAccess::Write { .. }))
        }
        "read_file" => {
            READING.contains(&tool) || touches(|access| matches!(access, ResourceAccess::Read { .. }))
        }
        _ => false,
    }
}

/// `mcp__github` means every tool of the server.
pub(super) fn is_named(rule: &str, name: &str) -> bool {
    let is_of_server =
        || rule.starts_with("mcp__") && name.strip_prefix(rule).is_some_and(|rest| rest.starts_with("__"));
    rule == name || is_of_server()
}

impl CallPattern {
    fn read(tool: &str, about: &str) -> Result<CallPattern, String> {
        Ok(match tool {
            "run_shell_command" => {
                // `git:*` is the older way of writing `git *`.
                let text = match about.strip_suffix(":*") {
                    Some(beginning) => format!("{beginning} *"),
                    None => about.to_owned(),
                };
                let is_expression = text.contains('\\') || text.starts_with('^') || text.ends_with('$');
                let is_foreign = is_quoted(&text) || is_expression || names_field(&text);
                match is_foreign || text.starts_with('/') && text.ends_with('/') {
                    true => CallPattern::Unknown,
                    false => CallPattern::Command(WildcardPattern::of_command(&text)?),
                }
            }
            "read_file" | "write_file" | "edit_file" | "glob" | "grep" | "list_directory" => {
                FilePattern::read(about)?.map_or(CallPattern::Unknown, CallPattern::File)
            }
            "web_fetch" => match about.strip_prefix("domain:") {
                Some(host) => {
                    // Of an address its host counts; `*.` says what holds anyway.
                    let host = host.trim();
                    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
                    let host = host.strip_prefix("*.").unwrap_or(host);
                    let plain = host_of(&format!("https://{host}")).filter(|host| !host.contains('*'));
                    plain.map_or(CallPattern::Unknown, CallPattern::Host)
                }
                None => CallPattern::Unknown,
            },
            "Agent" | "Task" => CallPattern::Agent(about.to_owned()),
            _ => CallPattern::Unknown,
        })
    }

    fn matches(&self, call: &HookedCall, within: &CalledWithin<'_>) -> bool {
        match self {
            CallPattern::Unknown => true,
            CallPattern::Command(pattern) => {
                let command = call.arguments.get("command").and_then(Value::as_str);
                command.is_none_or(|command| pattern.matches_command(command, within))
            }
            CallPattern::File(pattern) => TouchedPaths::of(call).are_met_by(pattern, within),
            CallPattern::Host(host) => {
                let is_meant = |url: &str| is_host_meant(host, url);
                call.accesses.iter().any(|access| match access {
                    ResourceAccess::Fetch { url } => is_meant(url),
                    _ => false,
                }) || urls_in(&call.arguments).iter().any(|url| is_meant(url))
            }
            CallPattern::Agent(agent) => {
                call.answered_by.as_ref().is_none_or(|answered_by| answered_by.as_str() == agent)
            }
        }
    }
}

/// True if brackets close before they open: `Edit(*.ts)|Write(*.ts)` has two rules.
fn is_joined(about: &str) -> bool {
    let mut depth = 0_i32;
    about.chars().any(|letter| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth < 0
    })
}

/// True if quotes stand around a whole pattern, which no command and no path has.
fn is_quoted(about: &str) -> bool {
    let quotes = ['"', '\'', '`'];
    quotes.iter().any(|quote| 1 < about.len() && about.starts_with(*quote) && about.ends_with(*quote))
}

/// True if a field of a call stands before the pattern, as other products write it: `command:git *`, `file_path=*.ts`.
fn names_field(about: &str) -> bool {
    const FIELDS: &[&str] =
        &["command", "cmd", "regex", "glob", "pattern", "file_path", "filepath", "path", "file"];
    let word = about.split_once([':', '=']).map(|(word, _)| word.trim());
    word.is_some_and(|word| FIELDS.contains(&word))
}

/// The commands that a pattern with bars or commas may name each by itself. A bar with blanks on both sides is a pipe.
fn alternatives(text: &str) -> Vec<&str> {
    let is_command = |part: &&str| part.starts_with(char::is_alphabetic);
    let parts = |separator: char| -> Vec<&str> {
        let parts: Vec<&str> = text.split(separator).map(str::trim).collect();
        let all = 1 < parts.len() && parts.iter().all(is_command) && parts.iter().any(|it| it.contains('*'));
        if all { parts } else { Vec::new() }
    };
    let is_pipe = text.contains(" | ") || text.contains("||");
    let by_bars = if is_pipe { Vec::new() } else { parts('|') };
    by_bars.into_iter().chain(parts(',')).collect()
}

/// True if the address is of this host or of one below it, or if its host cannot be told.
fn is_host_meant(host: &str, url: &str) -> bool {
    host_of(url).is_none_or(|found| found == host || found.ends_with(&format!(".{host}")))
}

/// Every address that stands in a call's arguments, also within a text.
fn urls_in(arguments: &Value) -> Vec<String> {
    let text = arguments.to_string();
    let rests = text.split("://").skip(1);
    rests
        .map(|rest| {
            let end = rest.find(|letter: char| "\"\\ ,<>)]}".contains(letter)).unwrap_or(rest.len());
            format!("https://{}", &rest[..end])
        })
        .collect()
}

/// The host of an address as it is asked for, however it was spelled: in lower case, in ASCII, without a dot at its end. `None` = it cannot be
/// told.
fn host_of(url: &str) -> Option<String> {
    let read = Url::parse(url).ok()?;
    let host = read.host_str()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

impl WildcardPattern {
    fn of(expression: &str) -> Result<WildcardPattern, String> {
        let built = meta::Regex::new(expression).map_err(|_| "has too many wildcards".to_owned())?;
        Ok(WildcardPattern(Box::new(built)))
    }

    /// `git *` means `git` alone, too.
    fn of_command(text: &str) -> Result<WildcardPattern, String> {
        let expression = |text: &str| {
            let (beginning, end) = match text.strip_suffix(" *") {
                Some(beginning) => (beginning, "( .*)?"),
                None => (text, ""),
            };
            let parts: Vec<String> = beginning.split('*').map(regex_syntax::escape).collect();
            format!("{}{end}", parts.join(".*"))
        };
        // `git *|rm *` may be meant as both, and as one line.
        let alternatives = alternatives(text).into_iter().map(expression);
        let all: Vec<String> = [expression(text)].into_iter().chain(alternatives).collect();
        WildcardPattern::of(&format!("(?s)^(?:{})$", all.join("|")))
    }

    fn matches_command(&self, text: &str, within: &CalledWithin<'_>) -> bool {
        let around = ShellEnvironment {
            directory: within.first(),
            home: Some(within.home),
            roots: within.roots,
            autorun: &[],
            guarded: &[],
            secret: &[],
            resolve: &|path| path.to_owned(),
            entries: &|_| None,
            is_wanted: &|| true,
        };
        let read = shell::read(text, &around);
        read.unknown.is_some()
            || self.0.is_match(text.trim())
            || read.commands.iter().any(|it| self.may_be(it))
    }

    /// True if it is, or may be, this command: what only running it tells may be anything.
    fn may_be(&self, command: &ShellCommand) -> bool {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        let is_known = command.words.iter().all(|word| word.known().is_some());
        let program = command.words.first().and_then(CommandWord::known);
        let base = program.and_then(|program| program.rsplit('/').next());
        let by_base = base.map(|base| [&[base], words.get(1..).unwrap_or_default()].concat().join(" "));
        !is_known || self.0.is_match(&words.join(" ")) || by_base.is_some_and(|text| self.0.is_match(&text))
    }
}

#[cfg(test)]
mod tests;
