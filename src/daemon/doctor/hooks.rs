//! Which hooks hold where somebody asks, where do they run, and can those that need a sandbox be run?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{hook_outlooks, redaction::shown_command},
    DaemonExamination, DoctorFinding, told,
};
use hooks::{Hook, HookFailurePolicy, HookState};
use sandbox::SandboxMechanism;

/// Advice about a hook of their own that runs in a sandbox.
const OUT_OF_SANDBOX: &str = "a hook of yours that must write your home or reach more than commands do: put it into a script of yours outside of all \
     workspaces, such as ~/.config/subagentd/hooks/x.sh, and name that by its full path";

pub(super) async fn check(state: &DaemonExamination, workspace: &[String]) -> DoctorFinding {
    let read = match state.hooks.of(workspace.to_vec()).await {
        Ok(read) => read,
        Err(error) => return DoctorFinding::failed(format!("they could not be read: {error}")),
    };
    let redactor = state.settings.redactor.get();
    // Of a person's own nobody can tell without a workspace whether they name a file of one.
    let is_known = |hook: &Hook| !workspace.is_empty() || !hook.origin.is_own();
    let roots = workspace.iter().map(PathBuf::from).collect();
    let mut outlooks =
        match hook_outlooks::of_hooks(&state.hooks, state.settings.redactor.get(), &read, roots).await {
            Ok(outlooks) => outlooks,
            Err(error) => return DoctorFinding::failed(format!("they could not be looked at: {error}")),
        };
    let on = read.set.hooks().iter().filter(|hook| hook.state == HookState::On);
    let (mut confined, mut count, mut has_own) = (Vec::new(), 0_usize, false);
    for hook in on {
        count += 1;
        let outlook = outlooks.iter_mut().find(|(id, _)| *id == hook.id);
        let now = outlook.and_then(|(_, outlook)| outlook.confinement.take());
        let found = now.or_else(|| hook.confinement(|words| shown_command(words, &redactor)));
        if let Some(found) = found.filter(|it| it.confined && is_known(hook)) {
            confined.push(format!("{}: {}", hook.id, found.reason.replace('\n', "⏎")));
            has_own |= hook.origin.is_own();
        }
    }
    let refuses =
        |hook: &&Arc<Hook>| hook.state == HookState::Broken && hook.on_failure != HookFailurePolicy::Continue;
    let broken: Vec<String> =
        read.set.hooks().iter().filter(refuses).map(|hook| hook.id.to_string()).collect();
    if !broken.is_empty() {
        return DoctorFinding::failed(format!(
            "these cannot be read, so what they may guard is refused: {}",
            told(broken.into_iter())
        ))
        .with_hint("`subagent hooks list` names the file and what is wrong in it");
    }
    if count == 0 {
        return DoctorFinding::ok("no hook is on");
    }
    let hooks = if count == 1 { "1 hook is on".to_owned() } else { format!("{count} hooks are on") };
    let finding = of_places(state, &hooks, (&confined, has_own), workspace);
    outlooks.retain(|(_, outlook)| outlook.fault.is_some() || outlook.warning.is_some());
    if outlooks.is_empty() {
        return finding;
    }
    let odd = outlooks.into_iter().map(|(id, it)| {
        let fault = it.fault.map(|it| format!("{}, so {}", it.why, hook_outlooks::outcome(it.comes_of_it)));
        let told: Vec<String> = fault.into_iter().chain(it.warning).collect();
        format!("{id}: {}", told.join("; "))
    });
    let odd = told(odd.collect::<Vec<_>>().into_iter());
    let usual =
        "mend what it runs, or `subagent hooks disable ID`; `subagent hooks test ID` shows what it says";
    let hint = match finding.hint {
        Some(hint) if hint == OUT_OF_SANDBOX => format!("{usual}; {hint}"),
        Some(hint) => hint,
        None => usual.to_owned(),
    };
    DoctorFinding::warning(format!("{}; {odd}", finding.message)).with_hint(hint)
}

/// The finding about the place where hooks run.
fn of_places(
    state: &DaemonExamination,
    hooks: &str,
    (confined, has_own): (&[String], bool),
    workspace: &[String],
) -> DoctorFinding {
    if confined.is_empty() {
        let where_asked = if workspace.is_empty() { "" } else { ", and none runs in a sandbox here" };
        return DoctorFinding::ok(format!("{hooks}{where_asked}"));
    }
    let number = confined.len();
    let named = told(confined.iter().cloned());
    match state.programs.commands.sandbox.known_mechanism() {
        Some(SandboxMechanism::Nothing(why)) => DoctorFinding::warning(format!(
            "{hooks}; {number} may run in a sandbox only and cannot be run, since none works here ({why}), so what they guard is refused: {named}"
        ))
        .with_hint("install the package `bubblewrap`"),
        _ => {
            let finding = DoctorFinding::ok(format!("{hooks}, {number} of them in a sandbox: {named}"));
            if has_own { finding.with_hint(OUT_OF_SANDBOX) } else { finding }
        }
    }
}
