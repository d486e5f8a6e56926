//! Which files would `/undo` put back? What the daemon would, told before it does.

use serde::Deserialize;

use crate::{failure::CommandFailure, link::DaemonLink, paging};
use protocol::{EventFilter, EventSeq, EventsList, EventsListParams, SessionId};

/// Events of one page.
const PAGE: u32 = 1_000;

/// An event about a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileEventView {
    #[serde(default)]
    seq: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    prompt_id: Option<String>,
    #[serde(default)]
    data: FileEventDetails,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FileEventDetails {
    path: String,
    undo_id: String,
    change: String,
}

/// The files that the last turn changed which changed any and was not undone, in the order of the changes.
pub(super) fn files(session_id: &SessionId, link: &mut DaemonLink) -> Result<Vec<String>, CommandFailure> {
    let filter = EventFilter {
        session_id: Some(session_id.clone()),
        types: ["file.changed", "file.restored"].map(str::to_owned).to_vec(),
        ..EventFilter::default()
    };
    let mut changes: Vec<FileEventView> = Vec::new();
    let mut from = EventSeq(0);
    loop {
        let params = EventsListParams { filter: filter.clone(), from, log_id: None, limit: PAGE, wait_ms: 0 };
        let page: Vec<FileEventView> = paging::entries(&link.ask_value::<EventsList>(&params)?, "events")?;
        let Some(last) = page.last() else { break };
        let (next, is_last) = (EventSeq(last.seq), page.len() < PAGE as usize);
        for told in page {
            match told.kind.as_str() {
                "file.changed" => changes.push(told),
                _ => changes.retain(|change| change.data.undo_id != told.data.undo_id),
            }
        }
        if is_last || next <= from {
            break;
        }
        from = next;
    }
    let Some(last) = changes.last().map(|change| change.prompt_id.clone()) else { return Ok(Vec::new()) };
    let of_turn = changes.into_iter().filter(|change| change.prompt_id == last);
    let mut files: Vec<String> =
        of_turn.map(|FileEventView { data, .. }| format!("{} ({})", data.path, data.change)).collect();
    files.dedup();
    Ok(files)
}
