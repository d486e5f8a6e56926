//! What does a client read of a question to a person, and which answers can be given to it? (Spec 06.)
//!
//! Everything is read openly. An outcome that only a newer daemon knows is never consent: it cannot be chosen. Details of
//! an unknown type are shown as they came.

pub(super) mod answers;
pub(super) mod card;
mod choice;
mod details;
mod left_out;
pub(super) mod panel;

use serde::Deserialize;
use serde_json::Value;

use self::choice::choice;
pub(super) use self::{answers::read_answer, choice::OutcomeChoice, details::Details};
use super::{human, ids, person, relative::relative, rule::RuleView, table};
use protocol::{
    ApprovalMode, CallId, ConfirmationId, ConfirmationOutcome, ConfirmationRespondParams, ConfirmationState,
    DecidedBy, GrantScope, OnDeadline, OnDetached, OpenEnum, Timestamp, UserQuestion,
};

/// A question, where it stands, and what came of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfirmationView {
    pub(super) confirmation_id: ConfirmationId,
    /// Missing when it is about the run itself.
    #[serde(default)]
    pub(super) tool_call_id: Option<CallId>,
    /// Agents, from the root run's to the one that asks.
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    pub(super) tool: String,
    #[serde(default)]
    pub(super) risk: String,
    /// Places of the details that look like secrets and are not shown.
    #[serde(default)]
    hidden_places: u64,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    rule: String,
    reason: Option<String>,
    #[serde(default)]
    details: Value,
    /// What an answer is about. One without it cannot be answered safely.
    #[serde(default)]
    pub(super) digest: String,
    #[serde(default)]
    options: Vec<ConfirmationOptionView>,
    /// Who started the root run.
    #[serde(default)]
    pub(super) initiator: Option<String>,
    /// The folders of its session.
    #[serde(default)]
    pub(super) roots: Vec<String>,
    /// Whoever started the run said that nobody sits there.
    #[serde(default)]
    headless: bool,
    #[serde(default)]
    on_detached: Option<OpenEnum<OnDetached>>,
    /// The person who has changed the call, while hooks are asked about that.
    #[serde(default)]
    pub(super) edited_by: Option<String>,
    #[serde(default)]
    pub(super) created_at: Option<Timestamp>,
    #[serde(default)]
    deadline_at: Option<Timestamp>,
    #[serde(default)]
    on_deadline: OpenEnum<OnDeadline>,
    #[serde(default)]
    pub(super) state: OpenEnum<ConfirmationState>,
    #[serde(default)]
    pub(super) claim: Option<ConfirmationClaimView>,
    #[serde(default)]
    pub(super) resolution: Option<ResolutionView>,
}

#[derive(Debug, Clone, Deserialize)]
struct ConfirmationOptionView {
    #[serde(default)]
    outcome: OpenEnum<ConfirmationOutcome>,
    #[serde(default)]
    grant: Option<OpenEnum<GrantScope>>,
    #[serde(default)]
    label: String,
    /// In plain words, what will be allowed from then on.
    #[serde(default)]
    allows: Option<String>,
    #[serde(default)]
    remembers: Option<RuleView>,
}

impl ConfirmationOptionView {
    /// Both words of the option that decide what it does are known here. Of any other nobody can tell what it allows.
    fn is_known(&self) -> bool {
        self.outcome.known().is_some() && self.grant.as_ref().is_none_or(|grant| grant.known().is_some())
    }

    fn grant(&self) -> Option<GrantScope> {
        self.grant.as_ref().and_then(OpenEnum::known)
    }
}

impl ConfirmationView {
    /// True if somebody has answered with a change, and hooks are asked about that.
    pub(super) fn is_answered(&self) -> bool {
        self.edited_by.is_some() || self.claim.as_ref().is_some_and(|claim| claim.answered)
    }

    /// The words where somebody has answered with a change, and hooks are asked about that.
    pub(super) fn answer_said(&self) -> String {
        let who =
            self.edited_by.as_deref().map_or_else(|| "somebody".to_owned(), |by| person::told(by, None));
        format!("answered by {who}; hooks look at the edit")
    }
}

/// Who reads it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConfirmationClaimView {
    pub(super) client_id: Option<String>,
    name: Option<String>,
    /// They have answered with a change, and hooks are asked about it.
    pub(super) answered: bool,
}

impl ConfirmationClaimView {
    /// `answered with a change by ada (pts/0), and hooks are asked about it`; nothing where they only read it.
    pub(super) fn answer(&self) -> Option<String> {
        self.answered
            .then(|| format!("answered with a change by {}, and hooks are asked about it", self.who(None)))
    }

    /// For `me`, who reads it as well.
    pub(super) fn who(&self, me: Option<&str>) -> String {
        let told = self.client_id.as_deref().map(|id| person::told(id, me));
        match (told, &self.name) {
            // An id that says nothing of a person.
            (Some(told), Some(name)) if self.client_id.as_ref() == Some(&told) => name.clone(),
            (Some(told), _) => told,
            (None, Some(name)) => name.clone(),
            (None, None) => "somebody".to_owned(),
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResolutionView {
    pub(super) outcome: OpenEnum<ConfirmationOutcome>,
    by: OpenEnum<DecidedBy>,
    pub(super) name: Option<String>,
    message: Option<String>,
    rule: Option<RuleView>,
    /// What it allows from now on, in plain words.
    allows: Option<String>,
    /// The session's mode from now on.
    pub(super) mode: Option<OpenEnum<ApprovalMode>>,
    pub(super) at: Option<Timestamp>,
}

impl ResolutionView {
    /// Whether the call may run.
    pub(super) fn is_consent(&self) -> bool {
        self.outcome.known().is_some_and(ConfirmationOutcome::is_consent)
    }

    /// `allowed in this session by ada · from now on: edit_file · in session 019a…`; `me` is the client that shows it.
    pub(super) fn describe(&self, me: Option<&str>) -> String {
        let who = match self.by.known() {
            Some(DecidedBy::Client) => match &self.name {
                Some(name) => format!(" by {}", person::told(name, me)),
                None => " by somebody".to_owned(),
            },
            Some(DecidedBy::Policy) => " by a rule".to_owned(),
            Some(DecidedBy::Deadline) => ", its time was over".to_owned(),
            Some(DecidedBy::System) => " without a person".to_owned(),
            Some(DecidedBy::Hook) => " by a hook".to_owned(),
            None if self.by.as_str().is_empty() => String::new(),
            None => format!(" by {}", self.by.as_str()),
        };
        let message = self.message.iter().map(|message| format!(": {message}"));
        [self.what(), who].into_iter().chain(message).chain(self.consequence()).collect()
    }

    /// When somebody else decided it, or nobody; of an answer that was given here one knows.
    pub(super) fn when_elsewhere(&self, me: Option<&str>) -> Option<String> {
        let is_own = me.is_some() && self.name.as_deref() == me;
        self.at.filter(|_| !is_own).map(human::moment)
    }

    /// The same of one's own answer: what was done and what follows.
    pub(super) fn describe_own(&self) -> String {
        [self.what()].into_iter().chain(self.consequence()).collect()
    }

    fn what(&self) -> String {
        match self.outcome.known() {
            Some(outcome) => done(outcome).to_owned(),
            None => format!("answered `{}`", self.outcome.as_str()),
        }
    }

    /// What holds from now on, or the rule that decided.
    fn consequence(&self) -> Option<String> {
        if let Some(allows) = &self.allows {
            return Some(format!(" · from now on: {}", allows.strip_prefix("allow ").unwrap_or(allows)));
        }
        let rule = self.rule.as_ref()?;
        Some(match self.by.known() {
            Some(DecidedBy::Policy) => format!(" · {}", rule.id),
            _ => format!(" · from now on: {}", rule.matches()),
        })
    }
}

/// What was done with an answer, in words.
pub(super) fn done(outcome: ConfirmationOutcome) -> &'static str {
    match outcome {
        ConfirmationOutcome::AllowOnce => "allowed once",
        ConfirmationOutcome::AllowSession => "allowed in this session",
        ConfirmationOutcome::AllowProject => "allowed in this workspace",
        ConfirmationOutcome::AllowUser => "allowed everywhere",
        ConfirmationOutcome::Modify => "allowed with changes",
        ConfirmationOutcome::Answer => "answered",
        ConfirmationOutcome::Deny => "denied",
        ConfirmationOutcome::CancelRun => "denied, and the run cancelled,",
    }
}

/// What an agent asks, where it asks something.
pub(super) fn questions_of(asked: &ConfirmationView) -> Vec<UserQuestion> {
    match asked.details() {
        Details::Questions(questions) => questions,
        _ => Vec::new(),
    }
}

impl ConfirmationView {
    pub(super) fn details(&self) -> Details {
        Details::of(&self.details)
    }

    /// `scout › reader`
    pub(super) fn agents(&self) -> String {
        self.path.join(" › ")
    }

    /// The part that hooks have in it, in the daemon's words: one asks, changed the call, or advises.
    fn told_of_hooks(&self) -> Option<&str> {
        let is_told = self.is_asked_by_hook()
            || ["; a hook changed the call", "; a hook wants this call", "; the hook "]
                .iter()
                .any(|words| self.reason().contains(words));
        Some(self.reason()).filter(|reason| is_told && !reason.is_empty())
    }

    fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    /// Whatever rules say of such a call, a hook wants a person to see this one.
    fn is_asked_by_hook(&self) -> bool {
        self.rule.starts_with("hook:")
    }

    pub(super) fn folders(&self) -> String {
        self.roots.join(", ")
    }

    /// The daemon decides it at once: nobody is to be asked, and it does not wait for anybody.
    pub(super) fn is_for_nobody(&self) -> bool {
        let detached = self.on_detached.as_ref().and_then(OpenEnum::known);
        self.headless && matches!(detached, Some(OnDetached::Deny | OnDetached::Fail))
    }

    pub(super) fn is_resolved(&self) -> bool {
        self.resolution.is_some() || self.state.known() == Some(ConfirmationState::Resolved)
    }

    /// What a person may answer here: what is offered and this client understands, and to deny, always.
    pub(super) fn choices(&self) -> Vec<OutcomeChoice> {
        let known = self.options.iter().filter(|option| option.is_known());
        let offered = known.filter_map(|option| Some((option.outcome.known()?, option)));
        let mut choices: Vec<OutcomeChoice> = offered
            .filter(|(outcome, _)| self.can_be_given(*outcome))
            .filter(|(outcome, _)| match (outcome, self.details()) {
                // Only what is told whole can be edited, and only questions can be answered.
                (ConfirmationOutcome::Modify, details) => details.draft().is_some(),
                (ConfirmationOutcome::Answer, details) => matches!(details, Details::Questions(_)),
                // Of what nobody can see whole nothing is allowed for longer than this once.
                (
                    ConfirmationOutcome::AllowSession
                    | ConfirmationOutcome::AllowProject
                    | ConfirmationOutcome::AllowUser,
                    details,
                ) => details.cut_bytes() == 0,
                _ => true,
            })
            .map(|(outcome, option)| {
                let word = match (outcome, self.details()) {
                    (ConfirmationOutcome::AllowOnce, Details::Budget(_)) => Some("go on"),
                    (ConfirmationOutcome::Deny, Details::Budget(_)) => Some("end"),
                    _ => None,
                };
                let choice = choice(outcome, option.grant(), option.label.clone());
                OutcomeChoice {
                    word: word.unwrap_or(choice.word),
                    allows: option
                        .allows
                        .as_deref()
                        .map(|it| self.relative(outcome, &self.without_subject(it))),
                    remembers: option.remembers.clone(),
                    ..choice
                }
            })
            .collect();
        if !choices.iter().any(|choice| choice.outcome == ConfirmationOutcome::Deny) {
            choices.push(choice(ConfirmationOutcome::Deny, None, "Deny".to_owned()));
        }
        choices
    }

    /// What is allowed, without a long command that is the subject already.
    fn without_subject(&self, allows: &str) -> String {
        match self.details() {
            Details::Exec { command, .. } if table::TEXT_CHARACTERS < command.len() => {
                allows.replacen(&format!("again: {command}"), "again", 1)
            }
            _ => allows.to_owned(),
        }
    }

    /// What is allowed, with the session's own folders left out of paths where it holds nowhere else.
    fn relative(&self, outcome: ConfirmationOutcome, allows: &str) -> String {
        if outcome == ConfirmationOutcome::AllowUser {
            return allows.to_owned();
        }
        relative(allows, &self.roots)
    }

    /// In how many places something of it is hidden, in words.
    fn hidden(&self) -> Option<String> {
        let what = match self.hidden_places {
            0 => return None,
            1 => "1 place of it is hidden, like a secret".to_owned(),
            more => format!("{more} places of it are hidden, like secrets"),
        };
        Some(what)
    }

    /// True when the title names the file, so that it need not be told once more.
    fn names_in_title(&self, path: &str) -> bool {
        let below = |root: &String| path.strip_prefix(root.as_str())?.strip_prefix('/');
        let relative = self.roots.iter().find_map(below).filter(|relative| !relative.is_empty());
        self.title.contains(relative.unwrap_or(path))
    }

    /// What of it nobody can see here, in words.
    pub(super) fn out_of_sight(&self) -> Option<String> {
        let bytes = Some(self.details().cut_bytes()).filter(|bytes| 0 < *bytes)?;
        Some(format!("{} of the diff cannot be seen here: it is too long", human::bytes(bytes)))
    }

    /// Whether a choice wants a second, different key: it holds longer than for this call, is of high risk, cannot be seen whole,
    /// or ends the run.
    pub(super) fn wants_second_key(&self, choice: &OutcomeChoice) -> bool {
        match choice.outcome {
            _ if choice.outlives_call() => true,
            ConfirmationOutcome::CancelRun => true,
            ConfirmationOutcome::AllowOnce => {
                !matches!(self.risk.as_str(), "safe" | "low" | "medium") || 0 < self.details().cut_bytes()
            }
            // What was edited is confirmed when it is sent; to deny and to answer are typed texts.
            _ => false,
        }
    }

    /// An answer to just what was shown.
    pub(super) fn answered(&self, outcome: ConfirmationOutcome) -> ConfirmationRespondParams {
        ConfirmationRespondParams {
            confirmation_id: Some(self.confirmation_id.clone()),
            digest: Some(self.digest.clone()),
            outcome,
            grant: None,
            message: None,
            arguments: None,
            content: None,
            limits: None,
            answers: Vec::new(),
            token: None,
        }
    }

    /// The words for what is offered, for whoever wants something else.
    pub(super) fn offered(&self) -> String {
        let words: Vec<&str> = self.options.iter().map(|option| option.outcome.as_str()).collect();
        words.join(", ")
    }

    pub(super) fn offers(&self, outcome: ConfirmationOutcome) -> bool {
        self.can_be_given(outcome)
            && self.options.iter().any(|option| option.outcome.known() == Some(outcome))
    }

    /// Nobody allows what they are not told whole.
    fn can_be_given(&self, outcome: ConfirmationOutcome) -> bool {
        !outcome.is_consent() || self.bars_consent().is_none()
    }

    /// Labels of what is offered and cannot be chosen here, with why.
    fn unusable(&self) -> Vec<String> {
        let usable: Vec<ConfirmationOutcome> = self.choices().iter().map(|choice| choice.outcome).collect();
        let why = |option: &ConfirmationOptionView| match option.outcome.known() {
            Some(_) if !option.is_known() => {
                let grant = option.grant.as_ref().map_or("", OpenEnum::as_str);
                Some(format!("`{grant}` is for a newer `subagent`"))
            }
            Some(outcome) if usable.contains(&outcome) => None,
            Some(outcome) if !self.can_be_given(outcome) => {
                Some("not all of the question is told".to_owned())
            }
            Some(ConfirmationOutcome::Modify) => Some(match self.details() {
                Details::Edit { .. } => {
                    "the content is not shown whole, so it cannot be edited here".to_owned()
                }
                Details::Budget(_) => {
                    let id = ids::shortest(self.confirmation_id.as_str());
                    format!("by `subagent approve {id} --max-tokens N` or `--max-cost USD`")
                }
                _ => "only by a program: `confirmation/respond` takes other arguments".to_owned(),
            }),
            Some(_) if 0 < self.details().cut_bytes() => {
                Some("the diff is too long to be seen whole, so it is allowed once at most".to_owned())
            }
            Some(_) => Some("not here".to_owned()),
            None => Some(format!("`{}` is for a newer `subagent`", option.outcome.as_str())),
        };
        let lines =
            self.options.iter().filter_map(|option| Some(format!("{} ({})", option.label, why(option)?)));
        lines.collect()
    }
}
