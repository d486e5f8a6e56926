//! `subagent mcp add`, `remove`, `template`: what has the daemon write a file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    ProcessIo, ReportFormat, failure::CommandFailure, key::new_key, link::DaemonLink, message::show_message,
    paging, safe_text, text_color::TextColor,
};
use protocol::{McpAdd, McpAddParams, McpRemove, McpRemoveParams, McpScope, McpTemplate, McpTemplateParams};

#[derive(Clone, Copy, ValueEnum)]
enum McpScopeWord {
    #[value(alias = "global")]
    User,
    Project,
}

impl From<McpScopeWord> for McpScope {
    fn from(word: McpScopeWord) -> McpScope {
        match word {
            McpScopeWord::User => McpScope::User,
            McpScopeWord::Project => McpScope::Project,
        }
    }
}

#[derive(Args)]
pub(crate) struct AddArguments {
    /// The server's name; its tools are called `mcp.NAME.TOOL`
    name: String,
    /// Which settings to write: yours, or the folder's
    #[arg(long, value_enum, default_value_t = McpScopeWord::User)]
    scope: McpScopeWord,
    /// A variable of the program's environment; `${VAR}` is filled in from the daemon's
    #[arg(short = 'e', long = "env", value_name = "KEY=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// A header of each request; `${VAR}` is filled in from the daemon's environment
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// How long a call may take without a word of progress [default: 600000]
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// Trust its annotations about the risk of its tools
    #[arg(long)]
    trust: bool,
    /// Only these of its tools, separated by commas
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    include: Vec<String>,
    /// All of its tools except these
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Where the program runs; `.` is the workspace's first folder [default: a temporary folder of its own]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// The address of a server that is already running
    #[arg(long)]
    url: Option<String>,
    /// Replace an existing server of this name
    #[arg(long)]
    force: bool,
    /// What stdout gets: sentences, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The program, with its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url", conflicts_with = "url")]
    command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct RemoveArguments {
    /// Its name in the settings
    name: String,
    /// Whose settings it is taken out of: yours, or the folder's
    #[arg(long, value_enum, default_value_t = McpScopeWord::User)]
    scope: McpScopeWord,
    /// What stdout gets: sentences, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
pub(crate) struct TemplateArguments {
    /// File to write [default: print it]
    file: Option<PathBuf>,
    /// Replace an existing file; it goes to the trash
    #[arg(long, requires = "file")]
    force: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct McpWriteReply {
    name: String,
    path: String,
    warnings: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct McpTemplateReply {
    name: String,
    file: String,
    text: String,
    entry: String,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected `NAME: VALUE`".to_owned()),
    }
}

/// As it stands in a file: what nobody said is not there.
fn entry(arguments: &AddArguments) -> Map<String, Value> {
    let pairs = |pairs: &[(String, String)]| -> Value {
        pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
    };
    let mut entry = Map::new();
    let mut put = |name: &str, is_said: bool, value: Value| {
        if is_said {
            entry.insert(name.to_owned(), value);
        }
    };
    let AddArguments { env, header, timeout, trust, include, exclude, cwd, url, command, .. } = arguments;
    if let [program, words @ ..] = command.as_slice() {
        put("command", true, json!(program));
        put("args", !words.is_empty(), json!(words));
    }
    put("url", url.is_some(), json!(url));
    put("env", !env.is_empty(), pairs(env));
    put("headers", !header.is_empty(), pairs(header));
    put("cwd", cwd.is_some(), json!(cwd));
    put("timeout", timeout.is_some(), json!(timeout));
    put("trust", *trust, json!(true));
    put("includeTools", !include.is_empty(), json!(include));
    put("excludeTools", !exclude.is_empty(), json!(exclude));
    entry
}

pub(super) fn add(
    arguments: &AddArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpAddParams {
        name: arguments.name.clone(),
        server: entry(arguments),
        scope: arguments.scope.into(),
        workspace: surroundings.workspace(),
        force: arguments.force,
        idempotency_key: Some(new_key()?),
    };
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<McpAdd>(&params, stderr, &mut || interrupts() > 0)?;
    let written: McpWriteReply = paging::view(&answer)?;
    tell("added", "to", &written, &answer, arguments.format, surroundings)?;
    if arguments.format == ReportFormat::Text {
        let line = format!("`subagent mcp connect {}` tries it", safe_text::line(&written.name, usize::MAX));
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &line);
    }
    Ok(0)
}

pub(super) fn remove(
    arguments: &RemoveArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpRemoveParams {
        name: arguments.name.clone(),
        scope: arguments.scope.into(),
        workspace: surroundings.workspace(),
        idempotency_key: Some(new_key()?),
    };
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<McpRemove>(&params, stderr, &mut || interrupts() > 0)?;
    let written: McpWriteReply = paging::view(&answer)?;
    tell("removed", "from", &written, &answer, arguments.format, surroundings)?;
    Ok(0)
}

fn tell(
    verb: &str,
    way: &str,
    written: &McpWriteReply,
    answer: &Value,
    format: ReportFormat,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let told = || format!("{verb} {} {way} {}", line(&written.name), line(&written.path));
    paging::tell(answer, format, told, surroundings)?;
    for warning in written.warnings.iter().filter(|_| format == ReportFormat::Text) {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", warning);
    }
    Ok(())
}

pub(super) fn template(
    arguments: &TemplateArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let path = arguments.file.as_ref().map(|file| surroundings.working_folder.join(file));
    let params = McpTemplateParams { path, force: arguments.force };
    let answer = link.ask_value::<McpTemplate>(&params)?;
    let McpTemplateReply { name, file, text, entry } = paging::view(&answer)?;
    if arguments.file.is_none() {
        surroundings.stdout.write(&text)?;
        // A pipe gets the server only.
        let text = format!("Save it as {file}, and put this under mcpServers in your settings:");
        surroundings.stderr.write_text(&text)?;
        surroundings.stderr.write_exactly(&entry)?;
        return Ok(0);
    }
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let (name, file) = (line(&name), line(&file));
    // A shell reads it as it is meant.
    let word = format!("'{}'", file.replace('\'', "'\\''"));
    surroundings.stdout.write_text(&format!("wrote {file}; this goes under mcpServers in your settings:"))?;
    // A row of a command that is broken would be copied as two.
    let copied = format!("{entry}\nor: subagent mcp add {name} -- python3 {word}");
    surroundings.stdout.write_exactly(&copied)?;
    Ok(0)
}
