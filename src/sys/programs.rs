//! Which programs may the daemon run outside of a sandbox, when it looks for one by its name?
//!
//! Only those of the system: an agent that could write a folder of the `PATH`, or a program in it, would say what the
//! daemon runs.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::guarded::ResolvedPath;

/// Where systems keep the programs of all users. A root user's own folders belong to root as well.
const OF_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store"];

/// Folders of programs that every system has.
pub const USUAL_PATH: &str = "/usr/bin:/bin";

/// Writable by the group, or by others.
const BY_OTHERS: u32 = 0o022;

/// The first program of this name in these folders that only root can replace: it and every folder above it belong to root,
/// and nobody else may write to them. Without links.
pub fn of_system(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let found = std::env::split_paths(path?).filter_map(|folder| folder.join(name).canonicalize().ok());
    found.into_iter().find(|program| is_of_system(program))
}

/// The folders of a `PATH` in which only root can put anything, for a program that runs outside of a sandbox and looks others up
/// by their names. Where there is none, those that every system has. Without links.
pub fn path_of_system(path: Option<&OsStr>) -> OsString {
    let usable = |path: &OsStr| {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in std::env::split_paths(path).filter_map(|folder| folder.canonicalize().ok()) {
            if folder.is_dir() && is_roots_alone(&folder) && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        // A folder with a colon in its name could not be found by it either.
        std::env::join_paths(folders).ok().filter(|path| !path.is_empty())
    };
    let usual = || usable(OsStr::new(USUAL_PATH));
    path.and_then(usable).or_else(usual).unwrap_or_else(|| USUAL_PATH.into())
}

/// Folders below the home where people install programs of their own, whatever their `PATH` says.
const OF_PERSON: &[&str] = &[".local/bin", ".cargo/bin", "bin", "go/bin"];

/// Folders for what lives no longer than its makers, and for everybody's.
const OF_EVERYBODY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The folders in which a person's programs are found at this moment, for what that person has run outside of a sandbox: those of the
/// `PATH`, and the usual ones of the home. Without links. Of folders below the home those that a project may be are left out, as an
/// agent may work there: in the others nothing is written by the commands of agents (see [`own_folders`]).
pub fn folders_of_person(path: Option<&OsStr>, home: Option<&Path>) -> Vec<PathBuf> {
    let real_home = home.and_then(|home| home.canonicalize().ok());
    let usual = home.into_iter().flat_map(|home| OF_PERSON.iter().map(|name| home.join(name)));
    let named = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in named.chain(usual).filter_map(|folder| folder.canonicalize().ok()) {
        let is_everybodys = OF_EVERYBODY.iter().any(|other| folder.starts_with(other))
            && !real_home.as_ref().is_some_and(|home| folder.starts_with(home));
        let may_be_project = real_home
            .as_deref()
            .is_some_and(|home| folder.strip_prefix(home).is_ok_and(|below| !is_own_below_home(below)));
        if folder.is_dir() && !is_everybodys && !may_be_project && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The folders among them that are the person's own, also where one is not there yet: only who may write in the home makes and changes them.
pub fn own_folders(path: Option<&OsStr>, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(real_home) = home.and_then(|home| home.canonicalize().ok()) else { return Vec::new() };
    let usual = OF_PERSON.iter().map(|name| real_home.join(name));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in path.into_iter().flat_map(std::env::split_paths).chain(usual) {
        let missing = || Some(folder.parent()?.canonicalize().ok()?.join(folder.file_name()?));
        let Some(folder) = folder.canonicalize().ok().or_else(missing) else { continue };
        let is_own = folder.strip_prefix(&real_home).is_ok_and(is_own_below_home);
        if is_own && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The folders of a `PATH`, and the usual ones of the home, that are not there: a shell finds in them whatever somebody puts there.
pub fn missing_folders(path: Option<&OsStr>, home: &Path) -> Vec<PathBuf> {
    let usual = OF_PERSON.iter().map(|name| home.join(name));
    let named = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut missing: Vec<PathBuf> = named
        .chain(usual)
        .map(|folder| ResolvedPath::to(&folder))
        .filter_map(|way| way.id.is_none().then_some(way.end))
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// True of a path below the home that is a usual place of programs, or lies below a name with a dot in front.
fn is_own_below_home(below: &Path) -> bool {
    OF_PERSON.iter().any(|name| below == Path::new(name))
        || below.iter().next().is_some_and(|first| first.as_encoded_bytes().starts_with(b"."))
}

fn is_of_system(program: &Path) -> bool {
    program.is_file() && is_roots_alone(program)
}

/// True where it lies where systems keep what is everybody's, and nobody but root can change it or put something else in its place.
pub fn is_roots_alone(place: &Path) -> bool {
    let is_roots = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|it| it.uid() == 0 && it.mode() & BY_OTHERS == 0 && !it.file_type().is_symlink())
    };
    OF_SYSTEM.iter().any(|folder| place.starts_with(folder)) && place.ancestors().all(is_roots)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_persons_programs_are_not_looked_for_where_a_project_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for name in [".local/bin", "code/x/.venv/bin", ".nvm/v22/bin", "tools"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        symlink(home.join("tools"), home.join(".linked")).unwrap();
        let names = [".nvm/v22/bin", "code/x/.venv/bin", "tools", ".linked", "go/bin"];
        let named = names.iter().map(|name| home.join(name)).chain(["/usr/bin".into(), "relative".into()]);
        let path = std::env::join_paths(named).unwrap();
        let own = [home.join(".nvm/v22/bin"), home.join(".local/bin")];
        let missing = [home.join("bin")];
        assert_eq!(own_folders(Some(&path), Some(&home)), [own.as_slice(), &missing].concat());
        let all = folders_of_person(Some(&path), Some(&home));
        assert_eq!(all, [own[0].clone(), Path::new("/usr/bin").canonicalize().unwrap(), own[1].clone()]);
        assert_eq!(own_folders(Some(&path), None), Vec::<PathBuf>::new());
        let missing = [".cargo/bin", "bin", "go/bin"].map(|name| home.join(name));
        assert_eq!(missing_folders(Some(&path), &home), missing);
    }

    #[test]
    fn a_program_of_ones_own_folder_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("sh");
        fs::write(&own, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([dir.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        let found = of_system("sh", Some(&path)).unwrap();
        assert!(found.starts_with("/usr") || found.starts_with("/bin"), "{}", found.display());
        assert_eq!(of_system("sh", Some(dir.path().as_os_str())), None);
        // A link of one's own to the system's is the system's.
        fs::remove_file(&own).unwrap();
        symlink("/bin/sh", &own).unwrap();
        assert_eq!(of_system("sh", Some(dir.path().as_os_str())), Some(found));
        assert_eq!(of_system("no-such-program", Some(&path)), None);
        assert_eq!(of_system("sh", None), None);
    }

    #[test]
    fn a_path_for_what_is_not_confined_has_no_folder_of_ones_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::join_paths([dir.path(), Path::new("/usr/bin"), Path::new("relative")]).unwrap();
        assert_eq!(path_of_system(Some(&path)), "/usr/bin");
        // A `PATH` of nothing but what others may write, as in a home with a toolchain alone; and none at all.
        for path in [Some(dir.path().as_os_str()), None] {
            let usual = path_of_system(path);
            let folders: Vec<PathBuf> = std::env::split_paths(&usual).collect();
            assert!(folders.contains(&"/usr/bin".into()), "{folders:?}");
            assert!(folders.iter().all(|folder| is_roots_alone(folder)), "{folders:?}");
        }
    }
}
