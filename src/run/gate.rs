//! May this call run? One place, one order, one function (DESIGN, "Confirmations and the gate"); and the one
//! place that mints permits.

use serde_json::Value;

use super::{completion::CompletionTool, machine::Judgement};
use crate::{
    policy::{Decision, Policy, PolicyCall},
    protocol::{
        AgentName, COMPLETE_TASK, CallDetails, CallId, PreparedCall, ToolCall, ToolError, ToolErrorType,
        Verdict,
    },
    tools::{Invocation, Permit, PrepareContext, Toolset},
};

/// What a run's calls are judged by.
pub struct Gate {
    pub agent: AgentName,
    pub policy: Policy,
    pub toolset: Toolset,
    pub completion: CompletionTool,
    pub prepare: PrepareContext,
}

/// A call that may run.
pub struct Prepared {
    pub invocation: Box<dyn Invocation>,
    pub details: CallDetails,
    pub arguments: Value,
    pub call: PreparedCall,
}

impl Gate {
    /// Prepares a call and judges it. Nothing is written by either. In the grace turn only `complete_task`
    /// exists.
    pub async fn judge(&self, call: &ToolCall, is_grace: bool) -> (Judgement, Option<Box<dyn Invocation>>) {
        if call.name.as_str() == COMPLETE_TASK {
            return match self.completion.check(&call.arguments) {
                Ok(result) => (Judgement::Complete { result }, None),
                Err(error) => (Judgement::Refuse(error), None),
            };
        }
        if is_grace {
            let message = format!("{} is not available now; only {COMPLETE_TASK} is", call.name);
            return (Judgement::Refuse(ToolError { kind: ToolErrorType::ToolNotAllowed, message }), None);
        }
        match self.prepare(call).await {
            Ok(Prepared { invocation, details, arguments, call }) => {
                (Judgement::Run { details, arguments, prepared: call }, Some(invocation))
            }
            Err(error) => (Judgement::Refuse(error), None),
        }
    }

    /// A call that passes every check, ready to run. Also used after a restart: what is prepared anew is judged
    /// anew.
    pub async fn prepare(&self, call: &ToolCall) -> Result<Prepared, ToolError> {
        let prepared = self.toolset.prepare(&call.name, call.arguments.clone(), &self.prepare).await;
        let invocation = prepared.outcome?;
        // A call that was prepared has a tool; saying so keeps a defect from becoming permission.
        let Some(tool) = prepared.tool else {
            let message = format!("there is no tool {}", prepared.name);
            return Err(ToolError { kind: ToolErrorType::ToolNotRegistered, message });
        };
        let declaration = tool.declaration();
        let accesses = invocation.accesses().to_vec();
        let decision = self.policy.decide(&PolicyCall {
            tool: &declaration.name,
            agent: &self.agent,
            kind: declaration.kind,
            risk: declaration.risk,
            accesses: &accesses,
        });
        settle(&decision)?;
        let details = CallDetails {
            title: declaration.title.clone(),
            description: invocation.description(),
            kind: declaration.kind,
            risk: declaration.risk,
            locations: invocation.locations(),
        };
        let call = PreparedCall { kind: declaration.kind, accesses, replay: tool.replay() };
        Ok(Prepared { invocation, details, arguments: prepared.arguments, call })
    }

    /// The permit of a call whose `executing` is committed, over the accesses that were judged.
    pub fn permit(&self, call: &CallId, judged: &PreparedCall) -> Permit {
        Permit::mint(call.clone(), judged.accesses.clone())
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
