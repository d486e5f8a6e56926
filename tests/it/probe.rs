//! A tool that does what a test says, and tells when it runs.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use subagentd::{
    protocol::{
        CallLocation, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError, ToolErrorType,
        ToolKind, ToolResult,
    },
    store::{EventStore, LogFilter},
    tools::{CallContext, Invocation, Permit, PrepareContext, Tool},
};
use tokio::sync::{Semaphore, mpsc};

/// `probe {"do": "answer" | "wait" | "panic" | "ignoreCancel" | "nospace", "path"?}`.
pub struct Probe {
    declaration: ToolDeclaration,
    replay: ReplaySafety,
    handle: ProbeHandle,
}

/// The test's side of a probe.
#[derive(Clone)]
pub struct ProbeHandle {
    /// One permit lets one waiting call go on.
    pub release: Arc<Semaphore>,
    /// Gets the call's id when it begins to run.
    began: mpsc::UnboundedSender<String>,
    /// When set, a call that runs before its `executing` is in the log fails.
    pub store: Arc<OnceLock<EventStore>>,
}

impl Probe {
    pub fn new(
        name: &str,
        kind: ToolKind,
        risk: Risk,
    ) -> (Probe, ProbeHandle, mpsc::UnboundedReceiver<String>) {
        let (began, heard) = mpsc::unbounded_channel();
        let handle = ProbeHandle { release: Arc::new(Semaphore::new(0)), began, store: Arc::default() };
        let declaration = ToolDeclaration {
            name: name.into(),
            title: "Probe".to_owned(),
            description: "Does what a test says.".to_owned(),
            kind,
            risk,
            parameters: json!({ "type": "object", "properties": {
                "do": { "type": "string" }, "path": { "type": "string" },
            } }),
        };
        let replay = if kind.is_mutator() { ReplaySafety::Unsafe } else { ReplaySafety::Safe };
        (Probe { declaration, replay, handle: handle.clone() }, handle, heard)
    }
}

impl Tool for Probe {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        self.replay
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        _: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let path = PathBuf::from(arguments["path"].as_str().unwrap_or("/probe"));
        let access = match self.declaration.kind.is_mutator() {
            true => ResourceAccess::Write { path },
            false => ResourceAccess::Read { path },
        };
        let action = arguments["do"].as_str().unwrap_or("answer").to_owned();
        let invocation = Call { action, accesses: vec![access], handle: self.handle.clone() };
        Box::pin(async { Ok(Box::new(invocation) as Box<dyn Invocation>) })
    }
}

struct Call {
    action: String,
    accesses: Vec<ResourceAccess>,
    handle: ProbeHandle,
}

impl Invocation for Call {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        self.action.clone()
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            if let Some(store) = self.handle.store.get()
                && !is_executing(store, permit.call().as_str()).await
            {
                return ToolResult::failure(ToolErrorType::ExecutionFailed, "ran before it was committed");
            }
            self.handle.began.send(permit.call().to_string()).unwrap();
            match self.action.as_str() {
                "panic" => panic!("planted"),
                "nospace" => ToolResult::failure(ToolErrorType::NoSpaceLeft, "the disk is full"),
                "wait" => tokio::select! {
                    permit = self.handle.release.acquire() => {
                        permit.unwrap().forget();
                        ToolResult::text("waited")
                    }
                    () = cx.cancel.cancelled() => {
                        ToolResult::failure(ToolErrorType::Cancelled, "cancelled while it waited")
                    }
                },
                "ignoreCancel" => std::future::pending().await,
                _ => ToolResult::text("answered"),
            }
        })
    }
}

async fn is_executing(store: &EventStore, call: &str) -> bool {
    let filter = LogFilter { types: vec!["tool.state".to_owned()], ..LogFilter::default() };
    let page = store.page(&filter, Default::default(), 1_000).await.unwrap();
    page.events.iter().any(|event| {
        let data: Value = serde_json::from_str(&event.body).unwrap();
        data["callId"] == call && data["to"] == "executing"
    })
}
