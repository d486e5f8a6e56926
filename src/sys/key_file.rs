//! A secret of the daemon's own in a file: 256 random bits that nobody but this user may read (spec 11, "Who may talk to it").

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

/// Bytes of a key before they are written as hexadecimal digits: 256 bit, as spec 11 says.
const KEY_BYTES: usize = 32;

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot {action} the key file {path}: {source}")]
    System { action: &'static str, path: PathBuf, source: io::Error },
    /// Somebody else may know it.
    #[error("the key file {path} {problem}; remove it, and the next start makes a new one")]
    Unsafe { path: PathBuf, problem: String },
}

/// The key in a file, as hexadecimal digits; one is made when there is none, with mode 0600.
pub fn read_or_make(path: &Path) -> Result<String, KeyFileError> {
    match read(path)? {
        Some(key) => Ok(key),
        None => make(path),
    }
}

/// The key in a file, if there is one.
pub fn read(path: &Path) -> Result<Option<String>, KeyFileError> {
    let fail = |action| move |source| KeyFileError::System { action, path: path.to_owned(), source };
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(no_follow.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail("open")(error)),
    };
    let metadata = file.metadata().map_err(fail("look at"))?;
    let unsafe_file = |problem: String| KeyFileError::Unsafe { path: path.to_owned(), problem };
    if !metadata.is_file() {
        return Err(unsafe_file("is no regular file".to_owned()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(unsafe_file(format!("belongs to user {}", metadata.uid())));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(unsafe_file(format!("is open to others (mode {:04o})", metadata.mode() & 0o777)));
    }
    let mut text = String::new();
    // One byte more than there may be tells a longer one.
    let most = 2 * KEY_BYTES as u64 + 2;
    file.take(most).read_to_string(&mut text).map_err(fail("read"))?;
    let key = text.trim_end();
    let is_key = key.len() == 2 * KEY_BYTES && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_key {
        return Err(unsafe_file("holds no key".to_owned()));
    }
    Ok(Some(key.to_owned()))
}

/// Writes a new key beside its place and moves it there, so that nobody reads half of one.
fn make(path: &Path) -> Result<String, KeyFileError> {
    let fail = |action| move |source| KeyFileError::System { action, path: path.to_owned(), source };
    let mut bytes = [0; KEY_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        let more = rustix::rand::getrandom(&mut bytes[filled..], flags);
        filled += more.map_err(|error| fail("make up")(error.into()))?;
    }
    let key: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail("replace")(error)),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let mut file = file.map_err(fail("create"))?;
    file.write_all(format!("{key}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(fail("write"))?;
    fs::rename(&beside, path).map_err(fail("create"))?;
    Ok(key)
}
