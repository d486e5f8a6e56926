//! From a request to everything a run carries: inputs checked, templates filled, limits and model resolved.
//! Nothing starts before all of it holds (spec 03, "The loop", 1).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    child::{Callable, Callables},
    completion::{BadOutputSchema, CompletionTool},
    gate::Gate,
};
use crate::{
    agents::{self, MissingTemplateInput},
    models::{Models, ResolveError, ResolvedModel},
    project::Project,
    protocol::{
        AgentDefinition, AgentLimits, Approval, ApprovalParams, ClientId, Completion, DiscoveryCommands,
        ForeignTools, LimitsParams, Message, ModelRef, OnDetached, Part, RunLimits, RunSeed, Timestamp,
        ToolName, ToolSource, Violation, default_max_depth,
    },
    redact::Redactor,
    tools::{
        CommandRules, Commands, Foreign, Lenders, OutputLimits, OwnFiles, PrepareContext, Reads, Registry,
        Workspace, WorkspaceError, commands_in_force,
    },
    web::{Web, WebRules},
};

mod toolset;

pub(super) use toolset::{exclusions, toolset};

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
    /// The agents that it may call are found here, and the workspace's own rules and settings.
    pub project: Arc<Project>,
    /// Absolute.
    pub roots: Vec<PathBuf>,
    pub prompt: Option<String>,
    pub inputs: Map<String, Value>,
    pub limits: LimitsParams,
    pub model: Option<ModelRef>,
    /// How its questions are put; what the settings say is filled in.
    pub approval: ApprovalParams,
    /// The client that starts it.
    pub initiator: Option<ClientId>,
    /// The tools from elsewhere that it may call, as there are now.
    pub foreign: ForeignTools,
}

/// What the settings say where request and definition are silent.
#[derive(Debug, Clone, Default)]
pub struct RunDefaults {
    pub model: Option<ModelRef>,
    pub limits: LimitsParams,
    pub approval: ApprovalParams,
    /// Whether the mode `yolo` counts (setting `approval.allowYolo`); without, it is as `default`.
    pub allow_yolo: bool,
    pub output: OutputLimits,
    /// What commands may do that its agents run.
    pub commands: CommandRules,
    /// Tools that no run gets (setting `tools.exclude`).
    pub excluded: Vec<ToolName>,
    /// The user's own; a workspace may have others.
    pub discovery: DiscoveryCommands,
    /// Which of the web its agents reach.
    pub web: WebRules,
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
    /// The prompt as it was given.
    pub(super) prompt: Option<String>,
    /// What would be said to a run that is busy instead: the prompt as it was given, else the query.
    pub(super) said: String,
    pub(super) inputs: Value,
    pub(super) limits: RunLimits,
    pub(super) completion: Completion,
    pub(super) approval: Approval,
    pub(super) equipment: Equipment,
}

/// What a driver works with; made anew when a run is resumed.
#[derive(Clone)]
pub(super) struct Equipment {
    pub model: ResolvedModel,
    pub gate: Arc<Gate>,
}

/// What plans and resumed runs are made from.
pub(super) struct Supplies {
    pub models: Models,
    pub registry: Registry,
    pub defaults: RunDefaults,
    /// Takes secrets out of whatever is going to be stored or shown.
    pub redactor: Redactor,
    pub own_files: Arc<OwnFiles>,
    pub commands: Arc<Commands>,
    /// Who lends tools now.
    pub lenders: Lenders,
    pub web: Arc<Web>,
}

/// What a run that is called by another gets from it.
pub(super) struct Inheritance<'a> {
    pub gate: &'a Gate,
    /// Spec 03: "capped by what the parent has left".
    pub left_ms: Option<u64>,
    pub left_tokens: Option<u64>,
    pub max_depth: u32,
    pub now: Timestamp,
    /// How its questions are put is how those of the run that calls it are.
    pub approval: &'a Approval,
}

impl RunPlan {
    /// The plan of a root run. Reads the file system.
    pub(super) fn new(
        request: RunRequest,
        now: Timestamp,
        supplies: &Arc<Supplies>,
    ) -> Result<RunPlan, PlanError> {
        let RunRequest {
            definition,
            digest,
            project,
            roots,
            prompt,
            inputs,
            limits,
            approval,
            initiator,
            model,
            foreign,
        } = request;
        let values = agents::resolve(&definition.inputs, prompt.as_deref(), inputs)
            .map_err(PlanError::InvalidInput)?;
        let model =
            model.or_else(|| definition.model.name.clone()).or_else(|| supplies.defaults.model.clone());
        let model = supplies.models.resolve(model.as_ref().ok_or(PlanError::NoModel)?)?;
        let foreign = Foreign::new(foreign, &supplies.lenders);
        let equipment = equip(&definition, model, &roots, (&project, &foreign), supplies)?;
        // A root run is a conversation where somebody looks at it (spec 02, `completion`).
        let completion = definition.completion.unwrap_or(match (&definition.output, approval.headless) {
            (None, false) => Completion::Message,
            _ => Completion::Tool,
        });
        let approval = resolve_approval(approval, &supplies.defaults.approval, initiator);
        let completion = if definition.output.is_some() { Completion::Tool } else { completion };
        let limits = resolve_limits(&limits, definition.limits, &supplies.defaults.limits, completion);
        let plan = RunPlan::filled(&definition, digest, values, limits, completion, equipment, now)?;
        let said = prompt.clone().unwrap_or_else(|| plan.query.clone());
        let prompt = prompt.map(|prompt| supplies.redactor.owned(prompt));
        Ok(RunPlan { said, prompt, approval, ..plan })
    }

    /// The plan of a run that answers a call. `values` are its inputs, checked.
    pub(super) async fn of_child(
        callable: &Callable,
        values: Map<String, Value>,
        parent: &Inheritance<'_>,
    ) -> Result<RunPlan, PlanError> {
        let Callable { definition, digest } = callable;
        let Gate { supplies, project, prepare, model: inherited, .. } = parent.gate;
        let model = match &definition.model.name {
            Some(name) if *name.as_str() != *inherited.name => {
                // A recording is read, a key may be fetched: where blocking harms nobody.
                let (name, supplies) = (name.clone(), Arc::clone(supplies));
                super::unblocked(move || supplies.models.resolve(&name)).await?
            }
            _ => inherited.clone(),
        };
        let workspace = Arc::clone(&prepare.workspace);
        let foreign = &parent.gate.foreign;
        let around = (project, foreign);
        let equipment = equipment(definition, model, workspace, &parent.gate.roots, around, supplies)?;
        let none_asked = LimitsParams::default();
        let defaults = &supplies.defaults.limits;
        let limits = resolve_limits(&none_asked, definition.limits, defaults, Completion::Tool);
        let limits = RunLimits {
            max_time_ms: least(limits.max_time_ms, parent.left_ms),
            max_tokens: least(limits.max_tokens, parent.left_tokens),
            max_depth: limits.max_depth.min(parent.max_depth),
            ..limits
        };
        let digest = digest.clone();
        let plan =
            RunPlan::filled(definition, digest, values, limits, Completion::Tool, equipment, parent.now)?;
        Ok(RunPlan { approval: parent.approval.clone(), ..plan })
    }

    fn filled(
        definition: &AgentDefinition,
        digest: String,
        values: Map<String, Value>,
        limits: RunLimits,
        completion: Completion,
        equipment: Equipment,
        now: Timestamp,
    ) -> Result<RunPlan, PlanError> {
        let roots = &equipment.gate.roots;
        let roots: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let today = now.to_string();
        let today = today.split('T').next().unwrap_or_default();
        let mut known = Map::new();
        known.insert("today".to_owned(), today.into());
        known.insert("workspace".to_owned(), roots.join(", ").into());
        known.insert("activeModel".to_owned(), equipment.model.name.as_str().into());
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
        let system = format!(
            "{}\n\n# Environment\n- date: {today}\n- platform: {}\n- workspace: {}\n",
            body.trim_end(),
            std::env::consts::OS,
            roots.join(", "),
        );
        let redactor = &equipment.gate.supplies.redactor;
        let sampling = definition.model.sampling;
        let mut inputs = Value::Object(values);
        redactor.value(&mut inputs);
        let seed = RunSeed {
            definition: redacted(definition, redactor),
            system: redactor.owned(system),
            messages: messages.into_iter().map(|message| redactor.message(message)).collect(),
            roots,
            sampling,
            foreign: equipment.gate.foreign.kept(redactor),
        };
        let query = redactor.owned(query);
        let said = query.clone();
        let approval = Approval::default();
        Ok(RunPlan {
            seed,
            digest,
            said,
            query,
            prompt: None,
            inputs,
            limits,
            completion,
            approval,
            equipment,
        })
    }
}

/// A definition as the log keeps it: what it says was filled in before.
fn redacted(definition: &AgentDefinition, redactor: &Redactor) -> AgentDefinition {
    let mut definition = definition.clone();
    definition.title = redactor.owned(definition.title);
    definition.description = definition.description.map(|text| redactor.owned(text));
    definition.prompt = redactor.owned(definition.prompt);
    definition.query = redactor.owned(definition.query);
    for input in &mut definition.inputs {
        input.description = input.description.take().map(|text| redactor.owned(text));
        redactor.value(&mut input.schema);
        if let Some(default) = &mut input.default {
            redactor.value(default);
        }
    }
    for message in &mut definition.initial_messages {
        message.text = redactor.owned(std::mem::take(&mut message.text));
    }
    if let Some(output) = &mut definition.output {
        output.description = output.description.take().map(|text| redactor.owned(text));
        redactor.value(&mut output.schema);
    }
    definition
}

/// What a run of this definition works with: what holds in its workspace, and the tools from elsewhere. Reads the file
/// system.
pub(super) fn equip(
    definition: &AgentDefinition,
    model: ResolvedModel,
    roots: &[PathBuf],
    around: (&Arc<Project>, &Foreign),
    supplies: &Arc<Supplies>,
) -> Result<Equipment, PlanError> {
    let workspace = Arc::new(Workspace::open(roots)?.closed_at(supplies.own_files.state_dir()));
    equipment(definition, model, workspace, roots, around, supplies)
}

/// The tools from elsewhere that a run goes on with after a restart.
pub(super) fn taken_up(kept: ForeignTools, project: &Project, supplies: &Supplies) -> Foreign {
    let in_force = commands_in_force(project, &supplies.defaults.discovery);
    let with = (&supplies.lenders, &supplies.redactor);
    Foreign::taken_up(kept, project.is_trusted.then_some(&in_force), with)
}

fn equipment(
    definition: &AgentDefinition,
    model: ResolvedModel,
    workspace: Arc<Workspace>,
    roots: &[impl AsRef<Path>],
    (project, foreign): (&Arc<Project>, &Foreign),
    supplies: &Arc<Supplies>,
) -> Result<Equipment, PlanError> {
    let callables = Callables::of(definition, &project.catalog);
    let toolset = toolset(definition, &callables, project, foreign, supplies);
    let is_any_foreign = toolset.tools().any(|tool| tool.source() >= ToolSource::Discovered);
    let gate = Gate {
        agent: definition.name.clone(),
        own_auto_approve: definition.auto_approve.clone(),
        // Kept with the run, so only where it, or one that it calls, could use them.
        foreign: if is_any_foreign || !callables.is_empty() { foreign.clone() } else { Foreign::default() },
        toolset,
        callables,
        completion: CompletionTool::new(definition.output.as_ref())?,
        prepare: PrepareContext {
            workspace,
            output: supplies.defaults.output,
            redactor: supplies.redactor.clone(),
            own_files: Arc::clone(&supplies.own_files),
            reads: Reads::default(),
            // The gate knows it, call by call.
            session: None,
            commands: Arc::clone(&supplies.commands),
            command_rules: supplies.defaults.commands.clone().for_agent(definition.sandbox),
            web: Arc::clone(&supplies.web),
            web_rules: supplies.defaults.web.clone(),
            media: model.model.media(),
            // The gate knows it, call by call.
            same_rules: None,
        },
        model: model.clone(),
        roots: roots.iter().map(|root| root.as_ref().to_owned()).collect(),
        project: Arc::clone(project),
        supplies: Arc::clone(supplies),
    };
    Ok(Equipment { model, gate: Arc::new(gate) })
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn resolve_limits(
    asked: &LimitsParams,
    own: AgentLimits,
    defaults: &LimitsParams,
    completion: Completion,
) -> RunLimits {
    let is_conversation = completion == Completion::Message;
    let (max_turns, max_time_ms) = match is_conversation {
        true => (MAX_TURNS_CONVERSATION, None),
        false => (MAX_TURNS, Some(MAX_TIME_MS)),
    };
    let max_depth = asked.max_depth.or(own.max_depth).or(defaults.max_depth);
    RunLimits {
        max_turns: asked.max_turns.or(own.max_turns).or(defaults.max_turns).unwrap_or(max_turns),
        max_time_ms: asked.max_time_ms.or(own.max_time_ms).or(defaults.max_time_ms).or(max_time_ms),
        max_tokens: asked.max_tokens.or(own.max_tokens).or(defaults.max_tokens),
        grace_ms: asked.grace_ms.or(own.grace_ms).or(defaults.grace_ms).unwrap_or(GRACE_MS),
        max_depth: max_depth.unwrap_or_else(default_max_depth),
    }
}

/// The request's word, else the settings'. Nobody is asked where nobody sits, unless somebody says otherwise.
fn resolve_approval(
    asked: ApprovalParams,
    defaults: &ApprovalParams,
    initiator: Option<ClientId>,
) -> Approval {
    let headless = match asked.headless {
        true => Some(OnDetached::Deny),
        false => None,
    };
    Approval {
        headless: asked.headless,
        mode: asked.mode,
        auto_approve: asked.auto_approve,
        audience: asked.audience.or_else(|| defaults.audience.clone()).unwrap_or_default(),
        on_detached: asked.on_detached.or(headless).or(defaults.on_detached).unwrap_or_default(),
        deadline_ms: asked.deadline_ms.or(defaults.deadline_ms),
        on_deadline: asked.on_deadline.or(defaults.on_deadline).unwrap_or_default(),
        initiator,
    }
}
