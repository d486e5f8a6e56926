//! Which words of which programs say what a command does? By the manuals of the programs.

/// Programs that do one thing with whatever stands behind them: they check, test or show what is in the workspace. None runs
/// what stands in its words, but by options that make a command one that cannot be told, or one that runs another.
pub(super) const ONE_WORD: &[&str] = &[
    "black",
    "cat",
    "du",
    "egrep",
    "eslint",
    "fgrep",
    "find",
    "grep",
    "head",
    "isort",
    "jq",
    "ls",
    "nl",
    "prettier",
    "pytest",
    "rg",
    "sed",
    "shellcheck",
    "stat",
    "stylelint",
    "tail",
    "wc",
];

/// Programs whose second word says what they do. Of any other it is an operand, and whoever runs what stands in their
/// arguments would be allowed everything (spec 06).
pub(super) const WITH_SUB_COMMANDS: &[&str] = &[
    "biome", "cargo", "dotnet", "go", "gradle", "just", "make", "mix", "mvn", "ninja", "npm", "pnpm", "rake",
    "ruff", "swift", "task", "yarn",
];

/// Programs whose third word says what they do, behind these second words, or behind any.
pub(super) const NESTED: &[(&str, &[&str])] = &[
    ("cargo", &["nextest"]),
    ("dotnet", &["nuget", "tool", "workload"]),
    ("gh", &[]),
    ("git", &["lfs", "notes", "remote", "stash", "submodule", "worktree"]),
    ("go", &["mod", "work"]),
    ("npm", &["access", "cache", "config", "dist-tag", "org", "owner", "pkg", "profile", "team", "token"]),
    ("pnpm", &["cache", "config", "store"]),
    ("swift", &["package"]),
    ("yarn", &["cache", "config", "npm", "plugin", "workspaces"]),
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
    "api",
    "cmd",
    "compose",
    "config",
    "develop",
    "dlx",
    "do",
    "ef",
    "enter",
    "env",
    "eval",
    "exec",
    "explore",
    "filter-branch",
    "foreach",
    "fsi",
    "m",
    "msbuild",
    "multi",
    "node",
    "recursive",
    "rpc",
    "run",
    "rustc",
    "rustdoc",
    "script",
    "shell",
    "submodule",
    "tool",
    "workspace",
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
    (
        &["biome", "ruff"],
        &[
            "--add-noqa",
            "--apply",
            "--apply-unsafe",
            "--config",
            "--fix",
            "--fix-only",
            "--output-file",
            "--unsafe",
            "--unsafe-fixes",
            "--write",
            "-o",
        ],
    ),
    (
        &["cargo"],
        &[
            "--allow-dirty",
            "--allow-no-vcs",
            "--artifact-dir",
            "--broken-code",
            "--config",
            "--config-path",
            "--emit",
            "--fix",
            "--logfile",
            "--open",
            "--out-dir",
            "--target-dir",
            "-Z",
        ],
    ),
    // What stands behind its `--` are options of the compiler.
    (&["cargo clippy"], &["-C", "-o"]),
    (
        &["dotnet"],
        &[
            "--artifacts-path",
            "--collect",
            "--configfile",
            "--diag",
            "--logger",
            "--output",
            "--property",
            "--results-directory",
            "--settings",
            "--test-adapter-path",
            "--tool-path",
            "-b",
            "-d",
            "-f",
            "-l",
            "-o",
            "-p",
            "-r",
            "-s",
            "-t",
        ],
    ),
    (&["sed"], &["--file", "--in-place", "-f", "-i"]),
    (
        &["eslint", "stylelint"],
        &[
            "--config",
            "--custom-formatter",
            "--custom-syntax",
            "--fix",
            "--fix-type",
            "--format",
            "--formatter",
            "--init",
            "--inspect-config",
            "--output-file",
            "--parser",
            "--plugin",
            "--resolve-plugins-relative-to",
            "--rulesdir",
            "-c",
            "-f",
            "-o",
        ],
    ),
    (
        &["find"],
        &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"],
    ),
    (
        &["git"],
        &[
            "--amend",
            "--exec",
            "--force",
            "--no-verify",
            "--open-files-in-pager",
            "--output",
            "--update-head-ok",
            "--upload-pack",
        ],
    ),
    (
        &["go"],
        &[
            "--asmflags",
            "--exec",
            "--fix",
            "--gccgoflags",
            "--gcflags",
            "--ldflags",
            "--modfile",
            "--overlay",
            "--toolexec",
            "--vettool",
            "-C",
            "-asmflags",
            "-c",
            "-exec",
            "-fix",
            "-gccgoflags",
            "-gcflags",
            "-ldflags",
            "-modfile",
            "-o",
            "-overlay",
            "-toolexec",
            "-vettool",
        ],
    ),
    (
        &["npm", "pnpm", "yarn"],
        &["--cwd", "--dir", "--globalconfig", "--prefix", "--script-shell", "--userconfig", "-C"],
    ),
    (&["git commit"], &["-n"]),
    (&["git grep"], &["-O"]),
    (&["git fetch"], &["--prune-tags", "-P", "-f", "-u"]),
    (&["prettier"], &["--config", "--plugin", "--write", "-w"]),
    (
        &["pytest"],
        &[
            "--basetemp",
            "--confcutdir",
            "--junit-xml",
            "--junitxml",
            "--log-file",
            "--override-ini",
            "--pastebin",
            "--rootdir",
            "--snapshot-update",
            "-c",
            "-o",
            "-p",
        ],
    ),
    (&["rg"], &["--hostname-bin", "--pre", "--search-zip", "-z"]),
    (
        &["swift"],
        &[
            "--build-path",
            "--cache-path",
            "--chdir",
            "--config-path",
            "--destination",
            "--disable-sandbox",
            "--package-path",
            "--scratch-path",
            "--sdk",
            "--security-path",
            "--swift-sdk",
            "--toolchain",
            "--toolset",
            "--xunit-output",
            "-C",
            "-Xbuild-tools-swiftc",
            "-Xcc",
            "-Xcxx",
            "-Xlinker",
            "-Xmanifest",
            "-Xswiftc",
        ],
    ),
];

/// Programs whose operands with these letters name other machines, or what is written in the repository.
pub(super) const REMOTE: &[(&str, &str, &[char])] =
    &[("git", "fetch", &[':', '+', '@']), ("git", "ls-remote", &[':', '@'])];

/// Programs whose long options stand behind one hyphen, so that theirs are no bundles of letters.
pub(super) const LONG_BEHIND_ONE_HYPHEN: &[&str] = &["find", "go", "swift"];

/// Options by which a command only says what it would do.
pub(super) const TRYING: &[&str] = &["--check", "--check-only", "--dry-run", "--list-different", "--no-run"];

/// Options that change nothing, and that others, which do, begin with.
pub(super) const NOT_CUT_SHORT: &[&str] = &["--prune"];
