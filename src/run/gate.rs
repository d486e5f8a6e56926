//! May this call run? One place, one order, one function (DESIGN, "Confirmations and the gate"); and the one
//! place that mints permits.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use super::{
    child::{self, Callable, Callables},
    completion::CompletionTool,
    machine::{Judgement, RunMachine},
    plan::{Inheritance, RunPlan, Supplies},
};
use crate::{
    models::ResolvedModel,
    policy::{Decision, PolicyCall},
    project::Project,
    protocol::{
        Access, AgentName, ApprovalMode, COMPLETE_TASK, CallDetails, CallId, PreparedCall, RunId, Timestamp,
        ToolCall, ToolError, ToolErrorType, Verdict,
    },
    sys::ids,
    tools::{Invocation, Permit, PrepareContext, Toolset},
};

/// What a run's calls are judged by.
pub struct Gate {
    pub agent: AgentName,
    pub toolset: Toolset,
    /// The tools of `toolset` that are agents.
    pub callables: Callables,
    pub completion: CompletionTool,
    pub prepare: PrepareContext,
    /// The run's own; runs that it calls inherit it.
    pub model: ResolvedModel,
    pub roots: Vec<PathBuf>,
    /// Its rules are those in force when a call is judged.
    pub project: Arc<Project>,
    pub supplies: Arc<Supplies>,
}

/// Where the run stands when its calls are judged.
#[derive(Clone, Copy)]
pub struct Standing {
    pub is_grace: bool,
    pub depth: u32,
    pub max_depth: u32,
    pub left_ms: Option<u64>,
    pub left_tokens: Option<u64>,
    pub now: Timestamp,
}

impl Standing {
    pub fn of(machine: &RunMachine, now: Timestamp) -> Standing {
        let (left_ms, left_tokens) = machine.left();
        let start = machine.start();
        let (depth, max_depth) = (start.depth, start.limits.max_depth);
        Standing { is_grace: machine.is_grace(), depth, max_depth, left_ms, left_tokens, now }
    }
}

/// What carries out a call that may run.
pub enum Work {
    Tool(Box<dyn Invocation>),
    /// A run of an agent.
    Child(Arc<RunPlan>),
}

/// A call that may run.
pub struct Prepared {
    pub work: Work,
    pub details: CallDetails,
    pub arguments: Value,
    pub call: PreparedCall,
}

impl Gate {
    /// Prepares a call and judges it. Nothing is written by either. In the grace turn only `complete_task`
    /// exists.
    pub async fn judge(&self, call: &ToolCall, standing: Standing) -> (Judgement, Option<Work>) {
        if call.redacted {
            let message =
                "the daemon was restarted, and the call's arguments held a secret, which is not kept; \
                           call it again if you still need it"
                    .to_owned();
            let error = ToolError { kind: ToolErrorType::Interrupted, message };
            return (Judgement::Refuse(error), None);
        }
        if call.name.as_str() == COMPLETE_TASK {
            return match self.completion.check(&call.arguments) {
                Ok(result) => (Judgement::Complete { result }, None),
                Err(error) => (Judgement::Refuse(error), None),
            };
        }
        if standing.is_grace {
            let message = format!("{} is not available now; only {COMPLETE_TASK} is", call.name);
            return (Judgement::Refuse(ToolError { kind: ToolErrorType::ToolNotAllowed, message }), None);
        }
        match self.prepare(call, standing).await {
            Ok(Prepared { work, details, arguments, call }) => {
                (Judgement::Run { details, arguments, prepared: call }, Some(work))
            }
            Err(error) => (Judgement::Refuse(error), None),
        }
    }

    /// A call that passes every check, ready to run. Also used after a restart: what is prepared anew is judged
    /// anew.
    pub async fn prepare(&self, call: &ToolCall, standing: Standing) -> Result<Prepared, ToolError> {
        if let Some(refusal) = self.callables.untrusted(&call.name) {
            return Err(refusal);
        }
        let prepared = self.toolset.prepare(&call.name, call.arguments.clone(), &self.prepare).await;
        let invocation = prepared.outcome?;
        // A call that was prepared has a tool; saying so keeps a defect from becoming permission.
        let Some(tool) = prepared.tool else {
            let message = format!("there is no tool {}", prepared.name);
            return Err(ToolError { kind: ToolErrorType::ToolNotRegistered, message });
        };
        let declaration = tool.declaration();
        let accesses = invocation.accesses().to_vec();
        let decision = self.project.rules.policy().decide(&PolicyCall {
            tool: &declaration.name,
            aliases: &[],
            agent: &self.agent,
            kind: declaration.kind,
            risk: declaration.risk,
            accesses: &accesses,
            arguments: &prepared.arguments,
            commands: None,
            mode: ApprovalMode::Default,
            auto_approve: &[],
            session: None,
            roots: &self.roots,
        });
        settle(&decision)?;
        let details = CallDetails {
            title: declaration.title.clone(),
            description: invocation.description(),
            kind: declaration.kind,
            risk: declaration.risk,
            locations: invocation.locations(),
        };
        let (work, child) = match self.callables.get(&declaration.name) {
            None => (Work::Tool(invocation), None),
            Some(callable) => {
                let plan = self.plan_child(callable, &prepared.arguments, standing).await?;
                (Work::Child(Arc::new(plan)), Some(ids::fresh::<RunId>()))
            }
        };
        let call = PreparedCall { kind: declaration.kind, accesses, replay: tool.replay(), child };
        Ok(Prepared { work, details, arguments: prepared.arguments, call })
    }

    async fn plan_child(
        &self,
        callable: &Callable,
        arguments: &Value,
        standing: Standing,
    ) -> Result<RunPlan, ToolError> {
        let Standing { depth, max_depth, left_ms, left_tokens, now, .. } = standing;
        if max_depth <= depth {
            let message = format!(
                "agents may call agents {max_depth} levels deep, and this one stands at level {depth}; do the work \
                 yourself"
            );
            return Err(ToolError { kind: ToolErrorType::MaxDepth, message });
        }
        let values = child::inputs(&callable.definition, arguments)?;
        let inheritance = Inheritance { gate: self, left_ms, left_tokens, max_depth, now };
        // Boxed, since a plan's gate plans in its turn.
        let planning = Box::pin(RunPlan::of_child(callable, values, &inheritance));
        planning.await.map_err(|error| child::refusal(&error))
    }

    /// The permit of a call whose `executing` is committed, over the accesses that were judged. The log keeps them
    /// without secrets, so that is how they are compared; what differs gets a permit that does not fit it.
    pub fn permit(&self, call: &CallId, judged: &PreparedCall, invocation: &dyn Invocation) -> Permit {
        let accesses = invocation.accesses();
        let kept: Vec<Access> =
            accesses.iter().cloned().map(|access| self.supplies.redactor.access(access)).collect();
        let permitted = if kept == judged.accesses { accesses.to_vec() } else { judged.accesses.clone() };
        Permit::mint(call.clone(), permitted)
    }
}

/// What a verdict means for the call. A question cannot be put to a person yet, so it is a refusal that says so:
/// never silently allowed, never silently denied.
fn settle(decision: &Decision) -> Result<(), ToolError> {
    let message = match decision.verdict {
        Verdict::Allow => return Ok(()),
        Verdict::Ask => format!(
            "needs a person; not available yet ({}: {}). Go on without it, or say in your result what you would \
             have done",
            decision.rule, decision.reason
        ),
        Verdict::Deny => format!("refused by {}: {}", decision.rule, decision.reason),
    };
    Err(ToolError { kind: ToolErrorType::PolicyDenied, message })
}
