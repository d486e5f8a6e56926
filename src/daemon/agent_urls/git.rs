//! How is a stranger's repository fetched without anything of it being run, or written where it wants to be? (spec 11)
//!
//! It is fetched into a bare repository of our own: nothing is checked out, so neither links, nor filters, nor hooks, nor odd
//! names of it have an effect; what is wanted is read object by object. Git asks nobody for anything, uses only the transports
//! that the URL may lead to, and ends, with all that it started, when it takes too much time or room or nobody waits for it.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use super::{UrlFetcher, source_url::RemoteRepository};
use sys::{
    children::{OwnChild, SpawnOrigin},
    programs,
};

/// Bytes that a fetch may put on the disk: a collection of agents has a few, and what has more is fetched by hand.
const MOST_ON_DISK: u64 = 256 << 20;
/// How often is looked what is there by now.
const LOOKS: Duration = Duration::from_millis(200);
/// What is kept of what git says; the first lines tell.
const MOST_SAID: usize = 16 * 1024;
/// What is printed where nothing, or one line, is.
const LITTLE: usize = 4 * 1024;
/// The whole of a repository's list of files.
const MOST_LISTED: usize = 32 << 20;

/// Variables for git that its user set, and that say how it reaches others. All other ones of git's (`GIT_DIR`, `GIT_TRACE`, …)
/// belong to whoever started the daemon.
const KEPT: [&str; 9] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
];

/// What holds for every call, whatever the user's own settings say.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    // Larger ones are not held in memory; agents' files are smaller.
    "core.bigFileThreshold=2m",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "protocol.version=2",
];

/// Where the commit that was fetched is kept.
const TAKEN: &str = "refs/taken/it";

/// The reason why git did not do what it was to do.
#[derive(Debug)]
pub enum GitError {
    /// There is no such program of the system.
    Missing,
    /// It failed, and said this.
    Failed(String),
    TooLarge {
        bytes: u64,
    },
    Broken(io::Error),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> GitError {
        GitError::Broken(error)
    }
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitTreeEntry {
    /// `100644` and the like.
    pub mode: String,
    /// Of its bytes, as git names them.
    pub object: String,
    pub path: Vec<u8>,
}

impl GitTreeEntry {
    /// Neither a link nor another repository.
    pub fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    pub fn is_link(&self) -> bool {
        self.mode == "120000"
    }
}

/// A bare repository of our own.
pub struct BareRepository<'a> {
    state: &'a UrlFetcher,
    folder: PathBuf,
    transports: &'static str,
    /// How ssh is spoken, as the user set it.
    ssh: String,
}

impl<'a> BareRepository<'a> {
    /// Fetches the commit that is asked for, and answers its id. `folder` is made; `filter` says what is left with the server.
    pub async fn fetch(
        state: &'a UrlFetcher,
        folder: PathBuf,
        repository: &RemoteRepository,
        filter: &str,
    ) -> Result<(BareRepository<'a>, String), GitError> {
        let own = state.settings.sources.environment.iter().find(|(name, _)| name == "GIT_SSH_COMMAND");
        let own = own.and_then(|(_, value)| value.to_str()).unwrap_or_default().to_owned();
        let mut git = BareRepository { state, folder, transports: repository.transports, ssh: own };
        fs::create_dir(&git.folder)?;
        git.run(&["init", "--quiet", "--bare", "--template=", "."], Vec::new(), LITTLE).await?;
        if git.ssh.is_empty() {
            // It fails where nothing is set.
            let set = git.run(&["config", "--get", "core.sshCommand"], Vec::new(), LITTLE).await;
            let set = set.map(|set| String::from_utf8_lossy(&set).trim().to_owned()).unwrap_or_default();
            git.ssh = if set.is_empty() { "ssh".to_owned() } else { set };
        }
        // By its own file, so that the address is a word of a file and never an option.
        let config = git.folder.join("config");
        let address = repository.address.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = fs::read_to_string(&config)?;
        text.push_str(&format!("[remote \"origin\"]\n\turl = \"{address}\"\n"));
        fs::write(&config, text)?;
        let wanted = format!("+{}:{TAKEN}", repository.reference.as_deref().unwrap_or("HEAD"));
        let arguments = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            filter,
            "origin",
            &wanted,
        ];
        tokio::select! { biased;
            fetched = git.run(&arguments, Vec::new(), LITTLE) => fetched.map(drop)?,
            grown = git.outgrown() => return Err(grown),
        }
        // A tag is one of a commit.
        let commit = format!("{TAKEN}^{{commit}}");
        let commit = git.run(&["rev-parse", "--verify", "--quiet", &commit], Vec::new(), LITTLE).await?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        Ok((git, commit))
    }

    /// Everything that lies in the commit.
    pub async fn entries(&self) -> Result<Vec<GitTreeEntry>, GitError> {
        let listed =
            self.run(&["ls-tree", "-r", "-z", "--full-tree", TAKEN], Vec::new(), MOST_LISTED).await?;
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let (told, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
            let mut words = told.split(' ');
            let (mode, _kind, object) = (words.next()?, words.next()?, words.next()?);
            Some(GitTreeEntry { mode: mode.to_owned(), object: object.to_owned(), path: path.to_owned() })
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// How large each of these objects is; `None` of one that was left with its server since it is larger than was asked for.
    pub async fn sizes(&self, objects: &[&str]) -> Result<Vec<Option<u64>>, GitError> {
        let asked = objects.iter().flat_map(|object| [object.as_bytes(), b"\n"]).flatten().copied().collect();
        let format = "--batch-check=%(objectsize)";
        let told = self.run(&["cat-file", format], asked, objects.len() * 128 + 1).await?;
        let told = String::from_utf8_lossy(&told);
        let mut sizes: Vec<Option<u64>> = told.lines().map(|line| line.trim().parse().ok()).collect();
        sizes.resize(objects.len(), None);
        Ok(sizes)
    }

    /// The bytes of these objects, of which each has so many.
    pub async fn contents(&self, objects: &[(&str, u64)]) -> Result<Vec<Vec<u8>>, GitError> {
        let asked =
            objects.iter().flat_map(|(object, _)| [object.as_bytes(), b"\n"]).flatten().copied().collect();
        let bytes = objects.iter().map(|(_, size)| *size).sum::<u64>();
        let most = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(objects.len() * 256);
        let told = self.run(&["cat-file", "--batch"], asked, most).await?;
        let odd = || io::Error::other("git told of other objects than it was asked for");
        let mut rest = told.as_slice();
        let mut contents = Vec::with_capacity(objects.len());
        for (_, size) in objects {
            let size = usize::try_from(*size).map_err(|_| odd())?;
            let head = rest.iter().position(|byte| *byte == b'\n').ok_or_else(odd)? + 1;
            // What was asked for is a line, its bytes, and a line's end.
            let bytes = rest.get(head..head + size).ok_or_else(odd)?;
            contents.push(bytes.to_owned());
            rest = rest.get(head + size + 1..).ok_or_else(odd)?;
        }
        Ok(contents)
    }

    /// Completes when there is more on the disk than may be.
    async fn outgrown(&self) -> GitError {
        loop {
            self.state.life.clock.sleep(LOOKS).await;
            let folder = self.folder.clone();
            // What cannot be looked at is looked at again; the time is bounded as well.
            let bytes = tokio::task::spawn_blocking(move || bytes_below(&folder)).await.unwrap_or(0);
            if MOST_ON_DISK < bytes {
                return GitError::TooLarge { bytes: MOST_ON_DISK };
            }
        }
    }

    /// Runs git once, and answers what it prints, which must not be more than `most` bytes. Dropping it ends git, and all that
    /// it started in its group.
    async fn run(&self, arguments: &[&str], input: Vec<u8>, most: usize) -> Result<Vec<u8>, GitError> {
        let variables = &self.state.settings.sources.environment;
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        // It runs outside of every sandbox, and so does what it looks up: ssh, and whoever keeps passwords.
        let program = programs::of_system("git", path).ok_or(GitError::Missing)?;
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.folder);
        let is_kept = |name: &OsStr| {
            let name = name.to_string_lossy();
            !name.starts_with("GIT_") && !name.starts_with("SSH_ASKPASS") || KEPT.contains(&&*name)
        };
        command.envs(variables.iter().filter(|(name, _)| is_kept(name)).cloned());
        command.env("PATH", programs::path_of_system(path));
        command.env("GIT_DIR", &self.folder);
        command.env("GIT_ALLOW_PROTOCOL", self.transports);
        // Nobody is asked: a daemon has no terminal, and a question that nobody sees is a hang.
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("SSH_ASKPASS", "");
        command.env("SSH_ASKPASS_REQUIRE", "never").env("GCM_INTERACTIVE", "never");
        command.env("GIT_SSH_COMMAND", self.ssh());
        command.env("GIT_LFS_SKIP_SMUDGE", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_PAGER", "cat").env("LC_ALL", "C");
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", *setting])).args(arguments);
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child =
            self.state.programs.children.spawn(&mut command, SpawnOrigin::Tool).map_err(
                |error| match error.kind() {
                    io::ErrorKind::NotFound => GitError::Missing,
                    _ => GitError::Broken(error),
                },
            )?;
        GitProcess { child }.talk(input, most).await
    }

    /// The user's way to speak ssh, which asks nobody and leaves nothing running.
    fn ssh(&self) -> String {
        let own = &self.ssh;
        format!("{own} -o BatchMode=yes -o ConnectTimeout=15 -o ControlMaster=no -o ControlPath=none")
    }
}

/// A git that leads a process group. Dropping it ends the group.
struct GitProcess {
    child: OwnChild,
}

impl GitProcess {
    async fn talk(mut self, input: Vec<u8>, most: usize) -> Result<Vec<u8>, GitError> {
        let end = self.child.end()?;
        let stdin = self.child.take_stdin().map(ChildStdin::from_std).transpose()?;
        let stdout = self.child.take_stdout().map(ChildStdout::from_std).transpose()?;
        let stderr = self.child.take_stderr().map(ChildStderr::from_std).transpose()?;
        let feeding = async {
            // One that does not read to the end says why.
            if let Some(mut stdin) = stdin
                && stdin.write_all(&input).await.is_ok()
            {
                let _unread = stdin.shutdown().await;
            }
        };
        let (printed, said, ()) = tokio::join!(kept(stdout, most), kept(stderr, MOST_SAID), feeding);
        let (printed, is_whole) = printed?;
        end.wait().await?;
        self.child.kill_group();
        // It has ended, so this does not wait.
        let status = self.child.wait()?;
        match status.success() {
            true if is_whole => Ok(printed),
            true => Err(GitError::TooLarge { bytes: most as u64 }),
            false => Err(GitError::Failed(String::from_utf8_lossy(&said?.0).into_owned())),
        }
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // The group of one that was waited for is gone, and left alone.
        self.child.kill_group();
    }
}

/// What comes, up to a bound, and whether that is all; the rest is read and forgotten, so that whoever writes comes to an end.
async fn kept(from: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let (mut bytes, mut is_whole, mut buffer) = (Vec::new(), true, vec![0; 64 * 1024]);
    let Some(mut from) = from else { return Ok((bytes, is_whole)) };
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok((bytes, is_whole));
        }
        let room = read.min(most - bytes.len());
        bytes.extend_from_slice(&buffer[..room]);
        is_whole &= room == read;
    }
}

/// Bytes of all files below a folder; follows no links.
fn bytes_below(folder: &Path) -> u64 {
    // What goes away while it is looked at counts nothing.
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}
