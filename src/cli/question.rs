//! What does a client read of a question to a person, and which answers can be given to it? (Spec 06.)
//!
//! Everything is read openly. An outcome that only a newer daemon knows is never consent: it cannot be chosen. Details of
//! an unknown type are shown as they came.

mod answers;
pub(super) mod card;
mod choice;
pub(super) mod panel;

use serde::Deserialize;
use serde_json::Value;

use self::choice::choice;
pub(super) use self::{answers::read_answer, choice::OutcomeChoice};
use super::{human, ids, person, rule::RuleView};
use crate::protocol::{
    ApprovalMode, BudgetLimits, BudgetUsed, ConfirmationId, ConfirmationOutcome, ConfirmationRespondParams,
    ConfirmationState, DecidedBy, GrantScope, OnDeadline, OnDetached, OpenEnum, Timestamp, UserQuestion,
};

/// What a command is edited as, for the editor to know its kind.
const COMMAND_FILE: &str = "command.sh";

/// A question, where it stands, and what came of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfirmationView {
    pub(super) confirmation_id: ConfirmationId,
    /// Agents, from the root run's to the one that asks.
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    pub(super) tool: String,
    #[serde(default)]
    pub(super) risk: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    rule: String,
    #[serde(default)]
    reason: String,
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
    roots: Vec<String>,
    /// Whoever started the run said that nobody sits there.
    #[serde(default)]
    headless: bool,
    #[serde(default)]
    on_detached: Option<OpenEnum<OnDetached>>,
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

/// Who reads it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConfirmationClaimView {
    pub(super) client_id: Option<String>,
    name: Option<String>,
}

impl ConfirmationClaimView {
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
    name: Option<String>,
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

/// What is to be decided.
pub(super) enum ConfirmationDetailsView {
    Edit {
        path: String,
        diff: String,
        /// What the file would be; `None` when it is too long to be told, or there would be none.
        new_content: Option<String>,
        cut_bytes: u64,
    },
    Exec {
        /// As bash would get it.
        command: String,
        /// Where, and confined by what.
        surroundings: String,
        /// What is dangerous about it, or why that cannot be told.
        reasons: Vec<String>,
    },
    Info(String),
    /// More of a budget: what is used up, in words.
    Budget(String),
    Questions(Vec<UserQuestion>),
    /// Of a type that is not known here, or not as this client knows it.
    Other(Value),
}

impl ConfirmationDetailsView {
    /// The text that a person can change, and the name of a file of its kind.
    pub(super) fn draft(&self) -> Option<(&str, &str)> {
        match self {
            ConfirmationDetailsView::Edit { path, new_content: Some(content), .. } => Some((content, path)),
            ConfirmationDetailsView::Exec { command, .. } => Some((command, COMMAND_FILE)),
            ConfirmationDetailsView::Edit { new_content: None, .. }
            | ConfirmationDetailsView::Info(_)
            | ConfirmationDetailsView::Budget(_)
            | ConfirmationDetailsView::Questions(_)
            | ConfirmationDetailsView::Other(_) => None,
        }
    }

    /// What an editor left, as it is meant: editors end the last line, which a command does not need.
    pub(super) fn edited(&self, mut text: String) -> String {
        if let ConfirmationDetailsView::Exec { command, .. } = self
            && !command.ends_with('\n')
        {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        text
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditDetailsView {
    path: String,
    diff: String,
    #[serde(default)]
    new_content: Option<String>,
    #[serde(default)]
    cut_bytes: u64,
}

#[derive(Deserialize)]
struct BudgetDetailsView {
    #[serde(default)]
    limit: BudgetLimits,
    used: BudgetUsed,
}

impl BudgetDetailsView {
    fn in_words(&self) -> String {
        let BudgetUsed { tokens, cost } = &self.used;
        let tokens =
            self.limit.max_tokens.map(|most| format!("{tokens} of {} used", human::count(most, "token")));
        let cost = self.limit.max_cost.map(|most| format!("{} of {most} used", cost.unwrap_or_default()));
        tokens.into_iter().chain(cost).collect::<Vec<_>>().join("\n")
    }
}

/// Where a command would run, and what it would be confined by.
fn surroundings_of_command(field: &dyn Fn(&str) -> Value) -> String {
    let directory = field("directory").as_str().map(|directory| format!("in {directory}"));
    let sandbox = field("sandbox").as_str().map(|sandbox| format!("sandbox: {sandbox}"));
    directory.into_iter().chain(sandbox).collect::<Vec<_>>().join(" · ")
}

/// What an agent asks, where it asks something.
pub(super) fn questions_of(asked: &ConfirmationView) -> Vec<UserQuestion> {
    match asked.details() {
        ConfirmationDetailsView::Questions(questions) => questions,
        _ => Vec::new(),
    }
}

impl ConfirmationView {
    pub(super) fn details(&self) -> ConfirmationDetailsView {
        let field = |name: &str| self.details.get(name).cloned().unwrap_or_default();
        let known = match self.details.get("type").and_then(Value::as_str) {
            Some("edit") => EditDetailsView::deserialize(&self.details).ok().map(|edit| {
                let EditDetailsView { path, diff, new_content, cut_bytes } = edit;
                ConfirmationDetailsView::Edit { path, diff, new_content, cut_bytes }
            }),
            Some("exec") => {
                let command = field("command").as_str().map(str::to_owned);
                let reasons = Vec::<String>::deserialize(&field("reasons")).unwrap_or_default();
                let surroundings = surroundings_of_command(&field);
                command.map(|command| ConfirmationDetailsView::Exec { command, surroundings, reasons })
            }
            Some("fetch") => Vec::<String>::deserialize(&field("urls"))
                .ok()
                .map(|urls| ConfirmationDetailsView::Info(urls.join("\n"))),
            Some("mcp") => field("tool").as_str().map(|tool| {
                let server = field("server").as_str().unwrap_or("?").to_owned();
                ConfirmationDetailsView::Info(format!(
                    "{tool} of the MCP server {server}\n{:#}",
                    field("arguments")
                ))
            }),
            Some("info") => {
                field("prompt").as_str().map(|prompt| ConfirmationDetailsView::Info(prompt.to_owned()))
            }
            Some("budget") => BudgetDetailsView::deserialize(&self.details)
                .ok()
                .map(|budget| ConfirmationDetailsView::Budget(budget.in_words())),
            Some("question") => {
                Vec::deserialize(&field("questions")).ok().map(ConfirmationDetailsView::Questions)
            }
            _ => None,
        };
        known.unwrap_or_else(|| ConfirmationDetailsView::Other(self.details.clone()))
    }

    /// `scout › reader`
    pub(super) fn agents(&self) -> String {
        self.path.join(" › ")
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
            .filter(|(outcome, _)| match (outcome, self.details()) {
                // Only what is told whole can be edited, and only questions can be answered.
                (ConfirmationOutcome::Modify, details) => details.draft().is_some(),
                (ConfirmationOutcome::Answer, details) => {
                    matches!(details, ConfirmationDetailsView::Questions(_))
                }
                _ => true,
            })
            .map(|(outcome, option)| {
                let word = match (outcome, self.details()) {
                    (ConfirmationOutcome::AllowOnce, ConfirmationDetailsView::Budget(_)) => Some("go on"),
                    (ConfirmationOutcome::Deny, ConfirmationDetailsView::Budget(_)) => Some("end"),
                    _ => None,
                };
                let choice = choice(outcome, option.grant(), option.label.clone());
                OutcomeChoice {
                    word: word.unwrap_or(choice.word),
                    allows: option.allows.clone(),
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

    /// Whether a choice wants a second, different key: it holds longer than for this call, is of high risk, or ends the run.
    pub(super) fn wants_second_key(&self, choice: &OutcomeChoice) -> bool {
        match choice.outcome {
            ConfirmationOutcome::AllowSession
            | ConfirmationOutcome::AllowProject
            | ConfirmationOutcome::AllowUser
            | ConfirmationOutcome::CancelRun => true,
            ConfirmationOutcome::AllowOnce => !matches!(self.risk.as_str(), "safe" | "low" | "medium"),
            // What was edited is confirmed when it is sent; to deny and to answer are typed texts.
            ConfirmationOutcome::Modify | ConfirmationOutcome::Answer | ConfirmationOutcome::Deny => false,
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
        self.options.iter().any(|option| option.outcome.known() == Some(outcome))
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
            Some(ConfirmationOutcome::Modify) => Some(match self.details() {
                ConfirmationDetailsView::Edit { .. } => {
                    "the content is not shown whole, so it cannot be edited here".to_owned()
                }
                ConfirmationDetailsView::Budget(_) => {
                    let id = ids::shortest(self.confirmation_id.as_str());
                    format!("by `subagent approve {id} --max-tokens N` or `--max-cost USD`")
                }
                _ => "only by a program: `confirmation/respond` takes other arguments".to_owned(),
            }),
            Some(_) => Some("not here".to_owned()),
            None => Some(format!("`{}` is for a newer `subagent`", option.outcome.as_str())),
        };
        let lines =
            self.options.iter().filter_map(|option| Some(format!("{} ({})", option.label, why(option)?)));
        lines.collect()
    }
}
