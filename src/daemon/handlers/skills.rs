//! `skills/list`, `skills/get`, `skills/validate`, `skills/setEnabled`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        agent_files::{LocatedFile, TrashFolder},
        redaction::without_secrets,
        reload::reload_whole,
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal, roots, violation,
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, reload::SettingsReloader,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use config::{ConfigEditError, SettingLayer, edited_skills, nearest};
use project::Project;
use protocol::{
    ErrorKind, FileProblem, FileProblemCode, ProblemSeverity, RpcError, SkillScope, SkillStateName,
    SkillSummary, SkillsGet, SkillsGetParams, SkillsGetResult, SkillsList, SkillsListParams,
    SkillsListResult, SkillsSetEnabled, SkillsSetEnabledParams, SkillsSetEnabledResult, SkillsValidate,
    SkillsValidateParams, SkillsValidateResult, WorkspaceParam,
};
use redact::Redactor;
use skills::{Skill, SkillCatalog, SkillOrigin, SkillState, SkillText, SkillVerdict, validate};

/// Characters of a name: as many as the published rules allow.
const LONGEST_NAME: usize = 64;
/// Skills of which a list has the whole descriptions, and characters of a description where there are more.
const FEW: usize = 500;
const SHORT_DESCRIPTION: usize = 200;
/// Bytes of a list: it stays well below what a message may have.
const MOST_LISTED_BYTES: usize = 4 * 1024 * 1024;
/// Misspelled fields of skills that a list tells.
const MOST_MISSPELLED: usize = 50;
/// Others of its name that are shown with a skill.
const MOST_OTHERS: usize = 20;

/// The services that the methods of skills use.
pub(super) struct SkillMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub workspaces: Arc<WorkspaceSources>,
    pub reloader: Arc<SettingsReloader>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices, reloader: &Arc<SettingsReloader>) {
    let DaemonServices { life, settings, workspaces, .. } = services.clone();
    let reloader = Arc::clone(reloader);
    let mut api = api.given(Arc::new(SkillMethods { life, settings, workspaces, reloader }));
    api.cancellable::<SkillsList, _, _>(list);
    api.cancellable::<SkillsGet, _, _>(get);
    api.cancellable::<SkillsValidate, _, _>(check);
    api.method::<SkillsSetEnabled, _, _>(set_enabled);
}

async fn list(
    state: Arc<SkillMethods>,
    _: RpcCaller,
    params: SkillsListParams,
) -> Result<SkillsListResult, RpcError> {
    let project = looked_at(&state, params.workspace.as_ref()).await?;
    let redactor = state.settings.redactor.get();
    let (settings, sources) = (state.settings.get(), Arc::clone(&state.settings.sources));
    // Thousands of descriptions are work.
    blocking(move || {
        let catalog = project.skills.catalog();
        let mut listed = listed(catalog, &redactor);
        let misspelled = misspelled(&settings.config.skills.disabled.value, catalog);
        let file = sources.files.user.clone();
        listed.problems.extend(misspelled.map(|message| problem(&file, message)));
        listed.problems = without_secrets(listed.problems, &redactor);
        listed
    })
    .await
}

/// Names in `skills.disabled` that look like a skill's which is here, and are none: that one is on.
fn misspelled<'a>(disabled: &'a [String], catalog: &'a SkillCatalog) -> impl Iterator<Item = String> + 'a {
    let known = move |name: &str| catalog.all().any(|skill| skill.name() == name);
    disabled.iter().filter(move |name| !known(name)).filter_map(move |name| {
        let nearest = nearest(name, catalog.all().map(Skill::name))?;
        Some(format!("skills.disabled: `{name}` is no skill here, and `{nearest}` is not disabled by it"))
    })
}

fn problem(file: &Path, message: String) -> FileProblem {
    FileProblem {
        path: file.to_owned(),
        line: None,
        column: None,
        severity: ProblemSeverity::Warning,
        code: FileProblemCode::BadValue,
        message,
        fix: None,
    }
}

/// All skills in their order, and within what an answer may hold: long descriptions are shortened where there are many, and what has
/// no room is counted, those that cannot be used first.
fn listed(catalog: &SkillCatalog, redactor: &Redactor) -> SkillsListResult {
    let hide = |text: String| redactor.owned(text);
    let count = catalog.all().count();
    let longest = if count <= FEW { usize::MAX } else { SHORT_DESCRIPTION };
    let is_usable = |skill: &Skill| !matches!(skill.state, SkillState::Unread | SkillState::Rejected);
    let mut left = MOST_LISTED_BYTES;
    let mut skills: Vec<(usize, SkillSummary)> = Vec::new();
    for wanted in [true, false] {
        for (at, skill) in catalog.all().enumerate().filter(|(_, skill)| is_usable(skill) == wanted) {
            let shown = summary(skill, longest, &hide);
            let Some(rest) = left.checked_sub(weight(&shown)) else { continue };
            left = rest;
            skills.push((at, shown));
        }
    }
    skills.sort_by_key(|(at, _)| *at);
    let omitted = u32::try_from(count - skills.len()).unwrap_or(u32::MAX);
    let usable = catalog.all().filter(|skill| skill.state == SkillState::Ready);
    let misspelled = usable.flat_map(|skill| skill.file().misspelled());
    let problems: Vec<FileProblem> =
        catalog.problems().iter().chain(misspelled.take(MOST_MISSPELLED)).cloned().collect();
    SkillsListResult { skills: skills.into_iter().map(|(_, shown)| shown).collect(), problems, omitted }
}

/// About how many bytes one takes in an answer, where a character may take six.
fn weight(shown: &SkillSummary) -> usize {
    let SkillSummary { name, description, folder, hidden_by, fault, .. } = shown;
    let texts = [Some(name), Some(description), Some(folder), hidden_by.as_ref(), fault.as_ref()];
    let escaped = |text: &String| text.len() + 5 * text.chars().filter(|it| it.is_control()).count();
    texts.into_iter().flatten().map(escaped).sum::<usize>() + 200
}

async fn get(
    state: Arc<SkillMethods>,
    _: RpcCaller,
    params: SkillsGetParams,
) -> Result<SkillsGetResult, RpcError> {
    let SkillsGetParams { name, folder, workspace } = params;
    if name.is_none() && folder.is_none() {
        return Err(violation("/name", "name a skill, or the folder of one"));
    }
    if folder.as_ref().is_some_and(|folder| !Path::new(folder).is_absolute()) {
        return Err(violation("/folder", "must be absolute"));
    }
    let project = looked_at(&state, workspace.as_ref()).await?;
    let redactor = state.settings.redactor.get();
    blocking(move || found(project.skills.catalog(), name.as_deref(), folder.as_deref(), &redactor)).await?
}

/// One skill, whole as it is now. Blocks on the file system.
fn found(
    catalog: &SkillCatalog,
    name: Option<&str>,
    folder: Option<&str>,
    redactor: &Redactor,
) -> Result<SkillsGetResult, RpcError> {
    let hide = |text: String| redactor.owned(text);
    let skill = match folder {
        None => name.and_then(|name| catalog.get(name)),
        Some(folder) => at(catalog, Path::new(folder)).filter(|it| name.is_none_or(|name| it.name() == name)),
    };
    let skill = skill.ok_or_else(|| match (name, folder) {
        (Some(name), _) => unknown(name, catalog),
        (None, folder) => {
            let message = format!("no skill was found in {}", folder.unwrap_or_default());
            let hint = "`skills/list` (`subagent skills list`) shows where they lie";
            RpcError::new(ErrorKind::NotFound, hide(message)).with_hint(hint)
        }
    })?;
    let files = skill.file_names();
    let SkillText { file, license, compatibility, allowed_tools, mut metadata, body } = skill.text();
    redactor.value(&mut metadata);
    let fault = skill.find_fault().map(hide);
    let others = catalog.others(skill).take(MOST_OTHERS).map(|it| summary(it, usize::MAX, &hide));
    Ok(SkillsGetResult {
        skill: SkillSummary { fault, ..summary(skill, usize::MAX, &hide) },
        others: others.collect(),
        body: hide(body),
        license: license.map(hide),
        compatibility: compatibility.map(hide),
        allowed_tools: allowed_tools.map(hide),
        metadata,
        file_count: u32::try_from(files.count).unwrap_or(u32::MAX),
        files: files.names.into_iter().map(hide).collect(),
        problems: without_secrets(file.problems, redactor),
    })
}

/// The skill in a folder, under whatever name that is reached. Blocks on the file system.
fn at<'a>(catalog: &'a SkillCatalog, folder: &Path) -> Option<&'a Skill> {
    catalog.at(folder).or_else(|| {
        let folder = folder.canonicalize().ok()?;
        catalog.all().find(|skill| skill.folder().canonicalize().is_ok_and(|it| it == folder))
    })
}

async fn check(
    state: Arc<SkillMethods>,
    _: RpcCaller,
    params: SkillsValidateParams,
) -> Result<SkillsValidateResult, RpcError> {
    let folder = PathBuf::from(params.path);
    if !folder.is_absolute() {
        return Err(violation("/path", "must be absolute"));
    }
    let SkillVerdict { path, is_valid, problems } = blocking(move || validate(&folder)).await?;
    let redactor = state.settings.redactor.get();
    let path = redactor.owned(path.to_string_lossy().into_owned());
    Ok(SkillsValidateResult { path, valid: is_valid, problems: without_secrets(problems, &redactor) })
}

async fn set_enabled(
    state: Arc<SkillMethods>,
    caller: RpcCaller,
    params: SkillsSetEnabledParams,
) -> Result<SkillsSetEnabledResult, RpcError> {
    let SkillsSetEnabledParams { name, enabled, workspace } = params;
    let name = name.trim().to_owned();
    if name.is_empty() || LONGEST_NAME < name.chars().count() {
        return Err(violation("/name", &format!("must be a name of 1 to {LONGEST_NAME} characters")));
    }
    let by = by(&caller);
    let setting = Arc::clone(&state);
    let whole = async move { set_whole(&setting, by, name, enabled, workspace).await };
    // Whoever asks may leave; what the file says is then in force.
    let done = state.life.writing.spawn("the writing of a setting", whole).await;
    done.map_err(|error| internal("the setting was not written", &error))?
}

async fn set_whole(
    state: &Arc<SkillMethods>,
    by: Option<String>,
    name: String,
    enabled: bool,
    workspace: Option<WorkspaceParam>,
) -> Result<SkillsSetEnabledResult, RpcError> {
    let project = looked_at(state, workspace.as_ref()).await?;
    let is_there = project.skills.catalog().get(&name).is_some();
    // One that lies where nobody looks can be switched on, where the settings switch it off.
    let is_off = state.settings.get().config.skills.disabled.value.contains(&name);
    let is_meant = is_there || enabled && is_off;
    if !is_meant {
        return Err(unknown(&name, project.skills.catalog()));
    }
    // No two change one file at once.
    let _turn = state.workspaces.trust_changes.lock().await;
    let (writer, wanted) = (Arc::clone(state), name.clone());
    let (path, change) = blocking(move || write(&writer, &wanted, enabled)).await??;
    let reloaded = match reload_whole(&state.reloader, by, None).await {
        Ok(reloaded) => reloaded,
        Err(error) => {
            if let Some(change) = change {
                blocking(move || change.take_back()).await?;
            }
            return Err(error);
        }
    };
    let settings = state.settings.get();
    let disabled = &settings.config.skills.disabled;
    let counts = disabled.value.contains(&name) != enabled;
    let mut warnings = match (counts, disabled.origin) {
        (true, _) => Vec::new(),
        (false, SettingLayer::Environment | SettingLayer::Flag) => {
            vec!["it has no effect: a flag or a variable of the environment sets skills.disabled".to_owned()]
        }
        (false, _) => vec!["it has no effect: other settings set skills.disabled".to_owned()],
    };
    if !is_there {
        warnings.push("no skill of this name is here".to_owned());
    }
    let seq = reloaded.seq.filter(|_| change.is_some());
    let path = state.settings.redactor.get().owned(path.to_string_lossy().into_owned());
    Ok(SkillsSetEnabledResult { name, enabled, path, warnings, seq })
}

type WrittenSetting = (PathBuf, Option<super::super::agent_files::ReversibleChange>);

/// Has the user's file say so. Blocks on the file system.
fn write(state: &SkillMethods, name: &str, enabled: bool) -> Result<WrittenSetting, RpcError> {
    let spot = LocatedFile::of_users_settings(&state.settings.sources.files.user)?;
    let (path, before) = (spot.path.clone(), spot.bytes().unwrap_or_default().to_vec());
    let bytes = edited_skills(&path, &before, name, enabled).map_err(|why| unedited(state, &path, why))?;
    if bytes == before {
        return Ok((path, None));
    }
    let trash = TrashFolder::of_settings(&state.settings.state_dir, state.life.clock.now());
    Ok((path, Some(spot.write(&bytes, &"settings", &trash)?)))
}

fn unedited(state: &SkillMethods, path: &Path, why: ConfigEditError) -> RpcError {
    let redactor = state.settings.redactor.get();
    let shown = redactor.owned(path.display().to_string());
    let problems = match why {
        ConfigEditError::Mistaken(problems) => without_secrets(problems, &redactor),
        // Of entries alone.
        ConfigEditError::Exists | ConfigEditError::Missing(_) => Vec::new(),
    };
    let told: Vec<String> = problems.iter().map(FileProblem::to_string).collect();
    let message =
        format!("nothing was written, since of this nobody knows what is meant: {}", told.join("; "));
    RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "path": shown, "problems": problems }))
        .with_hint("fix the file where it says so, and try again")
}

/// Reads a workspace with its skills, or the user's alone.
async fn looked_at(
    state: &SkillMethods,
    workspace: Option<&WorkspaceParam>,
) -> Result<Arc<Project>, RpcError> {
    let roots = workspace.map(roots).transpose()?.unwrap_or_default();
    state.workspaces.project(roots).await.map_err(|error| internal("the skills could not be read", &error))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| internal("the skills could not be read", &error))
}

fn unknown(name: &str, catalog: &SkillCatalog) -> RpcError {
    let error = RpcError::new(ErrorKind::NotFound, format!("there is no skill `{name}` here"));
    match nearest(name, catalog.all().map(Skill::name)) {
        Some(near) => {
            error.with_hint(format!("did you mean `{near}`?")).with_details(json!({ "didYouMean": near }))
        }
        None => error.with_hint("`skills/list` (`subagent skills list`) shows them all, and where they lie"),
    }
}

fn summary(skill: &Skill, longest: usize, hide: &dyn Fn(String) -> String) -> SkillSummary {
    let shown = |path: &Path| hide(path.to_string_lossy().into_owned());
    let (state, hidden_by) = match &skill.state {
        SkillState::Ready => (SkillStateName::Ready, None),
        SkillState::Disabled => (SkillStateName::Disabled, None),
        SkillState::Unread => (SkillStateName::Untrusted, None),
        SkillState::Changed => (SkillStateName::Changed, None),
        SkillState::Hidden(by) => (SkillStateName::Hidden, Some(shown(by))),
        SkillState::Rejected => (SkillStateName::Rejected, None),
    };
    // Hidden before it is cut: half of a secret is not found any more.
    let mut description = hide(skill.file().description.clone());
    if let Some((end, _)) = description.char_indices().nth(longest) {
        description.truncate(end);
        description.push('…');
    }
    SkillSummary {
        name: hide(skill.name().to_owned()),
        description,
        folder: shown(skill.folder()),
        scope: match skill.origin {
            SkillOrigin::Project { .. } => SkillScope::Project,
            SkillOrigin::User => SkillScope::User,
            SkillOrigin::Extension { .. } => SkillScope::Extension,
        },
        extension: skill.extension().cloned(),
        state,
        hidden_by,
        only_by_name: skill.file().is_for_people,
        omitted: skill.is_left_out,
        has_errors: !skill.file().is_sound(),
        fault: skill.fault.clone().map(hide),
    }
}
