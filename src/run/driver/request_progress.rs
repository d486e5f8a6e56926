//! Which request to the model is being answered, and how far is it?

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::{
    compaction::{TokenEstimate, TokenEstimator},
    meter::UsageMeter,
};
use protocol::{EventBody, EventSeq, LoopDetected, LoopKind};
use store::LiveWriter;

/// The request that is being answered, or about to be made.
#[derive(Default)]
pub(super) struct RequestProgress {
    /// The text that `model.started` announced, until it is being written.
    announced: Option<(String, EventSeq)>,
    live: Option<LiveWriter>,
    /// Usage, as far as its provider has said it.
    meter: UsageMeter,
    /// The weight of what was asked.
    asked: Option<TokenEstimate>,
    /// The number of the reply that is asked for, within the tree.
    tree_ordinal: Option<u32>,
    estimator: TokenEstimator,
}

impl RequestProgress {
    /// Takes in a committed event.
    pub fn follow(&mut self, seq: EventSeq, body: &EventBody) {
        match body {
            EventBody::ModelStarted(data) => self.announced = Some((data.stream.clone(), seq)),
            EventBody::ModelRetrying(_) => self.live = None,
            EventBody::ModelCompleted(data) => {
                if let Some(asked) = self.asked.take().filter(|_| !data.estimated) {
                    self.estimator.learn(asked, data.usage.prompt_tokens);
                }
                self.live = None;
                if !data.cut {
                    self.tree_ordinal = None;
                }
            }
            // The machine counts babble as a reply.
            EventBody::LoopDetected(LoopDetected { kind: LoopKind::Text, .. }) => self.tree_ordinal = None,
            _ => (),
        }
    }

    /// The stream that was announced, and by which event.
    pub fn take_announced(&mut self) -> Option<(String, EventSeq)> {
        self.announced.take()
    }

    /// A request of this weight begins to be counted.
    pub fn measure(&mut self, weight: TokenEstimate) {
        self.meter = UsageMeter::of_request(self.estimator.tokens(weight));
    }

    /// It is made, under a number within the tree that it keeps until it is answered.
    pub fn ask(&mut self, weight: TokenEstimate, promised: &AtomicU32) -> u32 {
        self.asked = Some(weight);
        *self.tree_ordinal.get_or_insert_with(|| promised.fetch_add(1, Ordering::Relaxed))
    }

    /// The number that it has, or will take.
    pub fn tree_ordinal(&self, promised: &AtomicU32) -> u32 {
        self.tree_ordinal.unwrap_or_else(|| promised.load(Ordering::Relaxed))
    }

    /// The answer is written here.
    pub fn write_to(&mut self, live: LiveWriter) {
        self.live = Some(live);
    }

    /// Nothing of it is written any more.
    pub fn close(&mut self) {
        self.live = None;
    }

    /// The text of this stream, if it is being written.
    pub fn text_of(&self, stream: Option<&str>) -> Option<&LiveWriter> {
        self.live.as_ref().filter(|live| stream == Some(live.stream()))
    }

    /// What was to be cut off goes on.
    pub fn thaw(&self) {
        if let Some(live) = &self.live {
            live.thaw();
        }
    }

    pub fn meter(&self) -> &UsageMeter {
        &self.meter
    }

    pub fn estimator(&self) -> TokenEstimator {
        self.estimator
    }
}
