//! What read_many_files says.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::read_file::png;
use crate::{
    OutputLimits, ToolRegistry, Workspace,
    tests::{Bench, os_path, path_bytes},
};
use protocol::{MessagePart, ResourceAccess, ToolErrorType, ToolSelection};

fn bench() -> Bench {
    let bench = Bench::new(&[
        ("README.md", "# Read me\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/lib.rs", "//! Deep, without a line end."),
        ("src/deep/empty.rs", ""),
        ("app/[id]/page.tsx", "page\n"),
        ("target/out.rs", "out\n"),
        (".gitignore", "target\n"),
    ]);
    bench.write("src/data.bin", b"a\0b");
    bench.write("logo.png", png(70));
    bench
}

async fn check(arguments: Value, expected: Expect) {
    expected.assert_eq(&bench().text("read_many_files", arguments).await);
}

#[tokio::test]
async fn files_follow_each_other_in_the_order_of_the_patterns_and_the_others_are_listed() {
    check(
        json!({"include": ["src/main.rs", "src/**", "*.md", "missing.txt", "docs/*.md"]}),
        expect![[r#"
            4 of 5 files shown.

            --- src/main.rs ---
            fn main() {}

            --- src/deep/empty.rs ---
            [the file is empty]

            --- src/deep/lib.rs ---
            //! Deep, without a line end.

            --- README.md ---
            # Read me

            [not shown: 3]
            - missing.txt: there is no `missing.txt`
            - docs/*.md: there is no `docs`
            - src/data.bin: a binary file: application/octet-stream, 3 bytes"#]],
    )
    .await;
}

#[tokio::test]
async fn a_folder_means_all_its_files_and_need_not_be_gone_into() {
    check(
        json!({"include": ["src"], "exclude": ["*.bin", "empty*"]}),
        expect![[r#"
        2 of 2 files shown.

        --- src/deep/lib.rs ---
        //! Deep, without a line end.

        --- src/main.rs ---
        fn main() {}"#]],
    )
    .await;
    check(
        json!({"include": ["src/", "src/**/*.rs"], "recursive": false, "exclude": ["./src/*.bin"]}),
        expect![[r#"
            1 of 1 file shown.

            --- src/main.rs ---
            fn main() {}"#]],
    )
    .await;
    check(
        json!({"include": ["**/*.rs"], "exclude": ["src/deep/", "/src/main.rs"]}),
        expect![[r#"
        No file to show.
        [not shown: 1]
        - **/*.rs: no file matches"#]],
    )
    .await;
}

#[tokio::test]
async fn names_that_look_like_patterns_and_odd_names_are_read() {
    check(
        json!({"include": ["app/[id]/page.tsx"]}),
        expect![[r#"
        1 of 1 file shown.

        --- app/[id]/page.tsx ---
        page"#]],
    )
    .await;
    let bench = Bench::new(&[]);
    bench.write(os_path(b"caf\xe9.txt"), b"caf\xe9 cr\xe8me br\xfbl\xe9e\n");
    let text = bench.text("read_many_files", json!({"include": ["*.txt"]})).await;
    expect![[r#"
        1 of 1 file shown.

        --- caf�.txt [path-bytes:Y2Fm6S50eHQ] ---
        [decoded from windows-1252]
        café crème brûlée"#]]
    .assert_eq(&text);
    let again = json!({"include": [path_bytes(b"caf\xe9.txt")]});
    assert_eq!(bench.text("read_many_files", again).await, text);
}

#[tokio::test]
async fn ignored_files_are_read_on_request_or_by_name() {
    check(
        json!({"include": ["**/out.rs"]}),
        expect![[r#"
        No file to show.
        [not shown: 1]
        - **/out.rs: no file matches"#]],
    )
    .await;
    let out = "1 of 1 file shown.\n\n--- target/out.rs ---\nout";
    let bench = bench();
    for arguments in [
        json!({"include": ["**/out.rs"], "respect_git_ignore": false}),
        json!({"paths": ["target/out.rs"]}),
        json!({"include": [bench.root().join("target/out.rs")]}),
    ] {
        assert_eq!(bench.text("read_many_files", arguments).await, out);
    }
}

#[tokio::test]
async fn an_image_is_shown_when_it_is_named() {
    let bench = bench();
    bench.write("broken.png", &png(70)[..60]);
    for include in [json!(["logo.png"]), json!(["README.md", "l*.{jpg,PNG}"])] {
        let result = bench.call("read_many_files", json!({ "include": include })).await;
        let [text, image] = &result.llm_content[..] else { panic!("{:?}", result.llm_content) };
        assert!(text.as_text().unwrap().ends_with("--- logo.png ---\n[an image: image/png, 70 bytes]\n"));
        assert!(matches!(image, MessagePart::InlineData { mime_type, .. } if mime_type == "image/png"));
        assert!(!format!("{:?}{:?}", result.return_display, result.data).contains("iVBOR"));
    }
    check(
        json!({"include": ["*o*"], "exclude": ["*.bin"]}),
        expect![[r#"
        1 of 2 files shown.

        --- .gitignore ---
        target

        [not shown: 1]
        - logo.png: an image (image/png, 70 bytes); its name or ending as a pattern shows it"#]],
    )
    .await;
    let text = bench.text("read_many_files", json!({"include": ["*.png"]})).await;
    expect![[r#"
        1 of 2 files shown.

        --- logo.png ---
        [an image: image/png, 70 bytes]
        [not shown: 1]
        - broken.png: a broken image: image/png without its end, 60 bytes"#]]
    .assert_eq(&text);
}

#[tokio::test]
async fn images_share_one_bound() {
    let bench = Bench::new(&[("a.txt", "text\n")]);
    bench.write("1.png", png(2_000_000));
    bench.write("2.png", png(2_000_000));
    bench.write("3.png", png(1_000_000));
    bench.write("4.png", png(4_000_000));
    let result = bench.call("read_many_files", json!({"include": ["*.png", "a.txt"]})).await;
    let shape: Vec<&str> =
        result.llm_content.iter().map(|part| part.as_text().unwrap_or("(image)")).collect();
    expect![[r#"
        3 of 5 files shown.

        --- 1.png ---
        [an image: image/png, 2000000 bytes]

        |(image)
        |--- 3.png ---
        [an image: image/png, 1000000 bytes]

        |(image)
        |--- a.txt ---
        text

        [not shown: 2]
        - 2.png: an image of 2000000 bytes, beyond what one call shows; read_file shows it
        - 4.png: an image of 4000000 bytes; models get images of at most 3932160"#]]
    .assert_eq(&shape.join("\n|"));
    for n in 0..30 {
        bench.write(format!("small/{n:02}.png"), png(70));
    }
    let result = bench.call("read_many_files", json!({"include": ["small/*.png"]})).await;
    assert_eq!(
        result.data.unwrap(),
        json!({"files": 30, "shown": 20, "inPart": 0, "images": 20, "notShown": 10})
    );
}

#[tokio::test]
async fn one_limit_holds_for_all_files_and_what_is_left_out_is_told() {
    let mut bench = Bench::new(&[]);
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        bench.write(name, format!("{name} {}\n", "x".repeat(90)).repeat(12));
    }
    bench.output = OutputLimits { max_chars: 3_000 };
    let text = bench.text("read_many_files", json!({"include": ["*.txt"]})).await;
    assert!(text.chars().count() <= 3_000, "{}", text.chars().count());
    let notable: Vec<&str> = text.lines().filter(|line| !line.contains("xxx")).collect();
    expect![[r#"
        2 of 4 files shown, 1 of them in part; read_file reads on.

        --- a.txt ---

        --- b.txt ---
        [lines 1-6 of 12, as many as fit the output limit; read on with offset: 6]

        [not shown: 2]
        - c.txt: no room left under the output limit
        - d.txt: no room left under the output limit"#]]
    .assert_eq(&notable.join("\n"));
    for max_chars in [0, 500, 1_000, 1_500, 2_000] {
        bench.output = OutputLimits { max_chars };
        let text = bench.text("read_many_files", json!({"include": ["*.txt"]})).await;
        assert!(text.chars().count() <= max_chars.max(600), "{max_chars}: {text}");
        assert!(text.contains(" of 4 files shown"), "{text}");
    }
}

#[tokio::test]
async fn ten_thousand_files_end_in_a_count() {
    let bench = Bench::new(&[]);
    for n in 0..10_000 {
        bench.write(format!("d{}/f{n:05}", n % 10), "x\n");
    }
    let text = bench.text("read_many_files", json!({"include": ["**"]})).await;
    assert!(text.chars().count() <= 40_000);
    assert!(text.starts_with("1000 of 10000 files shown.\n\n--- d0/f00000 ---\nx\n\n"), "{}", &text[..200]);
    assert!(text.contains("[not shown: 9000]\n- d1/f00001: too many files; a narrower pattern gets to it\n"));
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("- and ") && last.ends_with(" more"), "{last}");
}

#[tokio::test]
async fn what_is_no_readable_file_is_passed_over_with_its_reason() {
    let bench = Bench::new(&[("a.txt", "a\n")]);
    let mode = rustix::fs::Mode::RUSR;
    let fifo = bench.root().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::fs::File::create(bench.root().join("huge")).unwrap().set_len(20 * 1024 * 1024 + 1).unwrap();
    bench.write("huge.txt", vec![b'x'; 20 * 1024 * 1024 + 1]);
    bench.write("paper.pdf", "%PDF-1.7\n1 0 obj\n");
    std::fs::write(bench.outside().join("secret.txt"), "secret").unwrap();
    bench.link("out.txt", "../secret.txt");
    bench.link("in.txt", "a.txt");
    let text = bench.text("read_many_files", json!({"include": ["fifo", "*", "in.txt"]})).await;
    expect![[r#"
        1 of 5 files shown.

        --- a.txt ---
        a

        [not shown: 6]
        - in.txt: a link; what it leads to can be read by its own path
        - out.txt: a link; what it leads to can be read by its own path
        - fifo: a FIFO, not a file
        - huge: a binary file: application/octet-stream, 20971521 bytes
        - huge.txt: 20971521 bytes; at most 20971520 are read. grep finds the lines of interest in it
        - paper.pdf: a PDF, 17 bytes; read_file shows it"#]]
    .assert_eq(&text);
}

#[tokio::test]
async fn a_file_that_fails_while_it_is_read_does_not_spoil_the_others() {
    // Reading one's own memory at address 0 fails, for every user.
    let mut bench = Bench::new(&[]);
    bench.workspace = Workspace::open(&["/proc/self".into()]).unwrap().into();
    let text = bench.text("read_many_files", json!({"include": ["mem", "comm"]})).await;
    assert!(text.starts_with("1 of 2 files shown.\n\n--- comm ---\n"), "{text}");
    assert!(
        text.ends_with("[not shown: 1]\n- mem: cannot be read: Input/output error (os error 5)"),
        "{text}"
    );
}

#[tokio::test]
async fn every_bad_pattern_is_told_and_nothing_outside_is_read() {
    let bench = bench();
    std::fs::write(bench.outside().join("secret.txt"), "secret").unwrap();
    bench.link("up", "..");
    let text = bench
        .text(
            "read_many_files",
            json!({
                "include": ["../*", "src/*/../../../*", "/etc/**", "up/*.txt", "/*/passwd", "../secret.txt", "!*.rs", "src/[a", "README.md"],
                "exclude": ["{a", "fine"]
            }),
        )
        .await;
    let outside = bench.outside();
    expect![[r#"
        INVALID_TOOL_PARAMS: /include/0: `..` is not a path inside of the workspace: the workspace is `ROOT`
        /include/1: `..` cannot stand behind a wildcard
        /include/2: `/etc` is not a path inside of the workspace: the workspace is `ROOT`
        /include/3: `up` is not a path inside of the workspace: the workspace is `ROOT`
        /include/4: `/` is not a path inside of the workspace: the workspace is `ROOT`
        /include/5: `../secret.txt` is not a path inside of the workspace: the workspace is `ROOT`
        /include/6: what begins with `!` belongs into `exclude`, without the `!`
        /include/7: not a glob pattern: error parsing glob '[a': unclosed character class; missing ']'
        /exclude/0: not a glob pattern: error parsing glob '**/{a': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#]].assert_eq(&text.replace(outside.to_str().unwrap(), "OUTSIDE"));
    let refused = async |include: Value| {
        bench.call("read_many_files", json!({ "include": include })).await.error.unwrap().kind
    };
    for outside in ["../secret.txt", "up/secret.txt", "up/*", "src/../../*.txt", "/etc/pass*", "~/*"] {
        let kind = refused(json!([outside])).await;
        assert_eq!(kind, ToolErrorType::PathNotInWorkspace, "{outside}");
    }
    assert_eq!(refused(json!([])).await, ToolErrorType::InvalidToolParams);
    let types =
        json!({"include": [1, "", "a"], "exclude": "x", "recursive": "no", "respectGitIgnore": 1, "x": 1});
    expect![[r#"
        INVALID_TOOL_PARAMS: /include/0: 1 is not of type "string"
        /include/1: "" is shorter than 1 character
        /exclude: "x" is not of type "array"
        /recursive: "no" is not of type "boolean"
        /respectGitIgnore: 1 is not of type "boolean"
        /x: unknown argument"#]]
    .assert_eq(&bench.text("read_many_files", types).await);
}

#[tokio::test]
async fn accesses_are_the_outermost_places_that_patterns_reach() {
    let bench = bench();
    let include = json!(["src/deep/*.rs", "README.md", "src/**", "src-not-there", "src/main.rs"]);
    let invocation = bench.prepare("read_many_files", json!({ "include": include })).await.unwrap();
    let read = |path: &str| ResourceAccess::Read { path: bench.root().join(path) };
    assert_eq!(invocation.accesses(), [read("README.md"), read("src"), read("src-not-there")]);
    assert_eq!(invocation.description(), "src/deep/*.rs, README.md, src/** and 2 more");
    let everything = bench.prepare("read_many_files", json!({"include": ["**", "src"]})).await.unwrap();
    assert_eq!(everything.accesses(), [ResourceAccess::Read { path: bench.root() }]);
}

/// A link, a pattern or a folder does not get past a rule about a path.
#[tokio::test]
async fn rules_see_the_patterns_resolved_and_the_files_that_they_mean() {
    let bench = Bench::new(&[("secret/a", "x\n"), ("pub/b", "y\n")]);
    bench.link("ln", "secret");
    bench.link("fl", "secret/a");
    let judged = async |include: &str| {
        let toolset = ToolRegistry::built_in().select(&ToolSelection::default());
        let arguments = json!({"include": [include]});
        let prepared = toolset.prepare(&"read_many_files".into(), arguments, &bench.prepare_context()).await;
        prepared.judged
    };
    for include in ["secret/a", "./secret/a", "pub/../secret/a", "ln/a", "fl"] {
        let expected = json!({"include": ["secret/a"], "included": ["secret/a"]});
        assert_eq!(judged(include).await, expected, "{include}");
    }
    for (include, resolved) in
        [("ln", "secret"), ("ln/*", "secret/*"), ("s*/a", "s*/a"), ("[s]ecret/a", "[s]ecret/a")]
    {
        let expected = json!({"include": [resolved], "included": ["secret/a"]});
        assert_eq!(judged(include).await, expected, "{include}");
    }
    assert_eq!(judged("**/b").await, json!({"include": ["**/b"], "included": ["pub/b"]}));
}

/// What comes since has been judged by nobody.
#[tokio::test]
async fn a_file_that_came_after_the_call_was_decided_about_is_not_read() {
    let bench = Bench::new(&[("a", "x\n")]);
    let call = bench.prepare("read_many_files", json!({"include": ["*"]})).await.unwrap();
    bench.write("b", "later\n");
    let result = bench.run(call).await;
    let text: String = result.llm_content.iter().filter_map(|part| part.as_text()).collect();
    assert!(text.contains("- b: it was not there when the call was decided about"), "{text}");
    assert!(!text.contains("later\n"), "{text}");
}
