//! `sandbox`: what confines commands, and how does it look when that is why one fails?

use super::{super::ConfinementFacts, PromptFacts};
use protocol::SandboxProfile;

pub(super) fn text(facts: &PromptFacts) -> Option<String> {
    let (mechanism, profile, has_network) = match facts.commands.as_ref()? {
        ConfinementFacts::Confined { mechanism, profile, has_network } => (mechanism, profile, has_network),
        ConfinementFacts::Unconfined => {
            return Some(
                "# No sandbox\n\
                 Nothing confines your commands: they reach whatever the user reaches. Before work outside of the workspace, or \
                 with programs that nobody knows, suggest a sandbox (`subagent doctor` shows what is missing for one)."
                    .to_owned(),
            );
        }
    };
    let writes = match profile {
        SandboxProfile::ReadOnly => "a temporary folder, and nothing else",
        SandboxProfile::WorkspaceWrite | SandboxProfile::Full => "the workspace and a temporary folder",
    };
    let network = match has_network {
        true => "They reach the network.",
        false => {
            "They have no network: \"network is unreachable\", \"could not resolve host\" and \"operation not permitted\" at a \
             connection come from that."
        }
    };
    Some(format!(
        "# Sandbox\n\
         Your commands run confined by {mechanism}. They can write {writes}; secrets and the daemon's own files do not exist for \
         them. {network}\n\
         \"Permission denied\", \"read-only file system\" or a file that should be there and is not, outside of the workspace, are \
         most likely the sandbox. Then do not look for a way around it: say what was refused, why it may be the sandbox, and that \
         the settings under `sandbox` can allow it."
    ))
}
