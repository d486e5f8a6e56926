//! What is the next step? Survey where the words stand, look into the likeliest files, read the best places, then
//! report: at most five turns.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    objective::SearchObjective,
    ranking::{FileRanking, RankedFile},
    reading::{self, PlannedToolCall},
    source_line,
    transcript::OfflineTranscript,
};

/// Files looked into line by line: more than are read, since the survey is coarse.
const MAX_SEARCHED_FILES: usize = 10;
/// Files read: what a report can hold without burying the answer.
pub(super) const MAX_READ_FILES: usize = 8;
/// Definitions are looked for by the most telling words only.
const MAX_DEFINITION_SEARCHES: usize = 6;
/// Lines of one search: about what fits into one tool result.
const MAX_MATCHES: u32 = 500;
/// Rounds of tool calls; the turn after the last one reports.
const MAX_ROUNDS: usize = 4;
/// Files to begin with when the question has no telling word.
pub(super) const ENTRY_POINTS: &[&str] = &[
    "README.md",
    "README",
    "README.rst",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "src/lib.rs",
    "src/main.rs",
    "src/ARCHITECTURE.md",
    "ARCHITECTURE.md",
    "main.go",
    "index.js",
    "src/index.ts",
];

/// The next thing to do.
#[derive(Debug)]
pub(super) enum OfflineStep {
    Calls { intent: OfflineIntent, calls: Vec<PlannedToolCall> },
    Report,
}

/// What the calls of a turn are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfflineIntent {
    Survey,
    LookInto,
    Read,
    ReadOn,
}

/// The next step; `offered` are the tools that may be called.
pub(super) fn next(
    objective: &SearchObjective,
    transcript: &OfflineTranscript,
    offered: &BTreeSet<&str>,
) -> OfflineStep {
    let (intent, mut calls) = match transcript.rounds {
        0 => (OfflineIntent::Survey, survey(objective)),
        1 => (OfflineIntent::LookInto, look_into(objective, transcript)),
        2 => (OfflineIntent::Read, read(objective, transcript)),
        3 => (OfflineIntent::ReadOn, read_on(objective, transcript)),
        MAX_ROUNDS.. => return OfflineStep::Report,
    };
    calls.retain(|call| offered.contains(call.tool));
    if calls.is_empty() { OfflineStep::Report } else { OfflineStep::Calls { intent, calls } }
}

fn survey(objective: &SearchObjective) -> Vec<PlannedToolCall> {
    let mut calls = vec![
        PlannedToolCall { tool: "list_directory", arguments: json!({"path": "."}) },
        PlannedToolCall { tool: "glob", arguments: json!({"pattern": "**/*"}) },
    ];
    calls.extend(objective.terms.iter().map(|term| PlannedToolCall {
        tool: "grep",
        arguments: json!({"pattern": term.pattern, "outputMode": "count", "caseSensitive": true}),
    }));
    calls
}

fn look_into(objective: &SearchObjective, transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    let telling = objective.terms.iter().filter(|term| !term.is_weak() && !term.is_pair());
    let known =
        telling.filter(|term| transcript.counts.get(&term.pattern).is_some_and(|counts| !counts.is_empty()));
    let definitions = known.take(MAX_DEFINITION_SEARCHES).map(|term| PlannedToolCall {
        tool: "grep",
        arguments: json!({
            "pattern": source_line::definition_pattern(&term.pattern),
            "outputMode": "content",
            "caseSensitive": true,
            "maxMatches": MAX_MATCHES,
        }),
    });
    let files = FileRanking::new(objective, transcript).files();
    let mut calls: Vec<PlannedToolCall> =
        files.iter().take(MAX_SEARCHED_FILES).map(|file| outline(objective, &file.path)).collect();
    calls.extend(definitions);
    if calls.is_empty() {
        return entry_points(transcript);
    }
    calls
}

/// Every definition of a file and every line with a term.
fn outline(objective: &SearchObjective, path: &str) -> PlannedToolCall {
    let mut patterns: Vec<&str> = objective.terms.iter().map(|term| term.pattern.as_str()).collect();
    patterns.extend([source_line::DEFINITION_PATTERN, source_line::TESTS_PATTERN]);
    PlannedToolCall {
        tool: "grep",
        arguments: json!({
            "pattern": patterns.join("|"),
            "path": path,
            "outputMode": "content",
            "caseSensitive": true,
            "maxMatches": MAX_MATCHES,
        }),
    }
}

fn entry_points(transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    let known = ENTRY_POINTS.iter().filter(|path| {
        transcript.files.contains(**path) || transcript.root_entries.iter().any(|entry| entry == *path)
    });
    known.map(|path| reading::whole(path)).collect()
}

fn read(objective: &SearchObjective, transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    let files = FileRanking::new(objective, transcript).files();
    let not_searched = files
        .iter()
        .take(MAX_READ_FILES)
        .filter(|file| !transcript.searched.contains(&file.path))
        .map(|file| outline(objective, &file.path));
    let mut calls = read_best(&files, transcript);
    calls.extend(not_searched);
    calls
}

fn read_on(objective: &SearchObjective, transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    read_best(&FileRanking::new(objective, transcript).files(), transcript)
}

/// Reads what has not been read of the best files' best windows.
fn read_best(files: &[RankedFile], transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    files.iter().take(MAX_READ_FILES).flat_map(|file| reading::stretches(file, transcript)).collect()
}
