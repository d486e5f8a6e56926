//! How many tokens does a request have, as its provider counts them?

use std::sync::Arc;

use super::{ModelEndpoint, ProviderDialect, failure, send};
use crate::ModelError;

/// An answer is one number in a small object, of which some tell a little more.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// More than any model can read. What is beyond is a provider's defect, and what sums it would not fit the store.
const MOST_TOKENS: u64 = 1 << 40;

/// Where one model's provider counts.
#[derive(Clone)]
pub(super) struct TokenCounter {
    pub endpoint: Arc<ModelEndpoint>,
    /// Finds the number in an answer.
    pub read: fn(&[u8]) -> Option<u64>,
}

impl TokenCounter {
    pub(super) async fn count<D: ProviderDialect>(self, body: Vec<u8>) -> Result<u64, ModelError> {
        let TokenCounter { endpoint, read } = self;
        let mut response = send::<D>(&endpoint, body).await?;
        let mut answer = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| failure::broken(&endpoint, error))? {
            if MAX_ANSWER_BYTES < answer.len() + bytes.len() {
                return Err(no_count::<D>());
            }
            answer.extend_from_slice(&bytes);
        }
        // No request has nothing in it.
        read(&answer).filter(|tokens| (1..=MOST_TOKENS).contains(tokens)).ok_or_else(no_count::<D>)
    }
}

fn no_count<D: ProviderDialect>() -> ModelError {
    ModelError::Unusable { message: format!("the answer is no count of {}'s", D::NAME) }
}
