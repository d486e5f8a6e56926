//! Which skills does a person give an agent, and how are they taken off again?
//!
//! Each stands before the conversation in every run of the agent, once, so nothing piles up and no compression takes it away.

use super::ChatState;
use crate::{
    ProcessIo, failure::CommandFailure, link::DaemonLink, message::show_message, safe_text, skills, table,
    text_color::TextColor,
};

impl ChatState {
    pub(super) fn list_skills(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let text = skills::listing(self.workspace.clone(), link, &surroundings.stderr)?;
        surroundings.stderr.write(&text)?;
        let given = self.given_skills();
        if given.is_empty() {
            return Ok(());
        }
        let text = format!("{} is given: {}; `/skill -NAME` takes one off", self.agent, given.join(", "));
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        Ok(())
    }

    /// The skills that the next run of the agent is given.
    pub(super) fn given_skills(&self) -> Vec<String> {
        let of_agent = self.skills.iter().filter(|(agent, _)| *agent == self.agent);
        of_agent.map(|(_, name)| name.clone()).collect()
    }

    /// Takes off those that cannot be used any more: with them, no prompt would be taken.
    pub(super) fn drop_unusable_skills(
        &mut self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        for name in self.given_skills() {
            if skills::check(&name, self.workspace.clone(), link).is_err() {
                self.drop_skill(&name, surroundings)?;
                surroundings.stderr.write_text("nothing was sent; Up brings your input back")?;
            }
        }
        Ok(())
    }

    pub(super) fn drop_skill(
        &mut self,
        name: &str,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let count = self.skills.len();
        self.skills.retain(|(agent, known)| *agent != self.agent || known != name);
        if self.skills.len() == count {
            let name = safe_text::line(name, table::NAME_CHARACTERS);
            return Err(CommandFailure::new(format!("{} is given no skill {name}", self.agent))
                .or_hint("`/skill` lists skills, and those that are given"));
        }
        let text = format!("the next runs of {} are not given the skill {name} any more", self.agent);
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        Ok(())
    }

    /// Whoever begins anew begins without them.
    pub(super) fn drop_all_skills(&mut self, surroundings: &mut ProcessIo) {
        let given = self.given_skills();
        self.skills.retain(|(agent, _)| *agent != self.agent);
        if !given.is_empty() {
            let text = format!("{} is given no skills any more: it had {}", self.agent, given.join(", "));
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        }
    }

    /// Its text stands before the conversation in each of the agent's next runs, once, until it is taken off.
    pub(super) fn use_skill(
        &mut self,
        name: &str,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        skills::check(name, self.workspace.clone(), link)?;
        if !self.given_skills().iter().any(|known| known == name) {
            self.skills.push((self.agent.clone(), name.to_owned()));
        }
        let text = format!(
            "the next runs of {} are given the skill {name}; `/skill -{name}` takes it off",
            self.agent
        );
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        Ok(())
    }
}
