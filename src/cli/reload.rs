//! `subagent reload`: has the daemon read its settings anew, and what came of it?

use clap::Args;
use serde::Deserialize;

use super::{
    ListingFormat, ProcessIo,
    failure::{CommandFailure, EXIT_FAILED},
    link::DaemonLink,
    message::show_message,
    paging,
    problem::FileProblemView,
    status::look,
    text_color::TextColor,
};
use protocol::{DaemonReload, NoParams};

/// Everything that counts as soon as it is written, so that no reload tells of it.
const READ_ANYWAY: &str = "(hooks, agents and skills are read without a reload)";

#[derive(Args)]
pub(super) struct ReloadArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// Runs that have begun keep what they began with. Exits 1 when there are errors in the settings, as `subagentd --check-config` does.
pub(super) fn reload(
    arguments: &ReloadArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // A daemon that is started now reads them anyway.
    let mut client = look(link)?;
    let answer = link.ask_over::<DaemonReload>(&mut client, &NoParams {}, &mut surroundings.stderr)?;
    let reloaded: ReloadReply = paging::view(&answer)?;
    match arguments.format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            surroundings.stdout.write_text(&draw(&reloaded))?;
            reloaded.problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
        }
    }
    let has_errors = reloaded.problems.iter().any(FileProblemView::is_error);
    if has_errors && arguments.format == ListingFormat::Table {
        let text = match reloaded.stopping_place() {
            Some(place) => format!(
                "mend {place}: no prompt and no tool call is accepted before; then reload again, for its settings"
            ),
            None => "a mistaken setting keeps the value it had, a mistaken rule asks or denies; fix it and reload again"
                .to_owned(),
        };
        show_message(&mut surroundings.stderr, TextColor::Yellow, "hint", &text);
    }
    Ok(if has_errors { EXIT_FAILED } else { 0 })
}

/// The answer to `daemon/reload`; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReloadReply {
    changed: Vec<String>,
    /// Rule files that are new, gone or other than they were.
    policies: Vec<String>,
    needs_restart: Vec<String>,
    problems: Vec<FileProblemView>,
    /// Files because of which no prompt is accepted.
    stopped_by: Vec<String>,
}

impl ReloadReply {
    /// The file that stops every prompt, with the line where one problem alone is known of it: of several nobody knows here
    /// which one stops.
    fn stopping_place(&self) -> Option<String> {
        self.stopped_by.iter().find_map(|file| {
            let mut places =
                self.problems.iter().filter_map(|problem| problem.place_in(std::slice::from_ref(file)));
            let place = places.next()?;
            Some(if places.next().is_none() { place } else { format!("what is wrong in {file}") })
        })
    }
}

fn draw(reloaded: &ReloadReply) -> String {
    let ReloadReply { changed, policies, needs_restart, .. } = reloaded;
    let at_once: Vec<&str> =
        changed.iter().filter(|key| !needs_restart.contains(key)).map(String::as_str).collect();
    let mut lines = Vec::new();
    let has_errors = reloaded.problems.iter().any(FileProblemView::is_error);
    if changed.is_empty() && policies.is_empty() {
        let begin = if has_errors { "errors were found" } else { "reloaded" };
        lines.push(format!("{begin}; no setting and no rule changed {READ_ANYWAY}"));
    }
    if !at_once.is_empty() {
        lines.push(format!("changed: {}", at_once.join(", ")));
    }
    if !policies.is_empty() {
        lines.push(format!("rules reloaded: {}", policies.join(", ")));
    }
    if !needs_restart.is_empty() {
        lines.push(format!("changed, when the daemon starts again: {}", needs_restart.join(", ")));
    }
    if !changed.is_empty() {
        // Whoever changed a hook in the same file misses it in the list.
        lines.push(READ_ANYWAY.to_owned());
    }
    lines.join("\n")
}
