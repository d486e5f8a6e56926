//! What do the files say? The search itself: parallel, bounded, and with the same outcome every time.

use std::{
    borrow::Cow,
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use grep_matcher::{LineTerminator, Matcher};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use tokio_util::sync::CancellationToken;

use super::{DEFAULT_MATCHES_PER_FILE, GrepArguments, GrepOutputMode, MAX_MATCHES, matcher::LineMatcher};
use crate::{
    walk::{WalkedFile, map_prefix_with},
    workspace::{OpenedPath, PlaceScanner, Workspace, WorkspacePath},
};
use redact::Redactor;

/// Memory for one file while it is searched: the longest line, or with `multiline` the whole file.
const MAX_HEAP_BYTES: usize = 32 * 1024 * 1024;
/// Characters of a line that are shown, and how many of them stand before the match.
const MAX_LINE_CHARS: usize = 500;
const CHARS_BEFORE_MATCH: usize = 100;
const MARK: &str = "[…]";

/// One search.
pub struct GrepSearch<'a> {
    pub workspace: &'a Workspace,
    pub matcher: &'a LineMatcher,
    pub arguments: &'a GrepArguments,
    pub max_chars: usize,
    pub redactor: &'a Redactor,
    pub stop: &'a CancellationToken,
}

/// The files with matches, in the order of their paths.
#[derive(Debug, Default)]
pub struct GrepResult {
    pub files: Vec<FileHits>,
    /// Matching lines in `files`.
    pub matches: u64,
    /// Whether the search ended at `MAX_MATCHES`.
    pub is_cut: bool,
    pub unreadable: usize,
}

#[derive(Debug)]
pub struct FileHits {
    pub place: WorkspacePath,
    pub matches: u64,
    /// Whether there are more matches than were counted.
    pub has_more: bool,
    /// As shown. Not kept when earlier files fill the output already.
    pub lines: Vec<GrepLine>,
}

#[derive(Debug)]
pub struct GrepLine {
    pub text: String,
    /// Of `text`, with its line end.
    pub chars: usize,
    /// Whether a match begins here; with `multiline` one has several lines.
    pub begins_match: bool,
}

impl GrepLine {
    fn new(text: String, begins_match: bool) -> GrepLine {
        GrepLine { chars: text.chars().count() + 1, text, begins_match }
    }
}

/// What one thread searches with, file after file: made once, since its buffer is large and a matcher that threads share
/// makes them wait for each other.
struct GrepWorker<'a> {
    neighbours: PlaceScanner<'a>,
    searcher: Searcher,
    matcher: LineMatcher,
}

impl GrepSearch<'_> {
    /// Searches files in their order until the bounds are reached.
    pub fn files(&self, files: &[WalkedFile]) -> GrepResult {
        let matches = AtomicU64::new(0);
        let kept_chars = AtomicUsize::new(0);
        // Whether to keep lines is decided before a file is taken, so only by files before it: what can be
        // shown is always kept, and memory stays near the budget.
        let go_on = || {
            let is_over = self.stop.is_cancelled() || MAX_MATCHES <= matches.load(Ordering::SeqCst);
            (!is_over).then(|| kept_chars.load(Ordering::SeqCst) < self.max_chars)
        };
        let begin = || GrepWorker {
            neighbours: self.workspace.neighbours(),
            searcher: self.searcher(),
            matcher: self.matcher.clone(),
        };
        let outcomes = map_prefix_with(files, go_on, begin, |worker, keeps_lines, found| {
            let hits = self.file(worker, &found.place, keeps_lines)?;
            matches.fetch_add(hits.matches, Ordering::SeqCst);
            kept_chars.fetch_add(hits.lines.iter().map(|line| line.chars).sum(), Ordering::SeqCst);
            Ok::<_, io::Error>(hits)
        });
        self.gathered(files.len(), outcomes)
    }

    fn gathered(&self, files: usize, outcomes: Vec<io::Result<FileHits>>) -> GrepResult {
        let mut searched = GrepResult::default();
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let Ok(mut hits) = outcome else {
                searched.unreadable += 1;
                continue;
            };
            if hits.matches == 0 {
                continue;
            }
            let (left, found) = (MAX_MATCHES - searched.matches, hits.matches);
            if left < found {
                hits.cut_to(left);
            }
            searched.matches += hits.matches;
            searched.files.push(hits);
            if searched.matches == MAX_MATCHES {
                searched.is_cut = left < found || index + 1 < files;
                break;
            }
        }
        searched
    }

    fn file(
        &self,
        worker: &mut GrepWorker<'_>,
        place: &WorkspacePath,
        keeps_lines: bool,
    ) -> io::Result<FileHits> {
        let wants_lines = self.arguments.output_mode == GrepOutputMode::Content && keeps_lines;
        let mut sink = FileHitSink {
            matcher: &worker.matcher,
            redactor: self.redactor,
            limit: self.limit(),
            is_one_enough: self.arguments.output_mode == GrepOutputMode::FilesWithMatches,
            keeps: if wants_lines { self.max_chars } else { 0 },
            is_binary: false,
            found: FileHits { place: place.clone(), matches: 0, has_more: false, lines: Vec::new() },
        };
        let OpenedPath::File { file, .. } = worker.neighbours.open(place)? else { return Ok(sink.found) };
        let file = StoppableFile { file, stop: self.stop };
        worker.searcher.search_reader(&worker.matcher, file, &mut sink)?;
        if sink.is_binary {
            sink.found = FileHits { place: place.clone(), matches: 0, has_more: false, lines: Vec::new() };
        }
        Ok(sink.found)
    }

    fn limit(&self) -> u64 {
        match (self.arguments.output_mode, self.arguments.max_matches) {
            (_, Some(limit)) => limit,
            (GrepOutputMode::Content, None) => DEFAULT_MATCHES_PER_FILE,
            (GrepOutputMode::FilesWithMatches | GrepOutputMode::Count, None) => MAX_MATCHES,
        }
    }

    fn searcher(&self) -> Searcher {
        let shows_context = self.arguments.output_mode == GrepOutputMode::Content;
        let context =
            |side: Option<usize>| if shows_context { side.unwrap_or(self.arguments.context) } else { 0 };
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .multi_line(self.arguments.multiline)
            .before_context(context(self.arguments.before))
            .after_context(context(self.arguments.after))
            .heap_limit(Some(MAX_HEAP_BYTES))
            .binary_detection(BinaryDetection::quit(0));
        if !self.arguments.multiline {
            builder.line_terminator(LineTerminator::crlf());
        }
        builder.build()
    }
}

impl FileHits {
    /// Keeps the first `matches` and forgets the rest.
    fn cut_to(&mut self, matches: u64) {
        let mut seen = 0;
        let end = self.lines.iter().position(|line| {
            seen += u64::from(line.begins_match);
            matches < seen
        });
        self.lines.truncate(end.unwrap_or(self.lines.len()));
        self.matches = matches;
        self.has_more = true;
    }
}

/// Reading ends with an error once the call is stopped: one file can be gigabytes.
struct StoppableFile<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            // Not `Interrupted`: readers try that again.
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

/// Gathers the hits of one file.
struct FileHitSink<'a> {
    matcher: &'a LineMatcher,
    redactor: &'a Redactor,
    limit: u64,
    is_one_enough: bool,
    /// Characters of lines to keep.
    keeps: usize,
    is_binary: bool,
    found: FileHits,
}

impl FileHitSink<'_> {
    fn keep(&mut self, number: u64, sign: char, bytes: &[u8], begins_match: bool) {
        if self.keeps == 0 {
            return;
        }
        let mut text = line_text(bytes);
        if MAX_LINE_CHARS < text.len() {
            text = self.redactor.owned(text.into_owned()).into();
        }
        let start = if begins_match { self.match_start(&text) } else { 0 };
        let window = window(&text, start);
        // Room for the number; most have fewer digits.
        let mut shown = String::with_capacity(window.len() + 10);
        // A string takes all that is written to it.
        let _written = write!(shown, "{number}{sign} {window}");
        let line = GrepLine::new(shown, begins_match);
        self.keeps = self.keeps.saturating_sub(line.chars);
        self.found.lines.push(line);
    }

    fn match_start(&self, text: &str) -> usize {
        if text.len() <= MAX_LINE_CHARS {
            return 0;
        }
        self.matcher.find(text.as_bytes()).ok().flatten().map_or(0, |found| found.start())
    }
}

impl Sink for &mut FileHitSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.matches == self.limit {
            self.found.has_more = true;
            return Ok(false);
        }
        self.found.matches += 1;
        let first = found.line_number().unwrap_or(1);
        for (number, line) in (first..).zip(found.lines()) {
            self.keep(number, ':', line, number == first);
        }
        Ok(!self.is_one_enough)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if *context.kind() == SinkContextKind::Before && self.found.matches == self.limit {
            // It belongs to a match that will not be shown.
            self.found.has_more = true;
            return Ok(false);
        }
        self.keep(context.line_number().unwrap_or(1), '-', context.bytes(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if 0 < self.keeps && self.found.matches < self.limit {
            self.found.lines.push(GrepLine::new("--".to_owned(), false));
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line as text. What is not UTF-8 is read as Windows-1252, which every byte has a letter in.
fn line_text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// The part of a long line around byte `start`, with marks where it was cut.
fn window(text: &str, start: usize) -> Cow<'_, str> {
    if text.len() <= MAX_LINE_CHARS || text.chars().count() <= MAX_LINE_CHARS {
        return text.into();
    }
    let start = text.floor_char_boundary(start);
    let before = text[..start].chars().count();
    let skip = if before < MAX_LINE_CHARS - CHARS_BEFORE_MATCH { 0 } else { before - CHARS_BEFORE_MATCH };
    let mut rest = text.chars().skip(skip);
    let mut shown = String::new();
    if 0 < skip {
        shown.push_str(MARK);
    }
    shown.extend(rest.by_ref().take(MAX_LINE_CHARS));
    if rest.next().is_some() {
        shown.push_str(MARK);
    }
    shown.into()
}
