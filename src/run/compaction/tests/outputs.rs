//! Which outputs are shortened, to what, and what stays as it was?

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
};

use super::{super::outputs::OUTPUT_BUDGET, *};
use protocol::{CallId, ProviderMessage};

fn lines(n_lines: usize) -> String {
    (1..=n_lines).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "line {line}");
        text
    })
}

/// A conversation in which each of these is the output of one call, oldest first: `c0`, `c1`, …
fn outputs(of: &[&str]) -> Vec<Arc<ContextMessage>> {
    let turn = |(at, output): (usize, &&str)| {
        let id = format!("c{at}");
        [calls(&[&id]), results(&[(&id, output)])]
    };
    [user("do")].into_iter().chain(of.iter().enumerate().flat_map(turn)).collect()
}

fn old(messages: &[Arc<ContextMessage>], budget: u64) -> Vec<String> {
    let old = old_outputs(messages, TokenEstimate::tokens(budget), &HashSet::new());
    old.iter().map(|output| output.call.to_string()).collect()
}

fn replaced(messages: &[Arc<ContextMessage>], budget: u64) -> Vec<Arc<ContextMessage>> {
    let old = old_outputs(messages, TokenEstimate::tokens(budget), &HashSet::new());
    let saved = |output: &OldOutput| format!("/kept/{}.txt", output.call);
    with_replaced(
        messages,
        &old.iter().map(|output| (output.call.clone(), output.replacement(Some(&saved(output))))).collect(),
    )
}

fn sole_text(parts: &[MessagePart]) -> &str {
    let [part] = parts else { panic!("{parts:?}") };
    part.as_text().unwrap()
}

#[test]
fn what_fits_stays() {
    let text = lines(2_000);
    let messages = outputs(&[&text, &text]);
    assert!(old(&messages, 50_000).is_empty());
    assert_eq!(OUTPUT_BUDGET, TokenEstimate::tokens(50_000));
    assert!(old(&[], 0).is_empty());
}

#[test]
fn older_ones_are_beyond_the_budget_first() {
    // About 5,000 tokens each.
    let text = lines(2_000);
    let messages = outputs(&[&text, &text, &text, &text]);
    assert_eq!(old(&messages, 12_000), ["c1", "c0"]);
}

#[test]
fn the_one_that_crosses_the_budget_is_shortened_too() {
    let messages = outputs(&[&lines(2_000)]);
    assert_eq!(old(&messages, 4_000), ["c0"]);
}

#[test]
fn what_is_left_of_a_long_one_counts_in_its_place() {
    let (long, short) = (lines(10_000), lines(1_000));
    let messages = outputs(&[&short, &long, &short]);
    assert_eq!(old(&messages, 10_000), ["c1"]);
}

#[test]
fn within_one_message_the_later_result_is_the_newer() {
    let text = lines(2_000);
    let messages = [user("do"), calls(&["a", "b"]), results(&[("a", &text), ("b", &text)])];
    assert_eq!(old(&messages, 6_000), ["a"]);
}

#[test]
fn errors_and_short_outputs_stay() {
    let error = message(MessageRole::Tool, vec![result_of("a", vec![MessagePart::text(lines(9_000))], true)]);
    assert!(old(&[user("do"), calls(&["a"]), error], 100).is_empty());
    assert!(old(&outputs(&[&lines(30), "x", ""]), 0).is_empty());
}

#[test]
fn what_was_shortened_stays_as_it_is() {
    let text = lines(2_000);
    let messages = replaced(&outputs(&[&text, &text]), 0);
    assert!(old(&messages, 0).is_empty());
}

#[test]
fn an_output_cannot_pass_for_a_shortened_one() {
    let shortened = replaced(&outputs(&[&lines(2_000)]), 0);
    let MessagePart::ToolResult { parts, .. } = &shortened[2].parts[0] else { panic!("{shortened:?}") };
    let pretender = sole_text(parts).to_owned() + &lines(9_000);
    assert_eq!(old(&outputs(&[&pretender]), 0), ["c0"]);
}

#[test]
fn the_last_lines_are_kept_and_where_the_whole_is() {
    let output = old_outputs(&outputs(&[&lines(500)]), TokenEstimate::default(), &HashSet::new()).remove(0);
    assert_eq!((output.kept_lines, output.total_lines), (30, 500));
    assert_eq!(output.whole, lines(500));
    let kept = output.replacement(Some("/kept/c0.txt"));
    let (note, rest) = sole_text(&kept).split_once('\n').unwrap();
    assert_eq!(
        note,
        "[An older output, shortened to save room: the last 30 of the 500 lines that it showed follow. The whole is \
         kept; read_file with this path shows any lines of it, by offset and limit: /kept/c0.txt]"
    );
    assert!(lines(500).ends_with(rest));
    assert_eq!(rest.lines().count(), 30);
}

#[test]
fn what_could_not_be_kept_is_not_promised() {
    let output = old_outputs(&outputs(&[&lines(500)]), TokenEstimate::default(), &HashSet::new()).remove(0);
    let lost = output.replacement(None);
    assert!(sole_text(&lost).contains("The rest could not be kept; make the call again if you need it]\n"));
    assert!(!sole_text(&lost).contains("read_file"));
}

#[test]
fn lines_are_bounded() {
    let line = "漢".repeat(40_000);
    let output = old_outputs(&outputs(&[&line]), TokenEstimate::default(), &HashSet::new()).remove(0);
    assert_eq!((output.kept_lines, output.total_lines), (1, 1));
    let kept = output.replacement(None);
    assert!(sole_text(&kept).ends_with(&format!("]\n{}[… and 39800 characters more]\n", "漢".repeat(200))));
}

#[test]
fn the_longest_replacement_is_still_known_as_one() {
    let whole = format!("{}\n", "漢".repeat(40_000)).repeat(40);
    let output = old_outputs(&outputs(&[&whole]), TokenEstimate::default(), &HashSet::new()).remove(0);
    let path = format!("/{}", "p".repeat(4_095));
    let kept = output.replacement(Some(&path));
    assert!(old(&outputs(&[sole_text(&kept)]), 0).is_empty());
}

#[test]
fn data_is_a_line_of_the_whole() {
    let image = MessagePart::InlineData { mime_type: "image/png".to_owned(), data: "AAAA".repeat(9_000) };
    let parts = vec![MessagePart::text("seen"), image, MessagePart::text(lines(100))];
    let messages =
        [user("do"), calls(&["a"]), message(MessageRole::Tool, vec![result_of("a", parts, false)])];
    let output = old_outputs(&messages, TokenEstimate::default(), &HashSet::new()).remove(0);
    assert!(
        output.whole.starts_with("seen\n[image/png, 27000 bytes, left out]\nline 1\n"),
        "{}",
        output.whole
    );
}

#[test]
fn messages_without_a_replaced_result_stay_the_same() {
    let text = lines(2_000);
    let mut messages = outputs(&[&text, &text]);
    let raw = serde_json::value::to_raw_value(&json!("verbatim")).unwrap();
    Arc::make_mut(&mut messages[2]).raw =
        Some(ProviderMessage { provider: "gemini".into(), entry: None, raw: raw.into() });
    let news = replaced(&messages, 6_000);
    assert_eq!(news.len(), messages.len());
    for (at, (old, new)) in messages.iter().zip(&news).enumerate() {
        assert_eq!(Arc::ptr_eq(old, new), at != 2, "{at}");
    }
    assert!(news[2].raw.is_none());
    // Told once more, nothing is new.
    let MessagePart::ToolResult { call_id, parts, .. } = &news[2].parts[0] else { panic!("{news:?}") };
    let again = with_replaced(&news, &BTreeMap::from([(call_id.clone(), parts.clone())]));
    assert!(news.iter().zip(&again).all(|(old, new)| Arc::ptr_eq(old, new)));
}

#[test]
fn after_replacing_results_fit_and_all_else_is_as_it_was() {
    trials(|dice, seed| {
        let messages = history(dice);
        let budget = TokenEstimate::tokens(dice.below(4_000) as u64);
        let old = old_outputs(&messages, budget, &HashSet::new());
        let news: BTreeMap<CallId, Vec<MessagePart>> = old
            .iter()
            .map(|output| (output.call.clone(), output.replacement(Some("/kept/it.txt"))))
            .collect();
        assert_eq!(news.len(), old.len(), "{seed}: one twice");
        let replaced = with_replaced(&messages, &news);
        let total = |messages: &[Arc<ContextMessage>]| {
            messages.iter().map(|message| weigh(message)).sum::<TokenEstimate>()
        };
        assert!(old.is_empty() || total(&replaced) < total(&messages), "{seed}");
        let mut left = messages.iter().zip(&replaced);
        assert!(left.all(|(old, new)| old.parts.len() == new.parts.len()), "{seed}");
        let again = old_outputs(&replaced, budget, &HashSet::new());
        assert!(again.iter().all(|output| !news.contains_key(&output.call)), "{seed}");
    });
}
