//! In a home it is turned round: there nobody has a list of all programs that take something to run from a file with a dot in front.

use std::path::{Path, PathBuf};

use super::{AGENT_SETTINGS, AUTOMATIC, PathTarget, is_named, names, place};

/// Said of what no row says more of.
const OF_HOME: &str = "programs run what they find below such a name in a home";

/// Below a home, what no program runs or obeys, or only to leave files out.
const HARMLESS: &[&str] = &[
    ".cache/thumbnails",
    ".editorconfig",
    ".face",
    ".fdignore",
    ".gitignore",
    ".hushlogin",
    ".ignore",
    ".lesshst",
    ".local/share/Trash",
    ".rgignore",
    ".wget-hsts",
];

/// Folders of a home in which all programs keep what is theirs.
const SHARED: &[&str] = &[".config", ".local", ".local/bin", ".local/lib", ".local/share", ".local/state"];

/// Folders in those of agents' products from which these run something.
const OF_PRODUCTS: &[&str] = &["agents", "commands", "extensions", "hooks", "plugins", "scripts", "skills"];

/// Answers who runs or obeys what lies at an absolute path, because of its place in the home: in a root that is the home or holds it everything
/// below a name with a dot in front counts but for a few, since it is for programs that all such names are there; in a root that lies
/// below such a name, what the table has under it. No path has links.
pub fn automatic_at_home(path: &Path, root: &Path, home: &Path) -> Option<&'static str> {
    let below = names(path.strip_prefix(home).ok().filter(|_| path.starts_with(root))?);
    if !below.first()?.starts_with('.') {
        return None;
    }
    let is_harmless = HARMLESS.iter().any(|harmless| {
        let harmless: Vec<&str> = harmless.split('/').collect();
        harmless.len() <= below.len() && harmless.iter().zip(&below).all(|(wanted, name)| wanted == name)
    });
    if is_harmless {
        return None;
    }
    // From the home on, and not from anywhere below it.
    let row = AUTOMATIC.iter().find(|row| {
        let wanted: Vec<&str> = row.path.split('/').collect();
        wanted.iter().zip(&below).all(|(wanted, name)| is_named(name, wanted))
    });
    if home.starts_with(root) {
        return Some(row.map_or(OF_HOME, |row| row.why));
    }
    let is_shared =
        root.strip_prefix(home).is_ok_and(|at| SHARED.iter().any(|shared| at == Path::new(shared)));
    if is_shared {
        return Some(row.map_or(OF_HOME, |row| row.why));
    }
    // Products of agents keep their worktrees there.
    row.filter(|row| row.why != AGENT_SETTINGS && root.starts_with(home)).map(|row| row.why)
}

/// True of a folder below a home in which programs find what they run or obey, by its place: what the table has there, in it or around it. No path
/// has links.
pub fn is_settings_folder_of_home(folder: &Path, home: &Path) -> bool {
    let below = folder.strip_prefix(home).map(names).unwrap_or_default();
    if !below.first().is_some_and(|name| name.starts_with('.')) {
        return false;
    }
    // Nothing but settings lies in the first of them.
    let is_shared = below[0] == ".config" || SHARED.iter().any(|shared| home.join(shared) == folder);
    is_shared || is_listed(&below)
}

/// True of a folder below a home that the table names, or that lies in such a one or around it.
pub fn is_listed_folder_of_home(folder: &Path, home: &Path) -> bool {
    let below = folder.strip_prefix(home).map(names).unwrap_or_default();
    below.first().is_some_and(|name| name.starts_with('.')) && is_listed(&below)
}

fn is_listed(below: &[String]) -> bool {
    AUTOMATIC.iter().any(|row| {
        let wanted: Vec<&str> = row.path.split('/').collect();
        let is_met = wanted.iter().zip(below).all(|(wanted, name)| is_named(name, wanted));
        // Products of agents keep their worktrees beside these.
        let is_elsewhere = row.why == AGENT_SETTINGS
            && wanted.len() < below.len()
            && !OF_PRODUCTS.contains(&below[wanted.len()].as_str());
        is_met && !is_elsewhere
    })
}

impl PathTarget {
    /// The same as [`automatic_at_home`], also of what a pattern may match.
    pub(in crate::automatic) fn may_be_automatic_at_home(
        &self,
        root: &Path,
        home: &Path,
    ) -> Option<&'static str> {
        if self.pattern.is_empty() {
            return automatic_at_home(&self.path, root, home);
        }
        if let Some(why) = automatic_at_home(&self.path, root, home) {
            return Some(why);
        }
        if !home.starts_with(root) {
            return None;
        }
        let plain =
            names(&self.path).into_iter().map(|name| name.chars().map(|letter| (letter, false)).collect());
        let all: Vec<Vec<(char, bool)>> = plain.chain(self.pattern.iter().cloned()).collect();
        let of_home = names(home);
        let leads_there = of_home.len() < all.len()
            && of_home.iter().zip(&all).all(|(name, pattern)| place::names(pattern, name))
            && all[of_home.len()].first() == Some(&('.', false));
        leads_there.then_some(OF_HOME)
    }
}

/// The home, as it is named and where it is.
pub(crate) fn homes(home: Option<&Path>, resolve: &dyn Fn(&Path) -> PathBuf) -> Vec<PathBuf> {
    let named = home.map(Path::to_owned);
    let real = home.map(resolve).filter(|real| Some(real) != named.as_ref());
    named.into_iter().chain(real).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_settings_are_told_from_those_that_happen_to_lie_below_a_dot() {
        let home = Path::new("/h/me");
        let is_one = |folder: &str| is_settings_folder_of_home(&home.join(folder), home);
        for folder in [
            ".config",
            ".config/nvim",
            ".config/nvim/lua",
            ".config/fish",
            ".config/git",
            ".config/unknown/scripts",
            ".bashrc.d",
            ".vim/plugin",
            ".local/bin",
            ".claude",
            ".claude/hooks",
        ] {
            assert!(is_one(folder), "{folder}");
        }
        for folder in
            ["", "work", "work/.vim", ".dotfiles", ".local/share/chezmoi", ".claude/worktrees/x", ".cache/x"]
        {
            assert!(!is_one(folder), "{folder}");
        }
        assert!(!is_settings_folder_of_home(Path::new("/elsewhere/.vim"), home));
    }

    /// Tried in a root that is the home, in one above it, in one below a name with a dot in front, and in one beside all that.
    #[test]
    fn what_programs_find_in_a_home_counts_wherever_the_root_is() {
        let home = Path::new("/h/me");
        let counts =
            |path: &str, root: &str| automatic_at_home(&home.join(path), &home.join(root), home).is_some();
        let of_programs = [
            ".inputrc",
            ".config/nobody-knows/run",
            ".local/share/x/y",
            ".oh-my-zsh/custom/a.zsh",
            ".cache/p10k-me.zsh",
            ".new",
            ".local/state/nix/profiles/profile/bin/ls",
            ".gitignore.d/x",
        ];
        for path in of_programs {
            for root in ["", "/h", "/"] {
                assert!(counts(path, root), "{path} in {root}");
            }
            assert!(!counts(path, "work"), "{path}");
        }
        for path in HARMLESS.iter().copied().chain([
            "plain",
            "src/.x",
            "bin/ls",
            ".gitignore",
            ".local/share/Trash/files/x",
        ]) {
            assert!(!counts(path, ""), "{path}");
        }
        for (path, root) in [
            (".config/fish/config.fish", ".config"),
            (".config/fish/config.fish", ".config/fish"),
            (".config/unknown/x", ".config"),
            (".local/bin/x", ".local"),
            (".local/bin/x", ".local/bin"),
            (".vim/plugin/x.vim", ".vim"),
            (".local/share/unknown/x", ".local/share"),
        ] {
            assert!(counts(path, root), "{path} in {root}");
        }
        for (path, root) in [
            (".claude/worktrees/x/src/a", ".claude/worktrees/x"),
            (".dotfiles/zsh/rc", ".dotfiles"),
            (".local/share/chezmoi/x", ".local/share/chezmoi"),
        ] {
            assert!(!counts(path, root), "{path} in {root}");
        }
    }
}
