//! What would this text do when bash runs it? Every command in it, the files it names, and how dangerous it is (spec 06,
//! "Shell commands are parsed").
//!
//! Pure: it knows no clock and runs nothing, and of the disk only what its caller answers. `grammar` reads the text as bash does,
//! `second` reads it once more by a grammar that others wrote, `scope` is what is known meanwhile, `walk` goes through what was
//! read, `open` through commands that run commands, and `risk` is the table of what is dangerous. It fails closed: what is not
//! surely understood has a reason in [`ShellAnalysis::unknown`].

use std::path::{Path, PathBuf};

use protocol::{ResourceAccess, Risk, ShellCommand};

mod automatic;
mod files;
mod fuel;
mod git;
mod grammar;
mod guarded;
mod meaning;
mod numbers;
mod open;
mod options;
mod place;
mod programs;
mod reach;
mod reading;
mod risk;
mod runners;
mod scope;
mod second;
mod shells;
mod syntax;
#[cfg(test)]
mod tests;
mod value;
mod walk;

pub use automatic::{
    AUTOMATIC, AutorunPath, AutorunPlace, GIT_CONFIG, GIT_HOOKS, automatic, automatic_at_home,
    is_listed_folder_of_home, is_settings_folder_of_home,
};
pub use git::is_plain_setting as is_plain_git_setting;

/// Longest text that is read, in bytes. A longer one is no command but a program; a person may look at it.
pub const LONGEST_TEXT: usize = 100_000;

/// Where a text would run.
pub struct ShellEnvironment<'a> {
    /// The directory it would begin in, absolute.
    pub directory: &'a Path,
    /// What `~` and `$HOME` mean; `None` when the environment does not say.
    pub home: Option<&'a Path>,
    /// The workspace's folders: absolute, symlinks resolved.
    pub roots: &'a [PathBuf],
    /// Files and folders of the workspace that other programs run by themselves under another name. Changing them is high.
    pub autorun: &'a [AutorunPlace],
    /// The daemon's own files and folders. Changing them is critical.
    pub guarded: &'a [PathBuf],
    /// Those of them that nobody may read, either.
    pub secret: &'a [PathBuf],
    /// Follows symlinks as far as a path exists.
    pub resolve: &'a dyn Fn(&Path) -> PathBuf,
    /// The names in a folder whose path has no links; none where there is no folder. `None` when nobody can tell, or it is too
    /// much.
    pub entries: &'a dyn Fn(&Path) -> Option<Vec<CandidateName>>,
    /// False once nobody waits for the answer any more. Asked again and again; the reading then ends as one that is not understood.
    pub is_wanted: &'a dyn Fn() -> bool,
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateName {
    pub name: String,
    pub kind: CandidateKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    Folder,
    /// A link, or a second name of something guarded: it leads elsewhere.
    Alias,
    Other,
}

/// What a text would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAnalysis {
    /// Every command that runs or might run: wrappers, and what they run. Some stand here in several spellings, so that a
    /// rule about one of them is met.
    pub commands: Vec<ShellCommand>,
    /// Files that it names as ones it reads (by redirection) or writes: absolute, resolved. [`ResourceAccess::Opaque`] for one
    /// whose name only running it would tell. That it runs something is not among them.
    pub accesses: Vec<ResourceAccess>,
    /// Of its most dangerous part, at least [`Risk::Medium`].
    pub risk: Risk,
    /// The reason why the risk is above medium.
    pub findings: Vec<RiskFinding>,
    /// The reason why nobody can tell what would run. Its risk is then [`Risk::High`] or above.
    pub unknown: Option<String>,
}

/// Something dangerous, for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RiskFinding {
    pub risk: Risk,
    pub what: String,
}

/// Judges a text that would be run by `bash -c`.
pub fn read(text: &str, around: &ShellEnvironment<'_>) -> ShellAnalysis {
    walk::read(text, around)
}
