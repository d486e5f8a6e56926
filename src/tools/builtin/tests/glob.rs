//! What glob says.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{OutputLimits, tests::Bench};
use protocol::Timestamp;
use sys::clock::ManualClock;

const DAY: u64 = 24 * 60 * 60;

fn bench() -> Bench {
    let mut bench = Bench::new(&[
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("src/deep/mod.rs", ""),
        ("README.md", ""),
        ("build.rs", ""),
        ("app/[id]/page.tsx", ""),
        (".github/ci.rs", ""),
        ("target/out.rs", ""),
        (".gitignore", "target\n"),
    ]);
    bench.clock = ManualClock::starting_at(Timestamp(10_000 * DAY as i64 * 1_000_000));
    for name in
        ["src/main.rs", "README.md", "build.rs", "app/[id]/page.tsx", ".github/ci.rs", "target/out.rs"]
    {
        bench.age(name, Duration::from_secs(9_000 * DAY));
    }
    bench.age("src/lib.rs", Duration::from_secs(10_000 * DAY - 7200));
    bench.age("src/deep/mod.rs", Duration::from_secs(10_000 * DAY - 3600));
    bench
}

async fn check(arguments: Value, expected: Expect) {
    expected.assert_eq(&bench().text("glob", arguments).await);
}

#[tokio::test]
async fn recent_files_come_first_then_the_others_by_name() {
    check(
        json!({"pattern": "**/*.rs"}),
        expect![[r#"
            5 files match.
            ROOT/src/deep/mod.rs
            ROOT/src/lib.rs
            ROOT/.github/ci.rs
            ROOT/build.rs
            ROOT/src/main.rs"#]],
    )
    .await;
}

#[tokio::test]
async fn a_star_stays_in_its_folder() {
    check(
        json!({"pattern": "*.RS"}),
        expect![[r#"
            1 file matches.
            ROOT/build.rs"#]],
    )
    .await;
    check(
        json!({"pattern": "src/*.{rs,md}", "case_sensitive": true}),
        expect![[r#"
            2 files match.
            ROOT/src/lib.rs
            ROOT/src/main.rs"#]],
    )
    .await;
    check(
        json!({"pattern": "mod.rs"}),
        expect![[r#"
            No file matches mod.rs.
            [this pattern means files directly there; with `**/` before it, it means all folders]"#]],
    )
    .await;
}

#[tokio::test]
async fn the_pattern_is_seen_from_the_folder_and_may_be_absolute() {
    check(
        json!({"pattern": "*.rs", "dir_path": "src/deep"}),
        expect![[r#"
            1 file matches.
            ROOT/src/deep/mod.rs"#]],
    )
    .await;
    let bench = bench();
    let absolute = format!("{}/src/*.rs", bench.root().display());
    assert!(bench.text("glob", json!({"pattern": absolute})).await.starts_with("2 files"));
    let text = bench.text("glob", json!({"pattern": "/etc/*"})).await;
    assert!(text.starts_with("INVALID_TOOL_PARAMS: /pattern: an absolute pattern must begin"), "{text}");
    let text = bench.text("glob", json!({"pattern": "../*"})).await;
    assert!(text.starts_with("No file matches"), "{text}");
}

#[tokio::test]
async fn a_name_that_looks_like_a_pattern_is_found() {
    check(
        json!({"pattern": "app/[id]/page.tsx"}),
        expect![[r#"
            1 file matches.
            ROOT/app/[id]/page.tsx"#]],
    )
    .await;
    check(
        json!({"pattern": "src/[a"}),
        expect!["INVALID_TOOL_PARAMS: /pattern: not a glob pattern: error parsing glob 'src/[a': unclosed character class; missing ']'"],
    )
    .await;
}

#[tokio::test]
async fn ignored_files_are_found_on_request() {
    check(json!({"pattern": "**/out.rs"}), expect!["No file matches **/out.rs."]).await;
    check(
        json!({"pattern": "**/out.rs", "respect_git_ignore": false}),
        expect![[r#"
            1 file matches.
            ROOT/target/out.rs"#]],
    )
    .await;
}

#[tokio::test]
async fn links_count_when_they_lead_to_a_file_inside() {
    let bench = bench();
    std::fs::write(bench.outside().join("secret.rs"), "").unwrap();
    bench.link("inside.rs", "src/main.rs");
    bench.link("outside.rs", "../secret.rs");
    bench.link("folder.rs", "src");
    let text = bench.text("glob", json!({"pattern": "*side.rs"})).await;
    assert_eq!(text, "1 file matches.\nROOT/inside.rs");
    assert!(!bench.text("glob", json!({"pattern": "folder.rs"})).await.contains("ROOT"));
}

#[tokio::test]
async fn many_files_are_cut_with_the_total() {
    let mut bench = Bench::new(&[]);
    for index in 0..1200 {
        bench.write(format!("d{}/f{index:04}", index % 7), "");
    }
    let text = bench.text("glob", json!({"pattern": "**/f*"})).await;
    assert!(text.starts_with("1200 files match.\n"));
    assert!(
        text.ends_with("\n[1000 of 1200 files listed; a narrower pattern or path shows the others]"),
        "{text}"
    );
    bench.output = OutputLimits { max_chars: 20 };
    let text = bench.text("glob", json!({"pattern": "**/f*"})).await;
    assert!(text.chars().count() <= 2_000 && text.contains(" of 1200 files listed"), "{text}");
}
