//! `subagent doctor`: is everything as it should be?

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::{CommandFailure, EXIT_FAILED},
    link::DaemonLink,
    paging, palette, safe_text,
    status::look,
    width,
};
use protocol::{DaemonDoctor, DoctorParams};

#[derive(Args)]
pub(super) struct DoctorArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn doctor(
    arguments: &DoctorArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // Looking how it is starts none.
    let mut client = look(link)?;
    let params = DoctorParams { workspace: surroundings.workspace() };
    let answer: Value = client.call_as::<DaemonDoctor, _>(&params)?;
    let looked: DoctorReply = paging::view(&answer)?;
    match arguments.format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            let stdout = &surroundings.stdout;
            let text: String = looked.checks.iter().map(|check| draw(check, stdout)).collect();
            surroundings.stdout.write(&text)?;
        }
    }
    Ok(if looked.ok { 0 } else { EXIT_FAILED })
}

/// The answer to `daemon/doctor`; a daemon that does not say that all is well has found something.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DoctorReply {
    checks: Vec<DoctorCheckView>,
    ok: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DoctorCheckView {
    name: String,
    /// Open: what is not known is shown as it came.
    state: String,
    message: String,
    hint: String,
}

/// What sets off a hint, and the rows of a line that is broken.
const MARGIN: &str = "    ";

/// One line a check, what to do below it.
fn draw(check: &DoctorCheckView, stdout: &OutputWriter) -> String {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let rows = |text: &str| match stdout.width {
        Some(columns) => width::wrap_words(text, columns.saturating_sub(MARGIN.len()).max(MARGIN.len())),
        None => vec![text.to_owned()],
    };
    let state = line(&check.state);
    let text = rows(&format!("{state}  {}: {}", line(&check.name), line(&check.message)));
    let mut text = text.join(&format!("\n{MARGIN}"));
    if let (Some(ink), Some(rest)) = (palette::ink(&check.state), text.strip_prefix(&state)) {
        text = format!("{}{rest}", stdout.paint(ink, &state));
    }
    text.push('\n');
    if !check.hint.is_empty() {
        rows(&format!("hint: {}", line(&check.hint)))
            .iter()
            .for_each(|row| text.push_str(&format!("{MARGIN}{row}\n")));
    }
    text
}
