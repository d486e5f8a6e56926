//! Runs the hooks of an event and says what came of it.
//!
//! All that match run at once, sixteen at a time, those of a sequential group one after the other. What they answer is merged
//! in the order of their origins. Arguments that hooks changed are shown to the other guards again (`settling.rs`), so that each has
//! seen what runs.

use std::{
    collections::HashMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::sync::{OnceCell, Semaphore};

use super::{
    AsyncHookEnds, FiredHooks, Hook, HookFailurePolicy, HookFiring, HookId, HookOutlook, HookServices,
    HookSet, HookSettings, HookWorkspace,
    answer::HandlerEnd,
    async_ends::AsyncInboxes,
    combining::VerdictBuilder,
    event,
    handlers::{CommandWait, HandlerParts, HandlerProgress},
    records::{AskedHook, counted, heard, interrupted},
    stdin,
};
use protocol::{HookConfinement, HookDecision, HookEventName, HookFired, HookOutcome, RunId, Timestamp};
use redact::Redactor;
use sandbox::Sandbox;
use sys::{clock::Clock, owner_programs::OwnerPrograms, tasks::TaskGroup};

mod asynchronous;
mod page_by_page;
mod settling;
mod trial;

use asynchronous::MOST_ASYNC;
use page_by_page::page_by_page;
pub use trial::HookTrial;

/// Hooks of one event that run at once (spec 08).
const AT_ONCE: usize = 16;

/// The time after which a hook that has not answered is told of. A person who looks on begins to wonder then; nearly all hooks are
/// over by then, and cost nothing.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// Hooks of which the last end is known.
const MOST_KNOWN: usize = 1_000;

/// Everything that every firing of this daemon needs. A cheap handle.
#[derive(Clone)]
pub struct HookRunner {
    shared: Arc<HookRunnerInner>,
}

struct HookRunnerInner {
    parts: HandlerParts,
    tasks: TaskGroup,
    async_places: Arc<Semaphore>,
    inboxes: AsyncInboxes,
    last: Mutex<HashMap<HookId, LastHookAnswer>>,
    /// Set when the answers are known that hooks gave an earlier daemon.
    recalled: OnceCell<()>,
}

/// The outcome of a hook the last time that is known of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastHookAnswer {
    pub at: Timestamp,
    pub outcome: HookOutcome,
    pub decision: Option<HookDecision>,
    /// Only of one that failed; to be read after the hook's name.
    pub why_it_failed: Option<String>,
}

/// Hooks that are asked one after the other, with their places among all and what each is asked: of a sequential group, or one alone.
type AskingUnit = (Option<u32>, Vec<(usize, Arc<Hook>, Arc<HookFiring>)>);

impl HookRunner {
    /// `environment`: the daemon's own; hooks get what every command gets of it. `tasks`: what asynchronous hooks run in.
    /// `owner_programs`: knows the files of the owner's own hooks.
    pub fn new(
        sandbox: Sandbox,
        environment: Vec<(OsString, OsString)>,
        clock: Arc<dyn Clock>,
        tasks: TaskGroup,
        owner_programs: OwnerPrograms,
    ) -> HookRunner {
        HookRunner {
            shared: Arc::new(HookRunnerInner {
                parts: HandlerParts::new(sandbox, environment, clock, owner_programs),
                tasks,
                async_places: Arc::new(Semaphore::new(MOST_ASYNC)),
                inboxes: AsyncInboxes::default(),
                last: Mutex::default(),
                recalled: OnceCell::new(),
            }),
        }
    }

    /// Fires an event. Dropping the future ends every process that it started. Where no hook matches, nothing is done.
    pub async fn fire(
        &self,
        set: &HookSet,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) -> FiredHooks {
        let matching = set.matching(firing);
        if matching.is_empty() {
            return FiredHooks::default();
        }
        let event = firing.facts.event();
        // Who only watches is told once at most; who guards something is asked until it has answered.
        let is_told_again = |hook: &Arc<Hook>| {
            // Each start of the daemon starts the session anew, whoever was told of the one before.
            firing.attempt <= 1
                || event == HookEventName::SessionStart
                || event::is_guard(event)
                || hook.on_failure != HookFailurePolicy::Continue
        };
        let (matching, interrupted): (Vec<_>, Vec<_>) = matching.into_iter().partition(is_told_again);
        let mut records: Vec<HookFired> =
            interrupted.iter().map(|hook| self::interrupted(hook, firing)).collect();
        let asked = self.ask_all(matching, firing, workspace, services).await;
        let deferred = asked.iter().filter(|asked| asked.answer.goes_async.is_some());
        let deferred: Vec<HookId> = deferred.map(|asked| asked.hook.id.clone()).collect();
        let all_asked: Vec<HookId> = asked.iter().map(|asked| asked.hook.id.clone()).collect();
        let builder = VerdictBuilder::new(firing, set.root());
        let mut verdict = counted(builder, asked, firing, &mut records);
        if event::is_guard(event) {
            let told = |hook: &HookId| format!("the hook {hook} goes on by itself, so it decided nothing");
            verdict.warnings.extend(deferred.iter().map(told));
        }
        if event == HookEventName::PreToolUse {
            let asking = (set, firing, workspace, services);
            verdict = self.settle_changes((verdict, all_asked), asking, &mut records).await;
        }
        self.note_last(&records);
        FiredHooks { verdict, records, deferred }
    }

    /// Everything that asynchronous hooks of this run say from now on.
    pub fn attend(&self, run: &RunId) -> AsyncHookEnds {
        self.shared.inboxes.attend(run)
    }

    /// The outcome of a hook the last time that is known of.
    pub fn last(&self, hook: &HookId) -> Option<LastHookAnswer> {
        self.lasts().get(hook).cloned()
    }

    /// Takes in what hooks answered to an earlier daemon, oldest first, as `read` knows it. It is read once, until that succeeds.
    pub async fn recall<E>(
        &self,
        read: impl Future<Output = Result<Vec<(Timestamp, HookFired)>, E>>,
    ) -> Result<(), E> {
        let recalling = || async {
            for (at, record) in read.await? {
                self.note(at, &record);
            }
            Ok(())
        };
        self.shared.recalled.get_or_try_init(recalling).await?;
        Ok(())
    }

    fn note_last(&self, records: &[HookFired]) {
        let at = self.shared.parts.clock.now();
        records.iter().for_each(|record| self.note(at, record));
    }

    fn note(&self, at: Timestamp, record: &HookFired) {
        let id = HookId::from(record.hook_id.as_str());
        let mut lasts = self.lasts();
        let is_newer = lasts.get(&id).is_none_or(|known| known.at <= at);
        if is_newer && (lasts.len() < MOST_KNOWN || lasts.contains_key(&id)) {
            let why_it_failed = record.reason.clone().filter(|_| record.outcome != HookOutcome::Answered);
            let (outcome, decision) = (record.outcome, record.decision);
            lasts.insert(id, LastHookAnswer { at, outcome, decision, why_it_failed });
        }
    }

    fn lasts(&self) -> MutexGuard<'_, HashMap<HookId, LastHookAnswer>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason why a run could not ask a hook, and what comes of that; `None` = as far as can be told without running it, it can.
    /// Blocks on the file system.
    pub fn outlook(
        &self,
        hook: &Hook,
        roots: &[PathBuf],
        settings: (&HookSettings, &Redactor),
    ) -> Option<HookOutlook> {
        self.shared.parts.outlook(hook, roots, settings)
    }

    /// The place where a hook's command runs as its files are now, and the reason; none where its text alone decides that. `shown`: as for
    /// [`Hook::confinement`]. Blocks on the file system.
    pub fn confinement_now(
        &self,
        hook: &Hook,
        roots: &[PathBuf],
        shown: impl FnOnce(String) -> String,
    ) -> Option<HookConfinement> {
        self.shared.parts.led(hook, roots)?.confinement(shown)
    }

    /// A sentence about a variable without a value in a hook's command, which may work all the same.
    pub fn warning(
        &self,
        hook: &Hook,
        roots: &[PathBuf],
        settings: (&HookSettings, &Redactor),
    ) -> Option<String> {
        self.shared.parts.warning(hook, roots, settings)
    }

    /// Asks hooks, at most sixteen at once; in their order.
    async fn ask_all(
        &self,
        hooks: Vec<Arc<Hook>>,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) -> Vec<AskedHook> {
        let firing = Arc::new(firing.clone());
        let mut units: Vec<AskingUnit> = Vec::new();
        let mut at = 0;
        for hook in hooks {
            for firing in page_by_page(&hook, &firing) {
                at += 1;
                let (hook, sequence) = (Arc::clone(&hook), hook.sequence);
                if hook.is_async {
                    self.begin_async(hook, &firing, workspace, services);
                    continue;
                }
                match units.iter_mut().find(|(known, _)| known.is_some() && *known == sequence) {
                    Some((_, unit)) => unit.push((at, hook, firing)),
                    None => units.push((sequence, vec![(at, hook, firing)])),
                }
            }
        }
        let units = stream::iter(units).map(|(_, unit)| async move {
            let mut asked = Vec::with_capacity(unit.len());
            for (at, hook, firing) in unit {
                asked.push(self.ask(at, hook, &firing, workspace, services).await);
            }
            asked
        });
        let asked: Vec<Vec<AskedHook>> = units.buffer_unordered(AT_ONCE).collect().await;
        let mut asked: Vec<AskedHook> = asked.into_iter().flatten().collect();
        asked.sort_by_key(|it| it.at);
        asked
    }

    /// Asks one hook and waits for its answer. One that says that it goes on by itself is left to.
    async fn ask(
        &self,
        at: usize,
        hook: Arc<Hook>,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) -> AskedHook {
        let asking = self.ask_in_time(at, Arc::clone(&hook), firing, workspace, services);
        self.told_of(asking, (&*hook, firing), services).await
    }

    /// Waits for what a hook comes to; those who look on hear of it when that takes long.
    async fn told_of<T>(
        &self,
        work: impl Future<Output = T>,
        (hook, firing): (&Hook, &HookFiring),
        services: &Arc<dyn HookServices>,
    ) -> T {
        let clock = &self.shared.parts.clock;
        let begun = clock.monotonic();
        tokio::pin!(work);
        tokio::select! {
            biased;
            end = &mut work => return end,
            () = clock.sleep(TOLD_AFTER) => (),
        }
        services.goes_on(hook, firing, clock.monotonic().saturating_sub(begun));
        work.await
    }

    async fn ask_in_time(
        &self,
        at: usize,
        hook: Arc<Hook>,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) -> AskedHook {
        let clock = &self.shared.parts.clock;
        let begun = clock.monotonic();
        let hook = self.shared.parts.as_it_runs(hook, &workspace.roots).await;
        let input = stdin::written(&hook, firing, workspace, clock.now());
        let is_guard =
            event::is_guard(firing.facts.event()) || hook.on_failure != HookFailurePolicy::Continue;
        let progress = self.shared.parts.begin(&hook, &input, workspace, services.as_ref()).await;
        let end = match progress {
            HandlerProgress::Ended(end) => end,
            // A guard is waited for, whatever it prints: words of the agent that it guards may be among that.
            HandlerProgress::Running(mut running, programs) => {
                match running.wait(hook.timeout, !is_guard).await {
                    CommandWait::Ended(end) => programs.end(end).await,
                    CommandWait::WentAsync(time) => {
                        let time = time.map_or(hook.timeout, Duration::from_millis).min(hook.timeout);
                        self.go_on(running, (Arc::clone(&hook), time), (firing, workspace), services, begun);
                        HandlerEnd { goes_async: Some(None), ..HandlerEnd::default() }
                    }
                }
            }
        };
        let took = clock.monotonic().saturating_sub(begun);
        self.heard(at, hook, end.beside(&input), (firing, workspace), took)
    }

    /// Reads what a hook said. A run is told once of fields that mean nothing.
    fn heard(
        &self,
        at: usize,
        hook: Arc<Hook>,
        end: HandlerEnd,
        (firing, workspace): (&HookFiring, &HookWorkspace),
        took: Duration,
    ) -> AskedHook {
        let took_us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        let started_at = Timestamp(self.shared.parts.clock.now().0.saturating_sub(took_us));
        let mut asked = heard(at, hook, end, (firing, workspace), (started_at, took));
        let is_told = |run| self.shared.inboxes.tells_passed_over(run, &asked.hook.id);
        if asked.answer.ignored.is_some() && !firing.run_id.as_ref().is_none_or(is_told) {
            asked.answer.ignored = None;
        }
        asked
    }
}
