//! A call that a client answers: it waits, in bounds, and ends when the client fails it.
//!
//! The client's answer does not come here: it ends the call in the log, and then nobody waits for this any more.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use super::{ClientToolRegistry, ClientToolState};
use crate::{CallContext, Invocation, Permit, PrepareContext, Tool, parameters::ParameterSchema};
use protocol::{
    CallId, CallLocation, ClientId, ClientToolCall, ConfirmationDetails, OnDisconnect, RegisteredClientTool,
    ReplaySafety, ResourceAccess, ToolDeclaration, ToolError, ToolErrorType, ToolResult, ToolSource,
};

/// How long a call waits for a client that is away. A day: whoever closes the editor in the evening comes back to it in the
/// morning, and a person can cancel the run.
const LONGEST_ABSENCE: Duration = Duration::from_secs(24 * 3_600);

/// Characters of a call's arguments in its description; whoever is asked sees all of them.
const LONGEST_SHOWN: usize = 500;

/// A tool that a client lends.
pub struct ClientTool {
    lent: Arc<RegisteredClientTool>,
    parameters: ParameterSchema,
    lenders: ClientToolRegistry,
}

impl ClientTool {
    pub fn tool(lent: RegisteredClientTool, lenders: ClientToolRegistry) -> Option<Arc<dyn Tool>> {
        let parameters = ParameterSchema::compile(&lent.declaration.parameters)?;
        Some(Arc::new(ClientTool { lent: Arc::new(lent), parameters, lenders }))
    }

    fn check(&self, arguments: Value, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let arguments: Value = self.parameters.read(arguments)?;
        // The client reads the arguments in the log, which keeps no secrets; without them they would be others.
        if cx.redactor.value(&mut arguments.clone()) {
            let message = "the arguments hold a secret, which a client is not told; call it without";
            return Err(ToolError { kind: ToolErrorType::ExecutionFailed, message: message.to_owned() });
        }
        let told = match self.lenders.state(&self.lent, None) {
            ClientToolState::Lent { generation } => Some(generation),
            ClientToolState::Away if self.lent.on_disconnect == OnDisconnect::Wait => None,
            state => return Err(not_registered(&self.lent, state)),
        };
        let what = format!("`{}` of the client {}", self.lent.declaration.name, self.lent.client);
        let (lent, lenders) = (Arc::clone(&self.lent), self.lenders.clone());
        let accesses = vec![ResourceAccess::Opaque { what }];
        let redacted = cx.redactor.text(&arguments.to_string()).into_owned();
        Ok(Box::new(ClientToolInvocation { lent, lenders, told, arguments, accesses, shown: redacted }))
    }
}

fn not_registered(lent: &RegisteredClientTool, state: ClientToolState) -> ToolError {
    let RegisteredClientTool { declaration, client, .. } = lent;
    let why = match state {
        ClientToolState::Away => "is not connected any more",
        ClientToolState::Withdrawn | ClientToolState::Lent { .. } => "does not lend it any more",
    };
    let message =
        format!("`{}` cannot be called now: the client {client} that lent it {why}", declaration.name);
    ToolError { kind: ToolErrorType::ToolNotRegistered, message }
}

impl Tool for ClientTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.lent.declaration
    }

    fn source(&self) -> ToolSource {
        ToolSource::Client
    }

    fn lender(&self) -> Option<&ClientId> {
        Some(&self.lent.client)
    }

    /// A call that waits for its client goes on waiting after a restart. The client knows it by its id, so that it does
    /// not do it twice.
    fn replay(&self) -> ReplaySafety {
        match self.lent.on_disconnect {
            OnDisconnect::Wait => ReplaySafety::Safe,
            OnDisconnect::Fail => ReplaySafety::Unsafe,
        }
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(ready(self.check(arguments, cx)))
    }
}

struct ClientToolInvocation {
    lent: Arc<RegisteredClientTool>,
    lenders: ClientToolRegistry,
    /// The client's state when the call was prepared; it is told in the same commit that says that it executes.
    told: Option<u64>,
    arguments: Value,
    accesses: Vec<ResourceAccess>,
    /// The arguments, for people.
    shown: String,
}

impl Invocation for ClientToolInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let arguments: String = self.shown.chars().take(LONGEST_SHOWN).collect();
        let more = if arguments.len() < self.shown.len() { "…" } else { "" };
        format!("{} {arguments}{more}\nthe client {} does it", self.lent.declaration.name, self.lent.client)
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        let RegisteredClientTool { declaration, client, .. } = &*self.lent;
        let (tool, arguments) = (&declaration.name, &self.arguments);
        Some(ConfirmationDetails::Info { prompt: format!("`{tool}` of the client {client}\n{arguments:#}") })
    }

    fn lent(&self) -> Option<ClientToolCall> {
        let RegisteredClientTool { declaration, client, on_disconnect, timeout_ms, .. } = &*self.lent;
        Some(ClientToolCall {
            name: declaration.name.clone(),
            client: client.clone(),
            arguments: self.arguments.clone(),
            on_disconnect: *on_disconnect,
            timeout_ms: *timeout_ms,
        })
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let call = permit.call().clone();
        Box::pin(async move { self.wait(&call, &cx).await })
    }
}

/// For what a call waits, and with it for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientToolWait {
    /// The answer of the client, told in this state.
    Answer(u64),
    /// That the client comes back.
    Return,
}

impl ClientToolInvocation {
    /// How the call ends without its client's answer.
    async fn wait(&self, call: &CallId, cx: &CallContext) -> ToolResult {
        let RegisteredClientTool { client, on_disconnect, timeout_ms, .. } = &*self.lent;
        let mut changes = self.lenders.changes();
        let mut told = self.told.filter(|_| !cx.retelling.is_taken_up());
        let mut before = None;
        let mut over = cx.clock.sleep(LONGEST_ABSENCE);
        loop {
            // Seen before the look, so that whatever comes after it wakes.
            changes.borrow_and_update();
            let waiting = match (self.lenders.state(&self.lent, Some(&cx.session)), on_disconnect) {
                (ClientToolState::Lent { generation }, _) if told == Some(generation) => {
                    ClientToolWait::Answer(generation)
                }
                (ClientToolState::Lent { generation }, OnDisconnect::Wait) => {
                    cx.retelling.tell(call).await;
                    told = Some(generation);
                    ClientToolWait::Answer(generation)
                }
                (ClientToolState::Away, OnDisconnect::Wait) => ClientToolWait::Return,
                (ClientToolState::Lent { .. } | ClientToolState::Away, OnDisconnect::Fail) => {
                    let message = format!("the client {client} disconnected before it answered");
                    return ToolResult::failure(ToolErrorType::ExecutionFailed, message);
                }
                (ClientToolState::Withdrawn, _) => {
                    let error = not_registered(&self.lent, ClientToolState::Withdrawn);
                    return ToolResult::failure(error.kind, error.message);
                }
            };
            let time = match waiting {
                ClientToolWait::Answer(_) => Duration::from_millis(*timeout_ms),
                ClientToolWait::Return => LONGEST_ABSENCE,
            };
            if before.replace(waiting) != Some(waiting) {
                over = cx.clock.sleep(cx.deadline.map_or(time, |left| left.min(time)));
            }
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => {
                    let message = format!("the call was stopped before the client {client} answered");
                    return ToolResult::failure(ToolErrorType::Cancelled, message);
                }
                () = &mut over => {
                    let message = match waiting {
                        ClientToolWait::Answer(_) => {
                            format!("the client {client} did not answer within {} s", time.as_secs_f64())
                        }
                        ClientToolWait::Return => format!(
                            "the client {client} was away for {} h and did not come back",
                            time.as_secs() / 3_600
                        ),
                    };
                    return ToolResult::failure(ToolErrorType::TimedOut, message);
                }
                // Its sender lives as long as `self`.
                _ = changes.changed() => (),
            }
        }
    }
}
