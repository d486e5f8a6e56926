//! Which files of a workspace do other programs run by themselves: by opening a folder, by a look at a repository, by a login?
//!
//! Who writes one of them decides what runs next, as the person and outside of every sandbox, without anybody starting it. So
//! to change one is `high`, whoever changes it. What a person starts themselves (a makefile, a build script, a test) is the
//! project's code and not listed: to write it is what an agent is there for.
//!
//! One more such file: a row here. The tests walk all rows, by file tools and by shell.

use std::path::Path;

use super::place::{self, PathTarget};

/// A file or folder, by the names it ends with, that programs run or obey unasked.
#[derive(Debug)]
pub struct AutorunPath {
    /// Names from the outside to the inside, anywhere in a workspace. Of a folder all that lies in it is meant. The last name
    /// may begin or end with `*`.
    pub path: &'static str,
    /// Who runs it, and when.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
}

const fn row(path: &'static str, why: &'static str, source: &'static str) -> AutorunPath {
    AutorunPath { path, why, source }
}

const GIT_CONFIG: &str = "git runs commands that its settings name (`core.fsmonitor`, `filter`, `alias`)";
const GIT_HOOKS: &str = "git runs its hooks";
const EDITOR_TASKS: &str =
    "an editor runs its tasks and takes its programs from there when it opens the folder";
const SHELL_START: &str = "a shell runs it when it starts";
const DESKTOP_START: &str = "the session runs it at the login";
const AGENT_SETTINGS: &str = "an agent's product runs its hooks, servers and agents";
const HOOK_RUNNER: &str = "git's hooks run what it says";
const TOOLCHAIN: &str = "builds, and editors that look into them, take programs from there";

/// What stands for the `*` of a row, where a pattern of a command is held against it.
const USUAL_ENDS: &[&str] =
    &["", "ml", "aml", ".yml", ".json", ".toml", ".js", ".cjs", ".mjs", ".bat", "c", "rc", "x"];

/// All of them. Products' pages as they stood in 2026.
pub const AUTOMATIC: &[AutorunPath] = &[
    row(".git/config", GIT_CONFIG, "git-config(1)"),
    row(".git/config.worktree", GIT_CONFIG, "git-worktree(1), CONFIGURATION FILE"),
    row(".git/hooks", GIT_HOOKS, "githooks(5)"),
    row(".git/modules", "git keeps submodules' settings and hooks there", "gitrepository-layout(5)"),
    row(".git/worktrees", "git keeps worktrees' settings there", "gitrepository-layout(5)"),
    row(".git/commondir", "it says where git finds its settings and hooks", "gitrepository-layout(5)"),
    row(
        "HEAD",
        "a folder with it may be a bare repository, whose settings git obeys",
        "git-config(1), safe.bareRepository",
    ),
    row(".gitconfig", GIT_CONFIG, "git-config(1), FILES"),
    row(".config/git", GIT_CONFIG, "git-config(1), FILES"),
    row(".githooks", GIT_HOOKS, "git-config(1), core.hooksPath; a name in wide use"),
    row(".husky", HOOK_RUNNER, "https://typicode.github.io/husky/"),
    row(".lefthook", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row("lefthook.y*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row("lefthook-local.y*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".lefthook.y*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".pre-commit-config.y*", HOOK_RUNNER, "https://pre-commit.com/"),
    row(".overcommit.yml", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    row(".git-hooks", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    row(".lintstagedrc*", HOOK_RUNNER, "https://github.com/lint-staged/lint-staged"),
    row(".hg/hgrc", "Mercurial runs its hooks and extensions", "hgrc(5)"),
    row(
        ".jj/repo/config.toml",
        "jj runs the programs that its settings name",
        "https://docs.jj-vcs.dev/latest/config/",
    ),
    row(".vscode", EDITOR_TASKS, "https://code.visualstudio.com/docs/debugtest/tasks"),
    row("*.code-workspace", EDITOR_TASKS, "https://code.visualstudio.com/docs/editing/workspaces/workspaces"),
    row(
        ".vs",
        EDITOR_TASKS,
        "https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio",
    ),
    row(".idea", EDITOR_TASKS, "https://www.jetbrains.com/help/idea/settings-tools-startup-tasks.html"),
    row(".run", EDITOR_TASKS, "https://www.jetbrains.com/help/idea/run-debug-configuration.html"),
    row(".fleet", EDITOR_TASKS, "https://www.jetbrains.com/help/fleet/run-configurations.html"),
    row(".zed", EDITOR_TASKS, "https://zed.dev/docs/tasks"),
    row(".helix", EDITOR_TASKS, "https://docs.helix-editor.com/languages.html"),
    row(".nvim.lua", "Neovim runs it when `exrc` is set", "https://neovim.io/doc/user/options.html#'exrc'"),
    row(".nvimrc", "Neovim runs it when `exrc` is set", "https://neovim.io/doc/user/options.html#'exrc'"),
    row(".exrc", "vi runs it when `exrc` is set", "ex(1p)"),
    row(".vimrc", "Vim runs it", "https://vimhelp.org/starting.txt.html"),
    row(".vim", "Vim runs its plugins", "https://vimhelp.org/starting.txt.html"),
    row(".config/nvim", "Neovim runs it", "https://neovim.io/doc/user/starting.html"),
    row(
        ".dir-locals.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    row(
        ".emacs",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html",
    ),
    row(
        ".emacs.d",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html",
    ),
    row(
        ".gdbinit",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Init-File-in-the-Current-Directory.html",
    ),
    row(".lldbinit", "lldb runs it", "https://lldb.llvm.org/man/lldb.html"),
    row(
        ".devcontainer",
        "an editor builds and starts it",
        "https://containers.dev/implementors/json_reference/",
    ),
    row(
        ".devcontainer.json",
        "an editor builds and starts it",
        "https://containers.dev/implementors/json_reference/",
    ),
    row(".gitpod.yml", "an environment runs its tasks", "https://www.gitpod.io/docs/references/gitpod-yml"),
    row(
        ".idx",
        "an environment runs its tasks",
        "https://firebase.google.com/docs/studio/customize-workspace",
    ),
    row(".envrc", "direnv runs it in the shell that enters the folder", "direnv(1)"),
    row(
        "mise.toml",
        "mise runs its hooks in the shell that enters the folder",
        "https://mise.jdx.dev/hooks.html",
    ),
    row(
        "mise.local.toml",
        "mise runs its hooks in the shell that enters the folder",
        "https://mise.jdx.dev/hooks.html",
    ),
    row(
        ".mise.toml",
        "mise runs its hooks in the shell that enters the folder",
        "https://mise.jdx.dev/hooks.html",
    ),
    row(".mise", "mise runs its tasks and hooks", "https://mise.jdx.dev/configuration.html"),
    row(".config/mise", "mise runs its tasks and hooks", "https://mise.jdx.dev/configuration.html"),
    row(".mcp.json", "an agent's product starts its servers", "https://code.claude.com/docs/en/mcp"),
    row(".claude", AGENT_SETTINGS, "https://code.claude.com/docs/en/settings"),
    row(".claude.json", AGENT_SETTINGS, "https://code.claude.com/docs/en/settings"),
    row(".gemini", AGENT_SETTINGS, "https://geminicli.com/docs/reference/configuration/"),
    row(".codex", AGENT_SETTINGS, "https://developers.openai.com/codex/config-reference/"),
    row(".cursor", AGENT_SETTINGS, "https://cursor.com/docs/agent/hooks"),
    row(".windsurf", AGENT_SETTINGS, "https://docs.windsurf.com/windsurf/cascade/hooks"),
    row(".opencode", AGENT_SETTINGS, "https://opencode.ai/docs/config/"),
    row("opencode.json*", AGENT_SETTINGS, "https://opencode.ai/docs/config/"),
    row(".kiro", AGENT_SETTINGS, "https://kiro.dev/docs/hooks/"),
    row(
        ".amazonq",
        AGENT_SETTINGS,
        "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line.html",
    ),
    row(".continue", AGENT_SETTINGS, "https://docs.continue.dev/reference"),
    row(".roo", AGENT_SETTINGS, "https://docs.roocode.com/features/mcp/using-mcp-in-roo"),
    row(".qwen", AGENT_SETTINGS, "https://qwenlm.github.io/qwen-code-docs/"),
    row(".aider.conf.yml", AGENT_SETTINGS, "https://aider.chat/docs/config/aider_conf.html"),
    row(".cargo", TOOLCHAIN, "https://doc.rust-lang.org/cargo/reference/config.html"),
    row("rust-toolchain*", TOOLCHAIN, "https://rust-lang.github.io/rustup/overrides.html"),
    row(".npmrc", TOOLCHAIN, "https://docs.npmjs.com/cli/configuring-npm/npmrc"),
    row(".yarnrc*", TOOLCHAIN, "https://yarnpkg.com/configuration/yarnrc"),
    row(".yarn", TOOLCHAIN, "https://yarnpkg.com/configuration/yarnrc"),
    row(".pnpmfile.*", TOOLCHAIN, "https://pnpm.io/pnpmfile"),
    row("bunfig.toml", TOOLCHAIN, "https://bun.com/docs/runtime/bunfig"),
    row(".mvn", TOOLCHAIN, "https://maven.apache.org/configure.html"),
    row("gradle/wrapper/*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row("gradlew*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row(".bazelrc", TOOLCHAIN, "https://bazel.build/run/bazelrc"),
    row(
        ".Rprofile",
        "R runs it when it starts",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
    ),
    row("sitecustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row("usercustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row(".bashrc", SHELL_START, "bash(1), INVOCATION"),
    row(".bash_profile", SHELL_START, "bash(1), INVOCATION"),
    row(".bash_login", SHELL_START, "bash(1), INVOCATION"),
    row(".bash_logout", "a shell runs it when it ends", "bash(1), INVOCATION"),
    row(".bash_aliases", SHELL_START, "bash(1); read by the usual ~/.bashrc of Debian"),
    row(".profile", SHELL_START, "bash(1), INVOCATION"),
    row(".zshenv", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".zshrc", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".zprofile", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".zlogin", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".zlogout", "a shell runs it when it ends", "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".config/fish", SHELL_START, "fish(1), CONFIGURATION"),
    row(".ssh", "ssh runs commands that it names, and lets in whom it lists", "ssh_config(5), sshd(8)"),
    row(".tmux.conf", "tmux runs its commands", "tmux(1)"),
    row(".config/autostart", DESKTOP_START, "https://specifications.freedesktop.org/autostart-spec/latest/"),
    row(".config/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    row(".local/share/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    row(".config/environment.d", DESKTOP_START, "environment.d(5)"),
    row(".xprofile", DESKTOP_START, "https://wiki.archlinux.org/title/Xprofile"),
    row(".xinitrc", DESKTOP_START, "xinit(1)"),
    row(".xsession*", DESKTOP_START, "Xsession(5)"),
    row(".pam_environment", DESKTOP_START, "pam_env(8)"),
];

/// The row that an absolute path is of. `root`: the workspace's folder that it lies in. A path that a row goes on from counts,
/// too: who moves a folder to `.git` brings hooks.
pub fn automatic(path: &Path, root: &Path) -> Option<&'static AutorunPath> {
    // A root may lie in a folder that a product keeps its worktrees in; one within a repository's own files is no place to work.
    let below: Vec<String> = names(path.strip_prefix(root).unwrap_or(path));
    let all: Vec<String> = names(path);
    let is = |name: &String, wanted: &str| is_named(name, wanted);
    AUTOMATIC.iter().find(|row| {
        let of_git = row.path.starts_with(".git/");
        is_met(row.path, if of_git { &all } else { &below }, is)
    })
}

fn names(path: &Path) -> Vec<String> {
    path.iter().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "/").collect()
}

/// As a file system that folds case would take it.
fn is_named(name: &str, wanted: &str) -> bool {
    // In capitals it is git's own, and `head` is a usual name.
    if wanted == "HEAD" {
        return name == wanted;
    }
    let (name, wanted) = (name.to_uppercase(), wanted.to_uppercase());
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == wanted,
    }
}

/// Whether the names lead to what the row means, through it, or up to a folder that holds it.
fn is_met<N>(row: &str, names: &[N], is: impl Fn(&N, &str) -> bool) -> bool {
    let wanted: Vec<&str> = row.split('/').collect();
    (0..names.len()).any(|at| names[at..].iter().zip(&wanted).all(|(name, wanted)| is(name, wanted)))
}

impl PathTarget {
    /// The row that it may be of, or that a pattern may match.
    pub(super) fn may_be_automatic(&self, roots: &[std::path::PathBuf]) -> Option<&'static AutorunPath> {
        let root = roots
            .iter()
            .filter(|root| self.path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())?;
        if self.pattern.is_empty() {
            return automatic(&self.path, root);
        }
        let below = names(self.path.strip_prefix(root).unwrap_or(&self.path));
        let plain = below.into_iter().map(|name| name.chars().map(|letter| (letter, false)).collect());
        let names: Vec<Vec<(char, bool)>> = plain.chain(self.pattern.iter().cloned()).collect();
        let may_be = |name: &Vec<(char, bool)>, wanted: &str| {
            let is_pattern = name.iter().any(|(_, is_pattern)| *is_pattern);
            match is_pattern {
                false => is_named(&name.iter().map(|(letter, _)| *letter).collect::<String>(), wanted),
                // What a row leaves open has a few usual ends.
                true if wanted.contains('*') => USUAL_ENDS.iter().any(|end| {
                    let wanted = wanted.replace('*', end);
                    if wanted.starts_with('.') {
                        place::names_hidden(name, &wanted)
                    } else {
                        place::names(name, &wanted)
                    }
                }),
                true if wanted.starts_with('.') => place::names_hidden(name, wanted),
                true => place::names(name, wanted),
            }
        };
        AUTOMATIC.iter().find(|row| is_met(row.path, &names, may_be))
    }
}
