//! Which events does a reader want? Said once, for memory and for the database.

use std::collections::HashSet;

use super::{StoredEvent, tail::FollowTopic};
use protocol::{EventFilter, RunId, SessionId};

/// Which events; an empty filter matches all, and each field that is given narrows.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// Of these sessions; empty = of all, and also what concerns none.
    pub sessions: Vec<SessionId>,
    /// Of these runs; empty = of all, and also what concerns none.
    pub runs: Vec<RunId>,
    /// Of the runs below `runs` as well, whenever they begin.
    pub descendants: bool,
    /// A `*` at the end stands for any rest; empty = all.
    pub types: Vec<String>,
}

impl From<EventFilter> for LogFilter {
    fn from(filter: EventFilter) -> LogFilter {
        let EventFilter { session_id, session_ids, run_id, run_ids, exact, types } = filter;
        let sessions = session_ids.into_iter().chain(session_id).collect();
        // The older field means the run alone.
        let descendants = !exact && run_id.is_none();
        LogFilter { sessions, runs: run_ids.into_iter().chain(run_id).collect(), descendants, types }
    }
}

impl LogFilter {
    pub fn session(session: SessionId) -> LogFilter {
        LogFilter { sessions: vec![session], ..LogFilter::default() }
    }

    pub fn run(run: RunId) -> LogFilter {
        LogFilter { runs: vec![run], ..LogFilter::default() }
    }

    /// True if a type is among `types`; what is no event has types of the same form.
    pub fn has_type(&self, kind: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|pattern| type_fits(pattern, kind))
    }

    /// True if the event matches. Told of every event after the place where `family` was right, in order, it keeps
    /// `family` right.
    pub(super) fn matches(&self, event: &StoredEvent, family: &mut RunFamily) -> bool {
        // First, since the family must hear of a run's beginning also where its type is not wanted.
        let run_fits = match &event.run {
            _ if self.runs.is_empty() => true,
            None => false,
            Some(run) if self.descendants => family.takes_in(run, event.parent.as_ref()),
            Some(run) => self.runs.contains(run),
        };
        let session_fits = self.sessions.is_empty()
            || event.session.as_ref().is_some_and(|session| self.sessions.contains(session));
        run_fits && session_fits && self.has_type(&event.kind)
    }

    /// True if which runs match depends on which others there are.
    pub(super) fn has_family(&self) -> bool {
        self.descendants && !self.runs.is_empty()
    }

    /// What wakes a reader, without knowing where the runs of its family are.
    pub(super) fn topics(&self) -> Vec<FollowTopic> {
        if !self.has_family() && !self.runs.is_empty() {
            return self.runs.iter().cloned().map(FollowTopic::Run).collect();
        }
        match self.sessions.is_empty() {
            true => vec![FollowTopic::All],
            false => self.sessions.iter().cloned().map(FollowTopic::Session).collect(),
        }
    }

    /// The statement that reads a page: ?1 the place, ?2 runs, ?3 sessions, ?4 types, ?5 the most events.
    ///
    /// The index is chosen by the text, so there is one text a shape. Of several sessions or runs each is asked for its
    /// next few, by index; else all that is left of all of them would be read and sorted for every page.
    pub(super) fn page_text(&self, columns: &str) -> String {
        let is_pattern = self.types.iter().any(|pattern| pattern.ends_with('*'));
        let types = match (self.types.is_empty(), is_pattern) {
            (true, _) => "?4 is not null",
            (false, false) => "type in (select value from json_each(?4))",
            // `json_each` has a `type` of its own.
            (false, true) => "exists (select 1 from json_each(?4) where events.type glob json_each.value)",
        };
        let sessions = match self.sessions.is_empty() {
            true => "?3 is not null",
            false => "+session_id in (select value from json_each(?3))",
        };
        let simple = |by: &str| {
            format!("select {columns} from events where ?1 < seq and {by} and {types} order by seq limit ?5")
        };
        let (members, key, others) = match (self.runs.as_slice(), self.sessions.as_slice()) {
            ([], []) => return simple("?2 is not null and ?3 is not null"),
            ([], [_]) => return simple("?2 is not null and session_id = ?3 ->> 0"),
            ([], _) => ("select value from json_each(?3)", "session_id", "?2 is not null"),
            ([_], _) if !self.descendants => return simple(&format!("run_id = ?2 ->> 0 and {sessions}")),
            (_, _) if self.descendants => (FAMILY, "run_id", sessions),
            (_, _) => ("select value from json_each(?2)", "run_id", sessions),
        };
        format!(
            "with recursive member(id) as ({members})
             select {columns} from events where seq in (
                 select found.seq from member cross join events as found
                 where found.seq in (
                     select seq from events
                     where {key} = member.id and ?1 < seq and {others} and {types}
                     order by seq limit ?5
                 )
             )
             order by seq limit ?5"
        )
    }
}

/// The runs of ?2 and all below them.
const FAMILY: &str = "select value from json_each(?2)
    union select runs.run_id from member join runs on runs.parent_run_id = member.id";

fn type_fits(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => kind.starts_with(beginning),
        None => pattern == kind,
    }
}

/// Runs and all below them, as of a place in the log. As large as the trees that were asked for.
#[derive(Debug, Default)]
pub(super) struct RunFamily(HashSet<RunId>);

impl RunFamily {
    pub fn new(runs: impl IntoIterator<Item = RunId>) -> RunFamily {
        RunFamily(runs.into_iter().collect())
    }

    /// True if the run belongs to it. One that begins does when its parent does.
    fn takes_in(&mut self, run: &RunId, parent: Option<&RunId>) -> bool {
        if self.0.contains(run) {
            return true;
        }
        let is_child = parent.is_some_and(|parent| self.0.contains(parent));
        if is_child {
            self.0.insert(run.clone());
        }
        is_child
    }
}
