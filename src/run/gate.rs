//! May this call run? One place, one order, one function (DESIGN, "Confirmations and the gate"); and the one
//! place that mints permits.

use std::{ops::Deref, path::PathBuf, sync::Arc};

use serde_json::{Value, json};

use super::{
    child::{self, CallableAgent},
    equipment::RunEquipment,
    machine::{CallJudgement, CallRefusal},
    plan::{ChildInheritance, RunPlan},
};
mod advised_again;
mod answered;
mod answering;
mod asking;
mod budget;
mod changed;
mod context;
pub(crate) mod edit_to_show;
mod edited;
mod hooked;
mod modified;
mod shown;
mod telling;
mod tools;

pub use answering::{AnswerRefusal, said};
pub(crate) use answering::{RefusedAnswer, unfit};
pub use context::{AskingRun, JudgeContext};
pub use hooked::{CallToJudge, GateJudgement};
pub(crate) use shown::EditFiring;

use ::tools::{Invocation, Permit, PrepareContext, SameRuleCheck, Tool};
use policy::{AUTO_APPROVE, Policy, PolicyCall, PolicyDecision, ReadingSubject};
use protocol::{
    COMPLETE_TASK, CallDetails, CallId, ConfirmationDetails, JudgedCall, PolicyRule, ResourceAccess, Risk,
    RuleOrigin, RuleOriginSource, RunId, ToolCall, ToolError, ToolErrorType, ToolKind, ToolName, UsdAmount,
    Verdict,
};
use sys::ids;

/// Judges the calls of one run, by what the run has. A cheap handle.
#[derive(Clone)]
pub struct CallGate {
    equipment: Arc<RunEquipment>,
}

// The gate is its run's equipment behind a door: whoever holds it reads what the run has, and only `judge` and its kin say what
// of it may be used.
impl Deref for CallGate {
    type Target = RunEquipment;

    fn deref(&self) -> &RunEquipment {
        &self.equipment
    }
}

/// What carries out a call that may run.
pub enum PreparedWork {
    Tool(Box<dyn Invocation>),
    /// A run of an agent.
    Child(Arc<RunPlan>),
}

/// A call whose arguments fit its tool.
pub(crate) struct ValidToolCall {
    invocation: Box<dyn Invocation>,
    tool: Arc<dyn Tool>,
    arguments: Value,
    judged: Value,
}

impl ValidToolCall {
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// The same as the tool understands them.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }
}

/// A call that nothing forbids.
pub(crate) struct PreparedToolCall {
    /// Canonical.
    pub tool: ToolName,
    pub work: PreparedWork,
    pub details: CallDetails,
    pub arguments: Value,
    /// The arguments as rules see them.
    pub judged: Value,
    pub call: JudgedCall,
    pub decision: PolicyDecision,
    /// Hooks want a person to be asked, whatever rules say: no rule would change that.
    pub asked_by_hook: bool,
    /// What a person would be shown; `None` = the description.
    pub shown: Option<ConfirmationDetails>,
}

impl PreparedToolCall {
    /// True if a person must be asked: a rule says so, or the call is a question itself.
    pub fn must_be_asked(&self) -> bool {
        self.decision.verdict != Verdict::Allow || self.is_question()
    }

    pub fn is_question(&self) -> bool {
        matches!(self.shown, Some(ConfirmationDetails::Question { .. }))
    }
}

impl CallGate {
    pub fn new(equipment: Arc<RunEquipment>) -> CallGate {
        CallGate { equipment }
    }

    /// The same with other equipment.
    pub(crate) fn with(equipment: RunEquipment) -> CallGate {
        CallGate::new(Arc::new(equipment))
    }

    /// Prepares a call, asks the hooks about it, and judges it as they left it. Nothing is written by the gate. In the grace turn
    /// only `complete_task` exists.
    pub async fn judge(&self, subject: &CallToJudge, judge_context: &JudgeContext) -> GateJudgement {
        let call = &*subject.call;
        let plain = |judgement| GateJudgement::unhooked(judgement, None);
        if call.redacted {
            return plain(CallJudgement::Refuse(secret_lost().into()));
        }
        if call.name.as_str() == COMPLETE_TASK {
            return plain(match self.completion.check(&call.arguments) {
                Ok(result) => CallJudgement::Complete { result },
                Err(error) => CallJudgement::Refuse(error.into()),
            });
        }
        if judge_context.is_grace {
            let message = format!("{} is not available now; only {COMPLETE_TASK} is", call.name);
            let error = ToolError { kind: ToolErrorType::ToolNotAllowed, message };
            return plain(CallJudgement::Refuse(error.into()));
        }
        let Some(scene) = &judge_context.scene else {
            return self.judge_prepared(self.prepare(call, judge_context).await, call, judge_context);
        };
        let judged = match subject.is_again {
            false => self.judge_hooked(subject, scene, judge_context).await,
            true => self.judge_prepared(self.prepare(call, judge_context).await, call, judge_context),
        };
        self.advise(judged, subject, scene, judge_context).await
    }

    /// The reason why nobody can be asked about a command: marks would hide how it is put together.
    pub(crate) fn cannot_be_shown(&self, prepared: &PreparedToolCall) -> Option<ToolError> {
        let is_command = matches!(prepared.shown, Some(ConfirmationDetails::Exec { .. }));
        let command = prepared.arguments.get("command").and_then(Value::as_str).filter(|_| is_command)?;
        self.supplies.redactor.hides_syntax(command).then(|| ToolError {
            kind: ToolErrorType::PolicyDenied,
            message: "a person cannot be asked about this command: a part of it looks like a secret and would be hidden, and \
                      in it are blanks, ends of lines or signs that a shell acts on. Put the secret into a file or a \
                      variable of the environment, and name that in the command"
                .to_owned(),
        })
    }

    /// What a call that was committed runs as after a restart. It was judged, and a person may have allowed it; but what
    /// a rule denies by now is denied.
    pub async fn prepare_again(
        &self,
        call: &ToolCall,
        judge_context: &JudgeContext,
    ) -> Result<PreparedWork, CallRefusal> {
        if call.redacted {
            return Err(secret_lost().into());
        }
        Ok(self.prepare(call, judge_context).await?.work)
    }

    /// A call that passes every check, and what the policy says of it. What is denied is an error.
    pub(super) async fn prepare(
        &self,
        call: &ToolCall,
        judge_context: &JudgeContext,
    ) -> Result<PreparedToolCall, CallRefusal> {
        self.prepare_with(&call.name, call.arguments.clone(), judge_context).await
    }

    pub(super) async fn prepare_with(
        &self,
        name: &ToolName,
        arguments: Value,
        judge_context: &JudgeContext,
    ) -> Result<PreparedToolCall, CallRefusal> {
        self.weigh(self.validate(name, arguments, judge_context).await?, judge_context).await
    }

    /// Checks a call's arguments; what the policy says of it is another matter.
    pub(crate) async fn validate(
        &self,
        name: &ToolName,
        arguments: Value,
        judge_context: &JudgeContext,
    ) -> Result<ValidToolCall, CallRefusal> {
        if let Some(refusal) = self.callables.untrusted(name) {
            return Err(refusal.into());
        }
        if let Some(callable) = self.callables.get(&self.toolset.canonical(name))
            && let Some(refusal) = callable.taken_back(&self.project)
        {
            return Err(refusal.into());
        }
        let cx = PrepareContext {
            session: Some(judge_context.asking.session.clone()),
            same_rules: Some(self.same_rules(self.toolset.canonical(name), judge_context)),
            may_tell: self.may_tell(&self.toolset.canonical(name), judge_context),
            ..self.prepare.clone()
        };
        let prepared = self.toolset.prepare(name, arguments, &cx).await;
        let invocation = prepared.outcome?;
        // A call that was prepared has a tool; saying so keeps a defect from becoming permission.
        let Some(tool) = prepared.tool else {
            let message = format!("there is no tool {}", prepared.name);
            return Err(ToolError { kind: ToolErrorType::ToolNotRegistered, message }.into());
        };
        let (arguments, judged) = (prepared.arguments, prepared.judged);
        Ok(ValidToolCall { invocation, tool, arguments, judged })
    }

    /// Everything that the policy says of a valid call, and hooks that want a person to be asked. What is denied is an error.
    pub(crate) async fn weigh(
        &self,
        valid: ValidToolCall,
        judge_context: &JudgeContext,
    ) -> Result<PreparedToolCall, CallRefusal> {
        let ValidToolCall { invocation, tool, arguments, judged } = valid;
        let declaration = tool.declaration();
        let accesses = invocation.accesses().to_vec();
        let risk = invocation.risk().unwrap_or(declaration.risk);
        let policy = self.policy();
        let decision = policy.decide(&PolicyCall {
            tool: &declaration.name,
            aliases: &self.toolset.aliases(&declaration.name),
            agent: &self.agent,
            callers: &judge_context.asking.path,
            kind: declaration.kind,
            risk,
            accesses: &accesses,
            arguments: &judged,
            commands: invocation.commands(),
            unread: invocation.unread(),
            confinement: invocation.confinement(),
            mode: judge_context.mode(),
            auto_approve: &self.auto_approve(judge_context),
            session: Some(&judge_context.asking.session),
            roots: &self.folders(),
        });
        let hook_asks = judge_context.hooked.as_ref().and_then(|hooked| hooked.ask.as_ref());
        let decision = hook_asks.map_or(decision.clone(), |ask| decision.stricter(hooked::asks(ask)));
        if decision.verdict == Verdict::Deny {
            return Err(denied(&decision, origin(&decision.rule, &policy, judge_context)));
        }
        let details = CallDetails {
            title: declaration.title.clone(),
            description: invocation.description(),
            kind: declaration.kind,
            risk,
            locations: invocation.locations(),
            rule: Some(decision.rule.clone()),
            rule_origin: origin(&decision.rule, &policy, judge_context),
            extension: tool.extension().cloned(),
        };
        let shown = invocation.confirmation();
        let (basis, lent) = (invocation.basis(), invocation.lent());
        let (work, child) = match self.callables.get(&declaration.name) {
            None => (PreparedWork::Tool(invocation), None),
            Some(callable) => {
                let plan = self.plan_child(callable, &arguments, judge_context).await?;
                (PreparedWork::Child(Arc::new(plan)), Some(ids::fresh::<RunId>()))
            }
        };
        let (kind, replay, streams) = (declaration.kind, tool.replay(), tool.streams());
        let hooks = judge_context.hooked.clone();
        let asked_by_hook = hook_asks.is_some();
        let call = JudgedCall { kind, accesses, replay, streams, basis, child, lent, hooks };
        let tool = declaration.name.clone();
        Ok(PreparedToolCall { tool, work, details, arguments, judged, call, decision, asked_by_hook, shown })
    }

    /// For a call that is led on from one URL to another: whether one and the same rule, or none, speaks of both, and does not
    /// forbid them. Then whoever let it have the first, a rule or a person, let it have the second.
    fn same_rules(&self, tool: ToolName, judge_context: &JudgeContext) -> SameRuleCheck {
        let (project, narrowed) = (Arc::clone(&self.project), self.narrowed.clone());
        let declared = self.toolset.tools().find(|it| it.declaration().name == tool);
        let (kind, risk) = declared
            .map_or((ToolKind::Other, Risk::Medium), |it| (it.declaration().kind, it.declaration().risk));
        let subject = self.reading_subject(tool, (kind, risk), judge_context);
        Arc::new(move |from, to| {
            let policy = narrowed.with(project.rules.policy());
            let decide = |url: &str| {
                let access = ResourceAccess::Fetch { url: url.to_owned() };
                subject.decide(&policy, access, &json!({ "urls": [url] }))
            };
            let (first, second) = (decide(from), decide(to));
            second.verdict != Verdict::Deny && (first.verdict, first.rule) == (second.verdict, second.rule)
        })
    }

    /// The run's agent, where it would read something by this tool.
    fn reading_subject(
        &self,
        tool: ToolName,
        (kind, risk): (ToolKind, Risk),
        judge_context: &JudgeContext,
    ) -> ReadingSubject {
        let asking = &judge_context.asking;
        ReadingSubject {
            aliases: self.toolset.aliases(&tool),
            tool,
            agent: self.agent.clone(),
            callers: asking.path.clone(),
            kind,
            risk,
            mode: judge_context.mode(),
            auto_approve: self.auto_approve(judge_context),
            session: Some(asking.session.clone()),
            roots: self.folders(),
        }
    }

    /// The rules in force now, the agent's own among them.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.narrowed.with(self.project.rules.policy())
    }

    /// The workspace's folders, symlinks resolved.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.prepare.workspace.roots().map(PathBuf::from).collect()
    }

    /// Risks whose default ask is dropped, by whoever started the root run, or by the definition while people trust it.
    pub(super) fn auto_approve(&self, judge_context: &JudgeContext) -> Vec<Risk> {
        let asked = &judge_context.asking.approval.auto_approve;
        let own = Some(&self.own_auto_approve).filter(|own| !own.is_empty() && self.is_acknowledged_by_now());
        asked.iter().chain(own.into_iter().flatten()).copied().collect()
    }

    async fn plan_child(
        &self,
        callable: &CallableAgent,
        arguments: &Value,
        judge_context: &JudgeContext,
    ) -> Result<RunPlan, ToolError> {
        let JudgeContext { depth, max_depth, left, now, .. } = *judge_context;
        if max_depth <= depth {
            let message = format!(
                "agents may call agents {max_depth} levels deep, and this one stands at level {depth}; do the work \
                 yourself"
            );
            return Err(ToolError { kind: ToolErrorType::MaxDepth, message });
        }
        if left.tokens == Some(0) || left.cost == Some(UsdAmount::ZERO) {
            let message =
                "nothing is left of the run's budget, which the agents that it calls live on".to_owned();
            return Err(ToolError { kind: ToolErrorType::ExecutionFailed, message });
        }
        let values = child::inputs(&callable.definition, arguments)?;
        let (approval, auto_approve) = (&judge_context.asking.approval, &self.auto_approve(judge_context));
        let callers = &judge_context.asking.path;
        let inheritance =
            ChildInheritance { equipment: self, left, max_depth, now, approval, auto_approve, callers };
        // Boxed, since a plan's gate plans in its turn.
        let planning = Box::pin(RunPlan::of_child(callable, values, &inheritance));
        let plan = planning.await.map_err(|error| error.refusal())?;
        plan.fits_its_window()?;
        Ok(plan)
    }

    /// The permit of a call whose `executing` is committed, over the accesses that were judged. The log keeps them
    /// without secrets, so that is how they are compared; what differs gets a permit that does not fit it. What would
    /// change something else than was judged, and shown to whoever allowed it, gets none.
    pub fn permit(
        &self,
        call: &CallId,
        judged: &JudgedCall,
        invocation: &dyn Invocation,
    ) -> Result<Permit, ToolError> {
        if invocation.basis() != judged.basis {
            let message = "what this call would change is not what it was when the call was judged, so nothing was \
                           done; look at it again, then decide anew";
            return Err(ToolError { kind: ToolErrorType::FileChanged, message: message.to_owned() });
        }
        let accesses = invocation.accesses();
        let kept: Vec<ResourceAccess> =
            accesses.iter().cloned().map(|access| self.supplies.redactor.access(access)).collect();
        let permitted = if kept == judged.accesses { accesses.to_vec() } else { judged.accesses.clone() };
        Ok(Permit::mint(call.clone(), permitted))
    }
}

/// The rules of modes begin so: `mode:yolo`.
const MODE: &str = "mode:";

/// The word that a rule of no file goes back to.
fn origin(rule: &str, policy: &Policy, judge_context: &JudgeContext) -> Option<RuleOrigin> {
    let approval = &judge_context.asking.approval;
    let of_start = || approval.initiator.as_ref().map(ToString::to_string);
    if let Some(mode) = rule.strip_prefix(MODE) {
        // A run that was started in another mode is held to the session's plan all the same.
        let is_of_start = approval.mode.is_some_and(|of_start| of_start.as_str() == mode);
        return match is_of_start {
            true => Some(RuleOrigin { source: RuleOriginSource::Start, by: of_start(), at: None }),
            false => judge_context.mode_origin(),
        };
    }
    if rule.starts_with(PolicyRule::REMEMBERED) {
        let rule = policy.rules().find(|known| known.id == rule)?;
        let (by, at) = (rule.created_by.clone(), rule.created_at);
        return Some(RuleOrigin { source: RuleOriginSource::Answer, by, at });
    }
    let risk = rule.strip_prefix(AUTO_APPROVE)?;
    let is_of_start = approval.auto_approve.iter().any(|approved| approved.as_str() == risk);
    let by = of_start().filter(|_| is_of_start);
    let source = if is_of_start { RuleOriginSource::Start } else { RuleOriginSource::Agent };
    Some(RuleOrigin { source, by, at: None })
}

/// A call that the rules forbid.
fn denied(decision: &PolicyDecision, denied_origin: Option<RuleOrigin>) -> CallRefusal {
    let message = format!("refused by {}: {}", decision.rule, decision.reason);
    let error = ToolError { kind: ToolErrorType::PolicyDenied, message };
    CallRefusal { error, denied_by: Some(decision.rule.clone()), denied_origin }
}

/// What the model meant was never stored.
fn secret_lost() -> ToolError {
    let message = "the daemon was restarted, and the call's arguments held a secret, which is not kept; call it again \
                   if you still need it";
    ToolError { kind: ToolErrorType::Interrupted, message: message.to_owned() }
}
