//! What becomes of a call whose arguments hooks change? Others are asked about it again, until each has judged just what runs.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::HookRunner;
use crate::{
    HookFiring, HookId, HookServices, HookSet, HookVerdict, HookWorkspace,
    argument_changes::{ArgumentChanges, Disagreement, JoinedChanges, listed},
    combining::VerdictBuilder,
    dropped::{ChangeFate, WantedArguments, drop_changes},
    records::counted,
};
use protocol::{HookDecision, HookFired};

/// Everything that is needed to ask hooks again.
type Asking<'a> = (&'a HookSet, &'a HookFiring, &'a HookWorkspace, &'a Arc<dyn HookServices>);

impl HookRunner {
    /// Asks as long as hooks change the arguments of a call, after all have been asked about it once. A call about which they come to no
    /// agreement is denied.
    pub(super) async fn settle_changes(
        &self,
        (mut verdict, asked): (HookVerdict, Vec<HookId>),
        asking: Asking<'_>,
        records: &mut Vec<HookFired>,
    ) -> HookVerdict {
        let redactor = &asking.2.redactor;
        let wishes = std::mem::take(&mut verdict.wanted_input);
        if wishes.is_empty() {
            return verdict;
        }
        let mut settling = SettlingCall::of(verdict, asking.1);
        let mut round = (asked, wishes);
        while let Some(next) = self.settle_round(&mut settling, round, asking, records).await {
            round = next;
        }
        let SettlingCall { mut verdict, wanted, arguments, .. } = settling;
        let runs = verdict.decision != Some(HookDecision::Deny) && verdict.stop.is_none();
        verdict.updated_input = arguments.filter(|_| runs);
        drop_changes(&verdict, records, wanted, redactor);
        verdict
    }

    /// Takes in what hooks want that were asked in one round, and asks those of the next; `None` = it is settled.
    async fn settle_round(
        &self,
        settling: &mut SettlingCall,
        (asked, wishes): (Vec<HookId>, Vec<(HookId, Value)>),
        (set, _, workspace, services): Asking<'_>,
        records: &mut Vec<HookFired>,
    ) -> Option<(Vec<HookId>, Vec<(HookId, Value)>)> {
        let is_over =
            settling.verdict.decision == Some(HookDecision::Deny) || settling.verdict.stop.is_some();
        if is_over {
            settling.note(&wishes, |_| ChangeFate::Counts);
            return None;
        }
        if let Some(joined) = settling.changes.join(&asked, &wishes) {
            let outdone_by = |hook: &HookId| joined.outdone.iter().find(|(id, _)| id == hook);
            settling.note(&wishes, |hook| match outdone_by(hook) {
                Some((_, other)) => ChangeFate::Outdone(other.clone()),
                None => ChangeFate::Counts,
            });
            let checked = match services.check_arguments(&joined.arguments).await {
                Ok(checked) => checked,
                Err(why) => {
                    settling.refuse_invalid(&joined, &why);
                    return None;
                }
            };
            match settling.changes.advance(&joined, checked.shown.clone()) {
                Ok(true) => {
                    let facts = settling.firing.facts.with_arguments(checked.shown);
                    settling.firing.facts = facts.touching(&checked.accesses);
                    settling.verdict.changed_by.extend(joined.by);
                    settling.arguments = Some(joined.arguments);
                }
                // What is as it was is no change.
                Ok(false) => settling.forget(&joined.by),
                Err(disagreement) => {
                    settling.refuse(disagreement);
                    return None;
                }
            }
        }
        let matching = set.matching(&settling.firing).into_iter().filter(|hook| !hook.is_async);
        let mut matching: Vec<_> = matching.collect();
        let ids: Vec<HookId> = matching.iter().map(|hook| hook.id.clone()).collect();
        let next: BTreeSet<HookId> = settling.changes.next(&ids).into_iter().collect();
        if next.is_empty() {
            return None;
        }
        matching.retain(|hook| next.contains(&hook.id));
        settling.round += 1;
        let asked = self.ask_all(matching, &settling.firing, workspace, services).await;
        let builder = VerdictBuilder::new(&settling.firing, set.root());
        let builder = builder.going_on(std::mem::take(&mut settling.verdict));
        let n_before = records.len();
        settling.verdict = counted(builder, asked, &settling.firing, records);
        records[n_before..].iter_mut().for_each(|record| record.round = settling.round);
        Some((next.into_iter().collect(), std::mem::take(&mut settling.verdict.wanted_input)))
    }
}

/// One call on its way to arguments that all guards have judged.
struct SettlingCall {
    verdict: HookVerdict,
    /// Asks about the call as it is now.
    firing: HookFiring,
    changes: ArgumentChanges,
    /// The arguments with which the call would be made; `None` = nobody has changed them.
    arguments: Option<Value>,
    /// Everything that hooks wanted so far.
    wanted: Vec<WantedArguments>,
    round: u32,
}

impl SettlingCall {
    fn of(verdict: HookVerdict, firing: &HookFiring) -> SettlingCall {
        let shown = firing.facts.call().map(|call| call.arguments.clone()).unwrap_or_default();
        SettlingCall {
            verdict,
            firing: firing.clone(),
            changes: ArgumentChanges::new(shown),
            arguments: None,
            wanted: Vec::new(),
            round: 1,
        }
    }

    /// Keeps in mind what hooks wanted in this round, and what becomes of it.
    fn note(&mut self, wishes: &[(HookId, Value)], fate: impl Fn(&HookId) -> ChangeFate) {
        let round = self.round;
        self.wanted.extend(wishes.iter().map(|(hook, input)| {
            let (fate, input) = (fate(hook), input.clone());
            WantedArguments { hook: hook.clone(), round, input, fate }
        }));
    }

    /// The changes of this round by these hooks are none.
    fn forget(&mut self, by: &[HookId]) {
        let round = self.round;
        let wanted = self.wanted.iter_mut().filter(|it| it.round == round && by.contains(&it.hook));
        wanted.for_each(|it| it.fate = ChangeFate::IsNone);
    }

    fn refuse_invalid(&mut self, joined: &JoinedChanges, why: &str) {
        let round = self.round;
        let its = self.wanted.iter_mut().filter(|it| it.round == round && joined.by.contains(&it.hook));
        its.for_each(|it| it.fate = ChangeFate::Refused(format!("it is not valid: {why}")));
        let reason = match &*joined.by {
            [one] => format!("the hook {one} changed the arguments into invalid ones: {why}"),
            several => {
                format!(
                    "the hooks {} changed the arguments, together into invalid ones: {why}",
                    listed(several)
                )
            }
        };
        self.deny(reason, joined.by.first().filter(|_| joined.by.len() == 1));
    }

    fn refuse(&mut self, disagreement: Disagreement) {
        let Disagreement { hooks, why } = disagreement;
        let its = self.wanted.iter_mut().filter(|it| hooks.contains(&it.hook));
        its.for_each(|it| it.fate = ChangeFate::Refused(why.clone()));
        let none_counts = if hooks.len() == 2 { "neither counts" } else { "none of it counts" };
        self.deny(format!("{why}; {none_counts}: the call is denied"), None);
    }

    /// Nobody's word alone, where no hook is named.
    fn deny(&mut self, reason: String, by: Option<&HookId>) {
        self.verdict.decision = Some(HookDecision::Deny);
        self.verdict.reason = Some(reason);
        self.verdict.decided_by = by.cloned();
        self.verdict.is_of_unreadable_file = false;
    }
}
