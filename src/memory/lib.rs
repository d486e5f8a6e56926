//! What did people write down for agents to know? Memory files: which of them count, in which order, and what they say with what
//! they import (spec 08, "Memory files").
//!
//! A memory file is data of whoever wrote it: it is read within bounds, through a reader that keeps to its ground, and what is
//! wrong with one never keeps the others from being read. This module never knows runs, workspaces or prompts.

mod code_blocks;
mod collect;
mod expand;
mod facts;
mod find;
mod read;
mod sites;
#[cfg(test)]
mod tests;

pub use collect::{
    CollectedMemory, MOST_MEMORY_BYTES, MemoryFile, MemoryFileState, MemoryRules, ProjectMemory, UserMemory,
    collect, of_folder,
};
pub use expand::{MOST_MEMORY_FILE_BYTES, MemoryImport, is_named_as_text};
pub use facts::{plain_fact, with_fact};
pub use find::{project_folders, repository_top};
pub use read::{IGNORED, MANY_NAMES, MemoryRead, MemoryReader, RULED_OUT, SHOWN_TO_HOOKS, UserFileReader};
