//! From a request to everything a run carries: inputs checked, templates filled, limits and model resolved.
//! Nothing starts before all of it holds (spec 03, "The loop", 1).

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use super::{
    completion::{BadOutputSchema, CompletionTool},
    gate::Gate,
};
use crate::{
    agents::{self, MissingTemplateInput},
    models::{Model, Models, ResolveError},
    policy::Policy,
    protocol::{
        AgentDefinition, Completion, LimitsParams, Message, ModelRef, Part, RunLimits, RunSeed, Timestamp,
        ToolName, Violation,
    },
    tools::{OutputLimits, PrepareContext, Registry, Toolset, Workspace, WorkspaceError},
};

/// Turns of a run (spec 02, `run.maxTurns`).
const MAX_TURNS: u32 = 30;
/// Turns of a conversational root run (spec 02).
const MAX_TURNS_CONVERSATION: u32 = 100;
/// Active time of a run (spec 02, `run.maxTimeMinutes`); conversational root runs have no limit.
const MAX_TIME_MS: u64 = 10 * 60 * 1_000;
/// Time of the grace turn (spec 02, `run.graceSeconds`).
const GRACE_MS: u64 = 60 * 1_000;

/// What somebody wants to run.
pub struct RunRequest {
    pub definition: Arc<AgentDefinition>,
    /// Of the definition.
    pub digest: String,
    /// Absolute.
    pub roots: Vec<PathBuf>,
    pub prompt: Option<String>,
    pub inputs: Map<String, Value>,
    pub limits: LimitsParams,
    pub model: Option<ModelRef>,
}

/// What the settings say where request and definition are silent.
#[derive(Debug, Clone, Default)]
pub struct RunDefaults {
    pub model: Option<ModelRef>,
    pub limits: LimitsParams,
    pub output: OutputLimits,
    /// Tools that no run gets (setting `tools.exclude`).
    pub excluded: Vec<ToolName>,
}

/// Why nothing started; each is the caller's to mend.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("the inputs do not fit the agent")]
    InvalidInput(Vec<Violation>),
    #[error(transparent)]
    MissingTemplateInput(#[from] MissingTemplateInput),
    #[error("no model is configured: neither the request nor the agent nor the settings name one")]
    NoModel,
    #[error(transparent)]
    Model(#[from] ResolveError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Output(#[from] BadOutputSchema),
}

/// A run that can start.
pub struct RunPlan {
    pub(super) seed: RunSeed,
    pub(super) digest: String,
    pub(super) query: String,
    pub(super) inputs: Value,
    pub(super) limits: RunLimits,
    pub(super) completion: Completion,
    pub(super) equipment: Equipment,
}

/// What a driver works with; made anew when a run is resumed.
pub(super) struct Equipment {
    pub model_name: String,
    pub model: Arc<dyn Model>,
    pub gate: Arc<Gate>,
}

/// What plans and resumed runs are made from.
pub(super) struct Supplies<'a> {
    pub models: &'a Models,
    pub registry: &'a Registry,
    pub policy: &'a Policy,
    pub defaults: &'a RunDefaults,
}

impl RunPlan {
    pub(super) fn new(
        request: RunRequest,
        now: Timestamp,
        supplies: &Supplies<'_>,
    ) -> Result<RunPlan, PlanError> {
        let RunRequest { definition, digest, roots, prompt, inputs: given, limits, model } = request;
        let values =
            agents::resolve(&definition.inputs, prompt.as_deref(), given).map_err(PlanError::InvalidInput)?;
        let model =
            model.or_else(|| definition.model.name.clone()).or_else(|| supplies.defaults.model.clone());
        let equipment = equip(&definition, model.as_ref(), &roots, supplies)?;
        let roots: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();

        let today = now.to_string();
        let today = today.split('T').next().unwrap_or_default();
        let mut known = Map::new();
        known.insert("today".to_owned(), today.into());
        known.insert("workspace".to_owned(), roots.join(", ").into());
        known.insert("activeModel".to_owned(), equipment.model_name.as_str().into());
        known.insert("daemonVersion".to_owned(), env!("CARGO_PKG_VERSION").into());
        known.extend(values.clone());

        let body = agents::fill(&definition.prompt, &known)?;
        let query = agents::fill(&definition.query, &known)?;
        let mut messages = Vec::with_capacity(definition.initial_messages.len() + 1);
        for message in &definition.initial_messages {
            let text = agents::fill(&message.text, &known)?;
            messages.push(Message { role: message.role, parts: vec![Part::text(text)], raw: None });
        }
        messages.push(Message::user(query.clone()));

        // Without `headless` and children yet, every run is a root run that somebody looks at.
        let completion = definition.completion.unwrap_or(match definition.output {
            Some(_) => Completion::Tool,
            None => Completion::Message,
        });
        let completion = if definition.output.is_some() { Completion::Tool } else { completion };
        let limits = resolve_limits(&limits, &definition, &supplies.defaults.limits, completion);
        let system = format!(
            "{}\n\n# Environment\n- date: {today}\n- platform: {}\n- workspace: {}\n",
            body.trim_end(),
            std::env::consts::OS,
            roots.join(", "),
        );
        let sampling = definition.model.sampling;
        let seed = RunSeed { definition: (*definition).clone(), system, messages, roots, sampling };
        Ok(RunPlan { seed, digest, query, inputs: values.into(), limits, completion, equipment })
    }
}

/// What a run of this definition works with.
pub(super) fn equip(
    definition: &AgentDefinition,
    model: Option<&ModelRef>,
    roots: &[PathBuf],
    supplies: &Supplies<'_>,
) -> Result<Equipment, PlanError> {
    let resolved = supplies.models.resolve(model.ok_or(PlanError::NoModel)?)?;
    let workspace = Arc::new(Workspace::open(roots)?);
    let gate = Gate {
        agent: definition.name.clone(),
        policy: supplies.policy.clone(),
        toolset: toolset(definition, supplies),
        completion: CompletionTool::new(definition.output.as_ref())?,
        prepare: PrepareContext { workspace, output: supplies.defaults.output },
    };
    Ok(Equipment { model_name: resolved.name, model: resolved.model, gate: Arc::new(gate) })
}

/// The tools of a definition, without those that the settings keep from every run.
pub(super) fn toolset(definition: &AgentDefinition, supplies: &Supplies<'_>) -> Toolset {
    let mut selection = definition.tools.clone();
    selection.deny.extend(supplies.defaults.excluded.iter().cloned());
    supplies.registry.select(&selection)
}

fn resolve_limits(
    asked: &LimitsParams,
    definition: &AgentDefinition,
    defaults: &LimitsParams,
    completion: Completion,
) -> RunLimits {
    let own = definition.limits;
    let is_conversation = completion == Completion::Message;
    let (max_turns, max_time_ms) = match is_conversation {
        true => (MAX_TURNS_CONVERSATION, None),
        false => (MAX_TURNS, Some(MAX_TIME_MS)),
    };
    RunLimits {
        max_turns: asked.max_turns.or(own.max_turns).or(defaults.max_turns).unwrap_or(max_turns),
        max_time_ms: asked.max_time_ms.or(own.max_time_ms).or(defaults.max_time_ms).or(max_time_ms),
        max_tokens: asked.max_tokens.or(own.max_tokens).or(defaults.max_tokens),
        grace_ms: asked.grace_ms.or(own.grace_ms).or(defaults.grace_ms).unwrap_or(GRACE_MS),
    }
}
