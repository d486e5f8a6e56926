//! What does a login run of what lies in workspaces: the files that links in the home lead to, and the folders of programs?

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::git_programs::is_text;
use shell::AutorunPlace;
use sys::guarded::ResolvedPath;

/// Folders of the home in which programs keep theirs, each in a folder of its own.
const SHARED: &[&str] = &[".config", ".local", ".local/bin", ".local/lib", ".local/share"];

/// Entries of one folder that are looked at for links.
const MOST_ENTRIES: usize = 10_000;

const LINKED: &str = "a link in the home leads there, from where programs take what they run";
const PROGRAMS: &str = "a shell finds its programs there";

/// Finds where links lead whose names in a home begin with a dot, or that lie in the folders of programs there.
pub(super) fn led_to(home: &Path, found: &mut Vec<AutorunPlace>) {
    for path in links(home) {
        let ResolvedPath { end, links, .. } = ResolvedPath::to(&path);
        let places = links.into_iter().filter(|link| *link != path).chain([end]);
        found.extend(places.map(|path| AutorunPlace { path, why: LINKED }));
    }
}

/// The ones of these that are kept from commands: folders, and files that are texts; what is none is what builds make. So is what is not there
/// yet, unless it may be a program. `is_left`: the link lies where programs write by themselves, or such a place below it.
/// Answers the links on the way to them, too.
pub(super) fn kept_ends(home: &Path, is_left: impl Fn(&Path) -> bool) -> (Vec<AutorunPlace>, Vec<PathBuf>) {
    let (mut found, mut on_way) = (Vec::new(), Vec::new());
    for path in links(home).into_iter().filter(|path| !is_left(path)) {
        let ResolvedPath { end, links, id } = ResolvedPath::to(&path);
        let may_be_program = || path.starts_with(home.join(".local"));
        let is_kept = match id {
            Some(_) => end.is_dir() || is_text(&end),
            None => !may_be_program(),
        };
        if is_kept {
            on_way.extend(links.into_iter().filter(|link| *link != path));
            found.push(AutorunPlace { path: end, why: LINKED });
        }
    }
    (found, on_way)
}

fn links(home: &Path) -> Vec<PathBuf> {
    let mut links = links_in(home, &|name| name.starts_with('.'));
    for folder in SHARED {
        let folder = home.join(folder);
        links.extend(links_in(&folder, &|_| true));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        links.extend(folders.flat_map(|entry| links_in(&entry.path(), &|_| true)));
    }
    links
}

fn links_in(folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_link = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_symlink())
            && is_meant(&entry.file_name().to_string_lossy())
    };
    entries.filter(is_link).map(|entry| entry.path()).collect()
}

/// The folders in which this daemon finds programs. `path`: its own.
pub(super) fn program_folders(path: Option<&OsStr>) -> Vec<AutorunPlace> {
    let folders = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut places: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let ResolvedPath { end, links, .. } = ResolvedPath::to(&folder);
            links.into_iter().chain([end])
        })
        .filter(|place| place.parent().is_some())
        .collect();
    places.sort();
    places.dedup();
    places.into_iter().map(|path| AutorunPlace { path, why: PROGRAMS }).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_of_programs_are_found_where_links_of_the_path_lead() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["tools", "real"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        symlink(home.join("real"), home.join("tools/linked")).unwrap();
        let own = format!(
            "{}:/usr/bin:relative:{}",
            home.join("given").display(),
            home.join("tools/linked").display()
        );
        let found = program_folders(Some(OsStr::new(&own)));
        let found: Vec<&Path> =
            found.iter().map(|it| it.path.strip_prefix(&home).unwrap_or(&it.path)).collect();
        for wanted in ["given", "real", "tools/linked", "/usr/bin"] {
            assert!(found.contains(&Path::new(wanted)), "{wanted}: {found:?}");
        }
        assert!(!found.contains(&Path::new("relative")), "{found:?}");
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
        fs::write(home.join("dot/bin/x"), "ELF\0").unwrap();
        symlink(home.join("dot/later"), home.join(".local/bin/y")).unwrap();
        symlink(home.join("dot/store"), home.join(".store")).unwrap();
        let (kept, _) = kept_ends(&home, |path| path.ends_with(".store"));
        let kept: Vec<&Path> = kept.iter().map(|it| it.path.strip_prefix(&home).unwrap()).collect();
        for wanted in ["dot/rc", "dot/app", "dot/kitty"] {
            assert!(kept.contains(&Path::new(wanted)), "{wanted}: {kept:?}");
        }
        for other in ["dot/bin/x", "dot/later", "dot/store"] {
            assert!(!kept.contains(&Path::new(other)), "{other}: {kept:?}");
        }
    }
}
