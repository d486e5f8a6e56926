//! Of which kinds are commands, and which options leave a command of its kind what it is? By the manuals of the programs.
//!
//! The kinds stand in `kinds.json`. What does not stand there has none: a program, sub-command or option that nobody looked up
//! is asked about.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

/// Commands that begin with the same words.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommandKind {
    /// The words; of several programs or sub-commands, with `|` between them: `npm|pnpm|yarn test`.
    pub begins: String,
    /// True if one word more names what is done: a script of the workspace.
    #[serde(default)]
    pub is_script: bool,
    /// Options directly behind the words with which a command only says what it would do.
    #[serde(default)]
    pub trying: Vec<String>,
    /// Options there with which it changes what it otherwise only looks at.
    #[serde(default)]
    pub changing: Vec<String>,
    /// Options anywhere that change neither what is done nor what is written, and run nothing. A value stands behind `=`, or is
    /// the next word.
    #[serde(default)]
    pub options: Vec<String>,
    /// Lists of such options that several kinds share.
    #[serde(default)]
    lists: Vec<String>,
    /// Such options of one letter, which may be put together and have a number behind them: `-la`, `-A3`.
    #[serde(default)]
    pub letters: String,
    /// Such options behind `--`, where what stands there are words of another program. Missing: what stands there are operands.
    #[serde(default)]
    pub behind: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantTable {
    lists: HashMap<String, Vec<String>>,
    kinds: Vec<CommandKind>,
}

/// All of them. The first whose words a command begins with is its kind.
pub(super) static KINDS: LazyLock<Vec<CommandKind>> = LazyLock::new(|| {
    // It is compiled in, and a test reads it. Without it nothing would be granted.
    let Ok(GrantTable { lists, mut kinds }) = serde_json::from_str::<GrantTable>(include_str!("kinds.json"))
    else {
        return Vec::new();
    };
    for kind in &mut kinds {
        for list in &kind.lists {
            kind.options.extend(lists.get(list).into_iter().flatten().cloned());
        }
    }
    kinds
});

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
pub(super) struct HarmlessOptions {
    pub after: &'static [&'static str],
    pub flags: &'static [&'static str],
    /// With a word behind them.
    pub valued: &'static [&'static str],
    /// `-j8`
    pub counts_jobs: bool,
}

pub(super) const HARMLESS: &[HarmlessOptions] = &[
    HarmlessOptions {
        after: &["cargo"],
        flags: &["-q", "--quiet", "-v", "--verbose", "--locked", "--offline", "--frozen"],
        valued: &["--color"],
        counts_jobs: false,
    },
    // Which folder it is in is looked at like any other word.
    HarmlessOptions { after: &["git"], flags: &["--no-pager", "-P"], valued: &["-C"], counts_jobs: false },
    HarmlessOptions {
        after: &["make"],
        flags: &["-B", "-k", "-s", "--keep-going", "--no-print-directory", "--silent"],
        valued: &["-j"],
        counts_jobs: true,
    },
    HarmlessOptions {
        after: &["npm", "run"],
        flags: &["-s", "--if-present", "--silent"],
        valued: &[],
        counts_jobs: false,
    },
    HarmlessOptions {
        after: &["pnpm", "run"],
        flags: &["--if-present", "--silent"],
        valued: &[],
        counts_jobs: false,
    },
];

/// Kinds whose operands with these letters name other machines, or what is written in the repository.
pub(super) const REMOTE: &[(&str, &[char])] =
    &[("git fetch", &[':', '+', '@']), ("git ls-remote", &[':', '@'])];
