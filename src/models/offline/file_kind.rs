//! Is this the kind of file the question is about? Tests, examples and papers talk about the code; unless they are
//! asked for, the code itself is meant.

use super::words;

/// Kinds of files besides the code itself: by what their paths have, what they are worth unless wanted, and by
/// which words they are wanted.
const KINDS: &[FileKindRule] = &[
    FileKindRule {
        folders: &["tests", "test", "testing", "__tests__", "spec"],
        names: &["tests", "test"],
        worth: 0.2,
        wanted_by: &["test"],
    },
    FileKindRule {
        folders: &["examples", "example", "demos"],
        names: &["example"],
        worth: 0.4,
        wanted_by: &["exampl", "demo"],
    },
    FileKindRule {
        folders: &["benches", "bench", "benchmarks"],
        names: &["bench"],
        worth: 0.3,
        wanted_by: &["bench", "benchmark"],
    },
    FileKindRule {
        folders: &["fuzz", "fixtures", "testdata", "snapshots", "golden"],
        names: &[],
        worth: 0.25,
        wanted_by: &["fuzz", "fixtur", "snapshot", "golden"],
    },
    FileKindRule {
        folders: &["vendor", "third_party", "node_modules", "target", "dist"],
        names: &[],
        worth: 0.1,
        wanted_by: &["vendor"],
    },
    FileKindRule {
        folders: &["docs", "doc"],
        names: &["readme", "contributing", "license", "architecture"],
        worth: 0.4,
        wanted_by: &["document", "readm", "doc", "licens"],
    },
    FileKindRule {
        folders: &[],
        names: &["changelog", "changes", "history", "releases"],
        worth: 0.15,
        wanted_by: &["changelog", "releas"],
    },
];

/// Endings of files that are data or prose, not code.
const PROSE_ENDINGS: &[&str] = &["md", "txt", "rst", "adoc", "html"];
const DATA_ENDINGS: &[&str] =
    &["lock", "json", "toml", "yml", "yaml", "csv", "xml", "svg", "orig", "sum", "cfg", "ini"];
const PROSE_WORTH: f64 = 0.4;
const DATA_WORTH: f64 = 0.4;
/// Words by which files of data are wanted.
const DATA_WANTED_BY: &[&str] =
    &["dependency", "featur", "manifest", "cargo", "workflow", "ci", "packag", "edition"];

struct FileKindRule {
    folders: &'static [&'static str],
    names: &'static [&'static str],
    worth: f64,
    wanted_by: &'static [&'static str],
}

/// What a question is about.
pub(super) struct FileKindPreference {
    keys: Vec<String>,
}

impl FileKindPreference {
    pub(super) fn new(question: &str) -> FileKindPreference {
        FileKindPreference { keys: words::split(question).iter().map(|word| words::stem(word)).collect() }
    }

    /// From 0 (never) to 1 (just as well as any).
    pub(super) fn worth(&self, path: &str) -> f64 {
        let lower = path.to_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
        let ending = ending.rsplit('.').next().unwrap_or(ending);
        let kinds = KINDS.iter().filter(|kind| {
            folders.split('/').any(|folder| kind.folders.contains(&folder))
                || kind.names.contains(&stem)
                || kind
                    .names
                    .iter()
                    .any(|part| stem.ends_with(&format!("_{part}")) || stem.starts_with(&format!("{part}_")))
        });
        let by_kind =
            kinds.map(|kind| if self.wants(kind.wanted_by) { 1.0 } else { kind.worth }).fold(1.0, f64::min);
        let by_ending = if PROSE_ENDINGS.contains(&ending) && !self.wants(&["document", "readm", "doc"]) {
            PROSE_WORTH
        } else if (DATA_ENDINGS.contains(&ending) || name.starts_with('.')) && !self.wants(DATA_WANTED_BY) {
            DATA_WORTH
        } else {
            1.0
        };
        by_kind * by_ending
    }

    fn wants(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.keys.iter().any(|key| key == word))
    }
}
