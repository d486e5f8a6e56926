//! Promises of auto-routing: which words are found where, and who wins.

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;

mod hostile;
mod keywords;
mod spellings;

fn trigger(keywords: &[&str], regex: Option<&str>, priority: i64) -> RoutingTrigger {
    RoutingTrigger {
        intent: None,
        keywords: keywords.iter().map(|keyword| (*keyword).to_owned()).collect(),
        regex: regex.map(str::to_owned),
        priority,
    }
}

/// Agents by name; a name may come several times, once for each trigger.
fn agents(triggers: &[(&str, RoutingTrigger)]) -> Vec<(AgentName, AgentTriggers)> {
    let mut agents: Vec<(AgentName, Vec<RoutingTrigger>)> = Vec::new();
    for (name, trigger) in triggers {
        let name = AgentName::from(*name);
        match agents.iter_mut().find(|(known, _)| *known == name) {
            Some((_, triggers)) => triggers.push(trigger.clone()),
            None => agents.push((name, vec![trigger.clone()])),
        }
    }
    agents.into_iter().map(|(name, triggers)| (name, AgentTriggers::compile(&triggers))).collect()
}

fn route_among(agents: &[(AgentName, AgentTriggers)], prompt: &str) -> Option<TriggerRoute> {
    route(prompt, agents.iter().map(|(name, triggers)| (name, triggers)))
}

/// The agents in the order in which they would be taken.
fn check(triggers: &[(&str, RoutingTrigger)], prompts: &[&str], expected: Expect) {
    let agents = agents(triggers);
    let mut told = String::new();
    for prompt in prompts {
        // What nobody sees is shown by a sign.
        writeln!(told, "{}", prompt.replace('\u{200b}', "␣")).unwrap();
        let Some(route) = route_among(&agents, prompt) else {
            writeln!(told, "  nobody").unwrap();
            continue;
        };
        let TriggerRoute { agent, trigger_index, matched, priority, runners_up, .. } = route;
        writeln!(told, "  {agent}[{trigger_index}] {priority} {matched:?}").unwrap();
        for RouteRunnerUp { agent, trigger_index, matched, priority, .. } in runners_up {
            writeln!(told, "  then {agent}[{trigger_index}] {priority} {matched:?}").unwrap();
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn the_example_of_the_specification() {
    check(
        &[
            ("debugger", trigger(&["bug", "error", "crash", "stack trace"], None, 10)),
            ("fixer", trigger(&[], Some("fix.*test"), 8)),
        ],
        &[
            "There are bugs here",
            "Please FIX the flaky Tests.",
            "fix the test that ends in an error",
            "debug this",
            "What a nice day",
            "",
        ],
        expect![[r#"
            There are bugs here
              debugger[0] 10 ["bug"]
            Please FIX the flaky Tests.
              fixer[0] 8 ["FIX the flaky Test"]
            fix the test that ends in an error
              debugger[0] 10 ["error"]
              then fixer[0] 8 ["fix the test"]
            debug this
              nobody
            What a nice day
              nobody

              nobody
        "#]],
    );
}

#[test]
fn the_highest_priority_wins_then_more_keywords_then_the_name() {
    check(
        &[
            ("zoe", trigger(&["red", "green"], None, 0)),
            ("bob", trigger(&["red", "blue", "green"], None, 0)),
            ("amy", trigger(&["red"], None, 0)),
            ("max", trigger(&["blue"], None, 1)),
            ("low", trigger(&["red", "green", "blue"], None, -1)),
        ],
        &["red", "red green", "red green blue", "green", "blue"],
        expect![[r#"
            red
              amy[0] 0 ["red"]
              then bob[0] 0 ["red"]
              then zoe[0] 0 ["red"]
              then low[0] -1 ["red"]
            red green
              bob[0] 0 ["red", "green"]
              then zoe[0] 0 ["red", "green"]
              then amy[0] 0 ["red"]
              then low[0] -1 ["red", "green"]
            red green blue
              max[0] 1 ["blue"]
              then bob[0] 0 ["red", "blue", "green"]
              then zoe[0] 0 ["red", "green"]
              then amy[0] 0 ["red"]
              then low[0] -1 ["red", "green", "blue"]
            green
              bob[0] 0 ["green"]
              then zoe[0] 0 ["green"]
              then low[0] -1 ["green"]
            blue
              max[0] 1 ["blue"]
              then bob[0] 0 ["blue"]
              then low[0] -1 ["blue"]
        "#]],
    );
}

#[test]
fn the_best_trigger_of_an_agent_stands_for_it() {
    check(
        &[
            ("a", trigger(&["red"], None, 0)),
            ("a", trigger(&["green", "blue"], None, 0)),
            ("a", trigger(&["yellow"], None, 5)),
            ("a", trigger(&["blue", "green"], None, 0)),
            ("b", trigger(&["red", "green"], None, 0)),
        ],
        &["red", "red green", "green blue", "yellow green blue red", "red green blue"],
        expect![[r#"
            red
              a[0] 0 ["red"]
              then b[0] 0 ["red"]
            red green
              b[0] 0 ["red", "green"]
              then a[0] 0 ["red"]
            green blue
              a[1] 0 ["green", "blue"]
              then b[0] 0 ["green"]
            yellow green blue red
              a[2] 5 ["yellow"]
              then b[0] 0 ["red", "green"]
            red green blue
              a[1] 0 ["green", "blue"]
              then b[0] 0 ["red", "green"]
        "#]],
    );
}

#[test]
fn keywords_that_mean_the_same_count_once() {
    check(
        &[
            ("twice", trigger(&["bug", "BUG", " bug ", "error"], None, 0)),
            ("once", trigger(&["bug"], None, 0)),
        ],
        &["a bug"],
        expect![[r#"
            a bug
              once[0] 0 ["bug"]
              then twice[0] 0 ["bug"]
        "#]],
    );
}

#[test]
fn an_expression_counts_as_no_keyword() {
    check(
        &[
            ("a-regex", trigger(&[], Some("bug"), 0)),
            ("both", trigger(&["crash"], Some("bug"), 0)),
            ("keyword", trigger(&["bug"], None, 0)),
        ],
        &["a bug", "a bug that makes it crash"],
        expect![[r#"
            a bug
              keyword[0] 0 ["bug"]
              then a-regex[0] 0 ["bug"]
              then both[0] 0 ["bug"]
            a bug that makes it crash
              both[0] 0 ["crash"]
              then keyword[0] 0 ["bug"]
              then a-regex[0] 0 ["bug"]
        "#]],
    );
}

#[test]
fn expressions_are_matched_without_regard_to_case() {
    check(
        &[
            ("cyrillic", trigger(&[], Some("ошибк[аи]"), 0)),
            ("dots", trigger(&[], Some("(?s)begin.*end"), 0)),
            ("line", trigger(&[], Some("^one.*two$"), 0)),
            ("number", trigger(&[], Some(r"\bE\d{4}\b"), 0)),
            ("sensitive", trigger(&[], Some("(?-i)Rust"), 0)),
            ("suffix", trigger(&[], Some(r"\w+ception"), 0)),
            ("word", trigger(&[], Some(r"\büber\w*"), 0)),
        ],
        &[
            "ОШИБКИ в тесте",
            "begin\nend",
            "one\ntwo",
            "One and TWO",
            "what is e0308?",
            "was ist E0308 für ein Fehler?",
            "e03081",
            "rust",
            "Rust",
            "a NullPointerException!",
            "ein Überlauf",
            "hinüber",
        ],
        expect![[r#"
            ОШИБКИ в тесте
              cyrillic[0] 0 ["ОШИБКИ"]
            begin
            end
              dots[0] 0 ["begin\nend"]
            one
            two
              nobody
            One and TWO
              line[0] 0 ["One and TWO"]
            what is e0308?
              number[0] 0 ["e0308"]
            was ist E0308 für ein Fehler?
              number[0] 0 ["E0308"]
            e03081
              nobody
            rust
              nobody
            Rust
              sensitive[0] 0 ["Rust"]
            a NullPointerException!
              suffix[0] 0 ["NullPointerException"]
            ein Überlauf
              word[0] 0 ["Überlauf"]
            hinüber
              nobody
        "#]],
    );
}

#[test]
fn five_others_are_told_of() {
    let triggers: Vec<(String, RoutingTrigger)> =
        (0..9).map(|number| (format!("agent-{number}"), trigger(&["bug"], None, number % 3))).collect();
    let triggers: Vec<(&str, RoutingTrigger)> =
        triggers.iter().map(|(name, trigger)| (name.as_str(), trigger.clone())).collect();
    check(
        &triggers,
        &["bug"],
        expect![[r#"
        bug
          agent-2[0] 2 ["bug"]
          then agent-5[0] 2 ["bug"]
          then agent-8[0] 2 ["bug"]
          then agent-1[0] 1 ["bug"]
          then agent-4[0] 1 ["bug"]
          then agent-7[0] 1 ["bug"]
    "#]],
    );
}

#[test]
fn what_matched_is_shortened() {
    let long = "long".repeat(40);
    check(
        &[("keyword", trigger(&[&long], None, 0)), ("regex", trigger(&[], Some("(long)+!"), 0))],
        &[&long, &format!("so {long}!")],
        expect![[r#"
            longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong
              keyword[0] 0 ["longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong…"]
            so longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong!
              keyword[0] 0 ["longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong…"]
              then regex[0] 0 ["longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong…"]
        "#]],
    );
}

/// A log may hold what a newer or an older daemon took.
#[test]
fn what_cannot_be_used_is_never_found() {
    check(
        &[
            ("a", trigger(&["", " ", "\u{200b}"], Some("(unclosed"), 0)),
            ("b", trigger(&[], None, 0)),
            ("c", trigger(&["x"], Some(r"\w{900}"), 0)),
        ],
        &["(unclosed \u{200b} ", "x"],
        expect![[r#"
            (unclosed ␣ 
              nobody
            x
              c[0] 0 ["x"]
        "#]],
    );
}
