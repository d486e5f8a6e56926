//! What is known of models, as clients see it (spec 04).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who says how many tokens a model takes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WindowSource {
    /// `models.contextWindow`.
    Settings,
    /// The provider's list of models.
    Provider,
    /// What the provider publishes, as this version knows it.
    Table,
    /// Nobody: it is a guess.
    Assumed,
}
