//! What is a model told of the editor of the person who asks? All of it at first, later what has changed. (spec 08, "IDE context")

use protocol::{IdeContext, IdeFile};

use super::{ContextBlock, context_message};

const NOW: &str = "It is what the editor of the person who asks shows now.";
const CHANGES: &str =
    "It is what has changed in the editor of the person who asks since you were told of it last.";
/// The parts that list files.
const EDITOR: &str = "editor";
/// The parts that are selected text.
const SELECTION: &str = "selection";

/// The message for a model; `None` when it was told already. `before`: as it was told last, if the context still has that.
pub fn editor_message(before: Option<&IdeContext>, now: &IdeContext) -> Option<String> {
    match before {
        None if now.open_files.is_empty() => None,
        None => context_message(&blocks(None, now), NOW),
        Some(before) if before == now => None,
        Some(before) => context_message(&blocks(Some(before), now), CHANGES),
    }
}

fn blocks(before: Option<&IdeContext>, now: &IdeContext) -> Vec<ContextBlock> {
    let was = |file: &IdeFile| before?.open_files.iter().find(|it| it.path == file.path);
    let mut lines = Vec::new();
    let mut selections = Vec::new();
    for file in &now.open_files {
        let before = was(file);
        lines.extend(line(before, file));
        match (&file.selected_text, before.and_then(|it| it.selected_text.as_ref())) {
            (Some(text), told) if told != Some(text) => selections.push(ContextBlock {
                kind: SELECTION.to_owned(),
                source: file.path.display().to_string(),
                text: text.clone(),
            }),
            (None, Some(_)) => lines.push(format!("nothing is selected any more: {}", shown(file))),
            _ => {}
        }
    }
    let is_open = |file: &&IdeFile| now.open_files.iter().any(|it| it.path == file.path);
    let closed = before.into_iter().flat_map(|before| &before.open_files).filter(|file| !is_open(file));
    lines.extend(closed.map(|file| format!("closed: {}", shown(file))));
    // Files may only have changed places.
    if lines.is_empty() && selections.is_empty() {
        lines.push(format!("the order of the {} open files", now.open_files.len()));
    }
    let mut blocks = Vec::new();
    if !lines.is_empty() {
        blocks.push(ContextBlock { kind: EDITOR.to_owned(), source: String::new(), text: lines.join("\n") });
    }
    blocks.extend(selections);
    blocks
}

/// News of a file; `None` = nothing.
fn line(before: Option<&IdeFile>, file: &IdeFile) -> Option<String> {
    let is_new = before.is_none_or(|before| (before.active, before.cursor) != (file.active, file.cursor));
    let state = if file.active { "active" } else { "open" };
    let cursor = file.cursor.map(|at| format!(", cursor at line {}, character {}", at.line, at.character));
    is_new.then(|| format!("{state}: {}{}", shown(file), cursor.unwrap_or_default()))
}

/// Its path in one line, whatever is in its name.
fn shown(file: &IdeFile) -> String {
    file.path.display().to_string().replace(char::is_control, "\u{fffd}")
}
