//! Links that a text makes itself: what is written through them lands where they lead, which the disk does not say yet.

use std::path::PathBuf;

use super::{FileEffect, names_own};
use crate::{
    place::PathTarget,
    scope::{CommandScope, ScriptLink, ScriptWalk},
    value::WordValue,
};
use protocol::Risk;

/// Links of one text that are followed. What is written after more of them is not known.
const MOST_LINKS: usize = 64;

impl ScriptWalk<'_> {
    pub(super) fn linked(
        &mut self,
        source: &WordValue,
        link: &WordValue,
        is_symbolic: bool,
        scope: &CommandScope,
    ) {
        let links: Vec<PathBuf> = self.targets(link, scope).into_iter().map(|target| target.path).collect();
        for path in links {
            let mut leads: Vec<PathBuf> =
                self.targets(source, scope).into_iter().map(|target| target.path).collect();
            // A symbolic link counts from where it lies.
            if let Some(folder) = path.parent().filter(|_| is_symbolic) {
                leads.extend(PathTarget::of(source, folder).map(|target| target.path));
            }
            if self.links.len() >= MOST_LINKS {
                return self.draft.unknown("it makes more links than are followed");
            }
            self.links.push(ScriptLink { path, leads });
        }
    }

    /// True if a path goes up from where a link of this text leads.
    pub fn goes_up_from_link(&self, target: &PathTarget) -> bool {
        self.links.iter().any(|link| target.goes_up_from(&link.path))
    }

    /// What is moved or copied may be a link, or a folder that has one in it.
    pub(super) fn renamed_link(&mut self, from: &[PathTarget], to: &[PathTarget]) {
        let moved: Vec<ScriptLink> = self
            .links
            .iter()
            .filter(|link| from.iter().any(|from| from.may_hold(&link.path)))
            .flat_map(|link| {
                to.iter().map(|to| ScriptLink { path: to.path.clone(), leads: link.leads.clone() })
            })
            .collect();
        if self.links.len() + moved.len() > MOST_LINKS {
            return self.draft.unknown("it makes more links than are followed");
        }
        self.links.extend(moved);
    }

    /// Judges and tells what is written by the name of a link of this text: it lands where that leads, and a hard link is the file itself.
    pub(super) fn goes_through_links(&mut self, targets: &[PathTarget], change: FileEffect) {
        // Above where it leads is nobody knows what.
        let goes_up = |link: &ScriptLink| targets.iter().any(|target| target.goes_up_from(&link.path));
        let through = |link: &ScriptLink| targets.iter().any(|target| target.may_pass(&link.path));
        let links: Vec<ScriptLink> = self.links.iter().filter(|link| through(link)).cloned().collect();
        for link in links {
            let is_written = matches!(change, FileEffect::Writes | FileEffect::WritesBelow)
                && targets.iter().any(|target| target.path == link.path);
            if is_written {
                link.leads.iter().for_each(|path| self.draft.writes(path));
            }
            let is_bad = |path: &PathBuf| {
                let resolved = (self.around.resolve)(path);
                let runs = |path: &PathBuf| {
                    let target = PathTarget::at(path.clone(), Vec::new());
                    self.runs_by_itself(&target).is_some()
                };
                let is_own = names_own(path) || names_own(&resolved);
                !self.is_inside(&resolved) || is_own || runs(path) || runs(&resolved)
            };
            if link.leads.is_empty() || goes_up(&link) || link.leads.iter().any(is_bad) {
                self.draft.found(
                    Risk::High,
                    format!("it writes through a link that it makes itself: {}", link.path.display()),
                );
            }
        }
    }
}
