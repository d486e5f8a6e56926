//! Which files, and which lines of them, answer the question best? Counts rare words more than common ones, names
//! and definitions more than mentions, and words that stand together more than words far apart.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    file_kind,
    objective::{SearchObjective, SearchTerm, StemmedPhrase},
    source_line,
    tool_output::NumberedLines,
    transcript::OfflineTranscript,
};

/// Words that stand together stand within so many lines: about one function with its comment.
const WINDOW_LINES: u32 = 40;
/// Hits of one term in a file count less and less; at this many it is worth half of what it can be.
const HALF_WORTH_HITS: f64 = 3.0;
const FILE_NAME_WORTH: f64 = 1.3;
const FOLDER_NAME_WORTH: f64 = 0.4;
/// A definition is where the thing is; a comment tells what it is for; an import only that it is used.
const DEFINITION_WORTH: f64 = 2.0;
/// A named value says less than what computes it.
const VALUE_WORTH: f64 = 1.5;
const MODULE_COMMENT_WORTH: f64 = 1.5;
const COMMENT_WORTH: f64 = 1.0;
const IMPORT_WORTH: f64 = 0.3;
/// Tests that stand in the file they test.
const TEST_REGION_WORTH: f64 = 0.25;
/// How much the whole file counts beside its best window.
const WHOLE_FILE_WORTH: f64 = 0.7;
const SECOND_WINDOW_WORTH: f64 = 0.25;
/// The user named this file.
const NAMED_PATH_SCORE: f64 = 100.0;

/// A file, with what speaks for it.
#[derive(Debug, Clone)]
pub(super) struct RankedFile {
    pub(super) path: String,
    pub(super) score: f64,
    /// Best first; they do not overlap.
    pub(super) windows: Vec<HitWindow>,
    /// Labels of the terms its path names.
    pub(super) path_terms: Vec<String>,
}

/// A stretch of a file where telling words stand together.
#[derive(Debug, Clone)]
pub(super) struct HitWindow {
    /// First and last line with a hit.
    pub(super) first: u32,
    pub(super) last: u32,
    /// The line that says most.
    pub(super) peak: u32,
    pub(super) score: f64,
    /// Labels of the terms found, in the order of the question.
    pub(super) terms: Vec<String>,
}

/// The terms with what each is worth in this code base.
pub(super) struct FileRanking<'a> {
    objective: &'a SearchObjective,
    transcript: &'a OfflineTranscript,
    paths: BTreeMap<&'a str, PathPhrases>,
    worths: Vec<f64>,
    path_worths: Vec<f64>,
    kinds: file_kind::FileKindPreference,
}

impl<'a> FileRanking<'a> {
    pub(super) fn new(objective: &'a SearchObjective, transcript: &'a OfflineTranscript) -> FileRanking<'a> {
        let from_counts = transcript.counts.values().flat_map(BTreeMap::keys);
        let paths = transcript.files.iter().chain(from_counts).chain(transcript.found.keys());
        let paths: BTreeSet<&str> = paths.map(String::as_str).collect();
        let paths: BTreeMap<&str, PathPhrases> =
            paths.into_iter().map(|path| (path, PathPhrases::new(path))).collect();
        let kinds = file_kind::FileKindPreference::new(&objective.text);
        let all = paths.len() as f64;
        let rarity = |files: usize| if files == 0 { 0.0 } else { (1.0 + all / files as f64).ln() };
        let worths = objective.terms.iter().map(|term| {
            let counts = transcript.counts.get(&term.pattern);
            term.weight * rarity(counts.map_or(0, BTreeMap::len))
        });
        let path_worths = objective.terms.iter().map(|term| {
            let named = paths.values().filter(|path| path.strength(term) > 0.0).count();
            term.weight * rarity(named)
        });
        let (worths, path_worths) = (worths.collect(), path_worths.collect());
        FileRanking { objective, transcript, paths, worths, path_worths, kinds }
    }

    /// Best first, without files that nothing speaks for.
    pub(super) fn files(&self) -> Vec<RankedFile> {
        let mut files: Vec<RankedFile> =
            self.paths.iter().map(|(path, phrases)| self.rank(path, phrases)).collect();
        files.retain(|file| file.score > 0.0);
        files.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.path.cmp(&other.path)));
        files
    }

    fn rank(&self, path: &str, phrases: &PathPhrases) -> RankedFile {
        let lines = self.known_lines(path);
        let windows = self.windows(&lines);
        let mut score = WHOLE_FILE_WORTH * self.whole_file_score(path, phrases);
        score += windows.first().map_or(0.0, |window| window.score);
        score += SECOND_WINDOW_WORTH * windows.get(1).map_or(0.0, |window| window.score);
        score *= self.kinds.worth(path);
        if self.objective.paths.iter().any(|named| names_file(named, path)) {
            score += NAMED_PATH_SCORE;
        }
        let named_in_path = self.objective.terms.iter().filter(|term| phrases.strength(term) > 0.0);
        let path_terms = named_in_path.map(|term| term.label.clone()).collect();
        RankedFile { path: path.to_owned(), score, windows, path_terms }
    }

    fn whole_file_score(&self, path: &str, phrases: &PathPhrases) -> f64 {
        let terms = self.objective.terms.iter().zip(self.worths.iter().zip(&self.path_worths));
        let scores = terms.map(|(term, (worth, path_worth))| {
            let count = self.transcript.counts.get(&term.pattern).and_then(|counts| counts.get(path));
            let hits = f64::from(count.copied().unwrap_or(0));
            worth * hits / (hits + HALF_WORTH_HITS) + path_worth * phrases.strength(term)
        });
        scores.sum()
    }

    fn known_lines(&self, path: &str) -> BTreeMap<u32, &'a str> {
        let sources = [self.transcript.found.get(path), self.transcript.read.get(path)];
        let lines = sources.into_iter().flatten().flat_map(NumberedLines::iter);
        lines.map(|(number, text)| (*number, text.as_str())).collect()
    }

    fn windows(&self, lines: &BTreeMap<u32, &str>) -> Vec<HitWindow> {
        let hits = self.hits(lines);
        let mut windows: Vec<HitWindow> =
            (0..hits.len()).filter_map(|start| self.window(&hits, start)).collect();
        windows.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.first.cmp(&other.first)));
        let mut apart: Vec<HitWindow> = Vec::new();
        for window in windows {
            if apart.iter().all(|kept| window.last < kept.first || window.first > kept.last) {
                apart.push(window);
            }
        }
        apart
    }

    /// What each line says of each term.
    fn hits(&self, lines: &BTreeMap<u32, &str>) -> Vec<LineHit> {
        let tests_from = tests_from(lines);
        let hits = lines.iter().filter_map(|(&number, text)| {
            let phrase = StemmedPhrase::new(text);
            let place = if number >= tests_from { TEST_REGION_WORTH } else { 1.0 };
            let defined = source_line::definition(text)
                .map(|it| (StemmedPhrase::new(it.name), definition_worth(it.keyword)));
            let manner = manner_worth(text);
            let terms = self.objective.terms.iter().zip(&self.worths).map(|(term, worth)| {
                let in_name = defined.as_ref().map_or(0.0, |(name, worth)| term.strength(name) * worth);
                worth * place * in_name.max(term.strength(&phrase) * manner)
            });
            let worths: Vec<f64> = terms.collect();
            worths.iter().any(|worth| *worth > 0.0).then_some(LineHit { number, worths })
        });
        hits.collect()
    }

    fn window(&self, hits: &[LineHit], start: usize) -> Option<HitWindow> {
        let first = hits.get(start)?.number;
        let inside: Vec<&LineHit> =
            hits[start..].iter().take_while(|hit| hit.number < first.saturating_add(WINDOW_LINES)).collect();
        let best: Vec<f64> = (0..self.worths.len())
            .map(|term| {
                let worths = inside.iter().map(|hit| hit.worths[term]);
                let most = worths.clone().fold(0.0, f64::max);
                let rest = worths.sum::<f64>() - most;
                most + 0.15 * most.min(rest)
            })
            .collect();
        let total: f64 = self.worths.iter().sum();
        let covered: f64 =
            self.worths.iter().zip(&best).filter(|(_, best)| **best > 0.0).map(|(worth, _)| worth).sum();
        let score = best.iter().sum::<f64>() * (0.4 + 0.6 * covered / total.max(f64::MIN_POSITIVE));
        let found = self.objective.terms.iter().zip(&best).filter(|(_, best)| **best > 0.0);
        let terms = found.map(|(term, _)| term.label.clone()).collect();
        let peak = inside
            .iter()
            .max_by(|one, other| one.sum().total_cmp(&other.sum()).then(other.number.cmp(&one.number)));
        Some(HitWindow { first, last: inside.last()?.number, peak: peak?.number, score, terms })
    }
}

/// What one line is worth, for each term.
struct LineHit {
    number: u32,
    worths: Vec<f64>,
}

impl LineHit {
    fn sum(&self) -> f64 {
        self.worths.iter().sum()
    }
}

fn definition_worth(keyword: &str) -> f64 {
    match keyword {
        // Another name, or a place elsewhere.
        "type" | "mod" => 1.0,
        "const" | "static" => VALUE_WORTH,
        _ => DEFINITION_WORTH,
    }
}

fn manner_worth(text: &str) -> f64 {
    if source_line::is_import(text) {
        IMPORT_WORTH
    } else if source_line::is_module_comment(text) {
        MODULE_COMMENT_WORTH
    } else if source_line::is_comment(text) {
        COMMENT_WORTH
    } else {
        1.0
    }
}

/// From which line on there are only tests.
pub(super) fn tests_from(lines: &BTreeMap<u32, &str>) -> u32 {
    let mut marks = lines.iter().filter(|(_, text)| source_line::begins_tests(text));
    // A `#[cfg(test)]` may stand on a single item; tests at the end begin with a module.
    let module = marks.find(|(number, text)| {
        let next = lines.range(number.saturating_add(1)..).next();
        text.trim_start().starts_with("mod ")
            || next.is_some_and(|(after, text)| {
                *after <= number.saturating_add(2) && text.trim_start().starts_with("mod ")
            })
    });
    module.map_or(u32::MAX, |(number, _)| *number)
}

/// The words of a path, split once.
struct PathPhrases {
    name: StemmedPhrase,
    folders: StemmedPhrase,
}

impl PathPhrases {
    fn new(path: &str) -> PathPhrases {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        PathPhrases { name: StemmedPhrase::new(stem), folders: StemmedPhrase::new(folders) }
    }

    /// How clearly the path names a term: its file name more than its folders.
    fn strength(&self, term: &SearchTerm) -> f64 {
        let in_name = term.strength(&self.name) * FILE_NAME_WORTH;
        let in_folders = term.strength(&self.folders) * FOLDER_NAME_WORTH;
        in_name.max(in_folders)
    }
}

fn names_file(named: &str, path: &str) -> bool {
    path == named || path.ends_with(&format!("/{named}")) || path.starts_with(&format!("{named}/"))
}
