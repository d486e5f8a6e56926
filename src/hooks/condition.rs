//! Is a hook about this very call? Its `if` is one permission rule, as Claude Code writes them.
//!
//! Whatever cannot be told counts as yes: a hook that runs once more does no harm, a guard that does not run may.

use std::path::{Component, Path, PathBuf};

use regex_automata::meta;
use serde_json::Value;

use super::{HookedCall, tool_names};
use protocol::{CommandWord, ShellCommand};
use shell::ShellEnvironment;
use sys::guarded::ResolvedPath;

/// Longest rule, in bytes.
const MOST_TEXT_BYTES: usize = 4 * 1024;

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

#[derive(Debug, Clone)]
struct FilePattern {
    expression: WildcardPattern,
    place: FilePlace,
    /// A name alone, which means files of it in any folder.
    is_anywhere: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePlace {
    /// Compared with the whole path.
    Absolute,
    /// Compared with the path below the home.
    Home,
    /// Compared with the path below the first root.
    Root,
}

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

    /// The same as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it is about the call; `root`: the first root; `home`: what `~` means.
    pub(super) fn matches(&self, call: &HookedCall, root: &Path, home: &Path) -> bool {
        self.is_of_tool(call) && self.about.as_ref().is_none_or(|about| about.matches(call, root, home))
    }

    /// True if it is about calls of this tool, whatever their arguments.
    pub(super) fn is_of_tool(&self, call: &HookedCall) -> bool {
        let names = tool_names::names(call);
        match self.tool.split_once('*') {
            Some((beginning, _)) => names.iter().any(|name| name.starts_with(beginning)),
            None => {
                names.iter().any(|name| is_named(&self.tool, name))
                    || means(&tool_names::ours(&self.tool), call.tool.as_str())
            }
        }
    }
}

/// A rule about editing is about every tool that writes files, and one about reading about every tool that reads them.
fn means(ours: &str, tool: &str) -> bool {
    const EDITING: &[&str] = &["edit_file", "write_file", "move_file", "delete_file"];
    const READING: &[&str] = &["read_file", "read_many_files", "grep", "glob", "list_directory"];
    let all = match ours {
        "edit_file" => EDITING,
        "read_file" => READING,
        _ => return false,
    };
    all.contains(&tool)
}

/// `mcp__github` means every tool of the server.
fn is_named(rule: &str, name: &str) -> bool {
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
                CallPattern::Command(WildcardPattern::of_command(&text)?)
            }
            "read_file" | "write_file" | "edit_file" | "glob" | "grep" | "list_directory" => {
                CallPattern::File(FilePattern::read(about)?)
            }
            "web_fetch" => match about.strip_prefix("domain:") {
                Some(host) => CallPattern::Host(host.trim().to_ascii_lowercase()),
                None => CallPattern::Unknown,
            },
            "Agent" | "Task" => CallPattern::Agent(about.to_owned()),
            _ => CallPattern::Unknown,
        })
    }

    fn matches(&self, call: &HookedCall, root: &Path, home: &Path) -> bool {
        match self {
            CallPattern::Unknown => true,
            CallPattern::Command(pattern) => {
                let command = call.arguments.get("command").and_then(Value::as_str);
                command.is_none_or(|command| pattern.matches_command(command, root, home))
            }
            CallPattern::File(pattern) => {
                let paths = paths_of(&call.arguments);
                // Some tools look at the root where they are told none; a pattern of files may mean any.
                paths.is_empty()
                    || paths
                        .iter()
                        .any(|path| path.contains(['*', '?', '[', '{']) || pattern.matches(path, root, home))
            }
            CallPattern::Host(host) => {
                let text = call.arguments.to_string();
                let is_below = |found: &str| found == host || found.ends_with(&format!(".{host}"));
                let mut hosts = text.split("://").skip(1).map(|rest| {
                    let end = rest.find(|letter: char| "/:?#\"\\ ,".contains(letter)).unwrap_or(rest.len());
                    rest[..end].to_ascii_lowercase()
                });
                hosts.any(|found| is_below(&found))
            }
            CallPattern::Agent(agent) => {
                call.answered_by.as_ref().is_none_or(|answered_by| answered_by.as_str() == agent)
            }
        }
    }
}

/// The paths that a call names, wherever they stand in its arguments.
fn paths_of(arguments: &Value) -> Vec<&str> {
    const KEYS: &[&str] = &["path", "file_path", "source", "destination", "from", "to", "paths", "include"];
    let values = KEYS.iter().filter_map(|key| arguments.get(*key));
    let texts = values.flat_map(|value| match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.collect()
}

/// A path by its text alone: without `.` and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

impl WildcardPattern {
    fn of(expression: &str) -> Result<WildcardPattern, String> {
        let built = meta::Regex::new(expression).map_err(|_| "has too many wildcards".to_owned())?;
        Ok(WildcardPattern(Box::new(built)))
    }

    /// `git *` means `git` alone, too.
    fn of_command(text: &str) -> Result<WildcardPattern, String> {
        let (beginning, end) = match text.strip_suffix(" *") {
            Some(beginning) => (beginning, "( .*)?"),
            None => (text, ""),
        };
        let parts: Vec<String> = beginning.split('*').map(regex_syntax::escape).collect();
        WildcardPattern::of(&format!("(?s)^{}{end}$", parts.join(".*")))
    }

    fn matches_command(&self, text: &str, root: &Path, home: &Path) -> bool {
        let roots = [root.to_owned()];
        let around = ShellEnvironment {
            directory: root,
            home: Some(home),
            roots: &roots,
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

impl FilePattern {
    /// `//x` is absolute, `~/x` lies in the home, `/x`, `./x` and `x/y` below the root, `x` anywhere below it.
    fn read(about: &str) -> Result<FilePattern, String> {
        let mut anywhere = false;
        let (place, text) = match (about.strip_prefix("//"), about.strip_prefix("~/")) {
            (Some(rest), _) => (FilePlace::Absolute, format!("/{rest}")),
            (_, Some(rest)) => (FilePlace::Home, rest.to_owned()),
            _ => {
                let text = about.strip_prefix("./").or_else(|| about.strip_prefix('/')).unwrap_or(about);
                let is_anywhere = text == about && !text.trim_end_matches('/').contains('/');
                anywhere = is_anywhere;
                (FilePlace::Root, if is_anywhere { format!("**/{text}") } else { text.to_owned() })
            }
        };
        let mut expression = String::from("(?s)^");
        let mut rest = text.as_str();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("**/") {
                expression.push_str("(.*/)?");
                rest = after;
            } else if let Some(after) = rest.strip_prefix("**") {
                expression.push_str(".*");
                rest = after;
            } else if let Some(after) = rest.strip_prefix('*') {
                expression.push_str("[^/]*");
                rest = after;
            } else if let Some(after) = rest.strip_prefix('?') {
                expression.push_str("[^/]");
                rest = after;
            } else {
                let end = rest.find(['*', '?']).unwrap_or(rest.len());
                expression.push_str(&regex_syntax::escape(&rest[..end]));
                rest = &rest[end..];
            }
        }
        // What names a folder means all of it.
        expression.push_str("(/.*)?$");
        Ok(FilePattern { expression: WildcardPattern::of(&expression)?, place, is_anywhere: anywhere })
    }

    /// By the path as it is written, and by what it leads to.
    fn matches(&self, path: &str, root: &Path, home: &Path) -> bool {
        let written = plain(&root.join(path));
        // A path with `..` may lead anywhere.
        if written.components().any(|part| part == Component::ParentDir) {
            return true;
        }
        let led_to = Some(ResolvedPath::to(&written).end);
        let bases = |base: &Path| [Some(base.to_owned()), base.canonicalize().ok()];
        [Some(written), led_to].into_iter().flatten().any(|path| match self.place {
            FilePlace::Absolute => self.is_match(&path),
            FilePlace::Home => bases(home).iter().flatten().any(|base| self.is_below(&path, base)),
            // Another root has files of the same names.
            FilePlace::Root if self.is_anywhere => self.is_match(path.strip_prefix("/").unwrap_or(&path)),
            FilePlace::Root => bases(root).iter().flatten().any(|base| self.is_below(&path, base)),
        })
    }

    fn is_below(&self, path: &Path, base: &Path) -> bool {
        path.strip_prefix(base).is_ok_and(|rest| self.is_match(rest))
    }

    fn is_match(&self, path: &Path) -> bool {
        self.expression.0.is_match(path.to_string_lossy().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{CallId, ToolName};
    use serde_json::json;

    fn check(condition: &str, tool: &str, arguments: Value, expected: bool) {
        let read = HookCondition::read(condition).unwrap();
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from(tool),
            mcp: tool
                .strip_prefix("mcp.")
                .and_then(|rest| rest.split_once('.'))
                .map(|(a, b)| (a.into(), b.into())),
            answered_by: None,
            arguments,
        };
        let matched = read.matches(&call, Path::new("/w"), Path::new("/home/me"));
        assert_eq!(matched, expected, "{condition} {tool} {}", call.arguments);
    }

    #[test]
    fn a_rule_about_commands_means_each_command_of_a_text_and_what_cannot_be_read() {
        let bash = |condition: &str, command: &str, expected| {
            check(condition, "run_shell_command", json!({ "command": command }), expected);
        };
        bash("Bash", "ls", true);
        bash("Bash(*)", "ls", true);
        bash("Bash(git *)", "git push", true);
        bash("Bash(git *)", "git", true);
        bash("Bash(git *)", "gitk", false);
        bash("Bash(git:*)", "git push", true);
        bash("Bash(git push)", "git push --force", false);
        bash("Bash(git * main)", "git push origin main", true);
        bash("Bash(git *)", "cd x && git push", true);
        bash("Bash(git *)", "echo $(git push)", true);
        bash("Bash(git *)", "FOO=1 /usr/bin/git push", true);
        bash("Bash(git *)", "bash -c 'git push'", true);
        bash("Bash(git *)", "ls | wc -l", false);
        bash("Bash(git *)", "$TOOL push", true);
        bash("Bash(git *)", "echo 'unclosed", true);
        bash("Bash(rm *)", "find . -exec rm {} ;", true);
        bash("Write(x)", "git push", false);
    }

    #[test]
    fn a_rule_about_files_means_paths_below_root_home_or_anywhere() {
        let edit = |condition: &str, path: &str, expected| {
            check(condition, "edit_file", json!({ "path": path }), expected);
        };
        edit("Edit(*.ts)", "src/a/b.ts", true);
        edit("Edit(*.ts)", "src/a/b.tsx", false);
        edit("Edit(src/**)", "src/a/b", true);
        edit("Edit(src/**)", "lib/a", false);
        edit("Edit(/src/*.rs)", "/w/src/a.rs", true);
        edit("Edit(/src/*.rs)", "/w/src/a/b.rs", false);
        edit("Edit(~/x/**)", "/home/me/x/y", true);
        edit("Edit(//etc/**)", "/etc/passwd", true);
        edit("Edit(.env)", ".env", true);
        edit("Edit(src)", "src/x", true);
        edit("Edit(src/**)", "lib/../src/a", true);
        edit("Edit(/src/a)", "src//a", true);
        edit("Edit(/src/a)", "src/./a", true);
        edit("Edit(.env)", "/another/root/.env", true);
    }

    #[test]
    fn a_rule_about_editing_or_reading_means_every_tool_that_does() {
        check("Edit(src/**)", "write_file", json!({ "path": "src/a" }), true);
        check("Edit(src/**)", "move_file", json!({ "source": "a", "destination": "src/a" }), true);
        check("Edit(src/**)", "delete_file", json!({ "path": "lib/a" }), false);
        check("Write(src/**)", "edit_file", json!({ "path": "src/a" }), false);
        check("Read(.env)", "read_many_files", json!({ "include": ["a", ".env"] }), true);
        check("Read(.env)", "read_many_files", json!({ "include": ["**/*"] }), true);
        check("Read(.env)", "grep", json!({ "pattern": "x", "path": "src" }), false);
        check("Read(.env)", "write_file", json!({ "path": ".env" }), false);
    }

    #[test]
    fn a_rule_about_files_means_what_a_path_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/secret.txt"), "").unwrap();
        std::os::unix::fs::symlink("src", root.join("alias")).unwrap();
        std::os::unix::fs::symlink("src/secret.txt", root.join("note")).unwrap();
        let rule = HookCondition::read("Edit(/src/secret.txt)").unwrap();
        for (path, expected) in
            [("src/secret.txt", true), ("alias/secret.txt", true), ("note", true), ("alias/other.txt", false)]
        {
            let call = HookedCall {
                call_id: CallId::from("c"),
                tool: ToolName::from("edit_file"),
                mcp: None,
                answered_by: None,
                arguments: json!({ "path": path }),
            };
            assert_eq!(rule.matches(&call, &root, Path::new("/home/me")), expected, "{path}");
        }
        // What is not there yet lies where its folder leads, or a link that leads nowhere yet.
        std::os::unix::fs::symlink("src/new.txt", root.join("later")).unwrap();
        let rule = HookCondition::read("Edit(/src/new.txt)").unwrap();
        for path in ["alias/new.txt", "later"] {
            let call = HookedCall {
                call_id: CallId::from("c"),
                tool: ToolName::from("write_file"),
                mcp: None,
                answered_by: None,
                arguments: json!({ "path": path }),
            };
            assert!(rule.matches(&call, &root, Path::new("/home/me")), "{path}");
        }
    }

    #[test]
    fn hosts_servers_and_mistakes() {
        check(
            "WebFetch(domain:example.com)",
            "web_fetch",
            json!({ "urls": ["https://a.example.com/x"] }),
            true,
        );
        check(
            "WebFetch(domain:example.com)",
            "web_fetch",
            json!({ "prompt": "read http://example.org" }),
            false,
        );
        check("mcp__github", "mcp.github.create", json!({}), true);
        check("mcp__github__*", "mcp.github.create", json!({}), true);
        check("mcp__github__list", "mcp.github.create", json!({}), false);
        for text in ["", "Bash(", "Bash)", "(x)", "two words(x)"] {
            assert!(HookCondition::read(text).is_err(), "{text}");
        }
    }
}
