//! How far does a command reach, by its words and by where it runs? For permissions that are about its first words alone.

use std::path::Path;

use super::{
    place::PathTarget,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::CommandReach;

mod links;
mod passing;

/// Words of a command that are looked at. One with more reaches anywhere.
const MOST_WORDS: usize = 100;

/// What may stand between the parts of a word, of which each may be a path: `--out=/x`, `host:/x`, `type=bind,src=/`.
const BETWEEN: [char; 4] = ['=', ':', ',', '@'];

/// The name of a program that is meant by its path in one of the system's folders, which nobody else writes: it is the one that
/// its name means, too.
pub(super) fn system_program(name: &str) -> Option<&str> {
    let base = name.strip_prefix("/usr/bin/").or_else(|| name.strip_prefix("/bin/"))?;
    (!base.is_empty() && !base.contains('/')).then_some(base)
}

impl ScriptWalk<'_> {
    /// Of a command that runs here, its name first.
    pub(super) fn reach(&self, values: &[WordValue], scope: &CommandScope) -> CommandReach {
        let Some((name, args)) = values.split_first() else { return CommandReach::Anywhere };
        let Some(name) = name.known().filter(|_| !name.is_pattern()) else { return CommandReach::Anywhere };
        let is_here = scope.place.main.is_some()
            && scope.place.all().all(|directory| self.leads_inside(directory))
            && args.len() <= MOST_WORDS;
        // Whatever stands in its words, it prints them.
        if is_here && name == "echo" {
            return CommandReach::Passing;
        }
        let is_inside = is_here && args.iter().all(|arg| self.stays_inside(arg, scope));
        match is_inside {
            // Told once more by its name alone.
            true if system_program(name).is_some() || passing::passes(name, args) => CommandReach::Passing,
            true if links::follows(name, args) => CommandReach::Anywhere,
            true => CommandReach::Workspace,
            false => CommandReach::Anywhere,
        }
    }

    /// True if a word is known and names nothing outside of the workspace, whatever its program takes it for.
    fn stays_inside(&self, word: &WordValue, scope: &CommandScope) -> bool {
        let Some(text) = word.known() else { return false };
        scope.place.all().all(|directory| {
            let leads_inside =
                |target: Option<PathTarget>| target.is_some_and(|target| self.stays_in(&target));
            // A pattern that matches nothing stays as it is written.
            if word.is_pattern() && !leads_inside(PathTarget::of(word, directory)) {
                return false;
            }
            let parts = text.match_indices(BETWEEN).map(|(at, between)| &text[at + between.len()..]);
            // Of `-I/usr/include` what stands behind the letter.
            let joined = text.strip_prefix('-').and_then(|option| option.get(1..));
            let inside =
                |part: &str| !part.starts_with('~') && leads_inside(PathTarget::of_text(part, directory));
            parts.chain(joined).chain([text]).all(inside)
        })
    }

    /// Links followed, also those that a pattern matches.
    fn stays_in(&self, target: &PathTarget) -> bool {
        self.is_inside(&self.followed(target))
            && !self.goes_up_from_link(target)
            && self
                .aliases(target)
                .is_some_and(|aliases| aliases.iter().all(|alias| self.is_inside(&alias.path)))
    }

    /// Links followed, also those that a part of the path is.
    fn leads_inside(&self, path: &Path) -> bool {
        self.is_inside(&(self.around.resolve)(path))
    }
}
