//! What list_directory says.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tests::{Bench, os_path};
use protocol::ToolErrorType;

fn bench() -> Bench {
    let bench = Bench::new(&[
        ("b.txt", "12345"),
        ("A.txt", ""),
        ("zoo/x", ""),
        ("src/x", ""),
        (".gitignore", "*.log\n"),
        ("a.log", ""),
        ("b.log", ""),
    ]);
    bench.link("link", "src");
    for name in ["b.txt", "A.txt", ".gitignore", "a.log", "b.log"] {
        bench.age(name, Duration::from_secs(1_700_000_000));
    }
    bench
}

async fn check(arguments: Value, expected: Expect) {
    let text = bench().text("list_directory", arguments).await;
    // Folders have the time at which the test made them.
    let stable = |line: &str| match line.split_once("/\t-\t") {
        Some((name, _)) => format!("{name}/|-|TIME"),
        None => line.replace('\t', "|"),
    };
    expected.assert_eq(&text.lines().map(stable).collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn folders_come_first_and_ignored_entries_are_counted() {
    check(
        json!({}),
        expect![[r#"
            src/|-|TIME
            zoo/|-|TIME
            .gitignore|6|2023-11-14T22:13:20Z
            A.txt|0|2023-11-14T22:13:20Z
            b.txt|5|2023-11-14T22:13:20Z
            link -> src|-|-
            [2 ignored entries are not shown]"#]],
    )
    .await;
}

#[tokio::test]
async fn patterns_leave_names_out_and_git_can_be_left_aside() {
    check(
        json!({"ignore": ["*.TXT", "z*", "src/", ".*"], "respect_git_ignore": false}),
        expect![[r#"
            a.log|0|2023-11-14T22:13:20Z
            b.log|0|2023-11-14T22:13:20Z
            link -> src|-|-"#]],
    )
    .await;
}

#[tokio::test]
async fn a_bad_pattern_is_named() {
    check(
        json!({"ignore": ["fine", "[bad"]}),
        expect![[r#"INVALID_TOOL_PARAMS: /ignore/1: not a glob pattern: error parsing glob '[bad': unclosed character class; missing ']'"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_folder_is_an_error() {
    let bench = bench();
    let kind =
        async |path: &str| bench.call("list_directory", json!({"path": path})).await.error.unwrap().kind;
    assert_eq!(kind("b.txt").await, ToolErrorType::LsExecutionError);
    assert_eq!(kind("missing").await, ToolErrorType::FileNotFound);
    assert_eq!(kind("/etc").await, ToolErrorType::PathNotInWorkspace);
}

#[tokio::test]
async fn a_large_folder_is_cut_with_the_total() {
    let bench = Bench::new(&[]);
    for index in 0..1100 {
        bench.write(format!("f{index:04}"), "");
    }
    let text = bench.text("list_directory", json!({})).await;
    assert!(text.ends_with("[1000 of 1100 entries shown; glob finds the others by name]"), "{text}");
    assert!(text.contains("f0999\t") && !text.contains("f1000\t"));
    assert!(Bench::new(&[]).text("list_directory", json!({})).await.contains("nothing to show"));
}

#[tokio::test]
async fn a_name_that_is_no_text_can_be_read_by_what_the_listing_says() {
    let bench = Bench::new(&[]);
    bench.write(os_path(b"sub/caf\xe9"), "hello");
    let listing = bench.text("list_directory", json!({"path": "sub"})).await;
    let (_, rest) = listing.split_once('[').unwrap();
    let (path, _) = rest.split_once(']').unwrap();
    assert_eq!(bench.text("read_file", json!({ "path": path })).await, "hello");
}

#[tokio::test]
async fn patterns_with_thousands_of_braces_are_refused_and_those_of_ignore_files_passed_over() {
    let nested = format!("{}a{}", "{".repeat(20_000), "}".repeat(20_000));
    for pattern in
        [nested.clone(), "{".repeat(20_000), "{a,".repeat(300) + &"}".repeat(300), "a".repeat(2_000)]
    {
        let error = bench().prepare("list_directory", json!({ "ignore": [pattern] })).await.err().unwrap();
        assert_eq!(error.kind, ToolErrorType::InvalidToolParams);
        assert!(error.message.contains("/ignore/0: not a glob pattern"), "{}", error.message);
    }
    let lines = format!("{nested}\n*.log\n");
    let bench =
        Bench::new(&[(".gitignore", &lines), (".subagentignore", &nested), ("a.log", ""), ("b.txt", "")]);
    let text = bench.text("list_directory", json!({})).await;
    assert!(text.contains("b.txt") && !text.contains("a.log"), "{text}");
}
