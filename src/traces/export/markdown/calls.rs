//! Calls as a story tells them: who wants one, who allowed it, and what came of it.

use protocol::{COMPLETE_TASK, SpanStatus, ToolSpan, TraceSpan};

use super::{agent, block, code, decided, duration, failed, millis, paragraph, plain};
use crate::{
    said::{changers_said, result_said, undone_said},
    text::output_beside_error,
};

/// `**lead** calls `read_file``; of one that a hook wants, in the words of its question, that the agent did not ask for it.
fn begun(span: &TraceSpan, tool: &ToolSpan) -> String {
    let name = code(tool.tool.as_str());
    let Some(hook) = &tool.requested_by else { return format!("**{}** calls {name}", agent(span)) };
    let after = tool.follows_tool.as_ref().map(|tool| format!(" after {}", code(tool.as_str())));
    let (hook, after) = (code(hook), after.unwrap_or_default());
    format!("The hook {hook} wants this call{after}, and the agent did not ask for it: {name}")
}

/// A call at the end of what was read.
pub(super) fn open(span: &TraceSpan, since: &str, out: &mut String) {
    let Some(tool) = span.tool.as_deref() else { return };
    let waits = match tool.waited_ms.is_some() {
        _ if span.end_us.is_some() => "over, and hooks are asked about its result",
        true => "at work",
        false => "not allowed to run yet",
    };
    paragraph(out, &format!("{}: {waits}, since {since}.", begun(span, tool)));
    block("json", span.input.as_ref(), out);
}

/// A call that is over.
pub(super) fn ended(span: &TraceSpan, out: &mut String) {
    let Some(tool) = span.tool.as_deref() else { return };
    // Its result is the run's, which comes next.
    if tool.tool.as_str() == COMPLETE_TASK && span.status == SpanStatus::Ok {
        return;
    }
    let risk = tool.risk.as_ref().map(|risk| format!(", risk {}", plain(risk))).unwrap_or_default();
    let decision = tool.decision.as_ref().map(|it| format!(", {}", decided(it))).unwrap_or_default();
    let outcome = match span.status {
        SpanStatus::Ok => "done",
        SpanStatus::Error => "failed",
        SpanStatus::Cancelled => "cancelled",
        SpanStatus::Open => "open",
    };
    let down = match tool.down_ms {
        0 => String::new(),
        down => format!(" (of it at most {} without a daemon)", millis(down)),
    };
    let took = duration(span);
    let calls = begun(span, tool);
    paragraph(out, &format!("{calls}{risk}{decision}: {outcome} after {took}{down}."));
    block("json", span.input.as_ref(), out);
    if let Some(asked) = &tool.asked_input {
        let who = changers_said(&tool.changes, &tool.changed_by, code, plain);
        let who = match who.strip_prefix("the hook") {
            Some(rest) => format!("The hook{rest}"),
            None => who,
        };
        if asked.bytes.is_none() && Some(asked) == span.input.as_ref() {
            paragraph(out, &format!("{who} changed the arguments, back to what was asked for."));
        } else {
            let first = tool.requested_by.as_deref().map(|hook| format!("The hook {}", code(hook)));
            let first = first.unwrap_or_else(|| "The model".to_owned());
            paragraph(out, &format!("{who} changed the arguments. {first} had asked for:"));
            block("json", Some(asked), out);
        }
    }
    for file in &tool.files_changed {
        let undone = undone_said(file).map(|undone| format!("; {}", plain(&undone))).unwrap_or_default();
        paragraph(out, &format!("{} {}{undone}.", code(&file.path), plain(&file.change)));
    }
    if let Some(error) = &span.error {
        failed(error, out);
    }
    if let Some(read) = result_said(tool.result_changed_by.as_deref(), tool.result_withheld) {
        paragraph(out, &format!("In place of what it gave ({}):", plain(&read)));
    }
    block("text", output_beside_error(span).as_ref(), out);
}
