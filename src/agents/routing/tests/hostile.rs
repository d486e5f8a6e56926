//! Prompts and triggers that were made to cost. That these end soon is what they show.

use super::*;

/// A prompt that is no shorter than this, of one text.
fn long(text: &str, bytes: usize) -> String {
    text.repeat(bytes.div_ceil(text.len()))
}

#[test]
fn only_the_beginning_of_a_prompt_counts() {
    let agents = agents(&[
        ("keyword", trigger(&["bug"], None, 0)),
        ("regex", trigger(&[], Some("cr+ash$"), 0)),
        ("short", trigger(&["go"], None, 0)),
    ]);
    let taken = |prompt: &str| route_among(&agents, prompt).map(|route| route.agent.to_string());
    let before = |bytes: usize| long("x ", bytes)[..bytes].to_owned();
    assert_eq!(taken(&format!("bug {}", before(1024 * 1024))).as_deref(), Some("keyword"));
    assert_eq!(taken(&format!("{} bug", before(PROMPT_BYTES - 4))).as_deref(), Some("keyword"));
    assert_eq!(taken(&format!("{} bug", before(PROMPT_BYTES))), None);
    assert_eq!(taken(&format!("{} crash", before(PROMPT_BYTES - 6))).as_deref(), Some("regex"));
    // Of a word that is cut, no half is looked at.
    assert_eq!(taken(&format!("{}golang", before(PROMPT_BYTES - 2))), None);
    assert_eq!(taken(&format!("{}crashing", before(PROMPT_BYTES - 6))), None);
    // Text without blanks is cut where it must be.
    assert_eq!(taken(&format!(" bug{}", long("漢", PROMPT_BYTES))).as_deref(), Some("keyword"));
}

#[test]
fn prompts_of_a_megabyte_are_looked_at() {
    let nested = r"(?s)(.*a.*){60}\z";
    let agents = agents(&[
        ("a", trigger(&["needle", "a a a b", "漢字漢字x", "...!"], None, 1)),
        ("b", trigger(&[], Some(r"[ab]*a[ab]{200}c"), 0)),
        ("c", trigger(&[], Some(r"\b(\w )*\w{9}\b!"), 0)),
        ("d", trigger(&[], Some(nested), -1)),
    ]);
    let accents = "e\u{301}\u{302}\u{323}".to_owned();
    for unit in [
        "a", "a ", "aab", ".", " ", "\n", "漢字", "e\u{301}", "\u{301}", "ab ä", "\u{fdfa}", "\u{0}",
        "\u{1}", &accents,
    ] {
        let route = route_among(&agents, &long(unit, 1024 * 1024));
        assert!(route.is_none_or(|route| route.agent.as_str() == "d"), "{unit:?}");
    }
}

#[test]
fn expressions_that_grow_are_refused() {
    for text in [
        r"\w{1000}",
        r"(\w+\d?){40}x",
        r"(?:\w{1,9}[^a]){9}!",
        "(((x?){30}){30}){30}",
        "((((((a{9}){9}){9}){9}){9}){9}){9}",
        &r"\pL".repeat(333),
    ] {
        let mut allowance = MOST_AUTOMATA_BYTES;
        let refused = TriggerExpression::new(text, &mut allowance).map(|_| ()).unwrap_err();
        assert_eq!(refused, "is too large; use smaller repetitions", "{text}");
        assert!(allowance < MOST_AUTOMATA_BYTES, "what is refused costs, too");
    }
}

#[test]
fn expressions_of_an_agent_have_a_bound_together() {
    // Reading counts, too: three characters may name a class of all letters.
    let costly = "a".repeat(1_000);
    let mut allowance = MOST_AUTOMATA_BYTES;
    let taken = (0..100).filter(|_| TriggerExpression::new(&costly, &mut allowance).is_ok()).count();
    assert!((1..20).contains(&taken), "{taken}");
    let mut allowance = MOST_AUTOMATA_BYTES;
    let usual = r"\b(fix|repair|mend)\w* .*\btests?\b";
    assert!((0..100).all(|_| TriggerExpression::new(usual, &mut allowance).is_ok()), "{allowance}");
}

/// Words in other letters than ASCII's end where only the slow engine can tell.
#[test]
fn what_the_slow_engine_does_is_bounded() {
    let triggers: Vec<RoutingTrigger> =
        (0..100).map(|number| trigger(&[], Some(&format!(r"\b(\w+ ){{2,4}}ü{number}\b")), 0)).collect();
    let agents = [(AgentName::from("a"), AgentTriggers::compile(&triggers))];
    assert_eq!(route_among(&agents, &format!("ä ö ü7 {}", long("xy ", 100))).unwrap().trigger_index, 7);
    assert_eq!(route_among(&agents, &long("äb ü ", 1024 * 1024)), None);
}

#[test]
fn a_match_that_begins_far_away_is_told_by_its_end() {
    let agents = agents(&[("a", trigger(&[], Some(r"(?s)begin.*(end|fin){1,9}\w{1,3}\b!"), 0))]);
    let prompt = format!("begin {} the ending!", long("x ", PROMPT_BYTES - 100));
    let route = route_among(&agents, &prompt).unwrap();
    assert!(
        route.matched[0].ends_with("the ending!") || route.matched[0].starts_with("begin x"),
        "{route:?}"
    );
}

#[test]
fn many_agents_are_compared() {
    let agents: Vec<(AgentName, AgentTriggers)> = (0..2_500)
        .map(|number| {
            let keyword = format!("stack trace {number:04}");
            let triggers = [trigger(&["word"], None, 1), trigger(&[&keyword], None, 2)];
            (AgentName::from(format!("agent-{number:04}")), AgentTriggers::compile(&triggers))
        })
        .collect();
    let prompt = format!("{} stack trace 1077, please, in a word", long("an ordinary text ", 1_000));
    let route = route_among(&agents, &prompt).unwrap();
    assert_eq!((route.agent.as_str(), route.priority), ("agent-1077", 2));
    assert_eq!(route.runners_up[0].agent.as_str(), "agent-0000");
}
