//! What rule files say, and what is said of their mistakes.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use protocol::ProblemSeverity;

/// Rules first, then problems.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(PolicyTier::User, text));
}

fn shown(tier: PolicyTier, text: &str) -> String {
    let (rules, problems) = read_rules(tier, text);
    let mut shown = String::new();
    for rule in &rules {
        let line = serde_json::to_string(rule).unwrap();
        writeln!(shown, "{line}").unwrap();
    }
    for problem in &problems {
        let severity = if problem.severity == ProblemSeverity::Error { "error" } else { "warning" };
        writeln!(shown, "{severity} {:?} {problem}", problem.code).unwrap();
    }
    shown
}

#[test]
fn a_rule_says_all_that_it_may() {
    check(
        r#"
# Comments are fine.
[[rule]]
tool = "run_shell_command"
agent = "debug-analyzer"
commandPrefix = ["git  status", "cargo test"]
argsPattern = '"path":"docs/'
kind = "edit"
risk = "high"
modes = ["default", "autoEdit"]
workspace = "~/src/shop/"
session = "0193-x"
decision = "allow"
priority = 0x64
message = "why"

[[rule]]
tool = ["read_file", "mcp.github.*"]
commandPrefix = "make"
modes = "yolo"
workspace = "/srv//a"
priority = -5
decision = "deny"
"#,
        expect![[r#"
            {"id":"user:rules.toml:3","tier":"user","tool":["run_shell_command"],"agent":"debug-analyzer","commandPrefix":["git status","cargo test"],"argsPattern":"\"path\":\"docs/","kind":"edit","risk":"high","modes":["default","autoEdit"],"workspace":"/home/me/src/shop","session":"0193-x","decision":"allow","priority":100,"message":"why"}
            {"id":"user:rules.toml:17","tier":"user","tool":["read_file","mcp.github.*"],"commandPrefix":["make"],"modes":["yolo"],"workspace":"/srv/a","decision":"deny","priority":-5}
        "#]],
    );
}

#[test]
fn every_word_of_the_wire_is_read() {
    let words = |key: &str, words: &[String]| {
        for word in words {
            let decision = if key == "decision" { "" } else { "decision = 'ask'\n" };
            let (rules, problems) =
                read_rules(PolicyTier::User, &format!("[[rule]]\ntool = 'x'\n{decision}{key} = {word}\n"));
            assert_eq!(problems, [], "{key} {word}");
            let rule = serde_json::to_value(&rules[0]).unwrap();
            let written = if key == "modes" { &rule[key][0] } else { &rule[key] };
            assert_eq!(written.to_string(), *word);
        }
    };
    fn of<T: serde::Serialize>(all: &[T]) -> Vec<String> {
        all.iter().map(|one| serde_json::to_string(one).unwrap()).collect()
    }
    use ToolKind::{Delete, Edit, Execute, Fetch, Move, Other, Read, Search, Think};
    words("kind", &of(&[Read, Edit, Delete, Move, Search, Execute, Think, Fetch, Other]));
    words("risk", &of(&[Risk::Safe, Risk::Low, Risk::Medium, Risk::High, Risk::Critical]));
    use ApprovalMode::{AutoEdit, Default, Plan, Yolo};
    words("modes", &of(&[Plan, Default, AutoEdit, Yolo]));
    words("decision", &of(&[Verdict::Allow, Verdict::Ask, Verdict::Deny]));
}

#[test]
fn nothing_is_fine() {
    for text in ["", "\n\n", "# nothing\n", "\u{feff}", "rule = []\n"] {
        assert_eq!(shown(PolicyTier::User, text), "", "{text:?}");
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_change_nothing() {
    let text = "[[rule]]\ntool = 'x'\ndecision = 'ask'\n\n[[rule]]\ntool = 'ü'; \n";
    let plain = read_rules(PolicyTier::User, text);
    for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        assert_eq!(read_rules(PolicyTier::User, &other), plain);
    }
    let good = "[[rule]]\r\ntool = 'x'\r\ndecision = 'ask'\r\n\r\n\r\n[[rule]]\r\ntool = 'y'\r\ndecision = 'ask'\r\n";
    let ids: Vec<String> = read_rules(PolicyTier::User, good).0.into_iter().map(|rule| rule.id).collect();
    assert_eq!(ids, ["user:rules.toml:1", "user:rules.toml:6"]);
}

#[test]
fn typos_are_errors_that_name_the_nearest_and_the_other_rules_count() {
    check(
        r#"[[rule]]
tool = "read_file"
decision = "allow"

[[rule]]
tool = "write_file"
agnet = "fixer"
decision = "allow"

[[rule]]
tool = "write_file"
argspattern = "x"
colour = 3
kind = "edit"
decision = "deny"

[[rule]]
tool = "grep"
decison = "deny"

[[rule]]
tools = "web_fetch"
decision = "deny"

[[rule]]
tool = "glob"
decision = "ask"
"#,
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["read_file"],"decision":"allow","priority":0}
            {"id":"user:rules.toml:10","tier":"user","tool":["write_file"],"kind":"edit","decision":"deny","priority":0,"mistaken":true}
            {"id":"user:rules.toml:17","tier":"user","tool":["grep"],"decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:21","tier":"user","tool":["*"],"decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:25","tier":"user","tool":["glob"],"decision":"ask","priority":0}
            warning BadValue rules.toml:5:1: this rule has a mistake and is left out: it allows nothing
            error UnknownField rules.toml:7:1: unknown key `agnet` in a rule (did you mean `agent`?)
            warning BadValue rules.toml:10:1: this rule has a mistake: until it is mended, all that it may be about is refused
            error UnknownField rules.toml:12:1: unknown key `argspattern` in a rule (did you mean `argsPattern`?)
            error UnknownField rules.toml:13:1: unknown key `colour` in a rule
            error MissingField rules.toml:17:1: `decision` is missing (add `decision = "ask"`)
            warning BadValue rules.toml:17:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error UnknownField rules.toml:19:1: unknown key `decison` in a rule (did you mean `decision`?)
            error MissingField rules.toml:21:1: `tool` is missing (add `tool = "…"`)
            warning BadValue rules.toml:21:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error UnknownField rules.toml:22:1: unknown key `tools` in a rule (did you mean `tool`?)
        "#]],
    );
}

#[test]
fn wrong_types_and_values_are_errors_all_at_once() {
    check(
        r#"[[rule]]
tool = 5
agent = ["a"]
commandPrefix = []
argsPattern = 1.5
kind = "edits"
risk = true
modes = ["default", "turbo", 7]
workspace = "src/shop"
session = 1979-05-27
decision = "Deny"
priority = "high"
message = { a = 1 }

[[rule]]
tool = ["x", ""]
workspace = "/a/../b"
commandPrefix = " "
modes = []
priority = 99999999999999999999
decision = ["ask"]

[[rule]]
tool = []
agent = ""
decision = "deny"
"#,
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["*"],"decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:15","tier":"user","tool":["*"],"decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:23","tier":"user","tool":["*"],"decision":"ask","priority":0,"mistaken":true}
            warning BadValue rules.toml:1:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error WrongType rules.toml:2:8: `tool`: expected a tool's name, a pattern such as "mcp.github.*", or a list, found 5
            error WrongType rules.toml:3:9: `agent`: expected an agent's name, found a list
            error BadValue rules.toml:4:17: `commandPrefix`: expected the beginning of a command, e.g. "git status", or a list, found an empty list
            error WrongType rules.toml:5:15: `argsPattern`: expected a regular expression, found 1.5
            error BadValue rules.toml:6:8: `kind`: expected `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch` or `other`, found the text "edits"
            error WrongType rules.toml:7:8: `risk`: expected `safe`, `low`, `medium`, `high` or `critical`, found true
            error BadValue rules.toml:8:21: `modes`: expected `plan`, `default`, `autoEdit` or `yolo`, found the text "turbo"
            error WrongType rules.toml:8:30: `modes`: expected `plan`, `default`, `autoEdit` or `yolo`, found 7
            error BadValue rules.toml:9:13: `workspace`: expected an absolute path, or one that begins with `~/`, without `..`, found the text "src/shop"
            error WrongType rules.toml:10:11: `session`: expected a session's id, found 1979-05-27
            error BadValue rules.toml:11:12: `decision`: expected `allow`, `deny` or `ask`, found the text "Deny"
            error WrongType rules.toml:12:12: `priority`: expected a whole number, found the text "high"
            error WrongType rules.toml:13:11: `message`: expected a text, found a table
            warning BadValue rules.toml:15:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error BadValue rules.toml:16:14: `tool`: expected a tool's name, a pattern such as "mcp.github.*", or a list, found the text ""
            error BadValue rules.toml:17:13: `workspace`: expected an absolute path, or one that begins with `~/`, without `..`, found the text "/a/../b"
            error BadValue rules.toml:18:17: `commandPrefix`: expected the beginning of a command, e.g. "git status", or a list, found the text " "
            error BadValue rules.toml:19:9: `modes`: expected at least one of `plan`, `default`, `autoEdit` or `yolo`, found an empty list
            error WrongType rules.toml:20:12: `priority`: expected a whole number, found 99999999999999999999
            error WrongType rules.toml:21:12: `decision`: expected `allow`, `deny` or `ask`, found a list
            warning BadValue rules.toml:23:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error BadValue rules.toml:24:8: `tool`: expected a tool's name, a pattern such as "mcp.github.*", or a list, found an empty list
            error BadValue rules.toml:25:9: `agent`: expected an agent's name, found the text ""
        "#]],
    );
}

#[test]
fn expressions_that_cannot_be_used_are_errors() {
    check(
        r#"[[rule]]
tool = "a"
argsPattern = "("
decision = "deny"
[[rule]]
tool = "b"
argsPattern = "(?=x)"
decision = "ask"
[[rule]]
tool = "c"
argsPattern = "a*"
decision = "allow"
[[rule]]
tool = "d"
argsPattern = '\w{9999}'
decision = "deny"
risk = "low"
[[rule]]
tool = "e"
argsPattern = '^\{\}$'
decision = "allow"
"#,
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["a"],"decision":"deny","priority":0,"mistaken":true}
            {"id":"user:rules.toml:5","tier":"user","tool":["b"],"decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:13","tier":"user","tool":["d"],"risk":"low","decision":"deny","priority":0,"mistaken":true}
            {"id":"user:rules.toml:18","tier":"user","tool":["e"],"argsPattern":"^\\{\\}$","decision":"allow","priority":0}
            warning BadValue rules.toml:1:1: this rule has a mistake: until it is mended, all that it may be about is refused
            error BadValue rules.toml:3:15: `argsPattern`: the pattern is no regular expression: unclosed group
            warning BadValue rules.toml:5:1: this rule has a mistake: until it is mended, all that it may be about needs a person's consent
            error BadValue rules.toml:7:15: `argsPattern`: the pattern is no regular expression: look-around, including look-ahead and look-behind, is not supported
            warning BadValue rules.toml:9:1: this rule has a mistake and is left out: it allows nothing
            error BadValue rules.toml:11:15: `argsPattern`: the pattern matches the empty text, so it would match everywhere
            warning BadValue rules.toml:13:1: this rule has a mistake: until it is mended, all that it may be about is refused
            error BadValue rules.toml:15:15: `argsPattern`: the pattern is too large; use smaller repetitions
        "#]],
    );
}

#[test]
fn all_expressions_of_a_file_are_bounded_together() {
    let rule =
        |at: usize| format!("[[rule]]\ntool = 't{at}'\nargsPattern = '\\w{{15}}'\ndecision = 'deny'\n");
    let text: String = (0..150).map(rule).collect();
    let (rules, problems) = read_rules(PolicyTier::User, &text);
    assert_eq!(rules.len(), 150);
    let kept = rules.iter().filter(|rule| !rule.mistaken).count();
    assert!((1..150).contains(&kept), "{kept}");
    assert!(problems.iter().any(|problem| problem.code == protocol::FileProblemCode::TooLarge));
    // What is beyond the bound still denies, and costs nothing.
    assert!(rules.iter().all(|rule| rule.decision == Verdict::Deny));
}

#[test]
fn a_file_that_is_no_toml_opens_nothing() {
    check(
        "{ \"rule\": [] }\n",
        expect![[r#"
            {"id":"user:rules.toml:unread:low","tier":"user","tool":["*"],"risk":"low","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:medium","tier":"user","tool":["*"],"risk":"medium","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:high","tier":"user","tool":["*"],"risk":"high","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:critical","tier":"user","tool":["*"],"risk":"critical","decision":"ask","priority":0,"mistaken":true}
            error BadToml rules.toml:1:1: is not TOML: invalid key-value pair, expected key
            warning BadValue rules.toml: until this is mended, every call that is not safe needs a person's consent
        "#]],
    );
    check(
        r#"[[rule]]
tool = "write_file"
decision = "deny"

[[rule]]
tool = "read_file
decision = "allow"

[[rule]]
tool = "grep"
decision = "allow"
decision = "deny"
"#,
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["write_file"],"decision":"deny","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:low","tier":"user","tool":["*"],"risk":"low","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:medium","tier":"user","tool":["*"],"risk":"medium","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:high","tier":"user","tool":["*"],"risk":"high","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:critical","tier":"user","tool":["*"],"risk":"critical","decision":"ask","priority":0,"mistaken":true}
            error BadToml rules.toml:6:18: is not TOML: invalid basic string, expected `"`
            error BadToml rules.toml:12:1: is not TOML: duplicate key
            warning BadValue rules.toml: until this is mended, every call that is not safe needs a person's consent
        "#]],
    );
}

#[test]
fn rules_in_the_wrong_place_still_forbid() {
    check(
        "[rule]\ntool = 'a'\ndecision = 'deny'\n",
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["a"],"decision":"deny","priority":0,"mistaken":true}
            error WrongType rules.toml:1:2: `rule` is a table: write `[[rule]]` before each rule
            warning BadValue rules.toml:1:2: this rule has a mistake: until it is mended, all that it may be about is refused
        "#]],
    );
    check(
        "[[rules]]\ntool = 'a'\ndecision = 'deny'\n[[rules]]\ntool = 'b'\ndecision = 'allow'\n",
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["a"],"decision":"deny","priority":0,"mistaken":true}
            warning BadValue rules.toml:1:1: this rule has a mistake: until it is mended, all that it may be about is refused
            error UnknownField rules.toml:1:3: unknown key `rules` in a file of rules (did you mean `rule`?)
            warning BadValue rules.toml:4:1: this rule has a mistake and is left out: it allows nothing
        "#]],
    );
    check(
        "rule = 'deny'\n",
        expect![[r#"
            {"id":"user:rules.toml:unread:low","tier":"user","tool":["*"],"risk":"low","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:medium","tier":"user","tool":["*"],"risk":"medium","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:high","tier":"user","tool":["*"],"risk":"high","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:critical","tier":"user","tool":["*"],"risk":"critical","decision":"ask","priority":0,"mistaken":true}
            error WrongType rules.toml:1:8: `rule`: expected a rule; write `[[rule]]` on a line of its own before each, found the text "deny"
            warning BadValue rules.toml: until this is mended, every call that is not safe needs a person's consent
        "#]],
    );
    check(
        "rule = [{ tool = 'a', decision = 'ask' }, 5, { tool = 'b', decision = 'ask' }]\n",
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["a"],"decision":"ask","priority":0}
            {"id":"user:rules.toml:1:46","tier":"user","tool":["b"],"decision":"ask","priority":0}
            {"id":"user:rules.toml:unread:low","tier":"user","tool":["*"],"risk":"low","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:medium","tier":"user","tool":["*"],"risk":"medium","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:high","tier":"user","tool":["*"],"risk":"high","decision":"ask","priority":0,"mistaken":true}
            {"id":"user:rules.toml:unread:critical","tier":"user","tool":["*"],"risk":"critical","decision":"ask","priority":0,"mistaken":true}
            error WrongType rules.toml:1:43: `rule`: expected a table with `tool` and `decision`, found 5
            warning BadValue rules.toml: until this is mended, every call that is not safe needs a person's consent
        "#]],
    );
    check(
        "tool = 'a'\ndecision = 'deny'\n",
        expect![[r#"
            {"id":"user:rules.toml:1","tier":"user","tool":["a"],"decision":"deny","priority":0,"mistaken":true}
            error WrongType rules.toml:1:1: `tool` stands outside of a rule: write `[[rule]]` above it
            warning BadValue rules.toml:1:1: this rule has a mistake: until it is mended, all that it may be about is refused
            error WrongType rules.toml:2:1: `decision` stands outside of a rule: write `[[rule]]` above it
        "#]],
    );
    check(
        "[policy]\nversion = 1\n",
        expect![[r#"
            error UnknownField rules.toml:1:2: unknown key `policy` in a file of rules
        "#]],
    );
}

#[test]
fn a_project_that_allows_is_told_that_this_has_no_effect() {
    let text = "[[rule]]\ntool = 'a'\ndecision = 'allow'\n";
    expect![[r#"
        {"id":"project:rules.toml:1","tier":"project","tool":["a"],"decision":"allow","priority":0}
        warning BadValue rules.toml:1:1: this `allow` has no effect: a project's rules can only make things stricter
    "#]].assert_eq(&shown(PolicyTier::Project, text));
}

#[test]
fn rules_beyond_the_bound_are_not_missed_in_silence() {
    let text = "[[rule]]\ntool='a'\ndecision='ask'\n".repeat(10_001);
    let (rules, problems) = read_rules(PolicyTier::System, &text);
    assert_eq!(rules.len(), 10_004);
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    expect![[r#"
        rules.toml:30001:1: has more than 10000 rules; from here on none is read
        rules.toml: until this is mended, every call that is not safe needs a person's consent"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_file_full_of_mistakes_is_told_briefly() {
    let text =
        format!("[[rule]]\ntool = '{}'\n'{}' = 1\n", "x".repeat(100_000), "k".repeat(100_000)).repeat(3);
    let told: String = read_rules(PolicyTier::User, &text).1.iter().map(ToString::to_string).collect();
    assert!(told.len() < 3_000, "{}", told.len());
    let text = "[[rule]]\nx = 1\n".repeat(9_000);
    assert_eq!(read_rules(PolicyTier::User, &text).1.len(), 100);
}

/// Whatever is broken in a file, no verdict is looser than with the whole file; without an `allow`, for a call that is not
/// safe, for anything.
#[test]
fn no_broken_byte_opens_anything() {
    let text = "[[rule]]\ntool = \"write_file\"\nargsPattern = '\"path\":\"/w'\ndecision = \"deny\"\npriority = 3\n\n\
                [[rule]]\ntool = [\"run_shell_command\"]\ncommandPrefix = \"git push\"\ndecision = \"ask\"\n";
    let sketches = [
        Sketch { mode: ApprovalMode::Yolo, ..edit("/w/a") },
        Sketch { mode: ApprovalMode::Yolo, ..shell("git push") },
    ];
    let verdicts = |text: &str| {
        let policy = Policy::new(read_rules(PolicyTier::User, text).0);
        sketches.each_ref().map(|sketch| policy.decide(&sketch.call()).verdict)
    };
    assert_eq!(verdicts(text), [Verdict::Deny, Verdict::Ask]);
    let mut problems = 0;
    for at in 0..text.len() {
        for put in ["", "x", "'", "\"", "[", "]", "=", "\n", "#"] {
            let broken = format!("{}{put}{}", &text[..at], &text[at + 1..]);
            let (_, told) = read_rules(PolicyTier::User, &broken);
            if told.is_empty() {
                // Another rule, and a sound one: nobody can tell that it was not meant.
                continue;
            }
            problems += 1;
            assert!(!verdicts(&broken).contains(&Verdict::Allow), "{broken}");
        }
    }
    assert!(problems > 500, "{problems}");
}
