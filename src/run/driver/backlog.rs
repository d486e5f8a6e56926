//! Which inputs are still to be decided, and can anything be written?

use tokio::sync::watch;

use crate::live_runs::RunInput;

/// Inputs that have come and not been committed.
pub(super) struct InputBacklog {
    /// Decided again with the next ones, or when it is time to try again; meanwhile requests are still read and answered.
    inputs: Vec<RunInput>,
    /// They did not fit the last step, and nothing is in their way.
    is_behind: bool,
    /// True while the disk is full.
    fullness: watch::Receiver<bool>,
}

impl InputBacklog {
    pub fn new(fullness: watch::Receiver<bool>) -> InputBacklog {
        InputBacklog { inputs: Vec::new(), is_behind: false, fullness }
    }

    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    pub fn take(&mut self) -> Vec<RunInput> {
        std::mem::take(&mut self.inputs)
    }

    /// Keeps an input whose events could not be committed.
    pub fn keep(&mut self, input: RunInput) {
        self.inputs.push(input);
    }

    /// Keeps the rest of what came in, for which a step that was committed had no room.
    pub fn leave(&mut self, rest: Vec<RunInput>) {
        self.is_behind = !rest.is_empty();
        self.inputs = rest;
    }

    /// True once after each step that left something.
    pub fn catches_up(&mut self) -> bool {
        std::mem::take(&mut self.is_behind)
    }

    pub fn is_disk_full(&self) -> bool {
        *self.fullness.borrow()
    }

    /// The same, and later changes are news.
    pub fn look_at_disk(&mut self) -> bool {
        *self.fullness.borrow_and_update()
    }

    /// Waits until the disk is full, or is no more; `None` = nobody will say. Cancel safe.
    pub async fn disk_changed(&mut self) -> Option<bool> {
        self.fullness.changed().await.ok()?;
        Some(self.look_at_disk())
    }
}
