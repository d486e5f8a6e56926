//! Which tools are there? One for each agent that can be started in the workspace, and three to go on with runs.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf, sync::Arc};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::workspace_sources::WorkspaceSources;
use agents::{AgentCatalog, AgentLookup};
use protocol::{AgentDefinition, AgentName, AgentStatus, ErrorKind, RpcError};
use run::agent_parameters;

/// Clients take names of letters, digits, `_` and `-`, and no longer ones.
const LONGEST_NAME: usize = 64;

/// A tool that is no agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunControlTool {
    Status,
    Wait,
    Cancel,
}

impl RunControlTool {
    pub const ALL: [RunControlTool; 3] =
        [RunControlTool::Status, RunControlTool::Wait, RunControlTool::Cancel];

    pub fn name(self) -> &'static str {
        match self {
            RunControlTool::Status => "run_status",
            RunControlTool::Wait => "run_wait",
            RunControlTool::Cancel => "run_cancel",
        }
    }

    pub fn named(name: &str) -> Option<RunControlTool> {
        RunControlTool::ALL.into_iter().find(|own| own.name() == name)
    }

    /// The arguments, with what each is.
    pub fn properties(self) -> &'static [&'static str] {
        match self {
            RunControlTool::Status => &["runId"],
            RunControlTool::Wait => &["runId", "timeoutMs"],
            RunControlTool::Cancel => &["runId", "reason"],
        }
    }

    pub fn needs_run(self) -> bool {
        self != RunControlTool::Status
    }

    fn tool(self) -> Tool {
        let (title, description) = match self {
            RunControlTool::Status => (
                "Look at a run",
                "Tells how a run of an agent stands. Without runId: the newest runs of this workspace, to find one again.",
            ),
            RunControlTool::Wait => (
                "Wait for a run",
                "Waits until a run of an agent has ended, and answers its result. When the time is over before that, it \
                 answers how the run stands; call it again to go on waiting.",
            ),
            RunControlTool::Cancel => {
                ("Cancel a run", "Cancels a run of an agent; its tools and the runs below it end first.")
            }
        };
        let described = |name: &str| match name {
            "timeoutMs" => json!({
                "type": "integer", "minimum": 0, "maximum": 600_000,
                "description": "How long to wait at most; missing = as long as calls of agents take at most.",
            }),
            "reason" => json!({ "type": "string", "description": "Why, for people." }),
            _ => json!({ "type": "string", "description": "As the call of the agent answered it." }),
        };
        let properties: Map<String, Value> =
            self.properties().iter().map(|name| ((*name).to_owned(), described(name))).collect();
        let required: &[&str] = if self.needs_run() { &["runId"] } else { &[] };
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let output = match self {
            RunControlTool::Status => json!({
                "type": "object",
                "properties": { "runs": { "type": "array", "items": run_schema(json!({})) } },
                "required": ["runs"],
            }),
            RunControlTool::Wait | RunControlTool::Cancel => run_schema(json!({})),
        };
        let annotations = ToolAnnotations::with_title(title);
        let annotations = match self {
            RunControlTool::Status | RunControlTool::Wait => annotations.read_only(true).open_world(false),
            RunControlTool::Cancel => {
                annotations.read_only(false).destructive(true).idempotent(true).open_world(false)
            }
        };
        tool(self.name().into(), title, description.into(), (input, output)).with_annotations(annotations)
    }
}

/// The tools of a workspace.
pub(super) struct WorkspaceAgentTools {
    /// By the tools' names.
    agents: BTreeMap<String, Arc<AgentDefinition>>,
}

impl WorkspaceAgentTools {
    /// Reads the agents' files, if they have changed.
    pub async fn read(
        workspaces: &WorkspaceSources,
        roots: &[String],
    ) -> Result<WorkspaceAgentTools, RpcError> {
        let project =
            workspaces.project(roots.iter().map(PathBuf::from).collect()).await.map_err(|error| {
                tracing::error!(%error, "the workspace of an MCP session could not be read");
                RpcError::new(
                    ErrorKind::InternalError,
                    "the workspace could not be read; the daemon's log says why",
                )
            })?;
        Ok(WorkspaceAgentTools::of(&project.catalog))
    }

    fn of(catalog: &AgentCatalog) -> WorkspaceAgentTools {
        let listed = catalog.list(false, false).into_iter().filter(|it| it.status == AgentStatus::Ok);
        let mut agents = BTreeMap::new();
        for summary in listed {
            let AgentLookup::Ready { definition, .. } = catalog.find(&summary.name) else { continue };
            if definition.hidden {
                continue;
            }
            let plain = plain_name(definition.name.as_str());
            // Of names that look the same here, each but the first has its own digest behind it.
            let is_taken = RunControlTool::named(&plain).is_some() || agents.contains_key(&plain);
            let name = if is_taken { marked(&plain, &definition.name) } else { plain };
            agents.insert(name, definition);
        }
        WorkspaceAgentTools { agents }
    }

    /// The agent behind a tool.
    pub fn agent(&self, name: &str) -> Option<&Arc<AgentDefinition>> {
        self.agents.get(name)
    }

    /// As a client lists them.
    pub fn declared(&self) -> Vec<Tool> {
        let agents = self.agents.iter().map(|(name, definition)| agent_tool(name.clone(), definition));
        agents.chain(RunControlTool::ALL.into_iter().map(RunControlTool::tool)).collect()
    }

    /// Every name, for whoever spelled one wrong.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = RunControlTool::ALL.into_iter().map(|own| -> &str { own.name() });
        self.agents.keys().map(String::as_str).chain(own)
    }
}

fn agent_tool(name: String, definition: &AgentDefinition) -> Tool {
    let description = definition.description.clone().unwrap_or_else(|| definition.title.clone());
    let result = match &definition.output {
        Some(output) => moved(output.schema.clone(), "#/properties/result"),
        None => json!({ "type": "string" }),
    };
    // What an agent may do is decided call by call while it runs, so nothing is promised here.
    let annotations = ToolAnnotations::with_title(definition.title.clone());
    let schemas = (agent_parameters(definition), run_schema(result));
    tool(name.into(), &definition.title, description, schemas).with_annotations(annotations)
}

fn tool(name: Cow<'static, str>, title: &str, description: String, (input, output): (Value, Value)) -> Tool {
    Tool::new(name, description, Arc::new(object(input)))
        .with_title(title)
        .with_raw_output_schema(Arc::new(object(output)))
}

/// How a run is told: the same whether it has ended or goes on.
fn run_schema(result: Value) -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "properties": {
            "runId": text("Names the run for run_wait, run_status and run_cancel."),
            "sessionId": text("The session it runs in."),
            "agent": text("Whose run it is."),
            "status": text("queued, running, waiting (for a person), parked, or ended."),
            "reason": text("Why it ended; GOAL = it has its result."),
            "result": result,
            "partialResult": text("What there was when it ended without a result."),
            "message": text("Why it did not reach its goal, or what it waits for."),
            "error": text("The code of what went wrong."),
        },
        "required": ["runId", "sessionId", "agent", "status"],
    })
}

/// A schema that stands deeper than it did: what it refers to in itself stands deeper, too.
fn moved(mut schema: Value, below: &str) -> Value {
    fn mend(value: &mut Value, below: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(target) if name == "$ref" && target.starts_with('#') => {
                            *target = format!("{below}{}", &target[1..]);
                        }
                        _ => mend(value, below),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| mend(value, below)),
            _ => {}
        }
    }
    // One with a name of its own refers to that.
    if schema.get("$id").is_none() {
        mend(&mut schema, below);
    }
    schema
}

fn plain_name(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    name.chars().map(|it| if is_plain(it) { it } else { '_' }).take(LONGEST_NAME).collect()
}

fn marked(plain: &str, agent: &AgentName) -> String {
    let digest = Sha256::digest(agent.as_str().as_bytes());
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let kept: String = plain.chars().take(LONGEST_NAME - mark.len() - 1).collect();
    format!("{kept}_{mark}")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_one_that_clients_take() {
        assert_eq!(plain_name("code.review-2_x"), "code_review-2_x");
        assert_eq!(plain_name(&"a".repeat(80)).len(), LONGEST_NAME);
        let marked = marked(&"a".repeat(64), &"a.b".into());
        assert_eq!(marked.len(), LONGEST_NAME);
        assert!(marked.starts_with("aaa") && marked.as_bytes()[55] == b'_', "{marked}");
    }

    #[test]
    fn references_of_a_schema_that_stands_deeper_still_lead_where_they_led() {
        let schema = json!({"$ref": "#/$defs/x", "$defs": {"x": {"items": [{"$ref": "#"}]}}, "y": {"$ref": "http://x#"}});
        let expected = json!({
            "$ref": "#/properties/result/$defs/x",
            "$defs": {"x": {"items": [{"$ref": "#/properties/result"}]}}, "y": {"$ref": "http://x#"},
        });
        assert_eq!(moved(schema, "#/properties/result"), expected);
        let named = json!({"$id": "x", "$ref": "#/y"});
        assert_eq!(moved(named.clone(), "#/properties/result"), named);
    }
}
