//! `subagent sessions history`: what has an agent been told in a session, and what did it say?

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::SessionSelector;
use crate::{
    ListingFormat, OutputWriter, ProcessIo,
    command_end::CommandEnd,
    failure::{CommandFailure, ERROR_LINE_CHARACTERS},
    human, ids,
    link::DaemonLink,
    paging, safe_text,
    text_color::TextColor,
};
use protocol::{RUN_SHELL_COMMAND, SessionHistory, SessionHistoryParams};

/// What is shown of a call's arguments and of its result, unless it is an error; `--format json` has the whole.
const CALL_CHARACTERS: usize = 200;

/// What sets a line off from the one it belongs to.
const MARGIN: &str = "  ";

#[derive(Args)]
pub(super) struct HistoryArguments {
    #[command(flatten)]
    session: SessionSelector,
    /// Whose context [default: the session's agent, or the only one there is]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Show the context of this run instead; a called agent has its own. The beginning of the id is enough
    #[arg(long, value_name = "ID", conflicts_with = "agent")]
    run: Option<String>,
    /// Messages per page; text shows all pages, JSON one
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue after an earlier page: its `nextCursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn history(
    arguments: &HistoryArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let mut params = SessionHistoryParams {
        session_id: arguments.session.find(link)?.session_id,
        agent: arguments.agent.as_deref().map(Into::into),
        run_id: arguments.run.as_deref().map(|run| ids::find_run(run, link)).transpose()?,
        cursor: arguments.cursor.clone(),
        limit: arguments.limit,
    };
    let mut last_run = None;
    loop {
        let answer = link.ask_value::<SessionHistory>(&params)?;
        if arguments.format == ListingFormat::Json {
            return paging::print_json(&answer, surroundings);
        }
        let messages: Vec<ShownMessage> = paging::entries(&answer, "messages")?;
        // A daemon of before this field has none to tell.
        let changes: Vec<ContextChangeView> = match answer.get("changes") {
            Some(_) => paging::entries(&answer, "changes")?,
            None => Vec::new(),
        };
        let is_empty = messages.is_empty() && changes.is_empty();
        let mut changes = changes.into_iter().peekable();
        for message in &messages {
            while let Some(change) = changes.next_if(|change| change.seq < message.seq) {
                let text = change.draw(&surroundings.stdout);
                surroundings.stdout.write(&text)?;
            }
            let is_other_run = last_run.as_ref() != Some(&message.run_id);
            let text = message.draw(is_other_run, &surroundings.stdout);
            last_run = Some(message.run_id.clone());
            surroundings.stdout.write(&text)?;
        }
        for change in changes {
            let text = change.draw(&surroundings.stdout);
            surroundings.stdout.write(&text)?;
        }
        if is_empty && params.cursor.is_none() {
            surroundings.stdout.write("no messages\n")?;
        }
        let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        // A cursor that leads nowhere would be asked for for ever.
        if next.is_none() || next == params.cursor {
            return Ok(());
        }
        params.cursor = next;
    }
}

/// A message, with open roles and kinds of parts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownMessage {
    #[serde(default)]
    seq: i64,
    #[serde(default)]
    run_id: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    parts: Vec<Value>,
}

impl ShownMessage {
    fn draw(&self, names_run: bool, stdout: &OutputWriter) -> String {
        let mut text = String::new();
        if names_run {
            let run = format!("── run {}", safe_text::line(&self.run_id, CALL_CHARACTERS));
            text.push_str(&format!("{}\n", stdout.paint(TextColor::Dim, &run)));
        }
        let role = safe_text::line(&self.role, CALL_CHARACTERS);
        text.push_str(&format!("{}\n", stdout.paint(TextColor::Bold, &format!("{role}:"))));
        for line in self.parts.iter().flat_map(|part| draw_part(part, stdout)) {
            text.push_str(&format!("{MARGIN}{line}\n"));
        }
        text
    }
}

/// From here on the model reads something else; kind and status are open.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContextChangeView {
    seq: i64,
    kind: String,
    status: Option<String>,
    tokens_before: u64,
    tokens_after: u64,
    message: Option<String>,
}

impl ContextChangeView {
    /// Of an event of a run.
    pub(crate) fn of_event(kind: &str, data: &Value) -> Option<ContextChangeView> {
        let kind = kind.strip_prefix("context.")?.to_owned();
        Some(ContextChangeView { kind, ..ContextChangeView::deserialize(data).unwrap_or_default() })
    }

    /// `context compressed: COMPRESSED · 12.3k tokens → 2100 tokens`, as a harmless line.
    pub(crate) fn told(&self) -> String {
        let status = self.status.as_ref().map(|status| {
            let counts = human::change_of_tokens(self.tokens_before, self.tokens_after);
            match self.message.as_ref() {
                Some(why) if status == "NOOP" => format!(": not compressed: {why}"),
                Some(why) => format!(": {status} · {counts}: {why}"),
                None => format!(": {status} · {counts}"),
            }
        });
        let text = format!("context {}{}", self.kind, status.unwrap_or_default());
        safe_text::line(&text, ERROR_LINE_CHARACTERS)
    }

    fn draw(&self, stdout: &OutputWriter) -> String {
        format!("{}\n", stdout.paint(TextColor::Dim, &format!("── {}", self.told())))
    }
}

/// One part as harmless lines.
fn draw_part(part: &Value, stdout: &OutputWriter) -> Vec<String> {
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = |text: String| vec![safe_text::line(&text, CALL_CHARACTERS)];
    match text("type") {
        "text" => safe_text::lines(text("text")).trim_end().lines().map(str::to_owned).collect(),
        "thought" => line(format!("· {}", text("text"))),
        "toolCall" => {
            let arguments = part.get("arguments").map(Value::to_string).unwrap_or_default();
            line(format!("● {} {arguments}", text("name")))
        }
        "toolResult" => {
            let is_error = part.get("isError").and_then(Value::as_bool).unwrap_or(false);
            let parts = part.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let said: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            if text("name") == RUN_SHELL_COMMAND && !is_error {
                return draw_command(&said, stdout);
            }
            let (sign, most) =
                if is_error { ("✗", ERROR_LINE_CHARACTERS) } else { ("✓", CALL_CHARACTERS) };
            vec![safe_text::line(&format!("{sign} {} {}", text("name"), said.join(" ")), most)]
        }
        "inlineData" | "file" => line(format!("[{}] {}", text("mimeType"), text("uri"))),
        other => line(format!("[{other}]")),
    }
}

/// What became of a command: what it said, or how it ended and what it said last.
fn draw_command(said: &[&str], stdout: &OutputWriter) -> Vec<String> {
    let end = CommandEnd::of_texts(said);
    let first = match &end.trouble {
        None => format!("✓ {RUN_SHELL_COMMAND} {}", said.join(" ")),
        Some(trouble) => format!("✗ {RUN_SHELL_COMMAND} · {trouble}"),
    };
    let room = stdout.width.map(|columns| columns.saturating_sub(2 * MARGIN.len()));
    let below =
        end.rows(room).into_iter().map(|row| format!("{MARGIN}{}", stdout.paint(TextColor::Dim, &row)));
    std::iter::once(safe_text::line(&first, CALL_CHARACTERS)).chain(below).collect()
}
