//! Is every extension what was installed?

use super::{super::state::DaemonContext, DoctorFinding, MOST_TOLD};
use extensions::{ExtensionState, KnownExtension};

pub(super) async fn check(state: &DaemonContext) -> DoctorFinding {
    let library = state.extensions.clone();
    let all = match tokio::task::spawn_blocking(move || library.all()).await {
        Ok(all) => all,
        Err(error) => return DoctorFinding::failed(format!("they could not be looked at: {error}")),
    };
    let told = |known: &KnownExtension| match &known.state {
        ExtensionState::Changed(why) => Some(format!("{} {why}", known.installed.name)),
        ExtensionState::Enabled | ExtensionState::Disabled => None,
    };
    let changed: Vec<String> = all.iter().filter_map(told).collect();
    if changed.is_empty() {
        return DoctorFinding::ok(match all.len() {
            0 => "none is installed".to_owned(),
            1 => "the one that is installed is what was installed".to_owned(),
            count => format!("all {count} are what was installed"),
        });
    }
    let more = changed.len().saturating_sub(MOST_TOLD);
    let mut message = changed.into_iter().take(MOST_TOLD).collect::<Vec<_>>().join("; ");
    if more != 0 {
        message.push_str(&format!("; and {more} more"));
    }
    DoctorFinding::failed(format!("{message}: off until it is installed again")).with_hint(
        "look who changed it (`subagent extensions show NAME`), and install it again, or remove it",
    )
}
