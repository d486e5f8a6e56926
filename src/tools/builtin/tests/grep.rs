//! What grep says.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    OutputLimits,
    tests::{Bench, SECRET, assert_hidden, redactor},
};
use protocol::ToolErrorType;

fn bench() -> Bench {
    let bench = Bench::new(&[
        ("src/a.rs", "fn main() {\n    retry();\n}\n\nfn retry() {}\n"),
        ("src/b.rs", "// Retry is not here\r\nlet x = 1;\r\n"),
        ("notes.md", "a.b\naxb\nretry\n"),
        (".gitignore", "target\n"),
        ("target/c.rs", "retry\n"),
    ]);
    bench.write("image.bin", b"retry\n\0\0retry\n");
    bench
}

async fn check(arguments: Value, expected: Expect) {
    expected.assert_eq(&bench().text("grep", arguments).await);
}

#[tokio::test]
async fn matches_are_told_by_file_and_line_without_regard_to_case() {
    check(
        json!({"pattern": "retry"}),
        expect![[r#"
            4 matching lines in 3 files.

            notes.md
            3: retry

            src/a.rs
            2:     retry();
            5: fn retry() {}

            src/b.rs
            1: // Retry is not here"#]],
    )
    .await;
    check(json!({"pattern": "RETRY", "caseSensitive": true}), expect!["No match for /RETRY/."]).await;
}

#[tokio::test]
async fn context_is_marked_and_gaps_are_shown() {
    check(
        json!({"pattern": "retry", "path": "src/a.rs", "before": 1}),
        expect![[r#"
            2 matching lines in 1 file.

            src/a.rs
            1- fn main() {
            2:     retry();
            --
            4- 
            5: fn retry() {}"#]],
    )
    .await;
    check(
        json!({"pattern": "x = 1", "context": 3}),
        expect![[r#"
            1 matching line in 1 file.

            src/b.rs
            1- // Retry is not here
            2: let x = 1;"#]],
    )
    .await;
}

#[tokio::test]
async fn other_outputs_are_lists() {
    check(
        json!({"pattern": "retry", "outputMode": "filesWithMatches"}),
        expect![[r#"
            3 files with matches.
            notes.md
            src/a.rs
            src/b.rs"#]],
    )
    .await;
    check(
        json!({"pattern": "retry", "output_mode": "count", "include": "*.rs"}),
        expect![[r#"
            3 matching lines in 2 files.
            src/a.rs: 2
            src/b.rs: 1"#]],
    )
    .await;
}

#[tokio::test]
async fn include_means_names_or_paths() {
    let bench = bench();
    let files = async |path: &str, include: &str| {
        let arguments =
            json!({"pattern": "retry", "path": path, "include": include, "outputMode": "filesWithMatches"});
        bench.text("grep", arguments).await.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(files(".", "*.rs").await, "src/a.rs src/b.rs");
    assert_eq!(files(".", "src/a.*").await, "src/a.rs");
    assert_eq!(files("src", "src/a.*").await, "src/a.rs");
    assert_eq!(files("src", "{a,c}.rs").await, "src/a.rs");
    assert_eq!(files(".", "!*.rs").await, "notes.md");
    assert_eq!(files(".", "**/*.md").await, "notes.md");
}

#[tokio::test]
async fn fixed_strings_and_matches_over_lines() {
    check(
        json!({"pattern": "a.b", "fixed_strings": true}),
        expect![[r#"
            1 matching line in 1 file.

            notes.md
            1: a.b"#]],
    )
    .await;
    check(
        json!({"pattern": "main\\(\\).*?\\}", "multiline": true}),
        expect![[r#"
            1 matching line in 1 file.

            src/a.rs
            1: fn main() {
            2:     retry();
            3: }"#]],
    )
    .await;
    check(
        json!({"pattern": "here$"}),
        expect![[r#"
            1 matching line in 1 file.

            src/b.rs
            1: // Retry is not here"#]],
    )
    .await;
}

#[tokio::test]
async fn a_bad_expression_is_refused_with_its_position() {
    check(
        json!({"pattern": "fn (main"}),
        expect!["INVALID_TOOL_PARAMS: /pattern: not a regular expression: unclosed group, at character 4"],
    )
    .await;
    check(
        json!({"pattern": "a\nb"}),
        expect!["INVALID_TOOL_PARAMS: /pattern: the pattern contains a line end; set `multiline` to search across lines"],
    )
    .await;
    let text = bench().text("grep", json!({"pattern": "(\\w{1000}){1000}"})).await;
    assert!(text.starts_with("INVALID_TOOL_PARAMS") && text.contains("size limit"), "{text}");
    let text = bench().text("grep", json!({"pattern": "(?<=a)b"})).await;
    assert!(text.contains("look-around") && text.ends_with(", at character 1"), "{text}");
    let text = bench().text("grep", json!({"pattern": "é\\p{Nonsense}"})).await;
    assert!(text.ends_with(", at character 2"), "{text}");
}

#[tokio::test]
async fn a_hundred_matches_a_file_are_shown_unless_told_otherwise() {
    let bench = Bench::new(&[("many", &"hit\n".repeat(250)), ("few", "hit\n")]);
    let text = bench.text("grep", json!({"pattern": "hit"})).await;
    assert!(text.starts_with("101 matching lines in 2 files.\n"));
    assert!(text.ends_with("100: hit\n[more matches in this file; the first 100 are shown]"), "{text}");
    let text = bench.text("grep", json!({"pattern": "hit", "maxMatches": 250})).await;
    assert!(text.ends_with("\n250: hit"), "{text}");
    let text = bench.text("grep", json!({"pattern": "hit", "maxMatches": 2, "context": 1})).await;
    assert!(text.contains("2: hit\n[more matches"), "{text}");
    let text = bench.text("grep", json!({"pattern": "hit", "outputMode": "count"})).await;
    assert!(text.ends_with("\nmany: 250"), "{text}");
}

#[tokio::test]
async fn the_whole_search_ends_at_its_bound_in_the_same_place_every_time() {
    let bench = Bench::new(&[]);
    for index in 0..300 {
        bench.write(format!("f{index:03}"), "hit\n".repeat(99));
    }
    let arguments = json!({"pattern": "hit", "outputMode": "count"});
    let first = bench.text("grep", arguments.clone()).await;
    assert!(first.starts_with("20000 matching lines in 203 files.\n"), "{first}");
    assert!(
        first.ends_with("f202: 2 or more\n[the search ended at 20000 matching lines; there are more]"),
        "{first}"
    );
    for _ in 0..5 {
        assert_eq!(bench.text("grep", arguments.clone()).await, first);
    }
}

#[tokio::test]
async fn long_output_is_cut_the_same_way_every_time_and_says_how_to_narrow() {
    let mut bench = Bench::new(&[]);
    // A hundred times as much is put out in all.
    bench.output = OutputLimits { max_chars: 30 };
    for index in 0..200 {
        bench.write(format!("f{index:03}"), format!("hit {}\n", "x".repeat(60)).repeat(5));
    }
    let first = bench.text("grep", json!({"pattern": "hit"})).await;
    assert!(first.chars().count() <= 3_000, "{}", first.len());
    assert!(first.starts_with("1000 matching lines in 200 files.\n"));
    assert!(
        first.contains(" of 200 files with matches shown in full; narrow it with path, include"),
        "{first}"
    );
    for _ in 0..10 {
        assert_eq!(bench.text("grep", json!({"pattern": "hit"})).await, first);
    }
}

#[tokio::test]
async fn a_long_line_is_cut_around_its_match() {
    let line = format!("{}needle{}", "é".repeat(5_000), "z".repeat(5_000));
    let bench = Bench::new(&[("min.js", &line)]);
    let text = bench.text("grep", json!({"pattern": "needle"})).await;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("1: […]éé") && last.contains("éneedlez") && last.ends_with("z[…]"), "{last}");
    assert!(last.chars().count() < 520);
}

#[tokio::test]
async fn other_encodings_are_searched() {
    let bench = Bench::new(&[]);
    let utf16: Vec<u8> = "\u{feff}grüße needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bench.write("utf16", utf16);
    bench.write("latin1", b"caf\xe9 needle\n");
    let text = bench.text("grep", json!({"pattern": "needle"})).await;
    assert!(text.contains("1: café needle") && text.contains("1: grüße needle"), "{text}");
}

#[tokio::test]
async fn nothing_outside_is_searched_through_a_link() {
    let bench = bench();
    std::fs::write(bench.outside().join("secret"), "retry\n").unwrap();
    bench.link("link", "../secret");
    bench.link("folder", "..");
    let text = bench.text("grep", json!({"pattern": "retry", "outputMode": "filesWithMatches"})).await;
    assert!(text.starts_with("3 files with matches."), "{text}");
    let result = bench.call("grep", json!({"pattern": "retry", "path": "link"})).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::PathNotInWorkspace);
    let result = bench.call("grep", json!({"pattern": "retry", "path": "missing"})).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::FileNotFound);
}

#[tokio::test]
async fn a_secret_at_the_edge_of_what_is_shown_of_a_line_is_hidden_whole() {
    for between in (0..600).step_by(7) {
        let (near, far) = ("a".repeat(between), "b".repeat(700));
        let mut bench = Bench::new(&[("file", &format!("{far}{SECRET}{near}hit{near}{SECRET}{far}\n"))]);
        bench.redactor = redactor();
        let text = bench.text("grep", json!({"pattern": "hit"})).await;
        assert!(text.contains("hit"), "{text}");
        assert_hidden(&text);
    }
}

#[tokio::test]
async fn a_secret_in_a_long_pattern_is_hidden_whole_where_the_pattern_is_told() {
    let mut bench = Bench::new(&[("file", "text\n")]);
    bench.redactor = redactor();
    for before in (85..125).step_by(3) {
        let pattern = format!("{}{SECRET}", "a".repeat(before));
        for (tool, arguments) in [
            ("grep", json!({"pattern": pattern})),
            ("glob", json!({"pattern": pattern})),
            ("read_many_files", json!({"include": [pattern]})),
        ] {
            assert_hidden(&bench.prepare(tool, arguments.clone()).await.unwrap().description());
            assert_hidden(&bench.text(tool, arguments).await);
        }
    }
}
