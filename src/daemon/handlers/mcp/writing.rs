//! `mcp/add`, `mcp/remove`: an entry of somebody's settings, written by the daemon.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use super::McpMethods;
use crate::{
    agent_files::{LocatedFile, ReversibleChange, TrashFolder},
    discovery,
    handlers::{blocking, by, internal, roots, violations, workspaces},
    mcp,
    once::KeyToken,
    redaction::without_secrets,
    reload::reload_whole,
    rpc::RpcCaller,
};
use config::{
    ConfigEditError, McpSettings, ProjectSettings, ServerEdit, ServerOf, SettingLayer, edited, nearest,
    read_server, server_name_problem,
};
use protocol::{
    ErrorKind, EventHead, EventSeq, FileProblem, McpAdd, McpAddParams, McpRemove, McpRemoveParams, McpScope,
    McpServerConfig, McpTransport, McpWrittenResult, PrivateEventFields, RpcError, RpcMethod as _,
    TrustedFile, WorkspaceParam,
};
use redact::looks_secret;
use store::NewEvent;
use trust::{AcknowledgementState, canonical, digest};

/// Headers that say who somebody is.
const SECRET_HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie"];

pub async fn add(
    state: Arc<McpMethods>,
    caller: RpcCaller,
    params: McpAddParams,
) -> Result<McpWrittenResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (adder, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { add_once(&adder, by, params, token).await };
    state.clients.once.run(key, McpAdd::NAME, &asked, effect).await
}

pub async fn remove(
    state: Arc<McpMethods>,
    caller: RpcCaller,
    params: McpRemoveParams,
) -> Result<McpWrittenResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (remover, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { remove_once(&remover, by, params, token).await };
    state.clients.once.run(key, McpRemove::NAME, &asked, effect).await
}

async fn add_once(
    state: &Arc<McpMethods>,
    by: Option<String>,
    params: McpAddParams,
    token: Option<KeyToken>,
) -> Result<McpWrittenResult, RpcError> {
    let McpAddParams { name, server, scope, workspace, force, .. } = params;
    let mut found: Vec<(String, String)> = Vec::new();
    found.extend(server_name_problem(&name).map(|problem| ("/name".to_owned(), problem)));
    let entry = Value::Object(server);
    let (read, problems) = read_server(&entry, of(scope));
    let mut warnings = Vec::new();
    for problem in problems {
        let field = problem.field.unwrap_or_default();
        match problem.is_warning {
            true => warnings.push(format!("`{field}` {}", problem.message)),
            false if field.is_empty() => found.push(("/server".to_owned(), problem.message)),
            false => found.push((format!("/server/{field}"), problem.message)),
        }
    }
    let root = root(scope, workspace.as_ref(), &mut found)?;
    refuse(&found)?;
    let server = read.ok_or_else(|| internal("an entry was not understood", &"nothing is wrong with it"))?;
    warnings.extend(literal_secrets(&server));
    let plan = McpEntryPlan { state: Arc::clone(state), by, scope, root, name, warnings };
    plan.carry_out(Some((entry, force)), token).await
}

async fn remove_once(
    state: &Arc<McpMethods>,
    by: Option<String>,
    params: McpRemoveParams,
    token: Option<KeyToken>,
) -> Result<McpWrittenResult, RpcError> {
    let McpRemoveParams { name, scope, workspace, .. } = params;
    let mut found = Vec::new();
    let root = root(scope, workspace.as_ref(), &mut found)?;
    refuse(&found)?;
    let plan = McpEntryPlan { state: Arc::clone(state), by, scope, root, name, warnings: Vec::new() };
    plan.carry_out(None, token).await
}

fn of(scope: McpScope) -> ServerOf {
    match scope {
        McpScope::User => ServerOf::User,
        McpScope::Project => ServerOf::Other,
    }
}

/// The folder whose settings are meant; `None` = the user's are.
fn root(
    scope: McpScope,
    workspace: Option<&WorkspaceParam>,
    found: &mut Vec<(String, String)>,
) -> Result<Option<PathBuf>, RpcError> {
    let folders = workspace.map(roots).transpose()?.unwrap_or_default();
    match (scope, folders.into_iter().next()) {
        (McpScope::User, _) => Ok(None),
        (McpScope::Project, Some(root)) => Ok(Some(root)),
        (McpScope::Project, None) => {
            found.push((
                "/workspace".to_owned(),
                "must name the workspace whose settings are meant".to_owned(),
            ));
            Ok(None)
        }
    }
}

fn refuse(found: &[(String, String)]) -> Result<(), RpcError> {
    let found: Vec<(&str, String)> =
        found.iter().map(|(pointer, message)| (pointer.as_str(), message.clone())).collect();
    violations(&found).map_or(Ok(()), Err)
}

/// What should not stand in a file as it is.
fn literal_secrets(server: &McpServerConfig) -> Vec<String> {
    let warning = |what: &str, name: &str| {
        format!(
            "the {what} `{name}` looks like a secret, and stands in the file as it is: `${{VARIABLE}}` takes it from the daemon's environment"
        )
    };
    let is_literal = |name: &str, value: &str| !value.contains("${") && looks_secret(name, value);
    match &server.transport {
        McpTransport::Stdio { env, .. } => {
            let literal = env.iter().filter(|(name, value)| is_literal(name, value));
            literal.map(|(name, _)| warning("variable", name)).collect()
        }
        McpTransport::Http { headers, .. } => {
            let is_secret = |name: &str, value: &str| {
                let is_known = SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str());
                is_literal(name, value) || is_known && !value.contains("${")
            };
            let literal = headers.iter().filter(|(name, value)| is_secret(name, value));
            literal.map(|(name, _)| warning("header", name)).collect()
        }
    }
}

/// One entry that is going to change.
struct McpEntryPlan {
    state: Arc<McpMethods>,
    by: Option<String>,
    scope: McpScope,
    /// Of a project.
    root: Option<PathBuf>,
    name: String,
    warnings: Vec<String>,
}

/// A file that says what it is to say.
struct McpSettingsWrite {
    path: PathBuf,
    /// Digests of what it said before, if it was there, and of what it says now.
    before: Option<String>,
    now: String,
    /// `None` where it said so before.
    change: Option<ReversibleChange>,
}

impl McpEntryPlan {
    /// `put`: the entry, and whether it may take another's place; `None` = it is taken out.
    async fn carry_out(
        mut self,
        put: Option<(Value, bool)>,
        token: Option<KeyToken>,
    ) -> Result<McpWrittenResult, RpcError> {
        let is_put = put.is_some();
        // Of a project's file it depends on what people trust whether it counts; and no two change one file at once.
        let state = Arc::clone(&self.state);
        let _turn = state.workspaces.trust_changes.lock().await;
        let (writer, root, name, scope) =
            (Arc::clone(&self.state), self.root.clone(), self.name.clone(), self.scope);
        let written = blocking(move || write(&writer, scope, root.as_deref(), &name, put)).await?;
        let McpSettingsWrite { path, before, now, change } = written;
        let told = match self.root.clone() {
            None => {
                if is_put {
                    self.warnings.extend(self.overruled());
                }
                self.settle_users(path, token).await
            }
            Some(root) => self.settle_projects(&root, path, (before, now), is_put, token).await,
        };
        if told.is_err()
            && let Some(change) = change
        {
            blocking(move || {
                change.take_back();
                Ok(())
            })
            .await?;
        }
        told
    }

    fn answer(&self, path: PathBuf, seq: Option<EventSeq>) -> McpWrittenResult {
        let (name, scope, warnings) = (self.name.clone(), self.scope, self.warnings.clone());
        McpWrittenResult { name, scope, path, warnings, seq, replayed: false }
    }

    /// Puts the user's settings in force.
    async fn settle_users(
        self,
        path: PathBuf,
        token: Option<KeyToken>,
    ) -> Result<McpWrittenResult, RpcError> {
        let to_be_kept = token.map(|token| {
            let answer = self.answer(path.clone(), None);
            let keep = move |is_any: bool| {
                // Which one it will be the store knows first.
                token.keyed(&McpWrittenResult { seq: is_any.then_some(EventSeq(0)), ..answer }, None)
            };
            Box::new(keep) as crate::reload::KeyedReloadAnswer
        });
        let reloaded = reload_whole(&self.state.reloader, self.by.clone(), to_be_kept).await?;
        Ok(self.answer(path, reloaded.seq))
    }

    /// Tells whether the project's settings count as acknowledged: what the person wrote by this does, and nothing that
    /// nobody has read.
    async fn settle_projects(
        mut self,
        root: &Path,
        path: PathBuf,
        (before, now): (Option<String>, String),
        is_put: bool,
        token: Option<KeyToken>,
    ) -> Result<McpWrittenResult, RpcError> {
        let state = &self.state;
        let canonical = canonical(root).ok_or_else(|| {
            internal("a workspace could not be read", &"its name is not UTF-8, or it is gone")
        })?;
        let mut trust = (*state.workspaces.projects.trust()).clone();
        let consent = |digest: &str| trust.consent(&canonical, ProjectSettings::FILE, digest);
        let was_read = match &before {
            Some(before) => consent(before) == AcknowledgementState::Now,
            // One that was acknowledged, and is gone, said other things.
            None => consent("") == AcknowledgementState::Never,
        };
        let is_news = consent(&now) != AcknowledgementState::Now;
        let counts = was_read || !is_news;
        let mut events = Vec::new();
        if was_read && is_news {
            let file = TrustedFile { path: ProjectSettings::FILE.to_owned(), digest: now };
            let said = workspaces::read(&canonical, file);
            trust.take(&said);
            events.push(NewEvent {
                at: state.life.clock.now(),
                session: None,
                run: None,
                context: None,
                head: EventHead { by: self.by.clone(), ..EventHead::default() },
                body: said.into(),
                private: PrivateEventFields::default(),
            });
        }
        if is_put {
            let unread = "no person has acknowledged the workspace's settings as they are, so it is not used yet: `subagent trust`";
            let is_trusted = trust.is_trusted(&canonical);
            self.warnings.extend((!counts || !is_trusted).then(|| unread.to_owned()));
            let servers = &self.state.settings.get().config.mcp.servers;
            let is_hidden = servers.value.contains_key(&self.name);
            self.warnings.extend(
                is_hidden.then(|| {
                    "your own settings name a server of this name, which counts here, too".to_owned()
                }),
            );
            self.warnings.extend(self.blocked());
        }
        let is_any = !events.is_empty();
        let keyed =
            token.map(|token| token.keyed(&self.answer(path.clone(), is_any.then_some(EventSeq(0))), None));
        let (_, seq) = self.state.store.append_keyed(events, keyed).await?;
        if is_any {
            self.state.workspaces.projects.replace_trust(trust);
        }
        // What the workspace has no more ends now. That it cannot be read is told by whoever needs it next.
        if let Ok(project) = discovery::project(&self.state.workspaces, vec![root.to_owned()]).await {
            self.state.mcp.hub.meet(&project);
        }
        Ok(self.answer(path, is_any.then_some(seq)))
    }

    /// What keeps an entry in the user's file from counting, or what it keeps from counting.
    fn overruled(&self) -> Vec<String> {
        let settings = self.state.settings.get();
        let config = &settings.config;
        let McpSettings { servers, .. } = &config.mcp;
        let set_at = || config.set_at.get("mcpServers").map(|at| at.told()).unwrap_or_default();
        let redactor = self.state.settings.redactor.get();
        let over = match servers.origin {
            SettingLayer::Environment | SettingLayer::Flag => {
                Some(format!("it has no effect: {} sets mcpServers as a whole", set_at()))
            }
            SettingLayer::System if !servers.value.is_empty() => {
                let names: Vec<&str> = servers.value.keys().take(20).map(String::as_str).collect();
                let (at, names) = (set_at(), names.join(", "));
                Some(format!(
                    "your mcpServers take the place of those of {at}, which are not used any more: {names}"
                ))
            }
            SettingLayer::System | SettingLayer::User | SettingLayer::Default => None,
        };
        over.map(|warning| redactor.owned(warning)).into_iter().chain(self.blocked()).collect()
    }

    fn blocked(&self) -> Option<String> {
        let settings = self.state.settings.get();
        let why = mcp::rules(&settings.config, &self.state.settings.redactor.get(), &self.state.mcp.sign_ins)
            .blocked(&self.name)?;
        Some(format!("it is not used: {why}"))
    }
}

/// Has the file say so. Blocks on the file system.
fn write(
    state: &McpMethods,
    scope: McpScope,
    root: Option<&Path>,
    name: &str,
    put: Option<(Value, bool)>,
) -> Result<McpSettingsWrite, RpcError> {
    let spot = match root {
        Some(root) => LocatedFile::of_projects_settings(root)?,
        None => LocatedFile::of_users_settings(&state.settings.sources.files.user)?,
    };
    let edit = match &put {
        Some((entry, over)) => ServerEdit::Put { name, entry, over: *over },
        None => ServerEdit::Remove { name },
    };
    let (path, before) = (spot.path.clone(), spot.digest());
    let bytes = edited(&path, spot.bytes().unwrap_or_default(), of(scope), &edit)
        .map_err(|why| unedited(state, &path, name, why))?;
    let now = digest(&bytes);
    let change = match before.as_ref() == Some(&now) {
        true => None,
        false => Some(spot.write(
            &bytes,
            &"settings",
            &TrashFolder::of_settings(&state.settings.state_dir, state.life.clock.now()),
        )?),
    };
    Ok(McpSettingsWrite { path, before, now, change })
}

fn unedited(state: &McpMethods, path: &Path, name: &str, why: ConfigEditError) -> RpcError {
    let redactor = state.settings.redactor.get();
    let shown = redactor.owned(path.display().to_string());
    let name = redactor.owned(name.to_owned());
    let details = json!({ "path": shown });
    match why {
        ConfigEditError::Exists => {
            let message = format!("{shown} has another server `{name}`; nothing was written");
            RpcError::new(ErrorKind::AlreadyExists, message)
                .with_details(details)
                .with_hint("`force` (`--force`) puts this one in its place; or take another name")
        }
        ConfigEditError::Missing(names) => {
            let near = nearest(&name, names.iter().map(String::as_str));
            let error = RpcError::new(ErrorKind::NotFound, format!("{shown} names no server `{name}`"));
            match near {
                Some(near) => error
                    .with_hint(format!("did you mean `{near}`?"))
                    .with_details(json!({ "path": shown, "didYouMean": near })),
                None => error.with_details(details).with_hint(
                    "the scope says whose settings are meant, `user` or `project`; `mcp/list` has the origin",
                ),
            }
        }
        ConfigEditError::Mistaken(problems) => {
            let problems = without_secrets(problems, &redactor);
            let told: Vec<String> = problems.iter().map(FileProblem::to_string).collect();
            let message =
                format!("nothing was written, since of this nobody knows what is meant: {}", told.join("; "));
            RpcError::new(ErrorKind::Conflict, message)
                .with_details(json!({ "path": shown, "problems": problems }))
                .with_hint("fix the file where it says so, and try again")
        }
    }
}
