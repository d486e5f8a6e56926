//! What do git's settings name that others look at: hooks, further files of settings, files of ignored patterns?
//!
//! Only the keys that are asked for are read, each on one line, as git itself writes them (git-config(1), CONFIGURATION FILE).

use std::path::{Path, PathBuf};

use sys::regular_file;

/// Bytes of a file of settings that are looked at; usual ones have a few hundred.
pub const LONGEST_CONFIG: u64 = 1 << 20;

/// Paths that git's settings name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GitNames {
    /// Folders of hooks: `core.hooksPath`.
    pub hooks: Vec<String>,
    /// Further files of settings.
    pub includes: Vec<String>,
    /// Files of patterns that are ignored: `core.excludesFile`.
    pub excludes: Vec<String>,
    /// Folders of which each new repository gets a copy, hooks among it: `init.templateDir`.
    pub templates: Vec<String>,
    /// Working trees: `core.worktree`.
    pub worktrees: Vec<String>,
    /// A working tree has settings of its own: `extensions.worktreeConfig`.
    pub has_worktree_config: bool,
    /// References are kept in tables: `extensions.refStorage`.
    pub has_reference_tables: bool,
}

impl GitNames {
    /// Reads the text of a file of settings. Sections of keys that no other section has are not looked at.
    pub fn of(config: &str) -> GitNames {
        let mut names = GitNames::default();
        let mut is_include = false;
        for line in config.lines().map(str::trim) {
            // A section and its first key may stand in one line.
            let line = match (line.strip_prefix('['), line.rsplit_once(']')) {
                (Some(section), Some((_, rest))) => {
                    is_include = section.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("include"));
                    rest
                }
                _ => line,
            };
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = match value.trim().strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
                // A comment may follow.
                None => value.split(['#', ';']).next().unwrap_or(value).trim(),
            };
            let into = match key.trim() {
                key if key.eq_ignore_ascii_case("hookspath") => &mut names.hooks,
                key if key.eq_ignore_ascii_case("excludesfile") => &mut names.excludes,
                key if key.eq_ignore_ascii_case("templatedir") => &mut names.templates,
                key if key.eq_ignore_ascii_case("worktree") => &mut names.worktrees,
                key if is_include && key.eq_ignore_ascii_case("path") => &mut names.includes,
                key if key.eq_ignore_ascii_case("worktreeconfig") => {
                    names.has_worktree_config |= !value.eq_ignore_ascii_case("false");
                    continue;
                }
                key if key.eq_ignore_ascii_case("refstorage") => {
                    names.has_reference_tables |= value == "reftable";
                    continue;
                }
                _ => continue,
            };
            if !value.is_empty() {
                into.push(value.to_owned());
            }
        }
        names
    }
}

/// The files with the settings of the user and of the system, those that count first in front (git-config(1), FILES).
pub fn files_of_user() -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let files = [
        variable("GIT_CONFIG_GLOBAL"),
        home.as_ref().map(|home| home.join(".gitconfig")),
        config_home().map(|config| config.join("git/config")),
        variable("GIT_CONFIG_SYSTEM").or_else(|| Some("/etc/gitconfig".into())),
    ];
    files.into_iter().flatten().collect()
}

/// The user's own file of ignored patterns for all repositories, where git finds it (gitignore(5)). The files that may name it
/// are read as others' files are: none is waited for, and none is read without an end.
pub fn global_excludes() -> Option<PathBuf> {
    let home = std::env::home_dir();
    let named = files_of_user().iter().find_map(|file| excludes_of(file, home.as_deref()));
    named.or_else(|| Some(config_home()?.join("git/ignore")))
}

fn config_home() -> Option<PathBuf> {
    variable("XDG_CONFIG_HOME").or_else(|| Some(std::env::home_dir()?.join(".config")))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The last that a file names counts.
fn excludes_of(file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let bytes = regular_file::read_bounded(file, LONGEST_CONFIG).ok()??;
    let path = GitNames::of(&String::from_utf8_lossy(&bytes)).excludes.pop()?;
    Some(match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn hooks_paths_are_found_however_they_are_written() {
        let config = "[core]\n\tbare = false\n\tHooksPath = .hooks\n[core] hookspath=\"a b\"\n# hooksPath = x\n[x]\n\thooksPathOther = y\n";
        assert_eq!(GitNames::of(config).hooks, [".hooks", "a b"]);
    }

    #[test]
    fn the_last_file_of_ignored_patterns_counts_and_only_a_usual_file_names_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("config"), "[core]\n\texcludesFile = a\n\texcludesfile = \"~/b c\" # x\n").unwrap();
        assert_eq!(excludes_of(&at("config"), Some(Path::new("/home/u"))), Some("/home/u/b c".into()));
        // A writer that never comes, a stream without an end, and more than anybody sets.
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        fs::File::create(at("large")).unwrap().set_len(10 << 30).unwrap();
        for name in ["fifo", "zero", "large", "missing"] {
            assert_eq!(excludes_of(&at(name), None), None, "{name}");
        }
    }
}
