//! Who names a server: its user, a project, an agent, or an extension that it belongs to?

use std::path::PathBuf;

use protocol::{AgentName, ExtensionRef, SandboxProfile};

/// The extension of a server, as it was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionServerOrigin {
    pub extension: ExtensionRef,
    /// The digest of the extension: another version of it has other servers.
    pub digest: String,
    /// The extension's folder, which its programs read.
    pub root: PathBuf,
    /// The folder that its programs write; made when one is started. Neither path has links.
    pub data: PathBuf,
}

/// Who names a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerOrigin {
    /// Whoever runs the daemon.
    User,
    /// A workspace's own settings.
    Project,
    /// An agent, of which one run has it for itself.
    Agent {
        agent: AgentName,
        /// The workspace brings such an agent along: whoever trusts the workspace no more does not trust it either.
        of_project: bool,
        /// How closely its commands are confined.
        sandbox: Option<SandboxProfile>,
    },
    /// An extension that a person installed.
    Extension(ExtensionServerOrigin),
}

impl ServerOrigin {
    /// True of a server that the user names: in the settings, or in the file of one of the user's own agents.
    pub fn is_own(&self) -> bool {
        match self {
            ServerOrigin::User | ServerOrigin::Agent { of_project: false, .. } => true,
            ServerOrigin::Project | ServerOrigin::Agent { .. } | ServerOrigin::Extension(_) => false,
        }
    }

    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            ServerOrigin::Agent { agent, .. } => Some(agent),
            ServerOrigin::User | ServerOrigin::Project | ServerOrigin::Extension(_) => None,
        }
    }

    pub fn extension(&self) -> Option<&ExtensionRef> {
        match self {
            ServerOrigin::Extension(origin) => Some(&origin.extension),
            ServerOrigin::User | ServerOrigin::Project | ServerOrigin::Agent { .. } => None,
        }
    }

    pub fn sandbox(&self) -> Option<SandboxProfile> {
        match self {
            ServerOrigin::Agent { sandbox, .. } => *sandbox,
            ServerOrigin::User | ServerOrigin::Project | ServerOrigin::Extension(_) => None,
        }
    }
}
