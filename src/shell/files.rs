//! Which files do a command's operands and redirections change, and how bad is that?

use std::path::{Path, PathBuf};

use super::{
    automatic,
    place::{self, PathTarget},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::Risk;

mod aliases;
mod archives;
mod landing;
mod links;
mod operands;
mod outputs;
mod told;
mod transfers;

/// Files that are no files: what is written there goes to the reader, or nowhere.
const NO_FILES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full"];

/// Folders of the devices' folder that hold no devices.
const NO_DEVICES: &[&str] = &["/dev/tcp", "/dev/udp", "/dev/shm", "/dev/pts", "/dev/fd", "/dev/mqueue"];

/// The work that a letter of a path is, which is held against each guarded place.
const GUARDED_WORK: usize = 4;

/// The work that one guarded place is to a path that is held against it.
const PLACE_WORK: usize = 4;

/// Folders of a workspace that change what agents may do there.
const OWN_FOLDER: &str = ".subagentd";

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileEffect {
    Writes,
    /// With all that lies in it.
    WritesBelow,
    Removes,
    /// With all that lies in it.
    RemovesBelow,
}

impl PathTarget {
    /// True if it may lead into a workspace's own settings for agents.
    pub fn may_be_own(&self) -> bool {
        names_own(&self.path) || self.pattern.iter().any(|name| place::names_hidden(name, OWN_FOLDER))
    }
}

impl ScriptWalk<'_> {
    /// Redirected output.
    pub fn writes(&mut self, value: &WordValue, scope: &CommandScope) {
        self.changes(value, FileEffect::Writes, scope);
    }

    /// Redirected input.
    pub fn reads(&mut self, value: &WordValue, scope: &CommandScope) {
        if value.known().is_some_and(|text| NO_FILES.contains(&text)) {
            return;
        }
        match self.main_target(value, scope) {
            Some(target) => {
                self.draft.reads(self.followed(&target));
                for alias in self.aliases_or_unread(&target) {
                    self.draft.reads(alias.path);
                }
            }
            None => self.draft.reads_something(value),
        }
        let targets = self.targets(value, scope);
        for target in &targets {
            self.reads_secret(target, false);
        }
    }

    pub fn changes(&mut self, value: &WordValue, change: FileEffect, scope: &CommandScope) {
        if value.known().is_some_and(|text| NO_FILES.contains(&text)) {
            return;
        }
        match self.main_target(value, scope) {
            Some(target) => {
                let path = self.followed(&target);
                self.draft.writes(&path);
                self.is_outside(&target.path, &path);
                for alias in self.aliases_changed(&target, value, change) {
                    self.draft.writes(&alias.path);
                    self.is_outside(&alias.path, &alias.path);
                }
            }
            None => {
                self.draft.writes_something(value);
                self.draft.found(Risk::High, format!("it writes to `{}`, wherever that is", value.raw()));
            }
        }
        let mut targets = self.targets_changed(value, change, scope);
        if value.known().is_none() {
            // What is not known may be empty: `"$folder/"*` is then everything there is.
            let hollow = value.hollow();
            if hollow.starts_with('/') && matches!(change, FileEffect::RemovesBelow) {
                let of_hollow = WordValue::literal(hollow.trim_end_matches('*'));
                targets.extend(self.targets_changed(&of_hollow, change, scope));
            }
        }
        for target in &targets {
            self.judge_target(target, change);
        }
        self.goes_through_links(&targets, change);
    }

    /// As [`ScriptWalk::changes`], of something that is told elsewhere, or that nobody would list.
    fn judge_quietly(&mut self, value: &WordValue, change: FileEffect, scope: &CommandScope) {
        for target in self.targets_changed(value, change, scope) {
            self.judge_target(&target, change);
            let path = self.followed(&target);
            self.is_outside(&target.path, &path);
        }
    }

    fn judge_target(&mut self, target: &PathTarget, change: FileEffect) {
        if target.may_be_own() {
            self.draft.found(
                Risk::High,
                format!("it changes what agents may do in this workspace: {}", target.path.display()),
            );
        }
        if let Some(why) = self.runs_by_itself(target) {
            self.draft.found(
                Risk::High,
                format!(
                    "it changes what other programs run by themselves: {} ({why})",
                    target.path.display()
                ),
            );
        }
        let is_below =
            matches!(change, FileEffect::WritesBelow | FileEffect::RemovesBelow | FileEffect::Removes);
        for guarded in self.around.guarded.iter().chain(self.around.secret) {
            if target.may_be_in(guarded) || (is_below && target.may_hold(guarded)) {
                self.draft.found(
                    Risk::Critical,
                    format!("it changes what is the daemon's own: {}", guarded.display()),
                );
            }
        }
        if target.path.starts_with("/dev")
            && target.path != Path::new("/dev")
            && !NO_DEVICES.iter().any(|folder| target.path.starts_with(folder))
            && matches!(change, FileEffect::Writes)
        {
            self.draft.found(Risk::Critical, format!("it writes to a device: {}", target.path.display()));
        }
        if matches!(change, FileEffect::Removes | FileEffect::RemovesBelow) {
            self.judge_removal(target, change);
        }
    }

    /// Who runs what lies there without anybody starting it.
    pub(super) fn runs_by_itself(&self, target: &PathTarget) -> Option<&'static str> {
        let place = self.around.autorun.iter().find(|place| target.may_be_in(&place.path));
        let by_name = || {
            let homes = automatic::homes(self.around.home, self.around.resolve);
            target.may_be_automatic(self.around.roots, &homes)
        };
        place.map(|place| place.why).or_else(by_name)
    }

    fn judge_removal(&mut self, target: &PathTarget, change: FileEffect) {
        let mut kept: Vec<PathBuf> = self.around.roots.to_vec();
        kept.extend(self.around.home.map(Path::to_owned));
        kept.push(PathBuf::from("/"));
        for path in &kept {
            // All that lies in a folder goes only with what lies below; the folder itself goes in any way.
            let is_emptied = change == FileEffect::RemovesBelow
                && target.is_all_of_folder()
                && path.starts_with(&target.path);
            if target.may_hold(path) || is_emptied {
                self.draft.found(Risk::Critical, format!("it removes {}", path.display()));
            }
        }
    }

    pub fn is_inside(&self, path: &Path) -> bool {
        self.around.roots.iter().any(|root| path.starts_with(root))
    }

    fn is_outside(&mut self, path: &Path, resolved: &Path) {
        if !self.is_inside(resolved) {
            self.draft.found(Risk::High, format!("it writes outside of the workspace: {}", path.display()));
        }
    }

    fn main_target(&self, value: &WordValue, scope: &CommandScope) -> Option<PathTarget> {
        // An absolute path leads to the same place from anywhere.
        let is_absolute = value.known().is_some_and(|text| text.starts_with('/'));
        match &scope.place.main {
            Some(directory) => PathTarget::of(value, directory),
            None if is_absolute => PathTarget::of(value, Path::new("/")),
            None => None,
        }
    }

    /// Everywhere that a value may lead, links followed and not, those that a pattern matches among them.
    pub fn targets(&self, value: &WordValue, scope: &CommandScope) -> Vec<PathTarget> {
        let mut targets = self.targets_by_name(value, scope);
        let aliases: Vec<PathTarget> =
            targets.iter().flat_map(|target| self.aliases_or_unread(target)).collect();
        targets.extend(aliases);
        targets
    }

    /// The same as [`ScriptWalk::targets`], but a link that a pattern ends with is not followed by what removes it.
    fn targets_changed(
        &self,
        value: &WordValue,
        change: FileEffect,
        scope: &CommandScope,
    ) -> Vec<PathTarget> {
        let mut targets = self.targets_by_name(value, scope);
        let aliases: Vec<PathTarget> =
            targets.iter().flat_map(|target| self.aliases_changed(target, value, change)).collect();
        targets.extend(aliases);
        targets
    }

    fn targets_by_name(&self, value: &WordValue, scope: &CommandScope) -> Vec<PathTarget> {
        // Each is held against all places that are guarded.
        let places = self.around.guarded.len() + self.around.secret.len() + self.around.autorun.len();
        if !self.fuel.burn(GUARDED_WORK * value.weight() + PLACE_WORK * places) {
            return Vec::new();
        }
        let mut targets: Vec<PathTarget> =
            scope.place.all().filter_map(|directory| PathTarget::of(value, directory)).collect();
        if scope.place.main.is_none() {
            targets.extend(self.main_target(value, scope));
            // Where it is not known, it may be where the text began.
            targets.extend(PathTarget::of(value, self.around.directory));
        }
        let resolved: Vec<PathTarget> = targets
            .iter()
            .map(|target| PathTarget::at(self.followed(target), target.pattern.clone()))
            .collect();
        targets.extend(resolved);
        targets
    }
}

/// True if a path leads into a workspace's own settings for agents.
fn names_own(path: &Path) -> bool {
    path.components().any(|name| name.as_os_str() == OWN_FOLDER)
}
