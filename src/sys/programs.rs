//! Which programs may the daemon run outside of a sandbox, when it looks for one by its name?
//!
//! Only those of the system: an agent that could write a folder of the `PATH`, or a program in it, would say what the
//! daemon runs.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Where systems keep the programs of all users. A root user's own folders belong to root as well.
const OF_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/nix/store", "/gnu/store"];

/// Writable by the group, or by others.
const BY_OTHERS: u32 = 0o022;

/// The first program of this name in these folders that only root can replace: it and every folder above it belong to root,
/// and nobody else may write to them. Without links.
pub fn of_system(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let found = std::env::split_paths(path?).filter_map(|folder| folder.join(name).canonicalize().ok());
    found.into_iter().find(|program| is_of_system(program))
}

fn is_of_system(program: &Path) -> bool {
    let is_roots = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|it| it.uid() == 0 && it.mode() & BY_OTHERS == 0 && !it.file_type().is_symlink())
    };
    OF_SYSTEM.iter().any(|folder| program.starts_with(folder))
        && program.is_file()
        && program.ancestors().all(is_roots)
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
}
