//! How much of a span's texts may others see? Who decided, which files changed and how it ended is no text: it stays.

use protocol::{SpanText, TraceContent, TraceSpan};

/// Takes arguments and results of calls out of a request: where calls are not sent, this is no other way for them.
pub fn without_calls(span: &mut TraceSpan) {
    if let Some(llm) = &mut span.llm {
        llm.requested.iter_mut().for_each(|call| call.arguments = None);
        llm.answered.iter_mut().for_each(|call| call.result = None);
    }
}

/// Takes the texts out of a span, or puts their sizes in their place: what was asked and said, arguments and results, messages
/// of errors, and what people and models said beside them.
pub fn thin(span: &mut TraceSpan, content: TraceContent) {
    if content != TraceContent::Full
        && let Some(asked) = &span.confirmation
    {
        // Its title quotes what it is about.
        span.name = asked.asks.clone();
    }
    if content != TraceContent::Full {
        without_calls(span);
    }
    match content {
        TraceContent::Full => {}
        TraceContent::Redacted => {
            for text in [&mut span.input, &mut span.output].into_iter().flatten() {
                let SpanText { text, bytes } = text;
                let whole = bytes.unwrap_or(u64::try_from(text.len()).unwrap_or(u64::MAX));
                *text = size(whole);
            }
            for text in texts_beside(span) {
                if !text.is_empty() {
                    *text = size(u64::try_from(text.len()).unwrap_or(u64::MAX));
                }
            }
        }
        TraceContent::None => {
            (span.input, span.output) = (None, None);
            texts_beside(span).for_each(String::clear);
        }
    }
}

fn size(bytes: u64) -> String {
    format!("[{bytes} bytes]")
}

/// All texts but what it was given and what came out.
fn texts_beside(span: &mut TraceSpan) -> impl Iterator<Item = &mut String> {
    let error = span.error.as_mut().map(|error| &mut error.message);
    let events = span.events.iter_mut().map(|event| &mut event.text);
    let run = span.run.as_mut().and_then(|run| run.message.as_mut());
    let tool = span.tool.as_deref_mut();
    let (description, decision) =
        tool.map_or((None, None), |tool| (tool.description.as_mut(), tool.decision.as_mut()));
    let said = decision.and_then(|decision| decision.message.as_mut());
    let (reason, answered) = match span.confirmation.as_deref_mut() {
        Some(asked) => {
            (Some(&mut asked.reason), asked.decision.as_mut().and_then(|decision| decision.message.as_mut()))
        }
        None => (None, None),
    };
    let hook = span.hook.as_deref_mut().map(|hook| {
        [&mut hook.reason, &mut hook.description, &mut hook.added, &mut hook.message].into_iter().flatten()
    });
    let alone = [error, run, description, said, reason, answered];
    alone.into_iter().flatten().chain(hook.into_iter().flatten()).chain(events)
}
