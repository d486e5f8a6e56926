//! The field `triggers`, read and refused.

use expect_test::Expect;

use super::*;

fn file(fields: &str) -> AgentFile {
    read(format!("---\nkind: agent\nname: a\ndescription: d\n{fields}\n---\nDo it.\n"))
}

fn check(fields: &str, expected: Expect) {
    let file = file(fields);
    match &file.definition {
        Some(definition) => {
            assert_eq!(file.problems, []);
            expected.assert_eq(&serde_json::to_string_pretty(&definition.triggers).unwrap());
        }
        None => expected.assert_eq(&told(&file.problems, Path::new("dir"))),
    }
}

#[test]
fn triggers_are_read_as_they_are_written() {
    check(
        r#"triggers:
  - { intent: debug, keywords: [bug, error, " stack trace "], priority: 10 }
  - { regex: "fix.*test", priority: "-8" }
  - { keywords: "crash, panic", regex: \bSEGV\b }
  - { keywords: 404 }
  - { keywords: [500, true, "a, b"] , intent: 5 }"#,
        expect![[r#"
            [
              {
                "intent": "debug",
                "keywords": [
                  "bug",
                  "error",
                  "stack trace"
                ],
                "priority": 10
              },
              {
                "regex": "fix.*test",
                "priority": -8
              },
              {
                "keywords": [
                  "crash",
                  "panic"
                ],
                "regex": "\\bSEGV\\b",
                "priority": 0
              },
              {
                "keywords": [
                  "404"
                ],
                "priority": 0
              },
              {
                "intent": "5",
                "keywords": [
                  "500",
                  "true",
                  "a, b"
                ],
                "priority": 0
              }
            ]"#]],
    );
    for nothing in ["triggers: []", "triggers:", "hidden: false"] {
        assert_eq!(file(nothing).definition.unwrap().triggers, [], "{nothing}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    check(
        r#"triggers:
  - bug
  - {}
  - { keywords: [], priority: 1 }
  - { keywords: [bug, "", " ", [x], ~, "\u200b"] }
  - { keywords: "bug,,error" }
  - { keywords: {a: 1} }
  - { regex: "fix(" }
  - { regex: 5 }
  - { regex: "" }
  - { regex: '(?=look)' }
  - { regex: '(a)\1' }
  - { regex: '\w{1000}' }
  - { keywords: [bug], priority: 1001 }
  - { keywords: [bug], priority: 1.5 }
  - { keywords: [bug], priority: high }
  - { keyword: [bug] }
  - { keywords: [bug], intent: [x] }"#,
        expect![[r#"
            error WrongType my-file.md:6:5: `triggers[0]`: expected a map with `intent`, `keywords`, `regex` or `priority`, found the text "bug"
            error MissingField my-file.md:7:5: `triggers[1]` has neither `keywords` nor `regex`, so no prompt would fit it (add `keywords: [bug, crash]`)
            error MissingField my-file.md:8:5: `triggers[2]` has neither `keywords` nor `regex`, so no prompt would fit it (add `keywords: [bug, crash]`)
            error BadValue my-file.md:9:23: `triggers[3].keywords[1]`: the keyword says nothing
            error BadValue my-file.md:9:27: `triggers[3].keywords[2]`: the keyword says nothing
            error WrongType my-file.md:9:32: `triggers[3].keywords[3]`: expected a keyword, found a list
            error WrongType my-file.md:9:37: `triggers[3].keywords[4]`: expected a keyword, found nothing
            error BadValue my-file.md:9:40: `triggers[3].keywords[5]`: the keyword says nothing
            error BadValue my-file.md:10:17: `triggers[4].keywords`: the keyword says nothing
            error WrongType my-file.md:11:17: `triggers[5].keywords`: expected a list of keywords, found a map
            error BadValue my-file.md:12:14: `triggers[6].regex`: the expression is none, at its character 4: unclosed group
            error WrongType my-file.md:13:14: `triggers[7].regex`: expected a text, found the number 5
            error BadValue my-file.md:14:14: `triggers[8].regex`: expected a regular expression, found the text ""
            error BadValue my-file.md:15:14: `triggers[9].regex`: the expression is none, at its character 1: look-around, including look-ahead and look-behind, is not supported
            error BadValue my-file.md:16:14: `triggers[10].regex`: the expression is none, at its character 4: backreferences are not supported
            error BadValue my-file.md:17:14: `triggers[11].regex`: the expression is too large; use smaller repetitions
            error BadValue my-file.md:18:34: `triggers[12].priority`: expected a whole number from -1000 to 1000, found the number 1001
            error BadValue my-file.md:19:34: `triggers[13].priority`: expected a whole number from -1000 to 1000, found the number 1.5
            error WrongType my-file.md:20:34: `triggers[14].priority`: expected a whole number from -1000 to 1000, found the text "high"
            error MissingField my-file.md:21:5: `triggers[15]` has neither `keywords` nor `regex`, so no prompt would fit it (add `keywords: [bug, crash]`)
            warning UnknownField my-file.md:21:7: unknown field `triggers[15].keyword`; it has no effect (did you mean `triggers[15].keywords`?)
            error WrongType my-file.md:22:32: `triggers[16].intent`: expected a text, found a list
        "#]],
    );
    check(
        "triggers: bug",
        expect![[r#"
        error WrongType my-file.md:5:11: `triggers`: expected a list of `{keywords, regex, priority, intent}`, found the text "bug"
    "#]],
    );
    check(
        "triggers: { keywords: [bug] }",
        expect![[r#"
        error WrongType my-file.md:5:11: `triggers`: expected a list of `{keywords, regex, priority, intent}`, found a map
    "#]],
    );
}

#[test]
fn there_are_bounds() {
    let list = |text: &str, times: usize| vec![text; times].join(", ");
    let long = |times: usize| "é".repeat(times);
    for fields in [
        format!("triggers: [{}]", list("{keywords: a}", 100)),
        format!("triggers: [{{keywords: [{}]}}]", list("a", 100)),
        format!("triggers: [{{keywords: {}, intent: {}}}]", long(200), long(200)),
        format!("triggers: [{{regex: {}}}]", long(1_000)),
        format!("triggers: [{{keywords: {}}}]", "漢".repeat(200)),
        format!("triggers: [{{keywords: {}}}]", "\u{1d41b}".repeat(200)),
    ] {
        assert_eq!(file(&fields).problems, [], "{fields}");
    }
    check(
        &format!("triggers: [{}]", list("{keywords: a}", 101)),
        expect![[r#"
        error BadValue my-file.md:5:11: `triggers`: expected at most 100, found 101
    "#]],
    );
    check(
        &format!("triggers: [{{keywords: [{}]}}]", list("a", 101)),
        expect![[r#"
        error BadValue my-file.md:5:23: `triggers[0].keywords`: expected at most 100 keywords, found 101
    "#]],
    );
    check(
        &format!("triggers: [{{keywords: '{}'}}]", list("a", 101)),
        expect![[r#"
        error BadValue my-file.md:5:23: `triggers[0].keywords`: expected at most 100 keywords, found 101
    "#]],
    );
    check(
        &format!("triggers: [{{keywords: {}, intent: {}}}]", long(201), long(201)),
        expect![[r#"
            error BadValue my-file.md:5:23: `triggers[0].keywords`: expected at most 200 characters, found a long text
            error BadValue my-file.md:5:234: `triggers[0].intent`: expected at most 200 characters, found a long text
        "#]],
    );
    check(
        &format!("triggers: [{{regex: {}}}]", long(1_001)),
        expect![[r#"
        error BadValue my-file.md:5:20: `triggers[0].regex`: expected at most 1000 characters, found a long text
    "#]],
    );
    // A sign that stands for a sentence of eighteen letters.
    check(
        &format!("triggers: [{{keywords: {}}}]", "\u{fdfa}".repeat(200)),
        expect![[r#"
            error BadValue my-file.md:5:23: `triggers[0].keywords`: the keyword is too long
        "#]],
    );
    let large = file(&format!("triggers: [{}]", list(r"{regex: '\w{10}'}", 100)));
    assert!(large.definition.is_none());
    for problem in &large.problems {
        assert!(
            problem.message.ends_with("is one too many: all of this agent together are too large"),
            "{problem}"
        );
    }
}

#[test]
fn an_expression_that_matches_all_is_a_warning() {
    for (regex, is_told) in [(".*", true), ("(bug)?", true), (r"\bx?", false), ("^", false), ("bug", false)] {
        let file = file(&format!("triggers: [{{regex: '{regex}'}}]"));
        assert!(file.definition.is_some());
        assert_eq!(file.problems.iter().any(|it| it.message.contains("every prompt")), is_told, "{regex}");
    }
}
