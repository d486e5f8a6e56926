//! Questions that a run asks a person, and what people answer (spec 06, "Confirmation").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentName, ApprovalMode, BudgetLimits, CallId, ClientId, ConfirmationId, PolicyRule, Risk, RunId,
    SessionId, Timestamp, ToolKind, ToolName, UsdAmount,
};

mod changes;
mod questions;
mod routing;

pub use changes::{
    ConfirmationEdited, ConfirmationRequested, ConfirmationResolved, ConfirmationRevised, RevisionReason,
    RunWaiting,
};
pub use questions::{AnswerKind, QuestionAnswer, UserQuestion};
pub use routing::{Audience, OnDeadline, OnDetached};

/// A question to a person. It says everything that is needed to answer it, so that a phone can show it without asking
/// back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    pub confirmation_id: ConfirmationId,
    pub run_id: RunId,
    pub session_id: SessionId,
    /// From the root run's agent to the one that asks.
    pub path: Vec<AgentName>,
    /// Missing when it is about the run itself, not about a call of its.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    /// Missing with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Missing with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    pub risk: Risk,
    /// Places of `details` that are not shown since they look like secrets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden_places: u64,
    /// What it is about, in one line.
    pub title: String,
    /// Which rule asks, e.g. `builtin:risk=low`.
    pub rule: String,
    /// The reason why it asks, for people.
    pub reason: String,
    pub details: ConfirmationDetails,
    /// SHA-256 of what an answer is about: tool, arguments, accesses and details, as `sha256:<hex>`. An answer carries
    /// it; one to an older subject is `CONFIRMATION_STALE`.
    pub digest: String,
    /// What may be answered; anything else is `OUTCOME_NOT_OFFERED`.
    pub options: Vec<ConfirmationOption>,
    pub audience: Audience,
    /// Who started the root run, when it was a client that introduced itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<ClientId>,
    /// Whoever started the run said that nobody sits there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
    /// What becomes of the question while nobody can be asked.
    pub on_detached: OnDetached,
    pub created_at: Timestamp,
    /// When [`Confirmation::on_deadline`] happens, unless somebody is there who could answer. Moves by the time that
    /// somebody was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    pub on_deadline: OnDeadline,
    /// The person who has changed the call, while hooks are asked about the change and no other answer counts. Not in events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<String>,
}

impl Confirmation {
    /// The option of this outcome and grant, if it is offered. Without a grant, the first one of the outcome: the
    /// narrowest, since options of one outcome stand from the narrowest to the widest.
    pub fn option(
        &self,
        outcome: ConfirmationOutcome,
        grant: Option<GrantScope>,
    ) -> Option<&ConfirmationOption> {
        let is_meant = |option: &&ConfirmationOption| grant.is_none() || option.grant == grant;
        self.options.iter().filter(|option| option.outcome == outcome).find(is_meant)
    }
}

/// What is to be decided, by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConfirmationDetails {
    /// A file is written, changed or removed.
    Edit {
        /// Absolute.
        path: String,
        /// Unified, from what is there to what would be. Empty when nothing can be shown line by line.
        diff: String,
        /// What is there; missing when there is nothing, when it is long, or when it holds a secret (the diff has what
        /// changes).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_content: Option<String>,
        /// What would be; missing when the file would be removed, when it is long, or when it holds a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_content: Option<String>,
        /// So many bytes of the diff are not shown, because it is too long. The digest covers all of it.
        #[serde(default, skip_serializing_if = "is_zero")]
        cut_bytes: u64,
    },
    /// A command is run.
    Exec {
        /// As bash gets it.
        command: String,
        /// Absolute.
        directory: String,
        /// The programs that it names, each once.
        root_commands: Vec<String>,
        /// Each command in it, in words; some in several spellings.
        parsed: Vec<String>,
        /// The reason why it is dangerous, or why it cannot be told what would run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<String>,
        /// What it would be confined by, or that and why it would not be.
        sandbox: String,
        /// It goes on after the call, until it ends or the session does.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// It gets a terminal of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pty: bool,
        /// The call wants another time limit than the usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<f64>,
    },
    /// A tool of a server of the Model Context Protocol is called.
    Mcp {
        server: String,
        /// As the server knows it.
        tool: String,
        /// All of them.
        arguments: Value,
    },
    /// Pages are fetched, or a backend is asked.
    Fetch {
        /// As they will be asked for.
        urls: Vec<String>,
        /// What is to be read in them, where the call says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    /// Anything else, in words, with all arguments of the call.
    Info { prompt: String },
    /// The agent asks something of a person, or a server does that is at a call.
    Question { questions: Vec<UserQuestion> },
    /// The run has used up what it may use, and asks for more. `allowOnce` doubles each limit that is told, until it is beyond what
    /// is used.
    Budget {
        /// Those that are used up.
        limit: BudgetLimits,
        used: BudgetUsed,
        /// The most that can be given: what the run that called this one had left.
        #[serde(default, skip_serializing_if = "is_default")]
        maximum: BudgetLimits,
    },
}

/// What a run and those below it have used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetUsed {
    pub tokens: u64,
    /// Missing when nobody told the models' prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Requests among them of which the daemon estimated the tokens, or some of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_requests: u64,
    /// Requests of which nobody knows what they used: they count for nothing here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_requests: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl ConfirmationDetails {
    /// The `type`, which clients name among their `kinds`.
    pub fn kind(&self) -> &'static str {
        match self {
            ConfirmationDetails::Edit { .. } => "edit",
            ConfirmationDetails::Exec { .. } => "exec",
            ConfirmationDetails::Mcp { .. } => "mcp",
            ConfirmationDetails::Fetch { .. } => "fetch",
            ConfirmationDetails::Info { .. } => "info",
            ConfirmationDetails::Question { .. } => "question",
            ConfirmationDetails::Budget { .. } => "budget",
        }
    }
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationOption {
    pub outcome: ConfirmationOutcome,
    /// Which later calls the answer also allows; missing when it allows none. Several options may have the same outcome
    /// and differ by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantScope>,
    /// For a button.
    pub label: String,
    /// One line in plain words: what will be allowed from then on, where, and for how long. Missing when nothing will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    /// The rule that this outcome would write, shown before it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembers: Option<PolicyRule>,
}

/// Which later calls an answer allows besides the one it is about. How long it holds, and where, is the outcome's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GrantScope {
    /// The same call again: the same command, or the same tool with the same arguments.
    Call,
    /// Commands that begin with the same words, up to the first argument that varies: `cargo test …`.
    Words,
    /// Changes of the same file.
    File,
    /// Changes of files in the same folder and below it.
    Folder,
    /// All edits of this session: its mode becomes `autoEdit`.
    Edits,
}

impl GrantScope {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            GrantScope::Call => "call",
            GrantScope::Words => "words",
            GrantScope::File => "file",
            GrantScope::Folder => "folder",
            GrantScope::Edits => "edits",
        }
    }
}

/// What a person decides. None but those that begin with `allow`, `modify` and `answer` is consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfirmationOutcome {
    /// This call, this time; of a budget: twice as much.
    AllowOnce,
    /// Also calls like it in this session.
    AllowSession,
    /// Also calls like it in this workspace.
    AllowProject,
    /// Also calls like it of this user.
    AllowUser,
    /// With other arguments, another content of the file, or other limits.
    Modify,
    /// What was asked.
    Answer,
    /// Not this call; the run goes on. Of a budget: no more, and the run ends.
    Deny,
    /// Not this call, and the run ends.
    CancelRun,
}

impl ConfirmationOutcome {
    /// True if the call may run.
    pub fn is_consent(self) -> bool {
        match self {
            ConfirmationOutcome::AllowOnce
            | ConfirmationOutcome::AllowSession
            | ConfirmationOutcome::AllowProject
            | ConfirmationOutcome::AllowUser
            | ConfirmationOutcome::Modify
            | ConfirmationOutcome::Answer => true,
            ConfirmationOutcome::Deny | ConfirmationOutcome::CancelRun => false,
        }
    }

    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            ConfirmationOutcome::AllowOnce => "allowOnce",
            ConfirmationOutcome::AllowSession => "allowSession",
            ConfirmationOutcome::AllowProject => "allowProject",
            ConfirmationOutcome::AllowUser => "allowUser",
            ConfirmationOutcome::Modify => "modify",
            ConfirmationOutcome::Answer => "answer",
            ConfirmationOutcome::Deny => "deny",
            ConfirmationOutcome::CancelRun => "cancelRun",
        }
    }
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DecidedBy {
    /// A person, at a client or by a token.
    Client,
    /// A rule that holds by now.
    Policy,
    /// Time ran out.
    Deadline,
    /// Nobody could be asked, or the run ended.
    System,
    /// A hook.
    Hook,
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfirmationState {
    /// Nobody is there who could be asked.
    Queued,
    /// Somebody is.
    Offered,
    /// Somebody reads it.
    Claimed,
    Resolved,
}

/// A question, where it stands, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationRecord {
    #[serde(flatten)]
    pub confirmation: Confirmation,
    /// The folders of its session. In a snapshot the session itself has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    pub state: ConfirmationState,
    /// True if the client that asks should put up a dialog for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// Who is reading it, a courtesy: anybody may answer. Or who has answered it with a change that hooks are asked about (`answered`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// Somebody is reading a question, or has answered it with a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    /// As the client calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The time until which they will probably read, or hooks are asked.
    pub until: Timestamp,
    /// They have answered with a change, and hooks are asked about it: no other answer counts until these have said what they think. Then
    /// the question is over, is asked again as hooks changed it, or is as open as before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    pub outcome: ConfirmationOutcome,
    pub by: DecidedBy,
    /// Who, when it was a client: its id, or the way by which the answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What whoever decided said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The rule that was written, or that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<PolicyRule>,
    /// With an answer that holds for longer than its call: what it allows from now on, in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    /// The session's mode from now on: with the grant `edits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// The digest of the question that this ended.
    pub digest: String,
    /// SHA-256 of what came with the outcome (arguments, content, answers, message), as `sha256:<hex>`: the same answer once
    /// more is known by it, and another one is not taken for it. Missing for answers to a tool's question, which are no
    /// business of the log's: they could be guessed by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_digest: Option<String>,
    /// In the event: when that happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// How a run's questions are put (spec 06). What is missing is as the settings say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalParams {
    /// Nobody sits there: questions are denied at once unless `onDetached` says otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
    /// Instead of the session's mode, but for `plan`: what is put into it changes nothing, however its runs began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Risks whose default ask is dropped; never `critical`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<Risk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Audience>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_detached: Option<OnDetached>,
    /// For each question, from when it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_deadline: Option<OnDeadline>,
}

/// The same, resolved; a run carries it, and the runs it calls inherit it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunApproval {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
    /// Missing = the session's, as it is when a call is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<Risk>,
    pub audience: Audience,
    pub on_detached: OnDetached,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    pub on_deadline: OnDeadline,
    /// The client that started the root run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<ClientId>,
}

/// What a person answers (`confirmation/respond`), as far as the run is concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmationAnswer {
    pub confirmation: ConfirmationId,
    pub digest: String,
    pub outcome: ConfirmationOutcome,
    /// Which of the options of this outcome; without it the narrowest.
    pub grant: Option<GrantScope>,
    pub message: Option<String>,
    /// With `modify`: the whole arguments.
    pub arguments: Option<Value>,
    /// With `modify` of an edit: the whole new content of the file.
    pub content: Option<String>,
    /// With `modify` of a budget.
    pub limits: Option<BudgetLimits>,
    /// With `answer`: one a question.
    pub answers: Vec<QuestionAnswer>,
    /// Who answers, for the log.
    pub name: Option<String>,
}
