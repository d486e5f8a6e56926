//! How closely a command is confined: the words that settings, agents, status and confirmations share (spec 11).

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command may touch. Ordered from the closest on.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum SandboxProfile {
    /// Only its temporary folder can be written.
    ReadOnly,
    /// The workspace, too.
    #[default]
    WorkspaceWrite,
    /// No sandbox: everything that the daemon's user may touch.
    Full,
}

impl SandboxProfile {
    /// The spelling on the wire and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxProfile::ReadOnly => "readOnly",
            SandboxProfile::WorkspaceWrite => "workspaceWrite",
            SandboxProfile::Full => "full",
        }
    }
}

/// How closely a command is confined, as far as a standing answer depends on it: whoever allows a command that reaches nothing
/// has not allowed one that reaches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandConfinement {
    /// `full` also where the system has nothing to confine commands with.
    pub profile: SandboxProfile,
    /// True if it reaches other machines.
    #[serde(default)]
    pub network: bool,
    /// The sockets that it reaches, see the setting `sandbox.sockets`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<PathBuf>,
}

impl CommandConfinement {
    /// None at all.
    pub fn none() -> CommandConfinement {
        CommandConfinement { profile: SandboxProfile::Full, network: true, sockets: Vec::new() }
    }

    /// True if it reaches nothing that the other one does not reach.
    pub fn is_within(&self, other: &CommandConfinement) -> bool {
        let is_free = other.profile == SandboxProfile::Full;
        self.profile <= other.profile
            && (other.network || !self.network)
            && (is_free || self.sockets.iter().all(|socket| other.sockets.contains(socket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_more_is_not_within_what_reaches_less() {
        let usual = CommandConfinement::default();
        let read_only = CommandConfinement { profile: SandboxProfile::ReadOnly, ..usual.clone() };
        let connected = CommandConfinement { network: true, ..usual.clone() };
        let docker = CommandConfinement { sockets: vec!["/run/docker.sock".into()], ..usual.clone() };
        let full_alone = CommandConfinement { profile: SandboxProfile::Full, ..usual.clone() };
        let within = [(&read_only, &usual), (&usual, &connected), (&usual, &docker), (&usual, &usual)];
        for (closer, wider) in within {
            assert!(closer.is_within(wider), "{closer:?}, {wider:?}");
        }
        for wider in [&connected, &docker, &full_alone, &CommandConfinement::none()] {
            assert!(!wider.is_within(&usual), "{wider:?}");
            assert!(wider.is_within(&CommandConfinement::none()), "{wider:?}");
        }
        assert!(!usual.is_within(&read_only) && !docker.is_within(&connected));
    }
}
