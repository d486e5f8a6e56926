//! `agents/import`: files from anywhere, also of other products, become agents' files of ours.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    AgentMethods,
    create::cannot_edit,
    writing::{AgentFileWrites, WriteDestination},
};
use crate::{
    agent_changes::{self, ImportProvenance},
    agent_files::{ReversibleChange, TrashFolder},
    agent_urls::{self, SourceUrl, UrlImport, UrlImportRequest},
    handlers::{blocking, by, internal, violation, violations},
    once::KeyToken,
    rpc::RpcCaller,
};
use agents::{self, AgentCatalog, AgentFile, AgentFilePaths, ImportedAgentFile};
use config::{problem, read_bounded};
use protocol::{
    AgentFormat, AgentName, AgentOrigin, AgentScope, AgentsImport, AgentsImportParams, AgentsImportResult,
    ErrorKind, FileProblem, FileProblemCode, ImportOutcome, ImportedAgent, OnConflict, ProblemSeverity,
    RpcError, RpcMethod as _,
};

/// Of agents' files that one import takes: as much as a folder of agents holds.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of texts that an answer holds together: far less than a message may have, however they are escaped in it.
const MOST_TEXT: usize = 2 << 20;

pub async fn import(
    state: Arc<AgentMethods>,
    caller: RpcCaller,
    params: AgentsImportParams,
    given_up: CancellationToken,
) -> Result<AgentsImportResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (importer, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { import_once(&importer, by, params, token, &given_up).await };
    state.clients.once.run(key, AgentsImport::NAME, &asked, effect).await
}

async fn import_once(
    state: &Arc<AgentMethods>,
    by: Option<String>,
    params: AgentsImportParams,
    token: Option<KeyToken>,
    given_up: &CancellationToken,
) -> Result<AgentsImportResult, RpcError> {
    let AgentsImportParams { paths, url, digest, format, scope, workspace, on_conflict, dry_run, .. } =
        params;
    let mut found = Vec::new();
    let destination = WriteDestination::of(state, scope, workspace.as_ref(), &mut found)?;
    let sought = AgentImportSource::of(paths, url, digest, &mut found);
    if let Some(AgentImportSource::Url { digest: None, .. }) = &sought
        && destination.scope == AgentScope::User
        && !dry_run
    {
        let message = "must be named: your own agents are started without a question, so first look at what comes (`dryRun`), \
                       and name the `origin.digest` of what you have read";
        found.push(("/digest", message.to_owned()));
    }
    if let Some(error) = violations(&found) {
        return Err(error);
    }
    // Only what is wrong with it leaves nothing to be sought.
    let Some(sought) = sought else { return Err(violation("/paths", "names no file and no folder")) };
    let is_from_afar = matches!(sought, AgentImportSource::Url { .. });
    // Whatever lies there is read before anybody else has to wait.
    let FoundImportFiles { files, problems, origin } =
        sought.read(state, format, destination.scope, given_up).await?;
    let _turn = state.workspaces.trust_changes.lock().await;
    let told = agent_changes::turn(&state.news).await;
    // Whatever is there at the first look is no change.
    let before = state.workspaces.project(destination.roots.clone()).await;
    let before = before.map_err(|error| internal("the agents could not be read", &error))?;
    let (importer, to) = (Arc::clone(state), destination.clone());
    let done = blocking(move || {
        let taken = names(&before.catalog, &to);
        let done = ImportProgress { problems, ..ImportProgress::default() };
        let texts = if dry_run && is_from_afar { MOST_TEXT } else { 0 };
        let mut import = AgentImport { state: importer, to, on_conflict, dry_run, texts, taken, done };
        files.into_iter().for_each(|(file, brought)| import.bring(&file, brought));
        Ok(import.done)
    })
    .await?;
    let ImportProgress { files, problems, changes } = done;
    // Nobody has read what they say: those of a workspace wait to be acknowledged.
    let whose = match destination.scope {
        AgentScope::Project => destination.roots.clone(),
        _ => Vec::new(),
    };
    let arrival = origin.clone().map(|origin| ImportProvenance { roots: whose, origin });
    let deed = AgentFileWrites { by, roots: destination.roots, acknowledged: Vec::new(), changes, arrival };
    let result = AgentsImportResult { files, problems, origin, seq: None, replayed: false };
    if dry_run {
        return Ok(result);
    }
    deed.tell(state, token, |_: &AgentCatalog, seq| AgentsImportResult { seq, ..result.clone() }, &told).await
}

/// Where files are sought.
enum AgentImportSource {
    Paths(Vec<PathBuf>),
    Url { url: SourceUrl, digest: Option<String> },
}

/// What was found there.
struct FoundImportFiles {
    files: Vec<(PathBuf, Vec<ImportedAgentFile>)>,
    problems: Vec<FileProblem>,
    /// Of a URL.
    origin: Option<AgentOrigin>,
}

/// Blocks on the file system.
fn read_paths(paths: &[PathBuf], format: Option<AgentFormat>, scope: AgentScope) -> FoundImportFiles {
    let AgentFilePaths { files, mut problems } = agents::sources(paths);
    let (mut brought, mut n_bytes) = (Vec::new(), 0);
    for file in files {
        let agents = agents::bring(&file, format, scope);
        n_bytes += agents.iter().filter_map(|it| Some(it.text.as_ref()?.len())).sum::<usize>();
        if MOST_BYTES < n_bytes {
            let message = format!(
                "this file and those behind it are not looked at: one import takes {} MiB of agents at most",
                MOST_BYTES >> 20
            );
            problems.push(problem(&file, None, FileProblemCode::TooLarge, message));
            break;
        }
        brought.push((file, agents));
    }
    FoundImportFiles { files: brought, problems, origin: None }
}

impl AgentImportSource {
    /// What is wrong with it goes to `found`.
    fn of(
        paths: Vec<PathBuf>,
        url: Option<String>,
        digest: Option<String>,
        found: &mut Vec<(&'static str, String)>,
    ) -> Option<AgentImportSource> {
        let Some(url) = url else {
            if digest.is_some() {
                found.push(("/digest", "is of what comes from a `url`, and none is named".to_owned()));
            }
            if paths.is_empty() {
                found.push(("/paths", "names no file and no folder".to_owned()));
            }
            let relative: Vec<String> = paths
                .iter()
                .filter(|path| !path.is_absolute())
                .map(|path| path.display().to_string())
                .collect();
            if !relative.is_empty() {
                let message = "must be absolute, since the daemon does not know your working directory";
                found.push(("/paths", format!("{message}: {}", relative.join(", "))));
            }
            return Some(AgentImportSource::Paths(paths));
        };
        if !paths.is_empty() {
            found.push(("/paths", "stand beside a `url`; ask for each by itself".to_owned()));
        }
        let is_digest = |digest: &str| {
            let hex = digest.strip_prefix("sha256:").unwrap_or_default();
            hex.len() == 64 && hex.chars().all(|it| it.is_ascii_hexdigit())
        };
        if digest.as_deref().is_some_and(|digest| !is_digest(digest)) {
            found.push(("/digest", "must be `sha256:` and 64 hexadecimal digits".to_owned()));
        }
        match SourceUrl::parse(&url) {
            Ok(url) => Some(AgentImportSource::Url { url, digest }),
            Err(wrong) => {
                found.push(("/url", wrong));
                None
            }
        }
    }

    async fn read(
        self,
        state: &Arc<AgentMethods>,
        format: Option<AgentFormat>,
        scope: AgentScope,
        given_up: &CancellationToken,
    ) -> Result<FoundImportFiles, RpcError> {
        match self {
            AgentImportSource::Paths(paths) => blocking(move || Ok(read_paths(&paths, format, scope))).await,
            AgentImportSource::Url { url, digest } => {
                let wanted = UrlImportRequest { url, digest, format, scope };
                let UrlImport { files, problems, origin } =
                    agent_urls::fetch(&state.fetcher, wanted, given_up).await?;
                Ok(FoundImportFiles { files, problems, origin: Some(origin) })
            }
        }
    }
}

/// Agents of ours at the destination that lie in a file that is not called after them.
fn names(catalog: &AgentCatalog, to: &WriteDestination) -> BTreeSet<AgentName> {
    let own = catalog.list(true, true).into_iter().filter(|agent| {
        let called_so = |folder: &Path| folder.join(format!("{}.md", agent.name));
        let elsewhere = agent
            .path
            .as_ref()
            .is_some_and(|path| to.folder.as_deref().map(called_so).as_ref() != Some(path));
        agent.scope == to.scope && agent.format.is_own() && elsewhere
    });
    own.map(|agent| agent.name).collect()
}

struct AgentImport {
    state: Arc<AgentMethods>,
    to: WriteDestination,
    on_conflict: OnConflict,
    dry_run: bool,
    /// Bytes of texts that can still be shown.
    texts: usize,
    /// Names that others have.
    taken: BTreeSet<AgentName>,
    done: ImportProgress,
}

#[derive(Default)]
struct ImportProgress {
    files: Vec<ImportedAgent>,
    problems: Vec<FileProblem>,
    changes: Vec<ReversibleChange>,
}

impl AgentImport {
    fn bring(&mut self, source: &Path, brought: Vec<ImportedAgentFile>) {
        for ImportedAgentFile { name, format, state, definition, text, may, problems } in brought {
            let shown = text.as_ref().filter(|text| text.len() <= self.texts).cloned();
            self.texts -= shown.as_ref().map_or(0, String::len);
            let mut imported = ImportedAgent {
                source: source.to_owned(),
                format,
                state,
                name,
                outcome: ImportOutcome::Rejected,
                path: None,
                permissions: may,
                text: shown,
                problems,
            };
            let warn = |code, message: String| FileProblem {
                severity: ProblemSeverity::Warning,
                ..problem(source, None, code, message)
            };
            let definition = definition.filter(|_| text.is_some());
            if let Some(message) = definition.and_then(|it| self.state.executor.model_problem(&it)) {
                imported.problems.push(warn(FileProblemCode::UnknownModel, message));
            }
            if text.is_some() && AgentCatalog::built_in_text(&imported.name).is_some() {
                let message =
                    format!("takes the place of the agent `{}` that comes with the daemon", imported.name);
                imported.problems.push(warn(FileProblemCode::DuplicateName, message));
            }
            if let Some(text) = text
                && let Err(error) = self.place(&mut imported, text)
            {
                imported.outcome = ImportOutcome::Rejected;
                imported.problems.push(problem(source, None, FileProblemCode::Unreadable, error.message));
            }
            self.done.files.push(imported);
        }
    }

    /// Puts it where it belongs, or says why not.
    fn place(&mut self, imported: &mut ImportedAgent, text: String) -> Result<(), RpcError> {
        let outcome = self.put(&imported.name.clone(), &text, imported)?;
        if outcome != ImportOutcome::Skipped || self.on_conflict != OnConflict::Namespace {
            imported.outcome = outcome;
            return Ok(());
        }
        let Some(name) = agents::namespaced(&imported.source, &imported.name) else {
            imported.outcome = outcome;
            return Ok(());
        };
        let renamed = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
        let text = agents::with_fields(&text, &renamed).map_err(|why| cannot_edit(&imported.source, &why))?;
        imported.outcome = self.put(&name, &text, imported)?;
        imported.name = name;
        Ok(())
    }

    fn put(
        &mut self,
        name: &AgentName,
        text: &str,
        imported: &mut ImportedAgent,
    ) -> Result<ImportOutcome, RpcError> {
        let path = self.to.folder.as_ref().map(|folder| folder.join(format!("{name}.md")));
        imported.path.clone_from(&path);
        // Nothing is made by looking, not even a folder.
        let spot = if self.dry_run { None } else { Some(self.to.home(&self.state)?.spot(name)?) };
        let found = match (&spot, &path) {
            (Some(spot), _) => spot.bytes().map(<[u8]>::to_vec),
            (None, Some(path)) => read_bounded(path, agents::LARGEST_FILE).ok().flatten(),
            (None, None) => None,
        };
        if found.as_deref() == Some(text.as_bytes()) {
            self.taken.insert(name.clone());
            return Ok(ImportOutcome::Unchanged);
        }
        if let (Some(found), Some(path)) = (&found, &path) {
            refuse_anothers(found, path, name, self.to.scope)?;
        }
        let is_there = found.is_some();
        // Of two that were brought together the first has the name, also when nothing is written.
        if self.taken.contains(name) || is_there && self.on_conflict != OnConflict::Replace {
            return Ok(ImportOutcome::Skipped);
        }
        self.taken.insert(name.clone());
        if let Some(spot) = spot {
            let trash = TrashFolder::new(&self.state.settings.state_dir, self.state.life.clock.now());
            self.done.changes.push(spot.write(text.as_bytes(), name, &trash)?);
        }
        Ok(if is_there { ImportOutcome::Replaced } else { ImportOutcome::Written })
    }
}

/// A file of this name that holds another agent is not ours to replace.
fn refuse_anothers(found: &[u8], path: &Path, name: &AgentName, scope: AgentScope) -> Result<(), RpcError> {
    let held = AgentFile::read(path, found, scope, AgentFormat::Own).name;
    if held == *name {
        return Ok(());
    }
    let message = format!("{} holds the agent {held}; nothing was written", path.display());
    Err(RpcError::new(ErrorKind::AlreadyExists, message).with_hint("give that file another name first"))
}
