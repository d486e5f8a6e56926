//! What is a circle, and what only looks like one.

use serde_json::json;

use super::*;

/// Letters until a circle is found.
fn found_after(text: &str) -> Option<usize> {
    let mut reader = TextLoopDetector::default();
    text.chars().position(|letter| reader.push(&letter.to_string()).is_some()).map(|at| at + 1)
}

const SENTENCE: &str = "I will now look into the file to see what it is about. ";

#[test]
fn a_sentence_said_again_and_again_is_a_circle() {
    let length = SENTENCE.chars().count();
    let found = found_after(&SENTENCE.repeat(20)).unwrap();
    // The tenth time that its first chunk is whole.
    assert_eq!(found, 9 * length + CHUNK);
    assert_eq!(found_after(&SENTENCE.repeat(9)), None);
    let umlauts = "größer als möglich ".repeat(40);
    assert_eq!(found_after(&umlauts), Some(CHUNK + 9 * 19), "letters, not bytes");
}

#[test]
fn what_lies_far_apart_is_no_circle() {
    let mut n = 0;
    let mut text = String::new();
    for _ in 0..40 {
        text.push_str(SENTENCE);
        for _ in 0..6 {
            n += 1;
            text.push_str(&format!("step{n} "));
        }
    }
    assert_eq!(found_after(&text), None);
}

#[test]
fn what_repeats_by_its_nature_is_none() {
    let rows = "| a cell of a table | and another cell that is the same |\n".repeat(30);
    let list = "- the same item of a list, said once more to fill its line\n".repeat(30);
    let numbered = "12. the same item of a list, said once more to fill its line\n".repeat(30);
    let headings = "## The same heading, said once more, and long enough for a chunk\n".repeat(30);
    let code = format!(
        "```rust\n{}```\n",
        "    vec.push(Item { name: String::new(), size: 0, kind: 1 });\n".repeat(30)
    );
    for text in [&rows, &list, &numbered, &headings, &code] {
        assert_eq!(found_after(text), None, "{text}");
        // What stands before it does not count towards what comes after.
        let half = SENTENCE.repeat(6);
        assert_eq!(found_after(&format!("{half}\n{text}\n{half}")), None, "{text}");
    }
    assert!(found_after(&format!("{code}{}", SENTENCE.repeat(20))).is_some(), "the code is over");
}

#[test]
fn what_is_drawn_is_none() {
    let contents: String = (1..30).map(|n| format!("Chapter {n} {} {}\n", ".".repeat(48), n + 9)).collect();
    let form = ["Name", "Street", "Town", "Country", "Telephone"];
    let form: String = form.iter().map(|field| format!("{field}: {}\n\n", "_".repeat(70))).collect();
    let rows = (0..12).map(|n| format!("│ {:<30} │ {n:>10} │\n", "")).collect::<Vec<_>>();
    let ruler = format!("├{}┼{}┤\n", "─".repeat(32), "─".repeat(12));
    let drawn = format!("┌{}┬{}┐\n{}", "─".repeat(32), "─".repeat(12), rows.join(&ruler));
    let entry = |n: u32| format!("Entry number {n} of this list\n{}\n", "─".repeat(30));
    let entries: String = (0..30).map(entry).collect();
    let cases = [
        "─".repeat(80),
        "*".repeat(80),
        " ".repeat(70),
        "_".repeat(70),
        ".".repeat(70),
        ". ".repeat(70),
        "=-".repeat(70),
        "0".repeat(300),
        "████████░░░░".repeat(20),
        contents,
        form,
        drawn,
        entries,
        "\n".repeat(300),
    ];
    for drawn in cases {
        assert_eq!(found_after(&drawn), None, "{drawn}");
        assert_eq!(found_after(&format!("See: {drawn} (there)\n")), None, "{drawn}");
        let babble = format!("{drawn}\n{}", SENTENCE.repeat(20));
        assert!(found_after(&babble).is_some(), "what comes after is looked at: {drawn}");
    }
}

#[test]
fn what_somebody_draws_has_an_end() {
    let line = format!("{}\n", "─".repeat(80));
    for endless in ["─", "ü", " ", "\n", ". ", "01", "🎉🚀🔥", "?!?\n", &line] {
        let n = endless.chars().count();
        let found = found_after(&endless.repeat(3_000 / n)).unwrap();
        assert!((ENDLESS..ENDLESS + WINDOW).contains(&found), "{endless:?}: {found}");
    }
}

#[test]
fn rulers_between_begin_anew() {
    let paragraph = format!("{SENTENCE}{SENTENCE}\n");
    for ruler in ["────────", "***", "* * *", "___", ". . .", "~ ~ ~", "+----+", "•••"]
    {
        assert_eq!(found_after(&format!("{paragraph}{ruler}\n").repeat(30)), None, "{ruler}");
    }
    for none in ["", "..", "*** so", "-> "] {
        assert!(found_after(&format!("{paragraph}{none}\n").repeat(30)).is_some(), "{none}");
    }
}

#[test]
fn code_in_a_line_begins_no_block() {
    let babble = SENTENCE.repeat(20);
    for line in ["```x```", "```cargo test``` runs them", "````a```b````", "``` x ```", "```a`"] {
        assert!(found_after(&format!("{line}\n{babble}")).is_some(), "{line}");
    }
    for line in ["```", "  ```", "```rust", "``` rust ", "~~~", "~~~ a ~ b", "````"] {
        assert_eq!(found_after(&format!("{line}\n{babble}")), None, "{line}");
        assert!(found_after(&format!("{line}\nx\n{line}\n{babble}")).is_some(), "{line}");
    }
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut reader = TextLoopDetector::default();
    for n in 0..50_000_u32 {
        reader.push(&format!("{n:x} "));
    }
    assert!(reader.chunks.len() <= WINDOW && reader.last.len() <= WINDOW);
}

#[test]
fn how_a_text_is_cut_into_pieces_changes_nothing() {
    let text = format!("{}\n# Head\n{}", SENTENCE.repeat(5), SENTENCE.repeat(20));
    let whole = found_after(&text).unwrap();
    for size in [2, 7, 49, 50, 51, 1_000] {
        let letters: Vec<char> = text.chars().collect();
        let mut reader = TextLoopDetector::default();
        let mut read = 0;
        for piece in letters.chunks(size) {
            read += piece.len();
            if reader.push(&piece.iter().collect::<String>()).is_some() {
                break;
            }
        }
        assert!(read >= whole && read < whole + size, "{size}: {read} {whole}");
    }
}

/// After how many turns a round is found, and how many calls it has. A turn's calls are letters.
fn rounds(turns: &[&str]) -> Option<(usize, usize)> {
    let mut seen = CallLoopDetector::default();
    turns.iter().enumerate().find_map(|(at, turn)| {
        let arguments: Vec<Value> = turn.chars().map(|call| json!({ "path": call })).collect();
        let round = seen.push(arguments.iter().map(|arguments| ("read", arguments)))?;
        Some((at + 1, round.length))
    })
}

#[test]
fn rounds_of_calls_are_circles_and_others_are_none() {
    assert_eq!(rounds(&["a"; 4]), None);
    assert_eq!(rounds(&["a"; 5]), Some((5, 1)));
    assert_eq!(rounds(&["b", "a", "a", "a", "a", "a"]), Some((6, 1)));
    assert_eq!(rounds(&["a", "a", "a", "a", "b", "a"]), None);
    assert_eq!(rounds(&["aaaaa"]), Some((1, 1)));
    assert_eq!(rounds(&["a", "b"].repeat(5)), Some((10, 2)));
    assert_eq!(rounds(&["a", "b"].repeat(4)), None);
    assert_eq!(rounds(&["a", "b", "c"].repeat(5)), Some((15, 3)));
    assert_eq!(rounds(&["a", "b", "c", "d"].repeat(10)), None);
}

#[test]
fn whole_turns_that_come_again_are_circles() {
    assert_eq!(rounds(&["abcd"; 4]), None);
    assert_eq!(rounds(&["abcd"; 5]), Some((5, 4)));
    assert_eq!(rounds(&["abcd", "", "dcba", "abcd", "", "cdab", "bacd"]), Some((7, 4)), "in whatever order");
    assert_eq!(rounds(&["abcd", "abcd", "abcd", "abcd", "abc", "abcd"]), None);
    assert_eq!(rounds(&["abcd", "ef"].repeat(5)), Some((10, 6)));
    assert_eq!(rounds(&["abcd", "e", "fghij"].repeat(5)), Some((15, 10)));
    assert_eq!(rounds(&["abcd", "e", "f", "g"].repeat(10)), None);
}

#[test]
fn calls_are_the_same_by_name_and_canonical_arguments() {
    let mut calls = CallLoopDetector::default();
    let same =
        [json!({"a": 1, "b": [1, {"c": null, "d": "x"}]}), json!({"b": [1, {"d": "x", "c": null}], "a": 1})];
    let found: Vec<bool> = (0..5).map(|n| calls.push([("t", &same[n % 2])]).is_some()).collect();
    assert_eq!(found, [false, false, false, false, true]);
    calls.clear();
    let others =
        [json!({"a": 1}), json!({"a": "1"}), json!({"a": [1]}), json!({"a": [[1]]}), json!({"a": true})];
    assert!(others.iter().all(|arguments| calls.push([("t", arguments)]).is_none()));
    calls.clear();
    assert!(["t", "u", "t", "t", "t", "t"].iter().all(|name| calls.push([(*name, &json!({}))]).is_none()));
}
