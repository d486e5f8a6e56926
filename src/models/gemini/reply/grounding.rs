//! Which pages did Gemini read for a reply? `urlContextMetadata` and `groundingMetadata` of a candidate
//! (<https://ai.google.dev/api/generate-content#GroundingMetadata>), read from responses and written into recordings.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::grounding::{GroundedSpan, GroundingSource, PageVisit, ReplyGrounding};

/// Of each list so many are read; the API allows 20 pages, and names some dozens of sources.
const MOST_LISTED: usize = 200;
/// The status of a page that was read.
const READ: &str = "URL_RETRIEVAL_STATUS_SUCCESS";

/// What a candidate says of it. What is not of the known form says nothing: the reply is as good without.
pub(crate) fn read(url_context: Option<Value>, grounding: Option<Value>) -> ReplyGrounding {
    let UrlContextMetadata { url_metadata } = lenient(url_context);
    let GroundingMetadata { grounding_chunks, grounding_supports } = lenient(grounding);
    let visit = |it: UrlMetadata| PageVisit {
        is_read: it.url_retrieval_status == READ,
        url: it.retrieved_url,
        status: it.url_retrieval_status,
    };
    let source = |it: GroundingChunk| {
        let GroundingWebPage { uri, title } = it.web.unwrap_or_default();
        GroundingSource { url: uri, title }
    };
    let support = |it: GroundingSupport| GroundedSpan {
        end: it.segment.end_index,
        text: it.segment.text,
        sources: it.grounding_chunk_indices,
    };
    ReplyGrounding {
        visits: url_metadata.into_iter().take(MOST_LISTED).map(visit).collect(),
        sources: grounding_chunks.into_iter().take(MOST_LISTED).map(source).collect(),
        supports: grounding_supports.into_iter().take(MOST_LISTED).map(support).collect(),
    }
}

/// The same as a candidate's fields.
pub(crate) fn fields(grounding: ReplyGrounding) -> impl Iterator<Item = (String, Value)> {
    let ReplyGrounding { visits, sources, supports } = grounding;
    let is_grounded = !sources.is_empty() || !supports.is_empty();
    let visit = |it: PageVisit| UrlMetadata { retrieved_url: it.url, url_retrieval_status: it.status };
    let source =
        |it: GroundingSource| GroundingChunk { web: Some(GroundingWebPage { uri: it.url, title: it.title }) };
    let support = |it: GroundedSpan| GroundingSupport {
        segment: GroundingSegment { end_index: it.end, text: it.text },
        grounding_chunk_indices: it.sources,
    };
    let url_context = (!visits.is_empty())
        .then(|| json!(UrlContextMetadata { url_metadata: visits.into_iter().map(visit).collect() }));
    let grounding = is_grounded.then(|| {
        json!(GroundingMetadata {
            grounding_chunks: sources.into_iter().map(source).collect(),
            grounding_supports: supports.into_iter().map(support).collect(),
        })
    });
    let url_context = url_context.map(|it| ("urlContextMetadata".to_owned(), it));
    url_context.into_iter().chain(grounding.map(|it| ("groundingMetadata".to_owned(), it)))
}

fn lenient<T: DeserializeOwned + Default>(value: Option<Value>) -> T {
    value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct UrlContextMetadata {
    url_metadata: Vec<UrlMetadata>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct UrlMetadata {
    retrieved_url: String,
    url_retrieval_status: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct GroundingMetadata {
    grounding_chunks: Vec<GroundingChunk>,
    grounding_supports: Vec<GroundingSupport>,
}

/// One that is no page of the web keeps its place, since supports count them.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct GroundingChunk {
    web: Option<GroundingWebPage>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct GroundingWebPage {
    uri: String,
    title: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct GroundingSupport {
    segment: GroundingSegment,
    grounding_chunk_indices: Vec<usize>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct GroundingSegment {
    end_index: usize,
    text: String,
}
