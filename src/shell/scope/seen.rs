//! Which folders were patterns held against, and what was found there?

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    path::PathBuf,
    rc::Rc,
};

use crate::{CandidateName, place::PathTarget};

/// Names that are held against the patterns of one text, each once for each pattern.
const MOST_COMPARED: usize = 400_000;

pub(crate) type PatternOfName = Vec<(char, bool)>;
pub(crate) type CandidateNames = Option<Rc<Vec<CandidateName>>>;
pub(crate) type MatchedNames = HashMap<(PathBuf, Vec<PatternOfName>), Option<Vec<PathTarget>>>;

/// The folders that patterns of a text were held against.
#[derive(Debug, Default)]
pub(crate) struct FoldersSeen {
    pub folders: RefCell<HashMap<PathBuf, CandidateNames>>,
    pub names: Cell<usize>,
    /// The links that were found for a pattern in a folder.
    pub matched: RefCell<MatchedNames>,
    /// Names that were held against patterns, each as often as it was.
    pub compared: Cell<usize>,
    /// A pattern may match what was not looked at.
    pub overlooked: Cell<bool>,
    /// `**` is any number of folders.
    pub goes_deep: Cell<bool>,
    /// A pattern had `**` while it was none.
    pub had_stars: Cell<bool>,
}

impl FoldersSeen {
    /// `None` when it was enough.
    pub fn compare(&self, names: usize) -> Option<()> {
        self.compared.set(self.compared.get() + names);
        (self.compared.get() <= MOST_COMPARED).then_some(())
    }
}
