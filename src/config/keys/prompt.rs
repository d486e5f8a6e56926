//! The settings about what agents are told: the system prompt, and memory files.

use std::path::PathBuf;

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        prompt::{SystemFileChoice, SystemFileShape},
        shapes::{BoolShape, FileNameShape, ListOf, OneOf, PathShape, SettingShape},
    },
    ChangeTiming, SettingKey,
};

macro_rules! module_key {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        key!(
            $path, $($field).+, BoolShape,
            in: Ok, out: |is_there: &bool| json!(is_there),
            $meaning,
            expected: "true or false",
            example: "false"
        )
    };
}

pub(super) const KEYS: &[SettingKey] = &[
    module_key!(
        "prompt.modules.preamble",
        prompt.modules.preamble,
        "Whether the daemon's own system prompt has the part `preamble`, which says who it is and whether somebody can answer it."
    ),
    module_key!(
        "prompt.modules.coreMandates",
        prompt.modules.core_mandates,
        "Whether the daemon's own system prompt has the part `coreMandates`, which has the rules for every change."
    ),
    module_key!(
        "prompt.modules.agents",
        prompt.modules.agents,
        "Whether the daemon's own system prompt has the part `agents`, which lists the agents that it can call."
    ),
    module_key!(
        "prompt.modules.primaryWorkflows",
        prompt.modules.primary_workflows,
        "Whether the daemon's own system prompt has the part `primaryWorkflows`, which says in which steps software is changed or made."
    ),
    module_key!(
        "prompt.modules.operationalGuidelines",
        prompt.modules.operational_guidelines,
        "Whether the daemon's own system prompt has the part `operationalGuidelines`, which says how to speak and how to use tools."
    ),
    module_key!(
        "prompt.modules.sandbox",
        prompt.modules.sandbox,
        "Whether the daemon's own system prompt has the part `sandbox`, which says what confines commands."
    ),
    module_key!(
        "prompt.modules.git",
        prompt.modules.git,
        "Whether the daemon's own system prompt has the part `git`, which says how to commit."
    ),
    module_key!(
        "prompt.modules.finalReminder",
        prompt.modules.final_reminder,
        "Whether the daemon's own system prompt has the part `finalReminder`, which ends the prompt."
    ),
    key!(
        "prompt.systemFile", prompt.system_file, SystemFileShape,
        in: Ok, out: SystemFileChoice::shown,
        "A file whose text replaces the daemon's own system prompt in agents that have it. `true` is the workspace's \
         `.subagentd/system.md` if you have acknowledged it, else `system.md` beside your settings; false is none.",
        expected: "true, false, or a path that begins with / or ~/",
        example: "\"~/prompts/system.md\""
    ),
    key!(
        "prompt.shellOutputEconomy", prompt.shell_output_economy, BoolShape,
        in: Ok, out: |is_on: &bool| json!(is_on),
        "Whether the daemon's own system prompt tells models to keep the output of commands short.",
        expected: "true or false",
        example: "true"
    ),
    key!(
        "memory.files", memory.files, ListOf(FileNameShape),
        in: Ok, out: |names: &Vec<String>| json!(names),
        "Names of memory files, which tell agents what people wrote down for them. In one folder the first that is there \
         counts.",
        expected: "a list of file names, e.g. [\"AGENTS.md\", \"CLAUDE.md\"]",
        example: "[\"AGENTS.md\", \"CLAUDE.md\"]"
    ),
    key!(
        "memory.perFolder", memory.all_of_folder, OneOf(&["first", "all"]),
        in: |word: String| Ok(word == "all"),
        out: |all: &bool| json!(if *all { "all" } else { "first" }),
        "Whether of several memory files in one folder the first counts, or all of them.",
        expected: "\"first\" or \"all\"",
        example: "\"all\""
    ),
    key!(
        "memory.userFiles", memory.user_files, ListOf(PathShape),
        in: |paths| Ok(paths.into_iter().map(PathBuf::from).collect()),
        out: |paths: &Vec<PathBuf>| json!(paths),
        "Further memory files of your own, told to every agent, e.g. those of other tools.",
        expected: "a list of paths that begin with / or ~/",
        example: "[\"~/.claude/CLAUDE.md\"]"
    ),
];
