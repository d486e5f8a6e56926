//! What came of the commands that tell tools of workspaces? As it was found out last; nothing is run.

use super::{
    super::{discovery::UNREAD, redaction::shown_command},
    DaemonExamination, DoctorFinding, told,
};

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let finding = of_commands(state);
    let unread = state.programs.discoveries.unread();
    if unread.is_empty() {
        return finding;
    }
    let lines: Vec<String> = unread.iter().map(|roots| format!("{}: {UNREAD}", roots.join(", "))).collect();
    let message = format!("{}; {}", told(lines.into_iter()), finding.message);
    DoctorFinding::warning(message)
        .with_hint(finding.hint.unwrap_or_else(|| "`subagent trust DIR` shows what it would run".to_owned()))
}

fn of_commands(state: &DaemonExamination) -> DoctorFinding {
    let all = state.programs.discoveries.all();
    let user = state.executor.discovery_commands().discovery;
    if all.is_empty() {
        return DoctorFinding::ok(match user {
            None => "no project tools are configured".to_owned(),
            Some(_) => "no workspace has been asked for tools of its own yet".to_owned(),
        });
    }
    let redactor = state.settings.redactor.get();
    let lines = all.iter().map(|(roots, found)| {
        let command = shown_command(found.commands.discovery.clone().unwrap_or_default(), &redactor);
        let command = command.replace('\n', "⏎");
        let tools = found.discovery.tools.as_ref().map_or(0, |told| told.tools.len());
        let when = found.at.map_or_else(|| "not run".to_owned(), |at| format!("run at {at}"));
        let mut line = format!("{}: `{command}`, {when}, told {tools} tools", roots.join(", "));
        for warning in &found.discovery.warnings {
            line.push_str(&format!(" ({warning})"));
        }
        line
    });
    let has_warnings =
        all.iter().any(|(_, found)| found.at.is_some() && !found.discovery.warnings.is_empty());
    let message = told(lines.collect::<Vec<_>>().into_iter());
    match has_warnings {
        true => DoctorFinding::warning(message)
            .with_hint("fix the command, then `subagent reload`; `subagent tools list` shows its tools"),
        false => DoctorFinding::ok(message),
    }
}
