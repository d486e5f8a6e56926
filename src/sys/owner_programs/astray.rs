//! Programs of the settings that are not run, since an agent may decide what they do by where they lie.

use std::path::Path;

use super::{
    OwnerProgram, OwnerPrograms,
    leading::{self, Led},
};
use crate::own_ground::OwnGround;

impl OwnerPrograms {
    /// The reason why a program is not run whose words lead to what agents can put there, as the end of a sentence. Blocks on the file
    /// system.
    pub(super) fn led_astray(&self, words: &[String], program: &OwnerProgram) -> Option<String> {
        let worked = self.worked_folders();
        let noted: Vec<&Path> = program.files.iter().map(|file| file.path.as_path()).collect();
        let home = std::env::home_dir();
        let ground = OwnGround::of_process(&worked, home.as_deref());
        let is_sent = self.known().of_keys.contains(words);
        let found = leading::leading(words, &noted, ground, is_sent);
        // By its name alone it may be found there, too.
        let by_name = || {
            let is_theirs = !worked.all().is_empty() && ground.loads_from_agents(&program.path);
            is_theirs.then(|| Led::Path(program.path.display().to_string()))
        };
        let found = found.or_else(by_name)?;
        Some(format!("is not run: {}", found.why()))
    }

    /// Sentences about programs that were not run for that reason since the settings were read; looks at none.
    pub fn found_astray(&self) -> Vec<String> {
        self.known().astray.iter().map(|(words, why)| sentence(words, why)).collect()
    }

    /// The same of all that would not be run now. Blocks on the file system.
    pub fn astray(&self) -> Vec<String> {
        let programs = self.known().programs.clone();
        let own = programs.iter().filter_map(|(words, program)| Some((words, program.as_ref().ok()?)));
        let own = own.filter(|(_, program)| program.script.is_none());
        own.filter_map(|(words, program)| Some(sentence(words, &self.led_astray(words, program)?))).collect()
    }
}

fn sentence(words: &[String], why: &str) -> String {
    format!("`{}`, which the settings name, {why}", words.first().map(String::as_str).unwrap_or_default())
}
