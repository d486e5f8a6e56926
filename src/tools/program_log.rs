//! The files that programs of the settings may be run with (spec 11, "What runs outside cannot be written from inside").
//!
//! Programs that the daemon runs outside of the sandbox, and servers of the user's own, are run with the files that they had when
//! they were first run, or when a person acknowledged them last. The log keeps that (`program.noted`), so that it outlasts the
//! daemon: else whoever changes a program has only to wait for the next start.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use protocol::{
    EventHead, EventSeq, PrivateEventFields, ProgramId, ProgramNoted, ProgramSource, TrustedFile,
};
use store::{EventStore, NewEvent, StoreError};
use sys::{
    clock::Clock,
    owner_programs::{OwnerPrograms, OwnerProgramsLookup, ProgramFiles, ProgramRecord},
};

/// The log's word on the programs that settings name. A cheap handle.
#[derive(Clone)]
pub struct ProgramLog(Arc<ProgramLogInner>);

struct ProgramLogInner {
    store: EventStore,
    clock: Arc<dyn Clock>,
    owner_programs: OwnerPrograms,
    noted: Mutex<BTreeMap<ProgramId, ProgramNoted>>,
}

impl ProgramLog {
    /// Reads what is known, and tells the owner's programs.
    pub async fn open(
        store: EventStore,
        clock: Arc<dyn Clock>,
        owner_programs: OwnerPrograms,
    ) -> Result<ProgramLog, StoreError> {
        owner_programs.heed(store.worked_folders().clone());
        let noted = store.noted_programs().await?;
        for program in noted.iter().filter(|program| program.source == ProgramSource::Command) {
            owner_programs.remember(program.id.0.clone(), files_of(program));
        }
        let noted = Mutex::new(noted.into_iter().map(|program| (program.id.clone(), program)).collect());
        Ok(ProgramLog(Arc::new(ProgramLogInner { store, clock, owner_programs, noted })))
    }

    pub fn owner_programs(&self) -> &OwnerPrograms {
        &self.0.owner_programs
    }

    /// The record of a program.
    pub fn get(&self, id: &ProgramId) -> Option<ProgramNoted> {
        self.noted().get(id).cloned()
    }

    /// Every server of the user's own that was ever started with files of a workspace.
    pub fn servers(&self) -> Vec<ProgramNoted> {
        let noted = self.noted();
        noted.values().filter(|program| program.source == ProgramSource::McpServer).cloned().collect()
    }

    /// Notes programs of which nothing is known, and scripts that the owner changed, after the log was told.
    pub async fn note_new(&self, lookup: &OwnerProgramsLookup) -> Result<(), StoreError> {
        let noted = |id: &str| self.get(&ProgramId(id.to_owned())).map(|program| files_of(&program));
        let new = lookup.unnoted(noted, self.0.store.worked_folders()).into_iter().map(command);
        self.note(new.collect(), None).await.map(drop)
    }

    /// Tells the log with which files these programs may be run, and then goes by it. `by`: a client whose person says so.
    pub async fn note(
        &self,
        programs: Vec<ProgramNoted>,
        by: Option<String>,
    ) -> Result<Option<EventSeq>, StoreError> {
        if programs.is_empty() {
            return Ok(None);
        }
        let event = |program: &ProgramNoted| NewEvent {
            at: self.0.clock.now(),
            session: None,
            run: None,
            context: None,
            head: EventHead { by: by.clone(), ..EventHead::default() },
            body: program.clone().into(),
            private: PrivateEventFields::default(),
        };
        let (_, seq) = self.0.store.append(programs.iter().map(event).collect()).await?;
        for program in programs {
            if program.source == ProgramSource::Command {
                self.0.owner_programs.remember(program.id.0.clone(), files_of(&program));
            }
            self.noted().insert(program.id.clone(), program);
        }
        Ok(Some(seq))
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<ProgramId, ProgramNoted>> {
        // Nothing panics while it is held.
        self.0.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command of the settings, as the log has it.
fn command(record: ProgramRecord) -> ProgramNoted {
    let ProgramRecord { id, name, files } = record;
    let files = files
        .into_iter()
        .map(|(path, digest)| TrustedFile { path: path.to_string_lossy().into_owned(), digest });
    ProgramNoted {
        id: ProgramId(id),
        source: ProgramSource::Command,
        name,
        workspace: Vec::new(),
        files: files.collect(),
        acknowledged: false,
    }
}

fn files_of(program: &ProgramNoted) -> ProgramFiles {
    program.files.iter().map(|file| (PathBuf::from(&file.path), file.digest.clone())).collect()
}
