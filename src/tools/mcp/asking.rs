//! What does a server ask while it is at a call, and who is asked? (Spec 07; 06.)
//!
//! What comes from a server does not say for which call it is. With one call under way it is that one's; with several of one
//! session it goes to the oldest that waits for no answer yet, and whoever is asked is told that it may be another's. With calls
//! of several sessions it is refused, since those of one would read, and consent to, what is another's. With none it is nobody's,
//! and refused: no question reaches a run that has nothing to do with the server. A question ends with the call that it was
//! put for.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    ErrorData,
    model::{ErrorCode, ProgressNotificationParam, ProgressToken},
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{elicitation::Elicitation, sampling::SamplingRequest, words::TextSanitizer};
use crate::{ElicitationOutcome, ElicitationRequest, ModelAccess, ServerElicitation, ToolElicitation};
use protocol::{Risk, SessionId, ToolProgress, TraceContext};
use store::LiveAppender;

/// Characters of what a server says of its progress.
const LONGEST_NEWS: usize = 300;
/// As the protocol has it for what a person does not want.
const REJECTED: ErrorCode = ErrorCode(-1);

/// Who has called a tool, and what can be done for its server meanwhile.
pub struct McpCaller {
    /// Whose people are asked.
    pub session: SessionId,
    /// The server's name.
    pub server: String,
    /// As the server knows it.
    pub tool: String,
    pub words: TextSanitizer,
    pub people: ToolElicitation,
    pub model_access: Option<Arc<dyn ModelAccess>>,
    /// Where people see how far the call is.
    pub output: Option<LiveAppender>,
    /// The call's span, of which the server is told.
    pub span: Option<TraceContext>,
}

/// The requests of a connection that are under way, oldest first.
#[derive(Default)]
pub struct OpenRequests(Mutex<Vec<Arc<OpenRequest>>>);

/// A request that was sent and has no answer yet.
pub struct OpenRequest {
    /// Of a call.
    caller: Option<McpCaller>,
    /// Known once it is sent.
    token: OnceLock<ProgressToken>,
    /// The server has said something about it.
    pub heard: Notify,
    /// Questions of the server that are open.
    n_open: AtomicUsize,
    over: CancellationToken,
    /// Whatever is done for the server.
    tasks: TaskTracker,
}

/// Keeps a request among those under way.
pub struct OpenRequestGuard<'a> {
    requests: &'a OpenRequests,
    pub request: Arc<OpenRequest>,
}

impl OpenRequests {
    pub fn enter(&self, caller: Option<McpCaller>) -> OpenRequestGuard<'_> {
        let request = Arc::new(OpenRequest {
            caller,
            token: OnceLock::new(),
            heard: Notify::new(),
            n_open: AtomicUsize::new(0),
            over: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        self.all().push(Arc::clone(&request));
        OpenRequestGuard { requests: self, request }
    }

    /// Of one request.
    pub fn progress(&self, told: ProgressNotificationParam) {
        let is_meant = |it: &&Arc<OpenRequest>| it.token.get() == Some(&told.progress_token);
        let request = self.all().iter().find(is_meant).cloned();
        if let Some(request) = request {
            request.heard.notify_one();
            request.show_progress(told);
        }
    }

    /// Puts what a server asks to whom it concerns.
    pub async fn elicit(&self, params: &Value, taken_back: &CancellationToken) -> Result<Value, ErrorData> {
        let asked = self.asking()?;
        asked.request.elicit(asked.among, params, taken_back).await
    }

    /// Lets a server have an answer of a model, if a person allows it.
    pub async fn sample(&self, params: &Value, taken_back: &CancellationToken) -> Result<Value, ErrorData> {
        let asked = self.asking()?;
        asked.request.sample(asked.among, params, taken_back).await
    }

    /// The call on whose behalf a server asks.
    fn asking(&self) -> Result<PausedCallGuard, ErrorData> {
        let all = self.all();
        let calls = || all.iter().filter(|it| it.caller.is_some());
        let mut sessions = calls().filter_map(|it| it.caller.as_ref()).map(|caller| &caller.session);
        if let Some(first) = sessions.next()
            && sessions.any(|other| other != first)
        {
            let why = "calls of several sessions are under way, and the protocol does not say for which of them this is; ask \
                       again when one is";
            return Err(ErrorData::invalid_request(why, None));
        }
        let Some(request) = calls().find(|it| !it.is_asking()).or_else(|| calls().next()) else {
            let why = "no call of a tool is under way, so there is nobody who could be asked";
            return Err(ErrorData::invalid_request(why, None));
        };
        // While nobody else looks whom to ask.
        request.n_open.fetch_add(1, Ordering::SeqCst);
        request.heard.notify_one();
        Ok(PausedCallGuard { request: Arc::clone(request), among: calls().count() })
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<OpenRequest>>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenRequestGuard<'_> {
    /// It was sent, and this is how the server names it.
    pub fn is_sent_as(&self, token: &ProgressToken) {
        // It is sent once.
        let _known = self.request.token.set(token.clone());
    }

    /// There is an answer, or nobody waits for one any more: what the server still asks is over, and whatever was done for it
    /// has ended. Then what that took can be counted.
    pub async fn ends(&self) {
        self.request.over.cancel();
        self.request.tasks.close();
        self.request.tasks.wait().await;
    }
}

impl Drop for OpenRequestGuard<'_> {
    fn drop(&mut self) {
        self.request.over.cancel();
        self.requests.all().retain(|it| !Arc::ptr_eq(it, &self.request));
    }
}

/// The question as its server puts it; it was read before.
fn asked_by(server: &str, params: &Value) -> ServerElicitation {
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    ServerElicitation {
        server: server.to_owned(),
        message: text("message").unwrap_or_default(),
        mode: text("mode"),
        url: text("url"),
        schema: params.get("requestedSchema").cloned(),
    }
}

/// Who asks, and why, for people. `among` so many calls of the server that are under way.
fn reason(caller: &McpCaller, among: usize) -> String {
    let McpCaller { server, tool, .. } = caller;
    let reason = format!("the MCP server {server} asks this while it is at its tool {tool}");
    match among {
        0 | 1 => reason,
        n => {
            format!("{reason}; {n} calls of it are under way, and it does not say which of them it asks for")
        }
    }
}

/// The call that is asked. Its time stands still while this is there.
struct PausedCallGuard {
    request: Arc<OpenRequest>,
    /// Calls of the server that are under way.
    among: usize,
}

impl Drop for PausedCallGuard {
    fn drop(&mut self) {
        self.request.n_open.fetch_sub(1, Ordering::SeqCst);
        self.request.heard.notify_one();
    }
}

impl OpenRequest {
    /// Whether the server waits for a person, or for a model.
    pub fn is_asking(&self) -> bool {
        self.n_open.load(Ordering::SeqCst) != 0
    }

    fn show_progress(&self, told: ProgressNotificationParam) {
        let Some((caller, output)) = self.caller.as_ref().and_then(|it| Some((it, it.output.as_ref()?)))
        else {
            return;
        };
        // What is no number cannot be written as JSON.
        if !told.progress.is_finite() {
            return;
        }
        output.tell_progress(ToolProgress {
            progress: told.progress,
            total: told.total.filter(|it| it.is_finite()),
            message: told.message.map(|it| caller.words.line(&it, LONGEST_NEWS)),
        });
    }

    /// Waits for a person; `None` = nobody waits any more: the call is over, or the server took the question back.
    async fn put(
        &self,
        caller: &McpCaller,
        subject: ElicitationRequest,
        taken_back: &CancellationToken,
    ) -> Option<ElicitationOutcome> {
        tokio::select! {
            biased;
            () = self.over.cancelled() => None,
            () = taken_back.cancelled() => None,
            said = caller.people.ask(subject) => Some(said),
        }
    }

    async fn elicit(
        &self,
        among: usize,
        params: &Value,
        taken_back: &CancellationToken,
    ) -> Result<Value, ErrorData> {
        let Some(caller) = &self.caller else { return Ok(json!({ "action": "cancel" })) };
        let _stays = self.tasks.token();
        let elicitation = Elicitation::read(params, &caller.server, &caller.words)
            .map_err(|why| ErrorData::invalid_params(why, None))?;
        let Elicitation { title, details, consent, check } = elicitation;
        // Of a form without fields there is nothing to answer, and still something to send.
        let agreed = check(&[]).ok().filter(Value::is_object);
        let subject = ElicitationRequest {
            title,
            reason: reason(caller, among),
            rule: "builtin:elicitation",
            risk: Risk::Medium,
            details,
            consent,
            check,
            server: Some(asked_by(&caller.server, params)),
        };
        Ok(match self.put(caller, subject, taken_back).await {
            Some(ElicitationOutcome::Yes(said)) => match said.or(agreed) {
                Some(content) => json!({ "action": "accept", "content": content }),
                None => json!({ "action": "accept" }),
            },
            Some(ElicitationOutcome::No(_)) => json!({ "action": "decline" }),
            Some(ElicitationOutcome::Over(_)) | None => json!({ "action": "cancel" }),
        })
    }

    async fn sample(
        &self,
        among: usize,
        params: &Value,
        taken_back: &CancellationToken,
    ) -> Result<Value, ErrorData> {
        let rejected = |why: String| ErrorData::new(REJECTED, why, None);
        let Some((caller, model_access)) =
            self.caller.as_ref().and_then(|it| Some((it, it.model_access.as_ref()?)))
        else {
            return Err(rejected("there is no model to ask".to_owned()));
        };
        let _stays = self.tasks.token();
        let sampling = SamplingRequest::read(params, &caller.words)
            .map_err(|why| ErrorData::invalid_params(why, None))?;
        let subject = ElicitationRequest {
            title: format!("the MCP server {} asks for an answer of the run's model", caller.server),
            reason: reason(caller, among),
            rule: "builtin:sampling",
            risk: Risk::Medium,
            details: sampling.shown(&caller.server),
            consent: "Let the model answer",
            check: Arc::new(|_| Ok(Value::Null)),
            server: None,
        };
        match self.put(caller, subject, taken_back).await {
            Some(ElicitationOutcome::Yes(_)) => (),
            Some(ElicitationOutcome::No(_)) => {
                return Err(rejected("User rejected sampling request".to_owned()));
            }
            Some(ElicitationOutcome::Over(why)) => {
                return Err(rejected(format!("nobody has allowed it: {why}")));
            }
            None => return Err(rejected("the call that it was for is over".to_owned())),
        }
        let answered = tokio::select! {
            biased;
            () = self.over.cancelled() => return Err(rejected("the call that it was for is over".to_owned())),
            () = taken_back.cancelled() => return Err(rejected("it was taken back".to_owned())),
            answered = model_access.go_on(sampling.conversation()) => answered,
        };
        match answered {
            Ok(answered) => Ok(SamplingRequest::result(&answered)),
            Err(why) => Err(ErrorData::internal_error(format!("the model gave no answer: {why}"), None)),
        }
    }
}
