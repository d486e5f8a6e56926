//! The list of models of OpenAI and of those who speak like it: `GET {base}/models`
//! (<https://platform.openai.com/docs/api-reference/models/list>). OpenAI itself does not say how much a model takes in;
//! OpenRouter, vLLM and LM Studio do, each in its own word.

use serde::Deserialize;

use super::{
    super::listing::{ListForm, ModelListPage, ProviderModel},
    complaint,
};

pub(crate) const FORM: ListForm =
    ListForm { path: &["models"], query: &[], page: None, read, complaint: complaint::read };

#[derive(Deserialize)]
struct OpenAiModelList {
    data: Vec<OpenAiListedModel>,
}

#[derive(Deserialize)]
struct OpenAiListedModel {
    id: String,
    name: Option<String>,
    /// OpenRouter's word, and LM Studio's older one.
    context_length: Option<u64>,
    /// vLLM's.
    max_model_len: Option<u64>,
    /// LM Studio's and Groq's.
    max_context_length: Option<u64>,
    context_window: Option<u64>,
}

fn read(body: &[u8]) -> Result<ModelListPage, serde_json::Error> {
    let listed: OpenAiModelList = serde_json::from_slice(body)?;
    let models = listed.data.into_iter().map(|model| {
        let windows =
            [model.context_length, model.max_model_len, model.context_window, model.max_context_length];
        let window = windows.into_iter().flatten().find(|tokens| *tokens != 0);
        ProviderModel { id: model.id, title: model.name, window }
    });
    Ok(ModelListPage { models: models.collect(), next: None })
}
