//! How much may a search for what git has still read?
//!
//! A program of an agent's writes into a repository what it likes, so all that is read for one question is counted together, in whichever file,
//! table or pack it stands. What goes beyond is not looked at: it is not known then, and what is not known permits nothing.

use std::{cell::Cell, io::Read as _, path::Path};

use sys::regular_file;

/// Bytes of files with names of commits in them: of some hundred thousand references, and long logs of them.
const MOST_READ: u64 = 64 << 20;
/// Bytes of one such file.
const LONGEST_FILE: u64 = 32 << 20;
/// Such files that are looked for, and entries of folders with them.
const MOST_FILES: u64 = 20_000;
/// Bytes that come of inflating objects and tables, so that nobody waits long for what an agent has made.
const MOST_INFLATED: u64 = 512 << 20;
/// Bytes of trees that are looked through, some of them many times.
const MOST_SCANNED: u64 = 4 << 30;
/// Looks into indexes of packs, each of which has about twenty for an object.
const MOST_LOOKUPS: u64 = 10_000_000;
/// Names of commits that are kept, in references as in commits: several for each commit that is looked at.
const MOST_NAMES: u64 = 100_000;
/// Commits that are looked at. Those of the references come first, then the newest.
const MOST_COMMITS: u64 = 20_000;

/// All that one search may still read.
#[derive(Debug)]
pub(super) struct SearchBudget {
    pub read: SearchAllowance,
    pub files: SearchAllowance,
    pub inflated: SearchAllowance,
    pub scanned: SearchAllowance,
    pub lookups: SearchAllowance,
    pub names: SearchAllowance,
    pub commits: SearchAllowance,
}

/// The rest of one of its numbers.
#[derive(Debug)]
pub(super) struct SearchAllowance(Cell<u64>);

impl SearchAllowance {
    /// Takes so many; `None` = there are not so many left, and from now on there are none.
    pub fn take(&self, count: u64) -> Option<()> {
        let left = self.0.get().checked_sub(count);
        // Whoever asks for too much may have done the work already, and would do it again.
        self.0.set(left.unwrap_or(0));
        left.map(drop)
    }

    pub fn left(&self) -> u64 {
        self.0.get()
    }
}

impl Default for SearchBudget {
    fn default() -> SearchBudget {
        let of = |count| SearchAllowance(Cell::new(count));
        SearchBudget {
            read: of(MOST_READ),
            files: of(MOST_FILES),
            inflated: of(MOST_INFLATED),
            scanned: of(MOST_SCANNED),
            lookups: of(MOST_LOOKUPS),
            names: of(MOST_NAMES),
            commits: of(MOST_COMMITS),
        }
    }
}

impl SearchBudget {
    /// True if no object can be found any more that was not found so far.
    pub fn is_spent(&self) -> bool {
        [&self.commits, &self.inflated, &self.scanned, &self.lookups].iter().any(|it| it.left() == 0)
    }

    /// The bytes of a file with names of commits; `None` = there is none, or there is no room for it.
    pub fn read_file(&self, path: &Path) -> Option<Vec<u8>> {
        self.files.take(1)?;
        let mut bytes = Vec::new();
        let most = LONGEST_FILE.min(self.read.left());
        regular_file::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
        // Also where it is too long: it was read.
        self.read.take(bytes.len() as u64)?;
        (bytes.len() as u64 <= LONGEST_FILE).then_some(bytes)
    }
}
