//! `tools/output`: all of an output of which the model got head and tail (spec 05, "Scheduler").

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    sync::Arc,
};

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    internal, violation,
};
use crate::daemon_services::DaemonServices;
use protocol::{ErrorKind, OutputStream, RpcError, ToolsOutput, ToolsOutputParams, ToolsOutputResult};
use run::RunExecutor;
use store::{EventStore, KeptOutput};
use tools::OutputStore;

/// Bytes of text in one answer. Written as JSON they are six times as many at worst, which still is a message that any
/// client takes.
const PAGE_BYTES: u64 = 256 * 1024;

/// The services that the methods of tool output use.
pub(super) struct ToolOutputMethods {
    pub store: EventStore,
    pub executor: RunExecutor,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { store, executor, .. } = services.clone();
    let mut api = api.given(Arc::new(ToolOutputMethods { store, executor }));
    api.cancellable::<ToolsOutput, _, _>(output);
}

async fn output(
    state: Arc<ToolOutputMethods>,
    _: RpcCaller,
    params: ToolsOutputParams,
) -> Result<ToolsOutputResult, RpcError> {
    let ToolsOutputParams { call_id, session_id, stream: OutputStream::Result, from } = params;
    let Some(kept) = state.store.kept_output(&call_id).await? else {
        let message = format!("no whole output of call {call_id} is kept");
        return Err(RpcError::new(ErrorKind::NotFound, message).with_hint(
            "only what was cut for the model is kept, and its result then has `whole`; of other calls the result has all",
        ));
    };
    if session_id.is_some_and(|session| session != kept.session) {
        let message = format!("call {call_id} is of another session");
        return Err(
            RpcError::new(ErrorKind::NotFound, message).with_hint("leave `sessionId` out, or name that one")
        );
    }
    if kept.bytes < from {
        return Err(violation("/from", &format!("the output has {} bytes", kept.bytes)));
    }
    let (store, wanted) = (state.executor.output_store(), kept.clone());
    let page = tokio::task::spawn_blocking(move || read(&store, &wanted, from))
        .await
        .map_err(|error| internal("the output could not be read", &error))?;
    let page = page.map_err(|error| {
        tracing::warn!(call = %call_id, %error, "a kept output cannot be read");
        let message = format!("the whole output of call {call_id} is gone: {}", told(&error));
        RpcError::new(ErrorKind::Gone, message).with_hint("its result still has head and tail")
    })?;
    let text = match page {
        OutputPage::Text(text) => text,
        OutputPage::WithinCharacter => {
            return Err(violation("/from", "lies within a character; go on from `next`"));
        }
    };
    let end = from + text.len() as u64;
    Ok(ToolsOutputResult {
        call_id,
        session_id: kept.session,
        text,
        next: (end < kept.bytes).then_some(end),
        bytes: kept.bytes,
        total_bytes: kept.total_bytes,
    })
}

enum OutputPage {
    Text(String),
    WithinCharacter,
}

/// Whole characters from there on.
fn read(store: &OutputStore, kept: &KeptOutput, from: u64) -> io::Result<OutputPage> {
    let (mut file, size) = store.open(&kept.session, &kept.call)?;
    if size != kept.bytes {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(PAGE_BYTES).read_to_end(&mut bytes)?;
    if bytes.first().is_some_and(|first| first & 0b1100_0000 == 0b1000_0000) {
        return Ok(OutputPage::WithinCharacter);
    }
    // The last character may go on beyond the page, but nothing was kept that is no text.
    let end = match std::str::from_utf8(&bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return Err(io::ErrorKind::InvalidData.into()),
    };
    bytes.truncate(end);
    String::from_utf8(bytes).map(OutputPage::Text).map_err(io::Error::other)
}

/// Without the path, which the client need not know.
fn told(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "its file was removed",
        io::ErrorKind::InvalidData => "its file is not what was kept",
        _ => "its file cannot be read; the daemon's log says why",
    }
}
