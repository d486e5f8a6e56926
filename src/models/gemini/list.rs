//! Gemini's list of models: `GET {base}/v1beta/models` (<https://ai.google.dev/api/models#method:-models.list>).

use serde::Deserialize;

use super::{
    super::listing::{ListForm, ModelListPage, ProviderModel},
    complaint,
};

pub(super) const FORM: ListForm = ListForm {
    path: &["v1beta", "models"],
    query: &[("pageSize", "1000")],
    page: Some("pageToken"),
    read,
    complaint: complaint::read,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelList {
    #[serde(default)]
    models: Vec<GeminiListedModel>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiListedModel {
    /// `models/…`
    name: String,
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    /// Missing where somebody else speaks for Gemini.
    supported_generation_methods: Option<Vec<String>>,
}

fn read(body: &[u8]) -> Result<ModelListPage, serde_json::Error> {
    let listed: GeminiModelList = serde_json::from_slice(body)?;
    // Others embed, or make pictures.
    let generates = |model: &GeminiListedModel| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let models = listed.models.into_iter().filter(generates).map(|model| ProviderModel {
        id: model.name.strip_prefix("models/").unwrap_or(&model.name).to_owned(),
        title: model.display_name,
        window: model.input_token_limit.filter(|tokens| *tokens != 0),
    });
    Ok(ModelListPage {
        models: models.collect(),
        next: listed.next_page_token.filter(|token| !token.is_empty()),
    })
}
