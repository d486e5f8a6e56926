//! What do the daemon's own documents say, heading by heading?

/// A document and how much its words count: guides before reference, reference before what is for developers.
pub struct IndexedDocument {
    pub file: &'static str,
    pub text: &'static str,
    pub weight: f64,
}

/// A file of the repository, compiled in so that it is that of the version that runs.
macro_rules! document {
    ($file:literal, $weight:literal) => {
        IndexedDocument { file: $file, text: include_str!(concat!("../../../../", $file)), weight: $weight }
    };
}

/// Every document that the daemon can search.
pub const DOCUMENTS: &[IndexedDocument] = &[
    document!("README.md", 1.3),
    document!("docs/README.md", 1.1),
    document!("docs/use.md", 1.3),
    document!("docs/questions.md", 1.3),
    document!("docs/agents.md", 1.3),
    document!("docs/prompts-and-memory.md", 1.3),
    document!("docs/skills.md", 1.3),
    document!("docs/extensions.md", 1.3),
    document!("docs/hooks.md", 1.3),
    document!("docs/tools-and-mcp.md", 1.3),
    document!("docs/models.md", 1.3),
    document!("docs/settings.md", 1.3),
    document!("docs/service.md", 1.3),
    document!("docs/protocol.md", 1.3),
    document!("docs/security.md", 1.3),
    document!("docs/traces.md", 1.3),
    document!("docs/coming-from.md", 1.3),
    document!("proto-docs/README.md", 1.1),
    document!("proto-docs/methods.md", 0.6),
    document!("proto-docs/events.md", 0.6),
    document!("proto-docs/errors.md", 0.9),
    document!("CONTRIBUTING.md", 0.6),
    document!("src/ARCHITECTURE.md", 0.6),
];

/// Bytes of a passage, about: a section that is longer is several, since nobody reads pages to find a line.
pub const PASSAGE_BYTES: usize = 2_500;

/// A section of a document, or a part of a long one.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentPassage<'a> {
    pub file: &'a str,
    /// The headings above it, outermost first, without the document's own title.
    pub headings: Vec<&'a str>,
    /// Where it begins, 1-based.
    pub line: usize,
    /// Without its heading.
    pub text: &'a str,
    pub weight: f64,
}

impl DocumentPassage<'_> {
    /// The headings in one line.
    pub fn heading(&self) -> String {
        self.headings.join(" › ")
    }
}

/// The document's passages in order; those that say nothing are left out.
pub fn passages(document: &IndexedDocument) -> Vec<DocumentPassage<'_>> {
    let mut reading =
        DocumentReader { document, headings: Vec::new(), passages: Vec::new(), start: 0, line: 1 };
    let (mut offset, mut fence) = (0, None);
    for (number, line) in (1..).zip(document.text.split_inclusive('\n')) {
        let end = offset + line.len();
        let text = line.trim();
        let marks = text.bytes().take_while(|it| *it == b'#').count();
        if let Some(sign) = fence_sign(text) {
            fence = if fence.is_none() { Some(sign) } else { fence.filter(|open| *open != sign) };
        } else if fence.is_none() && (1..=6).contains(&marks) && text[marks..].starts_with(' ') {
            reading.finish(offset);
            reading.headings.retain(|(level, _)| *level < marks);
            reading.headings.push((marks, text[marks..].trim()));
            (reading.start, reading.line) = (end, number + 1);
        } else {
            let length = end - reading.start;
            let is_between_paragraphs = text.is_empty() && fence.is_none();
            // Elsewhere, as in a long example, only when there seems to be no end.
            if PASSAGE_BYTES <= length && is_between_paragraphs || 2 * PASSAGE_BYTES <= length {
                reading.finish(end);
                (reading.start, reading.line) = (end, number + 1);
            }
        }
        offset = end;
    }
    reading.finish(offset);
    reading.passages
}

/// What opens or closes an example.
fn fence_sign(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|sign| line.starts_with(sign))
}

struct DocumentReader<'a> {
    document: &'a IndexedDocument,
    /// With their levels.
    headings: Vec<(usize, &'a str)>,
    passages: Vec<DocumentPassage<'a>>,
    start: usize,
    line: usize,
}

impl DocumentReader<'_> {
    /// Ends the passage that has begun.
    fn finish(&mut self, end: usize) {
        let IndexedDocument { file, text, weight } = *self.document;
        let whole = &text[self.start..end];
        if whole.trim().is_empty() {
            return;
        }
        let blank_lines = whole.split_inclusive('\n').take_while(|line| line.trim().is_empty());
        let (skipped, lines) =
            blank_lines.fold((0, 0), |(bytes, lines), line| (bytes + line.len(), lines + 1));
        let below_title = usize::from(self.headings.len() > 1);
        let headings = self.headings.iter().skip(below_title).map(|(_, heading)| *heading).collect();
        let (line, text) = (self.line + lines, whole[skipped..].trim_end());
        self.passages.push(DocumentPassage { file, headings, line, text, weight });
    }
}
