//! `subagent reload`: has the daemon read its settings anew, and what came of it?

use clap::Args;

use super::{
    Format, Surroundings,
    failure::{EXIT_FAILED, Failure, show_message},
    link::Link,
    screen::Ink,
    status::not_running,
};
use crate::protocol::{DaemonReload, NoParams, ReloadResult, Severity};

#[derive(Args)]
pub(super) struct ReloadArguments {
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Runs that have begun keep what they began with. Exits 1 when there are errors in the settings, as `subagentd --check-config` does.
pub(super) fn reload(
    arguments: &ReloadArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    // A daemon that is started now reads them anyway.
    let mut client = link.dialer().connect().map_err(not_running)?;
    let reloaded = client.call::<DaemonReload>(&NoParams {})?;
    match arguments.format {
        Format::Json => surroundings.stdout.write_json_of(&reloaded)?,
        Format::Table => {
            surroundings.stdout.write_text(&draw(&reloaded))?;
            for problem in &reloaded.problems {
                let (ink, label) = match problem.severity {
                    Severity::Error => (Ink::Red, "error"),
                    Severity::Warning => (Ink::Yellow, "warning"),
                };
                show_message(&mut surroundings.stderr, ink, label, &problem.to_string());
            }
        }
    }
    let has_errors = reloaded.problems.iter().any(|problem| problem.severity == Severity::Error);
    if has_errors && arguments.format == Format::Table {
        let text = "what is mistaken keeps the value it had; mend it and reload again";
        show_message(&mut surroundings.stderr, Ink::Yellow, "hint", text);
    }
    Ok(if has_errors { EXIT_FAILED } else { 0 })
}

fn draw(reloaded: &ReloadResult) -> String {
    let ReloadResult { changed, needs_restart, .. } = reloaded;
    let at_once: Vec<&str> =
        changed.iter().filter(|key| !needs_restart.contains(key)).map(String::as_str).collect();
    let mut lines = Vec::new();
    if changed.is_empty() {
        lines.push("read anew; nothing changed".to_owned());
    }
    if !at_once.is_empty() {
        lines.push(format!("changed: {}", at_once.join(", ")));
    }
    if !needs_restart.is_empty() {
        lines.push(format!("changed, when the daemon starts again: {}", needs_restart.join(", ")));
    }
    lines.join("\n")
}
