//! Which modules has the system prompt, and which of them are switched off?

use std::collections::BTreeMap;

/// A part of the daemon's own system prompt, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptModule {
    Preamble,
    CoreMandates,
    Agents,
    PrimaryWorkflows,
    OperationalGuidelines,
    Sandbox,
    Git,
    FinalReminder,
}

impl PromptModule {
    pub const ALL: [PromptModule; 8] = [
        PromptModule::Preamble,
        PromptModule::CoreMandates,
        PromptModule::Agents,
        PromptModule::PrimaryWorkflows,
        PromptModule::OperationalGuidelines,
        PromptModule::Sandbox,
        PromptModule::Git,
        PromptModule::FinalReminder,
    ];

    /// The spelling in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            PromptModule::Preamble => "preamble",
            PromptModule::CoreMandates => "coreMandates",
            PromptModule::Agents => "agents",
            PromptModule::PrimaryWorkflows => "primaryWorkflows",
            PromptModule::OperationalGuidelines => "operationalGuidelines",
            PromptModule::Sandbox => "sandbox",
            PromptModule::Git => "git",
            PromptModule::FinalReminder => "finalReminder",
        }
    }

    pub fn named(name: &str) -> Option<PromptModule> {
        PromptModule::ALL.into_iter().find(|module| module.name() == name)
    }
}

/// The modules that somebody switched off, each with who did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleSwitches {
    off: BTreeMap<PromptModule, String>,
}

impl ModuleSwitches {
    /// `by` names the setting, for people.
    pub fn switch(&mut self, module: PromptModule, is_on: bool, by: &str) {
        match is_on {
            true => drop(self.off.remove(&module)),
            false => drop(self.off.insert(module, by.to_owned())),
        }
    }

    /// Who switched it off, if somebody did.
    pub fn off(&self, module: PromptModule) -> Option<&str> {
        self.off.get(&module).map(String::as_str)
    }
}
