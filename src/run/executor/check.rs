//! What would become of a call? Prepares and judges it as a run would, and goes no further.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use super::RunExecutor;
use crate::{child::CallableAgents, equipment::AgentRules, plan};
use models::MediaSupport;
use policy::{PolicyCall, PolicyDecision};
use project::Project;
use protocol::{
    AgentDefinition, ApprovalMode, ResourceAccess, Risk, SchemaViolation, SessionId, ToolError,
    ToolErrorType, ToolKind, ToolName,
};
use tools::{
    ActiveSkills, ForeignToolset, PrepareContext, SeenFileDigests, Workspace, WorkspaceError, violations,
};

/// A call that nobody makes.
pub struct CheckRequest {
    pub definition: Arc<AgentDefinition>,
    pub project: Arc<Project>,
    /// Absolute.
    pub roots: Vec<PathBuf>,
    /// A name or an alias.
    pub tool: ToolName,
    pub arguments: Value,
    pub mode: ApprovalMode,
    pub session: Option<SessionId>,
    /// The tools from elsewhere.
    pub foreign: ForeignToolset,
}

/// What the policy says of it.
#[derive(Debug, Clone)]
pub struct CheckedCall {
    pub decision: PolicyDecision,
    /// Canonical.
    pub tool: ToolName,
    pub kind: ToolKind,
    pub risk: Risk,
    pub description: String,
    pub accesses: Vec<ResourceAccess>,
}

/// The reason why there is nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("the arguments do not fit the tool")]
    Violations(Vec<SchemaViolation>),
    /// What the model would be told.
    #[error("{}", .0.message)]
    Refused(ToolError),
}

impl RunExecutor {
    /// Judges a call with the agent's tools in that workspace. Reads files; writes and runs nothing.
    pub async fn check(&self, request: CheckRequest) -> Result<CheckedCall, CheckError> {
        let CheckRequest { definition, project, roots, tool, arguments, mode, session, foreign } = request;
        let supplies = self.supplies();
        let callables = CallableAgents::of(&definition, &project.catalog);
        if let Some(refusal) = callables.untrusted(&tool) {
            return Err(CheckError::Refused(refusal));
        }
        let toolset = plan::toolset(&definition, &callables, &project, &foreign, &supplies);
        let workspace = crate::unblocked(move || Workspace::open(&roots)).await?;
        let workspace = supplies.own_files.close(workspace);
        let roots: Vec<PathBuf> = workspace.roots().map(PathBuf::from).collect();
        let prepare = PrepareContext {
            workspace: Arc::new(workspace),
            output: supplies.defaults.output,
            redactor: supplies.redactor.clone(),
            own_files: Arc::clone(&supplies.own_files),
            reads: SeenFileDigests::default(),
            skills: ActiveSkills::default(),
            session: session.clone(),
            commands: Arc::clone(&supplies.commands),
            command_rules: supplies.defaults.commands.clone().for_agent(definition.sandbox),
            web: Arc::clone(&supplies.web),
            web_rules: supplies.defaults.web.clone(),
            // Nothing is shown to any.
            media: MediaSupport::default(),
            same_rules: None,
            may_tell: None,
            memory: plan::memory_target(&project, &supplies),
        };
        let prepared = toolset.prepare(&tool, arguments, &prepare).await;
        let refused = |error: ToolError, arguments: &Value| match &prepared.tool {
            Some(tool) if error.kind == ToolErrorType::InvalidToolParams => {
                match violations(&tool.declaration().parameters, arguments.clone()) {
                    violations if violations.is_empty() => CheckError::Refused(error),
                    violations => CheckError::Violations(violations),
                }
            }
            _ => CheckError::Refused(error),
        };
        let invocation = prepared.outcome.map_err(|error| refused(error, &prepared.arguments))?;
        // A call that was prepared has a tool; saying so keeps a defect from becoming permission.
        let Some(tool) = &prepared.tool else {
            let message = format!("there is no tool {}", prepared.name);
            return Err(CheckError::Refused(ToolError { kind: ToolErrorType::ToolNotRegistered, message }));
        };
        let declaration = tool.declaration();
        let risk = invocation.risk().unwrap_or(declaration.risk);
        let accesses = invocation.accesses().to_vec();
        let decision = AgentRules::of(&definition).with(project.rules.policy()).decide(&PolicyCall {
            tool: &declaration.name,
            aliases: &toolset.aliases(&declaration.name),
            agent: &definition.name,
            callers: &[],
            kind: declaration.kind,
            risk,
            accesses: &accesses,
            arguments: &prepared.judged,
            commands: invocation.commands(),
            unread: invocation.unread(),
            confinement: invocation.confinement(),
            mode,
            auto_approve: &definition.auto_approve,
            session: session.as_ref(),
            roots: &roots,
        });
        let (tool, kind) = (declaration.name.clone(), declaration.kind);
        Ok(CheckedCall { decision, tool, kind, risk, description: invocation.description(), accesses })
    }
}
