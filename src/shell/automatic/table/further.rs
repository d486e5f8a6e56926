//! Rows of the table that were added after a hostile reading: what git's hooks, editors, language servers and other products obey.

use super::{AGENT_SETTINGS, EDITOR_TASKS, GIT_CONFIG, HOOK_RUNNER, kept, row};
use crate::automatic::AutorunPath;

const LAZYGIT: &str = "lazygit runs its commands and its pager";
const LANGUAGE_SERVER: &str = "an editor's language server runs what it says when it opens the folder";

/// They stand before the others, since `.git` is a row of its own there. Products' pages as they stood in 2026.
pub(super) const FURTHER: &[AutorunPath] = &[
    // The row that a whole `.git` is met by.
    row(".git/config", GIT_CONFIG, "git-config(1)"),
    kept(
        ".git/lazygit.yml",
        LAZYGIT,
        "https://github.com/jesseduffield/lazygit, docs/Config.md, custom pager and commands",
    ),
    kept(".lazygit.yml", LAZYGIT, "https://github.com/jesseduffield/lazygit, docs/Config.md"),
    kept(
        ".git/sl",
        "Sapling runs its hooks and extensions",
        "https://sapling-scm.com/docs/git/git_support_modes",
    ),
    kept(
        ".git/arc",
        "Arcanist loads the libraries that its settings name",
        "https://we.phorge.it/book/phorge/article/arcanist_new_project/",
    ),
    kept(
        ".git/safe",
        "a shell whose PATH has `.git/safe/../../bin` finds programs of the repository by it",
        "https://thoughtbot.com/blog/git-safe",
    ),
    kept("hk.pkl", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept("hk.local.pkl", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept(".config/hk.*", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept("prek.toml", HOOK_RUNNER, "https://prek.j178.dev/configuration/"),
    kept("captainhook.json", HOOK_RUNNER, "https://captainhook-git.github.io/captainhook/"),
    kept("grumphp.yml*", HOOK_RUNNER, "https://github.com/phpro/grumphp"),
    kept("cog.toml", HOOK_RUNNER, "https://docs.cocogitto.io/reference/config.html, git_hooks"),
    kept(".rusty-hook.toml", HOOK_RUNNER, "https://github.com/swellaby/rusty-hook"),
    kept(".huskyrc*", HOOK_RUNNER, "https://github.com/typicode/husky, README of version 4"),
    kept("husky.config.*", HOOK_RUNNER, "https://github.com/typicode/husky, README of version 4"),
    kept(".nano-staged.*", HOOK_RUNNER, "https://github.com/usmanyunusov/nano-staged"),
    kept("nano-staged.*", HOOK_RUNNER, "https://github.com/usmanyunusov/nano-staged"),
    kept("commitlint.config.*", HOOK_RUNNER, "https://commitlint.js.org/reference/configuration.html"),
    kept(".commitlintrc*", HOOK_RUNNER, "https://commitlint.js.org/reference/configuration.html"),
    kept(".gitlint", HOOK_RUNNER, "https://jorisroovers.com/gitlint/latest/configuration/, extra-path"),
    row(
        "buildServer.json",
        LANGUAGE_SERVER,
        "https://github.com/swiftlang/sourcekit-lsp, Documentation/Configuration File.md",
    ),
    row("hie.yaml", LANGUAGE_SERVER, "https://github.com/haskell/hie-bios, README, cradle bios"),
    row(".merlin", LANGUAGE_SERVER, "https://github.com/ocaml/merlin, dot-merlin-reader, FLG -pp"),
    kept(".lsp/config.edn", LANGUAGE_SERVER, "https://clojure-lsp.io/settings/, project-specs"),
    kept(".externalToolBuilders", EDITOR_TASKS, "https://help.eclipse.org, External Tools Builders"),
    row(".project", EDITOR_TASKS, "https://help.eclipse.org, External Tools Builders"),
    kept(
        ".kateproject*",
        EDITOR_TASKS,
        "https://docs.kde.org/stable_kf6/en/kate/kate/kate-application-plugin-projects.html",
    ),
    kept("*.sublime-project", EDITOR_TASKS, "https://www.sublimetext.com/docs/projects.html"),
    kept(".lintr*", LANGUAGE_SERVER, "https://lintr.r-lib.org/articles/lintr.html"),
    kept(".luacheckrc", LANGUAGE_SERVER, "https://luacheck.readthedocs.io/en/stable/config.html"),
    kept(
        ".pylintrc*",
        LANGUAGE_SERVER,
        "https://pylint.readthedocs.io/en/stable/user_guide/configuration/all-options.html, init-hook",
    ),
    kept(
        "pylintrc*",
        LANGUAGE_SERVER,
        "https://pylint.readthedocs.io/en/stable/user_guide/configuration/all-options.html, init-hook",
    ),
    row(".formatter.exs", LANGUAGE_SERVER, "https://hexdocs.pm/mix/Mix.Tasks.Format.html"),
    row(
        "CMakeLists.txt.user*",
        EDITOR_TASKS,
        "https://doc.qt.io/qtcreator/creator-sharing-project-settings.html",
    ),
    row(".qtcreator", EDITOR_TASKS, "https://doc.qt.io/qtcreator/creator-sharing-project-settings.html"),
    kept(
        ".ycm_extra_conf.py",
        LANGUAGE_SERVER,
        "https://github.com/ycm-core/YouCompleteMe, .ycm_extra_conf.py",
    ),
    kept(".lazy.lua", "Neovim runs it with lazy.nvim", "https://lazy.folke.io/configuration, local_spec"),
    row(".globalrc", "GNU Global loads the parsers that it names", "gtags.conf(5)"),
    row(
        ".repo",
        "repo runs its own code from there",
        "https://gerrit.googlesource.com/git-repo/, docs/internal-fs-layout.md",
    ),
    row(
        "_FOSSIL_",
        "Fossil takes the repository that it names, with its hooks",
        "https://fossil-scm.org/home/doc/trunk/www/hooks.md",
    ),
    row(
        ".fslckout",
        "Fossil takes the repository that it names, with its hooks",
        "https://fossil-scm.org/home/doc/trunk/www/hooks.md",
    ),
    row(
        ".gclient",
        "gclient runs it",
        "https://chromium.googlesource.com/chromium/tools/depot_tools, gclient.py",
    ),
    row(
        ".west/config",
        "west loads the commands that its manifest names",
        "https://docs.zephyrproject.org/latest/develop/west/config.html",
    ),
    row(
        ".bzr",
        "Breezy runs the programs that its settings name",
        "https://www.breezy-vcs.org/doc/en/user-reference/configuration-help.html",
    ),
    kept(
        ".reviewboardrc",
        "rbt runs it",
        "https://www.reviewboard.org/docs/rbtools/latest/rbt/configuration/",
    ),
    kept(
        ".arcconfig",
        "Arcanist loads the libraries that it names",
        "https://we.phorge.it/book/phorge/article/arcanist_new_project/",
    ),
    kept(".grok/settings.json", AGENT_SETTINGS, "https://github.com/superagent-ai/grok-cli"),
    kept(
        ".github/mcp.json",
        AGENT_SETTINGS,
        "https://docs.github.com/copilot/how-tos/use-copilot-agents/use-copilot-cli",
    ),
    kept(".augment/settings*", AGENT_SETTINGS, "https://docs.augmentcode.com/cli/hooks"),
    kept(".agents/mcp.json", AGENT_SETTINGS, "https://agentskills.io/specification, the folder"),
    kept("gptme.toml", AGENT_SETTINGS, "https://gptme.org/docs/config.html, context_cmd"),
    kept(".kimi", AGENT_SETTINGS, "https://github.com/MoonshotAI/kimi-cli"),
    row(".serena/project.yml", AGENT_SETTINGS, "https://github.com/oraios/serena"),
    kept(".antigravity", AGENT_SETTINGS, "https://antigravity.google/docs"),
    kept(".superset/config.json", AGENT_SETTINGS, "https://docs.superset.sh/setup-teardown-scripts"),
    kept("conductor.json", AGENT_SETTINGS, "https://docs.conductor.build/core/scripts"),
    kept(".roomodes", AGENT_SETTINGS, "https://docs.roocode.com/features/custom-modes"),
];
