//! How freely do calls run in the session of a conversation? Shown at each prompt, and left by one key.

use clap::ValueEnum as _;

use super::ChatState;
use crate::{
    ProcessIo,
    failure::CommandFailure,
    link::DaemonLink,
    message::show_message,
    mode::{self, ModeWord},
    text_color::TextColor,
};
use protocol::ApprovalMode;

impl ChatState {
    /// ` (autoEdit)`: what the next prompt says of the mode, where it is not the usual one.
    pub(super) fn mode_sign(&self) -> String {
        match self.mode {
            Some(ApprovalMode::Default) => String::new(),
            Some(mode) => format!(" ({})", mode.as_str()),
            None => " (a mode of a newer daemon)".to_owned(),
        }
    }

    /// Asks for the session's mode, which others may change as well. What cannot be told now is as it was.
    pub(super) fn learn_mode(&mut self, link: &mut DaemonLink) {
        if let Some(mode) = self.session_id.as_ref().and_then(|id| mode::of_session(id, link).ok()) {
            self.mode = mode;
        }
    }

    /// Shift-Tab: whatever runs without asking is asked about again. A key alone never loosens.
    pub(super) fn leave_mode(
        &mut self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        self.learn_mode(link);
        match self.mode {
            Some(ApprovalMode::AutoEdit | ApprovalMode::Yolo) => {
                self.change_mode(ApprovalMode::Default, link, surroundings)
            }
            Some(mode @ (ApprovalMode::Default | ApprovalMode::Plan)) => {
                tell(&format!("{}; `/mode` changes it", mode::in_words(mode)), surroundings);
                Ok(())
            }
            None => {
                Err(CommandFailure::new("this mode is one of a newer daemon, so it is not changed by a key")
                    .or_hint("`/mode default` has everything asked about that is not safe"))
            }
        }
    }

    pub(super) fn show_mode(
        &mut self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        self.learn_mode(link);
        let told = self.mode.map_or("a mode that only a newer `subagent` knows", mode::in_words);
        tell(told, surroundings);
        Ok(())
    }

    pub(super) fn use_mode(
        &mut self,
        word: &str,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let wanted = ModeWord::from_str(word, true).map_err(|_| {
            CommandFailure::usage("there is no such mode; nothing was changed").or_hint(
                "/mode plan, /mode default, /mode autoEdit, or /mode yolo where the settings allow it",
            )
        })?;
        self.change_mode(wanted.mode(), link, surroundings)
    }

    fn change_mode(
        &mut self,
        wanted: ApprovalMode,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let Some(session_id) = &self.session_id else {
            return Err(CommandFailure::new(
                "the session begins with the first message, so it has no mode to change yet",
            )
            .or_hint("say something first, or begin with `subagent run … --interactive --mode autoEdit`"));
        };
        mode::set(session_id, wanted, link)?;
        self.mode = Some(wanted);
        tell(mode::in_words(wanted), surroundings);
        Ok(())
    }
}

fn tell(text: &str, surroundings: &mut ProcessIo) {
    show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
}
