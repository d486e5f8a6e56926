//! Rows of the table: what programs of version control, and those that their hooks run, obey in a repository or a home.

use super::{kept, row};
use crate::automatic::AutorunPath;

pub const GIT_CONFIG: &str = "git runs commands that its settings name (`core.fsmonitor`, `filter`, `alias`)";
pub const GIT_HOOKS: &str = "git runs its hooks";
const JJ: &str = "jj runs the programs that its settings name";
const REBASE: &str = "git runs the commands of a rebase that waits, when it goes on";
const MERCURIAL: &str = "Mercurial runs its hooks and extensions";
const HOOK_RUNNER: &str = "git's hooks run what it says";

pub(super) const ROWS: &[AutorunPath] = &[
    row(".git/config", GIT_CONFIG, "git-config(1)"),
    row(".git/config.worktree", GIT_CONFIG, "git-worktree(1), CONFIGURATION FILE"),
    row(".git/hooks", GIT_HOOKS, "githooks(5)"),
    row(".git/info/attributes", "git runs the filters that its settings name for it", "gitattributes(5)"),
    row(".git/modules", "git keeps submodules' settings and hooks there", "gitrepository-layout(5)"),
    row(".git/worktrees", "git keeps worktrees' settings there", "gitrepository-layout(5)"),
    row(".git/commondir", "it says where git finds its settings and hooks", "gitrepository-layout(5)"),
    row(".git/rebase-merge", REBASE, "git-rebase(1), exec; sequencer.c, git-rebase-todo"),
    row(".git/sequencer", REBASE, "git-cherry-pick(1), SEQUENCER SUBCOMMANDS"),
    kept(
        ".git/lazygit.yml",
        "lazygit runs its commands and the pager that it names",
        "https://github.com/jesseduffield/lazygit/blob/master/docs/Config.md",
    ),
    kept(
        ".git/sl/config",
        "Sapling runs its hooks and extensions",
        "https://sapling-scm.com/docs/git/git_support_modes, .git/sl",
    ),
    kept(
        ".git/sl/hgrc",
        "Sapling runs its hooks and extensions",
        "https://sapling-scm.com/docs/git/git_support_modes, .git/sl",
    ),
    kept(
        ".git/sl/sharedpath",
        "Sapling takes settings and hooks from the repository that it names",
        "https://sapling-scm.com/docs/commands/share",
    ),
    row(
        ".git/sl",
        "Sapling runs its hooks and extensions",
        "https://sapling-scm.com/docs/git/git_support_modes, .git/sl",
    ),
    kept(
        ".git/arc",
        "Arcanist loads the code that it names",
        "https://secure.phabricator.com/book/phabricator/article/arcanist_new_project/",
    ),
    kept(
        ".git/safe",
        "a shell whose `PATH` has `.git/safe/../../bin` takes programs of the folder by it",
        "https://thoughtbot.com/blog/git-safe",
    ),
    // All the rest of it: what git keeps there it takes for its own.
    row(".git", GIT_CONFIG, "gitrepository-layout(5)"),
    row(
        "HEAD",
        "a folder with it may be a bare repository, whose settings git obeys",
        "git-config(1), safe.bareRepository",
    ),
    kept(".gitconfig", GIT_CONFIG, "git-config(1), FILES"),
    kept(".config/git", GIT_CONFIG, "git-config(1), FILES"),
    kept(".githooks", GIT_HOOKS, "git-config(1), core.hooksPath; a name in wide use"),
    kept(".husky/*", HOOK_RUNNER, "https://typicode.github.io/husky/"),
    row(".husky", HOOK_RUNNER, "https://typicode.github.io/husky/"),
    kept(".lefthook", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept("lefthook.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept("lefthook-local.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept(".lefthook.*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept(".lefthook-local*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept(".config/lefthook*", HOOK_RUNNER, "https://lefthook.dev/configuration/"),
    kept(".pre-commit-config.y*", HOOK_RUNNER, "https://pre-commit.com/"),
    kept(".overcommit.yml", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    kept(".git-hooks", HOOK_RUNNER, "https://github.com/sds/overcommit"),
    kept(".lintstagedrc*", HOOK_RUNNER, "https://github.com/lint-staged/lint-staged"),
    kept("lint-staged.config.*", HOOK_RUNNER, "https://github.com/lint-staged/lint-staged"),
    kept(".hg/hgrc", MERCURIAL, "hgrc(5), FILES"),
    kept(".hg/hgrc-not-shared", MERCURIAL, "hgrc(5), FILES"),
    kept(
        ".hg/sharedpath",
        "Mercurial takes settings and hooks from the repository that it names",
        "hg help -e share; hg help internals.requirements, shared",
    ),
    row(".hg", MERCURIAL, "hgrc(5), FILES: .hg/hgrc, .hg/hgrc-not-shared"),
    kept(".hgrc", MERCURIAL, "hgrc(5), FILES"),
    kept(".config/hg", MERCURIAL, "hgrc(5), FILES"),
    kept(".jj/repo/config.toml", JJ, "https://docs.jj-vcs.dev/latest/config/"),
    kept(".jj/workspace-config.toml", JJ, "https://docs.jj-vcs.dev/latest/config/"),
    // As a file it leads to another repository, with settings of its own.
    kept(".jj/repo", JJ, "https://docs.jj-vcs.dev/latest/working-copy/"),
    row(".jj", JJ, "https://docs.jj-vcs.dev/latest/config/"),
    kept(
        ".sl/config",
        "Sapling runs its hooks and extensions",
        "https://sapling-scm.com/docs/commands/config, the repository's own",
    ),
    kept(
        ".sl/sharedpath",
        "Sapling takes settings and hooks from the repository that it names",
        "https://sapling-scm.com/docs/commands/share",
    ),
    row(".sl", "Sapling runs its hooks and extensions", "https://sapling-scm.com/docs/commands/config"),
    kept(
        "_darcs/prefs",
        "Darcs runs the hooks that its defaults name",
        "https://darcs.net/Using/Configuration, _darcs/prefs/defaults",
    ),
    row("_darcs", "Darcs runs the hooks that its defaults name", "https://darcs.net/Using/Configuration"),
    kept(
        ".pijul/config",
        "Pijul runs the hooks that its settings name",
        "https://pijul.org/manual/configuration.html",
    ),
    kept(".pijul/hooks", "Pijul runs its hooks", "pijul 0.12, commands/hooks.rs"),
    row(
        ".pijul",
        "Pijul runs the hooks that its settings name",
        "https://pijul.org/manual/configuration.html",
    ),
    kept(".jjconfig.toml", JJ, "https://docs.jj-vcs.dev/latest/config/"),
    kept(".config/jj", JJ, "https://docs.jj-vcs.dev/latest/config/"),
    kept(".simple-git-hooks*", HOOK_RUNNER, "https://github.com/toplenboren/simple-git-hooks"),
    kept(".cargo-husky", HOOK_RUNNER, "https://github.com/rhysd/cargo-husky"),
    kept(
        ".lazygit.yml",
        "lazygit runs its commands and the pager that it names",
        "https://github.com/jesseduffield/lazygit/blob/master/docs/Config.md",
    ),
    kept("hk.pkl", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept("hk.local.pkl", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept(".config/hk.*", HOOK_RUNNER, "https://hk.jdx.dev/configuration.html"),
    kept("prek.toml", HOOK_RUNNER, "https://prek.j178.dev/configuration/"),
    kept("captainhook.json", HOOK_RUNNER, "https://php.captainhook.info/configure.html"),
    kept("grumphp.yml*", HOOK_RUNNER, "https://github.com/phpro/grumphp"),
    kept("cog.toml", HOOK_RUNNER, "https://docs.cocogitto.io/guide/git_hooks.html"),
    kept(".rusty-hook.toml", HOOK_RUNNER, "https://github.com/swellaby/rusty-hook"),
    kept(".huskyrc*", HOOK_RUNNER, "https://github.com/typicode/husky/tree/v4.3.8"),
    kept("husky.config.*", HOOK_RUNNER, "https://github.com/typicode/husky/tree/v4.3.8"),
    kept(".nano-staged*", HOOK_RUNNER, "https://github.com/usmanyunusov/nano-staged"),
    kept("nano-staged.*", HOOK_RUNNER, "https://github.com/usmanyunusov/nano-staged"),
    kept("commitlint.config.*", HOOK_RUNNER, "https://commitlint.js.org/reference/configuration.html"),
    kept(".commitlintrc*", HOOK_RUNNER, "https://commitlint.js.org/reference/configuration.html"),
    kept(".gitlint", HOOK_RUNNER, "https://jorisroovers.com/gitlint/latest/rules/user_defined_rules/"),
    row(
        ".repo",
        "repo runs its own code from there",
        "https://gerrit.googlesource.com/git-repo/+/HEAD/docs/internal-fs-layout.md",
    ),
    row(
        ".fslckout",
        "Fossil takes its settings from the repository that it names",
        "https://fossil-scm.org/home/doc/trunk/www/tech_overview.wiki",
    ),
    row(
        "_FOSSIL_",
        "Fossil takes its settings from the repository that it names",
        "https://fossil-scm.org/home/doc/trunk/www/tech_overview.wiki",
    ),
    row(
        ".gclient",
        "gclient evaluates it",
        "https://chromium.googlesource.com/chromium/tools/depot_tools/+/HEAD/gclient.py",
    ),
    row(
        ".bzr",
        "Breezy takes its settings from there",
        "https://www.breezy-vcs.org/doc/en/user-reference/configuration-help.html",
    ),
    row(
        ".west/config",
        "west runs the extensions of the manifest that it names",
        "https://docs.zephyrproject.org/latest/develop/west/config.html",
    ),
    kept(
        ".reviewboardrc",
        "RBTools evaluates it",
        "https://www.reviewboard.org/docs/rbtools/latest/rbt/configuration/",
    ),
    kept(
        ".arcconfig",
        "Arcanist loads the code that it names",
        "https://secure.phabricator.com/book/phabricator/article/arcanist_new_project/",
    ),
];
