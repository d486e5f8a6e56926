//! Which hooks hold where somebody asks, where do they run, and can those that need a sandbox be run?

use super::{
    super::{redaction::shown_command, state::DaemonContext},
    DoctorFinding, told,
};
use hooks::{Hook, HookState};
use sandbox::SandboxMechanism;

pub(super) async fn check(state: &DaemonContext, workspace: &[String]) -> DoctorFinding {
    let read = match state.hooks_of(workspace.to_vec()).await {
        Ok(read) => read,
        Err(error) => return DoctorFinding::failed(format!("they could not be read: {error}")),
    };
    let redactor = state.redactor.get();
    // Of a person's own nobody can tell without a workspace whether they name a file of one.
    let is_known = |hook: &Hook| !workspace.is_empty() || !hook.origin.is_own();
    let on = read.set.hooks().iter().filter(|hook| hook.state == HookState::On);
    let (mut confined, mut count) = (Vec::new(), 0_usize);
    for hook in on {
        count += 1;
        let found = hook.confinement(|words| shown_command(words, &redactor));
        if let Some(found) = found.filter(|it| it.confined && is_known(hook)) {
            confined.push(format!("{}: {}", hook.id, found.why.replace('\n', "⏎")));
        }
    }
    if count == 0 {
        return DoctorFinding::ok("no hook is on");
    }
    let hooks = if count == 1 { "1 hook is on".to_owned() } else { format!("{count} hooks are on") };
    if confined.is_empty() {
        let where_asked = if workspace.is_empty() { "" } else { ", and none runs in a sandbox here" };
        return DoctorFinding::ok(format!("{hooks}{where_asked}"));
    }
    let number = confined.len();
    let named = told(confined.into_iter());
    match state.commands.sandbox.known_mechanism() {
        Some(SandboxMechanism::Nothing(why)) => DoctorFinding::warning(format!(
            "{hooks}; {number} may run in a sandbox only and cannot be run, since none works here ({why}), so what they guard is refused: {named}"
        ))
        .with_hint("install the package `bubblewrap`"),
        _ => DoctorFinding::ok(format!("{hooks}, {number} of them in a sandbox: {named}")),
    }
}
