//! Hooks for which nobody waits: what becomes of what they say?
//!
//! Their run takes it while it goes on. What comes later, and what belongs to no run, goes to whoever keeps the session's log.

use std::{sync::Arc, time::Duration};

use super::HookRunner;
use crate::{
    AsyncHookEnd, Hook, HookContext, HookFiring, HookServices, HookWorkspace,
    answer::{HandlerEnd, cut},
    combining::{CountedAnswer, passed_over},
    handlers::{CommandWait, HandlerProgress, RunningHook},
    records::{AskedHook, record},
    stdin,
};
use protocol::{HookFired, HookOutcome};

/// Asynchronous hooks of this daemon that run at once: one that is started at each call must not pile up.
pub(super) const MOST_ASYNC: usize = 64;

impl HookRunner {
    /// Begins a hook for which nobody waits.
    pub(super) fn begin_async(
        &self,
        hook: Arc<Hook>,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) {
        let (runner, firing, workspace) = (self.clone(), firing.clone(), workspace.clone());
        let services = Arc::clone(services);
        let place = Arc::clone(&self.shared.async_places).try_acquire_owned();
        let Ok(place) = place else {
            let why = format!("was not run: {MOST_ASYNC} asynchronous hooks run already");
            let end = HandlerEnd::failed(HookOutcome::NotStarted, why);
            let asked = self.heard(0, hook, end, (&firing, &workspace), Duration::ZERO);
            return self.note_async(asked, &firing, &services);
        };
        let _counted_by_its_group = self.shared.tasks.spawn("an asynchronous hook", async move {
            let parts = &runner.shared.parts;
            let begun = parts.clock.monotonic();
            let hook = parts.as_it_runs(hook, &workspace.roots).await;
            let input = stdin::written(&hook, &firing, &workspace, parts.clock.now());
            let working = async {
                match parts.begin(&hook, &input, &workspace, services.as_ref()).await {
                    HandlerProgress::Ended(end) => end,
                    HandlerProgress::Running(mut running, programs) => {
                        match running.wait(hook.timeout, false).await {
                            CommandWait::Ended(end) => programs.end(end).await,
                            CommandWait::WentAsync(_) => HandlerEnd::default(),
                        }
                    }
                }
            };
            let end = runner.told_of(working, (&*hook, &firing), &services).await.beside(&input);
            let took = parts.clock.monotonic().saturating_sub(begun);
            runner.note_async(runner.heard(0, hook, end, (&firing, &workspace), took), &firing, &services);
            drop(place);
        });
    }

    /// Stays with a hook that said it goes on.
    pub(super) fn go_on(
        &self,
        mut running: Box<RunningHook>,
        (hook, time): (Arc<Hook>, Duration),
        (firing, workspace): (&HookFiring, &HookWorkspace),
        services: &Arc<dyn HookServices>,
        begun: Duration,
    ) {
        let (runner, firing, workspace) = (self.clone(), firing.clone(), workspace.clone());
        let services = Arc::clone(services);
        let Ok(place) = Arc::clone(&self.shared.async_places).try_acquire_owned() else {
            // It ends here, with what it had to do.
            let why = format!("was ended: {MOST_ASYNC} asynchronous hooks run already");
            let end = HandlerEnd::failed(HookOutcome::Failed, why);
            let took = self.shared.parts.clock.monotonic().saturating_sub(begun);
            let asked = self.heard(0, hook, end, (&firing, &workspace), took);
            return self.note_async(asked, &firing, &services);
        };
        let _counted_by_its_group = self.shared.tasks.spawn("an asynchronous hook", async move {
            let CommandWait::Ended(end) = running.wait(time, false).await else { return };
            let took = runner.shared.parts.clock.monotonic().saturating_sub(begun);
            runner.note_async(runner.heard(0, hook, end, (&firing, &workspace), took), &firing, &services);
            drop(place);
        });
    }

    /// Keeps what an asynchronous hook said until its run asks. Where none does, it is for the session's log.
    fn note_async(&self, asked: AskedHook, firing: &HookFiring, services: &Arc<dyn HookServices>) {
        let AskedHook { hook, end, answer, took, started_at, confinement, .. } = asked;
        let rewake = (hook.async_rewake && end.exit_code == Some(2)).then(|| {
            // Without a complaint its plain output is what it has to say.
            let printed = Some(end.stdout.trim()).filter(|text| !text.is_empty() && !text.starts_with('{'));
            let reason = answer.reason.clone().or_else(|| printed.map(str::to_owned));
            let reason = reason.unwrap_or_else(|| format!("the hook {} wants it seen", hook.id));
            cut(&reason).0
        });
        let context = answer.context.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(|text| {
            let (text, whole) = cut(text);
            HookContext { hook: hook.id.clone(), text, whole }
        });
        let mut warnings: Vec<String> = answer.message.iter().map(|message| cut(message).0).collect();
        warnings.extend(answer.ignored.iter().map(|ignored| passed_over(&hook, ignored)));
        if let Some((_, why)) = &answer.failure {
            warnings.push(cut(&format!("the hook {} {why}", hook.id)).0);
        }
        let counted = CountedAnswer {
            added: context.as_ref().map(|context| context.text.clone()).or(rewake.clone()),
            message: answer.message.as_deref().map(|message| cut(message).0),
            reason: answer.failure.as_ref().map(|(_, why)| why.clone()).or(answer.reason.clone()),
            ..CountedAnswer::default()
        };
        let record = HookFired {
            started_at: Some(started_at),
            confinement,
            ..record(&hook, &end, &answer, counted, firing, took)
        };
        self.note_last(std::slice::from_ref(&record));
        // It comes after the others of its firing, so it is one of its own.
        let record =
            HookFired { firing_id: format!("{}:{}", firing.firing_id, hook.id), is_async: true, ..record };
        let end = AsyncHookEnd { record, context, rewake, warnings };
        match &firing.run_id {
            Some(run) => self.shared.inboxes.put(run, end, services),
            None => services.ended_late(end),
        }
    }
}
