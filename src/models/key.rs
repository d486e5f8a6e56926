//! Where does a provider's key lie, and what is it now? (spec 04, "Providers") Read each time a model is resolved, so
//! that a key that was changed works without a restart.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    os::{fd::AsFd as _, unix::fs::PermissionsExt as _, unix::process::CommandExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    thread,
    time::Duration,
};

use reqwest::header::HeaderValue;

use config::{KeySource, read_bounded, reason};
use redact::KnownSecrets;
use sys::children::{ChildProcesses, OwnChild, SpawnOrigin};

/// Keys have about 40 letters; what is much longer is none, and would not fit a header.
const MAX_KEY_BYTES: u64 = 8 * 1024;
/// A command that asks a person, or a network that is down, must not hold a start for ever.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// Between looks whether the command has ended. It runs once a start, on a thread that may block.
const COMMAND_POLL: Duration = Duration::from_millis(5);

/// The environment, as a function, so that a test has its own.
pub(super) type KeyEnvironment = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// A key. Neither shown nor logged.
#[derive(Clone)]
pub(super) struct ApiKey {
    header: HeaderValue,
    text: Arc<str>,
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey")
    }
}

impl ApiKey {
    /// `None` for what no header can hold.
    pub(super) fn new(text: &str) -> Option<ApiKey> {
        let mut header = HeaderValue::from_str(text).ok().filter(|_| !text.is_empty())?;
        header.set_sensitive(true);
        Some(ApiKey { header, text: text.into() })
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// For `Authorization` (RFC 6750).
    pub(super) fn bearer(&self) -> HeaderValue {
        // A key is what a header can hold, and so is it with a word before it.
        let mut header =
            HeaderValue::try_from(format!("Bearer {}", self.text)).unwrap_or_else(|_| self.header());
        header.set_sensitive(true);
        header
    }

    /// The text without this key: providers repeat what they were sent.
    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&*self.text, "[key]")
    }
}

/// Where one entry's key is looked up.
#[derive(Clone)]
pub(super) struct KeyPlace {
    pub entry: String,
    /// `None`: a credential of systemd's named like the entry, else `variable`.
    pub source: Option<KeySource>,
    /// The kind's usual variable, e.g. `GEMINI_API_KEY`.
    pub variable: &'static str,
    pub environment: KeyEnvironment,
    /// Starts a command that prints one.
    pub children: ChildProcesses,
    /// Learns each key that is read.
    pub secrets: KnownSecrets,
}

/// The reason why there is no key. Neither has a part of one in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoKey {
    /// Nobody has given one: why not, for a person.
    Missing(String),
    /// There is something, and it cannot be taken.
    Unusable(String),
}

impl fmt::Display for KeyPlace {
    /// For messages about a key that was refused.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(KeySource::Env(name)) => write!(formatter, "the variable {name}"),
            Some(KeySource::File(path)) => write!(formatter, "the file {}", path.display()),
            Some(KeySource::Command(words)) => write!(formatter, "the command `{}`", words[0]),
            None => match self.credential() {
                Some(path) => write!(formatter, "the credential {}", path.display()),
                None => write!(formatter, "the variable {}", self.variable),
            },
        }
    }
}

impl KeyPlace {
    /// Nobody said where it lies, so it would be the one that is meant for the provider itself.
    pub(super) fn is_usual(&self) -> bool {
        self.source.is_none() && self.credential().is_none()
    }

    /// Reads the key. May block: for a disk, or for up to 10 s on a command.
    pub(super) fn read(&self) -> Result<ApiKey, NoKey> {
        let bytes = match &self.source {
            Some(KeySource::Env(name)) => self.variable(name)?,
            Some(KeySource::File(path)) => private_file(path)?,
            Some(KeySource::Command(words)) => output_of(&self.children, words)?,
            None => match self.credential() {
                Some(path) => file(&path)?,
                None => self.variable(self.variable)?,
            },
        };
        let text = std::str::from_utf8(&bytes).map(str::trim);
        match text.map(|text| (text, ApiKey::new(text))) {
            Ok((text, Some(key))) => {
                self.secrets.heard(&format!("PROVIDER_{}_KEY", self.entry), text);
                Ok(key)
            }
            Ok(("", _)) => Err(NoKey::Missing(format!("{self} is empty"))),
            _ => {
                Err(NoKey::Unusable(format!("what is in {self} cannot be a key: it has control characters")))
            }
        }
    }

    fn variable(&self, name: &str) -> Result<Vec<u8>, NoKey> {
        let value = (self.environment)(name).map(OsString::into_encoded_bytes);
        value.ok_or_else(|| NoKey::Missing(format!("{name} is not set in the daemon's environment")))
    }

    /// The credential that systemd handed in under the entry's name.
    fn credential(&self) -> Option<PathBuf> {
        let folder = PathBuf::from((self.environment)("CREDENTIALS_DIRECTORY")?);
        // An entry's name is no path: settings allow letters, digits, `-` and `_`.
        let path = folder.join(&self.entry);
        (folder.is_absolute() && path.is_file()).then_some(path)
    }
}

fn file(path: &Path) -> Result<Vec<u8>, NoKey> {
    match read_bounded(path, MAX_KEY_BYTES) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(NoKey::Missing(format!("there is no file {}", path.display()))),
        Err(problem) => Err(NoKey::Unusable(format!("the file {} {}", path.display(), problem.message))),
    }
}

/// A file that only its owner can read (spec 04: mode 0600).
fn private_file(path: &Path) -> Result<Vec<u8>, NoKey> {
    let bytes = file(path)?;
    let unreadable = |error| NoKey::Unusable(format!("the file {} {}", path.display(), reason(&error)));
    let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(bytes);
    }
    let path = path.display();
    Err(NoKey::Unusable(format!(
        "the file {path} can be used by others (mode {mode:04o}): `chmod 600 {path}`"
    )))
}

/// What a command prints. Its own messages are dropped: they could hold the key.
fn output_of(children: &ChildProcesses, words: &[String]) -> Result<Vec<u8>, NoKey> {
    let program = &words[0];
    let failed = |what: &str| NoKey::Unusable(format!("the command `{program}` for the key {what}"));
    let mut command = children.owner_programs().command(words).map_err(|problem| failed(&problem))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that whatever it started ends with it.
    let mut child = children
        .spawn(command.process_group(0), SpawnOrigin::Ours)
        .map_err(|error| failed(&format!("cannot be run: {}", error.kind())))?;
    let unknown = |error: io::Error| failed(&format!("cannot be waited for: {}", error.kind()));
    // It is not ours any more when this fails, so nothing is ended by its number.
    let is_in_time = wait_bounded(&child).map_err(unknown)?;
    // Also after it has ended: what it left behind must not hold the pipe, nor live on.
    child.kill_group();
    // It has ended or was killed, so this does not wait.
    let status = child.wait().map_err(unknown)?;
    if !is_in_time {
        return Err(failed(&format!("took more than {} s", COMMAND_TIMEOUT.as_secs())));
    }
    if !status.success() {
        return Err(failed(&format!("failed with {status}")));
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.take_stdout() {
        drain(stdout, &mut output).map_err(|error| failed(&format!("cannot be read: {}", error.kind())))?;
    }
    if MAX_KEY_BYTES < output.len() as u64 {
        return Err(failed(&format!("printed more than {MAX_KEY_BYTES} bytes")));
    }
    Ok(output)
}

/// Whether it ends in time. A key fits the pipe, so it needs no reader meanwhile; a program that prints more waits for
/// one, and runs out of time.
///
/// It is left to be reaped: until then its number, which is its group's too, cannot become another's.
fn wait_bounded(child: &OwnChild) -> io::Result<bool> {
    for _ in 0..COMMAND_TIMEOUT.as_millis() / COMMAND_POLL.as_millis() {
        if child.has_ended()? {
            return Ok(true);
        }
        thread::sleep(COMMAND_POLL);
    }
    Ok(false)
}

/// What is in the pipe now; a writer that is left does not make this wait.
fn drain(stdout: std::process::ChildStdout, output: &mut Vec<u8>) -> io::Result<()> {
    rustix::io::ioctl_fionbio(stdout.as_fd(), true)?;
    let stdout = File::from(std::os::fd::OwnedFd::from(stdout));
    match stdout.take(MAX_KEY_BYTES + 1).read_to_end(output) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
