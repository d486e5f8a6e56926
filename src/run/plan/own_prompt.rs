//! Which system prompt of a person's or a workspace's own does not count, and where is the daemon's not written out?

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

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

    /// Writes the modules where somebody wants to read them, but not through a link that may be an agent's: it could lead to any file of the
    /// person's. Blocks on the file system.
    pub(super) fn write_modules_by_a_plain_way(&mut self) {
        let supplies = &self.resources.equipment.supplies;
        let own = supplies.own_files.memory_folder();
        let path = supplies.defaults.prompt.written_to.as_deref();
        // The person's own folder of settings may lie behind a link of theirs: no agent writes there.
        let path = path.filter(|path| path.parent() != Some(own));
        let Some((path, link)) = path.and_then(|path| Some((path, link_on_the_way(path, own)?))) else {
            return self.write_modules_out();
        };
        let warning = format!(
            "the system prompt is not written to {}: {} is a link, which an agent may have made; name the place that is meant in \
             SUBAGENTD_WRITE_SYSTEM_MD",
            path.display(),
            link.display()
        );
        self.exported = None;
        self.prompt_warnings.push(warning);
    }
}

/// The first folder above a file that is a link of somebody else than the system's administrator; `own` is a folder of the person's.
fn link_on_the_way(path: &Path, own: &Path) -> Option<PathBuf> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    let is_administrator = fs::metadata(own).is_ok_and(|own| own.uid() == 0);
    let is_link = |folder: &&Path| {
        let found = fs::symlink_metadata(folder);
        found.is_ok_and(|found| found.file_type().is_symlink() && (found.uid() != 0 || is_administrator))
    };
    folders.into_iter().find(is_link).map(Path::to_owned)
}
