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

/// True if a server answers for the model of this name, which is no alias, rather than a recording or this process: only that costs
/// something.
pub fn is_served(name: &str) -> bool {
    name.contains('/') && !name.starts_with("replay")
}
