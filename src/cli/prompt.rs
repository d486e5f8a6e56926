//! `subagent prompt`: what is an agent told before its first message, part by part, and why?

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::CommandFailure,
    ids,
    link::DaemonLink,
    message::show_message,
    paging, paths, safe_text,
    table::{self, TableCell, cell, whole},
    text_color::TextColor,
    width,
};
use protocol::{PromptRender, PromptRenderParams};

#[derive(Args)]
pub(super) struct PromptArguments {
    /// The agent's name
    agent: String,
    /// Show the parts: where each comes from, and its approximate number of tokens
    #[arg(long)]
    tokens: bool,
    /// Write the daemon's own part of the prompt to a new file, to be changed and set as `prompt.systemFile`
    #[arg(long, value_name = "FILE", conflicts_with = "tokens")]
    write: Option<PathBuf>,
    /// Render for this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Render for a run in which nobody answers questions
    #[arg(long)]
    headless: bool,
    /// Render for the next run of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "workspace")]
    session: Option<String>,
    /// Render for a run in this folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// The answer to `prompt/render`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RenderedPromptView {
    text: String,
    context_message: Option<String>,
    parts: Vec<RenderedPartView>,
    tokens: u64,
    warnings: Vec<String>,
    system_file: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RenderedPartView {
    name: String,
    source: String,
    tokens: u64,
    off: Option<String>,
}

pub(super) fn prompt(
    arguments: &PromptArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let workspace = paths::read_workspace(arguments.workspace.as_deref(), surroundings)?;
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let params = PromptRenderParams {
        agent: arguments.agent.as_str().into(),
        workspace: session_id.is_none().then_some(workspace),
        session_id,
        model: arguments.model.as_deref().map(Into::into),
        headless: arguments.headless,
        with_system_file: arguments.write.is_some(),
    };
    let answer = link.ask_slowly::<PromptRender>(&params, &mut surroundings.stderr)?;
    let told: RenderedPromptView = paging::view(&answer)?;
    if let Some(path) = &arguments.write {
        write(path, &told, arguments)?;
    }
    match (arguments.format, &arguments.write) {
        (ListingFormat::Json, _) => paging::print_json(&answer, surroundings)?,
        (ListingFormat::Table, Some(path)) => surroundings.stdout.write_text(&format!(
            "written to {0}\nchange it, then set it: \"prompt\": {{ \"systemFile\": \"{0}\" }}",
            absolute(path, surroundings).display()
        ))?,
        (ListingFormat::Table, None) if arguments.tokens => {
            let text = draw(&told, &surroundings.stdout);
            surroundings.stdout.write(&text)?;
        }
        (ListingFormat::Table, None) => {
            let mut text = safe_text::lines(&told.text);
            if let Some(context) = &told.context_message {
                text.push_str(&format!(
                    "\n--- before the history, as a message of the user ---\n\n{}",
                    safe_text::lines(context)
                ));
            }
            surroundings.stdout.write(&format!("{}\n", text.trim_end()))?;
        }
    }
    // Of those that the parts name a line says enough.
    if let Some(note) = hooks_told(&told, arguments).filter(|_| !arguments.tokens) {
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &note);
    }
    for warning in &told.warnings {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", warning);
    }
    Ok(0)
}

/// Hooks that are named in a line.
const MOST_HOOKS: usize = 3;

/// A sentence about hooks whose texts stand in no prompt that is rendered; `None` = there are none.
fn hooks_told(told: &RenderedPromptView, arguments: &PromptArguments) -> Option<String> {
    let hooks: Vec<&str> = told
        .parts
        .iter()
        .filter(|part| part.name == HOOK)
        .filter_map(|part| part.source.split_whitespace().next())
        .collect();
    let named = hooks.iter().copied().take(MOST_HOOKS).collect::<Vec<_>>().join(", ");
    let (who, whom, when) = match hooks.len() {
        0 => return None,
        1 => ("a hook".to_owned(), "it knows", "says when"),
        n => (format!("{n} hooks"), "they know", "lists them"),
    };
    let more = if MOST_HOOKS < hooks.len() { ", …" } else { "" };
    Some(format!(
        "{who} may add text that only {whom}: {named}{more}; `subagent prompt {} --tokens` {when}",
        arguments.agent
    ))
}

/// Never over a file that is there: somebody may have changed it.
fn write(path: &Path, told: &RenderedPromptView, arguments: &PromptArguments) -> Result<(), CommandFailure> {
    let Some(text) = &told.system_file else {
        let message =
            format!("{} has none of the daemon's own prompt: its file says all of it", arguments.agent);
        return Err(CommandFailure::new(message).or_hint("`subagent show NAME` prints the agent's own text"));
    };
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        CommandFailure::new(format!("{} cannot be written: {error}", path.display()))
            .or_hint("name a file that is not there yet, in a folder that is")
    })
}

fn absolute(path: &Path, surroundings: &ProcessIo) -> PathBuf {
    surroundings.working_folder.join(path)
}

/// The name of a part that a hook may add.
const HOOK: &str = "hook";

const PART: &str = "PART";
const TOKENS: &str = "TOKENS";

/// Columns of the last column at least: on a narrower terminal it wraps on its own.
const LEAST_COLUMNS: usize = 20;

/// One part after the other, and what they take together. Nothing is cut: why a part is missing stands at the end of its row.
fn draw(told: &RenderedPromptView, stdout: &OutputWriter) -> String {
    let names = told.parts.iter().map(|part| width::of(&safe_text::line(&part.name, usize::MAX))).max();
    let tokens = told.parts.iter().map(|part| part.tokens.to_string().len()).max();
    // The widths of the two columns before it, and what stands between them.
    let taken = names.unwrap_or(0).max(PART.len()) + tokens.unwrap_or(0).max(TOKENS.len()) + 4;
    let room = stdout.width.map(|columns| columns.saturating_sub(taken).max(LEAST_COLUMNS));
    let rows_of = |part: &RenderedPartView| {
        // Of several files of one kind only the path says which one is meant.
        let is_file = part.source.starts_with('/');
        let about = match &part.off {
            Some(why) if is_file => format!("{}: off: {why}", part.source),
            Some(why) => format!("off: {why}"),
            None => part.source.clone(),
        };
        let is_within = part.tokens == 0 && matches!(part.name.as_str(), "import" | HOOK);
        let tokens = if part.off.is_some() || is_within { "-".to_owned() } else { part.tokens.to_string() };
        // A reason that is cut off is none.
        let about = safe_text::line(&about, usize::MAX);
        let lines = room.map_or_else(|| vec![about.clone()], |room| width::wrap_words(&about, room));
        let row = |(at, line): (usize, String)| match at {
            0 => [cell(&part.name), cell(&tokens), cell(&line)],
            _ => [cell(""), cell(""), cell(&line)],
        };
        lines.into_iter().enumerate().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<[TableCell; 3]> = told.parts.iter().flat_map(rows_of).collect();
    let columns = [whole(PART), whole(TOKENS), whole("FROM")];
    let mut text = table::draw(columns, &rows, stdout);
    text.push_str(&format!("about {} tokens before the first message, without the tools\n", told.tokens));
    text
}
