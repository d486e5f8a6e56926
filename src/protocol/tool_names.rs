//! What are the built-in tools called, and which other names do they go by? (spec 05, "Registry")

use std::borrow::Cow;

/// Every tool that is, or will be, part of the daemon. No agent may be called like one.
pub const BUILTIN_TOOLS: &[&str] = &[
    "activate_skill",
    "ask_user",
    "complete_task",
    "delete_file",
    "edit_file",
    "forget_memory",
    "get_state",
    "git_commit",
    "glob",
    "grep",
    "kill_shell",
    "list_directory",
    "move_file",
    "present_plan",
    "read_file",
    "read_many_files",
    "recall_memory",
    "run_shell_command",
    "save_memory",
    "search_docs",
    "set_state",
    "shell_output",
    "store_memory",
    "web_fetch",
    "web_search",
    "write_file",
    "write_todos",
];

/// What an agent of ours gets that names no tools (spec 02, "Tool filtering"): nothing here changes a file of the workspace or runs
/// anything. Whether a run gets it, too, that another agent's call started: those that may ask a person are left to root runs.
const DEFAULT_TOOLS: &[(&str, bool)] = &[
    ("list_directory", true),
    ("read_file", true),
    ("read_many_files", true),
    ("glob", true),
    ("grep", true),
    ("save_memory", false),
    ("web_search", false),
];

/// The tools of an agent of ours that names none, in a root run or in one that another agent's call started.
pub fn default_tools(is_called: bool) -> impl Iterator<Item = &'static str> {
    let is_had = move |(_, of_called): &&(&str, bool)| *of_called || !is_called;
    DEFAULT_TOOLS.iter().filter(is_had).map(|(tool, _)| *tool)
}

/// Other names, so that public agent files and models' habits work.
pub const TOOL_ALIASES: &[(&str, &str)] = &[
    ("ls", "list_directory"),
    ("LS", "list_directory"),
    ("list_files", "list_directory"),
    ("Read", "read_file"),
    ("Glob", "glob"),
    ("grep_search", "grep"),
    ("search_file_content", "grep"),
    ("search_content", "grep"),
    ("Grep", "grep"),
    ("ripgrep", "grep"),
    ("Write", "write_file"),
    ("replace", "edit_file"),
    ("edit", "edit_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("smart_edit", "edit_file"),
    ("bash", "run_shell_command"),
    ("shell", "run_shell_command"),
    ("Bash", "run_shell_command"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("google_web_search", "web_search"),
    ("TodoWrite", "write_todos"),
    ("memory", "save_memory"),
    ("AskUserQuestion", "ask_user"),
    ("Skill", "activate_skill"),
];

/// Gemini CLI's class names; they stand in allow, deny and exclude lists, never in calls.
pub const TOOL_CLASS_NAMES: &[(&str, &str)] = &[
    ("LSTool", "list_directory"),
    ("ReadFileTool", "read_file"),
    ("ReadManyFilesTool", "read_many_files"),
    ("GlobTool", "glob"),
    ("GrepTool", "grep"),
    ("RipGrepTool", "grep"),
    ("WriteFileTool", "write_file"),
    ("EditTool", "edit_file"),
    ("SmartEditTool", "edit_file"),
    ("ShellTool", "run_shell_command"),
    ("WebFetchTool", "web_fetch"),
    ("WebSearchTool", "web_search"),
    ("MemoryTool", "save_memory"),
    ("WriteTodosTool", "write_todos"),
    ("AskUserTool", "ask_user"),
];

/// What `name` stands for by the table of aliases, with `-` read as `_`; `None` when it is no alias.
pub fn aliased_tool(name: &str) -> Option<&'static str> {
    let plain = underscored(name);
    TOOL_ALIASES.iter().find(|(alias, _)| *alias == name || *alias == plain).map(|(_, canonical)| *canonical)
}

/// The built-in tool that an entry of a list of tools means by its own name, an alias or a class.
pub fn listed_tool(name: &str) -> Option<&'static str> {
    let plain = underscored(name);
    let own = BUILTIN_TOOLS.iter().find(|tool| **tool == plain).copied();
    let of_class = || TOOL_CLASS_NAMES.iter().find(|(class, _)| *class == name).map(|(_, tool)| *tool);
    own.or_else(|| aliased_tool(name)).or_else(of_class)
}

/// With `_` for each `-`.
pub fn underscored(name: &str) -> Cow<'_, str> {
    if name.contains('-') { Cow::Owned(name.replace('-', "_")) } else { Cow::Borrowed(name) }
}
