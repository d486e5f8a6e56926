//! `search_docs`: what do the daemon's own documents say of this? For the agent `help` (spec 02, "Built in").

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use self::{documents::DocumentPassage, ranking::PassageRanking};
use super::{BuiltInDefinition, page::TextPage, patterns, safe};
use crate::{CallContext, Invocation, OutputLimits, Permit, PrepareContext, parameters::refusal, work};
use protocol::{
    CallLocation, ResourceAccess, SchemaViolation, ToolDeclaration, ToolError, ToolKind, ToolResult,
};
use redact::Redactor;

mod documents;
mod ranking;
#[cfg(test)]
mod tests;

pub const NAME: &str = "search_docs";

/// Characters of a question: whoever needs more has several questions.
const MOST_QUERY: usize = 400;

/// Sections that one search shows when nobody says, and at most.
const USUAL_SECTIONS: usize = 5;
const MOST_SECTIONS: usize = 10;

/// Characters of all that one search shows. Sections of the best fit are a few thousand; what is behind them seldom helps.
const MOST_CHARS: usize = 16_000;

const DESCRIPTION: &str = "\
Searches the documents of subagentd, the daemon that runs you: its README and guides, the description of its protocol, and its \
architecture. Returns the sections that fit best, each with its file, its headings and the line where it begins.
- Use the words that the documents would have: names of commands, settings, fields, methods, events, errors.
- Name file and heading of what you rely on. When nothing fits, the answer says so; then the question is outside of the \
documents.";

pub struct SearchDocsTool;

impl BuiltInDefinition for SearchDocsTool {
    type Arguments = SearchDocsArguments;

    const PATHS: &'static [&'static str] = &[];

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MOST_QUERY,
                    "description": "What to look for: a few words."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_SECTIONS,
                    "description": format!("Most sections to return. Default: {USUAL_SECTIONS}.")
                }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        safe(NAME, "Search the documents", ToolKind::Search, DESCRIPTION, parameters)
    }

    fn check(arguments: SearchDocsArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let query = arguments.query.split_whitespace().collect::<Vec<_>>().join(" ");
        if query.is_empty() {
            let message = "blank; say what to look for".to_owned();
            return Err(refusal(&[SchemaViolation { pointer: "/query".to_owned(), message }]));
        }
        let limit = arguments.limit.unwrap_or(USUAL_SECTIONS);
        Ok(Box::new(SearchDocsInvocation { query, limit, output: cx.output, redactor: cx.redactor.clone() }))
    }
}

#[derive(Deserialize)]
pub struct SearchDocsArguments {
    query: String,
    limit: Option<usize>,
}

struct SearchDocsInvocation {
    query: String,
    limit: usize,
    output: OutputLimits,
    redactor: Redactor,
}

impl Invocation for SearchDocsInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        patterns::shown(&self.query, &self.redactor)
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        // Perf: a search of all documents takes milliseconds, so there is no index that would take memory for ever.
        Box::pin(work::off_thread(cx, move |_| {
            let passages: Vec<DocumentPassage<'_>> =
                documents::DOCUMENTS.iter().flat_map(documents::passages).collect();
            self.report(&ranking::rank(&passages, &self.query))
        }))
    }
}

impl SearchDocsInvocation {
    fn report(&self, ranking: &PassageRanking<'_, '_>) -> ToolResult {
        let mut page = TextPage::new(MOST_CHARS.min(self.output.max_chars));
        if ranking.passages.is_empty() {
            let files: Vec<&str> = documents::DOCUMENTS.iter().map(|document| document.file).collect();
            page.note(&format!("Nothing in the documents fits `{}`.", self.description()));
            page.note(&format!("They are {}.", files.join(", ")));
            page.note("Try once more with other words; if nothing fits those either, it is outside of the documents.");
        }
        let mut shown: Vec<Value> = Vec::new();
        for passage in ranking.passages.iter().take(self.limit) {
            let place = format!("{} › {} (line {})", passage.file, passage.heading(), passage.line);
            // Whole or not at all: half an example misleads. A shorter one may still have room.
            if !page.add(&format!("=== {place} ===\n{}\n", passage.text)) {
                continue;
            }
            shown.push(json!({
                "file": passage.file,
                "heading": passage.heading(),
                "line": passage.line,
            }));
        }
        if shown.len() < ranking.passages.len() {
            let (shown, total) = (shown.len(), ranking.passages.len());
            page.note(&format!("[the {shown} best of {total} sections that fit]"));
        }
        if !ranking.unknown.is_empty() && !shown.is_empty() {
            let words: Vec<String> = ranking.unknown.iter().map(|word| format!("`{word}…`")).collect();
            let words = patterns::shown(&words.join(", "), &self.redactor);
            page.note(&format!("[no document has a word that begins with {words}]"));
        }
        let display = match shown.len() {
            1 => "1 section".to_owned(),
            total => format!("{total} sections"),
        };
        let data = json!({ "sections": shown, "fitting": ranking.passages.len() });
        ToolResult { return_display: Some(display), data: Some(data), ..ToolResult::text(page.into_text()) }
    }
}
