//! Which servers may be used in a workspace, as the settings have it?

use std::{collections::BTreeMap, time::Duration};

use super::{auth::OAuthSessions, listing::matches, origin::ServerOrigin};
use crate::{CommandRules, digest};
use protocol::McpServerConfig;
use redact::Redactor;

/// What the settings say of servers; swapped whole with them.
#[derive(Clone)]
pub struct ServerRules {
    /// The user's own, by name.
    pub servers: BTreeMap<String, McpServerConfig>,
    /// Names of the user's entries that cannot be read: nobody else's server takes their place.
    pub faulty: Vec<String>,
    /// Names, with `*`; `None` = all.
    pub allowed: Option<Vec<String>>,
    /// Names, with `*`.
    pub excluded: Vec<String>,
    /// How long a server is kept that nobody uses; `None` = for ever.
    pub idle_timeout: Option<Duration>,
    /// How programs of servers are confined.
    pub commands: CommandRules,
    pub redactor: Redactor,
    /// Variables of the daemon's that hold its own keys, which only the user's own servers are given.
    pub own_keys: Vec<String>,
    /// Who signed in to servers; the same through all settings.
    pub sign_ins: OAuthSessions,
}

impl ServerRules {
    /// Why no server of this name is used, if none is.
    pub fn blocked(&self, name: &str) -> Option<String> {
        let means = |pattern: &&String| matches(pattern, name);
        if let Some(pattern) = self.excluded.iter().find(means) {
            return Some(format!("the setting mcp.excluded has `{pattern}`"));
        }
        let allowed = self.allowed.as_ref()?;
        allowed.iter().find(means).is_none().then(|| "the setting mcp.allowed does not have it".to_owned())
    }
}

/// Of how a server is configured and by whom, so that another one of the same name is told from it. What others than the user
/// name is another one in each workspace.
pub fn digest_of(name: &str, entry: &McpServerConfig, origin: &ServerOrigin, roots: &[String]) -> String {
    // It is plain data, so it can be written as JSON.
    let text = serde_json::to_string(entry).unwrap_or_default();
    let whose = match origin {
        ServerOrigin::User => String::new(),
        ServerOrigin::Project => "project".to_owned(),
        ServerOrigin::Agent { agent, .. } => format!("agent {agent}"),
        ServerOrigin::Extension(origin) => format!("extension {} {}", origin.extension.id, origin.digest),
    };
    // A person installed an extension for all workspaces.
    let is_everywhere = matches!(origin, ServerOrigin::User | ServerOrigin::Extension(_));
    let place = if is_everywhere { String::new() } else { roots.join("\n") };
    digest::of_parts([name, &text, &whose, &place])
}
