//! Which agents' files lie behind a URL, and are they those that a person has read? (spec 02, "Foreign files")
//!
//! What comes is a stranger's: it is fetched within bounds, read like any file that is brought along, told by one digest, and
//! gone from the disk before anything of it is written for agents. Nothing of it is ever run.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

mod git;
mod refusal;
mod source_url;
mod taken;
mod tree;

pub(super) use source_url::SourceUrl;
pub(super) use tree::FetchedTree;

use self::{
    git::BareRepository,
    refusal::{of_git, of_web, refused},
    source_url::RemoteRepository,
    taken::{AgentFileCandidates, FetchedFile, FetchedFiles},
};
use super::{web_rules, wire_errors::internal};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, program_runtime::ProgramRuntime,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use agents::{self, ImportedAgentFile, LARGEST_FILE};
use config::problem;
use protocol::{
    AgentFormat, AgentOrigin, AgentScope, ErrorKind, FileProblem, FileProblemCode, ProblemSeverity, RpcError,
};
use trust::digest;
use web::WebTarget;

/// Below the daemon's state. There is nothing in it but while something is fetched, and it is emptied before and after.
const FOLDER: &str = "fetched";

/// Time for all that is fetched. A person waits for it, and a collection of agents comes in seconds.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);

/// The filter by which what is no agent's file by its size stays with its server, where that can do so.
const FILTER: &str = "--filter=blob:limit=1100k";

/// Attempts to empty the folder, and the pause between them: a git that was ended in the middle may be about to make one more
/// file in it.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// The services by which files are fetched from elsewhere.
#[derive(Clone)]
pub(super) struct UrlFetcher {
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    workspaces: Arc<WorkspaceSources>,
    programs: Arc<ProgramRuntime>,
}

impl UrlFetcher {
    pub fn of(services: &DaemonServices) -> UrlFetcher {
        let DaemonServices { life, settings, workspaces, programs, .. } = services.clone();
        UrlFetcher { life, settings, workspaces, programs }
    }
}

/// What is to come.
pub(super) struct UrlImportRequest {
    pub url: SourceUrl,
    /// What a person has read; anything else is refused.
    pub digest: Option<String>,
    /// Whose format it has; `None` = as it looks.
    pub format: Option<AgentFormat>,
    /// Where it goes.
    pub scope: AgentScope,
}

/// What came.
pub(super) struct UrlImport {
    /// By their URLs.
    pub files: Vec<(PathBuf, Vec<ImportedAgentFile>)>,
    pub problems: Vec<FileProblem>,
    pub origin: AgentOrigin,
}

/// Fetches and reads it. Nothing of it is left on the disk, however this ends; what a crash leaves, [`sweep`] takes away.
pub(super) async fn fetch(
    state: &UrlFetcher,
    wanted: UrlImportRequest,
    given_up: &CancellationToken,
) -> Result<UrlImport, RpcError> {
    let shown = wanted.url.shown();
    let stopped = Stopped { state, given_up, shown: &shown };
    let (_turn, folder) = stopped.turn().await?;
    let got = stopped.or(get(state, &wanted.url, &folder)).await;
    let read = match got {
        // From here on it is a matter of moments, and nobody gives it up.
        Ok(taken) => folder.read(taken, wanted).await,
        Err(error) => Err(error),
    };
    folder.empty().await;
    read
}

/// The ends that a fetch may come to before it is done.
struct Stopped<'s, 'a> {
    state: &'s UrlFetcher,
    given_up: &'a CancellationToken,
    /// The URL, for people.
    shown: &'a str,
}

impl<'s> Stopped<'s, '_> {
    /// Completes when nobody wants it any more.
    async fn ended(&self) -> RpcError {
        tokio::select! { biased;
            () = self.state.life.closing.cancelled() => RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping"),
            () = self.given_up.cancelled() => {
                RpcError::new(ErrorKind::RequestCancelled, "the request was cancelled; nothing was written")
            }
        }
    }

    /// Waits for a turn, which takes none of the time of the work, and makes the folder.
    async fn turn(&self) -> Result<(MutexGuard<'s, ()>, FetchFolder), RpcError> {
        let getting = async {
            // One at a time, since there is one folder.
            let turn = self.state.workspaces.fetches.lock().await;
            Ok((turn, FetchFolder::make(&self.state.settings.state_dir).await?))
        };
        tokio::select! { biased;
            ended = self.ended() => Err(ended),
            got = getting => got,
        }
    }

    /// The outcome of the work, or why it ended before.
    async fn or<T>(&self, work: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
        let late = async {
            self.state.life.clock.sleep(FETCH_TIMEOUT).await;
            let message = format!("did not come whole within {} s", FETCH_TIMEOUT.as_secs());
            refused("timedOut", self.shown, message)
                .with_hint("fetch it yourself, look at it, and name the folder")
        };
        tokio::select! { biased;
            ended = self.ended() => Err(ended),
            late = late => Err(late),
            got = work => got,
        }
    }
}

/// Takes away what a daemon left that was killed in the middle. Blocks on the file system.
pub(super) fn sweep(state_dir: &Path) {
    if let Err(error) = remove(&state_dir.join(FOLDER)) {
        tracing::warn!(%error, "what was fetched before the last stop cannot be taken away");
    }
}

async fn get(state: &UrlFetcher, url: &SourceUrl, folder: &FetchFolder) -> Result<FetchedFiles, RpcError> {
    match url {
        SourceUrl::File(target) => download(state, target, url).await,
        SourceUrl::Repository(repository) => clone(state, repository, url, folder).await,
    }
}

async fn download(state: &UrlFetcher, target: &WebTarget, url: &SourceUrl) -> Result<FetchedFiles, RpcError> {
    let rules = web_rules(&state.settings.get().config);
    let most = usize::try_from(LARGEST_FILE).unwrap_or(usize::MAX);
    let shown = url.shown();
    let got =
        state.workspaces.web.download(target, &rules, most).await.map_err(|error| of_web(&error, &shown))?;
    if got.is_web_page {
        let message = "is a web page, and no agent's file".to_owned();
        return Err(refused("noAgents", &shown, message).with_hint(
            "name the file as it is (forges call it raw), or the repository: git+https://… or a URL that ends in .git",
        ));
    }
    Ok(FetchedFiles::file(target, got.bytes))
}

async fn clone(
    state: &UrlFetcher,
    repository: &RemoteRepository,
    url: &SourceUrl,
    folder: &FetchFolder,
) -> Result<FetchedFiles, RpcError> {
    let shown = url.shown();
    let failed = |error| of_git(error, repository, &shown);
    let place = folder.path.join("repository");
    let (git, commit) = BareRepository::fetch(state, place, repository, FILTER).await.map_err(failed)?;
    let entries = git.entries().await.map_err(failed)?;
    let AgentFileCandidates { files, mut problems } = taken::candidates(entries, &repository.address)?;
    let objects: Vec<&str> = files.iter().map(|(_, object)| object.as_str()).collect();
    let sizes = git.sizes(&objects).await.map_err(failed)?;
    let mut sizes = sizes.into_iter();
    let mut asked: Vec<(String, String, u64)> = Vec::new();
    for (path, object) in files {
        match sizes.next().flatten().filter(|size| *size <= LARGEST_FILE) {
            Some(size) => asked.push((path, object, size)),
            None => {
                let message = format!("is larger than {} KiB", LARGEST_FILE / 1024);
                let at = taken::below(&repository.address, &path);
                problems.push(problem(&at, None, FileProblemCode::TooLarge, message));
            }
        }
    }
    taken::refuse_too_much(asked.iter().map(|(_, _, size)| *size), &shown)?;
    let objects: Vec<(&str, u64)> = asked.iter().map(|(_, object, size)| (object.as_str(), *size)).collect();
    let contents = git.contents(&objects).await.map_err(failed)?;
    let files = asked.into_iter().zip(contents).map(|((path, _, _), bytes)| FetchedFile { path, bytes });
    Ok(FetchedFiles::repository(&repository.address, files.collect(), commit, problems))
}

/// The folder that holds what is fetched while it is.
struct FetchFolder {
    path: PathBuf,
}

impl FetchFolder {
    async fn make(state_dir: &Path) -> Result<FetchFolder, RpcError> {
        let path = state_dir.join(FOLDER);
        let folder = path.clone();
        let making = move || {
            remove(&folder)?;
            fs::DirBuilder::new().mode(0o700).create(&folder)
        };
        match tokio::task::spawn_blocking(making).await {
            Ok(Ok(())) => Ok(FetchFolder { path }),
            Ok(Err(error)) if error.kind() == io::ErrorKind::StorageFull => {
                Err(RpcError::new(ErrorKind::StorageFull, "there is no room for what is to be fetched"))
            }
            Ok(Err(error)) => Err(internal("there is no folder for what is to be fetched", &error)),
            Err(error) => Err(internal("there is no folder for what is to be fetched", &error)),
        }
    }

    /// Reads what came as any file that is brought along, and compares it with what was read.
    async fn read(&self, taken: FetchedFiles, wanted: UrlImportRequest) -> Result<UrlImport, RpcError> {
        let folder = self.path.join("taken");
        let reading = tokio::task::spawn_blocking(move || read(&folder, taken, wanted));
        reading.await.map_err(|error| internal("what was fetched could not be read", &error))?
    }

    async fn empty(self) {
        let emptied = tokio::task::spawn_blocking(move || remove(&self.path)).await;
        if let Ok(Err(error)) = emptied {
            tracing::warn!(%error, "what was fetched cannot be taken away");
        }
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    let mut attempts = 0;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && attempts < ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Blocks on the file system.
fn read(folder: &Path, taken: FetchedFiles, wanted: UrlImportRequest) -> Result<UrlImport, RpcError> {
    let shown = wanted.url.shown();
    let root = folder.join(&taken.name);
    let mut problems = taken.problems;
    for FetchedFile { path, bytes } in &taken.files {
        if let Err(error) = write(&root.join(path), bytes) {
            let message = format!("cannot be kept while it is read: {error}");
            problems.push(problem(&root.join(path), None, FileProblemCode::Unreadable, message));
        }
    }
    let found = match taken.commit {
        Some(_) => agents::sources(std::slice::from_ref(&root)),
        None => agents::sources(&taken.files.iter().map(|file| root.join(&file.path)).collect::<Vec<_>>()),
    };
    problems.extend(found.problems);
    // A repository has other texts beside its agents; what lies where agents lie is one, whatever it looks like.
    let is_in_place = |path: &str| path.starts_with('.') || taken.commit.is_none();
    let all = taken.files.len();
    let mut files: Vec<FetchedFile> = taken.files;
    files.retain(|file| {
        found.files.contains(&root.join(&file.path))
            && (is_in_place(&file.path) || taken::has_front_matter(&file.bytes))
    });
    files.sort_by(|left, right| left.path.cmp(&right.path));
    if files.is_empty() {
        let told: Vec<String> = problems.iter().map(|it| it.message.clone()).take(3).collect();
        let told = if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) };
        return Err(refused("noAgents", &shown, format!("holds no agent's file{told}")).with_hint(
            "agents are Markdown files (.md) that begin with front matter; name the branch that has them behind `#`",
        ));
    }
    let left_out = all - files.len();
    if 0 < left_out {
        let message = format!(
            "{left_out} of its Markdown files are left out: they lie beside its agents' folder, or have no front matter"
        );
        let found = problem(&root, None, FileProblemCode::NoFrontMatter, message);
        problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
    }
    let digest = match (&taken.commit, files.as_slice()) {
        (None, [file]) => digest(&file.bytes),
        _ => taken::digest_of(&files),
    };
    let origin = AgentOrigin { url: shown.clone(), digest, commit: taken.commit };
    refuse_others(&origin, wanted.digest.as_deref())?;
    let retold = taken::SourceNames { folder: &root, url: &taken.url };
    let brought = files.iter().map(|file| {
        let path = root.join(&file.path);
        let mut brought = agents::bring(&path, wanted.format, wanted.scope);
        brought.iter_mut().flat_map(|it| &mut it.problems).for_each(|problem| retold.problem(problem));
        (retold.path(&path), brought)
    });
    let files = brought.collect();
    problems.iter_mut().for_each(|problem| retold.problem(problem));
    Ok(UrlImport { files, problems, origin })
}

/// Below a folder that nobody else knows; a name that is there already is not written over.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

fn refuse_others(origin: &AgentOrigin, expected: Option<&str>) -> Result<(), RpcError> {
    let AgentOrigin { url, digest, commit } = origin;
    let Some(expected) = expected.filter(|expected| !expected.eq_ignore_ascii_case(digest)) else {
        return Ok(());
    };
    let message = format!(
        "{url} holds other files than those with the digest {expected}: now it is {digest}; nothing was written"
    );
    Err(RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "expected": expected, "now": digest, "commit": commit }))
        .with_hint("look at it again (`dryRun`), and name the new digest if you still want it; a tag or a commit behind `#` stays as it is"))
}
