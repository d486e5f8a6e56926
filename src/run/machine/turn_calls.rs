//! The calls of a turn: found by their ids, and those that are open apart from those that have ended.

use std::{collections::HashMap, ops::Index, sync::Arc};

use super::TrackedCall;
use protocol::{CallId, CallState};

/// Calls in the order in which the model asked.
///
/// Perf: a reply may have thousands of calls. Each is looked up at each of its events, and what follows from an event depends on
/// the open ones; going through all of them each time held a thread for seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TurnCalls {
    list: Vec<TrackedCall>,
    places: Arc<HashMap<CallId, usize>>,
    /// Invariant: the places of those that have not ended, ascending.
    open: Vec<usize>,
}

impl TurnCalls {
    pub fn requested(calls: impl Iterator<Item = protocol::ToolCall>) -> TurnCalls {
        let list: Vec<TrackedCall> = calls.map(TrackedCall::requested).collect();
        let mut places = HashMap::with_capacity(list.len());
        for (at, call) in list.iter().enumerate() {
            places.entry(call.request.call_id.clone()).or_insert(at);
        }
        TurnCalls { open: (0..list.len()).collect(), places: Arc::new(places), list }
    }

    /// One that nobody's reply asked for, behind the others.
    pub fn push(&mut self, call: TrackedCall) {
        let at = self.list.len();
        Arc::make_mut(&mut self.places).entry(call.request.call_id.clone()).or_insert(at);
        self.open.push(at);
        self.list.push(call);
    }

    pub fn clear(&mut self) {
        *self = TurnCalls::default();
    }

    pub fn iter(&self) -> std::slice::Iter<'_, TrackedCall> {
        self.list.iter()
    }

    /// Calls that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &TrackedCall> {
        self.open.iter().map(|at| &self.list[*at])
    }

    /// Open calls that the model asked for before this one, which is one of these calls.
    pub fn open_before<'a>(&'a self, call: &'a TrackedCall) -> impl Iterator<Item = &'a TrackedCall> {
        self.open().take_while(move |it| !std::ptr::eq(*it, call))
    }

    /// All of them, for everything but their states.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, TrackedCall> {
        self.list.iter_mut()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn last(&self) -> Option<&TrackedCall> {
        self.list.last()
    }

    pub fn position(&self, call: &CallId) -> Option<usize> {
        self.places.get(call).copied()
    }

    pub fn get(&self, call: &CallId) -> Option<&TrackedCall> {
        self.position(call).map(|at| &self.list[at])
    }

    /// The call of this id, for everything but its state.
    pub fn get_mut(&mut self, call: &CallId) -> Option<&mut TrackedCall> {
        self.position(call).map(|at| &mut self.list[at])
    }

    /// Moves the call at this place on.
    pub fn enter(&mut self, at: usize, state: CallState) {
        self.list[at].state = state;
        match (self.open.binary_search(&at), state.is_end()) {
            (Ok(place), true) => drop(self.open.remove(place)),
            (Err(place), false) => self.open.insert(place, at),
            (Ok(_), false) | (Err(_), true) => (),
        }
    }
}

impl Index<usize> for TurnCalls {
    type Output = TrackedCall;

    fn index(&self, at: usize) -> &TrackedCall {
        &self.list[at]
    }
}
