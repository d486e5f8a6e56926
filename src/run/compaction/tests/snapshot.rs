//! What is read as a snapshot, and what is not?

use super::*;

/// As a summariser of Gemini CLI wrote it, shortened.
const RECORDED: &str = "scratchpad\nThe user's overall goal was to write a story.\n\n<state_snapshot>\n    <overall_goal>\n        \
Write a 200-word story about a robot, ending with \"THE_END.\".\n    </overall_goal>\n\n    <key_knowledge>\n        - The story \
must end with the exact phrase \"THE_END.\"\n    </key_knowledge>\n\n    <file_system_state>\n        <!-- No relevant file \
system interactions occurred during this task. -->\n    </file_system_state>\n\n    <recent_actions>\n        - Generated a \
200-word story.\n    </recent_actions>\n\n    <current_plan>\n        1. [DONE] Write a story.\n    </current_plan>\n</state_snapshot>";

fn read(reply: &str) -> Option<String> {
    CompactionSummary::read(reply).map(|snapshot| snapshot.text)
}

#[test]
fn a_recorded_reply_is_read() {
    let snapshot = CompactionSummary::read(RECORDED).unwrap();
    assert_eq!(snapshot.scratchpad, "scratchpad\nThe user's overall goal was to write a story.");
    assert!(snapshot.text.starts_with("<state_snapshot>\n    <overall_goal>"));
    assert!(snapshot.text.ends_with("</current_plan>\n</state_snapshot>"));
}

#[test]
fn what_is_around_it_is_no_part_of_it() {
    let text = snapshot_text("a goal");
    assert_eq!(read(&text).unwrap(), text);
    assert_eq!(CompactionSummary::read(&text).unwrap().scratchpad, "");
    assert_eq!(read(&format!("```xml\n{text}\n```\nThat was it.")).unwrap(), text);
    let spoken = format!(
        "Now the <state_snapshot>, with <overall_goal> first: {text} The </state_snapshot> is whole."
    );
    assert_eq!(read(&spoken).unwrap(), text);
}

#[test]
fn angle_brackets_in_texts_do_not_confuse() {
    for goal in [
        "a < b && c > d",
        "Vec<Vec<u8>>",
        "<b>bold</b> <overall_goal >",
        "</",
        "<",
        "<<<>>>",
        "<!-- never closed",
        "& &lt; ]]>",
    ] {
        let text = snapshot_text(goal);
        assert_eq!(read(&text).as_deref(), Some(&text[..]), "{goal}");
    }
}

#[test]
fn what_is_not_one_well_formed_snapshot_is_none() {
    let good = snapshot_text("a goal");
    let without = |piece: &str| good.replace(piece, "");
    assert!(read("").is_none());
    assert!(read("I will not.").is_none());
    assert!(read("<state_snapshot></state_snapshot>").is_none());
    // Two.
    assert!(read(&format!("{good}{good}")).is_none());
    assert!(read(&format!("{good}\nor rather\n{}", snapshot_text("another"))).is_none());
    for (begin, end) in super::super::snapshot::SECTIONS {
        assert!(read(&without(begin)).is_none(), "{begin}");
        assert!(read(&without(end)).is_none(), "{end}");
        // Twice, within itself, within another.
        assert!(read(&good.replace(end, &format!("{end}{begin}{end}"))).is_none(), "{begin}");
        assert!(read(&good.replace(begin, &format!("{begin}{begin}"))).is_none(), "{begin}");
        assert!(read(&good.replace("a goal", begin)).is_none(), "{begin}");
        assert!(read(&good.replace("a goal", end)).is_none(), "{end}");
    }
    assert!(read(&without("<state_snapshot>")).is_none());
    assert!(read(&without("</state_snapshot>")).is_none());
    // In another order.
    let swapped = good
        .replace("key_knowledge", "K")
        .replace("recent_actions", "key_knowledge")
        .replace('K', "recent_actions");
    assert!(read(&swapped).is_none());
    // Words between sections.
    assert!(read(&good.replace("<key_knowledge>", "and <key_knowledge>")).is_none());
    assert!(read(&good.replace("</state_snapshot>", ". </state_snapshot>")).is_none());
    // Tags of another form.
    assert!(read(&good.replace("<state_snapshot>", "<STATE_SNAPSHOT>")).is_none());
    assert!(read(&good.replace("<state_snapshot>", "<state_snapshot version=\"1\">")).is_none());
}

#[test]
fn a_reply_that_breaks_off_is_none() {
    for end in 0..RECORDED.len() {
        assert!(read(&RECORDED[..end]).is_none(), "{end}");
    }
}

#[test]
fn blanks_and_comments_between_sections_are_fine() {
    let text = snapshot_text("a goal")
        .replace("<key_knowledge>", "\n <!-- what - is -> known --> <!---->\t<key_knowledge>");
    assert_eq!(read(&text).unwrap(), text);
    for comment in ["<!-- never closed", "<!-- <recent_actions> -->", "<!->"] {
        assert!(
            read(&snapshot_text("a").replace("<key_knowledge>", &format!("{comment}<key_knowledge>")))
                .is_none(),
            "{comment}"
        );
    }
}

#[test]
fn one_that_says_nothing_is_none() {
    let empty = snapshot_text(" \n").replace(">-<", "><!-- nothing --><");
    assert!(read(&empty).is_none(), "{empty}");
    assert!(read(&empty.replace("<current_plan>", "<current_plan>.")).is_some());
}

#[test]
fn reading_random_texts_gives_a_part_of_them_or_nothing() {
    trials(|dice, seed| {
        let good = snapshot_text("x");
        let pieces = [
            &good[..],
            "<state_snapshot>",
            "<overall_goal>",
            "<!--",
            "-->",
            "</state_snapshot>",
            " ",
            "x",
            "漢",
        ];
        let reply: String = (0..dice.below(12)).map(|_| pieces[dice.below(pieces.len())]).collect();
        match CompactionSummary::read(&reply) {
            Some(snapshot) => {
                assert_eq!(snapshot.text, good, "{seed}: {reply}");
                assert_eq!(reply.matches(&good).count(), 1, "{seed}: {reply}");
            }
            None => assert_ne!(reply.matches(&good).count(), 1, "{seed}: {reply}"),
        }
    });
}

#[test]
fn a_condensed_history_is_known_by_its_exact_form() {
    let snapshot = CompactionSummary::read(RECORDED).unwrap();
    let [said, answered] = opening(&snapshot);
    assert_eq!((said.role, answered.role), (MessageRole::User, MessageRole::Model));
    // It comes back from the log as it was.
    let through_log = |message: &ContextMessage| -> Arc<ContextMessage> {
        Arc::new(serde_json::from_value(serde_json::to_value(message).unwrap()).unwrap())
    };
    let history = [through_log(&said), through_log(&answered), user("next")];
    assert_eq!(of_history(&history), Some(&snapshot.text[..]));
    assert_eq!(of_history(&history[..2]), Some(&snapshot.text[..]));
    assert_eq!(of_history(&history[..1]), None);
    assert_eq!(of_history(&history[1..]), None);
    assert_eq!(of_history(&[]), None);
}

#[test]
fn a_text_that_has_a_snapshot_in_it_is_no_condensed_history() {
    let snapshot = CompactionSummary::read(RECORDED).unwrap();
    let [said, answered] = opening(&snapshot).map(Arc::new);
    let none = |first: Arc<ContextMessage>, second: Arc<ContextMessage>| {
        assert_eq!(of_history(&[first, second, user("next")]), None)
    };
    none(user(snapshot.text.clone()), answered.clone());
    none(user(said.text() + "\n"), answered.clone());
    none(user(format!("See: {}", said.text())), answered.clone());
    none(said.clone(), model("Understood."));
    none(said.clone(), user(answered.text()));
    none(model(said.text()), answered.clone());
    none(
        message(MessageRole::User, vec![MessagePart::text(said.text()), MessagePart::text("and now")]),
        answered.clone(),
    );
    none(
        message(MessageRole::Tool, vec![result_of("a", vec![MessagePart::text(said.text())], false)]),
        answered.clone(),
    );
    none(user(said.text().replace("</current_plan>", "")), answered);
}
