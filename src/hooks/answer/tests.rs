//! How are answers read, by each contract and exit code?

use expect_test::{Expect, expect};

use super::*;

fn ended(code: i32, stdout: &str, stderr: &str) -> HandlerEnd {
    HandlerEnd {
        exit_code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        ..HandlerEnd::default()
    }
}

/// Only what was said, in one line.
fn told(answer: &HookAnswer) -> String {
    let mut parts = Vec::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            parts.push(format!("{name}={value}"));
        }
    };
    put("decision", answer.decision.map(|it| format!("{it:?}")));
    put("reason", answer.reason.clone());
    put("stop", answer.stop.clone());
    put("input", answer.updated_input.as_ref().map(Value::to_string));
    put("output", answer.updated_output.as_ref().map(Value::to_string));
    put("context", answer.context.clone());
    put("message", answer.message.clone());
    put("title", answer.session_title.clone());
    put("retry", answer.retry.then(String::new));
    put("interrupt", answer.interrupt.then(String::new));
    put("allows", answer.allows_question.then(String::new));
    put("elicitation", answer.elicitation.as_ref().map(|it| format!("{it:?}")));
    put("tools", answer.model.allowed_tools.as_ref().map(|it| format!("{it:?}")));
    put("async", answer.goes_async.map(|it| format!("{it:?}")));
    put("follow", answer.follow_up.as_ref().map(|it| format!("{it:?}")));
    put("failure", answer.failure.as_ref().map(|(how, why)| format!("{how:?}: {why}")));
    parts.join(" ")
}

/// Each row: event, exit code, standard output, standard error.
fn check(contract: HookContract, rows: &[(HookEventName, i32, &str, &str)], expected: &Expect) {
    let lines = rows.iter().map(|(event, code, stdout, stderr)| {
        let answer = read(&ended(*code, stdout, stderr), *event, contract, false);
        format!("{} {code} {stdout:?}: {}\n", event.as_str(), told(&answer))
    });
    expected.assert_eq(&lines.collect::<String>());
}

use HookEventName::*;

#[test]
fn exit_codes_and_outputs_of_claude_code() {
    check(
        HookContract::Claude,
        &[
            (PreToolUse, 0, "", ""),
            (PreToolUse, 0, "fine\n", ""),
            (PreToolUse, 2, "", ""),
            (PreToolUse, 2, "", "no rm here\n"),
            (PreToolUse, 2, r#"{"decision":"approve"}"#, "said on the error output"),
            (PreToolUse, 2, r#"{"reason":"its own"}"#, "not this"),
            (PreToolUse, 2, "{ broken", "still no"),
            (PreToolUse, 1, "", "Traceback (most recent call last):\n  x"),
            (PreToolUse, 1, r#"{"decision":"approve"}"#, ""),
            (
                PreToolUse,
                1,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#,
                "",
            ),
            (PreToolUse, 127, "", "bash: x: command not found"),
            (PreToolUse, 0, "{ broken", ""),
            (PreToolUse, 0, "{ broken }", ""),
            (PreToolUse, 0, "{}", ""),
            (PreToolUse, 0, r#"{"foo":1}"#, ""),
            (PreToolUse, 0, r#"{"decision":5}"#, ""),
            (PreToolUse, 0, r#"{"decision":"perhaps"}"#, ""),
            (PreToolUse, 0, r#"{"decision":"block","reason":"old way"}"#, ""),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"look"}}"#,
                "",
            ),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}"#,
                "",
            ),
            (
                PreToolUse,
                0,
                r#"{"decision":"block","hookSpecificOutput":{"permissionDecision":"allow"}}"#,
                "",
            ),
            (PreToolUse, 0, r#"{"permissionDecision":"deny","permissionDecisionReason":"r"}"#, ""),
            (PreToolUse, 0, r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}"#, ""),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls"},"additionalContext":"c"}}"#,
                "",
            ),
            (PreToolUse, 0, r#"{"hookSpecificOutput":{"updatedInput":"ls"}}"#, ""),
            (PreToolUse, 0, "checking…\n{\"decision\":\"block\",\"reason\":\"behind notes\"}\n", ""),
            (PreToolUse, 0, "note {\"decision\":\"block\"} done", ""),
            (PreToolUse, 0, "{\"decision\":\"block\"}\ndone", ""),
            (PreToolUse, 0, r#"{"continue":false,"stopReason":"enough","systemMessage":"m"}"#, ""),
            (PreToolUse, 0, "{\"async\":true,\"asyncTimeout\":5000}\n", ""),
            (PreToolUse, 0, r#"[{"decision":"block"}]"#, ""),
            (UserPromptSubmit, 0, "Today is Thursday.\n", ""),
            (
                UserPromptSubmit,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c","sessionTitle":"t"}}"#,
                "",
            ),
            (SessionStart, 0, "context\n", ""),
            (PostToolUse, 0, "not context\n", ""),
            (
                PostToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"new","additionalContext":"c"}}"#,
                "",
            ),
            (PostToolUse, 0, r#"{"decision":"block","reason":"tests fail"}"#, ""),
            (Stop, 0, r#"{"decision":"block","reason":"go on"}"#, ""),
            (
                PermissionRequest,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#,
                "",
            ),
            (
                PermissionRequest,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"m","interrupt":true}}}"#,
                "",
            ),
            (
                PermissionRequest,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"maybe"}}}"#,
                "",
            ),
            (
                PermissionDenied,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionDenied","retry":true}}"#,
                "",
            ),
            (
                Elicitation,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}"#,
                "",
            ),
        ],
        &expect![[r#"
            PreToolUse 0 "": 
            PreToolUse 0 "fine\n": 
            PreToolUse 2 "": decision=Deny
            PreToolUse 2 "": decision=Deny reason=no rm here
            PreToolUse 2 "{\"decision\":\"approve\"}": decision=Deny reason=said on the error output
            PreToolUse 2 "{\"reason\":\"its own\"}": decision=Deny reason=its own
            PreToolUse 2 "{ broken": decision=Deny reason=still no
            PreToolUse 1 "": failure=Failed: ended with exit code 1: Traceback (most recent call last):
            PreToolUse 1 "{\"decision\":\"approve\"}": failure=Failed: ended with exit code 1
            PreToolUse 1 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}": decision=Deny failure=Failed: ended with exit code 1
            PreToolUse 127 "": failure=Failed: ended with exit code 127: bash: x: command not found
            PreToolUse 0 "{ broken": failure=Invalid: printed JSON that cannot be read: key must be a string at line 1 column 3
            PreToolUse 0 "{ broken }": failure=Invalid: printed JSON that cannot be read: key must be a string at line 1 column 3
            PreToolUse 0 "{}": 
            PreToolUse 0 "{\"foo\":1}": failure=Invalid: printed JSON that cannot be read: it has no field of a hook's answer
            PreToolUse 0 "{\"decision\":5}": failure=Invalid: printed JSON of the wrong shape: `decision` is no text
            PreToolUse 0 "{\"decision\":\"perhaps\"}": failure=Invalid: printed JSON of the wrong shape: `decision` is `perhaps`
            PreToolUse 0 "{\"decision\":\"block\",\"reason\":\"old way\"}": decision=Deny reason=old way
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"look\"}}": decision=Ask reason=look
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"defer\"}}": decision=Ask
            PreToolUse 0 "{\"decision\":\"block\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}": decision=Deny
            PreToolUse 0 "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"r\"}": decision=Deny
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\"}}": failure=Invalid: printed JSON of the wrong shape: `hookEventName` is `PostToolUse` at PreToolUse
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{\"command\":\"ls\"},\"additionalContext\":\"c\"}}": input={"command":"ls"} context=c
            PreToolUse 0 "{\"hookSpecificOutput\":{\"updatedInput\":\"ls\"}}": failure=Invalid: printed JSON of the wrong shape: `updatedInput` is no object
            PreToolUse 0 "checking…\n{\"decision\":\"block\",\"reason\":\"behind notes\"}\n": decision=Deny reason=behind notes
            PreToolUse 0 "note {\"decision\":\"block\"} done": decision=Deny
            PreToolUse 0 "{\"decision\":\"block\"}\ndone": decision=Deny
            PreToolUse 0 "{\"continue\":false,\"stopReason\":\"enough\",\"systemMessage\":\"m\"}": stop=enough message=m
            PreToolUse 0 "{\"async\":true,\"asyncTimeout\":5000}\n": 
            PreToolUse 0 "[{\"decision\":\"block\"}]": decision=Deny
            UserPromptSubmit 0 "Today is Thursday.\n": context=Today is Thursday.
            UserPromptSubmit 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"c\",\"sessionTitle\":\"t\"}}": context=c title=t
            SessionStart 0 "context\n": context=context
            PostToolUse 0 "not context\n": 
            PostToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":\"new\",\"additionalContext\":\"c\"}}": output="new" context=c
            PostToolUse 0 "{\"decision\":\"block\",\"reason\":\"tests fail\"}": decision=Deny reason=tests fail
            Stop 0 "{\"decision\":\"block\",\"reason\":\"go on\"}": decision=Deny reason=go on
            PermissionRequest 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}": decision=Allow allows=
            PermissionRequest 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"deny\",\"message\":\"m\",\"interrupt\":true}}}": decision=Deny reason=m interrupt=
            PermissionRequest 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"maybe\"}}}": failure=Invalid: printed JSON of the wrong shape: `behavior` is maybe
            PermissionDenied 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionDenied\",\"retry\":true}}": retry=
            Elicitation 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"Elicitation\",\"action\":\"decline\"}}": elicitation=("decline", None)
        "#]],
    );
}

#[test]
fn fields_of_gemini_cli() {
    check(
        HookContract::Gemini,
        &[
            (PreToolUse, 0, r#"{"decision":"deny","reason":"r"}"#, ""),
            (PreToolUse, 0, r#"{"proceed":false}"#, ""),
            (
                PreToolUse,
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"ls"}}}"#,
                "",
            ),
            (
                PostToolUse,
                0,
                r#"{"hookSpecificOutput":{"tailToolCallRequest":{"name":"read_file","args":{"file_path":"a"}}}}"#,
                "",
            ),
            (PostToolUse, 0, r#"{"hookSpecificOutput":{"tailToolCallRequest":5}}"#, ""),
            (
                BeforeToolSelection,
                0,
                r#"{"hookSpecificOutput":{"toolConfig":{"mode":"ANY","allowedFunctionNames":["replace"]}}}"#,
                "",
            ),
            (BeforeToolSelection, 0, r#"{"hookSpecificOutput":{"toolConfig":{"mode":"NONE"}}}"#, ""),
            (BeforeAgent, 0, "text", ""),
            (BeforeModel, 2, "", "no"),
        ],
        &expect![[r#"
            PreToolUse 0 "{\"decision\":\"deny\",\"reason\":\"r\"}": decision=Deny reason=r
            PreToolUse 0 "{\"proceed\":false}": decision=Deny
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeTool\",\"tool_input\":{\"command\":\"ls\"}}}": input={"command":"ls"}
            PostToolUse 0 "{\"hookSpecificOutput\":{\"tailToolCallRequest\":{\"name\":\"read_file\",\"args\":{\"file_path\":\"a\"}}}}": follow=("read_file", Object {"file_path": String("a")})
            PostToolUse 0 "{\"hookSpecificOutput\":{\"tailToolCallRequest\":5}}": failure=Invalid: printed JSON of the wrong shape: `tailToolCallRequest` is not {name, args}
            BeforeToolSelection 0 "{\"hookSpecificOutput\":{\"toolConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"replace\"]}}}": tools=["replace"]
            BeforeToolSelection 0 "{\"hookSpecificOutput\":{\"toolConfig\":{\"mode\":\"NONE\"}}}": tools=[]
            BeforeAgent 0 "text": context=text
            BeforeModel 2 "": decision=Deny reason=no
        "#]],
    );
}

#[test]
fn models_say_ok_or_not_and_anything_else_is_a_failure() {
    for (text, decision, fails) in [
        (r#"{"ok": true}"#, None, false),
        (r#"{"ok": false, "reason": "r"}"#, Some(HookDecision::Deny), false),
        (r#"{"ok": "true"}"#, None, true),
        ("Yes, of course.", None, true),
        ("", None, true),
        // Whoever refuses in prose and quotes what would consent has not consented.
        (r#"I do not answer with {"ok": true}, since it deletes everything."#, None, true),
        (r#"{"ok": true} would be wrong here."#, None, true),
        (r#"{"ok": true} {"ok": true}"#, None, true),
        (r#"No: {"ok": false, "reason": "r"}, not {"ok": true}."#, Some(HookDecision::Deny), false),
    ] {
        let answer = read(&HandlerEnd::answered(text), PreToolUse, HookContract::Claude, true);
        assert_eq!((answer.decision, answer.failure.is_some()), (decision, fails), "{text}");
    }
}

#[test]
fn a_handler_that_did_not_end_as_it_should_has_failed_whatever_it_printed() {
    let mut end = ended(0, r#"{"decision":"approve"}"#, "");
    end.failure = Some((HookOutcome::TimedOut, "took more than 1 s and was ended".to_owned()));
    let answer = read(&end, PreToolUse, HookContract::Claude, false);
    assert_eq!((answer.decision, answer.failure.map(|(how, _)| how)), (None, Some(HookOutcome::TimedOut)));
}

#[test]
fn long_texts_are_cut_and_kept_whole() {
    let (short, whole) = cut(&"ö".repeat(MOST_TEXT_CHARS + 5));
    assert!(
        short.ends_with("[… and 5 more characters]") && whole.unwrap().chars().count() == MOST_TEXT_CHARS + 5
    );
    assert_eq!(cut("short"), ("short".to_owned(), None));
}

/// A guard may print words of the agent that it guards, before its answer, behind it or in it.
#[test]
fn no_words_beside_an_answer_take_a_denial_away() {
    let many = "{".repeat(200);
    let too_many = "{ ".repeat(5_000);
    for (code, stdout) in [
        (0, format!("checking: echo {many}\n{{\"decision\":\"block\"}}")),
        (0, "checking: danger {\"continue\":true} x\n{\"decision\":\"block\"}".to_owned()),
        (0, "{\"decision\":\"block\"}\n{\"continue\":true}".to_owned()),
        (0, "{\"continue\":true}{\"decision\":\"block\"}{\"decision\":\"approve\"}".to_owned()),
        (0, "{\"async\": true}\n{\"decision\":\"block\"}".to_owned()),
        (0, "note { x\n{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}".to_owned()),
        (2, "{\"async\": true}".to_owned()),
        (2, "{\"async\": true}\n".to_owned()),
    ] {
        let answer = read(&ended(code, &stdout, ""), PreToolUse, HookContract::Claude, false);
        assert_eq!(answer.decision, Some(HookDecision::Deny), "{code} {stdout:.60}: {}", told(&answer));
        assert_eq!(answer.goes_async, None);
    }
    for stdout in [
        "note {\"decision\":\"block\",}".to_owned(),
        "{\"continue\":true}\n{\"decision\":\"block\",}".to_owned(),
        format!("checking: {too_many}\n{{\"decision\":\"approve\"}}"),
    ] {
        let answer = read(&ended(0, &stdout, ""), PreToolUse, HookContract::Claude, false);
        assert!(answer.failure.is_some(), "{stdout:.60}: {}", told(&answer));
    }
    // A program's own braces are no answer, and what lies within another object neither.
    for stdout in [
        "checked ${HOME} {a,b}",
        "{\"continue\":true,\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\"}}",
    ] {
        let answer = read(&ended(0, stdout, ""), PreToolUse, HookContract::Claude, false);
        assert_eq!((answer.decision, &answer.failure), (None, &None), "{stdout}");
    }
}

/// Words of an agent that a hook repeats make no call.
#[test]
fn a_call_is_wanted_in_an_answer_of_gemini_clis_alone() {
    let wants = r#"{"hookSpecificOutput":{"tailToolCallRequest":{"name":"read_file","args":{}}}}"#;
    for (contract, stdout, is_wanted) in [
        (HookContract::Gemini, wants.to_owned(), true),
        (HookContract::Claude, wants.to_owned(), false),
        (HookContract::Gemini, format!("the agent said: {wants}"), false),
        (HookContract::Gemini, format!("{wants}\n{{}}"), false),
    ] {
        let answer = read(&ended(0, &stdout, ""), PostToolUse, contract, false);
        assert_eq!(
            (answer.follow_up.is_some(), answer.message.is_none()),
            (is_wanted, is_wanted),
            "{stdout}"
        );
    }
}
