//! A trace as a document, piece by piece.

mod chrome;
mod markdown;
mod otlp;

pub use self::otlp::{OtlpEvent, OtlpSpan};

use protocol::{TraceFormat, TraceSpan};

use super::{SpanEdge, SpanPlace};

/// Writes a document: [`TraceWriter::opening`], each edge in its order, [`TraceWriter::closing`]. It remembers nothing but
/// whether something was written, so that a document can be gone on with by another.
#[derive(Debug, Clone, Copy)]
pub struct TraceWriter {
    format: TraceFormat,
    /// The version of the daemon that writes.
    version: &'static str,
}

impl TraceWriter {
    pub fn new(format: TraceFormat, version: &'static str) -> TraceWriter {
        TraceWriter { format, version }
    }

    pub fn media_type(self) -> &'static str {
        match self.format {
            TraceFormat::Json | TraceFormat::Otlp | TraceFormat::Chrome => "application/json",
            TraceFormat::Jsonl => "application/jsonl",
            TraceFormat::Markdown => "text/markdown",
        }
    }

    /// The text before all edges.
    pub fn opening(self) -> String {
        match self.format {
            TraceFormat::Json => "{\"spans\":[".to_owned(),
            TraceFormat::Jsonl | TraceFormat::Markdown => String::new(),
            TraceFormat::Otlp => otlp::opening(self.version),
            TraceFormat::Chrome => chrome::OPENING.to_owned(),
        }
    }

    /// The text after all edges.
    pub fn closing(self) -> &'static str {
        match self.format {
            TraceFormat::Json => "\n]}\n",
            TraceFormat::Jsonl | TraceFormat::Markdown => "",
            TraceFormat::Otlp => otlp::CLOSING,
            TraceFormat::Chrome => chrome::CLOSING,
        }
    }

    /// Adds an edge. `is_first`: nothing was written since the opening.
    pub fn write(self, edge: &SpanEdge, place: SpanPlace, is_first: bool, out: &mut String) {
        let mut items: Vec<String> = Vec::new();
        match (self.format, edge) {
            (TraceFormat::Json | TraceFormat::Jsonl, SpanEdge::Ended(span) | SpanEdge::Open(span)) => {
                items.extend(json(span));
            }
            (TraceFormat::Otlp, SpanEdge::Ended(span)) => {
                items.push(OtlpSpan::of(span).to_json().to_string())
            }
            (TraceFormat::Chrome, _) => {
                items.extend(chrome::events(edge, place).iter().map(ToString::to_string));
            }
            (TraceFormat::Markdown, _) => return markdown::write(edge, out),
            _ => {}
        }
        for (n, item) in items.iter().enumerate() {
            match self.format {
                TraceFormat::Jsonl => out.push_str(&format!("{item}\n")),
                _ if is_first && n == 0 => out.push_str(&format!("\n{item}")),
                _ => out.push_str(&format!(",\n{item}")),
            }
        }
    }
}

/// A span as JSON. It has texts and numbers only, which always can be written.
fn json(span: &TraceSpan) -> Option<String> {
    serde_json::to_string(span).ok()
}
