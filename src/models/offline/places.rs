//! Which lines show what was found? Only lines that were read, and where there is one the definition around them.

use super::{
    plan::{ENTRY_POINTS, MAX_READ_FILES},
    ranking::{HitWindow, RankedFile, tests_from},
    reading::WINDOWS_PER_FILE,
    source_line,
    tool_output::NumberedLines,
    transcript::OfflineTranscript,
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
/// Lines shown of a file nothing points into.
const HEAD_LINES: u32 = 10;
const MAX_SYMBOLS: usize = 6;
const MAX_QUOTE_CHARACTERS: usize = 110;

/// A place worth looking at.
#[derive(Debug)]
pub(super) struct ReportLocation {
    pub(super) path: String,
    pub(super) first: u32,
    pub(super) last: u32,
    /// The line that says most, shortened.
    pub(super) quote: String,
    quoted_line: u32,
    pub(super) terms: Vec<String>,
    path_terms: Vec<String>,
    pub(super) symbols: Vec<String>,
}

impl ReportLocation {
    /// `path:line` or `path:line-line`.
    pub(super) fn file_path(&self) -> String {
        if self.first == self.last {
            format!("{}:{}", self.path, self.first)
        } else {
            format!("{}:{}-{}", self.path, self.first, self.last)
        }
    }

    /// The place and its most telling line.
    pub(super) fn in_short(&self) -> String {
        format!("`{}` (`{}`)", self.file_path(), self.quote)
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

/// The best place of each file first, so that the first few name as many files; then second places.
pub(super) fn of_files(files: &[RankedFile], transcript: &OfflineTranscript) -> Vec<ReportLocation> {
    let least = files.first().map_or(0.0, |best| best.score * LEAST_SHARE_OF_BEST);
    let near = || files.iter().take(MAX_READ_FILES).filter(|file| file.score >= least);
    let best = near().filter_map(|file| {
        let read = transcript.read.get(&file.path)?;
        let in_window = file.windows.iter().find_map(|window| location(file, window, read));
        in_window.or_else(|| head(&file.path, read, &file.path_terms))
    });
    let mut locations: Vec<ReportLocation> = best.collect();
    for file in near().take(FILES_WITH_SECOND_PLACES) {
        let Some(read) = transcript.read.get(&file.path) else { continue };
        for window in file.windows.iter().take(WINDOWS_PER_FILE) {
            let Some(second) = location(file, window, read) else { continue };
            let overlaps = |known: &ReportLocation| {
                known.path == second.path && known.first <= second.last && second.first <= known.last
            };
            if !locations.iter().any(overlaps) {
                locations.push(second);
            }
        }
    }
    locations
}

/// Where the question has no telling word, the entry points are all there is to say.
pub(super) fn entry_points(transcript: &OfflineTranscript) -> Vec<ReportLocation> {
    let known = ENTRY_POINTS.iter().filter_map(|path| Some((path, transcript.read.get(*path)?)));
    known.filter_map(|(path, read)| head(path, read, &[])).collect()
}

/// The definition around the window's most telling line, as far as it was read without a gap.
fn location(file: &RankedFile, window: &HitWindow, read: &NumberedLines) -> Option<ReportLocation> {
    let peak_text = read.get(&window.peak)?;
    let is_definition =
        |number: &u32| read.get(number).is_some_and(|text| source_line::definition(text).is_some());
    let defined = if source_line::is_module_comment(peak_text) {
        None
    } else if source_line::is_comment(peak_text) || source_line::is_attribute(peak_text) {
        (window.peak..=window.peak + MAX_COMMENT_LINES)
            .take_while(|number| read.contains_key(number))
            .find(is_definition)
    } else {
        let reach = window.peak.saturating_sub(MAX_REACH_TO_DEFINITION);
        let above = (reach..=window.peak).rev().take_while(|number| read.contains_key(number));
        above.take_while(|number| *number > 0).find(is_definition)
    };
    let quoted_line = defined.unwrap_or(window.peak);
    let first = quoted_line.min(window.peak);
    let last = last_line(read, quoted_line).max(window.peak).min(first + MAX_LOCATION_LINES - 1);
    // A comment at the head of a file is about all that follows.
    let shown_to = if source_line::is_module_comment(peak_text) { u32::MAX } else { last };
    Some(ReportLocation {
        path: file.path.clone(),
        first,
        last: last.max(quoted_line),
        quote: quote(read.get(&quoted_line)?),
        quoted_line,
        terms: window.terms.clone(),
        path_terms: file.path_terms.clone(),
        symbols: symbols(read, first, shown_to),
    })
}

/// Where the definition or comment ends that begins at a line: before the next line that is indented no deeper,
/// as far as it was read. Lines that only close something still belong to it.
fn last_line(read: &NumberedLines, first: u32) -> u32 {
    let Some(text) = read.get(&first) else { return first };
    let is_comment = source_line::is_comment(text);
    let depth = indentation(text);
    let mut last = first;
    for (number, text) in
        (first + 1..first + MAX_LOCATION_LINES).filter_map(|number| Some((number, read.get(&number)?)))
    {
        let is_gap = number > last + 1 && (last + 1..number).any(|between| !read.contains_key(&between));
        let belongs = match is_comment {
            true => source_line::is_comment(text),
            false => indentation(text) > depth || text.trim_start().starts_with(['}', ')', ']', '{']),
        };
        if is_gap || (!text.trim().is_empty() && !belongs) {
            break;
        }
        if !text.trim().is_empty() {
            last = number;
        }
    }
    last
}

fn indentation(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The beginning of a file that nothing but its path speaks for.
fn head(path: &str, read: &NumberedLines, path_terms: &[String]) -> Option<ReportLocation> {
    let (&first, text) = read.iter().find(|(_, text)| text.chars().any(char::is_alphanumeric))?;
    let last = (first..first + HEAD_LINES).take_while(|number| read.contains_key(number)).last()?;
    Some(ReportLocation {
        path: path.to_owned(),
        first,
        last,
        quote: quote(text),
        quoted_line: first,
        terms: Vec::new(),
        path_terms: path_terms.to_vec(),
        symbols: symbols(read, first, u32::MAX),
    })
}

/// What is defined there, tests left out.
fn symbols(read: &NumberedLines, first: u32, last: u32) -> Vec<String> {
    let lines = read.iter().map(|(number, text)| (*number, text.as_str())).collect();
    let end = tests_from(&lines).max(first + 1);
    let mut symbols: Vec<String> = Vec::new();
    for (_, text) in read.range(first..=last).take_while(|(number, _)| **number < end) {
        let Some(definition) = source_line::definition(text) else { continue };
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
