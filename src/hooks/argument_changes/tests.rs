//! Hooks that agree come to an end, those that do not are told so, and each has judged what runs.

use serde_json::json;

use super::*;

/// A hook as a function of the arguments that it reads; `None` = it wants no change.
#[derive(Clone, Copy, Debug)]
enum Changer {
    /// Adds a line to an argument, once.
    AddsOnce(&'static str, char),
    /// Adds one each time.
    Adds(&'static str, char),
    /// Wants just this.
    Wants(&'static str, &'static str),
    /// Has nothing to say.
    Looks,
}

use Changer::{Adds, AddsOnce, Looks, Wants};

impl Changer {
    fn wants(self, arguments: &Value) -> Option<Value> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let mut wanted = arguments.clone();
        match self {
            AddsOnce(name, line) if text(name).contains(line) => (),
            AddsOnce(name, line) | Adds(name, line) => wanted[name] = json!(format!("{}{line}", text(name))),
            Wants(name, value) => wanted[name] = json!(value),
            Looks => (),
        }
        (wanted != *arguments).then_some(wanted)
    }
}

fn id(at: usize) -> HookId {
    HookId(format!("h{at}").into())
}

/// What became of a call, and every question that was asked for it.
#[derive(Debug)]
struct Settled {
    end: Result<Value, Disagreement>,
    asked: Vec<Vec<usize>>,
    /// Each hook with the arguments that it judged or made.
    judged: Vec<(HookId, Value)>,
}

fn settle(hooks: &[Changer], first: Value) -> Settled {
    let all: Vec<HookId> = (0..hooks.len()).map(id).collect();
    let mut changes = ArgumentChanges::new(first.clone());
    let (mut arguments, mut next) = (first, all.clone());
    let (mut asked, mut judged) = (Vec::new(), Vec::new());
    loop {
        let numbers: Vec<usize> = (0..hooks.len()).filter(|at| next.contains(&id(*at))).collect();
        judged.extend(next.iter().map(|hook| (hook.clone(), arguments.clone())));
        let wanted = numbers.iter().filter_map(|at| Some((id(*at), hooks[*at].wants(&arguments)?)));
        let wanted: Vec<(HookId, Value)> = wanted.collect();
        asked.push(numbers);
        if let Some(joined) = changes.join(&next, &wanted) {
            judged.extend(wanted.into_iter().filter(|(hook, _)| joined.by.contains(hook)));
            arguments = joined.arguments.clone();
            if let Err(disagreement) = changes.advance(&joined, arguments.clone()) {
                return Settled { end: Err(disagreement), asked, judged };
            }
        }
        next = changes.next(&all);
        if next.is_empty() {
            return Settled { end: Ok(arguments), asked, judged };
        }
    }
}

#[test]
fn hooks_that_each_add_something_once_all_count() {
    let settled = settle(
        &[AddsOnce("content", 'h'), AddsOnce("content", 'a'), AddsOnce("content", 'b')],
        json!({ "content": "x" }),
    );
    assert_eq!(settled.end, Ok(json!({ "content": "xbah" })));
    // First those whose change did not count; who has seen what it came to is not asked about that again.
    assert_eq!(settled.asked, [vec![0, 1, 2], vec![0, 1], vec![0], vec![1, 2]]);
    let many: Vec<Changer> = ('a'..='t').map(|line| AddsOnce("content", line)).collect();
    let settled = settle(&many, json!({ "content": "" }));
    assert_eq!(settled.end, Ok(json!({ "content": ('a'..='t').rev().collect::<String>() })));
}

#[test]
fn changes_of_different_arguments_count_together() {
    let settled =
        settle(&[Wants("path", "p"), AddsOnce("content", 'c'), Looks], json!({ "path": "x", "content": "" }));
    assert_eq!(settled.end, Ok(json!({ "path": "p", "content": "c" })));
    // None of them has made just this.
    assert_eq!(settled.asked, [vec![0, 1, 2], vec![0, 1, 2]]);
    let same = settle(&[Wants("path", "p"), Wants("path", "p"), Looks], json!({ "path": "x" }));
    assert_eq!(same.end, Ok(json!({ "path": "p" })));
    assert_eq!(same.asked, [vec![0, 1, 2], vec![2]]);
}

/// A hook may take an argument away, too.
#[test]
fn an_argument_that_is_gone_is_a_change_of_it() {
    let mut changes = ArgumentChanges::new(json!({ "a": 1, "b": 2 }));
    let joined =
        changes.join(&[id(0), id(1)], &[(id(0), json!({ "a": 1 })), (id(1), json!({ "a": 1, "b": 3 }))]);
    let joined = joined.unwrap();
    assert_eq!((&joined.arguments, &*joined.by), (&json!({ "a": 1, "b": 3 }), &[id(1)][..]));
    assert_eq!(joined.outdone, [(id(0), id(1))]);
}

#[test]
fn to_and_fro_names_who_undoes_what() {
    let why = |hooks: &[Changer]| settle(hooks, json!({ "path": "x", "content": "" })).end.unwrap_err();
    let told = why(&[Wants("path", "p"), Wants("path", "q"), Looks]);
    assert_eq!(told.why, "the hooks h1 and h0 undo each other's change of `path`");
    assert_eq!(told.hooks, [id(1), id(0)]);
    let told = why(&[Adds("content", 'a'), Adds("content", 'b')]);
    assert_eq!(
        told.why,
        "the hooks h1 and h0 change `content` anew each time that they are asked, and after 6 changes there is no end to it"
    );
}

#[test]
fn what_hooks_read_as_it_was_is_no_change() {
    let mut changes = ArgumentChanges::new(json!({ "path": "a" }));
    let wanted = [(id(0), json!({ "path": "b" })), (id(1), json!({ "path": "./a" }))];
    let joined = changes.join(&[id(0), id(1)], &wanted).unwrap();
    assert_eq!(changes.advance(&joined, json!({ "path": "a" })), Ok(false));
    // The other one, whose change did not count, is asked again, and nobody else.
    assert_eq!(changes.next(&[id(0), id(1)]), [id(0)]);
}

/// Numbers that are the same in each run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }
}

/// Whatever hooks do: it ends, each has judged what runs or has made just that, and the same hooks come to the same.
#[test]
fn nothing_runs_that_a_guard_has_not_judged() {
    let kinds = [
        AddsOnce("a", '1'),
        AddsOnce("a", '2'),
        AddsOnce("b", '3'),
        Adds("b", '4'),
        Wants("a", "w"),
        Wants("c", "v"),
        Wants("c", "u"),
        Looks,
    ];
    let mut dice = Dice(7);
    let (mut n_settled, mut n_denied) = (0, 0);
    for trial in 0..4_000 {
        let hooks: Vec<Changer> = (0..1 + dice.roll(6)).map(|_| kinds[dice.roll(kinds.len())]).collect();
        let first = json!({ "a": "", "b": "", "c": "v" });
        let settled = settle(&hooks, first.clone());
        assert!(settled.asked.len() <= 2 * MOST_CHANGES, "trial {trial}: {hooks:?}: {settled:?}");
        match &settled.end {
            Ok(runs) => {
                for at in 0..hooks.len() {
                    let has = settled.judged.contains(&(id(at), runs.clone()));
                    assert!(has, "trial {trial}: {hooks:?} h{at}: {settled:?}");
                }
                n_settled += 1;
            }
            Err(disagreement) => {
                assert!(!disagreement.hooks.is_empty(), "trial {trial}: {hooks:?}");
                n_denied += 1;
            }
        }
        // Hooks that agree are never denied.
        if hooks.iter().all(|hook| matches!(hook, AddsOnce(..) | Looks)) {
            assert!(settled.end.is_ok(), "trial {trial}: {hooks:?}: {settled:?}");
        }
        assert_eq!(settle(&hooks, first).end, settled.end, "trial {trial}");
    }
    assert!(200 < n_settled && 200 < n_denied, "{n_settled} {n_denied}");
}
