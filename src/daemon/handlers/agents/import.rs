//! `agents/import`: files from anywhere, also of other products, become agents' files of ours.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use serde_json::{Map, Value};

use super::{
    create::cannot_edit,
    writing::{Deed, Destination, blocking},
};
use crate::{
    agents::{self, AgentFile, Brought, Catalog, Sources},
    config::{problem, read_bounded},
    daemon::{
        agent_files::{Change, Trash},
        handlers::{by, internal, violations, workspaces},
        once::KeyToken,
        rpc::Caller,
        state::State,
    },
    protocol::{
        AgentFormat, AgentName, AgentScope, AgentsImport, AgentsImportParams, AgentsImportResult, ErrorKind,
        FileProblem, FileProblemCode, ImportOutcome, ImportedAgent, Method as _, OnConflict, RpcError,
        Severity,
    },
};

/// Of agents' files that one import takes: as much as a folder of agents holds.
const MOST_BYTES: usize = 64 << 20;

pub async fn import(
    state: Arc<State>,
    caller: Caller,
    params: AgentsImportParams,
) -> Result<AgentsImportResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (importer, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { import_once(&importer, by, params, token).await };
    state.once.run(key, AgentsImport::NAME, &asked, effect).await
}

async fn import_once(
    state: &Arc<State>,
    by: Option<String>,
    params: AgentsImportParams,
    token: Option<KeyToken>,
) -> Result<AgentsImportResult, RpcError> {
    let AgentsImportParams { paths, format, scope, workspace, on_conflict, dry_run, .. } = params;
    let mut found = Vec::new();
    let destination = Destination::of(state, scope, workspace.as_ref(), &mut found)?;
    if paths.is_empty() {
        found.push(("/paths", "names no file and no folder".to_owned()));
    }
    let relative: Vec<String> =
        paths.iter().filter(|path| !path.is_absolute()).map(|path| path.display().to_string()).collect();
    if !relative.is_empty() {
        let message = "must be absolute, since the daemon does not know your working directory";
        found.push(("/paths", format!("{message}: {}", relative.join(", "))));
    }
    if let Some(error) = violations(&found) {
        return Err(error);
    }
    // Whatever lies there is read before anybody else has to wait.
    let (format_of_all, to) = (format, destination.scope);
    let read = blocking(move || {
        let Sources { files, mut problems } = agents::sources(&paths);
        let (mut brought, mut n_bytes) = (Vec::new(), 0);
        for file in files {
            let agents = agents::bring(&file, format_of_all, to);
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
        Ok((brought, problems))
    });
    let (files, problems) = read.await?;
    let _turn = workspaces::turn(state).await?;
    // Whatever is there at the first look is no change.
    let before = state.project(destination.roots.clone()).await;
    let before = before.map_err(|error| internal("the agents could not be read", &error))?;
    let (importer, to) = (Arc::clone(state), destination.clone());
    let done = blocking(move || {
        let taken = names(&before.catalog, &to);
        let done = Done { problems, ..Done::default() };
        let mut import = Import { state: importer, to, on_conflict, dry_run, taken, done };
        files.into_iter().for_each(|(file, brought)| import.bring(&file, brought));
        Ok(import.done)
    })
    .await?;
    let Done { files, problems, changes } = done;
    // Nobody has read what they say: those of a workspace wait to be acknowledged.
    let deed = Deed { by, roots: destination.roots, acknowledged: Vec::new(), changes };
    let result = AgentsImportResult { files, problems, seq: None, replayed: false };
    if dry_run {
        return Ok(result);
    }
    deed.tell(state, token, |_: &Catalog, seq| AgentsImportResult { seq, ..result.clone() }).await
}

/// Agents of ours at the destination that lie in a file that is not called after them.
fn names(catalog: &Catalog, to: &Destination) -> BTreeSet<AgentName> {
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

struct Import {
    state: Arc<State>,
    to: Destination,
    on_conflict: OnConflict,
    dry_run: bool,
    /// Names that others have.
    taken: BTreeSet<AgentName>,
    done: Done,
}

#[derive(Default)]
struct Done {
    files: Vec<ImportedAgent>,
    problems: Vec<FileProblem>,
    changes: Vec<Change>,
}

impl Import {
    fn bring(&mut self, source: &Path, brought: Vec<Brought>) {
        for Brought { name, format, state, definition, text, problems } in brought {
            let mut imported = ImportedAgent {
                source: source.to_owned(),
                format,
                state,
                name,
                outcome: ImportOutcome::Rejected,
                path: None,
                problems,
            };
            let warn = |code, message: String| FileProblem {
                severity: Severity::Warning,
                ..problem(source, None, code, message)
            };
            let definition = definition.filter(|_| text.is_some());
            if let Some(message) = definition.and_then(|it| self.state.executor.model_problem(&it)) {
                imported.problems.push(warn(FileProblemCode::UnknownModel, message));
            }
            if text.is_some() && Catalog::built_in_text(&imported.name).is_some() {
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
            let trash = Trash::new(&self.state.state_dir, self.state.clock.now());
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
