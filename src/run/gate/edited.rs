//! What is a model told of a call that a person changed: which arguments are other ones, and who made them so?

use serde_json::{Map, Value};

use super::{CallGate, JudgeContext};
use protocol::ToolCall;

/// Characters of changed arguments that the model is told: enough to see what was meant; the result says the rest.
const DIFFERENCE_SHOWN: usize = 4_000;

/// A call as a person changed it, as far as it may be written down.
pub(super) struct EditedCall {
    /// The arguments that the model knows of.
    before: Value,
    /// The arguments as the person made them.
    pub(super) made: Value,
    /// Hooks had changed them before, of which the model was not told.
    is_hooked: bool,
}

impl CallGate {
    /// The change of a person who made these arguments of a call.
    pub(super) async fn edit_of(
        &self,
        call: &ToolCall,
        made: Value,
        judge_context: &JudgeContext,
    ) -> EditedCall {
        let changed = judge_context.hooked.as_deref().filter(|hooks| hooks.arguments.is_some());
        let is_hooked = changed.is_some_and(|hooks| hooks.edited_by.is_none());
        let request = judge_context.requests.iter().find(|request| request.call_id == call.call_id);
        let before =
            request.filter(|_| changed.is_some()).map_or(&call.arguments, |request| &request.arguments);
        // As the tool understood them, so that what only has another name is no difference.
        let before = self.toolset.prepare(&call.name, before.clone(), &self.prepare).await.arguments;
        EditedCall { before: self.without_secrets(&before), made, is_hooked }
    }
}

impl EditedCall {
    /// The words where it runs as the person made it.
    pub(super) fn allowed(&self) -> String {
        let who = match self.is_hooked {
            false => "A person changed the call before it ran.",
            true => "Hooks and a person changed the call before it ran, the person last.",
        };
        told(who, &self.before, &self.made, "is now")
    }

    /// The words where a hook changed it after that into these arguments, whatever becomes of the call. `hook`: `the hook user/PreToolUse/1`.
    pub(super) fn changed_again(&self, now: &Value, hook: &str) -> String {
        let who = match self.is_hooked {
            false => format!("A person changed the call, and {hook} changed it after that."),
            true => format!("Hooks and a person changed the call, {hook} last."),
        };
        told(&who, &self.before, now, "is now")
    }

    /// The words where people are asked about it once more, whatever becomes of the call.
    pub(super) fn asked_again(&self) -> String {
        let who = match self.is_hooked {
            false => "A person changed the call.",
            true => "Hooks and a person changed the call, the person last.",
        };
        told(who, &self.before, &self.made, "is now")
    }

    /// The words where a hook refused it.
    pub(super) fn refused(&self) -> String {
        let who = match self.is_hooked {
            false => "A person changed the call, and it did not run.",
            true => "Hooks and a person changed the call, the person last, and it did not run.",
        };
        told(who, &self.before, &self.made, "would have been")
    }
}

fn told(who: &str, before: &Value, now: &Value, verb: &str) -> String {
    let mut text = who.to_owned();
    let empty = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    for (name, value) in after.iter().filter(|(name, value)| before.get(*name) != Some(*value)) {
        text.push_str(&format!("\n- `{name}` {verb}: {value}"));
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        text.push_str(&format!("\n- `{name}` was taken out"));
    }
    if let Some((end, _)) = text.char_indices().nth(DIFFERENCE_SHOWN) {
        let whole = text.len();
        text.truncate(end);
        text.push_str(&format!("… (cut; {whole} bytes in all, read the file for the rest)"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(is_hooked: bool) -> EditedCall {
        let (before, made) =
            (json!({ "path": "a", "content": "one" }), json!({ "path": "a", "content": "two" }));
        EditedCall { before, made, is_hooked }
    }

    /// The model knows a right content, and by whom.
    #[test]
    fn a_model_is_told_what_ran_and_who_made_it_so() {
        let now = json!({ "content": "header two", "path": "b" });
        let hook = "the hook user/PreToolUse/1";
        assert_eq!(
            edited(false).allowed(),
            "A person changed the call before it ran.\n- `content` is now: \"two\""
        );
        assert_eq!(
            edited(false).changed_again(&now, hook),
            "A person changed the call, and the hook user/PreToolUse/1 changed it after that.\n- `content` is now: \"header \
             two\"\n- `path` is now: \"b\""
        );
        let words = edited(true).changed_again(&now, hook);
        assert!(
            words.starts_with("Hooks and a person changed the call, the hook user/PreToolUse/1 last.\n"),
            "{words}"
        );
        let words = edited(true).allowed();
        assert!(
            words.starts_with("Hooks and a person changed the call before it ran, the person last.\n"),
            "{words}"
        );
        // What never ran is not told as if it had.
        let refused = edited(false).refused();
        assert_eq!(
            refused,
            "A person changed the call, and it did not run.\n- `content` would have been: \"two\""
        );
    }
}
