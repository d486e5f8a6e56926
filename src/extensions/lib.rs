//! Which extensions did a person install, what does each bring along, and is it still what was installed? (spec 08, "Plugins")
//!
//! An extension is a folder in the format Agent Plugins 1.0.0 (<https://github.com/agentplugins/agent-plugins-spec>): a
//! `plugin.json`, skills, MCP servers. This crate copies such a folder within bounds to a place of the daemon's own, reads it
//! strictly, and knows it by path, mode and bytes of all its files, so that one of which anything changed is off. It never runs
//! anything of it, and never knows who asks, where a folder came from or what is made of its skills and servers.

mod contents;
mod library;
mod manifest;
mod package;
mod servers;
mod staging;
#[cfg(test)]
mod tests;

pub use contents::{LARGEST_EXTENSION, MOST_EXTENSION_FILES};
pub use library::{ExtensionLibrary, ExtensionState, KnownExtension};
pub use manifest::PluginManifest;
pub use package::{ExtensionPackage, PackagedSkill};
pub use servers::PackagedServer;
pub use staging::{ExtensionFolders, StagedExtension};

/// The reason why a folder is no extension that could be installed: the end of a sentence that begins with the folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageFault {
    /// Something in it is against the format or the bounds.
    #[error("{0}")]
    Refused(String),
    /// There is no room for a copy of it.
    #[error("does not fit on the disk")]
    NoRoom,
    /// The file system did not let it be read or copied.
    #[error("{0}")]
    Unreadable(String),
}
