//! How does an edit of several places stand to hooks that know one?

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Fields of a replacement, in our words.
const FIELDS: &[&str] = &["oldString", "newString", "replaceAll", "expectedReplacements"];

/// The arguments of an edit, where a list of one replacement is that replacement: hooks are told it as the edit that it is.
pub(super) fn plain(arguments: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let is_said_beside = FIELDS.iter().any(|field| arguments.contains_key(*field));
    match arguments.get("edits").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(only)]) if !is_said_beside => {
            let others = arguments.iter().filter(|(key, _)| *key != "edits");
            Cow::Owned(others.chain(only).map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        _ => Cow::Borrowed(arguments),
    }
}

/// Puts the texts of several replacements beside their list, under the names that an edit of one place has: guards of what is written
/// read those alone.
pub(super) fn show_texts(theirs: &mut Map<String, Value>) {
    let Some(edits) = theirs.get("edits").and_then(Value::as_array).cloned() else { return };
    for field in ["old_string", "new_string"] {
        let texts: Vec<&str> = edits.iter().filter_map(|edit| edit.get(field)?.as_str()).collect();
        if !theirs.contains_key(field) && !texts.is_empty() {
            theirs.insert(field.to_owned(), json!(texts.join("\n")));
        }
    }
}
