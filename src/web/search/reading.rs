//! What do the answers of the backends say?

use serde_json::Value;

use super::{MOST_RESULTS, SearchAnswer, SearchSource};
use crate::{markdown::to_markdown, plain::plain};
use config::SearchBackend;

/// Characters of a title, an address, an excerpt and a direct answer: more is no excerpt.
const MOST_CHARS: [usize; 4] = [300, 2_000, 2_000, 4_000];

/// The answer, or what is missing in it.
pub(super) fn answer(backend: SearchBackend, answer: &Value) -> Result<SearchAnswer, String> {
    let (results, excerpt, direct) = match backend {
        SearchBackend::Brave => {
            // A search that finds nothing has no `web`.
            let results = match answer["web"].is_null() && answer["type"] == "search" {
                true => Some(&[][..]),
                false => list(&answer["web"]["results"]),
            };
            (results, "description", None)
        }
        SearchBackend::Tavily => (list(&answer["results"]), "content", answer["answer"].as_str()),
        SearchBackend::Searxng => {
            let first = &answer["answers"][0];
            (list(&answer["results"]), "content", first.as_str().or_else(|| first["answer"].as_str()))
        }
    };
    let results = results.ok_or("there is no list of results in it")?;
    let [_, _, excerpt_chars, answer_chars] = MOST_CHARS;
    let sources = results.iter().filter_map(|result| {
        let source =
            SearchSource::named(result["title"].as_str().unwrap_or_default(), result["url"].as_str()?)?;
        Some(SearchSource {
            excerpt: words(result[excerpt].as_str().unwrap_or_default(), excerpt_chars),
            ..source
        })
    });
    let sources = sources.take(MOST_RESULTS).collect();
    let answer = direct.map(|text| words(text, answer_chars)).filter(|text| !text.is_empty());
    Ok(SearchAnswer { answer, sources })
}

impl SearchSource {
    /// A page that somebody names, without an excerpt. `None` for what is no address of the web.
    pub fn named(title: &str, url: &str) -> Option<SearchSource> {
        let [title_chars, url_chars, ..] = MOST_CHARS;
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let is_short = url.chars().count() <= url_chars;
        (is_web && is_short).then(|| SearchSource {
            title: words(title, title_chars),
            url: plain(url.to_owned()).replace(char::is_whitespace, ""),
            excerpt: String::new(),
        })
    }
}

fn list(value: &Value) -> Option<&[Value]> {
    value.as_array().map(Vec::as_slice)
}

/// In one line, without marks of HTML and letters that act instead of showing.
fn words(text: &str, most: usize) -> String {
    let short: String = text.chars().take(most.saturating_mul(2)).collect();
    let text = match short.contains(['<', '&']) {
        true => to_markdown(&short, None, &|| false).text,
        false => short,
    };
    let text = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(title: &str, excerpt: &str) -> SearchSource {
        SearchSource { title: title.into(), url: "https://a.example/".into(), excerpt: excerpt.into() }
    }

    #[test]
    fn each_backend_is_read_as_it_answers() {
        // Without letters that act: an escape, a turn of direction, a sign that nobody sees.
        let a = json!({ "title": "A\n pa\u{1b}ge\u{202e}", "url": "https://a.example/", "description": "<strong>A</strong> &amp; b" });
        let found = answer(SearchBackend::Brave, &json!({ "type": "search", "web": { "results": [a] } }));
        assert_eq!(found, Ok(SearchAnswer { answer: None, sources: vec![source("A page", "**A** & b")] }));
        let none = answer(SearchBackend::Brave, &json!({ "type": "search" }));
        assert_eq!(none, Ok(SearchAnswer::default()));

        let a = json!({ "title": "A", "url": "https://a.ex\u{202e}ample/\u{7}", "content": "wo\u{e0041}rds", "score": 0.9 });
        let found = answer(SearchBackend::Tavily, &json!({ "answer": "Yes.", "results": [a.clone()] }));
        let expected = SearchAnswer { answer: Some("Yes.".into()), sources: vec![source("A", "words")] };
        assert_eq!(found, Ok(expected.clone()));

        for direct in [json!("Yes."), json!({ "answer": "Yes.", "url": null })] {
            let found = json!({ "results": [a.clone()], "answers": [direct] });
            assert_eq!(answer(SearchBackend::Searxng, &found), Ok(expected.clone()));
        }
    }

    #[test]
    fn what_is_no_answer_or_no_address_is_left_out() {
        for backend in [SearchBackend::Brave, SearchBackend::Tavily, SearchBackend::Searxng] {
            for nonsense in
                [json!(null), json!([]), json!("x"), json!({ "results": {} }), json!({ "error": "x" })]
            {
                assert!(answer(backend, &nonsense).is_err(), "{nonsense}");
            }
        }
        let results = json!([
            { "title": "no url" },
            { "url": "javascript:alert(1)" },
            { "url": "file:///etc/passwd" },
            { "url": "https://a.example/" },
            7,
        ]);
        let found = answer(SearchBackend::Tavily, &json!({ "results": results })).unwrap();
        assert_eq!(found.sources, [source("", "")]);
        let many: Vec<_> =
            (0..50).map(|_| json!({ "url": "https://a.example/", "content": "x".repeat(9_000) })).collect();
        let found = answer(SearchBackend::Tavily, &json!({ "results": many })).unwrap();
        assert_eq!(found.sources.len(), MOST_RESULTS);
        assert_eq!(found.sources[0].excerpt.chars().count(), 2_001);
    }
}
