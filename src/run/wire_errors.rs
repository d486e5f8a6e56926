//! What does a client of the wire learn when a run cannot be planned, started or spoken to?

use models::{ModelRegistry, ResolveError};
use protocol::{ErrorKind, RpcError};
use serde_json::json;

use crate::{PlanError, RunRequestError, SkillProblem, StartError};

/// What to do when a run's inbox is full.
const TOO_MUCH_SAID: &str = "wait for its next turn, which takes what was said so far";

impl From<RunRequestError> for RpcError {
    fn from(error: RunRequestError) -> RpcError {
        let message = error.to_string();
        match error {
            RunRequestError::Store(error) => error.into(),
            RunRequestError::NoRoom(_) => {
                RpcError::new(ErrorKind::LimitExceeded, message).with_hint(TOO_MUCH_SAID)
            }
            RunRequestError::TooManyAnswers(_) => RpcError::new(ErrorKind::LimitExceeded, message)
                .with_hint("look at the question again in a while"),
            RunRequestError::AtRest(_) => RpcError::new(ErrorKind::ShuttingDown, message)
                .with_hint("try again after the daemon has been restarted"),
        }
    }
}

impl From<StartError> for RpcError {
    fn from(error: StartError) -> RpcError {
        let message = error.to_string();
        match error {
            StartError::Store(error) => error.into(),
            StartError::Busy(run) => RpcError::new(ErrorKind::Busy, message)
                .with_details(json!({ "runId": run }))
                .with_hint("wait for it, or say what to do when it is busy (`ifBusy`, `--if-busy`): queue, steer or interrupt"),
            StartError::Closed => RpcError::new(ErrorKind::SessionClosed, message)
                .with_hint("start without a session (`subagent run --new`): that opens a new one"),
            StartError::NoRoom(_) => RpcError::new(ErrorKind::LimitExceeded, message).with_hint(TOO_MUCH_SAID),
            StartError::QueueFull => RpcError::new(ErrorKind::LimitExceeded, message)
                .with_hint("`subagent queue list` shows what waits; `subagent queue remove` takes runs out"),
            StartError::Draining => RpcError::new(ErrorKind::ShuttingDown, message)
                .with_hint("try again after the daemon has been restarted"),
        }
    }
}

impl From<PlanError> for RpcError {
    fn from(error: PlanError) -> RpcError {
        let message = error.to_string();
        match error {
            PlanError::InvalidInput(violations) => RpcError::new(ErrorKind::InvalidInput, message)
                .with_details(json!({ "violations": violations }))
                .with_hint("give what is missing with --input name=value; -p gives the prompt"),
            PlanError::MissingTemplateInput(missing) => {
                RpcError::new(ErrorKind::MissingTemplateInput, message)
                    .with_details(json!({ "missing": missing.missing, "known": missing.known }))
                    .with_hint("give the missing values with --input name=value, or declare them as inputs")
            }
            PlanError::NoModel => {
                RpcError::new(ErrorKind::NoModel, message).with_hint(ModelRegistry::no_model_hint())
            }
            PlanError::Model(error) => {
                let kind = match &error {
                    ResolveError::NoModel { .. }
                    | ResolveError::NoEntry { .. }
                    | ResolveError::NoKey { .. }
                    | ResolveError::BadProvider { .. } => ErrorKind::NoModel,
                    ResolveError::UnusableKey { .. } => ErrorKind::ProviderAuth,
                    ResolveError::BadRecording { .. } => ErrorKind::InvalidParams,
                };
                RpcError::new(kind, message).with_hint(error.hint())
            }
            PlanError::Workspace(_) => RpcError::new(ErrorKind::InvalidParams, message)
                .with_hint("a workspace is one or more existing folders, given as absolute paths"),
            PlanError::NoPrice { models } => {
                let models = models.iter().map(|model| format!("{model:?}")).collect::<Vec<_>>().join(", ");
                RpcError::new(ErrorKind::InvalidInput, message).with_hint(format!(
                    "set `models.prices` for {models} in the settings, or run without `maxCost`"
                ))
            }
            PlanError::SystemFile(_) => RpcError::new(ErrorKind::AgentNotReady, message).with_hint(
                "mend the file, or set `prompt.systemFile` to false (where the variable `SUBAGENTD_SYSTEM_MD` of the daemon's environment \
                 sets it, that one): then the daemon's own system prompt counts",
            ),
            PlanError::UnknownModule(_) => RpcError::new(ErrorKind::AgentNotReady, message).with_hint(format!(
                "the modules are {}; take the name out, or write one of these",
                config::PROMPT_MODULES.join(", ")
            )),
            PlanError::Skill(ref problem) => {
                let violation = json!({ "pointer": "/skills", "message": message });
                let details = json!({ "violations": [violation] });
                let error = RpcError::new(ErrorKind::InvalidParams, message).with_details(details);
                match problem {
                    SkillProblem::Unknown { near: Some(near), .. } => {
                        error.with_hint(format!("did you mean `{near}`?"))
                    }
                    _ => error.with_hint("`subagent skills list` shows them all, and how each stands"),
                }
            }
            PlanError::Recording { ref problem, .. } => RpcError::new(ErrorKind::InvalidParams, message)
                .with_details(
                    json!({ "violations": [{ "pointer": "/record", "message": problem.to_string() }] }),
                )
                .with_hint("name a file that is not there yet, in a folder that is, by its absolute path"),
            PlanError::Attachments(ref problems) => {
                let violations: Vec<_> = problems
                    .iter()
                    .map(|problem| json!({ "pointer": "/attachments", "message": problem }))
                    .collect();
                RpcError::new(ErrorKind::InvalidInput, message)
                    .with_details(json!({ "violations": violations }))
                    .with_hint("leave them out, or choose a model that takes them")
            }
            PlanError::Output(_) => RpcError::new(ErrorKind::InvalidDefinition, message)
                .with_hint("fix `output.schema` in the agent's file"),
        }
    }
}
