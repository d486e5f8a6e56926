//! Which hooks cannot work as they are written, and what would come of it? For whoever lists hooks or has the daemon looked at.

use std::{path::PathBuf, sync::Arc};

use tokio::task::JoinError;

use super::{hook_control::HookControl, redaction::shown_command};
use hooks::{HookFailurePolicy, HookId, HookOutlook, HookPlacesRead, HookState};
use protocol::HookConfinement;
use redact::Redactor;

/// Everything that is told of a hook that is on before anybody needs it, without secrets.
#[derive(Default)]
pub(super) struct ToldOutlook {
    /// The reason why it cannot be asked, and what comes of that.
    pub fault: Option<HookOutlook>,
    /// A sentence about what is odd in its command, though it may work.
    pub warning: Option<String>,
    /// The place where its command runs as its files are now, where its text alone does not decide that.
    pub confinement: Option<HookConfinement>,
}

/// The hooks of a workspace of which there is something to tell, in their order; none where there is no workspace. Nothing is run.
pub(super) async fn of_hooks(
    hooks: &HookControl,
    redactor: Arc<Redactor>,
    read: &Arc<HookPlacesRead>,
    roots: Vec<PathBuf>,
) -> Result<Vec<(HookId, ToldOutlook)>, JoinError> {
    let runner = hooks.runner.clone();
    let (read, configuration) = (Arc::clone(read), hooks.in_force.configuration());
    let looking = move || {
        let settings = (&configuration.settings, &*redactor);
        let on = read.set.hooks().iter().filter(|hook| hook.state == HookState::On);
        let told = on.map(|hook| {
            let fault = runner.outlook(hook, &roots, settings);
            let fault = fault.map(|it| HookOutlook { why: redactor.owned(it.why), ..it });
            let warning = runner.warning(hook, &roots, settings).map(|text| redactor.owned(text));
            let confinement = runner.confinement_now(hook, &roots, |words| shown_command(words, &redactor));
            (hook.id.clone(), ToldOutlook { fault, warning, confinement })
        });
        let is_told =
            |it: &ToldOutlook| it.fault.is_some() || it.warning.is_some() || it.confinement.is_some();
        told.filter(|(_, it)| is_told(it)).collect()
    };
    tokio::task::spawn_blocking(looking).await
}

/// The words for what comes of a hook that cannot be asked.
pub(super) fn outcome(means: HookFailurePolicy) -> &'static str {
    match means {
        HookFailurePolicy::Continue => "it does nothing",
        HookFailurePolicy::Block => "it refuses what it guards",
        HookFailurePolicy::Ask => "a person is asked",
    }
}
