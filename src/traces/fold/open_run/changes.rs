//! Changes of a call's arguments: hooks and people make them one after the other, and the log tells what some of them came to.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use protocol::{ArgumentChange, Timestamp, ToolSpan};
use serde_json::Value;

use crate::said::PERSON;

/// The author of a change, where that is a hook.
const HOOK: &str = "hook";

/// Names of arguments that are told of a change: a tool may take any, and as many.
const MOST_NAMES: usize = 16;
/// Characters that are told of each.
const NAME_SHOWN: usize = 80;
/// Stands for what is left out.
const MORE: &str = "…";

/// Changes of which the log has not told yet what they came to.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    changes: Vec<ArgumentChange>,
    /// A digest of each argument as the log told it last.
    known: BTreeMap<String, u64>,
}

impl PendingChanges {
    /// The changes of a call that was asked for with these arguments.
    pub(super) fn of(arguments: &Value) -> PendingChanges {
        PendingChanges { changes: Vec::new(), known: digests(arguments) }
    }

    pub(super) fn hook(&mut self, id: &str, at: Timestamp) {
        let is_told_last = self.changes.last().is_some_and(|last| last.source == HOOK && last.name == id);
        if !is_told_last {
            self.changes.push(change(HOOK, id, at));
        }
    }

    /// The guards that were asked about what the person made of it may have been told before.
    pub(super) fn person(&mut self, client: &str, at: Timestamp) {
        let later = self.changes.iter().position(|change| at <= change.at).unwrap_or(self.changes.len());
        self.changes.insert(later, change(PERSON, client, at));
    }

    /// Nothing came of them: the call was refused, or goes on as it was.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
    }

    /// The changes that came to these arguments; none where these are what they were.
    pub(super) fn settle(&mut self, now: &Value) -> Vec<ArgumentChange> {
        let names = self.names(now);
        let mut changes = std::mem::take(&mut self.changes);
        if let [alone] = changes.as_mut_slice() {
            alone.arguments.clone_from(&names);
        }
        if names.is_empty() { Vec::new() } else { changes }
    }

    /// The same where the log tells what the person made of it, before a hook changed that.
    pub(super) fn settle_edit(&mut self, edited: &Value, now: &Value) -> Vec<ArgumentChange> {
        let by_person = self.names(edited);
        let by_hooks = self.names(now);
        let mut changes = std::mem::take(&mut self.changes);
        let is_one = changes.iter().filter(|change| change.source == HOOK).count() == 1;
        for change in &mut changes {
            match change.source.as_str() {
                PERSON => change.arguments.clone_from(&by_person),
                _ if is_one => change.arguments.clone_from(&by_hooks),
                _ => {}
            }
        }
        changes
    }

    /// The names of the arguments that are other ones than they were; they are known from then on.
    fn names(&mut self, now: &Value) -> Vec<String> {
        let now = digests(now);
        let before = std::mem::replace(&mut self.known, now);
        let names = before.keys().chain(self.known.keys().filter(|name| !before.contains_key(*name)));
        bounded(names.filter(|name| before.get(*name) != self.known.get(*name)))
    }
}

/// As many of the names as a span keeps.
fn bounded<'a>(mut names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let cut = |name: &String| match name.char_indices().nth(NAME_SHOWN) {
        Some((end, _)) => format!("{}{MORE}", &name[..end]),
        None => name.clone(),
    };
    let mut told: Vec<String> = names.by_ref().take(MOST_NAMES).map(cut).collect();
    told.extend(names.next().map(|_| MORE.to_owned()));
    told
}

/// Adds changes to those of a call.
pub(super) fn add(tool: &mut ToolSpan, changes: Vec<ArgumentChange>) {
    for change in &changes {
        if !tool.changed_by.contains(&change.name) {
            tool.changed_by.push(change.name.clone());
        }
    }
    tool.changes.extend(changes);
}

fn change(source: &str, name: &str, at: Timestamp) -> ArgumentChange {
    ArgumentChange { source: source.to_owned(), name: name.to_owned(), at, arguments: Vec::new() }
}

/// Perf: long arguments are not kept twice.
fn digests(arguments: &Value) -> BTreeMap<String, u64> {
    let digest = |value: &Value| {
        let mut hasher = DefaultHasher::new();
        value.to_string().hash(&mut hasher);
        hasher.finish()
    };
    arguments.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), digest(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn names_of_changed_arguments_are_bounded() {
        let many: Map<String, Value> =
            (0..5_000).map(|at| (format!("{at:04}{}", "ü".repeat(300)), json!(at))).collect();
        let mut changes = PendingChanges::of(&json!({}));
        let names = changes.names(&Value::Object(many));
        assert_eq!(names.len(), MOST_NAMES + 1);
        assert_eq!(names[0], format!("0000{}{MORE}", "ü".repeat(NAME_SHOWN - 4)));
        assert_eq!(names[MOST_NAMES], MORE);
        let few = changes.names(&json!({ "path": "a" }));
        assert!(few.contains(&MORE.to_owned()), "{few:?}");
        assert_eq!(changes.names(&json!({ "path": "b", "content": "c" })), ["path", "content"]);
    }
}
