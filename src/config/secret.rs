//! What is a secret of which the settings say where it lies? Read each time it is needed, so that one that was changed works
//! without a restart.

use std::{ffi::OsString, fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use super::{KeySource, read_bounded};

/// A secret longer than this is none.
const MAX_SECRET_BYTES: u64 = 64 << 10;

impl KeySource {
    /// The secret itself, without blanks around it; or what is wrong with it, as the end of a sentence that begins with
    /// what it is for. May block for a disk. What a command would print is not read here.
    pub fn secret(&self, environment: &[(OsString, OsString)]) -> Result<Vec<u8>, String> {
        let bytes = match self {
            KeySource::Env(name) => {
                let found = environment.iter().find(|(variable, _)| variable == name.as_str());
                let (_, value) = found
                    .ok_or_else(|| format!("is not there: {name} is not set in the daemon's environment"))?;
                value.clone().into_encoded_bytes()
            }
            KeySource::File(path) => private_file(path)?,
            KeySource::Command(_) => return Err("cannot come from a command".to_owned()),
        };
        let text = bytes.trim_ascii();
        if text.is_empty() { Err("is empty".to_owned()) } else { Ok(text.to_vec()) }
    }
}

/// A file that only its owner can read.
fn private_file(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable =
        |error: io::Error| format!("is not there: {} cannot be read: {}", path.display(), error.kind());
    let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        let path = path.display();
        return Err(format!(
            "is not used: {path} can be read by others (mode {mode:04o}); `chmod 600 {path}`"
        ));
    }
    match read_bounded(path, MAX_SECRET_BYTES) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("is not there: there is no file {}", path.display())),
        Err(problem) => Err(format!("is not there: {} {}", path.display(), problem.message)),
    }
}
