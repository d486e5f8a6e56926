//! Where else than by its letters does a path or a pattern lead: through links, and to files by a second name?

use std::{
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use super::FileEffect;
use crate::{
    CandidateKind, CandidateName,
    fuel::PATH_WORK,
    place::{self, PathTarget},
    scope::{CandidateNames, CommandScope, PatternOfName, ScriptWalk},
    value::WordValue,
};

/// Names in folders that are looked at for the patterns of one text: listing them takes some ten milliseconds.
const MOST_NAMES: usize = 50_000;
/// Folders that are listed for them.
const MOST_FOLDERS: usize = 5_000;
/// Links that one pattern may match; each is followed.
const MOST_ALIASES: usize = 1_000;
/// Letters of a name, at most; a pattern that needs more matches none.
const LONGEST_NAME: usize = 255;
impl ScriptWalk<'_> {
    /// The place a path leads to. The system follows a link before it goes up from it.
    pub fn followed(&self, target: &PathTarget) -> PathBuf {
        if !self.fuel.burn(PATH_WORK) {
            return target.path.clone();
        }
        let Some(route) = &target.route else { return (self.around.resolve)(&target.path) };
        let mut place = PathBuf::from("/");
        for part in route.components() {
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir => {
                    place = (self.around.resolve)(&place);
                    place.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        (self.around.resolve)(&place)
    }

    /// The places that links lead to which a pattern matches, and what of it stands behind them. `None` when that is too much to
    /// look at.
    pub fn aliases(&self, target: &PathTarget) -> Option<Vec<PathTarget>> {
        if target.pattern.is_empty() {
            return Some(Vec::new());
        }
        let key = (self.followed(target), target.pattern.clone());
        if let Some(found) = self.seen.matched.borrow().get(&key) {
            return found.clone();
        }
        let found = self.matched(&key.0, &key.1);
        self.seen.matched.borrow_mut().insert(key, found.clone());
        found
    }

    fn matched(&self, folder: &Path, pattern: &[PatternOfName]) -> Option<Vec<PathTarget>> {
        let mut found: Vec<PathTarget> = Vec::new();
        let is_stars = |name: &PatternOfName| place::is_text(name, "**");
        if pattern.iter().any(is_stars) && !self.seen.goes_deep.get() {
            self.seen.had_stars.set(true);
        }
        let mut pending: Vec<(PathBuf, &[PatternOfName])> = vec![(folder.to_owned(), pattern)];
        while let Some((folder, pattern)) = pending.pop() {
            let Some((first, rest)) = pattern.split_first() else { continue };
            if !first.iter().any(|(_, is_pattern)| *is_pattern) {
                // One name, which needs no list.
                self.seen.compare(1)?;
                let name: String = first.iter().map(|(letter, _)| *letter).collect();
                let path = folder.join(name);
                let led = (self.around.resolve)(&path);
                if led != path {
                    found.push(PathTarget::at(led.clone(), rest.to_vec()));
                }
                pending.push((led, rest));
                continue;
            }
            let is_deep = self.seen.goes_deep.get() && is_stars(first);
            if is_deep {
                pending.push((folder.clone(), rest));
            }
            let entries = self.entries(&folder)?;
            self.seen.compare(entries.len())?;
            self.fuel.burn(entries.len() * first.len().min(LONGEST_NAME)).then_some(())?;
            for entry in entries.iter().filter(|entry| place::names(first, &entry.name)) {
                let path = folder.join(&entry.name);
                match entry.kind {
                    CandidateKind::Other => {}
                    CandidateKind::Folder if is_deep => pending.push((path, pattern)),
                    CandidateKind::Folder => pending.push((path, rest)),
                    CandidateKind::Alias => {
                        let path = (self.around.resolve)(&path);
                        found.push(PathTarget::at(path.clone(), rest.to_vec()));
                        pending.push((path, rest));
                    }
                }
            }
            if found.len() > MOST_ALIASES {
                return None;
            }
        }
        Some(found)
    }

    /// True if a word is a pattern that matches a file whose name begins as an option does.
    pub fn may_become_option(&self, value: &WordValue, scope: &CommandScope) -> bool {
        let begins = |letters: &[(char, bool)]| {
            letters.first().is_some_and(|(letter, is_pattern)| *is_pattern || *letter == '-')
        };
        let letters = value.pattern();
        if !value.is_pattern() || value.known().is_none() || !begins(&letters) {
            return false;
        }
        let first = letters.split(|(letter, _)| *letter == '/').next().unwrap_or_default();
        let is_option =
            |entry: &CandidateName| entry.name.starts_with('-') && place::names(first, &entry.name);
        let folders: Vec<&Path> = match scope.place.main {
            Some(_) => scope.place.all().map(PathBuf::as_path).collect(),
            None => vec![self.around.directory],
        };
        folders.into_iter().any(|folder| {
            let entries = self.entries(&(self.around.resolve)(folder));
            let work = PATH_WORK + entries.as_ref().map_or(0, |entries| entries.len() / 16);
            !self.fuel.burn(work) || entries.is_none_or(|entries| entries.iter().any(is_option))
        })
    }

    /// None when there are too many; then the text is not understood.
    pub(super) fn aliases_or_unread(&self, target: &PathTarget) -> Vec<PathTarget> {
        self.aliases(target).unwrap_or_else(|| {
            self.seen.overlooked.set(true);
            Vec::new()
        })
    }

    /// The aliases that a change of this kind touches.
    pub(super) fn aliases_changed(
        &self,
        target: &PathTarget,
        value: &WordValue,
        change: FileEffect,
    ) -> Vec<PathTarget> {
        let mut aliases = self.aliases_or_unread(target);
        // What removes a link leaves what it leads to.
        let removes = matches!(change, FileEffect::Removes | FileEffect::RemovesBelow);
        if removes && !value.known().is_some_and(|text| text.ends_with('/')) {
            aliases.retain(|alias| !alias.pattern.is_empty());
        }
        aliases
    }

    fn entries(&self, folder: &Path) -> CandidateNames {
        if let Some(entries) = self.seen.folders.borrow().get(folder) {
            return entries.clone();
        }
        let is_within =
            self.seen.names.get() <= MOST_NAMES && self.seen.folders.borrow().len() < MOST_FOLDERS;
        let entries = is_within.then(|| (self.around.entries)(folder)).flatten().map(Rc::new);
        let count = entries.as_ref().map_or(0, |entries| entries.len());
        self.seen.names.set(self.seen.names.get() + count);
        self.seen.folders.borrow_mut().insert(folder.to_owned(), entries.clone());
        entries
    }
}
