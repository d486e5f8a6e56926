//! What edit_file changes, and what it refuses to guess.

use std::{fs, os::unix::fs::PermissionsExt as _};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tests::{Bench, SECRET, assert_hidden, redactor};
use protocol::{ConfirmationDetails, ResourceAccess, Risk, ToolErrorType};

/// What the model reads, and the file afterwards, escaped.
async fn check(before: &[u8], arguments: Value, expected: Expect) {
    check_read(before, arguments, false, expected).await;
}

/// As `check`, after the model has read the file.
async fn check_read(before: &[u8], mut arguments: Value, is_read: bool, expected: Expect) {
    let bench = Bench::new(&[]);
    bench.write("f", before);
    if is_read {
        bench.call("read_file", json!({"path": "f"})).await;
    }
    arguments["path"] = json!("f");
    let said = bench.text("edit_file", arguments).await;
    let after = fs::read(bench.root().join("f")).unwrap();
    let file = if after == before { "(as it was)".to_owned() } else { after.escape_ascii().to_string() };
    expected.assert_eq(&format!("{said}\n{file}"));
    let left: Vec<_> = fs::read_dir(bench.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["f"], "nothing is left beside it");
}

fn replace(old: &str, new: &str) -> Value {
    json!({"oldString": old, "newString": new})
}

#[tokio::test]
async fn the_one_place_is_replaced() {
    check(
        b"one\ntwo\nthree\n",
        replace("two", "2"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 2 on, +1 -1 lines.
            one\n2\nthree\n"#]],
    )
    .await;
    check(
        b"one\ntwo",
        replace("two", ""),
        expect![[r#"
            Edited `f`: 1 replacement, from line 2 on, +0 -1 lines.
            one\n"#]],
    )
    .await;
}

#[tokio::test]
async fn no_two_and_a_thousand_occurrences() {
    check(
        b"fn main() {\n    greet();\n}\n",
        replace("greeting()", "x"),
        expect![[r#"
            EDIT_NO_OCCURRENCE_FOUND: oldString does not stand in the file. Give the text exactly as it is in the file, without escapes and line numbers. The nearest lines are:
            2:     greet();
            (as it was)"#]],
    )
    .await;
    check(
        b"a\nb\na\n",
        replace("a", "x"),
        expect![[r#"
            EDIT_EXPECTED_OCCURRENCE_MISMATCH: oldString stands in the file 2 times (lines 1, 3), but expectedReplacements is 1. Give more lines around it to name one, or the right expectedReplacements, or replaceAll: true
            (as it was)"#]],
    )
    .await;
    check(
        b"a\nb\na\n",
        json!({"oldString": "a", "newString": "x", "expectedReplacements": 2}),
        expect![[r#"
            Edited `f`: 2 replacements, from line 1 on, +2 -2 lines.
            x\nb\nx\n"#]],
    )
    .await;
    let thousand = b"a\n".repeat(1_000);
    check(
        &thousand,
        json!({"old_string": "a", "new_string": "x", "expected_replacements": 999}),
        expect![[r#"
            EDIT_EXPECTED_OCCURRENCE_MISMATCH: oldString stands in the file 1000 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …), but expectedReplacements is 999. Give more lines around it to name one, or the right expectedReplacements, or replaceAll: true
            (as it was)"#]],
    )
    .await;
    for every in ["replace_all", "allow_multiple", "replaceAll"] {
        let bench = Bench::new(&[]);
        bench.write("f", &thousand);
        let said = bench
            .text("replace", json!({"file_path": "f", "old_string": "a", "new_string": "x", (every): true}))
            .await;
        assert_eq!(said, "Edited `f`: 1000 replacements, from line 1 on, +1000 -1000 lines.");
        assert_eq!(fs::read(bench.root().join("f")).unwrap(), b"x\n".repeat(1_000));
    }
}

#[tokio::test]
async fn line_ends_stay_as_they_are() {
    check(
        b"one\r\ntwo\r\nthree",
        replace("one\ntwo\n", "1\n2\n2a\n"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +3 -2 lines.
            1\r\n2\r\n2a\r\nthree"#]],
    )
    .await;
    check(
        b"one\r\ntwo\r\n",
        replace("one", "1\n1a"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +2 -1 lines.
            1\r\n1a\r\ntwo\r\n"#]],
    )
    .await;
    check(
        b"one\ntwo\n",
        replace("one\r\ntwo", "1\r\n2"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +2 -2 lines.
            1\n2\n"#]],
    )
    .await;
    // Some of each: what is not replaced stays, what is gets the end that was there.
    check(
        b"one\r\ntwo\nthree\r\n",
        replace("one\ntwo", "1\n2"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +2 -2 lines.
            Note: oldString was matched ignoring indentation and trailing blanks, and newString indented like what it replaced.
            1\r\n2\nthree\r\n"#]],
    )
    .await;
}

#[tokio::test]
async fn encodings_and_marks_stay_as_they_are() {
    let utf16 = |text: &str, pair: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(pair).collect()
    };
    for (before, after) in [
        (
            utf16("caf\u{e9} 🙂\r\nx\r\n", u16::to_le_bytes),
            utf16("caf\u{e9} 🙃\r\ny\r\nx\r\n", u16::to_le_bytes),
        ),
        (utf16("caf\u{e9} 🙂", u16::to_be_bytes), utf16("caf\u{e9} 🙃\ny", u16::to_be_bytes)),
        (b"\xef\xbb\xbfa \xf0\x9f\x99\x82\n".to_vec(), b"\xef\xbb\xbfa \xf0\x9f\x99\x83\ny\n".to_vec()),
        // UTF-8 but for a byte, which is left alone.
        (
            [&b"\xff"[..], "grün schön über 🙂 ".as_bytes()].concat(),
            [&b"\xff"[..], "grün schön über 🙃\ny ".as_bytes()].concat(),
        ),
    ] {
        let bench = Bench::new(&[]);
        bench.write("f", &before);
        bench.text("edit_file", json!({"path": "f", "oldString": "🙂", "newString": "🙃\ny"})).await;
        let there = fs::read(bench.root().join("f")).unwrap();
        assert_eq!(there.escape_ascii().to_string(), after.escape_ascii().to_string());
    }
    check(
        b"voil\xe0, c'est tr\xe8s bon\n",
        replace("voilà", "là"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +1 -1 lines.
            l\xe0, c\'est tr\xe8s bon\n"#]],
    )
    .await;
    check(
        b"voil\xe0, c'est tr\xe8s bon\n",
        replace("bon", "bon 🙂"),
        expect![[r#"
            EDIT_PREPARATION_FAILURE: `f` is written in windows-1252, which has no room for some character of newString; write it without
            (as it was)"#]],
    )
    .await;
    check(
        b"\x7fELF\0\0\0\0",
        replace("ELF", "x"),
        expect![[r#"
            EDIT_PREPARATION_FAILURE: `f` is a binary file (application/octet-stream); it cannot be edited
            (as it was)"#]],
    )
    .await;
}

#[tokio::test]
async fn the_mode_stays_as_it_is() {
    let bench = Bench::new(&[("run.sh", "echo a\n")]);
    fs::set_permissions(bench.root().join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    bench.text("edit_file", json!({"path": "run.sh", "oldString": "a", "newString": "b"})).await;
    assert_eq!(fs::metadata(bench.root().join("run.sh")).unwrap().permissions().mode() & 0o7777, 0o750);
}

#[tokio::test]
async fn indentation_and_trailing_blanks_may_differ() {
    check(
        b"class A:\n\tdef f(self):\n\t\treturn 1  \n\n\tdef g(self):\n\t\treturn 2",
        replace("def f(self):\n    return 1\n", "def f(self):\n    if x:\n        return 3\n    return 1\n"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 2 on, +3 -1 lines.
            Note: oldString was matched ignoring indentation and trailing blanks, and newString indented like what it replaced.
            class A:\n\tdef f(self):\n\t\tif x:\n\t\t\treturn 3\n\t\treturn 1\n\n\tdef g(self):\n\t\treturn 2"#]],
    )
    .await;
    // Less deep than what was given, and the open end of the file.
    check(
        b"  if x {\n    y();\n  }",
        replace("    y();\n}\n", "    z();\n}\nend\n"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 2 on, +3 -2 lines.
            Note: oldString was matched ignoring indentation and trailing blanks, and newString indented like what it replaced.
              if x {\n    z();\n  }\n  end"#]],
    )
    .await;
    check(
        b"  a\n  b\n\ta\n\tb\n",
        replace("a\nb\n", "x\n"),
        expect![[r#"
            EDIT_EXPECTED_OCCURRENCE_MISMATCH: oldString stands in the file 2 times (lines 1, 3), but expectedReplacements is 1. Give more lines around it to name one, or the right expectedReplacements, or replaceAll: true
            (as it was)"#]],
    )
    .await;
}

const POEM: &[u8] = b"fn add(first: u32, second: u32) -> u32 {\n    // Sums up.\n    first + second\n}\n\nfn main() {\n    add(1, 2);\n}\n";

#[tokio::test]
async fn what_is_nearly_the_same_is_taken_when_the_model_read_it_and_it_is_the_only_one() {
    let nearly = replace(
        "fn add(first: u32, second: u32) -> u32 {\n    // Sum up.\n    first + second\n}",
        "fn add(a: u32, b: u32) -> u32 {\n    a + b\n}",
    );
    check_read(
        POEM,
        nearly.clone(),
        true,
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +2 -3 lines.
            Note: oldString does not stand in the file; lines 1-4, 98 % the same, was taken for it.
            fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\nfn main() {\n    add(1, 2);\n}\n"#]],
    )
    .await;
    check_read(
        POEM,
        nearly.clone(),
        false,
        expect![[r#"
            EDIT_NO_OCCURRENCE_FOUND: oldString does not stand in the file. Give the text exactly as it is in the file, without escapes and line numbers. The nearest lines are:
            1: fn add(first: u32, second: u32) -> u32 {
            2:     // Sums up.
            3:     first + second
            4: }
            (as it was)"#]],
    )
    .await;
    check_read(
        &POEM.repeat(2),
        nearly,
        true,
        expect![[r#"
            EDIT_NO_OCCURRENCE_FOUND: oldString does not stand in the file, and more than one place is nearly the same: lines 1, 9. Give the text exactly as it is in the file, with more lines around it. The nearest lines are:
            1: fn add(first: u32, second: u32) -> u32 {
            2:     // Sums up.
            3:     first + second
            4: }
            (as it was)"#]],
    )
    .await;
    check_read(
        b"let total = items.iter().map(price).sum();\nlet rest = 1;\n",
        replace("let total = items.iter().map(prices).sum();", "let total = 0;"),
        true,
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +1 -1 lines.
            Note: oldString does not stand in the file; line 1, 98 % the same, was taken for it.
            let total = 0;\nlet rest = 1;\n"#]],
    )
    .await;
}

#[tokio::test]
async fn escapes_that_are_one_too_many_are_taken_off() {
    check(
        b"print(\"hi\")\nprint('\\n')\n",
        replace("print(\\\"hi\\\")\\nprint", "print(\\\"ho\\\")\\nlog"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +2 -2 lines.
            Note: oldString and newString were escaped once too often, and matched without that.
            print(\"ho\")\nlog(\'\\n\')\n"#]],
    )
    .await;
    // An escape that the old text does not have is meant.
    check(
        b"print(\"hi\")\r\n",
        replace("print(\\\"hi\\\")", "print(\\\"h\\ti\\\")"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +1 -1 lines.
            Note: oldString and newString were escaped once too often, and matched without that.
            print(\"h\\ti\")\r\n"#]],
    )
    .await;
    // What stands there with its escapes is not touched otherwise.
    check(
        b"a = \"x\\ny\"\n",
        replace("x\\ny", "x\\tz"),
        expect![[r#"
            Edited `f`: 1 replacement, from line 1 on, +1 -1 lines.
            a = \"x\\tz\"\n"#]],
    )
    .await;
}

#[tokio::test]
async fn several_edits_are_made_all_or_none() {
    let edits = |last: &str| {
        json!({"edits": [
            {"old_string": "one", "new_string": "1"},
            {"oldString": "1\ntwo", "newString": "1\n2"},
            {"oldString": last, "newString": "3", "replace_all": true}
        ]})
    };
    check(
        b"one\ntwo\nthree three\n",
        edits("three"),
        expect![[r#"
            Edited `f`: 4 replacements, from line 1 on, +3 -3 lines.
            1\n2\n3 3\n"#]],
    )
    .await;
    check(
        b"one\ntwo\nthree three\n",
        edits("four"),
        expect![[r#"
            EDIT_NO_OCCURRENCE_FOUND: edits[2]: oldString does not stand in the file. Give the text exactly as it is in the file, without escapes and line numbers
            (as it was)"#]],
    )
    .await;
}

#[tokio::test]
async fn what_changes_nothing_is_said() {
    check(
        b"a\n",
        replace("a", "a"),
        expect![[r#"
            EDIT_NO_CHANGE: oldString and newString are the same
            (as it was)"#]],
    )
    .await;
    check(
        b"a b\n",
        json!({"edits": [{"oldString": "a", "newString": "c"}, {"oldString": "c", "newString": "a"}]}),
        expect![[r#"
            EDIT_NO_CHANGE: the edits leave `f` as it is
            (as it was)"#]],
    )
    .await;
    check(
        b"b\n",
        replace("a", "b"),
        expect![[r#"
            EDIT_NO_OCCURRENCE_FOUND: oldString does not stand in the file (newString stands there already). Give the text exactly as it is in the file, without escapes and line numbers
            (as it was)"#]],
    )
    .await;
}

#[tokio::test]
async fn an_empty_old_text_creates_a_file_and_only_that() {
    let bench = Bench::new(&[("there", "x"), ("empty", "")]);
    let create = |path: &str| json!({"path": path, "oldString": "", "newString": "a\nb\n"});
    let mut said = Vec::new();
    for path in ["new/er/f", "there", "empty", "."] {
        said.push(bench.text("edit_file", create(path)).await);
    }
    said.push(bench.text("edit_file", json!({"path": "missing", "oldString": "a", "newString": "b"})).await);
    let both = json!({"path": "x", "edits": [{"oldString": "", "newString": "one"}, {"oldString": "one", "newString": "1"}]});
    said.push(bench.text("MultiEdit", both).await);
    expect![[r#"
        Created `new/er/f`: 1 replacement, from line 1 on, +2 -0 lines.
        ATTEMPT_TO_CREATE_EXISTING_FILE: an empty oldString creates a file, but `there` is there; give the text to replace, or use write_file
        ATTEMPT_TO_CREATE_EXISTING_FILE: an empty oldString creates a file, but `empty` is there; give the text to replace, or use write_file
        TARGET_IS_DIRECTORY: `.` is a folder, not a file
        FILE_NOT_FOUND: there is no `missing`; an empty oldString creates it
        Created `x`: 2 replacements, from line 1 on, +1 -0 lines."#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(fs::read_to_string(bench.root().join("new/er/f")).unwrap(), "a\nb\n");
    assert_eq!(fs::read_to_string(bench.root().join("x")).unwrap(), "1");
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once() {
    let bench = Bench::new(&[("f", "a")]);
    let mut said = Vec::new();
    for arguments in [
        json!({"pth": 1, "oldString": 2, "newString": 3, "expectedReplacements": 0, "edits": []}),
        json!({"path": "f"}),
        json!({"path": "f", "oldString": "a"}),
        json!({"path": "f", "oldString": "a", "newString": "b", "edits": [{"oldString": "a", "newString": "b"}]}),
        json!({"path": "../f", "oldString": "a", "newString": "b"}),
    ] {
        said.push(bench.text("edit_file", arguments).await);
    }
    expect![[r#"
        INVALID_TOOL_PARAMS: /oldString: 2 is not of type "string"
        /newString: 3 is not of type "string"
        /expectedReplacements: 0 is less than the minimum of 1
        /edits: [] has less than 1 item
        /pth: unknown argument; did you mean `path`?
        /path: missing, but required
        INVALID_TOOL_PARAMS: /oldString: missing, but required without edits
        INVALID_TOOL_PARAMS: /newString: missing, but required without edits
        INVALID_TOOL_PARAMS: /edits: give either edits, or oldString and newString
        PATH_NOT_IN_WORKSPACE: `../f` is not a path inside of the workspace: the workspace is `ROOT`"#]]
    .assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn a_file_that_changed_behind_the_models_back_is_refused_until_it_is_read() {
    let bench = Bench::new(&[("f", "one\n")]);
    let edit = |old: &str, new: &str| json!({"path": "f", "oldString": old, "newString": new});
    bench.text("read_file", json!({"path": "f"})).await;
    // What it wrote itself it knows.
    bench.text("edit_file", edit("one", "two")).await;
    bench.text("edit_file", edit("two", "three")).await;
    bench.write("f", "three and more\n");
    expect!["FILE_CHANGED: `f` was changed since you last read it; read it again, then decide anew"]
        .assert_eq(&bench.text("edit_file", edit("three", "four")).await);
    bench.text("read_many_files", json!({"include": ["f"]})).await;
    bench.text("edit_file", edit("three", "four")).await;
    assert_eq!(fs::read_to_string(bench.root().join("f")).unwrap(), "four and more\n");
    fs::remove_file(bench.root().join("f")).unwrap();
    expect!["FILE_CHANGED: `f` was removed since you last read it; read it again, then decide anew"]
        .assert_eq(&bench.text("edit_file", edit("four", "five")).await);
}

#[tokio::test]
async fn what_changed_between_question_and_answer_is_not_overwritten() {
    for change in ["changed", "deleted", "link"] {
        let bench = Bench::new(&[("f", "one\n")]);
        let arguments = json!({"path": "f", "oldString": "one", "newString": "two"});
        let invocation = bench.prepare("edit_file", arguments.clone()).await.unwrap();
        let basis = invocation.basis();
        match change {
            "changed" => bench.write("f", "one and more\n"),
            _ => fs::remove_file(bench.root().join("f")).unwrap(),
        }
        if change == "link" {
            fs::write(bench.outside().join("secret"), "one\n").unwrap();
            bench.link("f", bench.outside().join("secret"));
        }
        let result = bench.run(invocation).await;
        let error = result.error.unwrap().kind;
        match change {
            "link" => assert_eq!(error, ToolErrorType::PathNotInWorkspace),
            _ => assert_eq!(error, ToolErrorType::FileChanged, "{change}"),
        }
        match change {
            "changed" => assert_eq!(fs::read_to_string(bench.root().join("f")).unwrap(), "one and more\n"),
            "deleted" => assert!(!bench.root().join("f").exists()),
            _ => assert_eq!(fs::read_to_string(bench.outside().join("secret")).unwrap(), "one\n"),
        }
        if change == "changed" {
            assert_ne!(bench.prepare("edit_file", arguments).await.unwrap().basis(), basis);
        }
    }
}

#[tokio::test]
async fn a_person_sees_what_would_change() {
    let bench = Bench::new(&[("src/f.rs", "one\ntwo\nthree\nfour\nfive\nsix\nseven")]);
    let arguments = json!({"path": "src/f.rs", "oldString": "five\n", "newString": "5\n5a\n"});
    let invocation = bench.prepare("edit_file", arguments.clone()).await.unwrap();
    let Some(ConfirmationDetails::Edit { path, diff, old_content, new_content, cut_bytes }) =
        invocation.confirmation()
    else {
        panic!("an edit is shown as one")
    };
    assert_eq!(path, bench.root().join("src/f.rs").to_str().unwrap());
    assert_eq!(old_content.as_deref(), Some("one\ntwo\nthree\nfour\nfive\nsix\nseven"));
    assert_eq!(new_content.as_deref(), Some("one\ntwo\nthree\nfour\n5\n5a\nsix\nseven"));
    assert_eq!(cut_bytes, 0);
    expect![[r#"
        --- a/src/f.rs
        +++ b/src/f.rs
        @@ -2,6 +2,7 @@
         two
         three
         four
        -five
        +5
        +5a
         six
         seven
        \ No newline at end of file
    "#]]
    .assert_eq(&diff);
    assert_eq!(invocation.risk(), None);
    assert_eq!(invocation.accesses(), [ResourceAccess::Write { path: bench.root().join("src/f.rs") }]);
    assert_eq!(invocation.description(), "src/f.rs, +2 -1 lines");
    assert_eq!(invocation.locations()[0].line, Some(5));
    assert_eq!(bench.prepare("edit_file", arguments).await.unwrap().basis(), invocation.basis());
    // A person's own content becomes arguments that leave the file with just that.
    let own = "something\nelse";
    let changed = invocation.with_content(own).unwrap();
    bench.text("edit_file", changed).await;
    assert_eq!(fs::read_to_string(bench.root().join("src/f.rs")).unwrap(), own);
    assert_eq!(fs::read_dir(bench.root().join("src")).unwrap().count(), 1, "preparing writes nothing");
}

#[tokio::test]
async fn long_contents_are_left_out_and_long_diffs_cut_without_half_a_secret() {
    let mut bench = Bench::new(&[]);
    bench.redactor = redactor();
    let old = format!("{SECRET} line\n").repeat(20_000);
    bench.write("f", &old);
    let arguments = json!({"path": "f", "oldString": " line", "newString": " LINE", "replaceAll": true});
    let invocation = bench.prepare("edit_file", arguments).await.unwrap();
    let Some(ConfirmationDetails::Edit { diff, old_content, new_content, cut_bytes, .. }) =
        invocation.confirmation()
    else {
        panic!("an edit is shown as one")
    };
    assert_eq!((old_content, new_content), (None, None));
    assert!(diff.len() <= 256 * 1024 && cut_bytes > 0, "{} {cut_bytes}", diff.len());
    assert_hidden(&diff);
}

/// A model is shown a mark in place of a secret; written back it would take the secret's place.
#[tokio::test]
async fn marks_do_not_take_the_place_of_secrets() {
    let config = format!("port: 1\nkey: {SECRET}\nhost: a\n");
    let mut bench = Bench::new(&[("config", &config), ("notes", "[redacted:env:MY_TOKEN] is a mark\n")]);
    bench.redactor = redactor();
    let mark = "[redacted:env:MY_TOKEN]";
    let whole = format!("port: 2\nkey: {mark}\nhost: a\n");
    let lines = (format!("port: 1\nkey: {mark}\n"), format!("port: 2\nkey: {mark}\n"));
    for (tool, arguments) in [
        ("write_file", json!({"path": "config", "content": whole})),
        ("edit_file", json!({"path": "config", "oldString": lines.0, "newString": lines.1})),
        // It would be taken out by what was not shown.
        ("edit_file", json!({"path": "config", "oldString": lines.0, "newString": "port: 2\n"})),
        (
            "edit_file",
            json!({"path": "config", "oldString": "host: a", "newString": format!("host: {mark}")}),
        ),
    ] {
        let said = bench.text(tool, arguments).await;
        assert!(
            said.contains("holds a secret where you were shown") || said.starts_with("EDIT_NO_OCCURRENCE"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(bench.root().join("config")).unwrap(), config);
    }
    for (tool, arguments, path, expected) in [
        (
            "edit_file",
            json!({"path": "config", "oldString": "port: 1", "newString": "port: 2"}),
            "config",
            config.replace('1', "2"),
        ),
        // A mark that stands in the file itself, and one in a file that holds no secret.
        (
            "edit_file",
            json!({"path": "notes", "oldString": mark, "newString": format!("{mark}{mark}")}),
            "notes",
            format!("{mark}{mark} is a mark\n"),
        ),
        ("write_file", json!({"path": "new", "content": whole}), "new", whole.clone()),
    ] {
        bench.text(tool, arguments).await;
        assert_eq!(fs::read_to_string(bench.root().join(path)).unwrap(), expected);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_read() {
    let bench = Bench::new(&[]);
    let file = fs::File::create(bench.root().join("large")).unwrap();
    file.set_len(200 * 1024 * 1024).unwrap();
    let said = bench.text("edit_file", json!({"path": "large", "oldString": "a", "newString": "b"})).await;
    expect![[r#"FILE_TOO_LARGE: `large` has 209715200 bytes; files of more than 20971520 are not changed"#]]
        .assert_eq(&said);
}

#[tokio::test]
async fn the_daemons_own_files_are_critical_and_the_projects_high() {
    let bench = Bench::new(&[
        (".subagentd/agents/a.md", "x"),
        (".SUBAGENTD/b", "x"),
        ("sub/.subagentd/c", "x"),
        ("plain", "x"),
    ]);
    let risk = async |bench: &Bench, path: &str| {
        let arguments = json!({"path": path, "oldString": "x", "newString": "y"});
        bench.prepare("edit_file", arguments).await.unwrap().risk()
    };
    assert_eq!(risk(&bench, "plain").await, None);
    for path in [".subagentd/agents/a.md", ".SUBAGENTD/b", "sub/.subagentd/c"] {
        assert_eq!(risk(&bench, path).await, Some(Risk::High), "{path}");
    }
    // A workspace that has the daemon's own folders in it.
    let own =
        Bench::new(&[("config/settings.json", "x"), ("state/token", "x"), ("run/socket", "x"), ("b", "x")]);
    let own = own.owning("config", "state", "run/socket");
    own.link("way", own.root().join("config"));
    for path in ["config/settings.json", "state/token", "run/socket", "way/settings.json"] {
        assert_eq!(risk(&own, path).await, Some(Risk::Critical), "{path}");
    }
    assert_eq!(risk(&own, "b").await, None);
    let new = own.prepare("write_file", json!({"path": "config/policies/mine.toml", "content": "x"})).await;
    assert_eq!(new.unwrap().risk(), Some(Risk::Critical));
    let moved = own.prepare("move_file", json!({"from": "b", "to": "state/artifacts/b"})).await;
    assert_eq!(moved.unwrap().risk(), Some(Risk::Critical));
}
