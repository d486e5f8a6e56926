//! What is in the bytes of a page, for somebody who reads text?

use url::Url;

use super::{charset, markdown, plain::plain};

/// Where a NUL byte says "binary".
const BINARY_CHECK_BYTES: usize = 8_000;
/// Types are short; what a server sends instead is not shown.
const MAX_TYPE_CHARS: usize = 100;

/// What came from a server.
pub(super) struct FetchedBytes {
    /// Where it came from at last.
    pub url: Url,
    pub status: u16,
    /// As the server said it.
    pub content_type: Option<String>,
    pub bytes: Vec<u8>,
}

/// A page that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// Where it came from at last.
    pub url: Url,
    pub status: u16,
    /// Without parameters, e.g. `text/html`.
    pub mime_type: String,
    /// Of all of it, decompressed.
    pub bytes: usize,
    pub content: PageContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageContent {
    /// HTML as Markdown; other text as it is.
    Text {
        /// Of HTML that has one.
        title: Option<String>,
        text: String,
        /// The encoding it was in.
        encoding: &'static str,
        /// It was too large or too complicated to be shown whole.
        is_cut: bool,
    },
    /// Something else, which is described only.
    Other,
}

impl WebPage {
    /// What a page says that came from `url` in this form.
    pub fn read(url: Url, content_type: Option<&str>, bytes: Vec<u8>) -> WebPage {
        let content_type = content_type.map(str::to_owned);
        page(FetchedBytes { url, status: 200, content_type, bytes }, &|| false)
    }
}

/// Reads what came. `is_unwanted` is asked often, and what is then returned is not used.
pub(super) fn page(received: FetchedBytes, is_unwanted: &dyn Fn() -> bool) -> WebPage {
    let FetchedBytes { url, status, content_type, bytes } = received;
    let (mime_type, charset) = parts(content_type.as_deref(), &bytes);
    let content = match kind(&mime_type) {
        _ if bytes.is_empty() => text(&bytes, None, false),
        _ if is_binary(&bytes) => PageContent::Other,
        ContentKind::Html => {
            let (html, encoding) = charset::decode(&bytes, charset.as_deref(), true);
            let markdown = markdown::to_markdown(&html, Some(&url), is_unwanted);
            let markdown::MarkdownPage { title, text, is_cut } = markdown;
            PageContent::Text { title: title.map(plain), text: plain(text), encoding, is_cut }
        }
        ContentKind::Markup => text(&bytes, charset.as_deref(), true),
        ContentKind::Text => text(&bytes, charset.as_deref(), false),
        ContentKind::Other => PageContent::Other,
    };
    WebPage { url, status, mime_type, bytes: bytes.len(), content }
}

fn text(bytes: &[u8], charset: Option<&str>, is_markup: bool) -> PageContent {
    let (text, encoding) = charset::decode(bytes, charset, is_markup);
    PageContent::Text { title: None, text: plain(text.into_owned()), encoding, is_cut: false }
}

enum ContentKind {
    Html,
    /// Text that may say in itself how it is encoded.
    Markup,
    Text,
    Other,
}

fn kind(mime_type: &str) -> ContentKind {
    match mime_type {
        "text/html" | "application/xhtml+xml" => ContentKind::Html,
        "application/xml" | "text/xml" => ContentKind::Markup,
        "application/json"
        | "application/javascript"
        | "application/ecmascript"
        | "application/x-javascript"
        | "application/toml"
        | "application/yaml"
        | "application/x-yaml"
        | "application/x-ndjson"
        | "application/graphql"
        | "application/sql"
        | "application/x-sh"
        | "application/x-httpd-php"
        | "message/rfc822" => ContentKind::Text,
        it if it.ends_with("+xml") => ContentKind::Markup,
        it if it.starts_with("text/") || it.ends_with("+json") || it.ends_with("+yaml") => ContentKind::Text,
        _ => ContentKind::Other,
    }
}

/// Type and charset, as the server says them or as the bytes look.
fn parts(content_type: Option<&str>, bytes: &[u8]) -> (String, Option<String>) {
    let fields = content_type.unwrap_or_default().split(';').skip(1);
    let charset = fields.into_iter().find_map(|field| {
        let (name, value) = field.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().to_owned())
    });
    // A server that knows nothing says the latter.
    let said = said_type(content_type).filter(|said| said != "application/octet-stream");
    (said.unwrap_or_else(|| looks_like(bytes).to_owned()), charset)
}

/// The type that a server says, without parameters; `None` for what cannot be one.
pub(super) fn said_type(content_type: Option<&str>) -> Option<String> {
    let said = content_type?.split(';').next()?.trim().to_ascii_lowercase();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(letter);
    let is_type = said.contains('/') && said.len() <= MAX_TYPE_CHARS && said.chars().all(is_letter);
    is_type.then_some(said)
}

fn looks_like(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(512)];
    let head = head.trim_ascii_start().to_ascii_lowercase();
    if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") || head.starts_with(b"<head") {
        return "text/html";
    }
    if is_binary(bytes) || std::str::from_utf8(bytes).is_err() {
        let found = infer::get(bytes).filter(|found| found.matcher_type() != infer::MatcherType::Text);
        return found.map_or("application/octet-stream", |found| found.mime_type());
    }
    if head.starts_with(b"<?xml") { "application/xml" } else { "text/plain" }
}

/// Whatever a server says: this is no text.
fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(BINARY_CHECK_BYTES)];
    let is_marked_text = encoding_rs::Encoding::for_bom(bytes).is_some();
    !is_marked_text && (memchr::memchr(0, head).is_some() || head.starts_with(b"%PDF-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_says_what_becomes_of_the_bytes() {
        /// What a server says, the bytes, the type they have, and their text.
        type Case = (Option<&'static str>, &'static [u8], &'static str, Option<&'static str>);
        let cases: &[Case] = &[
            (Some("text/html; charset=utf-8"), b"<p>a <b>b</b>", "text/html", Some("a **b**")),
            (Some("Application/XHTML+XML"), b"<p>a", "application/xhtml+xml", Some("a")),
            (Some("text/plain"), b"<p>a", "text/plain", Some("<p>a")),
            (Some("application/json"), b"{\"a\":1}", "application/json", Some("{\"a\":1}")),
            (Some("application/vnd.api+json"), b"{}", "application/vnd.api+json", Some("{}")),
            (Some("application/rss+xml"), b"<rss/>", "application/rss+xml", Some("<rss/>")),
            (Some("image/svg+xml"), b"<svg/>", "image/svg+xml", Some("<svg/>")),
            (Some("image/png"), b"\x89PNG\r\n\x1a\n", "image/png", None),
            (Some("application/pdf"), b"%PDF-1.7", "application/pdf", None),
            // What is no text is not shown as one.
            (Some("text/html"), b"%PDF-1.7", "text/html", None),
            (Some("text/plain"), b"a\0b", "text/plain", None),
            (None, b"<!DOCTYPE html><p>a", "text/html", Some("a")),
            (None, b"just text", "text/plain", Some("just text")),
            (None, b"\x89PNG\r\n\x1a\n\0\0\0", "image/png", None),
            (Some("application/octet-stream"), b"#!/bin/sh\n", "text/plain", Some("#!/bin/sh\n")),
            (Some("nonsense"), b"text", "text/plain", Some("text")),
            (Some("text/html\"><script>"), b"text", "text/plain", Some("text")),
            (Some(""), b"\xff\xfe\xfd\x00", "application/octet-stream", None),
            (Some("text/html"), b"", "text/html", Some("")),
            (Some("image/png"), b"", "image/png", Some("")),
        ];
        for (content_type, bytes, mime_type, text) in cases {
            let page =
                WebPage::read(Url::parse("http://example.com/").unwrap(), *content_type, bytes.to_vec());
            assert_eq!(page.mime_type, *mime_type, "{content_type:?}");
            let read = match &page.content {
                PageContent::Text { text, .. } => Some(text.as_str()),
                PageContent::Other => None,
            };
            assert_eq!(read, *text, "{content_type:?} {}", String::from_utf8_lossy(bytes));
        }
    }
}
