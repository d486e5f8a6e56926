//! Which hooks count when the daemon begins, what runs them, and where they read what was said? (spec 08, "Hooks")

use std::{ffi::OsString, path::PathBuf};

use config::ConfigSources;
use hooks::{HookLibrary, HookPlaces, HookRunner};
use project::ProjectReader;
use run::{HookConfiguration, HooksInForce};

/// Below the user's cache: what hooks read of what was said.
const TRANSCRIPTS: &str = "subagentd/transcripts";

/// The hooks in force when the daemon begins.
pub(super) fn in_force(
    configuration: HookConfiguration,
    sources: &ConfigSources,
    projects: &ProjectReader,
    (library, runner): (&HookLibrary, &HookRunner),
) -> HooksInForce {
    let HookPlaces { home, .. } = &configuration.places;
    let named = |(name, _): &&(OsString, OsString)| name == "XDG_CACHE_HOME";
    let cache = sources.environment.iter().find(named).map(|(_, value)| PathBuf::from(value));
    let cache = cache.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(".cache"));
    let transcripts = cache.join(TRANSCRIPTS);
    HooksInForce::new((library.clone(), runner.clone()), configuration, projects.clone(), transcripts)
}
