//! What is kept of somebody who signed in to a server, in a file that nobody but the daemon's user reads.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::geteuid};
use serde::{Deserialize, Serialize};

use crate::digest;

/// Files that are read at the start, and bytes of each.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 256 << 10;

/// One sign-in: for one server, by one issuer. Not shown: it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredGrant {
    /// The server's address. The token goes nowhere else.
    pub server: String,
    pub issuer: String,
    pub resource: String,
    pub token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    pub client: OAuthClientRegistration,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Microseconds since 1970; missing = nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// What the issuer knows the daemon as.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthClientRegistration {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The secret goes into a header, not into the form.
    #[serde(default)]
    pub uses_header: bool,
}

impl StoredGrant {
    /// What must not be shown.
    pub fn secrets(&self) -> Vec<String> {
        let secrets = [Some(&self.access_token), self.refresh_token.as_ref(), self.client.secret.as_ref()];
        secrets.into_iter().flatten().cloned().collect()
    }
}

/// The file of a server.
pub fn path_of(folder: &Path, server: &str) -> PathBuf {
    let digest = digest::of_parts(["mcp-auth", server]);
    folder.join(format!("{}.json", digest.trim_start_matches("sha256:")))
}

/// Writes it whole or not at all. Blocks.
pub fn write(folder: &Path, kept: &StoredGrant) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = path_of(folder, &kept.server);
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    fs::rename(&beside, &path)?;
    File::open(folder)?.sync_all()
}

/// Blocks.
pub fn remove(folder: &Path, server: &str) -> io::Result<()> {
    match fs::remove_file(path_of(folder, server)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Everything that is kept. A file that somebody else could have read or written does not count. Blocks.
pub fn all(folder: &Path) -> Vec<StoredGrant> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).take(MOST_FILES);
    let mut all = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|it| it == "json")) {
        match read(folder, &path) {
            Ok(kept) => all.push(kept),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a sign-in to an MCP server does not count")
            }
        }
    }
    all
}

fn read(folder: &Path, path: &Path) -> io::Result<StoredGrant> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    let is_own = metadata.is_file() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if !is_own {
        return Err(io::Error::other("it is open to others, or none of our files"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    // What serde says of a mistake may hold a part of it.
    let kept: StoredGrant =
        serde_json::from_slice(&bytes).map_err(|_| io::Error::other("it cannot be read"))?;
    match path_of(folder, &kept.server) == path {
        true => Ok(kept),
        false => Err(io::Error::other("it is named after another server")),
    }
}
