//! Programs that run others to measure them.

use crate::{
    options::{OptionSpec, anywhere},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

impl ScriptWalk<'_> {
    /// Each operand is a script for `sh`, and so are some options.
    pub(super) fn hyperfine(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        const HYPERFINE: OptionSpec = OptionSpec {
            flags: "NiV",
            valued: "wmMrpscSuLPDn",
            attached: "",
            long_flags: &["ignore-failure", "show-output", "version"],
            long_valued: &[
                "warmup",
                "min-runs",
                "max-runs",
                "runs",
                "prepare",
                "setup",
                "cleanup",
                "conclude",
                "shell",
                "style",
                "sort",
                "time-unit",
                "parameter-list",
                "parameter-scan",
                "export-json",
                "export-csv",
                "export-markdown",
                "command-name",
                "output",
                "input",
                "reference",
            ],
        };
        let parsed = anywhere(&HYPERFINE, args);
        let told = ["p", "prepare", "s", "setup", "c", "cleanup", "conclude", "reference"];
        let scripts = parsed.options.iter().filter(|option| told.contains(&option.name.as_str()));
        let scripts: Vec<WordValue> = scripts.filter_map(|option| option.value.clone()).collect();
        if parsed.has(&["S", "shell", "L", "P", "parameter-list", "parameter-scan"]) {
            return self.draft.unknown("`hyperfine` runs what only running it would tell");
        }
        for script in scripts.iter().chain(&parsed.operands) {
            match script.known() {
                Some(text) => self.through_sh(text, scope),
                None => self.draft.unknown("nobody can tell which script `hyperfine` runs"),
            }
        }
    }

    /// Only some of its sub-commands run something, and those in ways that are not read.
    pub(super) fn perf(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let runs_none = ["annotate", "diff", "evlist", "list", "report", "buildid-list"];
        if !args.first().and_then(WordValue::known).is_some_and(|name| runs_none.contains(&name)) {
            self.draft.unknown("`perf` runs commands in ways that are not read");
        }
        self.program("perf", args, scope);
    }
}
