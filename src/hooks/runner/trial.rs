//! What does one hook say, tried by hand?

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{HookRunner, page_by_page};
use crate::{
    FiredHooks, Hook, HookFiring, HookServices, HookSet, HookState, HookWorkspace, UnfiredHook,
    answer::{HandlerEnd, cut},
    combining::VerdictBuilder,
    records::counted,
    stdin,
};
use protocol::HookOutcome;

/// One hook, tried by hand.
#[derive(Debug, Clone)]
pub struct HookTrial {
    /// Everything that it read.
    pub input: Value,
    /// The reason why it would not be fired by just this; `None` = it is on, and its matcher and `if` mean it.
    pub unfired: Option<UnfiredHook>,
    pub stdout: String,
    pub fired: FiredHooks,
}

impl HookRunner {
    /// Runs one hook alone, whatever it is about, and says what its answer means. A file that nobody acknowledged is not run.
    pub async fn try_one(
        &self,
        set: &HookSet,
        hook: &Arc<Hook>,
        firing: &HookFiring,
        workspace: &HookWorkspace,
        services: &Arc<dyn HookServices>,
    ) -> HookTrial {
        let unfired = set.unfired(hook, firing);
        let whole = Arc::new(firing.clone());
        let first = page_by_page(hook, &whole).into_iter().next();
        let input = stdin::written(
            hook,
            first.as_deref().unwrap_or(firing),
            workspace,
            self.shared.parts.clock.now(),
        );
        let mut asked = Vec::new();
        for firing in page_by_page(hook, &whole) {
            let hook = Arc::clone(hook);
            asked.push(match hook.state {
                HookState::Untrusted => {
                    let why = "was not run: nobody acknowledged its file; see `subagent trust`";
                    let end = HandlerEnd::failed(HookOutcome::NotStarted, why);
                    self.heard(0, hook, end, (&firing, workspace), Duration::ZERO)
                }
                _ => self.ask(0, hook, &firing, workspace, services).await,
            });
        }
        let printed = asked.iter().map(|asked| asked.end.stdout.as_str()).collect::<Vec<_>>().join("\n");
        let stdout = workspace.redactor.owned(cut(&printed).0);
        let mut records = Vec::new();
        let builder = VerdictBuilder::new(firing, set.root());
        let mut verdict = counted(builder, asked, firing, &mut records);
        // It alone is asked, so its last word is what the call would be.
        if let Some((by, input)) = std::mem::take(&mut verdict.wanted_input).pop() {
            (verdict.updated_input, verdict.changed_by) = (Some(input), vec![by]);
        }
        HookTrial { input, unfired, stdout, fired: FiredHooks { verdict, records, deferred: Vec::new() } }
    }
}
