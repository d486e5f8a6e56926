//! Which files of a workspace do other programs run by themselves: by opening a folder, by a look at a repository, by a login?
//!
//! Who writes one of them decides what runs next, as the person and outside of every sandbox, without anybody starting it. So
//! to change one is `high`, whoever changes it. What a person starts themselves (a makefile, a build script, a test) is the
//! project's code and not listed: to write it is what an agent is there for.
//!
//! One more such file: a row here. The tests walk all rows, by file tools and by shell.

use std::path::{Path, PathBuf};

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

/// A file or folder that is run or obeyed under another name than its own: a link leads there, or settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutorunPlace {
    /// Absolute.
    pub path: PathBuf,
    /// Who runs it, and when.
    pub why: &'static str,
}

impl AutorunPath {
    /// Whether the last of its names may be this one.
    pub fn ends_in(&self, name: &str) -> bool {
        is_named(name, self.path.rsplit_once('/').map_or(self.path, |(_, last)| last))
    }
}

const fn row(path: &'static str, why: &'static str, source: &'static str) -> AutorunPath {
    AutorunPath { path, why, source }
}

pub const GIT_CONFIG: &str = "git runs commands that its settings name (`core.fsmonitor`, `filter`, `alias`)";
pub const GIT_HOOKS: &str = "git runs its hooks";
const REBASE: &str = "git runs the commands of a rebase that waits, when it goes on";
const PYTHON_START: &str = "Python runs its lines when it starts, where its packages lie";
const MISE: &str = "mise runs its hooks in the shell that enters the folder";
const EDITOR_TASKS: &str =
    "an editor runs its tasks and takes its programs from there when it opens the folder";
const SHELL_START: &str = "a shell runs it when it starts";
const DESKTOP_START: &str = "the session runs it at the login";
const AGENT_SETTINGS: &str = "an agent's product runs its hooks, servers and agents";
const MERCURIAL: &str = "Mercurial runs its hooks and extensions";
const HOOK_RUNNER: &str = "git's hooks run what it says";
const TOOLCHAIN: &str = "builds, and editors that look into them, take programs from there";

/// What stands for the `*` of a row, where a pattern of a command is held against it.
const USUAL_ENDS: &[&str] = &[
    "", "ml", "aml", ".yml", ".json", ".toml", ".js", ".cjs", ".mjs", ".bat", "c", "rc", "x", "yml", "json",
    "toml", "js",
];

/// All of them. Products' pages as they stood in 2026.
pub const AUTOMATIC: &[AutorunPath] = &[
    row(".git/config", GIT_CONFIG, "git-config(1)"),
    row(".git/config.worktree", GIT_CONFIG, "git-worktree(1), CONFIGURATION FILE"),
    row(".git/hooks", GIT_HOOKS, "githooks(5)"),
    row(".git/info/attributes", "git runs the filters that its settings name for it", "gitattributes(5)"),
    row(".git/modules", "git keeps submodules' settings and hooks there", "gitrepository-layout(5)"),
    row(".git/worktrees", "git keeps worktrees' settings there", "gitrepository-layout(5)"),
    row(".git/commondir", "it says where git finds its settings and hooks", "gitrepository-layout(5)"),
    row(".git/rebase-merge", REBASE, "git-rebase(1), exec; sequencer.c, git-rebase-todo"),
    row(".git/sequencer", REBASE, "git-cherry-pick(1), SEQUENCER SUBCOMMANDS"),
    // All the rest of it: what git keeps there it takes for its own.
    row(".git", GIT_CONFIG, "gitrepository-layout(5)"),
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
    row("lefthook.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row("lefthook-local.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".lefthook.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".lefthook-local*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".config/lefthook*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    row(".pre-commit-config.y*", HOOK_RUNNER, "https://pre-commit.com/"),
    row(".overcommit.yml", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    row(".git-hooks", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    row(".lintstagedrc*", HOOK_RUNNER, "https://github.com/lint-staged/lint-staged"),
    row("lint-staged.config.*", HOOK_RUNNER, "https://github.com/lint-staged/lint-staged"),
    row(".hg", MERCURIAL, "hgrc(5), FILES: .hg/hgrc, .hg/hgrc-not-shared"),
    row(".hgrc", MERCURIAL, "hgrc(5), FILES"),
    row(".config/hg", MERCURIAL, "hgrc(5), FILES"),
    row(".jj", "jj runs the programs that its settings name", "https://docs.jj-vcs.dev/latest/config/"),
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
    row(".theia", EDITOR_TASKS, "https://theia-ide.org/docs/tasks/"),
    row(
        ".bsp",
        "an editor starts the build server that it names",
        "https://build-server-protocol.github.io/docs/overview/server-discovery",
    ),
    row(".zed", EDITOR_TASKS, "https://zed.dev/docs/tasks"),
    row(".helix", EDITOR_TASKS, "https://docs.helix-editor.com/languages.html"),
    row(".config/Code", EDITOR_TASKS, "https://code.visualstudio.com/docs/configure/settings"),
    row(".vscode-server", EDITOR_TASKS, "https://code.visualstudio.com/docs/remote/vscode-server"),
    row(".config/zed", EDITOR_TASKS, "https://zed.dev/docs/configuring-zed"),
    row(".config/helix", EDITOR_TASKS, "https://docs.helix-editor.com/configuration.html"),
    row(
        ".doom.d",
        "Emacs runs it",
        "https://github.com/doomemacs/doomemacs/blob/master/docs/getting_started.org",
    ),
    row(
        ".config/doom",
        "Emacs runs it",
        "https://github.com/doomemacs/doomemacs/blob/master/docs/getting_started.org",
    ),
    row(".config/kak", "Kakoune runs its commands", "https://github.com/mawww/kakoune"),
    row(
        ".jjconfig.toml",
        "jj runs the programs that its settings name",
        "https://docs.jj-vcs.dev/latest/config/",
    ),
    row(
        ".config/jj",
        "jj runs the programs that its settings name",
        "https://docs.jj-vcs.dev/latest/config/",
    ),
    row(".simple-git-hooks*", HOOK_RUNNER, "https://github.com/toplenboren/simple-git-hooks"),
    row(".cargo-husky", HOOK_RUNNER, "https://github.com/rhysd/cargo-husky"),
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
        ".dir-locals-2.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    row(
        ".config/emacs",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Find-Init.html",
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
    row(
        ".gdbearlyinit",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Initialization-Files.html",
    ),
    row(
        ".config/gdb",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Initialization-Files.html",
    ),
    row(".lldbinit*", "lldb runs it", "https://lldb.llvm.org/man/lldb.html"),
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
    row(
        ".envrc*",
        "direnv runs it in the shell that enters the folder",
        "direnv(1); direnv-stdlib(1), source_env_if_exists",
    ),
    row(".direnvrc", "direnv runs it in the shell that enters a folder", "direnv(1), FILES"),
    row(".config/direnv", "direnv runs it in the shell that enters a folder", "direnv(1), FILES"),
    row(
        ".autoenv*",
        "autoenv runs it in the shell that enters the folder",
        "https://github.com/hyperupcall/autoenv",
    ),
    row("mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    row(".mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    row("mise/config.*", MISE, "https://mise.jdx.dev/configuration.html"),
    row(".config/mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    row(".mise", "mise runs its tasks and hooks", "https://mise.jdx.dev/configuration.html"),
    row(".config/mise", MISE, "https://mise.jdx.dev/configuration.html"),
    row(
        ".tool-versions",
        "asdf and mise take programs from there",
        "https://asdf-vm.com/manage/configuration.html",
    ),
    row(
        ".github/hooks",
        AGENT_SETTINGS,
        "https://docs.github.com/copilot/concepts/agents/coding-agent/about-hooks",
    ),
    row(".mcp.json", "an agent's product starts its servers", "https://code.claude.com/docs/en/mcp"),
    row(".agents/skills", AGENT_SETTINGS, "https://agentskills.io/specification"),
    row(".claude", AGENT_SETTINGS, "https://code.claude.com/docs/en/settings"),
    row(".claude.json", AGENT_SETTINGS, "https://code.claude.com/docs/en/settings"),
    row(".gemini", AGENT_SETTINGS, "https://geminicli.com/docs/reference/configuration/"),
    row(".codex", AGENT_SETTINGS, "https://developers.openai.com/codex/config-reference/"),
    row(".cursor", AGENT_SETTINGS, "https://cursor.com/docs/agent/hooks"),
    row(".windsurf", AGENT_SETTINGS, "https://docs.windsurf.com/windsurf/cascade/hooks"),
    row(".opencode", AGENT_SETTINGS, "https://opencode.ai/docs/config/"),
    row("opencode.json*", AGENT_SETTINGS, "https://opencode.ai/docs/config/"),
    row(".kiro", AGENT_SETTINGS, "https://kiro.dev/docs/hooks/"),
    row(".clinerules/hooks", AGENT_SETTINGS, "https://docs.cline.bot/features/hooks"),
    row(".factory", AGENT_SETTINGS, "https://docs.factory.ai/cli/configuration/hooks-guide"),
    row("crush.json", AGENT_SETTINGS, "https://github.com/charmbracelet/crush"),
    row(".crush.json", AGENT_SETTINGS, "https://github.com/charmbracelet/crush"),
    row(".config/crush", AGENT_SETTINGS, "https://github.com/charmbracelet/crush"),
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
    row(".pnp.*", TOOLCHAIN, "https://yarnpkg.com/features/pnp"),
    row(".pnpmfile.*", TOOLCHAIN, "https://pnpm.io/pnpmfile"),
    row("bunfig.toml", TOOLCHAIN, "https://bun.com/docs/runtime/bunfig"),
    row(".mvn", TOOLCHAIN, "https://maven.apache.org/configure.html"),
    row("mvnw*", TOOLCHAIN, "https://maven.apache.org/wrapper/"),
    row("gradle/wrapper/*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row("gradlew*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row(".pyenv", TOOLCHAIN, "https://github.com/pyenv/pyenv"),
    row(".rbenv", TOOLCHAIN, "https://github.com/rbenv/rbenv"),
    row(".nvm", TOOLCHAIN, "https://github.com/nvm-sh/nvm"),
    row(".rvm", TOOLCHAIN, "https://rvm.io/rvm/install"),
    row(".sdkman", TOOLCHAIN, "https://sdkman.io/install"),
    row(".volta", TOOLCHAIN, "https://docs.volta.sh/guide/understanding"),
    row(".bazelversion", TOOLCHAIN, "https://github.com/bazelbuild/bazelisk"),
    row(".bazeliskrc", TOOLCHAIN, "https://github.com/bazelbuild/bazelisk"),
    row(".bazelrc", TOOLCHAIN, "https://bazel.build/run/bazelrc"),
    row(
        ".Rprofile",
        "R runs it when it starts",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
    ),
    row(".octaverc", "Octave runs it when it starts", "https://docs.octave.org/latest/Startup-Files.html"),
    row(
        ".ghci",
        "GHCi runs it when it starts",
        "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html",
    ),
    row(".iex.exs", "IEx runs it when it starts", "https://hexdocs.pm/iex/IEx.html"),
    row(".irbrc*", "irb runs it when it starts", "https://ruby.github.io/irb/Configurations_md.html"),
    row(".pryrc", "Pry runs it when it starts", "https://github.com/pry/pry/wiki/Pry-rc"),
    row("sitecustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row("usercustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row("site-packages/*.pth", PYTHON_START, "https://docs.python.org/3/library/site.html"),
    row("dist-packages/*.pth", PYTHON_START, "https://docs.python.org/3/library/site.html"),
    row(".pdbrc", "pdb runs it", "https://docs.python.org/3/library/pdb.html"),
    row(
        ".ipython",
        "IPython runs its startup files",
        "https://ipython.readthedocs.io/en/stable/config/intro.html",
    ),
    row(".ocamlinit", "OCaml runs it", "https://ocaml.org/manual/toplevel.html"),
    row(".sbclrc", "SBCL runs it", "https://www.sbcl.org/manual/"),
    row(".julia/config", "Julia runs it", "https://docs.julialang.org/en/v1/manual/command-line-interface/"),
    row(".psqlrc", "psql runs it", "psql(1), FILES"),
    row(".sqliterc", "sqlite3 runs it", "https://sqlite.org/cli.html"),
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
    row(".cshrc", SHELL_START, "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    row(".tcshrc", SHELL_START, "tcsh(1), STARTUP AND SHUTDOWN"),
    row(".login", SHELL_START, "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    row(".logout", "a shell runs it when it ends", "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    row(".bash_completion", SHELL_START, "https://github.com/scop/bash-completion"),
    row(".local/share/bash-completion", SHELL_START, "https://github.com/scop/bash-completion"),
    row(
        ".config/powershell",
        SHELL_START,
        "https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_profiles",
    ),
    row(".config/nushell", SHELL_START, "https://www.nushell.sh/book/configuration.html"),
    row(".xonshrc", SHELL_START, "https://xon.sh/xonshrc.html"),
    row(".kshrc", SHELL_START, "ksh(1), INVOCATION"),
    row(".mkshrc", SHELL_START, "mksh(1), STARTUP"),
    row(".config/fish", SHELL_START, "fish(1), CONFIGURATION"),
    row(".ssh", "ssh runs commands that it names, and lets in whom it lists", "ssh_config(5), sshd(8)"),
    row(".tmux.conf", "tmux runs its commands", "tmux(1)"),
    row(".config/tmux", "tmux runs its commands", "tmux(1), FILES"),
    row(".local/bin", "a shell finds its programs there", "file-hierarchy(7), ~/.local/bin/"),
    row(
        ".local/share/applications",
        "the desktop starts programs by it",
        "https://specifications.freedesktop.org/desktop-entry-spec/latest/",
    ),
    row(
        ".local/share/dbus-1",
        "the session's bus starts services by it",
        "https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-starting-services",
    ),
    row(".config/autostart", DESKTOP_START, "https://specifications.freedesktop.org/autostart-spec/latest/"),
    row(".config/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    row(".local/share/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    row(".config/environment.d", DESKTOP_START, "environment.d(5)"),
    row(".screenrc", "screen runs its commands", "screen(1), CUSTOMIZATION"),
    row(".xserverrc", DESKTOP_START, "xinit(1)"),
    row(".config/i3", DESKTOP_START, "https://i3wm.org/docs/userguide.html"),
    row(".config/sway", DESKTOP_START, "sway(1), sway(5)"),
    row(".config/hypr", DESKTOP_START, "https://wiki.hypr.land/Configuring/Keywords/"),
    row(".config/plasma-workspace", DESKTOP_START, "https://userbase.kde.org/Session_Environment_Variables"),
    row(".config/openbox", DESKTOP_START, "http://openbox.org/help/Autostart"),
    row(".config/awesome", DESKTOP_START, "https://awesomewm.org/doc/api/documentation/05-awesomerc.md.html"),
    row(".config/qtile", DESKTOP_START, "https://docs.qtile.org/en/stable/manual/config/index.html"),
    row(".xmonad", DESKTOP_START, "https://xmonad.org/configurations.html"),
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
        let of_git = row.path == ".git" || row.path.starts_with(".git/");
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
