//! What every adapter keeps to, and the reading of whole streams.

use futures_util::{FutureExt, StreamExt};

use super::{LanguageModel, ModelError, ModelEvent, ModelRequest, ReplyPart};

/// All events of a stream that never waits, with the port's contract checked: deltas, then one end, and the end
/// holds exactly what the deltas said.
pub(super) fn stream_to_end(
    model: &dyn LanguageModel,
    request: ModelRequest,
) -> Vec<Result<ModelEvent, ModelError>> {
    let events: Vec<_> = model.stream(request).collect().now_or_never().expect("the stream waits");
    let is_end = |event: &Result<ModelEvent, ModelError>| {
        !matches!(
            event,
            Ok(ModelEvent::TextDelta(_)
                | ModelEvent::ThoughtDelta(_)
                | ModelEvent::Alive
                | ModelEvent::Unshown(_)
                | ModelEvent::Broken
                | ModelEvent::Usage(_)
                | ModelEvent::Grounded(_))
        )
    };
    assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1, "one end");
    assert!(events.last().is_some_and(is_end), "nothing after the end");
    if let Some(Ok(ModelEvent::Finished(reply))) = events.last() {
        let (mut text, mut thought) = (String::new(), String::new());
        for event in events.iter().flatten() {
            match event {
                ModelEvent::TextDelta(delta) => text.push_str(delta),
                ModelEvent::ThoughtDelta(delta) => thought.push_str(delta),
                ModelEvent::Alive
                | ModelEvent::Unshown(_)
                | ModelEvent::Broken
                | ModelEvent::Usage(_)
                | ModelEvent::Grounded(_)
                | ModelEvent::Finished(_) => {}
            }
        }
        let (mut whole_text, mut whole_thought) = (String::new(), String::new());
        for part in &reply.parts {
            match part {
                ReplyPart::Text(part) => whole_text.push_str(part),
                ReplyPart::Thought { text, .. } => whole_thought.push_str(text),
                ReplyPart::ToolCall { .. } => {}
            }
        }
        assert_eq!((text, thought), (whole_text, whole_thought));
    }
    events
}
