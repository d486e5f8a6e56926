//! Which skills may a run's model ask for, and with which does it begin? (spec 08, "Skills")

use std::sync::Arc;

use config::nearest;
use project::{Project, ProjectSkills};
use protocol::{AgentDefinition, SkillActivated, ToolName, ToolSelection, default_tools};
use redact::Redactor;
use skills::{ActivatedSkill, LARGEST_TEXT, Skill, SkillError, SkillState};
use tools::{
    ACTIVATE_SKILL, ActiveSkills, OfferedSkill, SkillSource, Tool, activate_skill, entry_matches, skill_event,
};

/// Bytes of all texts that a run begins with, as many as of memory files: they stand in each of its requests.
const MOST_GIVEN: usize = 256 * 1024;
/// Reasons why a workspace's skill does not count.
pub(super) const UNREAD: &str = "nobody has acknowledged it (`subagent trust`)";
pub(super) const CHANGED: &str = "it has changed since it was acknowledged (`subagent trust`)";

/// The reason why a run cannot begin with a skill that it was asked to begin with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    #[error("there is no skill `{name}` here")]
    Unknown { name: String, near: Option<String> },
    #[error("the skill `{name}` cannot be used: {why}")]
    Unusable { name: String, why: String },
}

/// The tool by which its model asks for one of the skills of this workspace; `None` where there is none to be asked for.
pub(crate) fn skill_tool(skills: &ProjectSkills) -> Option<Arc<dyn Tool>> {
    let offered =
        |skill: &Skill| OfferedSkill { name: skill.name().to_owned(), folder: skill.folder().to_owned() };
    let offered = skills.catalog().listed().map(offered).collect();
    let skills = skills.clone();
    let source: SkillSource = Arc::new(move |name| {
        let skill = skills.catalog().listed().find(|skill| skill.name() == name);
        let skill = skill.ok_or_else(|| SkillError::NotAcknowledged(name.to_owned()))?;
        skills.activate(skill)
    });
    activate_skill(offered, source)
}

/// The skills that a run's model has the text of: none yet. Each is looked at again before something is read in its folder.
pub(super) fn active(skills: &ProjectSkills) -> ActiveSkills {
    let skills = skills.clone();
    ActiveSkills::checked_by(Arc::new(move |it| {
        skills.still_counts(&it.name, &it.folder, it.digest.as_deref())
    }))
}

/// The reason why models are not told of a skill; `None` = they are.
pub(super) fn why_untold(skill: &Skill) -> Option<String> {
    let why = match &skill.state {
        SkillState::Ready if skill.file().is_for_people => {
            "its file says `disable-model-invocation`: a person gives it"
        }
        SkillState::Ready if skill.is_left_out => "there is no room for it among the others",
        SkillState::Ready => return None,
        SkillState::Disabled => "the setting skills.disabled names it",
        SkillState::Unread => UNREAD,
        SkillState::Changed => CHANGED,
        SkillState::Hidden(by) => return Some(format!("{} goes before it", by.display())),
        SkillState::Rejected => "it has errors (`subagent skills show`)",
    };
    Some(why.to_owned())
}

/// The selection of a definition among tools. An agent with the daemon's own modules has the tool, where there are skills and unless
/// its file denies it.
pub(crate) fn selection(definition: &AgentDefinition, skills: &ProjectSkills) -> ToolSelection {
    let mut selection = definition.selection();
    let has_skills = skills.catalog().listed().next().is_some();
    if !has_skills || !definition.prompt_modules || selection.inherits {
        return selection;
    }
    let is_called = selection.is_called;
    let allow = selection.allow.get_or_insert_with(|| default_tools(is_called).map(ToolName::from).collect());
    allow.push(ToolName::from(ACTIVATE_SKILL));
    selection
}

/// True if an agent could have the tool, were there skills.
pub(super) fn is_wanted(definition: &AgentDefinition) -> bool {
    let means = |entry: &ToolName| entry_matches(entry.as_str(), ACTIVATE_SKILL);
    let is_allowed = definition.tools.allow.as_ref().is_some_and(|allow| allow.iter().any(means));
    definition.prompt_modules || definition.tools.inherits || is_allowed
}

/// True if an entry means the tool and nothing else.
pub(crate) fn means_skill_tool(entry: &ToolName) -> bool {
    !entry.as_str().contains('*') && entry_matches(entry.as_str(), ACTIVATE_SKILL)
}

/// The event that tells the log of a skill that a run begins with.
pub(super) fn told(skill: &ActivatedSkill, redactor: &Redactor) -> SkillActivated {
    let told = skill_event(skill, None);
    SkillActivated { name: redactor.owned(told.name), folder: redactor.owned(told.folder), ..told }
}

/// The skill of this name, as it is now, to stand beside those that are given already. Blocks on the file system.
pub(super) fn given(
    project: &Project,
    name: &str,
    others: &[ActivatedSkill],
) -> Result<ActivatedSkill, SkillProblem> {
    let catalog = project.skills.catalog();
    let Some(skill) = catalog.get(name) else {
        let near = nearest(name, catalog.all().map(Skill::name)).map(str::to_owned);
        return Err(SkillProblem::Unknown { name: name.to_owned(), near });
    };
    let unusable = |why: &str| SkillProblem::Unusable { name: name.to_owned(), why: why.to_owned() };
    if skill.state != SkillState::Ready {
        return Err(unusable(&why_untold(skill).unwrap_or_default()));
    }
    let skill = project.skills.activate(skill).map_err(|error| unusable(&error.to_string()))?;
    if !skill.is_short() {
        return Err(unusable(&format!("its text is longer than {} KiB", LARGEST_TEXT / 1024)));
    }
    let all: usize = others.iter().chain([&skill]).map(|skill| skill.body.len()).sum();
    if MOST_GIVEN < all {
        return Err(unusable(&format!(
            "the texts of the skills given would be longer than {} KiB",
            MOST_GIVEN / 1024
        )));
    }
    Ok(skill)
}
