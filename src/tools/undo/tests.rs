//! Does a change become undone, byte for byte, and only where nobody was there since?

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use super::*;
use crate::{Permit, run, tests::Bench};
use protocol::ToolEffect;

/// Runs a call and gives its change.
async fn change(bench: &Bench, call: &str, tool: &str, arguments: Value) -> FileChanged {
    let invocation = bench.prepare(tool, arguments).await.unwrap();
    let permit = Permit::mint(call.into(), invocation.accesses().to_vec());
    let result = run(invocation, permit, bench.call_context()).await;
    assert_eq!(result.error, None, "{tool}");
    let changes: Vec<_> = result
        .effects
        .into_iter()
        .filter_map(|effect| match effect {
            ToolEffect::File(changed) => Some(changed),
            _ => None,
        })
        .collect();
    <[FileChanged; 1]>::try_from(changes).unwrap()[0].clone()
}

fn undo(bench: &Bench, change: &FileChanged, force: bool) -> Result<RestoredChange, String> {
    let undone = bench.own_files.undo().restore(&"s1".into(), change, force);
    let root = bench.root().display().to_string();
    undone.map_err(|error| error.to_string().replace(&root, "ROOT"))
}

/// Every file and folder below a folder, with mode and content.
fn tree(folder: &Path) -> BTreeMap<String, (u32, Option<Vec<u8>>)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            let content = if path.is_dir() {
                folders.push(path.clone());
                None
            } else {
                Some(fs::read(&path).unwrap())
            };
            tree.insert(path.strip_prefix(folder).unwrap().display().to_string(), (mode, content));
        }
    }
    tree
}

#[tokio::test]
async fn each_kind_of_change_is_undone_with_mode_and_folders() {
    let bench = Bench::new(&[("a.txt", "one\n"), ("deep/b.sh", "#!/bin/sh\n"), ("c", "c")]);
    fs::set_permissions(bench.root().join("deep/b.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    let before = tree(&bench.root());
    let changes = [
        change(&bench, "c1", "write_file", json!({"path": "a.txt", "content": "two\n"})).await,
        change(
            &bench,
            "c2",
            "edit_file",
            json!({"path": "deep/b.sh", "oldString": "sh", "newString": "bash",
            "expectedReplacements": 1}),
        )
        .await,
        change(&bench, "c3", "write_file", json!({"path": "new/er/file", "content": "x"})).await,
        change(&bench, "c4", "move_file", json!({"from": "c", "to": "other/place"})).await,
        change(&bench, "c5", "delete_file", json!({"path": "deep/b.sh"})).await,
    ];
    fs::remove_dir(bench.root().join("deep")).unwrap();
    assert_eq!(
        changes.iter().map(|it| it.change).collect::<Vec<_>>(),
        [
            FileChange::Modified,
            FileChange::Modified,
            FileChange::Created,
            FileChange::Moved,
            FileChange::Deleted
        ]
    );
    for change in changes.iter().rev() {
        let restored = undo(&bench, change, false).unwrap();
        assert_eq!((restored.forced, restored.was_there), (false, false), "{}", restored.path);
        // A second time there is nothing to do.
        assert!(undo(&bench, change, false).unwrap().was_there);
    }
    assert_eq!(tree(&bench.root()), before);
}

#[tokio::test]
async fn what_a_person_changed_since_is_a_conflict_unless_forced() {
    let bench = Bench::new(&[("a", "1"), ("b", "1"), ("d", "1"), ("m", "1")]);
    let before = tree(&bench.root());
    let changes = [
        change(&bench, "c1", "write_file", json!({"path": "a", "content": "2"})).await,
        change(&bench, "c2", "write_file", json!({"path": "b", "content": "2"})).await,
        change(&bench, "c3", "write_file", json!({"path": "c", "content": "2"})).await,
        change(&bench, "c4", "delete_file", json!({"path": "d"})).await,
        change(&bench, "c5", "move_file", json!({"from": "m", "to": "n"})).await,
    ];
    bench.write("a", "3");
    fs::remove_file(bench.root().join("b")).unwrap();
    bench.write("c", "3");
    bench.write("d", "3");
    bench.write("m", "3");
    let there = tree(&bench.root());
    let refused: Vec<String> = changes.iter().map(|it| undo(&bench, it, false).unwrap_err()).collect();
    expect_test::expect![[r#"
        `ROOT/a` was changed since: its content is another; undoing would lose that
        `ROOT/b` was changed since: it is gone; undoing would lose that
        `ROOT/c` was changed since: its content is another; undoing would lose that
        `ROOT/d` was changed since: something is there again; undoing would lose that
        `ROOT/m` is there again, so moving `ROOT/n` back to it would overwrite it"#]]
    .assert_eq(&refused.join("\n"));
    assert_eq!(tree(&bench.root()), there, "refusing changes nothing");
    for change in &changes {
        assert!(undo(&bench, change, true).unwrap().forced);
    }
    assert_eq!(tree(&bench.root()), before);
}

#[tokio::test]
async fn what_is_put_back_goes_through_the_boundary() {
    let bench = Bench::new(&[("sub/a", "1")]);
    let changed = change(&bench, "c1", "delete_file", json!({"path": "sub/a"})).await;
    fs::remove_dir(bench.root().join("sub")).unwrap();
    bench.link("sub", bench.outside());
    assert!(undo(&bench, &changed, true).is_err());
    assert!(!bench.outside().join("a").exists());
    fs::remove_file(bench.root().join("sub")).unwrap();
    fs::create_dir(bench.root().join("sub")).unwrap();
    bench.link("sub/a", bench.outside().join("a"));
    assert!(undo(&bench, &changed, true).is_err());
    assert!(!bench.outside().join("a").exists());
}

#[tokio::test]
async fn what_is_not_kept_or_damaged_is_told() {
    let bench = Bench::new(&[("a", "1")]);
    let changed = change(&bench, "c1", "write_file", json!({"path": "a", "content": "2"})).await;
    let store = bench.own_files.undo();
    for undo_id in ["c1:1", "c1:100000", "c1", "c2:0", "c1:../0", "c1:0/"] {
        let other = FileChanged { undo_id: undo_id.to_owned(), ..changed.clone() };
        assert!(matches!(store.restore(&"s1".into(), &other, true), Err(UndoError::NotKept(_))), "{undo_id}");
    }
    for session in ["../s1", "", "s1/", ".."] {
        assert!(matches!(store.restore(&session.into(), &changed, true), Err(UndoError::NotKept(_))));
        bench.own_files.artifacts().forget_session(&session.into()).unwrap();
    }
    let folder = bench.outside().join("state/artifacts/s1/undo/c1");
    let private = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((private(&folder), private(&folder.join("0.before"))), (0o700, 0o600));
    fs::write(folder.join("0.before"), "another").unwrap();
    assert!(matches!(store.restore(&"s1".into(), &changed, true), Err(UndoError::Damaged(_))));
    assert_eq!(fs::read(bench.root().join("a")).unwrap(), b"2");
    bench.own_files.artifacts().forget_session(&"s1".into()).unwrap();
    assert!(matches!(store.restore(&"s1".into(), &changed, true), Err(UndoError::NotKept(_))));
}

#[tokio::test]
async fn an_interrupted_call_is_told_by_what_is_in_the_file() {
    let bench = Bench::new(&[("a", "1"), ("m", "1")]);
    let store = bench.own_files.undo();
    let known = |call: &str| -> Vec<InterruptedChangeState> {
        store.known(&"s1".into(), &call.into()).into_iter().map(|it| it.known).collect()
    };
    let changed = change(&bench, "c1", "write_file", json!({"path": "a", "content": "2"})).await;
    let moved = change(&bench, "c2", "move_file", json!({"from": "m", "to": "n"})).await;
    assert_eq!((known("c1"), known("c3")), (vec![InterruptedChangeState::Written], vec![]));
    // As after a crash: the change was announced, and whether it was made nobody wrote down.
    for call in ["c1", "c2"] {
        fs::remove_file(bench.outside().join(format!("state/artifacts/s1/undo/{call}/0.done"))).unwrap();
        assert_eq!(known(call), [InterruptedChangeState::Written]);
    }
    assert_eq!(store.known(&"s1".into(), &"c1".into())[0].changed, changed);
    assert_eq!(store.known(&"s1".into(), &"c2".into())[0].changed, moved);
    bench.write("a", "1");
    fs::rename(bench.root().join("n"), bench.root().join("m")).unwrap();
    assert_eq!(
        (known("c1"), known("c2")),
        (vec![InterruptedChangeState::NotBegun], vec![InterruptedChangeState::NotBegun])
    );
    bench.write("a", "3");
    bench.write("n", "1");
    assert_eq!(
        (known("c1"), known("c2")),
        (vec![InterruptedChangeState::Unknown], vec![InterruptedChangeState::Unknown])
    );
}

#[tokio::test]
async fn a_change_that_failed_leaves_nothing_to_undo() {
    let bench = Bench::new(&[("a", "1")]);
    let invocation = bench.prepare("write_file", json!({"path": "a", "content": "2"})).await.unwrap();
    bench.write("a", "3");
    let permit = Permit::mint("c1".into(), invocation.accesses().to_vec());
    let result = run(invocation, permit, bench.call_context()).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::FileChanged);
    assert!(result.effects.is_empty());
    assert!(bench.own_files.undo().known(&"s1".into(), &"c1".into()).is_empty());
}

/// A small generator, so that a failure can be had again by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[tokio::test]
async fn a_hundred_random_changes_are_undone_byte_for_byte() {
    // Each change syncs several files, so the usual suite takes one seed.
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    for seed in [0x5eed, 1, 987_654_321].into_iter().take(if is_full { 3 } else { 1 }) {
        hundred_changes(seed).await;
    }
}

async fn hundred_changes(seed: u64) {
    let mut random = Random(seed);
    let bench = Bench::new(&[("a.txt", "one\r\ntwo\r\n"), ("src/b.rs", "fn main() {}"), ("c.bin", "\0\x01")]);
    bench.write("utf16.txt", b"\xff\xfeh\0i\0\n\0");
    bench.write("latin.txt", b"caf\xe9 au lait, s'il vous pla\xeet\n");
    fs::set_permissions(bench.root().join("src/b.rs"), fs::Permissions::from_mode(0o640)).unwrap();
    let mut trees = vec![tree(&bench.root())];
    let mut changes = Vec::new();
    while changes.len() < 100 {
        let files: Vec<String> = tree(&bench.root())
            .into_iter()
            .filter(|(_, (_, content))| content.is_some())
            .map(|(path, _)| path)
            .collect();
        let number = changes.len();
        let some = files.get(random.below(files.len().max(1))).cloned().unwrap_or_else(|| "first".to_owned());
        let fresh = format!("{}/{number}.txt", ["new", "src", "new/deep", "."][random.below(4)]);
        let (tool, arguments) = match random.below(6) {
            0 => ("write_file", json!({"path": fresh, "content": format!("line {number}\nlast")})),
            1 => ("write_file", json!({"path": some, "content": format!("whole {number}\n")})),
            2 => ("edit_file", json!({"path": fresh, "oldString": "", "newString": format!("e{number}\n")})),
            3 => (
                "edit_file",
                json!({"path": some, "oldString": "e", "newString": format!("e{number}"),
                "replaceAll": true}),
            ),
            4 => ("delete_file", json!({"path": some})),
            _ => ("move_file", json!({"from": some, "to": fresh})),
        };
        let Ok(invocation) = bench.prepare(tool, arguments).await else { continue };
        let permit = Permit::mint(format!("call-{number}").into(), invocation.accesses().to_vec());
        let result = run(invocation, permit, bench.call_context()).await;
        assert_eq!(result.error, None, "seed {seed}, change {number}");
        let [ToolEffect::File(changed)] = &result.effects[..] else {
            panic!("seed {seed}: {:?}", result.effects)
        };
        changes.push(changed.clone());
        trees.push(tree(&bench.root()));
    }
    // Somebody edits what the last of the changes left; that one is refused, until it is as it was.
    let last = changes.iter().rev().find(|it| it.after.is_some()).unwrap();
    let is_last = changes.last() == Some(last);
    let content = fs::read(&last.path).unwrap();
    fs::write(&last.path, "by a person").unwrap();
    if is_last {
        assert!(undo(&bench, last, false).is_err(), "seed {seed}");
    }
    fs::write(&last.path, content).unwrap();
    while let Some(change) = changes.pop() {
        trees.pop();
        let number = changes.len();
        assert!(!undo(&bench, &change, false).unwrap().was_there, "seed {seed}, change {number}: {change:?}");
        assert_eq!(Some(&tree(&bench.root())), trees.last(), "seed {seed}, change {number}: {change:?}");
    }
}
