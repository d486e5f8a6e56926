//! What delete_file and move_file do, and what they refuse.

use std::fs;

use expect_test::expect;
use serde_json::json;

use crate::{ToolRegistry, tests::Bench};
use protocol::{ConfirmationDetails, ReplaySafety, ResourceAccess, ToolErrorType};

#[tokio::test]
async fn one_file_is_deleted_and_no_folder() {
    let bench = Bench::new(&[("a", "1"), ("sub/b", "1")]);
    bench.link("way", "a");
    let mut said = Vec::new();
    for path in ["way", "sub", ".", "missing", "a/x", "../a"] {
        said.push(bench.text("delete_file", json!({ "path": path })).await);
    }
    expect![[r#"
        Deleted `a` (1 bytes).
        TARGET_IS_DIRECTORY: `sub` is a folder; delete_file deletes files, one at a time
        TARGET_IS_DIRECTORY: `.` is a folder; delete_file deletes files, one at a time
        FILE_NOT_FOUND: there is no `missing`
        FILE_NOT_FOUND: there is no `a/x`
        PATH_NOT_IN_WORKSPACE: `../a` is not a path inside of the workspace: the workspace is `ROOT`"#]]
    .assert_eq(&said.join("\n"));
    assert!(!bench.root().join("a").exists() && bench.root().join("sub/b").exists());
    assert!(bench.root().join("way").is_symlink(), "the file goes, not the link to it");
}

#[tokio::test]
async fn what_would_be_deleted_is_shown() {
    let bench = Bench::new(&[("a", "1\n2\n")]);
    let invocation = bench.prepare("delete_file", json!({"path": "a"})).await.unwrap();
    let Some(ConfirmationDetails::Edit { diff, old_content, new_content, .. }) = invocation.confirmation()
    else {
        panic!("it is shown as an edit")
    };
    assert_eq!((old_content.as_deref(), new_content), (Some("1\n2\n"), None));
    expect![[r#"
        --- a/a
        +++ /dev/null
        @@ -1,2 +0,0 @@
        -1
        -2
    "#]]
    .assert_eq(&diff);
    assert_eq!(invocation.description(), "a, 4 bytes");
    bench.write("a", "3");
    assert_eq!(bench.run(invocation).await.error.unwrap().kind, ToolErrorType::FileChanged);
    assert!(bench.root().join("a").exists());
}

#[tokio::test]
async fn a_file_is_moved_where_nothing_is() {
    let bench = Bench::new(&[("a", "1"), ("b", "2"), ("sub/c", "3")]);
    let mut said = Vec::new();
    for (from, to) in [
        ("a", "b"),
        ("a", "sub"),
        ("sub", "x"),
        ("a", "../x"),
        ("../x", "a"),
        ("x", "y"),
        ("a", "a"),
        ("a", "b/x"),
        ("a", "new/er/a"),
    ] {
        said.push(bench.text("move_file", json!({"from": from, "to": to})).await);
    }
    expect![[r#"
        ATTEMPT_TO_CREATE_EXISTING_FILE: `b` is there already; delete it first, or choose another name
        TARGET_IS_DIRECTORY: `sub` is a folder; give the whole path that the file is to have
        TARGET_IS_DIRECTORY: `sub` is a folder, not a file
        PATH_NOT_IN_WORKSPACE: `../x` is not a path inside of the workspace: the workspace is `ROOT`
        PATH_NOT_IN_WORKSPACE: `../x` is not a path inside of the workspace: the workspace is `ROOT`
        FILE_NOT_FOUND: there is no `x`
        ATTEMPT_TO_CREATE_EXISTING_FILE: `a` is there already; delete it first, or choose another name
        FILE_WRITE_FAILURE: `b/x` cannot be there: a part of the path is a file, or a link
        Moved a to new/er/a."#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(fs::read_to_string(bench.root().join("new/er/a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(bench.root().join("b")).unwrap(), "2");
    assert!(!bench.root().join("a").exists());
}

#[tokio::test]
async fn a_move_names_both_places_and_does_not_overwrite() {
    let bench = Bench::new(&[("a", "1")]);
    let invocation = bench.prepare("move_file", json!({"from": "a", "to": "x/b"})).await.unwrap();
    let write = |path: &str| ResourceAccess::Write { path: bench.root().join(path) };
    assert_eq!(invocation.accesses(), [write("a"), write("x/b"), write("x")]);
    let Some(ConfirmationDetails::Info { prompt }) = invocation.confirmation() else {
        panic!("it is put in words")
    };
    assert_eq!(prompt.replace(bench.root().to_str().unwrap(), "ROOT"), "Move `ROOT/a` to `ROOT/x/b`?");
    bench.write("x/b", "by a person");
    assert_eq!(bench.run(invocation).await.error.unwrap().kind, ToolErrorType::FileChanged);
    assert_eq!(fs::read_to_string(bench.root().join("x/b")).unwrap(), "by a person");
    assert_eq!(fs::read_to_string(bench.root().join("a")).unwrap(), "1");
}

#[tokio::test]
async fn what_the_model_knows_moves_along() {
    let bench = Bench::new(&[("a", "one two three\n")]);
    bench.text("read_file", json!({"path": "a"})).await;
    bench.text("move_file", json!({"from": "a", "to": "b"})).await;
    bench.write("b", "one\n");
    let edited = bench.call("edit_file", json!({"path": "b", "oldString": "one", "newString": "x"})).await;
    assert_eq!(edited.error.unwrap().kind, ToolErrorType::FileChanged);
    // And a file that is deleted is unknown again.
    bench.text("read_file", json!({"path": "b"})).await;
    bench.text("delete_file", json!({"path": "b"})).await;
    let created = bench.call("write_file", json!({"path": "b", "content": "x"})).await;
    assert_eq!(created.error, None);
}

#[test]
fn what_changes_something_is_never_run_twice() {
    let registry = ToolRegistry::built_in();
    for declaration in registry.list() {
        let expected = match declaration.kind.is_mutator() || declaration.name.as_str() == "save_memory" {
            true => ReplaySafety::Unsafe,
            false => ReplaySafety::Safe,
        };
        assert_eq!(registry.get(&declaration.name).unwrap().replay(), expected, "{}", declaration.name);
    }
}
