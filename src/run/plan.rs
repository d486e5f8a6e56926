//! From a request to everything a run carries: inputs checked, templates filled, limits and model resolved.
//! Nothing starts before all of it holds (spec 03, "The loop", 1).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    child::{CallableAgent, CallableAgents},
    completion::{BadOutputSchema, CompletionTool},
    equipment::{AgentRules, RunEquipment},
    hooks::RunHooks,
    resources::RunResources,
};
use agents::{self, MissingTemplateInput};
use config::UnknownPromptModule;
use models::{NotRecordable, RecordingWriter, ResolveError, ResolvedModel};
use project::Project;
use prompts::SystemFileError;
use protocol::{
    AgentDefinition, AgentName, AgentProvenance, ApprovalParams, BudgetLimits, ClientId, CompletionMode,
    ContextMessage, LimitsParams, MessagePart, ModelRef, PromptExpansion, PromptSources, RunApproval,
    RunLimits, RunSeed, RunTask, SamplingSettings, SchemaViolation, SkillActivated, Timestamp, ToolError,
    ToolErrorType, ToolName, ToolSource, TraceContext,
};
use tools::{
    AttachmentContent, ForeignToolset, PrepareContext, SeenFileDigests, Workspace, WorkspaceError, attached,
};

mod below;
mod kept;
mod larger_trace;
mod limits;
mod memory;
mod memory_below;
mod memory_imports;
mod model;
mod model_plan;
mod own_prompt;
mod provenance;
mod recorded;
mod skills;
mod told;
mod told_sources;
mod toolset;
mod unheld;

pub use self::skills::SkillProblem;
pub(super) use self::skills::{means_skill_tool, selection, skill_tool};
pub(super) use below::ChildInheritance;
pub(super) use memory::{WorkspaceMemoryReader, memory, memory_rules, memory_target};
pub(super) use memory_below::memory_below;
pub(super) use memory_imports::ImportRules;
pub(super) use model::{KeyLookup, look_for_model, model_name};
pub(super) use model_plan::ModelPlan;
pub(super) use own_prompt::untold_prompts;
pub use told::{MEMORY_BELOW, PromptExtent};
pub(super) use told::{PromptSubject, RunPrompt, daemon_values, date, memory_left};
pub(super) use toolset::{exclusions, taken_up, toolset};

use kept::redacted;
use limits::{least, resolve_approval, resolve_limits};
use model::ChosenModel;
use provenance::{agent_hooks, hooks_of};

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
    /// What comes before what the model's alias and entry say of sampling: of a model that is named again, whose alias the
    /// log does not know.
    pub sampling: SamplingSettings,
    /// How its questions are put; what the settings say is filled in.
    pub approval: ApprovalParams,
    /// The client that starts it.
    pub initiator: Option<ClientId>,
    /// The tools from elsewhere that it may call, as there are now.
    pub foreign: ForeignToolset,
    /// What its model gets beside the prompt.
    pub attached: Vec<AttachmentContent>,
    /// What it is for.
    pub task: RunTask,
    /// The file into which its model's replies are recorded, and those of the runs that it calls. Absolute.
    pub record: Option<PathBuf>,
    /// What its model is told before its first message.
    pub told: PromptExtent,
    /// The span that it is part of, as whoever starts it said.
    pub traceparent: Option<String>,
    /// Everything that a person named for it instead of writing it.
    pub expansions: Vec<PromptExpansion>,
}

/// The reason why nothing started; each is the caller's to mend.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("the inputs do not fit the agent")]
    InvalidInput(Vec<SchemaViolation>),
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
    #[error("the run may cost only so much, and nobody told what {} costs", models.join(" costs, nor what "))]
    NoPrice { models: Vec<String> },
    #[error("what is attached cannot be given to the model: {}", .0.join("; "))]
    Attachments(Vec<String>),
    #[error(transparent)]
    SystemFile(#[from] SystemFileError),
    #[error("{}: the system prompt has no module `{}`", .0.place, .0.name)]
    UnknownModule(UnknownPromptModule),
    #[error(transparent)]
    Skill(#[from] SkillProblem),
    #[error("the recording {} {problem}", path.display())]
    Recording { path: PathBuf, problem: NotRecordable },
}

impl PlanError {
    /// The reason why a call starts no run: the model may mend its arguments or do without.
    pub(super) fn refusal(&self) -> ToolError {
        let kind = match self {
            PlanError::InvalidInput(_) | PlanError::MissingTemplateInput(_) => {
                ToolErrorType::InvalidToolParams
            }
            _ => ToolErrorType::ExecutionFailed,
        };
        ToolError { kind, message: format!("the agent could not be started: {self}") }
    }
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
    pub(super) completion: CompletionMode,
    pub(super) approval: RunApproval,
    pub(super) model_plan: ModelPlan,
    /// The span that it is part of, of a root run.
    pub(super) traceparent: Option<TraceContext>,
    /// What people should know of what it is told.
    pub(super) prompt_warnings: Vec<String>,
    /// The skills that it begins with.
    pub(super) given: Vec<SkillActivated>,
    /// The memory files that it is told.
    pub(super) read_memory: Vec<PathBuf>,
    /// The sources of what it is told.
    pub(super) told: PromptSources,
    /// The modules of its system prompt, as a file that could stand in their place.
    exported: Option<String>,
    pub(super) resources: DriverResources,
}

/// What a driver works with; made anew when a run is resumed.
#[derive(Clone)]
pub(super) struct DriverResources {
    pub model: ResolvedModel,
    pub equipment: Arc<RunEquipment>,
}

impl RunPlan {
    /// The plan of a root run. Reads the file system.
    pub(super) fn new(
        request: RunRequest,
        now: Timestamp,
        supplies: &Arc<RunResources>,
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
            sampling,
            foreign,
            attached,
            task,
            record,
            told,
            traceparent,
            expansions,
        } = request;
        let definition = supplies.defaults.overridden(definition);
        let values = agents::resolve(&definition.inputs, prompt.as_deref(), inputs)
            .map_err(PlanError::InvalidInput)?;
        let ChosenModel { model, choice, unresolved } = ChosenModel::for_root(model, &definition, supplies)?;
        let model = model.sampling_first(sampling);
        // A root run is a conversation where somebody looks at it (spec 02, `completion`).
        let completion = definition.completion.unwrap_or(match (&definition.output, approval.headless) {
            (None, false) => CompletionMode::Message,
            _ => CompletionMode::Tool,
        });
        let approval = resolve_approval(approval, &supplies.defaults.approval, initiator);
        let completion = if definition.output.is_some() { CompletionMode::Tool } else { completion };
        let limits = resolve_limits(&limits, definition.limits, &supplies.defaults.limits, completion);
        let max_context = definition.limits.max_context_tokens.or(supplies.defaults.max_context_tokens);
        let around = (&supplies.models, &supplies.defaults);
        let chosen = (&model, choice, unresolved.as_ref());
        let model_plan = ModelPlan { task, ..ModelPlan::new(chosen, max_context, &project, around) };
        model_plan.check_prices(&limits)?;
        let attached = attached::parts(&attached, model.model.media()).map_err(PlanError::Attachments)?;
        let workspace = open_workspace(&roots, supplies)?;
        // As late as can be, since it makes a file.
        let recording = record.map(|path| recorded::begin(path, supplies)).transpose()?;
        let provenance = provenance::of_root(&project, &definition, &digest);
        let hooks = hooks_of(&project, &definition, &provenance, supplies);
        let around = (&project, &foreign, (hooks, provenance));
        let resources = driver_resources(&definition, model, workspace, &roots, around, recording, supplies)?;
        let extent = match task {
            RunTask::Work => &told,
            // It asks no model to work.
            RunTask::Compact | RunTask::Clear => &PromptExtent::Bare,
        };
        let voice = (!approval.headless, extent, &[][..]);
        let bounds = (limits, completion);
        let mut plan = RunPlan::filled(&definition, digest, values, bounds, resources, voice, now)?;
        plan.write_modules_by_a_plain_way();
        plan.tell_of_untold_prompts();
        plan.tell_of_resting_hooks(extent);
        plan.tell_of_unheld_settings();
        plan.tell_of_earlier_state();
        if let Some(first) = plan.seed.messages.last_mut() {
            let parts = ContextMessage { role: first.role, parts: attached, raw: None };
            first.parts.extend(supplies.redactor.message(parts).parts);
        }
        if task != RunTask::Work {
            // It says nothing in the context that it changes.
            plan.seed.messages.clear();
        }
        plan.seed.expansions = expansions;
        plan.is_part_of(traceparent.as_deref());
        let said = prompt.clone().unwrap_or_else(|| plan.query.clone());
        let prompt = prompt.map(|prompt| supplies.redactor.owned(prompt));
        Ok(RunPlan { said, prompt, approval, model_plan, ..plan })
    }

    /// The plan of a run that answers a call. `values` are its inputs, checked.
    pub(super) async fn of_child(
        callable: &CallableAgent,
        values: Map<String, Value>,
        parent: &ChildInheritance<'_>,
    ) -> Result<RunPlan, PlanError> {
        let RunEquipment { supplies, project, prepare, model: inherited, .. } = parent.equipment;
        let definition = supplies.defaults.overridden(Arc::clone(&callable.definition));
        let (definition, digest) = (Arc::new(below::caller(&definition, parent)), &callable.digest);
        let chosen = {
            // A recording is read, a key may be fetched: where blocking harms nobody.
            let (definition, inherited, supplies) =
                (Arc::clone(&definition), inherited.clone(), Arc::clone(supplies));
            super::unblocked(move || ChosenModel::for_child(&definition, &inherited, &supplies)).await?
        };
        let ChosenModel { model, choice, unresolved } = chosen;
        let mut definition = (*definition).clone();
        definition.tools.is_called = definition.tools.allow.is_none();
        let definition = Arc::new(definition);
        let workspace = Arc::clone(&prepare.workspace);
        let excluded: Vec<ToolName> = exclusions(project, supplies).into_iter().map(|it| it.entry).collect();
        let served = supplies.servers.for_agent(&definition, project, &excluded).await;
        let foreign = &parent.equipment.foreign.with_servers(
            served,
            &supplies.lenders,
            (&supplies.servers, &project.roots),
        );
        let provenance = provenance::of_child(callable, parent);
        let hooks = match agent_hooks(project, &definition, callable.file.as_ref()) {
            None if !parent.equipment.hooks.has_agent() => parent.equipment.hooks.of_child(None),
            own => {
                let hooks = parent.equipment.hooks.clone();
                super::unblocked(move || hooks.of_child(own)).await
            }
        };
        let around = (project, foreign, (hooks, provenance));
        let (roots, recording) = (&parent.equipment.roots, parent.equipment.recording.clone());
        let resources = driver_resources(&definition, model, workspace, roots, around, recording, supplies)?;
        let none_asked = LimitsParams::default();
        let defaults = &supplies.defaults.limits;
        let limits = resolve_limits(&none_asked, definition.limits, defaults, CompletionMode::Tool);
        let limits = RunLimits {
            max_time_ms: least(limits.max_time_ms, parent.left.time_ms),
            max_tokens: least(limits.max_tokens, parent.left.tokens),
            max_cost: least(limits.max_cost, parent.left.cost),
            inherited: BudgetLimits { max_tokens: parent.left.tokens, max_cost: parent.left.cost },
            max_depth: limits.max_depth.min(parent.max_depth),
            ..limits
        };
        let digest = digest.clone();
        let around = (&supplies.models, &supplies.defaults);
        let max_context = definition.limits.max_context_tokens.or(supplies.defaults.max_context_tokens);
        let chosen = (&resources.model, choice, unresolved.as_ref());
        let model_plan = ModelPlan::new(chosen, max_context, project, around);
        model_plan.check_prices(&limits)?;
        if definition.prompt_modules {
            supplies.commands.sandbox.mechanism().await;
        }
        let (now, callers) = (parent.now, parent.callers.to_vec());
        let filling = move || {
            // Nobody answers it: its caller is an agent.
            let voice = (false, &PromptExtent::of_child(), &*callers);
            let bounds = (limits, CompletionMode::Tool);
            RunPlan::filled(&definition, digest, values, bounds, resources, voice, now)
        };
        let plan = super::unblocked(filling).await?;
        Ok(RunPlan { approval: parent.approval.clone(), model_plan, ..plan })
    }

    fn filled(
        definition: &AgentDefinition,
        digest: String,
        values: Map<String, Value>,
        (limits, completion): (RunLimits, CompletionMode),
        resources: DriverResources,
        (is_interactive, extent, callers): (bool, &PromptExtent, &[AgentName]),
        now: Timestamp,
    ) -> Result<RunPlan, PlanError> {
        let equipment = &*resources.equipment;
        let roots: Vec<String> =
            equipment.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let today = date(now);
        let mut known = daemon_values(&today, &roots, &resources.model.name);
        known.extend(values.clone());

        let subject = PromptSubject {
            definition,
            toolset: &equipment.toolset,
            callables: &equipment.callables,
            project: &equipment.project,
            workspace: Some(&equipment.prepare.workspace),
            roots: &roots,
            model: &resources.model.name,
            commands: &equipment.prepare.command_rules,
            is_interactive,
            extent,
            imports: &ImportRules::of_run(equipment, callers),
            supplies: &equipment.supplies,
        };
        let told = subject.tell(&known, &today)?;
        let query = agents::fill(&definition.query, &known)?;
        let mut messages = Vec::with_capacity(definition.initial_messages.len() + 1);
        for message in &definition.initial_messages {
            let text = agents::fill(&message.text, &known)?;
            messages.push(ContextMessage {
                role: message.role,
                parts: vec![MessagePart::text(text)],
                raw: None,
            });
        }
        messages.push(ContextMessage::user(query.clone()));
        let redactor = &equipment.supplies.redactor;
        let sampling = definition.model.sampling.or(resources.model.sampling);
        let mut inputs = Value::Object(values);
        redactor.value(&mut inputs);
        let seed = RunSeed {
            definition: redacted(definition, redactor),
            system: told.system,
            context: told.context,
            messages: messages.into_iter().map(|message| redactor.message(message)).collect(),
            roots,
            sampling,
            foreign: equipment.foreign.kept(redactor),
            record: recorded::place(equipment.recording.as_ref()),
            expansions: Vec::new(),
            provenance: equipment.provenance.clone(),
        };
        let query = redactor.owned(query);
        let said = query.clone();
        let approval = RunApproval::default();
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
            model_plan: ModelPlan::default(),
            traceparent: None,
            prompt_warnings: told.warnings,
            given: told.skills.iter().map(|skill| skills::told(skill, redactor)).collect(),
            read_memory: told.memory,
            told: told.sources,
            exported: told.exported,
            resources,
        })
    }
}

/// What a run that is taken up works with: what holds in its workspace, and the tools from elsewhere. Reads the file
/// system.
pub(super) fn equip(
    seed: &RunSeed,
    model: ResolvedModel,
    roots: &[PathBuf],
    around: (&Arc<Project>, &ForeignToolset),
    supplies: &Arc<RunResources>,
) -> Result<DriverResources, PlanError> {
    let workspace = open_workspace(roots, supplies)?;
    let recording = seed.record.as_deref().and_then(|path| recorded::go_on(Path::new(path), supplies));
    let (project, foreign) = around;
    let hooks = hooks_of(project, &seed.definition, &seed.provenance, supplies);
    let around = (project, foreign, (hooks, seed.provenance.clone()));
    driver_resources(&seed.definition, model, workspace, roots, around, recording, supplies)
}

fn open_workspace(roots: &[PathBuf], supplies: &RunResources) -> Result<Arc<Workspace>, WorkspaceError> {
    Ok(Arc::new(supplies.own_files.close(Workspace::open_known(roots)?)))
}

fn driver_resources(
    definition: &AgentDefinition,
    model: ResolvedModel,
    workspace: Arc<Workspace>,
    roots: &[impl AsRef<Path>],
    (project, foreign, (hooks, provenance)): (&Arc<Project>, &ForeignToolset, (RunHooks, AgentProvenance)),
    recording: Option<RecordingWriter>,
    supplies: &Arc<RunResources>,
) -> Result<DriverResources, PlanError> {
    let callables = CallableAgents::of(definition, &project.catalog);
    let toolset = toolset(definition, &callables, project, foreign, supplies);
    let is_any_foreign = toolset.tools().any(|tool| tool.source() >= ToolSource::Discovered);
    let equipment = RunEquipment {
        agent: definition.name.clone(),
        provenance,
        own_auto_approve: definition.auto_approve.clone(),
        narrowed: AgentRules::of(definition),
        own_narrowings: definition.narrowings.clone(),
        own_tracing: definition.tracing.clone(),
        // Kept with the run, so only where it, or one that it calls, could use them, now or when its servers have some.
        foreign: match is_any_foreign || foreign.has_servers() || !callables.is_empty() {
            true => foreign.clone(),
            false => ForeignToolset::default(),
        },
        toolset,
        callables,
        completion: CompletionTool::new(definition.output.as_ref())?.into(),
        prepare: PrepareContext {
            workspace,
            output: supplies.defaults.output,
            redactor: supplies.redactor.clone(),
            own_files: Arc::clone(&supplies.own_files),
            reads: SeenFileDigests::default(),
            skills: skills::active(&project.skills),
            // The gate knows it, call by call.
            session: None,
            commands: Arc::clone(&supplies.commands),
            command_rules: supplies.defaults.commands.clone().for_agent(definition.sandbox),
            web: Arc::clone(&supplies.web),
            web_rules: supplies.defaults.web.clone(),
            media: model.model.media(),
            // The gate knows it, call by call.
            same_rules: None,
            may_tell: None,
            memory: memory_target(project, supplies),
        },
        tells_memory: !definition.omits_memory && project.is_trusted,
        model: model.clone(),
        recording: recording.clone(),
        roots: roots.iter().map(|root| root.as_ref().to_owned()).collect(),
        project: Arc::clone(project),
        hooks,
        supplies: Arc::clone(supplies),
    };
    let model = match recording {
        Some(recording) => recording.of(model, &supplies.redactor),
        None => model,
    };
    Ok(DriverResources { model, equipment: Arc::new(equipment) })
}
