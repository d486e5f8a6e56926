//! By which ways are people asked, and by which do they answer?

use std::{path::Path, sync::Arc};

use super::confirmation_router::{ConfirmationRouter, ConfirmationTokens};

/// The ways of questions to people and of their answers.
pub(super) struct ConfirmationChannels {
    /// Who is asked what.
    pub router: ConfirmationRouter,
    /// Answer questions for those who have no client.
    pub tokens: Arc<ConfirmationTokens>,
}

impl ConfirmationChannels {
    /// `state_dir`: where the key of the tokens lies.
    pub fn new(router: ConfirmationRouter, state_dir: &Path) -> ConfirmationChannels {
        ConfirmationChannels { router, tokens: Arc::new(ConfirmationTokens::new(state_dir)) }
    }
}
