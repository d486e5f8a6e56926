//! Which of several rules decides.

use expect_test::{Expect, expect};

use super::*;
use PolicyTier::{Builtin, Project, System, User};

/// Rules in one line each: `decision tool [key = value …]`.
fn policy(rules: &[(PolicyTier, &str)]) -> Policy {
    let mut text = [System, User, Project, Builtin].map(|tier| (tier, String::new()));
    for (tier, rule) in rules {
        let mut parts = rule.split("; ");
        let (decision, tool) = parts.next().unwrap().split_once(' ').unwrap();
        let file = &mut text.iter_mut().find(|(other, _)| other == tier).unwrap().1;
        file.push_str(&format!("[[rule]]\ntool = '{tool}'\ndecision = '{decision}'\n"));
        parts.for_each(|part| file.push_str(&format!("{part}\n")));
    }
    policy_of(&text.each_ref().map(|(tier, text)| (*tier, text.as_str())))
}

fn check(rules: &[(PolicyTier, &str)], sketch: &Sketch, expected: Expect) {
    let decision = policy(rules).decide(&sketch.call());
    expected.assert_eq(&told(&decision));
}

/// Verdict and rule alone.
fn brief(rules: &[(PolicyTier, &str)], sketch: &Sketch) -> String {
    let decision = policy(rules).decide(&sketch.call());
    format!("{:?} {}", decision.verdict, decision.rule)
}

#[test]
fn each_tier_says_who_spoke_and_why() {
    let call = edit("/w/a");
    check(
        &[(User, "allow write_file")],
        &call,
        expect!["Allow · user:rules.toml:1 · `write_file`: a rule of the user allows it · rule · User"],
    );
    check(
        &[(System, "ask write_file")],
        &call,
        expect![
            "Ask · system:rules.toml:1 · `write_file`: a rule of this system wants a person's consent · rule · System"
        ],
    );
    check(
        &[(Project, "deny write_file")],
        &call,
        expect![
            "Deny · project:rules.toml:1 · `write_file`: a rule of the project forbids it · rule · Project"
        ],
    );
    check(
        &[(Builtin, "allow write_file")],
        &call,
        expect!["Allow · builtin:rules.toml:1 · `write_file`: a built-in rule allows it · rule · Builtin"],
    );
    check(
        &[(User, "deny *; message = 'ask Ann first'")],
        &call,
        expect!["Deny · user:rules.toml:1 · `write_file`: ask Ann first · rule · User"],
    );
}

#[test]
fn within_a_tier_priority_speaks_and_at_a_tie_the_strictest() {
    let cases: &[(&[&str], &str)] = &[
        (&["allow write_file; priority = 1", "deny *"], "Allow user:rules.toml:1"),
        (&["deny *", "allow write_file; priority = 1"], "Allow user:rules.toml:4"),
        (&["allow write_file", "deny *"], "Deny user:rules.toml:4"),
        (&["ask write_file", "allow *"], "Ask user:rules.toml:1"),
        (&["ask write_file", "deny write_*", "allow *"], "Deny user:rules.toml:4"),
        (&["deny write_file", "deny *"], "Deny user:rules.toml:1"),
        (&["allow *; priority = -1", "ask *; priority = -2"], "Allow user:rules.toml:1"),
        (&["deny read_file; priority = 9", "allow *"], "Allow user:rules.toml:5"),
    ];
    for (rules, expected) in cases {
        let rules: Vec<(PolicyTier, &str)> = rules.iter().map(|rule| (User, *rule)).collect();
        assert_eq!(brief(&rules, &edit("/w/a")), *expected, "{rules:?}");
    }
}

#[test]
fn of_the_tiers_the_strictest_counts_whatever_the_priorities() {
    let low = edit("/w/a");
    let cases: &[(&[(PolicyTier, &str)], &str)] = &[
        (&[(System, "ask *"), (User, "allow *; priority = 9")], "Ask system:rules.toml:1"),
        (&[(System, "allow *; priority = 9"), (User, "deny *")], "Deny user:rules.toml:1"),
        (&[(User, "allow *"), (Project, "ask *; priority = -9")], "Ask project:rules.toml:1"),
        (&[(User, "ask *"), (Project, "deny *")], "Deny project:rules.toml:1"),
        (&[(User, "ask *"), (Project, "ask *")], "Ask user:rules.toml:1"),
        // A rule is named before a default that says the same.
        (&[(Project, "ask *")], "Ask project:rules.toml:1"),
        // A project's `allow` counts for nothing, not even against the project's own rules.
        (&[(Project, "allow *")], "Ask builtin:risk=low"),
        (&[(Project, "allow *; priority = 9"), (Project, "deny *")], "Deny project:rules.toml:5"),
        // What is built in speaks only where system and user are silent.
        (&[(Builtin, "deny *"), (User, "allow *")], "Allow user:rules.toml:1"),
        (&[(Builtin, "deny *"), (System, "ask *")], "Ask system:rules.toml:1"),
        (&[(Builtin, "deny *"), (Project, "ask *")], "Deny builtin:rules.toml:1"),
        (&[(Builtin, "allow *"), (Project, "ask *")], "Ask project:rules.toml:1"),
    ];
    for (rules, expected) in cases {
        assert_eq!(brief(rules, &low), *expected, "{rules:?}");
    }
    let silent = Sketch { accesses: vec![], ..edit("/w/a") };
    assert_eq!(brief(&[(User, "allow *")], &silent), "Allow user:rules.toml:1");
    assert_eq!(brief(&[(Builtin, "allow *")], &silent), "Ask builtin:no-accesses");
}

#[test]
fn critical_calls_need_a_rule_of_system_or_user_that_says_so() {
    let critical = Sketch { risk: Risk::Critical, mode: ApprovalMode::Yolo, ..shell("halt") };
    let cases: &[(&[(PolicyTier, &str)], &str)] = &[
        (&[(User, "allow *")], "Deny builtin:risk=critical"),
        (&[(User, "allow *; risk = 'critical'")], "Allow user:rules.toml:1"),
        (&[(System, "allow *; risk = 'critical'")], "Allow system:rules.toml:1"),
        (&[(Project, "allow *; risk = 'critical'")], "Deny builtin:risk=critical"),
        (&[(Builtin, "allow *; risk = 'critical'")], "Deny builtin:risk=critical"),
        (&[(User, "allow *; risk = 'critical'"), (System, "ask *")], "Ask system:rules.toml:1"),
        (&[(User, "allow *; risk = 'critical'"), (Project, "ask *")], "Ask project:rules.toml:1"),
        (&[(User, "ask *; risk = 'critical'")], "Ask user:rules.toml:1"),
        // To be asked about everything opens nothing.
        (&[(User, "ask *")], "Deny builtin:risk=critical"),
        (&[(Builtin, "ask *")], "Deny builtin:risk=critical"),
        (&[(System, "ask *"), (Project, "ask *")], "Deny builtin:risk=critical"),
        (&[(User, "deny *")], "Deny user:rules.toml:1"),
        (
            &[
                (User, "allow *; risk = 'critical'"),
                (Project, "allow *; risk = 'critical'; priority = 9"),
                (Project, "deny *"),
            ],
            "Deny project:rules.toml:6",
        ),
    ];
    for (rules, expected) in cases {
        assert_eq!(brief(rules, &critical), *expected, "{rules:?}");
    }
}

#[test]
fn modes_lift_no_rule() {
    let in_mode = |mode| Sketch { mode, auto_approve: vec![Risk::Low, Risk::Medium], ..edit("/w/a") };
    for mode in [ApprovalMode::AutoEdit, ApprovalMode::Yolo, ApprovalMode::Default] {
        assert_eq!(brief(&[(User, "ask *")], &in_mode(mode)), "Ask user:rules.toml:1");
        assert_eq!(brief(&[(System, "deny *")], &in_mode(mode)), "Deny system:rules.toml:1");
        assert_eq!(brief(&[(Project, "ask *")], &in_mode(mode)), "Ask project:rules.toml:1");
        assert_eq!(brief(&[(Builtin, "ask *")], &in_mode(mode)), "Ask builtin:rules.toml:1");
    }
    assert_eq!(brief(&[(User, "allow *")], &in_mode(ApprovalMode::Plan)), "Deny mode:plan");
    assert_eq!(brief(&[(User, "deny *")], &in_mode(ApprovalMode::Plan)), "Deny user:rules.toml:1");
    let safe = Sketch { risk: Risk::Safe, ..in_mode(ApprovalMode::Plan) };
    assert_eq!(brief(&[(User, "allow *")], &safe), "Allow user:rules.toml:1");
}

#[test]
fn each_condition_narrows() {
    let call = Sketch { mode: ApprovalMode::AutoEdit, ..edit("/w/docs/a") };
    let cases = [
        ("write_file", true),
        ("Write", true),
        ("write-file", true),
        ("read_file", false),
        ("write_*; agent = 'fixer'", true),
        ("write_*; agent = 'fix*'", true),
        ("write_*; agent = 'other'", false),
        ("*; kind = 'edit'", true),
        ("*; kind = 'delete'", false),
        ("*; risk = 'low'", true),
        ("*; risk = 'medium'", false),
        ("*; modes = ['yolo', 'autoEdit']", true),
        ("*; modes = ['yolo', 'default']", false),
        ("*; session = 's1'", true),
        ("*; session = 's2'", false),
        ("*; workspace = '/w'", true),
        ("*; workspace = '/w/'", true),
        ("*; workspace = '/'", true),
        ("*; workspace = '/w/docs'", false),
        ("*; workspace = '~/w'", false),
        // Canonical: keys in order, whatever the order of the model.
        ("*; argsPattern = '^\\{\"content\":\"x\",\"path\":\"/w/docs/'", true),
        ("*; argsPattern = '\"path\":\"/w/src/'", false),
        ("*; commandPrefix = 'git'", false),
    ];
    for (rule, is_about) in cases {
        for decision in ["allow", "ask", "deny"] {
            let text = format!("{decision} {rule}");
            let brief = brief(&[(User, &text)], &call);
            assert_eq!(brief.ends_with("user:rules.toml:1"), is_about, "{text}: {brief}");
        }
    }
}

#[test]
fn of_several_folders_all_must_be_meant_to_allow_and_one_to_restrict() {
    let in_roots =
        |roots: &[&str]| Sketch { roots: roots.iter().map(PathBuf::from).collect(), ..edit("/w/a") };
    let (allow, deny) = ([(User, "allow *; workspace = '/w'")], [(User, "deny *; workspace = '/w'")]);
    for (roots, allows, denies) in [
        (&["/w"][..], true, true),
        (&["/w/deep"], true, true),
        (&["/w", "/v"], false, true),
        (&["/v"], false, false),
        (&["/"], false, false),
        (&[], false, false),
        (&["/v/../w"], false, false),
    ] {
        assert_eq!(brief(&allow, &in_roots(roots)).starts_with("Allow"), allows, "{roots:?}");
        assert_eq!(brief(&deny, &in_roots(roots)).starts_with("Deny"), denies, "{roots:?}");
    }
}

#[test]
fn every_command_is_judged_by_itself() {
    let status = (User, "allow run_shell_command; commandPrefix = ['git status', 'ls']");
    let test = (User, "allow bash; commandPrefix = 'cargo test'");
    let push = (User, "deny *; commandPrefix = 'git push'; priority = -1");
    let remove = (Project, "ask *; commandPrefix = 'rm'");
    let all = &[status, test, push, remove][..];
    for (command, expected) in [
        ("git status", "Allow user:rules.toml:1"),
        ("git status -s ; ls -la", "Allow user:rules.toml:1"),
        ("git status ; cargo test", "Allow user:rules.toml:1"),
        ("git status ; make", "Ask builtin:risk=medium"),
        ("make ; git status", "Ask builtin:risk=medium"),
        ("git statusx", "Ask builtin:risk=medium"),
        ("git", "Ask builtin:risk=medium"),
        ("lsof", "Ask builtin:risk=medium"),
        ("ls ; git push", "Deny user:rules.toml:9"),
        ("git push ; ls", "Deny user:rules.toml:9"),
        ("ls ; rm x", "Ask project:rules.toml:1"),
        ("rm x ; git push", "Deny user:rules.toml:9"),
    ] {
        assert_eq!(brief(all, &shell(command)), expected, "{command}");
    }
    // A rule about the whole tool is about each of its commands.
    let whole = (User, "allow run_shell_command; priority = 5");
    assert_eq!(brief(&[whole, push], &shell("git push ; ls")), "Allow user:rules.toml:1");
}

#[test]
fn commands_that_nobody_parsed_are_never_allowed_by_prefix_and_always_asked_about() {
    let unparsed = |mode| Sketch { commands: None, mode, ..shell("git status") };
    let allow = (User, "allow *; commandPrefix = 'git status'");
    let deny = (User, "deny *; commandPrefix = 'rm'");
    assert_eq!(brief(&[allow], &unparsed(ApprovalMode::Default)), "Ask builtin:risk=medium");
    assert_eq!(brief(&[allow], &unparsed(ApprovalMode::Yolo)), "Allow mode:yolo");
    assert_eq!(brief(&[deny], &unparsed(ApprovalMode::Yolo)), "Ask user:rules.toml:1");
    // Nothing was run, or something that is no command.
    let none = Sketch { commands: Some(vec![]), ..unparsed(ApprovalMode::Yolo) };
    assert_eq!(brief(&[deny, allow], &none), "Allow mode:yolo");
    let read = Sketch { mode: ApprovalMode::Yolo, ..edit("/w/a") };
    assert_eq!(brief(&[deny, allow], &read), "Allow mode:yolo");
}

#[test]
fn what_cannot_be_read_asks_in_every_mode_unless_a_rule_of_an_owner_is_about_the_tool() {
    let unread = |text: &str| Sketch {
        unread: Some("it is odd"),
        mode: ApprovalMode::Yolo,
        auto_approve: vec![Risk::Medium],
        ..shell(text)
    };
    let nothing = Sketch { commands: None, ..unread("git status") };
    for sketch in [&nothing, &unread("git status")] {
        assert_eq!(brief(&[], sketch), "Ask builtin:unread-command");
        assert_eq!(brief(&[(User, "allow run_shell_command")], sketch), "Allow user:rules.toml:1");
        assert_eq!(brief(&[(Project, "allow run_shell_command")], sketch), "Ask builtin:unread-command");
        // A permission for what was found is none for what was not.
        assert_eq!(
            brief(&[(User, "allow *; commandPrefix = 'git status'")], sketch),
            "Ask builtin:unread-command"
        );
    }
    // What was found is judged nevertheless.
    assert_eq!(
        brief(&[(User, "deny *; commandPrefix = 'rm'")], &unread("git status ; rm x")),
        "Deny user:rules.toml:1"
    );
    let reason = policy(&[]).decide(&nothing.call()).reason;
    assert_eq!(reason, "`run_shell_command`: nobody can tell what it would run: it is odd");
}

#[test]
fn a_word_that_is_not_known_is_never_allowed_by_a_prefix_and_may_be_any_that_is_forbidden() {
    let yolo = |text: &str| Sketch { mode: ApprovalMode::Yolo, ..shell(text) };
    let allow = (User, "allow *; commandPrefix = 'git status'");
    let deny = (User, "deny *; commandPrefix = 'git push'");
    let cases = [
        ("git ?x", "Ask builtin:risk=medium", "Ask user:rules.toml:1"),
        ("?x status", "Ask builtin:risk=medium", "Ask user:rules.toml:1"),
        // It may be no word at all.
        ("git ?x push", "Ask builtin:risk=medium", "Ask user:rules.toml:1"),
        ("git status ?x", "Allow user:rules.toml:1", "Allow mode:yolo"),
        ("git push ?x", "Ask builtin:risk=medium", "Deny user:rules.toml:1"),
        ("cargo ?x", "Ask builtin:risk=medium", "Allow mode:yolo"),
    ];
    for (text, allowed, denied) in cases {
        assert_eq!(brief(&[allow], &shell(text)), allowed, "{text}");
        assert_eq!(brief(&[deny], &yolo(text)), denied, "{text}");
    }
}

#[test]
fn a_mistaken_rule_is_a_floor_that_nothing_lifts() {
    let mistaken = |text: &str| read_rules(User, text).0;
    let verdicts = |broken: &str, more: &[(PolicyTier, &str)]| {
        let mut rules: Vec<PolicyRule> = policy(more).rules().cloned().collect();
        rules.extend(mistaken(broken));
        let policy = Policy::new(rules);
        let of = |sketch: &Sketch| policy.decide(&sketch.call()).verdict;
        let yolo = |sketch| Sketch { mode: ApprovalMode::Yolo, ..sketch };
        [of(&yolo(edit("/w/a"))), of(&yolo(shell("make"))), of(&Sketch { risk: Risk::Safe, ..edit("/w/a") })]
    };
    use Verdict::{Allow, Ask, Deny};
    let allow = &[(User, "allow *; priority = 99")][..];
    let no_toml = "[[rule";
    assert_eq!(verdicts(no_toml, allow), [Ask, Ask, Allow]);
    let deny = "[[rule]]\ntool = 'write_file'\ndecision = 'deny'\nargsPattern = '('\n";
    assert_eq!(verdicts(deny, allow), [Deny, Allow, Deny]);
    let unknown = "[[rule]]\ntool = 'write_file'\ndecision = 'forbid'\n";
    assert_eq!(verdicts(unknown, allow), [Ask, Allow, Ask]);
    let anything = "[[rule]]\ntol = 'write_file'\ndecision = 'deny'\n";
    assert_eq!(verdicts(anything, allow), [Ask, Ask, Ask]);
    let left_out = "[[rule]]\ntool = '*'\nkind = 'edits'\ndecision = 'allow'\n";
    assert_eq!(verdicts(left_out, &[]), [Allow, Allow, Allow]);
    // It takes nothing away from what the tier's other rules say, whatever their priority.
    assert_eq!(verdicts(unknown, &[(User, "deny write_file; priority = -9")]), [Deny, Allow, Deny]);
    assert_eq!(verdicts(no_toml, &[(User, "deny write_file; priority = -9")]), [Deny, Ask, Deny]);
}

#[test]
fn a_condition_that_cannot_be_used_never_allows_and_never_opens() {
    type Break = fn(&mut PolicyRule);
    let broken: [(&str, Break); 4] = [
        ("argsPattern", |rule| rule.args_pattern = Some("(".into())),
        ("workspace", |rule| rule.workspace = Some("w".into())),
        ("commandPrefix", |rule| rule.command_prefix = vec!["make".into(), " ".into()]),
        ("tool", |rule| rule.tool.clear()),
    ];
    for (what, make_broken) in broken {
        for (word, expected) in [("allow", Verdict::Ask), ("ask", Verdict::Ask), ("deny", Verdict::Deny)] {
            let mut rule =
                policy(&[(User, &format!("{word} run_shell_command"))]).rules().next().unwrap().clone();
            make_broken(&mut rule);
            let policy = Policy::new(vec![rule]);
            assert_eq!(policy.decide(&shell("make").call()).verdict, expected, "{what} {word}");
        }
    }
}

#[test]
fn rules_come_and_go_by_their_id() {
    let policy = policy(&[(User, "deny write_file"), (User, "ask *")]);
    let ids = |policy: &Policy| policy.rules().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    let without = policy.without("user:rules.toml:1");
    assert_eq!(ids(&without), ["user:rules.toml:4"]);
    assert_eq!(without.decide(&edit("/w/a").call()).verdict, Verdict::Ask);
    let rule = policy.rules().next().unwrap().clone();
    let changed = policy.with(PolicyRule { decision: Verdict::Ask, ..rule });
    assert_eq!(ids(&changed), ["user:rules.toml:4", "user:rules.toml:1"]);
    assert_eq!(changed.decide(&edit("/w/a").call()).verdict, Verdict::Ask);
    assert_eq!(policy.decide(&edit("/w/a").call()).verdict, Verdict::Deny);
}

/// What rules say of an agent holds for those that it calls, as far as it is stricter; what they allow it is its own.
#[test]
fn an_agent_that_is_called_has_the_narrower_of_its_own_and_its_callers_rules() {
    let called = |callers: &[&str]| Sketch {
        callers: callers.iter().map(|caller| (*caller).into()).collect(),
        ..edit("/w/a")
    };
    let lead = called(&["lead", "fixer"]);
    let denied = [
        (User, "deny write_file; agent = 'lead'; priority = 1"),
        (User, "allow write_file; agent = 'fixer'; priority = 9"),
    ];
    assert_eq!(brief(&denied, &called(&["fixer"])), "Allow user:rules.toml:6");
    assert_eq!(brief(&denied, &lead), "Deny user:rules.toml:1");
    check(
        &denied[..1],
        &called(&["root", "lead", "between", "fixer"]),
        expect![
            "Deny · user:rules.toml:1 · `write_file`: a rule of the user forbids it (it speaks of the agent lead, which called this one) · rule · User"
        ],
    );
    for (rules, expected) in [
        (&[(Project, "ask *; agent = 'le*'"), (User, "allow write_file")][..], "Ask project:rules.toml:1"),
        // It speaks for the caller no more where another rule of the caller's does.
        (
            &[
                (User, "deny write_file; agent = 'lead'"),
                (User, "allow write_file; agent = 'lead'; priority = 1"),
                (User, "allow write_file; agent = 'fixer'"),
            ],
            "Allow user:rules.toml:10",
        ),
        // What a caller may is nothing that others get by it.
        (&[(User, "allow write_file; agent = 'lead'"), (User, "deny write_file")], "Deny user:rules.toml:5"),
        // Rules that name nobody are everybody's own, and one about the agent itself goes before them.
        (
            &[(User, "ask write_file"), (User, "allow write_file; agent = 'fixer'; priority = 1")],
            "Allow user:rules.toml:4",
        ),
    ] {
        assert_eq!(brief(rules, &lead), expected, "{rules:?}");
    }
    let command = |text: &str| Sketch { callers: vec!["lead".into()], ..shell(text) };
    let rules = [
        (User, "deny run_shell_command; agent = 'lead'; commandPrefix = 'git push'"),
        (User, "allow run_shell_command; agent = 'fixer'"),
    ];
    assert_eq!(brief(&rules, &command("git status")), "Allow user:rules.toml:6");
    assert_eq!(brief(&rules, &command("git status ; git push")), "Deny user:rules.toml:1");
    assert_eq!(brief(&rules, &command("git ?x")), "Ask user:rules.toml:1");
}
