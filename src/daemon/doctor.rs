//! Is everything as it should be: the daemon, and what it stands on? One function a check; [`look_over`] lists them.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::fs::statvfs;
use tokio::{sync::Mutex, task::JoinError};

use super::{
    dead_names::dead_names_in_force,
    hook_problems,
    redaction::without_secrets,
    rpc::TOKEN_FILE,
    settings_problems::{idle_exclusions, project_problems},
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, hook_control::HookControl,
    installed_extensions::InstalledExtensions, program_runtime::ProgramRuntime,
    settings_in_force::SettingsInForce, settings_problems::SettingsProblems,
    workspace_sources::WorkspaceSources,
};
use protocol::{AgentStatus, CheckState, DoctorCheck, FileProblem, ProblemSeverity};
use run::RunExecutor;
use store::EventStore;
use sys::{key_file, tasks::TaskGroup};

mod discovery;
mod extensions;
mod hooks;
mod programs;
mod sandbox;
mod skills;
mod web_search;
mod workspaces;

pub(super) use sandbox::remove_left;

/// Time for each check. The database is the only one that can need it; so much reads several gigabytes.
const CHECK_TIME: Duration = Duration::from_secs(20);
/// Below this a day's work may fill the disk. Runs are parked long before nothing is left.
const LITTLE_ROOM: u64 = 512 << 20;
/// Problems that are told one by one; the rest is counted.
const MOST_TOLD: usize = 3;

/// The services that are looked over.
pub(super) struct DaemonExamination {
    /// Held by whoever looks.
    turn: Mutex<()>,
    life: Arc<DaemonLife>,
    settings: Arc<SettingsInForce>,
    store: EventStore,
    executor: RunExecutor,
    workspaces: Arc<WorkspaceSources>,
    programs: Arc<ProgramRuntime>,
    hooks: Arc<HookControl>,
    extensions: Arc<InstalledExtensions>,
    problems: SettingsProblems,
}

impl DaemonExamination {
    pub fn of(services: &DaemonServices) -> DaemonExamination {
        let DaemonServices {
            life, settings, store, executor, workspaces, programs, hooks, extensions, ..
        } = services.clone();
        let problems = SettingsProblems::of(services);
        DaemonExamination {
            turn: Mutex::default(),
            life,
            settings,
            store,
            executor,
            workspaces,
            programs,
            hooks,
            extensions,
            problems,
        }
    }
}

/// What was found about one thing.
struct DoctorFinding {
    state: CheckState,
    message: String,
    hint: Option<String>,
}

/// Looks at everything, one after the other, and for one who asks at a time: it reads the whole database.
/// `workspace`: canonical folders whose hooks are looked at, whether anybody has acknowledged them or not.
pub(super) async fn look_over(state: &DaemonExamination, workspace: &[String]) -> Vec<DoctorCheck> {
    let _turn = state.turn.lock().await;
    vec![
        within(state, "database", database(state)).await,
        within(state, "disk", disk(state)).await,
        within(state, "settings", settings(state)).await,
        within(state, "projects", projects(state, workspace)).await,
        within(state, "agents", agents(state, workspace)).await,
        within(state, "agentFolders", agent_folders(state)).await,
        within(state, "model", model(state)).await,
        within(state, "token", token(state)).await,
        within(state, "sandbox", sandbox::check(state)).await,
        within(state, "workspaces", workspaces::check(state)).await,
        within(state, "hooks", hooks::check(state, workspace)).await,
        within(state, "skills", skills::check(state, workspace)).await,
        within(state, "discovery", discovery::check(state)).await,
        within(state, "webSearch", web_search::check(state)).await,
        within(state, "programs", programs::check(state)).await,
        within(state, "extensions", extensions::check(state)).await,
        within(state, "callers", callers(state)).await,
        within(state, "service", service(state)).await,
        within(state, "tasks", tasks(state)).await,
    ]
}

/// What a check comes to; one that takes too long has found nothing, which is no good sign.
async fn within(
    state: &DaemonExamination,
    name: &str,
    check: impl Future<Output = DoctorFinding>,
) -> DoctorCheck {
    let DoctorFinding { state, message, hint } = tokio::select! { biased;
        finding = check => finding,
        () = state.life.clock.sleep(CHECK_TIME) => {
            let message = format!("nothing wrong was found within {} s, and it is not done", CHECK_TIME.as_secs());
            DoctorFinding::warning(message).with_hint("ask again when the daemon has less to do")
        }
    };
    DoctorCheck { name: name.to_owned(), state, message, hint }
}

impl DoctorFinding {
    fn new(state: CheckState, message: impl Into<String>) -> DoctorFinding {
        DoctorFinding { state, message: message.into(), hint: None }
    }

    fn ok(message: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(CheckState::Ok, message)
    }

    fn warning(message: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(CheckState::Warning, message)
    }

    fn failed(message: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(CheckState::Failed, message)
    }

    fn with_hint(self, hint: impl Into<String>) -> DoctorFinding {
        DoctorFinding { hint: Some(hint.into()), ..self }
    }
}

/// What a thread says that may block.
async fn blocking(look: impl FnOnce() -> DoctorFinding + Send + 'static) -> DoctorFinding {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|error| DoctorFinding::failed(format!("it could not be looked at: {error}")))
}

async fn database(state: &DaemonExamination) -> DoctorFinding {
    let path = state.store.path().display();
    if let Some(error) = state.store.failing() {
        return DoctorFinding::failed(format!("nothing can be written to {path}: {error}"));
    }
    match state.store.examine().await {
        Ok(faults) if faults.is_empty() => DoctorFinding::ok(format!("{path} is whole")),
        Ok(faults) => {
            let hint = "stop the daemon and keep a copy of the file; what can be read of it, `sqlite3 FILE .recover` saves";
            DoctorFinding::failed(format!("{path} is damaged: {}", told(faults.into_iter()))).with_hint(hint)
        }
        Err(error) => DoctorFinding::failed(format!("{path} cannot be read: {error}")),
    }
}

/// The state folder: who can look into it, and how much room is there.
async fn disk(state: &DaemonExamination) -> DoctorFinding {
    let folder = state_folder(state);
    let reserve = state.store.missing_reserve().map(str::to_owned);
    blocking(move || {
        let shown = folder.display();
        let (mode, free) = match mode(&folder).and_then(|mode| Ok((mode, free_bytes(&folder)?))) {
            Ok(found) => found,
            Err(error) => return DoctorFinding::failed(format!("{shown} cannot be looked at: {error}")),
        };
        if mode & 0o077 != 0 {
            let message = format!(
                "{shown} is open to others (mode {mode:04o}); it holds all that agents said and read"
            );
            return DoctorFinding::failed(message).with_hint(format!("chmod 700 {shown}"));
        }
        let room = format!("{} MiB are free in {shown}", free >> 20);
        match reserve {
            Some(missing) => {
                DoctorFinding::warning(missing).with_hint("make room; the next start tries again")
            }
            None if free < LITTLE_ROOM => {
                DoctorFinding::warning(room).with_hint("make room: runs are parked when it is full")
            }
            None => DoctorFinding::ok(room),
        }
    })
    .await
}

fn state_folder(state: &DaemonExamination) -> PathBuf {
    state.store.path().parent().unwrap_or(Path::new(".")).to_owned()
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o7777)
}

fn free_bytes(folder: &Path) -> io::Result<u64> {
    let system = statvfs(folder)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

/// Settings and rules, as they were read last.
async fn settings(state: &DaemonExamination) -> DoctorFinding {
    let (mut problems, _) = settings_as_of_now(state).await;
    let files = state.workspaces.projects.rules().files();
    let rules = files.problems().cloned().collect();
    problems.extend(without_secrets(rules, &state.settings.redactor.get()));
    match idle_exclusions(&state.problems).await {
        Ok(idle) => problems.extend(idle),
        Err(error) => return DoctorFinding::failed(format!("the agents could not be read: {error}")),
    }
    match dead_names_in_force(&state.settings, &state.workspaces).await {
        Ok(dead) => problems.extend(dead),
        Err(error) => return DoctorFinding::failed(format!("the agents could not be read: {error}")),
    }
    match hooks_of(state, false).await {
        Ok(found) => problems.extend(found),
        Err(error) => return DoctorFinding::failed(format!("the hooks could not be read: {error}")),
    }
    let hint = "fix them and run `subagent reload`, which lists every one; `subagentd --check-config` checks before a start";
    of_problems(
        "the settings and rules have",
        problems,
        "settings and rules were read without a mistake",
        hint,
    )
}

/// What was wrong when the settings were read, as far as it still is, and the files that stop everything now. Where these cannot be looked at,
/// all that was wrong is told as it was.
async fn settings_as_of_now(state: &DaemonExamination) -> (Vec<FileProblem>, Vec<FileProblem>) {
    let problems = state.settings.get().problems.clone();
    match hook_problems::unreadable_files(&state.problems.inspection).await {
        Ok(unreadable) => (hook_problems::as_of_now(&problems, &unreadable), unreadable),
        Err(error) => {
            tracing::warn!(%error, "the files of settings could not be looked at");
            (problems, Vec::new())
        }
    }
}

/// What was wrong when the settings were read, as far as it still is, and the files that keep every prompt from being accepted now.
pub(super) async fn mistakes_of_settings(state: &DaemonExamination) -> Vec<FileProblem> {
    let (mut found, unreadable) = settings_as_of_now(state).await;
    let new: Vec<FileProblem> = unreadable.into_iter().filter(|it| !found.contains(it)).collect();
    found.extend(new);
    found
}

/// Everything that is wrong with hooks: those of agents' files, or the others that are no workspace's.
async fn hooks_of(state: &DaemonExamination, of_agents: bool) -> Result<Vec<FileProblem>, JoinError> {
    let project = state.workspaces.project(Vec::new()).await?;
    let is_agents = |path: &Path| project.catalog.with_hooks().any(|(_, file, _)| file == path);
    let mut found = hook_problems::problems_in_force(&state.problems.inspection).await?;
    let known = &state.settings.get().problems;
    found.retain(|it| is_agents(&it.path) == of_agents && !known.contains(it));
    Ok(found)
}

/// Rules, settings and hooks that people acknowledged where they work.
async fn projects(state: &DaemonExamination, workspace: &[String]) -> DoctorFinding {
    let found = async {
        let mut problems = project_problems(&state.problems).await?;
        let of_hooks = hook_problems::problems_of_projects(&state.problems.inspection, workspace).await?;
        let new: Vec<FileProblem> = of_hooks.into_iter().filter(|it| !problems.contains(it)).collect();
        problems.extend(new);
        Ok::<_, JoinError>(problems)
    };
    match found.await {
        Ok(problems) => of_problems(
            "the projects' rules, settings and hooks have",
            problems,
            "no project's rules, settings or hooks that count have a mistake",
            "fix them in the project, then `subagent trust` there: an edited file is asked about again",
        ),
        Err(error) => DoctorFinding::failed(format!("they could not be looked at: {error}")),
    }
}

/// The check of the agents' files: of the user's, of those built in, and of those of the project where somebody asks.
async fn agents(state: &DaemonExamination, workspace: &[String]) -> DoctorFinding {
    let project = match state.workspaces.project(workspace.iter().map(PathBuf::from).collect()).await {
        Ok(project) => project,
        Err(error) => return DoctorFinding::failed(format!("the agents could not be read: {error}")),
    };
    let agents = project.catalog.list(true, true);
    let usable =
        agents.iter().filter(|it| matches!(it.status, AgentStatus::Ok | AgentStatus::Unresolved)).count();
    let problems = agents.into_iter().flat_map(|agent| agent.problems).collect();
    let mut problems = without_secrets(problems, &state.settings.redactor.get());
    match hooks_of(state, true).await {
        Ok(found) => problems.extend(found),
        Err(error) => return DoctorFinding::failed(format!("the hooks could not be read: {error}")),
    }
    let all_well = format!("{usable} can be run");
    of_problems(
        "the agents' files have",
        problems,
        &all_well,
        "`subagent validate --all` checks each of them",
    )
}

/// Whether a saved file is noticed without being looked for.
async fn agent_folders(state: &DaemonExamination) -> DoctorFinding {
    let projects = state.workspaces.projects.clone();
    blocking(move || {
        let silent = projects.agents().silent();
        if silent.is_empty() {
            return DoctorFinding::ok("file watching works: saved agents count at once");
        }
        let message = format!(
            "agents' folders are looked at whenever somebody asks, which takes longer, and changes are told late: {}",
            told(silent.into_iter())
        );
        DoctorFinding::warning(message).with_hint(
            "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl); folders that other machines \
             share tell nothing",
        )
    })
    .await
}

fn of_problems(who_has: &str, problems: Vec<FileProblem>, all_well: &str, hint: &str) -> DoctorFinding {
    let has_errors = problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    let count = problems.len();
    let message = || {
        let noun = if count == 1 { "a mistake" } else { "mistakes" };
        format!("{who_has} {noun}: {}", told(problems.iter().map(ToString::to_string)))
    };
    match (count, has_errors) {
        (0, _) => DoctorFinding::ok(all_well),
        (_, true) => DoctorFinding::failed(message()).with_hint(hint),
        (_, false) => DoctorFinding::warning(message()).with_hint(hint),
    }
}

/// The first few, and how many more there are.
fn told(mut all: impl ExactSizeIterator<Item = String>) -> String {
    let count = all.len();
    let mut text = all.by_ref().take(MOST_TOLD).collect::<Vec<_>>().join("; ");
    if MOST_TOLD < count {
        text.push_str(&format!("; and {} more", count - MOST_TOLD));
    }
    text
}

/// The model of whoever names none, and its key.
async fn model(state: &DaemonExamination) -> DoctorFinding {
    let in_force = state.settings.get();
    let Some(name) = in_force.config.models.default.value.clone() else {
        return DoctorFinding::warning("no default model: each run or agent must name one")
            .with_hint("set `models.default` in the settings, e.g. to gemini/gemini-2.5-flash");
    };
    let (models, redactor) = (in_force.models.clone(), state.settings.redactor.get());
    blocking(move || match models.resolve(&name) {
        Ok(resolved) => DoctorFinding::ok(format!("{} is there, and has what it needs", resolved.name)),
        Err(error) => {
            DoctorFinding::failed(redactor.owned(error.to_string())).with_hint(redactor.owned(error.hint()))
        }
    })
    .await
}

/// Who reads the token of TCP can do what the owner can.
async fn token(state: &DaemonExamination) -> DoctorFinding {
    let address = state.life.tcp.get().copied();
    let path = state_folder(state).join(TOKEN_FILE);
    blocking(move || {
        let shown = path.display();
        match (key_file::read(&path), address) {
            (Ok(Some(_)), Some(address)) => {
                DoctorFinding::ok(format!("{address} takes the token in {shown}, which is the owner's alone"))
            }
            (Ok(_), None) => DoctorFinding::ok("TCP is off"),
            (Ok(None), Some(_)) => {
                DoctorFinding::failed(format!("{shown} is gone: nobody new can come in over TCP"))
                    .with_hint("restart the daemon; it makes another")
            }
            (Err(error), _) => DoctorFinding::failed(error.to_string()),
        }
    })
    .await
}

/// Whether whoever descends from an agent's tool is known at the door.
async fn callers(state: &DaemonExamination) -> DoctorFinding {
    if state.programs.children.is_alone() {
        DoctorFinding::ok("only your own programs can connect, nothing that an agent starts")
    } else {
        DoctorFinding::warning("the daemon shares its process with others: what an agent starts is not told from its owner's clients")
            .with_hint("run the program `subagentd`")
    }
}

/// What ended of itself since the daemon began.
async fn tasks(state: &DaemonExamination) -> DoctorFinding {
    match panicked(&state.life.writing) {
        Some(told) => {
            DoctorFinding::warning(told).with_hint("`subagent logs` has what it said; please report it")
        }
        None => DoctorFinding::ok("nothing of the daemon has failed by a defect of its own"),
    }
}

/// How often a task panicked, and which one did last.
pub(super) fn panicked(tasks: &TaskGroup) -> Option<String> {
    let (count, last) = tasks.panics();
    let last = last.last()?;
    Some(match count {
        1 => last.to_string(),
        _ => format!("{count} times a task of the daemon failed by a defect; the last time {last}"),
    })
}

async fn service(state: &DaemonExamination) -> DoctorFinding {
    let variable = |name: &str| {
        state
            .settings
            .sources
            .environment
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.to_string_lossy())
    };
    // systemd names the process that it executed (systemd.exec(5)); others inherit the variable. An older one names none,
    // and then has a socket to be told on.
    let is_executed = match variable("SYSTEMD_EXEC_PID") {
        Some(pid) => pid == std::process::id().to_string(),
        None => variable("NOTIFY_SOCKET").is_some(),
    };
    if is_executed {
        DoctorFinding::ok("systemd runs it, and restarts it when it ends")
    } else {
        DoctorFinding::ok("not run by systemd: it starts with the first client and not with the machine")
            .with_hint("`systemd/install` makes it a service")
    }
}
