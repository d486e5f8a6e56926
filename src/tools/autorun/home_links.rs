//! Which links lie below names with a dot in a home, as whoever lays out dotfiles makes them, one for each file?
//!
//! All folders are looked at, within bounds; each program's for itself, so that one with thousands does not hide the others'. What was found
//! in a folder is kept in mind as long as the folder stays what it is: this is asked for each command, and seldom changes.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use super::dotted;
use sys::clock::file_time;

/// Folders that are looked at in all, and for each program: some thousand are a few milliseconds, once they are known.
const MOST_FOLDERS: usize = 6_000;
const MOST_OF_PROGRAM: usize = 500;
/// Folders within folders.
const DEEPEST: usize = 8;
/// Entries of one folder.
const MOST_ENTRIES: usize = 10_000;
/// Folders that are kept in mind.
const MOST_KNOWN: usize = 20_000;
/// Seconds: a folder that changed within them is read anew, since the clock of file systems has coarse ticks.
const SETTLED: i64 = 2;

/// Folders of a home in which programs have one each.
const SHARED: &[&str] = &[".config", ".local", ".local/bin", ".local/lib", ".local/share"];

/// Folders of a home that programs fill, from which links lead to what builds make, or nowhere.
const NOT_ENTERED: &[&str] = &[
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/google-chrome",
    ".cursor-server",
    ".cursor/extensions",
    ".local/share/Steam",
    ".local/share/containers",
    ".local/share/docker",
    ".local/share/flatpak",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".mozilla",
    ".opam",
    ".pyenv/versions",
    ".rustup/toolchains",
    ".steam",
    ".thunderbird",
    ".var",
    ".vscode-server",
    ".vscode/extensions",
    ".wine",
];

/// Names of folders, wherever they lie, that package managers and builds fill.
const NAMES_NOT_ENTERED: &[&str] =
    &[".cache", ".git", ".venv", "Cache", "CachedData", "__pycache__", "cache", "node_modules", "target"];

/// Names of folders of which only the files are looked at.
const NAMES_OF_PACKAGES: &[&str] = &["dist-packages", "site-packages"];

/// Folders to which links of builds and package managers lead, and no workspace lies there.
const OF_SYSTEM: &[&str] = &["/bin", "/dev", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];

/// A link below such a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HomeLink {
    pub path: PathBuf,
    /// It lies in a folder of a program's folder, or deeper.
    pub is_deep: bool,
}

/// Everything that lies in one folder and counts.
#[derive(Debug, Default)]
struct HomeFolder {
    folders: Vec<PathBuf>,
    /// With what they say.
    links: Vec<(PathBuf, PathBuf)>,
}

struct KnownHomeFolder {
    state: (u64, u64, (i64, i64), (i64, i64)),
    found: Arc<HomeFolder>,
}

/// By absolute paths. Nothing follows from it but how often folders are read, so one for the whole process is enough.
static KNOWN: LazyLock<Mutex<HashMap<PathBuf, KnownHomeFolder>>> = LazyLock::new(Mutex::default);

/// The links of a home, which is absolute and without links. Of those that lie deeper than others did before, the ones that lead out of
/// the folder with a dot in which they lie. Blocks for a bounded look.
pub(super) fn links(home: &Path) -> Vec<HomeLink> {
    let is_dotted =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let top = HomeFolder::of(home);
    let of_top = top.links.iter().map(|(path, _)| path).filter(|path| is_dotted(path)).cloned();
    let mut found: Vec<HomeLink> = of_top.map(|path| HomeLink { path, is_deep: false }).collect();
    let mut pending: VecDeque<(PathBuf, usize)> =
        top.folders.iter().filter(|path| is_dotted(path)).map(|path| (path.clone(), 1)).collect();
    let (mut count, mut of_programs) = (0, BTreeMap::<PathBuf, usize>::new());
    while let Some((folder, depth)) = pending.pop_front() {
        let program = of_program(home, &folder);
        let of_program = of_programs.entry(program).or_default();
        if MOST_FOLDERS <= count || MOST_OF_PROGRAM <= *of_program || is_left(home, &folder) {
            continue;
        }
        count += 1;
        *of_program += 1;
        let inside = HomeFolder::of(&folder);
        let is_shared = |folder: &Path| SHARED.iter().any(|name| folder == home.join(name));
        let is_deep = !is_shared(&folder) && !folder.parent().is_some_and(is_shared);
        let top = folder.strip_prefix(home).ok().and_then(|below| below.iter().next());
        let top = top.map_or_else(|| folder.clone(), |top| home.join(top));
        for (link, to) in &inside.links {
            let to = joined(&folder, to);
            let leads_out = !to.starts_with(&top) && !OF_SYSTEM.iter().any(|system| to.starts_with(system));
            if !is_deep || leads_out {
                found.push(HomeLink { path: link.clone(), is_deep });
            }
        }
        let is_of_packages = folder
            .file_name()
            .is_some_and(|name| NAMES_OF_PACKAGES.iter().any(|of_packages| name == *of_packages));
        if depth < DEEPEST && !is_of_packages {
            pending.extend(inside.folders.iter().map(|folder| (folder.clone(), depth + 1)));
        }
    }
    found
}

/// The folder that a program has in a home, in which this one lies.
fn of_program(home: &Path, folder: &Path) -> PathBuf {
    let inner = SHARED.iter().rev().map(|name| home.join(name)).find(|shared| folder.starts_with(shared));
    let base = inner.unwrap_or_else(|| home.to_owned());
    let next = folder.strip_prefix(&base).ok().and_then(|below| below.iter().next());
    next.map_or_else(|| base.clone(), |next| base.join(next))
}

fn is_left(home: &Path, folder: &Path) -> bool {
    let is_named = folder
        .file_name()
        .is_some_and(|name| NAMES_NOT_ENTERED.iter().any(|not_entered| name == *not_entered));
    is_named || NOT_ENTERED.iter().any(|name| folder == home.join(name)) || dotted::is_left_of(home, folder)
}

/// The path that a link in a folder says, by its words.
fn joined(folder: &Path, to: &Path) -> PathBuf {
    let mut path = folder.to_owned();
    for part in to.components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => (),
            part => path.push(part),
        }
    }
    path
}

impl HomeFolder {
    fn of(folder: &Path) -> Arc<HomeFolder> {
        let Ok(is) = fs::symlink_metadata(folder) else { return Arc::default() };
        let state = (is.dev(), is.ino(), (is.mtime(), is.mtime_nsec()), (is.ctime(), is.ctime_nsec()));
        // Nothing panics while it is held.
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = known().get(folder).filter(|it| it.state == state) {
            return Arc::clone(&it.found);
        }
        let mut found = HomeFolder::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => found.folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {
                    found.links.extend(fs::read_link(entry.path()).ok().map(|to| (entry.path(), to)));
                }
                Ok(_) | Err(_) => (),
            }
        }
        let found = Arc::new(found);
        if SETTLED < file_time().0 - is.ctime() {
            let mut known = known();
            if MOST_KNOWN <= known.len() {
                known.clear();
            }
            known.insert(folder.to_owned(), KnownHomeFolder { state, found: Arc::clone(&found) });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_found_in_all_folders_with_a_dot_unless_they_stay_there_or_are_of_packages() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let found = |link: &str, to: &str| -> Vec<(PathBuf, bool)> {
            let path = home.join(link);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(to, &path).unwrap();
            let found = links(&home);
            fs::remove_file(&path).unwrap();
            found.into_iter().map(|it| (it.path, it.is_deep)).collect()
        };
        let dots = home.join("dotfiles").display().to_string();
        for (link, is_deep) in [
            (".vimrc", false),
            (".config/nvim/init.lua", false),
            (".local/bin/x", false),
            (".vim/plugin/me.vim", true),
            (".bashrc.d/10-x.sh", true),
            (".config/nvim/after/ftplugin/python.lua", true),
            (".config/systemd/user/default.target.wants/b.service", true),
            (".oh-my-zsh/custom/plugins/me/me.plugin.zsh", true),
            (".local/lib/python3.13/site-packages/x.pth", true),
        ] {
            assert_eq!(found(link, &dots), [(home.join(link), is_deep)], "{link}");
        }
        for (link, to) in [
            ("plain/x", "../dotfiles"),
            (".nvm/versions/v1/bin/npm", "../lib/npm.js"),
            (".nvm/versions/v1/lib/node_modules/mine", dots.as_str()),
            (".cargo/registry/x/y", dots.as_str()),
            (".rustup/toolchains/mine", dots.as_str()),
            (".x/bin/python", "/usr/bin/python3"),
        ] {
            assert!(found(link, to).is_empty(), "{link}");
        }
    }

    #[test]
    fn a_program_with_thousands_of_folders_does_not_hide_the_links_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for n in 0..=MOST_OF_PROGRAM {
            fs::create_dir_all(home.join(format!(".a/{n}"))).unwrap();
        }
        fs::create_dir_all(home.join(".vim/plugin")).unwrap();
        symlink("../../dots/x", home.join(".vim/plugin/x")).unwrap();
        assert_eq!(links(&home).len(), 1);
    }
}
