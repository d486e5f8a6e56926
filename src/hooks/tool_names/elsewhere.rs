//! Which tools do other products have that have none like them here?

/// Tools of the other products that have none like them here: a matcher that names one beside others is no slip.
const ELSEWHERE: &[&str] = &[
    // Claude Code's.
    "AgentOutputTool",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitWorktree",
    "KillBash",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "ReadMcpResourceTool",
    "SendMessage",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "ToolSearch",
    // Codex's.
    "apply_patch",
    "exec_command",
    "local_shell",
    "update_plan",
    "view_image",
    "write_stdin",
    // Gemini CLI's.
    "codebase_investigator",
    "delegate_to_agent",
    "enter_plan_mode",
    "exit_plan_mode",
];

/// True if another product has a tool of this name, or calls of agents are called so, whether anything here is.
pub(crate) fn is_elsewhere(name: &str) -> bool {
    matches!(name, "Agent" | "Task") || ELSEWHERE.contains(&name)
}
