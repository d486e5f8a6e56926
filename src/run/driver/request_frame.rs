//! What stands in each request of a run beside the messages?

use std::sync::Arc;

use super::super::{
    compaction::{TokenEstimate, weigh, weigh_text, weigh_tools},
    gate::CallGate,
};
use protocol::{ContextMessage, RunSeed, ToolDeclaration};

/// Everything that a request has beside the history: in ordinary turns, and in the grace turn.
pub(super) struct RequestFrame {
    system: Arc<str>,
    /// Stands before the history.
    context: Option<Arc<ContextMessage>>,
    ordinary: DeclaredTools,
    grace: DeclaredTools,
    /// The weight of system prompt and context message.
    weight: TokenEstimate,
}

/// Tools as a model is told of them.
struct DeclaredTools {
    declarations: Arc<[ToolDeclaration]>,
    weight: TokenEstimate,
}

impl RequestFrame {
    pub fn of(seed: &RunSeed, gate: &CallGate) -> RequestFrame {
        RequestFrame {
            system: seed.system.as_str().into(),
            context: seed.context.clone().map(Arc::new),
            ordinary: DeclaredTools::of_turns(gate),
            grace: DeclaredTools::of(vec![gate.completion.declaration().clone()]),
            weight: weigh_text(&seed.system) + seed.context.iter().map(weigh).sum(),
        }
    }

    /// Ordinary turns have the tools of this gate from now on.
    pub fn declare(&mut self, gate: &CallGate) {
        self.ordinary = DeclaredTools::of_turns(gate);
    }

    pub fn system(&self) -> Arc<str> {
        Arc::clone(&self.system)
    }

    /// Messages before the history.
    pub fn messages(&self) -> Vec<Arc<ContextMessage>> {
        self.context.iter().cloned().collect()
    }

    pub fn tools(&self, is_grace: bool) -> Arc<[ToolDeclaration]> {
        Arc::clone(&self.declared(is_grace).declarations)
    }

    pub fn weight(&self, is_grace: bool) -> TokenEstimate {
        self.weight + self.declared(is_grace).weight
    }

    fn declared(&self, is_grace: bool) -> &DeclaredTools {
        if is_grace { &self.grace } else { &self.ordinary }
    }
}

impl DeclaredTools {
    fn of(declarations: Vec<ToolDeclaration>) -> DeclaredTools {
        DeclaredTools { weight: weigh_tools(&declarations), declarations: declarations.into() }
    }

    /// All tools, and the one that hands in the result.
    fn of_turns(gate: &CallGate) -> DeclaredTools {
        let completion = gate.completion.declaration().clone();
        DeclaredTools::of(gate.toolset.declarations().cloned().chain([completion]).collect())
    }
}
