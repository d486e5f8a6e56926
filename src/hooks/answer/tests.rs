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
    put("ignored", answer.ignored.clone());
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
            PreToolUse 1 "": failure=Failed: ended with exit code 1: x
            PreToolUse 1 "{\"decision\":\"approve\"}": failure=Failed: ended with exit code 1
            PreToolUse 1 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}": decision=Deny failure=Failed: ended with exit code 1
            PreToolUse 127 "": failure=Failed: ended with exit code 127: bash: x: command not found
            PreToolUse 0 "{ broken": failure=Invalid: printed JSON that cannot be read: key must be a string at line 1 column 3
            PreToolUse 0 "{ broken }": failure=Invalid: printed JSON that cannot be read: key must be a string at line 1 column 3
            PreToolUse 0 "{}": 
            PreToolUse 0 "{\"foo\":1}": ignored=`foo`
            PreToolUse 0 "{\"decision\":5}": failure=Invalid: printed JSON of the wrong shape: `decision` is no text
            PreToolUse 0 "{\"decision\":\"perhaps\"}": failure=Invalid: printed JSON of the wrong shape: `decision` is `perhaps`
            PreToolUse 0 "{\"decision\":\"block\",\"reason\":\"old way\"}": decision=Deny reason=old way
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"look\"}}": decision=Ask reason=look
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"defer\"}}": decision=Ask
            PreToolUse 0 "{\"decision\":\"block\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}": decision=Deny
            PreToolUse 0 "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"r\"}": decision=Deny reason=r
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

/// A hook that hands on what it read has said nothing, whatever that holds.
#[test]
fn an_event_that_is_printed_back_says_nothing() {
    let printed =
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_input":{"command":"x"},"reason":"r"}"#;
    for (event, is_echo, fails) in
        [(PreToolUse, true, false), (PreToolUse, false, true), (UserPromptSubmit, true, false)]
    {
        let end = HandlerEnd { without_echo: is_echo.then(String::new), ..ended(0, printed, "") };
        let answer = read(&end, event, HookContract::Claude, false);
        assert_eq!((answer.failure.is_some(), &answer.context), (fails, &None), "{}", told(&answer));
        assert!(fails || answer == HookAnswer::default(), "{}", told(&answer));
    }
    let blocks = HandlerEnd { without_echo: Some(String::new()), ..ended(2, printed, "no") };
    let answer = read(&blocks, PreToolUse, HookContract::Claude, false);
    assert_eq!((answer.decision, answer.reason.as_deref()), (Some(HookDecision::Deny), Some("no")));
}

/// What products pass over is passed over and told; what was meant to decide is no answer.
#[test]
fn fields_that_no_product_has() {
    let specific = |event: &str, fields: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{fields}}}}}"#)
    };
    let long = "x".repeat(70);
    let rows: Vec<(HookEventName, i32, String)> = [
        // Fields of a hook's own.
        r#"{"metrics":{"pv":3,"tok_in":12,"blocked":false,"precision":0.5}}"#,
        r#"{"metrics":{"decisions":2},"rewakeSummary":"looked at 3 files"}"#,
        r#"{"continue":true,"feedback":"fine","processed":7,"revision":"a1"}"#,
        r#"{"continue":true,"cached":false,"shared":"no"}"#,
        r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#,
        r#"{"ok":true}"#,
        r#"{"decison":null,"error":null,"errors":[]}"#,
        r#"{"success":true,"status":"ok","exit_code":0}"#,
        r#"{"permission":"allow","allowed":true,"blocked":false,"denied":0,"error":"","stop":[]}"#,
        r#"{"permission":"deny","decision":"block","reason":"as two products read it"}"#,
        // A verdict that is mistyped.
        r#"{"decison":"block","reason":"rm"}"#,
        r#"{"Decision":"block"}"#,
        r#"{"permission_decision":"deny"}"#,
        r#"{"continued":false,"reason":"r"}"#,
        r#"{"Continue":false}"#,
        r#"{"procede":false}"#,
        r#"{"behaviour":"deny"}"#,
        r#"{"hook_specific_output":{"permissionDecision":"deny"}}"#,
        r#"{"hookSpecificOutputs":{"permissionDecision":"deny"}}"#,
        r#"{"updated_input":{"command":"ls"}}"#,
        r#"{"continue":true,"tool_input":{"command":"ls"}}"#,
        // A verdict where nobody reads it.
        r#"{"output":{"permissionDecision":"deny"}}"#,
        r#"{"result":[{"hooks":{"decision":"block"}}],"reason":"r"}"#,
        r#"{"behavior":"deny","message":"m"}"#,
        // A verdict in words of one's own.
        r#"{"block":true}"#,
        r#"{"allowed":false}"#,
        r#"{"permission":"ask"}"#,
        r#"{"isBlocked":true,"reason":"r"}"#,
        r#"{"permission":"deny","userMessage":"as another editor writes it"}"#,
        r#"{"status":"Denied"}"#,
        r#"{"result":{"status":"rejected"}}"#,
        r#"{"safe":false}"#,
        r#"{"exitCode":2}"#,
        r#"{"in_policy":false}"#,
        r#"{"in_policy":"No"}"#,
        r#"{"error":"no such policy"}"#,
        r#"{"ok":false}"#,
        r#"{"ok":"yes"}"#,
    ]
    .iter()
    .map(|stdout| (PreToolUse, 0, (*stdout).to_owned()))
    .chain([
        (PreToolUse, 0, specific("PreToolUse", r#""decision":"deny""#)),
        (PreToolUse, 0, specific("PreToolUse", r#""decision":"allow""#)),
        (PreToolUse, 0, specific("PreToolUse", r#""permissionDecison":"deny""#)),
        (PreToolUse, 0, specific("PreToolUse", r#""action":"decline""#)),
        (PreToolUse, 0, specific("PreToolUse", r#""additionalContext":"c","riskScore":7"#)),
        (UserPromptSubmit, 0, specific("UserPromptSubmit", r#""permissionDecision":"deny""#)),
        (UserPromptSubmit, 0, r#"{"permissionDecision":"deny"}"#.to_owned()),
        // Published hooks print it there, where it guards nothing.
        (PostToolUse, 0, specific("PostToolUse", r#""permissionDecision":"deny""#)),
        (PostToolUse, 0, r#"{"updatedToolOutput":"redacted","reason":"r"}"#.to_owned()),
        // A change of arguments where there is none to be made.
        (PostToolUse, 0, specific("PostToolUse", r#""updatedInput":{"command":"ls"}"#)),
        (PostToolUse, 0, specific("PostToolUse", r#""tool_input":{"command":"ls"},"note":1"#)),
        (UserPromptSubmit, 0, specific("UserPromptSubmit", r#""updatedInput":{"prompt":"p"}"#)),
        (PermissionRequest, 0, specific("PermissionRequest", r#""decision":{"behavior":"allow","interupt":true}"#)),
        (PermissionRequest, 0, specific("PermissionRequest", r#""decision":{"behavior":"allow","note":"n"}"#)),
        (
            PreToolUse,
            0,
            r#"{"permissionDecision":"deny","permissionDecisionReason":"r","hookSpecificOutput":{"permissionDecision":"allow","additionalContext":"c"}}"#
                .to_owned(),
        ),
        // The exit code counts, and behind other text only what begins like an answer.
        (PreToolUse, 1, r#"{"metrics":{}}"#.to_owned()),
        (PreToolUse, 2, r#"{"metrics":{}}"#.to_owned()),
        (PreToolUse, 0, r#"looked at {"files":3}"#.to_owned()),
        (PreToolUse, 0, "checking…\n{\"decison\":\"block\"}".to_owned()),
        (PreToolUse, 0, r#"[{"decison":"block"}]"#.to_owned()),
        (PreToolUse, 0, "{\"metrics\":1}\n{\"decision\":\"block\"}".to_owned()),
        (PreToolUse, 0, "{\"metrics\":1}\n{\"continue\":true}".to_owned()),
        (PreToolUse, 0, "{\"decison\":\"block\"}\n{\"continue\":true}".to_owned()),
        (UserPromptSubmit, 0, r#"{"metrics":1}"#.to_owned()),
        (PreToolUse, 0, format!("{{\"{long}\":1,\"\\u001b[2J\":1}}")),
    ])
    .collect();
    let rows: Vec<_> =
        rows.iter().map(|(event, code, stdout)| (*event, *code, stdout.as_str(), "")).collect();
    check(
        HookContract::Claude,
        &rows,
        &expect![[r#"
            PreToolUse 0 "{\"metrics\":{\"pv\":3,\"tok_in\":12,\"blocked\":false,\"precision\":0.5}}": ignored=`metrics`
            PreToolUse 0 "{\"metrics\":{\"decisions\":2},\"rewakeSummary\":\"looked at 3 files\"}": ignored=`metrics`, `rewakeSummary`
            PreToolUse 0 "{\"continue\":true,\"feedback\":\"fine\",\"processed\":7,\"revision\":\"a1\"}": ignored=`feedback`, `processed`, `revision`
            PreToolUse 0 "{\"continue\":true,\"cached\":false,\"shared\":\"no\"}": ignored=`cached`, `shared`
            PreToolUse 0 "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1}": ignored=`a`, `b`, `c`, `d`, `e`, and 2 more
            PreToolUse 0 "{\"ok\":true}": 
            PreToolUse 0 "{\"decison\":null,\"error\":null,\"errors\":[]}": ignored=`errors`
            PreToolUse 0 "{\"success\":true,\"status\":\"ok\",\"exit_code\":0}": ignored=`status`, `exit_code` failure=Invalid: printed JSON of the wrong shape: `success` is no field of an answer, and may be a verdict; a hook decides by `decision`
            PreToolUse 0 "{\"permission\":\"allow\",\"allowed\":true,\"blocked\":false,\"denied\":0,\"error\":\"\",\"stop\":[]}": ignored=`permission`, `denied`, `error`, `stop` failure=Invalid: printed JSON of the wrong shape: `allowed` is no field of an answer, and may be a verdict; a hook decides by `decision`
            PreToolUse 0 "{\"permission\":\"deny\",\"decision\":\"block\",\"reason\":\"as two products read it\"}": decision=Deny reason=as two products read it
            PreToolUse 0 "{\"decison\":\"block\",\"reason\":\"rm\"}": reason=rm failure=Invalid: printed JSON of the wrong shape: `decison` is no field of an answer; was `decision` meant?
            PreToolUse 0 "{\"Decision\":\"block\"}": failure=Invalid: printed JSON of the wrong shape: `Decision` is no field of an answer; was `decision` meant?
            PreToolUse 0 "{\"permission_decision\":\"deny\"}": failure=Invalid: printed JSON of the wrong shape: `permission_decision` is no field of an answer; was `permissionDecision` meant?
            PreToolUse 0 "{\"continued\":false,\"reason\":\"r\"}": reason=r failure=Invalid: printed JSON of the wrong shape: `continued` is no field of an answer; was `continue` meant?
            PreToolUse 0 "{\"Continue\":false}": failure=Invalid: printed JSON of the wrong shape: `Continue` is no field of an answer; was `continue` meant?
            PreToolUse 0 "{\"procede\":false}": failure=Invalid: printed JSON of the wrong shape: `procede` is no field of an answer; was `proceed` meant?
            PreToolUse 0 "{\"behaviour\":\"deny\"}": failure=Invalid: printed JSON of the wrong shape: `behaviour` is no field of an answer; was `behavior` meant?
            PreToolUse 0 "{\"hook_specific_output\":{\"permissionDecision\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `hook_specific_output` is no field of an answer; was `hookSpecificOutput` meant?
            PreToolUse 0 "{\"hookSpecificOutputs\":{\"permissionDecision\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `hookSpecificOutputs` is no field of an answer; was `hookSpecificOutput` meant?
            PreToolUse 0 "{\"updated_input\":{\"command\":\"ls\"}}": failure=Invalid: printed JSON of the wrong shape: `updated_input` is no field of an answer; was `updatedInput` meant?
            PreToolUse 0 "{\"continue\":true,\"tool_input\":{\"command\":\"ls\"}}": failure=Invalid: printed JSON of the wrong shape: `tool_input` means nothing where it stands; it is read in `hookSpecificOutput` at PreToolUse (BeforeTool)
            PreToolUse 0 "{\"output\":{\"permissionDecision\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `permissionDecision` in `output` means nothing where it stands
            PreToolUse 0 "{\"result\":[{\"hooks\":{\"decision\":\"block\"}}],\"reason\":\"r\"}": reason=r failure=Invalid: printed JSON of the wrong shape: `decision` in `result` means nothing where it stands
            PreToolUse 0 "{\"behavior\":\"deny\",\"message\":\"m\"}": ignored=`message` failure=Invalid: printed JSON of the wrong shape: `behavior` means nothing where it stands; it is read in the `decision` of `hookSpecificOutput` at PermissionRequest
            PreToolUse 0 "{\"block\":true}": failure=Invalid: printed JSON of the wrong shape: `block` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"allowed\":false}": failure=Invalid: printed JSON of the wrong shape: `allowed` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"permission\":\"ask\"}": failure=Invalid: printed JSON of the wrong shape: `permission` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"isBlocked\":true,\"reason\":\"r\"}": reason=r failure=Invalid: printed JSON of the wrong shape: `isBlocked` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"permission\":\"deny\",\"userMessage\":\"as another editor writes it\"}": ignored=`userMessage` failure=Invalid: printed JSON of the wrong shape: `permission` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"status\":\"Denied\"}": failure=Invalid: printed JSON of the wrong shape: `status` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"result\":{\"status\":\"rejected\"}}": failure=Invalid: printed JSON of the wrong shape: `status` in `result` means nothing where it stands
            PreToolUse 0 "{\"safe\":false}": failure=Invalid: printed JSON of the wrong shape: `safe` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"exitCode\":2}": failure=Invalid: printed JSON of the wrong shape: `exitCode` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"in_policy\":false}": failure=Invalid: printed JSON of the wrong shape: `in_policy` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"in_policy\":\"No\"}": failure=Invalid: printed JSON of the wrong shape: `in_policy` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"error\":\"no such policy\"}": failure=Invalid: printed JSON of the wrong shape: `error` is no field of an answer; a hook refuses by `decision`
            PreToolUse 0 "{\"ok\":false}": failure=Invalid: printed JSON of the wrong shape: `ok` is how a model answers; write `decision`
            PreToolUse 0 "{\"ok\":\"yes\"}": failure=Invalid: printed JSON of the wrong shape: `ok` is how a model answers; write `decision`
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"decision\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `decision` means nothing where it stands at PreToolUse; it is read at the top of an answer
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"decision\":\"allow\"}}": 
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecison\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `permissionDecison` is no field of an answer; was `permissionDecision` meant?
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"action\":\"decline\"}}": failure=Invalid: printed JSON of the wrong shape: `action` means nothing where it stands at PreToolUse; it is read in `hookSpecificOutput` at Elicitation and ElicitationResult
            PreToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"additionalContext\":\"c\",\"riskScore\":7}}": context=c ignored=`riskScore`
            UserPromptSubmit 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"permissionDecision\":\"deny\"}}": failure=Invalid: printed JSON of the wrong shape: `permissionDecision` means nothing where it stands at UserPromptSubmit; it is read in `hookSpecificOutput` at PreToolUse
            UserPromptSubmit 0 "{\"permissionDecision\":\"deny\"}": failure=Invalid: printed JSON of the wrong shape: `permissionDecision` means nothing where it stands at UserPromptSubmit; it is read in `hookSpecificOutput` at PreToolUse
            PostToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"permissionDecision\":\"deny\"}}": 
            PostToolUse 0 "{\"updatedToolOutput\":\"redacted\",\"reason\":\"r\"}": reason=r output="redacted"
            PostToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedInput\":{\"command\":\"ls\"}}}": ignored=`updatedInput`, which is read in `hookSpecificOutput` at PreToolUse, and in its `decision` at PermissionRequest
            PostToolUse 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"tool_input\":{\"command\":\"ls\"},\"note\":1}}": ignored=`note`, `tool_input`, which is read in `hookSpecificOutput` at PreToolUse (BeforeTool)
            UserPromptSubmit 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"updatedInput\":{\"prompt\":\"p\"}}}": failure=Invalid: printed JSON of the wrong shape: `updatedInput` means nothing where it stands at UserPromptSubmit; it is read in `hookSpecificOutput` at PreToolUse, and in its `decision` at PermissionRequest
            PermissionRequest 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\",\"interupt\":true}}}": failure=Invalid: printed JSON of the wrong shape: `interupt` is no field of an answer; was `interrupt` meant?
            PermissionRequest 0 "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\",\"note\":\"n\"}}}": decision=Allow allows= ignored=`note`
            PreToolUse 0 "{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"r\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\",\"additionalContext\":\"c\"}}": decision=Deny reason=r context=c
            PreToolUse 1 "{\"metrics\":{}}": failure=Failed: ended with exit code 1
            PreToolUse 2 "{\"metrics\":{}}": decision=Deny ignored=`metrics`
            PreToolUse 0 "looked at {\"files\":3}": 
            PreToolUse 0 "checking…\n{\"decison\":\"block\"}": failure=Invalid: printed JSON that cannot be read: `decison` is no field of an answer; was `decision` meant?
            PreToolUse 0 "[{\"decison\":\"block\"}]": failure=Invalid: printed JSON that cannot be read: `decison` is no field of an answer; was `decision` meant?
            PreToolUse 0 "{\"metrics\":1}\n{\"decision\":\"block\"}": decision=Deny
            PreToolUse 0 "{\"metrics\":1}\n{\"continue\":true}": 
            PreToolUse 0 "{\"decison\":\"block\"}\n{\"continue\":true}": failure=Invalid: printed JSON of the wrong shape: `decison` is no field of an answer; was `decision` meant?
            UserPromptSubmit 0 "{\"metrics\":1}": ignored=`metrics`
            PreToolUse 0 "{\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\":1,\"\\u001b[2J\":1}": ignored=`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…`, `?[2J`
        "#]],
    );
    // Work is bounded, and who prints a thousand fields has not answered.
    let many: Vec<String> = (0..1_001).map(|n| format!("\"f{n}\":1")).collect();
    let many = format!("{{{}}}", many.join(","));
    let answer = read(&ended(0, &many, ""), PreToolUse, HookContract::Claude, false);
    assert!(answer.failure.is_some(), "{}", told(&answer));
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

mod behind_text;

/// Printers colour what they print, and encoders encode twice.
#[test]
fn a_verdict_counts_however_it_was_printed() {
    let denial = r#"{"decision":"block","reason":"no"}"#.to_owned();
    let coloured =
        "\u{1b}[1;39m{\n  \u{1b}[34;1m\"decision\"\u{1b}[0m\u{1b}[1;39m: \u{1b}[0;32m\"block\"\u{1b}[0m\n}";
    let twice = serde_json::Value::from(denial.as_str()).to_string();
    let wide: String = denial.chars().flat_map(|letter| [letter, '\0']).collect();
    for (printed, is_read) in [(coloured, true), (twice.as_str(), true), (wide.as_str(), false)] {
        let answer = read(&ended(0, printed, ""), HookEventName::PreToolUse, HookContract::Claude, false);
        assert_eq!(answer.decision == Some(HookDecision::Deny), is_read, "{printed}");
        assert_eq!(answer.failure.is_some(), !is_read, "{printed}");
    }
    // A text for a model stays as it is.
    let said = ended(0, "\"a \u{e9} note\"", "");
    let answer = read(&said, HookEventName::SessionStart, HookContract::Claude, false);
    assert_eq!(answer.context.as_deref(), Some("\"a \u{e9} note\""));
}
