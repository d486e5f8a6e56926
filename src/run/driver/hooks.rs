//! Hooks at points of the run: those that have none are passed in the same step, the others are flights.

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{
        hooks::{
            AsyncHookEnd, BEGIN_EVENTS, HookScene, HookedRequest, MODEL_EVENTS, ModelHookLedger,
            POINT_EVENTS, PointOfRun, TOLD_EVENTS, WatchedFact, happened, loaded, shows_beginning,
        },
        machine::{EventDraft, HookEffects, LateHook, MachineInput, ModelAsk, RunMachine, WantedTask},
    },
    RunDriver, RunMessage, TaskOutput,
    hook_tools::HookToolCaller,
};
use crate::live_runs::RunInput;
use models::DICTATED;
use protocol::{EventBody, HookEventName, HookPoint, ToolName};
use sys::ids;
use tools::ToolLookup;

/// Hooks that may change what a model reads of a call.
const RESULT_EVENTS: &[HookEventName] =
    &[HookEventName::PostToolUse, HookEventName::PostToolUseFailure, HookEventName::PermissionDenied];

/// Hooks that have a say before a call runs, or after it.
const CALL_EVENTS: &[HookEventName] = &[HookEventName::PreToolUse, HookEventName::PermissionRequest];

impl RunDriver {
    /// Says whether the run has to stand still at points.
    pub(super) fn watch_points(&self, machine: &mut RunMachine) {
        let hooks = &self.gate.hooks;
        machine.watch_hooks(hooks.may_fire_any(POINT_EVENTS));
        let begins = !machine.has_begun()
            && hooks.may_fire_any(BEGIN_EVENTS)
            && shows_beginning(hooks, machine.start(), &self.scene(machine));
        let steers = hooks.may_fire_any(&[HookEventName::UserPromptSubmit]);
        machine.watch_prompts(begins, steers);
    }

    /// Hooks are told what was committed and nobody changes any more.
    pub(super) fn tell_hooks(&self, drafts: &[EventDraft]) {
        if self.gate.hooks.may_fire_any(TOLD_EVENTS) {
            let subject = (self.machine.start(), self.identity.parent.is_some());
            self.tell_hooks_of(happened(drafts, subject, &self.gate.roots));
        }
    }

    /// Hooks are told which memory files the run was given when it began.
    pub(in super::super) fn tell_hooks_of_memory(&self, files: &[PathBuf]) {
        if self.gate.hooks.may_fire_any(&[HookEventName::InstructionsLoaded]) {
            let told = files.iter().map(|file| loaded(file, "session_start", &self.gate.roots));
            self.tell_hooks_of(told.collect());
        }
    }

    /// A hook gave the session a title, and what it said is committed.
    pub(super) fn name_session(&self, inputs: &[RunInput]) {
        for message in inputs {
            if let MachineInput::Hooked { hooks, .. } = &message.input
                && let Some(title) = hooks.session_title.clone().filter(|_| self.identity.parent.is_none())
            {
                self.parts.child_runs.name_session(self.identity.session.clone(), title);
            }
        }
    }

    fn tell_hooks_of(&self, told: Vec<WatchedFact>) {
        if !told.is_empty() {
            let (hooks, redactor) = (&self.gate.hooks, &self.gate.supplies.redactor);
            self.parts.common.hook_watchers.tell(hooks, &self.scene(&self.machine), told, redactor);
        }
    }

    /// Before its first step a run may stand where hooks have to be asked first.
    pub(super) fn watch_from_the_start(&mut self) {
        let (mut machine, mut drafts) = (self.machine.clone(), Vec::new());
        self.watch_points(&mut machine);
        self.pass_points(&mut machine, &mut drafts);
        // What is not yet in the log is decided anew by the first step.
        if drafts.is_empty() {
            self.machine = machine;
        }
    }

    /// A session's hooks are told so before its next run.
    pub(super) fn session_starts_again(&self, why: &'static str) {
        if self.identity.parent.is_none() {
            self.parts.common.session_starts.again(&self.identity.session, why);
        }
    }

    /// Passes the points at which no hook is to be asked: in the same commit as what led to them.
    pub(super) fn pass_points(&self, machine: &mut RunMachine, drafts: &mut Vec<EventDraft>) {
        loop {
            let mut due = machine.due_points().into_iter();
            let Some(point) = due.find(|point| !self.is_hooked(point, machine)) else { break };
            let hooks = Box::new(HookEffects::default());
            drafts.extend(machine.decide(MachineInput::Hooked { point, hooks }));
        }
        self.mark_hooked(machine, drafts);
    }

    /// Says at the ends of calls that hooks are asked about their results: before those have answered, nobody is to be told what the model
    /// may not be given to read.
    fn mark_hooked(&self, machine: &RunMachine, drafts: &mut [EventDraft]) {
        if !self.gate.hooks.may_fire_any(RESULT_EVENTS) {
            return;
        }
        for draft in drafts {
            let EventBody::ToolState(state) = &mut draft.body else { continue };
            if state.result.is_none() || state.awaits_hooks {
                continue;
            }
            let (point, scene) = (HookPoint::CallEnded { call: state.call_id.clone() }, self.scene(machine));
            let at = self.at(&point, machine, &scene);
            state.awaits_hooks = at.is_some_and(|at| at.is_judged(&self.gate.hooks, &scene));
        }
    }

    fn is_hooked(&self, point: &HookPoint, machine: &RunMachine) -> bool {
        if self.flights.has(&WantedTask::Hooks(point.clone())) {
            return true;
        }
        let events = match point {
            HookPoint::Begin => BEGIN_EVENTS,
            HookPoint::Steer { .. } => &[HookEventName::UserPromptSubmit],
            _ => POINT_EVENTS,
        };
        if !self.gate.hooks.may_fire_any(events) {
            return false;
        }
        let scene = self.scene(machine);
        let at = self.at(point, machine, &scene);
        at.is_some_and(|at| at.is_hooked(&self.gate.hooks, &scene))
    }

    /// Asks the hooks at a point.
    pub(super) fn begin_hooks(&mut self, point: HookPoint, want: WantedTask) {
        let scene = self.scene(&self.machine);
        let at = self.at(&point, &self.machine, &scene);
        let (gate, hooks) = (Arc::clone(&self.gate), self.gate.hooks.clone());
        let redactor = self.gate.supplies.redactor.clone();
        let is_of_client = self.machine.model() == DICTATED;
        let asking = async move {
            let mut effects = match at {
                Some(at) => at.ask(&hooks, &scene, &redactor).await,
                None => HookEffects::default(),
            };
            // To hand in a result is the model's alone.
            let has = |name: &ToolName| matches!(gate.toolset.lookup(name), ToolLookup::Found(_));
            effects.keep_follow_up(has, is_of_client);
            TaskOutput::Input(MachineInput::Hooked { point, hooks: Box::new(effects) })
        };
        self.launch(want, asking, None);
    }

    /// Asks the hooks about a request to the model and about its answer; `None` = there are none.
    pub(super) fn hooked_request(&self, ask: ModelAsk) -> Option<HookedRequest> {
        let hooks = &self.gate.hooks;
        if !hooks.may_fire_any(MODEL_EVENTS) {
            return None;
        }
        let gate = Arc::clone(&self.gate);
        let (alternates, name) = (Arc::clone(&self.alternates), self.machine.model().to_owned());
        let meter = self.request.meter().clone();
        Some(HookedRequest {
            hooks: hooks.clone(),
            scene: self.scene(&self.machine),
            redactor: gate.supplies.redactor.clone(),
            clock: Arc::clone(&self.parts.clock),
            asked: Arc::new(move |request| {
                meter.asks();
                alternates.stream(&name, request)
            }),
            model: self.machine.model().to_owned(),
            about: format!("{}.{}", ask.turn, ask.attempt),
            canonical: Arc::new(move |name| gate.toolset.canonical(&name.into())),
            said: ModelHookLedger::default(),
        })
    }

    /// Everything that asynchronous hooks said becomes an input.
    pub(super) fn take_hook_ends(&self, ends: Vec<AsyncHookEnd>, ready: &mut Vec<RunMessage>) {
        let redactor = &self.gate.supplies.redactor;
        let late = ends.into_iter().map(|end| LateHook::of(end, ids::fresh(), redactor));
        ready.push(RunMessage::internal(MachineInput::HooksEnded { late: late.collect() }));
    }

    fn at(&self, point: &HookPoint, machine: &RunMachine, scene: &HookScene) -> Option<PointOfRun> {
        let called = |name: &ToolName| {
            let name = self.gate.toolset.canonical(name);
            let is_agent = self.gate.is_agent(&name);
            (name, is_agent)
        };
        PointOfRun::of(point, machine, called, scene)
    }

    /// The place where the run stands, for hooks about a call; `None` = there are none.
    pub(super) fn call_scene(&self, machine: &RunMachine) -> Option<HookScene> {
        self.gate.hooks.may_fire_any(CALL_EVENTS).then(|| self.scene(machine))
    }

    pub(super) fn scene(&self, machine: &RunMachine) -> HookScene {
        let start = machine.start();
        let judge_context = self.judge_context(machine);
        let (mode, asking) = (judge_context.mode(), &judge_context.asking);
        HookScene {
            session: self.identity.session.clone(),
            run: Some(self.identity.run.clone()),
            root: Some(start.root_run_id.clone().unwrap_or_else(|| self.identity.run.clone())),
            is_child: self.identity.parent.is_some(),
            agent: Some(self.identity.agent.clone()),
            path: self.identity.agent_path.clone(),
            model: machine.model().to_owned(),
            turn: machine.turn(),
            mode,
            is_headless: asking.approval.headless,
            session_start: self.holdings.session_start,
            expansions: self.seed.expansions.as_slice().into(),
            messages: self.transcript.messages().into(),
            skills: self.skills_for_hooks(),
            background: self.gate.supplies.commands.background.clone(),
            models: Some(Arc::new(self.tool_asking(machine))),
            news: Some(self.news.way_in()),
            tools: Some(Arc::new(HookToolCaller::new(
                Arc::clone(&self.gate),
                self.judge_context(machine),
                Arc::clone(&self.parts.clock),
            ))),
            log: self.parts.common.hook_watchers.log().clone(),
        }
    }
}
