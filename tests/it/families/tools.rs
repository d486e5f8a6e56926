//! `mutate {n, ms}` and `look {ms}`: they do nothing but tell that they did, in a file that outlives their process.

use std::{fs::File, io::Write as _, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use subagentd::{
    protocol::{
        CallLocation, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError, ToolErrorType,
        ToolKind, ToolResult,
    },
    tools::{CallContext, Invocation, Permit, PrepareContext, Tool},
};

/// Both tools, writing to `effects`, which must be open for appending: then each line is written whole.
pub fn all(effects: File) -> Vec<Arc<dyn Tool>> {
    let effects = Arc::new(effects);
    vec![
        Arc::new(Act::new("mutate", ToolKind::Edit, ReplaySafety::Unsafe, Arc::clone(&effects))),
        Arc::new(Act::new("look", ToolKind::Read, ReplaySafety::Safe, effects)),
    ]
}

struct Act {
    declaration: ToolDeclaration,
    replay: ReplaySafety,
    effects: Arc<File>,
}

impl Act {
    fn new(name: &str, kind: ToolKind, replay: ReplaySafety, effects: Arc<File>) -> Act {
        let declaration = ToolDeclaration {
            name: name.into(),
            title: name.to_owned(),
            description: "Takes some time and tells that it ran.".to_owned(),
            kind,
            // So that the policy lets it run without a person.
            risk: Risk::Safe,
            parameters: json!({ "type": "object", "required": ["ms"], "properties": {
                "n": { "type": "integer" }, "ms": { "type": "integer" },
            } }),
        };
        Act { declaration, replay, effects }
    }
}

impl Tool for Act {
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
        let n = arguments["n"].as_u64().unwrap_or(0);
        // Calls with the same number go one after the other.
        let access = match self.declaration.kind.is_mutator() {
            true => ResourceAccess::Write { path: PathBuf::from(format!("/probe/{n}")) },
            false => ResourceAccess::Nothing,
        };
        let call = Call {
            name: self.declaration.name.to_string(),
            pause: Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)),
            accesses: vec![access],
            effects: Arc::clone(&self.effects),
        };
        Box::pin(async { Ok(Box::new(call) as Box<dyn Invocation>) })
    }
}

struct Call {
    name: String,
    pause: Duration,
    accesses: Vec<ResourceAccess>,
    effects: Arc<File>,
}

impl Invocation for Call {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        format!("{} ms", self.pause.as_millis())
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let tell = |when: &str| {
                let line = format!("{} {when} {}\n", self.name, permit.call());
                (&*self.effects).write_all(line.as_bytes()).unwrap();
            };
            tell("before");
            tokio::select! {
                () = cx.clock.sleep(self.pause) => {
                    tell("after");
                    ToolResult::text("done")
                }
                () = cx.cancel.cancelled() => {
                    ToolResult::failure(ToolErrorType::Cancelled, "cancelled while it ran")
                }
            }
        })
    }
}
