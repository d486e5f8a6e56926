//! How do extensions come, change and go, so that the log, the disk and what is in force agree whatever ends in the middle?
//! (spec 08, "Plugins")

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{super::internal, ExtensionMethods};
use extensions::{
    ExtensionFolders, ExtensionLibrary, ExtensionPackage, KnownExtension, PackageFault, PackagedServer,
    StagedExtension,
};
use protocol::{
    ErrorKind, EventHead, EventSeq, ExtensionChange, ExtensionChanged, ExtensionRef, InstalledExtension,
    PrivateEventFields, RpcError,
};
use store::{EventStore, NewEvent, StoreError};
use sys::ids;
use tools::mcp::{ExtensionServer, ExtensionServerOrigin, McpHub};

/// The extensions that the log has, after what a killed daemon left is settled.
pub async fn library(data_dir: &Path, store: &EventStore) -> Result<ExtensionLibrary, StoreError> {
    let installed = store.extensions().await?;
    let folders = ExtensionFolders::new(data_dir, store.log_id(), tools::remove_tree);
    let (recovering, records) = (folders.clone(), installed.clone());
    let recovered = tokio::task::spawn_blocking(move || recovering.recover(records.iter())).await;
    if let Err(error) = recovered {
        tracing::warn!(%error, "what the last daemon left of extensions could not be settled");
    }
    Ok(ExtensionLibrary::new(folders, installed))
}

/// The source of an extension, as the log has it.
pub struct ExtensionOrigin {
    pub source: String,
    pub commit: Option<String>,
}

/// Copies and reads what lies in a folder.
pub async fn stage(
    state: &ExtensionMethods,
    folder: PathBuf,
    shown: &str,
) -> Result<StagedExtension, RpcError> {
    let folders = state.extensions.library.folders().clone();
    let staging = tokio::task::spawn_blocking(move || folders.stage(&folder)).await;
    let staged = staging.map_err(|error| internal("the extension could not be read", &error))?;
    staged.map_err(|fault| match fault {
        PackageFault::NoRoom => {
            RpcError::new(ErrorKind::StorageFull, format!("there is no room for a copy of {shown}"))
        }
        PackageFault::Refused(_) => {
            RpcError::new(ErrorKind::InvalidDefinition, format!("{shown} {fault}; nothing was installed"))
                .with_details(json!({ "fault": fault.to_string() }))
                .with_hint("the format is Agent Plugins 1.0.0; `docs/extensions.md` says what is read of it")
        }
        PackageFault::Unreadable(_) => {
            RpcError::new(ErrorKind::Conflict, format!("{shown} {fault}; nothing was installed"))
        }
    })
}

/// The record of what is going to be installed. Of another version of something, it keeps that one's id and switch.
pub fn record(
    state: &ExtensionMethods,
    staged: &StagedExtension,
    origin: ExtensionOrigin,
    before: Option<&InstalledExtension>,
) -> InstalledExtension {
    let redactor = state.settings.redactor.get();
    let hidden = |text: &String| redactor.owned(text.clone());
    let ExtensionPackage { manifest, notes, .. } = &staged.package;
    InstalledExtension {
        id: before.map_or_else(ids::fresh, |before| before.id.clone()),
        name: manifest.name.clone(),
        version: manifest.version.as_ref().map(hidden),
        description: manifest.description.as_ref().map(hidden),
        source: redactor.owned(origin.source),
        commit: origin.commit,
        digest: staged.digest.clone(),
        enabled: before.is_none_or(|before| before.enabled),
        installed_at: state.life.clock.now(),
        notes: notes.iter().map(hidden).collect(),
    }
}

/// Puts it into its place and tells the log, both or neither. Whoever asks has the turn of [`InstalledExtensions::changes`].
pub async fn install(
    state: &Arc<ExtensionMethods>,
    by: Option<String>,
    staged: StagedExtension,
    record: InstalledExtension,
) -> Result<EventSeq, RpcError> {
    let before = state.extensions.library.record(&record.name);
    let folders = state.extensions.library.folders().clone();
    let placing = tokio::task::spawn_blocking(move || folders.place(staged)).await;
    let placed =
        placing.map_err(|error| internal("the extension could not be put into its place", &error))?;
    let placed = placed.map_err(|error| {
        let message = format!("the extension could not be put into its place: {error}; nothing was installed");
        RpcError::new(ErrorKind::Conflict, message)
            .with_hint("look at the folder of extensions; on a file system that cannot exchange folders, remove it first")
    })?;
    let change = if before.is_some() { ExtensionChange::Updated } else { ExtensionChange::Installed };
    let told = tell(state, by, change, &record.clone(), Some(record)).await;
    let settling = tokio::task::spawn_blocking(move || match told {
        Ok(seq) => {
            placed.settle();
            Ok(seq)
        }
        Err(error) => {
            placed.take_back();
            Err(error)
        }
    });
    settling.await.map_err(|error| internal("the extension could not be settled", &error))?
}

/// Switches it on or off. Whoever asks has the turn of [`InstalledExtensions::changes`].
pub async fn switch(
    state: &Arc<ExtensionMethods>,
    by: Option<String>,
    before: InstalledExtension,
    enabled: bool,
) -> Result<EventSeq, RpcError> {
    let change = if enabled { ExtensionChange::Enabled } else { ExtensionChange::Disabled };
    tell(state, by, change, &before.clone(), Some(InstalledExtension { enabled, ..before })).await
}

/// Tells the log that it goes, and then takes it away. Whoever asks has the turn of [`InstalledExtensions::changes`].
pub async fn remove(
    state: &Arc<ExtensionMethods>,
    by: Option<String>,
    before: InstalledExtension,
) -> Result<EventSeq, RpcError> {
    let (folders, name) = (state.extensions.library.folders().clone(), before.name.clone());
    // What is left of it when the daemon is killed goes at the next start.
    let announcing = tokio::task::spawn_blocking(move || folders.announce_removal(&name)).await;
    announcing.map_err(|error| internal("the extension could not be removed", &error))?.map_err(|error| {
        RpcError::new(ErrorKind::Conflict, format!("the extension could not be removed: {error}"))
    })?;
    let told = tell(state, by, ExtensionChange::Removed, &before, None).await;
    let kept = told.as_ref().err().map(|_| before.digest.clone());
    let folders = state.extensions.library.folders().clone();
    let settling = tokio::task::spawn_blocking(move || folders.settle(&before.name, kept.as_deref())).await;
    settling.map_err(|error| internal("the extension's folder could not be removed", &error))?;
    told
}

/// Has the servers of extensions in force, as these are now.
pub async fn put_in_force(library: &ExtensionLibrary, hub: &McpHub) {
    let looking = library.clone();
    let found = tokio::task::spawn_blocking(move || {
        let enabled = looking.all().into_iter().filter(KnownExtension::is_enabled);
        enabled.flat_map(|known| servers(&known)).collect()
    });
    match found.await {
        Ok(servers) => hub.bring_extensions(servers),
        Err(error) => tracing::warn!(%error, "the servers of extensions could not be looked at"),
    }
}

fn servers(known: &KnownExtension) -> Vec<ExtensionServer> {
    let origin = ExtensionServerOrigin {
        extension: known.reference(),
        digest: known.installed.digest.clone(),
        root: known.root.clone(),
        data: known.data.clone(),
    };
    let package = known.package.iter().flat_map(|package| &package.servers);
    let server = |server: &PackagedServer| ExtensionServer {
        name: server.name.clone(),
        entry: server.config(&known.root, &known.data),
        origin: origin.clone(),
    };
    package.map(server).collect()
}

/// Has them looked at before one is started.
pub async fn begin(library: &ExtensionLibrary, hub: &McpHub) {
    let checking = library.clone();
    hub.check_extensions_by(Arc::new(move |extension: &ExtensionRef, digest: &str| {
        let fault = checking.fault(&extension.name, digest)?;
        Some(format!("its extension {} {fault} (`subagent extensions show {0}`)", extension.name))
    }));
    put_in_force(library, hub).await;
}

/// Ends the servers of an extension that changed, as soon as somebody finds that it did, until the daemon stops.
pub async fn follow(state: ExtensionMethods) {
    loop {
        tokio::select! {
            () = state.life.stop.cancelled() => return,
            () = state.extensions.library.changes() => {}
        }
        put_in_force(&state.extensions.library, &state.mcp.hub).await;
    }
}

/// Tells the log, and then has it in force.
async fn tell(
    state: &Arc<ExtensionMethods>,
    by: Option<String>,
    change: ExtensionChange,
    about: &InstalledExtension,
    installed: Option<InstalledExtension>,
) -> Result<EventSeq, RpcError> {
    let changed = ExtensionChanged { extension: about.reference(), change, installed: installed.clone() };
    let event = NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by, ..EventHead::default() },
        body: changed.into(),
        private: PrivateEventFields::default(),
    };
    let (_, seq) = state.store.append(vec![event]).await?;
    state.extensions.library.note(&about.name, installed);
    put_in_force(&state.extensions.library, &state.mcp.hub).await;
    Ok(seq)
}
