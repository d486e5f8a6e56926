//! Runs that begin because a call of this one asks for them, in the transaction that says so.

use std::sync::{Arc, atomic::AtomicU32};

use tokio::sync::mpsc;

use super::{
    super::{
        gate::PreparedWork,
        hooks::{BEGIN_EVENTS, shows_beginning},
        live_runs::{LiveRunGuard, RunMessage},
        machine::{EventDraft, RunConstants, RunMachine, StartMode},
        plan::RunPlan,
        slots::RunSlot,
    },
    RunDriver, RunIdentity, RunLeases, carry_seed, later,
};
use protocol::{
    AgentName, CallId, CallState, EventBody, EventSeq, RunId, RunStarted, RunTracing, SkillActivated,
    Timestamp, ToolState, TraceContext,
};
use store::NewEvent;
use sys::ids;

/// A run that will have begun once its events are committed.
pub(super) struct ChildStart {
    call: CallId,
    identity: RunIdentity,
    plan: Arc<RunPlan>,
    machine: RunMachine,
    drafts: Vec<EventDraft>,
    slot: Option<RunSlot>,
    place: LiveRunGuard,
    inbox: mpsc::Receiver<RunMessage>,
}

impl ChildStart {
    /// The run's first events.
    pub fn events(&self, at: Timestamp) -> Vec<NewEvent> {
        self.identity.events(&self.drafts, at, 0)
    }
}

impl RunPlan {
    /// What `run.started` will say.
    pub(in super::super) fn started(&self, lineage: RunLineage) -> RunStarted {
        let RunLineage { context, depth, parent_call, root, path, traceparent } = lineage;
        let definition = &self.seed.definition;
        RunStarted {
            agent: definition.name.clone(),
            title: definition.title.clone(),
            digest: self.digest.clone(),
            model: self.resources.model.name.clone(),
            context_id: context,
            query: self.query.clone(),
            prompt: self.prompt.clone(),
            inputs: self.inputs.clone(),
            limits: self.limits,
            completion: self.completion,
            approval: self.approval.clone(),
            depth,
            parent_call_id: parent_call,
            root_run_id: root,
            path,
            traceparent,
            task: self.model_plan.task,
            context_window: Some(self.model_plan.window),
            safeguards: Box::new(self.model_plan.care.clone()),
            tracing: Box::new(self.tracing()),
            prompt_sources: Some(Box::new(self.told.clone())),
        }
    }

    /// Destinations of its spans: what the settings say, narrowed by the agent.
    fn tracing(&self) -> RunTracing {
        self.resources.equipment.supplies.defaults.tracing.narrowed_by(&self.seed.definition.tracing)
    }

    /// Everything that is told with its beginning: what is odd about it, and the skills that it begins with.
    pub(in super::super) fn opening(&self) -> (Vec<String>, Vec<SkillActivated>) {
        (self.warnings(), self.given.clone())
    }

    /// What is odd about the definition.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.resources.equipment.toolset.warnings().to_vec();
        warnings.extend(self.model_plan.warnings.iter().cloned());
        warnings.extend(self.prompt_warnings.iter().cloned());
        // What keeps an agent from being started has kept it.
        let idle = self.seed.definition.unsupported.iter();
        warnings
            .extend(idle.map(|field| format!("`{field}` in the agent's file has no effect in this version")));
        warnings
    }
}

/// Where a run stands in its tree.
pub(in super::super) struct RunLineage {
    pub context: protocol::ContextId,
    pub depth: u32,
    pub parent_call: Option<CallId>,
    pub root: Option<RunId>,
    pub path: String,
    pub traceparent: Option<TraceContext>,
}

impl RunDriver {
    /// The runs that these drafts say have begun.
    pub(super) fn births(&self, drafts: &[EventDraft]) -> Vec<ChildStart> {
        let mut births: Vec<ChildStart> = Vec::new();
        for draft in drafts {
            let EventBody::ToolState(ToolState { call_id, name, to, child_run_id: Some(run), .. }) =
                &draft.body
            else {
                continue;
            };
            // A call that is judged and not refused is planned, and is executing in the same step; what was planned
            // by another process was ended when this one took the run over.
            let Some(PreparedWork::Child(plan)) =
                self.work.prepared(call_id).filter(|_| *to == CallState::Executing)
            else {
                unreachable!("a run that nobody planned cannot be said to begin");
            };
            let of_agent = births.iter().filter(|birth| birth.identity.agent.as_str() == name.as_str());
            let before = self.machine.children(name) + u32::try_from(of_agent.count()).unwrap_or(u32::MAX);
            births.push(self.birth(call_id, run, plan, before + 1));
        }
        births
    }

    fn birth(&self, call: &CallId, run: &RunId, plan: &Arc<RunPlan>, n: u32) -> ChildStart {
        let parent = self.machine.start();
        let agent: AgentName = plan.seed.definition.name.clone();
        let mut agent_path = self.identity.agent_path.clone();
        agent_path.push(agent.clone());
        let identity = RunIdentity {
            session: self.identity.session.clone(),
            run: run.clone(),
            context: ids::fresh(),
            parent: Some(self.identity.run.clone()),
            agent_path,
            agent,
        };
        let started = plan.started(RunLineage {
            context: identity.context.clone(),
            depth: parent.depth + 1,
            parent_call: Some(call.clone()),
            root: Some(parent.root_run_id.clone().unwrap_or_else(|| self.identity.run.clone())),
            path: format!("{}/{}#{n}", parent.path, identity.agent),
            traceparent: parent.traceparent,
        });
        let slot = self.parts.common.slots.try_take(&identity.session);
        let mut machine = RunMachine::begin(RunConstants { run: run.clone(), start: started });
        if slot.is_some() {
            machine.hold_slot();
        }
        let hooks = &plan.resources.equipment.hooks;
        let around = || (self.holdings.mode.get(), &self.parts.common.hook_watchers);
        let scene = || identity.scene_of_beginning((machine.start(), &[]), None, around());
        let begins = hooks.may_fire_any(BEGIN_EVENTS) && shows_beginning(hooks, machine.start(), &scene());
        machine.watch_prompts(begins, false);
        let mut drafts = machine.open(StartMode::Now, None, plan.opening());
        carry_seed(&mut drafts, &plan.seed);
        let (place, inbox) = self.parts.common.live_runs.take_place(run, true);
        ChildStart {
            call: call.clone(),
            identity,
            plan: Arc::clone(plan),
            machine,
            drafts,
            slot,
            place,
            inbox,
        }
    }

    /// They are in the log now, the first of their events under `first`: they live.
    pub(super) fn launch_all(&mut self, births: Vec<ChildStart>, first: EventSeq) {
        let mut first = first;
        for birth in births {
            let ChildStart { call, identity, plan, machine, drafts, slot, place, inbox } = birth;
            self.work.take(&call);
            let holdings = RunLeases {
                slot,
                turn: None,
                // Another model has replies of its own.
                tree_replies: match plan.resources.model.name == self.machine.start().model {
                    true => Arc::<AtomicU32>::clone(&self.holdings.tree_replies),
                    false => Arc::default(),
                },
                mode: Arc::clone(&self.holdings.mode),
                session_start: None,
            };
            let child_runs = &self.parts.child_runs;
            let (seed, resources) = (plan.seed.clone().into(), plan.resources.clone());
            let parts = child_runs.parts();
            let mut driver = RunDriver::new(parts, identity, seed, resources, machine, holdings);
            driver.absorb_all(first, &drafts);
            driver.tell_hooks_of_memory(&plan.read_memory);
            first = later(first, drafts.len());
            child_runs.drive(driver, place, inbox);
        }
    }
}
