//! A call of a server's tool.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use super::{
    asking::McpCaller,
    connection::{McpRequestError, RequestBounds},
    content,
    server::{McpServerInstance, ReadyServer, ServerLease},
    servers::{McpHub, RunServers},
    words::TextSanitizer,
};
use crate::{CallContext, Invocation, Permit, PrepareContext, Tool, parameters::ParameterSchema};
use models::MediaSupport;
use protocol::{
    CallLocation, ConfirmationDetails, ExtensionRef, McpServerTools, McpTool, MessagePart, ReplaySafety,
    ResourceAccess, ToolDeclaration, ToolError, ToolErrorType, ToolResult, ToolSource,
};

/// Characters of a call's arguments in its description, and of each of their texts where a person is asked.
const LONGEST_SHOWN: usize = 2_000;

/// A tool of a server.
pub struct ServerTool {
    declaration: ToolDeclaration,
    parameters: ParameterSchema,
    of: Arc<McpToolOwner>,
    /// As its server knows it.
    name: String,
    read_only: bool,
}

/// Whose tools they are.
struct McpToolOwner {
    servers: McpHub,
    /// Set where the run has it for itself.
    owned: Option<RunServers>,
    server: String,
    digest: String,
    /// Canonical.
    roots: Vec<String>,
    extension: Option<ExtensionRef>,
}

/// The tools that a run was planned with, ready to be called.
pub fn tools(
    told: &McpServerTools,
    roots: &[String],
    (servers, owned): (&McpHub, &RunServers),
) -> Vec<Arc<dyn Tool>> {
    let of = Arc::new(McpToolOwner {
        servers: servers.clone(),
        owned: told.own.as_ref().map(|_| owned.clone()),
        server: told.server.clone(),
        digest: told.digest.clone(),
        roots: roots.to_vec(),
        extension: told.extension.clone(),
    });
    told.tools.iter().filter_map(|tool| ServerTool::tool(tool, &of)).collect()
}

impl ServerTool {
    fn tool(told: &McpTool, of: &Arc<McpToolOwner>) -> Option<Arc<dyn Tool>> {
        let title = told.title.as_deref().unwrap_or(&told.name);
        let declaration = ToolDeclaration {
            name: told.canonical.clone(),
            title: format!("{title} ({} MCP)", of.server),
            description: told.description.clone(),
            kind: told.kind,
            risk: told.risk,
            parameters: told.parameters.clone(),
        };
        Some(Arc::new(ServerTool {
            // What is no schema was replaced when the tools were listed.
            parameters: ParameterSchema::compile(&told.parameters)?,
            declaration,
            of: Arc::clone(of),
            name: told.name.clone(),
            read_only: told.read_only,
        }))
    }

    fn check(&self, arguments: Value, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let arguments: Value = self.parameters.read(arguments)?;
        let shown = cx.redactor.text(&arguments.to_string()).into_owned();
        let mut told = arguments.clone();
        cx.redactor.value(&mut told);
        // What is remembered of an answer is about this server, and not about any other of its name.
        let short: String = self.of.digest.chars().filter(char::is_ascii_hexdigit).rev().take(12).collect();
        let what = format!("`{}` of the MCP server {} ({short})", self.name, self.of.server);
        Ok(Box::new(McpToolInvocation {
            of: Arc::clone(&self.of),
            canonical: self.declaration.name.as_str().to_owned(),
            name: self.name.clone(),
            arguments,
            accesses: vec![ResourceAccess::Opaque { what }],
            shown,
            told,
            media: cx.media,
        }))
    }
}

impl Tool for ServerTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn source(&self) -> ToolSource {
        ToolSource::Mcp
    }

    fn extension(&self) -> Option<&ExtensionRef> {
        self.of.extension.as_ref()
    }

    fn replay(&self) -> ReplaySafety {
        if self.read_only { ReplaySafety::Safe } else { ReplaySafety::Unsafe }
    }

    /// How far its calls are, at least.
    fn streams(&self) -> bool {
        true
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(ready(self.check(arguments, cx)))
    }
}

impl McpToolOwner {
    async fn ready(&self) -> Result<(Arc<ReadyServer>, ServerLease, Arc<McpServerInstance>), String> {
        match &self.owned {
            Some(owned) => self.servers.ready_own(owned, &self.server).await,
            None => self.servers.ready(&self.roots, &self.server).await,
        }
    }
}

struct McpToolInvocation {
    of: Arc<McpToolOwner>,
    canonical: String,
    /// As its server knows the tool.
    name: String,
    arguments: Value,
    accesses: Vec<ResourceAccess>,
    /// The arguments, for people.
    shown: String,
    /// The same, in its shape.
    told: Value,
    media: MediaSupport,
}

impl Invocation for McpToolInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let arguments: String = self.shown.chars().take(LONGEST_SHOWN).collect();
        let more = if arguments.len() < self.shown.len() { "…" } else { "" };
        format!("{} {arguments}{more}\nthe MCP server {} does it", self.name, self.of.server)
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        let (server, tool) = (self.of.server.clone(), self.name.clone());
        Some(ConfirmationDetails::Mcp { server, tool, arguments: self.told.clone() })
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { self.call(&cx).await })
    }
}

impl McpToolInvocation {
    async fn call(self, cx: &CallContext) -> ToolResult {
        let McpToolInvocation { of, canonical, name, arguments, media, .. } = self;
        let found = tokio::select! {
            biased;
            found = of.ready() => found,
            () = cx.cancel.cancelled() => return crate::work::cancelled(),
        };
        let (ready, _use, server) = match found {
            Ok(found) => found,
            Err(why) => return failed(&of, &format!("is away: {why}; nothing was called")),
        };
        if server.digest != of.digest {
            let why = "is configured otherwise than when this run began; nothing was called, and runs that begin now have it";
            return failed(&of, why);
        }
        let watch = tokio::select! {
            biased;
            watch = of.servers.watch_call(&server) => watch,
            () = cx.cancel.cancelled() => return crate::work::cancelled(),
        };
        let watch = match watch {
            Ok(watch) => watch,
            Err(why) => {
                let how = format!("was not called: the workspace cannot be watched meanwhile: {why}");
                return failed(&of, &how);
            }
        };
        let begun = cx.clock.monotonic();
        let silence = Duration::from_millis(server.entry.timeout_ms);
        let bounds = RequestBounds { silence, total: cx.deadline, cancel: &cx.cancel };
        let caller = McpCaller {
            session: cx.session.clone(),
            server: of.server.clone(),
            tool: name,
            words: TextSanitizer::new({
                let servers = of.servers.clone();
                move |text| servers.redacted(text)
            }),
            people: cx.people.clone(),
            model_access: cx.model_access.clone(),
            output: cx.output.clone(),
            span: cx.span,
        };
        let answer = ready.connection.call(arguments, &bounds, caller).await;
        let took = cx.clock.monotonic().saturating_sub(begun);
        let told = match watch {
            Some(watch) => watch.finish().await,
            None => Vec::new(),
        };
        let mut result = match answer {
            Ok(answer) => content::result(&answer, media),
            Err(McpRequestError::Cancelled) => crate::work::cancelled(),
            Err(McpRequestError::TimedOut(time)) => {
                let message = format!(
                    "the MCP server {} did not answer within {} s, and was told that nobody waits any more",
                    of.server,
                    time.as_secs_f64()
                );
                ToolResult::failure(ToolErrorType::McpToolError, message)
            }
            Err(McpRequestError::Gone) => {
                failed(&of, "ended while it was at this call; whether it did anything is not known")
            }
            Err(error) => failed(&of, &format!("refused the call: {error}")),
        };
        result.llm_content.extend(told.iter().map(|told| MessagePart::text(format!("[{told}.]"))));
        server.count(&canonical, took, result.error.is_some());
        result
    }
}

fn failed(of: &McpToolOwner, how: &str) -> ToolResult {
    let message = of.servers.redacted(format!("the MCP server {} {how}", of.server));
    ToolResult::failure(ToolErrorType::McpToolError, message)
}
