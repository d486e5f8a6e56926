//! Which extensions did a person install, and who changes that now?

use tokio::sync::Mutex;

use extensions::ExtensionLibrary;

/// The extensions of this daemon.
pub(super) struct InstalledExtensions {
    /// What is installed, as the log and the disk have it.
    pub library: ExtensionLibrary,
    /// Held by whoever changes it, so that none is decided by what another one is changing.
    pub changes: Mutex<()>,
}

impl InstalledExtensions {
    pub fn new(library: ExtensionLibrary) -> InstalledExtensions {
        InstalledExtensions { library, changes: Mutex::default() }
    }
}
