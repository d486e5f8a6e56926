//! How is a reply put together from the events of a response?
//! (<https://platform.openai.com/docs/api-reference/responses-streaming>)

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};

use super::{
    super::{
        ModelError, ModelEvent, ModelReply, ReplyPart,
        exchange::{ProviderError, ReplyAssembler, is_cut},
    },
    PROVIDER, complaint,
    wire::{
        CallItem, MessageItem, ReasoningItem, ResponsesCallArguments, ResponsesDelta, ResponsesEventKind,
        WireResponse, WireText, WithItem, WithResponse,
    },
};
use protocol::{FinishReason, ProviderMessage, Usage};

/// Some servers, and proxies of some, end every stream with it.
const DONE: &str = "[DONE]";

/// The reason why a response is incomplete that came to the limit on output.
const OUT_OF_ROOM: &str = "max_output_tokens";

/// Between the sections of a thought, which are told one after the other.
const BETWEEN_SECTIONS: &str = "\n\n";

#[derive(Debug, Default)]
pub(crate) struct ItemReply {
    /// As they began.
    items: Vec<ResponsesOutputItem>,
    usage: Usage,
    end: Option<ResponsesEnd>,
    error: Option<ProviderError>,
}

/// How the response ended, when it did not fail.
#[derive(Debug)]
enum ResponsesEnd {
    Completed,
    /// In the provider's own words.
    Incomplete(String),
}

/// An item of the output: what came of it in pieces, and at last the whole.
#[derive(Debug, Default)]
struct ResponsesOutputItem {
    /// Its place in the output. Some servers give all items the same.
    index: u64,
    text: String,
    refusal: String,
    thought: String,
    /// Which section of the thought is being told.
    section: Option<ThoughtSection>,
    call: Option<ResponsesToolCall>,
    /// As it came, to be sent back.
    whole: Option<Box<RawValue>>,
}

/// Of a summary or of the thought itself, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThoughtSection {
    Summary(u64),
    Content(u64),
}

#[derive(Debug, Default)]
struct ResponsesToolCall {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl ReplyAssembler for ItemReply {
    fn push(&mut self, event: &str) -> Result<Vec<ModelEvent>, serde_json::Error> {
        if event.trim() == DONE {
            return Ok(Vec::new());
        }
        let ResponsesEventKind { kind } = serde_json::from_str(event)?;
        let mut deltas = Vec::new();
        match kind.as_str() {
            "response.output_text.delta" => {
                let ResponsesDelta { output_index, delta, .. } = serde_json::from_str(event)?;
                deltas.extend(self.item(output_index).say(&delta));
            }
            "response.refusal.delta" => {
                let ResponsesDelta { output_index, delta, .. } = serde_json::from_str(event)?;
                self.item(output_index).refusal.push_str(&delta);
            }
            "response.reasoning_summary_text.delta" => {
                let ResponsesDelta { output_index, delta, summary_index, .. } = serde_json::from_str(event)?;
                deltas.extend(self.item(output_index).think(ThoughtSection::Summary(summary_index), &delta));
            }
            "response.reasoning_text.delta" => {
                let ResponsesDelta { output_index, delta, content_index, .. } = serde_json::from_str(event)?;
                deltas.extend(self.item(output_index).think(ThoughtSection::Content(content_index), &delta));
            }
            "response.function_call_arguments.delta" => {
                let ResponsesDelta { output_index, delta, .. } = serde_json::from_str(event)?;
                self.item(output_index).call().arguments.push_str(&delta);
            }
            "response.function_call_arguments.done" => {
                let ResponsesCallArguments { output_index, arguments } = serde_json::from_str(event)?;
                self.item(output_index).call().arguments = arguments;
            }
            "response.output_item.added" => {
                let WithItem { output_index, item } = serde_json::from_str(event)?;
                self.open_item(output_index).begin(&item)?;
            }
            "response.output_item.done" => {
                let WithItem { output_index, item } = serde_json::from_str(event)?;
                deltas.extend(self.open_item(output_index).complete(item)?);
            }
            "response.completed" | "response.incomplete" => {
                let WithResponse { response } = serde_json::from_str(event)?;
                deltas.extend(self.end(&kind, response)?);
            }
            "response.failed" => {
                let WithResponse { response } = serde_json::from_str(event)?;
                self.error = Some(complaint::of(&response.error.unwrap_or_default()));
            }
            "error" => self.error = Some(complaint::of_event(&serde_json::from_str(event)?)),
            // Beginnings and ends of what was told otherwise, and what the provider will add.
            _ => {}
        }
        Ok(deltas)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn call_bytes(&self) -> usize {
        self.items.iter().filter_map(|item| item.call.as_ref()).map(|call| call.arguments.len()).sum()
    }

    fn is_whole(&self) -> bool {
        self.end.is_some()
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn finish(mut self) -> Result<ModelReply, ModelError> {
        self.items.sort_by_key(|item| item.index);
        if matches!(&self.end, Some(ResponsesEnd::Incomplete(why)) if why == OUT_OF_ROOM) {
            // Only the last can be cut, and only a whole call counts (spec 03).
            self.items.pop_if(|item| item.call.as_ref().is_some_and(|call| is_cut(&call.arguments)));
        }
        let unusable = |message: String| Err(ModelError::Unusable { message });
        let refusal: String = self.items.iter().map(|item| item.refusal.as_str()).collect();
        let says_something = self.items.iter().any(|item| !item.text.is_empty() || item.call.is_some());
        let reason = match &self.end {
            None => return unusable("the response ended before it was complete".to_owned()),
            Some(_) if !refusal.is_empty() => FinishReason::Refused { message: refusal },
            Some(ResponsesEnd::Completed) if says_something => FinishReason::Stop,
            Some(ResponsesEnd::Completed) => return unusable("the response is empty".to_owned()),
            Some(ResponsesEnd::Incomplete(why)) => match why.as_str() {
                OUT_OF_ROOM => FinishReason::Length,
                "content_filter" => FinishReason::Refused { message: "content_filter".to_owned() },
                other => {
                    return unusable(format!(
                        "the response is incomplete for a reason of its own: {other:?}"
                    ));
                }
            },
        };
        let mut calls = self.items.iter().filter_map(|item| item.call.as_ref());
        // It could not be run, and sent back it would be refused for ever.
        if calls.any(|call| call.name.is_empty()) {
            return unusable("the response is malformed: it calls a tool without a name".to_owned());
        }
        let raw = raw_message(&self.items);
        let parts = self.items.into_iter().flat_map(ResponsesOutputItem::parts).collect();
        Ok(ModelReply { parts, raw, usage: self.usage, reason })
    }
}

impl ItemReply {
    /// The item that a piece belongs to.
    fn item(&mut self, index: u64) -> &mut ResponsesOutputItem {
        let place = self.items.iter().rposition(|item| item.index == index);
        self.at(place, index)
    }

    /// The item that begins, or is whole now: one that was whole already is another.
    fn open_item(&mut self, index: u64) -> &mut ResponsesOutputItem {
        let place = self.items.iter().rposition(|item| item.index == index && item.whole.is_none());
        self.at(place, index)
    }

    fn at(&mut self, place: Option<usize>, index: u64) -> &mut ResponsesOutputItem {
        let place = place.unwrap_or_else(|| {
            self.items.push(ResponsesOutputItem { index, ..ResponsesOutputItem::default() });
            self.items.len() - 1
        });
        &mut self.items[place]
    }

    fn end(&mut self, kind: &str, response: WireResponse) -> Result<Vec<ModelEvent>, serde_json::Error> {
        let WireResponse { output, usage, incomplete_details, .. } = response;
        if let Some(usage) = usage {
            self.usage = usage.into();
        }
        let mut deltas = Vec::new();
        // The output once more; it counts for servers that did not say it item by item.
        let was_said = self.items.iter().any(|item| item.whole.is_some());
        for (index, item) in (0..).zip(output.unwrap_or_default()) {
            let is_open = self.items.iter().any(|item| item.index == index && item.whole.is_none());
            if is_open || !was_said {
                deltas.extend(self.open_item(index).complete(item)?);
            }
        }
        self.end = Some(match kind {
            "response.completed" => ResponsesEnd::Completed,
            _ => ResponsesEnd::Incomplete(incomplete_details.and_then(|it| it.reason).unwrap_or_default()),
        });
        Ok(deltas)
    }
}

impl ResponsesOutputItem {
    fn say(&mut self, text: &str) -> Option<ModelEvent> {
        self.text.push_str(text);
        (!text.is_empty()).then(|| ModelEvent::TextDelta(text.to_owned()))
    }

    fn think(&mut self, section: ThoughtSection, text: &str) -> Option<ModelEvent> {
        if text.is_empty() {
            return None;
        }
        let is_another = self.section.replace(section).is_some_and(|before| before != section);
        let told = if is_another { format!("{BETWEEN_SECTIONS}{text}") } else { text.to_owned() };
        self.thought.push_str(&told);
        Some(ModelEvent::ThoughtDelta(told))
    }

    fn call(&mut self) -> &mut ResponsesToolCall {
        self.call.get_or_insert_default()
    }

    fn begin(&mut self, raw: &RawValue) -> Result<(), serde_json::Error> {
        let ResponsesEventKind { kind } = serde_json::from_str(raw.get())?;
        if kind == "function_call" {
            self.call().take(serde_json::from_str(raw.get())?);
        }
        Ok(())
    }

    /// What the whole item has more than its pieces is told now. Where they differ, what was told stands.
    fn complete(&mut self, raw: Box<RawValue>) -> Result<Vec<ModelEvent>, serde_json::Error> {
        let ResponsesEventKind { kind } = serde_json::from_str(raw.get())?;
        let mut deltas = Vec::new();
        match kind.as_str() {
            "message" => {
                let MessageItem { content } = serde_json::from_str(raw.get())?;
                let content = content.unwrap_or_default();
                let text: String = content.iter().filter_map(|it| it.of("output_text")).collect();
                let rest = text.strip_prefix(self.text.as_str()).unwrap_or_default();
                deltas.extend(self.say(rest));
                if self.refusal.is_empty() {
                    self.refusal = content.into_iter().filter_map(|it| it.refusal).collect();
                }
            }
            "reasoning" if self.thought.is_empty() => {
                let ReasoningItem { summary, content } = serde_json::from_str(raw.get())?;
                let texts = |list: Option<Vec<WireText>>| (0..).zip(list.unwrap_or_default());
                for (index, WireText { text, .. }) in texts(summary) {
                    deltas.extend(self.think(ThoughtSection::Summary(index), &text.unwrap_or_default()));
                }
                for (index, WireText { text, .. }) in texts(content) {
                    deltas.extend(self.think(ThoughtSection::Content(index), &text.unwrap_or_default()));
                }
            }
            "function_call" => self.call().take(serde_json::from_str(raw.get())?),
            _ => {}
        }
        self.whole = Some(raw);
        Ok(deltas)
    }

    fn parts(self) -> impl Iterator<Item = ReplyPart> {
        let thought =
            (!self.thought.is_empty()).then_some(ReplyPart::Thought { text: self.thought, signature: None });
        let text = (!self.text.is_empty()).then_some(ReplyPart::Text(self.text));
        let call = self.call.map(|call| ReplyPart::ToolCall {
            arguments: call.arguments(),
            provider_call_id: call.id.filter(|id| !id.is_empty()),
            name: call.name.into(),
            signature: None,
        });
        [thought, text, call].into_iter().flatten()
    }

    /// As it goes back: as it came, but for arguments that are no object, which not every server takes. An item that was
    /// changed is not the one of its id any more.
    fn raw(&self) -> Option<String> {
        let whole = self.whole.as_ref()?;
        let Some(arguments) = self.call.as_ref().and_then(ResponsesToolCall::mended) else {
            return Some(whole.get().to_owned());
        };
        let mut fields: Map<String, Value> = serde_json::from_str(whole.get()).ok()?;
        fields.insert("arguments".to_owned(), arguments.into());
        fields.remove("id");
        Some(Value::Object(fields).to_string())
    }
}

impl ResponsesToolCall {
    /// What the item says of the call; what it leaves out stays.
    fn take(&mut self, item: CallItem) {
        let CallItem { call_id, name, arguments } = item;
        self.id = call_id.or(self.id.take());
        self.name = name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.arguments = arguments.unwrap_or_else(|| std::mem::take(&mut self.arguments));
    }

    /// An object in the place of arguments that are none.
    fn mended(&self) -> Option<String> {
        if serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok() {
            return None;
        }
        Some(match self.arguments() {
            Value::Object(_) => "{}".to_owned(),
            other => json!({ "arguments": other }).to_string(),
        })
    }

    /// What is no JSON stays a text, which no tool takes: the model is told.
    fn arguments(&self) -> Value {
        match self.arguments.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(self.arguments.clone())),
        }
    }
}

/// The whole output; `None` when an item of it never came whole.
fn raw_message(items: &[ResponsesOutputItem]) -> Option<ProviderMessage> {
    let items: Vec<String> = items.iter().map(ResponsesOutputItem::raw).collect::<Option<_>>()?;
    if items.is_empty() {
        return None;
    }
    // Each item was read as JSON, so their list is JSON.
    let raw = RawValue::from_string(format!(r#"{{"output":[{}]}}"#, items.join(","))).ok()?;
    Some(ProviderMessage { provider: PROVIDER.into(), entry: None, raw: Arc::from(raw) })
}

#[cfg(test)]
mod tests;
