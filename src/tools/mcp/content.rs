//! What does an answer of a server say to a model? (spec 07, "Content")
//!
//! Answers are read as plain JSON, part by part: one part that nobody understands must not cost the others.

use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use serde_json::Value;

use crate::{
    MAX_INLINE_BYTES,
    builtin::{FileContent, content, pdf_fault},
};
use models::MediaSupport;
use protocol::{MessagePart, ToolError, ToolErrorType, ToolResult};

/// Bytes of an answer that are taken, of all its parts together.
pub const MAX_CONTENT_BYTES: usize = 50 << 20;

/// Parts of an answer that are taken: more are a list that should be one text.
const MOST_PARTS: usize = 1_000;

/// Bytes of `structuredContent` as JSON: it goes uncut into the log and to every client that follows it.
const MAX_DATA_BYTES: usize = 256 << 10;

/// Characters of a kind that nobody understands.
const LONGEST_KIND: usize = 64;

/// Characters of a failure that whoever reads one line is shown.
const LONGEST_MESSAGE: usize = 300;

/// What is said in place of an answer that says nothing that can be understood.
const UNREADABLE: &str = "[Error: could not parse tool response]";

/// The result of a call.
pub fn result(answer: &Value, media: MediaSupport) -> ToolResult {
    let structured = answer.get("structuredContent").filter(|it| !it.is_null());
    let mut reading = ContentReader::new(media);
    let is_readable = match answer.get("content") {
        Some(Value::Array(blocks)) => {
            blocks.iter().for_each(|block| reading.block(block));
            true
        }
        None => structured.is_some(),
        Some(_) => false,
    };
    if !is_readable {
        return ToolResult {
            llm_content: vec![MessagePart::text(UNREADABLE)],
            error: Some(error("its answer could not be understood")),
            ..ToolResult::default()
        };
    }
    let (mut data, mut left_out) = (None, None);
    if let Some(structured) = structured {
        let written = structured.to_string();
        if reading.parts.is_empty() {
            reading.text(&written);
        }
        match written.len() {
            0..=MAX_DATA_BYTES => data = Some(structured.clone()),
            size => {
                left_out = Some(MessagePart::text(format!(
                    "[the structured content ({size} bytes) is not kept: {MAX_DATA_BYTES} bytes are the most]"
                )));
            }
        }
    }
    let mut parts = reading.finish();
    parts.extend(left_out);
    let failed = answer.get("isError") == Some(&Value::Bool(true));
    let error = failed.then(|| {
        let text = parts.iter().find_map(MessagePart::as_text).unwrap_or("it told no reason");
        error(text)
    });
    ToolResult { llm_content: parts, data, error, ..ToolResult::default() }
}

/// What stands for a part of which only that is told: a link, or a kind that nobody here understands.
pub fn named(block: &Value) -> String {
    let word = |name: &str| block.get(name).and_then(Value::as_str);
    match word("type") {
        Some("resource_link") => {
            let (name, uri) = (word("name").unwrap_or("a resource"), word("uri").unwrap_or_default());
            let about = word("description").map(|about| format!(": {about}")).unwrap_or_default();
            format!("[resource {name} <{uri}>{about}]")
        }
        Some(kind) => {
            let kind: String = kind.chars().take(LONGEST_KIND).collect();
            format!("[a part of the kind `{kind}`, which nobody here understands]")
        }
        None => UNREADABLE.to_owned(),
    }
}

/// The contents of a resource, or one message of a prompt, as parts.
pub fn parts(blocks: &[Value], media: MediaSupport) -> Vec<MessagePart> {
    let mut reading = ContentReader::new(media);
    blocks.iter().for_each(|block| reading.block(block));
    reading.finish()
}

fn error(message: &str) -> ToolError {
    let mut letters = message.trim().chars();
    let mut message: String = letters.by_ref().take(LONGEST_MESSAGE).collect();
    if letters.next().is_some() {
        message.push('…');
    }
    ToolError { kind: ToolErrorType::McpToolError, message }
}

struct ContentReader {
    /// What the model takes as it is.
    media: MediaSupport,
    parts: Vec<MessagePart>,
    /// Bytes that are still taken.
    left: usize,
    /// Of these, for what is no text.
    inline: usize,
    /// Bytes that were not.
    cut: usize,
    /// Parts that were not.
    n_left_out: usize,
}

impl ContentReader {
    fn new(media: MediaSupport) -> ContentReader {
        let (left, inline) = (MAX_CONTENT_BYTES, MAX_INLINE_BYTES);
        ContentReader { media, parts: Vec::new(), left, inline, cut: 0, n_left_out: 0 }
    }

    fn block(&mut self, block: &Value) {
        if MOST_PARTS <= self.parts.len() {
            self.n_left_out += 1;
            return;
        }
        let word = |name: &str| block.get(name).and_then(Value::as_str);
        match word("type") {
            Some("text") => match word("text") {
                Some(text) => self.text(text),
                None => self.text(UNREADABLE),
            },
            Some(kind @ ("image" | "audio")) => match (word("mimeType"), word("data")) {
                (Some(mime), Some(data)) => self.bytes(kind, mime, data),
                _ => self.text(UNREADABLE),
            },
            Some("resource") => match block.get("resource") {
                Some(resource) => self.resource(resource),
                None => self.text(UNREADABLE),
            },
            Some(_) | None => self.text(&named(block)),
        }
    }

    fn resource(&mut self, resource: &Value) {
        let word = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = word("uri").unwrap_or_default();
        match (word("text"), word("blob")) {
            (Some(text), _) => self.text(text),
            (None, Some(blob)) => {
                let mime = word("mimeType").unwrap_or("application/octet-stream");
                self.bytes(&format!("resource {uri}"), mime, blob);
            }
            (None, None) => self.text(&format!("[the resource {uri} has no content]")),
        }
    }

    fn text(&mut self, text: &str) {
        let taken = text.floor_char_boundary(text.len().min(self.left));
        self.left -= taken;
        self.cut += text.len() - taken;
        if 0 < taken || text.is_empty() {
            self.parts.push(MessagePart::text(&text[..taken]));
        }
    }

    /// In base64.
    fn bytes(&mut self, what: &str, mime: &str, data: &str) {
        let size = data.len() / 4 * 3;
        if self.inline < size {
            return self.text(&format!(
                "[{what} ({mime}, {size} bytes) left out: the images, sounds and files of one answer may have \
                 {MAX_INLINE_BYTES} bytes]"
            ));
        }
        let Some(mime) = self.taken(data) else {
            return self
                .text(&format!("[{what} ({mime}, {size} bytes) left out: no model takes it as it is]"));
        };
        self.inline -= size;
        self.parts.push(MessagePart::InlineData { mime_type: mime.to_owned(), data: data.to_owned() });
    }

    /// The format of bytes in base64 that the model takes; `None` = it does not. The bytes decide, not what the server says
    /// that they are: most providers refuse the whole request for a part that is not what it is called, and every later one
    /// of the run too.
    fn taken(&self, data: &str) -> Option<&'static str> {
        let bytes = STANDARD.decode(data).ok()?;
        match content(&bytes) {
            FileContent::Image { mime } => Some(mime),
            FileContent::Audio { mime } if self.media.audio => Some(mime),
            FileContent::Pdf if self.media.pdf && pdf_fault(&bytes).is_none() => Some("application/pdf"),
            _ => None,
        }
    }

    fn finish(mut self) -> Vec<MessagePart> {
        if 0 < self.cut {
            let (kept, cut) = (MAX_CONTENT_BYTES >> 20, self.cut);
            self.parts.push(MessagePart::text(format!(
                "[the answer was cut: {cut} bytes more than the {kept} MiB that are taken of one are left out]"
            )));
        }
        if 0 < self.n_left_out {
            let more = self.n_left_out;
            self.parts.push(MessagePart::text(format!(
                "[the answer was cut: {more} parts more than the {MOST_PARTS} that are taken of one are left out]"
            )));
        }
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A picture of one dot.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

    /// `RIFF`, a size and `WAVE`.
    const WAV: &str = "UklGRgQAAABXQVZF";
    /// `%PDF-1.4`, `startxref` and `%%EOF`; and the first of them alone.
    const PDF: &str = "JVBERi0xLjQKc3RhcnR4cmVmCjAKJSVFT0Y=";
    const CUT_PDF: &str = "JVBERi0xLjQK";

    fn said(answer: &Value) -> Vec<String> {
        let result = result(answer, MediaSupport { audio: true, pdf: true });
        let mut lines: Vec<String> = result
            .llm_content
            .iter()
            .map(|part| match part {
                MessagePart::Text { text } => text.clone(),
                MessagePart::InlineData { mime_type, data } => format!("{mime_type}: {data}"),
                other => format!("{other:?}"),
            })
            .collect();
        lines.extend(result.error.map(|error| format!("! {}", error.message)));
        lines.extend(result.data.map(|data| format!("= {data}")));
        lines
    }

    #[test]
    fn every_kind_of_part_arrives_or_is_named() {
        let answer = json!({ "content": [
            { "type": "text", "text": "hello" },
            { "type": "image", "mimeType": "image/x-odd", "data": PIXEL },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "audio", "mimeType": "audio/x-odd", "data": WAV },
            { "type": "audio", "mimeType": "audio/wav", "data": "BBBB" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "file:///b", "mimeType": "application/pdf", "blob": PDF } },
            { "type": "resource", "resource": { "uri": "file:///b2", "mimeType": "application/pdf", "blob": CUT_PDF } },
            { "type": "resource_link", "uri": "file:///c", "name": "c", "description": "the third" },
            { "type": "hologram", "data": 1 },
            { "type": "text" },
            7,
        ], "structuredContent": { "a": 1 } });
        expect_test::expect![[r#"
            hello
            image/png: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==
            [image (image/png, 3 bytes) left out: no model takes it as it is]
            audio/wav: UklGRgQAAABXQVZF
            [audio (audio/wav, 3 bytes) left out: no model takes it as it is]
            inside
            application/pdf: JVBERi0xLjQKc3RhcnR4cmVmCjAKJSVFT0Y=
            [resource file:///b2 (application/pdf, 9 bytes) left out: no model takes it as it is]
            [resource c <file:///c>: the third]
            [a part of the kind `hologram`, which nobody here understands]
            [Error: could not parse tool response]
            [Error: could not parse tool response]
            = {"a":1}"#]]
        .assert_eq(&said(&answer).join("\n"));
    }

    #[test]
    fn an_answer_that_says_nothing_is_an_error_and_never_empty() {
        let unreadable = ["[Error: could not parse tool response]", "! its answer could not be understood"];
        for answer in [json!({}), json!(null), json!({ "content": "x" }), json!([1])] {
            assert_eq!(said(&answer), unreadable, "{answer}");
        }
        assert_eq!(said(&json!({ "structuredContent": [1] })), ["[1]", "= [1]"]);
        assert_eq!(said(&json!({ "content": [], "isError": true })), ["! it told no reason"]);
        let failed =
            json!({ "content": [{ "type": "text", "text": "no such repository" }], "isError": true });
        assert_eq!(said(&failed), ["no such repository", "! no such repository"]);
    }

    #[test]
    fn what_is_too_much_is_cut_and_told() {
        let text = "x".repeat(MAX_CONTENT_BYTES + 5);
        let told = said(
            &json!({ "content": [{ "type": "text", "text": text }, { "type": "text", "text": "end" }] }),
        );
        assert_eq!(told[0].len(), MAX_CONTENT_BYTES);
        assert_eq!(
            told[1],
            "[the answer was cut: 8 bytes more than the 50 MiB that are taken of one are left out]"
        );
        let data = "A".repeat(6 << 20);
        let told = said(&json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": data }] }));
        assert_eq!(
            told,
            [
                "[image (image/png, 4718592 bytes) left out: the images, sounds and files of one answer may have 3932160 bytes]"
            ]
        );
    }
    #[test]
    fn parts_beyond_a_thousand_are_counted_and_not_taken() {
        let blocks = vec![json!({ "type": "text", "text": "x" }); MOST_PARTS + 3];
        let told = said(&json!({ "content": blocks }));
        assert_eq!(told.len(), MOST_PARTS + 1);
        assert_eq!(
            told[MOST_PARTS],
            "[the answer was cut: 3 parts more than the 1000 that are taken of one are left out]"
        );
    }

    #[test]
    fn structured_content_that_is_too_much_is_not_kept_and_that_is_told() {
        // With its quotation marks.
        let most = "x".repeat(MAX_DATA_BYTES - 2);
        let block = json!({ "type": "text", "text": "here" });
        let told = said(&json!({ "content": [block], "structuredContent": most }));
        assert_eq!((told.len(), told[1].len()), (2, MAX_DATA_BYTES + 2));
        let told = said(&json!({ "content": [block], "structuredContent": format!("{most}x") }));
        assert_eq!(
            told,
            ["here", "[the structured content (262145 bytes) is not kept: 262144 bytes are the most]"]
        );
        // Where nothing else is said the model reads it all the same.
        let told = said(&json!({ "structuredContent": format!("{most}x") }));
        assert_eq!((told.len(), told[0].len()), (2, MAX_DATA_BYTES + 1));
    }
}
