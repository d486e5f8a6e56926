//! What large files cost while they are changed, and who waits for whom.

use std::{fs, task::Poll};

use futures_util::poll;
use serde_json::{Value, json};

use crate::tests::Bench;
use protocol::ToolErrorType;

const LARGE: usize = 2 << 20;

fn of_large() -> (Bench, Value) {
    let bench = Bench::new(&[]);
    bench.write("f", "a".repeat(LARGE));
    (bench, json!({"path": "f", "oldString": "aa", "newString": "b", "replaceAll": true}))
}

#[tokio::test]
async fn no_edit_makes_a_file_that_is_longer_than_those_that_are_changed() {
    for old in ["a", "a\n  a"] {
        let bench = Bench::new(&[]);
        bench.write("f", "a\n".repeat(3_000));
        let arguments =
            json!({"path": "f", "oldString": old, "newString": "b".repeat(20_000), "replaceAll": true});
        let said = bench.text("edit_file", arguments).await;
        assert!(said.starts_with("FILE_TOO_LARGE: the edit would make a file of "), "{said:.200}");
        assert_eq!(fs::read(bench.root().join("f")).unwrap().len(), 6_000);
    }
}

#[tokio::test]
async fn a_large_file_is_edited_as_others_are() {
    for is_held in [true, false] {
        let (bench, arguments) = of_large();
        let _room = (!is_held).then(|| bench.own_files.changes().hold(40 << 20).unwrap());
        let invocation = bench.prepare("edit_file", arguments.clone()).await.unwrap();
        let content = invocation.with_content("c").unwrap();
        assert_eq!(content["oldString"].as_str().unwrap().len(), LARGE);
        let result = bench.run(invocation).await;
        assert_eq!(result.data.unwrap()["replacements"], json!(1_048_576));
        assert!(result.return_display.unwrap().contains("```diff"));
        assert_eq!(fs::read_to_string(bench.root().join("f")).unwrap(), "b".repeat(LARGE / 2));
        assert_eq!(bench.own_files.changes().hold(40 << 20).is_some(), is_held, "it is given back");
    }
}

#[tokio::test]
async fn a_large_file_that_is_another_when_its_turn_comes_is_not_written() {
    for (then, room) in [("aab".repeat(LARGE), 40), ("a".repeat(100), 40), ("aab".repeat(LARGE), 1)] {
        let (bench, arguments) = of_large();
        let _room = bench.own_files.changes().hold(room << 20).unwrap();
        let invocation = bench.prepare("edit_file", arguments).await.unwrap();
        bench.write("f", &then);
        assert_eq!(bench.run(invocation).await.error.unwrap().kind, ToolErrorType::FileChanged);
        assert_eq!(fs::read_to_string(bench.root().join("f")).unwrap(), then);
    }
}

#[tokio::test]
async fn large_files_come_one_after_the_other_and_small_ones_do_not_wait() {
    let (bench, arguments) = of_large();
    bench.write("small", "aa");
    let all = bench.own_files.changes().next(u64::MAX).await;
    let mut large = Box::pin(bench.prepare("edit_file", arguments.clone()));
    assert!(poll!(&mut large).is_pending());
    let small = json!({"path": "small", "oldString": "aa", "newString": "b"});
    assert!(bench.text("edit_file", small).await.starts_with("Edited"));
    assert!(poll!(&mut large).is_pending());
    drop(all);
    let invocation = large.await.unwrap();
    // What waits for a person holds up nobody.
    let all = bench.own_files.changes().next(u64::MAX).await;
    let mut running = Box::pin(bench.run(invocation));
    assert!(poll!(&mut running).is_pending());
    bench.cancel.cancel();
    let Poll::Ready(stopped) = poll!(&mut running) else { panic!("it waits on") };
    assert_eq!(stopped.error.unwrap().kind, ToolErrorType::Cancelled);
    assert_eq!(fs::read(bench.root().join("f")).unwrap().len(), LARGE);
    drop(all);
}

#[tokio::test]
async fn calls_that_replace_delete_or_move_a_large_file_take_turns_when_they_run() {
    for (tool, arguments) in [
        ("write_file", json!({"path": "f", "content": "b"})),
        ("delete_file", json!({"path": "f"})),
        ("move_file", json!({"from": "f", "to": "g"})),
    ] {
        let (bench, _) = of_large();
        let invocation = bench.prepare(tool, arguments).await.unwrap();
        let all = bench.own_files.changes().next(u64::MAX).await;
        let mut running = Box::pin(bench.run(invocation));
        assert!(poll!(&mut running).is_pending(), "{tool}");
        bench.cancel.cancel();
        let Poll::Ready(stopped) = poll!(&mut running) else { panic!("{tool} waits for something else") };
        assert_eq!(stopped.error.unwrap().kind, ToolErrorType::Cancelled, "{tool}");
        assert_eq!(fs::read(bench.root().join("f")).unwrap().len(), LARGE, "{tool}");
        drop(all);
    }
}
