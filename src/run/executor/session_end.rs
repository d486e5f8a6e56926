//! Hooks are told that a session was closed.

use std::{path::Path, sync::Arc, time::Duration};

use ::hooks::HookFacts;

use super::RunExecutor;
use crate::{
    hooks::{HookScene, RunHooks, WatchedFact},
    unblocked,
};
use protocol::{HookEventName, SessionSummary};

/// A session that is removed when it is closed waits so long for its hooks: what they came to could not be written down afterwards.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl RunExecutor {
    /// Tells the hooks of a session's workspace that it was closed. `is_removed`: it goes at once, so they are waited for.
    pub async fn tell_session_end(&self, session: &SessionSummary, is_removed: bool) {
        let (supplies, roots) = (self.supplies(), session.roots.clone());
        let reading = move || {
            let roots: Vec<String> =
                roots.iter().filter_map(|root| trust::canonical(Path::new(root))).collect();
            let runs_by = (supplies.own_files.artifacts().clone(), Arc::clone(&supplies.commands));
            RunHooks::of(&supplies.hooks, (&roots, None), runs_by)
        };
        let hooks = unblocked(reading).await;
        if !hooks.may_fire_any(&[HookEventName::SessionEnd]) {
            return;
        }
        let (watchers, redactor) = (&self.shared.common.hook_watchers, self.supplies().redactor.clone());
        let scene = HookScene::of_session(session.session_id.clone(), session.mode, watchers.log().clone());
        let told = vec![WatchedFact::new(HookFacts::SessionEnd { reason: "other".to_owned() }, "end")];
        if !is_removed {
            return watchers.tell(&hooks, &scene, told, &redactor);
        }
        tokio::select! {
            () = watchers.tell_now(&hooks, &scene, told, &redactor) => (),
            () = self.shared.clock.sleep(LONGEST_WAIT) => {
                tracing::warn!(session = %session.session_id, "hooks of a session that is removed were ended");
            }
        }
    }
}
