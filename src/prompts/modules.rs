//! What do the modules say? One file each; this one puts them in order.

use super::{ModuleSwitches, PromptFacts, PromptModule, PromptPart};

mod agents;
mod core_mandates;
mod final_reminder;
mod git;
mod operational_guidelines;
mod preamble;
mod primary_workflows;
mod sandbox;

pub(super) use agents::directory;

/// Whose words the modules are.
const SOURCE: &str = "built in";

/// Every module, those that are off among them.
pub fn modules(facts: &PromptFacts, switches: &ModuleSwitches) -> Vec<PromptPart> {
    let part = |module: PromptModule| match (switches.off(module), text(module, facts)) {
        (Some(by), _) => PromptPart::off(module.name(), SOURCE, by),
        (None, Err(why)) => PromptPart::off(module.name(), SOURCE, why),
        (None, Ok(text)) => PromptPart::new(module.name(), SOURCE, text),
    };
    PromptModule::ALL.into_iter().map(part).collect()
}

/// The modules as a file that can stand in their place: used so, with the same facts, it says the same bytes. The directory of
/// agents is a placeholder in it, so that it stays true.
pub fn exported(facts: &PromptFacts, switches: &ModuleSwitches) -> String {
    let written = |part: &PromptPart| match part.name == PromptModule::Agents.name() && part.off.is_none() {
        true => "${agents}".to_owned(),
        false => part.text.replace("${", "$${"),
    };
    let parts: Vec<PromptPart> =
        modules(facts, switches).iter().map(|it| PromptPart { text: written(it), ..it.clone() }).collect();
    super::joined(&parts)
}

/// What a module says, or why it says nothing.
fn text(module: PromptModule, facts: &PromptFacts) -> Result<String, &'static str> {
    match module {
        PromptModule::Preamble => Ok(preamble::text(facts)),
        PromptModule::CoreMandates => Ok(core_mandates::text(facts)),
        PromptModule::Agents => directory(facts).ok_or("there is no agent that it may call"),
        PromptModule::PrimaryWorkflows => Ok(primary_workflows::text(facts)),
        PromptModule::OperationalGuidelines => Ok(operational_guidelines::text(facts)),
        PromptModule::Sandbox => sandbox::text(facts).ok_or("it cannot run commands"),
        PromptModule::Git => match (facts.is_repository, &facts.commands) {
            (false, _) => Err("the workspace is not in a git repository"),
            (true, None) => Err("it cannot run commands"),
            (true, Some(_)) => Ok(git::text()),
        },
        PromptModule::FinalReminder => Ok(final_reminder::text(facts)),
    }
}

/// A section: its heading, and its points one a line.
fn section(heading: &str, points: &[String]) -> String {
    let points: Vec<String> = points.iter().map(|point| format!("- {point}")).collect();
    format!("# {heading}\n{}", points.join("\n"))
}
