//! Work whose size a model or a tool chose, done elsewhere than on the threads that serve everybody.

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::unblocked;
use protocol::{MessagePart, ToolEffect, ToolResult};
use redact::Redactor;

/// Bytes that are looked at where everybody else waits for it: a fraction of a millisecond's work.
const MOST_AT_ONCE: usize = 16 * 1024;

/// What is told of a call, without secrets.
pub(crate) async fn without_secrets(result: ToolResult, first: Redactor, newest: Redactor) -> ToolResult {
    let is_short = is_short(&result);
    let redacted = move || newest.tool_result(first.tool_result(result));
    if is_short { redacted() } else { unblocked(redacted).await }
}

/// Waits for `judging`, which has to do with these arguments: schemas, files and secrets of large ones take their time. Dropped, it
/// stops at the next point at which it waits.
pub(crate) async fn judged<T: Send + 'static>(
    arguments: &Value,
    judging: impl Future<Output = T> + Send + 'static,
) -> T {
    let mut left = MOST_AT_ONCE;
    if weighs_within(arguments, &mut left) {
        return judging.await;
    }
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let runtime = Handle::current();
    let judged = unblocked(move || runtime.block_on(stop.run_until_cancelled_owned(judging))).await;
    match judged {
        Some(judged) => judged,
        // Only who dropped this has it stopped.
        None => std::future::pending().await,
    }
}

fn is_short(result: &ToolResult) -> bool {
    let texts = result.llm_content.iter().filter_map(MessagePart::as_text).map(str::len).sum::<usize>();
    let of_effect = |effect: &ToolEffect| match effect {
        ToolEffect::Todos(todos) => todos.iter().map(|todo| todo.text.len()).sum(),
        ToolEffect::Memory(saved) => saved.fact.len(),
        ToolEffect::File(_) | ToolEffect::Skill(_) => 0,
    };
    let effects = result.effects.iter().map(of_effect).sum::<usize>();
    let told = result.return_display.as_ref().map_or(0, String::len)
        + result.error.as_ref().map_or(0, |error| error.message.len());
    let Some(mut left) = MOST_AT_ONCE.checked_sub(texts + effects + told) else { return false };
    result.data.as_ref().is_none_or(|data| weighs_within(data, &mut left))
}

/// True if a value is so short; it is not looked at further than that.
fn weighs_within(value: &Value, left: &mut usize) -> bool {
    let own = 8 + value.as_str().map_or(0, str::len);
    match left.checked_sub(own) {
        None => return false,
        Some(rest) => *left = rest,
    }
    match value {
        Value::Array(items) => items.iter().all(|item| weighs_within(item, left)),
        Value::Object(fields) => fields.iter().all(|(name, item)| {
            *left = left.saturating_sub(name.len());
            weighs_within(item, left)
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_is_long_is_done_on_another_thread_and_what_is_short_at_once() {
        let here = thread::current().id();
        let long = "x".repeat(MOST_AT_ONCE + 1);
        let many: Vec<Value> = (0..MOST_AT_ONCE).map(|_| json!({})).collect();
        for (arguments, is_here) in
            [(json!({ "path": "a" }), true), (json!({ "content": long }), false), (json!(many), false)]
        {
            let done = judged(&arguments, async { thread::current().id() }).await;
            assert_eq!(done == here, is_here, "{}", arguments.to_string().len());
        }
        assert!(is_short(&ToolResult::text("short")));
        let of =
            |text: &str| ToolResult { return_display: Some(text.to_owned()), ..ToolResult::text("short") };
        assert!(!is_short(&ToolResult::text(long.clone())) && !is_short(&of(&long)));
        assert!(!is_short(&ToolResult { data: Some(json!([long])), ..ToolResult::default() }));
    }

    #[tokio::test]
    async fn judging_that_nobody_waits_for_stops() {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let arguments = json!("x".repeat(MOST_AT_ONCE));
        let judging = judged(&arguments, async move {
            let _held = sender;
            std::future::pending::<()>().await;
        });
        assert!(futures_util::FutureExt::now_or_never(judging).is_none());
        receiver.await.unwrap_err();
    }
}
