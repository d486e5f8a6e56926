//! Agents as tools: how an agent is declared to another, what a call of it starts, and what comes back (spec 03,
//! "Subagent calls").

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    sync::Arc,
};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};

mod log;

use agents::{self, AgentCatalog};
use project::Project;
use protocol::{
    AcknowledgedAgentFile, AgentDefinition, AgentName, CallLocation, MessagePart, ReplaySafety,
    ResourceAccess, Risk, RunCompleted, RunEndReason, RunId, SchemaViolation, ToolDeclaration, ToolError,
    ToolErrorType, ToolKind, ToolName, ToolResult, ToolSource,
};
use redact::Redactor;
use tools::{self, CallContext, Invocation, OutputLimits, Permit, PrepareContext, Tool};
use trust::AcknowledgementState;

pub use log::{ChildCompletion, ChildLog, ChildNews};

/// Agents that cannot be called and are told one by one.
const MOST_WARNINGS: usize = 8;

/// An agent that another may call.
#[derive(Clone)]
pub struct CallableAgent {
    pub definition: Arc<AgentDefinition>,
    /// Of the definition.
    pub digest: String,
    /// The workspace's file that it comes from.
    pub file: Option<AcknowledgedAgentFile>,
}

impl CallableAgent {
    fn new((definition, digest): (&Arc<AgentDefinition>, &str), catalog: &AgentCatalog) -> CallableAgent {
        let file = catalog.workspace_file(&definition.name, digest);
        CallableAgent { definition: Arc::clone(definition), digest: digest.to_owned(), file }
    }

    /// The refusal of a call of it, where a person has taken back what they acknowledged of it.
    pub fn taken_back(&self, project: &Project) -> Option<ToolError> {
        let AcknowledgedAgentFile { root, path, digest } = self.file.as_ref()?;
        let consent = project.trust().consent(root, path, digest);
        (consent != AcknowledgementState::Now).then(|| unacknowledged(&self.definition.name, digest))
    }
}

fn unacknowledged(name: impl Display, digest: &str) -> ToolError {
    let message = format!(
        "`{name}` is an agent of this workspace that nobody has acknowledged as it is now ({digest}); a person can \
         do that by `subagent trust {name}`. Go on without it, or say in your result what you would have asked of it"
    );
    ToolError { kind: ToolErrorType::WorkspaceNotTrusted, message }
}

/// The agents that the runs of one agent may call.
#[derive(Clone, Default)]
pub struct CallableAgents {
    /// By name, so that declarations always stand in one order.
    agents: Vec<CallableAgent>,
    by_name: Arc<HashMap<ToolName, usize>>,
    /// Agents of the workspace that would be among them if a person had acknowledged them as they are now, with their
    /// digests. They are not declared: their descriptions would be a stranger's words to the model.
    untrusted: Arc<BTreeMap<ToolName, String>>,
    /// Agents that would be among them if this version could carry out what their files ask for: why they are not.
    unsupported: Arc<BTreeMap<ToolName, String>>,
}

impl CallableAgents {
    /// Every agent that may be called at all.
    pub fn every(catalog: &AgentCatalog) -> CallableAgents {
        let agents: Vec<CallableAgent> =
            catalog.callable().map(|it| CallableAgent::new(it, catalog)).collect();
        CallableAgents { agents, ..CallableAgents::default() }
    }

    /// Those that a definition's `tools` name, or all. Neither a pattern nor `all` means the agent itself: that takes its name.
    pub fn of(definition: &AgentDefinition, catalog: &AgentCatalog) -> CallableAgents {
        let allow = definition.tools.allow.as_deref().unwrap_or_default();
        let every = definition.tools.agents;
        if allow.is_empty() && !every {
            return CallableAgents::default();
        }
        let is_named = |name: &AgentName| {
            let is_self = *name == definition.name;
            let matches = |entry: &&ToolName| tools::entry_matches(entry.as_str(), name.as_str());
            let is_listed =
                allow.iter().filter(matches).any(|entry| !is_self || !entry.as_str().contains('*'));
            is_listed || every && !is_self
        };
        let is_pattern = |entry: &ToolName| entry.as_str().contains('*');
        // Names are looked up, so that a run of an agent that names its tools costs the same among thousands of agents.
        let mut named: Vec<(&Arc<AgentDefinition>, &str)> = match every || allow.iter().any(is_pattern) {
            true => catalog.callable().collect(),
            false => allow.iter().flat_map(|entry| catalog.callable_by_spelling(entry.as_str())).collect(),
        };
        named.retain(|(agent, _)| is_named(&agent.name));
        named.sort_by(|(left, _), (right, _)| left.name.cmp(&right.name));
        named.dedup_by(|(left, _), (right, _)| left.name == right.name);
        let agents: Vec<CallableAgent> =
            named.into_iter().map(|it| CallableAgent::new(it, catalog)).collect();
        let name = |agent: &CallableAgent| ToolName::from(agent.definition.name.as_str());
        let by_name = agents.iter().enumerate().map(|(at, agent)| (name(agent), at)).collect();
        let untrusted = catalog.untrusted().filter(|agent| is_named(agent.name));
        let untrusted = untrusted.map(|agent| (ToolName::from(agent.name.as_str()), agent.digest.to_owned()));
        let unsupported = catalog.unsupported().filter(|(name, _)| is_named(name)).map(|(name, fields)| {
            let fields: Vec<String> = fields.into_iter().map(|field| format!("`{field}`")).collect();
            let why = format!(
                "the agent `{name}` cannot be called: its file asks for {}, which this version cannot carry out",
                fields.join(" and ")
            );
            (ToolName::from(name.as_str()), why)
        });
        CallableAgents {
            agents,
            by_name: Arc::new(by_name),
            untrusted: Arc::new(untrusted.collect()),
            unsupported: Arc::new(unsupported.collect()),
        }
    }

    /// The reason why a call of this name starts no run: nobody has acknowledged the agent.
    pub fn untrusted(&self, name: &ToolName) -> Option<ToolError> {
        self.untrusted.get(name).map(|digest| unacknowledged(name, digest))
    }

    /// The reason why an entry of a list of tools means no agent: the one of this name cannot be carried out.
    pub fn unsupported(&self, entry: &ToolName) -> Option<&String> {
        let is_meant = |name: &ToolName| tools::entry_matches(entry.as_str(), name.as_str());
        self.unsupported.iter().find(|(name, _)| is_meant(name)).map(|(_, why)| why)
    }

    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// By name.
    pub fn iter(&self) -> impl Iterator<Item = &CallableAgent> {
        self.agents.iter()
    }

    /// What people should know about agents that cannot be called. A repository may bring hundreds along, of which one
    /// sentence is enough.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let one = |(name, digest): (&ToolName, &String)| {
            format!("the agent `{name}` cannot be called: nobody has acknowledged it as it is now ({digest})")
        };
        let count = self.untrusted.len();
        let shown = if count <= MOST_WARNINGS { count } else { 0 };
        let names = self.untrusted.keys().take(MOST_WARNINGS).map(|name| format!("`{name}`"));
        let all = (MOST_WARNINGS < count).then(|| {
            format!(
                "{count} agents of this workspace cannot be called, {} among them: nobody has acknowledged them as they are now",
                names.collect::<Vec<_>>().join(", ")
            )
        });
        self.untrusted.iter().take(shown).map(one).chain(all)
    }

    /// The agent behind a tool's canonical name.
    pub fn get(&self, name: &ToolName) -> Option<&CallableAgent> {
        self.by_name.get(name).and_then(|at| self.agents.get(*at))
    }

    /// As they are declared.
    pub fn tools(&self, redactor: &Redactor) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.agents
            .iter()
            .map(|agent| Arc::new(AgentTool::new(&agent.definition, redactor.clone())) as Arc<dyn Tool>)
    }
}

/// The declaration of an agent as a tool, and the check of its arguments. What a call leads to, a run, is the driver's.
struct AgentTool {
    declaration: ToolDeclaration,
    definition: Arc<AgentDefinition>,
    redactor: Redactor,
}

impl AgentTool {
    fn new(definition: &Arc<AgentDefinition>, redactor: Redactor) -> AgentTool {
        let declaration = ToolDeclaration {
            name: definition.name.as_str().into(),
            title: definition.title.clone(),
            description: definition.description.clone().unwrap_or_default(),
            kind: ToolKind::Think,
            // What it does is judged call by call in its own run.
            risk: Risk::Safe,
            parameters: agent_parameters(definition),
        };
        AgentTool { declaration, definition: Arc::clone(definition), redactor }
    }
}

impl Tool for AgentTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn source(&self) -> ToolSource {
        ToolSource::Agent
    }

    fn replay(&self) -> ReplaySafety {
        // After a restart the call is attached to its run again; it is never run anew.
        ReplaySafety::Unsafe
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        _: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let checked = inputs(&self.definition, &arguments).map(|values| {
            let title = self.definition.title.clone();
            let task = values.values().find_map(Value::as_str).unwrap_or_default();
            // Before it is cut, since of half a secret nobody can tell that it is one.
            let task = self.redactor.text(task).into_owned();
            Box::new(AgentCall { title, task, accesses: vec![ResourceAccess::Nothing] })
                as Box<dyn Invocation>
        });
        Box::pin(ready(checked))
    }
}

/// JSON Schema of the arguments that an agent takes as a tool.
pub fn agent_parameters(definition: &AgentDefinition) -> Value {
    let mut properties = Map::new();
    for input in &definition.inputs {
        let mut schema = input.schema.clone();
        if let (Some(description), Some(schema)) = (&input.description, schema.as_object_mut()) {
            schema.insert("description".to_owned(), description.as_str().into());
        }
        properties.insert(input.name.clone(), schema);
    }
    let required: Vec<&str> = definition
        .inputs
        .iter()
        .filter(|input| input.required && input.default.is_none())
        .map(|input| input.name.as_str())
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The inputs that a call's arguments give, or every violation at once.
pub fn inputs(definition: &AgentDefinition, arguments: &Value) -> Result<Map<String, Value>, ToolError> {
    let refused = |violations: &[SchemaViolation]| {
        let lines = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message));
        let message = lines.collect::<Vec<_>>().join("\n");
        ToolError { kind: ToolErrorType::InvalidToolParams, message }
    };
    let Some(given) = arguments.as_object() else {
        let message = "the arguments are not an object".to_owned();
        return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message });
    };
    agents::resolve(&definition.inputs, None, given.clone()).map_err(|violations| refused(&violations))
}

/// Describes the call. It is never run as a tool: a run answers it.
struct AgentCall {
    title: String,
    /// What it is asked to do, without secrets.
    task: String,
    accesses: Vec<ResourceAccess>,
}

impl Invocation for AgentCall {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        /// Characters of a call's description.
        const LONGEST: usize = 120;
        let line = self.task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let short: String = line.chars().take(LONGEST).collect();
        if short.is_empty() { self.title.clone() } else { format!("{}: {short}", self.title) }
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _: Permit, _: CallContext) -> BoxFuture<'static, ToolResult> {
        let message = "an agent is answered by a run of its own, not by a tool";
        Box::pin(ready(ToolResult::failure(ToolErrorType::ExecutionFailed, message)))
    }
}

/// What the calling agent and people read of a run that has ended: its result, or what there is of it and why there is
/// no more.
fn settle(agent: &AgentName, run: &RunId, end: &RunCompleted, output: OutputLimits) -> ToolResult {
    let text = end.result.as_deref().or(end.partial_result.as_deref());
    let text = text.map(|text| shortened(text, output.max_chars, run));
    let is_goal = end.reason == RunEndReason::Goal;
    let mut told = Map::new();
    told.insert("agent".to_owned(), agent.as_str().into());
    told.insert("reason".to_owned(), end.reason.as_str().into());
    if let Some(error) = &end.error {
        told.insert("error".to_owned(), json!({ "code": error.code, "message": error.message }));
    }
    if end.recovered {
        told.insert("recovered".to_owned(), true.into());
    }
    if let Some(text) = &text {
        let key = if is_goal { "result" } else { "partialResult" };
        told.insert(key.to_owned(), text.as_str().into());
    }
    let headline = match (is_goal, &end.error) {
        (true, _) if end.recovered => format!("**{agent}** was stopped by a limit and handed in what it had"),
        (true, _) => format!("**{agent}** is done"),
        (false, Some(error)) => format!("**{agent}** ended {}: {}", end.reason.as_str(), error.message),
        (false, None) => format!("**{agent}** ended {}", end.reason.as_str()),
    };
    let shown = match (&text, is_goal) {
        (Some(text), true) => format!("{headline}\n\n{text}"),
        (Some(text), false) => format!("{headline}\n\nWhat there is of its work:\n\n{text}"),
        (None, _) => headline.clone(),
    };
    let error = (!is_goal).then(|| ToolError {
        kind: match end.reason {
            RunEndReason::Aborted => ToolErrorType::Cancelled,
            RunEndReason::Timeout => ToolErrorType::TimedOut,
            _ => ToolErrorType::ExecutionFailed,
        },
        message: headline.replace("**", ""),
    });
    ToolResult {
        llm_content: vec![MessagePart::text(Value::Object(told).to_string())],
        return_display: Some(shown),
        data: Some(json!({ "runId": run, "agent": agent, "reason": end.reason, "output": end.output })),
        error,
        ..ToolResult::default()
    }
}

/// Head and tail of a text that is longer than a call's output may be; the whole stays with its run.
fn shortened(text: &str, max_chars: usize, run: &RunId) -> String {
    let n_chars = text.chars().count();
    if n_chars <= max_chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(max_chars / 2).collect();
    let tail: String = text.chars().skip(n_chars - max_chars / 2).collect();
    let left_out = n_chars - max_chars / 2 * 2;
    format!("{head}\n[… {left_out} of {n_chars} characters left out; run {run} has the whole …]\n{tail}")
}
