//! How freely do calls run in the session of a conversation? Shown at each prompt, and left by one key.

use clap::ValueEnum as _;

use super::Talk;
use crate::{
    cli::{
        Surroundings,
        failure::{Failure, show_message},
        link::Link,
        mode::{self, ModeWord},
        screen::Ink,
    },
    protocol::ApprovalMode,
};

impl Talk {
    /// ` (autoEdit)`: what the next prompt says of the mode, where it is not the usual one.
    pub(super) fn mode_sign(&self, link: &mut Link) -> String {
        match self.mode(link) {
            Ok(Some(ApprovalMode::Default)) | Err(_) => String::new(),
            Ok(Some(mode)) => format!(" ({})", mode.as_str()),
            Ok(None) => " (a mode of a newer daemon)".to_owned(),
        }
    }

    /// Shift-Tab: whatever runs without asking is asked about again. A key alone never loosens.
    pub(super) fn leave_mode(&self, link: &mut Link, surroundings: &mut Surroundings) -> Result<(), Failure> {
        match self.mode(link)? {
            Some(ApprovalMode::AutoEdit | ApprovalMode::Yolo) => {
                self.change_mode(ApprovalMode::Default, link, surroundings)
            }
            Some(mode @ (ApprovalMode::Default | ApprovalMode::Plan)) => {
                tell(&format!("{}; `/mode` changes it", mode::in_words(mode)), surroundings);
                Ok(())
            }
            None => Err(Failure::new("this mode is one of a newer daemon, so it is not changed by a key")
                .or_hint("`/mode default` has everything asked about that is not safe")),
        }
    }

    pub(super) fn show_mode(&self, link: &mut Link, surroundings: &mut Surroundings) -> Result<(), Failure> {
        let told = self.mode(link)?.map_or("a mode that only a newer `subagent` knows", mode::in_words);
        tell(told, surroundings);
        Ok(())
    }

    pub(super) fn use_mode(
        &self,
        word: &str,
        link: &mut Link,
        surroundings: &mut Surroundings,
    ) -> Result<(), Failure> {
        let wanted = ModeWord::from_str(word, true).map_err(|_| {
            Failure::usage("there is no such mode; nothing was changed").or_hint(
                "/mode plan, /mode default, /mode autoEdit, or /mode yolo where the settings allow it",
            )
        })?;
        self.change_mode(wanted.mode(), link, surroundings)
    }

    fn change_mode(
        &self,
        wanted: ApprovalMode,
        link: &mut Link,
        surroundings: &mut Surroundings,
    ) -> Result<(), Failure> {
        let Some(session_id) = &self.session_id else {
            return Err(Failure::new(
                "the session begins with the first message, so it has no mode to change yet",
            )
            .or_hint("say something first, or begin with `subagent run … --interactive --mode autoEdit`"));
        };
        mode::set(session_id, wanted, link)?;
        tell(mode::in_words(wanted), surroundings);
        Ok(())
    }

    /// Of the session, which others may change as well.
    fn mode(&self, link: &mut Link) -> Result<Option<ApprovalMode>, Failure> {
        match &self.session_id {
            Some(session_id) => Ok(mode::of_session(session_id, link)?),
            None => Ok(Some(ApprovalMode::Default)),
        }
    }
}

fn tell(text: &str, surroundings: &mut Surroundings) {
    show_message(&mut surroundings.stderr, Ink::Dim, "note", text);
}
