//! The answers of several hooks, in one verdict. The order of their origins decides, never their time.
//!
//! deny > ask > allow; contexts join; of changes of requests and replies of models, and of results, that of the most trusted place
//! counts (`ranked.rs`); which changes of a call's arguments count is settled elsewhere (`argument_changes.rs`). A failure means what the hook's policy says. `allow` is no objection
//! and lifts nothing.

use std::sync::Arc;

use super::{
    ElicitationVerdict, FollowUpCall, Hook, HookContext, HookDelegate, HookFacts, HookFailurePolicy,
    HookFiring, HookId, HookStop, HookVerdict, HookedCall, ModelVerdict,
    answer::{HookAnswer, cut},
    event,
    ranked::ConflictingChange,
    response::{self, changes_data, given_text, without_text},
    tool_names,
};
use protocol::{HookDecision, HookEventName};

/// Tools whose results are what a person said.
const ANSWERED_BY_PEOPLE: &[&str] = &["ask_user", "present_plan"];

/// Everything that a single hook said, and what is wrong with it.
pub(super) struct HeardHook {
    pub hook: Arc<Hook>,
    pub answer: HookAnswer,
    /// The page that it was asked about, of several.
    pub page: Option<String>,
}

/// Merges answers, which are in the order of the set.
pub(super) struct VerdictBuilder<'a> {
    firing: &'a HookFiring,
    root: &'a std::path::Path,
    verdict: HookVerdict,
    /// A result's text as a hook read it, which leaves out everything else of that result unless another hook changes it.
    text_alone: Option<(HookId, serde_json::Value)>,
}

/// The way in which one answer counted, for its record.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CountedAnswer {
    pub decision: Option<HookDecision>,
    pub changed: bool,
    pub reason: Option<String>,
    /// The text that it adds for the model, as it was given.
    pub added: Option<String>,
    /// Its message for people.
    pub message: Option<String>,
    /// Its change could not be read back.
    pub invalid: Option<String>,
}

impl<'a> VerdictBuilder<'a> {
    pub fn new(firing: &'a HookFiring, root: &'a std::path::Path) -> VerdictBuilder<'a> {
        VerdictBuilder { firing, root, verdict: HookVerdict::default(), text_alone: None }
    }

    /// Goes on from a verdict on the same event.
    pub fn going_on(self, verdict: HookVerdict) -> VerdictBuilder<'a> {
        VerdictBuilder { verdict, ..self }
    }

    pub fn finish(self) -> HookVerdict {
        let VerdictBuilder { mut verdict, text_alone, .. } = self;
        if let Some((hook, text)) = text_alone.filter(|_| verdict.updated_output.is_none()) {
            verdict.updated_output = Some(text);
            verdict.output_by = Some(hook.clone());
            verdict.changed_by.push(hook);
        }
        verdict
    }

    /// Takes in one answer. What it would change is in the words of its contract.
    pub fn take(&mut self, heard: HeardHook) -> CountedAnswer {
        let HeardHook { hook, mut answer, page } = heard;
        let event = self.firing.facts.event();
        let mut counted = CountedAnswer::default();
        let input = answer.updated_input.take();
        let input = input
            .filter(|_| answer.failure.is_none() || answer.is_mistyped)
            .map(|given| self.read_back((&hook, page.as_deref()), &given, answer.merges_input));
        let input = match input {
            None => None,
            // What is as it was is no change.
            Some(Ok(input)) => Some(input).filter(|input| !self.is_as_it_was(input)),
            Some(Err(why)) => {
                let why = format!("changed the arguments into what cannot be read: {why}");
                counted.invalid = Some(why.clone());
                answer.failure = Some((protocol::HookOutcome::Invalid, why));
                answer.decision = answer.decision.filter(|it| *it == HookDecision::Deny);
                None
            }
        };
        if let Some((_, why)) = answer.failure.clone() {
            self.fail(&hook, &why, &mut answer);
            counted.reason = Some(why);
        }
        if let (Some(page), Some(reason)) = (&page, &mut answer.reason) {
            *reason = format!("{page}: {reason}");
        }
        if let Some(decision) = answer.decision {
            let reason = answer.reason.clone().map(|reason| cut(&reason).0);
            let usual = || format!("the hook {} {}", hook.id, said(decision));
            if event::decides(event) {
                counted.decision = Some(decision);
                let told = match decision {
                    // The model reads the reason in the place of what is kept back.
                    HookDecision::Deny if !self.may_replace(&hook) => {
                        reason.iter().for_each(|it| self.warn(format!("the hook {} says: {it}", hook.id)));
                        format!("the hook {} keeps back what the person answered", hook.id)
                    }
                    _ => reason.clone().unwrap_or_else(usual),
                };
                self.decide(&hook, decision, told);
                self.verdict.interrupt |= decision == HookDecision::Deny && answer.interrupt;
            } else if decision == HookDecision::Deny {
                let reason = reason.clone().unwrap_or_else(usual);
                self.warn(format!("the hook {} says: {reason}", hook.id));
            }
            counted.reason = counted.reason.or(reason);
        }
        if let Some(reason) = answer.stop {
            let reason = match reason.trim() {
                "" => format!("the hook {} stopped it", hook.id),
                reason => cut(reason).0,
            };
            counted.reason.get_or_insert_with(|| reason.clone());
            if event != HookEventName::BeforeToolSelection {
                self.verdict.stop.get_or_insert(HookStop { hook: hook.id.clone(), reason });
            }
        }
        if let Some(message) = answer.message.filter(|message| !message.trim().is_empty()) {
            let message = cut(&message).0;
            counted.message = Some(message.clone());
            self.warn(message);
        }
        if let Some(ignored) = &answer.ignored {
            self.warn(passed_over(&hook, ignored));
        }
        if let Some(context) = answer.context.filter(|context| !context.trim().is_empty()) {
            let (text, whole) = cut(&context);
            counted.added = Some(text.clone());
            let context = HookContext { hook: hook.id.clone(), text, whole };
            if !self.verdict.context.contains(&context) {
                self.verdict.context.push(context);
            }
        }
        if let Some(input) = input {
            // Beside an advice they are carried out by nobody.
            counted.changed = event != HookEventName::PermissionRequest;
            if event == HookEventName::PreToolUse {
                // Which of them count is settled when all have answered.
                self.verdict.wanted_input.push((hook.id.clone(), input));
            } else {
                self.verdict.updated_input = Some(input);
                self.verdict.changed_by.push(hook.id.clone());
            }
        }
        match answer.updated_output {
            Some(output) if self.may_replace(&hook) => counted.changed |= self.take_output(&hook, output),
            Some(_) => self.warn_of_persons_words(&hook),
            None => {}
        }
        self.verdict.session_title = answer.session_title.or(self.verdict.session_title.take());
        self.verdict.reload_skills |= answer.reload_skills;
        self.verdict.retry |= answer.retry;
        if answer.allows_question {
            // Of several the one with the most to say: a delegate before advice.
            let delegate = HookDelegate {
                hook: hook.id.clone(),
                speaks_for_person: hook.speaks_for_person(),
                shown_permissions: answer.shown_permissions,
            };
            self.verdict.delegate.get_or_insert(delegate);
        }
        if let Some((action, content)) = answer.elicitation {
            self.elicit(&hook, &action, content);
        }
        counted.changed |= self.take_model(&hook, answer.model);
        match answer.follow_up {
            // What it comes to stands in the place of the result.
            Some((name, arguments)) if self.may_replace(&hook) => {
                self.take_follow_up(&hook, &name, &arguments);
            }
            Some(_) => self.warn_of_persons_words(&hook),
            None => {}
        }
        counted
    }

    /// True if a hook may put something else in the place of a result: words of a person are nobody else's. To keep them back is no answer.
    fn may_replace(&self, hook: &Hook) -> bool {
        let is_persons = self
            .firing
            .facts
            .result()
            .is_some_and(|result| ANSWERED_BY_PEOPLE.contains(&result.call.tool.as_str()));
        !is_persons || hook.speaks_for_person()
    }

    fn warn_of_persons_words(&mut self, hook: &Hook) {
        self.warn(format!(
            "the hook {} wants the model to read another answer than the person's, which only hooks of the person's own may do \
             that run in no sandbox",
            hook.id
        ));
    }

    /// Takes in what the model is to read in place of a result; true if that is another one. What is as it was read takes back no change
    /// of others.
    fn take_output(&mut self, hook: &Hook, output: serde_json::Value) -> bool {
        if !self.is_as_read(hook, &output) {
            let result = self.firing.facts.result();
            let text = result.and_then(|result| given_text(&output, &result.call, hook.contract));
            let output = match (text, result) {
                // What it changed stands beside the text: that says the same once more, and is not read.
                (Some(text), Some(result))
                    if text == result.text && changes_data(&output, result, hook.contract) =>
                {
                    without_text(output, &result.call, hook.contract)
                }
                (Some(text), _) => serde_json::Value::String(text),
                (None, _) => output,
            };
            let counts = self.verdict.model.changes.output(&hook.origin, output.clone());
            if counts == output {
                self.verdict.output_by = Some(hook.id.clone());
            }
            self.verdict.updated_output = Some(counts);
            self.verdict.changed_by.push(hook.id.clone());
            return true;
        }
        let result = self.firing.facts.result();
        let leaves_out = result.is_some_and(|result| result.has_more_than_text);
        if leaves_out {
            self.text_alone.get_or_insert((hook.id.clone(), output));
        }
        leaves_out
    }

    /// Takes in a call that a hook wants next. Of several the most trusted place's counts, and none takes back what a more trusted one has
    /// made of the result.
    fn take_follow_up(&mut self, hook: &Hook, name: &str, arguments: &serde_json::Value) {
        if self.verdict.follow_up.is_some() || self.verdict.model.changes.outranks_output(&hook.origin) {
            return self
                .warn(format!("the hook {} wants a call made, and another one goes before it", hook.id));
        }
        let tool = tool_names::ours(name);
        match tool_names::in_our_words(&tool, hook.contract, arguments) {
            Ok(arguments) => {
                self.verdict.follow_up = Some(FollowUpCall { hook: hook.id.clone(), tool, arguments });
            }
            Err(why) => self.warn(format!("the hook {} wants a call that cannot be read: {why}", hook.id)),
        }
    }

    /// Takes in what a hook made of a request to a model or of its reply; true if anything.
    fn take_model(&mut self, hook: &Hook, said: ModelVerdict) -> bool {
        let is_change = said.request.is_some() || said.response.is_some() || said.allowed_tools.is_some();
        let (request, response) = match &self.firing.facts {
            HookFacts::BeforeModel { request } => (Some(request), None),
            HookFacts::AfterModel { request, response } => (Some(request), Some(response)),
            _ => (None, None),
        };
        let changes = &mut self.verdict.model.changes;
        let mut conflict = None;
        if let Some(given) = said.request {
            match changes.request(&hook.origin, given, request.unwrap_or(&serde_json::Value::Null)) {
                Ok(request) => self.verdict.model.request = request,
                Err(why) => conflict = Some(why),
            }
        }
        if let Some(given) = said.response {
            match changes.response(&hook.origin, given, response) {
                Ok(response) => self.verdict.model.response = response,
                Err(why) => conflict = Some(why),
            }
        }
        self.verdict.model.no_tools |= said.no_tools;
        if let Some(names) = said.allowed_tools {
            let names = names.into_iter().map(|name| tool_names::ours(&name)).collect();
            self.verdict.model.allowed_tools = Some(self.verdict.model.changes.tools(&hook.origin, names));
        }
        if let Some(ConflictingChange(why)) = conflict {
            self.decide(hook, HookDecision::Deny, why);
        }
        is_change
    }

    fn decide(&mut self, hook: &Hook, decision: HookDecision, reason: String) {
        if Some(decision) > self.verdict.decision {
            self.verdict.decision = Some(decision);
            self.verdict.reason = Some(reason);
            self.verdict.decided_by = Some(hook.id.clone());
            self.verdict.is_of_unreadable_file = hook.stands_for_file();
        }
    }

    fn fail(&mut self, hook: &Hook, why: &str, answer: &mut HookAnswer) {
        let told = match hook.stands_for_file() {
            true => cut(why).0,
            false => cut(&format!("the hook {} {why}", hook.id)).0,
        };
        match hook.on_failure {
            HookFailurePolicy::Continue => self.warn(told),
            HookFailurePolicy::Block => {
                if answer.decision != Some(HookDecision::Deny) {
                    answer.decision = Some(HookDecision::Deny);
                    answer.reason = Some(told);
                }
            }
            HookFailurePolicy::Ask => {
                if answer.decision != Some(HookDecision::Deny) {
                    answer.decision = Some(HookDecision::Ask);
                    answer.reason = Some(told);
                }
            }
        }
    }

    fn warn(&mut self, warning: String) {
        if !self.verdict.warnings.contains(&warning) {
            self.verdict.warnings.push(warning);
        }
    }

    fn read_back(
        &self,
        (hook, page): (&Hook, Option<&str>),
        given: &serde_json::Value,
        merges: bool,
    ) -> Result<serde_json::Value, String> {
        let of_page =
            |page: &str, call: &HookedCall| HookedCall { page: Some(page.to_owned()), ..call.clone() };
        let before = match self.firing.facts {
            HookFacts::PreToolUse { .. } => self.verdict.wanted_input.last().map(|(by, input)| (by, input)),
            _ => self.verdict.changed_by.last().zip(self.verdict.updated_input.as_ref()),
        };
        let before = before.filter(|(by, _)| **by == hook.id).map(|(_, input)| input);
        match (self.firing.facts.call(), page) {
            (Some(call), Some(page)) => {
                let call = of_page(page, call);
                let (call, given) = match before {
                    Some(before) => tool_names::rebased(&call, before, (hook.contract, self.root), given),
                    None => (call, given.clone()),
                };
                tool_names::read_back(&call, hook.contract, self.root, &given, merges)
            }
            // Each hook changes what it was shown, not what earlier ones made of it.
            (Some(call), None) => tool_names::read_back(call, hook.contract, self.root, given, merges),
            (None, _) => Ok(given.clone()),
        }
    }

    fn is_as_it_was(&self, input: &serde_json::Value) -> bool {
        self.firing.facts.call().is_some_and(|call| call.arguments == *input)
    }

    /// True if an output in place of a result is just what the hook read of that.
    fn is_as_read(&self, hook: &Hook, output: &serde_json::Value) -> bool {
        self.firing.facts.result().is_some_and(|result| {
            output.as_str() == Some(&result.text)
                || *output == response::shown_result(result, hook.contract, self.root)
        })
    }

    /// Refusals before consent; a hook that failed leaves it to a person.
    fn elicit(&mut self, hook: &Hook, action: &str, content: Option<serde_json::Value>) {
        let strictness = |verdict: &ElicitationVerdict| match verdict {
            ElicitationVerdict::Accept { .. } => 0,
            ElicitationVerdict::Decline { .. } => 1,
            ElicitationVerdict::Cancel { .. } => 2,
        };
        let by = hook.id.clone();
        let verdict = match action {
            "accept" => {
                let by = HookDelegate {
                    hook: by,
                    speaks_for_person: hook.speaks_for_person(),
                    shown_permissions: None,
                };
                ElicitationVerdict::Accept { content, by }
            }
            "decline" => ElicitationVerdict::Decline { by },
            _ => ElicitationVerdict::Cancel { by },
        };
        let is_stricter = |known: &ElicitationVerdict| strictness(known) < strictness(&verdict);
        if self.verdict.elicitation.as_ref().is_none_or(is_stricter) {
            self.verdict.elicitation = Some(verdict);
        }
    }
}

/// A warning of fields in an answer that mean nothing.
pub(super) fn passed_over(hook: &Hook, ignored: &str) -> String {
    format!(
        "the hook {} answered with fields that mean nothing here, and were passed over: {ignored}",
        hook.id
    )
}

fn said(decision: HookDecision) -> &'static str {
    match decision {
        HookDecision::Allow => "has no objection",
        HookDecision::Ask => "wants a person to be asked, and gave no reason",
        HookDecision::Deny => "blocked it, and gave no reason",
    }
}

#[cfg(test)]
mod tests;
