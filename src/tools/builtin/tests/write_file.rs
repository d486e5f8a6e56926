//! What write_file makes of a file.

use std::fs;

use expect_test::expect;
use serde_json::json;

use crate::tests::{Bench, path_bytes};
use protocol::{ConfirmationDetails, FileChange, ResourceAccess, ToolEffect, ToolErrorType};

#[tokio::test]
async fn files_are_created_and_replaced() {
    let bench = Bench::new(&[("there", "old\n")]);
    let mut said = Vec::new();
    for (path, content) in [
        ("new/er/f", "a\nb"),
        ("there", "new\n"),
        ("there", "new\n"),
        ("e", ""),
        (".", "x"),
        ("there/x", "y"),
        ("../x", "y"),
    ] {
        said.push(bench.text("write_file", json!({"path": path, "content": content})).await);
    }
    said.push(bench.text("Write", json!({"file_path": path_bytes(b"caf\xe9"), "content": "x"})).await);
    expect![[r#"
        Created `new/er/f`: +2 -0 lines.
        Replaced the content of `there`: +1 -1 lines.
        EDIT_NO_CHANGE: `there` has this content already
        Created `e`: +0 -0 lines.
        TARGET_IS_DIRECTORY: `.` is a folder, not a file
        FILE_WRITE_FAILURE: `there/x` cannot be there: a part of the path is a file, or a link
        PATH_NOT_IN_WORKSPACE: `../x` is not a path inside of the workspace: the workspace is `ROOT`
        Created `caf� [path-bytes:Y2Fm6Q]`: +1 -0 lines."#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(fs::read_to_string(bench.root().join("new/er/f")).unwrap(), "a\nb");
    assert_eq!(fs::read_to_string(bench.root().join("there")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(bench.root().join("e")).unwrap(), "");
    assert!(!bench.outside().join("x").exists());
}

#[tokio::test]
async fn a_file_keeps_its_line_ends_encoding_and_mark() {
    let bench =
        Bench::new(&[("crlf", "a\r\nb\r\n"), ("lf", "a\nb\n"), ("mixed", "a\r\nb\n"), ("bom", "\u{feff}a")]);
    bench.write("latin", b"voil\xe0, c'est tr\xe8s bon\n");
    bench.write("utf16", b"\xff\xfea\0");
    for (path, content, after) in [
        ("crlf", "1\n2\r\n3", &b"1\r\n2\r\n3"[..]),
        ("lf", "1\r\n2\n", b"1\n2\n"),
        ("mixed", "1\n2\r\n", b"1\n2\r\n"),
        ("bom", "b", b"\xef\xbb\xbfb"),
        ("latin", "\u{e9}t\u{e9}", b"\xe9t\xe9"),
        ("utf16", "b\n", b"\xff\xfeb\0\n\0"),
    ] {
        let result = bench.call("write_file", json!({"path": path, "content": content})).await;
        assert_eq!(result.error, None);
        let there = fs::read(bench.root().join(path)).unwrap();
        assert_eq!(there.escape_ascii().to_string(), after.escape_ascii().to_string(), "{path}");
    }
    bench.write("latin", b"voil\xe0, c'est tr\xe8s bon\n");
    expect![[r#"
        Replaced the content of `latin`: +1 -1 lines.
        Note: It was written in windows-1252, which has no room for some character; it is UTF-8 now."#]]
    .assert_eq(&{
        bench.call("read_file", json!({"path": "latin"})).await;
        bench.text("write_file", json!({"path": "latin", "content": "🙂\n"})).await
    });
    assert_eq!(fs::read(bench.root().join("latin")).unwrap(), "🙂\n".as_bytes());
}

#[tokio::test]
async fn a_file_the_model_never_read_may_be_replaced_and_one_that_changed_not() {
    let bench = Bench::new(&[("f", "one")]);
    let write = |content: &str| json!({"path": "f", "content": content});
    assert_eq!(bench.call("write_file", write("two")).await.error, None);
    bench.write("f", "by a person");
    let refused = bench.call("write_file", write("three")).await;
    assert_eq!(refused.error.unwrap().kind, ToolErrorType::FileChanged);
    assert_eq!(fs::read_to_string(bench.root().join("f")).unwrap(), "by a person");
}

#[tokio::test]
async fn who_comes_first_to_a_new_name_keeps_it() {
    let bench = Bench::new(&[]);
    let invocation = bench.prepare("write_file", json!({"path": "a/f", "content": "x"})).await.unwrap();
    let accesses = [
        ResourceAccess::Write { path: bench.root().join("a/f") },
        ResourceAccess::Write { path: bench.root().join("a") },
    ];
    assert_eq!(invocation.accesses(), accesses);
    assert_eq!(invocation.description(), "a/f, new, +1 -0 lines");
    bench.write("a/f", "by a person");
    assert_eq!(bench.run(invocation).await.error.unwrap().kind, ToolErrorType::FileChanged);
    assert_eq!(fs::read_to_string(bench.root().join("a/f")).unwrap(), "by a person");
}

#[tokio::test]
async fn a_new_file_is_shown_as_one_and_told_as_one() {
    let bench = Bench::new(&[]);
    let invocation = bench.prepare("write_file", json!({"path": "f", "content": "a\nb"})).await.unwrap();
    let Some(ConfirmationDetails::Edit { diff, old_content, new_content, .. }) = invocation.confirmation()
    else {
        panic!("an edit is shown as one")
    };
    assert_eq!((old_content, new_content.as_deref()), (None, Some("a\nb")));
    expect![[r#"
        --- /dev/null
        +++ b/f
        @@ -0,0 +1,2 @@
        +a
        +b
        \ No newline at end of file
    "#]]
    .assert_eq(&diff);
    assert_eq!(invocation.with_content("c").unwrap(), json!({"path": "f", "content": "c"}));
    let result = bench.run(invocation).await;
    expect![[r#"
        ```diff
        --- /dev/null
        +++ b/f
        @@ -0,0 +1,2 @@
        +a
        +b
        \ No newline at end of file
        ```
        {"created":true,"added":2,"removed":0}"#]]
    .assert_eq(&format!("{}\n{}", result.return_display.unwrap(), result.data.unwrap()));
    let [ToolEffect::File(changed)] = &result.effects[..] else { panic!("{:?}", result.effects) };
    assert_eq!(
        (changed.change, changed.before.as_deref(), changed.undo_id.as_str()),
        (FileChange::Created, None, "c1:0")
    );
    // SHA-256 of `a\nb`.
    assert_eq!(
        changed.after.as_deref(),
        Some("sha256:7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78")
    );
}

#[tokio::test]
async fn what_replaces_what_is_no_text_is_shown_whole() {
    let bench = Bench::new(&[("f", "\0\0\0")]);
    let invocation = bench.prepare("write_file", json!({"path": "f", "content": "text"})).await.unwrap();
    let Some(ConfirmationDetails::Edit { diff, old_content, new_content, .. }) = invocation.confirmation()
    else {
        panic!("an edit is shown as one")
    };
    let shown = "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+text\n\\ No newline at end of file\n";
    assert_eq!((diff.as_str(), old_content, new_content.as_deref()), (shown, None, Some("text")));
}
