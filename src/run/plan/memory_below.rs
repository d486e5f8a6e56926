//! Which memory files of a workspace's sub-folders are there? A run is told of them with its first call that comes there; people are told
//! before.

use std::path::PathBuf;

use super::{
    memory::{WorkspaceMemoryReader, memory_rules},
    memory_imports::ImportRules,
};
use crate::resources::RunResources;
use memory::{CollectedMemory, MemoryFile, MemoryFileState, of_folder};
use project::Project;
use tools::{Workspace, folders_with_file};

/// Folders that are looked into: a large source tree has fewer, and a home has more than anybody waits for.
const MOST_LOOKED_INTO: usize = 2_000;

/// Files that are named: a person reads no more of them.
const MOST_FILES: usize = 50;

/// The memory files of sub-folders, the nearest to a root first, and warnings. Blocks on the file system.
pub(crate) fn memory_below(
    project: &Project,
    supplies: &RunResources,
    imports: &ImportRules,
) -> (Vec<MemoryFile>, Vec<String>) {
    let roots: Vec<PathBuf> = project.roots.iter().map(PathBuf::from).collect();
    // Roots that cannot be opened are told by whoever works in them.
    let Some(workspace) = Some(&roots).filter(|roots| !roots.is_empty()).and_then(|roots| {
        Workspace::open_known(roots).ok().map(|workspace| supplies.own_files.close(workspace))
    }) else {
        return (Vec::new(), Vec::new());
    };
    let rules = memory_rules(project, supplies);
    let found = folders_with_file(&workspace, rules.names_in_project(), MOST_LOOKED_INTO);
    let reader = WorkspaceMemoryReader { workspace: &workspace, roots, imports };
    let mut files: Vec<MemoryFile> = Vec::new();
    let mut warnings = Vec::new();
    let mut is_cut = found.is_cut;
    for folder in &found.folders {
        if MOST_FILES <= files.len() {
            is_cut = true;
            break;
        }
        let CollectedMemory { files: here, .. } = of_folder(&rules, &reader, folder);
        files.extend(here.into_iter().map(|file| match (&file.state, project.is_trusted) {
            (MemoryFileState::Used, true) => MemoryFile { state: MemoryFileState::Below, ..file },
            (MemoryFileState::Used, false) => {
                MemoryFile { state: MemoryFileState::Untrusted, text: String::new(), ..file }
            }
            _ => file,
        }));
    }
    if is_cut {
        warnings.push(format!(
            "not all memory files of sub-folders are named: {MOST_LOOKED_INTO} folders are looked into, and {MOST_FILES} files named"
        ));
    }
    (files, warnings)
}
