//! What do memory files of a sub-folder say to a run that comes there? They are appended to the result of the first call that
//! touches a path below, once a context and again after it was compressed (spec 08, "Memory files").

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    gate::{AskingRun, CallGate},
    machine::NearMemoryNews,
    plan::{ImportRules, WorkspaceMemoryReader, memory_rules},
    unblocked,
};
use memory::{CollectedMemory, MOST_MEMORY_BYTES, of_folder};
use prompts::{ContextBlock, context_message};
use protocol::{CallId, FolderMemory, MessagePart, ResourceAccess, ToolResult};
use tools::{IgnoreRules, WorkspacePath};

/// Folders of one context (spec 08): each is looked at once.
const MOST_FOLDERS: usize = 200;
/// Paths of one call that are looked at; more name the same folders, or all of them.
const MOST_PATHS: usize = 64;
const REMARK: &str =
    "It is about the folder that you have just come to, and counts there before what was said earlier.";

/// The folders that a context was told of. A cheap handle; the log has the same (`PrivateEventFields::memory`).
#[derive(Clone, Default)]
pub(super) struct NearMemory {
    known: Arc<Mutex<NearMemoryState>>,
}

#[derive(Default)]
struct NearMemoryState {
    /// The folders that were looked at, whether there was anything or not.
    folders: HashMap<PathBuf, KnownFolder>,
    /// It was told that there are more of them than are looked at.
    has_told_of_folders: bool,
    /// Bytes of what the context was told.
    bytes: usize,
    /// News of calls whose end the log does not have yet.
    pending: HashMap<CallId, FolderMemory>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownFolder {
    Entered,
    /// Ignore rules name it: neither it nor what is below says anything.
    Ignored,
}

impl NearMemory {
    fn state(&self) -> MutexGuard<'_, NearMemoryState> {
        // Poisoned or not: each change leaves it whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the log says of a call that has ended.
    pub fn take_in(&self, call: &CallId, told: Option<&FolderMemory>) {
        let mut state = self.state();
        // A call that was given up told nobody what it had looked up.
        let looked_up = state.pending.remove(call).filter(|_| told.is_none());
        for folder in looked_up.into_iter().flat_map(|it| it.folders) {
            state.folders.remove(Path::new(&folder));
        }
        if let Some(FolderMemory { folders, bytes, .. }) = told {
            state.bytes += usize::try_from(*bytes).unwrap_or(usize::MAX);
            state.folders.extend(folders.iter().map(|folder| (folder.into(), KnownFolder::Entered)));
        }
    }

    /// The model does not have it any more.
    pub fn forget(&self) {
        *self.state() = NearMemoryState::default();
    }

    /// The state of a folder; `None` = it has to be looked at.
    fn known(&self, folder: &Path) -> Option<KnownFolder> {
        self.state().folders.get(folder).copied()
    }

    /// Takes a folder that nobody has looked at yet; `false` = somebody has, or there are too many.
    fn claim(&self, folder: &Path, what: KnownFolder) -> bool {
        let mut state = self.state();
        let has_room = state.folders.len() < MOST_FOLDERS;
        has_room && state.folders.insert(folder.to_owned(), what).is_none()
    }

    /// True the first time that there is no room for one more folder.
    fn is_newly_full(&self) -> bool {
        let mut state = self.state();
        MOST_FOLDERS <= state.folders.len() && !std::mem::replace(&mut state.has_told_of_folders, true)
    }

    /// Notes that a call tells so much more; `false` = there is no room for it.
    fn tell(&self, call: &CallId, folder: &Path, blocks: &[ContextBlock]) -> bool {
        let bytes = blocks.iter().map(|it| it.text.len()).sum::<usize>();
        let mut state = self.state();
        let pending: u64 = state.pending.values().map(|it| it.bytes).sum();
        let known = state.bytes.saturating_add(usize::try_from(pending).unwrap_or(usize::MAX));
        if MOST_MEMORY_BYTES < known.saturating_add(bytes) {
            return false;
        }
        let told = state.pending.entry(call.clone()).or_default();
        told.folders.push(folder.to_string_lossy().into_owned());
        told.files.extend(blocks.iter().map(|it| it.source.clone()));
        told.bytes += bytes as u64;
        true
    }

    fn told_by(&self, call: &CallId) -> Option<FolderMemory> {
        self.state().pending.get(call).cloned()
    }
}

/// The result with what memory files say of the folders that it is about. `accesses`: what the call touched.
pub(super) async fn appended(
    mut result: ToolResult,
    (call, accesses): (CallId, Vec<ResourceAccess>),
    near: NearMemory,
    (gate, asking): (Arc<CallGate>, Arc<AskingRun>),
) -> (ToolResult, NearMemoryNews) {
    let paths: Vec<PathBuf> = accesses
        .into_iter()
        .filter_map(|access| match access {
            ResourceAccess::Read { path } | ResourceAccess::Write { path } => Some(path),
            _ => None,
        })
        .take(MOST_PATHS)
        .collect();
    // Trust may have been taken back since the run began.
    let tells = gate.tells_memory && gate.project.is_trusted_by_now();
    if result.error.is_some() || !tells || paths.is_empty() {
        return (result, NearMemoryNews::default());
    }
    // What the file says that the call has written may import what hooks would be shown of reading.
    gate.hooks.refresh().await;
    let looking = move || {
        let imports = ImportRules::of_run(&gate, &asking.path);
        let mut warnings = Vec::new();
        let mut blocks = Vec::new();
        for (folder, memory) in
            paths.iter().flat_map(|path| folders_on_the_way(path, &near, (&gate, &imports)))
        {
            warnings.extend(memory.warnings.iter().cloned());
            let told: Vec<ContextBlock> = memory.used().filter_map(block).collect();
            if told.is_empty() {
                continue;
            }
            if near.tell(&call, &folder, &told) {
                blocks.extend(told);
            } else {
                let most = MOST_MEMORY_BYTES >> 10;
                warnings.push(format!(
                    "memory files in {} are left out: those of sub-folders are longer than {most} KiB in all",
                    folder.display()
                ));
            }
        }
        let redactor = &gate.supplies.redactor;
        let text = context_message(&blocks, REMARK).map(|text| redactor.owned(text));
        let warnings = warnings.into_iter().map(|text| redactor.owned(text)).collect();
        // One part of the result, if anything is told.
        let told = near.told_by(&call).filter(|_| text.is_some());
        (text, NearMemoryNews { told, warnings })
    };
    let (text, news) = unblocked(looking).await;
    result.llm_content.extend(text.map(MessagePart::text));
    (result, news)
}

fn block(file: &memory::MemoryFile) -> Option<ContextBlock> {
    let (kind, source) = ("memory".to_owned(), file.path.display().to_string());
    (!file.text.trim().is_empty()).then(|| ContextBlock { kind, source, text: file.text.clone() })
}

/// Memory files of the folders between a root and this path that were not looked at yet, the nearest last. What ignore rules name is
/// strangers' work.
fn folders_on_the_way(
    path: &Path,
    near: &NearMemory,
    (gate, imports): (&CallGate, &ImportRules),
) -> Vec<(PathBuf, CollectedMemory)> {
    let workspace = &gate.prepare.workspace;
    let Some(place) = workspace.place_at(path) else { return Vec::new() };
    let Some(root) = workspace.place_at(workspace.root_of(&place)) else { return Vec::new() };
    let reader = WorkspaceMemoryReader { workspace, roots: gate.folders(), imports };
    let rules = memory_rules(&gate.project, &gate.supplies);
    let is_folder = |place: &WorkspacePath| workspace.facts(place).is_ok_and(|facts| facts.is_folder);
    let is_ignored =
        |place: &WorkspacePath, path: &Path| IgnoreRules::above(workspace, place, true).hides(path, true);
    let mut found = Vec::new();
    let mut folder = root;
    for part in place.relative() {
        folder = folder.child(part);
        let absolute = workspace.absolute(&folder);
        match near.known(&absolute) {
            Some(KnownFolder::Entered) => {}
            Some(KnownFolder::Ignored) => break,
            None if !is_folder(&folder) => break,
            None if is_ignored(&folder, &absolute) => {
                near.claim(&absolute, KnownFolder::Ignored);
                break;
            }
            None if near.claim(&absolute, KnownFolder::Entered) => {
                let memory = of_folder(&rules, &reader, &absolute);
                found.push((absolute, memory));
            }
            None if near.is_newly_full() => {
                let warning = format!(
                    "memory files in {} and in further sub-folders are left out: {MOST_FOLDERS} sub-folders were looked at",
                    absolute.display()
                );
                found.push((
                    absolute,
                    CollectedMemory { warnings: vec![warning], ..CollectedMemory::default() },
                ));
            }
            // Somebody else's just now, or one too many.
            None => {}
        }
    }
    found
}
