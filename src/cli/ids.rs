//! How are runs and sessions called on a command line and in a table? By the beginning of their ids.
//!
//! Ids are UUIDv7 text: the first 13 characters are the moment, to the millisecond, so a beginning shorter than that
//! names whatever came about at the time.

use serde_json::Value;

use super::{failure::CommandFailure, link::DaemonLink, safe_text, table};
use protocol::{
    ConfirmationId, ConfirmationList, ConfirmationListParams, RunId, RunList, RunListParams, SessionId,
    SessionList, SessionListParams,
};

/// Characters of a whole id.
const ID_CHARACTERS: usize = 36;

/// The moment in it, which tells ids apart that were not made in the same millisecond.
const SHORT_CHARACTERS: usize = 13;

/// A shorter beginning is more likely a slip than meant.
const PREFIX_CHARACTERS_MIN: usize = 4;

/// Records a page when looking for an id: their results may be long.
const PAGE: u32 = 200;

/// Pages that are looked through: the newest thousands, in well under a second.
const PAGES_MAX: usize = 25;

/// Candidates that are named when a beginning fits several ids.
const CANDIDATES_NAMED: usize = 8;

/// How many characters of these ids tell them apart; at least those of the moment.
pub(super) fn short_length<'id>(ids: impl Iterator<Item = &'id str>) -> usize {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(SHORT_CHARACTERS)
}

/// The beginning of an id, harmless.
pub(super) fn short(id: &str, length: usize) -> String {
    safe_text::line(&id.chars().take(length).collect::<String>(), ID_CHARACTERS)
}

/// The beginning of one id that stands alone.
pub(super) fn shortest(id: &str) -> String {
    short(id, SHORT_CHARACTERS)
}

/// The run that is meant: a whole id goes to the daemon as it is, a beginning must fit one run.
pub(super) fn find_run(text: &str, link: &mut DaemonLink) -> Result<RunId, CommandFailure> {
    Ok(match_run(text, link)?.unwrap_or_else(|| text.into()))
}

/// The session that is meant, likewise.
pub(super) fn find_session(text: &str, link: &mut DaemonLink) -> Result<SessionId, CommandFailure> {
    Ok(match_session(text, link)?.unwrap_or_else(|| text.into()))
}

/// The question that is meant, likewise: an open one, else one that is over, so that it can be told how it ended.
pub(super) fn find_question(text: &str, link: &mut DaemonLink) -> Result<ConfirmationId, CommandFailure> {
    for resolved in [false, true] {
        let found = find("question", text, |cursor| questions(cursor, resolved, link))?;
        if let Some(found) = found {
            return Ok(found.into());
        }
    }
    Ok(text.to_owned().into())
}

/// The one question that is open.
pub(super) fn only_question(link: &mut DaemonLink) -> Result<ConfirmationId, CommandFailure> {
    let page = questions(None, false, link)?;
    match page.entries.as_slice() {
        [] => Err(CommandFailure::new("no question is open").or_hint("`subagent runs` lists what works")),
        [(id, _)] => Ok(id.clone().into()),
        [..] => Err(CommandFailure::usage("several questions are open, so one has to be named")
            .or_hint("`subagent approvals` lists them with their ids")),
    }
}

fn questions(
    cursor: Option<String>,
    resolved: bool,
    link: &mut DaemonLink,
) -> Result<IdPage, CommandFailure> {
    let params =
        ConfirmationListParams { cursor, resolved, limit: PAGE, ..ConfirmationListParams::default() };
    let page = link.ask_value::<ConfirmationList>(&params)?;
    let describe =
        |question: &Value| format!("{} · {}", text_of(question, "tool"), text_of(question, "title"));
    Ok(IdPage::read(&page, "confirmations", "confirmationId", describe))
}

/// Whether the text can be the beginning of an id, and is not the whole of one.
pub(super) fn is_beginning(text: &str) -> bool {
    is_prefix(text)
}

/// Whether the text can be the beginning of an id, or a whole one.
pub(super) fn may_be_id(text: &str) -> bool {
    is_prefix(text) || is_whole(text)
}

/// Whether the text can be a whole id.
pub(super) fn is_whole(text: &str) -> bool {
    text.len() == ID_CHARACTERS && text.chars().all(is_of_id)
}

fn is_of_id(character: char) -> bool {
    matches!(character, '0'..='9' | 'a'..='f' | '-')
}

/// The run whose id begins so; `None` when there is none, or `text` is no beginning of an id.
pub(super) fn match_run(text: &str, link: &mut DaemonLink) -> Result<Option<RunId>, CommandFailure> {
    let found = find("run", text, |cursor| {
        let params = RunListParams { cursor, limit: PAGE, ..RunListParams::default() };
        let page = link.ask_value::<RunList>(&params)?;
        let describe = |run: &Value| {
            let status = run.get("reason").and_then(Value::as_str).unwrap_or(text_of(run, "state"));
            format!("{} · {status} · {}", text_of(run, "agent"), text_of(run, "startedAt"))
        };
        Ok(IdPage::read(&page, "runs", "runId", describe))
    })?;
    Ok(found.map(RunId::from))
}

/// The session whose id begins so; `None` likewise.
pub(super) fn match_session(text: &str, link: &mut DaemonLink) -> Result<Option<SessionId>, CommandFailure> {
    let found = find("session", text, |cursor| {
        let params = SessionListParams { cursor, limit: PAGE, ..SessionListParams::default() };
        let page = link.ask_value::<SessionList>(&params)?;
        let describe = |session: &Value| {
            let root = session.pointer("/roots/0").and_then(Value::as_str).unwrap_or_default();
            let name = session.get("title").and_then(Value::as_str).unwrap_or(root);
            format!("{name} · {}", text_of(session, "lastActiveAt"))
        };
        Ok(IdPage::read(&page, "sessions", "sessionId", describe))
    })?;
    Ok(found.map(SessionId::from))
}

/// Part of a list, reduced to what is needed to choose. Read leniently: states and reasons are open.
struct IdPage {
    /// Id and description.
    entries: Vec<(String, String)>,
    next_cursor: Option<String>,
}

impl IdPage {
    fn read(page: &Value, list: &str, id: &str, describe: impl Fn(&Value) -> String) -> IdPage {
        let listed = page.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let entries = listed.iter().map(|entry| (text_of(entry, id).to_owned(), describe(entry))).collect();
        let next_cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        IdPage { entries, next_cursor }
    }
}

fn text_of<'value>(value: &'value Value, key: &str) -> &'value str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_prefix(text: &str) -> bool {
    let characters = text.chars().count();
    (PREFIX_CHARACTERS_MIN..ID_CHARACTERS).contains(&characters) && text.chars().all(is_of_id)
}

fn find(
    noun: &str,
    text: &str,
    mut ask: impl FnMut(Option<String>) -> Result<IdPage, CommandFailure>,
) -> Result<Option<String>, CommandFailure> {
    if !is_prefix(text) {
        return Ok(None);
    }
    let mut matching: Vec<(String, String)> = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let page = ask(cursor)?;
        matching.extend(page.entries.into_iter().filter(|(id, _)| id.starts_with(text)));
        cursor = page.next_cursor;
        // One more than is named shows that there are more.
        if cursor.is_none() || matching.len() > CANDIDATES_NAMED {
            break;
        }
    }
    match matching.as_slice() {
        [] => Ok(None),
        [(id, _)] => Ok(Some(id.clone())),
        candidates => Err(ambiguous(noun, text, candidates)),
    }
}

fn ambiguous(noun: &str, text: &str, candidates: &[(String, String)]) -> CommandFailure {
    let length = short_length(candidates.iter().map(|(id, _)| id.as_str()));
    let mut what = format!("several {noun}s have ids that begin with `{text}`");
    for (id, description) in candidates.iter().take(CANDIDATES_NAMED) {
        let description = safe_text::line(description, table::TEXT_CHARACTERS);
        what.push_str(&format!("\n  {}  {description}", short(id, length)));
    }
    if candidates.len() > CANDIDATES_NAMED {
        what.push_str("\n  …");
    }
    CommandFailure::usage(what).or_hint("give more of the id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_of_an_id_is_shown_as_tells_it_apart() {
        let ids = ["019aa1b2-c3d4-7001-8000-000000000001", "019aa1b2-c3d4-7002-8000-000000000001"];
        assert_eq!(short_length(ids.into_iter()), 18);
        assert_eq!(short(ids[0], 18), "019aa1b2-c3d4-7001");
        assert_eq!(short_length([ids[0], ids[0]].into_iter()), 13);
        assert_eq!(short_length(std::iter::empty()), 13);
        assert_eq!(shortest("r1"), "r1");
    }

    #[test]
    fn only_what_can_begin_an_id_is_looked_up() {
        assert!(is_prefix("019a") && is_prefix("019aa1b2-c3d4"));
        for text in ["", "019", "r1", "019A", "019aa1b2-c3d4-7001-8000-000000000001", "scout"] {
            assert!(!is_prefix(text), "{text}");
        }
    }
}
