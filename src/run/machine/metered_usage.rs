//! What did a request to a model take, and how sure is that?

use protocol::{Usage, UsdAmount};

/// Usage of a reply, or of a question with all its tries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeteredUsage {
    pub usage: Usage,
    /// The provider did not say, so this is an estimate.
    pub is_estimate: bool,
    /// The request was made, and cut off before anything had come of it: it may have cost something.
    pub is_unknown: bool,
    /// `None` = nobody told the model's price.
    pub cost: Option<UsdAmount>,
    /// Milliseconds from the request to the first that came of the reply.
    pub first_token_ms: Option<u64>,
}
