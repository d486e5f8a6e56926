//! What is a person asked once a run has used up what it may use, and what does the answer come to? (spec 03, `BUDGET`.)

use std::iter;

use sha2::{Digest as _, Sha256};

use super::{
    CallGate, JudgeContext,
    answering::{AnswerRefusal, invalid, violation},
    asking::{after, hex},
};
use crate::machine::BudgetAnswer;
use protocol::{
    BudgetLimits, BudgetUsed, Confirmation, ConfirmationAnswer, ConfirmationDetails, ConfirmationOption,
    ConfirmationOutcome, Risk, UsdAmount,
};
use sys::ids;

impl CallGate {
    /// Asks for more than `limit`, all of which is used up.
    pub(crate) fn budget_question(
        &self,
        limit: BudgetLimits,
        used: BudgetUsed,
        lent: BudgetLimits,
        judge_context: &JudgeContext,
    ) -> Confirmation {
        let (asking, approval) = (&judge_context.asking, &judge_context.asking.approval);
        let confirmation_id = ids::fresh();
        let option = |outcome, label: String| ConfirmationOption {
            outcome,
            grant: None,
            label,
            allows: None,
            remembers: None,
        };
        let doubled = within(doubled(limit, &used), lent);
        let options = vec![
            option(ConfirmationOutcome::AllowOnce, format!("Go on, with up to {}", in_words(doubled))),
            option(ConfirmationOutcome::Modify, "Set another limit, then go on".to_owned()),
            option(ConfirmationOutcome::Deny, "End the run with what it has".to_owned()),
            option(ConfirmationOutcome::CancelRun, "Cancel the run".to_owned()),
        ];
        let title = format!("{} has used up its budget of {}", self.agent, in_words(limit));
        let details = ConfirmationDetails::Budget { limit, used, maximum: lent };
        let subject = serde_json::json!([asking.run, details]);
        Confirmation {
            run_id: asking.run.clone(),
            session_id: asking.session.clone(),
            path: asking.path.clone(),
            tool_call_id: None,
            tool: None,
            kind: None,
            // It changes nothing but what is spent.
            risk: Risk::Medium,
            hidden_places: 0,
            title,
            rule: "builtin:budget".to_owned(),
            reason: "the run asks for more instead of ending (`onBudget: ask`)".to_owned(),
            digest: hex(&Sha256::digest(subject.to_string())),
            options,
            details,
            audience: approval.audience.clone(),
            initiator: approval.initiator.clone(),
            headless: approval.headless,
            on_detached: approval.on_detached,
            created_at: judge_context.now,
            deadline_at: approval.deadline_ms.map(|ms| after(judge_context.now, ms)),
            on_deadline: approval.on_deadline,
            edited_by: None,
            confirmation_id,
        }
    }

    /// What an answer to an open question about a budget comes to.
    pub(crate) fn answer_budget(
        &self,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
    ) -> Result<BudgetAnswer, AnswerRefusal> {
        self.is_answerable(open, answer)?;
        let ConfirmationDetails::Budget { limit, used, maximum: most } = &open.details else {
            return Err(AnswerRefusal::Stale);
        };
        let resolved = self.resolved(open, answer, None);
        Ok(match answer.outcome {
            ConfirmationOutcome::AllowOnce => {
                BudgetAnswer::Raise { resolved, limits: within(doubled(*limit, used), *most) }
            }
            ConfirmationOutcome::Modify => {
                BudgetAnswer::Raise { resolved, limits: set(answer, (*limit, *most), used)? }
            }
            ConfirmationOutcome::CancelRun => BudgetAnswer::CancelRun { resolved },
            // Nothing else is offered, and none of it is consent.
            _ => BudgetAnswer::End { resolved },
        })
    }
}

/// The limits as a person set them: at least one that was used up, and each beyond what is used.
fn set(
    answer: &ConfirmationAnswer,
    (limit, most): (BudgetLimits, BudgetLimits),
    used: &BudgetUsed,
) -> Result<BudgetLimits, AnswerRefusal> {
    let Some(limits) = answer.limits else {
        return invalid("/limits", "needed with `modify`: `maxTokens`, `maxCost`, or both");
    };
    let mut violations = Vec::new();
    if let Some(tokens) = limits.max_tokens.filter(|it| *it <= used.tokens && limit.max_tokens.is_some()) {
        let told = format!("{tokens} is not beyond what is used already, {} tokens", used.tokens);
        violations.push(violation("/limits/maxTokens", &told));
    }
    let spent = used.cost.unwrap_or_default();
    if let Some(cost) = limits.max_cost.filter(|it| *it <= spent && limit.max_cost.is_some()) {
        let told = format!("{cost} is not beyond what is used already, {spent}");
        violations.push(violation("/limits/maxCost", &told));
    }
    let held = "is beyond what the run that called this one had left";
    if let (Some(tokens), Some(most)) =
        (limits.max_tokens, most.max_tokens.filter(|it| limits.max_tokens > Some(*it)))
    {
        violations.push(violation("/limits/maxTokens", &format!("{tokens} {held}, {most} tokens")));
    }
    if let (Some(cost), Some(most)) =
        (limits.max_cost, most.max_cost.filter(|it| limits.max_cost > Some(*it)))
    {
        violations.push(violation("/limits/maxCost", &format!("{cost} {held}, {most}")));
    }
    let other = [
        (limit.max_tokens.is_none() && limits.max_tokens.is_some(), "/limits/maxTokens"),
        (limit.max_cost.is_none() && limits.max_cost.is_some(), "/limits/maxCost"),
    ];
    // Nor is there a limit where the run had none: what its models cost may be known to nobody.
    let other = other.into_iter().filter(|(is_other, _)| *is_other);
    violations.extend(other.map(|(_, pointer)| violation(pointer, "is not used up, and stays as it is")));
    let missing = [
        (limit.max_tokens.is_some() && limits.max_tokens.is_none(), "/limits/maxTokens"),
        (limit.max_cost.is_some() && limits.max_cost.is_none(), "/limits/maxCost"),
    ];
    let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
    violations.extend(missing.map(|(_, pointer)| {
        violation(pointer, "needed: it is used up, so the run could not go on without another")
    }));
    match violations.is_empty() {
        true => Ok(limits),
        false => Err(AnswerRefusal::Invalid(violations)),
    }
}

/// Twice as much, and so often that the run can go on: a call may have taken more than twice what was left.
fn doubled(limit: BudgetLimits, used: &BudgetUsed) -> BudgetLimits {
    let double = |limit: u64, used: u64| {
        let doublings = iter::successors(limit.max(1).checked_mul(2), |limit| limit.checked_mul(2));
        doublings.into_iter().find(|limit| used < *limit).unwrap_or(u64::MAX)
    };
    let spent = used.cost.unwrap_or_default().nanos();
    BudgetLimits {
        max_tokens: limit.max_tokens.map(|tokens| double(tokens, used.tokens)),
        max_cost: limit.max_cost.map(|cost| UsdAmount::from_nanos(double(cost.nanos(), spent))),
    }
}

/// What is lent by the run above is the most that there is.
fn within(limits: BudgetLimits, most: BudgetLimits) -> BudgetLimits {
    let least = |limit: u64, most: Option<u64>| most.map_or(limit, |most| limit.min(most));
    BudgetLimits {
        max_tokens: limits.max_tokens.map(|tokens| least(tokens, most.max_tokens)),
        max_cost: limits.max_cost.map(|cost| most.max_cost.map_or(cost, |most| cost.min(most))),
    }
}

fn in_words(limits: BudgetLimits) -> String {
    let BudgetLimits { max_tokens, max_cost } = limits;
    let tokens = max_tokens.map(|tokens| format!("{tokens} tokens"));
    let cost = max_cost.map(|cost| cost.to_string());
    let words: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    words.join(" and ")
}

#[cfg(test)]
mod tests;
