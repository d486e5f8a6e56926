//! The hooks that count now, of every place but an agent's file: one value that is swapped whole when settings are read anew.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hooks::{AgentHooks, HookLibrary, HookPlaces, HookPlacesRead, HookRunner, HookSettings};
use project::ProjectReader;
use protocol::{HookEventName, SessionId};
use sys::current::HotSwap;
use trust::TrustRecords;

/// Everything that the settings say of hooks.
#[derive(Debug, Clone, Default)]
pub struct HookConfiguration {
    /// Without the folders of any workspace.
    pub places: HookPlaces,
    /// Everything that hooks run by.
    pub settings: HookSettings,
    /// The system's and the user's hooks may answer questions in the person's place.
    pub may_approve: bool,
}

/// Holds which hooks count, and what runs them. A cheap handle.
#[derive(Clone)]
pub struct HooksInForce {
    shared: Arc<HooksShared>,
}

struct HooksShared {
    library: HookLibrary,
    runner: HookRunner,
    configuration: HotSwap<HookConfiguration>,
    /// Rises whenever what was read may be another thing now.
    edition: AtomicU64,
    projects: ProjectReader,
    /// The place where hooks read what was said.
    transcripts: PathBuf,
}

impl HooksInForce {
    pub fn new(
        (library, runner): (HookLibrary, HookRunner),
        configuration: HookConfiguration,
        projects: ProjectReader,
        transcripts: PathBuf,
    ) -> HooksInForce {
        let shared = HooksShared {
            library,
            runner,
            configuration: HotSwap::new(configuration),
            edition: AtomicU64::new(0),
            projects,
            transcripts,
        };
        HooksInForce { shared: Arc::new(shared) }
    }

    /// Other settings from now on. Every run looks anew before it fires the next hook.
    pub fn replace(&self, configuration: HookConfiguration) {
        self.shared.configuration.replace(configuration);
        self.shared.edition.fetch_add(1, Ordering::Release);
    }

    /// Everything that the settings say now.
    pub fn configuration(&self) -> Arc<HookConfiguration> {
        self.shared.configuration.get()
    }

    /// Everything that was read of hooks so far.
    pub fn library(&self) -> &HookLibrary {
        &self.shared.library
    }

    pub fn runner(&self) -> &HookRunner {
        &self.shared.runner
    }

    /// The place where hooks of one session read what was said.
    pub fn transcripts(&self) -> &PathBuf {
        &self.shared.transcripts
    }

    /// True if hooks of a workspace may be fired by this event. Blocks on the file system.
    pub fn fires(&self, roots: &[String], event: HookEventName) -> bool {
        let canonical: Vec<String> =
            roots.iter().filter_map(|root| trust::canonical(Path::new(root))).collect();
        self.read(&canonical, &[]).set.has_any(event)
    }

    /// Has every run look anew where a file is not what it was when it was read. Blocks on the file system.
    pub fn look_again(&self) {
        self.shared.library.forget_outdated();
    }

    /// The sessions of which there is something that hooks could read. Blocks on the file system.
    pub fn kept_sessions(&self) -> io::Result<Vec<SessionId>> {
        let entries = match fs::read_dir(&self.shared.transcripts) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string()));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        Ok(names.into_iter().flatten().map(SessionId::from).collect())
    }

    /// Removes what hooks of a session could read of it. Blocks on the file system.
    pub fn forget_session(&self, session: &SessionId) -> io::Result<()> {
        match fs::remove_dir_all(self.shared.transcripts.join(session.as_str())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The hooks of a workspace with these canonical folders and of these agents, as they are now. Blocks on the file system.
    pub fn read(&self, roots: &[String], agents: &[AgentHooks]) -> Arc<HookPlacesRead> {
        let places = HookPlaces { roots: roots.to_vec(), ..self.configuration().places.clone() };
        self.shared.library.current(&places, agents, &self.trust())
    }

    /// Everything that was read under another edition, or when other people trusted other files, is read anew.
    pub(super) fn edition(&self) -> (u64, u64) {
        (self.shared.edition.load(Ordering::Acquire), self.shared.library.version())
    }

    pub(super) fn trust(&self) -> Arc<TrustRecords> {
        self.shared.projects.trust()
    }
}
