//! Runs one hook and says how it ended. What its answer means is for others to say.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use super::{
    Hook, HookHandler, HookOutlook, HookServices, HookSettings, HookWorkspace,
    answer::HandlerEnd,
    outlook::{self, CommandSurroundings},
    own_scripts, pins,
};
use protocol::HookOutcome;
use redact::Redactor;
use sandbox::{CommandEnvironment, Sandbox, SandboxMechanism};
use sys::{
    clock::Clock,
    own_ground::OwnGround,
    owner_programs::OwnerPrograms,
    programs::{self, USUAL_PATH},
};

mod command;
mod http;
mod mcp_tool;
mod questions;

pub(super) use command::{CommandWait, RunningHook};

/// Everything that all handlers need.
#[derive(Clone)]
pub(super) struct HandlerParts {
    pub sandbox: Sandbox,
    pub environment: Arc<[(OsString, OsString)]>,
    pub clock: Arc<dyn Clock>,
    /// The shell that runs the text of a hook outside of a sandbox.
    pub shell: String,
    /// Folders in which programs are found that run outside of a sandbox, without links.
    pub program_folders: Arc<[PathBuf]>,
    /// The files of the owner's own hooks, and where agents could have written one.
    pub owner_programs: OwnerPrograms,
}

/// The progress of a handler has come.
pub(super) enum HandlerProgress {
    Ended(HandlerEnd),
    /// A command that runs, and the state of the files of the workspace that it runs.
    Running(Box<RunningHook>, ProgramStates),
}

/// The files of the workspace that a hook runs, as they were before it began.
#[derive(Default)]
pub(super) struct ProgramStates {
    programs: Vec<super::PinnedProgram>,
    states: Vec<pins::FileState>,
}

impl ProgramStates {
    /// The end of a hook, unless a file that it ran was another one meanwhile: then nobody knows what has answered.
    pub async fn end(self, end: HandlerEnd) -> HandlerEnd {
        if self.programs.is_empty() {
            return end;
        }
        let ProgramStates { programs, states } = self;
        let looked = tokio::task::spawn_blocking(move || pins::states(&programs) == states).await;
        match looked {
            Ok(true) => end,
            Ok(false) => HandlerEnd {
                failure: Some((
                    HookOutcome::Invalid,
                    "changed while it ran: a file that it runs is another one".to_owned(),
                )),
                ..end
            },
            Err(error) => HandlerEnd::failed(HookOutcome::Failed, format!("cannot be looked at: {error}")),
        }
    }
}

impl HandlerParts {
    /// Looks around: what an agent makes from now on is no folder of programs. Blocks for a moment.
    pub fn new(
        sandbox: Sandbox,
        environment: Vec<(OsString, OsString)>,
        clock: Arc<dyn Clock>,
        owner_programs: OwnerPrograms,
    ) -> HandlerParts {
        let variable = |wanted: &str| {
            environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str())
        };
        let (path, home) = (variable("PATH"), variable("HOME").map(Path::new));
        let shell = programs::of_system("bash", path)
            .or_else(|| programs::of_system("bash", Some(USUAL_PATH.as_ref())));
        HandlerParts {
            shell: shell.map_or_else(|| "/bin/bash".to_owned(), |shell| shell.to_string_lossy().into_owned()),
            program_folders: programs::folders_of_person(path, home).into(),
            sandbox,
            environment: environment.into(),
            clock,
            owner_programs,
        }
    }

    /// The `PATH` of a hook outside of a sandbox: what agents may write, in this workspace or in another, is not in it. Blocks on the file
    /// system.
    pub fn path_outside(&self, roots: &[PathBuf]) -> String {
        let is_inside = |folder: &PathBuf| roots.iter().any(|root| folder.starts_with(root));
        let worked = self.owner_programs.worked_folders();
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        let ground = OwnGround::of_process(&worked, home.map(|(_, value)| Path::new(value)));
        let folders = self.program_folders.iter();
        let folders = folders.filter(|folder| !is_inside(folder) && !ground.is_of_agents(folder));
        let folders: Vec<&str> = folders.filter_map(|folder| folder.to_str()).collect();
        if folders.is_empty() { USUAL_PATH.to_owned() } else { folders.join(":") }
    }

    /// The hook as it runs now: one of a person's own is confined where agents of whatever session could have written what it runs, reads or
    /// writes. `roots`: the workspace's folders.
    pub async fn as_it_runs(&self, hook: Arc<Hook>, roots: &[PathBuf]) -> Arc<Hook> {
        if !may_be_led(&hook) {
            return hook;
        }
        let (parts, looked_at, roots) = (self.clone(), Arc::clone(&hook), roots.to_vec());
        let looking = tokio::task::spawn_blocking(move || parts.led(&looked_at, &roots));
        match looking.await {
            Ok(None) => hook,
            Ok(Some(led)) => Arc::new(led),
            Err(error) => Arc::new(hook.led(format!("its files cannot be looked at: {error}"))),
        }
    }

    /// The hook as it is confined now, though its text alone would leave it out of a sandbox; `None` = it runs as its text says. Blocks on the
    /// file system.
    pub fn led(&self, hook: &Hook, roots: &[PathBuf]) -> Option<Hook> {
        let around = (&*self.program_folders, &self.owner_programs.worked_folders());
        let why = may_be_led(hook)
            .then(|| own_scripts::led_astray(&hook.handler, roots, &self.environment, around))
            .flatten()?;
        Some(hook.led(why))
    }

    /// The reason why a hook cannot be asked in a workspace, as far as that can be told without running it. Blocks on the file system.
    pub fn outlook(
        &self,
        hook: &Hook,
        roots: &[PathBuf],
        (settings, redactor): (&HookSettings, &Redactor),
    ) -> Option<HookOutlook> {
        let root = roots.first()?;
        let led = self.led(hook, roots);
        let hook = led.as_ref().unwrap_or(hook);
        let environment = self.told_to(hook, settings, redactor);
        let around = self.around(hook, (root, roots), &environment);
        outlook::outlook(hook, &around).or_else(|| {
            let is_command = matches!(hook.handler, HookHandler::Command { .. });
            let Some(SandboxMechanism::Nothing(why)) = self.sandbox.known_mechanism() else { return None };
            let is_kept = is_command && hook.state == super::HookState::On && hook.is_confined();
            let why = format!("no sandbox works here, and it runs in one only: {why}");
            is_kept.then_some(HookOutlook { why, comes_of_it: hook.on_failure })
        })
    }

    /// A sentence about what is odd in a hook's command, though it may work; `None` = nothing.
    pub fn warning(
        &self,
        hook: &Hook,
        roots: &[PathBuf],
        (settings, redactor): (&HookSettings, &Redactor),
    ) -> Option<String> {
        let root = roots.first()?;
        let environment = self.told_to(hook, settings, redactor);
        outlook::warning(hook, &self.around(hook, (root, roots), &environment))
    }

    /// The variables that a hook's command gets in every run, and those that a person named for it and that it does not get.
    fn told_to(&self, hook: &Hook, settings: &HookSettings, redactor: &Redactor) -> CommandEnvironment {
        let mut environment = CommandEnvironment::of(&self.environment, &settings.environment, redactor);
        if !hook.is_confined() {
            environment.pass_withheld(&self.environment, &settings.environment);
        }
        environment.withheld.retain(|name| settings.environment.contains(name));
        environment
    }

    fn around<'a>(
        &self,
        hook: &Hook,
        (root, roots): (&'a Path, &[PathBuf]),
        environment: &'a CommandEnvironment,
    ) -> CommandSurroundings<'a> {
        let path = match hook.is_confined() {
            true => environment.get("PATH").unwrap_or(USUAL_PATH).to_owned(),
            false => self.path_outside(roots),
        };
        CommandSurroundings { root, environment, path }
    }

    /// Begins a hook's work; a command goes on when this returns, everything else has ended. `input`: what it reads.
    pub async fn begin(
        &self,
        hook: &Hook,
        input: &Value,
        workspace: &HookWorkspace,
        services: &dyn HookServices,
    ) -> HandlerProgress {
        let ended = |end| HandlerProgress::Ended(end);
        let states = match self.unchanged(hook).await {
            Ok(states) => states,
            Err(why) => {
                return ended(HandlerEnd::failed(HookOutcome::NotStarted, format!("was not run: {why}")));
            }
        };
        let bounded = async {
            match &hook.handler {
                HookHandler::Unreadable { mistake, of_file } => {
                    let why = if *of_file { mistake.clone() } else { format!("cannot be asked: {mistake}") };
                    ended(HandlerEnd::failed(HookOutcome::NotStarted, why))
                }
                HookHandler::Command { command, args } => {
                    match command::start(self, hook, (command, args.as_deref()), input, workspace, services)
                        .await
                    {
                        Ok(running) => HandlerProgress::Running(Box::new(running), states),
                        Err(why) => ended(HandlerEnd::failed(HookOutcome::NotStarted, why)),
                    }
                }
                HookHandler::Http { .. } => ended(http::post(self, hook, input, workspace).await),
                HookHandler::McpTool { server, tool, input: given } => {
                    let is_own = hook.origin.is_own();
                    ended(mcp_tool::call(services, (server, tool), (given, input), is_own).await)
                }
                HookHandler::Prompt { prompt, model } => {
                    let asked = (hook.id.as_str(), prompt.as_str());
                    ended(questions::ask_model(services, asked, model.as_deref(), input).await)
                }
                HookHandler::Agent { prompt, model } => {
                    let asked = (hook.id.as_str(), prompt.as_str(), hook.origin.is_own());
                    ended(questions::ask_agent(services, asked, model.as_deref(), input).await)
                }
            }
        };
        tokio::select! {
            biased;
            progress = bounded => progress,
            () = self.clock.sleep(hook.timeout) => ended(timed_out(hook.timeout)),
        }
    }

    /// The files that it runs, which are what a person acknowledged: looked at once more, right before it runs. Else what is not.
    async fn unchanged(&self, hook: &Hook) -> Result<ProgramStates, String> {
        if let super::HookState::Changed { reason } = &hook.state {
            return Err(reason.clone());
        }
        if hook.origin.is_own()
            && let Some(why) = self.refused_script(hook).await
        {
            return Err(why);
        }
        if hook.programs.is_empty() {
            return Ok(ProgramStates::default());
        }
        let programs = hook.programs.clone();
        let looked = tokio::task::spawn_blocking(move || {
            // Before they are read: what changes meanwhile is seen at the end.
            let states = pins::states(&programs);
            match pins::changed(&programs) {
                None => Ok(ProgramStates { programs, states }),
                Some(why) => Err(why),
            }
        });
        looked.await.unwrap_or_else(|error| Err(format!("its programs cannot be looked at: {error}")))
    }

    /// The reason why a command of the owner's own must not be run: an agent of whatever workspace could have written a file of it.
    async fn refused_script(&self, hook: &Hook) -> Option<String> {
        if !matches!(hook.handler, HookHandler::Command { .. }) {
            return None;
        }
        let (parts, handler) = (self.clone(), hook.handler.clone());
        let files = hook.programs.iter().map(|program| Path::new(&program.root).join(&program.path));
        let pinned: Vec<PathBuf> = files.collect();
        let looked = tokio::task::spawn_blocking(move || {
            let script = own_scripts::of_handler(&handler, &parts.environment, &parts.program_folders)?;
            parts.owner_programs.refused_script(&script, &pinned)
        });
        looked.await.unwrap_or_else(|error| Some(format!("its files cannot be looked at: {error}")))
    }
}

/// True of a command that runs outside of a sandbox by its text.
fn may_be_led(hook: &Hook) -> bool {
    matches!(hook.handler, HookHandler::Command { .. }) && !hook.is_confined()
}

fn timed_out(time: Duration) -> HandlerEnd {
    let why = format!("took more than {} s and was ended", time.as_secs_f64());
    HandlerEnd::failed(HookOutcome::TimedOut, why)
}
