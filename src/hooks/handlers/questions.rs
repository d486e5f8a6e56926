//! Hooks that are questions: a model, or an agent that may read, says `{ok, reason}`.

use serde_json::Value;

use crate::{HookServices, answer::HandlerEnd};
use protocol::HookOutcome;

/// Stands in a prompt for what other hooks read.
const ARGUMENTS: &str = "$ARGUMENTS";

/// The way in which the answer must look, behind every question.
const SHAPE: &str = "Answer with one JSON object and nothing else: {\"ok\": true} if it may go ahead, or \
                     {\"ok\": false, \"reason\": \"…\"} if it must not.";

pub(super) async fn ask_model(
    services: &dyn HookServices,
    (hook, prompt): (&str, &str),
    model: Option<&str>,
    input: &Value,
) -> HandlerEnd {
    ended(services.ask_model(hook, question(prompt, input), model).await)
}

pub(super) async fn ask_agent(
    services: &dyn HookServices,
    (hook, prompt, is_own): (&str, &str, bool),
    model: Option<&str>,
    input: &Value,
) -> HandlerEnd {
    ended(services.run_agent(hook, question(prompt, input), model, is_own).await)
}

fn question(prompt: &str, input: &Value) -> String {
    let input = input.to_string();
    let asked = match prompt.contains(ARGUMENTS) {
        true => prompt.replace(ARGUMENTS, &input),
        false => format!("{prompt}\n\n{input}"),
    };
    format!("{asked}\n\n{SHAPE}")
}

fn ended(answer: Result<String, String>) -> HandlerEnd {
    match answer {
        Ok(text) => HandlerEnd::answered(without_fence(&text).to_owned()),
        Err(why) => HandlerEnd::failed(HookOutcome::Failed, format!("got no answer: {why}")),
    }
}

/// Models put an answer between fences.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind the hook's name, or behind "it", stands a sentence that goes on.
    #[test]
    fn failure_goes_on_with_the_sentence_that_names_the_hook() {
        let end = ended(Err("the recording has run out".to_owned()));
        let failure = Some((HookOutcome::Failed, "got no answer: the recording has run out".to_owned()));
        assert_eq!(end.failure, failure);
    }
}
