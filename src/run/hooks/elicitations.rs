//! What do hooks say of a question that an MCP server asks a person, and of the answer? Their no counts, and of the person's own hooks
//! a yes where the settings say so; all else is advice.

use hooks::{ElicitationVerdict, HookDelegate, HookFacts};
use serde_json::Value;

use super::{
    super::machine::HookEffects,
    asking::{AskedHooks, FiringName, RunHooks, effects_of},
    reasons::said,
    scene::HookScene,
};
use protocol::{CallId, HookDecision, HookEventName};
use redact::Redactor;
use tools::{ElicitationOutcome, ServerElicitation};

/// The events about what servers ask.
pub const ELICITATION_EVENTS: &[HookEventName] =
    &[HookEventName::Elicitation, HookEventName::ElicitationResult];

/// Asks the hooks about one question of a server.
pub(crate) struct ElicitationHooks {
    pub hooks: RunHooks,
    pub scene: HookScene,
    pub redactor: Redactor,
    pub call: CallId,
    /// Names the question within its call.
    pub about: String,
    pub server: ServerElicitation,
}

/// Everything that hooks said of a question before a person sees it.
pub(crate) struct ElicitationAdvice {
    pub hooks: HookEffects,
    /// The answer, where they give it.
    pub outcome: Option<ElicitationOutcome>,
    /// Stands beside the question, where they only advise.
    pub advice: Option<String>,
}

impl ElicitationHooks {
    /// Before the question is put. Cancel safe.
    pub async fn before(&self) -> ElicitationAdvice {
        let ServerElicitation { server, message, mode, url, schema } = self.server.clone();
        let facts = HookFacts::Elicitation { server, message, mode, url, schema };
        let Some(asked) = self.ask(facts).await else {
            return ElicitationAdvice { hooks: HookEffects::default(), outcome: None, advice: None };
        };
        let verdict = &asked.verdict;
        let mut advice = None;
        let outcome = match self.refusal(&asked) {
            Some(refusal) => Some(refusal),
            None => match &verdict.elicitation {
                Some(ElicitationVerdict::Accept { content, by })
                    if self.may_answer(&asked, by, content.as_ref()) =>
                {
                    Some(ElicitationOutcome::Yes(content.clone()))
                }
                Some(ElicitationVerdict::Accept { by, .. }) => {
                    advice = Some(format!("the hook {} advises to accept", by.hook));
                    None
                }
                _ => None,
            },
        };
        ElicitationAdvice { hooks: self.effects(&asked), outcome, advice }
    }

    /// The answer as hooks leave it, before its server has it. Cancel safe.
    pub async fn after(&self, outcome: ElicitationOutcome) -> (HookEffects, ElicitationOutcome) {
        let (action, content) = match &outcome {
            ElicitationOutcome::Yes(content) => ("accept", content.clone()),
            ElicitationOutcome::No(_) => ("decline", None),
            ElicitationOutcome::Over(_) => return (HookEffects::default(), outcome),
        };
        let server = self.server.server.clone();
        let facts = HookFacts::ElicitationResult { server, action: action.to_owned(), content };
        let Some(asked) = self.ask(facts).await else { return (HookEffects::default(), outcome) };
        let mut hooks = self.effects(&asked);
        let left = match (self.refusal(&asked), &asked.verdict.elicitation) {
            (Some(refusal), _) => refusal,
            (None, Some(ElicitationVerdict::Accept { content: content @ Some(_), by }))
                if matches!(outcome, ElicitationOutcome::Yes(_))
                    && self.may_answer(&asked, by, content.as_ref()) =>
            {
                ElicitationOutcome::Yes(content.clone())
            }
            (None, Some(ElicitationVerdict::Accept { by, .. })) => {
                hooks
                    .warnings
                    .push(format!("the hook {} would answer otherwise; the person's answer counts", by.hook));
                outcome
            }
            (None, _) => outcome,
        };
        (hooks, left)
    }

    async fn ask(&self, facts: HookFacts) -> Option<AskedHooks> {
        let event = facts.event();
        let id = format!("{}:{}:{}:{}", self.scene.subject(), event.as_str(), self.call, self.about);
        let name = FiringName { id, attempt: 1, call: Some(self.call.clone()) };
        self.hooks.ask(facts, &self.scene, name, (None, &self.redactor)).await
    }

    fn effects(&self, asked: &AskedHooks) -> HookEffects {
        effects_of(asked).unread().redacted(&self.redactor)
    }

    fn refusal(&self, asked: &AskedHooks) -> Option<ElicitationOutcome> {
        let verdict = &asked.verdict;
        if let Some(stop) = &verdict.stop {
            return Some(ElicitationOutcome::Over(format!("the hook {} stopped the run", stop.hook)));
        }
        if verdict.decision == Some(HookDecision::Deny) {
            return Some(ElicitationOutcome::No(Some(self.redactor.owned(said(verdict, "declined it")))));
        }
        match &verdict.elicitation {
            Some(ElicitationVerdict::Decline { by }) => {
                Some(ElicitationOutcome::No(Some(format!("the hook {by} declined it"))))
            }
            Some(ElicitationVerdict::Cancel { by }) => {
                Some(ElicitationOutcome::Over(format!("the hook {by} cancelled it")))
            }
            Some(ElicitationVerdict::Accept { .. }) | None => None,
        }
    }

    /// True if the person's settings let this hook answer for them, and the answer is one.
    fn may_answer(&self, asked: &AskedHooks, by: &HookDelegate, content: Option<&Value>) -> bool {
        let fits = match (&self.server.schema, content) {
            (Some(schema), content) => {
                let content = content.cloned().unwrap_or_else(|| serde_json::json!({}));
                tools::violations(schema, content).is_empty()
            }
            (None, content) => content.is_none(),
        };
        asked.verdict.decision != Some(HookDecision::Ask)
            && by.speaks_for_person
            && self.hooks.may_approve()
            && fits
    }
}
