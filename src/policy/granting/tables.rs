//! Which words of which programs say what a command does? By the manuals of the programs.

/// Programs that do one thing with whatever stands behind them: they check, test or show what is in the workspace. None runs
/// what stands in its words, but by options that make a command one that cannot be told, or one that runs another.
pub(super) const ONE_WORD: &[&str] = &[
    "black",
    "cat",
    "clang-format",
    "ctest",
    "du",
    "egrep",
    "eslint",
    "fgrep",
    "file",
    "find",
    "flake8",
    "golangci-lint",
    "grep",
    "head",
    "isort",
    "jest",
    "jq",
    "ls",
    "mocha",
    "mypy",
    "nl",
    "phpunit",
    "prettier",
    "py.test",
    "pylint",
    "pyright",
    "pytest",
    "rg",
    "rspec",
    "rubocop",
    "sed",
    "shellcheck",
    "stat",
    "stylelint",
    "tail",
    "tree",
    "tsc",
    "vitest",
    "wc",
];

/// Programs whose second word says what they do. Of any other it is an operand, and whoever runs what stands in their
/// arguments would be allowed everything (spec 06).
pub(super) const WITH_SUB_COMMANDS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "biome",
    "brew",
    "bundle",
    "cabal",
    "cargo",
    "composer",
    "conda",
    "dnf",
    "docker",
    "dotnet",
    "gem",
    "go",
    "gradle",
    "helm",
    "hg",
    "jj",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "ninja",
    "npm",
    "opam",
    "pacman",
    "pdm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rake",
    "ruff",
    "rustup",
    "svn",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "yarn",
    "zypper",
];

/// Programs whose third word says what they do, behind these second words, or behind any.
pub(super) const NESTED: &[(&str, &[&str])] = &[
    ("cargo", &["nextest"]),
    ("conda", &["env"]),
    (
        "docker",
        &[
            "builder",
            "buildx",
            "compose",
            "config",
            "container",
            "context",
            "image",
            "manifest",
            "network",
            "plugin",
            "secret",
            "service",
            "stack",
            "swarm",
            "system",
            "volume",
        ],
    ),
    ("dotnet", &["nuget", "tool", "workload"]),
    ("gh", &[]),
    ("git", &["lfs", "notes", "reflog", "remote", "stash", "submodule", "worktree"]),
    ("glab", &[]),
    ("go", &["mod", "work"]),
    ("helm", &["plugin", "registry", "repo"]),
    ("jj", &["bookmark", "config", "file", "git", "op", "operation", "workspace"]),
    ("kubectl", &["auth", "certificate", "config", "create", "rollout", "set", "top"]),
    ("nix", &[]),
    ("npm", &["access", "cache", "config", "dist-tag", "org", "owner", "pkg", "profile", "team", "token"]),
    ("pip", &["cache", "config"]),
    ("pip3", &["cache", "config"]),
    ("pnpm", &["cache", "config", "store"]),
    ("podman", &["compose", "container", "image", "machine", "network", "pod", "secret", "system", "volume"]),
    ("poetry", &["cache", "config", "env", "self", "source"]),
    ("rustup", &["component", "override", "self", "target", "toolchain"]),
    ("terraform", &["providers", "state", "workspace"]),
    ("uv", &["cache", "pip", "python", "self", "tool"]),
    ("yarn", &["cache", "config", "npm", "plugin", "workspace", "workspaces"]),
];

/// What git does that loses nothing, whatever stands behind it. `checkout`, `reset` or `branch` change or remove by their
/// options and operands; `push` and `pull` are about what others have.
pub(super) const GIT: &[&str] = &[
    "add",
    "blame",
    "cat-file",
    "check-ignore",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
];

/// Sub-commands that run what stands in their arguments, or code from elsewhere.
pub(super) const RUNNING: &[&str] = &[
    "compose",
    "config",
    "develop",
    "dlx",
    "enter",
    "env",
    "exec",
    "explore",
    "filter-branch",
    "run",
    "shell",
    "submodule",
    "tool",
    "x",
];

/// Programs that run a script of the workspace by its name, and the words before that.
pub(super) const SCRIPTS: &[(&str, &[&str])] = &[
    ("bun", &["run"]),
    ("composer", &["run", "run-script"]),
    ("npm", &["run", "run-script"]),
    ("pnpm", &["run"]),
    ("yarn", &["run"]),
];

/// Programs of which every further word is something more that is done.
pub(super) const TARGETS: &[&str] = &["gradle", "just", "make", "mvn", "ninja", "rake", "task"];

/// What may stand among their targets and changes nothing of what is done.
pub(super) const AMONG_TARGETS: &[&str] = &[
    "--batch-mode",
    "--keep-going",
    "--no-print-directory",
    "--offline",
    "--quiet",
    "--silent",
    "-B",
    "-j",
    "-k",
    "-o",
    "-q",
    "-s",
];

/// Options that stand before what is done.
pub(super) struct Harmless {
    pub after: &'static [&'static str],
    pub flags: &'static [&'static str],
    /// With a word behind them.
    pub valued: &'static [&'static str],
    /// `-j8`
    pub counts_jobs: bool,
}

pub(super) const HARMLESS: &[Harmless] = &[
    Harmless {
        after: &["cargo"],
        flags: &["-q", "--quiet", "-v", "--verbose", "--locked", "--offline", "--frozen"],
        valued: &["--color"],
        counts_jobs: false,
    },
    // Which folder it is in is looked at like any other word.
    Harmless { after: &["git"], flags: &["--no-pager", "-P"], valued: &["-C"], counts_jobs: false },
    Harmless {
        after: &["make"],
        flags: &["-B", "-k", "-s", "--keep-going", "--no-print-directory", "--silent"],
        valued: &["-j"],
        counts_jobs: true,
    },
    Harmless {
        after: &["npm", "run"],
        flags: &["-s", "--if-present", "--silent"],
        valued: &[],
        counts_jobs: false,
    },
    Harmless {
        after: &["pnpm", "run"],
        flags: &["--if-present", "--silent"],
        valued: &[],
        counts_jobs: false,
    },
];

/// Options by which programs change what they otherwise only look at, or more than they otherwise do.
pub(super) const CHANGING: &[(&[&str], &[&str])] = &[
    (&["biome", "ruff"], &["--apply", "--apply-unsafe", "--fix", "--unsafe", "--unsafe-fixes", "--write"]),
    (&["cargo"], &["--allow-dirty", "--allow-no-vcs", "--broken-code", "--fix"]),
    (&["clang-format", "sed"], &["-i", "--in-place"]),
    (&["eslint", "golangci-lint", "stylelint"], &["--fix", "--output-file", "-o"]),
    (
        &["find"],
        &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"],
    ),
    (&["git"], &["--amend", "--no-verify"]),
    (&["jest", "vitest"], &["--update", "--updateSnapshot", "-u"]),
    (&["mypy"], &["--install-types"]),
    (&["prettier"], &["--write", "-w"]),
    (&["pyright"], &["--createstub"]),
    (&["pytest", "py.test"], &["--snapshot-update"]),
    (
        &["rubocop"],
        &[
            "--auto-correct",
            "--auto-correct-all",
            "--autocorrect",
            "--autocorrect-all",
            "--auto-gen-config",
            "--fix-layout",
            "-A",
            "-a",
            "-x",
        ],
    ),
];

/// Options by which a command only says what it would do.
pub(super) const TRYING: &[&str] = &["--check", "--check-only", "--dry-run", "--list-different", "--no-run"];
