//! The extension that a server belongs to, as its program is started.

use std::path::PathBuf;

use protocol::ExtensionRef;

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
