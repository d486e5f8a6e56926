//! Do the hooks that change a call's arguments come to an end, and who is asked next?
//!
//! Hooks that were asked at once each saw the same arguments. All that they change counts together, as long as it is about different
//! arguments; of several changes of one argument that of the last hook counts, in the order of their origins, and the others are
//! asked again about what it made. When nobody changes anything further, all are asked that have not judged just these arguments: so
//! each has judged what runs, or has made it. Arguments that were there before are no progress: the call is denied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::HookId;

/// Changes that are more than hooks need that agree, beside one of each.
const SPARE_CHANGES: usize = 3;

/// Changes after which nobody waits for an agreement, however many hooks there are.
const MOST_CHANGES: usize = 32;

/// The arguments of one call, as hooks have changed them so far.
pub(super) struct ArgumentChanges {
    /// Invariant: never empty. Oldest first; the last is what hooks are asked about.
    states: Vec<ArgumentState>,
    /// All that wanted any change.
    changers: BTreeSet<HookId>,
    /// The hooks that have judged the last state, or have made just that.
    judged: BTreeSet<HookId>,
    /// The hooks whose change did not count, since that of another hook did.
    outdone: BTreeSet<HookId>,
}

struct ArgumentState {
    /// The arguments in the form in which hooks read them.
    arguments: Value,
    /// The hooks that made them of those before.
    by: Vec<HookId>,
}

/// Changes of one round that go together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JoinedChanges {
    /// The arguments that they make of the call's.
    pub arguments: Value,
    /// The hooks whose changes these are, in their order.
    pub by: Vec<HookId>,
    /// Hooks whose change does not count, each with one whose change does.
    pub outdone: Vec<(HookId, HookId)>,
    /// The hooks of `by` that wanted just these arguments.
    makers: Vec<HookId>,
}

/// The reason why hooks come to no agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disagreement {
    /// The hooks that go on changing it.
    pub hooks: Vec<HookId>,
    /// A clause without its end.
    pub why: String,
}

/// One argument by its name, and its value where it is there; `None` = arguments that have no names, as a whole.
type ChangedArguments<'a> = BTreeMap<Option<&'a str>, Option<&'a Value>>;

impl ArgumentChanges {
    /// None yet: hooks read these.
    pub fn new(arguments: Value) -> ArgumentChanges {
        ArgumentChanges {
            states: vec![ArgumentState { arguments, by: Vec::new() }],
            changers: BTreeSet::new(),
            judged: BTreeSet::new(),
            outdone: BTreeSet::new(),
        }
    }

    /// Joins what hooks want that were asked about the last state, in their order; `None` = nobody wants a change. Of several wishes of
    /// one hook the last has the earlier ones in it.
    pub fn join(&mut self, asked: &[HookId], wanted: &[(HookId, Value)]) -> Option<JoinedChanges> {
        self.judged.extend(asked.iter().cloned());
        self.outdone.clear();
        let mut of_each: Vec<&(HookId, Value)> = Vec::new();
        for wish in wanted {
            of_each.retain(|(hook, _)| *hook != wish.0);
            of_each.push(wish);
        }
        let now = self.now();
        let mut taken: BTreeMap<Option<&str>, (Option<&Value>, &HookId)> = BTreeMap::new();
        let mut counted: Vec<&(HookId, Value)> = Vec::new();
        let mut outdone: Vec<(HookId, HookId)> = Vec::new();
        for wish in of_each.iter().rev().copied() {
            let (hook, wanted) = wish;
            let changes = changed(now, wanted);
            if let Some(other) = in_the_way(&taken, &changes) {
                outdone.push((hook.clone(), other.clone()));
                continue;
            }
            changes.into_iter().for_each(|(name, value)| {
                taken.entry(name).or_insert((value, hook));
            });
            counted.push(wish);
        }
        if counted.is_empty() {
            return None;
        }
        counted.reverse();
        outdone.reverse();
        let arguments = with(now, taken.into_iter().map(|(name, (value, _))| (name, value)));
        let makers = counted.iter().filter(|(_, wanted)| *wanted == arguments).map(|(hook, _)| hook.clone());
        let makers = makers.collect();
        let by = counted.iter().map(|(hook, _)| hook.clone()).collect();
        self.changers.extend(of_each.iter().map(|(hook, _)| hook.clone()));
        self.outdone.extend(outdone.iter().map(|(hook, _)| hook.clone()));
        Some(JoinedChanges { arguments, by, outdone, makers })
    }

    /// From now on hooks read what was made of the call, in their form; false = it is as it was.
    pub fn advance(&mut self, joined: &JoinedChanges, shown: Value) -> Result<bool, Disagreement> {
        if *self.now() == shown {
            return Ok(false);
        }
        let same = self.states.iter().position(|state| state.arguments == shown);
        self.states.push(ArgumentState { arguments: shown, by: joined.by.clone() });
        if let Some(same) = same {
            return Err(self.to_and_fro(same));
        }
        if MOST_CHANGES.min(self.changers.len() + SPARE_CHANGES) < self.states.len() - 1 {
            return Err(self.no_end());
        }
        self.judged = joined.makers.iter().cloned().collect();
        Ok(true)
    }

    /// The hooks that are to be asked about the last state, of those that match it: first those whose change did not count, then all
    /// that have not judged it. Nobody = each has.
    pub fn next(&self, matching: &[HookId]) -> Vec<HookId> {
        let of = |is_meant: &dyn Fn(&HookId) -> bool| {
            matching.iter().filter(|hook| is_meant(hook)).cloned().collect::<Vec<_>>()
        };
        let outdone = of(&|hook| self.outdone.contains(hook));
        match outdone.is_empty() {
            true => of(&|hook| !self.judged.contains(hook)),
            false => outdone,
        }
    }

    fn now(&self) -> &Value {
        // Invariant: there is always one.
        self.states.last().map_or(&Value::Null, |state| &state.arguments)
    }

    /// The last state is the same as an earlier one.
    fn to_and_fro(&self, same: usize) -> Disagreement {
        let of_these = makers(&self.states[same + 1..]);
        // In the order in which they first changed it.
        let hooks: Vec<HookId> =
            makers(&self.states).into_iter().filter(|hook| of_these.contains(hook)).collect();
        let arguments = named_arguments(&self.states[same..]);
        let why = match &*hooks {
            [one] => format!("the hook {one} undoes its own change of {arguments}"),
            several => format!("the hooks {} undo each other's change of {arguments}", listed(several)),
        };
        Disagreement { hooks, why }
    }

    fn no_end(&self) -> Disagreement {
        let n = self.states.len() - 1;
        let mut times: BTreeMap<&HookId, usize> = BTreeMap::new();
        for hook in self.states.iter().flat_map(|state| &state.by) {
            *times.entry(hook).or_default() += 1;
        }
        let often = makers(&self.states).into_iter().filter(|hook| times.get(hook) > Some(&1));
        let hooks: Vec<HookId> = often.collect();
        let arguments = named_arguments(&self.states);
        let why = match &*hooks {
            [] => format!("hooks have changed {arguments} {n} times, and there is no end to it"),
            [one] => format!(
                "the hook {one} changes {arguments} anew each time that it is asked, and after {n} changes there is no end to it"
            ),
            several => format!(
                "the hooks {} change {arguments} anew each time that they are asked, and after {n} changes there is no end to it",
                listed(several)
            ),
        };
        // Those of the last state where none changed it twice: a record says why each did not count.
        let last = || makers(&self.states[n..]);
        Disagreement { hooks: if hooks.is_empty() { last() } else { hooks }, why }
    }
}

/// The arguments that are other ones than before.
fn changed<'a>(before: &'a Value, after: &'a Value) -> ChangedArguments<'a> {
    let (Value::Object(was), Value::Object(is)) = (before, after) else {
        return [(None, Some(after))].into();
    };
    let names: BTreeSet<&str> = was.keys().chain(is.keys()).map(String::as_str).collect();
    let differs = |name: &&str| was.get(*name) != is.get(*name);
    names.into_iter().filter(differs).map(|name| (Some(name), is.get(name))).collect()
}

/// A hook that has changed one of these arguments in another way.
fn in_the_way<'a>(
    taken: &BTreeMap<Option<&str>, (Option<&Value>, &'a HookId)>,
    changes: &ChangedArguments<'_>,
) -> Option<&'a HookId> {
    let differs = |name: &Option<&str>, value: &Option<&Value>| {
        changes.iter().any(|(other, wanted)| match (name, other) {
            (Some(name), Some(other)) => name == other && value != wanted,
            (None, None) => value != wanted,
            _ => true,
        })
    };
    taken.iter().find(|(name, (value, _))| differs(name, value)).map(|(_, (_, hook))| *hook)
}

/// The arguments with these in the place of what they were.
fn with<'a>(before: &Value, changes: impl Iterator<Item = (Option<&'a str>, Option<&'a Value>)>) -> Value {
    let mut after = before.clone();
    for (name, value) in changes {
        match (&mut after, name, value) {
            (Value::Object(fields), Some(name), Some(value)) => {
                fields.insert(name.to_owned(), value.clone());
            }
            (Value::Object(fields), Some(name), None) => {
                fields.remove(name);
            }
            (after, _, value) => *after = value.cloned().unwrap_or_default(),
        }
    }
    after
}

/// The hooks that made these states, each once, in the order in which they did.
fn makers(states: &[ArgumentState]) -> Vec<HookId> {
    let mut hooks: Vec<HookId> = Vec::new();
    for hook in states.iter().flat_map(|state| &state.by) {
        if !hooks.contains(hook) {
            hooks.push(hook.clone());
        }
    }
    hooks
}

/// The names of the arguments that these states differ in, for people.
fn named_arguments(states: &[ArgumentState]) -> String {
    let pairs = states.iter().zip(states.iter().skip(1));
    let changed = pairs.flat_map(|(before, after)| changed(&before.arguments, &after.arguments).into_keys());
    let names: BTreeSet<String> = changed.flatten().map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => "the arguments".to_owned(),
        false => listed(&names.into_iter().collect::<Vec<_>>()),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(words: &[impl ToString]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    match &*words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
