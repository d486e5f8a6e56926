//! What do the editors of those who work in a session show? In memory: it is gone with the client that told it (spec 08, "IDE
//! context").

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::machine::{EventDraft, MachineInput, RunMachine};
use prompts::editor_message;
use protocol::{EventBody, IdeContext, SessionId};
use redact::Redactor;

/// Sessions of which one connection tells at most.
const MOST_SESSIONS: usize = 64;

/// One connection tells of more sessions than anybody works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one client tells of at most {MOST_SESSIONS} sessions")]
pub struct TooManyEditors;

/// The editors of those who work in sessions. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct EditorContexts {
    state: Arc<Mutex<EditorState>>,
}

#[derive(Debug, Default)]
struct EditorState {
    /// The last word of each connection on a session, with its place among all: the newest counts.
    told: BTreeMap<(SessionId, u64), (u64, Arc<IdeContext>)>,
    clock: u64,
}

impl EditorContexts {
    fn state(&self) -> MutexGuard<'_, EditorState> {
        // Poisoned or not: each change leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a client's editor shows, in place of what it showed.
    pub fn update(
        &self,
        session: &SessionId,
        connection: u64,
        context: IdeContext,
    ) -> Result<(), TooManyEditors> {
        let mut state = self.state();
        let key = (session.clone(), connection);
        if context.open_files.is_empty() {
            // Its place is free for another session.
            state.told.remove(&key);
            return Ok(());
        }
        let n_others = state.told.keys().filter(|it| it.1 == connection && **it != key).count();
        if MOST_SESSIONS <= n_others {
            return Err(TooManyEditors);
        }
        state.clock += 1;
        let at = state.clock;
        state.told.insert(key, (at, Arc::new(context)));
        Ok(())
    }

    /// The client is gone.
    pub fn leave(&self, connection: u64) {
        self.state().told.retain(|(_, of), _| *of != connection);
    }

    /// The editor that told something last; `None` = nobody tells.
    fn of(&self, session: &SessionId) -> Option<Arc<IdeContext>> {
        let state = self.state();
        let of_session = state.told.iter().filter(|((of, _), _)| of == session);
        of_session.max_by_key(|(_, (at, _))| *at).map(|(_, (_, context))| Arc::clone(context))
    }

    /// Tells the model of a root run, before it is asked, what is new in the editor of whoever works in its session. `told`: what its
    /// context knows already.
    pub(super) fn tell(
        &self,
        session: &SessionId,
        (told, redactor): (Option<&IdeContext>, &Redactor),
        machine: &mut RunMachine,
        drafts: &mut Vec<EventDraft>,
    ) {
        if !drafts.iter().any(|draft| matches!(draft.body, EventBody::ModelStarted(_))) {
            return;
        }
        // Whoever told nothing and tells nothing now is not spoken of.
        let Some(now) = self.of(session).or_else(|| told.map(|_| Arc::default())) else { return };
        if let Some(text) = editor_message(told, &now) {
            let (text, whole) = (redactor.owned(text), told.is_none());
            drafts.extend(machine.decide(MachineInput::EditorChanged { text, whole, now }));
        }
    }
}
