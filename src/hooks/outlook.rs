//! What would come of a hook that cannot be asked? As far as its text and the disk tell: nothing is run.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    Hook, HookFailurePolicy, HookHandler, HookState,
    command_words::{CommandWords, simple_command},
    unset_variables::{is_unset, unset_variables},
};
use sandbox::CommandEnvironment;
use sys::lexical::lexical;

/// The reason why a hook cannot be asked, and what comes of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutlook {
    /// A sentence without its end.
    pub why: String,
    pub comes_of_it: HookFailurePolicy,
}

/// Everything that a command finds where it is started.
pub(super) struct CommandSurroundings<'a> {
    /// The folder that it is started in.
    pub root: &'a Path,
    pub environment: &'a CommandEnvironment,
    /// Folders of programs.
    pub path: String,
}

/// Words that bash runs by itself, and words that make a command more than one.
const OF_SHELL: &[&str] = &[
    "!",
    ".",
    ":",
    "[",
    "[[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
    "{",
];

/// Programs that run the script that their first argument names.
const INTERPRETERS: &[&str] = &["bash", "bun", "dash", "node", "perl", "python", "ruby", "sh", "zsh"];

/// `None` = as far as can be told it can be asked. Blocks on the file system.
pub(super) fn outlook(hook: &Hook, around: &CommandSurroundings<'_>) -> Option<HookOutlook> {
    let fails = |why: String| Some(HookOutlook { why, comes_of_it: hook.on_failure });
    match (&hook.state, &hook.handler) {
        (HookState::Changed { reason }, _) => fails(reason.clone()),
        (_, HookHandler::Unreadable { mistake, .. }) => fails(format!("it cannot be read: {mistake}")),
        (HookState::On, HookHandler::Command { command, args }) => {
            let words = match args {
                Some(args) => Some(CommandWords::without_shell(command, args, |name| around.known(name))),
                None => simple_command(command, |name| around.value(name)),
            };
            let unset = around.unset(&hook.handler);
            around.fault(&words?, args.is_none()).map(|(why, blocks)| HookOutlook {
                why: if unset.is_empty() { why } else { format!("{}, and {why}", without_value(&unset)) },
                comes_of_it: if blocks { HookFailurePolicy::Block } else { hook.on_failure },
            })
        }
        _ => None,
    }
}

/// A sentence about the variables that a hook's command uses and that have no value when it runs, or that a person named for it and that it
/// does not get, and what to do; `None` = there are none.
pub(super) fn warning(hook: &Hook, around: &CommandSurroundings<'_>) -> Option<String> {
    let unset = around.unset(&hook.handler);
    if hook.state != HookState::On {
        return None;
    }
    if unset.is_empty() {
        return withheld(hook, around);
    }
    let (what, them) = if unset.len() == 1 { ("its value", "it") } else { ("their values", "them") };
    let told = without_value(&unset);
    Some(format!(
        "{told} in its command; write {what} there, or start the daemon with {them} and name {them} in the setting `hooks.environment`"
    ))
}

/// A sentence about secrets that a person named for their own hook, which runs in a sandbox and gets none.
fn withheld(hook: &Hook, around: &CommandSurroundings<'_>) -> Option<String> {
    let names = &around.environment.withheld;
    let is_command = matches!(hook.handler, HookHandler::Command { .. });
    if names.is_empty() || !is_command || !hook.is_confined() || !hook.origin.is_own() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Some(format!(
        "it does not get {}, which `hooks.environment` names: what is a secret goes only to hooks that run outside of a sandbox; keep its program \
         outside of the workspace, and name it there",
        names.join(", ")
    ))
}

/// `A` and `B` have no value.
fn without_value(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb} no value", names.join(", "))
}

impl CommandSurroundings<'_> {
    /// The value of a variable as the command's shell has it; `None` = only that shell knows.
    fn value(&self, name: &str) -> Option<String> {
        self.known(name).or_else(|| is_unset(name, |name| self.has_value(name)).then(String::new))
    }

    fn known(&self, name: &str) -> Option<String> {
        match name {
            "CLAUDE_PROJECT_DIR" | "GEMINI_PROJECT_DIR" | "PWD" => Some(self.root.to_str()?.to_owned()),
            _ => self.environment.get(name).map(str::to_owned),
        }
    }

    /// True also of what only the command itself is told.
    fn has_value(&self, name: &str) -> bool {
        const TOLD: &[&str] = &[
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "PERL_USE_UNSAFE_INC",
            "PYTHONNOUSERSITE",
            "PYTHONPATH",
            "PYTHONSAFEPATH",
            "R_ENVIRON_USER",
            "R_PROFILE_USER",
        ];
        let is_withheld = || self.environment.withheld.iter().any(|other| other == name);
        self.known(name).is_some() || TOLD.contains(&name) || is_withheld()
    }

    fn unset(&self, handler: &HookHandler) -> Vec<String> {
        unset_variables(handler, |name| self.has_value(name))
    }

    /// The reason why the command cannot do its work, and whether it ends with exit code 2, which blocks whatever a failure means.
    fn fault(&self, words: &CommandWords, has_shell: bool) -> Option<(String, bool)> {
        let program = words.get(0)?;
        if program.is_empty() || (has_shell && OF_SHELL.contains(&program)) {
            return None;
        }
        let found = match program.contains('/') {
            true => lexical(&self.root.join(program)),
            false => match self
                .path
                .split(':')
                .map(|folder| Path::new(folder).join(program))
                .find(|it| is_program(it))
            {
                Some(found) => found,
                None => return Some((format!("there is no program `{program}`"), false)),
            },
        };
        if !found.exists() {
            return Some((format!("{} is not there", found.display()), false));
        }
        if found.is_dir() {
            return Some((format!("{} is a folder", found.display()), false));
        }
        if !is_program(&found) {
            let hint = format!("`chmod +x {}`", found.display());
            return Some((format!("{} may not be executed ({hint})", found.display()), false));
        }
        let interpreter = interpreter(program, &found)?;
        let script = words.get(1).filter(|word| !word.starts_with('-'))?;
        let script = lexical(&self.root.join(script));
        // Nobody can tell of a program's own commands (`bun run`), but of what can be nothing but a path.
        let is_path = words.get(1).is_some_and(|word| word.contains('/') || word.contains('.'));
        (is_path && !script.exists()).then(|| {
            let ends_with_2 = interpreter.starts_with("python") || interpreter == "dash";
            (format!("{} is not there", script.display()), ends_with_2)
        })
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The name of an interpreter, as its file has it: `sh` is another shell on each system.
fn interpreter(program: &str, found: &Path) -> Option<String> {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let called = name(&PathBuf::from(program))?;
    let plain = called.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS
        .contains(&plain)
        .then(|| found.canonicalize().ok().and_then(|file| name(&file)).unwrap_or(called))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_cannot_begin_is_known_before_it_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, mode) in [("run.sh", 0o755), ("plain.sh", 0o644), ("python3", 0o755), ("dash", 0o755)] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut environment = CommandEnvironment::default();
        environment.set("HOME", root.to_str().unwrap());
        let path = root.to_str().unwrap().to_owned();
        let around = CommandSurroundings { root: &root, environment: &environment, path };
        let fault = |command: &str| {
            let words = simple_command(command, |name| around.value(name))?;
            let (why, blocks) = around.fault(&words, true)?;
            Some((why.replace(&format!("{}/", root.display()), ""), blocks))
        };
        for (command, expected) in [
            ("./gone.sh", Some(("gone.sh is not there", false))),
            ("\"$CLAUDE_PROJECT_DIR\"/gone.sh --fast 2>&1", Some(("gone.sh is not there", false))),
            ("~/gone.sh", Some(("gone.sh is not there", false))),
            ("A=1 exec '${HOME}/gone.sh'", Some(("${HOME}/gone.sh is not there", false))),
            ("${HOME}/plain.sh", Some(("plain.sh may not be executed (`chmod +x plain.sh`)", false))),
            ("nosuchprogram x", Some(("there is no program `nosuchprogram`", false))),
            ("python3 gone.py", Some(("gone.py is not there", true))),
            ("dash ./gone.sh", Some(("gone.sh is not there", true))),
            ("$UNKNOWN/nowhere/gone.sh", Some(("/nowhere/gone.sh is not there", false))),
            ("python3 $UNKNOWN /nowhere/gone.py", Some(("/nowhere/gone.py is not there", true))),
            // What works, and what nobody can tell.
            ("./run.sh", None),
            ("run.sh", None),
            ("python3 plain.sh", None),
            ("python3 -c 'import gone'", None),
            ("echo x", None),
            ("./gone.sh || true", None),
            ("$(which gone)", None),
            ("$RANDOM/gone.sh", None),
            ("\"$UNKNOWN\" x", None),
            ("if ./gone.sh; then exit 2; fi", None),
            ("", None),
        ] {
            let expected = expected.map(|(why, blocks)| (why.to_owned(), blocks));
            assert_eq!(fault(command), expected, "{command}");
        }
        let args = ["${CLAUDE_PROJECT_DIR}/gone.py".to_owned()];
        let words = CommandWords::without_shell("python3", &args, |name| around.known(name));
        assert!(around.fault(&words, false).is_some_and(|(_, blocks)| blocks));
    }
}
