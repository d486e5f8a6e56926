//! What became of repositories of workspaces that a person should know of?

use super::{super::state::DaemonContext, DoctorFinding, MOST_TOLD, blocking};
use tools::RepositoryReports;

pub(super) async fn check(state: &DaemonContext) -> DoctorFinding {
    let reports = RepositoryReports::new(&state.state_dir);
    blocking(move || {
        let recent = reports.recent();
        if recent.is_empty() {
            return DoctorFinding::ok("nothing had to be put right in repositories of workspaces");
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
            "look whether it is as you want it: what was in the place of what was put back lies beside it as `NAME.not-by-git-0`; this is \
             told for two weeks",
        )
    })
    .await
}
