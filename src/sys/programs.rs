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

/// Where systems keep the programs of all users. A root user's own folders belong to root as well.
const OF_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store"];

/// Folders of programs that every system has.
const USUAL_PATH: &str = "/usr/bin:/bin";

/// Writable by the group, or by others.
const BY_OTHERS: u32 = 0o022;

/// The first program of this name in these folders that only root can replace: it and every folder above it belong to root,
/// and nobody else may write to them. Without links.
pub fn of_system(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let found = std::env::split_paths(path?).filter_map(|folder| folder.join(name).canonicalize().ok());
    found.into_iter().find(|program| is_of_system(program))
}

/// The folders of a `PATH` in which only root can put anything, for a program that runs outside of a sandbox and looks others up
/// by their names. Where there is none, those that every system has.
pub fn path_of_system(path: Option<&OsStr>) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in path.iter().flat_map(std::env::split_paths).filter_map(|folder| folder.canonicalize().ok())
    {
        if folder.is_dir() && is_roots_alone(&folder) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    match std::env::join_paths(folders) {
        Ok(path) if !path.is_empty() => path,
        // A folder with a colon in its name could not be found by it either.
        _ => USUAL_PATH.into(),
    }
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
        assert_eq!(path_of_system(Some(dir.path().as_os_str())), USUAL_PATH);
        assert_eq!(path_of_system(None), USUAL_PATH);
    }
}
