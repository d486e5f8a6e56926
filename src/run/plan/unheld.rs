//! Which settings that were meant to hold a run to less do not count? Each root run says so: whoever wrote them relies on them.

use super::RunPlan;

/// Settings that one run names.
const MOST_NAMED: usize = 8;

impl RunPlan {
    /// Warns of each setting that was meant to hold the run to less and does not count: the person's own, and the workspace's.
    pub(super) fn tell_of_unheld_settings(&mut self) {
        let equipment = &self.resources.equipment;
        let own = equipment.supplies.defaults.unheld.iter().cloned();
        let of_project = equipment.project.settings.unheld.iter().map(|it| it.problem.to_string());
        let all: Vec<String> = own.chain(of_project).collect();
        let more = all.len().saturating_sub(MOST_NAMED);
        let mut told: Vec<String> =
            all.into_iter().take(MOST_NAMED).map(|problem| format!("settings: {problem}")).collect();
        if more != 0 {
            told.push(format!(
                "settings: {more} more do not count (`subagent doctor` and `subagent reload` name them)"
            ));
        }
        let redactor = &equipment.supplies.redactor;
        self.prompt_warnings.extend(told.into_iter().map(|text| redactor.owned(text)));
    }
}
