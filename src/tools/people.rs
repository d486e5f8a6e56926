//! How does a call ask a person while it runs? It hands its question to the run, which makes it a durable one like any other,
//! and waits for what comes of it. So tools know neither clients nor the log; and whoever asks is told something whatever
//! happens: an answer, a refusal, or that the question is over.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use protocol::{CallId, ConfirmationDetails, QuestionAnswer, Risk, SchemaViolation};

/// Makes of answers what whoever asked gets, or says all that is wrong with them. The pointers begin with `/answers`.
pub type AnswerValidator =
    Arc<dyn Fn(&[QuestionAnswer]) -> Result<Value, Vec<SchemaViolation>> + Send + Sync>;

/// What a person is asked.
pub struct ElicitationRequest {
    /// In one line.
    pub title: String,
    /// Who asks, and why.
    pub reason: String,
    /// As a rule is named, e.g. `builtin:elicitation`.
    pub rule: &'static str,
    pub risk: Risk,
    /// Questions are answered, everything else is allowed or not.
    pub details: ConfirmationDetails,
    /// What stands on the button that consents.
    pub consent: &'static str,
    pub check: AnswerValidator,
    /// Only of what an MCP server asks.
    pub server: Option<ServerElicitation>,
}

/// The question of an MCP server, as the server puts it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerElicitation {
    /// The server's name.
    pub server: String,
    pub message: String,
    /// `form` or `url`, where the server says it.
    pub mode: Option<String>,
    pub url: Option<String>,
    /// The schema of an answer.
    pub schema: Option<Value>,
}

/// What came of a question. Only a person makes it [`ElicitationOutcome::Yes`].
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationOutcome {
    /// With what was made of the answers.
    Yes(Option<Value>),
    /// A person does not want it, or too much is asked at once.
    No(Option<String>),
    /// Nobody decides it any more, and why.
    Over(String),
}

/// A question on its way to the run.
pub struct PendingToolElicitation {
    pub call: CallId,
    pub subject: ElicitationRequest,
    pub reply: oneshot::Sender<ElicitationOutcome>,
    /// Fires when nobody waits for the answer any more.
    pub gone: CancellationToken,
}

/// Whom a call may ask. A cheap handle.
#[derive(Clone)]
pub struct ToolElicitation {
    run: Option<(CallId, mpsc::Sender<PendingToolElicitation>)>,
}

impl ToolElicitation {
    /// Whoever reads `run` puts the questions of this call.
    pub fn of(call: CallId, run: mpsc::Sender<PendingToolElicitation>) -> ToolElicitation {
        ToolElicitation { run: Some((call, run)) }
    }

    /// Every question is over at once.
    pub fn nobody() -> ToolElicitation {
        ToolElicitation { run: None }
    }

    /// Asks, and waits as long as it takes: the run says when it is over. Dropping it takes the question back.
    pub async fn ask(&self, subject: ElicitationRequest) -> ElicitationOutcome {
        let over = |why: &str| ElicitationOutcome::Over(why.to_owned());
        let Some((call, run)) = &self.run else { return over("there is nobody to ask") };
        let gone = CancellationToken::new();
        let _goes_with_this = gone.clone().drop_guard();
        let (reply, said) = oneshot::channel();
        if run.send(PendingToolElicitation { call: call.clone(), subject, reply, gone }).await.is_err() {
            return over("the run is over");
        }
        said.await.unwrap_or_else(|_| over("the call is over"))
    }
}
