//! What do memory files of a sub-folder say to a run that comes there? They are appended to the result of the first call that
//! touches a path below, once a context and again after it was compressed (spec 08, "Memory files").

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    gate::CallGate,
    plan::{WorkspaceMemoryReader, memory_rules},
    unblocked,
};
use memory::{MemoryFile, of_folder};
use prompts::{ContextBlock, context_message};
use protocol::{CallId, MessagePart, ResourceAccess, ToolResult};
use tools::IgnoreRules;

/// Folders of one context (spec 08): each is looked at once.
const MOST_FOLDERS: usize = 200;
/// Paths of one call that are looked at; more name the same folders, or all of them.
const MOST_PATHS: usize = 64;
const REMARK: &str =
    "It is about the folder that you have just come to, and counts there before what was said earlier.";

/// Which folders a context was told of. A cheap handle; the log has the same (`PrivateEventFields::memory`).
#[derive(Clone, Default)]
pub(super) struct NearMemory {
    known: Arc<Mutex<NearMemoryState>>,
}

#[derive(Default)]
struct NearMemoryState {
    /// Those that were looked at, whether there was anything or not.
    seen: HashSet<PathBuf>,
    /// What calls were told that have not ended in the log yet.
    told: HashMap<CallId, Vec<String>>,
}

impl NearMemory {
    fn state(&self) -> MutexGuard<'_, NearMemoryState> {
        // Poisoned or not: each change is one insertion.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the end of this call is to say in the log.
    pub fn told_by(&self, call: &CallId) -> Vec<String> {
        self.state().told.get(call).cloned().unwrap_or_default()
    }

    /// Takes in what the log says.
    pub fn take_in(&self, call: &CallId, folders: &[String]) {
        let mut state = self.state();
        state.told.remove(call);
        state.seen.extend(folders.iter().map(PathBuf::from));
    }

    /// The model does not have it any more.
    pub fn forget(&self) {
        *self.state() = NearMemoryState::default();
    }

    /// Whether this folder is still to be looked at; it is nobody else's then.
    fn claim(&self, folder: &Path) -> bool {
        let mut state = self.state();
        state.seen.len() < MOST_FOLDERS && state.seen.insert(folder.to_owned())
    }
}

/// The result with what memory files say of the folders that it is about. `paths`: what the call touched.
pub(super) async fn appended(
    mut result: ToolResult,
    (call, accesses): (CallId, Vec<ResourceAccess>),
    near: NearMemory,
    gate: Arc<CallGate>,
) -> ToolResult {
    if result.error.is_some() || !gate.tells_memory {
        return result;
    }
    let looking = move || {
        let paths = accesses.into_iter().filter_map(|access| match access {
            ResourceAccess::Read { path } | ResourceAccess::Write { path } => Some(path),
            _ => None,
        });
        let files: Vec<MemoryFile> =
            paths.take(MOST_PATHS).flat_map(|path| files_on_the_way(&path, &near, &gate)).collect();
        let blocks: Vec<ContextBlock> = files.iter().filter_map(block).collect();
        let text = context_message(&blocks, REMARK)?;
        let folders = files.iter().filter_map(|file| file.path.parent());
        let folders = folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
        near.state().told.insert(call, folders);
        Some(gate.supplies.redactor.owned(text))
    };
    if let Some(text) = unblocked(looking).await {
        result.llm_content.push(MessagePart::text(text));
    }
    result
}

fn block(file: &MemoryFile) -> Option<ContextBlock> {
    let (kind, source) = ("memory".to_owned(), file.path.display().to_string());
    (!file.text.trim().is_empty()).then(|| ContextBlock { kind, source, text: file.text.clone() })
}

/// Those of the folders between a root and this path, the nearest last. Folders that ignore rules name are strangers' work.
fn files_on_the_way(path: &Path, near: &NearMemory, gate: &CallGate) -> Vec<MemoryFile> {
    let workspace = &gate.prepare.workspace;
    let Some(place) = workspace.place_at(path) else { return Vec::new() };
    let Some(root) = workspace.place_at(workspace.root_of(&place)) else { return Vec::new() };
    let reader = WorkspaceMemoryReader { workspace };
    let rules = memory_rules(&gate.project, &gate.supplies);
    let mut found = Vec::new();
    let mut folder = root;
    for part in place.relative() {
        folder = folder.child(part);
        let absolute = workspace.absolute(&folder);
        if !workspace.facts(&folder).is_ok_and(|facts| facts.is_folder)
            || IgnoreRules::above(workspace, &folder, true).hides(&absolute, true)
        {
            break;
        }
        if near.claim(&absolute) {
            found.extend(of_folder(&rules, &reader, &absolute).used().cloned());
        }
    }
    found
}
