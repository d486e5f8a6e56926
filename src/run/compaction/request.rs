//! What is a summariser asked? The history as data: one text, with a random word in every line that is ours, so that
//! nothing in it can pass for a message, a role or the end of it (spec 04, "Compression", 4).

use std::{ops::Range, sync::Arc};

use self::render::{RenderedHistoryPart, blocks};
use super::{
    estimate::{TokenEstimate, weigh},
    snapshot::{self, CompactionSummary},
    split,
};
use crate::unhurried;
use protocol::ContextMessage;

mod prompts;
mod render;

pub(super) use render::data_line;

/// One call of the summariser.
#[derive(Debug, Clone)]
pub struct SummaryRequest {
    pub system: String,
    /// One message of the user.
    pub messages: Vec<Arc<ContextMessage>>,
}

impl SummaryRequest {
    /// What it takes of the summariser's window. Without a history: what there is around one.
    pub fn weight(&self) -> TokenEstimate {
        super::weigh_text(&self.system) + self.messages.iter().map(|message| weigh(message)).sum()
    }
}

/// Asks for a snapshot of `history`, into which `earlier` is folded. When `earlier` is missing and the history begins with
/// a snapshot of ours, that is the earlier one.
///
/// `mark` is a random word that nobody could know when they wrote what is in the history: ASCII letters and digits, at most
/// 32. The rendered history fits into `room`, its longest texts cut in their middle if need be; see [`pieces`].
pub fn summary_request(
    history: &[Arc<ContextMessage>],
    earlier: Option<&str>,
    mark: &str,
    room: TokenEstimate,
) -> SummaryRequest {
    let of_history = snapshot::of_history(history);
    let earlier = earlier.or(of_history);
    // Not twice.
    let is_told = of_history.is_some() && of_history == earlier;
    let told = if is_told { &history[snapshot::OPENING_LEN..] } else { history };
    let mut text = String::new();
    match earlier {
        Some(earlier) => push_enclosed(&mut text, "earlier snapshot", earlier, mark),
        None => text.push_str("There is no earlier snapshot.\n"),
    }
    text.push('\n');
    push_history(&mut text, told, mark, room);
    text.push_str(prompts::SUMMARY_ENDING);
    SummaryRequest {
        system: prompts::summary_system(mark),
        messages: vec![Arc::new(ContextMessage::user(text))],
    }
}

/// The second look: asks what of `history` is missing or wrong in `snapshot`, and for a whole snapshot that has it, or
/// the same one. The history may be a part of what the snapshot is about. `mark` and `room` as for [`summary_request`].
pub fn check_request(
    history: &[Arc<ContextMessage>],
    snapshot: &CompactionSummary,
    mark: &str,
    room: TokenEstimate,
) -> SummaryRequest {
    let mut text = String::new();
    push_enclosed(&mut text, "snapshot to check", &snapshot.text, mark);
    text.push('\n');
    let told = match snapshot::of_history(history) {
        Some(earlier) => {
            push_enclosed(&mut text, "earlier snapshot", earlier, mark);
            text.push('\n');
            &history[snapshot::OPENING_LEN..]
        }
        None => history,
    };
    push_history(&mut text, told, mark, room);
    text.push_str(prompts::CHECK_ENDING);
    SummaryRequest {
        system: prompts::check_system(mark),
        messages: vec![Arc::new(ContextMessage::user(text))],
    }
}

/// Cuts a history into pieces that each fit into `room` when they are rendered, in order and none of them empty. Calls stay
/// with their results where that fits; a message that is too long alone is a piece, and is cut when it is rendered. A
/// history that is larger than the summariser's window is condensed piece by piece, each with the snapshot so far.
pub fn pieces(history: &[Arc<ContextMessage>], room: TokenEstimate) -> Vec<Range<usize>> {
    let inseparable = split::inseparable(history);
    let weigh = |message: &Arc<ContextMessage>| {
        blocks(message, render::LONGEST_MARK).map(|block| block.weight()).sum()
    };
    let mut weights: Vec<TokenEstimate> = unhurried(history).map(weigh).collect();
    if snapshot::of_history(history).is_some() {
        // Told beside the history, not in it.
        weights[..snapshot::OPENING_LEN].fill(TokenEstimate::default());
    }
    let mut pieces = HistoryChunks { room, ..HistoryChunks::default() };
    let mut at = 0;
    while at < history.len() {
        let end = (at + 1..history.len()).find(|next| !inseparable[*next]).unwrap_or(history.len());
        if weights[at..end].iter().copied().sum::<TokenEstimate>() <= room {
            pieces.add(at..end, &weights);
        } else {
            (at..end).for_each(|message| pieces.add(message..message + 1, &weights));
        }
        at = end;
    }
    pieces.close();
    pieces.closed
}

#[derive(Default)]
struct HistoryChunks {
    room: TokenEstimate,
    closed: Vec<Range<usize>>,
    open: Range<usize>,
    taken: TokenEstimate,
}

impl HistoryChunks {
    /// Takes in the next messages, which stay together.
    fn add(&mut self, next: Range<usize>, weights: &[TokenEstimate]) {
        let weight: TokenEstimate = weights[next.clone()].iter().copied().sum();
        // What has nothing to render is no piece of its own.
        let has_something = self.taken != TokenEstimate::default();
        if has_something && self.room < self.taken + weight {
            self.close();
        }
        self.open.end = next.end;
        self.taken += weight;
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed.push(self.open.clone());
        }
        self.open = self.open.end..self.open.end;
        self.taken = TokenEstimate::default();
    }
}

/// A history as data for a question about it: what stands between lines with the mark, and fits into `room`.
pub fn told(history: &[Arc<ContextMessage>], mark: &str, room: TokenEstimate) -> String {
    let mut text = String::new();
    push_history(&mut text, history, mark, room);
    text
}

fn push_history(text: &mut String, history: &[Arc<ContextMessage>], mark: &str, room: TokenEstimate) {
    let blocks: Vec<RenderedHistoryPart> =
        unhurried(history).flat_map(|message| blocks(message, mark)).collect();
    push_heading(text, "history begins", mark);
    render::push_fitting(text, &blocks, room);
    push_heading(text, "history ends", mark);
    text.push('\n');
}

fn push_enclosed(text: &mut String, name: &str, content: &str, mark: &str) {
    push_heading(text, &format!("{name} begins"), mark);
    text.push_str(&render::without_mark(content, mark));
    text.push('\n');
    push_heading(text, &format!("{name} ends"), mark);
}

fn push_heading(text: &mut String, words: &str, mark: &str) {
    text.push_str(&render::heading(words, mark));
    text.push('\n');
}
