//! `extension/*`: which are installed, what does one bring along, and how does one come and go? (spec 08, "Plugins")
//!
//! Whatever is installed runs in the name of the person who agreed to it. So what is installed is what they were shown, by its
//! digest, and a connection that only looks on changes nothing.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use self::changes::ExtensionOrigin;
use super::{
    super::{
        agent_urls::{FetchedTree, SourceUrl},
        redaction::shown_command,
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal,
    observers::may_change_all,
    violation,
};
use crate::{
    agent_urls::UrlFetcher, client_connections::ClientConnections, daemon_life::DaemonLife,
    daemon_services::DaemonServices, installed_extensions::InstalledExtensions, mcp::McpConnections,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use config::nearest;
use extensions::{
    ExtensionPackage, ExtensionState, KnownExtension, LARGEST_EXTENSION, MOST_EXTENSION_FILES,
    StagedExtension,
};
use project::Project;
use protocol::{
    BundledMcpServer, BundledSkill, ErrorKind, ExtensionContents, ExtensionDisable, ExtensionEnable,
    ExtensionGet, ExtensionGetResult, ExtensionInstall, ExtensionInstallOutcome, ExtensionInstallParams,
    ExtensionInstallResult, ExtensionList, ExtensionListResult, ExtensionNameParams, ExtensionRef,
    ExtensionRemove, ExtensionRemoveResult, ExtensionStateName, ExtensionSummary, ExtensionSwitchResult,
    InstalledExtension, NoParams, RpcError,
};
use redact::Redactor;
use store::EventStore;

mod changes;

pub use self::changes::{begin, follow, library};

/// The services that the methods of extensions use.
#[derive(Clone)]
pub struct ExtensionMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub mcp: Arc<McpConnections>,
    pub extensions: Arc<InstalledExtensions>,
    pub fetcher: UrlFetcher,
}

impl ExtensionMethods {
    pub fn of(services: &DaemonServices) -> ExtensionMethods {
        let DaemonServices { life, settings, store, clients, workspaces, mcp, extensions, .. } =
            services.clone();
        let fetcher = UrlFetcher::of(services);
        ExtensionMethods { life, settings, store, clients, workspaces, mcp, extensions, fetcher }
    }
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(ExtensionMethods::of(services)));
    api.cancellable::<ExtensionList, _, _>(list);
    api.cancellable::<ExtensionGet, _, _>(get);
    api.heeding::<ExtensionInstall, _, _>(install);
    api.method::<ExtensionEnable, _, _>(|state, caller, params| switch(state, caller, params, true));
    api.method::<ExtensionDisable, _, _>(|state, caller, params| switch(state, caller, params, false));
    api.method::<ExtensionRemove, _, _>(remove);
}

async fn list(
    state: Arc<ExtensionMethods>,
    _: RpcCaller,
    _: NoParams,
) -> Result<ExtensionListResult, RpcError> {
    let library = state.extensions.library.clone();
    let mut all = blocking(move || library.all()).await?;
    all.sort_by(|one, other| one.installed.name.cmp(&other.installed.name));
    let redactor = state.settings.redactor.get();
    Ok(ExtensionListResult { extensions: all.iter().map(|known| summary(known, &redactor)).collect() })
}

async fn get(
    state: Arc<ExtensionMethods>,
    _: RpcCaller,
    params: ExtensionNameParams,
) -> Result<ExtensionGetResult, RpcError> {
    let known = known(&state, &params.name).await?;
    let redactor = state.settings.redactor.get();
    let catalog = users_skills(&state).await?;
    let brings = known.package.as_ref();
    let brings =
        brings.map(|package| contents(package, &known.reference(), (&state, &catalog))).unwrap_or_default();
    let shown = |path: &PathBuf| redactor.owned(path.to_string_lossy().into_owned());
    let (folder, data_folder) = (shown(&known.root), shown(&known.data));
    Ok(ExtensionGetResult { extension: summary(&known, &redactor), contents: brings, folder, data_folder })
}

async fn install(
    state: Arc<ExtensionMethods>,
    caller: RpcCaller,
    params: ExtensionInstallParams,
    given_up: CancellationToken,
) -> Result<ExtensionInstallResult, RpcError> {
    may_change_all(&state.clients, &caller)?;
    let ExtensionInstallParams { source, digest, dry_run } = params;
    let source = ExtensionSource::parse(&source).map_err(|why| violation("/source", &why))?;
    if digest.is_none() && !dry_run {
        let message = "must be named: first look at what would be installed (`dryRun`), and name the digest of what you have seen";
        return Err(violation("/digest", message));
    }
    let (staged, origin) = source.stage(&state, &given_up).await?;
    if let Some(expected) = digest.filter(|expected| !expected.eq_ignore_ascii_case(&staged.digest)) {
        let message = format!(
            "{} is not what it was when you looked at it; nothing was installed",
            staged.package.manifest.name
        );
        return Err(RpcError::new(ErrorKind::Conflict, message)
            .with_details(json!({ "expected": expected, "now": staged.digest }))
            .with_hint("look at it again (`dryRun`), and name that digest if you still want it"));
    }
    let (by, installing) = (by(&caller), Arc::clone(&state));
    let whole = async move { install_staged(&installing, by, staged, origin, dry_run).await };
    // Whoever asks may leave: it ends whole.
    let done = state.life.writing.spawn("the installation of an extension", whole).await;
    done.map_err(|error| internal("the extension was not installed", &error))?
}

async fn install_staged(
    state: &Arc<ExtensionMethods>,
    by: Option<String>,
    staged: StagedExtension,
    origin: ExtensionOrigin,
    dry_run: bool,
) -> Result<ExtensionInstallResult, RpcError> {
    let _turn = turn(state).await;
    let name = staged.package.manifest.name.clone();
    let library = state.extensions.library.clone();
    let looked = name.clone();
    let (known, is_taken) =
        blocking(move || (library.get(&looked), library.folders().is_taken(&looked))).await?;
    if known.is_none() && is_taken {
        let place = state.extensions.library.folders().root(&name);
        let message = format!(
            "{} is there, and no extension of this daemon: it is left alone, and nothing was installed",
            place.display()
        );
        return Err(RpcError::new(ErrorKind::AlreadyExists, state.settings.redactor.get().owned(message))
            .with_hint("it may belong to a daemon with another state folder; move it away if it does not"));
    }
    let is_whole = known.as_ref().is_some_and(|known| !matches!(known.state, ExtensionState::Changed(_)));
    let before = known.map(|known| known.installed);
    let record = changes::record(state, &staged, origin, before.as_ref());
    let outcome = match &before {
        None => ExtensionInstallOutcome::Installed,
        Some(before) if before.digest == record.digest && is_whole => ExtensionInstallOutcome::Unchanged,
        Some(_) => ExtensionInstallOutcome::Updated,
    };
    let catalog = users_skills(state).await?;
    let brings = contents(&staged.package, &record.reference(), (state, &catalog));
    let file_count = count(staged.files);
    let mut result = ExtensionInstallResult {
        outcome,
        extension: record,
        before,
        contents: brings,
        file_count,
        seq: None,
    };
    match (outcome, &result.before) {
        (ExtensionInstallOutcome::Unchanged, Some(before)) => result.extension = before.clone(),
        _ if dry_run => {}
        _ => {
            let record = result.extension.clone();
            result.seq = Some(changes::install(state, by, staged, record).await?);
        }
    }
    Ok(result)
}

async fn switch(
    state: Arc<ExtensionMethods>,
    caller: RpcCaller,
    params: ExtensionNameParams,
    enabled: bool,
) -> Result<ExtensionSwitchResult, RpcError> {
    may_change_all(&state.clients, &caller)?;
    let _turn = turn(&state).await;
    let KnownExtension { installed: before, .. } = known(&state, &params.name).await?;
    let seq = match before.enabled == enabled {
        true => None,
        false => Some(changes::switch(&state, by(&caller), before, enabled).await?),
    };
    let now = known(&state, &params.name).await?;
    Ok(ExtensionSwitchResult { extension: summary(&now, &state.settings.redactor.get()), seq })
}

async fn remove(
    state: Arc<ExtensionMethods>,
    caller: RpcCaller,
    params: ExtensionNameParams,
) -> Result<ExtensionRemoveResult, RpcError> {
    may_change_all(&state.clients, &caller)?;
    let _turn = turn(&state).await;
    let KnownExtension { installed: before, .. } = known(&state, &params.name).await?;
    let seq = changes::remove(&state, by(&caller), before).await?;
    Ok(ExtensionRemoveResult { name: params.name, seq })
}

/// The place that an extension comes from.
enum ExtensionSource {
    Folder(PathBuf),
    Repository(SourceUrl),
}

impl ExtensionSource {
    fn parse(text: &str) -> Result<ExtensionSource, String> {
        let is_url = text.contains("://") || text.starts_with("git@");
        if !is_url {
            let path = PathBuf::from(text);
            return match path.is_absolute() && !text.contains('\0') {
                true => Ok(ExtensionSource::Folder(path)),
                false => Err("must be an absolute path, or the URL of a repository".to_owned()),
            };
        }
        match SourceUrl::parse(text)? {
            SourceUrl::File(_) => {
                Err("must be a repository's URL: one that ends in .git, or that begins with git+https://"
                    .to_owned())
            }
            url => Ok(ExtensionSource::Repository(url)),
        }
    }

    async fn stage(
        self,
        state: &Arc<ExtensionMethods>,
        given_up: &CancellationToken,
    ) -> Result<(StagedExtension, ExtensionOrigin), RpcError> {
        let repository = match self {
            ExtensionSource::Folder(folder) => {
                let source = folder.to_string_lossy().into_owned();
                let staged = changes::stage(state, folder, &source).await?;
                return Ok((staged, ExtensionOrigin { source, commit: None }));
            }
            ExtensionSource::Repository(url) => url,
        };
        let source = repository.shown();
        let most = (MOST_EXTENSION_FILES, LARGEST_EXTENSION);
        let SourceUrl::Repository(repository) = &repository else {
            return Err(violation("/source", "must be a repository's URL"));
        };
        let tree = FetchedTree::fetch(&state.fetcher, (repository, &source), most, given_up).await?;
        let staged = changes::stage(state, tree.path(), &source).await;
        let commit = Some(tree.commit.clone());
        tree.empty().await;
        Ok((staged?, ExtensionOrigin { source, commit }))
    }
}

/// One at a time, so that none is decided by what another one is changing.
async fn turn(state: &ExtensionMethods) -> MutexGuard<'_, ()> {
    state.extensions.changes.lock().await
}

async fn known(state: &ExtensionMethods, name: &str) -> Result<KnownExtension, RpcError> {
    let (library, looked) = (state.extensions.library.clone(), name.to_owned());
    let known = blocking(move || library.get(&looked)).await?;
    known.ok_or_else(|| {
        let message = state.settings.redactor.get().owned(format!("there is no extension `{name}`"));
        let error = RpcError::new(ErrorKind::NotFound, message);
        let names = state.extensions.library.names();
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => {
                error.with_hint(format!("did you mean `{near}`?")).with_details(json!({ "didYouMean": near }))
            }
            None => error
                .with_hint("`extension/list` (`subagent extensions list`) shows those that are installed"),
        }
    })
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| internal("the extensions could not be read", &error))
}

fn summary(known: &KnownExtension, redactor: &Redactor) -> ExtensionSummary {
    let (state, fault) = match &known.state {
        ExtensionState::Enabled => (ExtensionStateName::Enabled, None),
        ExtensionState::Disabled => (ExtensionStateName::Disabled, None),
        // It has no effect, and what is wrong with it is told when it is to have one.
        ExtensionState::Changed(_) if !known.installed.enabled => (ExtensionStateName::Disabled, None),
        ExtensionState::Changed(why) => (ExtensionStateName::Changed, Some(redactor.owned(why.clone()))),
    };
    let (skills, servers) =
        known.package.as_ref().map_or((0, 0), |package| (package.skills.len(), package.servers.len()));
    let installed: InstalledExtension = known.installed.clone();
    ExtensionSummary { installed, state, fault, skill_count: count(skills), server_count: count(servers) }
}

/// The skills that count without any workspace.
async fn users_skills(state: &ExtensionMethods) -> Result<Arc<Project>, RpcError> {
    state
        .workspaces
        .project(Vec::new())
        .await
        .map_err(|error| internal("the skills could not be read", &error))
}

fn contents(
    package: &ExtensionPackage,
    extension: &ExtensionRef,
    (state, users): (&ExtensionMethods, &Project),
) -> ExtensionContents {
    let redactor = state.settings.redactor.get();
    let hidden = |text: &String| redactor.owned(text.clone());
    let catalog = users.skills.catalog();
    let skills = package.skills.iter().map(|skill| {
        let before = catalog.get(&skill.name);
        let before = before.filter(|before| before.extension().is_none_or(|it| it.name != extension.name));
        let unused = match before {
            Some(before) => Some(format!("{} goes before it", before.folder().display())),
            None => {
                let disabled = &state.settings.get().config.skills.disabled.value;
                disabled.contains(&skill.name).then(|| "the setting skills.disabled names it".to_owned())
            }
        };
        let (name, description) = (hidden(&skill.name), hidden(&skill.description));
        BundledSkill { name, description, unused_reason: unused.map(|why| redactor.owned(why)) }
    });
    let servers = package.servers.iter().map(|server| BundledMcpServer {
        name: hidden(&server.name),
        is_program: server.is_program(),
        command_or_url: shown_command(server.starts(), &redactor),
        variables: server.sets().iter().map(hidden).collect(),
        unused_reason: state
            .mcp
            .hub
            .unused_of_extension(&server.name, extension)
            .map(|why| redactor.owned(why)),
    });
    let manifest = &package.manifest;
    ExtensionContents {
        skills: skills.collect(),
        servers: servers.collect(),
        author: manifest.author.as_ref().map(hidden),
        homepage: manifest.homepage.as_ref().map(hidden),
        license: manifest.license.as_ref().map(hidden),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
