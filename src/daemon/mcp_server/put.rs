//! Which questions does the person of a client have before them, or have left, whichever watch put them there?
//!
//! Several runs of one session are followed by a watch each, and each watch hears of every question of the session; the person
//! is asked once.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::protocol::{Confirmation, ConfirmationId, RunId};

/// Questions that are known at most. Of more, some may be put again that were left.
const MOST: usize = 4_096;

/// The questions of a session of MCP, for all of its watches.
pub(super) struct PutQuestions {
    by_id: Mutex<HashMap<ConfirmationId, Put>>,
    /// Changes when another watch may put what this one had.
    freed: watch::Sender<()>,
}

struct Put {
    digest: String,
    /// The run whose watch put it.
    by: RunId,
    /// The person saw it and left it, or it is over: nobody puts it again as it is.
    is_done: bool,
}

/// What a watch may do with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Mine,
    /// Another watch has put it; it may be this one's later.
    Others,
    Nobodys,
}

impl Default for PutQuestions {
    fn default() -> PutQuestions {
        PutQuestions { by_id: Mutex::default(), freed: watch::Sender::new(()) }
    }
}

impl PutQuestions {
    /// Tells when a question may have become free that was another watch's.
    pub fn freed(&self) -> watch::Receiver<()> {
        self.freed.subscribe()
    }

    /// Takes a question for the watch of this run, if no other has it.
    pub fn take(&self, question: &Confirmation, run: &RunId) -> Turn {
        let turn = self.turn(question, run);
        if turn == Turn::Mine {
            let put = Put { digest: question.digest.clone(), by: run.clone(), is_done: false };
            self.by_id().insert(question.confirmation_id.clone(), put);
        }
        turn
    }

    /// Whose turn it is to put it.
    pub fn turn(&self, question: &Confirmation, run: &RunId) -> Turn {
        match self.by_id().get(&question.confirmation_id) {
            Some(put) if put.digest != question.digest => Turn::Mine,
            Some(put) if put.is_done => Turn::Nobodys,
            Some(put) if put.by != *run => Turn::Others,
            Some(_) | None => Turn::Mine,
        }
    }

    /// Nobody puts it again as it is: the person left it, or it is over.
    pub fn done(&self, id: &ConfirmationId, digest: &str, run: &RunId) {
        {
            let mut by_id = self.by_id();
            // Another watch may have put what has become of it meanwhile.
            if by_id.get(id).is_none_or(|put| put.digest == digest) {
                if MOST <= by_id.len() {
                    by_id.retain(|_, put| !put.is_done);
                }
                by_id.insert(id.clone(), Put { digest: digest.to_owned(), by: run.clone(), is_done: true });
            }
        }
        self.freed.send_replace(());
    }

    /// The watch of this run is over: what it had, and what the person left of it, is for others, and for its next one.
    pub fn give_up(&self, run: &RunId) {
        self.by_id().retain(|_, put| put.by != *run);
        self.freed.send_replace(());
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<ConfirmationId, Put>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
