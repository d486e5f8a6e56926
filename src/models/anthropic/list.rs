//! Anthropic's list of models: `GET {base}/v1/models` (<https://docs.anthropic.com/en/api/models-list>).

use serde::Deserialize;

use super::{
    super::listing::{ListForm, ModelListPage, ProviderModel},
    complaint,
};

pub(super) const FORM: ListForm = ListForm {
    path: &["v1", "models"],
    query: &[("limit", "1000")],
    page: Some("after_id"),
    read,
    complaint: complaint::read,
};

#[derive(Deserialize)]
struct AnthropicModelList {
    data: Vec<AnthropicListedModel>,
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct AnthropicListedModel {
    id: String,
    display_name: Option<String>,
    /// Newer answers have it.
    max_input_tokens: Option<u64>,
}

fn read(body: &[u8]) -> Result<ModelListPage, serde_json::Error> {
    let listed: AnthropicModelList = serde_json::from_slice(body)?;
    let models = listed.data.into_iter().map(|model| ProviderModel {
        id: model.id,
        title: model.display_name,
        window: model.max_input_tokens.filter(|tokens| *tokens != 0),
    });
    Ok(ModelListPage { models: models.collect(), next: listed.last_id.filter(|_| listed.has_more) })
}
