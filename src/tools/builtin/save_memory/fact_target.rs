//! How is a fact added to a memory file that others may write at the same moment?

use tokio_util::sync::CancellationToken;

use super::{
    super::changing::{ChangeContext, OriginalFile, PreparedChange, text::TextFile},
    failed,
};
use crate::{Permit, workspace::WorkspacePath};
use memory::with_fact;
use protocol::{FileChanged, SessionId, ToolError, ToolErrorType};

/// Times that a fact is prepared anew for a file that others write meanwhile. Each time somebody else's line got in first.
const MOST_TRIES: usize = 50;

/// The file that facts are added to.
pub(super) struct FactTarget {
    pub ground: ChangeContext,
    pub place: WorkspacePath,
}

/// The change that adds a fact to the file as it is.
pub(super) struct AddedFactChange {
    pub change: PreparedChange,
    /// The file's text as it is.
    pub old_text: String,
    /// Bytes of the file with the fact.
    pub length: u64,
}

impl FactTarget {
    /// The change that adds a fact; `None` = it stands there. Blocks on the file system.
    pub fn with(&self, fact: &str) -> Result<Option<AddedFactChange>, ToolError> {
        let FactTarget { ground, place } = self;
        let before = OriginalFile::of(&ground.workspace, place)?;
        let shown = ground.workspace.shown_absolute(place);
        let old = before.as_ref().map(|before| TextFile::of(&before.found.bytes)).transpose();
        let old = old.map_err(|what| failed(format!("`{shown}` is {what}; nothing can be added to it")))?;
        let text = match &old {
            None => "",
            Some(old) => {
                old.as_str().ok_or_else(|| failed(format!("`{shown}` has bytes that are no text")))?
            }
        };
        if let Some(form) = old.as_ref().map(|old| old.form).filter(|form| !form.is_plain_unicode()) {
            let encoding = form.encoding();
            return Err(failed(format!(
                "`{shown}` is written in {encoding}, of which no run is told; it has to be UTF-8 first"
            )));
        }
        let Some(new_text) = with_fact(text, fact) else { return Ok(None) };
        let old_text = text.to_owned();
        let new = match &old {
            Some(old) => old.with_bytes(new_text.into_bytes()),
            None => TextFile::new(&new_text),
        };
        let bytes = new.written().map_err(|encoding| {
            failed(format!(
                "`{shown}` is written in {encoding}, which has no room for some character of the fact"
            ))
        })?;
        let length = bytes.len() as u64;
        let texts = (old.as_ref(), Some(&new));
        let change = PreparedChange::new(ground.clone(), place.clone(), before, Some(bytes), texts);
        Ok(Some(AddedFactChange { change, old_text, length }))
    }

    /// Adds a fact. Where others have written to the file since the call was prepared, one line more is still all that changes, so it is
    /// added to what is there now; not where the file is gone. `None` = it stands there by now. Blocks on the file system.
    pub fn add(
        &self,
        fact: &str,
        mut change: PreparedChange,
        (session, permit): (&SessionId, &Permit),
        stop: &CancellationToken,
    ) -> Result<Option<(PreparedChange, FileChanged)>, ToolError> {
        let mut tries = 1;
        loop {
            let error = match change.make(session, permit.call(), stop) {
                Ok(changed) => return Ok(Some((change, changed))),
                Err(error) => error,
            };
            if error.kind != ToolErrorType::FileChanged || tries == MOST_TRIES {
                return Err(error);
            }
            tries += 1;
            let Some(anew) = self.with(fact)? else { return Ok(None) };
            if anew.change.is_new() && !change.is_new() {
                return Err(error);
            }
            change = anew.change;
        }
    }
}
