//! Workspaces in which something became of files that a person should know of: what was put right, and what could not be looked at.

use super::{DaemonExamination, DoctorFinding, MOST_TOLD, blocking};
use tools::WorkspaceReports;

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let reports = WorkspaceReports::new(&state.settings.state_dir);
    blocking(move || {
        let recent = reports.recent();
        if recent.is_empty() {
            return DoctorFinding::ok("nothing had to be put right after commands of agents");
        }
        let told: Vec<String> = recent
            .iter()
            .rev()
            .take(MOST_TOLD)
            .map(|report| {
                let at = report.at.to_string();
                let at = at.split('.').next().unwrap_or_default().replace('T', " ");
                format!("{at}Z: {}", report.text)
            })
            .collect();
        let more = match recent.len().saturating_sub(MOST_TOLD) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        DoctorFinding::warning(format!("{}{more}", told.join("; "))).with_hint(
            "look whether it is as you want it: what was put aside lies in `.not-run` at the top of the workspace, or, what git would have obeyed, beside \
             it with `.not-by-git-0` behind its name; this is told for two weeks",
        )
    })
    .await
}
