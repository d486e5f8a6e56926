//! Where is a history cut, and where never?

use super::*;

fn long(n_chars: usize) -> String {
    "x".repeat(n_chars)
}

#[test]
fn nothing_can_go_of_nothing_and_of_a_first_request() {
    assert_eq!(split(&[]).at, 0);
    assert_eq!(split(&[user(long(9_000))]).at, 0);
    assert_eq!(split(&[user("do"), calls(&["a"]), results(&[("a", &long(9_000))])]).at, 0);
}

#[test]
fn the_newest_third_or_less_is_kept_from_a_users_message_on() {
    let messages = [
        user(long(3_000)),
        model(long(3_000)),
        // 60 % are before it: too much would be kept.
        user(long(1_500)),
        model(long(500)),
        // 80 %.
        user(long(1_000)),
        model(long(500)),
        user(long(500)),
    ];
    assert_eq!(split(&messages).at, 4);
}

#[test]
fn the_mark_of_70_percent_itself_is_a_cut() {
    // Each message counts its text and what wraps it: 28 characters.
    let messages = [user(long(672)), model(long(672)), user(long(272)), model(long(272))];
    assert_eq!(split(&messages).at, 2);
    let messages = [user(long(672)), model(long(671)), user(long(272)), model(long(272)), user("x")];
    assert_eq!(split(&messages).at, 4);
}

#[test]
fn without_a_cut_in_time_all_goes_after_the_models_last_word() {
    let messages = [user("do"), calls(&["a"]), results(&[("a", &long(9_000))]), model("done")];
    assert_eq!(split(&messages).at, 4);
    // Also when there is an early cut: as little as possible is kept.
    let messages = [user("one"), model("two"), user("three"), model(long(9_000))];
    assert_eq!(split(&messages).at, 4);
}

#[test]
fn without_the_models_last_word_as_much_goes_as_can() {
    let messages = [user("one"), model("two"), user("three"), model("four"), user(long(9_000))];
    assert_eq!(split(&messages).at, 4);
    let messages = [user("one"), model("two"), user("three"), calls(&["a"]), results(&[("a", &long(9_000))])];
    assert_eq!(split(&messages).at, 2);
    let blank = message(MessageRole::Model, vec![MessagePart::text(" ")]);
    let thought =
        message(MessageRole::Model, vec![MessagePart::Thought { text: long(900), signature: None }]);
    for last in [calls(&["a"]), blank, thought] {
        let messages = [user("one"), model("two"), user(long(9_000)), last];
        assert_eq!(split(&messages).at, 2, "{:?}", messages[3]);
    }
}

#[test]
fn results_are_no_words_of_a_user() {
    let told = |role| message(role, vec![result_of("a", vec![MessagePart::text("x")], false)]);
    for role in [MessageRole::Tool, MessageRole::User] {
        let messages = [user(long(9_000)), calls(&["a"]), told(role), user("next")];
        assert_eq!(split(&messages).at, 3);
        let messages = [user(long(9_000)), calls(&["a"]), told(role), calls(&["b"])];
        assert_eq!(split(&messages).at, 0);
    }
}

#[test]
fn a_call_stays_with_a_result_that_comes_late() {
    let messages =
        [user(long(9_000)), calls(&["a"]), user("meanwhile"), results(&[("a", "x")]), user("next")];
    assert_eq!(split(&messages).at, 4);
    let messages = [user(long(9_000)), calls(&["a"]), user("meanwhile"), results(&[("a", "x")])];
    assert_eq!(split(&messages).at, 0);
    // One that never got a result holds nobody up.
    let messages = [user(long(9_000)), calls(&["a"]), user("next")];
    assert_eq!(split(&messages).at, 2);
}

#[test]
fn arguments_results_and_data_have_characters_too() {
    let arguments = message(MessageRole::Model, vec![call("a", json!({ "text": long(9_000) }))]);
    assert_eq!(split(&[user("do"), arguments, results(&[("a", "x")]), user("next"), calls(&["b"])]).at, 3);
    let image = MessagePart::InlineData { mime_type: "image/png".to_owned(), data: String::new() };
    let shown = message(MessageRole::User, vec![image]);
    assert_eq!(split(&[shown, model("nice"), user(long(500)), calls(&["b"])]).at, 2);
}

#[test]
fn a_snapshot_alone_is_not_condensed_again() {
    let [said, answered] = opening(&CompactionSummary::read(&snapshot_text("a goal")).unwrap()).map(Arc::new);
    assert_eq!(split(&[said.clone(), answered.clone()]).at, 0);
    let mut messages = vec![said, answered, user("next"), calls(&["a"]), results(&[("a", &long(9_000))])];
    assert_eq!(split(&messages).at, 0);
    messages.extend([model("done"), user("more")]);
    assert_eq!(split(&messages).at, 6);
}

#[test]
fn a_cut_keeps_little_and_parts_nothing() {
    trials(|dice, seed| {
        let messages = if dice.once_in(3) { shuffled(dice) } else { history(dice) };
        let HistorySplit { at: cut, bridge } = split(&messages);
        assert!(cut <= messages.len(), "{seed}");
        assert!(!parts_a_call(&messages, cut), "{seed}: {messages:#?}");
        if cut == 0 {
            return;
        }
        let is_cut = |at: usize| messages[at].role == MessageRole::User && !parts_a_call(&messages, at);
        if let (Some(first), Some(last)) = (bridge.first(), bridge.last()) {
            assert!(*last < cut && messages[cut].role == MessageRole::Model, "{seed}");
            // Everything that was said since the request, and nothing else.
            let said = (*first..cut).filter(|at| is_prompt(&messages[*at]));
            assert_eq!(said.collect::<Vec<_>>(), bridge, "{seed}");
            assert!(!(cut..messages.len()).any(|at| is_cut(at) && is_prompt(&messages[at])), "{seed}");
            return;
        }
        assert!(cut == messages.len() || is_cut(cut), "{seed}");
        // Not much is kept, unless no later cut is possible.
        let chars = |messages: &[Arc<ContextMessage>]| -> u64 {
            messages
                .iter()
                .map(|message| super::super::estimate::MessageLength::of_message(message).chars())
                .sum()
        };
        let is_little = chars(&messages[cut..]) * 10 <= chars(&messages) * 3;
        assert!(is_little || !(cut + 1..messages.len()).any(is_cut), "{seed}");
        // And not less than can be.
        let earlier = (1..cut.min(messages.len())).rev().find(|at| is_cut(*at));
        if let Some(earlier) = earlier {
            assert!(chars(&messages) * 3 < chars(&messages[earlier..]) * 10, "{seed}");
        }
    });
}

#[test]
fn roles_alternate_behind_a_snapshot() {
    trials(|dice, seed| {
        let messages = history(dice);
        let HistorySplit { at: cut, bridge } = split(&messages);
        if cut == 0 {
            return;
        }
        let condensed: Vec<_> = opening(&some_snapshot(dice))
            .map(Arc::new)
            .into_iter()
            .chain(bridge.first().map(|asked| Arc::clone(&messages[*asked])))
            .chain(messages[cut..].iter().cloned())
            .collect();
        assert_eq!(condensed[1].role, MessageRole::Model, "{seed}");
        assert!(condensed.get(2).is_none_or(|message| message.role == MessageRole::User), "{seed}");
        assert!(of_history(&condensed).is_some(), "{seed}");
    });
}

fn is_prompt(message: &ContextMessage) -> bool {
    message.role == MessageRole::User
        && !message.parts.iter().any(|part| matches!(part, MessagePart::ToolResult { .. }))
}

#[test]
fn a_long_work_on_one_request_is_cut_before_a_reply_and_the_request_repeated() {
    let mut messages = vec![user("do it")];
    for turn in 0..20 {
        let id = format!("c{turn}");
        messages.extend([calls(&[&id]), results(&[(&id, &long(500))])]);
    }
    let HistorySplit { at, bridge } = split(&messages);
    assert_eq!((at, bridge), (29, vec![0]));
    // Condensed once more, the snapshot is no request.
    let [said, answered] = opening(&CompactionSummary::read(&snapshot_text("a goal")).unwrap()).map(Arc::new);
    let mut again: Vec<_> =
        [said, answered, user("do it")].into_iter().chain(messages[29..].iter().cloned()).collect();
    again.extend(messages[1..].iter().cloned());
    assert_eq!(split(&again).bridge, [2]);
    // A request that is nearly all there is cannot be condensed.
    messages[0] = user(long(90_000));
    assert_eq!(split(&messages), HistorySplit { at: 0, bridge: Vec::new() });
}

#[test]
fn what_the_daemon_says_is_no_request_and_what_people_say_meanwhile_is_repeated_too() {
    use crate::nudges::{CONTINUE, PLEASE_CONTINUE, SAME_CALLS};
    let mut messages =
        vec![user("an earlier task"), model("done"), user("do it"), model("I beg"), user(CONTINUE)];
    for turn in 0..20 {
        let id = format!("c{turn}");
        messages.extend([calls(&[&id]), results(&[(&id, &long(500))])]);
        match turn {
            3 => messages.push(user("in blue")),
            5 => messages.push(user(SAME_CALLS)),
            8 => messages.push(user("and large")),
            _ => (),
        }
    }
    let prompts = |at: &Vec<usize>| at.iter().map(|at| messages[*at].text()).collect::<Vec<_>>();
    let HistorySplit { at, bridge } = split(&messages);
    assert_eq!(prompts(&bridge), ["do it", "in blue", "and large"]);
    assert_eq!(messages[at].role, MessageRole::Model);
    // Nor does anything begin with it.
    let messages =
        [user("do it"), model(long(9_000)), user(PLEASE_CONTINUE), calls(&["a"]), results(&[("a", "x")])];
    assert_eq!(split(&messages), HistorySplit { at: 3, bridge: vec![0] });
}
