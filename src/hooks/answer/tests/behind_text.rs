//! Is JSON behind other text judged as JSON that stands alone?

use super::*;

/// What an object says does not depend on what is printed before it: a refusal that would be a failure alone is one behind text, too.
#[test]
fn an_object_behind_text_is_judged_as_one_that_stands_alone() {
    let judged = |event, stdout: &str| {
        let answer = read(&ended(0, stdout, ""), event, HookContract::Claude, false);
        (answer.decision, answer.failure.is_some())
    };
    for object in [
        r#"{"decision":"block"}"#,
        r#"{"decison":"block"}"#,
        r#"{"blocked":true}"#,
        r#"{"permission":"deny"}"#,
        r#"{"result":{"allow":false}}"#,
        r#"{"unsafe":true}"#,
        r#"{"safe":false}"#,
        r#"{"in_policy":"no"}"#,
        r#"{"exitCode":2}"#,
        r#"{"tool_input":{"command":"ls"}}"#,
        r#"{"verdict":"rejected"}"#,
        r#"{"files":3}"#,
        r#"{"note":"fine"}"#,
        r#"{"metrics":{"blocked":1}}"#,
        "{'decision': 'block'}",
        "{'blocked': True}",
        r#"{"blocked": true,}"#,
    ] {
        let alone = judged(PreToolUse, object);
        for text in
            [format!("checking…\n{object}"), format!("checked: {object} (done)"), format!("[{object}]")]
        {
            assert_eq!(judged(PreToolUse, &text), alone, "{text}");
        }
    }
    // A text for a model may quote what it likes; its last line is a verdict if it reads like one.
    for (text, fails) in [
        ("package.json: {\"private\": true, \"scripts\": {\"test\": \"x\"}}", false),
        ("The log says\n{\"level\": \"error\", \"blocked\": true}\nand no more.", false),
        ("a, b\n{\"name\": \"x\", \"private\": true}", false),
        ("looked\n{\"blocked\": true}", true),
        ("looked\n{\"permission\": \"deny\"}\n", true),
        ("looked at {\"decison\": \"block\"} there", true),
    ] {
        assert_eq!(judged(UserPromptSubmit, text), (None, fails), "{text}");
    }
    let session = judged(SessionStart, "looked\n{\"blocked\": true}");
    assert_eq!(session, (None, false));
}
