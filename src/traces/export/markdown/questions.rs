//! Questions as a story tells them: what was asked, and what the answer did. One that was asked again is told once for each version.

use protocol::{CallDecision, ConfirmationSpan, TraceSpan};

use super::{agent, block, code, paragraph, plain};
use crate::said::{EDIT_DROPPED, EDITED, STALE, answer_said, granted, is_unanswered, overruled, waited};

/// A question, or a version of one, that is over.
pub(super) fn over(span: &TraceSpan, out: &mut String) {
    let Some(asked) = span.confirmation.as_deref() else { return };
    match asked.edited_restarts {
        0 => {
            let again = if asked.restarts == 0 { "" } else { ", after the daemon was started again" };
            begun(span, asked, again, out);
        }
        // The question and what the person made of it are told already.
        _ => {
            let (who, title) = (agent(span), plain(&span.name));
            let said =
                format!("**{who}** goes on with the answer after the daemon was started again: {title}");
            paragraph(out, &said);
        }
    }
    let answer = asked.decision.as_ref().map_or_else(|| "Nobody answered.".to_owned(), answered);
    paragraph(out, &answer);
    block("json", asked.edited_input.as_ref(), out);
}

/// A question that is open at the end of what was read.
pub(super) fn open(span: &TraceSpan, out: &mut String) {
    let Some(asked) = span.confirmation.as_deref() else { return };
    if let Some(decision) = asked.decision.as_ref().filter(|_| asked.edited_input.is_some()) {
        return edit_open(span, asked, decision, "are asked about that", out);
    }
    let version = asked.version.map(|version| format!(" (version {version})")).unwrap_or_default();
    paragraph(out, &format!("**{}** waits for an answer{version}: {}", agent(span), plain(&span.name)));
    block("diff", span.input.as_ref().filter(|_| asked.asks == "edit"), out);
}

/// A question that was open as the daemon ended: it stands where it was asked, and is asked again below that.
pub(super) fn left_open(span: &TraceSpan, out: &mut String) {
    let Some(asked) = span.confirmation.as_deref() else { return };
    if let Some(decision) = asked.decision.as_ref().filter(|_| asked.edited_input.is_some()) {
        return edit_open(span, asked, decision, "had not answered when the daemon ended", out);
    }
    // The next time it is told where it is over.
    if asked.restarts == 0 {
        begun(span, asked, "", out);
        paragraph(out, "Nobody had answered when the daemon ended.");
    }
}

/// A question that a person answered with a change, and hooks are asked about that. `hooks`: what is to be said of them.
fn edit_open(
    span: &TraceSpan,
    asked: &ConfirmationSpan,
    decision: &CallDecision,
    hooks: &str,
    out: &mut String,
) {
    let said = answer_said(&CallDecision { version: None, ..decision.clone() }, code, plain);
    if asked.edited_restarts == 0 {
        let again = if asked.restarts == 0 { "" } else { ", after the daemon was started again" };
        begun(span, asked, again, out);
    }
    paragraph(out, &format!("Answer: {said}. Hooks {hooks}."));
    if asked.edited_restarts == 0 {
        block("json", asked.edited_input.as_ref(), out);
    }
}

/// The question and its subject.
fn begun(span: &TraceSpan, asked: &ConfirmationSpan, after: &str, out: &mut String) {
    let (title, rule) = (plain(&span.name), code(&asked.rule));
    let asks = match (asked.version, after) {
        (Some(version), after) => format!("asks again (version {version}){after}"),
        (None, "") => "asks".to_owned(),
        (None, after) => format!("asks again{after}"),
    };
    paragraph(out, &format!("**{}** {asks}: {title} ({rule}: {})", agent(span), plain(&asked.reason)));
    block("diff", span.input.as_ref().filter(|_| asked.asks == "edit"), out);
}

fn answered(decision: &CallDecision) -> String {
    if is_unanswered(decision) {
        let why = decision.message.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
        let waited = waited(decision).map(|waited| format!(" for {waited}")).unwrap_or_default();
        return format!("Nobody answered{waited}{why}.");
    }
    // The question says which version it is.
    let said = answer_said(&CallDecision { version: None, ..decision.clone() }, code, plain);
    match decision.outcome.as_str() {
        EDITED if decision.message.is_some() => {
            let why = decision.message.as_deref().map(plain).unwrap_or_default();
            return format!("Answer: {said}: {why}.");
        }
        EDIT_DROPPED => return format!("Answer: {said}, so it was asked again."),
        EDITED => return format!("Answer: {said}. A hook changed what came of it, so it was asked again."),
        STALE => return format!("{said}, so it was asked again."),
        _ => {}
    }
    // Of a denial that came after it, why that was.
    let mark = if overruled(decision).is_some() { ":" } else { "." };
    let message = decision.message.as_ref().map(|said| format!(" “{}”", plain(said))).unwrap_or_default();
    let beyond: String = granted(decision).iter().map(|line| format!(" {}", plain(line))).collect();
    let mark = if message.is_empty() { "." } else { mark };
    format!("Answer: {said}{mark}{message}{beyond}")
}
