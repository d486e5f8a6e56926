//! What does a login run of what lies in workspaces: the files that links in the home lead to, and the folders of programs?

use std::{
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
};

use shell::AutorunPlace;
use sys::{guarded::ResolvedPath, regular_file};

/// Folders of the home in which programs keep theirs, each in a folder of its own.
const SHARED: &[&str] = &[".config", ".local", ".local/bin", ".local/lib", ".local/share"];

/// Entries of one folder that are looked at for links.
const MOST_ENTRIES: usize = 10_000;

/// Files by which a login comes to its `PATH`.
const LOGIN_FILES: &[&str] = &[
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".config/fish/config.fish",
    ".pam_environment",
];

/// Further ones, each file of it.
const LOGIN_FOLDERS: &[&str] = &[".config/environment.d", ".config/fish/conf.d", ".bashrc.d"];

/// Files of such a folder that are read.
const MOST_FILES: usize = 64;

/// Bytes of one that are read.
const MOST_BYTES: u64 = 64 * 1024;

const LINKED: &str = "a link in the home leads there, from where programs take what they run";
const PROGRAMS: &str = "a shell finds its programs there";

/// Finds where links lead whose names in a home begin with a dot, or that lie in the folders of programs there.
pub(super) fn led_to(home: &Path, found: &mut Vec<AutorunPlace>) {
    let mut links = links_in(home, &|name| name.starts_with('.'));
    for folder in SHARED {
        let folder = home.join(folder);
        links.extend(links_in(&folder, &|_| true));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        links.extend(folders.flat_map(|entry| links_in(&entry.path(), &|_| true)));
    }
    for path in links {
        let ResolvedPath { end, links, .. } = ResolvedPath::to(&path);
        let places = links.into_iter().filter(|link| *link != path).chain([end]);
        found.extend(places.map(|path| AutorunPlace { path, why: LINKED }));
    }
}

fn links_in(folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_link = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_symlink())
            && is_meant(&entry.file_name().to_string_lossy())
    };
    entries.filter(is_link).map(|entry| entry.path()).collect()
}

/// The folders in which this daemon and the owner's next login find programs. `path`: the daemon's own. A shell's files are not run but
/// read for the folders that lines about the `PATH` name.
pub(super) fn program_folders(path: Option<&OsStr>, home: Option<&Path>) -> Vec<AutorunPlace> {
    let mut folders: Vec<PathBuf> = path.into_iter().flat_map(std::env::split_paths).collect();
    folders.retain(|folder| folder.is_absolute());
    if let Some(home) = home {
        folders.extend(folders_of_login(home));
    }
    let mut places: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| {
            let ResolvedPath { end, links, .. } = ResolvedPath::to(folder);
            links.into_iter().chain([end])
        })
        .filter(|place| place.parent().is_some())
        .collect();
    places.sort();
    places.dedup();
    places.into_iter().map(|path| AutorunPlace { path, why: PROGRAMS }).collect()
}

fn folders_of_login(home: &Path) -> Vec<PathBuf> {
    let files = LOGIN_FILES.iter().map(|file| home.join(file));
    let more = LOGIN_FOLDERS.iter().flat_map(|folder| {
        let entries = fs::read_dir(home.join(folder)).into_iter().flatten().flatten().take(MOST_FILES);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    });
    let mut folders = Vec::new();
    for file in files.chain(more) {
        let Some(text) = regular_file::read_bounded(&file, MOST_BYTES).ok().flatten() else { continue };
        let text = String::from_utf8_lossy(&text);
        folders.extend(
            text.lines()
                .filter(|line| line.to_ascii_lowercase().contains("path"))
                .flat_map(|line| named_in(line, home)),
        );
    }
    folders
}

/// The folders below the home that a line names.
fn named_in(line: &str, home: &Path) -> Vec<PathBuf> {
    let parts = line.split(|letter: char| letter.is_whitespace() || ":;='\"()[]<>,&|`".contains(letter));
    let below = |part: &str| {
        let named = ["$HOME/", "${HOME}/", "@{HOME}/", "~/"].iter().find_map(|home| part.strip_prefix(home));
        let below = named.map(Path::new).or_else(|| Path::new(part).strip_prefix(home).ok())?;
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && below.components().next().is_some() && !part[1..].contains('$'))
            .then(|| home.join(below))
    };
    parts.filter(|part| !part.is_empty()).filter_map(below).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_of_programs_are_found_by_the_path_and_by_what_a_login_says() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in [".config/environment.d", ".config/fish", "tools", "real"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        symlink(home.join("real"), home.join("tools/linked")).unwrap();
        let own = format!(
            "{}:/usr/bin:relative:{}",
            home.join("given").display(),
            home.join("tools/linked").display()
        );
        fs::write(home.join(".profile"), "export PATH=\"$HOME/bin:$PATH:${HOME}/go/bin\"\nX=~/other\n")
            .unwrap();
        fs::write(home.join(".zshrc"), format!("path=(~/perl5/bin {}/x/../y $path)\n", home.display()))
            .unwrap();
        fs::write(home.join(".config/fish/config.fish"), "fish_add_path ~/fish/bin\n").unwrap();
        fs::write(home.join(".config/environment.d/a.conf"), "PATH=$HOME/env:$HOME/$X\n").unwrap();
        let found = program_folders(Some(OsStr::new(&own)), Some(&home));
        let found: Vec<&Path> =
            found.iter().map(|it| it.path.strip_prefix(&home).unwrap_or(&it.path)).collect();
        for wanted in
            ["given", "real", "tools/linked", "bin", "go/bin", "perl5/bin", "fish/bin", "env", "/usr/bin"]
        {
            assert!(found.contains(&Path::new(wanted)), "{wanted}: {found:?}");
        }
        for other in ["other", "y", "x", "$X", ""] {
            assert!(!found.contains(&Path::new(other)), "{other}: {found:?}");
        }
    }

    #[test]
    fn links_below_hidden_names_of_a_home_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["dot/app", "dot/bin", ".config/kitty", ".local/bin"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for (link, target) in [
            (".inputrc", "dot/rc"),
            (".config/app", "dot/app"),
            (".config/kitty/kitty.conf", "dot/kitty"),
            (".local/bin/x", "dot/bin/x"),
            ("plain", "dot/plain"),
        ] {
            symlink(home.join(target), home.join(link)).unwrap();
        }
        let mut found = Vec::new();
        led_to(&home, &mut found);
        let found: Vec<&Path> = found.iter().map(|it| it.path.strip_prefix(&home).unwrap()).collect();
        for wanted in ["dot/rc", "dot/app", "dot/kitty", "dot/bin/x"] {
            assert!(found.contains(&Path::new(wanted)), "{wanted}: {found:?}");
        }
        assert!(!found.contains(&Path::new("dot/plain")), "{found:?}");
    }
}
