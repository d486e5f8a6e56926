//! Promises of the YAML tree.

use expect_test::{Expect, expect};

use super::*;

fn check(text: &str, expected: Expect) {
    let (root, errors) = parse(text, 2);
    let mut told: String = root.map_or_else(String::new, |root| format!("{}\n", root.to_json()));
    for YamlError { mark, message, .. } in errors {
        told.push_str(&format!("{}:{}: {message}\n", mark.line, mark.column));
    }
    expected.assert_eq(&told);
}

#[test]
fn scalars_mean_what_the_core_schema_says() {
    check(
        "[no, yes, 012, 0x1F, 0o17, 1.10, 1e3, .5, -3, +4, '5', !!str 6, null, ~, True, 1.2.3, 1-2, 2024-01-01, .inf, 18446744073709551615]",
        expect![[r#"
            ["no","yes",12,31,15,1.1,1000.0,0.5,-3,4,"5","6",null,null,true,"1.2.3","1-2","2024-01-01",".inf",18446744073709551615]
        "#]],
    );
    check(
        "a:\nb: ''\nc: |\n  x\n  y\n",
        expect![[r#"
        {"a":null,"b":"","c":"x\ny\n"}
    "#]],
    );
}

#[test]
fn repeated_keys_are_told_and_the_rest_is_read() {
    check(
        "a: 1\nb: {c: 1, c: 2}\na: 3\n? [x]\n: 1\n",
        expect![[r#"
        {"a":1,"b":{"c":1}}
        3:11: the key `c` stands here a second time
        4:1: the key `a` stands here a second time
        5:3: a key must be one word or text, not a list or map
    "#]],
    );
}

#[test]
fn aliases_repeat_their_anchor() {
    check(
        "a: &x {b: [1, 2]}\nc: *x\n",
        expect![[r#"
        {"a":{"b":[1,2]},"c":{"b":[1,2]}}
    "#]],
    );
    check(
        "a: *nobody\n",
        expect![[r#"
            2:4: is not YAML: while parsing node, found unknown anchor
        "#]],
    );
    check(
        "a: &x [*x]\n",
        expect![[r#"
            2:8: this alias stands inside the very node it names
        "#]],
    );
}

#[test]
fn what_could_run_or_swell_is_refused() {
    check(
        "a: !include /etc/passwd\n",
        expect![[r#"
            2:13: the tag `!include` is not supported
        "#]],
    );
    check(
        "%YAML 1.1\n",
        expect![[r#"
            2:1: is not YAML: YAML directives are disallowed
        "#]],
    );
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let below = level - 1;
        bomb.push_str(&format!(
            "a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}, *a{below}]\n"
        ));
    }
    check(
        &bomb,
        expect![[r#"
        7:10: has more than 20000 nodes, those that aliases repeat included
    "#]],
    );
    let long_text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a,".repeat(1_000));
    check(
        &long_text,
        expect![[r#"
        3:122: has too much text, what aliases repeat included
    "#]],
    );
    let mut ladder = "a0: &a0 x\n".to_owned();
    for level in 1..1_000 {
        ladder.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    check(
        &ladder,
        expect![[r#"
        66:12: is nested deeper than 64 levels
    "#]],
    );
    check(
        &"[".repeat(100_000),
        expect![[r#"
            2:65: is not YAML: recursion limit exceeded
        "#]],
    );
    check(
        &"- ".repeat(100_000),
        expect![[r#"
            2:129: is not YAML: recursion limit exceeded
        "#]],
    );
    check(
        &format!("[{}]", "x,".repeat(100_000)),
        expect![[r#"
            2:40000: has more than 20000 nodes, those that aliases repeat included
        "#]],
    );
}

#[test]
fn bad_syntax_is_told_with_its_place() {
    check(
        "a: 1\nb: c: d\n",
        expect![[r#"
        3:5: is not YAML: mapping values are not allowed in this context
    "#]],
    );
    check(
        "a: [1\n",
        expect![[r#"
            2:4: is not YAML: unclosed bracket '['
        "#]],
    );
    check(
        "a: 1\n\tb: 2\n",
        expect![[r#"
            2:4: is not YAML: while scanning a plain scalar, found a tab
        "#]],
    );
    check(
        "a: 'x\n",
        expect![[r#"
        3:1: is not YAML: invalid indentation in multiline quoted scalar
    "#]],
    );
}

#[test]
fn a_pointer_leads_to_its_node() {
    let (root, _) = parse("a:\n  b/c:\n    - 1\n    - 2\n", 1);
    let root = root.unwrap();
    let mark = |pointer: &str| (root.at_pointer(pointer).mark.line, root.at_pointer(pointer).mark.column);
    assert_eq!(mark("/a/b~1c/1"), (4, 7));
    assert_eq!(mark("/a/b~1c/9"), mark("/a/b~1c"));
    assert_eq!(mark(""), (1, 1));
}
