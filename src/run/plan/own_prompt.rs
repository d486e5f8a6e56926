//! Which system prompt of a person's or a workspace's own does not count?

use super::{RunPlan, RunResources};
use config::SystemFileChoice;
use project::Project;
use protocol::AgentDefinition;

/// Sentences about what was meant to be told to an agent with the daemon's own modules and is not: variables whose values mean nothing, and
/// the workspace's own system prompt, which was in force and is another one or gone.
pub fn untold_prompts(
    definition: &AgentDefinition,
    project: &Project,
    supplies: &RunResources,
) -> Vec<String> {
    if !definition.prompt_modules {
        return Vec::new();
    }
    let rules = &supplies.defaults.prompt;
    let is_wanted = rules.system_file == SystemFileChoice::Usual;
    let of_project = project.unread_system_file.iter().filter(|_| is_wanted);
    let of_project = of_project.map(|found| format!("the workspace's system prompt: {found}"));
    let unread = rules.unread_variables.iter().map(|unread| format!("settings: {unread}"));
    unread.chain(of_project).map(|text| supplies.redactor.owned(text)).collect()
}

impl RunPlan {
    /// Says what is not told to the run's agent that was meant to be.
    pub(super) fn tell_of_untold_prompts(&mut self) {
        let equipment = &self.resources.equipment;
        let told = untold_prompts(&self.seed.definition, &equipment.project, &equipment.supplies);
        self.prompt_warnings.extend(told);
    }
}
