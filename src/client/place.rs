//! Where is the daemon's socket, and where does its state live? (Spec 01, "Transports"; DESIGN, "Places".)

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::ConnectError;

/// The name of our folder below a runtime or state folder.
const OUR_FOLDER: &str = "subagentd";

/// The socket a daemon of this user listens on when nobody says otherwise. `environment` looks up a variable.
pub fn default_socket(environment: &dyn Fn(&str) -> Option<OsString>) -> io::Result<PathBuf> {
    let folder = match absolute(environment("XDG_RUNTIME_DIR")) {
        Some(runtime) => runtime.join(OUR_FOLDER),
        None => shared_folder(own_uid()?),
    };
    Ok(folder.join("subagentd.sock"))
}

/// Where the daemon keeps its database and log; `None` when the environment names no home.
pub fn state_folder(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let base = absolute(environment("XDG_STATE_HOME"))
        .or_else(|| Some(absolute(environment("HOME"))?.join(".local/state")))?;
    Some(base.join(OUR_FOLDER))
}

/// The basedir specification says that relative paths are to be ignored.
fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

fn shared_folder(uid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/{OUR_FOLDER}-{uid}"))
}

fn own_uid() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// Refuses a socket below `/tmp` whose folder another user made: they would read what we send.
pub(super) fn check_trustworthy(socket: &Path) -> Result<(), ConnectError> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    let Ok(uid) = own_uid() else { return Ok(()) };
    if folder != shared_folder(uid) {
        return Ok(());
    }
    // A missing folder is found out by connecting.
    let Ok(metadata) = fs::symlink_metadata(folder) else { return Ok(()) };
    check_folder(metadata.uid() == uid, metadata.mode(), metadata.is_dir())
        .map_err(|why| ConnectError::NotOurs { socket: socket.to_owned(), why: why.to_owned() })
}

fn check_folder(is_ours: bool, mode: u32, is_folder: bool) -> Result<(), &'static str> {
    let others_may_write = mode & 0o022 != 0;
    match (is_folder, is_ours, others_may_write) {
        (false, _, _) => Err("its folder is not a folder"),
        (true, false, _) => Err("its folder belongs to another user"),
        (true, true, true) => Err("others may write into its folder"),
        (true, true, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment<'e>(pairs: &'e [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'e {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn the_socket_is_in_the_runtime_folder_else_below_tmp() {
        let socket = default_socket(&environment(&[("XDG_RUNTIME_DIR", "/run/user/7")])).unwrap();
        assert_eq!(socket, Path::new("/run/user/7/subagentd/subagentd.sock"));
        let socket = default_socket(&environment(&[("XDG_RUNTIME_DIR", "relative")])).unwrap();
        let expected = format!("/tmp/subagentd-{}/subagentd.sock", own_uid().unwrap());
        assert_eq!(socket, Path::new(&expected));
    }

    #[test]
    fn the_state_folder_follows_xdg_then_home() {
        let both = [("XDG_STATE_HOME", "/s"), ("HOME", "/h")];
        assert_eq!(state_folder(&environment(&both)).unwrap(), Path::new("/s/subagentd"));
        let home = [("HOME", "/h")];
        assert_eq!(state_folder(&environment(&home)).unwrap(), Path::new("/h/.local/state/subagentd"));
        assert_eq!(state_folder(&environment(&[])), None);
    }

    #[test]
    fn a_shared_folder_is_used_only_when_it_is_ours_alone() {
        assert_eq!(check_folder(true, 0o40700, true), Ok(()));
        assert!(check_folder(false, 0o40700, true).is_err());
        assert!(check_folder(true, 0o40770, true).is_err());
        assert!(check_folder(true, 0o120777, false).is_err());
    }
}
