//! How much of a span's texts may others see? Who decided, which files changed and how it ended is no text: it stays.
//!
//! The texts are named one by one: a new one in [`TraceSpan`] is sent as it is until it is named here.

use protocol::{CallDecision, DroppedChange, SpanText, TraceContent, TraceSpan};

/// Stands for the name of a tool that there is not: the model made it up, so it is a text of its own.
const NO_TOOL: &str = "unknown_tool";

/// Stands for the names that a reply asks for: whether there are such tools is known only later.
const SOME_TOOL: &str = "tool";

/// The type of the error of a call of a tool that there is not.
const NOT_REGISTERED: &str = "TOOL_NOT_REGISTERED";

/// Events of turns and runs in whose words calls are quoted: what hooks say to people, what a call has remembered, which skill it asks
/// for, which call is made again and again.
const QUOTING: &[&str] = &["warning", "memory.saved", "skill.activated", "loop.detected"];

/// Purposes of requests to models whose answers are about calls: what hooks ask, and what calls do.
const ABOUT_CALLS: &[&str] = &["hook", "webFetch", "webSearch", "mcpSampling"];

/// The reason of a stop by a hook begins so; the rest is in the hook's words.
const BY_HOOK: &str = "the hook ";

/// Takes arguments and results of calls out of a span that is no call: where calls are not sent, requests, questions about calls and
/// hooks that are asked about them are no other way for them.
pub fn without_calls(span: &mut TraceSpan) {
    if let Some(llm) = &mut span.llm {
        llm.requested.iter_mut().for_each(|call| call.arguments = None);
        llm.answered.iter_mut().for_each(|call| call.result = None);
        if llm.purpose.as_ref().is_some_and(|purpose| ABOUT_CALLS.contains(&purpose.as_str())) {
            (span.output, span.events) = (None, Vec::new());
            span.error.iter_mut().for_each(|error| error.message.clear());
        }
    }
    for event in &mut span.events {
        if QUOTING.contains(&event.name.as_str()) || event.text.starts_with(BY_HOOK) {
            event.text.clear();
        }
    }
    if let Some(run) = &mut span.run {
        drop(run.message.take_if(|said| said.starts_with(BY_HOOK)));
    }
    if let Some(error) = span.error.as_mut().filter(|error| error.message.starts_with(BY_HOOK)) {
        error.message.clear();
    }
    let asked = span.confirmation.as_deref_mut().filter(|asked| asked.call_id.is_some());
    let is_asked = asked.is_some();
    if let Some(asked) = asked {
        // Its title and its reason quote the call.
        span.name.clone_from(&asked.asks);
        asked.reason.clear();
        asked.edited_input = None;
        // So do what an answer to it allows, and what was said with it.
        if let Some(decision) = &mut asked.decision {
            (decision.allows, decision.remembers, decision.message) = (None, None, None);
        }
    }
    let hook = span.hook.as_deref_mut().filter(|hook| hook.call_id.is_some());
    let is_told = hook.is_some();
    if let Some(hook) = hook {
        (hook.description, hook.added) = (None, None);
        hook.confinement.iter_mut().for_each(|it| it.reason.clear());
        // A guard's reason is what it saw; its decision stays.
        (hook.reason, hook.message) = (None, None);
        // Nor is what it would have had instead.
        hook.dropped_change.iter_mut().for_each(|it| *it = DroppedChange::default());
        // Neither is what the model read in place of a result, which may quote that.
        hook.replacement.iter_mut().for_each(|it| it.text.clear());
    }
    if is_asked || is_told {
        (span.input, span.output) = (None, None);
        span.error.iter_mut().for_each(|error| error.message.clear());
        span.events.iter_mut().for_each(|event| event.text.clear());
    }
}

/// Takes the texts out of a span, or puts their sizes in their place: what was asked and said, arguments and results, messages
/// of errors, and what people and models said beside them.
pub fn thin(span: &mut TraceSpan, content: TraceContent) {
    if content != TraceContent::Full {
        if let Some(asked) = &span.confirmation {
            // Its title quotes what it is about.
            span.name.clone_from(&asked.asks);
        }
        without_made_up_names(span);
        if let Some(told) = span.run.as_mut().and_then(|run| run.prompt_sources.as_mut()) {
            // Whoever guesses a text can tell by its digest.
            told.system_prompt.digest.clear();
            told.memory.iter_mut().for_each(|file| file.digest.clear());
        }
        if let Some(tool) = &mut span.tool {
            // A tool that takes any names has those that models and people make up.
            tool.changes.iter_mut().for_each(|change| change.arguments.clear());
        }
        if let Some(llm) = &mut span.llm {
            llm.requested.iter_mut().for_each(|call| call.arguments = None);
            llm.answered.iter_mut().for_each(|call| call.result = None);
        }
    }
    match content {
        TraceContent::Full => {}
        TraceContent::Redacted => {
            let asked = span.tool.as_mut().and_then(|tool| tool.asked_input.as_mut());
            let edited = span.confirmation.as_mut().and_then(|asked| asked.edited_input.as_mut());
            let query = span.run.as_mut().and_then(|run| run.query.as_mut());
            let texts = [&mut span.input, &mut span.output].into_iter().flatten();
            for text in texts.chain(asked).chain(edited).chain(query) {
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
            span.tool.iter_mut().for_each(|tool| tool.asked_input = None);
            span.confirmation.iter_mut().for_each(|asked| asked.edited_input = None);
            span.run.iter_mut().for_each(|run| run.query = None);
            texts_beside(span).for_each(String::clear);
            without_empty_texts(span);
        }
    }
}

/// Names of tools are the daemon's words, but where there is no such tool.
fn without_made_up_names(span: &mut TraceSpan) {
    let is_made_up = span.error.as_ref().is_some_and(|error| error.kind == NOT_REGISTERED);
    if let Some(tool) = span.tool.as_deref_mut().filter(|_| is_made_up) {
        tool.tool = NO_TOOL.into();
        NO_TOOL.clone_into(&mut span.name);
    }
    if let Some(llm) = &mut span.llm {
        llm.requested.iter_mut().for_each(|call| call.tool = SOME_TOOL.into());
        llm.answered.iter_mut().for_each(|call| call.tool = SOME_TOOL.into());
    }
}

/// Has a text that is not told be missing, where it can be.
fn without_empty_texts(span: &mut TraceSpan) {
    let drop_empty = |text: &mut Option<String>| drop(text.take_if(|text| text.is_empty()));
    if let Some(run) = &mut span.run {
        drop_empty(&mut run.message);
    }
    if let Some(tool) = &mut span.tool {
        drop_empty(&mut tool.description);
        tool.decision.iter_mut().flat_map(texts_of).for_each(drop_empty);
    }
    if let Some(asked) = &mut span.confirmation {
        asked.decision.iter_mut().flat_map(texts_of).for_each(drop_empty);
    }
    if let Some(hook) = &mut span.hook {
        [&mut hook.reason, &mut hook.description, &mut hook.added, &mut hook.message]
            .into_iter()
            .for_each(drop_empty);
    }
}

/// The texts of a person's answer: what was said with it, and what it allows beyond its call, which quotes that.
fn texts_of(decision: &mut CallDecision) -> [&mut Option<String>; 3] {
    [&mut decision.message, &mut decision.allows, &mut decision.remembers]
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
    let (reason, answered) = match span.confirmation.as_deref_mut() {
        Some(asked) => (Some(&mut asked.reason), asked.decision.as_mut()),
        None => (None, None),
    };
    let said = [decision, answered].into_iter().flatten().flat_map(texts_of).flatten();
    let hook = span.hook.as_deref_mut().map(|hook| {
        let read = hook.replacement.as_mut().map(|it| &mut it.text);
        // It names the command, or files of the workspace.
        let why = hook.confinement.as_mut().map(|it| &mut it.reason);
        let said = [&mut hook.reason, &mut hook.description, &mut hook.added, &mut hook.message];
        let dropped = hook.dropped_change.iter_mut().flat_map(|it| [&mut it.input, &mut it.reason]);
        said.into_iter().flatten().chain(read).chain(why).chain(dropped)
    });
    let alone = [error, run, description, reason];
    alone.into_iter().flatten().chain(said).chain(hook.into_iter().flatten()).chain(events)
}
