//! Is every extension what was installed?

use super::{DaemonExamination, DoctorFinding, MOST_TOLD};
use extensions::{ExtensionState, KnownExtension};

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let library = state.extensions.library.clone();
    let all = match tokio::task::spawn_blocking(move || library.all()).await {
        Ok(all) => all,
        Err(error) => return DoctorFinding::failed(format!("they could not be looked at: {error}")),
    };
    let told = |known: &KnownExtension| match &known.state {
        // One that is disabled has no effect, whatever stands in it.
        ExtensionState::Changed(why) if known.installed.enabled => {
            Some(format!("{} {why}", known.installed.name))
        }
        ExtensionState::Changed(_) | ExtensionState::Enabled | ExtensionState::Disabled => None,
    };
    let changed: Vec<String> = all.iter().filter_map(told).collect();
    if changed.is_empty() {
        let enabled = all.iter().filter(|known| known.installed.enabled).count();
        return DoctorFinding::ok(match (all.len(), enabled) {
            (0, _) => "none is installed".to_owned(),
            (_, 0) => "none is enabled".to_owned(),
            (1, _) => "the one that is installed is what was installed".to_owned(),
            (count, enabled) if count == enabled => format!("all {count} are what was installed"),
            (_, 1) => "the one that is enabled is what was installed".to_owned(),
            (_, enabled) => format!("all {enabled} that are enabled are what was installed"),
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
