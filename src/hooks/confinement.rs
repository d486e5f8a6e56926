//! Does the command of a hook run in a sandbox, and why?

use super::{Hook, HookHandler, HookOrigin, WorkspaceReach, reach};
use protocol::HookConfinement;

/// Characters of a command in a reason.
const MOST_WORDS: usize = 200;

impl Hook {
    /// True if its answer may count as a person's: it is the system's or the user's, runs nothing that an agent of the workspace could write, and
    /// its text prints nothing of what it is handed.
    pub fn speaks_for_person(&self) -> bool {
        !self.is_confined() && !may_be_anothers(&self.handler) && !reach::repeats_input(&self.handler)
    }

    /// True if its command runs in the workspace's walls: an agent may exchange or make a file of the workspace between the look at it and
    /// its start.
    pub(super) fn is_confined(&self) -> bool {
        !self.origin.is_own() || self.reach != WorkspaceReach::Nothing
    }

    /// The same hook in the workspace's walls, though its text alone would leave it out of them. `why`: as [`WorkspaceReach::Led`] has it.
    pub(super) fn led(&self, why: String) -> Hook {
        Hook { reach: WorkspaceReach::Led { why }, ..self.clone() }
    }

    /// The place where its command runs, and the reason; none if it is no command. `shown`: words of a command for people, without what
    /// must not be shown.
    pub fn confinement(&self, shown: impl FnOnce(String) -> String) -> Option<HookConfinement> {
        let HookHandler::Command { .. } = &self.handler else { return None };
        // Secrets go first: of half of one nobody can tell that it is one.
        let shown = |words: &str| in_a_line(&shown(words.to_owned()));
        let why = match (&self.origin, &self.reach) {
            (HookOrigin::Project { .. }, _) => "it is a project's".to_owned(),
            (HookOrigin::Agent { .. }, _) => "it stands in an agent's file".to_owned(),
            (HookOrigin::System | HookOrigin::User, reach) => {
                let owner = if self.origin == HookOrigin::System { "the system's" } else { "yours" };
                match reach {
                    WorkspaceReach::Nothing => {
                        format!("it is {owner}, and everything in its command is known to be harmless")
                    }
                    WorkspaceReach::Names { file } => {
                        format!(
                            "it is {owner}, but its command names {}, a file of the workspace",
                            shown(file)
                        )
                    }
                    WorkspaceReach::CouldRun { words } => format!(
                        "it is {owner}, but `{}` in its command is not known to be harmless",
                        shown(words)
                    ),
                    WorkspaceReach::Led { why } => format!("it is {owner}, but {}", shown(why)),
                }
            }
        };
        Some(HookConfinement { confined: self.is_confined(), reason: why })
    }
}

/// True of a hook in whose place an agent could answer. The server of a tool runs in the sandbox and may load what agents write, and at a
/// port of this machine may listen who came first; only a certificate says who it is.
fn may_be_anothers(handler: &HookHandler) -> bool {
    match handler {
        HookHandler::McpTool { .. } => true,
        HookHandler::Http { url, .. } => !url.trim_start().to_ascii_lowercase().starts_with("https://"),
        HookHandler::Command { .. }
        | HookHandler::Prompt { .. }
        | HookHandler::Agent { .. }
        | HookHandler::Unreadable { .. } => false,
    }
}

fn in_a_line(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_WORDS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
