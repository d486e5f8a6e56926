//! What was found? Turns the ranking into a report whose every location is a line that was read.

use super::{
    objective::Objective,
    plan::MAX_READ_FILES,
    ranking::{RankedFile, Ranking, Window},
    reading::WINDOWS_PER_FILE,
    source_line,
    transcript::{Lines, Transcript},
};

/// Files far behind the best one are noise.
const LEAST_SHARE_OF_BEST: f64 = 0.12;
/// Second places are named for the best files only.
const FILES_WITH_SECOND_PLACES: usize = 3;
/// How far above its most telling line the definition may begin that a location shows.
const MAX_REACH_TO_DEFINITION: u32 = 60;
/// A comment stands so close above what it describes.
const MAX_COMMENT_LINES: u32 = 25;
/// Longer locations point at nothing.
const MAX_LOCATION_LINES: u32 = 60;
const MAX_SYMBOLS: usize = 6;
const MAX_QUOTE_CHARACTERS: usize = 110;
/// Places the summary names.
const SUMMARY_PLACES: usize = 4;

pub(super) const NO_MODEL_NOTE: &str = "No language model was involved: rules searched for the question's words and ranked \
     the places where they are defined and stand together, so check the places before relying on them.";

/// What an investigation found.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) summary: String,
    pub(super) trace: Vec<String>,
    pub(super) locations: Vec<Location>,
}

/// A place worth looking at.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) path: String,
    pub(super) first: u32,
    pub(super) last: u32,
    /// The line that says most, shortened.
    quote: String,
    quoted_line: u32,
    terms: Vec<String>,
    path_terms: Vec<String>,
    pub(super) symbols: Vec<String>,
}

impl Location {
    /// `path:line` or `path:line-line`.
    pub(super) fn file_path(&self) -> String {
        if self.first == self.last {
            format!("{}:{}", self.path, self.first)
        } else {
            format!("{}:{}-{}", self.path, self.first, self.last)
        }
    }

    pub(super) fn reasoning(&self) -> String {
        let mut reasoning = format!("Line {} reads `{}`", self.quoted_line, self.quote);
        if !self.terms.is_empty() {
            reasoning.push_str(&format!("; close together here: {}", self.terms.join(", ")));
        }
        if !self.path_terms.is_empty() {
            reasoning.push_str(&format!("; named in the path: {}", self.path_terms.join(", ")));
        }
        reasoning.push('.');
        reasoning
    }
}

impl Report {
    pub(super) fn new(objective: &Objective, transcript: &Transcript) -> Report {
        let ranking = Ranking::new(objective, transcript);
        let files = ranking.files();
        let mut locations = locations(&files, transcript);
        if locations.is_empty() {
            locations = heads(transcript);
        }
        let summary = summary(objective, transcript, &locations);
        Report { summary, trace: trace(objective, transcript, &files), locations }
    }

    /// For people and for a `result` that is one text.
    pub(super) fn to_markdown(&self) -> String {
        let mut text = format!("{}\n", self.summary);
        if !self.locations.is_empty() {
            text.push_str("\n**Locations**\n\n");
            for location in &self.locations {
                text.push_str(&format!("- `{}`: {}\n", location.file_path(), location.reasoning()));
            }
        }
        text.push_str("\n**Steps**\n\n");
        for step in &self.trace {
            text.push_str(&format!("- {step}\n"));
        }
        text
    }
}

/// The best place of each file first, so that the first few name as many files; then second places.
fn locations(files: &[RankedFile], transcript: &Transcript) -> Vec<Location> {
    let least = files.first().map_or(0.0, |best| best.score * LEAST_SHARE_OF_BEST);
    let near = || files.iter().take(MAX_READ_FILES).filter(|file| file.score >= least);
    let best = near().filter_map(|file| {
        let read = transcript.read.get(&file.path)?;
        let in_window = file.windows.iter().find_map(|window| location(file, window, read));
        in_window.or_else(|| head(&file.path, read, &file.path_terms))
    });
    let mut locations: Vec<Location> = best.collect();
    for file in near().take(FILES_WITH_SECOND_PLACES) {
        let Some(read) = transcript.read.get(&file.path) else { continue };
        for window in file.windows.iter().take(WINDOWS_PER_FILE) {
            let Some(second) = location(file, window, read) else { continue };
            let overlaps = |known: &Location| {
                known.path == second.path && known.first <= second.last && second.first <= known.last
            };
            if !locations.iter().any(overlaps) {
                locations.push(second);
            }
        }
    }
    locations
}

/// The definition around the window's most telling line, as far as it was read without a gap.
fn location(file: &RankedFile, window: &Window, read: &Lines) -> Option<Location> {
    let peak_text = read.get(&window.peak)?;
    let reach = window.peak.saturating_sub(MAX_REACH_TO_DEFINITION);
    let above = contiguous_from(read, window.peak, reach);
    let is_definition =
        |number: &u32| read.get(number).is_some_and(|text| source_line::definition(text).is_some());
    let defined = if source_line::is_comment(peak_text) || source_line::is_attribute(peak_text) {
        (window.peak..=window.peak + MAX_COMMENT_LINES)
            .take_while(|number| read.contains_key(number))
            .find(is_definition)
    } else {
        (above..=window.peak).rev().find(is_definition)
    };
    let quoted_line = defined.unwrap_or(window.peak);
    let first = quoted_line.min(window.peak);
    let wanted_last = window.last.max(quoted_line).max(window.peak).min(first + MAX_LOCATION_LINES - 1);
    let last = (first..=wanted_last).take_while(|number| read.contains_key(number)).last()?;
    let texts = read.range(first..=last).map(|(_, text)| text.as_str());
    Some(Location {
        path: file.path.clone(),
        first,
        last,
        quote: quote(read.get(&quoted_line)?),
        quoted_line,
        terms: window.terms.clone(),
        path_terms: file.path_terms.clone(),
        symbols: symbols(texts),
    })
}

/// The first line with text in it, of a file that only its path speaks for.
fn head(path: &str, read: &Lines, path_terms: &[String]) -> Option<Location> {
    let (&first, text) = read.iter().find(|(_, text)| text.chars().any(char::is_alphanumeric))?;
    let texts = read.range(first..).map(|(_, text)| text.as_str());
    Some(Location {
        path: path.to_owned(),
        first,
        last: first,
        quote: quote(text),
        quoted_line: first,
        terms: Vec::new(),
        path_terms: path_terms.to_vec(),
        symbols: symbols(texts),
    })
}

/// Where the question has no telling word, the entry points are all there is to say.
fn heads(transcript: &Transcript) -> Vec<Location> {
    transcript.read.iter().filter_map(|(path, read)| head(path, read, &[])).collect()
}

fn contiguous_from(read: &Lines, line: u32, reach: u32) -> u32 {
    let mut first = line;
    while first > reach.max(1) && read.contains_key(&(first - 1)) {
        first -= 1;
    }
    first
}

fn symbols<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for definition in texts.filter_map(source_line::definition) {
        if !definition.name.is_empty() && !symbols.iter().any(|known| known == definition.name) {
            symbols.push(definition.name.to_owned());
        }
    }
    symbols.truncate(MAX_SYMBOLS);
    symbols
}

fn quote(line: &str) -> String {
    let line = line.trim().replace('`', "'");
    match line.char_indices().nth(MAX_QUOTE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn summary(objective: &Objective, transcript: &Transcript, locations: &[Location]) -> String {
    let mut summary = match locations.split_first() {
        Some((best, others)) => {
            let mut text = format!(
                "Best match: `{}`, where line {} reads `{}`",
                best.file_path(),
                best.quoted_line,
                best.quote
            );
            if !best.terms.is_empty() {
                text.push_str(&format!(
                    " and these words of the question stand together: {}",
                    best.terms.join(", ")
                ));
            }
            text.push('.');
            let others: Vec<String> = others
                .iter()
                .take(SUMMARY_PLACES)
                .map(|location| format!("`{}` (`{}`)", location.file_path(), location.quote))
                .collect();
            if !others.is_empty() {
                text.push_str(&format!(" Next: {}.", others.join("; ")));
            }
            text
        }
        None if objective.terms.is_empty() => {
            "The question has no word that could be searched for.".to_owned()
        }
        None => "Nothing was found that answers the question.".to_owned(),
    };
    let missing: Vec<&str> = objective
        .terms
        .iter()
        .filter(|term| !term.is_pair() && !term.is_weak())
        .filter(|term| transcript.counts.get(&term.pattern).is_some_and(|counts| counts.is_empty()))
        .map(|term| term.label.as_str())
        .collect();
    if !missing.is_empty() {
        summary.push_str(&format!(" Found in no file: {}.", missing.join(", ")));
    }
    if let Some(failure) = transcript.failures.first() {
        summary.push_str(&format!(
            " {} tool calls failed, the first with: {failure}",
            transcript.failures.len()
        ));
    }
    format!("{summary}\n\n{NO_MODEL_NOTE}")
}

fn trace(objective: &Objective, transcript: &Transcript, files: &[RankedFile]) -> Vec<String> {
    let words: Vec<String> = objective
        .terms
        .iter()
        .filter_map(|term| {
            let counts = transcript.counts.get(&term.pattern)?;
            (!counts.is_empty()).then(|| format!("{} ({})", term.label, counts.len()))
        })
        .collect();
    let mut trace = vec![match words.is_empty() {
        true => "Searched the question's words; none was found.".to_owned(),
        false => format!("Counted the files that have the question's words: {}.", words.join(", ")),
    }];
    if !transcript.searched.is_empty() {
        let searched: Vec<&str> = transcript.searched.iter().map(String::as_str).collect();
        trace.push(format!(
            "Looked into the likeliest files for those words and for definitions: {}.",
            searched.join(", ")
        ));
    }
    let read: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file, transcript.read.get(&file.path)?)))
        .map(|(file, lines)| format!("{} ({} lines)", file.path, lines.len()))
        .collect();
    if !read.is_empty() {
        trace.push(format!(
            "Read the places where rare words and definitions stand together, best file first: {}.",
            read.join(", ")
        ));
    }
    trace
}
