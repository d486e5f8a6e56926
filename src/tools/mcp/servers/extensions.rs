//! Servers that extensions bring along: they count behind those of the settings, and only while their extension does.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use super::{
    ExtensionServerOrigin, McpHub, McpHubInner, McpWorkspace, ServerLookup, ServerOrigin, lock, sounds_like,
};
use crate::{
    mcp::{
        rules::ServerRules,
        server::{McpServerInstance, ReadyServer, ServerLease},
    },
    work,
};
use config::server_sound;
use protocol::{ExtensionRef, McpServerConfig};

/// A server of an extension that is enabled.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionServer {
    pub name: String,
    /// Its texts are as they are started with.
    pub entry: McpServerConfig,
    pub origin: ExtensionServerOrigin,
}

/// Tells why the servers of an extension may not run by now, given the digest of which they are. Blocks on the file system.
pub type ExtensionCheck = Arc<dyn Fn(&ExtensionRef, &str) -> Option<String> + Send + Sync>;

/// The servers by name; of several of one name, or of names that rules cannot tell from each other, the first.
pub(super) type ExtensionServers = BTreeMap<String, ExtensionServer>;

impl McpHub {
    /// Has programs of extensions looked at by this before they are started; of several who say so the first counts.
    pub fn check_extensions_by(&self, check: ExtensionCheck) {
        let _first = self.0.extension_check.set(check);
    }

    /// These are the servers of extensions from now on, in the order of precedence; all others end.
    pub fn bring_extensions(&self, servers: Vec<ExtensionServer>) {
        let mut by_name = ExtensionServers::new();
        for server in servers {
            let is_taken = by_name.keys().any(|known| server_sound(known) == server_sound(&server.name));
            if !is_taken {
                by_name.insert(server.name.clone(), server);
            }
        }
        if *self.0.extensions.get() == by_name {
            return;
        }
        self.0.extensions.replace(by_name);
        // Runs look again at what their servers are by now.
        self.0.edition.fetch_add(1, Ordering::AcqRel);
        let all: Vec<Vec<String>> = lock(&self.0.workspaces).keys().cloned().collect();
        all.iter().for_each(|roots| self.sweep(roots));
    }

    /// A server that is asked for something; it is started if it must be. What keeps it from being used is told in words. One of an
    /// extension is not used once that is other than it was installed: what the server loads with a call may be what changed.
    pub async fn ready(
        &self,
        roots: &[String],
        name: &str,
    ) -> Result<(Arc<ReadyServer>, ServerLease, Arc<McpServerInstance>), String> {
        let (ready, in_use, server) = self.told_ready(roots, name).await?;
        match self.fault_of_extension(&server).await {
            None => Ok((ready, in_use, server)),
            Some(why) => Err(format!("it may not run any more: its extension {why}")),
        }
    }

    /// The reason why a server of an extension may do nothing by now, although it may run: the extension is not what was installed, and
    /// what the server loads with a call may be what changed.
    async fn fault_of_extension(&self, server: &McpServerInstance) -> Option<String> {
        let ServerOrigin::Extension(origin) = &server.origin else { return None };
        let (inner, origin) = (Arc::clone(&self.0), origin.clone());
        work::aside(move || inner.extension_fault(&origin.extension, &origin.digest)).await
    }

    /// The reason why a server that an extension brings along, or would, is not used in any workspace.
    pub fn unused_of_extension(&self, name: &str, extension: &ExtensionRef) -> Option<String> {
        let rules = self.0.rules.get();
        if let Some(why) = in_use(&rules, name) {
            return Some(why);
        }
        let all = self.0.extensions.get();
        let other = all.values().find(|other| {
            server_sound(&other.name) == server_sound(name) && other.origin.extension.name != extension.name
        });
        if let Some(other) = other {
            return Some(format!("the extension {} has a server of this name", other.origin.extension.name));
        }
        rules.blocked(name)
    }
}

impl McpHubInner {
    /// The server of this name that an extension has, beside what the settings and this workspace name.
    pub(super) fn of_extension(
        &self,
        (rules, workspace): (&ServerRules, &McpWorkspace),
        name: &str,
    ) -> Option<Result<(McpServerConfig, ServerOrigin), ServerLookup>> {
        let all = self.extensions.get();
        let ExtensionServer { entry, origin, .. } = all.get(name)?;
        if let Some(why) = in_use(rules, name) {
            return Some(Err(ServerLookup::Blocked(why)));
        }
        let of_project = workspace.own.keys().find(|own| server_sound(own) == server_sound(name));
        Some(match of_project {
            Some(own) => {
                let why = format!("the project's settings name `{own}`, which rules cannot tell from it");
                Err(ServerLookup::Blocked(why))
            }
            None => Ok((entry.clone(), ServerOrigin::Extension(origin.clone()))),
        })
    }

    /// The names of servers of extensions.
    pub(super) fn extension_names(&self) -> Vec<String> {
        self.extensions.get().keys().cloned().collect()
    }

    /// The reason why the programs of an extension may not run by now. Blocks on the file system.
    pub(super) fn extension_fault(&self, extension: &ExtensionRef, digest: &str) -> Option<String> {
        match self.extension_check.get() {
            Some(check) => check(extension, digest),
            // Nobody can say that it is what was installed.
            None => Some("nobody looks at its extension".to_owned()),
        }
    }
}

/// The reason why the user's own settings leave no room for a server of this name.
fn in_use(rules: &ServerRules, name: &str) -> Option<String> {
    let own = sounds_like(rules, name)?;
    Some(match own == name {
        true => "your own settings have a server of this name".to_owned(),
        false => format!("your own settings name `{own}`, which rules cannot tell from it"),
    })
}
